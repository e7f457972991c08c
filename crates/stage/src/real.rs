//! The real stage: the hosts' clients on one thread, the storage server in this process if the plan
//! has volumes of it, connected by NBD over a Unix socket, and the plan's other places.

use crate::served::Server;
use crate::{Places, link_settings, linked, path, registry_settings, seen, set_up, silent};
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Bytes, Span, Target, Time};
use engine::{
    Lane, Late, LinkWaits, Managed, Player, RandomMemory, RemoteWorker, Second, Stage, StageError, Worker,
    WorkloadSecond,
};
use server::io_settings;
use stats::Tape;
use std::collections::HashSet;
use std::path::Path;
use storage::{Address, Connection, LossCounts, NfsFile};
use uring::{Clock, Io, IoSettings, usage};
use workload::plan::Volume;
use workload::{Plan, Range, Spec, Stream};

/// Memory of the clients' thread, at least and at most: the data of every write until its answer.
const CLIENT_MEMORY: [Bytes; 2] = [Bytes::mib(512), Bytes::gib(4)];

/// The server, its clients, and what they did.
pub struct Real {
    // The clients are dropped before the server, so that it does not cut their connections.
    worker: RemoteWorker,
    server: Option<Server>,
    backend: String,
    clock: Clock,
    last: Time,
    /// How often connections had begun to wait for the server's link when last asked.
    link_waits: LinkWaits,
    /// Each workload and its first volume, as messages name them.
    names: Vec<String>,
}

impl Real {
    /// Connects the hosts to the plan's places and, where it has volumes of its own server, to
    /// that: makes a pool in `folder` for it, starts it, makes the volumes and fills them. `filled`
    /// gets the bytes written so far and of all; its answer is whether to go on.
    ///
    /// # Errors
    /// Whatever kept it from being ready, in one line.
    pub fn start(
        plan: &Plan,
        places: Places,
        folder: Option<&Path>,
        no_io_uring: bool,
        mut filled: impl FnMut(u64, u64) -> bool,
    ) -> Result<Real> {
        let served = plan.volumes.iter().filter(|volume| volume.is_served());
        let lines = set_up(plan, served);
        let settings = || (registry_settings(plan), &plan.settings);
        let start = |folder| Server::start(folder, no_io_uring, settings(), &lines);
        let server = folder.map(start).transpose()?;
        server.iter().try_for_each(|server| server.control().record())?;
        let address = server.as_ref().map(|server| server.address().clone());
        if let Some(address) = &address {
            fill(plan, address, no_io_uring, &mut filled)?;
        }
        let backend = match &server {
            Some(server) => server.backend(),
            None => client_io(no_io_uring, 0)?.backend().to_string(),
        };
        let own = server.as_ref().map(|server| match server.nfs() {
            Some(port) => Own::Nfs(port),
            None => Own::Nbd(server.address().clone()),
        });
        let worker = hosts(plan, places, own, no_io_uring)?;
        let clock = Clock::new();
        let volume = |of: &[usize]| &plan.volumes[of[0]].name;
        let names = plan.workloads.iter().map(|load| format!("{} on volume {}", load.name, volume(&load.volumes)));
        let names = names.collect();
        Ok(Real { worker, server, backend, clock, last: clock.now(), link_waits: LinkWaits::default(), names })
    }

    /// Sets the limits of connections to the server. Filling the volumes and measuring the machine
    /// come before and are no part of the run.
    ///
    /// # Errors
    /// The server is gone.
    pub fn limit_link(&self, plan: &Plan) -> Result<()> {
        self.server.iter().try_for_each(|server| server.control().shard().limit_link(link_settings(plan)))?;
        Ok(())
    }

    /// What the server's I/O runs on; without a server, what the hosts' does.
    pub fn backend(&self) -> &str {
        &self.backend
    }

