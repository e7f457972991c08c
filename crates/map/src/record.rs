//! The redo log: changes of the maps, as records in a ring.
//!
//! ```text
//!   record   0        4        8                16               24       28       32               40          40 + 24 n
//!           ├─ SWLG ──┼─ crc ──┼─ sequence ─────┼─ pool ─────────┼─ n ────┼─ 0 ────┼─ end ──────────┼─ actions ─┼─ zeroes ─┤
//!
//!   action   0      1       2   4        8                16               24
//!           ├ kind ─┼ flag ─┼ 0 ┼─ tree ─┼─ a ────────────┼─ b ────────────┤
//! ```
//! Numbers are little-endian; the checksum covers everything after it. Sequences increase by one,
//! so a record from an earlier round of the ring is never mistaken for a new one. A record that
//! does not fit before the end of the ring begins at 0.

use crate::entry::Entry;
use crc32c::crc32c;

const MAGIC: u32 = u32::from_le_bytes(*b"SWLG");
const HEADER: usize = 40;
const ACTION: usize = 24;
/// Records begin and end at multiples of this many bytes.
pub const RECORD_ALIGN: u64 = 4096;

/// A change of the maps. It may be replayed on a state that includes it and later actions:
/// replaying the later ones as well restores that state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sets an entry.
    Set {
        /// The tree.
        tree: u32,
        /// The block in it.
        block: u64,
        /// Its entry.
        entry: Entry,
    },
    /// Makes blocks holes.
    Clear {
        /// The tree.
        tree: u32,
        /// The first.
        from: u64,
        /// The one after the last.
        to: u64,
    },
    /// Creates an empty tree.
    Create {
        /// Its number.
        tree: u32,
        /// Its size in bytes.
        size: u64,
    },
    /// Creates a tree that shares everything with another.
    Share {
        /// Its number.
        tree: u32,
        /// The other's.
        from: u32,
        /// It is a snapshot, which never changes.
        frozen: bool,
    },
    /// Makes a tree share everything with another; its previous contents are dropped.
    Restore {
        /// The tree.
        tree: u32,
        /// The other.
        from: u32,
    },
    /// Deletes a tree.
    Delete {
        /// Its number.
        tree: u32,
    },
    /// Resizes a tree.
    Resize {
        /// Its number.
        tree: u32,
        /// In bytes.
        size: u64,
    },
}

