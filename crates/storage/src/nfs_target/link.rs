//! One connection: requests become calls, replies become completions.
//!
//! ```text
//!   request ──► READ or WRITE of what the server takes at once ──► reply ──► all of it is done: it ends
//!                     ▲                                              └──► a part: the rest is asked for
//!                     └──────────────────────────────────────────────────────┘
//! ```
//! At most one send and one receive are in flight; what is submitted meanwhile goes with the next
//! send. The data of a write is kept until its reply: a server may write less than it was sent, or
//! go away.

mod incoming;
mod outgoing;

use super::connect::Found;
use crate::connections::Carrier;
use crate::inbox::{self, Inbox};
use crate::pending::{Pending, end};
use block::{Buf, Completion, Detail, Fault, Op, OpKind, Request, Time};
use incoming::{Answer, Data, Failed};
use nfs::record::Joiner;
use nfs::{Stable, Verifier};
use outgoing::{Aboard, Outgoing};
use slab::Slab;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use uring::{Done, FileId, Io, Port};

const SEND: u64 = 0;
const RECEIVE_TOKEN: u64 = 1;
const DISCARD: u64 = 2;

/// The low bits of a call's number are its place in the table; the others count. A server
/// recognises repeated calls by their numbers, so a number must not recur soon.
const SLOT_BITS: u32 = 12;
/// Limit on the calls without a reply on one connection.
const SLOTS: usize = 1 << SLOT_BITS;

/// A request in progress.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) pending: Pending,
    /// Bytes of it that are done.
    done: u32,
    /// The buffer for a read's data, if it is kept.
    buf: Option<Buf>,
    /// Some of it may have reached a server whose connection was lost.
    pub(super) sent: bool,
    /// The server wants to be asked again later.
    pub(super) later: bool,
}

impl Asked {
    pub(super) fn new(request: Request, since: Time) -> Asked {
        Asked { pending: Pending { request, since }, done: 0, buf: None, sent: false, later: false }
    }

    pub(super) fn kind(&self) -> OpKind {
        self.pending.request.op.kind()
    }

    /// The original request, to end it without the server.
    pub(super) fn unload(self, io: &Io) -> Pending {
        self.buf.into_iter().for_each(|buf| io.give(buf));
        self.pending
    }
}

/// What resulted from calls.
#[derive(Debug)]
pub(super) enum Event {
    /// A request ended.
    Ended(Completion),
    /// Data was written by this instance of the server, and is not durable.
    Wrote(Verifier),
    /// A flush was answered by this instance of the server. It covers this much of everything that
    /// was written, and completes like this.
    Committed(Verifier, u64, Completion),
    /// The server wants to be asked again later.
    Later(Asked),
}

pub(super) struct Link {
    io: Io,
    port: Port,
    socket: FileId,
    found: Rc<Found>,
    /// A read's completion has its bytes; otherwise they are discarded.
    keep_reads: bool,
    /// Calls without a reply, by the low bits of their numbers.
    in_flight: Slab<InFlight>,
    turn: u32,
    next: Outgoing,
    spare: Outgoing,
    /// Calls in the message that the kernel is sending.
    going: Vec<Aboard>,
    sending: bool,
    inbox: Inbox,
    /// Data of a READ that is being received.
    data: Option<Data>,
    /// The kernel is discarding bytes that nobody wants.
    discarding: bool,
    /// Bytes of the present record that are to be skipped.
    skip: u32,
    joiner: Joiner,
    /// Why the connection was lost.
    lost: Option<Arc<str>>,
    pub(super) events: Vec<Event>,
    reaped: Vec<Done>,
    scratch: Vec<u8>,
}

struct InFlight {
    xid: u32,
    asked: Asked,
    /// Bytes that this call asks for.
    step: u32,
    /// Handed to the kernel, at least in part.
    sent: bool,
    /// What a flush covers if it succeeds.
    covers: u64,
    /// The rest is sent as soon as its data comes back from the kernel.
    again: bool,
}