    /// Runs the workloads as `specs` say for `length` after a second of settling, then stops them.
    /// Returns the operations per second of all, and the mean time that the device took for one.
    ///
    /// # Errors
    /// The server or the clients failed.
    pub fn measure(&mut self, plan: &Plan, specs: &[Spec], length: Span) -> Result<(f64, Span), StageError> {
        for (workload, spec) in specs.iter().enumerate() {
            self.reshape(workload, spec)?;
        }
        self.run(self.now() + Span::SECOND)?;
        let from = self.now();
        let second = self.run(from + length)?;
        let took = self.now().since(from);
        for (workload, load) in plan.workloads.iter().enumerate() {
            self.reshape(workload, &silent(&load.spec))?;
        }
        // What is in flight ends before anything else begins; a disk that takes longer than this is
        // no use anyway.
        let give_up = self.now() + Span::from_secs(30);
        while self.now() < give_up {
            let rest = self.run(self.now() + Span::from_millis(50))?;
            if rest.workloads.iter().all(|workload| workload.outstanding == 0) {
                break;
            }
        }
        let operations: u64 = second.workloads.iter().map(|workload| workload.tape.ops()).sum();
        let elsewhere = second.workloads.iter().zip(&plan.workloads);
        let elsewhere = elsewhere.filter(|(_, load)| !plan.volumes[load.volumes[0]].is_served());
        let mut device = second.device();
        elsewhere.for_each(|(seen, _)| device.merge(&seen.tape.merged(|track| &track.service)));
        Ok((operations as f64 / took.as_secs_f64(), device.mean()))
    }
}

impl Stage for Real {
    fn managed(&mut self) -> Option<&mut dyn Managed> {
        self.server.as_mut().map(|server| server as &mut dyn Managed)
    }

    fn reshape(&mut self, workload: usize, spec: &Spec) -> Result<(), StageError> {
        self.worker.reshape(workload, spec).map_err(|error| StageError(error.to_string()))
    }

    fn run(&mut self, until: Time) -> Result<Second, StageError> {
        let (workloads, client_cpu) = self.worker.run(until).map_err(|error| StageError(error.to_string()))?;
        fail_when_lost(&workloads, &self.names)?;
        let now = self.clock.now();
        let length = now.since(self.last).as_secs_f64().max(1e-3);
        self.last = now;
        let client_busy = client_cpu.as_secs_f64() / length;
        let Some(server) = &self.server else {
            return Ok(Second { workloads, client_busy, ..Second::default() });
        };
        let control = server.control();
        let account = control.account().map_err(|error| StageError(error.to_string()))?;
        let groups: Vec<_> = account.groups().map(|(group, trace)| seen::group(&*control, group, trace)).collect();
        let mut objects = seen::objects(&*control, account.objects, &account.said, &account.cached);
        objects.extend(groups);
        let link = control.look(|_, at| at.world.link()).ok().flatten().unwrap_or_default();
        drop(control);
        let link = linked::waits(&link).since(&mut self.link_waits);
        Ok(Second {
            workloads,
            objects,
            server_busy: account.cpu.as_secs_f64() / length,
            client_busy,
            stalled: account.stalled,
            link,
            advice: admin::advice(&account.gate).unwrap_or_default(),
        })
    }

    fn now(&self) -> Time {
        self.clock.now()
    }
}

/// Fails if storage was lost, which must not look like slow storage.
fn fail_when_lost(workloads: &[WorkloadSecond], names: &[String]) -> Result<(), StageError> {
    let of = |(workload, name): (&WorkloadSecond, &String)| {
        let failed: u64 = workload.tape.tracks().map(|track| track.failed).sum();
        let told: Vec<String> = workload.reasons.failed_lines().chain(workload.losses.lines()).collect();
        let noun = if failed == 1 { "request" } else { "requests" };
        (failed > 0).then(|| match told.is_empty() {
            true => format!("{name}: {failed} {noun} failed; the server's log says why"),
            false => format!("{name}: {}", told.join("; ")),
        })
    };
    match workloads.iter().zip(names).find_map(of) {
        Some(why) => Err(StageError(why)),
        None => Ok(()),
    }
}