impl Action {
    fn encode(self, out: &mut Vec<u8>) {
        let (kind, flag, tree, a, b) = match self {
            Action::Set { tree, block, entry } => (1, false, tree, block, entry.bits()),
            Action::Clear { tree, from, to } => (2, false, tree, from, to),
            Action::Create { tree, size } => (3, false, tree, size, 0),
            Action::Share { tree, from, frozen } => (4, frozen, tree, u64::from(from), 0),
            Action::Restore { tree, from } => (5, false, tree, u64::from(from), 0),
            Action::Delete { tree } => (6, false, tree, 0, 0),
            Action::Resize { tree, size } => (7, false, tree, size, 0),
        };
        out.extend([kind, u8::from(flag), 0, 0]);
        out.extend(tree.to_le_bytes());
        out.extend(a.to_le_bytes());
        out.extend(b.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Action> {
        let (tree, a, b) = (u32_at(bytes, 4), u64_at(bytes, 8), u64_at(bytes, 16));
        let action = match bytes[0] {
            1 => Action::Set { tree, block: a, entry: Entry::from_bits(b) },
            2 => Action::Clear { tree, from: a, to: b },
            3 => Action::Create { tree, size: a },
            4 => Action::Share { tree, from: a as u32, frozen: bytes[1] != 0 },
            5 => Action::Restore { tree, from: a as u32 },
            6 => Action::Delete { tree },
            7 => Action::Resize { tree, size: a },
            _ => return None,
        };
        Some(action)
    }
}

/// Bytes that a record of this many actions takes in the ring.
pub fn record_len(actions: usize) -> u64 {
    ((HEADER + actions * ACTION) as u64).next_multiple_of(RECORD_ALIGN)
}

/// Encodes a record. `end` is the count of the durable end.
pub fn encode(pool: u64, sequence: u64, end: u64, actions: &[Action]) -> Vec<u8> {
    let len = record_len(actions.len()) as usize;
    let mut bytes = Vec::with_capacity(len);
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(pool.to_le_bytes());
    bytes.extend((actions.len() as u32).to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(end.to_le_bytes());
    actions.iter().for_each(|action| action.encode(&mut bytes));
    bytes.resize(len, 0);
    let crc = crc32c(&bytes[8..]);
    bytes[4..8].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// What the first page of a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The record's sequence.
    pub sequence: u64,
    /// Its length in the ring, in bytes.
    pub len: u64,
    /// The count of the end that was durable when the record was written.
    pub end: u64,
}

/// The head of a record of this pool, if there seems to be one; only [`decode`] tells whether it is
/// complete.
pub fn head(pool: u64, page: &[u8]) -> Option<Head> {
    let ours = u32_at(page, 0) == MAGIC && u64_at(page, 16) == pool;
    ours.then(|| Head { sequence: u64_at(page, 8), len: record_len(u32_at(page, 24) as usize), end: u64_at(page, 32) })
}

/// The actions of a complete record; `None` if it is torn or damaged.
pub fn decode(bytes: &[u8]) -> Option<Vec<Action>> {
    if crc32c(&bytes[8..]) != u32_at(bytes, 4) {
        return None;
    }
    let count = u32_at(bytes, 24) as usize;
    bytes[HEADER..HEADER + count * ACTION].chunks(ACTION).map(Action::decode).collect()
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Where the next record goes, and what must not be overwritten. Positions are bytes in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// The ring's size in bytes.
    pub size: u64,
    /// The start of the oldest record that a recovery may need.
    pub tail: u64,
    /// The end of the last record.
    pub head: u64,
    /// No record is needed. This distinguishes empty from full if `head == tail`.
    pub empty: bool,
}

impl Ring {
    /// An empty ring whose next record goes to `at`.
    pub fn at(size: u64, at: u64) -> Ring {
        Ring { size, tail: at, head: at, empty: true }
    }

    /// Bytes of needed records, including what is unused before a wrap.
    pub fn used(&self) -> u64 {
        match self.empty {
            true => 0,
            false if self.head > self.tail => self.head - self.tail,
            false => self.size - self.tail + self.head,
        }
    }

    /// Where a record of `len` bytes would go; `None` if it does not fit.
    pub fn place(&self, len: u64) -> Option<u64> {
        let wrapped = !self.empty && self.head <= self.tail;
        let end = if wrapped { self.tail } else { self.size };
        if self.head + len <= end {
            return Some(self.head);
        }
        // Wrap around: up to the tail, or up to the end of the ring if no record is needed.
        let room = if self.empty { self.size } else { self.tail };
        (!wrapped && len <= room).then_some(0)
    }

    /// A record of `len` bytes was put at `at`, as [`Ring::place`] said.
    pub fn push(&mut self, at: u64, len: u64) {
        if self.empty {
            self.tail = at;
        }
        self.head = at + len;
        self.empty = false;
    }

    /// Records before `tail` are no longer needed.
    pub fn advance(&mut self, tail: u64) {
        self.tail = tail;
        self.empty = tail == self.head;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Action> {
        vec![
            Action::Create { tree: 1, size: 1 << 40 },
            Action::Set { tree: 1, block: 7, entry: Entry::new(9, 0x8001) },
            Action::Clear { tree: 1, from: 3, to: 1 << 31 },
            Action::Share { tree: 2, from: 1, frozen: true },
            Action::Share { tree: 3, from: 2, frozen: false },
            Action::Restore { tree: 1, from: 2 },
            Action::Resize { tree: 3, size: 4096 },
            Action::Delete { tree: u32::MAX },
        ]
    }

    /// The format's checksum is CRC-32C, as the values of RFC 3720, appendix B.4 show.
    #[test]
    fn the_published_checksums() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283, "the usual check value, with a rest of one byte");
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_any_changed_bit_is_noticed() {
        let bytes = encode(77, 5, 3, &all());
        assert_eq!(bytes.len(), 4096);
        assert_eq!(head(77, &bytes), Some(Head { sequence: 5, len: 4096, end: 3 }));
        assert_eq!(head(78, &bytes), None, "of another pool");
        assert_eq!(decode(&bytes), Some(all()));
        for bit in (4 * 8..bytes.len() * 8).step_by(13) {
            let mut torn = bytes.clone();
            torn[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&torn), None, "bit {bit}");
        }
    }

    #[test]
    fn lengths_are_whole_pages() {
        // 40 + 24 × 169 = 4096, and one more action does not fit.
        assert_eq!((record_len(0), record_len(169), record_len(170)), (4096, 4096, 8192));
    }

    #[test]
    fn a_ring_never_overwrites_what_is_needed() {
        let mut ring = Ring::at(4 * 4096, 3 * 4096);
        assert_eq!(ring.place(8192), Some(0), "it does not fit before the end");
        ring.push(0, 8192);
        assert_eq!((ring.tail, ring.used()), (0, 8192));
        ring.push(ring.place(8192).unwrap(), 8192);
        assert_eq!((ring.used(), ring.place(4096)), (4 * 4096, None));
        ring.advance(8192);
        assert_eq!((ring.used(), ring.place(8192), ring.place(12288)), (8192, Some(0), None));
        ring.push(0, 8192);
        assert_eq!(ring.place(4096), None);
        ring.advance(8192);
        assert!(ring.empty && ring.place(4 * 4096) == Some(0));
    }
}
