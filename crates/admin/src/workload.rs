//! `qos workload` and `qos settings`: the streams that policies apply to, and how floors are kept.

use super::{AdminError, Answer, Errand, Obstacle};
use block::{BytesPerSecond, Iops};
use ontap::catalogue::WorkloadCommand;
use ontap::show::{BurstInForce, WorkloadRow};
use ontap::value::ThroughputLimits;
use qos::{Object, ObjectKind, PeakMode};

impl Errand<'_> {
    pub(super) fn workload(&mut self, command: WorkloadCommand) -> Result<Answer, AdminError> {
        match command {
            // The scheduler has one way, which is that of the second version: floors are kept at
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

    /// An object in a policy group is a workload.
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
    // A file's name may be a path; its last part tells it apart well enough beside the number.
    let name = object.name().rsplit('/').next().unwrap_or_default();
    format!("{name}-wid{}", object.id().0)
}
