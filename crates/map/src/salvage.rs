//! Salvage of a damaged pool: brings what can still be read into a state that can be opened, and
//! reports what is lost.
//!
//! ```text
//!   newest whole table ─► nodes; pointers to those that are gone become holes ─► records, as far as they follow
//!                                                                                        └► Core, for a checkpoint
//! ```
//! It is not needed if the other table is correct: opening uses that by itself. Nothing is written
//! here either. The caller makes the [`Core`] write a checkpoint, which leaves the older table
//! unchanged.

use crate::check::{Damage, PLACE_MAX};
use crate::core::{Core, Settings};
use crate::end::{Anchor, End};
use crate::entry::Entry;
use crate::recover::{Loaded, Media, RecoverError, core_of_nodes, load, newest_table, read_end, read_nodes, replay};
use crate::tree::{Root, Words};

/// Something that a salvage could not keep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The node that mapped these blocks is lost: they read as zeroes.
    #[error("tree {tree}: blocks {from} to {to} of 64 KiB read as zeroes now: the map of them is gone", to = .to - 1)]
    Blocks {
        /// The tree; the first one of those that shared the node.
        tree: u32,
        /// The first block.
        from: u64,
        /// The end of the range.
        to: u64,
    },
    /// Records of the log that could not be replayed.
    #[error(
        "changes of the maps after record {last} of the log are gone, up to record {found}: what was written since may be \
         missing, or stand where another LUN wrote later"
    )]
    Records {
        /// The last record that was replayed.
        last: u64,
        /// The last record that is known to have existed.
        found: u64,
    },
}

impl Lost {
    /// The tree that it was in, if any.
    pub fn tree(&self) -> Option<u32> {
        match *self {
            Lost::Blocks { tree, .. } => Some(tree),
            Lost::Records { .. } => None,
        }
    }
}

/// Reads what can be read. `None` if no table is valid, so that the owners of all nodes are
/// unknown.
///
/// # Errors
/// The pool has a later format.
pub fn salvage(media: &mut impl Media, settings: Settings) -> Result<Option<(Core, Vec<Lost>)>, RecoverError> {
    if let Loaded { core: Some(core), damages, .. } = load(media, settings)?
        && damages.is_empty()
    {
        return Ok(Some((core, Vec::new())));
    }
    let Some((turn, mut table)) = newest_table(media)? else { return Ok(None) };
    let nodes = read_nodes(media, &table, &mut Vec::new());
    let mut pruning = Pruning { heights: vec![0; nodes.len()], nodes, changed: Vec::new(), lost: Vec::new() };
    for row in &mut table.trees {
        row.root = pruning.root(row.tree, row.root, row.size.div_ceil(crate::BLOCK));
        row.blocks = pruning.count(row.root);
    }
    let Pruning { nodes, changed, mut lost, .. } = pruning;
    let mut damages = Vec::new();
    let mut core = core_of_nodes(nodes, settings, &table, &mut damages);
    core.next_table = turn ^ 1;
    core.nodes.put_back_dirty(changed.into_iter());
    let least = replay(media, &mut core, &mut damages).max(table.end);
    // What it says of the catalogue is kept. Without an end, the caller must set that again.
    let end = read_end(media)?.filter(|end| end.pool == core.pool).unwrap_or_default();
    let last = core.sequence;
    if !damages.iter().any(|damage| matches!(damage, Damage::Ahead { .. })) && end.sequence > last {
        damages.push(Damage::Short { found: end.sequence, last });
    }
    for damage in damages {
        match damage {
            Damage::Ahead { found, .. } | Damage::Short { found, .. } => {
                let found = found.max(end.sequence);
                lost.push(Lost::Records { last, found });
                // Later records in the log must not be mistaken for successors of the next table.
                core.sequence = core.sequence.max(found);
            }
            Damage::Record { sequence } => lost.push(Lost::Records { last: sequence - 1, found: sequence }),
            _ => {}
        }
    }
    core.anchor = Anchor::at(End { count: end.count.max(least), sequence: 0, ..end });
    Ok(Some((core, lost)))
}

struct Pruning {
    nodes: Vec<Option<Words>>,
    /// The height at which each node was met; 0 if it was not.
    heights: Vec<u8>,
    changed: Vec<u32>,
    lost: Vec<Lost>,
}

impl Pruning {
    fn root(&mut self, tree: u32, root: Root, blocks: u64) -> Root {
        let Some(node) = root.node.checked_sub(1) else { return root };
        match self.keep(tree, node, root.height, (0, blocks)) {
            true => root,
            false => {
                self.lost.push(Lost::Blocks { tree, from: 0, to: blocks });
                Root { node: 0, ..root }
            }
        }
    }

    /// Whether a node is valid. Its references to invalid nodes become holes. The range is from its
    /// first block to the end of its tree.
    fn keep(&mut self, tree: u32, node: u32, height: u8, (first, end): (u64, u64)) -> bool {
        let at = node as usize;
        let Some(words) = self.nodes.get(at).and_then(Option::as_ref) else { return false };
        if self.heights[at] != 0 || height == 0 {
            return self.heights[at] == height && height != 0;
        }
        self.heights[at] = height;
        let (mut words, reach) = (words.clone(), Root::reach(height - 1));
        let mut changed = false;
        for (index, word) in words.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
            let from = first + index as u64 * reach;
            let good = from < end
                && match height {
                    1 => Entry::from_bits(*word).place().is_some_and(|place| place < PLACE_MAX),
                    _ => u32::try_from(*word - 1).is_ok_and(|below| self.keep(tree, below, height - 1, (from, end))),
                };
            if !good {
                *word = 0;
                changed = true;
                if from < end {
                    self.lost.push(Lost::Blocks { tree, from, to: (from + reach).min(end) });
                }
            }
        }
        if changed {
            self.nodes[at] = Some(words);
            self.changed.push(node);
        }
        true
    }

    /// The number of blocks of a complete tree.
    fn count(&self, root: Root) -> u64 {
        let Some(node) = root.node.checked_sub(1) else { return 0 };
        let words = self.nodes[node as usize].iter().flat_map(|words| words.iter()).filter(|word| **word != 0);
        match root.height {
            1 => words.count() as u64,
            height => words.map(|word| self.count(Root { node: *word as u32, height: height - 1 })).sum(),
        }
    }
}
