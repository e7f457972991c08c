//! The module's own requests, on their way through the gate or past it, and back.

use super::{AllFiles, FILES};
use block::{Buf, Completion, Fault, ObjectId, Op, OpKind, Request, Submitted, Target as _, Ticket, Time};
use qos::Gate;
use std::sync::mpsc::Sender;
use store::Served;
use tree::TreeCommand;
use tree::limits::RECORD_BYTES_MAX;
use uring::Io;

/// The purpose of a request.
pub(super) enum Job {
    Command { volume: ObjectId, token: u32, reading: u64, at: u64, way: Way },
    Read(Sender<Result<Vec<u8>, Fault>>),
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Not accepted by the gate yet.
    Held,
    /// At the gate, or beyond it.
    Gate(Ticket),
    /// The same, and recalled: if it was still at the gate, it comes back.
    Recalled(Ticket),
    /// It bypassed the gate.
    Passed(Ticket),
}

const ZERO: Op = Op::Zero { no_hole: false, fast_only: false };

impl AllFiles {
    /// Turns a command of the tree into a request.
    pub(super) fn start(
        &mut self,
        now: Time,
        volume: ObjectId,
        command: TreeCommand,
        gate: &mut Gate<Served>,
        io: &Io,
    ) {
        let (token, at, len, op, fua) = match command {
            TreeCommand::Write { token, at, bytes, durable } => {
                let len = bytes.len() as u32;
                let Some(buf) = io.take(len).or_else(|| self.reserve.take()) else {
                    return self.unbuffered.push_back((volume, TreeCommand::Write { token, at, bytes, durable }));
                };
                self.buffers_out += 1;
                let mut buf = buf.window(0, len);
                io.with_mut(&mut buf, |to| to[..bytes.len()].copy_from_slice(&bytes));
                (token, at, u64::from(len), Op::Write(buf), durable)
            }
            TreeCommand::Zero { token, at, len, durable } => (token, at, len, ZERO, durable),
            TreeCommand::Flush { token } => (token, 0, 0, Op::Flush, true),
        };
        let reading = self.volumes.get(&volume).map_or(0, |found| found.readings);
        let tag = self.add(Job::Command { volume, token, reading, at, way: Way::Held });
        self.hand_over(now, Request { tag, object: volume, at, len, op, fua, due: now }, gate);
    }

    /// Registers a request and returns its tag.
    pub(super) fn add(&mut self, job: Job) -> u64 {
        self.next_job = self.next_job.wrapping_add(1);
        self.jobs.insert(self.next_job, job);
        u64::from(FILES) << 32 | u64::from(self.next_job)
    }

    pub(super) fn hand_over(&mut self, now: Time, request: Request, gate: &mut Gate<Served>) {
        let slot = request.tag as u32;
        let passes = self.is_nobodys(slot) || self.is_settling(request.object);
        let submitted = if passes { gate.pass(now, request) } else { gate.submit(now, request) };
        match submitted {
            Submitted::Taken(taken) => {
                if let Some(Job::Command { way, .. }) = self.jobs.get_mut(&slot) {
                    *way = if passes { Way::Passed(taken) } else { Way::Gate(taken) };
                }
            }
            Submitted::Full(request) => self.held.push_back(request),
        }
    }

    /// Whether no client's call caused one of its own requests: an administrator's command reads,
    /// or a start clears freed pages.
    fn is_nobodys(&self, slot: u32) -> bool {
        match self.jobs.get(&slot) {
            Some(Job::Read(_)) => true,
            Some(&Job::Command { volume, token, reading, .. }) => {
                let found = self.volumes.get(&volume).filter(|found| found.readings == reading);
                found.and_then(|found| found.tree.as_ref()).is_some_and(|tree| tree.is_nobodys(token))
            }
            None => false,
        }
    }

    /// Handles the completion of one of its own requests.
    pub(crate) fn completed(&mut self, mut completion: Completion, io: &Io) {
        if completion.result == Err(Fault::Gone) && self.goes_again(&mut completion) {
            return;
        }
        let buf = completion.buf.take();
        match self.jobs.remove(&(completion.tag as u32)) {
            None => {}
            Some(Job::Command { volume, token, reading, .. }) => {
                if let Some(found) = self.volumes.get_mut(&volume)
                    && found.readings == reading
                    && let Some(tree) = &mut found.tree
                {
                    tree.done(token, completion.result);
                    self.touched.insert(volume);
                }
            }
            Some(Job::Read(answer)) => {
                let fetched = buf.as_ref().map_or(Ok(()), |buf| io.fetch_buf(buf).map_err(|failure| failure.fault()));
                let read = completion
                    .result
                    .and(fetched)
                    .map(|()| buf.as_ref().map_or_else(Vec::new, |buf| io.with(buf, <[u8]>::to_vec)));
                let _ = answer.send(read);
            }
        }
        if let Some(buf) = buf {
            match completion.kind {
                OpKind::Write => self.give(io, buf),
                _ => io.give(buf),
            }
        }
    }

    /// Resubmits a request that was recalled from the gate. Returns whether it did.
    fn goes_again(&mut self, completion: &mut Completion) -> bool {
        let Some(Job::Command { volume, reading, at, way: way @ Way::Recalled(_), .. }) =
            self.jobs.get_mut(&(completion.tag as u32))
        else {
            return false;
        };
        // Not if the volume's files have been replaced, or are about to be.
        if !self.volumes.get(volume).is_some_and(|found| found.readings == *reading && found.tree.is_some()) {
            return false;
        }
        let (op, fua) = match (completion.kind, completion.buf.take()) {
            // Writing the same data twice is harmless.
            (OpKind::Write, Some(buf)) => (Op::Write(buf), true),
            (OpKind::Zero, None) => (ZERO, true),
            (OpKind::Flush, None) => (Op::Flush, true),
            (_, buf) => {
                completion.buf = buf;
                return false;
            }
        };
        *way = Way::Held;
        let &mut Completion { tag, object, len, due, .. } = completion;
        self.held.push_back(Request { tag, object, at: *at, len, op, fua, due });
        true
    }

    pub(super) fn give(&mut self, io: &Io, buf: Buf) {
        io.give(buf);
        self.buffers_out -= 1;
        if self.reserve.is_none() {
            self.reserve = io.take(RECORD_BYTES_MAX as u32);
        }
    }
}
