//! The thread of a pool's data path, with its ring, sessions, gate and volumes: no lock, no hop.
//!
//! ```text
//!   loop:  what the ring brought · orders · sessions parse and submit · gate.poll · replies
//!          one turn of the ring: submit everything, wait for the next event or the gate's time
//! ```
//!
//! A session runs when one of its own jobs or requests completes. A session that waits for what
//! others hold (memory, room in the gate or the ring), or for its turn, is listed in `waiting` and
//! runs when that is available (see `turns`).

mod accepting;
mod alone;
mod awake;
mod cache;
mod cheaper;
mod clients;
mod files;
mod holding;
mod orders;
mod turns;

use accepting::{Accepting, Shortage};
use alone::Alone;
use awake::Awake;
pub use cache::cache_seen;
pub(crate) use clients::Connected;
use holding::Holding;

use crate::access::Access;
use crate::account::Accounts;
use crate::claims::Claims;
use crate::exports::Exports;
use crate::front::Listeners;
use crate::limits::ServerLimits;
use crate::link_meter::LinkMeter;
use crate::noticed::Notices;
use crate::order::Order;
use crate::replies::ReplyTimes;
use crate::session::{Direction, Protocol, Session, ShardParts, of_token};
use crate::tls::Tls;
use crate::volume_files::{AllFiles, FILES};
use crate::waiting::Waiting;
use admin::EventKind;
use block::{Bytes, Completion, Driver, ObjectId, Span, Target, Time, Wakeup};
use qos::{Gate, GateStatus};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, Sender};
use store::{CacheSettings, SecondFile, Served};
use uring::{Done, Io, Port};

/// Deadline for a stopping shard to write everything to disk.
const SETTLE_TIME: Span = Span::from_secs(5);

/// How often deadlines of connections are checked and failed accepts are retried.
const DEADLINE_LOOK: Span = Span::from_millis(500);

/// Most memory that is returned to the system in one check, of buffers that were unused for ten
/// checks (5 s): a fraction of a millisecond's work.
const GIVEN_BACK: Bytes = Bytes::mib(64);

/// Ring tokens of listeners have this bit set; all others belong to sessions.
const LISTENER: u64 = 1 << 63;

/// The state of the data thread.
pub(crate) struct Owner {
    io: Io,
    port: Port,
    gate: Gate<Served>,
    exports: Exports,
    files: AllFiles,
    access: Access,
    tls: Option<Tls>,
    link: LinkMeter,
    accounts: Accounts,
    limits: ServerLimits,
    cache: Option<CacheSettings>,
    /// Set until the pool's maps have been opened.
    second_level: Option<SecondFile>,
    claims: Claims,
    replies: ReplyTimes,
    notices: Notices,
    listeners: Vec<Accepting>,
    shortage: Shortage,
    /// Clients are accepted. Until all exports are known, connections wait in the kernel: a client
    /// that reconnects after a restart must not be told that its export does not exist.
    is_open: bool,
    sessions: Vec<Option<Session>>,
    free: Vec<u32>,
    /// Connections that exist only to be told that they are refused.
    refused: u32,
    /// Connections from each address, without the refused ones.
    callers: HashMap<IpAddr, u32>,
    /// Sessions that wait for a resource or for their turn.
    waiting: Waiting,
    /// How many more requests may be admitted in this round.
    room: u32,
    /// Bytes claimed by messages that were handed to the kernel since the last turn.
    leaving: u64,
    /// A session can continue as soon as one of those sends completes.
    send_awaited: bool,
    /// A resource was released since waiting sessions were last tried.
    freed_for_sessions: bool,
    /// The same for the store, since it was last polled.
    freed_for_store: bool,
    orders: Receiver<Order>,
    /// The unfinished rest of the current order.
    order: Option<Order>,
    /// The last turn ran out of steps for orders, so more may be queued.
    ordered: bool,
    /// The server is stopping, and this is its deadline. Set when the channel of orders closes.
    stopping: Option<Time>,
    /// How far the gate lets a limit fall behind: a turn that wakes up later than its deadline by
    /// more than this costs rate.
    tolerance: Span,
    looked: Time,
    cpu: Span,
    stalled: Span,
    awake: Awake,
    holding: Holding,
    alone: Alone,
    turns: u64,
    /// Processor time of the longest turn that included work for the administration, since it was
    /// last reported.
    longest_turn: Span,
    /// Processor time at the start of this turn, if it includes work for the administration.
    measured_from: Option<Span>,
    done: Vec<Done>,
    completions: Vec<Completion>,
    touched: Vec<u32>,
    /// Which of the sessions with replies runs first; it rotates.
    lead: usize,
    scratch: Vec<u8>,
    /// Who waits for a change of the maps, by the number of the change.
    administered: HashMap<u64, Sender<Result<(), map::MapRefusal>>>,
    answers: Vec<map::Ended>,
}

