//! Files, folders and symbolic links.

use crate::extents::Extents;
use block::Span;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Names a node for as long as it is there: its number may be another's later, and then with
/// another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    /// Its number.
    pub number: u32,
    /// What tells it from all that had the number before.
    pub generation: u64,
}

impl NodeId {
    /// The folder at the top.
    pub const ROOT: NodeId = NodeId { number: crate::limits::ROOT, generation: 0 };
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A file with data.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// What is known of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Tells it from all that had its number before.
    pub generation: u64,
    /// What it is.
    pub kind: NodeKind,
    /// Permissions.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Names that it has; of a folder 2, and one more for each folder in it.
    pub links: u32,
    /// The folder that a folder is in; itself at the top; 0 for others.
    pub parent: u32,
    /// Bytes; of a symbolic link those of what it says.
    pub size: u64,
    /// Last read, since 1970.
    pub accessed: Span,
    /// Last written, since 1970.
    pub modified: Span,
    /// Last change of any of these, since 1970.
    pub changed: Span,
    /// What a file was made with exclusively.
    pub verifier: u64,
}

/// A node with what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub info: NodeInfo,
    pub content: Content,
    /// The number of the folder at the top whose realm it is in, 0 for none; not on the disk.
    pub realm: u32,
    /// What it is known by to whoever follows it, 0 for none; not on the disk.
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

/// The entries of a folder. A cookie belongs to one entry and is never another's, so whoever lists
/// a folder goes on behind any of them, whatever came or went meanwhile.
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
            // While records are played the name may be another entry's already.
            && self.by_name.get(&gone.name) == Some(&cookie)
        {
            self.by_name.remove(&gone.name);
        }
    }

    /// Whether every name leads to its entry, and no other does.
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
