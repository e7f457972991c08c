//! Resolves handles and entries to nodes, and reports their attributes.

use super::answer::Service;
use crate::access::Grant;
use crate::folders::{FolderId, Node};
use crate::volume_files::status_of;
use ::nfs::{Attributes, Entry, FileHandle, FileKind, Moment, Status};
use block::ObjectId;
use tree::permission::{EXECUTE, READ, WRITE};
use tree::{NodeId, Ownership};

/// Bits of RFC 1813, `ACCESS3_*`.
const MAY_READ: u32 = 1;
const MAY_LOOK_UP: u32 = 2;
/// Modify and extend.
const MAY_CHANGE: u32 = 4 | 8;
const MAY_DELETE: u32 = 16;
const MAY_EXECUTE: u32 = 32;

/// Handles begin with this, followed by the kind and the identity of the node.
const MAGIC: [u8; 4] = *b"SWN1";

impl Service<'_> {
    /// The node of a handle, if it exists and the client may know of it.
    pub(super) fn node(&self, handle: &FileHandle) -> Result<Node, Status> {
        let node = node_of(handle).ok_or(Status::BadHandle)?;
        if !self.sees(node) {
            return Err(Status::Stale);
        }
        if let Node::Made(volume, id) = node {
            self.files.tree(volume)?.info(id).map_err(status_of)?;
        }
        Ok(node)
    }

    pub(super) fn attributes(&self, node: Node) -> Attributes {
        let (kind, mode, links, size, fileid, written) = match node {
            Node::Made(volume, id) => {
                let found = self.files.attributes(volume, id);
                return found.unwrap_or_else(|| self.attributes(Node::Folder(FolderId(0))));
            }
            Node::Folder(id) => {
                let top = self.made_at(id).and_then(|(volume, node)| self.files.attributes(volume, node));
                if let Some(top) = top {
                    let written = self.exports.written(None);
                    let known = |moment: Moment| if moment == Moment::default() { written } else { moment };
                    let (accessed, modified, changed) = (known(top.accessed), known(top.modified), known(top.changed));
                    return Attributes { fileid: id.0, accessed, modified, changed, ..top };
                }
                (FileKind::Directory, 0o555, 2, 4096, id.0, self.exports.written(None))
            }
            Node::File(object) => {
                let size = self.exports.get(object).map_or(0, |export| export.size);
                let mode = if self.grant(object) == Grant::Write { 0o666 } else { 0o444 };
                (FileKind::Regular, mode, 1, size, object.0.into(), self.exports.written(Some(object)))
            }
        };
        Attributes {
            kind,
            mode,
            links,
            uid: 0,
            gid: 0,
            size,
            used: size,
            device: (0, 0),
            fsid: 1,
            fileid,
            accessed: written,
            modified: written,
            changed: written,
        }
    }

    /// The rights of the caller for ACCESS, as bits.
    pub(super) fn may(&self, node: Node) -> u32 {
        let volume = match node {
            Node::Made(volume, _) => volume,
            Node::Folder(id) => match self.made_at(id) {
                Some((volume, _)) => volume,
                None => return MAY_READ | MAY_LOOK_UP,
            },
            Node::File(object) if self.grant(object) == Grant::Write => return MAY_READ | MAY_CHANGE,
            Node::File(_) => return MAY_READ,
        };
        let (owned, who) = (self.owned(node), self.who(volume));
        let asked = match owned.is_folder {
            true => [(MAY_READ, READ), (MAY_LOOK_UP, EXECUTE), (MAY_CHANGE | MAY_DELETE, WRITE | EXECUTE)],
            false => [(MAY_READ, READ), (MAY_EXECUTE, EXECUTE), (MAY_CHANGE, WRITE)],
        };
        let given = asked.iter().filter(|(_, wanted)| owned.may(&who, *wanted)).fold(0, |all, (bits, _)| all | bits);
        if self.grant(volume) == Grant::Write { given } else { given & !(MAY_CHANGE | MAY_DELETE) }
    }

    /// Owner and mode of a node, for permission checks.
    pub(super) fn owned(&self, node: Node) -> Ownership {
        let Attributes { mode, uid, gid, kind, .. } = self.attributes(node);
        Ownership { mode, uid, gid, is_folder: kind == FileKind::Directory }
    }

    /// Checks that it is a folder, and that its mode permits `wanted` to the caller.
    pub(super) fn check(&self, folder: Node, wanted: u32) -> Result<(), Status> {
        let may = match folder {
            Node::Made(volume, _) => {
                let owned = self.owned(folder);
                if !owned.is_folder {
                    return Err(Status::NotDirectory);
                }
                owned.may(&self.who(volume), wanted)
            }
            Node::Folder(id) => {
                self.made_at(id).is_none_or(|(volume, _)| self.owned(folder).may(&self.who(volume), wanted))
            }
            Node::File(_) => return Err(Status::NotDirectory),
        };
        if may { Ok(()) } else { Err(Status::Access) }
    }

    /// The folder and the entry of that name: what administrators made comes before what clients
    /// made.
    pub(super) fn entry(&self, entry: &Entry<'_>) -> Result<(Node, Node), Status> {
        let folder = self.node(&entry.directory)?;
        self.check(folder, EXECUTE)?;
        let found = match (folder, entry.name) {
            (Node::File(_), _) => return Err(Status::NotDirectory),
            (Node::Made(volume, id), b"" | b".") => {
                self.files.tree(volume)?.parent(id).map_err(status_of)?;
                Some(folder)
            }
            (Node::Made(volume, id), b"..") => {
                let parent = self.files.tree(volume)?.parent(id).map_err(status_of)?;
                Some(self.made(volume, parent))
            }
            (Node::Made(volume, id), name) => Some(self.made_of(volume, id, name)?),
            (Node::Folder(_), b"" | b".") => Some(folder),
            (Node::Folder(id), b"..") => {
                let folders = self.exports.folders();
                folders.get(id).map(|folder| Node::Folder(folder.parent.unwrap_or(id)))
            }
            (Node::Folder(id), name) => match (self.own_entry(id, name), self.made_at(id)) {
                (Some(own), _) => Some(own),
                (None, Some((volume, node))) => Some(self.made_of(volume, node, name)?),
                (None, None) => None,
            },
        };
        let node = found.filter(|node| self.sees(*node)).ok_or(Status::NoEntry)?;
        Ok((folder, node))
    }

    /// The entry of that name that administrators made.
    pub(super) fn own_entry(&self, id: FolderId, name: &[u8]) -> Option<Node> {
        std::str::from_utf8(name).ok().and_then(|name| self.exports.folders().look_up(id, name))
    }

    /// The folder of a volume's tree that a folder shows too.
    pub(super) fn made_at(&self, id: FolderId) -> Option<(ObjectId, NodeId)> {
        self.exports.folders().get(id)?.made
    }

    /// The volume whose tree a node is in, or shows the top of.
    pub(super) fn volume_of(&self, node: Node) -> Option<ObjectId> {
        match node {
            Node::Made(volume, _) => Some(volume),
            Node::Folder(id) => self.made_at(id).map(|(volume, _)| volume),
            Node::File(_) => None,
        }
    }

    fn made_of(&self, volume: ObjectId, folder: NodeId, name: &[u8]) -> Result<Node, Status> {
        let id = self.files.tree(volume)?.look_up(folder, name).map_err(status_of)?;
        Ok(self.made(volume, id))
    }

    /// A node of a volume's tree: its top and its qtrees are shown as folders.
    pub(super) fn made(&self, volume: ObjectId, id: NodeId) -> Node {
        self.exports.folders().folder_of(volume, id).map_or(Node::Made(volume, id), Node::Folder)
    }
}

