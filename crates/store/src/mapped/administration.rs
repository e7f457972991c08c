//! Changes of structure: LUNs and snapshots made, shared, restored, resized and deleted, each
//! durable when it is answered.

use super::PartitionState;
use super::cached::Cached;
use super::second::{Second, SecondFile, SecondState};
use super::{ADMINISTRATION, MappedVolumes};
use block::{Bytes, ObjectId};
use cache::{PartitionId, PartitionRefusal};
use map::{Agreed, Ask, Ended, What};
use std::path::PathBuf;

impl MappedVolumes {
    /// Asks for a change of an object's tree. Its answer comes by [`MappedVolumes::take_answers`]
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

    /// Asks for changes of several objects' trees that are done at one moment, or none of them; see
    /// [`map::Core::submit_together`]. Returns the number of the one answer.
    pub fn administer_together(&mut self, changes: Vec<(ObjectId, What)>) -> u64 {
        self.next_ticket += 1;
        let id = self.next_ticket & (ADMINISTRATION - 1);
        let changes: Vec<(u32, What)> = changes.into_iter().map(|(object, what)| (object.0, what)).collect();
        self.begin_structure(id, changes.iter().map(|(tree, _)| *tree).collect());
        self.core.submit_together(id | ADMINISTRATION, changes);
        id
    }

    /// Has the maps keep what is known of the catalogue, durably. Returns the number of its answer.
    pub fn agree(&mut self, agreed: Agreed) -> u64 {
        self.next_ticket += 1;
        let id = self.next_ticket & (ADMINISTRATION - 1);
        self.core.agree(id | ADMINISTRATION, agreed);
        id
    }

    /// What was refused on its face is answered already.
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

    /// Has exactly these partitions of the cache be there beside the default one; those of
    /// `memory_only` have nothing on a second level. Without a cache there is nothing to do.
    ///
    /// # Errors
    /// They are more than the cache, one has no page, or a number cannot be; nothing was changed.
    pub fn divide_cache(
        &mut self,
        partitions: &[(PartitionId, Bytes)],
        memory_only: &[PartitionId],
    ) -> Result<(), PartitionRefusal> {
        self.cached.as_mut().map_or(Ok(()), |cached| cached.divide(partitions, memory_only))
    }

    /// Has the pages of a LUN be in a partition.
    pub fn assign_partition(&mut self, object: ObjectId, partition: PartitionId) {
        self.cached.iter_mut().for_each(|cached| cached.assign(object.0, partition));
    }

    /// Has the cache keep so much at most, the default partition less first: memory is short, or no
    /// longer.
    pub fn limit_cache(&mut self, size: Bytes) {
        self.cached.iter_mut().for_each(|cached| cached.limit(size));
    }

    /// Has what memory evicts go to a second level from now on. False where there is no cache, or
    /// the slab has no [`super::SecondPlace::BUFFERS`] left: then it is served without one.
    pub fn add_second_level(&mut self, opened: SecondFile) -> bool {
        self.cached.as_mut().is_some_and(|cached| cached.add_second(&self.io, opened))
    }

    /// The second level of the cache, where there is one.
    pub fn second_level(&self) -> Option<SecondState> {
        self.cached.as_ref()?.second.as_ref().map(Second::state)
    }

    /// Which second level was turned off and why, told once.
    pub fn take_second_failure(&mut self) -> Option<(PathBuf, String)> {
        self.cached.as_mut()?.second.as_mut()?.take_failure()
    }

    /// What the reads of each object asked of the cache since this was last called: pages found,
    /// and missed.
    pub fn take_asked(&mut self) -> Vec<(ObjectId, (u64, u64))> {
        let asked = self.cached.as_mut().map(Cached::take_asked).unwrap_or_default();
        asked.into_iter().map(|(tree, asked)| (ObjectId(tree), asked)).collect()
    }

    /// The partitions of the cache with what they hold and what came of them; none without a cache.
    pub fn partitions(&self) -> impl Iterator<Item = (PartitionId, PartitionState)> {
        let numbers = (0..cache::PARTITIONS_MAX as u8).map(PartitionId);
        numbers.filter_map(|id| Some((id, self.partition(id)?)))
    }

    /// What a partition holds and what came of it.
    pub fn partition(&self, partition: PartitionId) -> Option<PartitionState> {
        self.cached.as_ref()?.state(partition)
    }

    /// Moves the answers to what was administered to the end of `out`.
    pub fn take_answers(&mut self, out: &mut Vec<Ended>) {
        out.append(&mut self.answers);
    }
}
