//! The check: counts everything again from the roots of the trees, and compares it with the
//! records.

use crate::core::{Core, Settings};
use crate::end::Agreed;
use crate::entry::{BLOCK, Entry, PAGE, hull};
use crate::recover::{Loaded, Media, RecoverError, load};
use crate::tree::{Drop, FANOUT, Root};
use std::collections::BTreeMap;

/// Blocks further on are considered invalid: 256 TiB of data.
pub(crate) const PLACE_MAX: u64 = 1 << 32;

/// A fault in a pool's maps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// No table is valid.
    #[error("neither of the two tables is whole: no pool was made here, or both were damaged")]
    NoTable,
    /// One table, or a node that it names, is damaged, and the other table suffices. Nothing is
    /// lost yet, but a second damage may be fatal.
    #[error("table.{turn} or one of its nodes is damaged; table.{} and the log still suffice", .turn ^ 1)]
    Table {
        /// Which of the two.
        turn: u8,
    },
    /// A node cannot be read, or does not match its checksum.
    #[error("node {node} (page {page} of the nodes) cannot be read or has changed since it was written")]
    Node {
        /// Its number.
        node: u32,
        /// Its page.
        page: u64,
    },
    /// A tree refers to a node that does not exist.
    #[error("tree {tree} points at node {node}, which does not exist")]
    Missing {
        /// The tree.
        tree: u32,
        /// The node.
        node: u32,
    },
    /// A node is used at two heights.
    #[error("tree {tree} points at node {node} at height {height}, where it does not belong")]
    Height {
        /// The tree.
        tree: u32,
        /// The node.
        node: u32,
        /// The height at which it is used.
        height: u8,
    },
    /// An entry refers to an impossible block.
    #[error("tree {tree}, node {node}: an entry points at block {place} of the data")]
    Place {
        /// The tree.
        tree: u32,
        /// The node.
        node: u32,
        /// The block that it refers to.
        place: u64,
    },
    /// A tree's recorded number of blocks is wrong.
    #[error("tree {tree} has {found} blocks, its count says {kept}")]
    Blocks {
        /// The tree.
        tree: u32,
        /// The counted value.
        found: u64,
        /// The recorded value.
        kept: u64,
    },
    /// A tree has a block beyond its end.
    #[error("tree {tree} has block {block} beyond its end")]
    Beyond {
        /// The tree.
        tree: u32,
        /// The block.
        block: u64,
    },
    /// A block's reference count is wrong.
    #[error("block {place} of the data is pointed at {found} times, its count says {kept}")]
    Refs {
        /// The block.
        place: u64,
        /// The counted value.
        found: u32,
        /// The recorded value.
        kept: u32,
    },
    /// A node's reference count is wrong.
    #[error("node {node} is pointed at {found} times, its count says {kept}")]
    NodeRefs {
        /// The node.
        node: u32,
        /// The counted value.
        found: u32,
        /// The recorded value.
        kept: u32,
    },
    /// The number of blocks in use is wrong.
    #[error("{found} blocks of the data are used, the count says {kept}")]
    Used {
        /// The counted value.
        found: u64,
        /// The recorded value.
        kept: u64,
    },
    /// A record has an impossible action.
    #[error("record {sequence} of the log changes what is not there")]
    Record {
        /// Its sequence.
        sequence: u64,
    },
    /// The log ends before a record that was durable.
    #[error(
        "the log ends with record {last}, and record {found} was there: its last records are damaged, or it is an older log"
    )]
    Short {
        /// The last record that was durable.
        found: u64,
        /// The last record found.
        last: u64,
    },
    /// Neither slot of the end is valid.
    #[error("the end is not there or damaged, so nothing says how far the log went and which catalogue belongs to it")]
    NoEnd,
    /// The end is that of another pool.
    #[error("the end is another pool's")]
    OthersEnd,
    /// The end is older than the log or the tables.
    #[error("the end is an older one: it was written {found} times, and the log and the tables have seen {least}")]
    OldEnd {
        /// Its count.
        found: u64,
        /// The least count that it must have.
        least: u64,
    },
    /// The log has records beyond those that follow the table.
    #[error("the log holds record {found}, but those after {last} are missing: the newer table or a record is damaged")]
    Ahead {
        /// The record that was found.
        found: u64,
        /// The last record that follows.
        last: u64,
    },
}

