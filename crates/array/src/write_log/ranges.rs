//! The ranges that were written in one half of a log, by their first byte; and whether one of them
//! holds a range that is read.
//!
//! ```text
//!   read ──► filter: a bit for each piece of the media, by hash ── not set ──► not here
//!                │ set
//!                ▼
//!            table by the piece in which a range begins ──► the nearest that begins before
//!                ▲ up to 16 at a time
//!   write ──► last few
//! ```
//! Few reads are of what was just written. For most, only the filter is looked at, and it is no
//! larger than it has to be, so it stays in the processor's caches. The table takes one access for
//! a write, where a tree takes one for each of its levels. It is larger than those caches, so
//! writes go to it several at once and wait for memory together.

/// Bytes of a piece.
const PIECE: u64 = 8192;
/// Writes that go to the table together, at most.
const RECENT: usize = 16;
/// Bits of the filter for each piece that was written, at least: one in eight of the other pieces
/// then looks as if it were.
const BITS: usize = 8;

/// Written ranges. Those that overlap but begin at different bytes are kept apart.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// First byte and length, by the hash of the piece of the first byte, with linear probing; a
    /// length of 0 is an empty slot. At most half of the slots are taken.
    table: Vec<(u64, u64)>,
    count: usize,
    /// The last few ranges; no two begin at the same byte.
    recent: Vec<(u64, u64)>,
    longest: u64,
    /// A power of two of words, or empty.
    filter: Vec<u64>,
    /// Pieces that were added to the filter.
    marked: usize,
}

