//! The table: a checkpoint's description of the whole pool. Two tables are written in turn, so that
//! one is always valid.
//!
//! ```text
//!   header   0        4         8        12       16               24               32               40
//!           ├─ SWTB ──┼ version ┼─ crc ──┼─ trees ┼─ sequence ─────┼─ pool ─────────┼─ log head ─────┼─ log size ──┤
//!            48       52       56               64               72
//!           ├─ nodes ─┼─ 0 ────┼─ length ───────┼─ end ──────────┤
//!   tree     0        4        8        12       16               24               32     (one after the other)
//!           ├─ number ┼ height ┼ node+1 ┼ frozen ┼─ size ─────────┼─ blocks ───────┤
//!   node     0        4        8     (by number)
//!           ├─ slot ──┼─ crc ──┤     slot: 0 no such node, 1 and 2: at page 2 × number (+ 1) of the nodes
//! ```
//! The sequence is that of the last record whose changes the table includes; the log continues at
//! `log head`. `end` is the count of the end that was durable when the table was made.

use crate::record::{u32_at, u64_at};
use crate::tree::Root;
use crc32c::crc32c;

const MAGIC: u32 = u32::from_le_bytes(*b"SWTB");
/// The format that this program writes, and the only one that it reads: 1 had no end.
pub const FORMAT: u32 = 2;
/// Bytes of the header, which tells the length of the table.
pub const TABLE_HEADER: usize = 72;
const TREE: usize = 32;
const NODE: usize = 8;
/// The longest table that is accepted: 4 GiB, for half a billion nodes.
const LENGTH_MAX: u64 = 4 << 30;

/// Where a node is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// 0 for nowhere; 1 and 2 for its two slots, which are used in turn.
    pub slot: u32,
    /// The node's checksum.
    pub crc: u32,
}

impl Home {
    /// The page of the nodes that has node `number`.
    pub fn page(self, number: u32) -> Option<u64> {
        Some(2 * u64::from(number) + u64::from(self.slot.checked_sub(1)?))
    }

    /// The other slot, for the next version of the node.
    pub fn other(self, crc: u32) -> Home {
        Home { slot: if self.slot == 1 { 2 } else { 1 }, crc }
    }
}

/// A tree in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Its number.
    pub tree: u32,
    /// Its root.
    pub root: Root,
    /// It is a snapshot, which never changes.
    pub frozen: bool,
    /// Its size in bytes.
    pub size: u64,
    /// Blocks that are not holes.
    pub blocks: u64,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The sequence of the last record that it includes.
    pub sequence: u64,
    /// The pool's number.
    pub pool: u64,
    /// Where the log continues.
    pub log_head: u64,
    /// Size of the log's ring in bytes.
    pub log_size: u64,
    /// The count of the end that was durable when it was made.
    pub end: u64,
    /// The trees.
    pub trees: Vec<TreeRow>,
    /// The nodes' homes by number.
    pub homes: Vec<Home>,
}

impl Table {
    /// Its encoding, a multiple of 4 KiB.
    pub fn encode(&self) -> Vec<u8> {
        let len = TABLE_HEADER + self.trees.len() * TREE + self.homes.len() * NODE;
        let mut bytes = Vec::with_capacity(len.next_multiple_of(4096));
        for word in [MAGIC, FORMAT, 0, self.trees.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        for word in [self.sequence, self.pool, self.log_head, self.log_size] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend((self.homes.len() as u32).to_le_bytes());
        bytes.extend(0u32.to_le_bytes());
        bytes.extend((len as u64).to_le_bytes());
        bytes.extend(self.end.to_le_bytes());
        for tree in &self.trees {
            for word in [tree.tree, u32::from(tree.root.height), tree.root.node, u32::from(tree.frozen)] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(tree.size.to_le_bytes());
            bytes.extend(tree.blocks.to_le_bytes());
        }
        for home in &self.homes {
            bytes.extend(home.slot.to_le_bytes());
            bytes.extend(home.crc.to_le_bytes());
        }
        let crc = crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        bytes.resize(len.next_multiple_of(4096), 0);
        bytes
    }

    /// The format and the length in bytes, according to a header; `None` if it is not a header.
    pub fn measure(header: &[u8]) -> Option<(u32, u64)> {
        let len = u64_at(header, 56);
        let is_table = u32_at(header, 0) == MAGIC && (TABLE_HEADER as u64..=LENGTH_MAX).contains(&len);
        is_table.then(|| (u32_at(header, 4), len))
    }

    /// Decodes a table of [`Table::measure`]'s length; `None` if it is torn or damaged.
    pub fn decode(bytes: &[u8]) -> Option<Table> {
        let (trees, nodes) = (u32_at(bytes, 12) as usize, u32_at(bytes, 48) as usize);
        let whole =
            bytes.len() == TABLE_HEADER + trees * TREE + nodes * NODE && crc32c(&bytes[12..]) == u32_at(bytes, 8);
        if !whole {
            return None;
        }
        let (trees, nodes) = bytes[TABLE_HEADER..].split_at(trees * TREE);
        let tree = |row: &[u8]| TreeRow {
            tree: u32_at(row, 0),
            root: Root { height: u32_at(row, 4) as u8, node: u32_at(row, 8) },
            frozen: u32_at(row, 12) != 0,
            size: u64_at(row, 16),
            blocks: u64_at(row, 24),
        };
        Some(Table {
            sequence: u64_at(bytes, 16),
            pool: u64_at(bytes, 24),
            log_head: u64_at(bytes, 32),
            log_size: u64_at(bytes, 40),
            end: u64_at(bytes, 64),
            trees: trees.chunks(TREE).map(tree).collect(),
            homes: nodes.chunks(NODE).map(|row| Home { slot: u32_at(row, 0), crc: u32_at(row, 4) }).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written_and_damage_is_noticed() {
        let row = TreeRow { tree: 3, root: Root { node: 5, height: 2 }, frozen: true, size: 1 << 30, blocks: 17 };
        let homes = vec![Home::default(), Home { slot: 2, crc: 0xdead_beef }];
        let table = Table { sequence: 9, pool: 7, log_head: 4096, log_size: 1 << 20, end: 4, trees: vec![row], homes };
        let bytes = table.encode();
        assert_eq!(bytes.len(), 4096);
        // 72 + 32 + 2 × 8 bytes count; the rest is padding.
        assert_eq!(Table::measure(&bytes), Some((FORMAT, 120)));
        assert_eq!(Table::decode(&bytes[..120]), Some(table));
        for byte in (8..120).filter(|byte| !(56..64).contains(byte)) {
            let mut torn = bytes[..120].to_vec();
            torn[byte] ^= 0x10;
            assert_eq!(Table::decode(&torn), None, "byte {byte}");
        }
    }

    #[test]
    fn the_two_slots_of_a_node_take_turns() {
        let first = Home::default().other(1);
        assert_eq!((Home::default().page(3), first.page(3), first.other(2).page(3)), (None, Some(6), Some(7)));
        assert_eq!(first.other(2).other(3).slot, 1);
    }
}
