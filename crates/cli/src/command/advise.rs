//! `seawall advise`: the adaptive policy that protects a database.

use crate::{Answer, terminal};
use anyhow::Result;
use block::Span;
use ramp::{Advice, Need, Policy, iops_of_references, references_of};

/// Work out the adaptive policy that protects a database
///
/// From the IOPS that it needs and the space that it uses: the published rule, and the one that leaves every burst of
/// writes time to be written, with the command lines that create the policy and attach it. Exit code 1 when the limit of
/// a write cycle would be missed under the published rule.
#[derive(clap::Args)]
pub struct Advise {
    /// Total IOPS that the database needs, as a ramp asks them
    #[arg(long, value_name = "N", required_unless_present = "global_references")]
    iops: Option<u64>,
    /// Size by the database's own measure instead: global references a second
    #[arg(long, value_name = "N", conflicts_with = "iops")]
    global_references: Option<u64>,
    /// Used space: TB, or with a unit (500GB, 5TB)
    #[arg(long, value_name = "SPACE", value_parser = milli_tb)]
    used_space: u64,
    /// Within which a burst has to be written, in seconds
    #[arg(long, value_name = "S", default_value_t = 45)]
    cycle_limit: u64,
    /// Name of the policy group
    #[arg(long, value_name = "NAME", default_value = "AqosProd")]
    policy_group: String,
    /// The SVM
    #[arg(long, value_name = "NAME", default_value = "svm01")]
    vserver: String,
    /// The volumes; may be a pattern
    #[arg(long, value_name = "NAME", default_value = "*")]
    volume: String,
}

impl Advise {
    pub fn run(self) -> Result<Answer> {
        let iops = match (self.iops, self.global_references) {
            (Some(iops), _) => iops,
            (None, references) => iops_of_references(references.unwrap_or_default()),
        };
        let need = Need { iops, used_milli_tb: self.used_space, cycle_limit: Span::from_secs(self.cycle_limit) };
        let advice = Advice::on(need)?;
        let burst = iops * 20;
        terminal::line(&format!(
            "{iops} IOPS ({:.0} global references/s): {:.0} reads/s and a burst of {burst} blocks every 80 s; {} used",
            references_of(iops),
            iops as f64 * 0.75,
            tb(self.used_space),
        ));
        terminal::line(&rule("published rule", &advice.published, advice.published_cycle));
        let name = format!("cycle-safe rule ({:.3} x)", advice.factor);
        terminal::line(&rule(&name, &advice.safe, advice.safe_cycle));
        if advice.published_misses() {
            terminal::line(&format!(
                "warning: at the floor of the published rule a burst takes longer than {} s; use the cycle-safe one",
                self.cycle_limit
            ));
        }
        terminal::line("");
        for line in advice.safe.commands(&self.policy_group, &self.vserver, &self.volume) {
            terminal::line(&line);
        }
        terminal::line("\nused space     floor IOPS  ceiling IOPS");
        for (used, floor, ceiling) in advice.growth() {
            terminal::line(&format!("{:<12} {floor:>12} {ceiling:>13}", tb(used)));
        }
        Ok(if advice.published_misses() { Answer::No } else { Answer::Yes })
    }
}

fn rule(name: &str, policy: &Policy, cycle: Span) -> String {
    let Policy { expected, peak, absolute_min } = policy;
    format!(
        "{name}: expected {expected} IOPS/TB, peak {peak} IOPS/TB, absolute minimum {absolute_min} IOPS; a burst takes \
         {:.1} s at the floor",
        cycle.as_secs_f64()
    )
}

fn tb(milli: u64) -> String {
    format!("{}.{:03} TB", milli / 1000, milli % 1000)
}

/// Thousandths of a TB: `5`, `5TB`, `500GB`, `2.5TB`.
fn milli_tb(given: &str) -> Result<u64, String> {
    let wrong = || "must be a space such as 5TB, 2.5TB or 500GB".to_owned();
    let text = given.trim().to_ascii_uppercase();
    let (number, milli) = match (text.strip_suffix("TB"), text.strip_suffix("GB")) {
        (Some(number), _) => (number, 1000.0),
        (_, Some(number)) => (number, 1.0),
        _ => (text.as_str(), 1000.0),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let milli = (number * milli).round();
    if (1.0..=1e9).contains(&milli) { Ok(milli as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_read() {
        for (text, milli) in [("5", 5000), ("2.5TB", 2500), ("500GB", 500), ("75 tb", 75_000)] {
            assert_eq!(milli_tb(text), Ok(milli), "{text}");
        }
        assert!(milli_tb("0").is_err() && milli_tb("lots").is_err() && milli_tb("inf").is_err());
    }

    #[test]
    fn the_lines_are_ones_that_the_shell_takes() {
        let need = Need { iops: 75_000, used_milli_tb: 5_000, cycle_limit: Span::from_secs(45) };
        for line in Advice::on(need).unwrap().safe.commands("AqosEpicProd", "epic", "epic_rhel1_*") {
            assert!(ontap::parse(&line).is_ok(), "{line}: {:?}", ontap::parse(&line));
        }
    }
}
