//! Keys that were evicted lately, without their pages: a table of hashes with the eviction's
//! number. One that is further back than the capacity counts as gone, so nothing has to be taken
//! out.

/// Entries in a bucket: one cache line.
const WAYS: usize = 4;

#[derive(Default)]
pub(crate) struct Ghost {
    /// Hash of the key, and the eviction's number from 1; 0 is nothing.
    entries: Vec<(u64, u64)>,
    capacity: u64,
    evictions: u64,
}

impl Ghost {
    /// For the last `capacity` evictions; buckets are half full, so few are lost before their time.
    pub(crate) fn new(capacity: u32) -> Ghost {
        let entries = (capacity as usize * 2).next_power_of_two().max(WAYS);
        Ghost {
            entries: vec![(0, 0); if capacity == 0 { 0 } else { entries }],
            capacity: capacity.into(),
            evictions: 0,
        }
    }

    /// For other many evictions from now on. The table never becomes smaller, and where a larger
    /// one is needed it begins empty: to fill it from the old one takes milliseconds for a cache of
    /// some GiB, in which nobody is served.
    pub(crate) fn resize(&mut self, capacity: u32) {
        if (capacity as usize * 2).next_power_of_two() > self.entries.len() && capacity > 0 {
            *self = Ghost::new(capacity);
        }
        self.capacity = capacity.into();
    }

    pub(crate) fn push(&mut self, hash: u64) {
        if self.capacity == 0 {
            return;
        }
        self.evictions += 1;
        self.lay(hash, self.evictions);
    }

    /// Whether it was evicted lately; it is forgotten.
    pub(crate) fn take(&mut self, hash: u64) -> bool {
        let recent = |number, ghost: &Ghost| number > 0 && ghost.is_recent(number);
        let Some(at) = self.bucket(hash).find(|at| self.entries[*at].0 == hash && recent(self.entries[*at].1, self))
        else {
            return false;
        };
        self.entries[at] = (0, 0);
        true
    }

    fn is_recent(&self, number: u64) -> bool {
        number + self.capacity > self.evictions
    }

    fn bucket(&self, hash: u64) -> std::ops::Range<usize> {
        if self.entries.is_empty() {
            return 0..0;
        }
        let bucket = (hash >> 20) as usize & (self.entries.len() / WAYS - 1);
        bucket * WAYS..(bucket + 1) * WAYS
    }

    fn lay(&mut self, hash: u64, number: u64) {
        let oldest = self.bucket(hash).min_by_key(|at| self.entries[*at].1);
        oldest.into_iter().for_each(|at| self.entries[at] = (hash, number));
    }
}
