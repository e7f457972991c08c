//! The handle of the thread that owns a pool's data path (see `owner`), and what can be asked of
//! it.

use crate::account::AccountRow;
use crate::front::{Front, with_mode};
use crate::limits::ServerLimits;
use crate::link_meter::LinkSettings;
use crate::listen::{Listen, ListenError, Listener};
use crate::order::{Accounting, Order};
use crate::owner::{Connected, Owner};
use crate::portmap::{Datagrams, Portmap, Registration};
use crate::starting::StartError;
use crate::volume_files::AllFiles;
use admin::{CacheMemory, CacheSeen, FilesSeen, LinkSeen, MemoryPart, Noticed, SecondSeen};
use block::{Bytes, ObjectId, Span, Time};
use map::What;
use qos::{GateStatus, GroupId, Passed};
use stats::DispatchTrace;
use stats::run::Hits;
use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread::JoinHandle;
use store::{MappedVolumes, SecondPlace};
use tree::NodeId;
use uring::{Backend, Io, IoSettings, Waker, usage};

/// The thread's ring, opened by the thread where it runs from now on. Threads in place of io_uring
/// would be bound too, to the same processor: with them it is left where it is.
fn bound(cpu: Option<u32>, settings: &IoSettings) -> Result<Io, StartError> {
    let io = Io::open(settings)?;
    match (cpu, io.backend()) {
        (Some(cpu), Backend::Uring { .. }) => usage::pin(&[cpu])?,
        (Some(cpu), _) => tracing::warn!(cpu, "the data thread is not bound: that takes io_uring"),
        (None, _) => {}
    }
    Ok(io)
}

/// The shard's thread is gone.
#[derive(Debug, thiserror::Error)]
#[error("the server's data thread has ended")]
pub struct ShardGone;

/// What the shard did since it was last asked.
#[derive(Debug, Default)]
pub struct Account {
    /// Every object that was active, once [`crate::Control::record`] was called; before, nothing is
    /// counted here.
    pub objects: Vec<(ObjectId, AccountRow)>,
    /// Every object that was active and those with floors, as the gate tells of them.
    pub said: Vec<qos::ObjectAccount>,
    /// What passed each shared group, as the gate tells of it.
    pub passed: Vec<qos::GroupAccount>,
    /// How long replies took into the network, added up over replies, by object: from when one was
    /// written until the kernel had it all.
    pub replies: Vec<(ObjectId, Span)>,
    /// The gate as a whole.
    pub gate: GateStatus,
    /// Processor time that the thread used.
    pub cpu: Span,
    /// Time by which the thread went on later than it asked to, beyond the gate's tolerance:
    /// something else had the processor, and limits may have lost rate by it.
    pub stalled: Span,
    /// How long the thread waited awake for a client in ping-pong ([`crate::Latency`]).
    pub awake: Span,
    /// How often the thread looked for work: once a system call, or less.
    pub turns: u64,
    /// How often receives were held, so that one takes several requests.
    pub holds: u64,
    /// Processor time of the longest turn in which something of the administration went on.
    pub longest_turn: Span,
    /// Connections that are open now.
    pub connections: u32,
    /// Bytes that clients claim now of the limit `memory`.
    pub claimed: Bytes,
    /// Buffers that are out or in flight now.
    pub buffers: usize,
    /// What came of each partition of the cache since it was made, by number.
    pub cache: BTreeMap<u32, CacheSeen>,
    /// What the reads of each object asked of the cache, as [`Account::objects`] is told.
    pub cached: Vec<(ObjectId, Hits)>,
    /// What the thread noticed since the last account.
    pub noticed: Vec<Noticed>,
    /// The time on the shard's clock.
    pub now: Time,
}

impl Account {
    /// What passed each object with a ceiling of its own, from it and everything beneath it.
    pub fn ceilings(&self) -> impl Iterator<Item = (ObjectId, DispatchTrace)> {
        self.said.iter().filter_map(|said| Some((said.object, trace_of(said.passed.as_ref()?))))
    }

    /// What passed each shared group.
    pub fn groups(&self) -> impl Iterator<Item = (GroupId, DispatchTrace)> {
        self.passed.iter().map(|group| (group.group, trace_of(&group.passed)))
    }
}

/// The handle of the shard's thread. Dropping it stops the thread: what was asked is answered, then
/// all is closed.
pub struct Shard {
    orders: Option<Sender<Order>>,
    waker: Waker,
    backend: Backend,
    listening: Vec<String>,
    longest: u32,
    cache: Option<CacheMemory>,
    thread: Option<JoinHandle<()>>,
    /// The port mapper knows of us as long, or we answer for it.
    _told: (Option<Registration>, Option<Datagrams>),
}

