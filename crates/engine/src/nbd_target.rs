//! An NBD export as a [`Target`]: our own client, one connection.
//!
//! ```text
//!   submit ──► message (headers, data of writes) ──► Send ──► server
//!   poll   ◄── replies parsed from rx, read data taken off the stream ◄── Receive
//! ```
//!
//! At most one send and one receive are at the kernel; what is submitted meanwhile goes out together with the next send.
//! A server that goes away ends every request as [`Fault::Gone`]: whether it took effect is unknown, and nothing is
//! sent twice.

mod connect;

pub use connect::{Address, ConnectError, Connection};

use block::{
    Buf, Bytes, Completion, Fault, Op, OpKind, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup,
};
use nbd::{Body, Command, CommandFlags, Errno, Framing, Parsed, ReadAssembly, ReplyParser, Rules, StreamError};
use uring::{Done, FileId, Io, Job, Message, Port};

/// Bytes that one receive may bring: the answers of some thirty 4 KiB reads.
const RECEIVE: u32 = 128 << 10;

const SEND: u64 = 0;
const RECEIVE_TOKEN: u64 = 1;

/// One connection to an export.
pub struct NbdTarget {
    io: Io,
    port: Port,
    socket: FileId,
    rules: Rules,
    parser: ReplyParser,
    keep_data: bool,
    /// Requests on their way, by the low half of their cookies.
    flying: Vec<Option<Flying>>,
    free: Vec<u32>,
    turn: u32,
    next: Message,
    spare: Option<Message>,
    sending: bool,
    receiving: bool,
    rx: Option<Buf>,
    /// Unread bytes are `start..end` of `rx`.
    start: u32,
    end: u32,
    /// Read data that is being taken off the stream.
    data: Option<Data>,
    lost: bool,
    ready: Vec<Completion>,
    reaped: Vec<Done>,
    scratch: Vec<u8>,
}

struct Flying {
    cookie: u64,
    tag: u64,
    object: block::ObjectId,
    kind: OpKind,
    at: u64,
    len: u64,
    due: Time,
    since: Time,
    /// Where a read's data goes, if it is kept.
    buf: Option<Buf>,
    /// What of a read has come: the server must send every byte of it, and once.
    assembly: ReadAssembly,
}

/// `left` bytes of the stream belong at byte `to` of a request's buffer.
struct Data {
    slot: u32,
    to: u32,
    left: u32,
    done: bool,
}

impl NbdTarget {
    /// Requests on `connection`, carried by this worker's ring. With `keep_data` a read's completion has its bytes;
    /// without, they are taken off the stream and forgotten, as a load that nobody looks at wants it.
    ///
    /// # Errors
    /// The slab has no room for the receive buffer; the connection is closed.
    pub fn new(io: &Io, connection: Connection, keep_data: bool) -> Result<NbdTarget, ConnectError> {
        let rx = io.take(RECEIVE).ok_or(ConnectError::NoMemory)?;
        let rules = connection.rules;
        let (socket, early) = (io.register(connection.socket), connection.early);
        let mut rx = rx.window(0, early.len() as u32);
        io.with_mut(&mut rx, |bytes| bytes.copy_from_slice(&early));
        Ok(NbdTarget {
            io: io.clone(),
            port: io.port(),
            socket,
            parser: ReplyParser::new(rules.framing, rules.payload),
            rules,
            keep_data,
            flying: Vec::new(),
            free: Vec::new(),
            turn: 0,
            next: Message::default(),
            spare: None,
            sending: false,
            receiving: false,
            rx: Some(rx),
            start: 0,
            end: early.len() as u32,
            data: None,
            lost: false,
            ready: Vec::new(),
            reaped: Vec::new(),
            scratch: Vec::new(),
        })
    }

    fn outstanding(&self) -> usize {
        self.flying.len() - self.free.len()
    }

