//! `qos statistics`: the gate's account of the last second, by policy group, workload or volume.
//!
//! An operation counts for the nearest object in a policy group on the way up from its LUN or file,
//! so that the rows add up to the total. Operations under no policy are in the row
//! `User-Best-Effort`.

use super::workload::workload_name;
use super::{AdminError, Answer, Errand, Obstacle, path_of};
use crate::{Sample, Seen, main_cause};
use ::history::Latency;
use block::{Cause, ObjectId, Span};
use ontap::catalogue::{StatisticsFigures, StatisticsScope, StatisticsShow};
use ontap::show::{FloorStatus, HeldBy, Measured, Statistics, Waits};
use qos::{FloorState, GateStatus, GroupId, Object, ObjectKind, Shortage};
use std::collections::BTreeMap;

/// The name of the only node.
pub const NODE: &str = "seawall";
/// The row for what is under no policy.
const BEST_EFFORT: &str = "User-Best-Effort";

impl Errand<'_> {
    /// One iteration; whoever sends the answers repeats it.
    pub(super) fn statistics(&mut self, show: &StatisticsShow) -> Result<Answer, AdminError> {
        if let Some(node) = show.node.as_ref().filter(|node| node.as_str() != NODE) {
            let text = format!("there is no node {node}; the only one is {NODE}");
            return Err(Obstacle::NoNode.told(text).given(node).into());
        }
        let sample = self.at.world.sample();
        let work = Work { errand: self, sample: &sample };
        let rows = match show.scope {
            StatisticsScope::PolicyGroup => work.by_group(),
            StatisticsScope::Workload => work.by_workload(),
            StatisticsScope::Volume => work.by_volume(show)?,
        };
        let advice = advice(&sample.gate).filter(|_| show.figures == StatisticsFigures::Held);
        Ok(Answer::Statistics(Box::new(Statistics::new(rows, show, advice))))
    }
}

/// A sample, reported with the present names of objects.
struct Work<'a, 'e> {
    errand: &'a Errand<'e>,
    sample: &'a Sample,
}

impl Work<'_, '_> {
    fn by_group(&self) -> Vec<Measured> {
        let mut sums: BTreeMap<Option<GroupId>, Seen> = BTreeMap::from([(None, Seen::default())]);
        for group in self.errand.registry.groups().filter(|group| group.members().len() > 0) {
            sums.insert(Some(group.id()), Seen::default());
        }
        for (&object, seen) in &self.sample.objects {
            let group = self.nearest(object).and_then(Object::membership).map(|membership| membership.group);
            sums.entry(group).or_default().join(seen);
        }
        let row = |(id, seen): (&Option<GroupId>, &Seen)| {
            let group = id.and_then(|id| self.errand.registry.group_of(id));
            let is_adaptive = group.is_some_and(|group| group.policy().adaptive().is_some());
            let name = group.map_or(BEST_EFFORT, |group| group.name());
            Measured { is_adaptive, ..self.measured(name.into(), None, seen) }
        };
        sums.iter().map(row).collect()
    }

    fn by_workload(&self) -> Vec<Measured> {
        let mut sums: BTreeMap<Option<ObjectId>, Seen> = BTreeMap::from([(None, Seen::default())]);
        for object in self.errand.registry.objects().filter(|object| object.membership().is_some()) {
            sums.insert(Some(object.id()), self.floor_of(object.id()));
        }
        for (&object, seen) in &self.sample.objects {
            sums.entry(self.nearest(object).map(Object::id)).or_default().join(seen);
        }
        let row = |(id, seen): (&Option<ObjectId>, &Seen)| match id.and_then(|id| self.errand.registry.object(id)) {
            Some(object) => self.measured(workload_name(object), Some(object.id()), seen),
            None => self.measured(BEST_EFFORT.into(), None, seen),
        };
        sums.iter().map(row).collect()
    }

    fn by_volume(&self, show: &StatisticsShow) -> Result<Vec<Measured>, AdminError> {
        let svm = show.vserver.as_ref().map(|name| self.errand.svm(Some(name))).transpose()?;
        let is_asked = |volume: &Object| {
            let in_svm = svm.is_none_or(|svm| volume.parent() == Some(svm));
            in_svm && show.volume.as_ref().is_none_or(|query| query.matches(volume.name()))
        };
        let volumes = self.errand.registry.objects().filter(|object| object.kind() == ObjectKind::Volume);
        let volumes: Vec<&Object> = volumes.filter(|volume| is_asked(volume)).collect();
        if let Some(name) = show.volume.as_ref().and_then(|query| query.literal()).filter(|_| volumes.is_empty()) {
            return Err(Obstacle::NoVolume.told(format!("there is no volume {name}")).given(name).into());
        }
        let mut sums: BTreeMap<ObjectId, Seen> =
            volumes.iter().map(|volume| (volume.id(), self.floor_of(volume.id()))).collect();
        for (&object, seen) in &self.sample.objects {
            if let Some(sum) = sums.get_mut(&self.errand.volume_of(object)) {
                sum.join(seen);
            }
        }
        let row = |volume: &&Object| Measured {
            vserver: Some(self.errand.svm_name(volume.id())),
            ..self.measured(workload_name(volume), Some(volume.id()), &sums[&volume.id()])
        };
        Ok(volumes.iter().map(row).collect())
    }

