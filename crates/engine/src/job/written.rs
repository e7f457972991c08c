//! What a job has written and not yet checked.

use super::header::{self, Identity, Wrong};
use block::Time;
use stats::job::VerifyOutcome;
use std::collections::{BTreeMap, VecDeque};
use workload::job::{JobDraft, JobNext, JobSpec, JobStream, Region, Verify};

/// A block that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) file: u32,
    pub(crate) at: u64,
    pub(crate) len: u32,
    /// The number of the write in its job, from 1; 0 where any is right.
    pub(crate) generation: u64,
}

/// Stamps a job's writes and checks what comes back.
pub(crate) struct Checker {
    verify: Verify,
    seed: u64,
    generation: u64,
    /// Every write, oldest first, minus those that were replaced.
    written: Vec<Written>,
    /// What is still to be read back in this round.
    queue: VecDeque<Written>,
    /// Writes since the last round.
    since: u64,
    pub(crate) outcome: VerifyOutcome,
}

/// Beyond so many blocks those that were replaced by later writes are sorted out; 32 MiB of them.
const SORT_OUT_FROM: usize = 1 << 20;

impl Checker {
    /// For a job that has `verify`.
    pub(crate) fn new(verify: &Verify, seed: u64) -> Checker {
        Checker {
            verify: verify.clone(),
            seed,
            generation: 0,
            written: Vec::new(),
            queue: VecDeque::new(),
            since: 0,
            outcome: VerifyOutcome::default(),
        }
    }

    /// Queues what an earlier run of the same job wrote in its first pass, by asking its stream again.
    pub(crate) fn expect_earlier_run(&mut self, spec: &JobSpec, regions: &[Region]) {
        let mut once = spec.clone();
        (once.ending.time_based, once.ending.loops) = (false, 1);
        once.pacing.rate = Default::default();
        let mut stream = JobStream::new(&once, regions, Time::ZERO);
        while let JobNext::Issue(draft) = stream.next(Time::ZERO) {
            if draft.direction == workload::job::Direction::Write {
                self.note(&draft);
            }
        }
        if spec.ending.time_based {
            // How often it came around is not known: the generation may be any.
            self.written.iter_mut().for_each(|written| written.generation = 0);
        }
    }

    /// Notes a write that is about to be made; its number.
    pub(crate) fn note(&mut self, draft: &JobDraft) -> u64 {
        self.generation += 1;
        self.since += 1;
        let JobDraft { file, at, len, .. } = *draft;
        self.written.push(Written { file, at, len, generation: self.generation });
        if self.written.len() >= SORT_OUT_FROM && self.written.len().is_power_of_two() {
            self.sort_out();
        }
        self.generation
    }

    /// A write failed: nobody knows what is there.
    pub(crate) fn forget(&mut self, generation: u64) {
        self.written.retain(|written| written.generation != generation);
    }

    /// Puts headers into a block that is written.
    pub(crate) fn stamp(&self, bytes: &mut [u8], at: u64, generation: u64) {
        let interval = self.interval(bytes.len());
        for (index, piece) in bytes.chunks_mut(interval).enumerate() {
            let offset = at + (index * interval) as u64;
            header::stamp(piece, &self.verify.hash, Identity { offset, generation, seed: self.seed });
        }
    }

    /// Checks a block that was read.
    pub(crate) fn check(&mut self, bytes: &[u8], at: u64, generation: u64) -> Result<(), (u64, Wrong)> {
        let interval = self.interval(bytes.len());
        self.outcome.blocks += 1;
        for (index, piece) in bytes.chunks(interval).enumerate() {
            let offset = at + (index * interval) as u64;
            let identity = Identity { offset, generation, seed: self.seed };
            header::check(piece, &self.verify.hash, identity).map_err(|wrong| (offset, wrong))?;
        }
        Ok(())
    }

    /// Whether so many were written that it is time to check.
    pub(crate) fn is_due(&self) -> bool {
        self.verify.backlog > 0 && self.verify.reads_back && self.since >= self.verify.backlog
    }

    /// Queues all that was written, the newest of each place.
    pub(crate) fn begin(&mut self) {
        self.sort_out();
        self.since = 0;
        self.queue = if self.verify.backlog > 0 {
            std::mem::take(&mut self.written).into()
        } else {
            self.written.iter().copied().collect()
        };
    }

    /// The next block to read back.
    pub(crate) fn next(&mut self) -> Option<Written> {
        self.queue.pop_front()
    }

    /// One that could not be read now.
    pub(crate) fn put_back(&mut self, written: Written) {
        self.queue.push_front(written);
    }

    /// Whether nothing is left to read back.
    pub(crate) fn is_through(&self) -> bool {
        self.queue.is_empty()
    }

    fn interval(&self, len: usize) -> usize {
        match self.verify.interval as usize {
            0 => len.max(1),
            interval => interval.min(len).max(1),
        }
    }

    /// Leaves out what later writes replaced. A block that is replaced in part has no header any more, or a sum that
    /// no longer holds, so it goes too.
    fn sort_out(&mut self) {
        let mut covered: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        let mut kept: Vec<Written> = Vec::with_capacity(self.written.len());
        for written in self.written.drain(..).rev() {
            let (file, start, end) = (written.file, written.at, written.at + u64::from(written.len));
            let before = covered.range(..(file, end)).next_back().filter(|((other, _), _)| *other == file);
            if before.is_none_or(|(_, &covered_to)| covered_to <= start) {
                kept.push(written);
                covered.insert((file, start), end);
            } else {
                cover(&mut covered, file, start, end);
            }
        }
        kept.reverse();
        self.written = kept;
    }
}

/// Adds a range that overlaps others, which become one with it.
fn cover(covered: &mut BTreeMap<(u32, u64), u64>, file: u32, start: u64, end: u64) {
    let (mut start, mut end) = (start, end);
    while let Some((&(_, at), &to)) =
        covered.range(..(file, end)).next_back().filter(|((other, _), to)| *other == file && **to > start)
    {
        covered.remove(&(file, at));
        (start, end) = (start.min(at), end.max(to));
    }
    covered.insert((file, start), end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::job::Direction;

    fn checker(writes: &[(u64, u32)]) -> Vec<(u64, u64)> {
        let mut checker = Checker::new(&Verify::default(), 1);
        for &(at, len) in writes {
            checker.note(&JobDraft { direction: Direction::Write, file: 0, at, len, due: Time::ZERO });
        }
        checker.begin();
        std::iter::from_fn(|| checker.next()).map(|written| (written.at, written.generation)).collect()
    }

    #[test]
    fn the_newest_of_each_place_is_checked() {
        assert_eq!(checker(&[(0, 10), (10, 10), (0, 10)]), [(10, 2), (0, 3)]);
        // The third covers half of both others.
        assert_eq!(checker(&[(0, 10), (10, 10), (5, 10)]), [(5, 3)]);
        // What was replaced in part and then, its neighbour, by what was itself replaced.
        assert_eq!(checker(&[(0, 30), (0, 10), (20, 10), (5, 20)]), [(5, 4)]);
    }
}
