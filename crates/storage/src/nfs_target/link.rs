//! One connection: requests become calls, replies become ends.
//!
//! ```text
//!   request ──► READ or WRITE of what the server takes at once ──► reply ──► all of it is done: it ends
//!                     ▲                                              └──► a part: the rest is asked for
//!                     └──────────────────────────────────────────────────────┘
//! ```
//! At most one send and one receive are at the kernel; what is submitted meanwhile goes out
//! together with the next send. The data of a write stays until it is answered: a server may write
//! less than it was sent, or go away.

mod incoming;
mod outgoing;

use super::connect::Found;
use crate::connections::Carrier;
use crate::inbox::Inbox;
use crate::pending::{Pending, end};
use block::{Buf, Completion, Fault, Op, OpKind, Request, Time};
use incoming::{Answer, Data};
use nfs::record::Joiner;
use nfs::{Stable, Verifier};
use outgoing::{Aboard, Outgoing};
use slab::Slab;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use uring::{Done, FileId, Io, Port};

const SEND: u64 = 0;
const RECEIVE_TOKEN: u64 = 1;
const DISCARD: u64 = 2;

/// Low bits of a call's number that are its place in the table; the others count. A server knows
/// repeated calls by their numbers, so the same must not come again soon.
const SLOT_BITS: u32 = 12;
/// Calls without a reply on one connection at most.
const SLOTS: usize = 1 << SLOT_BITS;

/// A request on its way.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) pending: Pending,
    /// Bytes of it that are done.
    done: u32,
    /// Where a read's data goes, if it is kept.
    buf: Option<Buf>,
}

impl Asked {
    pub(super) fn new(request: Request, since: Time) -> Asked {
        Asked { pending: Pending { request, since }, done: 0, buf: None }
    }

    pub(super) fn kind(&self) -> OpKind {
        self.pending.request.op.kind()
    }

    /// The request as it came, for its end without the server.
    pub(super) fn unload(self, io: &Io) -> Pending {
        self.buf.into_iter().for_each(|buf| io.give(buf));
        self.pending
    }
}

/// What came of calls.
#[derive(Debug)]
pub(super) enum Event {
    /// A request ended.
    Ended(Completion),
    /// Data was written and is not durable; this life of the server has it.
    Wrote(Verifier),
    /// A flush was answered by this life of the server; it covers so much of all that was written,
    /// and ends so.
    Committed(Verifier, u64, Completion),
    /// The server wants to be asked again later.
    Later(Asked),
}

pub(super) struct Link {
    io: Io,
    port: Port,
    socket: FileId,
    found: Rc<Found>,
    /// A read's completion has its bytes; otherwise they are taken off the stream and forgotten.
    keep_reads: bool,
    /// Calls without a reply, by the low bits of their numbers.
    flying: Slab<Flying>,
    turn: u32,
    next: Outgoing,
    spare: Outgoing,
    /// Calls in the message that the kernel is sending.
    going: Vec<Aboard>,
    sending: bool,
    inbox: Inbox,
    /// Data of a READ that is being taken off the stream.
    data: Option<Data>,
    /// The kernel is taking bytes off the stream that nobody wants.
    discarding: bool,
    /// Bytes of the present record that say nothing any more.
    skip: u32,
    joiner: Joiner,
    lost: bool,
    pub(super) events: Vec<Event>,
    reaped: Vec<Done>,
    scratch: Vec<u8>,
}

struct Flying {
    xid: u32,
    asked: Asked,
    /// Bytes that this call asks for.
    step: u32,
    /// Given to the kernel, in part or whole.
    sent: bool,
    /// What a flush covers if it ends well.
    covers: u64,
    /// The rest is to be asked for as soon as its data comes back from the kernel.
    again: bool,
}

