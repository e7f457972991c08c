//! Shared radix trees of nodes with 512 words. Nodes have reference counts; a shared one is copied
//! before it is changed.
//!
//! ```text
//!   LUN      snapshot            height 2: 16 GiB          word of an inner node: number of the child + 1, or 0
//!     └──┐   ┌──┘                                          word of a leaf: an Entry
//!       [inner]  refs 2          height 1: 32 MiB
//!       ╱     ╲
//!   [leaf]   [leaf]              A clone is one more reference to the root, whatever is beneath and however many clones
//!                                came before: a read never walks to a parent.
//! ```
//!
//! *Removing a reference* is never immediate: it goes to a list of [`Drop`]s, which is processed
//! when the record of the change is durable. Until then everything that only the durable map still
//! refers to looks shared, so nobody overwrites it.

use crate::entry::Entry;
use crate::space::Space;
use crate::steps::Steps;

/// Words in a node of 4 KiB.
pub const FANOUT: usize = 512;
const SHIFT: u32 = 9;

/// The words of a node.
pub type Words = Box<[u64; FANOUT]>;

/// The root of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Root {
    /// Number of the node + 1; 0 if the tree is empty.
    pub node: u32,
    /// Levels of nodes.
    pub height: u8,
}

/// A reference that will be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// From a leaf to a block.
    Block(u64),
    /// To a node of this height (1 for a leaf).
    Node(u32, u8),
}

/// Which of a tree's blocks to visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    All,
    /// Only blocks that no other root reaches: shared nodes are skipped.
    Own,
}

struct Node {
    words: Words,
    refs: u32,
    dirty: bool,
}

/// All nodes of a pool.
#[derive(Default)]
pub struct Nodes {
    nodes: Vec<Option<Node>>,
    free: Vec<u32>,
    dirty: Vec<u32>,
}

impl Root {
    /// Levels of a tree of `blocks` blocks.
    pub fn height_for(blocks: u64) -> u8 {
        let mut height = 1;
        while Root::reach(height) < blocks {
            height += 1;
        }
        height
    }

    /// Blocks beneath a node of that height.
    pub fn reach(height: u8) -> u64 {
        1 << (SHIFT * u32::from(height))
    }
}

fn index(block: u64, height: u8) -> usize {
    (block >> (SHIFT * (u32::from(height) - 1))) as usize & (FANOUT - 1)
}

impl Nodes {
    /// The entry of a block, and whether a node on the path to it is shared.
    #[inline]
    pub fn get(&self, root: Root, block: u64) -> (Entry, bool) {
        let (mut at, mut height, mut shared) = (root.node, root.height, false);
        while let Some(number) = at.checked_sub(1) {
            let node = self.node(number);
            shared |= node.refs > 1;
            let word = node.words[index(block, height)];
            if height == 1 {
                return (Entry::from_bits(word), shared);
            }
            at = word as u32;
            height -= 1;
        }
        (Entry::HOLE, false)
    }

    /// Whether all nodes on the path to a block exist and are not shared, so that [`Nodes::set`]
    /// needs no new one.
    pub fn is_laid(&self, root: Root, block: u64) -> bool {
        let (mut at, mut height) = (root.node, root.height);
        while let Some(node) = at.checked_sub(1).map(|number| self.node(number)).filter(|node| node.refs == 1) {
            if height == 1 {
                return true;
            }
            at = node.words[index(block, height)] as u32;
            height -= 1;
        }
        false
    }

    /// Sets the entry of a block. Shared nodes are copied first, and the references in the copies
    /// counted. The caller must drop what the old entry referred to.
    pub fn set(&mut self, root: &mut Root, block: u64, entry: Entry, space: &mut Space) {
        if root.node == 0 {
            root.node = self.add(Box::new([0; FANOUT])) + 1;
        }
        let mut number = self.own(root.node - 1, root.height, space);
        root.node = number + 1;
        for height in (2..=root.height).rev() {
            let at = index(block, height);
            let child = match self.word(number, at) {
                0 => self.add(Box::new([0; FANOUT])),
                child => self.own(child as u32 - 1, height - 1, space),
            };
            self.put(number, at, u64::from(child) + 1);
            number = child;
        }
        self.put(number, index(block, 1), entry.bits());
    }

