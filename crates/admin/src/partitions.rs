//! The partitions of the server's cache: their sizes and their volumes.

use block::{Bytes, ObjectId};
use std::collections::{BTreeMap, BTreeSet};

/// Most partitions, including the default one. Their numbers start at 0, which is the default
/// one's.
pub const PARTITIONS_MAX: u32 = 64;

/// The default partition: it has the memory that the others leave, and the pages of all other
/// volumes.
pub const DEFAULT_PARTITION: &str = "default";

/// A partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CachePartition {
    /// Its number, from 1 on.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its size, in bytes.
    pub size: u64,
    /// The volumes whose pages it holds.
    pub volumes: BTreeSet<ObjectId>,
    /// Whether it does not use the second level.
    pub memory_only: bool,
}

/// The memory of a server's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheMemory {
    /// The whole memory.
    pub memory: Bytes,
    /// The size of a page.
    pub page: Bytes,
}

/// All partitions but the default one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partitions {
    /// The memory that they divide; `None` if the server has no cache. Partitions are kept all the
    /// same.
    pub memory: Option<CacheMemory>,
    by_id: BTreeMap<u32, CachePartition>,
}

impl Partitions {
    /// Stored partitions, on a server without a cache.
    pub fn new(partitions: impl IntoIterator<Item = CachePartition>) -> Partitions {
        let by_id = partitions.into_iter().map(|partition| (partition.id, partition)).collect();
        Partitions { memory: None, by_id }
    }

    /// All partitions, by number.
    pub fn all(&self) -> impl Iterator<Item = &CachePartition> {
        self.by_id.values()
    }

    /// The partition with that number.
    pub fn get(&self, id: u32) -> Option<&CachePartition> {
        self.by_id.get(&id)
    }

    /// The partition with that name.
    pub fn named(&self, name: &str) -> Option<&CachePartition> {
        self.all().find(|partition| partition.name == name)
    }

    /// The partition of a volume; `None` for the default one.
    pub fn of_volume(&self, volume: ObjectId) -> Option<&CachePartition> {
        self.all().find(|partition| partition.volumes.contains(&volume))
    }

    /// The sum of their sizes, in bytes.
    pub fn taken(&self) -> u64 {
        self.all().fold(0, |sum, partition| sum.saturating_add(partition.size))
    }

    /// The numbers of those that do not use the second level.
    pub fn memory_only(&self) -> Vec<u32> {
        self.all().filter(|partition| partition.memory_only).map(|partition| partition.id).collect()
    }

    /// An unused number.
    pub(crate) fn free_number(&self) -> Option<u32> {
        (1..PARTITIONS_MAX).find(|id| !self.by_id.contains_key(id))
    }

    /// Sets or removes the partition with that number; returns the previous one.
    pub(crate) fn set(&mut self, id: u32, partition: Option<CachePartition>) -> Option<CachePartition> {
        match partition {
            Some(partition) => self.by_id.insert(id, partition),
            None => self.by_id.remove(&id),
        }
    }

    /// What the default partition has: what the others leave.
    pub fn rest(&self) -> u64 {
        let taken: u64 = self.sizes().iter().map(|(_, size)| size.0).sum();
        self.memory.map_or(0, |cache| cache.memory.0.saturating_sub(taken))
    }

    /// Whether the memory has become smaller than the sum of the configured sizes.
    pub fn are_reduced(&self) -> bool {
        self.memory.is_some_and(|cache| self.taken() > cache.memory.0)
    }

