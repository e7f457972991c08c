//! Queries, which change nothing.

use crate::file_tree::FileTree;
use crate::node::{NodeId, NodeInfo, NodeKind};
use crate::refusal::TreeRefusal;
use std::ops::Bound;

/// An entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntrySeen<'a> {
    /// For continuing after this entry; from 3 on.
    pub cookie: u64,
    /// Its name.
    pub name: &'a [u8],
    /// The node that it refers to.
    pub node: NodeId,
    /// The node's attributes.
    pub info: NodeInfo,
}

impl FileTree {
    /// The attributes of a node.
    ///
    /// # Errors
    /// It does not exist any more.
    pub fn info(&self, node: NodeId) -> Result<NodeInfo, TreeRefusal> {
        self.known(node).map(|node| node.info)
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// It does not exist any more, or is not a symbolic link.
    pub fn target(&self, node: NodeId) -> Result<&[u8], TreeRefusal> {
        match self.known(node)? {
            found if found.info.kind == NodeKind::Link => Ok(found.target()),
            _ => Err(TreeRefusal::Invalid),
        }
    }

    /// The node with a name; `.` and `..` are not supported.
    ///
    /// # Errors
    /// There is no such folder or entry.
    pub fn look_up(&self, folder: NodeId, name: &[u8]) -> Result<NodeId, TreeRefusal> {
        let (_, number) = self.known_folder(folder)?.find(name).ok_or(TreeRefusal::NoEntry)?;
        Ok(self.id_of(number))
    }

    /// The parent of a folder; the root is its own parent.
    ///
    /// # Errors
    /// It does not exist any more, or is not a folder.
    pub fn parent(&self, folder: NodeId) -> Result<NodeId, TreeRefusal> {
        self.known_folder(folder)?;
        self.known(folder).map(|node| self.id_of(node.info.parent))
    }

    /// The entries of a folder after a cookie, in order. The cost per entry does not depend on
    /// their number.
    ///
    /// # Errors
    /// It does not exist any more, or is not a folder.
    pub fn list(&self, folder: NodeId, cookie: u64) -> Result<impl Iterator<Item = EntrySeen<'_>>, TreeRefusal> {
        let entries = self.known_folder(folder)?.by_cookie.range((Bound::Excluded(cookie), Bound::Unbounded));
        Ok(entries.filter_map(|(cookie, named)| {
            let found = self.state.nodes.get(&named.number)?;
            let node = NodeId { number: named.number, generation: found.info.generation };
            Some(EntrySeen { cookie: *cookie, name: &named.name, node, info: found.info })
        }))
    }

    fn id_of(&self, number: u32) -> NodeId {
        let generation = self.state.nodes.get(&number).map_or(0, |node| node.info.generation);
        NodeId { number, generation }
    }
}
