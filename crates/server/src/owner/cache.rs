//! Orders that concern the cache, and the accounting of the thread's memory.

use super::Owner;
use super::orders::LOOK_UP;
use crate::order::Order;
use admin::{CacheSeen, EventKind, MemoryPart, SecondSeen};
use block::{Bytes, ObjectId, Time};
use cache::PartitionId;
use map::Steps;
use stats::run::Hits;
use std::collections::BTreeMap;
use store::{DiskFailure, MappedVolumes, PartitionState, SecondPlace, SecondState};

impl Owner {
    /// Changes the partitions of the cache.
    pub(super) fn divide(&mut self, order: Order, steps: &mut Steps) {
        let Some(volumes) = self.gate.inner_mut().volumes_mut() else { return };
        match order {
            Order::Divide { sizes, memory_only } => {
                let parts: Vec<_> = sizes.into_iter().map(|(id, size)| (PartitionId(id as u8), size)).collect();
                let memory_only: Vec<_> = memory_only.into_iter().map(|id| PartitionId(id as u8)).collect();
                steps.spend(LOOK_UP * parts.len() as u32);
                if let Err(error) = volumes.divide_cache(&parts, &memory_only) {
                    // The administration checked it, so this is a bug: report it and keep the
                    // previous division.
                    tracing::error!(%error, "the cache is not divided as was asked");
                }
            }
            Order::Place { object, partition } => volumes.assign_partition(object, PartitionId(partition as u8)),
            _ => {}
        }
    }

    /// Limits the cache, and returns unused buffers sooner while memory is short.
    pub(super) fn limit_memory(&mut self, cache: Bytes, is_short: bool) {
        self.claims.is_short = is_short;
        self.gate.inner_mut().volumes_mut().into_iter().for_each(|volumes| volumes.limit_cache(cache));
    }

    /// Counters of each partition of the cache.
    pub(super) fn cached(&self) -> BTreeMap<u32, CacheSeen> {
        let partitions = self.gate.inner().volumes().into_iter().flat_map(MappedVolumes::partitions);
        let seen = partitions.map(|(id, PartitionState { counts, size, resident, second_hits, second_resident })| {
            let seen = CacheSeen { second_hits, second_resident, ..cache_seen(counts, size, resident) };
            (u32::from(id.0), seen)
        });
        seen.collect()
    }

    /// State of the cache's second level, if there is one.
    pub(super) fn second_seen(&self) -> Option<SecondSeen> {
        let SecondState { path, failed, size, counts, .. } = self.gate.inner().volumes()?.second_level()?;
        let cache::SecondStatistics { hits, written, unused, spared, evicted, invalidated } = counts;
        let path = path.display().to_string();
        Some(SecondSeen { path, failed, size, hits, written, unused, spared, evicted, invalidated })
    }

    /// Cache hits and misses of the reads of each object, if they are recorded.
    pub(super) fn asked(&mut self) -> Vec<(ObjectId, Hits)> {
        let volumes = self.gate.inner_mut().volumes_mut().filter(|_| self.accounts.are_read());
        let asked = volumes.map(MappedVolumes::take_asked).unwrap_or_default();
        asked.into_iter().map(|(object, (found, missed))| (object, Hits { found, missed })).collect()
    }

    /// The parts of the thread's memory.
    pub(super) fn memory(&self) -> Vec<MemoryPart> {
        let cached = self.cached();
        let sum = |of: fn(&CacheSeen) -> Bytes| Bytes(cached.values().map(|seen| of(seen).0).sum());
        let cache = self.cache.map(|cache| MemoryPart {
            name: "cache",
            limit: Some(cache.memory),
            allowed: Some(sum(|seen| seen.size)),
            used: sum(|seen| seen.resident),
        });
        let limit = Some(self.limits.memory);
        let buffers = MemoryPart { name: "buffers", limit, allowed: limit, used: Bytes(self.claims.claimed()) };
        let maps = self.gate.inner().usage().unwrap_or_default();
        let limit = Some(Bytes(maps.nodes_max)).filter(|limit| limit.0 < u64::MAX);
        let maps = MemoryPart { name: "maps", limit, allowed: limit, used: Bytes(maps.nodes) };
        let second = self.gate.inner().volumes().and_then(MappedVolumes::second_level).map(|second| {
            let limit = Some(Bytes(second.memory.0 + SecondPlace::BUFFERS.0)).filter(|_| second.failed.is_none());
            MemoryPart { name: "second level", limit, allowed: limit, used: limit.unwrap_or_default() }
        });
        cache.into_iter().chain(second).chain([buffers, maps]).collect()
    }

    /// Serves the pool from its maps, with the cache's second level if there is one.
    pub(super) fn serve(&mut self, mut volumes: MappedVolumes) {
        if let Some(opened) = self.second_level.take()
            && !volumes.add_second_level(opened)
        {
            tracing::error!("the cache's second level is not used: no memory for its segments");
        }
        self.gate.inner_mut().begin(volumes);
    }

    /// Logs failures of the disk, at most once a minute, and once that the pool therefore takes no
    /// more changes.
    pub(super) fn tell_of_failures(&mut self, now: Time) {
        let Some(volumes) = self.gate.inner_mut().volumes_mut() else { return };
        if let Some(DiskFailure { path, work, failure }) = volumes.take_stopped() {
            const WHAT: &str = "the pool takes no change until the server is started again";
            tracing::error!(path = %path.display(), %failure, "{work} failed: {WHAT}");
        }
        if let Some((DiskFailure { path, work, failure }, count)) = volumes.take_failures(now) {
            tracing::error!(path = %path.display(), %failure, count, "{work} of the pool failed");
        }
    }

    /// Reports once that the second level was switched off.
    pub(super) fn tell_of_second_level(&mut self) {
        let failure = self.gate.inner_mut().volumes_mut().and_then(MappedVolumes::take_second_failure);
        let Some((path, reason)) = failure else { return };
        const WHAT: &str = "the cache's second level is off until the server starts again; reads go to the pool";
        tracing::error!(path = %path.display(), reason, "{WHAT}");
        let text = format!("{}: {reason}: {WHAT}", path.display());
        self.notices.note(EventKind::SecondLevelFailed, path.display().to_string(), text);
    }
}

/// Counters and sizes of a partition, without a second level.
pub fn cache_seen(counts: cache::Statistics, size: Bytes, resident: Bytes) -> CacheSeen {
    let cache::Statistics { hits, misses, inserted, evicted, invalidated } = counts;
    CacheSeen { hits, misses, inserted, evicted, invalidated, size, resident, ..CacheSeen::default() }
}
