//! Requests for files' data that are under way: pages that came free are not touched before those
//! have ended that may still go to them.

use std::collections::BTreeSet;

/// Which are under way, by the order in which they began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tickets {
    next: u64,
    open: BTreeSet<u64>,
}

impl Tickets {
    pub fn begin(&mut self) -> u64 {
        self.next += 1;
        self.open.insert(self.next);
        self.next
    }

    pub fn end(&mut self, ticket: u64) {
        self.open.remove(&ticket);
    }

    /// The last that has begun.
    pub fn last(&self) -> u64 {
        self.next
    }

    /// Whether all have ended that began up to that one.
    pub fn are_over(&self, last: u64) -> bool {
        self.open.first().is_none_or(|first| *first > last)
    }
}