impl Link {
    /// Sends calls over `socket`; their numbers start from `turn`. `None` if the slab has no room
    /// for a receive buffer.
    pub(super) fn new(io: &Io, socket: OwnedFd, found: &Rc<Found>, keep_reads: bool, turn: u32) -> Option<Link> {
        let inbox = Inbox::new(io, &[])?;
        Some(Link {
            io: io.clone(),
            port: io.port(),
            socket: io.register(socket),
            found: Rc::clone(found),
            keep_reads,
            in_flight: Slab::new(),
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
            lost: None,
            events: Vec::new(),
            reaped: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// Takes a request, or hands it back if there is no memory for its data or no free call number.
    /// `covers` is how much a flush covers: everything that was written before it.
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

    /// Makes a call for the rest of a request.
    fn call(&mut self, mut asked: Asked, covers: u64) {
        self.turn = self.turn.wrapping_add(1);
        let xid = self.turn << SLOT_BITS | self.in_flight.vacant_key() as u32;
        let step = self.put(xid, &mut asked);
        self.in_flight.insert(InFlight { xid, asked, step, sent: false, covers, again: false });
    }

    /// Handles what the kernel has completed.
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
        if !self.is_lost() {
            self.read_replies(now);
        }
    }

    /// The requests without a reply on a lost connection, in order, each with whether some of it
    /// may have reached the server; and the events. The link is of no further use.
    pub(super) fn leave(mut self) -> (Vec<(Asked, bool)>, Vec<Event>) {
        let Outgoing { mut message, calls } = std::mem::take(&mut self.next);
        self.give_back(&mut message, &calls);
        let mut left: Vec<InFlight> = self.in_flight.drain().collect();
        // The high bits of a number count the calls; half of their range is more than can be in
        // flight.
        let turn = self.turn << SLOT_BITS;
        left.sort_by_key(|in_flight| std::cmp::Reverse(turn.wrapping_sub(in_flight.xid) >> SLOT_BITS));
        let orphans = left.into_iter().map(|in_flight| (in_flight.asked, in_flight.sent)).collect();
        (orphans, std::mem::take(&mut self.events))
    }

    /// The connection is lost.
    fn lose(&mut self, why: String) {
        if self.lost.is_none() {
            self.lost = Some(why.into());
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
            if let Err(failure) = done.result {
                self.lose(inbox::failed(failure));
            }
            return;
        }
        if done.token == DISCARD {
            self.discarding = false;
            match inbox::received(done.result) {
                Ok(got) => self.data.iter_mut().for_each(|data| data.came(got)),
                Err(why) => self.lose(why),
            }
            return;
        }
        if let Err(why) = self.inbox.take(done) {
            self.lose(why);
        }
    }

    /// Handles the reply to the call in `slot`, all of whose data has arrived.
    fn answer(&mut self, now: Time, slot: u32, answer: Answer) {
        let Some(in_flight) = self.in_flight.get_mut(slot as usize) else { return };
        match answer {
            Answer::Failed(fault, why) => self.finish(now, slot, Err((fault, why))),
            Answer::Later => {
                // Its data may still be at the kernel. In that case ask again at once, rather than
                // wait for the connection.
                if matches!(&in_flight.asked.pending.request.op, Op::Write(data) if data.is_nothing()) {
                    in_flight.again = true;
                } else if let Some(in_flight) = self.remove(slot) {
                    self.events.push(Event::Later(in_flight.asked));
                }
            }
            Answer::Read { len, eof } => {
                in_flight.asked.done += len;
                let is_whole = u64::from(in_flight.asked.done) == in_flight.asked.pending.request.len;
                match (is_whole, eof || len == 0) {
                    (true, _) => self.finish(now, slot, Ok(())),
                    // The file ends within it.
                    (false, true) => self.finish(now, slot, Err((Fault::Io, Some("the file ended within it".into())))),
                    (false, false) => self.again(slot),
                }
            }
            Answer::Wrote { count, stable, verifier } => {
                let is_durable = in_flight.asked.pending.request.fua;
                in_flight.asked.done += count;
                let is_whole = u64::from(in_flight.asked.done) == in_flight.asked.pending.request.len;
                if stable == Stable::Unstable {
                    self.events.push(Event::Wrote(verifier));
                }
                let why = match (is_whole, count) {
                    // RFC 1813, section 3.3.7: a server may promise more than was asked for, not
                    // less.
                    _ if is_durable && stable != Stable::File => Some(weaker(stable)),
                    (false, 0) => Some("the server wrote nothing of it, and named no error".into()),
                    _ => None,
                };
                match (is_whole, why) {
                    (_, Some(why)) => self.finish(now, slot, Err((Fault::Io, Some(why)))),
                    (true, _) => self.finish(now, slot, Ok(())),
                    (false, _) => self.again(slot),
                }
            }
            Answer::Committed(verifier) => {
                if let Some(InFlight { asked, covers, .. }) = self.remove(slot) {
                    let completion = end(asked.pending, None, now, Ok(()));
                    self.events.push(Event::Committed(verifier, covers, completion));
                }
            }
        }
    }

    fn remove(&mut self, slot: u32) -> Option<InFlight> {
        self.in_flight.try_remove(slot as usize)
    }

    /// Sends the rest of a request, as soon as its data is available.
    fn again(&mut self, slot: u32) {
        let Some(in_flight) = self.in_flight.get_mut(slot as usize) else { return };
        if matches!(&in_flight.asked.pending.request.op, Op::Write(data) if data.is_nothing()) {
            in_flight.again = true;
        } else if let Some(InFlight { asked, covers, .. }) = self.remove(slot) {
            self.call(asked, covers);
        }
    }

    fn finish(&mut self, now: Time, slot: u32, result: Result<(), Failed>) {
        let Some(InFlight { asked, .. }) = self.remove(slot) else { return };
        let Asked { pending, done, buf, .. } = asked;
        let (at, is_read) = (pending.request.at, pending.request.op.kind() == OpKind::Read);
        let failed_at = (result.is_err() && is_read && done > 0).then(|| at + u64::from(done));
        let buf = match failed_at {
            Some(_) => buf.map(|buf| {
                let start = buf.start();
                buf.window(start, done)
            }),
            None => buf,
        };
        let (result, why) = match result {
            Ok(()) => (Ok(()), None),
            Err((fault, why)) => (Err(fault), why),
        };
        self.events
            .push(Event::Ended(Completion { detail: Detail::known(why, failed_at), ..end(pending, buf, now, result) }));
    }
}

impl Carrier for Link {
    fn loss(&self) -> Option<&Arc<str>> {
        self.lost.as_ref()
    }

    fn is_over(&self) -> bool {
        // The kernel still has the data that it was sending.
        self.is_lost() && !self.sending
    }

    fn outstanding(&self) -> usize {
        self.in_flight.len()
    }

    fn has_news(&self) -> bool {
        !self.events.is_empty() || (!self.next.is_empty() && !self.sending && !self.is_lost())
    }

    fn go(&mut self) {
        self.send();
        self.receive();
    }
}

impl Drop for Link {
    /// Gives its memory back; the server sees the connection close.
    fn drop(&mut self) {
        self.io.close(self.socket);
        self.next.message.unload().for_each(|buf| self.io.give(buf));
        self.in_flight.drain().for_each(|in_flight| give(&self.io, in_flight.asked));
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

/// What is wrong with an answer that promises less than a WRITE with FILE_SYNC asked for.
fn weaker(stable: Stable) -> Arc<str> {
    let got = if stable == Stable::Unstable { "UNSTABLE" } else { "DATA_SYNC" };
    format!("the server broke the protocol: a WRITE that asked for FILE_SYNC was answered {got}, so it is not durable")
        .into()
}

/// Gives back all memory of a request.
pub(super) fn give(io: &Io, asked: Asked) {
    if let Op::Write(data) = asked.unload(io).request.op {
        io.give(data);
    }
}
