//! Keys that were evicted lately, without their pages: a table of hashes with the eviction's
//! number. One that is further back than the capacity counts as gone, so nothing has to be taken
//! out.
//!
//! Entries are small, so that the table stays in the processor's caches: 32 bits tell the keys of a
//! bucket from each other, and of a billion that are not there one is taken for one that is.

/// Entries in a bucket.
const WAYS: usize = 4;

#[derive(Default)]
pub(crate) struct Ghost {
    entries: Vec<Entry>,
    capacity: u32,
    /// The number of the last eviction. It goes round, and never is 0.
    evictions: u32,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u32,
    /// The eviction's; 0 is nothing.
    number: u32,
}

impl Ghost {
    /// For the last `capacity` evictions; buckets are half full, so few are lost before their time.
    pub(crate) fn new(capacity: u32) -> Ghost {
        let entries = (capacity as usize * 2).next_power_of_two().max(WAYS);
        Ghost { entries: vec![Entry::default(); if capacity == 0 { 0 } else { entries }], capacity, evictions: 0 }
    }

    /// For other many evictions from now on. The table never becomes smaller, and where a larger
    /// one is needed it begins empty: to fill it from the old one takes milliseconds for a cache of
    /// some GiB, in which nobody is served.
    pub(crate) fn resize(&mut self, capacity: u32) {
        if (capacity as usize * 2).next_power_of_two() > self.entries.len() && capacity > 0 {
            *self = Ghost::new(capacity);
        }
        self.capacity = capacity;
    }

    pub(crate) fn push(&mut self, hash: u64) {
        if self.capacity == 0 {
            return;
        }
        self.evictions = self.evictions.checked_add(1).unwrap_or(1);
        let oldest = self.bucket(hash).max_by_key(|at| self.age(self.entries[*at]));
        let entry = Entry { tag: tag(hash), number: self.evictions };
        oldest.into_iter().for_each(|at| self.entries[at] = entry);
    }

    /// Whether it was evicted lately; it is forgotten.
    pub(crate) fn take(&mut self, hash: u64) -> bool {
        let is_it = |entry: Entry| entry.tag == tag(hash) && self.age(entry) < self.capacity;
        let Some(at) = self.bucket(hash).find(|at| is_it(self.entries[*at])) else { return false };
        self.entries[at] = Entry::default();
        true
    }

    /// How many evictions ago; without a key, longest of all.
    fn age(&self, entry: Entry) -> u32 {
        if entry.number == 0 { u32::MAX } else { self.evictions.wrapping_sub(entry.number) }
    }

    fn bucket(&self, hash: u64) -> std::ops::Range<usize> {
        if self.entries.is_empty() {
            return 0..0;
        }
        let bucket = (hash >> 20) as usize & (self.entries.len() / WAYS - 1);
        bucket * WAYS..(bucket + 1) * WAYS
    }
}

/// 32 bits of a hash, of which those that choose a bucket (from the 20th on, 32 at most) are none.
fn tag(hash: u64) -> u32 {
    hash.rotate_left(12) as u32
}
