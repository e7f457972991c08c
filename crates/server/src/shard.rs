//! Handle of the data thread, which owns a pool's whole data path (see `owner`), and the questions
//! that other threads may ask of it.

use crate::account::AccountRow;
use crate::front::{Front, with_mode};
use crate::limits::ServerLimits;
use crate::link_meter::LinkSettings;
use crate::listen::{Listen, ListenError, Listener};
use crate::order::{Accounting, Order};
use crate::owner::{Connected, Owner};
use crate::portmap::{Datagrams, Portmap, Registration};
use crate::starting::StartError;
use crate::volume_files::{AllFiles, Settled};
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

/// Opens the data thread's ring, and binds the thread to `cpu` if one is given. It runs on that
/// thread. Without io_uring the thread is not bound, because the I/O threads that replace it would
/// be bound to the same processor.
fn bound(cpu: Option<u32>, settings: &IoSettings) -> Result<Io, StartError> {
    let io = Io::open(settings)?;
    match (cpu, io.backend()) {
        (Some(cpu), Backend::Uring { .. }) => usage::pin(&[cpu])?,
        (Some(cpu), _) => tracing::warn!(cpu, "the data thread is not bound: that takes io_uring"),
        (None, _) => {}
    }
    Ok(io)
}

/// The data thread has ended.
#[derive(Debug, thiserror::Error)]
#[error("the server's data thread has ended")]
pub struct ShardGone;

/// What the data thread did since the previous account.
#[derive(Debug, Default)]
pub struct Account {
    /// Every object that was active. Empty until [`crate::Control::record`] was called; nothing is
    /// counted before.
    pub objects: Vec<(ObjectId, AccountRow)>,
    /// Every object that was active, and every object with a floor, as accounted by the gate.
    pub said: Vec<qos::ObjectAccount>,
    /// What passed each shared group, as accounted by the gate.
    pub passed: Vec<qos::GroupAccount>,
    /// For each object, the time its replies took to reach the network, summed over replies: from
    /// when a reply was written until the kernel had taken all of it.
    pub replies: Vec<(ObjectId, Span)>,
    /// The gate as a whole.
    pub gate: GateStatus,
    /// Processor time that the thread used.
    pub cpu: Span,
    /// Time by which the thread woke up later than it had asked to, beyond the gate's tolerance.
    /// Something else had the processor; limits may have lost rate in that time.
    pub stalled: Span,
    /// How long the thread busy-polled for a client in ping-pong ([`crate::Latency`]).
    pub awake: Span,
    /// Turns of the event loop: one system call each, or none.
    pub turns: u64,
    /// How often receives were held back so that one receive takes several requests.
    pub holds: u64,
    /// Processor time of the longest turn that included work for the administration.
    pub longest_turn: Span,
    /// Open connections now.
    pub connections: u32,
    /// Bytes of the limit `memory` that requests claim now.
    pub claimed: Bytes,
    /// Buffers that are allocated or in flight now.
    pub buffers: usize,
    /// Counters of each partition of the cache since it was made, by number.
    pub cache: BTreeMap<u32, CacheSeen>,
    /// Cache hits and misses of the reads of each object; recorded when [`Account::objects`] is.
    pub cached: Vec<(ObjectId, Hits)>,
    /// Events noticed since the previous account.
    pub noticed: Vec<Noticed>,
    /// The time on the shard's clock.
    pub now: Time,
}

impl Account {
    /// For each object with a ceiling of its own, the dispatches of it and of everything beneath
    /// it.
    pub fn ceilings(&self) -> impl Iterator<Item = (ObjectId, DispatchTrace)> {
        self.said.iter().filter_map(|said| Some((said.object, trace_of(said.passed.as_ref()?))))
    }

    /// The dispatches of each shared group.
    pub fn groups(&self) -> impl Iterator<Item = (GroupId, DispatchTrace)> {
        self.passed.iter().map(|group| (group.group, trace_of(&group.passed)))
    }
}

/// Handle of the data thread. Dropping it stops the thread, which answers outstanding requests and
/// then closes everything.
pub struct Shard {
    orders: Option<Sender<Order>>,
    waker: Waker,
    backend: Backend,
    listening: Vec<String>,
    longest: u32,
    cache: Option<CacheMemory>,
    thread: Option<JoinHandle<()>>,
    /// Keeps our registration with the port mapper, or our own answers in its place, for as long as
    /// the shard lives.
    _told: (Option<Registration>, Option<Datagrams>),
}