    /// The wire's form of a request, or why it may not be sent.
    fn wire(&self, request: &Request, cookie: u64) -> Result<nbd::Request, Fault> {
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
            Op::Status => return Err(Fault::Unsupported),
        };
        let payload = if command == Command::Write { request.len as u32 } else { 0 };
        let wire = nbd::Request { cookie, command, flags, offset: request.at, length: request.len, payload };
        self.rules.check(&wire).map_err(fault_of)?;
        Ok(wire)
    }

    /// Takes the bytes that are here apart, as far as they go.
    fn read_replies(&mut self, now: Time) {
        loop {
            let result = match self.data.take() {
                Some(data) => self.take_data(now, data),
                None => self.read_reply(now),
            };
            match result {
                Ok(true) => {}
                Ok(false) => return,
                // The stream cannot be followed any more.
                Err(_) => return self.lose(now),
            }
        }
    }

    /// Reads one reply's head; false when it is not here whole.
    fn read_reply(&mut self, now: Time) -> Result<bool, StreamError> {
        let Some(rx) = &self.rx else { return Ok(false) };
        let (start, end, parser) = (self.start as usize, self.end as usize, self.parser);
        let head = self.io.with(rx, |bytes| match parser.parse(&bytes[start..end])? {
            Parsed::NeedMore(_) => Ok(None),
            Parsed::Message(reply, taken) => {
                let body = match reply.body {
                    Body::Success => Seen::Success,
                    Body::Error { errno, .. } => Seen::Error(errno),
                    Body::Data { offset, len } => Seen::Data { offset, len },
                    Body::Hole { offset, len } => Seen::Hole { offset, len },
                    Body::Status { .. } => Seen::Unexpected,
                };
                Ok(Some((reply.cookie, reply.done, body, taken as u32)))
            }
        })?;
        let Some((cookie, done, body, taken)) = head else { return Ok(false) };
        self.start += taken;
        let slot = cookie as u32;
        let is_simple = self.rules.framing == Framing::Simple;
        let known = self.flying.get_mut(slot as usize).and_then(Option::as_mut);
        let flying = known.filter(|flying| flying.cookie == cookie).ok_or(STRAY)?;
        let is_read = flying.kind == OpKind::Read;
        match body {
            // Under simple framing the data of a read follows its reply.
            Seen::Success if is_read && is_simple => {
                let (at, len) = (flying.at, flying.len as u32);
                flying.assembly.place(at, len)?;
                self.data = Some(Data { slot, to: 0, left: len, done: true });
                return Ok(true);
            }
            Seen::Data { offset, len } if is_read => {
                let range = flying.assembly.place(offset, len)?;
                self.data = Some(Data { slot, to: range.start as u32, left: len, done });
                return Ok(true);
            }
            Seen::Hole { offset, len } if is_read => {
                let range = flying.assembly.place(offset, len)?;
                if let Some(buf) = &mut flying.buf {
                    self.io.with_mut(buf, |bytes| bytes[range].fill(0));
                }
            }
            Seen::Success => {}
            Seen::Error(errno) => flying.assembly.fail(errno),
            Seen::Data { .. } | Seen::Hole { .. } | Seen::Unexpected => return Err(STRAY),
        }
        if done {
            self.finish(now, slot)?;
        }
        Ok(true)
    }

    /// Moves read data to its buffer; false when more has to come first.
    fn take_data(&mut self, now: Time, mut data: Data) -> Result<bool, StreamError> {
        let here = (self.end - self.start).min(data.left);
        let buf = self.flying[data.slot as usize].as_mut().and_then(|flying| flying.buf.as_mut());
        if let (Some(rx), Some(buf)) = (&self.rx, buf) {
            let (from, to, len) = (self.start as usize, data.to as usize, here as usize);
            self.io.with(rx, |source| {
                self.io.with_mut(buf, |bytes| bytes[to..to + len].copy_from_slice(&source[from..from + len]));
            });
        }
        self.start += here;
        data.to += here;
        data.left -= here;
        if data.left > 0 {
            self.data = Some(data);
            return Ok(false);
        }
        if data.done {
            self.finish(now, data.slot)?;
        }
        Ok(true)
    }

    /// Ends a request whose last reply came. A read that misses some of its bytes is no answer.
    fn finish(&mut self, now: Time, slot: u32) -> Result<(), StreamError> {
        let place = &mut self.flying[slot as usize];
        // If it breaks the protocol the request stays in its place, to end with the connection.
        let result = place.as_ref().ok_or(STRAY)?.assembly.finish()?.map_err(fault_of);
        self.ready.extend(place.take().map(|flying| flying.end(now, result)));
        self.free.push(slot);
        Ok(())
    }

    /// The connection is gone: whatever was on its way ends, its outcome unknown.
    fn lose(&mut self, now: Time) {
        if std::mem::replace(&mut self.lost, true) {
            return;
        }
        self.io.close(self.socket);
        for slot in 0..self.flying.len() as u32 {
            if let Some(flying) = self.flying[slot as usize].take() {
                self.free.push(slot);
                self.ready.push(flying.end(now, Err(Fault::Gone)));
            }
        }
    }

    fn take_done(&mut self, now: Time, done: Done) {
        if done.token == SEND {
            self.sending = false;
            if let Some(mut message) = done.message {
                message.unload().for_each(|buf| self.io.give(buf));
                self.spare = Some(message);
            }
            if done.result.is_err() {
                self.lose(now);
            }
            return;
        }
        self.receiving = false;
        let got = done.result.unwrap_or(0);
        self.end += got;
        self.rx = done.buf.map(|buf| buf.window(0, self.end));
        if got == 0 {
            self.lose(now);
        }
    }

    fn send(&mut self) {
        if self.sending || self.lost || self.next.is_empty() {
            return;
        }
        let message = std::mem::replace(&mut self.next, self.spare.take().unwrap_or_default());
        match self.port.push(SEND, Job::Send { socket: self.socket, message }) {
            Ok(()) => self.sending = true,
            Err(Job::Send { message, .. }) => self.spare = Some(std::mem::replace(&mut self.next, message)),
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }

    fn receive(&mut self) {
        if self.receiving || self.lost || self.outstanding() == 0 {
            return;
        }
        let Some(mut rx) = self.rx.take() else { return };
        let (start, end) = (self.start as usize, self.end as usize);
        if start == end {
            (self.start, self.end) = (0, 0);
        } else if start > 0 {
            self.io.with_mut(&mut rx, |bytes| bytes.copy_within(start..end, 0));
            (self.start, self.end) = (0, (end - start) as u32);
        }
        // A head that is not here whole is shorter, and a receive of nothing would look like the end of the stream.
        debug_assert!(self.end < RECEIVE);
        let buf = rx.window(self.end, RECEIVE - self.end);
        match self.port.push(RECEIVE_TOKEN, Job::Receive { socket: self.socket, buf }) {
            Ok(()) => self.receiving = true,
            Err(Job::Receive { buf, .. }) => self.rx = Some(buf.window(0, self.end)),
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }
}

/// A reply's body, free of the buffer it was read from.
enum Seen {
    Success,
    Error(Errno),
    Data { offset: u64, len: u32 },
    Hole { offset: u64, len: u32 },
    Unexpected,
}

impl Flying {
    fn end(self, now: Time, result: Result<(), Fault>) -> Completion {
        Completion {
            tag: self.tag,
            object: self.object,
            kind: self.kind,
            len: self.len,
            due: self.due,
            end: now,
            queued: Span::ZERO,
            service: now.since(self.since),
            cause: block::Cause::Nothing,
            result,
            buf: self.buf,
            extents: Vec::new(),
        }
    }
}

impl Target for NbdTarget {
    fn traits(&self) -> Traits {
        Traits {
            size: Bytes(self.rules.size),
            align: self.rules.minimum,
            longest: self.rules.payload,
            carries_data: true,
            read_only: self.rules.flags.contains(nbd::TransmissionFlags::READ_ONLY),
        }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let is_read = matches!(request.op, Op::Read);
        let mut buf = None;
        if self.keep_data && is_read && !self.lost && request.len <= u64::from(self.rules.payload) {
            buf = self.io.take(request.len as u32);
            if buf.is_none() {
                return Submitted::Full(request);
            }
        }
        self.turn = self.turn.wrapping_add(1);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flying.push(None);
            self.flying.len() as u32 - 1
        });
        let cookie = u64::from(self.turn) << 32 | u64::from(slot);
        let wire = if self.lost { Err(Fault::Gone) } else { self.wire(&request, cookie) };
        let put = wire.and_then(|wire| {
            self.scratch.clear();
            wire.put(self.rules.framing, &mut self.scratch).map_err(|_| Fault::Invalid)
        });
        if let Err(fault) = put {
            buf.into_iter().for_each(|buf| self.io.give(buf));
            self.free.push(slot);
            self.ready.push(Completion::refuse(request, now, fault));
            return Submitted::Taken(Ticket(cookie));
        }
        self.next.header(&self.scratch);
        let Request { tag, object, at, len, due, .. } = request;
        let kind = request.op.kind();
        // Only a read's length is that of data, and it fits: the rules were kept.
        let assembly = ReadAssembly::new(at, if is_read { len as u32 } else { 0 });
        self.flying[slot as usize] =
            Some(Flying { cookie, tag, object, kind, at, len, due, since: now, buf, assembly });
        if let Op::Write(buf) = request.op {
            self.next.data(buf);
        }
        Submitted::Taken(Ticket(cookie))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        if self.port.is_ready() {
            let mut reaped = std::mem::take(&mut self.reaped);
            self.port.reap(&mut reaped);
            for done in reaped.drain(..) {
                self.take_done(now, done);
            }
            self.reaped = reaped;
            if !self.lost {
                self.read_replies(now);
            }
        }
        self.send();
        self.receive();
        out.append(&mut self.ready);
    }

    fn next_wakeup(&self) -> Wakeup {
        if !self.ready.is_empty() || (!self.sending && !self.lost && !self.next.is_empty()) {
            Wakeup::Now
        } else if self.outstanding() > 0 {
            Wakeup::External
        } else {
            Wakeup::Idle
        }
    }

    /// NBD cannot take a request back: its reply comes as usual.
    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

impl Drop for NbdTarget {
    /// Gives its memory back; the server sees the connection end.
    fn drop(&mut self) {
        self.io.close(self.socket);
        self.rx.take().into_iter().for_each(|buf| self.io.give(buf));
        self.next.unload().for_each(|buf| self.io.give(buf));
        for completion in &mut self.ready {
            completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
        }
        for flying in self.flying.iter_mut().flatten() {
            flying.buf.take().into_iter().for_each(|buf| self.io.give(buf));
        }
    }
}

/// A reply that no request of ours can have.
const STRAY: StreamError = StreamError::Magic { what: "a reply to a request of ours", got: 0 };

fn fault_of(errno: Errno) -> Fault {
    match errno {
        Errno::Permission => Fault::ReadOnly,
        Errno::Io => Fault::Io,
        Errno::NoMemory => Fault::NoMemory,
        Errno::Invalid | Errno::Overflow => Fault::Invalid,
        Errno::NoSpace => Fault::NoSpace,
        Errno::NotSupported => Fault::Unsupported,
        Errno::Shutdown => Fault::Gone,
    }
}
