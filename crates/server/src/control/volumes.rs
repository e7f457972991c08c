//! Volumes and clients' files on them, as the shard knows them: which volumes exist, the limit of
//! their files, and the files of a clone or a restored volume.

use super::{Control, ControlError};
use crate::order::Order;
use crate::shard::ShardGone;
use crate::volume_files::{FollowedFile, NoSpaceForFiles, ShardReader};
use admin::{AdminError, Effect, EventKind, Noticed, Obstacle};
use block::ObjectId;
use qos::{Object, ObjectKind, Registry};
use std::collections::BTreeSet;
use tree::{FileTree, NodeId};

const _: () = assert!(admin::FILES_BYTES == tree::limits::TREE_BYTES, "a volume's tree is as large as its files need");

/// The state of a volume that the shard was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VolumeTold {
    svm: String,
    name: String,
    /// Since when it has had its place in name spaces, in seconds since 1970.
    since: u64,
    /// The space for its files, in bytes.
    limit: u64,
    qtrees: Vec<(ObjectId, String)>,
    /// Clients' files that are objects.
    pub(super) files: Vec<FollowedFile>,
}

impl Control {
    /// Tells the shard of volumes that are new, renamed or have another limit: all of them, or
    /// those that the `touched` objects concern.
    pub(super) fn tell_volumes(&self, touched: Option<&BTreeSet<ObjectId>>) -> Result<(), ShardGone> {
        let mut told = self.volumes.borrow_mut();
        let concerned = |objects: &BTreeSet<ObjectId>| objects.iter().map(|object| self.volume_of(*object)).collect();
        let volumes: BTreeSet<ObjectId> = touched.and_then(concerned).unwrap_or_else(|| {
            let all = self.administration.registry.objects();
            let all = all.filter(|object| object.kind() == ObjectKind::Volume).map(Object::id).collect();
            told.retain(|volume, _| BTreeSet::contains(&all, volume));
            all
        });
        for object in volumes {
            let now = self.volume_told(object);
            if told.get(&object) != Some(&now) {
                let VolumeTold { svm, name: volume, since, limit, qtrees, files } = now.clone();
                self.shard.order(Order::Volume { object, svm, volume, since, limit, qtrees, files })?;
                told.insert(object, now);
            }
        }
        Ok(())
    }

    /// The volume that contains an object, or is it; `None` if it is gone, or contains volumes.
    fn volume_of(&self, object: ObjectId) -> Option<ObjectId> {
        self.administration.registry.path(object).find(|above| above.kind() == ObjectKind::Volume).map(Object::id)
    }

    /// The state of a volume. Its clients' files have the space that its LUNs and administrators'
    /// files leave.
    fn volume_told(&self, volume: ObjectId) -> VolumeTold {
        fn taken(registry: &Registry, object: &Object) -> u64 {
            let own = if object.kind().has_tree() { object.size().allocated.0 } else { 0 };
            let below = object.children().filter_map(|child| registry.object(child));
            own + below.map(|child| taken(registry, child)).sum::<u64>()
        }
        let registry = &self.administration.registry;
        let name = |object: Option<ObjectId>| {
            object
                .and_then(|object| registry.object(object))
                .map_or_else(String::new, |object| object.name().to_owned())
        };
        let room = |volume: &Object| volume.size().allocated.0.saturating_sub(taken(registry, volume));
        let left = registry.object(volume).map_or(0, room);
        let children = registry.object(volume).into_iter().flat_map(Object::children);
        let children = children.filter_map(|child| registry.object(child));
        let qtrees = children.filter(|child| child.kind() == ObjectKind::Qtree);
        let qtrees = qtrees.map(|qtree| (qtree.id(), qtree.name().to_owned())).collect();
        let files = self.administration.client_files(volume).into_iter().map(|(file, node, place)| FollowedFile {
            object: file.id(),
            place,
            node: NodeId { number: node.number, generation: node.generation },
            name: file.name().to_owned(),
        });
        let (svm, name) = (name(registry.svm_of(volume)), name(Some(volume)));
        let since = self.administration.details(volume).placed_since();
        VolumeTold { svm, name, since, limit: left, qtrees, files: files.collect() }
    }

    pub(super) fn is_volume(&self, object: ObjectId) -> bool {
        self.administration.registry.object(object).is_some_and(|object| object.kind() == ObjectKind::Volume)
    }

    /// Makes the recovered files of a volume available to clients; damaged ones are not, which is
    /// an event.
    pub(super) fn serve_files(
        &self,
        volume: ObjectId,
        found: Result<FileTree, tree::TreeError>,
    ) -> Result<(), ShardGone> {
        let path = self.administration.path_of(volume).unwrap_or_default();
        let fault = match found {
            Ok(tree) => match tree.check().first() {
                None => {
                    self.shard.order(Order::Files { object: volume, tree: Some(Box::new(tree)) })?;
                    return self.place(volume);
                }
                Some(fault) => fault.to_string(),
            },
            Err(error) => error.to_string(),
        };
        tracing::error!(path, fault, "the files of clients are damaged and not served; see `seawall check`");
        let text = format!("{path}: the files of clients are damaged and not served: {fault}; see `seawall check`");
        self.watch.borrow_mut().found.push(Noticed::once(EventKind::FilesDamaged, path, text));
        self.shard.order(Order::Files { object: volume, tree: None })
    }

    /// Reads the files of a volume from its tree and makes them available to clients.
    pub(super) fn read_files(&self, volume: ObjectId) -> Result<(), ShardGone> {
        let found = FileTree::recover(&mut ShardReader { shard: &self.shard, volume });
        self.serve_files(volume, found)
    }

    /// Makes clients' changes to volumes that are about to be shared durable, so that their trees
    /// contain them.
    pub(super) fn settle_files(&self, effects: &[Effect]) -> Result<(), ControlError> {
        for effect in effects {
            if let Effect::Share { from, .. } = *effect
                && self.is_volume(from)
            {
                self.settle_volume(from)?;
            }
        }
        Ok(())
    }

    /// Makes clients' changes to a volume durable.
    pub(super) fn settle_volume(&self, volume: ObjectId) -> Result<(), ControlError> {
        self.shard.settle_files(volume)?.map_err(|NoSpaceForFiles| {
            let path = self.exported_as(volume).1;
            let free = "free some (delete files, LUNs or snapshots), then repeat the command";
            let told = Obstacle::Store
                .told(format_args!("{path}: the pool has no space left for what clients changed there; {free}"));
            AdminError::from(told.about(path)).into()
        })
    }

    /// Makes the files of volumes available again whose restore or removal was undone.
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