impl Owner {
    pub(crate) fn new(io: Io, opened: Listeners, limits: ServerLimits, orders: Receiver<Order>) -> Owner {
        let (port, nfs_port) = (io.port(), opened.nfs_port());
        let settings = qos::Settings::default();
        let buffers = limits.receive_buffers(opened.encrypts());
        let spoken = opened.listeners.into_iter().map(|(listener, tls)| (listener, Protocol::Nbd(tls)));
        let spoken = spoken.chain(opened.nfs.into_iter().map(|listener| (listener, Protocol::Nfs)));
        let began = opened.since_1970.saturating_sub(io.now().since(Time::ZERO));
        Owner {
            port,
            gate: Gate::new(Served::default(), settings),
            exports: Exports::new(opened.default_export, began).at_port(nfs_port),
            files: AllFiles::new(&io),
            access: opened.access,
            tls: opened.tls,
            link: LinkMeter::new(opened.link),
            accounts: Accounts::default(),
            limits,
            cache: opened.cache,
            second_level: opened.second_level,
            claims: Claims::new(limits.memory, buffers),
            replies: ReplyTimes::default(),
            notices: Notices::default(),
            listeners: spoken.map(|(listener, protocol)| Accepting::new(&io, listener, protocol)).collect(),
            shortage: Shortage::default(),
            is_open: false,
            sessions: Vec::new(),
            free: Vec::new(),
            refused: 0,
            callers: HashMap::new(),
            waiting: Waiting::default(),
            room: 0,
            leaving: 0,
            send_awaited: false,
            freed_for_sessions: false,
            freed_for_store: false,
            orders,
            order: None,
            ordered: false,
            stopping: None,
            tolerance: settings.tolerance,
            looked: io.now(),
            cpu: uring::usage::thread_cpu(),
            stalled: Span::ZERO,
            awake: Awake::new(opened.latency),
            holding: Holding::new(io.sends_end_silently()),
            alone: Alone::default(),
            turns: 0,
            longest_turn: Span::ZERO,
            measured_from: None,
            io,
            done: Vec::new(),
            completions: Vec::new(),
            touched: Vec::new(),
            lead: 0,
            scratch: Vec::new(),
            administered: HashMap::new(),
            answers: Vec::new(),
        }
    }

    pub(crate) fn run(mut self) {
        let mut now = self.io.now();
        loop {
            self.open_round();
            self.take_events(now);
            self.take_orders(now);
            self.move_requests(now);
            self.look_at_deadlines(now);
            self.end_measure();
            if self.is_over(now) {
                self.settle(now);
                return;
            }
            now = self.turn(now);
        }
    }

    /// Submits everything, then waits for the next event or deadline.
    fn turn(&mut self, now: Time) -> Time {
        self.turns += 1;
        if let Some(is_alone) = self.alone.change(now, self.gate.has_floors()) {
            self.io.break_lockstep(is_alone);
        }
        let next_look = now + DEADLINE_LOOK;
        let is_send_awaited = self.is_send_awaited();
        (self.leaving, self.send_awaited) = (0, false);
        // Resources were released after their waiters had been tried: do not sleep on that.
        let again = self.has_work() || !self.completions.is_empty();
        let wakeup = if again { Wakeup::Now } else { self.gate.next_wakeup() };
        let wakeup = wakeup.sooner(self.waiting.link_opens().map_or(Wakeup::Idle, Wakeup::At));
        let awake = self.awake.until(now);
        let until = match wakeup {
            Wakeup::Now => return self.io.turn(Some(now)),
            Wakeup::At(at) => at.min(awake.unwrap_or(next_look)),
            Wakeup::External | Wakeup::Idle if awake.is_some() || self.has_deadlines() => awake.unwrap_or(next_look),
            Wakeup::External | Wakeup::Idle => return self.io.rest(None),
        };
        let due = awake::due(until, now, || self.io.now());
        let now = match is_send_awaited {
            _ if awake.is_some() => self.wait_awake(now, until),
            true => self.io.turn(Some(until)),
            false if let Some(held) = self.held(now) => self.io.hold(held.min(until)),
            false => self.io.rest(Some(until)),
        };
        self.stalled += now.since(due).saturating_sub(self.tolerance);
        now
    }

