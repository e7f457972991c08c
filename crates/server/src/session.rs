//! One NBD connection, from its first byte to its last.
//!
//! ```text
//!            ┌─ Receive ◄── ring ─────────────────────────┐
//!   rx ──► parse ──► admit (limits) ──► gate.submit       │
//!            │ refused ─────────┐          │ completion   │
//!            ▼ a write's bytes  ▼          ▼              │
//!          payload ────────►  message (headers and data of many replies) ──► Send ──► ring
//! ```
//!
//! At most one receive and one send are at the kernel. While a send is under way, further replies gather in the next
//! message, so a busy connection answers many requests with one call. When a limit is met nothing more is parsed and
//! nothing received: the client's own socket buffer fills and it waits. What ends that wait is an end of its own (a
//! send, a request), or others must give something back first; then [`Session::waits`] says so and the shard asks again.

mod handshake;
mod link;
mod sender;
mod transmission;

use crate::claims::Claims;
use crate::exports::Exports;
use crate::limits::ServerLimits;
use block::{Buf, Completion, ObjectId, Span, Target, Ticket, Time};
use link::Link;
use nbd::{Request, ServerHandshake};
use sender::{Load, Sender};
use uring::{Done, FileId, Io, Job, Port};

/// What a session needs of its shard for a moment.
pub(crate) struct Around<'a> {
    pub now: Time,
    pub io: &'a Io,
    pub port: &'a Port,
    pub gate: &'a mut dyn Target,
    pub exports: &'a Exports,
    pub limits: &'a ServerLimits,
    pub claims: &'a mut Claims,
    /// Kept for its memory.
    pub scratch: &'a mut Vec<u8>,
}

/// Which of a session's two jobs at the kernel a token means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Receive,
    Send,
}

/// A connection.
pub(crate) struct Session {
    /// Its number in the shard: the high half of its requests' tags.
    index: u32,
    socket: FileId,
    phase: Phase,
    /// When the handshake must be over.
    deadline: Time,
    rx: Receiver,
    tx: Sender,
    ending: Ending,
    /// Requests that were taken on and have not ended, by the low half of their tags.
    pending: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// What its requests take of the limits until their replies are sent.
    load: Load,
    waits: Option<Wait>,
    /// It is in the shard's list of those who wait.
    pub(crate) is_listed: bool,
}

enum Phase {
    Handshake(Box<ServerHandshake>),
    Transmission(Box<Link>),
}

/// What only others can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Room in the gate or the ring, or its share of memory.
    Room,
    /// Memory for its only request.
    Starving,
}

/// What came in. `buf` is away while the kernel fills it.
struct Receiver {
    buf: Option<Buf>,
    /// Bytes of the buffer.
    room: u32,
    /// Unread bytes are `start..end` of the buffer.
    start: u32,
    end: u32,
    /// The kernel is filling the payload's buffer, not this one.
    into_payload: bool,
    busy: bool,
}

/// A request that was taken on and has not ended.
struct Pending {
    request: Request,
    ticket: Ticket,
    /// What it claims, in bytes.
    claim: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Going on.
    No,
    /// Nothing more is read; what was asked is answered first.
    Draining,
    /// The stream is broken: nothing more goes out either.
    Broken,
}

/// Bytes of an option before its data.
const OPTION_HEAD: u32 = 16;

impl Session {
    /// Begins the handshake on a new connection; `None` when there is no memory for it.
    pub(crate) fn begin(index: u32, socket: FileId, around: &mut Around<'_>) -> Option<Session> {
        let room = around.limits.receive.0;
        let buf = around.io.take(room as u32)?;
        let limits = nbd::HandshakeLimits {
            options: around.limits.handshake_options,
            // An option is handled when all of it is in the receive buffer.
            option_bytes: nbd::HandshakeLimits::SERVER.option_bytes.min(room as u32 - OPTION_HEAD),
            ..nbd::HandshakeLimits::SERVER
        };
        let mut handshake = ServerHandshake::new(limits, nbd::TlsMode::Off);
        around.scratch.clear();
        handshake.start(around.scratch);
        let mut session = Session {
            index,
            socket,
            phase: Phase::Handshake(Box::new(handshake)),
            deadline: around.now + around.limits.handshake_time,
            rx: Receiver { buf: Some(buf), room: room as u32, start: 0, end: 0, into_payload: false, busy: false },
            tx: Sender::default(),
            ending: Ending::No,
            pending: Vec::new(),
            free: Vec::new(),
            load: Load::default(),
            waits: None,
            is_listed: false,
        };
        session.tx.say(around.scratch);
        session.go_on(around);
        Some(session)
    }