    /// Makes the blocks `from..to` holes. Appends what they referred to to `drops`, and returns the
    /// number of blocks.
    pub fn clear(&mut self, root: &mut Root, from: u64, to: u64, space: &mut Space, drops: &mut Vec<Drop>) -> u64 {
        let to = to.min(Root::reach(root.height));
        if root.node == 0 || from >= to {
            return 0;
        }
        if (from, to) == (0, Root::reach(root.height)) {
            drops.push(Drop::Node(root.node - 1, root.height));
            let blocks = self.count(root.node - 1, root.height);
            root.node = 0;
            return blocks;
        }
        let number = self.own(root.node - 1, root.height, space);
        root.node = number + 1;
        self.clear_node(number, root.height, (from, to), space, drops)
    }

    /// Clears the blocks `from..to`, counted from the first block of a node that is not shared.
    fn clear_node(
        &mut self,
        number: u32,
        height: u8,
        range: (u64, u64),
        space: &mut Space,
        drops: &mut Vec<Drop>,
    ) -> u64 {
        let (from, to) = range;
        let reach = Root::reach(height - 1);
        let mut blocks = 0;
        for at in (from / reach) as usize..to.div_ceil(reach) as usize {
            let word = self.word(number, at);
            if word == 0 {
                continue;
            }
            let base = at as u64 * reach;
            let inside = (from.max(base) - base, to.min(base + reach) - base);
            if height == 1 {
                drops.extend(Entry::from_bits(word).place().map(Drop::Block));
                self.put(number, at, 0);
                blocks += 1;
            } else if inside == (0, reach) {
                blocks += self.count(word as u32 - 1, height - 1);
                drops.push(Drop::Node(word as u32 - 1, height - 1));
                self.put(number, at, 0);
            } else {
                let child = self.own(word as u32 - 1, height - 1, space);
                self.put(number, at, u64::from(child) + 1);
                blocks += self.clear_node(child, height - 1, inside, space, drops);
            }
        }
        blocks
    }

    /// Makes the tree high enough for this many blocks. A tree never becomes lower.
    pub fn raise(&mut self, root: &mut Root, blocks: u64) {
        while root.height < Root::height_for(blocks) {
            if root.node != 0 {
                let mut words = Box::new([0; FANOUT]);
                words[0] = u64::from(root.node);
                root.node = self.add(words) + 1;
            }
            root.height += 1;
        }
    }

    /// Adds a reference to a root.
    pub fn share(&mut self, root: Root) {
        if let Some(number) = root.node.checked_sub(1) {
            self.node_mut(number).refs += 1;
        }
    }

    /// Removes references; with the last reference to a node, also what the node refers to.
    pub fn release(&mut self, mut drops: Vec<Drop>, space: &mut Space) {
        while let Some(drop) = drops.pop() {
            self.release_one(drop, space, &mut drops);
        }
    }

    /// Removes one reference. If it was the last one to a node, the node is removed: its blocks are
    /// released at once, its child nodes appended to `drops`. Returns the steps taken.
    pub fn release_one(&mut self, drop: Drop, space: &mut Space, drops: &mut Vec<Drop>) -> u32 {
        let (number, height) = match drop {
            Drop::Block(place) => {
                space.release(place);
                return 1;
            }
            Drop::Node(number, height) => (number, height),
        };
        let node = self.node_mut(number);
        node.refs -= 1;
        if node.refs > 0 {
            return 1;
        }
        let node = self.nodes[number as usize].take().expect("it was just here");
        self.free.push(number);
        for word in node.words.iter().filter(|word| **word != 0) {
            match height {
                1 => Entry::from_bits(*word).place().into_iter().for_each(|place| space.release(place)),
                _ => drops.push(Drop::Node(*word as u32 - 1, height - 1)),
            }
        }
        FANOUT as u32
    }

    /// Calls `seen` with every entry beneath nodes that are not in `met`, which is indexed by node
    /// number, and adds those nodes to it.
    pub fn each_once(&self, root: Root, met: &mut [bool], seen: &mut impl FnMut(Entry)) {
        if let Some(number) = root.node.checked_sub(1) {
            self.each_once_below(number, root.height, met, seen);
        }
    }

    fn each_once_below(&self, number: u32, height: u8, met: &mut [bool], seen: &mut impl FnMut(Entry)) {
        if std::mem::replace(&mut met[number as usize], true) {
            return;
        }
        for word in self.node(number).words.iter().filter(|word| **word != 0) {
            match height {
                1 => seen(Entry::from_bits(*word)),
                _ => self.each_once_below(*word as u32 - 1, height - 1, met, seen),
            }
        }
    }

    /// Calls `seen` with every block from `from` on that is not a hole, in order, until `steps` are
    /// spent. Returns where to continue, or `None` when all were visited.
    pub fn each_from(
        &self,
        root: Root,
        (from, which): (u64, Which),
        steps: &mut Steps,
        seen: &mut impl FnMut(u64, Entry),
    ) -> Option<u64> {
        let top = (root.node.checked_sub(1)?, root.height, 0);
        self.each_from_below(top, (from, which), steps, seen).err()
    }

