//! One connection: requests become messages, replies become completions.
//!
//! At most one send and one receive are in flight; what is submitted meanwhile goes with the next
//! send. Over TLS, messages are encrypted when they are sent, and received bytes are decrypted
//! before they are parsed.

mod incoming;
mod outgoing;

use super::connect::Connection;
use super::tls::Tls;
use crate::connections::Carrier;
use crate::inbox::{self, Inbox};
use crate::pending::Pending;
use block::{Buf, Completion, Fault, Op, OpKind, Request, Time};
use incoming::Data;
use nbd::{Command, CommandFlags, NbdErrno, ReadAssembly, ReplyParser, Rules, StreamError};
use outgoing::{Aboard, Outgoing};
use slab::Slab;
use std::sync::Arc;
use uring::{Done, FileId, Io, Port};

const SEND: u64 = 0;
const RECEIVE_TOKEN: u64 = 1;

/// What data is kept for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keep {
    /// Reads keep their bytes for the completion; otherwise they are discarded.
    pub(super) reads: bool,
    /// Writes keep theirs, to be sent again on another connection if there is no reply.
    pub(super) writes: bool,
}

/// A request without a reply on a connection that was lost.
#[derive(Debug)]
pub(super) struct Orphan {
    /// A write's data is still there, or is [`Buf::nothing`].
    pub(super) pending: Pending,
    /// Some of it may have reached the server.
    pub(super) sent: bool,
}

pub(super) struct Link {
    io: Io,
    port: Port,
    socket: FileId,
    pub(super) rules: Rules,
    parser: ReplyParser,
    keep: Keep,
    tls: Option<Box<Tls>>,
    /// Requests in flight, by the low half of their cookies.
    in_flight: Slab<InFlight>,
    turn: u32,
    next: Outgoing,
    spare: Outgoing,
    /// Requests in the message that the kernel is sending.
    going: Vec<Aboard>,
    /// Over TLS: records that the kernel has not sent yet, and their requests.
    records: Vec<u8>,
    sealed: Vec<Aboard>,
    sending: bool,
    inbox: Inbox,
    /// Read data that is being received.
    data: Option<Data>,
    /// Why the connection was lost.
    lost: Option<Arc<str>>,
    /// Completions that were not collected yet.
    pub(super) ready: Vec<Completion>,
    /// Writes, trims and zeroes that succeeded and are not durable by themselves, since this was
    /// last reset.
    pub(super) written: u64,
    /// How much of everything written was covered by flushes; see [`Link::submit`].
    pub(super) covered: u64,
    reaped: Vec<Done>,
    scratch: Vec<u8>,
}

struct InFlight {
    cookie: u64,
    pending: Pending,
    /// Handed to the kernel, at least in part.
    sent: bool,
    /// What a flush covers if it succeeds.
    covers: u64,
    /// The request itself was answered, and the flush that makes it durable was not.
    flushing: bool,
    /// The buffer for a read's data, if it is kept.
    buf: Option<Buf>,
    /// The received parts of a read: the server must send every byte of it exactly once.
    assembly: ReadAssembly,
}

