//! What came free is given back to the disk, so that a volume that was trimmed takes less of it.
//!
//! ```text
//!   a record frees blocks ──► durable ──► reads over ──► free, stale ──► a sweep: one run at a time is lent, discarded
//!                                                          └ taken again: nothing to discard
//! ```
//! Only free blocks are discarded, and a block is free when the record that freed it is durable and
//! nobody reads it any more: so nothing durable points at what a power loss may find discarded, and
//! it need not be durable itself. While a run is at the disk nobody is given its blocks, or the
//! discard could take away what was written to them.

use crate::command::{Command, Token};
use crate::core::{Core, Job};
use crate::entry::BLOCK;
use block::Fault;

/// Blocks of one discard at most, 16 MiB: a file system holds writes to the file while it takes
/// them out.
const RUN_MAX: u64 = 256;

/// A sweep over the stale blocks, in order.
#[derive(Default)]
pub(crate) struct Giving {
    /// Where it goes on; `None`: none is under way.
    next: Option<u64>,
    /// The disk cannot: there is no use in asking again.
    impossible: bool,
}

impl Core {
    /// Bytes of free blocks that the disk still keeps: what a sweep would give back.
    pub fn stale(&self) -> u64 {
        if self.giving.impossible { 0 } else { self.space.stale() * BLOCK }
    }

    /// Takes all free blocks that lie before byte `end` of the data for stale: after opening nobody
    /// knows what the disk keeps for them.
    pub fn suspect(&mut self, end: u64) {
        self.space.suspect(end.div_ceil(BLOCK));
    }

    /// Begins to give back what is stale, if that is not being done.
    pub fn give_back(&mut self) {
        if self.giving.next.is_none() && self.stale() > 0 && !self.failed {
            self.sweep(0);
        }
    }

    /// A discard has ended.
    pub(crate) fn discard_done(&mut self, end: u64, result: Result<(), Fault>) {
        self.space.return_lent();
        self.feed();
        // One that failed is not tried again: the blocks are free all the same.
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