impl Damage {
    /// The tree that it is in, if any.
    pub fn tree(&self) -> Option<u32> {
        match *self {
            Damage::Missing { tree, .. }
            | Damage::Height { tree, .. }
            | Damage::Place { tree, .. }
            | Damage::Blocks { tree, .. }
            | Damage::Beyond { tree, .. } => Some(tree),
            _ => None,
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The damage; empty if there is none.
    pub damages: Vec<Damage>,
    /// The invalid table, if the other one suffices to open the pool. A power failure during a
    /// checkpoint also leaves this; the two cases cannot be distinguished.
    pub spare: Option<Damage>,
    /// The number and size in bytes of each tree.
    pub sizes: Vec<(u32, u64)>,
    /// The number of trees.
    pub trees: u64,
    /// Bytes of the data that trees refer to.
    pub used: u64,
    /// For each segment in use, the end of its last page in use, in bytes of the data and in order;
    /// empty if the maps are damaged.
    pub ends: Vec<u64>,
    /// The sequence of the last record.
    pub sequence: u64,
    /// The last record that the end knows of. Whether the disk lost later ones is unknown.
    pub anchored: u64,
    /// The next opening will replay records: the pool was not closed.
    pub is_open: bool,
    /// The pool's number.
    pub pool: u64,
    /// What is known of the catalogue; the default if the end is damaged.
    pub agreed: Agreed,
    /// Size of the log in bytes.
    pub log: u64,
}

/// Reads all tables, nodes and records, and reports what is wrong. Nothing is written.
///
/// # Errors
/// The pool has a later format.
pub fn check(media: &mut impl Media, settings: Settings) -> Result<Report, RecoverError> {
    let Loaded { core, mut damages, invalid_table } = load(media, settings)?;
    let Some(core) = core else { return Ok(Report { damages, ..Report::default() }) };
    let spare = invalid_table.map(|turn| Damage::Table { turn });
    if damages.is_empty() {
        damages = core.audit();
    }
    let mut sizes: Vec<_> = core.trees.iter().map(|(number, tree)| (*number, tree.size)).collect();
    sizes.sort_unstable();
    let (trees, used) = (sizes.len() as u64, core.space.used() * BLOCK);
    let ends = if damages.is_empty() { core.data_ends() } else { Vec::new() };
    Ok(Report {
        damages,
        spare,
        sizes,
        trees,
        used,
        ends,
        sequence: core.sequence,
        anchored: core.anchor.end.sequence,
        is_open: !core.ring.empty,
        pool: core.pool,
        agreed: core.anchor.end.agreed.clone(),
        log: core.ring.size,
    })
}

impl Core {
    /// The end of the last page that a map refers to, for each segment.
    fn data_ends(&self) -> Vec<u64> {
        let mut ends = BTreeMap::new();
        self.each_end(&mut |last| {
            let end = ends.entry((last - 1) / self.settings.segment).or_insert(last);
            *end = last.max(*end);
        });
        ends.into_values().collect()
    }

    /// Calls `seen` with the end, in bytes of the data, of each block's last valid page; the data
    /// must reach that far. Shared nodes are visited once.
    pub fn each_end(&self, seen: &mut impl FnMut(u64)) {
        let mut met = vec![false; self.nodes.numbers() as usize];
        for tree in self.trees.values() {
            self.nodes.each_once(tree.root, &mut met, &mut |entry| {
                if let Some(place) = entry.place().filter(|_| entry.mask() != 0) {
                    seen(place * BLOCK + u64::from(hull(entry.mask()).1) * PAGE);
                }
            });
        }
    }

    /// Counts everything again and reports differences from what is recorded. It walks all trees.
    pub fn audit(&self) -> Vec<Damage> {
        let mut walk = Walk::new(self.nodes.numbers() as usize);
        let words = |number| self.nodes.words(number);
        for (number, tree) in &self.trees {
            walk.root(*number, tree.root, tree.size, tree.blocks, &words);
        }
        for drop in self.commit.drops().chain(self.limbo.drops()).chain(&self.releasing) {
            match *drop {
                Drop::Block(place) => walk.point_at(place),
                Drop::Node(node, height) => {
                    walk.visit(0, node, height, &words);
                }
            }
        }
        let mut damages = std::mem::take(&mut walk.damages);
        for node in 0..self.nodes.numbers() {
            let (found, kept) = (walk.node_refs[node as usize], self.nodes.refs(node));
            damages.extend((found != kept).then_some(Damage::NodeRefs { node, found, kept }));
        }
        let mut found_used = 0;
        for place in 0..self.space.high() {
            let (found, kept) = (walk.places.get(place), self.space.refs(place));
            found_used += u64::from(found > 0);
            damages.extend((found != kept).then_some(Damage::Refs { place, found, kept }));
        }
        // Copies that are being written are allocated but not referred to yet.
        let (found, kept) = (found_used, self.space.used());
        damages.extend((found != kept && !self.is_busy()).then_some(Damage::Used { found, kept }));
        damages
    }
}

/// A walk over all trees that counts references. A shared node is visited once.
pub(crate) struct Walk {
    pub(crate) node_refs: Vec<u32>,
    heights: Vec<u8>,
    blocks: Vec<u64>,
    places: Counts,
    pub(crate) damages: Vec<Damage>,
}

impl Walk {
    pub(crate) fn new(nodes: usize) -> Walk {
        let places = Counts::default();
        Walk { node_refs: vec![0; nodes], heights: vec![0; nodes], blocks: vec![0; nodes], places, damages: Vec::new() }
    }

    /// How often each block of the data is referred to.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u64, u32)> {
        self.places.iter()
    }

    /// `place` must be below [`PLACE_MAX`].
    pub(crate) fn point_at(&mut self, place: u64) {
        self.places.add(place);
    }

    /// Walks a tree.
    pub(crate) fn root<'n>(
        &mut self,
        tree: u32,
        root: Root,
        size: u64,
        kept: u64,
        words: &impl Fn(u32) -> Option<&'n [u64; FANOUT]>,
    ) {
        let found = match root.node.checked_sub(1) {
            Some(node) => self.visit(tree, node, root.height, words),
            None => 0,
        };
        if found != kept {
            self.damages.push(Damage::Blocks { tree, found, kept });
        }
        let Some(node) = root.node.checked_sub(1).filter(|_| self.damages.is_empty()) else { return };
        if let Some(block) = last_block(node, root.height, words)
            && block >= size.div_ceil(BLOCK)
        {
            self.damages.push(Damage::Beyond { tree, block });
        }
    }

