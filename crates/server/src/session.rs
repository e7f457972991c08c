//! One client connection (NBD or NFS), from its first byte to its last.
//!
//! ```text
//!            ┌─ Receive ◄── ring ─────────────────────────┐
//!   rx ──► parse ──► admit (limits) ──► gate.submit       │
//!            │ refused ─────────┐          │ completion   │
//!            ▼ a write's bytes  ▼          ▼              │
//!          payload ────────►  message (headers and data of many replies) ──► Send ──► ring
//! ```
//!
//! At most one receive and one send are at the kernel. While a send is in flight, further replies
//! are gathered in the next message, so a busy connection answers many requests with one call. When
//! a limit is reached, nothing more is parsed or received, so the client's own socket buffer fills
//! up (back-pressure). The session continues when one of its sends or requests completes. If it
//! waits for others or for its turn, [`Session::waits`] says so and the shard runs it later.
//!
//! Little is read from the store for a client that does not take its replies: see [`WINDOW`].

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

/// The parts of the shard that a session works with during one call.
pub(crate) struct ShardParts<'a> {
    pub now: Time,
    pub io: &'a Io,
    pub port: &'a Port,
    pub gate: &'a mut Gate<Served>,
    pub exports: &'a Exports,
    /// The files that clients made on volumes.
    pub files: &'a mut crate::volume_files::AllFiles,
    pub access: &'a Access,
    pub tls: Option<&'a Tls>,
    pub limits: &'a ServerLimits,
    pub claims: &'a mut Claims,
    /// Times that replies took to reach the network.
    pub replies: &'a mut ReplyTimes,
    /// Bandwidth limits of connections.
    pub link: &'a mut LinkMeter,
    /// Collects events for the event log.
    pub notices: &'a mut Notices,
    /// How many more requests may be admitted in this round.
    pub room: &'a mut u32,
    /// Reused to avoid allocation.
    pub scratch: &'a mut Vec<u8>,
}

/// The two jobs that a session can have at the kernel; part of the ring's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Receive,
    Send,
}

/// One client connection.
pub(crate) struct Session {
    /// Its number in the shard, and the high half of the tags of its requests.
    index: u32,
    socket: FileId,
    /// The client, as far as it is known.
    caller: Caller,
    phase: Phase,
    /// Deadline of the handshake.
    deadline: Time,
    /// When the client last sent something.
    heard: Time,
    /// Received bytes that are not parsed yet.
    rx: Inbox,
    /// What the receive in flight fills, if there is one.
    receiving: Option<Filling>,
    tx: Sender,
    tls: Option<Box<TlsLink>>,
    ending: Ending,
    /// Bytes that had arrived when the server began to stop and are not read yet; `None` if it does
    /// not stop, or nothing more is to be read.
    unread_at_stop: Option<u64>,
    /// Requests in flight, by the low half of their tags.
    pending: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// What its requests take of the limits until their replies are sent.
    load: Load,
    /// How much memory its requests may claim until their replies are sent, in bytes.
    window: u64,
    /// How many more requests it may admit in this turn.
    portion: u32,
    waits: Option<Wait>,
    /// What the shard has it listed as waiting for.
    pub(crate) listed: Option<Wait>,
    /// It exists only to be told that it is refused.
    pub(crate) is_refused: bool,
    /// The LUN or file it uses was taken offline: none of its requests reaches the gate any more.
    is_cut: bool,
}

enum Phase {
    Handshake(Box<Negotiation>),
    Transmission(Box<Link>),
    Nfs(Box<NfsLink>),
}

/// A connection in its handshake.
struct Negotiation {
    handshake: ServerHandshake,
    /// The client has asked for TLS, which begins once the answer to its `STARTTLS` is sent.
    upgrades: bool,
}

/// The buffer that a receive fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    /// The receive buffer, which is parsed.
    Inbox,
    /// The buffer of a write.
    Payload,
    /// The buffer of ciphertext, to be decrypted.
    Cipher,
}

