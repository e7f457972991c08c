//! What a change does to data: before the catalogue names it, after it does, and back where it
//! cannot be kept.

use super::together::Together;
use super::{Control, ControlError};
use crate::exports::Export;
use crate::order::Order;
use crate::shard::ShardGone;
use admin::{AdminError, Administration, Effect, Obstacle};
use block::ObjectId;
use map::What;
use qos::ObjectKind;
use std::collections::BTreeSet;
use store::StoreError;
use tree::{FileTree, SetNode};

impl Control {
    /// Does what must be there before the catalogue names it; nothing is left when it fails.
    pub(super) fn prepare(&self, effect: &Effect) -> Result<(), ControlError> {
        match *effect {
            Effect::Make { object, size } => self.change(object, What::Create { size }),
            Effect::Resize { object, size, .. } => {
                self.change(object, What::Resize { size }).map_err(|error| self.about(object, error))
            }
            // These are done at one moment, when all else is prepared.
            Effect::Share { .. } | Effect::Restore { .. } => Ok(()),
            Effect::Rename { .. } | Effect::Remove { .. } | Effect::Offer { .. } => Ok(()),
            Effect::Divide | Effect::Place { .. } | Effect::Junction { .. } | Effect::Permit { .. } => Ok(()),
        }
    }

    /// Changes trees of the maps at one moment, or none of them.
    pub(super) fn share(&self, changes: Vec<(ObjectId, What)>) -> Result<(), ControlError> {
        if changes.is_empty() {
            return Ok(());
        }
        Ok(self.shard.together(changes)?.map_err(StoreError::from)?)
    }

    /// What grew stays so: its object's size is what the catalogue says. What shrank must be as
    /// long as that again.
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

    /// Names the object, where the pool refuses something.
    pub(super) fn about(&self, object: ObjectId, error: ControlError) -> ControlError {
        match error {
            ControlError::Store(error @ StoreError::Refused(_)) => {
                let path = self.path_of(object).unwrap_or_default();
                AdminError::from(Obstacle::Store.told(format_args!("{path}: {error}")).about(path)).into()
            }
            other => other,
        }
    }

    /// Removes what a LUN or file holds.
    pub(super) fn remove(&self, object: ObjectId) -> Result<(), ControlError> {
        self.change(object, What::Delete)
    }

    /// Removes what LUNs and files hold, all at once, in one record.
    pub(super) fn remove_all(&self, objects: &[ObjectId]) -> Result<(), ControlError> {
        self.share(objects.iter().map(|object| (*object, What::Delete)).collect())
    }

    /// Does what follows once the catalogue has it. All of it is tried; the first failure is told.
    /// What the catalogue does not name any more goes only where that is confirmed: else the
    /// catalogue before may come back.
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
        // The shard stops serving an object before the scheduler forgets it, and the other way
        // round for a new one.
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
                Ok(self.shard.settle_files(object)?)
            }
        };
        let mut followed = effects.iter().map(follow).fold(Ok(()), Result::and);
        self.offer(effects)?;
        if is_confirmed {
            let removed = |effect: &Effect| if let Effect::Remove { object } = *effect { Some(object) } else { None };
            followed = followed.and(self.remove_all(&effects.iter().filter_map(removed).collect::<Vec<_>>()));
            self.forget(&Together::of(effects).before);
        }
        // Many take several turns of the data thread. Whoever is answered finds them done.
        followed.and(Ok(self.shard.reach()?))
    }

    /// The names that hosts know a LUN or file by: its SVM's, and its path there.
    pub(super) fn exported_as(&self, object: ObjectId) -> (String, String) {
        let path = self.path_of(object).unwrap_or_default();
        let (svm, path) = path.split_once(':').unwrap_or_default();
        (svm.into(), path.into())
    }

    /// Has the shard offer a LUN or file.
    pub(super) fn serve(&self, object: ObjectId, size: u64) -> Result<(), ControlError> {
        let (svm, path) = self.exported_as(object);
        let (align, longest) = (self.align, self.shard.longest());
        let online = !self.administration.offline.contains(&object);
        let export = Export { object, svm, path, size, align, longest, online };
        self.shard.order(Order::Open(export))?;
        Ok(self.place(object)?)
    }

    /// Has an object's pages be kept where its volume's are to be.
    pub(super) fn place(&self, object: ObjectId) -> Result<(), ShardGone> {
        match self.partition_of(object) {
            0 => Ok(()),
            partition => self.shard.order(Order::Place { object, partition }),
        }
    }

    /// The number of the cache's partition that the pages of a LUN, a file or a volume's own tree
    /// belong to; 0 is the default one.
    fn partition_of(&self, object: ObjectId) -> u32 {
        let Administration { registry, partitions, .. } = &self.administration;
        let volume = registry.path(object).find(|above| above.kind() == ObjectKind::Volume);
        volume.and_then(|volume| partitions.of_volume(volume.id())).map_or(0, |partition| partition.id)
    }

    /// Has NFS clients find a volume at its place in the name space.
    pub(super) fn join(&self, volume: ObjectId) -> Result<(), ShardGone> {
        self.shard.order(Order::Join(volume, self.administration.junction(volume)))
    }

    /// Has the cache be divided as the administration has it. What does not fit into its memory is
    /// warned of.
    pub(super) fn divide_cache(&self) -> Result<(), ShardGone> {
        let partitions = &self.administration.partitions;
        match partitions.memory {
            Some(cache) if partitions.taken() > cache.memory.0 => tracing::warn!(
                memory = cache.memory.0,
                partitions = partitions.taken(),
                "the cache has less memory than its partitions were given; each gets its part of it"
            ),
            None if partitions.all().next().is_some() => {
                tracing::warn!("the cache has partitions and no memory: [cache] memory is not set");
            }
            _ => {}
        }
        self.shard.order(Order::Divide { sizes: partitions.sizes(), memory_only: partitions.memory_only() })
    }

    /// Removes trees that hold what was there before a restore. Those that stay are taken out when
    /// the pool is opened again.
    pub(super) fn forget(&self, before: &[ObjectId]) {
        let _ = self.share(before.iter().map(|tree| (*tree, What::Delete)).collect());
    }
}
