//! A 4-ary min-heap of small entries: four children share a cache line, so a million entries are ten lines deep.

/// Something in a heap: ordered by its key, then first come, first served, so that there is one order on every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What it is ordered by, least first.
    pub key: u64,
    /// Whose entry.
    pub id: u32,
    /// The order of coming among equal keys. Whoever knows the number of its entry knows a stale one.
    pub seq: u32,
}

impl Entry {
    /// Key and order of coming in one number, so that comparing takes no branch.
    #[inline]
    fn rank(&self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.seq)
    }
}

/// The heap. Entries are never searched: who no longer wants one leaves it and drops it when it comes to the top.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    entries: Vec<Entry>,
}

impl Heap {
    const WIDTH: usize = 4;

    /// The least entry.
    pub fn peek(&self) -> Option<Entry> {
        self.entries.first().copied()
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
        self.rise(self.entries.len() - 1);
    }

    /// Takes the least entry out.
    pub fn pop(&mut self) -> Option<Entry> {
        let last = self.entries.pop()?;
        if self.entries.is_empty() {
            return Some(last);
        }
        let top = std::mem::replace(&mut self.entries[0], last);
        self.sink();
        Some(top)
    }

    /// Gives the least entry a later key and a new number; cheaper than taking it out and adding it.
    pub fn postpone(&mut self, key: u64, seq: u32) {
        if let Some(top) = self.entries.first_mut() {
            (top.key, top.seq) = (key, seq);
            self.sink();
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn rise(&mut self, mut at: usize) {
        let entry = self.entries[at];
        while at > 0 {
            let parent = (at - 1) / Self::WIDTH;
            if entry.rank() >= self.entries[parent].rank() {
                break;
            }
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = entry;
    }

    fn sink(&mut self) {
        let entries = &mut self.entries[..];
        let (entry, mut at) = (entries[0], 0);
        let ceiling = entry.rank();
        loop {
            let first = at * Self::WIDTH + 1;
            let (least, rank) = match entries.get(first..first + Self::WIDTH) {
                Some([a, b, c, d]) => {
                    let ab = lesser((0, a.rank()), (1, b.rank()));
                    lesser(ab, lesser((2, c.rank()), (3, d.rank())))
                }
                _ => match entries.get(first..) {
                    Some([a, rest @ ..]) => {
                        let ranks = rest.iter().enumerate().map(|(i, e)| (i + 1, e.rank()));
                        ranks.fold((0, a.rank()), lesser)
                    }
                    _ => break,
                },
            };
            if rank >= ceiling {
                break;
            }
            entries[at] = entries[first + least];
            at = first + least;
        }
        entries[at] = entry;
    }
}

/// The one with the lesser rank.
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