/// All hosts' clients on one thread, with as many connections as any phase needs, silent for now.
/// Those of storage that a phase makes connect when they are first used.
fn hosts(plan: &Plan, places: Places, server: Option<Own>, no_io_uring: bool) -> Result<RemoteWorker> {
    let plan = plan.clone();
    RemoteWorker::start("hosts", move || {
        let io = client_io(no_io_uring, data_outstanding(&plan))?;
        let now = io.clock().now();
        let mut clients = Clients { plan, places, server, io: io.clone(), late: HashSet::new() };
        let mut lanes = Vec::new();
        for workload in 0..clients.plan.workloads.len() {
            if clients.plan.is_late(workload) {
                clients.late.insert(workload);
            } else {
                lanes.extend(clients.connect(workload, now)?);
            }
        }
        let worker = Worker::new(clients.plan.workloads.len(), lanes);
        let late: Late = Box::new(move |workload, now| match clients.late.remove(&workload) {
            true => clients.connect(workload, now).map_err(|error| format!("{error:#}")),
            false => Ok(Vec::new()),
        });
        Ok(Player { worker, driver: Box::new(io), cpu: usage::thread_cpu, late })
    })
}

/// How hosts reach the plan's own server.
enum Own {
    Nbd(Address),
    /// On loopback, at that port.
    Nfs(u16),
}

impl Own {
    /// A connection to a volume, and the volume's size.
    fn open(&self, io: &Io, plan: &Plan, volume: &Volume) -> Result<(Box<dyn Target>, Bytes)> {
        match self {
            Own::Nbd(address) => own(io, address, &path(plan, volume)),
            Own::Nfs(port) => {
                let uri = format!("nfs://127.0.0.1:{port}/{}/{}", volume.name, volume.lun);
                let file = NfsFile::parse(&uri).map_err(|line| anyhow!("{line}"))?;
                let target = storage::own_file(io, &file, false).with_context(|| uri)?;
                let size = target.traits().size;
                Ok((Box::new(target), size))
            }
        }
    }
}

/// Connects the hosts to what they use.
struct Clients {
    plan: Plan,
    places: Places,
    server: Option<Own>,
    io: Io,
    /// The workloads whose storage is made by a phase and has not been used yet.
    late: HashSet<usize>,
}

impl Clients {
    fn connect(&self, workload: usize, now: Time) -> Result<Vec<Lane>> {
        let Clients { plan, places, server, io, .. } = self;
        let load = &plan.workloads[workload];
        let mut lanes = Vec::new();
        for lane in 0..plan.connections(workload) {
            let index = load.volume_of(lane);
            let volume = &plan.volumes[index];
            let (target, size, losses) = match (places.open(io, index)?, server) {
                (Some(opened), _) => (opened.target, volume.size.unwrap_or_default(), opened.losses),
                (None, Some(own)) => {
                    let (target, size) = own.open(io, plan, volume)?;
                    (target, size, LossCounts::default())
                }
                (None, None) => bail!("volume {}: is of the plan's own server, which does not run", volume.name),
            };
            let seed = plan.seed_of(workload);
            let spec = Spec { seed, ..silent(&load.spec) };
            lanes.push(Lane {
                workload,
                object: block::ObjectId(0),
                stream: Stream::new(&spec, size, lane, now)?,
                target,
                memory: Box::new(RandomMemory::new(io, seed.wrapping_add(u64::from(lane)))),
                losses,
            });
        }
        Ok(lanes)
    }
}

/// A connection to a volume of our own server, and the volume's size.
fn own(io: &Io, address: &Address, path: &str) -> Result<(Box<dyn Target>, Bytes)> {
    let connection = Connection::open(address, path)?;
    let size = Bytes(connection.size());
    Ok((Box::new(storage::own_connection(io, connection, false)?), size))
}

/// The clients' ring, with room for so much data. Nothing is pinned, since all of it goes through
/// sockets. Memory is taken as it is used.
fn client_io(no_io_uring: bool, data: u64) -> Result<Io> {
    let [least, most] = CLIENT_MEMORY;
    let settings = io_settings(no_io_uring, Bytes(data.clamp(least.0, most.0)));
    Ok(Io::open(&IoSettings { registered: Bytes(0), ..settings })?)
}

