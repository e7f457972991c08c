//! The storage server in this process, for a run: a pool made for it, the server on its data
//! thread, and the control socket.

use super::seen;
use crate::command::serve::io_settings;
use admin::CacheSeen;
use anyhow::{Context as _, Result};
use block::Bytes;
use engine::{Managed, StageError};
use qos::RegistrySettings;
use server::{Control, ControlSocket, Front, Listen, ServerLimits, Shard};
use stats::LimitsInForce;
use stats::run::PartitionRecord;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use storage::Address;
use store::{CacheSettings, Pool};
use workload::plan::CACHE_PAGE;

/// A server of a run. It is closed when this goes.
pub struct Server {
    control: Arc<Mutex<Control>>,
    _socket: ControlSocket,
    address: Address,
    /// What the partitions of its cache had done when that was last asked.
    cached: BTreeMap<u32, CacheSeen>,
}

impl Server {
    /// Makes a pool in `folder`, starts the server, with so much memory for a cache, and makes what
    /// the lines say.
    ///
    /// # Errors
    /// Whatever kept it from being ready, in one line.
    pub fn start(
        folder: &Path,
        no_io_uring: bool,
        (settings, cache): (RegistrySettings, Option<Bytes>),
        set_up: &[String],
    ) -> Result<Server> {
        let pool = Pool::create(folder)?;
        let socket = folder.join("nbd.sock");
        let control_socket = pool.control_socket();
        let limits = ServerLimits::default();
        let cache =
            cache.map(|memory| CacheSettings { memory, page: CACHE_PAGE as u32, policy: cache::Eviction::default() });
        let front = Front { listen: vec![Listen::Unix(socket.clone())], cache, ..Front::default() };
        let shard = Shard::start_behind(front, limits, io_settings(no_io_uring, limits.memory))?;
        let mut control = Control::open(pool, shard, settings)?;
        for line in set_up {
            control.execute(line).with_context(|| format!("plan: {line}"))?;
        }
        let control = Arc::new(Mutex::new(control));
        let commands = ControlSocket::open(&control_socket, Arc::clone(&control)).context("control socket")?;
        Ok(Server { control, _socket: commands, address: Address::Unix(socket), cached: BTreeMap::new() })
    }

    /// Its administration, for as long as this is held.
    pub fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where its volumes are served.
    pub fn address(&self) -> &Address {
        &self.address
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