    /// Only the state of an object's own floor.
    fn floor_of(&self, object: ObjectId) -> Seen {
        let floor = self.sample.objects.get(&object).map_or(FloorState::NotSet, |seen| seen.floor);
        Seen::of_floor(floor)
    }

    /// The nearest object on the path of an object that is in a policy group.
    fn nearest(&self, object: ObjectId) -> Option<&Object> {
        self.errand.registry.path(object).find(|above| above.membership().is_some())
    }

    fn measured(&self, name: String, object: Option<ObjectId>, seen: &Seen) -> Measured {
        let length = self.sample.length;
        let rate = |count: u64| per_second(count, length);
        let waited = seen.waited_for(|_| true);
        let mean = seen.spent() / seen.completed;
        Measured {
            name,
            vserver: None,
            id: object.map(|object| object.0),
            iops: rate(seen.ops()),
            bytes_per_second: rate(seen.bytes()),
            request_bytes: seen.bytes().checked_div(seen.ops()).unwrap_or(0),
            latency_ns: mean.total().as_nanos(),
            waits: waits(mean),
            read_percent: (seen.reads.ops * 100).checked_div(seen.ops()).unwrap_or(0) as u8,
            concurrency: seen.outstanding(length),
            is_adaptive: false,
            held_by: self.held_by(object, seen, waited),
            floor: floor_status(seen.floor),
        }
    }

    /// What held it back: the main cause in the gate, if that took more than half of the time; else
    /// the device, if it took more than twice its best time; else the client's own depth. The last
    /// two are estimates: it is not known what one more request would have got, and a device that
    /// was never seen idle is not known to be busy.
    fn held_by(&self, object: Option<ObjectId>, seen: &Seen, waited: Span) -> HeldBy {
        if seen.ops() == 0 && waited == Span::ZERO {
            return HeldBy::Nothing;
        }
        let most = main_cause(seen.waited.iter().map(|(&cause, &span)| (cause, span)));
        if let Some(cause) = most.filter(|_| waited >= seen.service) {
            return self.cause(object, cause);
        }
        if seen.is_device_busy() { HeldBy::Backend } else { HeldBy::OwnDepth }
    }

    fn cause(&self, object: Option<ObjectId>, cause: Cause) -> HeldBy {
        match cause {
            Cause::Ceiling(at, kind) if Some(at) == object => HeldBy::OwnCeiling(kind),
            Cause::Ceiling(at, kind) => {
                let path = path_of(self.errand.registry, at).unwrap_or_default();
                HeldBy::CeilingOf(path.rsplit('/').next().unwrap_or_default().to_owned(), kind)
            }
            Cause::Shared(group, kind) => {
                let group = self.errand.registry.group_of(GroupId(group)).map_or("a group", |group| group.name());
                HeldBy::Shared(group.to_owned(), kind)
            }
            Cause::Floor => HeldBy::Floors,
            Cause::Turn => HeldBy::Turn,
            Cause::Backend => HeldBy::Backend,
            Cause::Stalled => HeldBy::Stalled,
            Cause::Nothing => HeldBy::Nothing,
        }
    }
}

/// Advice when the floors together come near the most that the storage has served lately.
pub fn advice(gate: &GateStatus) -> Option<String> {
    if !gate.floors_near_best {
        return None;
    }
    let GateStatus { floors_iops, best_iops, floors_bytes, best_bytes, .. } = gate;
    let by_iops =
        u128::from(*floors_iops) * u128::from(best_bytes.0) >= u128::from(floors_bytes.0) * u128::from(*best_iops);
    let (floors, best) = match by_iops {
        true => (format!("{floors_iops} IOPS"), format!("{best_iops}")),
        false => (format!("{} MB/s", floors_bytes.0 / 1_000_000), format!("{}", best_bytes.0 / 1_000_000)),
    };
    Some(format!("the floors ask for {floors} together, and the storage has served at most {best} lately"))
}

/// The mean times of a request, for the tables.
pub(super) fn waits(mean: Latency) -> Waits {
    Waits {
        network_ns: mean.network.as_nanos(),
        data_ns: mean.store.as_nanos(),
        disk_ns: mean.disk.as_nanos(),
        qos_max_ns: mean.qos_max.as_nanos(),
        qos_min_ns: mean.qos_min.as_nanos(),
        ..Waits::default()
    }
}

fn floor_status(floor: FloorState) -> FloorStatus {
    match floor {
        FloorState::NotSet => FloorStatus::NotSet,
        FloorState::Met => FloorStatus::Met,
        FloorState::Short { why, .. } | FloorState::Slow { why, .. } => match why {
            Shortage::NeedsOutstanding(number) => FloorStatus::NeedsOutstanding(number),
            Shortage::Overcommitted { phi_per_mille } => FloorStatus::CutTo(u64::from(phi_per_mille / 10)),
            Shortage::CeilingAbove => FloorStatus::CeilingAbove,
            Shortage::TakesAtBest(span) => FloorStatus::TakesAtBest(span.as_nanos()),
            Shortage::NotHelped => FloorStatus::NotHelped,
            Shortage::Adjusting => FloorStatus::Adjusting,
        },
    }
}

pub(super) fn per_second(count: u64, length: Span) -> u64 {
    let nanos = u128::from(length.as_nanos());
    (u128::from(count) * 1_000_000_000 + nanos / 2).checked_div(nanos).unwrap_or(0) as u64
}
