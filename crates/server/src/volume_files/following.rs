//! Clients' files that are objects of their own because they have policies: the gate accounts their
//! requests to them. A mark in the volume's tree identifies such a file, so requests need no
//! look-up by name, whether their file has a policy or not.

use super::{AllFiles, OneVolume};
use block::ObjectId;
use tree::{Follow, Followed, NodeId};

/// A file that clients made and that is an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FollowedFile {
    pub object: ObjectId,
    /// The volume or qtree that it belongs to.
    pub place: ObjectId,
    pub node: NodeId,
    /// Its name there.
    pub name: String,
}

impl OneVolume {
    /// Marks the files that are objects in the tree. A file that is found elsewhere, after a
    /// restore to a time before its qtree existed, counts as lost.
    pub(super) fn find_followed(&mut self, volume: ObjectId) {
        let Some(tree) = &mut self.tree else { return };
        let (mut found, mut lost) = (Vec::new(), Vec::new());
        for FollowedFile { object, place, node, name } in &self.followed {
            let (_, realm) = tree.owner(*node);
            match self.realms.get(&realm).copied().unwrap_or(volume) == *place {
                true => found.push(Follow { mark: object.0, node: *node, name: name.clone() }),
                false => lost.push(*object),
            }
        }
        tree.follow(found);
        self.lost.extend(lost);
    }
}

impl AllFiles {
    /// Replaces the set of a volume's files that are objects. Returns those that no longer are.
    pub(crate) fn follow(&mut self, volume: ObjectId, files: Vec<FollowedFile>) -> Vec<ObjectId> {
        let Some(found) = self.volumes.get_mut(&volume) else { return Vec::new() };
        if found.followed == files {
            return Vec::new();
        }
        let before = std::mem::replace(&mut found.followed, files);
        found.find_followed(volume);
        for file in &before {
            self.followed.remove(&file.object);
        }
        self.followed.extend(found.followed.iter().map(|file| (file.object, (volume, file.node))));
        let gone = before.into_iter().map(|file| file.object);
        gone.filter(|object| !self.followed.contains_key(object)).collect()
    }

    /// Renamed and deleted files that are objects since the previous call; `None` stands for a
    /// deleted file.
    pub(crate) fn take_followed(&mut self) -> Vec<(ObjectId, Option<String>)> {
        let mut news = Vec::new();
        for found in self.volumes.values_mut().filter(|found| !found.followed.is_empty()) {
            news.extend(found.lost.drain(..).map(|object| (object, None)));
            let told = found.tree.as_mut().map(|tree| tree.take_followed()).unwrap_or_default();
            news.extend(told.into_iter().map(|Followed { mark, name }| (ObjectId(mark), name)));
        }
        news
    }

    /// Bytes that a file which is an object uses; `None` for anything else.
    pub(crate) fn used(&self, file: ObjectId) -> Option<u64> {
        let (volume, node) = self.followed.get(&file)?;
        Some(self.tree(*volume).map_or(0, |tree| tree.used(*node)))
    }

    /// The length of such a file in bytes.
    pub(crate) fn length(&self, file: ObjectId) -> u64 {
        let found = self.followed.get(&file);
        let info = found.and_then(|(volume, node)| self.tree(*volume).ok()?.info(*node).ok());
        info.map_or(0, |info| info.size)
    }
}
