//! The sources of events: what the data thread noticed, and what is found by looking at statistics
//! and at the pool.

use super::Control;
use crate::memory::{MemorySigns, Relief};
use crate::order::Order;
use crate::shard::ShardGone;
use admin::{EventKind, Noticed, Sample, World as _};
use block::{Bytes, LimitKind, ObjectId, Span};
use qos::{FloorState, Shortage};
use std::collections::BTreeMap;
use store::Room;

/// How long a floor must be missed to be an event. Within less, the scheduler may still adapt to a
/// change of load.
const MISSED_FOR: Span = Span::from_secs(5);
/// From this percentage on the pool is nearly full, as for ONTAP's volumes.
const NEARLY_FULL_PERCENT: u64 = 95;
/// From this percentage on it is full.
const FULL_PERCENT: u64 = 98;

/// The state at the last look.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The number of the last sample.
    sample: u64,
    /// How long each floor has been missed.
    missed: BTreeMap<ObjectId, Span>,
    space: Space,
    flush_failed: bool,
    /// Events to come: what a start finds is found before the log is there.
    pub(super) found: Vec<Noticed>,
}

/// How full the pool is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Space {
    #[default]
    Enough,
    Little,
    None,
}

impl Control {
    /// From now on, shrinks the cache (if there is one) and returns unused buffers at once while
    /// memory is short.
    pub fn watch_memory(&mut self, signs: MemorySigns) {
        self.relief = Some(Relief::new(signs, self.shard.cache().map(|cache| cache.memory)));
    }

    /// Checks whether memory is short; to be called regularly.
    ///
    /// # Errors
    /// The shard is gone.
    pub fn look_at_memory(&mut self) -> Result<(), ShardGone> {
        let now = self.clock.now();
        let Some(relief) = &mut self.relief else { return Ok(()) };
        let kept = relief.look(now, &self.shard)?;
        if let (Some(kept), Some(cache)) = (kept, self.shard.cache()) {
            tracing::info!(bytes = kept.0, "the cache keeps this much: memory is short, or no longer");
            self.notice_cache(kept, cache.memory);
        }
        Ok(())
    }

    /// Turns what the data thread noticed, missed floors, and a failed flush into events.
    pub(super) fn notice(&self, noticed: Vec<Noticed>) {
        noticed.into_iter().for_each(|noticed| self.events.note(noticed));
        let mut watch = self.watch.borrow_mut();
        watch.found.drain(..).for_each(|noticed| self.events.note(noticed));
        let path = |object| self.path_of(object).unwrap_or_default();
        watch.floors(&self.monitor.latest(), &path).into_iter().for_each(|noticed| self.events.note(noticed));
        if !std::mem::replace(&mut watch.flush_failed, self.pool.has_doubt()) && watch.flush_failed {
            let text = "a flush of the pool failed: what was written since the last one that did not may be lost";
            self.events.note(Noticed::once(EventKind::FlushFailed, "", text));
        }
        self.events.settle();
    }

    /// Measures the space for data, which files of others on the same file system change too, and
    /// makes an event if the pool is getting full or has space again. If the shard is gone, there
    /// is no event. What the catalogue needs for a deletion is reserved once there is space for it.
    pub fn look_at_space(&self) {
        self.pool.keep_room();
        match self.room.as_ref().map(Room::measure) {
            Some(Ok(room)) => drop(self.shard.order(Order::Room(room))),
            Some(Err(error)) => tracing::warn!(%error, "the pool's space is not known anew"),
            None => {}
        }
        let measuring = self.measuring();
        let Some(pool) = measuring.aggregate().filter(|pool| pool.size > 0 && measuring.is_whole().is_ok()) else {
            return;
        };
        self.look_at_maps(&pool.name);
        let percent = percent_used(pool.size, pool.available);
        let space = Space::of(percent, pool.available);
        let before = std::mem::replace(&mut self.watch.borrow_mut().space, space);
        let kind = match space {
            Space::None => EventKind::Full,
            Space::Little if before != Space::Little => EventKind::NearlyFull,
            Space::Enough if before != Space::Enough => EventKind::HasSpace,
            _ => return,
        };
        // A pool that stays full is reported repeatedly; the log limits the rate.
        let left = self.administration.size(pool.available);
        let text = format!("aggregate {} is {percent} % full, {left} are left", pool.name);
        self.events.note(Noticed::once(kind, pool.name, text));
    }

    /// Makes an event if the maps have no memory left; the log limits the rate.
    fn look_at_maps(&self, pool: &str) {
        let Ok(Some(map::Usage { nodes, nodes_max, .. })) = self.shard.space() else { return };
        if percent_used(nodes_max, nodes_max.saturating_sub(nodes)) < FULL_PERCENT {
            return;
        }
        let [used, most] = [nodes, nodes_max].map(|bytes| self.administration.size(bytes));
        let text = format!(
            "the maps of aggregate {pool} take {used} of {most}; make other parts of the server's memory smaller, or maps_memory in [pool] larger"
        );
        self.events.note(Noticed::once(EventKind::MapsFull, pool.to_owned(), text));
    }

    /// Makes an event when the memory that the cache may use changes.
    pub(super) fn notice_cache(&self, kept: Bytes, whole: Bytes) {
        let size = |bytes: Bytes| self.administration.size(bytes.0);
        let noticed = if kept < whole {
            let text = format!("memory is short: the cache keeps {} of {}", size(kept), size(whole));
            Noticed::once(EventKind::CacheReduced, "", text)
        } else {
            Noticed::once(EventKind::CacheRestored, "", format!("the cache has its {} again", size(whole)))
        };
        self.events.note(noticed);
    }
}