    /// Takes the end of one of its jobs.
    pub(crate) fn done(&mut self, direction: Direction, done: Done, around: &mut Around<'_>) {
        match direction {
            Direction::Receive => self.received(done, around),
            Direction::Send => self.sent(done, around),
        }
        self.go_on(around);
    }

    /// Takes the end of one of its requests; its reply goes out with the next [`Session::go_on`].
    pub(crate) fn completed(&mut self, mut completion: Completion, around: &mut Around<'_>) {
        let slot = completion.tag as u32;
        let Some(pending) = self.pending.get_mut(slot as usize).and_then(Option::take) else {
            debug_assert!(false, "a request ends once");
            return completion.buf.take().into_iter().for_each(|buf| around.io.give(buf));
        };
        self.free.push(slot);
        self.reply(&pending, completion, around);
    }

    /// Parses what is here, receives more, sends what is ready.
    pub(crate) fn go_on(&mut self, around: &mut Around<'_>) {
        self.waits = None;
        match self.ending {
            Ending::No => self.parse(around),
            Ending::Draining => self.hand_over_held(around),
            Ending::Broken => {}
        }
        self.send(around);
    }

    /// What it waits for that nobody will tell it about: the shard lets it go on when others have given something back.
    pub(crate) fn waits(&self) -> Option<Wait> {
        self.waits
    }

    /// The LUN that it uses, once the handshake is over.
    pub(crate) fn object(&self) -> Option<ObjectId> {
        match &self.phase {
            Phase::Handshake(_) => None,
            Phase::Transmission(link) => Some(link.object),
        }
    }

    /// Whether the handshake takes too long.
    pub(crate) fn is_overdue(&self, now: Time) -> bool {
        matches!(self.phase, Phase::Handshake(_)) && now > self.deadline
    }

    /// Whether its client takes too long for its part of a transfer, where that keeps others or the end waiting.
    pub(crate) fn is_too_slow(&self, now: Time, limits: &ServerLimits, starving: bool) -> bool {
        let late = |since: Time, bytes: u64| now > since + limits.patience + Span::SECOND * (bytes >> 20);
        let payload = match &self.phase {
            Phase::Transmission(link) => link.payload(),
            Phase::Handshake(_) => None,
        };
        (starving || self.ending == Ending::Draining)
            && (self.tx.at_kernel().is_some_and(|(since, bytes)| late(since, bytes))
                || payload.is_some_and(|payload| late(payload.since, payload.claim)))
    }

    /// Answers what was asked, then closes.
    pub(crate) fn drain(&mut self, around: &mut Around<'_>) {
        if self.ending == Ending::No {
            self.ending = Ending::Draining;
            self.go_on(around);
        }
    }

    /// Gives the connection up: what it has in the gate is cancelled.
    pub(crate) fn abandon(&mut self, around: &mut Around<'_>) {
        if self.ending == Ending::Broken {
            return;
        }
        self.ending = Ending::Broken;
        self.waits = None;
        around.io.close(self.socket);
        self.drop_held(around);
        for pending in self.pending.iter().flatten() {
            around.gate.cancel(around.now, pending.ticket);
        }
    }

    /// Whether nothing of it is at the kernel or in the gate any more, so that nothing can come for it under its number
    /// once that belongs to another; then [`Session::finish`] may be called.
    pub(crate) fn is_over(&self) -> bool {
        let quiet = !self.tx.is_busy() && self.pending.len() == self.free.len();
        match self.ending {
            Ending::No => false,
            // A receive under way ends when the socket is closed.
            Ending::Draining => quiet && self.tx.is_empty(),
            Ending::Broken => quiet && !self.rx.busy,
        }
    }

