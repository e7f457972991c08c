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
//! nothing received: the client's own socket buffer fills and it waits.

mod handshake;
mod transmission;

use crate::exports::Exports;
use crate::limits::ServerLimits;
use block::{Buf, Completion, ObjectId, Target, Ticket, Time};
use nbd::{Request, Rules, ServerHandshake};
use uring::{Done, FileId, Io, Job, Message, Port};

/// What a session needs of its shard for a moment.
pub(crate) struct Around<'a> {
    pub now: Time,
    pub io: &'a Io,
    pub port: &'a Port,
    pub gate: &'a mut dyn Target,
    pub exports: &'a Exports,
    pub limits: &'a ServerLimits,
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
    /// Requests that the gate has, by the low half of their tags.
    pending: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// Bytes of requests not answered yet.
    in_flight: u64,
}

enum Phase {
    Handshake(Box<ServerHandshake>),
    Transmission(Box<Link>),
}

/// A connection in transmission.
struct Link {
    rules: Rules,
    object: ObjectId,
    /// The id of `base:allocation`, if it was selected.
    allocation: Option<u32>,
    /// What could not go on: it goes first.
    held: Option<Held>,
}

enum Held {
    /// A parsed request that a limit or the lack of memory holds back.
    Parsed(Request),
    /// A request that the gate was too full for.
    Refused(block::Request),
    /// A write whose bytes are still coming.
    Payload(Payload),
}

struct Payload {
    request: Request,
    /// Where the bytes go; `None` when the request was refused and they only have to be taken off the stream.
    buf: Option<Buf>,
    /// Bytes that are here.
    filled: u32,
}

/// What came in. `buf` is away while the kernel fills it.
struct Receiver {
    buf: Option<Buf>,
    /// Unread bytes are `start..end` of the buffer.
    start: u32,
    end: u32,
    /// The kernel is filling the payload's buffer, not this one.
    into_payload: bool,
    busy: bool,
}

/// What goes out.
#[derive(Default)]
struct Sender {
    next: Message,
    /// The other message, when it is not at the kernel.
    spare: Option<Message>,
    busy: bool,
}