impl Shard {
    /// Starts the thread and listens, in clear text; for loopback and Unix sockets.
    ///
    /// # Errors
    /// The addresses cannot be listened on, or the ring cannot be opened.
    pub fn start(listen: &[Listen], limits: ServerLimits, settings: IoSettings) -> Result<Shard, StartError> {
        Shard::start_behind(Front { listen: listen.to_vec(), ..Front::default() }, limits, settings)
    }

    /// Starts the thread and listens.
    ///
    /// # Errors
    /// The addresses cannot be listened on, or the ring cannot be opened.
    pub fn start_behind(front: Front, limits: ServerLimits, mut settings: IoSettings) -> Result<Shard, StartError> {
        front.check_cpu()?;
        let (cpu, portmap) = (front.cpu, front.portmap);
        let doors = front.open()?;
        let listening = doors.listeners.iter().map(|(listener, mode)| with_mode(&listener.address, *mode));
        let listening =
            listening.chain(doors.nfs.iter().map(|listener| format!("{} (NFS)", listener.address))).collect();
        let nfs = doors.nfs.first().and_then(Listener::socket_address);
        let datagrams = nfs.filter(|_| portmap == Portmap::Serve).map(|at| {
            let failed = |error| ListenError::Nfs(format!("{}:{} (UDP)", at.ip(), ::nfs::portmap::PORT), error);
            Datagrams::serve(at.ip(), at.port()).map_err(failed)
        });
        let datagrams = datagrams.transpose()?;
        let limits = limits.within(&settings, doors.listeners.len() + doors.nfs.len(), doors.encrypts());
        let longest = limits.longest();
        let cache = doors.cache.map(|cache| CacheMemory { memory: cache.memory, page: Bytes(cache.page.into()) });
        // What the maps need for themselves is not the clients'.
        settings.slab.0 += MappedVolumes::MEMORY.0 + AllFiles::MEMORY;
        settings.slab.0 += doors.second_level.as_ref().map_or(0, |_| SecondPlace::BUFFERS.0);
        let (orders, inbox) = channel();
        let (made, is_made) = sync_channel(1);
        let body = move || match bound(cpu, &settings) {
            Ok(io) => {
                let _ = made.send(Ok((io.waker(), io.backend().clone())));
                Owner::new(io, doors, limits, inbox).run();
            }
            Err(error) => {
                let _ = made.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name("shard".into()).spawn(body)?;
        let (waker, backend) = is_made.recv().map_err(|_| ShardGone)??;
        let registration = nfs.filter(|_| portmap == Portmap::Register);
        let _told = (registration.and_then(|at| Registration::with_local(at.port())), datagrams);
        let (orders, thread) = (Some(orders), Some(thread));
        Ok(Shard { orders, waker, backend, listening, longest, cache, thread, _told })
    }

    /// What the thread's I/O runs on.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The addresses it listens on, with the ports that the system chose, and how clients encrypt
    /// there.
    pub fn listening(&self) -> &[String] {
        &self.listening
    }

    /// The longest read or write that clients are offered, in bytes.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// The memory of its cache, if it has one.
    pub fn cache(&self) -> Option<CacheMemory> {
        self.cache
    }

    /// What came of each partition of the cache, by number.
    pub(crate) fn cached(&self) -> Result<BTreeMap<u32, CacheSeen>, ShardGone> {
        self.asked(Order::Cache)
    }

    /// The second level of the cache.
    pub(crate) fn second_level(&self) -> Result<Option<SecondSeen>, ShardGone> {
        self.asked(Order::SecondLevel)
    }

    /// Limits each connection, and all together, with full credit.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn limit_link(&self, settings: LinkSettings) -> Result<(), ShardGone> {
        self.order(Order::LimitLink(settings))
    }

    /// The limits of connections, and what came of them.
    pub(crate) fn link(&self) -> Result<LinkSeen, ShardGone> {
        self.asked(Order::Link)
    }

    /// What its memory is for.
    pub(crate) fn memory(&self) -> Result<Vec<MemoryPart>, ShardGone> {
        self.asked(Order::Memory)
    }

    /// What happened since the last call.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn account(&self) -> Result<Account, ShardGone> {
        let (answer, receiver) = channel();
        let (objects, groups) = (Vec::new(), Vec::new());
        let accounting = Accounting { objects, objects_told: false, groups, next_group: Some(0), answer };
        self.order(Order::Account(Box::new(accounting)))?;
        receiver.recv().map_err(|_| ShardGone)
    }

    /// Waits until all that clients changed on a volume is durable.
    pub(crate) fn settle_files(&self, volume: ObjectId) -> Result<(), ShardGone> {
        self.asked(|answer| Order::SettleFiles { volume, answer })
    }

    /// What clients made on a volume.
    pub(crate) fn files(&self, volume: ObjectId) -> Result<FilesSeen, ShardGone> {
        self.asked(|answer| Order::FilesSeen { volume, answer })
    }

