//! Qtrees as folders of clients' files. Each qtree is a folder of its name at the top of its
//! volume's tree. Its contents cannot be moved out, and its requests are accounted to the qtree.

use super::{AllFiles, OneVolume};
use block::{ObjectId, Span};
use tree::{NewNode, NodeId, NodeKind, TreeRefusal};

/// A qtree.
pub(super) struct Qtree {
    pub object: ObjectId,
    pub name: String,
    /// Its folder, once it exists.
    pub node: Option<NodeId>,
}

/// The folder of a new qtree: everybody may make files in it, as at the top of a volume.
const NEW: NewNode<'static> = NewNode { kind: NodeKind::Folder, mode: 0o777, uid: 0, gid: 0, verifier: 0, target: b"" };

impl OneVolume {
    /// Replaces the qtrees of the volume. Folders of renamed qtrees are renamed, those of removed
    /// ones are dropped.
    pub(super) fn set_qtrees(&mut self, now: Span, qtrees: Vec<(ObjectId, String)>) {
        let before = std::mem::take(&mut self.qtrees);
        for Qtree { object, name, node } in before {
            let new = qtrees.iter().find(|(other, _)| *other == object).map(|(_, name)| name.clone());
            let (Some(tree), Some(_)) = (&mut self.tree, node) else { continue };
            let top = NodeId::ROOT;
            let done = match &new {
                Some(new) if *new == name => Ok(()),
                Some(new) => tree.rename(now, (top, name.as_bytes()), (top, new.as_bytes())),
                None => tree.remove_folder(now, top, name.as_bytes()),
            };
            if let Err(error) = done {
                tracing::error!(volume = self.name, qtree = name, %error, "the folder of a qtree stays as it was");
            }
        }
        let unknown = |(object, name)| Qtree { object, name, node: None };
        self.qtrees = qtrees.into_iter().map(unknown).collect();
        self.find_qtrees(now);
    }

    /// Finds the folders of all qtrees, and makes missing ones, as after a restore.
    pub(super) fn find_qtrees(&mut self, now: Span) {
        self.realms.clear();
        let Some(tree) = &mut self.tree else { return };
        for qtree in &mut self.qtrees {
            match tree.make_realm(now, qtree.name.as_bytes(), &NEW) {
                Ok(node) => {
                    qtree.node = Some(node);
                    self.realms.insert(node.number, qtree.object);
                }
                Err(error) => {
                    qtree.node = None;
                    tracing::error!(volume = self.name, qtree = qtree.name, %error, "a qtree has no folder for clients");
                }
            }
        }
    }

    /// The folder of the qtree with that name, if it exists.
    fn qtree(&self, name: &str) -> Option<NodeId> {
        self.qtrees.iter().find(|qtree| qtree.name == name)?.node
    }
}

impl AllFiles {
    /// The object that requests for a node are accounted to: the file itself if it is an object,
    /// else its qtree or its volume.
    pub(crate) fn accounted(&self, volume: ObjectId, node: NodeId) -> ObjectId {
        let found = self.get(volume).and_then(|found| Some((found, found.tree.as_ref()?)));
        match found.map(|(found, tree)| (tree.owner(node), &found.realms)) {
            None | Some(((0, 0), _)) => volume,
            Some(((0, realm), realms)) => realms.get(&realm).copied().unwrap_or(volume),
            Some(((mark, _), _)) => ObjectId(mark),
        }
    }

    /// The qtrees of a volume: names and folders.
    pub(crate) fn qtrees(&self, volume: ObjectId) -> Vec<(String, NodeId)> {
        let qtrees = self.get(volume).into_iter().flat_map(|found| &found.qtrees);
        qtrees.filter_map(|qtree| Some((qtree.name.clone(), qtree.node?))).collect()
    }

    /// Number of clients' entries at the top of a qtree; `None` if the object is no qtree.
    pub(super) fn in_qtree(&self, object: ObjectId) -> Option<u64> {
        let has = |found: &&OneVolume| found.qtrees.iter().any(|qtree| qtree.object == object);
        let found = self.volumes.values().find(has)?;
        let node = found.qtrees.iter().find(|qtree| qtree.object == object)?.node;
        let listed = |node| found.tree.as_ref()?.list(node, 0).ok().map(|entries| entries.count() as u64);
        Some(node.and_then(listed).unwrap_or(0))
    }

    /// Whether clients made an entry of that name at the top of a volume or qtree: `NAME` or
    /// `QTREE/NAME`. Deeper paths are not looked at.
    pub(crate) fn has(&self, volume: ObjectId, path: &str) -> bool {
        let Some(found) = self.get(volume) else { return false };
        let Some(tree) = &found.tree else { return false };
        let mut names = path.split('/').filter(|name| !name.is_empty());
        let Some(first) = names.next() else { return false };
        let is_there = |folder, name: &str| !matches!(tree.look_up(folder, name.as_bytes()), Err(TreeRefusal::NoEntry));
        match found.qtree(first) {
            Some(qtree) => names.next().is_some_and(|name| is_there(qtree, name)),
            None => is_there(NodeId::ROOT, first),
        }
    }
}
