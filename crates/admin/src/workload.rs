//! `qos workload` and `qos settings`: the workloads that policies apply to, and how floors are
//! enforced.

use super::policy_group::latency_shown;
use super::{AdminError, Answer, Errand, Obstacle};
use block::{BytesPerSecond, Iops};
use ontap::catalogue::WorkloadCommand;
use ontap::show::{BurstInForce, WorkloadRow};
use ontap::value::ThroughputLimits;
use qos::{Object, ObjectKind, PeakMode};

impl Errand<'_> {
    pub(super) fn workload(&mut self, command: WorkloadCommand) -> Result<Answer, AdminError> {
        match command {
            // The scheduler implements only the second version's behaviour: floors are enforced at
            // any load.
            WorkloadCommand::ThroughputFloors(floors) if floors.enable => Ok(Answer::default()),
            WorkloadCommand::ThroughputFloors(_) => Err(Obstacle::FloorsAlwaysKept
                .told(
                    "throughput-floors-v2: floors are always kept here, also when the storage is at its limit; take \
                     one away with `qos policy-group modify -min-throughput none`",
                )
                .given(false)
                .into()),
            WorkloadCommand::Show(selection) => {
                self.listed(self.registry.objects().filter_map(|object| self.workload_row(object)), &selection)
            }
        }
    }

    /// A row for an object in a policy group.
    fn workload_row(&self, object: &Object) -> Option<WorkloadRow> {
        let group = self.registry.group_of(object.membership()?.group)?;
        let (volume, qtree) = self.place_of(object.id());
        let in_force = self.registry.limits_in_force(object.id())?;
        let level = in_force.levels.iter().find(|level| level.object == object.id())?;
        let (ceiling, floor) = (level.limits.ceiling, level.limits.floor);
        let limits = |iops: Option<Iops>, bytes: Option<BytesPerSecond>| {
            let limits = ThroughputLimits { iops: iops.map(|rate| rate.0), bytes_per_second: bytes.map(|rate| rate.0) };
            (limits != ThroughputLimits::default()).then_some(limits)
        };
        let own = |kind| (object.kind() == kind).then(|| object.name().to_owned());
        Some(WorkloadRow {
            workload: workload_name(object),
            class: "user-defined".into(),
            wid: object.id().0,
            policy_group: Some(group.name().into()),
            vserver: Some(self.svm_name(object.id())),
            volume: Some(volume).filter(|name| !name.is_empty()),
            lun: own(ObjectKind::Lun),
            qtree,
            file: object.kind().is_file().then(|| object.name().to_owned()),
            max_throughput: limits(ceiling.iops, ceiling.bytes),
            min_throughput: limits(floor.iops, floor.bytes),
            expected_latency: floor.latency.map(latency_shown),
            burst: ceiling.burst.map(|burst| BurstInForce {
                ppm: burst.ppm,
                duration: burst.duration,
                on_credit: level.peak == Some(PeakMode::Credits),
            }),
        })
    }
}

/// `vol1-wid7`
pub fn workload_name(object: &Object) -> String {
    // A file's name may be a path; beside the number, its last part is clear enough.
    let name = object.name().rsplit('/').next().unwrap_or_default();
    format!("{name}-wid{}", object.id().0)
}

#[cfg(test)]
mod tests {
    use crate::Administration;
    use block::Time;

    #[test]
    fn a_workload_shows_the_latency_that_its_policy_group_expects() {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        let mut run = |line: &str| administration.execute(line, Time::ZERO, &|_| 0).map(|done| done.answer.text());
        for line in [
            "vserver create svm01",
            "volume create vol1 -size 1GB",
            "volume create vol2 -size 1GB",
            "qos policy-group create quick -expected-latency 100us -is-shared false",
            "qos policy-group create free -max-throughput 10IOPS",
            "volume modify vol1 -qos-policy-group quick",
            "volume modify vol2 -qos-policy-group free",
        ] {
            let _ = run(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        let shown = run("qos workload show -expected-latency <1ms -instance").unwrap();
        assert!(shown.contains("Expected Latency: 100us") && shown.contains("Volume: vol1"), "{shown}");
        assert!(run("qos workload show -expected-latency - -fields volume").unwrap().contains("vol2"));
    }
}
