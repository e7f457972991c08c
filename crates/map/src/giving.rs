//! Returning free blocks to the disk, so that a volume that was trimmed takes less space there.
//!
//! ```text
//!   a record frees blocks ──► durable ──► reads over ──► free, stale ──► a sweep: one run at a time is lent, discarded
//!                                                          └ taken again: nothing to discard
//! ```
//! Only free blocks are discarded. A block is free when the record that freed it is durable and
//! nobody reads it any more. So nothing durable refers to what a discard may destroy in a power
//! failure, and the discard need not be durable. While a run is being discarded its blocks are not
//! allocated, since the discard could destroy what was written to them.
//! discard could take away what was written to them.

use crate::command::{Command, Token};
use crate::core::{Core, Job};
use crate::entry::BLOCK;
use block::Fault;

/// Limit on the blocks of one discard, 16 MiB: a file system blocks writes to the file during a
/// discard.
const RUN_MAX: u64 = 256;

/// A sweep over the stale blocks, in order.
#[derive(Default)]
pub(crate) struct Giving {
    /// Where it continues; `None` if none is in progress.
    next: Option<u64>,
    /// The disk does not support it.
    impossible: bool,
}

impl Core {
    /// Bytes of free blocks that the disk still keeps, which a sweep would return.
    pub fn stale(&self) -> u64 {
        if self.giving.impossible { 0 } else { self.space.stale() * BLOCK }
    }

    /// Marks all free blocks before byte `end` of the data as stale: after opening, it is unknown
    /// what the disk keeps for them.
    pub fn suspect(&mut self, end: u64) {
        self.space.suspect(end.div_ceil(BLOCK));
    }

    /// Starts to return stale blocks, unless that is in progress.
    pub fn give_back(&mut self) {
        if self.giving.next.is_none() && self.stale() > 0 && !self.failed {
            self.sweep(0);
        }
    }

    /// A discard has ended.
    pub(crate) fn discard_done(&mut self, end: u64, result: Result<(), Fault>) {
        self.space.return_lent();
        self.feed();
        // A failed discard is not retried: the blocks are free all the same.
        self.giving.impossible |= result == Err(Fault::Unsupported);
        match self.giving.impossible || self.failed {
            true => self.giving.next = None,
            false => self.sweep(end),
        }
    }

    fn sweep(&mut self, from: u64) {
        let run = self.space.lend(from, RUN_MAX, self.settings.segment / BLOCK);
        self.giving.next = run.as_ref().map(|run| run.end);
        let Some(run) = run else { return };
        let token = Token(self.jobs.add(Job::Discard { end: run.end }));
        let (at, len) = (run.start * BLOCK, (run.end - run.start) * BLOCK);
        self.commands.push_back(Command::Discard { token, at, len });
    }
}
