//! A queue by keys: a run of entries that came in order, and a 4-ary min-heap of those that did
//! not.
//!
//! ```text
//!   run    17 18 18 21 ◄── an entry later than all of these: to its end, whatever the length
//!   heap   19 30 …     ◄── any other                                least first: the lesser of the two fronts
//! ```
//!
//! Waiters that take turns at equal cost, and floors of one rate, come in order, so a million of
//! them cost no more than ten. In the heap four children share a cache line, so finding the place
//! of one among a million touches ten lines.

use std::collections::VecDeque;

/// Something in a heap: ordered by its key, then first come, first served, so that there is one
/// order on every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What it is ordered by, least first.
    pub key: u64,
    /// Whose entry.
    pub id: u32,
    /// The order of arrival among equal keys. An owner that remembers its entry's number can tell a
    /// stale entry.
    pub seq: u32,
}

impl Entry {
    #[inline]
    fn pack(self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.seq) << 32 | u128::from(self.id)
    }

    #[inline]
    fn unpack(packed: u128) -> Entry {
        Entry { key: (packed >> 64) as u64, seq: (packed >> 32) as u32, id: packed as u32 }
    }
}

/// The queue. Entries are never searched for: one that is no longer wanted stays, and is dropped
/// when it comes to the top.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// An entry in one number, key first, so that comparing takes no branch. Least first.
    run: VecDeque<u128>,
    entries: Vec<u128>,
}

impl Heap {
    const WIDTH: usize = 4;

    /// The least entry.
    #[inline]
    pub fn peek(&self) -> Option<Entry> {
        let front = match (self.run.front(), self.entries.first()) {
            (Some(&run), Some(&heap)) => run.min(heap),
            (Some(&one), None) | (None, Some(&one)) => one,
            (None, None) => return None,
        };
        Some(Entry::unpack(front))
    }

    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        let entry = entry.pack();
        if self.run.back().is_none_or(|&last| last <= entry) {
            self.run.push_back(entry);
        } else {
            self.entries.push(entry);
            self.rise(self.entries.len() - 1);
        }
    }

    /// All entries, in no order: for edits.
    pub fn entries(&self) -> Vec<Entry> {
        self.run.iter().chain(&self.entries).map(|&entry| Entry::unpack(entry)).collect()
    }

    /// Takes the least entry out.
    pub fn pop(&mut self) -> Option<Entry> {
        if self.is_run_first() {
            return self.run.pop_front().map(Entry::unpack);
        }
        let last = self.entries.pop()?;
        let Some(top) = self.entries.first().copied() else {
            return Some(Entry::unpack(last));
        };
        self.sink(last);
        Some(Entry::unpack(top))
    }

    /// Gives the least entry a later key and a new number; cheaper than taking it out and adding
    /// it.
    #[inline]
    pub fn postpone(&mut self, key: u64, seq: u32) {
        let Some(top) = self.peek() else { return };
        let entry = Entry { key, seq, id: top.id }.pack();
        let fits_run = self.run.back().is_none_or(|&last| last <= entry);
        match (self.is_run_first(), fits_run) {
            (true, true) => {
                self.run.pop_front();
                self.run.push_back(entry);
            }
            (true, false) => {
                self.run.pop_front();
                self.push(Entry::unpack(entry));
            }
            (false, true) => {
                self.pop();
                self.run.push_back(entry);
            }
            (false, false) => self.sink(entry),
        }
    }

    /// Whether the run's front is the least of all.
    #[inline]
    fn is_run_first(&self) -> bool {
        self.run.front().is_some_and(|run| self.entries.first().is_none_or(|heap| run < heap))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.run.is_empty() && self.entries.is_empty()
    }

    /// How many entries.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.run.len() + self.entries.len()
    }

    fn rise(&mut self, mut at: usize) {
        let entry = self.entries[at];
        while at > 0 {
            let parent = (at - 1) / Self::WIDTH;
            if entry >= self.entries[parent] {
                break;
            }
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = entry;
    }

    /// Puts an entry in the place of the least, and from there down to where it belongs.
    fn sink(&mut self, entry: u128) {
        let entries = &mut self.entries[..];
        let mut at = 0;
        loop {
            let first = at * Self::WIDTH + 1;
            let (least, child) = match entries.get(first..first + Self::WIDTH) {
                Some(&[a, b, c, d]) => lesser(lesser((0, a), (1, b)), lesser((2, c), (3, d))),
                _ => match entries.get(first..) {
                    Some([a, rest @ ..]) => rest.iter().enumerate().map(|(i, &e)| (i + 1, e)).fold((0, *a), lesser),
                    _ => break,
                },
            };
            if child >= entry {
                break;
            }
            entries[at] = child;
            at = first + least;
        }
        entries[at] = entry;
    }
}

/// The lesser entry, with its place.
#[inline]
fn lesser(a: (usize, u128), b: (usize, u128)) -> (usize, u128) {
    if b.1 < a.1 { b } else { a }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever was pushed or postponed comes out in order.
        #[test]
        fn entries_come_out_in_order(keys in prop::collection::vec(0u64..50, 1..200), later in prop::collection::vec(0u64..50, 0..20)) {
            let mut heap = Heap::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            for (id, &key) in keys.iter().enumerate() {
                heap.push(Entry { key, id: id as u32, seq: id as u32 });
                expected.push((key, id as u32));
            }
            for add in later {
                let top = heap.peek().unwrap();
                let place = expected.iter().position(|&e| e == (top.key, top.id)).unwrap();
                prop_assert_eq!(Some(&expected[place]), expected.iter().min());
                expected[place].0 += add;
                heap.postpone(top.key + add, top.seq);
            }
            expected.sort_unstable();
            prop_assert_eq!(heap.len(), expected.len());
            let out: Vec<(u64, u32)> = std::iter::from_fn(|| heap.pop()).map(|e| (e.key, e.id)).collect();
            prop_assert_eq!(out, expected);
        }
    }
}