impl Link {
    /// Sends requests on `connection` by this worker's ring; `None` if the slab has no room for a
    /// receive buffer.
    pub(super) fn new(io: &Io, connection: Connection, keep: Keep) -> Option<Link> {
        let inbox = Inbox::new(io, &connection.early)?;
        let rules = connection.rules;
        Some(Link {
            io: io.clone(),
            port: io.port(),
            socket: io.register(connection.socket),
            parser: ReplyParser::new(rules.framing, rules.payload),
            rules,
            keep,
            tls: connection.tls,
            in_flight: Slab::new(),
            turn: 0,
            next: Outgoing::default(),
            spare: Outgoing::default(),
            going: Vec::new(),
            records: Vec::new(),
            sealed: Vec::new(),
            sending: false,
            inbox,
            data: None,
            lost: None,
            ready: Vec::new(),
            written: 0,
            covered: 0,
            reaped: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// Takes a request, or hands it back if there is no memory for its data. `covers` is how much a
    /// flush covers: everything that was written before it.
    pub(super) fn submit(&mut self, now: Time, pending: Pending, covers: u64) -> Result<(), Pending> {
        let request = &pending.request;
        let is_read = matches!(request.op, Op::Read);
        let mut buf = None;
        if self.keep.reads && is_read && request.len <= u64::from(self.rules.payload) {
            buf = self.io.take(request.len as u32);
            if buf.is_none() {
                return Err(pending);
            }
        }
        self.turn = self.turn.wrapping_add(1);
        let cookie = u64::from(self.turn) << 32 | self.in_flight.vacant_key() as u64;
        let put = self.wire(request, cookie).and_then(|wire| {
            self.scratch.clear();
            wire.put(self.rules.framing, &mut self.scratch).map_err(|_| Fault::Invalid)
        });
        if let Err(fault) = put {
            buf.into_iter().for_each(|buf| self.io.give(buf));
            self.ready.push(Completion::refuse(pending.request, now, fault));
            return Ok(());
        }
        self.next.message.header(&self.scratch);
        self.next.requests.push(Aboard { cookie, is_write: matches!(request.op, Op::Write(_)) });
        let Pending { request, since } = pending;
        let Request { at, len, op, .. } = request;
        // Only a read has a length of data, and it fits: the request was checked against the rules.
        let assembly = ReadAssembly::new(at, if is_read { len as u32 } else { 0 });
        let op = match op {
            Op::Write(data) => {
                self.next.message.data(data);
                Op::Write(Buf::nothing(len as u32))
            }
            other => other,
        };
        let pending = Pending { request: Request { op, ..request }, since };
        self.in_flight.insert(InFlight { cookie, pending, sent: false, covers, flushing: false, buf, assembly });
        Ok(())
    }

    /// The wire format of a request, or why it must not be sent.
    fn wire(&self, request: &Request, cookie: u64) -> Result<nbd::NbdRequest, Fault> {
        // A flush is durable by itself: there the caller's flag asks for the metadata of a file.
        let fua = request.fua && self.rules.offers_fua() && request.op != Op::Flush;
        let mut flags = if fua { CommandFlags::FUA } else { CommandFlags::NONE };
        let command = match &request.op {
            Op::Read => Command::Read,
            Op::Write(_) => Command::Write,
            Op::Flush => Command::Flush,
            Op::Trim => Command::Trim,
            Op::Zero { no_hole, fast_only } => {
                flags = if *no_hole { flags.and(CommandFlags::NO_HOLE) } else { flags };
                flags = if *fast_only { flags.and(CommandFlags::FAST_ZERO) } else { flags };
                Command::WriteZeroes
            }
            Op::Cache => Command::Cache,
            // Extents in the answer are not supported here; a load does not need them.
            Op::Status { .. } => return Err(Fault::Unsupported),
        };
        if !self.rules.offers(command) || (self.needs_flush(request) && !self.rules.offers(Command::Flush)) {
            return Err(Fault::Unsupported);
        }
        let payload = if command == Command::Write { request.len as u32 } else { 0 };
        let wire = nbd::NbdRequest { flags, payload, ..nbd::NbdRequest::new(cookie, command, request.at, request.len) };
        self.rules.check(&wire).map_err(fault_of)?;
        Ok(wire)
    }

    /// Whether a request has to be followed by a flush, as the server offers no FUA.
    fn needs_flush(&self, request: &Request) -> bool {
        let changes = matches!(request.op.kind(), OpKind::Write | OpKind::Trim | OpKind::Zero);
        request.fua && changes && !self.rules.offers_fua()
    }

    /// Sends the flush that makes an answered request durable, under the request's own cookie.
    fn follow_with_flush(&mut self, slot: u32) -> Result<(), StreamError> {
        let Some(in_flight) = self.in_flight.get_mut(slot as usize) else { return Ok(()) };
        let cookie = in_flight.cookie;
        (in_flight.flushing, in_flight.sent) = (true, false);
        self.scratch.clear();
        nbd::NbdRequest::new(cookie, Command::Flush, 0, 0).put(self.rules.framing, &mut self.scratch)?;
        self.next.message.header(&self.scratch);
        self.next.requests.push(Aboard { cookie, is_write: false });
        Ok(())
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

    /// The requests without a reply on a lost connection, and the completions. The link is of no
    /// further use.
    pub(super) fn leave(mut self) -> (Vec<Orphan>, Vec<Completion>) {
        let Outgoing { mut message, requests } = std::mem::take(&mut self.next);
        self.give_back(&mut message, &requests);
        let mut orphans: Vec<(u64, Orphan)> = Vec::new();
        for in_flight in self.in_flight.drain() {
            in_flight.buf.into_iter().for_each(|buf| self.io.give(buf));
            let sent = in_flight.sent || in_flight.flushing;
            orphans.push((in_flight.cookie >> 32, Orphan { pending: in_flight.pending, sent }));
        }
        // In the order in which they were asked.
        orphans.sort_by_key(|(turn, _)| *turn);
        (orphans.into_iter().map(|(_, orphan)| orphan).collect(), std::mem::take(&mut self.ready))
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
                let mut requests = std::mem::take(&mut self.going);
                self.give_back(&mut message, &requests);
                requests.clear();
                self.spare = Outgoing { message, requests };
            }
            if let Err(failure) = done.result {
                self.lose(inbox::failed(failure));
            }
            return;
        }
        let received = self.inbox.take(done).and_then(|()| self.open_records().map_err(|error| error.to_string()));
        if let Err(why) = received {
            self.lose(why);
        }
    }
}

impl Carrier for Link {
    fn loss(&self) -> Option<&Arc<str>> {
        self.lost.as_ref()
    }

    fn is_over(&self) -> bool {
        // The kernel still has the data that it was sending.
        self.is_lost() && !(self.keep.writes && self.sending)
    }

    fn outstanding(&self) -> usize {
        self.in_flight.len()
    }

    fn has_news(&self) -> bool {
        let unsent = !self.next.message.is_empty() || !self.records.is_empty();
        !self.ready.is_empty() || (unsent && !self.sending && !self.is_lost())
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
        for completion in &mut self.ready {
            completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
        }
        for in_flight in self.in_flight.drain() {
            in_flight.buf.into_iter().for_each(|buf| self.io.give(buf));
            if let Op::Write(buf) = in_flight.pending.request.op {
                self.io.give(buf);
            }
        }
    }
}

fn fault_of(errno: NbdErrno) -> Fault {
    match errno {
        NbdErrno::Permission => Fault::ReadOnly,
        NbdErrno::Io => Fault::Io,
        NbdErrno::NoMemory => Fault::NoMemory,
        NbdErrno::Invalid | NbdErrno::Overflow => Fault::Invalid,
        NbdErrno::NoSpace => Fault::NoSpace,
        NbdErrno::NotSupported => Fault::Unsupported,
        NbdErrno::Shutdown => Fault::Gone,
    }
}
