//! The last day in memory.
//!
//! ```text
//!   now ◄─ 600 slots of 1 s ─┤◄─────────── slots of 15 s, up to 24 h ───────────►│
//!                            │      where memory runs out, the oldest first: 1 min, 5 min, 15 min, 1 h
//! ```
//!
//! No slot is made coarser than the next step while one older than ten minutes is finer, so the
//! resolution of a day differs by one step at most. Only when the whole day is by the hour, the
//! last ten minutes become shorter, and only then the day.

use crate::Figures;
use crate::packed::Packed;
use block::{Bytes, ObjectId, Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistorySettings {
    /// The most memory for slots. 256 MiB hold a day by 15 s of about 1 000 objects that are always
    /// active.
    pub memory: Bytes,
}

impl HistorySettings {
    /// Less holds not even an hour of a hundred objects.
    pub const MEMORY_MIN: Bytes = Bytes::mib(1);
}

impl Default for HistorySettings {
    fn default() -> HistorySettings {
        HistorySettings { memory: Bytes::mib(256) }
    }
}

/// Samples are kept so long as they come.
const FINE_TIME: Span = Span::from_secs(600);
/// And all of it so long.
const DAY: Span = Span::from_secs(24 * 3600);
/// Widths of slots, in seconds: samples as they come, then what they are put together to.
const STEPS: [u64; 6] = [1, 15, 60, 300, 900, 3600];

/// A stretch of time, and what was active in it.
#[derive(Clone, Debug)]
pub struct Slot {
    from: Time,
    to: Time,
    /// What samples cover of it.
    length: Span,
    width: Span,
    objects: Packed,
}

impl Slot {
    /// When it begins.
    pub fn from(&self) -> Time {
        self.from
    }

    /// When it ends.
    pub fn to(&self) -> Time {
        self.to
    }

    /// How much of it was looked at: what a rate is of.
    pub fn length(&self) -> Span {
        self.length
    }

    /// How wide a slot of its kind is.
    pub fn width(&self) -> Span {
        self.width
    }

    /// What one object did; nothing where it was not active.
    pub fn figures(&self, object: ObjectId) -> Option<Figures> {
        self.objects.get(object)
    }

    /// What was active, by number.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, Figures)> + '_ {
        self.objects.iter()
    }

    fn memory(&self) -> usize {
        // The slot, its counts as a shared one, and its place in the line.
        size_of::<Slot>() + 3 * size_of::<usize>() + self.objects.memory()
    }

    /// Which slot of a width it belongs into.
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

/// A part of the day that is kept alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// A slot's width.
    pub width: Span,
    /// What those slots cover together.
    pub covered: Span,
    /// How many there are.
    pub slots: usize,
}

/// What was done in the last day.
#[derive(Debug, Default)]
pub struct History {
    settings: HistorySettings,
    /// The oldest first.
    fine: VecDeque<Arc<Slot>>,
    /// Older than all of those, the oldest first.
    coarse: VecDeque<Arc<Slot>>,
    memory: usize,
}

impl History {
    /// Nothing yet.
    pub fn new(settings: HistorySettings) -> History {
        History { settings, ..History::default() }
    }

    /// Adds a sample that ended at `to`, of what was active in it, by number.
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

    /// All there is, the oldest first: what was there at this moment, however long it is looked at.
    pub fn slots(&self) -> Vec<Arc<Slot>> {
        self.coarse.iter().chain(&self.fine).cloned().collect()
    }

    /// What began at a moment or later, the oldest first.
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

    /// What it may take of memory.
    pub fn memory_most(&self) -> Bytes {
        self.settings.memory
    }

    /// What it takes of memory.
    pub fn memory(&self) -> Bytes {
        Bytes(self.memory as u64)
    }

    /// How finely it is kept, the newest first.
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

    /// Puts the oldest samples together to the first coarser step. False when there are none.
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

    /// Takes one step towards less memory. False when there is none left: one sample stays.
    fn shrink(&mut self) -> bool {
        if STEPS[2..].iter().any(|step| self.coarsen(*step)) || self.fine.len() > 1 && self.age() {
            return true;
        }
        let any = !self.coarse.is_empty();
        self.forget();
        any
    }

    /// Puts the oldest slots together that are finer than `step` and make a whole one of it. False
    /// when there are none.
    fn coarsen(&mut self, step: u64) -> bool {
        let width = Span::from_secs(step);
        let Some(first) = self.coarse.iter().position(|slot| slot.width < width) else { return false };
        let place = self.coarse[first].place(step);
        let count = self.coarse.range(first..).take_while(|slot| slot.place(step) == place).count();
        // The newest may still grow.
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