    /// Until when receives are held back. Never while requests are at the disk or queued in the
    /// gate: then further ones are received as they come.
    fn held(&mut self, now: Time) -> Option<Time> {
        let index = self.holding.candidate(now)?;
        let GateStatus { queued, in_flight, .. } = self.gate.status();
        let session = self.sessions.get(index as usize)?.as_ref().filter(|_| queued + in_flight == 0)?;
        self.holding.until(now, || session.replies(now, &self.io))
    }

    /// Submits everything, then busy-polls until something completes or `until`. Orders wait.
    fn wait_awake(&mut self, began: Time, until: Time) -> Time {
        let mut now = self.io.look();
        while now < until && !self.io.has_ended() {
            std::hint::spin_loop();
            now = self.io.look();
        }
        self.awake.waited(now.since(began));
        now
    }

    /// Whether something needs a periodic check.
    fn has_deadlines(&self) -> bool {
        self.stopping.is_some()
            || self.connections() > 0
            || self.files.is_loose()
            || self.io.holds_idle()
            || self.is_open && self.listeners.iter().any(|accepting| !accepting.armed)
    }

    fn connections(&self) -> u32 {
        (self.sessions.len() - self.free.len()) as u32
    }

    /// Handles the completions of the ring: new connections, received bytes, sent messages.
    fn take_events(&mut self, now: Time) {
        let mut done = std::mem::take(&mut self.done);
        self.port.reap(&mut done);
        self.note_freed(!done.is_empty());
        for event in done.drain(..) {
            if event.token & LISTENER != 0 {
                self.accepted(now, event);
                continue;
            }
            let (index, direction) = of_token(event.token);
            if direction == Direction::Receive {
                self.holding.heard(now, index);
                self.alone.heard(now, index);
            }
            self.with_session(now, index, |session, shard| session.done(direction, event, shard));
        }
        self.done = done;
    }

    /// Moves requests through the gate and writes their replies, as far as possible without
    /// waiting.
    fn move_requests(&mut self, now: Time) {
        let mut completions = std::mem::take(&mut self.completions);
        self.freed_for_store = false;
        self.gate.poll(now, &mut completions);
        self.note_freed(!completions.is_empty());
        if !completions.is_empty() {
            let GateStatus { queued, in_flight, .. } = self.gate.status();
            self.awake.ended(now, completions.len(), queued + in_flight, uring::usage::thread_cpu);
        }
        let mut touched = std::mem::take(&mut self.touched);
        for mut completion in completions.drain(..) {
            let index = (completion.tag >> 32) as u32;
            if index == FILES {
                self.files.completed(completion, &self.io);
                continue;
            }
            self.accounts.completed(&completion);
            if !self.sessions.get(index as usize).is_some_and(Option::is_some) {
                // A session outlives its last request.
                debug_assert!(false, "a completion for nobody: {completion:?}");
                completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
                continue;
            }
            if touched.last() != Some(&index) {
                touched.push(index);
                self.alone.heard(now, index);
            }
            self.with_session(now, index, |session, shard| session.completed(completion, shard));
        }
        self.completions = completions;
        self.try_those_who_wait(now);
        if !touched.is_empty() {
            // The client that is answered first also asks again first, and would be in the next
            // round more often than the others.
            self.lead = (self.lead + 1) % touched.len();
            touched.rotate_left(self.lead);
        }
        for index in touched.drain(..) {
            self.with_session(now, index, Session::go_on);
        }
        self.touched = touched;
        self.take_turns(now);
        self.advance_files(now);
        // Requests that the sessions just submitted start before the ring waits.
        if self.gate.next_wakeup() == Wakeup::Now {
            self.gate.poll(now, &mut self.completions);
        }
        self.tell_administration();
    }

    /// Writes clients' unflushed data to disk and brings the tables of the maps up to date.
    fn settle(&mut self, mut now: Time) {
        let until = now + SETTLE_TIME;
        now = self.settle_files(now, until);
        for what in [map::What::Checkpoint, map::What::Anchor] {
            let Some(number) = self.gate.inner_mut().administer(ObjectId(0), what) else { return };
            now = self.settle_until(now, until, number);
        }
    }

