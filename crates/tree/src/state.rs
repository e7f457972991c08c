//! All nodes of a volume, and the effect of each change: the same code applies a change when it is
//! made and when it is replayed from a record.

use crate::item::Item;
use crate::limits::{DATA_PAGES, ROOT};
use crate::node::{Content, Folder, Node, NodeInfo, NodeKind};
use crate::runs::{Run, Runs};
use block::Span;
use std::collections::BTreeMap;

/// The state of a volume.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub nodes: BTreeMap<u32, Node>,
    /// Pages before this one are reserved.
    pub reserved: u64,
    /// Pages of all files.
    pub owned: u64,
    /// Pages freed since this list was last emptied.
    pub freed: Vec<Run>,
}

impl State {
    /// Only the root folder, in which anybody may create files.
    pub fn new() -> State {
        let info = NodeInfo {
            generation: 0,
            kind: NodeKind::Folder,
            mode: 0o777,
            uid: 0,
            gid: 0,
            links: 2,
            parent: ROOT,
            size: 0,
            accessed: Span::ZERO,
            modified: Span::ZERO,
            changed: Span::ZERO,
            verifier: 0,
        };
        let nodes = BTreeMap::from([(ROOT, Node::new(info, &[]))]);
        State { nodes, reserved: DATA_PAGES.0, owned: 0, freed: Vec::new() }
    }

    pub fn folder(&self, number: u32) -> Option<&Folder> {
        self.nodes.get(&number)?.folder()
    }

    fn folder_mut(&mut self, number: u32) -> Option<&mut Folder> {
        match &mut self.nodes.get_mut(&number)?.content {
            Content::Folder(folder) => Some(folder),
            Content::File(_) | Content::Link(_) => None,
        }
    }

    /// Applies a change. One that concerns a missing node was made to a node that a later record
    /// deletes.
    pub fn apply(&mut self, item: &Item<'_>) {
        match *item {
            Item::Node { number, info, next, target } => self.set_node(number, info, next, target),
            Item::Gone { number } => {
                if let Some(Node { content: Content::File(mut extents), .. }) = self.nodes.remove(&number) {
                    self.free(extents.cut(0));
                }
            }
            Item::Entry { folder, cookie, number, name } => {
                if let Some(folder) = self.folder_mut(folder) {
                    folder.set(cookie, name, number);
                }
            }
            Item::NoEntry { folder, cookie } => {
                if let Some(folder) = self.folder_mut(folder) {
                    folder.remove(cookie);
                }
            }
            Item::Extent { number, page, run } => {
                self.with_extents(number, |extents| {
                    extents.set(page, run);
                    Vec::new()
                });
            }
            Item::Cut { number, page } => self.with_extents(number, |extents| extents.cut(page)),
            Item::Reserve { end } => self.reserved = self.reserved.max(end),
        }
    }

    fn set_node(&mut self, number: u32, info: NodeInfo, next: u64, target: &[u8]) {
        let is_it = |node: &&mut Node| node.info.generation == info.generation && node.info.kind == info.kind;
        match self.nodes.get_mut(&number).filter(is_it) {
            Some(node) => node.info = info,
            None => {
                // Another node had the number.
                self.apply(&Item::Gone { number });
                self.nodes.insert(number, Node::new(info, target));
            }
        }
        if let Some(folder) = self.folder_mut(number) {
            folder.next = folder.next.max(next);
        }
    }

    fn with_extents(&mut self, number: u32, change: impl FnOnce(&mut crate::extents::Extents) -> Vec<Run>) {
        let Some(Node { content: Content::File(extents), .. }) = self.nodes.get_mut(&number) else { return };
        let before = extents.pages();
        let gone = change(extents);
        let after = extents.pages();
        self.owned = self.owned + after - before;
        // They were subtracted already.
        self.owned += gone.iter().map(|run| run.pages).sum::<u64>();
        self.free(gone);
    }

    fn free(&mut self, gone: Vec<Run>) {
        for run in gone {
            self.owned -= run.pages;
            self.freed.push(run);
        }
    }

    /// The attributes of a node, as a change.
    pub fn node_item(&self, number: u32) -> Option<Item<'_>> {
        let node = self.nodes.get(&number)?;
        let next = node.folder().map_or(0, |folder| folder.next);
        Some(Item::Node { number, info: node.info, next, target: node.target() })
    }

    /// Reserved pages that belong to no file.
    pub fn unowned(&self) -> Runs {
        let mut runs = Runs::default();
        runs.add(Run { at: DATA_PAGES.0, pages: self.reserved - DATA_PAGES.0 });
        self.extents().for_each(|(_, run)| runs.remove(run));
        runs
    }

    /// The runs of all files.
    pub fn extents(&self) -> impl Iterator<Item = (u32, Run)> + '_ {
        let files = self.nodes.iter().filter_map(|(number, node)| Some((*number, node.extents()?)));
        files.flat_map(|(number, extents)| extents.iter().map(move |(_, run)| (number, run)))
    }
}
