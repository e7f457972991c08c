//! What occurred over all seeds: an event that never occurred was not tested.

/// Counts of actions, so that a test that does nothing is noticed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub crashes: u64,
    pub deaths: u64,
    pub writes: u64,
    pub trims: u64,
    pub zeroes: u64,
    pub flushes: u64,
    pub clones: u64,
    pub groups: u64,
    pub deletes: u64,
    pub restores: u64,
    pub resizes: u64,
    pub reads: u64,
    /// Reads that the cache answered.
    pub hits: u64,
    pub full: u64,
    pub failed: u64,
    pub checkpoints: u64,
    pub replayed: u64,
    pub short_writes: u64,
    pub slow: u64,
    pub discards: u64,
    pub unread: u64,
    pub several_members: u64,
    pub editions: u64,
    pub editions_cut_off: u64,
    pub damaged_logs: u64,
}

impl Totals {
    fn fields(&mut self) -> [&mut u64; 25] {
        let Totals { crashes, deaths, writes, trims, zeroes, flushes, clones, groups, deletes, .. } = self;
        let Totals { restores, resizes, reads, full, failed, checkpoints, replayed, .. } = self;
        let Totals { short_writes, slow, discards, unread, several_members, .. } = self;
        let Totals { editions, editions_cut_off, damaged_logs, hits, .. } = self;
        [
            crashes,
            deaths,
            writes,
            trims,
            zeroes,
            flushes,
            clones,
            groups,
            deletes,
            restores,
            resizes,
            reads,
            full,
            failed,
            checkpoints,
            replayed,
            short_writes,
            slow,
            discards,
            unread,
            several_members,
            editions,
            editions_cut_off,
            damaged_logs,
            hits,
        ]
    }

    pub fn add(&mut self, other: &Totals) {
        let mut other = *other;
        self.fields().into_iter().zip(other.fields()).for_each(|(sum, part)| *sum += *part);
    }

    pub fn assert_that_all_was_tried(&mut self) {
        let totals = *self;
        assert!(self.fields().into_iter().all(|field| *field >= 100), "{totals:?}");
    }
}
