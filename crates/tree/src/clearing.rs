//! Clearing of freed pages before they are reused, so that nobody ever reads what another file had
//! there.
//!
//! ```text
//!   free'd ──► the record is durable, no request goes there ──► zeroes ──► flush ──► given out
//! ```
//! Until the record is durable, a power failure would return the pages to their file. Which freed
//! pages are clear is not recorded. So a start clears all pages that were ever reserved and belong
//! to no file. Most are clear already, which costs nothing beyond the gate; so these requests
//! bypass the gate, as no client is behind them ([`FileTree::is_nobodys`]).

use crate::file_tree::{FileTree, Job, TreeCommand};
use crate::limits::PAGE_BYTES;
use crate::runs::Run;
use block::Fault;
use std::collections::VecDeque;

/// Runs that are cleared before one flush.
const BATCH: usize = 64;

/// The freed pages that wait, and those that are being cleared.
#[derive(Debug, Default)]
pub(crate) struct Clearing {
    waiting: VecDeque<Freed>,
    /// All from a start, or none.
    batch: Vec<Freed>,
    /// Commands of the batch that have not ended.
    left: usize,
    phase: Phase,
    /// One of them has failed.
    failed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Freed {
    run: Run,
    /// A start found it.
    at_start: bool,
    /// The record that frees it.
    record: u64,
    /// The last request that may still access it.
    ticket: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Zeroes,
    Flush,
}

impl Clearing {
    /// Starts with the unused pages that a start found.
    pub fn after(runs: impl Iterator<Item = Run>) -> Clearing {
        let waiting = runs.map(|run| Freed { run, at_start: true, record: 0, ticket: 0 }).collect();
        Clearing { waiting, ..Clearing::default() }
    }

    /// Number of runs that cannot be reused yet.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.batch.len()
    }
}

impl FileTree {
    /// Number of freed runs that cannot be reused yet.
    pub fn to_be_cleared(&self) -> usize {
        self.clearing.len() + self.state.freed.len()
    }

    /// Whether a command, which must not have ended, is for no client's request: it clears what a
    /// start found.
    pub fn is_nobodys(&self, token: u32) -> bool {
        match self.job(token) {
            Some(Job::Clear) => self.clearing.batch.first().is_some_and(|freed| freed.at_start),
            job => job == Some(Job::End),
        }
    }

    pub(crate) fn queue_freed(&mut self) {
        let (record, ticket) = (self.mark(), self.tickets.last());
        let freed = self.state.freed.drain(..).map(|run| Freed { run, at_start: false, record, ticket });
        self.clearing.waiting.extend(freed);
    }

    pub(crate) fn step_clearing(&mut self) {
        if self.clearing.phase != Phase::Idle || self.failed || self.starved {
            return;
        }
        let (durable, tickets) = (self.journal.durable, &self.tickets);
        while self.clearing.batch.len() < BATCH
            && let Some(freed) = self.clearing.waiting.front().copied()
            && self.clearing.batch.first().is_none_or(|first| first.at_start == freed.at_start)
            && freed.record <= durable
            && tickets.are_over(freed.ticket)
        {
            self.clearing.waiting.pop_front();
            self.clearing.batch.push(freed);
        }
        if self.clearing.batch.is_empty() {
            // Nobody else may ask for the record that they wait for.
            self.journal.wanted |= !self.clearing.waiting.is_empty() && !self.pending.is_empty();
            return;
        }
        (self.clearing.phase, self.clearing.left) = (Phase::Zeroes, self.clearing.batch.len());
        for Freed { run, .. } in self.clearing.batch.clone() {
            let (at, len) = (run.at * PAGE_BYTES, run.pages * PAGE_BYTES);
            self.command(Job::Clear, |token| TreeCommand::Zero { token, at, len, durable: false });
        }
    }

    pub(crate) fn clear_done(&mut self, result: Result<(), Fault>) {
        self.clearing.failed |= result.is_err();
        self.clearing.left -= 1;
        if self.clearing.left > 0 {
            return;
        }
        let failed = std::mem::take(&mut self.clearing.failed);
        match self.clearing.phase {
            Phase::Zeroes if !failed => {
                (self.clearing.phase, self.clearing.left) = (Phase::Flush, 1);
                self.command(Job::Clear, |token| TreeCommand::Flush { token });
            }
            Phase::Flush if !failed => {
                self.clearing.phase = Phase::Idle;
                for Freed { run, .. } in std::mem::take(&mut self.clearing.batch) {
                    self.space.give(run);
                }
            }
            // Retry all of them at the next tick.
            _ => {
                self.clearing.phase = Phase::Idle;
                self.clearing.waiting.extend(std::mem::take(&mut self.clearing.batch));
                self.starved |= !self.failed;
            }
        }
    }
}
