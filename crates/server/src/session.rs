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
//! At most one receive and one send are at the kernel. While a send is under way, further replies
//! gather in the next message, so a busy connection answers many requests with one call. When a
//! limit is met nothing more is parsed and nothing received: the client's own socket buffer fills
//! and it waits. What ends that wait is an end of its own (a send, a request), or others must give
//! something back first, or it is not its turn; then [`Session::waits`] says so and the shard lets
//! it go on.
//!
//! Nothing is read for a client who does not take what was read for it: see [`WINDOW`].

mod handshake;
mod inbox;
mod link;
mod nfs;
mod receiving;
pub(crate) mod reply;
mod sender;
mod tls;
mod transmission;

use crate::access::{Access, Caller};
use crate::claims::Claims;
use crate::exports::Exports;
use crate::limits::ServerLimits;
use crate::link_meter::LinkMeter;
use crate::noticed::Notices;
use crate::replies::ReplyTimes;
use crate::tls::Tls;
use crate::waiting::Wait;
use block::{Completion, ObjectId, Span, Target, Ticket, Time};
use inbox::Inbox;
use link::Link;
use nbd::{ServerHandshake, TlsMode};
use nfs::NfsLink;
use qos::Gate;
use sender::{Load, Sender};
use store::Served;
use tls::TlsLink;
use uring::{Done, FileId, Io, Port};

/// What a session needs of its shard for a moment.
pub(crate) struct Around<'a> {
    pub now: Time,
    pub io: &'a Io,
    pub port: &'a Port,
    pub gate: &'a mut Gate<Served>,
    pub exports: &'a Exports,
    /// What clients made on volumes.
    pub files: &'a mut crate::volume_files::AllFiles,
    pub access: &'a Access,
    pub tls: Option<&'a Tls>,
    pub limits: &'a ServerLimits,
    pub claims: &'a mut Claims,
    /// How long replies took into the network.
    pub replies: &'a mut ReplyTimes,
    /// What connections may carry.
    pub link: &'a mut LinkMeter,
    /// What is worth an event.
    pub notices: &'a mut Notices,
    /// Requests that may still come in.
    pub room: &'a mut u32,
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
    /// Whom it is with, as far as that is known.
    caller: Caller,
    phase: Phase,
    /// When the handshake must be over.
    deadline: Time,
    /// When the client last said something.
    heard: Time,
    /// Bytes to be parsed.
    rx: Inbox,
    /// What the kernel's receive fills, if one is under way.
    receiving: Option<Filling>,
    tx: Sender,
    tls: Option<Box<TlsLink>>,
    ending: Ending,
    /// Bytes that had come when the server stopped and were not read yet; `None` when there is
    /// nothing more to read of them.
    overtime: Option<u64>,
    /// Requests that were taken on and have not ended, by the low half of their tags.
    pending: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// What its requests take of the limits until their replies are sent.
    load: Load,
    /// What its requests may take of the memory until their replies are sent, in bytes.
    window: u64,
    /// Requests that it may still let in before it is others' turn.
    portion: u32,
    waits: Option<Wait>,
    /// What the shard knows it to wait for.
    pub(crate) listed: Option<Wait>,
    /// It is only there to be told to go.
    pub(crate) is_refused: bool,
    /// What it uses was taken away: nothing of it reaches the gate any more.
    is_cut: bool,
}

enum Phase {
    Handshake(Box<Shaking>),
    Transmission(Box<Link>),
    Nfs(Box<NfsLink>),
}

/// A connection in its handshake.
struct Shaking {
    handshake: ServerHandshake,
    /// The client may encrypt: TLS begins when the answer to its `STARTTLS` is on its way.
    upgrades: bool,
}

/// What a receive brings bytes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    /// The buffer that is parsed.
    Inbox,
    /// A write's own buffer.
    Payload,
    /// Ciphertext, to be decrypted.
    Cipher,
}

/// What a client asked, by its protocol.
enum Request {
    Nbd(nbd::NbdRequest),
    Nfs(nfs::Asked),
    /// Its reply is here, and goes when what it changed is durable.
    Kept(nfs::Kept),
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

/// A connection that was just accepted.
pub(crate) struct Arrival {
    pub socket: FileId,
    pub caller: Caller,
    /// What it speaks, and whether it may or must be encrypted.
    pub protocol: Protocol,
    /// The limit by which it is told to go.
    pub refused_for: Option<&'static str>,
}

/// What clients of a listener speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// NBD, encrypted or not.
    Nbd(TlsMode),
    /// NFS and MOUNT, in clear text.
    Nfs,
}

/// What is still read of a client when the server stops, in bytes at most: more than the kernel
/// keeps for a socket by default (`tcp_rmem` ends at 6 MiB). It must have come before, so that a
/// client that goes on asking cannot hold the server up.
const OVERTIME_BYTES_MAX: u64 = 8 << 20;