struct Pending {
    request: Request,
    ticket: Ticket,
    /// What it counts against the limit on bytes in flight.
    bytes: u64,
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

impl Session {
    /// Begins the handshake on a new connection; `None` when there is no memory for it.
    pub(crate) fn begin(index: u32, socket: FileId, around: &mut Around<'_>) -> Option<Session> {
        let limits = nbd::HandshakeLimits { options: around.limits.handshake_options, ..nbd::HandshakeLimits::SERVER };
        let mut handshake = ServerHandshake::new(limits, nbd::TlsMode::Off);
        let buf = around.io.take(around.limits.receive.0 as u32)?;
        around.scratch.clear();
        handshake.start(around.scratch);
        let mut session = Session {
            index,
            socket,
            phase: Phase::Handshake(Box::new(handshake)),
            deadline: around.now + around.limits.handshake_time,
            rx: Receiver { buf: Some(buf), start: 0, end: 0, into_payload: false, busy: false },
            tx: Sender::default(),
            ending: Ending::No,
            pending: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
        };
        session.tx.next.header(around.scratch);
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
    pub(crate) fn completed(&mut self, completion: Completion, around: &mut Around<'_>) {
        let slot = completion.tag as u32;
        let Some(pending) = self.pending.get_mut(slot as usize).and_then(Option::take) else { return };
        self.free.push(slot);
        self.reply(&pending, completion, around);
    }

    /// Parses what is here, receives more, sends what is ready.
    pub(crate) fn go_on(&mut self, around: &mut Around<'_>) {
        if self.ending == Ending::No {
            self.parse(around);
        }
        self.send(around);
    }

    /// Whether the handshake took too long.
    pub(crate) fn is_overdue(&self, now: Time) -> bool {
        matches!(self.phase, Phase::Handshake(_)) && now > self.deadline
    }

    /// Whether it waits for memory or for room in the gate, which nobody will tell it about.
    pub(crate) fn is_held(&self) -> bool {
        match &self.phase {
            Phase::Transmission(link) => matches!(link.held, Some(Held::Parsed(_) | Held::Refused(_))),
            _ => false,
        }
    }

    /// Answers what was asked, then closes; `now` for how long it may take.
    pub(crate) fn drain(&mut self) {
        self.ending = self.ending.max_of(Ending::Draining);
    }

    /// Gives the connection up: what it has in the gate is cancelled.
    pub(crate) fn abandon(&mut self, around: &mut Around<'_>) {
        if self.ending == Ending::Broken {
            return;
        }
        self.ending = Ending::Broken;
        around.io.close(self.socket);
        for pending in self.pending.iter().flatten() {
            around.gate.cancel(around.now, pending.ticket);
        }
    }

    /// Whether everything of it has come back; then [`Session::finish`] may be called.
    pub(crate) fn is_over(&self) -> bool {
        let quiet = !self.tx.busy && self.pending.len() == self.free.len();
        match self.ending {
            Ending::No => false,
            // A receive under way ends when the socket is closed.
            Ending::Draining => quiet && self.tx.next.is_empty(),
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
        self.tx.next.unload().for_each(|buf| around.io.give(buf));
        if let Phase::Transmission(link) = &mut self.phase {
            match link.held.take() {
                Some(Held::Payload(Payload { buf: Some(buf), .. })) => around.io.give(buf),
                Some(Held::Refused(block::Request { op: block::Op::Write(buf), .. })) => around.io.give(buf),
                _ => {}
            }
        }
        true
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
        self.tx.busy = false;
        if let Some(mut message) = done.message {
            for buf in message.unload() {
                self.in_flight -= u64::from(buf.len());
                around.io.give(buf);
            }
            self.tx.spare = Some(message);
        }
        if done.result.is_err() {
            self.abandon(around);
        }
    }

    /// Hands the gathered replies to the kernel.
    fn send(&mut self, around: &mut Around<'_>) {
        if self.tx.busy || self.tx.next.is_empty() || self.ending == Ending::Broken {
            return;
        }
        let message = std::mem::replace(&mut self.tx.next, self.tx.spare.take().unwrap_or_default());
        match around.port.push(token(self.index, Direction::Send), Job::Send { socket: self.socket, message }) {
            Ok(()) => self.tx.busy = true,
            Err(Job::Send { message, .. }) => {
                // The ring is full: the next completion makes room, and the shard asks again.
                self.tx.spare = Some(std::mem::replace(&mut self.tx.next, message));
            }
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }

    /// Asks the kernel for more bytes, behind those that are here.
    fn receive(&mut self, around: &mut Around<'_>) {
        if self.rx.busy || self.ending != Ending::No {
            return;
        }
        let Some(buf) = self.rx.make_room(around.io) else { return };
        let end = self.rx.end;
        let window = buf.window(end, around.limits.receive.0 as u32 - end);
        self.push_receive(window, false, around);
    }

    fn push_receive(&mut self, buf: Buf, into_payload: bool, around: &mut Around<'_>) {
        match around.port.push(token(self.index, Direction::Receive), Job::Receive { socket: self.socket, buf }) {
            Ok(()) => (self.rx.busy, self.rx.into_payload) = (true, into_payload),
            Err(Job::Receive { buf, .. }) if into_payload => self.payload_came(buf, 0),
            Err(Job::Receive { buf, .. }) => self.rx.came(buf, 0),
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

impl Ending {
    fn max_of(self, other: Ending) -> Ending {
        match (self, other) {
            (Ending::Broken, _) | (_, Ending::Broken) => Ending::Broken,
            (Ending::Draining, _) | (_, Ending::Draining) => Ending::Draining,
            _ => Ending::No,
        }
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
