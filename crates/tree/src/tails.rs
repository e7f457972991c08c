//! Files that are cut within a page. The rest of that page is cleared first, since it would
//! reappear when the file is extended. Writes to the file wait meanwhile. A power failure before
//! the change is durable may leave the file at its old length, with zeroes there.

use crate::changes::SetNode;
use crate::file_tree::{FileTree, Job, TreeCommand};
use crate::limits::PAGE_BYTES;
use crate::node::NodeId;
use crate::refusal::TreeRefusal;
use block::{Fault, Span};
use std::collections::VecDeque;

/// Changes of attributes that wait; the first may be in progress.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    waiting: VecDeque<Tail>,
    in_flight: bool,
    next: u64,
    ended: Vec<TailEnded>,
}

#[derive(Clone, Copy, Debug)]
struct Tail {
    number: u64,
    node: NodeId,
    set: SetNode,
    now: Span,
    /// The last request that may still write there.
    ticket: u64,
}

/// The end of a change that had to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailEnded {
    /// The number that the caller got.
    pub number: u64,
    /// The record that includes it, or why it was refused.
    pub result: Result<u64, TreeRefusal>,
}

impl FileTree {
    /// Whether writes to a file must wait.
    pub(crate) fn is_shortened(&self, number: u32) -> bool {
        self.tails.waiting.iter().any(|tail| tail.node.number == number)
    }

    pub(crate) fn put_off(&mut self, now: Span, node: NodeId, set: SetNode) -> u64 {
        self.tails.next += 1;
        let (number, ticket) = (self.tails.next, self.tickets.last());
        self.tails.waiting.push_back(Tail { number, node, set, now, ticket });
        number
    }

    /// Moves the ends of waiting changes to the end of `out`.
    pub fn take_ended(&mut self, out: &mut Vec<TailEnded>) {
        out.append(&mut self.tails.ended);
    }

    pub(crate) fn step_tails(&mut self) {
        while !self.tails.in_flight
            && let Some(tail) = self.tails.waiting.front().copied()
            && (self.failed || self.tickets.are_over(tail.ticket))
        {
            let size = tail.set.size.unwrap_or(0);
            match self.tail_of(tail.node, size) {
                Some((at, len)) if !self.failed => {
                    self.tails.in_flight = true;
                    self.command(Job::Tail, |token| TreeCommand::Zero { token, at, len, durable: true });
                }
                _ => self.end_tail(Ok(())),
            }
        }
    }

    pub(crate) fn tail_done(&mut self, result: Result<(), Fault>) {
        self.tails.in_flight = false;
        self.end_tail(result);
    }

    fn end_tail(&mut self, result: Result<(), Fault>) {
        let Some(Tail { number, node, set, now, .. }) = self.tails.waiting.pop_front() else { return };
        let result = match result {
            Ok(()) => self.set_now(now, node, &set).map(|()| self.want()),
            Err(Fault::NoSpace) => Err(TreeRefusal::NoSpace),
            Err(_) => Err(TreeRefusal::Busy),
        };
        self.tails.ended.push(TailEnded { number, result });
    }

    /// The bytes after a new, shorter end that are in its last page, if that is allocated.
    pub(crate) fn tail_of(&self, node: NodeId, size: u64) -> Option<(u64, u64)> {
        let found = self.state.nodes.get(&node.number).filter(|found| found.info.generation == node.generation)?;
        let within = size % PAGE_BYTES;
        let run = found.extents()?.find(size / PAGE_BYTES).filter(|_| within > 0 && size < found.info.size)?;
        Some((run.at * PAGE_BYTES + within, PAGE_BYTES - within))
    }
}
