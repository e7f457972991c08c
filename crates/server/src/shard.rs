//! The handle of the thread that owns a pool's data path (see `owner`), and what can be asked of
//! it.

use crate::access::Access;
use crate::account::AccountRow;
use crate::exports::Export;
use crate::limits::ServerLimits;
use crate::listen::{Listen, ListenError, Listener};
use crate::owner::{Connected, Owner};
use crate::starting::{Latency, StartError};
use crate::tls::Tls;
use admin::{CacheMemory, CacheSeen, Junction, MemoryPart, Noticed, SecondSeen};
use block::{Bytes, ObjectId, Span, Time};
use map::{Owned, What};
use nbd::TlsMode;
use qos::{Edit, GateStatus, GroupId, Passed};
use stats::DispatchTrace;
use stats::run::Hits;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::vec::IntoIter;
use store::{CacheSettings, MappedPool, MappedVolumes, SecondFile, SecondPlace};
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
    /// How long the thread waited awake, with [`Latency::Low`].
    pub awake: Span,
    /// How often the thread looked for work: once a system call, or less.
    pub turns: u64,
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

/// An account on its way.
pub(crate) struct Accounting {
    pub objects: Vec<qos::ObjectAccount>,
    pub objects_told: bool,
    pub groups: Vec<qos::GroupAccount>,
    /// The shared group that is told next.
    pub next_group: Option<u32>,
    pub answer: Sender<Account>,
}

/// What the control asks of the shard; or what is left of it, where it takes several turns.
pub(crate) enum Order {
    /// All exports are known: let clients in.
    LetIn,
    Edit(IntoIter<Edit>),
    /// Count what each object sees, for whoever records it.
    Record,
    /// The pool's LUNs are in maps.
    Maps(Box<MappedPool>),
    Open(Export),
    /// Change a tree of the maps; the answer comes when it is durable.
    Administer {
        object: ObjectId,
        what: What,
        answer: Sender<Result<(), map::MapRefusal>>,
    },
    /// Change several trees at one moment, or none.
    Together {
        changes: Vec<(ObjectId, What)>,
        answer: Sender<Result<(), map::MapRefusal>>,
    },
    /// Have the maps keep what is known of the catalogue.
    Agree {
        agreed: map::Agreed,
        answer: Sender<Result<(), map::MapRefusal>>,
    },
    /// Bytes that would come free with each of some trees of the maps, together.
    Owned {
        trees: IntoIter<ObjectId>,
        /// The one that is counted.
        owned: Option<Owned>,
        /// What was counted.
        bytes: u64,
        answer: Sender<u64>,
    },
    /// Bytes that objects take in the maps.
    Used {
        objects: IntoIter<ObjectId>,
        /// Those of the objects before.
        used: Vec<u64>,
        answer: Sender<Vec<u64>>,
    },
    Resize {
        object: ObjectId,
        size: u64,
    },
    /// Offer it by another name; who is connected stays so.
    Rename {
        object: ObjectId,
        svm: String,
        path: String,
    },
    Close {
        object: ObjectId,
    },
    /// Divide the cache into these partitions, by number.
    Divide(Vec<(u32, Bytes)>),
    /// Tell what memory is for.
    Memory(Sender<Vec<MemoryPart>>),
    /// Keep so much in the cache at most.
    Limit(Bytes),
    /// Keep an object's pages in that partition.
    Place {
        object: ObjectId,
        partition: u32,
    },
    /// A volume's place in the name space that NFS clients see.
    Join(ObjectId, Option<Junction>),
    /// Tell what came of each partition of the cache, by number.
    Cache(Sender<BTreeMap<u32, CacheSeen>>),
    /// Tell of the second level of the cache.
    SecondLevel(Sender<Option<SecondSeen>>),
    /// Tell what is taken of the pool's data.
    Space(Sender<Option<map::Usage>>),
    /// Tell when all orders before are done.
    Reach(Sender<()>),
    /// Tell who is connected.
    Connected(Sender<Connected>),
    /// Take them away from clients: with `force` from all, else from nobody if one is connected.
    /// Told is who was.
    Withdraw {
        objects: Vec<ObjectId>,
        force: bool,
        answer: Sender<Result<Connected, Connected>>,
    },
    /// Clients may have them again.
    Offer {
        objects: Vec<ObjectId>,
    },
    Account(Box<Accounting>),
}

/// How clients come in, and who they must be.
#[derive(Debug, Default)]
pub struct Front {
    /// Where to listen.
    pub listen: Vec<Listen>,
    /// Sockets that listen already, from whoever started this process.
    pub inherited: Vec<OwnedFd>,
    /// Whether clients may or must encrypt. Without: required where listening is not on loopback or
    /// a Unix socket, and optional there if there are certificates.
    pub tls_mode: Option<TlsMode>,
    /// The certificates.
    pub tls: Option<Tls>,
    /// Who sees which export.
    pub access: Access,
    /// The export that a client gets who names none.
    pub default_export: Option<String>,
    /// The processor that the data thread is bound to; without, it runs where the system puts it.
    pub cpu: Option<u32>,
    /// Whether the data thread waits awake for a client in ping-pong.
    pub latency: Latency,
    /// Pages of the pool in memory; none without.
    pub cache: Option<CacheSettings>,
    /// Where what memory evicts goes; nowhere without, and without a cache.
    pub second_level: Option<SecondPlace>,
    /// Where to listen for NFS, which is never encrypted.
    pub nfs: Vec<Listen>,
    /// How long after 1970 this is, for dates and to tell this life of the server from others.
    pub since_1970: Span,
}

