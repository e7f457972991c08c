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
    fn before(&self, other: &Entry) -> bool {
        (self.key, self.seq) < (other.key, other.seq)
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
            if !entry.before(&self.entries[parent]) {
                break;
            }
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = entry;
    }

    fn sink(&mut self) {
        let entry = self.entries[0];
        let mut at = 0;
        loop {
            let first = at * Self::WIDTH + 1;
            let children = first..(first + Self::WIDTH).min(self.entries.len());
            let Some(least) = children.reduce(|a, b| if self.entries[b].before(&self.entries[a]) { b } else { a })
            else {
                break;
            };
            if !self.entries[least].before(&entry) {
                break;
            }
            self.entries[at] = self.entries[least];
            at = least;
        }
        self.entries[at] = entry;
    }
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
