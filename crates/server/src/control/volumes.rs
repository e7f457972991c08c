//! Volumes and the files that clients made on them: which there are, how much room their files
//! have, and what a clone or a restored volume holds.

use super::{Control, ControlError};
use crate::shard::{Order, ShardGone};
use crate::volume_files::ShardReader;
use admin::Effect;
use block::ObjectId;
use qos::{Object, ObjectKind};
use std::collections::BTreeMap;
use tree::FileTree;

const _: () = assert!(admin::FILES_BYTES == tree::limits::TREE_BYTES, "a volume's tree is as large as its files need");

/// What the shard was told of a volume: its SVM, its name, and the room for its files, in bytes.
pub(super) type VolumeTold = (String, String, u64);

impl Control {
    /// Tells the shard of volumes that are new, or have another name or other room.
    pub(super) fn tell_volumes(&self) -> Result<(), ShardGone> {
        let mut told = self.volumes.borrow_mut();
        let now = self.all_volumes();
        for (volume, (svm, name, limit)) in now.iter().filter(|(volume, now)| told.get(volume) != Some(now)) {
            let (svm, volume_name) = (svm.clone(), name.clone());
            self.shard.order(Order::Volume { object: *volume, svm, volume: volume_name, limit: *limit })?;
        }
        *told = now;
        Ok(())
    }

    /// A volume has room for what its LUNs and files of administrators leave.
    fn all_volumes(&self) -> BTreeMap<ObjectId, VolumeTold> {
        let registry = &self.administration.registry;
        let mut taken = BTreeMap::<ObjectId, u64>::new();
        for leaf in registry.objects().filter(|object| object.kind().is_leaf()) {
            if let Some(volume) = registry.path(leaf.id()).find(|above| above.kind() == ObjectKind::Volume) {
                *taken.entry(volume.id()).or_default() += leaf.size().allocated.0;
            }
        }
        let volumes = registry.objects().filter(|object| object.kind() == ObjectKind::Volume);
        let told = |volume: &Object| {
            let left = volume.size().allocated.0.saturating_sub(taken.get(&volume.id()).copied().unwrap_or(0));
            let svm = registry.svm_of(volume.id()).and_then(|svm| registry.object(svm));
            let svm = svm.map_or_else(String::new, |svm| svm.name().to_owned());
            (volume.id(), (svm, volume.name().to_owned(), left))
        };
        volumes.map(told).collect()
    }

    pub(super) fn is_volume(&self, object: ObjectId) -> bool {
        self.administration.registry.object(object).is_some_and(|object| object.kind() == ObjectKind::Volume)
    }

    /// Has clients have the files that a volume was found with. Those that are damaged nobody has.
    pub(super) fn serve_files(
        &self,
        volume: ObjectId,
        found: Result<FileTree, tree::TreeError>,
    ) -> Result<(), ShardGone> {
        let path = self.administration.path_of(volume).unwrap_or_default();
        let faults = found.as_ref().map_or_else(|_| Vec::new(), FileTree::check);
        match (found, faults.first()) {
            (Ok(tree), None) => return self.shard.order(Order::Files { object: volume, tree: Box::new(tree) }),
            (Ok(_), Some(fault)) => {
                tracing::error!(path, %fault, "the files of clients are damaged and not served; see `seawall check`");
            }
            (Err(error), _) => {
                tracing::error!(path, %error, "the files of clients are damaged and not served; see `seawall check`");
            }
        }
        Ok(())
    }

    /// Has clients have what a volume's tree holds by now.
    pub(super) fn read_files(&self, volume: ObjectId) -> Result<(), ShardGone> {
        let found = FileTree::recover(&mut ShardReader { shard: &self.shard, volume });
        self.serve_files(volume, found)
    }

    /// What clients wrote to volumes that are going to be shared is on the disk, and so in their
    /// trees.
    pub(super) fn settle_files(&self, effects: &[Effect]) -> Result<(), ControlError> {
        for effect in effects {
            if let Effect::Share { from, .. } = *effect
                && self.is_volume(from)
            {
                self.shard.settle_files(from)?;
            }
        }
        Ok(())
    }

    /// The files of volumes that were not restored after all are there again.
    pub(super) fn read_again(&self, effects: &[Effect]) -> Result<(), ShardGone> {
        for effect in effects {
            if let Effect::Restore { object, .. } | Effect::Remove { object } = *effect
                && self.is_volume(object)
                && !self.shard.has_files(object)?
            {
                self.read_files(object)?;
            }
        }
        Ok(())
    }
}
