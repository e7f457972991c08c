//! What can be asked without changing anything.

use crate::file_tree::FileTree;
use crate::node::{NodeId, NodeInfo, NodeKind};
use crate::refusal::TreeRefusal;
use std::ops::Bound;

/// An entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntrySeen<'a> {
    /// To go on behind it: from 3 on.
    pub cookie: u64,
    /// Its name.
    pub name: &'a [u8],
    /// What it is the name of.
    pub node: NodeId,
    /// What is known of that.
    pub info: NodeInfo,
}

impl FileTree {
    /// What is known of a node.
    ///
    /// # Errors
    /// It is not there any more.
    pub fn info(&self, node: NodeId) -> Result<NodeInfo, TreeRefusal> {
        self.known(node).map(|node| node.info)
    }

    /// What a symbolic link says.
    ///
    /// # Errors
    /// It is not there any more, or none.
    pub fn target(&self, node: NodeId) -> Result<&[u8], TreeRefusal> {
        match self.known(node)? {
            found if found.info.kind == NodeKind::Link => Ok(found.target()),
            _ => Err(TreeRefusal::Invalid),
        }
    }

    /// The node of a name; `.` and `..` are not looked up.
    ///
    /// # Errors
    /// There is no such folder or entry.
    pub fn look_up(&self, folder: NodeId, name: &[u8]) -> Result<NodeId, TreeRefusal> {
        let (_, number) = self.known_folder(folder)?.find(name).ok_or(TreeRefusal::NoEntry)?;
        Ok(self.id_of(number))
    }

    /// The folder that a folder is in; the top is in itself.
    ///
    /// # Errors
    /// It is not there any more, or no folder.
    pub fn parent(&self, folder: NodeId) -> Result<NodeId, TreeRefusal> {
        self.known_folder(folder)?;
        self.known(folder).map(|node| self.id_of(node.info.parent))
    }

    /// The entries of a folder behind a cookie, in their order: each costs the same, however many
    /// there are.
    ///
    /// # Errors
    /// It is not there any more, or no folder.
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