impl Link {
    /// Calls over `socket`; the first has a number made of `turn`. `None` when the slab has no room
    /// to receive.
    pub(super) fn new(io: &Io, socket: OwnedFd, found: &Rc<Found>, keep_reads: bool, turn: u32) -> Option<Link> {
        let inbox = Inbox::new(io, &[])?;
        Some(Link {
            io: io.clone(),
            port: io.port(),
            socket: io.register(socket),
            found: Rc::clone(found),
            keep_reads,
            flying: Slab::new(),
            turn,
            next: Outgoing::default(),
            spare: Outgoing::default(),
            going: Vec::new(),
            sending: false,
            inbox,
            data: None,
            discarding: false,
            skip: 0,
            joiner: Joiner::new(),
            lost: false,
            events: Vec::new(),
            reaped: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// Takes a request, or hands it back when there is no memory for its data or no number for its
    /// call. `covers` is how much a flush covers: all that was written before it.
    pub(super) fn submit(&mut self, mut asked: Asked, covers: u64) -> Result<(), Asked> {
        if self.outstanding() >= SLOTS {
            return Err(asked);
        }
        let request = &asked.pending.request;
        if self.keep_reads && matches!(request.op, Op::Read) && asked.buf.is_none() {
            match self.io.take(request.len as u32) {
                Some(buf) => asked.buf = Some(buf),
                None => return Err(asked),
            }
        }
        self.call(asked, covers);
        Ok(())
    }

    /// Makes a call for what is left of a request.
    fn call(&mut self, mut asked: Asked, covers: u64) {
        self.turn = self.turn.wrapping_add(1);
        let xid = self.turn << SLOT_BITS | self.flying.vacant_key() as u32;
        let step = self.put(xid, &mut asked);
        self.flying.insert(Flying { xid, asked, step, sent: false, covers, again: false });
    }

    /// Takes what the kernel has done.
    pub(super) fn take(&mut self, now: Time) {
        if !self.port.is_ready() {
            return;
        }
        let mut reaped = std::mem::take(&mut self.reaped);
        self.port.reap(&mut reaped);
        for done in reaped.drain(..) {
            self.take_done(done);
        }
        self.reaped = reaped;
        if !self.lost {
            self.read_replies(now);
        }
    }

    /// What is without a reply on a lost connection, in the order of asking, with whether some of
    /// it may have reached the server. The link is of no use any more.
    pub(super) fn leave(mut self) -> (Vec<(Asked, bool)>, Vec<Event>) {
        let Outgoing { mut message, calls } = std::mem::take(&mut self.next);
        self.give_back(&mut message, &calls);
        let mut left: Vec<Flying> = self.flying.drain().collect();
        // A number's high bits count the calls; the half of their range is more than can be under
        // way.
        let turn = self.turn << SLOT_BITS;
        left.sort_by_key(|flying| std::cmp::Reverse(turn.wrapping_sub(flying.xid) >> SLOT_BITS));
        let orphans = left.into_iter().map(|flying| (flying.asked, flying.sent)).collect();
        (orphans, std::mem::take(&mut self.events))
    }

    /// The connection is gone.
    fn lose(&mut self) {
        if !std::mem::replace(&mut self.lost, true) {
            self.io.close(self.socket);
        }
    }

    fn take_done(&mut self, done: Done) {
        if done.token == SEND {
            self.sending = false;
            if let Some(mut message) = done.message {
                let mut calls = std::mem::take(&mut self.going);
                self.give_back(&mut message, &calls);
                calls.clear();
                self.spare = Outgoing { message, calls };
            }
            if done.result.is_err() {
                self.lose();
            }
            return;
        }
        if done.token == DISCARD {
            self.discarding = false;
            match (done.result, &mut self.data) {
                (Ok(got @ 1..), Some(data)) => data.came(got),
                _ => self.lose(),
            }
            return;
        }
        if self.inbox.take(done) == 0 {
            self.lose();
        }
    }

    /// Acts on the answer to the call in `slot`, of which all data is here.
    fn answer(&mut self, now: Time, slot: u32, answer: Answer) {
        let Some(flying) = self.flying.get_mut(slot as usize) else { return };
        match answer {
            Answer::Failed(fault) => self.finish(now, slot, Err(fault)),
            Answer::Later => {
                // Its data may still be at the kernel; then the connection would have to be waited
                // for, so ask at once.
                if matches!(&flying.asked.pending.request.op, Op::Write(data) if data.is_nothing()) {
                    flying.again = true;
                } else if let Some(flying) = self.remove(slot) {
                    self.events.push(Event::Later(flying.asked));
                }
            }
            Answer::Read { len, eof } => {
                flying.asked.done += len;
                let is_whole = u64::from(flying.asked.done) == flying.asked.pending.request.len;
                match (is_whole, eof || len == 0) {
                    (true, _) => self.finish(now, slot, Ok(())),
                    // The file ends within it.
                    (false, true) => self.finish(now, slot, Err(Fault::Io)),
                    (false, false) => self.again(slot),
                }
            }
            Answer::Wrote { count, stable, verifier } => {
                flying.asked.done += count;
                let is_whole = u64::from(flying.asked.done) == flying.asked.pending.request.len;
                if stable == Stable::Unstable {
                    self.events.push(Event::Wrote(verifier));
                }
                match (is_whole, count) {
                    (true, _) => self.finish(now, slot, Ok(())),
                    (false, 0) => self.finish(now, slot, Err(Fault::Io)),
                    (false, _) => self.again(slot),
                }
            }
            Answer::Committed(verifier) => {
                if let Some(Flying { asked, covers, .. }) = self.remove(slot) {
                    let completion = end(asked.pending, None, now, Ok(()));
                    self.events.push(Event::Committed(verifier, covers, completion));
                }
            }
        }
    }

    fn remove(&mut self, slot: u32) -> Option<Flying> {
        self.flying.try_remove(slot as usize)
    }

    /// Asks for the rest of a request, as soon as its data is here.
    fn again(&mut self, slot: u32) {
        let Some(flying) = self.flying.get_mut(slot as usize) else { return };
        if matches!(&flying.asked.pending.request.op, Op::Write(data) if data.is_nothing()) {
            flying.again = true;
        } else if let Some(Flying { asked, covers, .. }) = self.remove(slot) {
            self.call(asked, covers);
        }
    }

    fn finish(&mut self, now: Time, slot: u32, result: Result<(), Fault>) {
        let Some(Flying { asked, .. }) = self.remove(slot) else { return };
        let Asked { pending, done, buf } = asked;
        let (at, is_read) = (pending.request.at, pending.request.op.kind() == OpKind::Read);
        let failed_at = (result.is_err() && is_read && done > 0).then(|| at + u64::from(done));
        let buf = match failed_at {
            Some(_) => buf.map(|buf| {
                let start = buf.start();
                buf.window(start, done)
            }),
            None => buf,
        };
        self.events.push(Event::Ended(Completion { failed_at, ..end(pending, buf, now, result) }));
    }
}

impl Carrier for Link {
    fn is_lost(&self) -> bool {
        self.lost
    }

    fn is_over(&self) -> bool {
        // The kernel still holds the data of what it was sending.
        self.lost && !self.sending
    }

    fn outstanding(&self) -> usize {
        self.flying.len()
    }

    fn has_news(&self) -> bool {
        !self.events.is_empty() || (!self.next.is_empty() && !self.sending && !self.lost)
    }

    fn go(&mut self) {
        self.send();
        self.receive();
    }
}

impl Drop for Link {
    /// Gives its memory back; the server sees the connection end.
    fn drop(&mut self) {
        self.io.close(self.socket);
        self.next.message.unload().for_each(|buf| self.io.give(buf));
        self.flying.drain().for_each(|flying| give(&self.io, flying.asked));
        for event in self.events.drain(..) {
            match event {
                Event::Ended(completion) | Event::Committed(_, _, completion) => {
                    completion.buf.into_iter().for_each(|buf| self.io.give(buf));
                }
                Event::Later(asked) => give(&self.io, asked),
                Event::Wrote(_) => {}
            }
        }
    }
}

/// Gives all memory of a request back.
pub(super) fn give(io: &Io, asked: Asked) {
    if let Op::Write(data) = asked.unload(io).request.op {
        io.give(data);
    }
}
