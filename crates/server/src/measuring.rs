//! What the administration may ask of the data thread and the pool. Each figure is fetched when it
//! is first needed: most commands need none.

use crate::events::Events;
use crate::logins::Logins;
use crate::monitor::Monitor;
use crate::shard::{Shard, ShardGone};
use crate::tls::Tls;
use admin::{
    Aggregate, CacheSeen, CertificateSeen, ClientFile, Event, FileNode, FilesSeen, HourDone, LinkSeen, Login,
    LoginChange, MemoryPart, Named, Sample, SecondSeen, ServerSeen, World,
};
use block::{Bytes, ObjectId, Time};
use history::{Figures, Slot};
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use store::{HourlyTotals, Kind, ObjectHour, Pool};
use tree::NodeId;

/// Sizes and connections, all of one moment.
pub(crate) struct Measuring<'a> {
    shard: &'a Shard,
    pool: &'a Pool,
    monitor: &'a Monitor,
    events: &'a Events,
    logins: Logins<'a>,
    certificates: &'a [Tls],
    used: OnceCell<HashMap<ObjectId, u64>>,
    connected: OnceCell<BTreeMap<ObjectId, u64>>,
    space: OnceCell<Option<map::Usage>>,
    is_gone: Cell<bool>,
}

impl<'a> Measuring<'a> {
    /// Starts with nothing measured.
    pub(crate) fn new(
        shard: &'a Shard,
        pool: &'a Pool,
        monitor: &'a Monitor,
        events: &'a Events,
        logins: Logins<'a>,
        certificates: &'a [Tls],
    ) -> Measuring<'a> {
        let (used, connected, space, is_gone) = Default::default();
        Measuring { shard, pool, monitor, events, logins, certificates, used, connected, space, is_gone }
    }

    /// Whether all figures that were needed could be fetched.
    pub(crate) fn is_whole(&self) -> Result<(), ShardGone> {
        if self.is_gone.get() { Err(ShardGone) } else { Ok(()) }
    }

    fn told<T: Default>(&self, told: Result<T, ShardGone>) -> T {
        told.unwrap_or_else(|ShardGone| {
            self.is_gone.set(true);
            T::default()
        })
    }

    /// Measures all LUNs and files in the catalogue.
    fn measure(&self) -> HashMap<ObjectId, u64> {
        let rows = self.pool.contents().objects.values();
        let leaves: Vec<ObjectId> =
            rows.filter(|row| !matches!(row.kind, Kind::Svm | Kind::Qtree)).map(|row| ObjectId(row.id)).collect();
        let used = self.told(self.shard.used(leaves.clone()));
        leaves.into_iter().zip(used).collect()
    }
}

impl World for Measuring<'_> {
    fn used(&self, leaf: ObjectId) -> u64 {
        self.used.get_or_init(|| self.measure()).get(&leaf).copied().unwrap_or(0)
    }

    fn files(&self, volume: ObjectId) -> FilesSeen {
        self.told(self.shard.files(volume))
    }

    fn has_file(&self, volume: ObjectId, name: &str) -> bool {
        self.told(self.shard.has_file(volume, name))
    }

    fn client_file(&self, volume: ObjectId, path: &str) -> Option<ClientFile> {
        let found = self.told(self.shard.client_file(volume, path));
        let node = |NodeId { number, generation }| FileNode { number, generation };
        found.map(|(found, used)| ClientFile { node: node(found), used })
    }

    fn length(&self, file: ObjectId) -> u64 {
        self.told(self.shard.length(file))
    }

    fn owned(&self, trees: &mut dyn Iterator<Item = ObjectId>) -> u64 {
        self.told(self.shard.owned(trees.collect()))
    }

    fn connections(&self, leaf: ObjectId) -> u64 {
        self.connected.get_or_init(|| self.told(self.shard.connected())).get(&leaf).copied().unwrap_or(0)
    }

    fn sample(&self) -> Arc<Sample> {
        self.monitor.latest()
    }

    fn cache(&self) -> Option<BTreeMap<u32, CacheSeen>> {
        self.shard.cache().map(|_| self.told(self.shard.cached()))
    }

    fn link(&self) -> Option<LinkSeen> {
        Some(self.told(self.shard.link()))
    }

    fn second_level(&self) -> Option<SecondSeen> {
        self.told(self.shard.second_level())
    }

    fn memory(&self) -> Vec<MemoryPart> {
        self.told(self.shard.memory()).into_iter().chain([self.monitor.memory()]).collect()
    }

    fn memory_most(&self) -> Option<Bytes> {
        self.monitor.memory_most()
    }

    fn logins(&self) -> Result<Vec<Login>, String> {
        self.logins.list()
    }

    fn change_login(&self, change: &LoginChange) -> Result<(), String> {
        self.logins.change(change)
    }

    fn certificates(&self) -> Vec<CertificateSeen> {
        let mut all: Vec<CertificateSeen> = Vec::new();
        for seen in self.certificates.iter().flat_map(Tls::seen) {
            // The same file may serve both NBD and REST.
            if !all.contains(&seen) {
                all.push(seen);
            }
        }
        all
    }

    fn events(&self) -> Vec<Arc<Event>> {
        self.events.list()
    }

    fn day(&self, since: Time) -> Vec<Arc<Slot>> {
        self.monitor.since(since)
    }

    fn counted(&self, object: ObjectId) -> Figures {
        self.monitor.counted(object)
    }

    fn server(&self) -> Option<ServerSeen> {
        Some(ServerSeen { flush_failed: self.pool.has_doubt(), ..self.monitor.server() })
    }

    fn hours(&self, named: &Named, hours: Range<u64>) -> Result<Vec<HourDone>, String> {
        let found = HourlyTotals::of(self.pool.dir(), &named.path, &named.volume, hours);
        let done = |ObjectHour { hour, seconds, figures }| HourDone { hour, seconds, figures };
        found.map(|hours| hours.into_iter().map(done).collect()).map_err(|error| error.to_string())
    }

    fn aggregate(&self) -> Option<Aggregate> {
        let name = self.aggregate_name()?;
        let space = self.space.get_or_init(|| self.told(self.shard.space()));
        let map::Usage { used, capacity, .. } = (*space)?;
        Some(Aggregate { name, size: capacity, available: capacity.saturating_sub(used) })
    }

    fn aggregate_name(&self) -> Option<String> {
        Some(self.pool.name())
    }

    /// A random number from the kernel; without /proc, the time since the clock's start has to do.
    fn uuid(&self) -> u128 {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
        let parsed = u128::from_str_radix(&text.trim().replace('-', ""), 16);
        parsed.unwrap_or_else(|_| u128::from(uring::Clock::new().now().as_nanos()))
    }
}