    /// Polls until the change of that number has been answered, or until the deadline.
    fn settle_until(&mut self, mut now: Time, until: Time, number: u64) -> Time {
        while now < until {
            self.gate.inner_mut().poll(now, &mut self.completions);
            self.gate.inner_mut().take_answers(&mut self.answers);
            if self.answers.iter().any(|ended| ended.id == number) {
                break;
            }
            now = self.io.turn(Some(until));
            // No session is left that could need another completion.
            self.port.reap(&mut self.done);
            self.done.clear();
        }
        now
    }

    fn note_freed(&mut self, freed: bool) {
        self.freed_for_sessions |= freed;
        self.freed_for_store |= freed;
    }

    fn each_session(&mut self, now: Time, mut work: impl FnMut(&mut Session, &mut ShardParts<'_>)) {
        for index in 0..self.sessions.len() as u32 {
            self.with_session(now, index, &mut work);
        }
    }

    fn with_session(&mut self, now: Time, index: u32, work: impl FnOnce(&mut Session, &mut ShardParts<'_>)) {
        let (sessions, mut shard) = self.parts(now);
        let Some(Some(session)) = sessions.get_mut(index as usize) else { return };
        work(session, &mut shard);
        let sent = session.handed_over(now).map(|claimed| (claimed, session.awaits_its_send()));
        let has_ended = session.is_over() && session.finish(&mut shard);
        let (listed, waits) = (session.listed, if has_ended { None } else { session.waits() });
        session.listed = waits;
        if let Some((claimed, is_awaited)) = sent {
            self.leaving += claimed;
            self.send_awaited |= is_awaited;
        }
        if has_ended || listed != waits {
            self.waiting.change(index, listed, waits);
            self.claims.starving = self.waiting.is_starving();
        }
        if has_ended {
            self.link.end(index);
            if let Some(session) = self.sessions[index as usize].take() {
                self.forget(&session);
            }
            self.free.push(index);
            self.note_freed(true);
        }
    }

    /// The sessions, and beside them the parts of the shard that each of them uses.
    fn parts(&mut self, now: Time) -> (&mut Vec<Option<Session>>, ShardParts<'_>) {
        let shard = ShardParts {
            now,
            io: &self.io,
            port: &self.port,
            gate: &mut self.gate,
            exports: &self.exports,
            files: &mut self.files,
            access: &self.access,
            tls: self.tls.as_ref(),
            limits: &self.limits,
            claims: &mut self.claims,
            replies: &mut self.replies,
            link: &mut self.link,
            notices: &mut self.notices,
            room: &mut self.room,
            scratch: &mut self.scratch,
        };
        (&mut self.sessions, shard)
    }

    fn look_at_deadlines(&mut self, now: Time) {
        if now.since(self.looked) < DEADLINE_LOOK {
            return;
        }
        self.looked = now;
        self.io.give_back(GIVEN_BACK, self.claims.unused());
        self.files.tick();
        let (limits, starving) = (self.limits, self.claims.starving || self.gate.inner().lacks_memory());
        self.each_session(now, |session, shard| {
            let limit = match () {
                () if session.is_overdue(now) => "handshake_time",
                () if session.is_too_slow(now, &limits, starving) => "patience",
                () if session.is_idle(now, limits.idle_time) => "idle_time",
                () => return,
            };
            let client = session.caller().to_string();
            tracing::warn!(client, "connection closed: the limit `{limit}` is met");
            // Closing an idle connection is not worth an event.
            if limit != "idle_time" {
                let text = format!("{client}: the limit `{limit}` is met");
                shard.notices.note(EventKind::ClientClosed, format!("{client} {limit}"), text);
            }
            session.abandon(shard);
        });
        if self.stopping.is_none() {
            self.accept();
        }
        self.try_those_who_wait(now);
    }

    fn stop(&mut self, now: Time) {
        self.stopping = Some(now + self.limits.drain_time);
        for accepting in &self.listeners {
            self.io.close(accepting.socket);
        }
        self.each_session(now, |session, shard| session.drain(shard));
    }

    /// Whether a stopping shard is done: all connections have ended, or the deadline has passed and
    /// the rest are abandoned.
    fn is_over(&mut self, now: Time) -> bool {
        let Some(until) = self.stopping else { return false };
        if now > until {
            self.each_session(now, |session, shard| session.abandon(shard));
            return true;
        }
        self.connections() == 0
    }
}
