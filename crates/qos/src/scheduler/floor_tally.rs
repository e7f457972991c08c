//! What the next account reports of a floor: what its owner got, and for how long it asked.

use block::{Span, Time};

use super::constants::promise;
use crate::account::Tally;

/// Sums since the last account.
#[derive(Debug, Default)]
pub(crate) struct FloorTally {
    pub served: Tally,
    /// Time in gaps with nothing outstanding that are longer than a client's turn takes, without
    /// the time in `quiet`.
    pub idle: Span,
    /// The length of the gap under way.
    pub gap: Span,
    /// Time for which it slept, or nothing was outstanding for as long as puts it to sleep.
    pub quiet: Span,
    pub capped: bool,
    pub since: Time,
    /// It fell asleep since the last account, which has to report it all the same.
    pub slept: bool,
}

impl FloorTally {
    /// A new interval begins.
    pub fn restart(&mut self, now: Time) {
        *self = FloorTally { since: now, slept: self.slept, ..FloorTally::default() };
    }

    /// Counts time with nothing outstanding. A client that always has requests under way is seen
    /// without any while an answer travels to it and its next request back, so a short gap says
    /// nothing about what it wants.
    pub fn pause(&mut self, idle: Span, outstanding: u32) {
        let was_long = self.gap > promise::TURN;
        self.gap = if outstanding > 0 { Span::ZERO } else { self.gap + idle };
        if self.gap > promise::TURN {
            self.idle += if was_long { idle } else { self.gap };
        }
    }
}
