//! Requests for files' data that are in progress. Freed pages are not touched before all requests
//! have ended that may still access them.

use std::collections::BTreeSet;

/// The open requests, in the order in which they started.
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

    /// The last request that was started.
    pub fn last(&self) -> u64 {
        self.next
    }

    /// Whether all requests that started up to `last` have ended.
    pub fn are_over(&self, last: u64) -> bool {
        self.open.first().is_none_or(|first| *first > last)
    }
}
