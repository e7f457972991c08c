//! `cache`: partitions of the server's cache. Everything is checked before anything is changed, so
//! a refused command leaves every partition as it was.

use super::{AdminError, Answer, Errand, Obstacle, list};
use crate::partitions::{CacheMemory, CachePartition, DEFAULT_PARTITION, PARTITIONS_MAX};
use crate::{CacheSeen, Effect, path_of};
use block::ObjectId;
use ontap::catalogue::{CacheCommand, CachePartitionCreate, CachePartitionDelete, CachePartitionModify};
use ontap::show::{CacheCounts, CachePartitionRow, CacheStatisticsRow, Listing, MemoryRow, SecondLevelRow};
use ontap::value::{ObjectName, UnitSize, VolumeList};
use qos::ObjectKind;
use std::collections::BTreeSet;

impl Errand<'_> {
    pub(super) fn cache(&mut self, command: CacheCommand) -> Result<Answer, AdminError> {
        match command {
            CacheCommand::Create(create) => self.create_partition(&create),
            CacheCommand::Modify(modify) => self.modify_partition(&modify),
            CacheCommand::Delete(delete) => self.delete_partition(&delete),
            CacheCommand::Show(selection) => {
                let rows = self.partition_rows().into_iter();
                Ok(Answer::Rows(Listing::measured(rows, &selection, self.units, |id, row| {
                    let seen = self.at.world.cache();
                    row.counts = seen.as_ref().map(|seen| counts_of(seen.get(&id).copied().unwrap_or_default()));
                })))
            }
            CacheCommand::SecondLevel(selection) => {
                let rows = self.at.world.second_level().into_iter().map(|seen| SecondLevelRow {
                    path: seen.path,
                    failed: seen.failed,
                    size: seen.size.0,
                    hits: seen.hits,
                    written: seen.written,
                    unused: seen.unused,
                    spared: seen.spared,
                    evicted: seen.evicted,
                    invalidated: seen.invalidated,
                });
                self.listed(rows, &selection)
            }
            CacheCommand::Memory(selection) => {
                let parts = self.at.world.memory().into_iter().map(|part| MemoryRow {
                    part: part.name.into(),
                    limit: part.limit.map(|bytes| bytes.0),
                    allowed: part.allowed.map(|bytes| bytes.0),
                    used: part.used.0,
                });
                let mut parts: Vec<MemoryRow> = parts.collect();
                let (most, used) =
                    (self.at.world.memory_most().map(|bytes| bytes.0), parts.iter().map(|part| part.used).sum());
                parts.push(MemoryRow { part: "all".into(), limit: most, allowed: most, used });
                self.listed(parts, &selection)
            }
            CacheCommand::Statistics(selection) => {
                let (sample, rows) = (self.at.world.sample(), self.partition_rows());
                let is_there = |id: &u32| self.partitions.memory.is_some() || *id > 0;
                let rows = rows.into_iter().filter(|(id, _)| is_there(id)).map(|(id, row)| CacheStatisticsRow {
                    partition: row.partition,
                    size: row.size,
                    counts: counts_of(sample.cache_of(id)),
                });
                self.listed(rows, &selection)
            }
        }
    }

    /// A row for each partition, the default one first, without the figures that the world has to
    /// provide.
    fn partition_rows(&self) -> Vec<(u32, CachePartitionRow)> {
        let page = self.partitions.memory.map_or(0, |cache| cache.page.0);
        let default = CachePartitionRow {
            partition: DEFAULT_PARTITION.into(),
            size: self.partitions.rest(),
            page,
            ..Default::default()
        };
        let named = self.partitions.all().map(|known| {
            let volumes = known.volumes.iter().map(|volume| self.volume_name(*volume)).collect();
            let (partition, size, id) = (known.name.clone(), known.size, known.id);
            let memory_only = known.memory_only;
            (id, CachePartitionRow { partition, size, page, volumes: Some(volumes), counts: None, memory_only })
        });
        [(0, default)].into_iter().chain(named).collect()
    }

    fn create_partition(&mut self, create: &CachePartitionCreate) -> Result<Answer, AdminError> {
        let memory = self.cache_memory()?;
        self.check_new_name(&create.partition)?;
        let size = self.partition_size(create.size, memory, 0)?;
        let Some(id) = self.partitions.free_number() else {
            let text = format!("there are {PARTITIONS_MAX} partitions, which is the most; delete one first");
            return Err(Obstacle::PartitionsMax.told(text).given(&create.partition).into());
        };
        let volumes = self.volumes_named(create.volumes.as_ref())?;
        self.check_volumes_free(&volumes, id)?;
        let name = create.partition.as_str().to_owned();
        let memory_only = create.second_level == Some(false);
        self.change_partition(CachePartition { id, name, size, volumes, memory_only });
        Ok(Answer::default())
    }

    fn modify_partition(&mut self, modify: &CachePartitionModify) -> Result<Answer, AdminError> {
        let memory = self.cache_memory()?;
        let mut partition = self.known_partition(&modify.partition)?.clone();
        if let Some(name) = &modify.new_name {
            self.check_new_name(name)?;
            partition.name = name.as_str().into();
        }
        if let Some(size) = modify.size {
            partition.size = self.partition_size(size, memory, partition.size)?;
        }
        if let Some(second_level) = modify.second_level {
            partition.memory_only = !second_level;
        }
        if modify.volumes.is_some() {
            partition.volumes = self.volumes_named(modify.volumes.as_ref())?;
        }
        partition.volumes.extend(self.volumes_named(modify.add_volumes.as_ref())?);
        for volume in self.volumes_named(modify.remove_volumes.as_ref())? {
            if !partition.volumes.remove(&volume) {
                let volume = self.volume_name(volume);
                let text = format!("partition {} has no volume {volume}", modify.partition);
                return Err(Obstacle::NotInPartition.told(text).given(volume).about(&modify.partition).into());
            }
        }
        self.check_volumes_free(&partition.volumes, partition.id)?;
        self.change_partition(partition);
        Ok(Answer::default())
    }

    fn delete_partition(&mut self, delete: &CachePartitionDelete) -> Result<Answer, AdminError> {
        let partition = self.known_partition(&delete.partition)?.clone();
        if !partition.volumes.is_empty() && !delete.force.0 {
            let volumes: Vec<String> = partition.volumes.iter().map(|volume| self.volume_name(*volume)).collect();
            let (name, volumes) = (&partition.name, list(&volumes));
            let text =
                format!("partition {name}: is in use by {volumes}; take them out with -remove-volumes, or give -force");
            return Err(Obstacle::PartitionInUse.told(text).about(name).into());
        }
        self.place(&partition.volumes, 0);
        self.set_partition(partition.id, None);
        self.lead_to(Effect::Divide);
        Ok(Answer::default())
    }

    /// Removes a volume that is deleted from its partition.
    pub(super) fn leave_partition(&mut self, volume: ObjectId) {
        if let Some(partition) = self.partitions.of_volume(volume) {
            let mut partition = partition.clone();
            partition.volumes.remove(&volume);
            self.set_partition(partition.id, Some(partition));
        }
    }

    /// Replaces a partition.
    fn change_partition(&mut self, partition: CachePartition) {
        let (id, volumes) = (partition.id, partition.volumes.clone());
        let was = self.set_partition(id, Some(partition)).unwrap_or_default();
        self.place(&was.volumes.difference(&volumes).copied().collect(), 0);
        self.lead_to(Effect::Divide);
        self.place(&volumes.difference(&was.volumes).copied().collect(), id);
    }

    fn set_partition(&mut self, id: u32, partition: Option<CachePartition>) -> Option<CachePartition> {
        let was = self.partitions.set(id, partition);
        self.undo.partitions.push((id, was.clone()));
        was
    }

    /// Assigns the pages of all LUNs and files of these volumes to a partition, including clients'
    /// files, which are in the volume's own tree.
    fn place(&mut self, volumes: &BTreeSet<ObjectId>, partition: u32) {
        let mut leaves: Vec<ObjectId> = volumes.iter().copied().collect();
        let mut at = 0;
        while let Some(object) = leaves.get(at).and_then(|id| self.registry.object(*id)) {
            leaves.extend(object.children());
            at += 1;
        }
        let has_pages = |kind: ObjectKind| kind.has_tree() || kind == ObjectKind::Volume;
        leaves.retain(|id| self.registry.object(*id).is_some_and(|object| has_pages(object.kind())));
        self.effects.extend(leaves.into_iter().map(|object| Effect::Place { object, partition }));
    }

    fn cache_memory(&self) -> Result<CacheMemory, AdminError> {
        self.partitions.memory.ok_or_else(|| {
            let text = "this server has no cache; give it one with `memory` in [cache] of its configuration";
            Obstacle::NoCache.told(text).into()
        })
    }

    fn known_partition(&self, name: &ObjectName) -> Result<&CachePartition, AdminError> {
        if name.as_str() == DEFAULT_PARTITION {
            let text = "the default partition has what the others leave; change those";
            return Err(Obstacle::PartitionDefault.told(text).given(name).into());
        }
        self.partitions.named(name.as_str()).ok_or_else(|| {
            let known: Vec<String> = self.partitions.all().map(|partition| partition.name.clone()).collect();
            let text = format!("there is no partition {name}; there are: {}", list(&known));
            Obstacle::NoPartition.told(text).given(name).into()
        })
    }

    fn check_new_name(&self, name: &ObjectName) -> Result<(), AdminError> {
        if name.as_str() != DEFAULT_PARTITION && self.partitions.named(name.as_str()).is_none() {
            return Ok(());
        }
        Err(Obstacle::PartitionTaken.told(format!("there is a partition {name} already")).given(name).into())
    }

    /// A partition's size in whole pages, if the memory has room for it in place of the previous
    /// size.
    fn partition_size(&self, given: UnitSize, memory: CacheMemory, had: u64) -> Result<u64, AdminError> {
        let (all, page) = (memory.memory.0, memory.page.0);
        let bytes = given.bytes(self.units).and_then(|bytes| bytes.checked_next_multiple_of(page));
        let left = all.saturating_sub(self.partitions.taken() - had);
        match bytes {
            Some(0) => {
                let text = format!("size {given}: a partition has a page of {page} bytes at least");
                Err(Obstacle::PartitionSize.told(text).given(given).into())
            }
            // If the memory has become smaller than the partitions, they may still shrink.
            Some(bytes) if bytes <= left || bytes < had => Ok(bytes),
            _ => {
                let [_, left, all] = self.sizes([bytes.unwrap_or(u64::MAX), left / page * page, all]);
                let text = format!(
                    "size {given}: the other partitions leave {left} of the cache's {all}; give less, or make one of \
                     them smaller"
                );
                Err(Obstacle::BeyondMemory.told(text).given(given).into())
            }
        }
    }

    /// The volumes in a list.
    fn volumes_named(&self, list: Option<&VolumeList>) -> Result<BTreeSet<ObjectId>, AdminError> {
        let mut found = BTreeSet::new();
        for name in list.iter().flat_map(|list| &list.0) {
            let svm = self.svm_of_listed(name)?;
            let volume = self.known_volume(svm, name.volume.as_str())?;
            if !found.insert(volume) {
                return Err(Obstacle::VolumeTwice.told(format!("volume {name} is named twice")).given(name).into());
            }
        }
        Ok(found)
    }

    /// Checks that none of the volumes is in another partition.
    fn check_volumes_free(&self, volumes: &BTreeSet<ObjectId>, but: u32) -> Result<(), AdminError> {
        for volume in volumes {
            if let Some(other) = self.partitions.of_volume(*volume).filter(|other| other.id != but) {
                let (volume, name) = (self.volume_name(*volume), &other.name);
                let text = format!(
                    "volume {volume} is in partition {name}, and in one at most; take it out there first with \
                     `cache partition modify {name} -remove-volumes {volume}`"
                );
                return Err(Obstacle::VolumeTwice.told(text).given(volume).about(name).into());
            }
        }
        Ok(())
    }

    /// `svm01:data`
    fn volume_name(&self, volume: ObjectId) -> String {
        debug_assert!(self.registry.object(volume).is_none_or(|object| object.kind() == ObjectKind::Volume));
        path_of(self.registry, volume).unwrap_or_default().replacen(":/vol/", ":", 1)
    }
}

fn counts_of(seen: CacheSeen) -> CacheCounts {
    let CacheSeen { hits, misses, inserted, evicted, invalidated, second_hits, .. } = seen;
    let (allowed, resident, second_resident) = (seen.size.0, seen.resident.0, seen.second_resident.0);
    CacheCounts { hits, misses, inserted, evicted, invalidated, allowed, resident, second_hits, second_resident }
}
