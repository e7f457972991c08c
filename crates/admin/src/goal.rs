//! The goal of utilisation: which part of the pool's capacity floors may promise together.
//! Everything that makes a promise is checked against it here, whichever command makes it: a
//! policy, an attachment, a volume that grows, a clone with a template.

use crate::error::{Objection, Obstacle};
use crate::{Errand, Note};
use block::Iops;
use ontap::Command;
use qos::{Beyond, Registry};

/// The promises before these commands; `None` if there is no goal, or the commands only show
/// something.
pub(crate) fn before(registry: &Registry, commands: &[Command]) -> Option<Iops> {
    let asked = registry.settings().goal.is_some() && !commands.iter().all(Command::shows);
    asked.then(|| registry.promised())
}

impl Errand<'_> {
    /// Refuses or notes promises that exceed both `before` and the goal. A sum that was beyond the
    /// goal already and does not grow is accepted.
    pub(crate) fn keep_goal(&mut self, before: Iops) -> Result<(), Objection> {
        let Some(goal) = self.registry.settings().goal else { return Ok(()) };
        let promised = self.registry.promised();
        if promised <= before || promised <= goal.most() {
            return Ok(());
        }
        match goal.beyond {
            Beyond::Warn => {
                self.notes.push(Note::BeyondGoal { promised, goal });
                Ok(())
            }
            Beyond::Refuse => {
                let text = format!(
                    "the floors together would be {} IOPS, beyond the goal of {} ({} % of {}); ask for less, or raise \
                     utilisation in [qos] of the pool's seawall.toml",
                    promised.0,
                    goal.most().0,
                    goal.percent,
                    goal.capacity.0
                );
                Err(Obstacle::BeyondGoal.told(text).given(promised.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Administration;
    use block::{Iops, Time};
    use qos::{Beyond, Goal, RegistrySettings};

    fn administration(beyond: Beyond) -> Administration {
        let goal = Some(Goal { capacity: Iops(100_000), percent: 70, beyond });
        let mut administration = Administration::new(RegistrySettings { goal, ..RegistrySettings::default() });
        for line in [
            "vserver create s",
            "volume create a -size 5TB",
            "volume create b -size 5TB",
            "qos adaptive-policy-group create prod -expected-iops 10000 -peak-iops 20000",
            "volume modify a -qos-adaptive-policy-group prod",
        ] {
            let _ = administration.execute(line, Time::ZERO, &|_| 0).unwrap();
        }
        administration
    }

    fn run(administration: &mut Administration, line: &str) -> Result<String, String> {
        let outcome = administration.execute(line, Time::ZERO, &|_| 0);
        outcome.map(|outcome| outcome.answer.text()).map_err(|error| error.to_string())
    }

    /// 50 000 of 70 000 are promised. A second volume under the policy, a policy that promises
    /// more, and a volume that grows are each refused, and leave nothing behind. Commands that
    /// promise no more are accepted.
    #[test]
    fn a_promise_beyond_the_goal_is_refused_whatever_makes_it() {
        let mut administration = administration(Beyond::Refuse);
        let before = administration.clone();
        for (line, promised) in [
            ("volume modify b -qos-adaptive-policy-group prod", 100_000),
            ("qos adaptive-policy-group modify prod -expected-iops 15000", 75_000),
            ("volume modify a -size 8TB", 80_000),
        ] {
            let refused = run(&mut administration, line).unwrap_err();
            let words =
                format!("the floors together would be {promised} IOPS, beyond the goal of 70000 (70 % of 100000); ");
            assert!(refused.starts_with(&words), "{line}: {refused}");
            assert_eq!(administration, before, "{line}");
        }
        for line in [
            "qos policy-group create small -min-throughput 20000IOPS -is-shared false",
            "volume modify b -qos-policy-group small",
            "qos policy-group modify small -min-throughput 19999IOPS",
            "volume modify a -size 4TB",
        ] {
            let _ = run(&mut administration, line).unwrap();
        }
        assert_eq!(administration.registry.promised(), Iops(40_000 + 19_999));
    }

    /// If the goal only warns, the promise is made, and a note says how far it exceeds the goal.
    /// Later commands that promise no more are silent.
    #[test]
    fn or_it_is_noted() {
        let mut administration = administration(Beyond::Warn);
        let said = run(&mut administration, "volume modify b -qos-adaptive-policy-group prod").unwrap();
        assert!(
            said.contains("Note: the floors together are 100000 IOPS, beyond the goal of 70000 (70 % of 100000).\n"),
            "{said}"
        );
        assert!(!run(&mut administration, "volume create c -size 1GB").unwrap().contains("goal"));
        assert_eq!(administration.registry.promised(), Iops(100_000));
    }

    /// A volume's floor covers the floors of its contents.
    #[test]
    fn of_a_volume_and_what_is_in_it_the_larger_counts() {
        let settings = RegistrySettings { nesting: qos::Nesting::Free, ..RegistrySettings::default() };
        let mut administration = Administration::new(settings);
        for (line, promised) in [
            ("vserver create s", 0),
            ("volume create v -size 1TB", 0),
            ("lun create /vol/v/one -size 1GB", 0),
            ("lun create /vol/v/two -size 1GB", 0),
            ("qos policy-group create large -min-throughput 500IOPS -is-shared false", 0),
            ("qos policy-group create small -min-throughput 300IOPS -is-shared false", 0),
            ("volume modify v -qos-policy-group large", 500),
            ("lun modify /vol/v/one -qos-policy-group small", 500),
            ("lun modify /vol/v/two -qos-policy-group small", 600),
        ] {
            let _ = administration.execute(line, Time::ZERO, &|_| 0).unwrap();
            assert_eq!(administration.registry.promised(), Iops(promised), "{line}");
        }
    }
}
