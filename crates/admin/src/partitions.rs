//! The partitions of the server's cache: what each may hold, and which volumes it is for.

use block::{Bytes, ObjectId};
use std::collections::{BTreeMap, BTreeSet};

/// Partitions at most, the default one counted; they have the numbers from 0, which is the default
/// one's.
pub const PARTITIONS_MAX: u32 = 64;

/// The name of the partition that has what the others leave, and the pages of all volumes that are
/// in none.
pub const DEFAULT_PARTITION: &str = "default";

/// A partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CachePartition {
    /// Its number, from 1 on.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// What it may hold, in bytes.
    pub size: u64,
    /// The volumes whose pages it has.
    pub volumes: BTreeSet<ObjectId>,
    /// It has nothing on the second level.
    pub memory_only: bool,
}

/// The memory of a server's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheMemory {
    /// All of it.
    pub memory: Bytes,
    /// A page of it.
    pub page: Bytes,
}

/// All partitions but the default one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partitions {
    /// What they are parts of; `None` where the server has no cache. They are kept all the same.
    pub memory: Option<CacheMemory>,
    by_id: BTreeMap<u32, CachePartition>,
}

impl Partitions {
    /// Those that were kept, of a server without a cache.
    pub fn new(partitions: impl IntoIterator<Item = CachePartition>) -> Partitions {
        let by_id = partitions.into_iter().map(|partition| (partition.id, partition)).collect();
        Partitions { memory: None, by_id }
    }

    /// All of them, by number.
    pub fn all(&self) -> impl Iterator<Item = &CachePartition> {
        self.by_id.values()
    }

    /// The one of that number.
    pub fn get(&self, id: u32) -> Option<&CachePartition> {
        self.by_id.get(&id)
    }

    /// The one of that name.
    pub fn named(&self, name: &str) -> Option<&CachePartition> {
        self.all().find(|partition| partition.name == name)
    }

    /// The one that a volume is in; `None` for the default one.
    pub fn of_volume(&self, volume: ObjectId) -> Option<&CachePartition> {
        self.all().find(|partition| partition.volumes.contains(&volume))
    }

    /// Bytes of all of them together.
    pub fn taken(&self) -> u64 {
        self.all().fold(0, |sum, partition| sum.saturating_add(partition.size))
    }

    /// Those that have nothing on the second level, by number.
    pub fn memory_only(&self) -> Vec<u32> {
        self.all().filter(|partition| partition.memory_only).map(|partition| partition.id).collect()
    }

    /// A number that none has.
    pub(crate) fn free_number(&self) -> Option<u32> {
        (1..PARTITIONS_MAX).find(|id| !self.by_id.contains_key(id))
    }

    /// Puts one under a number, or takes it away; returns what was there.
    pub(crate) fn set(&mut self, id: u32, partition: Option<CachePartition>) -> Option<CachePartition> {
        match partition {
            Some(partition) => self.by_id.insert(id, partition),
            None => self.by_id.remove(&id),
        }
    }

    /// The sizes that they get, by number, in whole pages of at least one: as they were given, or
    /// in proportion where the memory has become less than all of them together. Only where there
    /// are more partitions than pages do the last have none, and are left out.
    pub fn sizes(&self) -> Vec<(u32, Bytes)> {
        let Some(CacheMemory { memory, page }) = self.memory else { return Vec::new() };
        let (taken, page) = (self.taken(), page.0.max(1));
        let fitted = |size: u64| match taken > memory.0 {
            // No more than the memory together: each is rounded down.
            true => (u128::from(size) * u128::from(memory.0) / u128::from(taken)) as u64,
            false => size,
        };
        let pages = |partition: &CachePartition| (fitted(partition.size) / page).max(1);
        let mut all: Vec<(u32, u64)> = self.all().map(|partition| (partition.id, pages(partition))).collect();
        // The pages of those that would have had none, one each at most, come from the largest.
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
        assert_eq!(partitions.sizes(), [(1, Bytes::kib(768)), (2, Bytes::kib(256))]);
        // Of 12 KiB 9 and 3: in whole pages 8, and one that it would not have had.
        partitions.memory = memory(12 << 10);
        assert_eq!(partitions.sizes(), [(1, Bytes::kib(8)), (2, Bytes::kib(4))]);
    }

    #[test]
    fn every_partition_has_a_page_while_there_are_pages() {
        let partition = |id, size| CachePartition { id, size, ..CachePartition::default() };
        let memory = |bytes, page| Some(CacheMemory { memory: bytes, page });
        let mut partitions = Partitions::new([partition(1, 60 << 20), partition(2, 4 << 10)]);
        // Of the 64 pages the large one has nearly all, which rounds to 63.
        partitions.memory = memory(Bytes::mib(4), Bytes::kib(64));
        assert_eq!(partitions.sizes(), [(1, Bytes::kib(63 * 64)), (2, Bytes::kib(64))]);
        // A page is larger than it was: that is no reason to have none.
        partitions.memory = memory(Bytes::mib(64), Bytes::kib(64));
        assert_eq!(partitions.sizes(), [(1, Bytes::mib(60)), (2, Bytes::kib(64))]);
        // Three small ones would have none of the 16 pages: the large one gives them one each.
        let small = (2..5).map(|id| partition(id, 4 << 10));
        let mut partitions = Partitions::new([partition(1, 1 << 20)].into_iter().chain(small));
        partitions.memory = memory(Bytes::mib(1), Bytes::kib(64));
        let expected = [(1, 13), (2, 1), (3, 1), (4, 1)].map(|(id, pages)| (id, Bytes::kib(pages * 64)));
        assert_eq!(partitions.sizes(), expected);
        // 20 partitions of 1 MiB, and 16 pages.
        let mut partitions = Partitions::new((1..=20).map(|id| partition(id, 1 << 20)));
        partitions.memory = memory(Bytes::mib(1), Bytes::kib(64));
        assert_eq!(partitions.sizes(), (1..=16).map(|id| (id, Bytes::kib(64))).collect::<Vec<_>>());
    }
}
