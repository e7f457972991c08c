//! A job's requests in flight, by the tag that they carry.

use block::{Span, Time};
use stats::Ended;
use workload::job::Direction;

/// Why a request was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It is the load.
    Load,
    /// It reads back what was written.
    Check,
    /// It makes writes durable.
    Flush,
}

/// One request in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) purpose: Purpose,
    pub(crate) direction: Direction,
    pub(crate) file: u32,
    pub(crate) at: u64,
    pub(crate) len: u32,
    pub(crate) due: Time,
    pub(crate) made: Time,
    pub(crate) handed: Time,
    /// A write's number, or the number that is expected; 0 for none.
    pub(crate) generation: u64,
}

impl Slot {
    /// Its end, as a class of a tape counts it.
    #[inline]
    pub(crate) fn ended(&self, class: usize, handed: Time, end: Time) -> Ended {
        let &Slot { due, made, len, .. } = self;
        Ended { class, due, made, handed, end, gate: Span::ZERO, bytes: u64::from(len) }
    }
}

/// The table. It grows to the depth and stays.
#[derive(Default)]
pub(crate) struct Slots {
    places: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Made since the last hand-over.
    fresh: Vec<u32>,
}

impl Slots {
    /// Takes a request in; its tag.
    #[inline]
    pub(crate) fn add(&mut self, slot: Slot) -> u64 {
        let tag = match self.free.pop() {
            Some(tag) => {
                self.places[tag as usize] = Some(slot);
                tag
            }
            None => {
                self.places.push(Some(slot));
                self.places.len() as u32 - 1
            }
        };
        self.fresh.push(tag);
        u64::from(tag)
    }

    /// Takes one back that was added last and went nowhere.
    pub(crate) fn undo(&mut self, tag: u64) {
        self.places[tag as usize] = None;
        self.fresh.pop();
        self.free.push(tag as u32);
    }

    /// Ends one.
    #[inline]
    pub(crate) fn end(&mut self, tag: u64) -> Slot {
        self.free.push(tag as u32);
        self.places[tag as usize].take().expect("one end for each request")
    }

    /// All that were added since the last call go to the kernel now; how many.
    pub(crate) fn hand_over(&mut self, now: Time) -> usize {
        for tag in &self.fresh {
            if let Some(slot) = &mut self.places[*tag as usize] {
                slot.handed = now;
            }
        }
        let count = self.fresh.len();
        self.fresh.clear();
        count
    }

    /// How many were added since the last hand-over.
    #[inline]
    pub(crate) fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// How many are in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        (self.places.len() - self.free.len()) as u32
    }

    /// Whether a write in flight touches this range of this file.
    pub(crate) fn writes_touch(&self, file: u32, at: u64, len: u32) -> bool {
        self.places.iter().flatten().any(|slot| {
            slot.direction == Direction::Write
                && slot.file == file
                && slot.at < at + u64::from(len)
                && at < slot.at + u64::from(slot.len)
        })
    }
}
