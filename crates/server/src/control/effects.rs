//! The effects of a command on data: those before the catalogue is written, those after, and how
//! they are undone if it cannot be written.

use super::atomic::AtomicChanges;
use super::{Control, ControlError};
use crate::exports::Export;
use crate::order::Order;
use crate::shard::ShardGone;
use admin::{AdminError, Administration, Effect, EventKind, Noticed, Obstacle};
use block::ObjectId;
use map::What;
use qos::ObjectKind;
use std::collections::BTreeSet;
use store::StoreError;
use tree::{FileTree, SetNode};

impl Control {
    /// Does what has to exist before the catalogue names it. If it fails, nothing is left behind.
    pub(super) fn prepare(&self, effect: &Effect) -> Result<(), ControlError> {
        match *effect {
            Effect::Make { object, size } => self.change(object, What::Create { size }),
            Effect::Resize { object, size, .. } => {
                self.change(object, What::Resize { size }).map_err(|error| self.about(object, error))
            }
            // These are applied atomically, after everything else is prepared.
            Effect::Share { .. } | Effect::Restore { .. } => Ok(()),
            Effect::Rename { .. } | Effect::Remove { .. } | Effect::Offer { .. } => Ok(()),
            Effect::Divide | Effect::Place { .. } | Effect::Junction { .. } | Effect::Permit { .. } => Ok(()),
        }
    }

    /// Changes several trees of the maps atomically.
    pub(super) fn share(&self, changes: Vec<(ObjectId, What)>) -> Result<(), ControlError> {
        if changes.is_empty() {
            return Ok(());
        }
        Ok(self.shard.change_all(changes)?.map_err(StoreError::from)?)
    }

    /// Undoes the effects. A tree that grew stays so, because the object's size is what the
    /// catalogue says. A tree that shrank must be extended again.
    pub(super) fn undo(&self, effects: &[Effect]) {
        for effect in effects {
            match *effect {
                Effect::Make { object, .. } | Effect::Share { object, .. } => drop(self.remove(object)),
                Effect::Resize { object, size, was } if size < was => {
                    let _ = self.change(object, What::Resize { size: was });
                }
                _ => {}
            }
        }
    }

    /// Adds the object's name to a refusal of the pool.
    pub(super) fn about(&self, object: ObjectId, error: ControlError) -> ControlError {
        match error {
            ControlError::Store(error @ StoreError::Refused(_)) => {
                let path = self.path_of(object).unwrap_or_default();
                AdminError::from(Obstacle::Store.told(format_args!("{path}: {error}")).about(path)).into()
            }
            other => other,
        }
    }

    /// Deletes the data of a LUN or file.
    pub(super) fn remove(&self, object: ObjectId) -> Result<(), ControlError> {
        self.change(object, What::Delete)
    }

    /// Deletes the data of several LUNs and files in one record.
    pub(super) fn remove_all(&self, objects: &[ObjectId]) -> Result<(), ControlError> {
        self.share(objects.iter().map(|object| (*object, What::Delete)).collect())
    }

    /// Does what follows a change of the catalogue. Everything is attempted; the first failure is
    /// returned. Data that the catalogue no longer names is deleted only if the change is
    /// confirmed. Otherwise the previous catalogue may come back.
    pub(super) fn carry_out(
        &self,
        effects: &[Effect],
        edits: Vec<qos::Edit>,
        touched: &BTreeSet<ObjectId>,
        is_confirmed: bool,
    ) -> Result<(), ControlError> {
        if effects.is_empty() && edits.is_empty() {
            return Ok(self.tell_volumes(Some(touched))?);
        }
        // The shard stops serving an object before the scheduler forgets it; a new object is
        // registered with the scheduler before it is served.
        for effect in effects {
            if let Effect::Remove { object } = *effect {
                self.shard.order(Order::Close { object })?;
            }
        }
        self.stop_following(touched)?;
        self.shard.order(Order::Edit(edits.into_iter()))?;
        self.tell_volumes(Some(touched))?;
        let follow = |effect: &Effect| match *effect {
            Effect::Make { object, .. } if self.is_volume(object) => {
                Ok(self.serve_files(object, Ok(FileTree::empty()))?)
            }
            Effect::Make { object, size } => self.serve(object, size),
            Effect::Resize { object, size, .. } => Ok(self.shard.order(Order::Resize { object, size })?),
            Effect::Rename { object } => {
                let (svm, path) = self.exported_as(object);
                Ok(self.shard.order(Order::Rename { object, svm, path })?)
            }
            Effect::Share { frozen: true, .. } => Ok(()),
            Effect::Share { object, .. } | Effect::Restore { object, .. } if self.is_volume(object) => {
                Ok(self.read_files(object)?)
            }
            Effect::Share { object, size, .. } => self.serve(object, size),
            Effect::Restore { object, size, .. } => Ok(self.shard.order(Order::Resize { object, size })?),
            Effect::Remove { .. } | Effect::Offer { .. } => Ok(()),
            Effect::Divide => Ok(self.divide_cache()?),
            Effect::Place { object, partition } => Ok(self.shard.order(Order::Place { object, partition })?),
            Effect::Junction { object } => Ok(self.join(object)?),
            Effect::Permit { object, user: uid, group: gid, mode } => {
                let set = SetNode { mode, uid, gid, ..SetNode::default() };
                self.shard.order(Order::SetTop { volume: object, set })?;
                self.settle_volume(object)
            }
        };
        let mut followed = effects.iter().map(follow).fold(Ok(()), Result::and);
        self.offer(effects)?;
        if is_confirmed {
            let removed = |effect: &Effect| if let Effect::Remove { object } = *effect { Some(object) } else { None };
            followed = followed.and(self.remove_all(&effects.iter().filter_map(removed).collect::<Vec<_>>()));
            self.forget(&AtomicChanges::of(effects).before);
        }
        // Many orders take several turns of the data thread. They are done when the command is
        // answered.
        followed.and(Ok(self.shard.reach()?))
    }

