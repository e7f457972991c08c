//! The end: how far the log is known to go, and which edition of the catalogue the maps belong to.
//! Two slots are written in turn, so that one is always complete.
//!
//! ```text
//!   slot     0        4         8        12        16               24               32               40
//!           ├─ SWEN ──┼ version ┼─ crc ──┼ touched ┼─ count ────────┼─ pool ─────────┼─ sequence ─────┼─ generation ──┤
//!            48               56       60       64
//!           ├─ announced ─────┼ digest ┼─ 0 ────┼ numbers of touched trees, 4 bytes each ┼─ zeroes ─┤
//! ```
//! Slots begin at bytes 0 and 512 KiB. The count increases with each write. Records and tables have
//! the count that was durable when they were made, so that an older end, put in its place, is
//! detected. The record with this sequence was durable, so a log that stops before it has lost
//! some.
//!
//! **Agreement with the catalogue.** A change of the catalogue is announced here, made there, and
//! confirmed here:
//!
//! ```text
//!   announce n+1, and the trees it touches ──► trees are made ──► catalogue n+1 ──► confirm n+1 ──► trees are removed
//!   the catalogue has:                    n                   │        n+1                          n+1
//!   so at a start:     confirmed n, announced n+1: either is right; the trees that were touched may be left over
//!                      confirmed n+1: an n is an older catalogue put in place, or one that lost its last change
//! ```

use crate::command::{Command, Region, Token};
use crate::core::{Core, Job, Op};
use crate::entry::PAGE;
use crate::record::{u32_at, u64_at};
use crate::refusal::MapRefusal;
use crate::{Ask, What};
use block::Fault;
use crc32c::{crc32c, crc32c_append};
use std::collections::VecDeque;

const MAGIC: u32 = u32::from_le_bytes(*b"SWEN");
/// The format that this program writes. Newer ones are refused.
pub const END_FORMAT: u32 = 1;
const HEADER: usize = 64;
/// Distance of the slots in bytes: more than an end with all trees takes.
pub const END_SLOT: u64 = 512 << 10;
/// Bytes of both slots.
pub const END_SIZE: u64 = 2 * END_SLOT;

/// Identifies a state of the catalogue, by a number and a checksum of its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edition {
    /// Increases with each change of the catalogue.
    pub generation: u64,
    /// A checksum of all contents.
    pub digest: u32,
}

/// What the maps know of the catalogue that names their trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// The last edition that is known to be durable.
    pub confirmed: Edition,
    /// The generation that is being created, or the confirmed one.
    pub announced: u64,
    /// Trees that the announced change creates, removes or changes, in order. If the catalogue does
    /// not name one of them, a server that died has left it.
    pub touched: Vec<u32>,
}

/// How a catalogue relates to what the maps know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the confirmed one. If a change was announced, it was not made.
    Confirmed,
    /// It is the announced one; the server died before it could confirm it.
    Announced,
    /// It lacks confirmed changes.
    Older,
    /// It has changes that were never announced: the maps are older.
    Newer,
    /// It has the right generation, but other contents.
    Different,
}

impl Agreed {
    /// For a pool with a catalogue of that edition.
    pub fn on(confirmed: Edition) -> Agreed {
        Agreed { confirmed, announced: confirmed.generation, touched: Vec::new() }
    }

    /// How a catalogue of that edition relates to this.
    pub fn standing(&self, found: Edition) -> Standing {
        match found.generation {
            generation if generation == self.confirmed.generation => match found.digest == self.confirmed.digest {
                true => Standing::Confirmed,
                false => Standing::Different,
            },
            generation if generation == self.announced => Standing::Announced,
            generation if generation < self.confirmed.generation => Standing::Older,
            _ => Standing::Newer,
        }
    }

    /// Whether the announced or last change touches a tree, so that it may be left over although
    /// the catalogue does not name it.
    pub fn touches(&self, tree: u32) -> bool {
        self.touched.binary_search(&tree).is_ok()
    }
}

/// The contents of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Increases with each write.
    pub count: u64,
    /// The pool's number.
    pub pool: u64,
    /// The last record that was durable.
    pub sequence: u64,
    /// What is known of the catalogue.
    pub agreed: Agreed,
}