    /// Whether a volume has its files, and they are not being read.
    pub(crate) fn has_files(&self, volume: ObjectId) -> Result<bool, ShardGone> {
        self.asked(|answer| Order::HasFiles { volume, answer })
    }

    /// Whether clients made something of that name at the top of a volume.
    pub(crate) fn has_file(&self, volume: ObjectId, name: &str) -> Result<bool, ShardGone> {
        self.asked(|answer| Order::HasFile { volume, name: name.into(), answer })
    }

    /// What became of files of clients that are objects, since it was last asked.
    pub(crate) fn followed(&self) -> Result<Vec<(ObjectId, Option<String>)>, ShardGone> {
        self.asked(Order::Followed)
    }

    /// What clients made at a path of a volume, if it is a file, and the bytes that it takes.
    pub(crate) fn client_file(&self, volume: ObjectId, path: &str) -> Result<Option<(NodeId, u64)>, ShardGone> {
        self.asked(|answer| Order::ClientFile { volume, path: path.into(), answer })
    }

    /// Bytes that a file of clients is long that is an object.
    pub(crate) fn length(&self, file: ObjectId) -> Result<u64, ShardGone> {
        self.asked(|answer| Order::Length { file, answer })
    }

    /// Changes a tree of the maps, durably.
    pub(crate) fn administer(&self, object: ObjectId, what: What) -> Result<Result<(), map::MapRefusal>, ShardGone> {
        self.asked(|answer| Order::Administer { object, what, answer })
    }

    /// Changes several trees of the maps at one moment, durably, or none of them.
    pub(crate) fn together(&self, changes: Vec<(ObjectId, What)>) -> Result<Result<(), map::MapRefusal>, ShardGone> {
        self.asked(|answer| Order::Together { changes, answer })
    }

    /// Has the maps keep what is known of the catalogue, durably.
    pub(crate) fn agree(&self, agreed: map::Agreed) -> Result<Result<(), map::MapRefusal>, ShardGone> {
        self.asked(|answer| Order::Agree { agreed, answer })
    }

    /// Bytes that would come free with each of some trees of the maps, together.
    pub(crate) fn owned(&self, trees: Vec<ObjectId>) -> Result<u64, ShardGone> {
        self.asked(|answer| Order::Owned { trees: trees.into_iter(), owned: None, bytes: 0, answer })
    }

    /// Bytes that each of the objects takes in the maps.
    pub(crate) fn used(&self, objects: Vec<ObjectId>) -> Result<Vec<u64>, ShardGone> {
        let (answer, receiver) = channel();
        let used = Vec::with_capacity(objects.len());
        self.order(Order::Used { objects: objects.into_iter(), used, answer })?;
        receiver.recv().map_err(|_| ShardGone)
    }

    /// What is taken of the pool's data, and what there is for them.
    pub(crate) fn space(&self) -> Result<Option<map::Usage>, ShardGone> {
        self.asked(Order::Space)
    }

    /// Waits until all that was ordered is done.
    pub(crate) fn reach(&self) -> Result<(), ShardGone> {
        self.asked(Order::Reach)
    }

    /// The connections that clients have to LUNs and files.
    pub(crate) fn connected(&self) -> Result<Connected, ShardGone> {
        self.asked(Order::Connected)
    }

    /// Takes LUNs and files away from clients, or refuses, as somebody is connected and it is not
    /// forced; either way it tells who is or was.
    pub(crate) fn withdraw(
        &self,
        objects: Vec<ObjectId>,
        force: bool,
    ) -> Result<Result<Connected, Connected>, ShardGone> {
        self.asked(|answer| Order::Withdraw { objects, force, answer })
    }

    /// Orders something, and waits for its answer.
    fn asked<T>(&self, order: impl FnOnce(Sender<T>) -> Order) -> Result<T, ShardGone> {
        let (answer, receiver) = channel();
        self.order(order(answer))?;
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

/// A read of at least so many bytes is sent from the page cache instead of through a buffer. For
/// fewer the waits for room in the socket and the look whether they are there cost what the copy
/// costs.
const VIEW_BYTES_MIN: u32 = 128 << 10;

/// The settings of a data thread's I/O with `memory` for its buffers. Little of it is pinned: small
/// requests, which are the many, come from there.
pub fn io_settings(no_io_uring: bool, memory: Bytes) -> IoSettings {
    IoSettings {
        backend: if no_io_uring { uring::Choice::Threads } else { uring::Choice::Auto },
        entries: 1024,
        in_flight: 16_384,
        slab: memory,
        registered: Bytes::mib(64),
        cached_reads: true,
        views: Some(VIEW_BYTES_MIN),
        ..IoSettings::default()
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
