//! The last day in memory.
//!
//! ```text
//!   now ◄─ 600 slots of 1 s ─┤◄─────────── slots of 15 s, up to 24 h ───────────►│
//!                            │      where memory runs out, the oldest first: 1 min, 5 min, 15 min, 1 h
//! ```
//!
//! When memory runs out, the oldest slot that is finer than a step is merged first, so beyond the
//! last ten minutes the resolution differs by at most one step. Only when the whole day is by the
//! hour, the last ten minutes are shortened, and after them the day.

use crate::Figures;
use crate::packed::Packed;
use block::{Bytes, ObjectId, Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Limits of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistorySettings {
    /// Maximum memory for slots. 256 MiB hold a day by 15 s of about 1 000 objects that are always
    /// active.
    pub memory: Bytes,
}

impl HistorySettings {
    /// The least memory: less does not hold an hour of a hundred objects.
    pub const MEMORY_MIN: Bytes = Bytes::mib(1);
}

impl Default for HistorySettings {
    fn default() -> HistorySettings {
        HistorySettings { memory: Bytes::mib(256) }
    }
}

/// How long samples are kept as they come.
const FINE_TIME: Span = Span::from_secs(600);
/// How long anything is kept.
const DAY: Span = Span::from_secs(24 * 3600);
/// Widths of slots in seconds: samples as they come, then the steps into which they are merged.
const STEPS: [u64; 6] = [1, 15, 60, 300, 900, 3600];

/// The activity of all objects over an interval.
#[derive(Clone, Debug)]
pub struct Slot {
    from: Time,
    to: Time,
    /// The part of it that samples cover.
    length: Span,
    width: Span,
    objects: Packed,
}

impl Slot {
    /// Its beginning.
    pub fn from(&self) -> Time {
        self.from
    }

    /// Its end.
    pub fn to(&self) -> Time {
        self.to
    }

    /// The part of it that samples cover, which rates refer to.
    pub fn length(&self) -> Span {
        self.length
    }

    /// Nominal width of this kind of slot.
    pub fn width(&self) -> Span {
        self.width
    }

    /// The figures of one object; `None` if it was not active.
    pub fn figures(&self, object: ObjectId) -> Option<Figures> {
        self.objects.get(object)
    }

    /// The active objects in order of number.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, Figures)> + '_ {
        self.objects.iter()
    }

    fn memory(&self) -> usize {
        // The slot, its reference counts, and its entry in the queue.
        size_of::<Slot>() + 3 * size_of::<usize>() + self.objects.memory()
    }

    /// The number of the interval of this width that contains it.
    fn place(&self, width: u64) -> u64 {
        self.from.as_nanos() / (width * Span::SECOND.as_nanos())
    }

    fn of<'a>(slots: impl Iterator<Item = &'a Arc<Slot>>, width: u64) -> Slot {
        let (mut sums, mut ends, mut length) = (BTreeMap::<ObjectId, Figures>::new(), None, Span::ZERO);
        for slot in slots {
            let (from, _) = ends.unwrap_or((slot.from, slot.to));
            ends = Some((from, slot.to));
            length += slot.length;
            slot.objects().for_each(|(object, figures)| sums.entry(object).or_default().add(&figures));
        }
        let (from, to) = ends.unwrap_or_default();
        Slot { from, to, length, width: Span::from_secs(width), objects: Packed::new(sums.into_iter()) }
    }
}

/// A part of the day with slots of the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Width of a slot.
    pub width: Span,
    /// Time that these slots cover together.
    pub covered: Span,
    /// Number of slots.
    pub slots: usize,
}

/// The activity of objects over the last day.
#[derive(Debug, Default)]
pub struct History {
    settings: HistorySettings,
    /// Samples of the last ten minutes, oldest first.
    fine: VecDeque<Arc<Slot>>,
    /// Slots older than those, oldest first.
    coarse: VecDeque<Arc<Slot>>,
    memory: usize,
}

impl History {
    /// An empty history.
    pub fn new(settings: HistorySettings) -> History {
        History { settings, ..History::default() }
    }