/// A hash of a piece: its high bits are of all of its bits (Knuth's product with 2^64 over the
/// golden ratio).
fn hash(piece: u64) -> u64 {
    piece.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 && self.recent.is_empty()
    }

    /// Adds a write; returns by how many bytes the known range grows.
    pub(super) fn write(&mut self, at: u64, len: u64) -> u64 {
        if len == 0 {
            return 0;
        }
        self.longest = self.longest.max(len);
        if self.may_have(at / PIECE) {
            self.settle();
            let known = self.keep(at, len);
            if known < len {
                self.mark(at, len);
            }
            return len.saturating_sub(known);
        }
        self.recent.push((at, len));
        self.mark(at, len);
        if self.recent.len() == RECENT {
            self.settle();
        }
        len
    }

    /// Moves the last few ranges into the table.
    fn settle(&mut self) {
        let mut recent = std::mem::take(&mut self.recent);
        recent.drain(..).for_each(|(at, len)| _ = self.keep(at, len));
        self.recent = recent;
    }

    /// Puts a range into the table, unless a longer one from the same byte is known. Returns the
    /// length known before.
    fn keep(&mut self, at: u64, len: u64) -> u64 {
        if 2 * self.count >= self.table.len() {
            self.grow();
        }
        let place = self.find(at);
        let (_, known) = self.table[place];
        if known < len {
            self.count += usize::from(known == 0);
            self.table[place] = (at, len);
        }
        known
    }

    /// Whether the nearest range that begins at `at` or before it holds these bytes.
    pub(super) fn holds(&self, at: u64, len: u64) -> bool {
        let mut piece = at / PIECE;
        loop {
            // If the range were longer than a piece, all of its pieces would be marked.
            if !self.may_have(piece) {
                return false;
            }
            if let Some((start, long)) = self.last_of(piece, at) {
                return start + long >= at + len;
            }
            if piece == 0 || (at / PIECE - piece) * PIECE > self.longest {
                return false;
            }
            piece -= 1;
        }
    }

    /// All ranges, by their first byte.
    pub(super) fn in_order(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = self.all().collect();
        all.sort_unstable();
        all
    }

    fn all(&self) -> impl Iterator<Item = (u64, u64)> {
        self.table.iter().chain(&self.recent).copied().filter(|(_, len)| *len > 0)
    }

    /// The slot of the range that begins at this byte, or where it would be.
    fn find(&self, at: u64) -> usize {
        let mut place = self.home(at / PIECE);
        while self.table[place].1 > 0 && self.table[place].0 != at {
            place = (place + 1) & (self.table.len() - 1);
        }
        place
    }

    /// Where the search for a piece begins. The table has room.
    fn home(&self, piece: u64) -> usize {
        (hash(piece) >> (64 - self.table.len().trailing_zeros())) as usize
    }

    /// The last range that begins in this piece, not behind `at`.
    fn last_of(&self, piece: u64, at: u64) -> Option<(u64, u64)> {
        let is_here = |range: &(u64, u64)| range.0 / PIECE == piece && range.0 <= at;
        let mut last = self.recent.iter().copied().filter(is_here).max();
        if self.table.is_empty() {
            return last;
        }
        let mut place = self.home(piece);
        while self.table[place].1 > 0 {
            last = last.max(Some(self.table[place]).filter(is_here));
            place = (place + 1) & (self.table.len() - 1);
        }
        last
    }

    #[cold]
    fn grow(&mut self) {
        let room = (2 * self.table.len()).max(1024);
        for range in std::mem::replace(&mut self.table, vec![(0, 0); room]) {
            if range.1 > 0 {
                let place = self.find(range.0);
                self.table[place] = range;
            }
        }
    }

    fn mark(&mut self, at: u64, len: u64) {
        let pieces = at / PIECE..=(at + len - 1) / PIECE;
        self.marked += (pieces.end() - pieces.start() + 1) as usize;
        if self.marked * BITS > self.filter.len() * 64 {
            self.widen();
        } else {
            pieces.for_each(|piece| self.set(piece));
        }
    }

    #[cold]
    fn widen(&mut self) {
        let words = (self.marked * BITS / 64 + 1).next_power_of_two().max(64);
        self.filter = vec![0; words];
        let all: Vec<(u64, u64)> = self.all().collect();
        for (at, len) in all {
            (at / PIECE..=(at + len - 1) / PIECE).for_each(|piece| self.set(piece));
        }
    }

    fn set(&mut self, piece: u64) {
        let (word, bit) = self.bit(piece);
        self.filter[word] |= bit;
    }

    #[inline]
    fn may_have(&self, piece: u64) -> bool {
        if self.filter.is_empty() {
            return false;
        }
        let (word, bit) = self.bit(piece);
        self.filter[word] & bit != 0
    }

    /// The word of a piece's bit, and the bit. There are at least 64 words.
    fn bit(&self, piece: u64) -> (usize, u64) {
        let hash = hash(piece) >> (58 - self.filter.len().trailing_zeros());
        ((hash >> 6) as usize, 1 << (hash & 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Writes and reads of many sizes, at few places and at many, compared with a sorted map.
    #[test]
    fn ranges_are_those_of_a_sorted_map() {
        for (spread, longest) in [(1 << 16, 3000), (1 << 24, 60_000), (1 << 40, 9000)] {
            let (mut ranges, mut map, mut state) = (Ranges::default(), BTreeMap::<u64, u64>::new(), 5u64);
            let mut chance = || {
                // xorshift64 (Marsaglia, 2003).
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state >> 8
            };
            let (mut held, mut bytes) = (0, 0);
            for round in 0..20_000 {
                let (mut at, mut len) = (chance() % spread / 512 * 512, 1 + chance() % longest);
                if round % 3 == 0 {
                    let known = map.get(&at).copied().unwrap_or(0);
                    map.insert(at, len.max(known));
                    bytes += ranges.write(at, len);
                    continue;
                }
                // Every other read is of something that was written, or a part of it.
                if round % 3 == 1
                    && let Some((start, long)) = map.range(at..).next()
                {
                    let into = chance() % long;
                    (at, len) = (start + into, (long - into).min(len));
                }
                let wanted = map.range(..=at).next_back().is_some_and(|(start, long)| start + long >= at + len);
                assert_eq!(ranges.holds(at, len), wanted, "{at} {len}");
                held += u32::from(wanted);
            }
            assert!(held > 3000, "{held} of {spread}");
            assert_eq!(ranges.in_order(), map.iter().map(|(at, len)| (*at, *len)).collect::<Vec<_>>());
            assert_eq!(bytes, map.values().sum());
        }
    }
}
