//! The handle of the thread that owns a pool's data path (see `owner`), and what can be asked of it.

use crate::account::ObjectAccount;
use crate::exports::Export;
use crate::limits::ServerLimits;
use crate::listen::{Listen, ListenError};
use crate::owner::Owner;
use block::{Bytes, ObjectId, Span, Time};
use map::What;
use qos::{Edit, GateStatus, GroupId, Passed};
use stats::DispatchTrace;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread::JoinHandle;
use store::{DataFile, MappedPool, MappedVolumes};
use uring::{Backend, Io, IoSettings, Waker};

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
    /// The same objects and those with floors, as the gate tells of them.
    pub said: Vec<qos::ObjectAccount>,
    /// What passed each object with a ceiling of its own, from it and everything beneath it.
    pub ceilings: Vec<(ObjectId, DispatchTrace)>,
    /// What passed each shared group.
    pub groups: Vec<(GroupId, DispatchTrace)>,
    /// The gate as a whole.
    pub gate: GateStatus,
    /// Processor time that the thread used.
    pub cpu: Span,
    /// Time by which the thread went on later than it asked to, beyond the gate's tolerance: something else had the
    /// processor, and limits may have lost rate by it.
    pub stalled: Span,
    /// How often the thread looked for work: once a system call, or less.
    pub turns: u64,
    /// Connections that are open now.
    pub connections: u32,
    /// Bytes that clients claim now of the limit `memory`.
    pub claimed: Bytes,
    /// Buffers that are out or in flight now.
    pub buffers: usize,
    /// The time on the shard's clock.
    pub now: Time,
}

/// What the control asks of the shard.
pub(crate) enum Order {
    Edit(Vec<Edit>),
    /// The pool's LUNs are in maps.
    Maps(Box<MappedPool>),
    /// `data`: the LUN's file, if the pool has one for each.
    Open {
        export: Export,
        data: Option<DataFile>,
    },
    /// Change a tree of the maps; the answer comes when it is durable.
    Administer {
        object: ObjectId,
        what: What,
        answer: Sender<Result<(), map::Refusal>>,
    },
    /// Change several trees at one moment, or none; each answers for itself.
    Together {
        changes: Vec<(ObjectId, What)>,
        answer: Sender<Result<(), map::Refusal>>,
    },
    /// Bytes that would come free with a tree of the maps.
    Own {
        object: ObjectId,
        answer: Sender<u64>,
    },
    /// Bytes that objects take in the maps.
    Used {
        objects: Vec<ObjectId>,
        answer: Sender<Vec<u64>>,
    },
    Resize {
        object: ObjectId,
        size: u64,
    },
    Close {
        object: ObjectId,
    },
    Account(Sender<Account>),
}

/// The handle of the shard's thread. Dropping it stops the thread: what was asked is answered, then all is closed.
pub struct Shard {
    orders: Option<Sender<Order>>,
    waker: Waker,
    backend: Backend,
    listening: Vec<String>,
    longest: u32,
    thread: Option<JoinHandle<()>>,
}

impl Shard {
    /// Starts the thread and listens.
    ///
    /// # Errors
    /// The addresses cannot be listened on, or the ring cannot be opened.
    pub fn start(listen: &[Listen], limits: ServerLimits, mut settings: IoSettings) -> Result<Shard, StartError> {
        let listeners = listen.iter().map(Listen::open).collect::<Result<Vec<_>, _>>()?;
        let listening = listeners.iter().map(|listener| listener.address.clone()).collect();
        let limits = limits.within(&settings, listeners.len());
        let longest = limits.longest();
        // What the maps need for themselves is not the clients'.
        settings.slab.0 += MappedVolumes::MEMORY.0;
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
        Ok(Shard { orders: Some(orders), waker, backend, listening, longest, thread: Some(thread) })
    }

    /// What the thread's I/O runs on.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The addresses it listens on, with the ports that the system chose.
    pub fn listening(&self) -> &[String] {
        &self.listening
    }

    /// The longest read or write that clients are offered, in bytes.
    pub fn longest(&self) -> u32 {
        self.longest
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

    /// Changes a tree of the maps, durably.
    pub(crate) fn administer(&self, object: ObjectId, what: What) -> Result<Result<(), map::Refusal>, ShardGone> {
        let (answer, receiver) = channel();
        self.order(Order::Administer { object, what, answer })?;
        receiver.recv().map_err(|_| ShardGone)
    }

    /// Changes several trees of the maps at one moment, durably, or none of them.
    pub(crate) fn together(&self, changes: Vec<(ObjectId, What)>) -> Result<Result<(), map::Refusal>, ShardGone> {
        let (answer, receiver) = channel();
        let count = changes.len();
        self.order(Order::Together { changes, answer })?;
        let mut result = Ok(());
        for _ in 0..count {
            result = result.and(receiver.recv().map_err(|_| ShardGone)?);
        }
        Ok(result)
    }

    /// Bytes that would come free with a tree of the maps.
    pub(crate) fn own(&self, object: ObjectId) -> Result<u64, ShardGone> {
        let (answer, receiver) = channel();
        self.order(Order::Own { object, answer })?;
        receiver.recv().map_err(|_| ShardGone)
    }

    /// Bytes that each of the objects takes in the maps.
    pub(crate) fn used(&self, objects: Vec<ObjectId>) -> Result<Vec<u64>, ShardGone> {
        let (answer, receiver) = channel();
        self.order(Order::Used { objects, answer })?;
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

/// What passed a ceiling or group, as a trace.
pub fn trace_of(passed: &Passed) -> DispatchTrace {
    let mut trace = DispatchTrace::default();
    for bin in &passed.trace {
        trace.add_bin(bin.at, bin.tally.ops as u32, bin.tally.bytes);
    }
    trace
}
