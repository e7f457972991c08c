//! Changes of structure: LUNs and snapshots are created, shared, restored, resized and deleted.
//! Each is durable when it is answered.

use super::PartitionState;
use super::cached::Cached;
use super::second::{Second, SecondFile, SecondState};
use super::{ADMINISTRATION, MappedVolumes};
use block::{Bytes, ObjectId};
use cache::{PartitionId, PartitionRefusal};
use map::{Agreed, Ask, Ended, What};
use std::path::PathBuf;

impl MappedVolumes {
    /// Asks for a change of an object's tree. The answer comes from [`MappedVolumes::take_answers`]
    /// after a poll, with the number that this returns.
    pub fn administer(&mut self, object: ObjectId, what: What) -> u64 {
        self.next_ticket += 1;
        let id = self.next_ticket & (ADMINISTRATION - 1);
        if !matches!(what, What::Flush | What::Checkpoint | What::Anchor) {
            self.begin_structure(id, vec![object.0]);
        }
        let ask = Ask { id: id | ADMINISTRATION, tree: object.0, at: 0, len: 0, what, fua: true, aligned: true };
        self.core.submit(ask);
        self.sort_answers();
        id
    }

    /// Asks for an atomic change of several objects' trees; see [`map::Core::submit_together`].
    /// Returns the number of the one answer.
    pub fn administer_together(&mut self, changes: Vec<(ObjectId, What)>) -> u64 {
        self.next_ticket += 1;
        let id = self.next_ticket & (ADMINISTRATION - 1);
        let changes: Vec<(u32, What)> = changes.into_iter().map(|(object, what)| (object.0, what)).collect();
        self.begin_structure(id, changes.iter().map(|(tree, _)| *tree).collect());
        self.core.submit_together(id | ADMINISTRATION, changes);
        id
    }

    /// Makes the maps record, durably, what is known of the catalogue. Returns the number of the
    /// answer.
    pub fn agree(&mut self, agreed: Agreed) -> u64 {
        self.next_ticket += 1;
        let id = self.next_ticket & (ADMINISTRATION - 1);
        self.core.agree(id | ADMINISTRATION, agreed);
        id
    }

    /// What was refused immediately is answered already.
    fn sort_answers(&mut self) {
        let mut events = Vec::new();
        self.core.take_events(&mut events);
        let (ours, others): (Vec<_>, Vec<_>) = events.into_iter().partition(|ended| ended.id & ADMINISTRATION != 0);
        ours.into_iter().for_each(|ended| self.answer_administration(ended));
        self.events.extend(others);
    }

    pub(super) fn answer_administration(&mut self, ended: Ended) {
        let id = ended.id & !ADMINISTRATION;
        self.cached.iter_mut().for_each(|cached| cached.end_structure(id));
        self.answers.push(Ended { id, ..ended });
    }

    fn begin_structure(&mut self, id: u64, trees: Vec<u32>) {
        if let Some(cached) = &mut self.cached {
            cached.begin_structure(id, trees);
        }
    }

    /// Makes these the only partitions of the cache, beside the default one. Those in `memory_only`
    /// do not use a second level. Without a cache it does nothing.
    ///
    /// # Errors
    /// They exceed the cache, one is smaller than a page, or a number is invalid. Nothing was
    /// changed.
    pub fn divide_cache(
        &mut self,
        partitions: &[(PartitionId, Bytes)],
        memory_only: &[PartitionId],
    ) -> Result<(), PartitionRefusal> {
        self.cached.as_mut().map_or(Ok(()), |cached| cached.divide(partitions, memory_only))
    }

    /// Moves a LUN's pages to a partition.
    pub fn assign_partition(&mut self, object: ObjectId, partition: PartitionId) {
        self.cached.iter_mut().for_each(|cached| cached.assign(object.0, partition));
    }

    /// Limits the size of the cache, reducing the default partition first, while memory is short or
    /// after.
    pub fn limit_cache(&mut self, size: Bytes) {
        self.cached.iter_mut().for_each(|cached| cached.limit(size));
    }

    /// Adds a second level, to which evicted pages go from now on. False if there is no cache, or
    /// if the slab lacks [`super::SecondPlace::BUFFERS`]; then it is served without.
    pub fn add_second_level(&mut self, opened: SecondFile) -> bool {
        self.cached.as_mut().is_some_and(|cached| cached.add_second(&self.io, opened))
    }

    /// The second level of the cache, if there is one.
    pub fn second_level(&self) -> Option<SecondState> {
        self.cached.as_ref()?.second.as_ref().map(Second::state)
    }

    /// The second level that was turned off and the reason, reported once.
    pub fn take_second_failure(&mut self) -> Option<(PathBuf, String)> {
        self.cached.as_mut()?.second.as_mut()?.take_failure()
    }

    /// For each object, pages found and missed by its reads in the cache since the last call.
    pub fn take_asked(&mut self) -> Vec<(ObjectId, (u64, u64))> {
        let asked = self.cached.as_mut().map(Cached::take_asked).unwrap_or_default();
        asked.into_iter().map(|(tree, asked)| (ObjectId(tree), asked)).collect()
    }

    /// The partitions of the cache and their states; none without a cache.
    pub fn partitions(&self) -> impl Iterator<Item = (PartitionId, PartitionState)> {
        let numbers = (0..cache::PARTITIONS_MAX as u8).map(PartitionId);
        numbers.filter_map(|id| Some((id, self.partition(id)?)))
    }

    /// The state of a partition.
    pub fn partition(&self, partition: PartitionId) -> Option<PartitionState> {
        self.cached.as_ref()?.state(partition)
    }

    /// Moves the answers to changes of structure to the end of `out`.
    pub fn take_answers(&mut self, out: &mut Vec<Ended>) {
        out.append(&mut self.answers);
    }
}
