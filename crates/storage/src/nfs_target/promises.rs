//! What a server has promised about written data: keeps the verifiers and counts.

use nfs::Verifier;

/// Writes that were answered, those that a COMMIT has covered, and which instance of the server has
/// the others.
#[derive(Debug, Default)]
pub(super) struct Promises {
    verifier: Option<Verifier>,
    /// WRITE calls that were answered and are not durable by themselves, and how many of them a
    /// COMMIT has covered.
    written: u64,
    covered: u64,
    /// How many were lost since the last flush, which the next one must report.
    broken: u64,
}

impl Promises {
    /// How many were answered so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Whether everything that was written is durable.
    pub(super) fn is_kept(&self) -> bool {
        self.covered == self.written && self.broken == 0
    }

    /// A WRITE was answered. Returns how many earlier ones were lost.
    pub(super) fn wrote(&mut self, verifier: Verifier) -> u64 {
        let lost = self.meet(verifier);
        self.written += 1;
        lost
    }

    /// A flush was answered that covers the first `covers` writes. Returns how many were lost, and
    /// the flush's result: an error has how many were lost since the last flush.
    pub(super) fn committed(&mut self, verifier: Verifier, covers: u64) -> (u64, Result<(), u64>) {
        let lost = self.meet(verifier);
        self.covered = self.covered.max(covers);
        match std::mem::take(&mut self.broken) {
            0 => (lost, Ok(())),
            broken => (lost, Err(broken)),
        }
    }

    /// No COMMIT can be sent any more. Returns how many writes are not known to be durable.
    pub(super) fn give_up(&mut self) -> u64 {
        let open = self.written - self.covered;
        self.covered = self.written;
        open
    }

    /// An answer came from the server's instance with this verifier; returns how many writes were
    /// lost.
    fn meet(&mut self, verifier: Verifier) -> u64 {
        let known = self.verifier.replace(verifier);
        if known.is_none_or(|known| known == verifier) || self.covered == self.written {
            return 0;
        }
        let lost = self.give_up();
        self.broken += lost;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Verifier = [1; 8];
    const SECOND: Verifier = [2; 8];

    #[test]
    fn a_commit_by_the_same_life_keeps_what_it_covers() {
        let mut promises = Promises::default();
        assert!(promises.is_kept());
        assert_eq!((promises.wrote(FIRST), promises.wrote(FIRST)), (0, 0));
        let covers = promises.written();
        // This one came after the COMMIT was sent.
        promises.wrote(FIRST);
        assert_eq!(promises.committed(FIRST, covers), (0, Ok(())));
        assert!(!promises.is_kept());
        assert_eq!(promises.committed(FIRST, promises.written()), (0, Ok(())));
        assert!(promises.is_kept());
    }

    #[test]
    fn another_life_has_lost_what_was_not_covered_and_one_flush_says_so() {
        let mut promises = Promises::default();
        for _ in 0..3 {
            promises.wrote(FIRST);
        }
        assert_eq!(promises.committed(FIRST, 1), (0, Ok(())));
        assert_eq!(promises.committed(SECOND, 3), (2, Err(2)));
        assert_eq!(promises.committed(SECOND, 3), (0, Ok(())));
        // The next write reports it as well, before any COMMIT.
        promises.wrote(SECOND);
        assert_eq!(promises.wrote(FIRST), 1);
        assert_eq!(promises.committed(FIRST, promises.written()), (0, Err(1)));
        assert!(promises.is_kept());
    }

    #[test]
    fn a_life_that_ended_when_all_was_durable_has_lost_nothing() {
        let mut promises = Promises::default();
        promises.wrote(FIRST);
        assert_eq!(promises.committed(FIRST, 1), (0, Ok(())));
        assert_eq!((promises.wrote(SECOND), promises.committed(SECOND, 2)), (0, (0, Ok(()))));
    }
}
