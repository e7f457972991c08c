//! One thread that owns a pool's data path: its ring, its sessions, the gate and the volumes. No lock, no hop.
//!
//! ```text
//!   loop:  orders · what the ring brought · sessions parse and submit · gate.poll · replies
//!          one turn of the ring: submit everything, wait for the next event or the gate's time
//! ```

use crate::account::{Accounts, ObjectAccount};
use crate::exports::{Export, Exports};
use crate::limits::ServerLimits;
use crate::listen::{Listen, ListenError, Listener};
use crate::session::{Around, Session, of_token};
use block::{Completion, Driver, ObjectId, Span, Target, Time, Wakeup};
use qos::{Edit, Gate, GateStatus, GroupId, Passed};
use stats::DispatchTrace;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;
use store::{Volumes, VolumesSettings};
use uring::{Backend, Done, FileId, Io, IoSettings, Job, Port, Waker};

/// Why the shard could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The ring cannot be opened.
    #[error(transparent)]
    Io(#[from] uring::IoError),
    /// No thread can be started.
    #[error("start the data thread: {0}")]
    Thread(#[from] std::io::Error),
    /// The thread died at its start.
    #[error(transparent)]
    Gone(#[from] ShardGone),
}

/// The shard's thread is gone.
#[derive(Debug, thiserror::Error)]
#[error("the server's data thread has ended")]
pub struct ShardGone;

/// What the shard did since it was last asked.
#[derive(Debug, Default)]
pub struct Account {
    /// Every object that was active.
    pub objects: Vec<(ObjectId, ObjectAccount)>,
    /// What passed each object with a ceiling of its own, from it and everything beneath it.
    pub ceilings: Vec<(ObjectId, DispatchTrace)>,
    /// What passed each shared group.
    pub groups: Vec<(GroupId, DispatchTrace)>,
    /// The gate as a whole.
    pub gate: GateStatus,
    /// Processor time that the thread used.
    pub cpu: Span,
    /// The time on the shard's clock.
    pub now: Time,
}

/// What the control asks of the shard.
pub(crate) enum Order {
    Edit(Vec<Edit>),
    Open { export: Export, file: File },
    Resize { object: ObjectId, size: u64 },
    Close { object: ObjectId },
    Account(Sender<Account>),
}

/// The handle of the shard's thread. Dropping it stops the thread: what was asked is answered, then all is closed.
pub struct Shard {
    orders: Option<Sender<Order>>,
    waker: Waker,
    backend: Backend,
    listening: Vec<String>,
    thread: Option<JoinHandle<()>>,
}

impl Shard {
    /// Starts the thread and listens.
    ///
    /// # Errors
    /// The addresses cannot be listened on, or the ring cannot be opened.
    pub fn start(listen: &[Listen], limits: ServerLimits, settings: IoSettings) -> Result<Shard, StartError> {
        let listeners = listen.iter().map(Listen::open).collect::<Result<Vec<_>, _>>()?;
        let listening = listeners.iter().map(|listener| listener.address.clone()).collect();
        let (orders, inbox) = channel();
        let (made, is_made) = sync_channel(1);
        let body = move || match Io::open(&settings) {
            Ok(io) => {
                let _ = made.send(Ok((io.waker(), io.backend().clone())));
                Owner::new(io, listeners, limits, inbox).run();
            }
            Err(error) => {
                let _ = made.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name("shard".into()).spawn(body)?;
        let (waker, backend) = is_made.recv().map_err(|_| ShardGone)??;
        Ok(Shard { orders: Some(orders), waker, backend, listening, thread: Some(thread) })
    }

    /// What the thread's I/O runs on.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The addresses it listens on, with the ports that the system chose.
    pub fn listening(&self) -> &[String] {
        &self.listening
    }

    /// What happened since the last call.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn account(&self) -> Result<Account, ShardGone> {
        let (sender, receiver) = channel();
        self.order(Order::Account(sender))?;
        receiver.recv().map_err(|_| ShardGone)
    }

    pub(crate) fn order(&self, order: Order) -> Result<(), ShardGone> {
        let orders = self.orders.as_ref().ok_or(ShardGone)?;
        orders.send(order).map_err(|_| ShardGone)?;
        self.waker.wake();
        Ok(())
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        self.orders = None;
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// How long a stopping shard waits for clients to take their answers.
const DRAIN_TIME: Span = Span::from_secs(5);

/// How often deadlines of handshakes are looked at.
const DEADLINE_LOOK: Span = Span::from_millis(500);

/// Ring tokens of listeners have this bit; the rest are sessions'.
const LISTENER: u64 = 1 << 63;

/// The thread's side.
struct Owner {
    io: Io,
    port: Port,
    gate: Gate<Volumes>,
    exports: Exports,
    accounts: Accounts,
    limits: ServerLimits,
    listeners: Vec<(FileId, Listener)>,
    sessions: Vec<Option<Session>>,
    free: Vec<u32>,
    orders: Receiver<Order>,
    /// No orders come any more: the server stops.
    stopping: Option<Time>,
    looked: Time,
    cpu: Span,
    done: Vec<Done>,
    completions: Vec<Completion>,
    scratch: Vec<u8>,
}

impl Owner {
    fn new(io: Io, listeners: Vec<Listener>, limits: ServerLimits, orders: Receiver<Order>) -> Owner {
        let port = io.port();
        let volumes = Volumes::new(&io, VolumesSettings::default());
        let listeners = listeners.into_iter().map(|mut l| (io.register(l.take_socket()), l)).collect();
        Owner {
            port,
            gate: Gate::new(volumes, qos::Settings::default()),
            exports: Exports::default(),
            accounts: Accounts::default(),
            limits,
            listeners,
            sessions: Vec::new(),
            free: Vec::new(),
            orders,
            stopping: None,
            looked: io.now(),
            cpu: uring::usage::thread_cpu(),
            io,
            done: Vec::new(),
            completions: Vec::new(),
            scratch: Vec::new(),
        }
    }

    fn run(mut self) {
        let mut now = self.io.now();
        (0..self.listeners.len()).for_each(|number| self.accept(number));
        loop {
            self.take_orders(now);
            self.take_events(now);
            self.move_requests(now);
            self.look_at_deadlines(now);
            if self.is_over(now) {
                return;
            }
            let next_look = now + DEADLINE_LOOK;
            now = match self.wakeup() {
                Wakeup::Now => self.io.turn(Some(now)),
                Wakeup::At(at) => self.io.turn(Some(at.min(next_look))),
                Wakeup::External | Wakeup::Idle => {
                    let timed = self.stopping.is_some() || self.sessions.len() > self.free.len();
                    self.io.turn(timed.then_some(next_look))
                }
            };
        }
    }

    fn take_orders(&mut self, now: Time) {
        loop {
            match self.orders.try_recv() {
                Ok(order) => self.obey(now, order),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    if self.stopping.is_none() {
                        self.stop(now);
                    }
                    return;
                }
            }
        }
    }

    fn obey(&mut self, now: Time, order: Order) {
        match order {
            Order::Edit(edits) => {
                for edit in edits {
                    if let Err(error) = self.gate.edit(now, &edit) {
                        // The registry checked it, so this is a fault of ours: say so and go on with what is in force.
                        tracing::error!(?edit, %error, "the gate refused an edit");
                    }
                }
            }
            Order::Open { export, file } => {
                match self.gate.inner_mut().open(export.object, file, export.size, export.align) {
                    Ok(()) => self.exports.add(export),
                    Err(error) => tracing::error!(lun = export.path, %error, "cannot serve a LUN"),
                }
            }
            Order::Resize { object, size } => {
                self.gate.inner_mut().resize(object, size);
                self.exports.resize(object, size);
            }
            Order::Close { object } => {
                self.exports.remove(object);
                self.gate.inner_mut().close(now, object);
            }
            Order::Account(sender) => {
                let account = self.account(now);
                let _ = sender.send(account);
            }
        }
    }

    fn account(&mut self, now: Time) -> Account {
        let (mut objects, mut groups) = (Vec::new(), Vec::new());
        self.gate.account(now, &mut objects);
        self.gate.groups(now, &mut groups);
        let ceilings = objects.iter().filter_map(|o| Some((o.object, trace_of(o.passed.as_ref()?)))).collect();
        let cpu = uring::usage::thread_cpu();
        let used = cpu.saturating_sub(std::mem::replace(&mut self.cpu, cpu));
        Account {
            objects: self.accounts.take(),
            ceilings,
            groups: groups.iter().map(|g| (g.group, trace_of(&g.passed))).collect(),
            gate: self.gate.status(),
            cpu: used,
            now,
        }
    }

    /// Takes what the ring brought: connections, bytes that came, messages that went.
    fn take_events(&mut self, now: Time) {
        let mut done = std::mem::take(&mut self.done);
        self.port.reap(&mut done);
        for event in done.drain(..) {
            if event.token & LISTENER != 0 {
                self.accepted(now, event);
                continue;
            }
            let (index, direction) = of_token(event.token);
            self.with_session(now, index, |session, around| session.done(direction, event, around));
        }
        self.done = done;
    }

    /// Moves requests through the gate and writes their replies, as far as it goes without waiting.
    fn move_requests(&mut self, now: Time) {
        for index in 0..self.sessions.len() as u32 {
            if self.sessions[index as usize].as_ref().is_some_and(Session::is_held) {
                self.with_session(now, index, |session, around| session.go_on(around));
            }
        }
        let mut completions = std::mem::take(&mut self.completions);
        self.gate.poll(now, &mut completions);
        let mut touched = Vec::new();
        for completion in completions.drain(..) {
            self.accounts.completed(&completion);
            let index = (completion.tag >> 32) as u32;
            if touched.last() != Some(&index) {
                touched.push(index);
            }
            self.with_session(now, index, |session, around| session.completed(completion, around));
        }
        self.completions = completions;
        for index in touched {
            self.with_session(now, index, |session, around| session.go_on(around));
        }
        // What the sessions just asked goes on its way before the ring waits.
        if self.gate.next_wakeup() == Wakeup::Now {
            self.gate.poll(now, &mut self.completions);
        }
    }

    fn wakeup(&self) -> Wakeup {
        if self.completions.is_empty() { self.gate.next_wakeup() } else { Wakeup::Now }
    }

    fn with_session(&mut self, now: Time, index: u32, work: impl FnOnce(&mut Session, &mut Around<'_>)) {
        let Some(place) = self.sessions.get_mut(index as usize) else { return };
        let Some(session) = place else { return };
        let mut around = Around {
            now,
            io: &self.io,
            port: &self.port,
            gate: &mut self.gate,
            exports: &self.exports,
            limits: &self.limits,
            scratch: &mut self.scratch,
        };
        work(session, &mut around);
        if session.is_over() && session.finish(&mut around) {
            *place = None;
            self.free.push(index);
        }
    }

    fn accept(&mut self, number: usize) {
        let listener = self.listeners[number].0;
        // A full ring makes room with its next completion; until then the connection waits in the kernel.
        let _ = self.port.push(LISTENER | number as u64, Job::Accept { listener });
    }

    fn accepted(&mut self, now: Time, event: Done) {
        let number = (event.token & !LISTENER) as usize;
        if let Some(socket) = event.accepted.filter(|_| self.stopping.is_none()) {
            self.begin_session(now, number, socket);
        } else if let Err(error) = event.result {
            tracing::warn!(%error, "accept");
        }
        if self.stopping.is_none() {
            self.accept(number);
        }
    }

    fn begin_session(&mut self, now: Time, listener: usize, socket: OwnedFd) {
        let count = self.sessions.len() - self.free.len();
        if count >= self.limits.connections as usize {
            tracing::warn!(limit = self.limits.connections, "connection refused: the limit `connections` is met");
            return;
        }
        let Ok(socket) = self.listeners[listener].1.prepare(socket) else { return };
        let index = self.free.pop().unwrap_or_else(|| {
            self.sessions.push(None);
            self.sessions.len() as u32 - 1
        });
        let socket = self.io.register(socket);
        let mut around = Around {
            now,
            io: &self.io,
            port: &self.port,
            gate: &mut self.gate,
            exports: &self.exports,
            limits: &self.limits,
            scratch: &mut self.scratch,
        };
        match Session::begin(index, socket, &mut around) {
            Some(session) => self.sessions[index as usize] = Some(session),
            None => {
                tracing::warn!("connection refused: no memory for its receive buffer (limit `memory`)");
                self.io.close(socket);
                self.free.push(index);
            }
        }
    }

    fn look_at_deadlines(&mut self, now: Time) {
        if now.since(self.looked) < DEADLINE_LOOK {
            return;
        }
        self.looked = now;
        for index in 0..self.sessions.len() as u32 {
            if self.sessions[index as usize].as_ref().is_some_and(|session| session.is_overdue(now)) {
                tracing::info!(session = index, "connection closed: the limit `handshake_time` is met");
                self.with_session(now, index, |session, around| session.abandon(around));
            }
        }
    }

    fn stop(&mut self, now: Time) {
        self.stopping = Some(now + DRAIN_TIME);
        for (listener, _) in &self.listeners {
            self.io.close(*listener);
        }
        for index in 0..self.sessions.len() as u32 {
            self.with_session(now, index, |session, _| session.drain());
        }
    }

    /// Whether a stopping shard is done: nobody is left, or those who are do not take their answers.
    fn is_over(&mut self, now: Time) -> bool {
        let Some(until) = self.stopping else { return false };
        if now > until {
            for index in 0..self.sessions.len() as u32 {
                self.with_session(now, index, |session, around| session.abandon(around));
            }
            return true;
        }
        self.sessions.len() == self.free.len()
    }
}

/// What passed a ceiling or group, as a trace.
pub fn trace_of(passed: &Passed) -> DispatchTrace {
    let mut trace = DispatchTrace::default();
    for bin in &passed.trace {
        trace.add_bin(bin.at, bin.tally.ops as u32, bin.tally.bytes);
    }
    trace
}