impl End {
    /// A slot's bytes, a multiple of 4 KiB.
    pub fn encode(&self) -> Vec<u8> {
        let Agreed { confirmed, announced, touched } = &self.agreed;
        let mut bytes = Vec::new();
        for word in [MAGIC, END_FORMAT, 0, touched.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        for word in [self.count, self.pool, self.sequence, confirmed.generation, *announced] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(confirmed.digest.to_le_bytes());
        bytes.extend(0u32.to_le_bytes());
        touched.iter().for_each(|tree| bytes.extend(tree.to_le_bytes()));
        bytes.resize(bytes.len().next_multiple_of(PAGE as usize), 0);
        let crc = checksum(&bytes);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Offset of its slot.
    pub fn place(&self) -> u64 {
        self.count % 2 * END_SLOT
    }

    /// The newest complete end in the bytes of both slots, which may be cut short.
    ///
    /// # Errors
    /// One of them has a later format, which is returned.
    pub fn newest(bytes: &[u8]) -> Result<Option<End>, u32> {
        let slots = [0, END_SLOT as usize].map(|at| End::decode(bytes.get(at..).unwrap_or_default()));
        let [first, second] = slots;
        Ok([first?, second?].into_iter().flatten().max_by_key(|end| end.count))
    }

    fn decode(bytes: &[u8]) -> Result<Option<End>, u32> {
        if bytes.len() < PAGE as usize || u32_at(bytes, 0) != MAGIC {
            return Ok(None);
        }
        let (format, count) = (u32_at(bytes, 4), u32_at(bytes, 12) as usize);
        let len = (HEADER + 4 * count).next_multiple_of(PAGE as usize);
        let Some(bytes) = bytes.get(..len).filter(|bytes| checksum(bytes) == u32_at(bytes, 8)) else {
            return Ok(None);
        };
        if format > END_FORMAT {
            return Err(format);
        }
        let confirmed = Edition { generation: u64_at(bytes, 40), digest: u32_at(bytes, 56) };
        let touched = bytes[HEADER..HEADER + 4 * count].chunks(4).map(|word| u32_at(word, 0)).collect();
        let agreed = Agreed { confirmed, announced: u64_at(bytes, 48), touched };
        Ok(Some(End { count: u64_at(bytes, 16), pool: u64_at(bytes, 24), sequence: u64_at(bytes, 32), agreed }))
    }
}

/// The checksum of the version and of everything after the checksum.
fn checksum(bytes: &[u8]) -> u32 {
    crc32c_append(crc32c(&bytes[4..8]), &bytes[12..])
}

/// The end on the disk, and what is to be written to it.
#[derive(Default)]
pub(crate) struct Anchor {
    /// The last end that is durable.
    pub end: End,
    under_way: Option<(End, Option<u32>)>,
    /// Ops that want it written, each with what it must say of the catalogue if that is new.
    asked: VecDeque<(u32, Option<Agreed>)>,
}

impl Anchor {
    pub(crate) fn at(end: End) -> Anchor {
        Anchor { end, ..Anchor::default() }
    }
}

impl Core {
    /// Records what is known of the catalogue; durable when the answer with the number `id` comes.
    /// It needs no flush of the data, and works even after a flush has failed.
    pub fn agree(&mut self, id: u64, agreed: Agreed) {
        let ask = Ask { id, tree: 0, at: 0, len: 0, what: What::Anchor, fua: true, aligned: true };
        let op = self.ops.add(Op::new(ask));
        self.anchor.asked.push_back((op, Some(agreed)));
        self.start_anchor();
    }

    /// What is known of the catalogue, as far as it is durable.
    pub fn agreed(&self) -> &Agreed {
        &self.anchor.end.agreed
    }

    /// Whether the end says how far the log goes, or is being written to do so.
    pub fn is_anchored(&self) -> bool {
        self.anchor.under_way.as_ref().map_or(&self.anchor.end, |(end, _)| end).sequence == self.sequence
    }

    /// Makes the end say how far the log goes, even if nobody waits for it.
    pub fn anchor(&mut self) {
        if self.anchor.under_way.is_none() && !self.is_anchored() {
            self.write_end(None, None);
        }
    }

    /// An op wants the end to say how far the log goes.
    pub(crate) fn ask_anchor(&mut self, op: u32) {
        self.anchor.asked.push_back((op, None));
        self.start_anchor();
    }

    fn start_anchor(&mut self) {
        if self.anchor.under_way.is_none()
            && let Some((op, agreed)) = self.anchor.asked.pop_front()
        {
            self.write_end(Some(op), agreed);
        }
    }

    fn write_end(&mut self, op: Option<u32>, agreed: Option<Agreed>) {
        let last = &self.anchor.end;
        let agreed = agreed.unwrap_or_else(|| last.agreed.clone());
        let end = End { count: last.count + 1, pool: self.pool, sequence: self.sequence, agreed };
        let (at, bytes) = (end.place(), end.encode());
        self.anchor.under_way = Some((end, op));
        let token = Token(self.jobs.add(Job::End));
        self.commands.push_back(Command::Store { token, region: Region::End, at, bytes, durable: true });
    }

    /// The write of an end has ended. If it failed, the other slot is still the newest, and this
    /// one is tried again.
    pub(crate) fn end_written(&mut self, result: Result<(), Fault>) {
        let (end, op) = self.anchor.under_way.take().expect("a write of an end was under way");
        if result.is_ok() {
            self.anchor.end = end;
        }
        if let Some(op) = op {
            self.end(op, result.map_err(MapRefusal::Disk));
        }
        self.start_anchor();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(count: u64, touched: Vec<u32>) -> End {
        let confirmed = Edition { generation: 5, digest: 0xdead_beef };
        End { count, pool: 7, sequence: 99, agreed: Agreed { confirmed, announced: 6, touched } }
    }

    #[test]
    fn an_end_is_read_as_it_was_written_and_any_changed_bit_is_noticed() {
        let few = end(3, vec![1, 7, u32::MAX]);
        // 64 + 4 × 1008 = 4096, so one more needs a second page.
        let many = end(4, (0..1009).collect());
        assert_eq!((few.encode().len(), many.encode().len()), (4096, 8192));
        for end in [few, many] {
            let bytes = end.encode();
            assert_eq!(End::decode(&bytes), Ok(Some(end)));
            for bit in (0..bytes.len() * 8).step_by(7) {
                let mut torn = bytes.clone();
                torn[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(End::decode(&torn), Ok(None), "bit {bit}");
            }
        }
    }

    #[test]
    fn the_newest_whole_slot_counts() {
        let mut bytes = vec![0; END_SIZE as usize];
        assert_eq!(End::newest(&bytes), Ok(None));
        for count in [8, 9] {
            let end = end(count, vec![2]);
            bytes[end.place() as usize..][..4096].copy_from_slice(&end.encode());
        }
        assert_eq!(End::newest(&bytes), Ok(Some(end(9, vec![2]))));
        bytes[END_SLOT as usize + 70] ^= 1;
        assert_eq!(End::newest(&bytes), Ok(Some(end(8, vec![2]))));
        assert_eq!(End::newest(&bytes[..4096]), Ok(Some(end(8, vec![2]))), "a file that ends after the first");
    }

    #[test]
    fn all_trees_fit_a_slot() {
        assert!(end(1, (0..crate::TREES_MAX as u32).collect()).encode().len() as u64 <= END_SLOT);
    }

    #[test]
    fn a_catalogue_is_right_older_newer_or_another() {
        let agreed = end(1, Vec::new()).agreed;
        let standing = |generation, digest| agreed.standing(Edition { generation, digest });
        assert_eq!(standing(5, 0xdead_beef), Standing::Confirmed);
        assert_eq!(standing(5, 1), Standing::Different);
        assert_eq!(standing(6, 1), Standing::Announced);
        assert_eq!((standing(4, 0xdead_beef), standing(7, 1)), (Standing::Older, Standing::Newer));
        let settled = Agreed::on(Edition { generation: 5, digest: 1 });
        assert_eq!(
            settled.standing(Edition { generation: 5, digest: 2 }),
            Standing::Different,
            "nothing was announced"
        );
    }
}