pub(super) fn handle_of(node: Node) -> FileHandle {
    let (kind, number) = match node {
        Node::Folder(FolderId(id)) => (0, id),
        Node::File(object) => (1, object.0.into()),
        Node::Made(volume, id) => (2, u64::from(volume.0) << 32 | u64::from(id.number)),
    };
    let mut bytes = [0; 21];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4] = kind;
    bytes[5..13].copy_from_slice(&number.to_be_bytes());
    let len = match node {
        Node::Made(_, id) => {
            bytes[13..].copy_from_slice(&id.generation.to_be_bytes());
            21
        }
        Node::Folder(_) | Node::File(_) => 13,
    };
    FileHandle::new(&bytes[..len]).expect("a handle holds 64 bytes")
}

/// The node that a handle refers to, whether it exists or not.
pub(super) fn node_of(handle: &FileHandle) -> Option<Node> {
    let (magic, rest) = handle.as_bytes().split_first_chunk()?;
    let (kind, rest) = rest.split_first()?;
    let (number, rest) = rest.split_first_chunk()?;
    let number = u64::from_be_bytes(*number);
    let low = u32::try_from(number).ok();
    match (*magic == MAGIC, kind, rest.len()) {
        (true, 0, 0) => Some(Node::Folder(FolderId(number))),
        (true, 1, 0) => Some(Node::File(ObjectId(low?))),
        (true, 2, 8) => {
            let generation = u64::from_be_bytes(rest.try_into().ok()?);
            let id = NodeId { number: number as u32, generation };
            Some(Node::Made(ObjectId((number >> 32) as u32), id))
        }
        _ => None,
    }
}