    /// Closes it and gives its memory back; false when the receive under way must end first.
    pub(crate) fn finish(&mut self, around: &mut Around<'_>) -> bool {
        if self.ending == Ending::Draining {
            self.ending = Ending::Broken;
            around.io.close(self.socket);
        }
        if self.rx.busy {
            return false;
        }
        self.rx.buf.take().into_iter().for_each(|buf| around.io.give(buf));
        self.drop_held(around);
        let unsent = self.tx.clear(around.io);
        self.release(unsent, around);
        debug_assert_eq!(self.load, Load::default(), "all of a connection's load goes with it");
        true
    }

    /// What was taken of the limits is free again.
    fn release(&mut self, load: Load, around: &mut Around<'_>) {
        self.load.requests -= load.requests;
        self.load.bytes -= load.bytes;
        around.claims.give(load.bytes);
    }

    fn received(&mut self, done: Done, around: &mut Around<'_>) {
        self.rx.busy = false;
        let into_payload = std::mem::take(&mut self.rx.into_payload);
        let got = done.result;
        if let Some(buf) = done.buf {
            if into_payload { self.payload_came(buf, got.unwrap_or(0)) } else { self.rx.came(buf, got.unwrap_or(0)) }
        }
        // The end of the stream without a goodbye, or a broken one: nobody is left to answer.
        if !matches!(got, Ok(1..)) {
            self.abandon(around);
        }
    }

    fn sent(&mut self, done: Done, around: &mut Around<'_>) {
        let load = self.tx.sent(done.message, around.io);
        self.release(load, around);
        if done.result.is_err() {
            self.abandon(around);
        }
    }

    /// Hands the gathered replies to the kernel.
    fn send(&mut self, around: &mut Around<'_>) {
        if self.ending != Ending::Broken && !self.tx.send(self.index, self.socket, around) {
            self.waits.get_or_insert(Wait::Room);
        }
    }

    /// Asks the kernel for more bytes, behind those that are here.
    fn receive(&mut self, around: &mut Around<'_>) {
        if self.rx.busy || self.ending != Ending::No {
            return;
        }
        let Some(buf) = self.rx.make_room(around.io) else { return };
        let (end, room) = (self.rx.end, self.rx.room);
        // A message that is waited for always fits, and a receive of nothing would look like the end of the stream.
        debug_assert!(end < room);
        self.push_receive(buf.window(end, room - end), false, around);
    }

    fn push_receive(&mut self, buf: Buf, into_payload: bool, around: &mut Around<'_>) {
        match around.port.push(token(self.index, Direction::Receive), Job::Receive { socket: self.socket, buf }) {
            Ok(()) => (self.rx.busy, self.rx.into_payload) = (true, into_payload),
            Err(Job::Receive { buf, .. }) => {
                self.waits.get_or_insert(Wait::Room);
                if into_payload { self.payload_came(buf, 0) } else { self.rx.came(buf, 0) }
            }
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }
}

impl Receiver {
    /// Takes the buffer back with `got` more bytes behind the unread ones.
    fn came(&mut self, buf: Buf, got: u32) {
        self.end += got;
        self.buf = Some(buf.window(0, self.end));
    }

    /// The buffer with its unread bytes moved to the front.
    fn make_room(&mut self, io: &Io) -> Option<Buf> {
        let buf = self.buf.take()?;
        if self.start == 0 {
            return Some(buf);
        }
        let (start, end) = (self.start as usize, self.end as usize);
        let mut buf = buf.window(0, self.end);
        if start < end {
            io.with_mut(&mut buf, |bytes| bytes.copy_within(start..end, 0));
        }
        (self.start, self.end) = (0, self.end - self.start);
        Some(buf)
    }

    /// Works on the unread bytes; `f` returns how many of them it took.
    fn unread<R>(&mut self, io: &Io, f: impl FnOnce(&[u8]) -> (usize, R)) -> Option<R> {
        let buf = self.buf.as_ref()?;
        let (start, end) = (self.start as usize, self.end as usize);
        let (taken, result) = io.with(buf, |bytes| f(&bytes[start..end]));
        self.start += taken as u32;
        Some(result)
    }
}

/// The ring's token for a session's job.
pub(crate) fn token(index: u32, direction: Direction) -> u64 {
    u64::from(index) << 1 | u64::from(direction == Direction::Send)
}

/// The session and the job that a token means.
pub(crate) fn of_token(token: u64) -> (u32, Direction) {
    let direction = if token & 1 == 1 { Direction::Send } else { Direction::Receive };
    ((token >> 1) as u32, direction)
}