    /// Visits a node; returns the number of blocks beneath it.
    pub(crate) fn visit<'n>(
        &mut self,
        tree: u32,
        node: u32,
        height: u8,
        words: &impl Fn(u32) -> Option<&'n [u64; FANOUT]>,
    ) -> u64 {
        let at = node as usize;
        let Some(found) = (at < self.node_refs.len()).then(|| words(node)).flatten() else {
            self.damages.push(Damage::Missing { tree, node });
            return 0;
        };
        self.node_refs[at] += 1;
        if self.node_refs[at] > 1 || height == 0 {
            if self.heights[at] != height {
                self.damages.push(Damage::Height { tree, node, height });
            }
            return self.blocks[at];
        }
        self.heights[at] = height;
        let mut blocks = 0;
        for word in found.iter().filter(|word| **word != 0) {
            match Entry::from_bits(*word).place() {
                _ if height > 1 => blocks += self.visit(tree, (*word - 1) as u32, height - 1, words),
                Some(place) if place < PLACE_MAX => {
                    self.point_at(place);
                    blocks += 1;
                }
                place => self.damages.push(Damage::Place { tree, node, place: place.unwrap_or(0) }),
            }
        }
        self.blocks[at] = blocks;
        blocks
    }
}

/// How often blocks of the data are referred to. It is stored in chunks, so that a block far out,
/// perhaps referred to by mistake, costs no more than one chunk.
#[derive(Default)]
struct Counts(Vec<Option<Box<[u32; CHUNK]>>>);

const CHUNK: usize = 1 << 16;

impl Counts {
    fn add(&mut self, place: u64) {
        let (chunk, at) = (place as usize / CHUNK, place as usize % CHUNK);
        if self.0.len() <= chunk {
            self.0.resize(chunk + 1, None);
        }
        self.0[chunk].get_or_insert_with(|| Box::new([0; CHUNK]))[at] += 1;
    }

    fn get(&self, place: u64) -> u32 {
        let chunk = self.0.get(place as usize / CHUNK).and_then(Option::as_ref);
        chunk.map_or(0, |chunk| chunk[place as usize % CHUNK])
    }

    /// The blocks with references, in order.
    fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        let chunks = self.0.iter().enumerate().filter_map(|(chunk, counts)| Some((chunk * CHUNK, counts.as_ref()?)));
        let all = chunks.flat_map(|(first, counts)| (first..).zip(counts.iter()));
        all.filter(|(_, count)| **count > 0).map(|(place, count)| (place as u64, *count))
    }
}

/// The last block beneath a node that is not a hole.
fn last_block<'n>(node: u32, height: u8, words: &impl Fn(u32) -> Option<&'n [u64; FANOUT]>) -> Option<u64> {
    let found = words(node)?;
    let filled = found.iter().enumerate().rev().filter(|(_, word)| **word != 0);
    for (at, word) in filled {
        let base = at as u64 * Root::reach(height - 1);
        let below = if height == 1 { Some(0) } else { last_block((*word - 1) as u32, height - 1, words) };
        if let Some(block) = below {
            return Some(base + block);
        }
    }
    None
}