/// What a new connection's requests may take of the memory until their replies are sent, in bytes;
/// one request always fits. It may take as much more as replies of it were sent before, up to the
/// limit `connection_in_flight`: so what is read for a client who then does not take it is never
/// much more than what it took.
const WINDOW: u64 = 256 << 10;

/// Requests that a connection lets in before it is others' turn. It is what a client who asks one
/// thing at a time waits for with each of the others, and costs each of them one look.
const PORTION: u32 = 4;

/// How long a connection that is told to go may take to hear it.
const REFUSAL_TIME: Span = Span::from_millis(1000);

/// Bytes of an option before its data.
const OPTION_HEAD: u32 = 16;

impl Session {
    /// Begins the handshake on a new connection; `None` when there is no memory for it.
    pub(crate) fn begin(index: u32, new: Arrival, around: &mut Around<'_>) -> Option<Session> {
        let room = around.limits.receive.0;
        let buf = around.io.take(room as u32)?;
        let limits = nbd::HandshakeLimits {
            options: around.limits.handshake_options,
            // An option is handled when all of it is in the receive buffer.
            option_bytes: nbd::HandshakeLimits::SERVER.option_bytes.min(room as u32 - OPTION_HEAD),
            ..nbd::HandshakeLimits::SERVER
        };
        let mut time = around.limits.handshake_time;
        around.link.begin(index);
        around.scratch.clear();
        let phase = match new.protocol {
            // There is no way to tell it to go: its connection ends.
            Protocol::Nfs => Phase::Nfs(Box::default()),
            Protocol::Nbd(tls) => {
                let mut handshake = ServerHandshake::new(limits, tls);
                if let Some(limit) = new.refused_for {
                    handshake.refuse(format!("the server's limit `{limit}` is met, try again later"));
                    time = time.min(REFUSAL_TIME);
                }
                handshake.start(around.scratch);
                Phase::Handshake(Box::new(Shaking { handshake, upgrades: false }))
            }
        };
        let mut session = Session {
            index,
            socket: new.socket,
            caller: new.caller,
            phase,
            deadline: around.now + time,
            heard: around.now,
            rx: Inbox::new(buf),
            receiving: None,
            tx: Sender::default(),
            tls: None,
            ending: Ending::No,
            overtime: None,
            pending: Vec::new(),
            free: Vec::new(),
            load: Load::default(),
            window: WINDOW,
            portion: 0,
            waits: None,
            listed: None,
            is_refused: new.refused_for.is_some(),
            is_cut: false,
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
        // What is encrypted has to be here; what is not goes from where it is.
        if let (Some(_), Some(buf)) = (&self.tls, &completion.buf)
            && let Err(failure) = around.io.fetch_buf(buf)
        {
            completion.result = Err(failure.fault());
        }
        self.reply(&pending, completion, around);
    }

    /// Parses what is here, receives more, sends what is ready. Who waits for its turn only sends.
    pub(crate) fn go_on(&mut self, around: &mut Around<'_>) {
        match self.ending {
            Ending::No if matches!(self.waits, Some(Wait::Turn { .. })) => self.send(around),
            _ => self.take_turn(around),
        }
    }

    /// The same, and it is its turn.
    pub(crate) fn take_turn(&mut self, around: &mut Around<'_>) {
        self.waits = None;
        self.portion = PORTION;
        match self.ending {
            Ending::No => self.parse(around),
            Ending::Draining => {
                self.hand_over_held(around);
                self.work_overtime(around);
            }
            Ending::Broken => {}
        }
        self.send(around);
    }

    /// What it waits for that nobody will tell it about: the shard lets it go on when others have
    /// given something back.
    pub(crate) fn waits(&self) -> Option<Wait> {
        self.waits
    }

    /// What its message claims that was handed to the kernel at that time, in bytes, if one was.
    pub(crate) fn handed_over(&self, at: Time) -> Option<u64> {
        self.tx.handed_over(at)
    }

    /// Whether it goes on when its send has ended: more is to be sent, or it could not ask for more
    /// before.
    pub(crate) fn awaits_its_send(&self) -> bool {
        self.tx.is_busy() && (!self.tx.is_empty() || self.receiving.is_none() || self.ending != Ending::No)
    }

    /// The LUNs and files that it uses: by NBD one, once the handshake is over; by NFS those that
    /// were read or written.
    pub(crate) fn objects(&self) -> impl Iterator<Item = ObjectId> + '_ {
        let (one, several) = match &self.phase {
            Phase::Handshake(_) => (None, None),
            Phase::Transmission(link) => (Some(link.object), None),
            Phase::Nfs(link) => (None, Some(link.used.iter().copied())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// The same, unless the connection is ending.
    pub(crate) fn uses(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.objects().filter(|_| self.ending == Ending::No)
    }

    /// Whether the handshake takes too long.
    pub(crate) fn is_overdue(&self, now: Time) -> bool {
        matches!(self.phase, Phase::Handshake(_)) && now > self.deadline
    }

    /// Whether the client has been silent for longer than it may, with nothing asked that is not
    /// answered.
    pub(crate) fn is_idle(&self, now: Time, limit: Span) -> bool {
        limit > Span::ZERO
            && !matches!(self.phase, Phase::Handshake(_))
            && self.ending == Ending::No
            && self.load.requests == 0
            && now > self.heard + limit
    }

    /// Whom it is with.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Whether its client takes too long for its part of a transfer, where that keeps others or the
    /// end waiting.
    pub(crate) fn is_too_slow(&self, now: Time, limits: &ServerLimits, starving: bool) -> bool {
        let late = |since: Time, bytes: u64| now > since + limits.patience + Span::SECOND * (bytes >> 20);
        let payload = match &self.phase {
            Phase::Transmission(link) => link.payload().map(|payload| (payload.since, payload.claim)),
            Phase::Nfs(link) => link.payload().map(|payload| (payload.since, payload.claim)),
            Phase::Handshake(_) => None,
        };
        (starving || self.ending == Ending::Draining)
            && (self.tx.at_kernel().is_some_and(|(since, bytes)| late(since, bytes))
                || payload.is_some_and(|(since, claim)| late(since, claim)))
    }

    /// Answers what was asked, what was not let in yet with an error, then closes. What is asked
    /// from now on is not read.
    pub(crate) fn drain(&mut self, around: &mut Around<'_>) {
        if self.ending == Ending::No {
            self.ending = Ending::Draining;
            if matches!(self.phase, Phase::Transmission(_)) {
                self.overtime = Some(around.io.unread(self.socket).min(OVERTIME_BYTES_MAX));
            }
            self.go_on(around);
        }
    }

    /// As [`Session::drain`], for a LUN that is taken away: also what waits in the gate or the
    /// store is not carried out, but answered with an error. Only what the disk has ends as usual.
    pub(crate) fn cut(&mut self, around: &mut Around<'_>) {
        self.is_cut = true;
        for pending in self.pending.iter().flatten() {
            around.gate.cancel(around.now, pending.ticket);
        }
        self.drain(around);
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

    /// Whether nothing of it is at the kernel or in the gate any more, so that nothing can come for
    /// it under its number once that belongs to another; then [`Session::finish`] may be called.
    pub(crate) fn is_over(&self) -> bool {
        let quiet = !self.tx.is_busy() && self.pending.len() == self.free.len();
        match self.ending {
            Ending::No => false,
            // A receive under way ends when the socket is closed.
            Ending::Draining if self.overtime.is_some() => false,
            Ending::Draining => quiet && self.tx.is_empty() && self.tls.as_ref().is_none_or(|tls| tls.is_over()),
            Ending::Broken => quiet && self.receiving.is_none(),
        }
    }

    /// Closes it and gives its memory back; false when the receive under way must end first.
    pub(crate) fn finish(&mut self, around: &mut Around<'_>) -> bool {
        if self.ending == Ending::Draining {
            self.ending = Ending::Broken;
            around.io.close(self.socket);
        }
        if self.receiving.is_some() {
            return false;
        }
        let cipher = self.tls.as_mut().and_then(|tls| tls.cipher.close());
        self.rx.close().into_iter().chain(cipher).for_each(|buf| around.io.give(buf));
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
        self.load.asked -= load.asked;
        around.claims.give(load.bytes);
    }

    fn sent(&mut self, done: Done, around: &mut Around<'_>) {
        let load = self.tx.sent(done.message, around.io);
        self.release(load, around);
        if let Phase::Transmission(link) = &self.phase {
            around.replies.add(link.object, load.written.until(around.now));
        }
        match done.result {
            Ok(_) => self.window = self.window.saturating_add(load.asked),
            Err(_) => self.abandon(around),
        }
    }

    /// Hands the gathered replies to the kernel.
    fn send(&mut self, around: &mut Around<'_>) {
        if self.ending == Ending::Broken {
            return;
        }
        self.say_goodbye();
        if !self.tx.send(self.index, self.socket, self.tls.as_deref_mut(), around) {
            self.waits.get_or_insert(Wait::Room { starving: false });
        }
    }

    /// Over TLS the client is told that this is the end and nobody cut the line, when all is
    /// answered.
    fn say_goodbye(&mut self) {
        let all_answered = self.overtime.is_none() && self.pending.len() == self.free.len() && self.tx.is_empty();
        if let (Some(tls), Ending::Draining, true) = (&mut self.tls, self.ending, all_answered) {
            tls.part();
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
