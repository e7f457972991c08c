//! The cache's part of the administration's orders, and what the thread's memory is for.

use super::Owner;
use super::orders::LOOK_UP;
use crate::shard::Order;
use admin::{CacheSeen, MemoryPart};
use block::{Bytes, ObjectId};
use cache::PartitionId;
use map::Steps;
use stats::run::Hits;
use std::collections::BTreeMap;
use store::{MappedVolumes, PartitionState};

impl Owner {
    /// Changes the cache's partitions.
    pub(super) fn divide(&mut self, order: Order, steps: &mut Steps) {
        let Some(volumes) = self.gate.inner_mut().volumes_mut() else { return };
        match order {
            Order::Divide(parts) => {
                let parts: Vec<_> = parts.into_iter().map(|(id, size)| (PartitionId(id as u8), size)).collect();
                steps.spend(LOOK_UP * parts.len() as u32);
                if let Err(error) = volumes.divide_cache(&parts) {
                    // The administration checked it, so this is a fault of ours: say so and go on as it was.
                    tracing::error!(%error, "the cache is not divided as was asked");
                }
            }
            Order::Limit(bytes) => volumes.limit_cache(bytes),
            Order::Place { object, partition } => volumes.assign_partition(object, PartitionId(partition as u8)),
            _ => {}
        }
    }

    /// What came of each partition of the cache.
    pub(super) fn cached(&self) -> BTreeMap<u32, CacheSeen> {
        let partitions = self.gate.inner().volumes().into_iter().flat_map(MappedVolumes::partitions);
        let seen = partitions.map(|(id, PartitionState { counts, size, resident })| {
            let cache::Statistics { hits, misses, inserted, evicted, invalidated } = counts;
            (u32::from(id.0), CacheSeen { hits, misses, inserted, evicted, invalidated, size, resident })
        });
        seen.collect()
    }

    /// What the reads of each object asked of the cache, where somebody records it.
    pub(super) fn asked(&mut self) -> Vec<(ObjectId, Hits)> {
        let volumes = self.gate.inner_mut().volumes_mut().filter(|_| self.accounts.are_read());
        let asked = volumes.map(MappedVolumes::take_asked).unwrap_or_default();
        asked.into_iter().map(|(object, (found, missed))| (object, Hits { found, missed })).collect()
    }

    /// What memory is for.
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
        let nodes = self.gate.inner().volumes().map_or(0, |volumes| volumes.core().usage().nodes);
        let maps = MemoryPart { name: "maps", limit: None, allowed: None, used: Bytes(nodes) };
        cache.into_iter().chain([buffers, maps]).collect()
    }
}
