//! A job's requests in flight, by tag.

use block::{Span, Ticket, Time};
use stats::Ended;
use workload::job::Direction;

/// Why a request was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Part of the load.
    Load,
    /// Reads back what was written, to check it.
    Check,
    /// Makes writes durable.
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
    /// A write's number in its job, or the number expected by a check; 0 for none.
    pub(crate) generation: u64,
}

impl Slot {
    /// Its completion, as it is recorded in `class` of a tape.
    #[inline]
    pub(crate) fn ended(&self, class: usize, handed: Time, end: Time) -> Ended {
        let &Slot { due, made, len, .. } = self;
        Ended { class, due, made, handed, end, gate: Span::ZERO, bytes: u64::from(len) }
    }
}

/// The table of slots. It grows to the depth and is never shrunk.
#[derive(Default)]
pub(crate) struct Slots {
    places: Vec<Option<Slot>>,
    /// The target's names for the requests, by tag.
    tickets: Vec<Ticket>,
    free: Vec<u32>,
    /// Tags of requests that are not submitted yet.
    fresh: Vec<u32>,
}

impl Slots {
    /// Adds a request; returns its tag.
    #[inline]
    pub(crate) fn add(&mut self, slot: Slot) -> u64 {
        let tag = match self.free.pop() {
            Some(tag) => {
                self.places[tag as usize] = Some(slot);
                tag
            }
            None => {
                self.places.push(Some(slot));
                self.tickets.push(Ticket(u64::MAX));
                self.places.len() as u32 - 1
            }
        };
        self.fresh.push(tag);
        u64::from(tag)
    }

    /// Removes the request that was added last, because the target did not take it.
    pub(crate) fn undo(&mut self, tag: u64) {
        self.places[tag as usize] = None;
        self.fresh.pop();
        self.free.push(tag as u32);
    }

    /// Removes a request that completed.
    #[inline]
    pub(crate) fn end(&mut self, tag: u64) -> Slot {
        self.free.push(tag as u32);
        self.places[tag as usize].take().expect("one end for each request")
    }

    /// Marks all requests added since the last call as submitted at `now`; returns how many.
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

    /// How many requests were added since the last submission.
    #[inline]
    pub(crate) fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// When the oldest request in flight was made.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.places.iter().flatten().map(|slot| slot.made).min()
    }

    /// Removes all requests in flight.
    pub(crate) fn give_up(&mut self) -> Vec<Slot> {
        std::mem::take(self).places.into_iter().flatten().collect()
    }

    /// The tickets of the requests in flight.
    pub(crate) fn tickets(&self) -> Vec<Ticket> {
        self.places.iter().zip(&self.tickets).filter_map(|(slot, ticket)| slot.as_ref().map(|_| *ticket)).collect()
    }

    /// Notes a request's ticket.
    #[inline]
    pub(crate) fn took(&mut self, tag: u64, ticket: Ticket) {
        self.tickets[tag as usize] = ticket;
    }

    /// Number of requests in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        (self.places.len() - self.free.len()) as u32
    }

    /// Whether a write in flight overlaps this range of the file.
    pub(crate) fn writes_touch(&self, file: u32, at: u64, len: u32) -> bool {
        self.places.iter().flatten().any(|slot| {
            slot.direction == Direction::Write
                && slot.file == file
                && slot.at < at + u64::from(len)
                && at < slot.at + u64::from(slot.len)
        })
    }
}
