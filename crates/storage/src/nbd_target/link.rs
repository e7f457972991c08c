//! One connection: requests become messages, replies become ends.
//!
//! At most one send and one receive are at the kernel; what is submitted meanwhile goes out
//! together with the next send. Over TLS a message is sealed when it goes, and what comes is opened
//! before it is parsed.

mod incoming;
mod outgoing;

use super::connect::Connection;
use super::tls::Tls;
use crate::connections::Carrier;
use crate::inbox::Inbox;
use crate::pending::Pending;
use block::{Buf, Completion, Fault, Op, Request, Time};
use incoming::Data;
use nbd::{Command, CommandFlags, NbdErrno, ReadAssembly, ReplyParser, Rules};
use outgoing::{Aboard, Outgoing};
use slab::Slab;
use uring::{Done, FileId, Io, Port};

const SEND: u64 = 0;
const RECEIVE_TOKEN: u64 = 1;

/// What data is good for beyond its use on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keep {
    /// A read's completion has its bytes; otherwise they are taken off the stream and forgotten.
    pub(super) reads: bool,
    /// Whether a write without a reply is sent again over another connection.
    pub(super) writes: bool,
}

/// A request without a reply on a connection that was lost.
#[derive(Debug)]
pub(super) struct Orphan {
    /// With a write's data where it is still there, and else [`Buf::nothing`].
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
    /// Requests on their way, by the low half of their cookies.
    flying: Slab<Flying>,
    turn: u32,
    next: Outgoing,
    spare: Outgoing,
    /// What the kernel is sending.
    going: Vec<Aboard>,
    /// Over TLS: records that the kernel has not taken yet, and whose they are.
    records: Vec<u8>,
    sealed: Vec<Aboard>,
    sending: bool,
    inbox: Inbox,
    /// Read data that is being taken off the stream.
    data: Option<Data>,
    lost: bool,
    /// Ends that nobody took yet.
    pub(super) ready: Vec<Completion>,
    /// Writes, trims and zeroes that ended well and are not durable by themselves, since this was
    /// last set to zero.
    pub(super) written: u64,
    /// How much of all that was written flushes have covered; see [`Link::submit`].
    pub(super) covered: u64,
    reaped: Vec<Done>,
    scratch: Vec<u8>,
}

struct Flying {
    cookie: u64,
    pending: Pending,
    /// Given to the kernel, in part or whole.
    sent: bool,
    /// What a flush covers if it ends well.
    covers: u64,
    /// Where a read's data goes, if it is kept.
    buf: Option<Buf>,
    /// What of a read has come: the server must send every byte of it, and once.
    assembly: ReadAssembly,
}

impl Link {
    /// Requests on `connection`, carried by this worker's ring; `None` when the slab has no room to
    /// receive.
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
            flying: Slab::new(),
            turn: 0,
            next: Outgoing::default(),
            spare: Outgoing::default(),
            going: Vec::new(),
            records: Vec::new(),
            sealed: Vec::new(),
            sending: false,
            inbox,
            data: None,
            lost: false,
            ready: Vec::new(),
            written: 0,
            covered: 0,
            reaped: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// Takes a request, or hands it back when there is no memory for its data. `covers` is how much
    /// a flush covers: all that was written before it.
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
        let cookie = u64::from(self.turn) << 32 | self.flying.vacant_key() as u64;
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
        // Only a read's length is that of data, and it fits: the rules were kept.
        let assembly = ReadAssembly::new(at, if is_read { len as u32 } else { 0 });
        let op = match op {
            Op::Write(data) => {
                self.next.message.data(data);
                Op::Write(Buf::nothing(len as u32))
            }
            other => other,
        };
        let pending = Pending { request: Request { op, ..request }, since };
        self.flying.insert(Flying { cookie, pending, sent: false, covers, buf, assembly });
        Ok(())
    }

    /// The wire's form of a request, or why it may not be sent.
    fn wire(&self, request: &Request, cookie: u64) -> Result<nbd::NbdRequest, Fault> {
        let mut flags = if request.fua { CommandFlags::FUA } else { CommandFlags::NONE };
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
            // The answer's extents are not taken in here; a load has no use for them.
            Op::Status { .. } => return Err(Fault::Unsupported),
        };
        let payload = if command == Command::Write { request.len as u32 } else { 0 };
        let wire = nbd::NbdRequest { flags, payload, ..nbd::NbdRequest::new(cookie, command, request.at, request.len) };
        self.rules.check(&wire).map_err(fault_of)?;
        Ok(wire)
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

    /// What is without a reply on a lost connection. The link is of no use any more.
    pub(super) fn leave(mut self) -> (Vec<Orphan>, Vec<Completion>) {
        let Outgoing { mut message, requests } = std::mem::take(&mut self.next);
        self.give_back(&mut message, &requests);
        let mut orphans: Vec<(u64, Orphan)> = Vec::new();
        for flying in self.flying.drain() {
            flying.buf.into_iter().for_each(|buf| self.io.give(buf));
            orphans.push((flying.cookie >> 32, Orphan { pending: flying.pending, sent: flying.sent }));
        }
        // In the order of asking.
        orphans.sort_by_key(|(turn, _)| *turn);
        (orphans.into_iter().map(|(_, orphan)| orphan).collect(), std::mem::take(&mut self.ready))
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
                let mut requests = std::mem::take(&mut self.going);
                self.give_back(&mut message, &requests);
                requests.clear();
                self.spare = Outgoing { message, requests };
            }
            if done.result.is_err() {
                self.lose();
            }
            return;
        }
        if self.inbox.take(done) == 0 || self.open_records().is_err() {
            self.lose();
        }
    }
}

impl Carrier for Link {
    fn is_lost(&self) -> bool {
        self.lost
    }

    fn is_over(&self) -> bool {
        // The kernel still holds the data of what it was sending.
        self.lost && !(self.keep.writes && self.sending)
    }

    fn outstanding(&self) -> usize {
        self.flying.len()
    }

    fn has_news(&self) -> bool {
        let unsent = !self.next.message.is_empty() || !self.records.is_empty();
        !self.ready.is_empty() || (unsent && !self.sending && !self.lost)
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
        for completion in &mut self.ready {
            completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
        }
        for flying in self.flying.drain() {
            flying.buf.into_iter().for_each(|buf| self.io.give(buf));
            if let Op::Write(buf) = flying.pending.request.op {
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
