//! The storage server in this process, for a run: a pool made for it, the server with its data
//! thread, and the control socket.

use crate::seen;
use admin::CacheSeen;
use anyhow::{Context as _, Result};
use block::Bytes;
use engine::{Managed, StageError};
use qos::RegistrySettings;
use server::{Control, ControlSocket, Front, Listen, ServerLimits, Shard, io_settings};
use stats::LimitsInForce;
use stats::run::PartitionRecord;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use storage::Address;
use store::{CacheSettings, Pool, SecondPlace};
use workload::plan::{CACHE_PAGE, PlanProtocol, PlanSettings};

/// The server of a run; dropping it closes it.
pub struct Server {
    control: Arc<Mutex<Control>>,
    _socket: ControlSocket,
    address: Address,
    /// The port on loopback on which its volumes are served by NFS.
    nfs: Option<u16>,
    /// What the partitions of its cache had done when that was last asked.
    cached: BTreeMap<u32, CacheSeen>,
}

impl Server {
    /// Makes a pool in `folder`, starts the server as the plan has it, except for limits of the
    /// link, and runs the commands of `set_up`.
    ///
    /// # Errors
    /// Whatever kept it from being ready, in one line.
    pub fn start(
        folder: &Path,
        no_io_uring: bool,
        (registry, said): (RegistrySettings, &PlanSettings),
        set_up: &[String],
    ) -> Result<Server> {
        let pool = Pool::create(folder)?;
        let socket = folder.join("nbd.sock");
        let control_socket = pool.control_socket();
        let limits = ServerLimits::default();
        let cache = said.cache.map(|memory| CacheSettings {
            memory,
            page: CACHE_PAGE as u32,
            policy: cache::Eviction::default(),
        });
        // It lasts as long as the run, so there is no bound for a day.
        let second =
            |size| SecondPlace { path: folder.join("second-level"), size, writes_per_day: Bytes(u64::MAX / 4) };
        let nfs = match said.protocol {
            PlanProtocol::Nbd => Vec::new(),
            PlanProtocol::Nfs => vec!["127.0.0.1:0".parse().context("where NFS is spoken")?],
        };
        let front = Front {
            listen: vec![Listen::Unix(socket.clone())],
            cache,
            second_level: said.second_level.map(second),
            nfs,
            ..Front::default()
        };
        let shard = Shard::start_behind(front, limits, io_settings(no_io_uring, limits.memory))?;
        let nfs = shard.listening().iter().find_map(|line| {
            let address = line.strip_suffix(" (NFS)")?;
            address.rsplit_once(':')?.1.parse().ok()
        });
        let mut control = Control::open(pool, shard, registry)?;
        for line in set_up {
            control.execute(line).with_context(|| format!("plan: {line}"))?;
        }
        let control = Arc::new(Mutex::new(control));
        let commands = ControlSocket::open(&control_socket, Arc::clone(&control)).context("control socket")?;
        Ok(Server { control, _socket: commands, address: Address::Unix(socket), nfs, cached: BTreeMap::new() })
    }

    /// Its administration, locked until the guard is dropped.
    pub fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address where its volumes are served.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The port on loopback where hosts speak NFS with it, if they do.
    pub fn nfs(&self) -> Option<u16> {
        self.nfs
    }

    /// What its I/O runs on.
    pub fn backend(&self) -> String {
        self.control().shard().backend().to_string()
    }
}

impl Managed for Server {
    fn command(&mut self, line: &str) -> Result<String, StageError> {
        self.control().execute(line).map_err(|error| StageError(error.to_string()))
    }

    fn limits(&mut self) -> Vec<(String, LimitsInForce)> {
        self.control().limits()
    }

    fn used(&mut self) -> Vec<(String, Bytes)> {
        self.control().used_by_volume().unwrap_or_default()
    }

    fn partitions(&mut self) -> Vec<PartitionRecord> {
        let Server { control, cached, .. } = self;
        let control = control.lock().unwrap_or_else(PoisonError::into_inner);
        let told = control.look(|administration, at| {
            at.world.cache().map(|now| seen::partitions(administration, now, cached)).unwrap_or_default()
        });
        told.unwrap_or_default()
    }
}