/// The data of all writes that a plan's workloads may have outstanding at once.
fn data_outstanding(plan: &Plan) -> u64 {
    let of = |spec: &Spec| {
        let most = u64::from(spec.connections) * u64::from(spec.arrival.most());
        let largest = spec.blocks.shares().iter().map(|share| share.size.0).max().unwrap_or(0);
        match spec.read_percent {
            100 => 0,
            _ => most * largest.next_power_of_two(),
        }
    };
    plan.phases.iter().map(|phase| phase.specs.iter().map(of).sum()).max().unwrap_or(0)
}

/// Writes every volume of our own server once (of a thin one, the part that loads use) with data
/// that cannot be compressed, through the same NBD path that the run uses. Clones have what their
/// parents have.
fn fill(plan: &Plan, address: &Address, no_io_uring: bool, filled: &mut dyn FnMut(u64, u64) -> bool) -> Result<()> {
    const BLOCK: Bytes = Bytes::mib(1);
    const DEPTH: u32 = 4;
    let served = plan.volumes.iter().enumerate().filter(|(_, volume)| volume.is_served() && volume.clone_of.is_none());
    let part = |(index, volume): (usize, &Volume)| {
        let whole = Range { offset: Bytes(0), size: volume.size };
        let used = if volume.thin { plan.used(index) } else { whole };
        (path(plan, volume), volume.size.unwrap_or_default(), used)
    };
    let parts: Vec<(String, Bytes, Range)> = served.map(part).collect();
    let length = |range: &Range| range.size.unwrap_or_default().0;
    let (all, count, seed) = (parts.iter().map(|(.., used)| length(used)).sum(), parts.len(), plan.seed);
    let names: Vec<String> = parts.iter().map(|(name, ..)| name.clone()).collect();
    let address = address.clone();
    let mut worker: RemoteWorker = RemoteWorker::start("fill", move || -> Result<Player> {
        let io = client_io(no_io_uring, count as u64 * u64::from(DEPTH) * BLOCK.0)?;
        let now = io.clock().now();
        let mut lanes = Vec::new();
        for (workload, (name, size, used)) in parts.into_iter().enumerate().filter(|(_, part)| length(&part.2) > 0) {
            let (from, length) = (used.offset.0, length(&used));
            let whole = |block: Bytes| from % block.0 == 0 && length % block.0 == 0;
            let block = [BLOCK, Bytes::kib(4)].into_iter().find(|block| whole(*block)).unwrap_or(Bytes(512));
            let spec = Spec {
                pattern: workload::Pattern::Sequential,
                read_percent: 0,
                flush_every: None,
                pace: None,
                blocks: workload::Blocks::of(block),
                range: used,
                arrival: workload::Arrival::Closed { depth: DEPTH },
                connections: 1,
                requests: Some(length / block.0),
                seed,
            };
            lanes.push(Lane {
                workload,
                object: block::ObjectId(0),
                stream: Stream::new(&spec, size, 0, now)?,
                target: own(&io, &address, &name)?.0,
                memory: Box::new(RandomMemory::new(&io, seed.wrapping_add(workload as u64))),
                losses: LossCounts::default(),
            });
        }
        let late: Late = Box::new(|_, _| Ok(Vec::new()));
        let worker = Worker::new(count, lanes);
        Ok(Player { worker, driver: Box::new(io), cpu: usage::thread_cpu, late })
    })?;
    let (clock, mut written) = (Clock::new(), 0);
    while written < all {
        let (seen, _) = worker.run(clock.now() + Span::from_millis(200))?;
        fail_when_lost(&seen, &names)?;
        written += seen.iter().map(|workload| workload.tape[Tape::WRITE].bytes).sum::<u64>();
        if !filled(written, all) {
            bail!("stopped while the volumes were being filled");
        }
    }
    Ok(())
}