impl Shard {
    /// Starts the thread and listens in clear text; meant for loopback and Unix sockets.
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
        let opened = front.open()?;
        let listening = opened.listeners.iter().map(|(listener, mode)| with_mode(&listener.address, *mode));
        let listening =
            listening.chain(opened.nfs.iter().map(|listener| format!("{} (NFS)", listener.address))).collect();
        let nfs = opened.nfs.first().and_then(Listener::socket_address);
        let datagrams = nfs.filter(|_| portmap == Portmap::Serve).map(|at| {
            let failed = |error| ListenError::Nfs(format!("{}:{} (UDP)", at.ip(), ::nfs::portmap::PORT), error);
            Datagrams::serve(at.ip(), at.port()).map_err(failed)
        });
        let datagrams = datagrams.transpose()?;
        let limits = limits.within(&settings, opened.listeners.len() + opened.nfs.len(), opened.encrypts());
        let longest = limits.longest();
        let cache = opened.cache.map(|cache| CacheMemory { memory: cache.memory, page: Bytes(cache.page.into()) });
        // The maps' own memory comes on top of what clients may use.
        settings.slab.0 += MappedVolumes::MEMORY.0 + AllFiles::MEMORY;
        settings.slab.0 += opened.second_level.as_ref().map_or(0, |_| SecondPlace::BUFFERS.0);
        let (orders, inbox) = channel();
        let (made, is_made) = sync_channel(1);
        let body = move || match bound(cpu, &settings) {
            Ok(io) => {
                let _ = made.send(Ok((io.waker(), io.backend().clone())));
                Owner::new(io, opened, limits, inbox).run();
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

    /// The I/O backend of the thread.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The addresses it listens on, with the ports that the system chose and the TLS mode of each.
    pub fn listening(&self) -> &[String] {
        &self.listening
    }

    /// The longest read or write that is offered to clients, in bytes.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// The memory of the cache, if there is one.
    pub fn cache(&self) -> Option<CacheMemory> {
        self.cache
    }

    /// Counters of each partition of the cache, by number.
    pub(crate) fn cached(&self) -> Result<BTreeMap<u32, CacheSeen>, ShardGone> {
        self.asked(Order::Cache)
    }

    /// State of the cache's second level, if there is one.
    pub(crate) fn second_level(&self) -> Result<Option<SecondSeen>, ShardGone> {
        self.asked(Order::SecondLevel)
    }

    /// Sets the bandwidth limits of each connection and of all together; they start with full
    /// credit.
    ///
    /// # Errors
    /// The thread is gone.
    pub fn limit_link(&self, settings: LinkSettings) -> Result<(), ShardGone> {
        self.order(Order::LimitLink(settings))
    }

    /// The bandwidth limits of connections, and their counters.
    pub(crate) fn link(&self) -> Result<LinkSeen, ShardGone> {
        self.asked(Order::Link)
    }

    /// The parts of the thread's memory, with the use of each.
    pub(crate) fn memory(&self) -> Result<Vec<MemoryPart>, ShardGone> {
        self.asked(Order::Memory)
    }

    /// What happened since the previous call.
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

    /// Waits until all changes that clients made on a volume are durable, or until it is known that
    /// there is no space for them.
    pub(crate) fn settle_files(&self, volume: ObjectId) -> Result<Settled, ShardGone> {
        self.asked(|answer| Order::SettleFiles { volume, answer })
    }

    /// Figures of the files that clients made on a volume.
    pub(crate) fn files(&self, volume: ObjectId) -> Result<FilesSeen, ShardGone> {
        self.asked(|answer| Order::FilesSeen { volume, answer })
    }

    /// Whether a volume's files are available, that is, their tree has been read.
    pub(crate) fn has_files(&self, volume: ObjectId) -> Result<bool, ShardGone> {
        self.asked(|answer| Order::HasFiles { volume, answer })
    }

    /// Whether clients made an entry of that name in the top folder of a volume.
    pub(crate) fn has_file(&self, volume: ObjectId, name: &str) -> Result<bool, ShardGone> {
        self.asked(|answer| Order::HasFile { volume, name: name.into(), answer })
    }

    /// Clients' files that are objects and were renamed or deleted since the previous call; `None`
    /// stands for a deleted file.
    pub(crate) fn followed(&self) -> Result<Vec<(ObjectId, Option<String>)>, ShardGone> {
        self.asked(Order::Followed)
    }

    /// The node at a path of a volume and the bytes that it occupies, if it is a file.
    pub(crate) fn client_file(&self, volume: ObjectId, path: &str) -> Result<Option<(NodeId, u64)>, ShardGone> {
        self.asked(|answer| Order::ClientFile { volume, path: path.into(), answer })
    }

    /// Length in bytes of a client's file that is an object.
    pub(crate) fn length(&self, file: ObjectId) -> Result<u64, ShardGone> {
        self.asked(|answer| Order::Length { file, answer })
    }

    /// Applies a change to one tree of the maps; returns when it is durable.
    pub(crate) fn administer(&self, object: ObjectId, what: What) -> Result<Result<(), map::MapRefusal>, ShardGone> {
        self.asked(|answer| Order::Administer { object, what, answer })
    }

    /// Applies changes to several trees of the maps atomically; returns when they are durable.
    pub(crate) fn change_all(&self, changes: Vec<(ObjectId, What)>) -> Result<Result<(), map::MapRefusal>, ShardGone> {
        self.asked(|answer| Order::ChangeAll { changes, answer })
    }

    /// Has the maps store the state of the catalogue that they agree with; returns when it is
    /// durable.
    pub(crate) fn agree(&self, agreed: map::Agreed) -> Result<Result<(), map::MapRefusal>, ShardGone> {
        self.asked(|answer| Order::Agree { agreed, answer })
    }

    /// Bytes that would be freed if all of these trees of the maps were deleted together.
    pub(crate) fn owned(&self, trees: Vec<ObjectId>) -> Result<u64, ShardGone> {
        self.asked(|answer| Order::Owned { trees: trees.into_iter(), owned: None, bytes: 0, answer })
    }

    /// Bytes that each of the objects occupies in the maps.
    pub(crate) fn used(&self, objects: Vec<ObjectId>) -> Result<Vec<u64>, ShardGone> {
        let (answer, receiver) = channel();
        let used = Vec::with_capacity(objects.len());
        self.order(Order::Used { objects: objects.into_iter(), used, answer })?;
        receiver.recv().map_err(|_| ShardGone)
    }

    /// Used and available space for the pool's data.
    pub(crate) fn space(&self) -> Result<Option<map::Usage>, ShardGone> {
        self.asked(Order::Space)
    }

    /// Waits until all earlier orders have been carried out.
    pub(crate) fn reach(&self) -> Result<(), ShardGone> {
        self.asked(Order::Reach)
    }

    /// Number of client connections to each LUN and file.
    pub(crate) fn connected(&self) -> Result<Connected, ShardGone> {
        self.asked(Order::Connected)
    }

    /// Takes LUNs and files offline for clients. Without `force` it is refused if anybody is
    /// connected to them. Returns the connections to each either way.
    pub(crate) fn withdraw(
        &self,
        objects: Vec<ObjectId>,
        force: bool,
    ) -> Result<Result<Connected, Connected>, ShardGone> {
        self.asked(|answer| Order::Withdraw { objects, force, answer })
    }

    /// Sends an order and waits for its answer.
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

/// A read of at least this many bytes is sent from the page cache instead of through a buffer. For
/// shorter reads, checking that the pages are resident and waiting for room in the socket cost as
/// much as the copy.
const VIEW_BYTES_MIN: u32 = 128 << 10;

/// I/O settings of a data thread with `memory` for its buffers. Only a small part is registered
/// with the kernel: small requests, which are the majority, use that part.
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

/// The dispatches that passed a ceiling or group, as a trace.
pub fn trace_of(passed: &Passed) -> DispatchTrace {
    let mut trace = DispatchTrace::default();
    for bin in &passed.trace {
        trace.add_bin(bin.at, bin.tally.ops as u32, bin.tally.bytes);
    }
    trace
}
