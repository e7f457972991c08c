//! What a server or the simulator saw of its objects in a second, in the recorder's terms.

use admin::{Administration, CacheSeen, DEFAULT_PARTITION};
use block::{Cause, ObjectId, Span};
use engine::ObjectSecond;
use qos::GroupId;
use server::{AccountRow, Control, HeldAt, floor_outcome, held_by, trace_of};
use stats::run::{Hits, PartitionRecord};
use stats::{DispatchTrace, Waits};
use std::collections::BTreeMap;

/// Looks up the names of objects and groups.
pub trait Names {
    /// `svm01:/vol/vol1`; empty for an object that is gone.
    fn path(&self, object: ObjectId) -> String;
    /// The name of a policy group; empty for one that is gone.
    fn group(&self, group: GroupId) -> String;
}

impl Names for Control {
    fn path(&self, object: ObjectId) -> String {
        self.path_of(object).unwrap_or_default()
    }

    fn group(&self, group: GroupId) -> String {
        self.group_name(group).unwrap_or_default().to_owned()
    }
}

impl Names for Administration {
    fn path(&self, object: ObjectId) -> String {
        self.path_of(object).unwrap_or_default()
    }

    fn group(&self, group: GroupId) -> String {
        self.group_name(group).unwrap_or_default().to_owned()
    }
}

/// Every object: what completed, as counted at the gate, with the gate's account of the same second
/// and the hits of its reads in the cache.
pub fn objects(
    names: &dyn Names,
    counted: Vec<(ObjectId, AccountRow)>,
    said: &[qos::ObjectAccount],
    cached: &[(ObjectId, Hits)],
) -> Vec<ObjectSecond> {
    let mut seconds: Vec<(ObjectId, ObjectSecond)> = Vec::new();
    for (object, seen) in counted {
        let (waits, path) = (seen.waits(), names.path(object));
        let second = ObjectSecond { path, waits, queued: seen.queued, device: seen.device, ..ObjectSecond::default() };
        seconds.push((object, second));
    }
    for said in said {
        let place = seconds.iter().position(|(object, _)| *object == said.object).unwrap_or_else(|| {
            let second = ObjectSecond { path: names.path(said.object), ..ObjectSecond::default() };
            seconds.push((said.object, second));
            seconds.len() - 1
        });
        let second = &mut seconds[place].1;
        part_stalls(&mut second.waits, said);
        let (held_by, held_at) = held_by(said);
        second.held_by = held_by;
        second.held_at = match held_at {
            Some(HeldAt::Object(object)) => names.path(object),
            Some(HeldAt::Group(group)) => names.group(group),
            None => String::new(),
        };
        second.floor = floor_outcome(said.floor);
        second.trace = said.passed.as_ref().map_or_else(DispatchTrace::default, trace_of);
    }
    for (object, hits) in cached {
        let second = seconds.iter_mut().find(|(seen, _)| seen == object);
        second.into_iter().for_each(|(_, second)| second.cached = *hits);
    }
    seconds.into_iter().map(|(_, second)| second).collect()
}

/// A request reports one cause for all of its wait. Of what it puts down to a ceiling, the part in
/// which the server stalled is moved to `turn`.
fn part_stalls(waits: &mut Waits, said: &qos::ObjectAccount) {
    let sum = |of: fn(Cause) -> bool| {
        said.waited.iter().filter(|(cause, _)| of(*cause)).map(|(_, span)| span.as_secs_f64()).sum::<f64>()
    };
    let stalled = sum(|cause| cause == Cause::Stalled);
    let limits = sum(|cause| matches!(cause, Cause::Ceiling(..) | Cause::Shared(..)));
    if stalled > 0.0 {
        let part = Span::from_secs_f64(waits.ceiling.as_secs_f64() * stalled / (stalled + limits));
        (waits.ceiling, waits.turn) = (waits.ceiling.saturating_sub(part), waits.turn + part);
    }
}

/// What the partitions of a cache did since `before`, which is brought up to now.
pub fn partitions(
    administration: &Administration,
    now: BTreeMap<u32, CacheSeen>,
    before: &mut BTreeMap<u32, CacheSeen>,
) -> Vec<PartitionRecord> {
    let name = |id: &u32| administration.partitions.get(*id).map_or(DEFAULT_PARTITION.into(), |part| part.name.clone());
    let record = |(id, seen): (&u32, &CacheSeen)| {
        let done = seen.since(before.get(id).copied().unwrap_or_default());
        PartitionRecord {
            point: 0,
            name: name(id),
            size: done.size.0,
            resident: done.resident.0,
            asked: Hits { found: done.hits, missed: done.misses },
            evicted: done.evicted,
        }
    };
    let records = now.iter().map(record).collect();
    *before = now;
    records
}

/// A shared group: what its members dispatched together.
pub fn group(names: &dyn Names, group: GroupId, trace: DispatchTrace) -> ObjectSecond {
    ObjectSecond { path: names.group(group), is_group: true, trace, ..ObjectSecond::default() }
}