    /// An `Err` says where to continue. Only what is passed counts as steps, so each call makes
    /// progress; the way down to the start, one node per level, is not counted.
    fn each_from_below(
        &self,
        (number, height, base): (u32, u8, u64),
        (from, which): (u64, Which),
        steps: &mut Steps,
        seen: &mut impl FnMut(u64, Entry),
    ) -> Result<(), u64> {
        let node = self.node(number);
        if which == Which::Own && node.refs > 1 {
            return Ok(());
        }
        let reach = Root::reach(height - 1);
        let first = (from.saturating_sub(base) / reach) as usize;
        for (at, word) in node.words.iter().enumerate().skip(first) {
            let here = base + at as u64 * reach;
            if steps.are_spent() {
                return Err(here.max(from));
            }
            match (word, height) {
                (0, _) => {}
                (_, 1) => seen(here, Entry::from_bits(*word)),
                _ => self.each_from_below((*word as u32 - 1, height - 1, here), (from, which), steps, seen)?,
            }
            steps.spend(1);
        }
        Ok(())
    }

    /// Counts the blocks beneath a node.
    fn count(&self, number: u32, height: u8) -> u64 {
        let (mut blocks, root) = (0, Root { node: number + 1, height });
        self.each_from(root, (0, Which::All), &mut Steps::new(u32::MAX), &mut |_, _| blocks += 1);
        blocks
    }

    /// The node itself if it has one reference, otherwise a copy for the caller.
    fn own(&mut self, number: u32, height: u8, space: &mut Space) -> u32 {
        if self.node(number).refs == 1 {
            return number;
        }
        let words = self.node(number).words.clone();
        for word in words.iter().filter(|word| **word != 0) {
            match height {
                1 => Entry::from_bits(*word).place().into_iter().for_each(|place| space.retain(place)),
                _ => self.node_mut(*word as u32 - 1).refs += 1,
            }
        }
        self.node_mut(number).refs -= 1;
        self.add(words)
    }

    fn add(&mut self, words: Words) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            self.nodes.len() as u32 - 1
        });
        self.nodes[number as usize] = Some(Node { words, refs: 1, dirty: true });
        self.dirty.push(number);
        number
    }

    fn node(&self, number: u32) -> &Node {
        self.nodes[number as usize].as_ref().expect("a node stays while something points at it")
    }

    fn node_mut(&mut self, number: u32) -> &mut Node {
        self.nodes[number as usize].as_mut().expect("a node stays while something points at it")
    }

    fn word(&self, number: u32, at: usize) -> u64 {
        self.node(number).words[at]
    }

    fn put(&mut self, number: u32, at: usize, word: u64) {
        let node = self.nodes[number as usize].as_mut().expect("a node stays while something points at it");
        if node.words[at] != word {
            node.words[at] = word;
            if !std::mem::replace(&mut node.dirty, true) {
                self.dirty.push(number);
            }
        }
    }
}

