//! Keys that were evicted recently, without their pages: a table of hashes with the number of the
//! eviction. An entry that is older than the capacity counts as absent, so entries need not be
//! removed.
//!
//! Entries are small, so that the table stays in the processor's caches. 32 bits tell the keys of a
//! bucket apart: about one in a billion lookups of absent keys succeeds by mistake.

/// Entries in a bucket.
const WAYS: usize = 4;

#[derive(Default)]
pub(crate) struct Ghost {
    entries: Vec<Entry>,
    capacity: u32,
    /// The number of the last eviction. It wraps around and is never 0.
    evictions: u32,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u32,
    /// The number of the eviction; 0 for an empty entry.
    number: u32,
}

impl Ghost {
    /// For the last `capacity` evictions. Buckets are half full, so few entries are lost early.
    pub(crate) fn new(capacity: u32) -> Ghost {
        let entries = (capacity as usize * 2).next_power_of_two().max(WAYS);
        Ghost { entries: vec![Entry::default(); if capacity == 0 { 0 } else { entries }], capacity, evictions: 0 }
    }

    /// Changes the capacity. The table never shrinks, and a larger one starts empty: copying the
    /// old one would take milliseconds for a cache of some GiB, during which nothing is served.
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

    /// Whether the key was evicted recently; removes it.
    pub(crate) fn take(&mut self, hash: u64) -> bool {
        let is_it = |entry: Entry| entry.tag == tag(hash) && self.age(entry) < self.capacity;
        let Some(at) = self.bucket(hash).find(|at| is_it(self.entries[*at])) else { return false };
        self.entries[at] = Entry::default();
        true
    }

    /// How many evictions ago it was; the maximum for an empty entry.
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

/// 32 bits of a hash, none of which select the bucket (those are 32 bits at most, from the 20th
/// on).
fn tag(hash: u64) -> u32 {
    hash.rotate_left(12) as u32
}