/// An open [`Front`].
pub(crate) struct Doors {
    pub listeners: Vec<(Listener, TlsMode)>,
    pub nfs: Vec<Listener>,
    pub since_1970: Span,
    pub tls: Option<Tls>,
    pub access: Access,
    pub default_export: Option<String>,
    pub cache: Option<CacheSettings>,
    pub second_level: Option<SecondFile>,
    pub latency: Latency,
}

impl Front {
    /// Where it would listen and how clients would encrypt there, found out without listening; what
    /// was inherited left out.
    ///
    /// # Errors
    /// Somewhere clients could not be let in, or the processor is none of this process.
    pub fn check(&self) -> Result<Vec<String>, StartError> {
        self.check_cpu()?;
        let told =
            |listen: &Listen| Ok(with_mode(&listen.to_string(), listen.tls_mode(self.tls_mode, self.tls.is_some())?));
        let nfs = |listen: &Listen| {
            listen.tls_mode(self.clear(), false).map_err(ListenError::of_nfs)?;
            Ok(format!("{listen} (NFS)"))
        };
        Ok(self.listen.iter().map(told).chain(self.nfs.iter().map(nfs)).collect::<Result<_, ListenError>>()?)
    }

    /// What was said of clear text: NFS is not encrypted, so beyond this machine it has to be
    /// allowed.
    fn clear(&self) -> Option<TlsMode> {
        self.tls_mode.filter(|mode| *mode == TlsMode::Off)
    }

    fn check_cpu(&self) -> Result<(), StartError> {
        let Some(cpu) = self.cpu else { return Ok(()) };
        let allowed = usage::allowed()?;
        if allowed.contains(&cpu) {
            return Ok(());
        }
        let allowed = allowed.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        Err(StartError::Cpu { cpu, allowed })
    }

    /// Listens.
    fn open(mut self) -> Result<Doors, StartError> {
        let inherited = std::mem::take(&mut self.inherited).into_iter().enumerate();
        let inherited = inherited.map(|(number, socket)| Listener::inherited(number + 3, socket));
        let listeners = inherited.chain(self.listen.iter().map(Listen::open)).map(|listener| {
            let listener = listener?;
            let mode = listener.tls_mode(self.tls_mode, self.tls.is_some())?;
            Ok((listener, mode))
        });
        let listeners = listeners.collect::<Result<Vec<_>, ListenError>>()?;
        let nfs = self.nfs.iter().map(|listen| {
            let listener = listen.open().map_err(ListenError::of_nfs)?;
            listener.tls_mode(self.clear(), false).map_err(ListenError::of_nfs)?;
            Ok(listener)
        });
        let nfs = nfs.collect::<Result<Vec<_>, ListenError>>()?;
        let Front { tls, access, default_export, cache, since_1970, second_level, latency, .. } = self;
        let second_level = second_level.filter(|_| cache.is_some()).map(|place| place.open()).transpose()?;
        Ok(Doors { listeners, nfs, tls, access, default_export, cache, second_level, latency, since_1970 })
    }
}

fn with_mode(address: &str, mode: TlsMode) -> String {
    match mode {
        TlsMode::Off => address.into(),
        TlsMode::Optional => format!("{address} (TLS optional)"),
        TlsMode::Required => format!("{address} (TLS required)"),
    }
}

impl Doors {
    /// Whether any connection may be encrypted.
    pub(crate) fn encrypts(&self) -> bool {
        self.listeners.iter().any(|(_, mode)| *mode != TlsMode::Off)
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
        let cpu = front.cpu;
        let doors = front.open()?;
        let listening = doors.listeners.iter().map(|(listener, mode)| with_mode(&listener.address, *mode));
        let listening =
            listening.chain(doors.nfs.iter().map(|listener| format!("{} (NFS)", listener.address))).collect();
        let limits = limits.within(&settings, doors.listeners.len() + doors.nfs.len(), doors.encrypts());
        let longest = limits.longest();
        let cache = doors.cache.map(|cache| CacheMemory { memory: cache.memory, page: Bytes(cache.page.into()) });
        // What the maps need for themselves is not the clients'.
        settings.slab.0 += MappedVolumes::MEMORY.0;
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
        Ok(Shard { orders: Some(orders), waker, backend, listening, longest, cache, thread: Some(thread) })
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

/// What passed a ceiling or group, as a trace.
pub fn trace_of(passed: &Passed) -> DispatchTrace {
    let mut trace = DispatchTrace::default();
    for bin in &passed.trace {
        trace.add_bin(bin.at, bin.tally.ops as u32, bin.tally.bytes);
    }
    trace
}
