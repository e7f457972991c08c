//! The consistency check of a volume's files.

use crate::file_tree::FileTree;
use crate::limits::{FILE_BYTES_MAX, ROOT};
use crate::node::{Content, NodeKind};
use crate::runs::Runs;
use std::collections::{BTreeMap, BTreeSet};

/// A fault in a volume's files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeFault {
    /// The root folder is missing.
    #[error("the folder at the top is not there")]
    NoTop,
    /// An entry refers to a node that does not exist.
    #[error("folder {folder}: its entry {name:?} is of node {number}, which is not there")]
    NoNode {
        /// The folder.
        folder: u32,
        /// The entry's name.
        name: String,
        /// The node that it refers to.
        number: u32,
    },
    /// No entry refers to a node.
    #[error("node {0}: no folder has a name for it")]
    Orphan(u32),
    /// A folder cannot be reached from the root.
    #[error("folder {0}: no way leads to it from the top")]
    Unreachable(u32),
    /// The recorded number of names is wrong.
    #[error("node {number}: has {found} names, and {links} are counted")]
    Links {
        /// The node.
        number: u32,
        /// The number of names found.
        found: u32,
        /// The recorded number.
        links: u32,
    },
    /// A folder is not in the folder that it records, or is in several.
    #[error("folder {number}: is in folder {found}, and {parent} is kept")]
    Parent {
        /// The folder.
        number: u32,
        /// The folder that it is in.
        found: u32,
        /// The recorded folder.
        parent: u32,
    },
    /// A name occurs twice, or a cookie could be assigned twice.
    #[error("folder {0}: its names and cookies do not agree")]
    Names(u32),
    /// Two files share a page, or a file has pages that were never allocated.
    #[error("file {number}: pages {at} to {end} are another file's too, or were never given out")]
    Shared {
        /// The file.
        number: u32,
        /// First page of the data.
        at: u64,
        /// The end of these pages.
        end: u64,
    },
    /// An impossible size.
    #[error("node {number}: has a size of {size} bytes, which cannot be")]
    Size {
        /// The node.
        number: u32,
        /// Its size.
        size: u64,
    },
    /// The recorded number of pages is wrong.
    #[error("{found} pages are files', and {owned} are counted")]
    Owned {
        /// The pages of all files.
        found: u64,
        /// The recorded number.
        owned: u64,
    },
}

impl FileTree {
    /// Checks everything; returns the faults.
    pub fn check(&self) -> Vec<TreeFault> {
        let mut faults = Vec::new();
        if self.state.folder(ROOT).is_none() {
            faults.push(TreeFault::NoTop);
        }
        let found = self.check_entries(&mut faults);
        self.check_nodes(&found, &mut faults);
        self.check_ways(&mut faults);
        self.check_pages(&mut faults);
        faults
    }

    /// Counts the names of each node and the subfolders of each folder, and finds the folder of
    /// each folder.
    fn check_entries(&self, faults: &mut Vec<TreeFault>) -> Found {
        let mut found = Found::default();
        found.places.insert(ROOT, ROOT);
        for (number, node) in &self.state.nodes {
            let Content::Folder(folder) = &node.content else { continue };
            let last = folder.by_cookie.keys().next_back().copied().unwrap_or(0);
            if !folder.is_sound() || last >= folder.next {
                faults.push(TreeFault::Names(*number));
            }
            for named in folder.by_cookie.values() {
                let Some(child) = self.state.nodes.get(&named.number) else {
                    let name = String::from_utf8_lossy(&named.name).into_owned();
                    faults.push(TreeFault::NoNode { folder: *number, name, number: named.number });
                    continue;
                };
                *found.names.entry(named.number).or_default() += 1;
                if child.info.kind == NodeKind::Folder {
                    *found.folders.entry(*number).or_default() += 1;
                    if found.places.insert(named.number, *number).is_some() {
                        let parent = child.info.parent;
                        faults.push(TreeFault::Parent { number: named.number, found: *number, parent });
                    }
                }
            }
        }
        found
    }

    fn check_nodes(&self, found: &Found, faults: &mut Vec<TreeFault>) {
        for (&number, node) in &self.state.nodes {
            let (info, names) = (&node.info, found.names.get(&number).copied().unwrap_or(0));
            if names == 0 && number != ROOT {
                faults.push(TreeFault::Orphan(number));
            }
            let expected = match info.kind {
                NodeKind::Folder => 2 + found.folders.get(&number).copied().unwrap_or(0),
                NodeKind::File | NodeKind::Link => names,
            };
            if info.links != expected {
                faults.push(TreeFault::Links { number, found: expected, links: info.links });
            }
            let place = found.places.get(&number).copied().unwrap_or(info.parent);
            if info.kind == NodeKind::Folder && place != info.parent {
                faults.push(TreeFault::Parent { number, found: place, parent: info.parent });
            }
            let fits = match info.kind {
                NodeKind::File => info.size <= FILE_BYTES_MAX,
                NodeKind::Link => info.size == node.target().len() as u64,
                NodeKind::Folder => info.size == 0,
            };
            if !fits {
                faults.push(TreeFault::Size { number, size: info.size });
            }
        }
    }

    /// Checks that every folder can be reached from the root.
    fn check_ways(&self, faults: &mut Vec<TreeFault>) {
        let (mut seen, mut next) = (BTreeSet::from([ROOT]), vec![ROOT]);
        while let Some(number) = next.pop() {
            let children = self.state.folder(number).into_iter().flat_map(|folder| folder.by_cookie.values());
            let folders = children.map(|named| named.number).filter(|child| self.state.folder(*child).is_some());
            next.extend(folders.filter(|child| seen.insert(*child)));
        }
        let folders = self.state.nodes.iter().filter(|(_, node)| node.folder().is_some());
        let lost = folders.filter(|(number, _)| !seen.contains(number));
        faults.extend(lost.map(|(number, _)| TreeFault::Unreachable(*number)));
    }

    fn check_pages(&self, faults: &mut Vec<TreeFault>) {
        let (mut taken, mut found) = (Runs::default(), 0);
        for (number, run) in self.state.extents() {
            if taken.meets(run) || run.end() > self.state.reserved {
                faults.push(TreeFault::Shared { number, at: run.at, end: run.end() });
            }
            taken.add(run);
            found += run.pages;
        }
        if found != self.state.owned {
            faults.push(TreeFault::Owned { found, owned: self.state.owned });
        }
    }
}

#[derive(Default)]
struct Found {
    names: BTreeMap<u32, u32>,
    folders: BTreeMap<u32, u32>,
    places: BTreeMap<u32, u32>,
}
