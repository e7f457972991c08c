//! Files, folders and symbolic links.

use crate::extents::Extents;
use block::Span;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Identifies a node while it exists. Its number may be reused later, but with another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    /// Its number.
    pub number: u32,
    /// Distinguishes it from all previous nodes with this number.
    pub generation: u64,
}

impl NodeId {
    /// The root folder.
    pub const ROOT: NodeId = NodeId { number: crate::limits::ROOT, generation: 0 };
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A file with data.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// The attributes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Distinguishes it from all previous nodes with its number.
    pub generation: u64,
    /// Its kind.
    pub kind: NodeKind,
    /// Its mode.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Number of its names; for a folder 2, plus one for each subfolder.
    pub links: u32,
    /// The parent of a folder, which for the root is itself; 0 for anything else.
    pub parent: u32,
    /// Size in bytes; for a symbolic link that of its target.
    pub size: u64,
    /// Time of the last read, since 1970.
    pub accessed: Span,
    /// Time of the last write, since 1970.
    pub modified: Span,
    /// Time of the last change of any attribute, since 1970.
    pub changed: Span,
    /// The verifier with which a file was created exclusively.
    pub verifier: u64,
}

/// A node and its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub info: NodeInfo,
    pub content: Content,
    /// The number of the top-level folder whose realm it is in, 0 for none; not stored on the disk.
    pub realm: u32,
    /// The mark of a followed file, 0 for none; not stored on the disk.
    pub mark: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    File(Extents),
    Folder(Folder),
    Link(Box<[u8]>),
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub name: Arc<[u8]>,
    pub number: u32,
}

/// The entries of a folder. A cookie is never reused for another entry. So a listing can continue
/// after any of them, no matter which entries were added or removed meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder {
    pub by_cookie: BTreeMap<u64, Named>,
    by_name: HashMap<Arc<[u8]>, u64>,
    /// The next cookie.
    pub next: u64,
}

/// Cookies 0, 1 and 2 are the beginning and the two names that every folder has.
pub(crate) const FIRST_COOKIE: u64 = 3;

impl Default for Folder {
    fn default() -> Folder {
        Folder { by_cookie: BTreeMap::new(), by_name: HashMap::new(), next: FIRST_COOKIE }
    }
}

impl Folder {
    pub fn find(&self, name: &[u8]) -> Option<(u64, u32)> {
        let cookie = *self.by_name.get(name)?;
        Some((cookie, self.by_cookie[&cookie].number))
    }

    pub fn set(&mut self, cookie: u64, name: &[u8], number: u32) {
        self.remove(cookie);
        let name: Arc<[u8]> = name.into();
        self.by_name.insert(Arc::clone(&name), cookie);
        self.by_cookie.insert(cookie, Named { name, number });
        self.next = self.next.max(cookie + 1);
    }

    pub fn remove(&mut self, cookie: u64) {
        self.next = self.next.max(cookie.saturating_add(1));
        if let Some(gone) = self.by_cookie.remove(&cookie)
            // During a replay, the name may already belong to another entry.
            && self.by_name.get(&gone.name) == Some(&cookie)
        {
            self.by_name.remove(&gone.name);
        }
    }

    /// Whether every name belongs to its entry and to no other.
    pub fn is_sound(&self) -> bool {
        self.by_name.len() == self.by_cookie.len()
            && self.by_cookie.iter().all(|(cookie, named)| self.by_name.get(&named.name) == Some(cookie))
    }
}

impl Node {
    pub fn new(info: NodeInfo, target: &[u8]) -> Node {
        let content = match info.kind {
            NodeKind::File => Content::File(Extents::default()),
            NodeKind::Folder => Content::Folder(Folder::default()),
            NodeKind::Link => Content::Link(target.into()),
        };
        Node { info, content, realm: 0, mark: 0 }
    }

    pub fn folder(&self) -> Option<&Folder> {
        if let Content::Folder(folder) = &self.content { Some(folder) } else { None }
    }

    pub fn extents(&self) -> Option<&Extents> {
        if let Content::File(extents) = &self.content { Some(extents) } else { None }
    }

    pub fn target(&self) -> &[u8] {
        if let Content::Link(target) = &self.content { target } else { &[] }
    }
}