    /// Adds a sample that ended at `to`, with the objects active in it in order of number.
    pub fn add(&mut self, to: Time, length: Span, objects: impl Iterator<Item = (ObjectId, Figures)>) {
        let from = Time::from_nanos(to.as_nanos().saturating_sub(length.as_nanos()));
        let slot = Slot { from, to, length, width: Span::SECOND, objects: Packed::new(objects) };
        self.memory += slot.memory();
        self.fine.push_back(Arc::new(slot));
        while self.fine.front().is_some_and(|oldest| {
            let whole = (oldest.place(STEPS[1]) + 1) * STEPS[1];
            to.since(Time::ZERO + Span::from_secs(whole)) >= FINE_TIME
        }) {
            self.age();
        }
        while self.coarse.front().is_some_and(|oldest| to.since(oldest.to) >= DAY) {
            self.forget();
        }
        while self.memory as u64 > self.settings.memory.0 && self.shrink() {}
    }

    /// A snapshot of all slots, oldest first.
    pub fn slots(&self) -> Vec<Arc<Slot>> {
        self.coarse.iter().chain(&self.fine).cloned().collect()
    }

    /// The slots that begin at `begin` or later, oldest first.
    pub fn since(&self, begin: Time) -> Vec<Arc<Slot>> {
        let newest_first = self.fine.iter().rev().chain(self.coarse.iter().rev());
        let mut slots: Vec<Arc<Slot>> = newest_first.take_while(|slot| slot.from >= begin).cloned().collect();
        slots.reverse();
        slots
    }

    /// The latest sample.
    pub fn latest(&self) -> Option<&Arc<Slot>> {
        self.fine.back()
    }

    /// Its memory limit.
    pub fn memory_most(&self) -> Bytes {
        self.settings.memory
    }

    /// Its memory.
    pub fn memory(&self) -> Bytes {
        Bytes(self.memory as u64)
    }

    /// The resolutions that are kept, newest first.
    pub fn resolution(&self) -> Vec<Resolution> {
        let mut parts: Vec<Resolution> = Vec::new();
        for slot in self.fine.iter().rev().chain(self.coarse.iter().rev()) {
            match parts.last_mut().filter(|part| part.width == slot.width) {
                Some(part) => (part.covered, part.slots) = (part.covered + slot.length, part.slots + 1),
                None => parts.push(Resolution { width: slot.width, covered: slot.length, slots: 1 }),
            }
        }
        parts
    }

    /// Merges the oldest samples into a slot of the first step. False if there are none.
    fn age(&mut self) -> bool {
        let Some(place) = self.fine.front().map(|oldest| oldest.place(STEPS[1])) else { return false };
        let count = self.fine.iter().take_while(|slot| slot.place(STEPS[1]) == place).count();
        let aged: Vec<Arc<Slot>> = self.fine.drain(..count).collect();
        self.memory -= aged.iter().map(|slot| slot.memory()).sum::<usize>();
        let slot = Slot::of(aged.iter(), STEPS[1]);
        self.memory += slot.memory();
        self.coarse.push_back(Arc::new(slot));
        true
    }

    fn forget(&mut self) {
        if let Some(oldest) = self.coarse.pop_front() {
            self.memory -= oldest.memory();
        }
    }

    /// Takes one step to free memory. False if none is left; the last sample stays.
    fn shrink(&mut self) -> bool {
        if STEPS[2..].iter().any(|step| self.coarsen(*step)) || self.fine.len() > 1 && self.age() {
            return true;
        }
        let any = !self.coarse.is_empty();
        self.forget();
        any
    }

    /// Merges the oldest slots finer than `step` into one of that width. False if there are none.
    fn coarsen(&mut self, step: u64) -> bool {
        let width = Span::from_secs(step);
        let Some(first) = self.coarse.iter().position(|slot| slot.width < width) else { return false };
        let place = self.coarse[first].place(step);
        let count = self.coarse.range(first..).take_while(|slot| slot.place(step) == place).count();
        // The newest slot may still grow.
        if first + count == self.coarse.len() {
            return false;
        }
        let slot = Slot::of(self.coarse.range(first..first + count), step);
        let freed: usize = self.coarse.range(first..first + count).map(|slot| slot.memory()).sum();
        self.memory = self.memory - freed + slot.memory();
        self.coarse[first] = Arc::new(slot);
        self.coarse.drain(first + 1..first + count);
        true
    }
}
