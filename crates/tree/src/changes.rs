//! Changes by clients: names and attributes. Each is made completely and at once, or refused with
//! nothing changed. It is durable with the record that [`FileTree::want`] returns.

use crate::file_tree::FileTree;
use crate::item::Item;
use crate::limits::{
    DEPTH_MAX, FILE_BYTES_MAX, LINKS_MAX, NAME_BYTES_MAX, NODES_MAX, PAGE_BYTES, ROOT, TARGET_BYTES_MAX,
};
use crate::node::{Node, NodeId, NodeInfo, NodeKind};
use crate::refusal::TreeRefusal;
use block::Span;

/// The properties of a new node.
#[derive(Clone, Copy, Debug)]
pub struct NewNode<'a> {
    /// Its kind.
    pub kind: NodeKind,
    /// Its mode.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// The verifier of an exclusively created file; otherwise 0.
    pub verifier: u64,
    /// The target of a symbolic link; otherwise empty.
    pub target: &'a [u8],
}

/// Attributes to set; `None` leaves one unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetNode {
    /// The mode.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// The size in bytes.
    pub size: Option<u64>,
    /// Time of the last read, since 1970.
    pub accessed: Option<Span>,
    /// Time of the last write, since 1970.
    pub modified: Option<Span>,
}

/// The progress of a change of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetDone {
    /// It is done.
    Now,
    /// It has to wait: [`FileTree::take_ended`] will report its end with this number.
    Later(u64),
}

impl FileTree {
    /// Creates a node in a folder; `now` is the time since 1970.
    ///
    /// # Errors
    /// The name is in use or invalid, the folder does not exist, or there is no room.
    pub fn make(&mut self, now: Span, folder: NodeId, name: &[u8], new: &NewNode<'_>) -> Result<NodeId, TreeRefusal> {
        self.admit()?;
        self.check_free(folder, name)?;
        let is_folder = new.kind == NodeKind::Folder;
        match () {
            () if new.target.len() > TARGET_BYTES_MAX => return Err(TreeRefusal::NameTooLong),
            () if self.state.nodes.len() >= NODES_MAX || self.next_number == u32::MAX => {
                return Err(TreeRefusal::NoSpace);
            }
            () if is_folder && self.depth(folder.number) >= DEPTH_MAX => return Err(TreeRefusal::Invalid),
            () if is_folder && self.known(folder)?.info.links >= LINKS_MAX => return Err(TreeRefusal::TooManyLinks),
            () => {}
        }
        let number = self.next_number;
        self.next_number += 1;
        let generation = now.as_nanos().max(self.last_generation + 1);
        self.last_generation = generation;
        let info = NodeInfo {
            generation,
            kind: new.kind,
            mode: new.mode & 0o7777,
            uid: new.uid,
            gid: new.gid,
            links: if is_folder { 2 } else { 1 },
            parent: if is_folder { folder.number } else { 0 },
            size: new.target.len() as u64,
            accessed: now,
            modified: now,
            changed: now,
            verifier: new.verifier,
        };
        let realm = self.known(folder)?.realm;
        self.change(&Item::Node { number, info, next: crate::node::FIRST_COOKIE, target: new.target });
        if let Some(node) = self.state.nodes.get_mut(&number) {
            node.realm = realm;
        }
        self.add_entry(folder.number, name, number);
        self.touch_folder(now, folder.number, i64::from(is_folder));
        self.reserve();
        Ok(NodeId { number, generation })
    }