    /// The sizes in force, by number, in whole pages of at least one. They are as configured, or
    /// reduced in proportion if the memory has become smaller than their sum; the default partition
    /// then counts as one of their mean size. If there are more partitions than pages, the last
    /// ones get none and are left out.
    pub fn sizes(&self) -> Vec<(u32, Bytes)> {
        let Some(CacheMemory { memory, page }) = self.memory else { return Vec::new() };
        let (taken, page) = (self.taken(), page.0.max(1));
        let count = self.by_id.len() as u64;
        let fitted = |size: u64| match self.are_reduced() {
            // Each is rounded down, so their sum does not exceed the memory.
            true => {
                let (others, all) = (u128::from(memory.0) * u128::from(count), u128::from(count + 1));
                (u128::from(size) * others / (u128::from(taken) * all)) as u64
            }
            false => size,
        };
        let pages = |partition: &CachePartition| (fitted(partition.size) / page).max(1);
        let mut all: Vec<(u32, u64)> = self.all().map(|partition| (partition.id, pages(partition))).collect();
        // The pages that partitions got by the minimum of one are taken from the largest.
        let beyond = all.iter().map(|(_, pages)| pages).sum::<u64>().saturating_sub(memory.0 / page);
        for _ in 0..beyond {
            all.iter_mut().max_by_key(|(_, pages)| *pages).into_iter().for_each(|(_, pages)| *pages -= 1);
        }
        all.into_iter().filter(|(_, pages)| *pages > 0).map(|(id, pages)| (id, Bytes(pages * page))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_less_memory_than_they_were_made_for_partitions_keep_their_proportion() {
        let partition = |id, size| CachePartition { id, size, ..CachePartition::default() };
        let mut partitions = Partitions::new([partition(1, 6 << 20), partition(2, 2 << 20)]);
        assert_eq!(partitions.sizes(), [], "there is no cache");
        let memory = |bytes| Some(CacheMemory { memory: Bytes(bytes), page: Bytes(4096) });
        partitions.memory = memory(8 << 20);
        assert_eq!(partitions.sizes(), [(1, Bytes::mib(6)), (2, Bytes::mib(2))]);
        partitions.memory = memory(1 << 20);
        // The default one has a third. The others have 512 and 170 KiB, in whole pages.
        assert_eq!(partitions.sizes(), [(1, Bytes::kib(512)), (2, Bytes::kib(168))]);
        assert_eq!((partitions.rest(), partitions.are_reduced()), (344 << 10, true));
        // Of 16 KiB 8 and 2.7: in whole pages 8, and one by the minimum.
        partitions.memory = memory(16 << 10);
        assert_eq!(partitions.sizes(), [(1, Bytes::kib(8)), (2, Bytes::kib(4))]);
    }

    #[test]
    fn every_partition_has_a_page_while_there_are_pages() {
        let partition = |id, size| CachePartition { id, size, ..CachePartition::default() };
        let memory = |bytes, page| Some(CacheMemory { memory: bytes, page });
        let mut partitions = Partitions::new([partition(1, 60 << 20), partition(2, 4 << 10)]);
        // The large one's share of the 64 pages, two thirds of them, rounds down to 42.
        partitions.memory = memory(Bytes::mib(4), Bytes::kib(64));
        assert_eq!(partitions.sizes(), [(1, Bytes::kib(42 * 64)), (2, Bytes::kib(64))]);
        // A page is larger now, but the minimum of one still holds.
        partitions.memory = memory(Bytes::mib(64), Bytes::kib(64));
        assert_eq!(partitions.sizes(), [(1, Bytes::mib(60)), (2, Bytes::kib(64))]);
        // Three small ones would have none of the 16 pages, and one each by the minimum. The large
        // one has four fifths of nearly all.
        let small = (2..5).map(|id| partition(id, 4 << 10));
        let mut partitions = Partitions::new([partition(1, 1 << 20)].into_iter().chain(small));
        partitions.memory = memory(Bytes::mib(1), Bytes::kib(64));
        let expected = [(1, 12), (2, 1), (3, 1), (4, 1)].map(|(id, pages)| (id, Bytes::kib(pages * 64)));
        assert_eq!(partitions.sizes(), expected);
        // 20 partitions of 1 MiB, and 16 pages.
        let mut partitions = Partitions::new((1..=20).map(|id| partition(id, 1 << 20)));
        partitions.memory = memory(Bytes::mib(1), Bytes::kib(64));
        assert_eq!(partitions.sizes(), (1..=16).map(|id| (id, Bytes::kib(64))).collect::<Vec<_>>());
    }
}