/// A request of a client, by protocol.
enum Request {
    Nbd(nbd::NbdRequest),
    Nfs(nfs::Asked),
    /// The reply is ready, and is sent once the change that it reports is durable.
    Kept(nfs::Kept),
}

/// A request in flight.
struct Pending {
    request: Request,
    ticket: Ticket,
    /// What it claims of the shard's memory, in bytes.
    claim: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Open.
    No,
    /// Nothing more is read; outstanding requests are still answered.
    Draining,
    /// The connection is lost: nothing more is sent either.
    Broken,
}

/// A connection that was just accepted.
pub(crate) struct Arrival {
    pub socket: FileId,
    pub caller: Caller,
    /// The protocol and, for NBD, whether TLS is offered or required.
    pub protocol: Protocol,
    /// The limit that it would exceed, if it is only to be refused.
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

/// How many bytes are still read from a client when the server stops, at most: more than the kernel
/// buffers for a socket by default (`tcp_rmem` ends at 6 MiB). They must have arrived before, so
/// that a client that keeps sending cannot hold up the stop.
const OVERTIME_BYTES_MAX: u64 = 8 << 20;

/// How much memory a new connection's requests may claim until their replies are sent, in bytes;
/// one request always fits. The window grows by the claims of requests whose replies were sent, up
/// to the limit `connection_in_flight`. So the data that is read for a client that stops taking it
/// is never much more than what it took before.
const WINDOW: u64 = 256 << 10;

/// Requests that a connection may admit in one turn. A client with queue depth 1 waits for at most
/// this many requests of each other connection.
const PORTION: u32 = 4;

/// How long a refused connection may take to receive the reason.
const REFUSAL_TIME: Span = Span::from_millis(1000);

/// Length of an option's header, in bytes.
const OPTION_HEAD: u32 = 16;

impl Session {
    /// Begins the handshake on a new connection; `None` if there is no memory for its receive
    /// buffer.
    pub(crate) fn begin(index: u32, new: Arrival, shard: &mut ShardParts<'_>) -> Option<Session> {
        let room = shard.limits.receive.0;
        let buf = shard.io.take(room as u32)?;
        let limits = nbd::HandshakeLimits {
            options: shard.limits.handshake_options,
            // An option is handled once all of it is in the receive buffer.
            option_bytes: nbd::HandshakeLimits::SERVER.option_bytes.min(room as u32 - OPTION_HEAD),
            ..nbd::HandshakeLimits::SERVER
        };
        let mut time = shard.limits.handshake_time;
        shard.link.begin(index);
        shard.scratch.clear();
        let phase = match new.protocol {
            // NFS has no way to report a refusal, so such a connection is closed at once.
            Protocol::Nfs => Phase::Nfs(Box::default()),
            Protocol::Nbd(tls) => {
                let mut handshake = ServerHandshake::new(limits, tls);
                if let Some(limit) = new.refused_for {
                    handshake.refuse(format!("the server's limit `{limit}` is met, try again later"));
                    time = time.min(REFUSAL_TIME);
                }
                handshake.start(shard.scratch);
                Phase::Handshake(Box::new(Negotiation { handshake, upgrades: false }))
            }
        };
        let mut session = Session {
            index,
            socket: new.socket,
            caller: new.caller,
            phase,
            deadline: shard.now + time,
            heard: shard.now,
            rx: Inbox::new(buf),
            receiving: None,
            tx: Sender::default(),
            tls: None,
            ending: Ending::No,
            unread_at_stop: None,
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
        session.tx.say(shard.scratch);
        session.go_on(shard);
        Some(session)
    }

    /// Handles the completion of one of its jobs at the kernel.
    pub(crate) fn done(&mut self, direction: Direction, done: Done, shard: &mut ShardParts<'_>) {
        match direction {
            Direction::Receive => self.received(done, shard),
            Direction::Send => self.sent(done, shard),
        }
        self.go_on(shard);
    }

    /// Handles the completion of one of its requests; [`Session::go_on`] sends the reply.
    pub(crate) fn completed(&mut self, mut completion: Completion, shard: &mut ShardParts<'_>) {
        let slot = completion.tag as u32;
        let Some(pending) = self.pending.get_mut(slot as usize).and_then(Option::take) else {
            debug_assert!(false, "a request ends once");
            return completion.buf.take().into_iter().for_each(|buf| shard.io.give(buf));
        };
        self.free.push(slot);
        // Encryption needs the bytes in memory; clear text is sent from where it is.
        if let (Some(_), Some(buf)) = (&self.tls, &completion.buf)
            && let Err(failure) = shard.io.fetch_buf(buf)
        {
            completion.result = Err(failure.fault());
        }
        self.reply(&pending, completion, shard);
    }

    /// Parses what has arrived, receives more and sends. While it waits for its turn it only sends.
    pub(crate) fn go_on(&mut self, shard: &mut ShardParts<'_>) {
        match self.ending {
            Ending::No if matches!(self.waits, Some(Wait::Turn { .. })) => self.send(shard),
            _ => self.take_turn(shard),
        }
    }

    /// The same for a session that has its turn.
    pub(crate) fn take_turn(&mut self, shard: &mut ShardParts<'_>) {
        self.waits = None;
        self.portion = PORTION;
        match self.ending {
            Ending::No => self.parse(shard),
            Ending::Draining => {
                self.hand_over_held(shard);
                self.work_overtime(shard);
            }
            Ending::Broken => {}
        }
        self.send(shard);
    }

    /// The resource or turn that it waits for. None of its own completions will tell it when that
    /// is available: the shard must run it then.
    pub(crate) fn waits(&self) -> Option<Wait> {
        self.waits
    }

    /// Bytes claimed by its message in flight, if that was handed to the kernel at `at`.
    pub(crate) fn handed_over(&self, at: Time) -> Option<u64> {
        self.tx.handed_over(at)
    }

    /// Whether the completion of its send lets it go on: more is to be sent, or it could not
    /// receive.
    pub(crate) fn awaits_its_send(&self) -> bool {
        self.tx.is_busy() && (!self.tx.is_empty() || self.receiving.is_none() || self.ending != Ending::No)
    }

    /// The LUNs and files that it uses. For NBD this is one, once the handshake is over; for NFS
    /// all that were read or written.
    pub(crate) fn objects(&self) -> impl Iterator<Item = ObjectId> + '_ {
        let (one, several) = match &self.phase {
            Phase::Handshake(_) => (None, None),
            Phase::Transmission(link) => (Some(link.object), None),
            Phase::Nfs(link) => (None, Some(link.used.iter().copied())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// The same, or none if the connection is ending.
    pub(crate) fn uses(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.objects().filter(|_| self.ending == Ending::No)
    }

    /// Whether the handshake has exceeded its deadline.
    pub(crate) fn is_overdue(&self, now: Time) -> bool {
        matches!(self.phase, Phase::Handshake(_)) && now > self.deadline
    }

    /// Whether the client has been silent for longer than `limit` with no request outstanding.
    pub(crate) fn is_idle(&self, now: Time, limit: Span) -> bool {
        limit > Span::ZERO
            && !matches!(self.phase, Phase::Handshake(_))
            && self.ending == Ending::No
            && self.load.requests == 0
            && now > self.heard + limit
    }

    /// The client.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Whether its client exceeds the limit `patience` for a transfer, while others wait for memory
    /// or the connection is ending.
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

    /// Answers requests that were admitted, refuses those that have arrived but were not admitted,
    /// then closes. Anything that arrives later is not read.
    pub(crate) fn drain(&mut self, shard: &mut ShardParts<'_>) {
        if self.ending == Ending::No {
            self.ending = Ending::Draining;
            if matches!(self.phase, Phase::Transmission(_)) {
                self.unread_at_stop = Some(shard.io.unread(self.socket).min(OVERTIME_BYTES_MAX));
            }
            self.go_on(shard);
        }
    }

    /// As [`Session::drain`], for a LUN that is taken offline: requests that wait in the gate or
    /// the store are cancelled too and answered with an error. Only those at the disk complete
    /// normally.
    pub(crate) fn cut(&mut self, shard: &mut ShardParts<'_>) {
        self.is_cut = true;
        for pending in self.pending.iter().flatten() {
            shard.gate.cancel(shard.now, pending.ticket);
        }
        self.drain(shard);
    }

    /// Drops the connection and cancels its requests in the gate.
    pub(crate) fn abandon(&mut self, shard: &mut ShardParts<'_>) {
        if self.ending == Ending::Broken {
            return;
        }
        self.ending = Ending::Broken;
        self.waits = None;
        shard.io.close(self.socket);
        self.drop_held(shard);
        for pending in self.pending.iter().flatten() {
            shard.gate.cancel(shard.now, pending.ticket);
        }
    }

    /// Whether nothing of it is at the kernel or in the gate any more, so that its number can be
    /// reused. Then [`Session::finish`] may be called.
    pub(crate) fn is_over(&self) -> bool {
        let quiet = !self.tx.is_busy() && self.pending.len() == self.free.len();
        match self.ending {
            Ending::No => false,
            // The receive in flight completes when the socket is closed.
            Ending::Draining if self.unread_at_stop.is_some() => false,
            Ending::Draining => quiet && self.tx.is_empty() && self.tls.as_ref().is_none_or(|tls| tls.is_over()),
            Ending::Broken => quiet && self.receiving.is_none(),
        }
    }

    /// Closes it and frees its memory; false if the receive in flight has to complete first.
    pub(crate) fn finish(&mut self, shard: &mut ShardParts<'_>) -> bool {
        if self.ending == Ending::Draining {
            self.ending = Ending::Broken;
            shard.io.close(self.socket);
        }
        if self.receiving.is_some() {
            return false;
        }
        let cipher = self.tls.as_mut().and_then(|tls| tls.cipher.close());
        self.rx.close().into_iter().chain(cipher).for_each(|buf| shard.io.give(buf));
        self.drop_held(shard);
        let unsent = self.tx.clear(shard.io);
        self.release(unsent, shard);
        debug_assert_eq!(self.load, Load::default(), "all of a connection's load goes with it");
        true
    }

    /// Gives back what was taken of the limits.
    fn release(&mut self, load: Load, shard: &mut ShardParts<'_>) {
        self.load.requests -= load.requests;
        self.load.bytes -= load.bytes;
        self.load.asked -= load.asked;
        shard.claims.give(load.bytes);
    }

    fn sent(&mut self, done: Done, shard: &mut ShardParts<'_>) {
        let load = self.tx.sent(done.message, shard.io);
        self.release(load, shard);
        if let Phase::Transmission(link) = &self.phase {
            shard.replies.add(link.object, load.written.until(shard.now));
        }
        match done.result {
            Ok(_) => self.window = self.window.saturating_add(load.asked),
            Err(_) => self.abandon(shard),
        }
    }

    /// Hands the gathered replies to the kernel.
    fn send(&mut self, shard: &mut ShardParts<'_>) {
        if self.ending == Ending::Broken {
            return;
        }
        self.say_goodbye();
        if !self.tx.send(self.index, self.socket, self.tls.as_deref_mut(), shard) {
            self.waits.get_or_insert(Wait::Room { starving: false });
        }
    }

    /// Sends TLS's close notification once everything is answered, so that the client can tell the
    /// end from a truncated stream.
    fn say_goodbye(&mut self) {
        let all_answered = self.unread_at_stop.is_none() && self.pending.len() == self.free.len() && self.tx.is_empty();
        if let (Some(tls), Ending::Draining, true) = (&mut self.tls, self.ending, all_answered) {
            tls.part();
        }
    }
}

/// The ring's token of a session's job.
pub(crate) fn token(index: u32, direction: Direction) -> u64 {
    u64::from(index) << 1 | u64::from(direction == Direction::Send)
}

/// The session and the job of a token.
pub(crate) fn of_token(token: u64) -> (u32, Direction) {
    let direction = if token & 1 == 1 { Direction::Send } else { Direction::Receive };
    ((token >> 1) as u32, direction)
}