impl Space {
    fn of(percent: u64, available: u64) -> Space {
        match percent {
            _ if available == 0 => Space::None,
            FULL_PERCENT.. => Space::None,
            NEARLY_FULL_PERCENT.. => Space::Little,
            _ => Space::Enough,
        }
    }
}

fn percent_used(size: u64, available: u64) -> u64 {
    (u128::from(size.saturating_sub(available)) * 100 / u128::from(size.max(1))) as u64
}

impl Watch {
    /// The events of floors that follow from a new sample.
    fn floors(&mut self, sample: &Sample, path: &dyn Fn(ObjectId) -> String) -> Vec<Noticed> {
        if std::mem::replace(&mut self.sample, sample.number) == sample.number {
            return Vec::new();
        }
        let (mut noticed, mut ended) = (Vec::new(), Vec::new());
        for (object, seen) in &sample.objects {
            match missed(seen.floor) {
                Some((sort, how)) => {
                    let time = self.missed.entry(*object).or_default();
                    *time += sample.length;
                    if *time >= MISSED_FOR {
                        let path = path(*object);
                        let text = format!("{path}: {how}");
                        noticed.push(Noticed::once(EventKind::FloorMissed, path, text).of_sort(sort));
                    }
                }
                None => ended.extend(self.missed.remove(object).map(|time| (*object, time))),
            }
        }
        ended.extend(self.missed.extract_if(.., |object, _| !sample.objects.contains_key(object)));
        for (object, _) in ended.into_iter().filter(|(_, time)| *time >= MISSED_FOR) {
            let path = path(object);
            let text = format!("{path}: the floor is met again, or not asked for");
            noticed.push(Noticed::once(EventKind::FloorMet, path, text));
        }
        noticed
    }
}

/// What an object gets in place of its floor, and why; before it whether its rate or its latency
/// is missed. If its client keeps too few requests outstanding, or a ceiling is in the way, the
/// storage is not at fault, and there is no event.
fn missed(floor: FloorState) -> Option<(&'static str, String)> {
    let (FloorState::Short { why, .. } | FloorState::Slow { why, .. }) = floor else { return None };
    let because = match why {
        Shortage::Overcommitted { phi_per_mille } => format!(
            "the floors together are more than the storage can do, each is held at {} % of itself",
            phi_per_mille / 10
        ),
        Shortage::NotHelped => "holding others back cost much and did not help".into(),
        Shortage::TakesAtBest(span) => {
            format!("half of its requests take {} at best", ontap::show::latency(span.as_nanos()))
        }
        Shortage::Adjusting => "others are still being held back for it".into(),
        Shortage::NeedsOutstanding(_) | Shortage::CeilingAbove => return None,
    };
    let rate = |rate: u64, kind| match kind {
        LimitKind::Iops => format!("{rate} IOPS"),
        LimitKind::Throughput => ontap::show::throughput(rate, ontap::value::SizeUnits::Decimal),
    };
    match floor {
        FloorState::Short { served, wanted, kind, .. } => {
            Some(("rate", format!("{} served of a floor of {}: {because}", rate(served, kind), rate(wanted, kind))))
        }
        FloorState::Slow { median, wanted, .. } => {
            let (median, wanted) = (ontap::show::latency(median.as_nanos()), ontap::show::latency(wanted.as_nanos()));
            Some((
                "latency",
                format!("half of its requests took longer than {median}, {wanted} are expected: {because}"),
            ))
        }
        FloorState::NotSet | FloorState::Met => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use admin::Seen;

    fn sample(number: u64, floor: FloorState) -> Sample {
        let objects = BTreeMap::from([(ObjectId(7), Seen::of_floor(floor))]);
        Sample { number, length: Span::SECOND, objects, ..Sample::default() }
    }

    fn kinds(noticed: &[Noticed]) -> Vec<EventKind> {
        noticed.iter().map(|noticed| noticed.kind).collect()
    }

    /// Five seconds of a miss make an event, four do not. The same sample twice counts once, and
    /// the end of the miss is an event too.
    #[test]
    fn a_floor_that_is_missed_for_long_is_noticed() {
        let short = |why| FloorState::Short { served: 60, wanted: 100, kind: LimitKind::Iops, why };
        let missed = short(Shortage::Overcommitted { phi_per_mille: 600 });
        let mut watch = Watch::default();
        let mut look = |number, floor| watch.floors(&sample(number, floor), &|_| "s:/vol/v".into());
        for second in 1..=4 {
            assert_eq!(look(second, missed), []);
            assert_eq!(look(second, missed), []);
        }
        let fifth = look(5, missed);
        assert_eq!(kinds(&fifth), [EventKind::FloorMissed]);
        assert_eq!(
            fifth[0].text,
            "s:/vol/v: 60 IOPS served of a floor of 100 IOPS: the floors together are more than the storage can do, each \
             is held at 60 % of itself"
        );
        assert_eq!(kinds(&look(6, FloorState::Met)), [EventKind::FloorMet]);
        assert_eq!(look(7, FloorState::Met), []);
        for second in 8..20 {
            assert_eq!(look(second, short(Shortage::NeedsOutstanding(9))), [], "the client asks for too little");
        }
    }

    #[test]
    fn a_pool_is_full_by_percent_or_to_the_last_byte() {
        let of = |size, available| Space::of(percent_used(size, available), available);
        assert_eq!(
            [of(1000, 51), of(1000, 50), of(1000, 21), of(1000, 20), of(1000, 0)],
            [Space::Enough, Space::Little, Space::Little, Space::None, Space::None]
        );
    }
}