    /// Removes a name of a file or symbolic link, and with the last name the node.
    ///
    /// # Errors
    /// There is no such name, or it is that of a folder.
    pub fn remove(&mut self, now: Span, folder: NodeId, name: &[u8]) -> Result<(), TreeRefusal> {
        self.admit()?;
        let (cookie, number) = self.entry(folder, name)?;
        if self.state.folder(number).is_some() {
            return Err(TreeRefusal::IsFolder);
        }
        self.change(&Item::NoEntry { folder: folder.number, cookie });
        self.drop_name(now, number);
        self.touch_folder(now, folder.number, 0);
        Ok(())
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// It does not exist, is not a folder, or is not empty.
    pub fn remove_folder(&mut self, now: Span, folder: NodeId, name: &[u8]) -> Result<(), TreeRefusal> {
        self.admit()?;
        let (cookie, number) = self.entry(folder, name)?;
        self.check_empty(number)?;
        self.change(&Item::NoEntry { folder: folder.number, cookie });
        self.change(&Item::Gone { number });
        self.touch_folder(now, folder.number, -1);
        Ok(())
    }

    /// Renames a node, replacing the node that has the new name.
    ///
    /// # Errors
    /// There is no such entry, a folder would be moved into itself, or the new name belongs to
    /// something that cannot be replaced.
    pub fn rename(&mut self, now: Span, from: (NodeId, &[u8]), to: (NodeId, &[u8])) -> Result<(), TreeRefusal> {
        self.admit()?;
        let (cookie, number) = self.entry(from.0, from.1)?;
        check_name(to.1)?;
        self.check_realm(from.0, to.0)?;
        let (old, new) = (from.0.number, to.0.number);
        let replaced = self.known_folder(to.0)?.find(to.1);
        if replaced.is_some_and(|(_, other)| other == number) {
            return Ok(());
        }
        let is_folder = self.state.folder(number).is_some();
        match replaced.map(|(_, other)| (other, self.state.folder(other).is_some())) {
            Some((other, true)) if is_folder => self.check_empty(other)?,
            Some((_, true)) => return Err(TreeRefusal::IsFolder),
            Some((_, false)) if is_folder => return Err(TreeRefusal::NotFolder),
            Some((_, false)) | None => {}
        }
        if is_folder && old != new {
            self.check_no_loop(number, new)?;
        }
        if let Some((other_cookie, other)) = replaced {
            self.change(&Item::NoEntry { folder: new, cookie: other_cookie });
            match is_folder {
                true => self.change(&Item::Gone { number: other }),
                false => self.drop_name(now, other),
            }
        }
        self.change(&Item::NoEntry { folder: old, cookie });
        self.add_entry(new, to.1, number);
        self.touch(number, |info| {
            info.changed = now;
            info.parent = if is_folder { new } else { 0 };
        });
        let gone = i64::from(is_folder && replaced.is_some());
        let moved = i64::from(is_folder && old != new);
        match old == new {
            true => self.touch_folder(now, new, -gone),
            false => {
                self.touch_folder(now, old, -moved);
                self.touch_folder(now, new, moved - gone);
            }
        }
        Ok(())
    }

    /// Adds a name of a file or symbolic link.
    ///
    /// # Errors
    /// The name is in use or invalid, or it is a folder.
    pub fn link(&mut self, now: Span, node: NodeId, folder: NodeId, name: &[u8]) -> Result<(), TreeRefusal> {
        self.admit()?;
        self.check_free(folder, name)?;
        let info = self.known(node)?.info;
        self.check_realm(node, folder)?;
        match info.kind {
            NodeKind::Folder => return Err(TreeRefusal::IsFolder),
            _ if info.links >= LINKS_MAX => return Err(TreeRefusal::TooManyLinks),
            NodeKind::File | NodeKind::Link => {}
        }
        self.add_entry(folder.number, name, node.number);
        self.touch(node.number, |info| (info.links, info.changed) = (info.links + 1, now));
        self.touch_folder(now, folder.number, 0);
        Ok(())
    }

    /// Sets attributes of a node.
    ///
    /// # Errors
    /// It does not exist, or a size is set of something that is not a file.
    pub fn set(&mut self, now: Span, node: NodeId, set: &SetNode) -> Result<SetDone, TreeRefusal> {
        self.admit()?;
        let found = self.known(node)?;
        match set.size {
            Some(_) if found.info.kind == NodeKind::Folder => return Err(TreeRefusal::IsFolder),
            Some(_) if found.info.kind == NodeKind::Link => return Err(TreeRefusal::Invalid),
            Some(size) if size > FILE_BYTES_MAX => return Err(TreeRefusal::TooBig),
            Some(_) if self.is_shortened(node.number) => return Err(TreeRefusal::Busy),
            Some(size) if self.tail_of(node, size).is_some() => {
                return Ok(SetDone::Later(self.put_off(now, node, *set)));
            }
            Some(_) | None => {}
        }
        self.set_now(now, node, set).map(|()| SetDone::Now)
    }

    pub(crate) fn set_now(&mut self, now: Span, node: NodeId, set: &SetNode) -> Result<(), TreeRefusal> {
        if self.failed {
            return Err(TreeRefusal::Failed);
        }
        let info = self.known(node)?.info;
        if let Some(size) = set.size.filter(|size| *size < info.size) {
            self.change(&Item::Cut { number: node.number, page: size.div_ceil(PAGE_BYTES) });
        }
        let set = *set;
        self.touch(node.number, |info| {
            if let Some(size) = set.size {
                (info.size, info.modified) = (size, now);
            }
            info.mode = set.mode.map_or(info.mode, |mode| mode & 0o7777);
            info.uid = set.uid.unwrap_or(info.uid);
            info.gid = set.gid.unwrap_or(info.gid);
            info.accessed = set.accessed.unwrap_or(info.accessed);
            info.modified = set.modified.unwrap_or(info.modified);
            info.changed = now;
        });
        Ok(())
    }

    fn add_entry(&mut self, folder: u32, name: &[u8], number: u32) {
        let cookie = self.state.folder(folder).map_or(0, |folder| folder.next);
        self.change(&Item::Entry { folder, cookie, number, name });
    }

    /// Removes one name from a node's count.
    fn drop_name(&mut self, now: Span, number: u32) {
        match self.state.nodes.get(&number).map_or(0, |node| node.info.links) {
            0 | 1 => {
                self.dirty.remove(&number);
                self.change(&Item::Gone { number });
            }
            _ => self.touch(number, |info| (info.links, info.changed) = (info.links - 1, now)),
        }
    }

    fn touch(&mut self, number: u32, change: impl FnOnce(&mut NodeInfo)) {
        if let Some(node) = self.state.nodes.get_mut(&number) {
            change(&mut node.info);
        }
        self.put_node(number);
    }

    /// The entries of a folder changed, and its number of subfolders by `more`.
    fn touch_folder(&mut self, now: Span, number: u32, more: i64) {
        self.touch(number, |info| {
            (info.modified, info.changed) = (now, now);
            info.links = info.links.saturating_add_signed(more as i32);
        });
    }

    pub(crate) fn known(&self, node: NodeId) -> Result<&Node, TreeRefusal> {
        let found = self.state.nodes.get(&node.number);
        found.filter(|found| found.info.generation == node.generation).ok_or(TreeRefusal::Stale)
    }

    pub(crate) fn known_folder(&self, node: NodeId) -> Result<&crate::node::Folder, TreeRefusal> {
        self.known(node)?.folder().ok_or(TreeRefusal::NotFolder)
    }

    /// The cookie and the node of an entry.
    fn entry(&self, folder: NodeId, name: &[u8]) -> Result<(u64, u32), TreeRefusal> {
        check_name(name)?;
        self.known_folder(folder)?.find(name).ok_or(TreeRefusal::NoEntry)
    }

    fn check_free(&self, folder: NodeId, name: &[u8]) -> Result<(), TreeRefusal> {
        let found = self.known_folder(folder)?;
        check_name(name)?;
        if found.find(name).is_some() { Err(TreeRefusal::Exists) } else { Ok(()) }
    }

    fn check_empty(&self, number: u32) -> Result<(), TreeRefusal> {
        let folder = self.state.folder(number).ok_or(TreeRefusal::NotFolder)?;
        if folder.by_cookie.is_empty() { Ok(()) } else { Err(TreeRefusal::NotEmpty) }
    }

    /// The depth of a folder, up to [`DEPTH_MAX`].
    fn depth(&self, number: u32) -> usize {
        self.above(number).count()
    }

    /// A folder and all folders above it.
    fn above(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let up = |number: &u32| {
            let parent = self.state.nodes.get(number)?.info.parent;
            (*number != ROOT).then_some(parent)
        };
        std::iter::successors(Some(number), up).take(DEPTH_MAX)
    }

    /// Checks that a folder is not moved into itself.
    fn check_no_loop(&self, folder: u32, into: u32) -> Result<(), TreeRefusal> {
        let mut depth = 0;
        for above in self.above(into) {
            if above == folder {
                return Err(TreeRefusal::Invalid);
            }
            depth += 1;
        }
        if depth < DEPTH_MAX { Ok(()) } else { Err(TreeRefusal::Invalid) }
    }
}

/// Checks a name. It consists of bytes, in any encoding.
fn check_name(name: &[u8]) -> Result<(), TreeRefusal> {
    match name {
        b"" | b"." | b".." => Err(TreeRefusal::Invalid),
        name if name.len() > NAME_BYTES_MAX => Err(TreeRefusal::NameTooLong),
        name if name.iter().any(|byte| matches!(byte, 0 | b'/')) => Err(TreeRefusal::Invalid),
        _ => Ok(()),
    }
}