    /// The export name of a LUN or file: its SVM, and its path there.
    pub(super) fn exported_as(&self, object: ObjectId) -> (String, String) {
        let path = self.path_of(object).unwrap_or_default();
        let (svm, path) = path.split_once(':').unwrap_or_default();
        (svm.into(), path.into())
    }

    /// Has the shard export a LUN or file.
    pub(super) fn serve(&self, object: ObjectId, size: u64) -> Result<(), ControlError> {
        let (svm, path) = self.exported_as(object);
        let (align, longest) = (self.align, self.shard.longest());
        let online = !self.administration.offline.contains(&object);
        let export = Export { object, svm, path, size, align, longest, online };
        self.shard.order(Order::Open(export))?;
        Ok(self.place(object)?)
    }

    /// Assigns an object's pages to the cache partition of its volume.
    pub(super) fn place(&self, object: ObjectId) -> Result<(), ShardGone> {
        match self.partition_of(object) {
            0 => Ok(()),
            partition => self.shard.order(Order::Place { object, partition }),
        }
    }

    /// The number of the cache partition for the pages of a LUN, a file or a volume's own tree; 0
    /// is the default partition.
    fn partition_of(&self, object: ObjectId) -> u32 {
        let Administration { registry, partitions, .. } = &self.administration;
        let volume = registry.path(object).find(|above| above.kind() == ObjectKind::Volume);
        volume.and_then(|volume| partitions.of_volume(volume.id())).map_or(0, |partition| partition.id)
    }

    /// Places a volume in the name space of NFS clients.
    pub(super) fn join(&self, volume: ObjectId) -> Result<(), ShardGone> {
        self.shard.order(Order::Join(volume, self.administration.junction(volume)))
    }

    /// Divides the cache as the administration says. Warns if the partitions do not fit into its
    /// memory.
    pub(super) fn divide_cache(&self) -> Result<(), ShardGone> {
        let partitions = &self.administration.partitions;
        match partitions.memory {
            Some(cache) if partitions.are_reduced() => {
                let (memory, taken) = (cache.memory.0, partitions.taken());
                tracing::warn!(
                    memory,
                    partitions = taken,
                    "the cache has less memory than its partitions were given; each gets its part of it"
                );
                let [memory, taken] = [memory, taken].map(|bytes| self.administration.size(bytes));
                let text = format!(
                    "the cache has {memory}, and its partitions were given {taken}: each has its part, and the default one \
                     as much as they have on average"
                );
                self.events.note(Noticed::once(EventKind::PartitionsReduced, "", text));
            }
            None if partitions.all().next().is_some() => {
                tracing::warn!("the cache has partitions and no memory: [cache] memory is not set");
            }
            _ => {}
        }
        self.shard.order(Order::Divide { sizes: partitions.sizes(), memory_only: partitions.memory_only() })
    }

    /// Deletes the trees with the state before a restore. Any that remain are deleted when the pool
    /// is opened again.
    pub(super) fn forget(&self, before: &[ObjectId]) {
        let _ = self.share(before.iter().map(|tree| (*tree, What::Delete)).collect());
    }
}