/// What checkpoints and checks need.
impl Nodes {
    /// One more than the highest number of a node so far.
    pub fn numbers(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The number of nodes.
    pub fn in_use(&self) -> u64 {
        (self.nodes.len() - self.free.len()) as u64
    }

    /// A node's words, if it exists.
    pub fn words(&self, number: u32) -> Option<&[u64; FANOUT]> {
        self.nodes.get(number as usize)?.as_ref().map(|node| &*node.words)
    }

    /// References to a node; 0 if it does not exist.
    pub fn refs(&self, number: u32) -> u32 {
        self.nodes.get(number as usize).and_then(Option::as_ref).map_or(0, |node| node.refs)
    }

    /// How many nodes changed since the last [`Nodes::take_dirty`], or slightly more.
    pub fn dirty(&self) -> usize {
        self.dirty.len()
    }

    /// The nodes that changed since the last call.
    pub fn take_dirty(&mut self) -> Vec<u32> {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.retain(|number| {
            let node = self.nodes[*number as usize].as_mut();
            node.is_some_and(|node| std::mem::replace(&mut node.dirty, false))
        });
        dirty
    }

    /// These nodes could not be written: the next [`Nodes::take_dirty`] returns them again, if they
    /// still exist.
    pub fn put_back_dirty(&mut self, numbers: impl Iterator<Item = u32>) {
        for number in numbers {
            if let Some(node) = self.nodes[number as usize].as_mut()
                && !std::mem::replace(&mut node.dirty, true)
            {
                self.dirty.push(number);
            }
        }
    }

    /// Nodes that were read from the disk, by number, with their reference counts; those without
    /// references are left out.
    pub fn load(read: Vec<Option<(Words, u32)>>) -> Nodes {
        let make = |(words, refs)| (refs > 0).then_some(Node { words, refs, dirty: false });
        let nodes: Vec<_> = read.into_iter().map(|node| node.and_then(make)).collect();
        let free = (0..nodes.len() as u32).rev().filter(|number| nodes[*number as usize].is_none()).collect();
        Nodes { nodes, free, dirty: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of 20 GiB (height 3) with an entry at each end of a leaf and beyond.
    fn planted(nodes: &mut Nodes, space: &mut Space) -> (Root, Vec<u64>) {
        let mut root = Root { node: 0, height: Root::height_for((20 << 30) / crate::BLOCK) };
        assert_eq!(root.height, 3);
        let blocks = vec![0, 511, 512, 262_143, 262_144, 300_000];
        for &block in &blocks {
            let place = space.take(None).unwrap();
            nodes.set(&mut root, block, Entry::new(place, 1), space);
        }
        (root, blocks)
    }

    fn listed(nodes: &Nodes, root: Root) -> Vec<u64> {
        let mut found = Vec::new();
        // A few steps at a time, as well as all at once.
        let (mut from, most) = (Some(0), if root.node.is_multiple_of(2) { 1 } else { u32::MAX });
        while let Some(next) = from {
            from = nodes.each_from(root, (next, Which::All), &mut Steps::new(most), &mut |block, _| found.push(block));
        }
        found
    }

    #[test]
    fn a_shared_tree_keeps_what_it_had_and_gives_all_back_in_any_order() {
        for first in [true, false] {
            let (mut nodes, mut space) = (Nodes::default(), Space::new(100));
            let (mut root, blocks) = planted(&mut nodes, &mut space);
            let old = root;
            nodes.share(root);
            assert!(nodes.get(root, 511).1, "shared by its root");
            nodes.set(&mut root, 511, Entry::new(space.take(None).unwrap(), 3), &mut space);
            let mut drops = vec![Drop::Block(1)];
            assert_eq!((nodes.get(old, 511).0, nodes.get(root, 511)), (Entry::new(1, 1), (Entry::new(6, 3), false)));
            assert_eq!(nodes.get(root, 0), (Entry::new(0, 1), false));
            assert_eq!(space.refs(0), 2, "the leaf was copied, so both point at its other block");
            assert_eq!(space.refs(2), 1, "the next leaf is shared as it is");
            assert_eq!(listed(&nodes, root), blocks);
            let (one, other) = if first { (old, root) } else { (root, old) };
            drops.push(Drop::Node(one.node - 1, 3));
            nodes.release(drops, &mut space);
            assert_eq!(listed(&nodes, other), blocks);
            assert_eq!(space.used(), 6);
            nodes.release(vec![Drop::Node(other.node - 1, 3)], &mut space);
            assert_eq!((space.used(), nodes.free.len()), (0, nodes.nodes.len()));
        }
    }

    #[test]
    fn clearing_takes_exactly_the_range() {
        let all = [0, 511, 512, 262_143, 262_144, 300_000];
        for (from, to) in [(0, 1), (1, 512), (0, 262_144), (511, 300_001), (0, u64::MAX), (262_144, 300_000), (5, 5)] {
            let (mut nodes, mut space) = (Nodes::default(), Space::new(100));
            let (mut root, _) = planted(&mut nodes, &mut space);
            let mut drops = Vec::new();
            let gone = nodes.clear(&mut root, from, to, &mut space, &mut drops);
            let left: Vec<u64> = all.into_iter().filter(|block| !(from..to).contains(block)).collect();
            assert_eq!((listed(&nodes, root), gone), (left.clone(), 6 - left.len() as u64));
            assert_eq!(space.used(), 6, "not yet");
            nodes.release(drops, &mut space);
            assert_eq!(space.used(), left.len() as u64);
        }
    }

    #[test]
    fn a_tree_that_grows_higher_keeps_its_blocks() {
        let (mut nodes, mut space) = (Nodes::default(), Space::new(100));
        let mut root = Root { node: 0, height: 1 };
        nodes.set(&mut root, 7, Entry::new(space.take(None).unwrap(), 1), &mut space);
        nodes.raise(&mut root, 1 << 30);
        assert_eq!((root.height, listed(&nodes, root)), (4, vec![7]));
        assert_eq!(Root::height_for(crate::SIZE_MAX / crate::BLOCK), 4);
    }
}
