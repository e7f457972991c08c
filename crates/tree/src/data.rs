//! Where files' data is read and written. A request that spans several pieces is served in part;
//! the caller continues after that part.

use crate::file_tree::FileTree;
use crate::item::Item;
use crate::limits::{FILE_BYTES_MAX, HOLE_AT, HOLE_BYTES, PAGE_BYTES};
use crate::node::{Content, NodeId, NodeKind};
use crate::permission::without_privilege;
use crate::refusal::TreeRefusal;
use block::Span;

/// Bytes of a file that are contiguous in the volume's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePiece {
    /// Offset of the first byte in the tree.
    pub at: u64,
    /// Length in bytes; 0 at the end of the file.
    pub len: u64,
}

impl FileTree {
    /// A request for a file's data, or a write that was placed, starts. Until
    /// [`FileTree::end_request`], none of the pages that it may access are given to another file.
    pub fn begin_request(&mut self) -> u64 {
        self.tickets.begin()
    }

    /// The request has ended.
    pub fn end_request(&mut self, ticket: u64) {
        self.tickets.end(ticket);
    }

    /// Where to read up to `len` bytes of a file.
    ///
    /// # Errors
    /// It does not exist, or is not a file.
    pub fn place_read(&self, node: NodeId, at: u64, len: u64) -> Result<FilePiece, TreeRefusal> {
        let found = self.known(node)?;
        let extents = found.extents().ok_or_else(|| not_a_file(found.info.kind))?;
        let len = len.min(found.info.size.saturating_sub(at));
        let (page, within) = (at / PAGE_BYTES, at % PAGE_BYTES);
        Ok(match extents.find(page) {
            Some(run) => FilePiece { at: run.at * PAGE_BYTES + within, len: len.min(run.pages * PAGE_BYTES - within) },
            None => {
                let hole = extents.next(page).map_or(u64::MAX, |next| (next - page) * PAGE_BYTES - within);
                FilePiece { at: HOLE_AT + within, len: len.min(hole).min(HOLE_BYTES - within) }
            }
        })
    }

    /// Where to write up to `len` bytes of a file; allocates pages for them.
    ///
    /// # Errors
    /// It does not exist, is not a file, or there is no room for all of them. Then nothing was
    /// changed.
    pub fn place_write(&mut self, node: NodeId, at: u64, len: u64) -> Result<FilePiece, TreeRefusal> {
        self.admit()?;
        let found = self.known(node)?;
        let extents = found.extents().ok_or_else(|| not_a_file(found.info.kind))?;
        let end = at.checked_add(len).filter(|end| *end <= FILE_BYTES_MAX).ok_or(TreeRefusal::TooBig)?;
        if self.is_shortened(node.number) {
            return Err(TreeRefusal::Busy);
        }
        let (page, within) = (at / PAGE_BYTES, at % PAGE_BYTES);
        let last = end.div_ceil(PAGE_BYTES);
        let pages_taken = extents.pages();
        let have: u64 = extents.overlap(page, last);
        if last - page - have > self.limit.saturating_sub(self.state.owned) {
            return Err(TreeRefusal::NoSpace);
        }
        let run = match extents.find(page) {
            Some(run) => run,
            None => {
                let want = extents.next(page).map_or(last, |next| next.min(last)) - page;
                let near = extents.before(page).filter(|(first, run)| first + run.pages == page);
                let near = near.map(|(_, run)| run.end());
                let found = self.space.take(near, want, pages_taken);
                self.reserve();
                let run = found.ok_or(TreeRefusal::Busy)?;
                self.change(&Item::Extent { number: node.number, page, run });
                run
            }
        };
        Ok(FilePiece { at: run.at * PAGE_BYTES + within, len: len.min(run.pages * PAGE_BYTES - within) })
    }

    /// A write has succeeded: the file is extended to include it. If its pages were cut off
    /// meanwhile, the write counts as earlier than the cut.
    pub fn written(&mut self, now: Span, node: NodeId, at: u64, piece: FilePiece) {
        let Ok(found) = self.known(node) else { return };
        let run = found.extents().and_then(|extents| extents.find(at / PAGE_BYTES));
        let end = (piece.at + piece.len).div_ceil(PAGE_BYTES);
        if run.is_none_or(|run| run.at != piece.at / PAGE_BYTES || run.end() < end) {
            return;
        }
        if let Some(found) = self.state.nodes.get_mut(&node.number) {
            let info = &mut found.info;
            info.size = info.size.max(at + piece.len);
            (info.modified, info.changed) = (now, now);
            self.dirty.insert(node.number);
        }
    }

    /// A file was written by someone other than root: its set-user and set-group bits are cleared.
    pub fn drop_privilege(&mut self, node: NodeId) {
        let Ok(found) = self.known(node) else { return };
        let mode = without_privilege(found.info.mode);
        if mode != found.info.mode
            && let Some(found) = self.state.nodes.get_mut(&node.number)
        {
            found.info.mode = mode;
            self.dirty.insert(node.number);
        }
    }

    /// Makes the attributes of a node durable; returns the record with which they are.
    ///
    /// # Errors
    /// It does not exist, or nothing can become durable any more.
    pub fn sync(&mut self, node: NodeId) -> Result<u64, TreeRefusal> {
        self.known(node)?;
        match () {
            () if self.failed => return Err(TreeRefusal::Failed),
            () if self.dirty.contains(&node.number) => {
                self.admit()?;
                self.put_node(node.number);
            }
            () => {}
        }
        Ok(self.want())
    }

    /// Makes the attributes of a file durable, and the data of all its completed writes; returns
    /// the record with which they are. `None` if there is nothing to record: then flush the data,
    /// and call [`FileTree::sync`] after that.
    ///
    /// # Errors
    /// It does not exist, nothing can become durable any more, or it must be tried again.
    pub fn commit(&mut self, node: NodeId) -> Result<Option<u64>, TreeRefusal> {
        self.known(node)?;
        if self.failed {
            return Err(TreeRefusal::Failed);
        }
        if !self.dirty.contains(&node.number) {
            return Ok(None);
        }
        self.admit()?;
        self.put_node(node.number);
        self.journal.covers = true;
        Ok(Some(self.want()))
    }

    /// Bytes of data that a node uses.
    pub fn used(&self, node: NodeId) -> u64 {
        match self.known(node).map(|node| &node.content) {
            Ok(Content::File(extents)) => extents.pages() * PAGE_BYTES,
            _ => 0,
        }
    }
}

fn not_a_file(kind: NodeKind) -> TreeRefusal {
    if kind == NodeKind::Folder { TreeRefusal::IsFolder } else { TreeRefusal::Invalid }
}
