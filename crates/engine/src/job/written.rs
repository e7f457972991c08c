//! The blocks that a job has written and not checked yet.

use super::header::{self, Identity, Wrong};
use block::Time;
use stats::job::VerifyOutcome;
use std::collections::{BTreeMap, VecDeque};
use workload::job::{BlockCoverage, Direction, Hash, JobDraft, JobNext, JobSpec, JobStream, Reach, Region, Verify};

/// Why a round of checking begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// The backlog has reached its size.
    Due,
    /// A pass is over.
    Last,
}

/// A block that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) file: u32,
    pub(crate) at: u64,
    pub(crate) len: u32,
    /// The number of the write in its job, from 1; 0 accepts any.
    pub(crate) generation: u64,
}

/// Stamps a job's writes, and checks them when they are read back.
pub(crate) struct Checker {
    verify: Verify,
    seed: u64,
    /// The seed that headers must have; 0 accepts any.
    expected_seed: u64,
    generation: u64,
    /// Every write that is not checked yet, minus those that were replaced.
    written: Vec<Written>,
    /// Blocks still to be read back in this round.
    queue: VecDeque<Written>,
    /// Blocks to be trimmed before that.
    trims: VecDeque<Written>,
    /// Whether trims of this round may still be in flight.
    trimming: bool,
    /// Writes since the last round of checking.
    since: u64,
    /// The number of the last write that was considered for a trim.
    considered: u64,
    /// Whether blocks are checked in the order of their places instead of their writes.
    by_place: bool,
    pub(crate) outcome: VerifyOutcome,
}

/// From this number of blocks on, those replaced by later writes are removed; 32 MiB of memory.
const SORT_OUT_FROM: usize = 1 << 20;

impl Checker {
    /// A checker for a job that writes with `verify`. As in fio, blocks are checked in the order of
    /// their places, unless each random offset occurs once: then in the order of their writes.
    pub(crate) fn new(verify: &Verify, seed: u64, reach: &Reach) -> Checker {
        let is_mapped = reach.order.is_random() && reach.coverage == BlockCoverage::Once;
        Checker {
            verify: verify.clone(),
            seed,
            expected_seed: seed,
            by_place: !is_mapped,
            generation: 0,
            written: Vec::new(),
            queue: VecDeque::new(),
            trims: VecDeque::new(),
            trimming: false,
            since: 0,
            considered: 0,
            outcome: VerifyOutcome::default(),
        }
    }

    /// A checker for a job that reads what another job wrote, whose seed it does not know.
    pub(crate) fn of_another(verify: &Verify, reach: &Reach) -> Checker {
        Checker { expected_seed: 0, ..Checker::new(verify, 0, reach) }
    }

    /// Queues what an earlier run of the same job wrote, by replaying its stream: the known number
    /// of writes, or its first pass.
    pub(crate) fn expect_earlier_run(&mut self, spec: &JobSpec, regions: &[Region]) {
        let mut again = spec.clone();
        again.pacing.rate = Default::default();
        let most = self.verify.written.unwrap_or(u64::MAX);
        if self.verify.written.is_none() {
            (again.ending.time_based, again.ending.loops) = (false, 1);
        }
        let mut stream = JobStream::new(&again, regions, Time::ZERO);
        let mut pass_began = 0;
        while self.generation < most {
            match stream.next(Time::ZERO) {
                JobNext::Issue(draft) if draft.direction == Direction::Write => _ = self.note(&draft),
                JobNext::Issue(_) | JobNext::Flush { .. } => {}
                JobNext::PassOver => {
                    stream.count_read_back(self.read_back_since(pass_began));
                    pass_began = self.generation;
                    if !stream.next_pass() {
                        break;
                    }
                }
                JobNext::NotBefore(_) | JobNext::Done => break,
            }
        }
        if spec.ending.time_based && self.verify.written.is_none() {
            // It is not known how often the stream was repeated, so any generation is accepted.
            self.written.iter_mut().for_each(|written| written.generation = 0);
        } else {
            // Which blocks were trimmed follows from the numbers of their writes.
            self.considered = self.generation;
        }
    }

    /// Bytes that the earlier run read back after a pass: those of the writes after `generation`.
    fn read_back_since(&mut self, generation: u64) -> u64 {
        if self.verify.backlog == 0 {
            self.sort_out();
        }
        let of_pass = self.written.iter().filter(|written| written.generation > generation);
        of_pass.map(|written| u64::from(written.len)).sum()
    }

    /// Records a write that is about to be made; returns its number.
    pub(crate) fn note(&mut self, draft: &JobDraft) -> u64 {
        self.generation += 1;
        self.outcome.written = self.generation;
        self.since += 1;
        let JobDraft { file, at, len, .. } = *draft;
        self.written.push(Written { file, at, len, generation: self.generation });
        if self.written.len() >= SORT_OUT_FROM && self.written.len().is_power_of_two() {
            self.sort_out();
        }
        self.generation
    }

    /// Removes a write that failed: its block's content is unknown.
    pub(crate) fn forget(&mut self, generation: u64) {
        self.written.retain(|written| written.generation != generation);
        self.queue.retain(|written| written.generation != generation);
    }

    /// Stamps headers into a block to be written.
    pub(crate) fn stamp(&self, bytes: &mut [u8], at: u64, generation: u64) {
        let interval = self.interval(bytes.len());
        for (index, piece) in bytes.chunks_mut(interval).enumerate() {
            let offset = at + (index * interval) as u64;
            header::stamp(piece, &self.verify.hash, Identity { offset, generation, seed: self.seed });
            header::swap(piece, self.header_at());
        }
    }

    /// Checks a block that was read; an error has the offset of the mismatch.
    pub(crate) fn check(&mut self, bytes: &[u8], at: u64, generation: u64) -> Result<(), (u64, Wrong)> {
        let interval = self.interval(bytes.len());
        self.outcome.blocks += 1;
        if self.is_trimmed(generation) {
            return header::check_zeroes(bytes).map_err(|wrong| (at, wrong));
        }
        let mut swapped = Vec::new();
        for (index, piece) in bytes.chunks(interval).enumerate() {
            let offset = at + (index * interval) as u64;
            let identity = Identity { offset, generation, seed: self.expected_seed };
            let piece = match self.header_at() {
                0 => piece,
                header_at => {
                    swapped.clear();
                    swapped.extend_from_slice(piece);
                    header::swap(&mut swapped, header_at);
                    &swapped
                }
            };
            header::check(piece, &self.verify.hash, identity).map_err(|wrong| (offset, wrong))?;
        }
        Ok(())
    }

    /// The piece of a block read from `at` that is wrong from `wrong_at` on, and what it should be
    /// as far as that is known: a pattern, the zeroes of a trimmed block, or `again`, the data of
    /// that write made again. An earlier run may have made other data; then the header tells.
    pub(crate) fn pieces(
        &self,
        bytes: &[u8],
        at: u64,
        wrong_at: u64,
        generation: u64,
        again: Option<Vec<u8>>,
    ) -> (Vec<u8>, Option<Vec<u8>>) {
        if self.is_trimmed(generation) {
            return (bytes.to_vec(), Some(vec![0; bytes.len()]));
        }
        let (interval, from) = (self.interval(bytes.len()), (wrong_at - at) as usize);
        let piece = from..bytes.len().min(from + interval);
        let received = bytes[piece.clone()].to_vec();
        let numbered = generation > 0 && self.expected_seed != 0;
        let whole = match self.verify.hash {
            Hash::Pattern(_) => Some(vec![0; bytes.len()]),
            Hash::HeaderPattern(_) => numbered.then(|| vec![0; bytes.len()]),
            _ => again.filter(|_| numbered),
        };
        let expected = whole.map(|mut whole| {
            self.stamp(&mut whole, at, generation);
            whole[piece].to_vec()
        });
        let header = self.header_at()..self.header_at() + header::HEADER_LEN;
        let is_pattern = matches!(self.verify.hash, Hash::Pattern(_) | Hash::HeaderPattern(_));
        let agrees = |expected: &Vec<u8>| {
            expected.get(header.clone()).is_some_and(|made| received.get(header.clone()) == Some(made))
        };
        let expected = expected.filter(|expected| is_pattern || !self.verify.only || agrees(expected));
        (received, expected)
    }

    /// Whether enough was written to begin a round of checking or of trims.
    pub(crate) fn is_due(&self) -> bool {
        self.checks_are_due() || self.trims_are_due()
    }

    fn checks_are_due(&self) -> bool {
        self.verify.backlog > 0 && self.verify.reads_back && self.since >= self.verify.backlog
    }

    fn trims_are_due(&self) -> bool {
        let trims = self.verify.trims;
        self.verify.reads_back
            && trims.percent > 0
            && trims.backlog > 0
            && self.generation - self.considered >= trims.backlog
    }

    /// Queues what is to be checked, the newest write of each place, and what is to be trimmed
    /// before.
    pub(crate) fn begin(&mut self, round: Round) {
        self.sort_out();
        if !self.verify.only {
            self.pick_trims();
        }
        if round == Round::Due && !self.checks_are_due() {
            return;
        }
        self.since = 0;
        if self.by_place {
            self.written.sort_by_key(|written| (written.file, written.at));
        }
        let batch = match (round, self.verify.backlog_batch) {
            (Round::Last, _) | (_, 0) => self.written.len(),
            (Round::Due, batch) => self.written.len().min(batch as usize),
        };
        // What was checked is not checked again by the next pass, as in fio: passes that write
        // another part each would else read all parts before.
        self.queue = self.written.drain(..batch).collect();
        if !self.verify.trims.expect_zeroes {
            let queue = std::mem::take(&mut self.queue);
            self.queue = queue.into_iter().filter(|written| !self.is_trimmed(written.generation)).collect();
        }
    }

    /// Chooses the blocks to be trimmed among those written since the last choice.
    fn pick_trims(&mut self) {
        let before = std::mem::replace(&mut self.considered, self.generation);
        let new = |written: &&Written| written.generation > before && self.is_trimmed(written.generation);
        self.trims = self.written.iter().filter(new).copied().collect();
    }

    /// Whether the block of this write is trimmed. Drawn from the write's number, so that a later
    /// run knows it too.
    fn is_trimmed(&self, generation: u64) -> bool {
        let percent = u64::from(self.verify.trims.percent);
        if percent == 0 || generation == 0 || generation > self.considered {
            return false;
        }
        let drawn = (self.seed ^ generation).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let drawn = (drawn ^ (drawn >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((drawn >> 32) * 100) >> 32 < percent
    }

    /// The next block to trim or to read back, given the number of requests in flight. All trims
    /// complete before anything is read.
    pub(crate) fn next(&mut self, in_flight: u32) -> Option<(Direction, Written)> {
        if let Some(written) = self.trims.pop_front() {
            self.trimming = true;
            return Some((Direction::Trim, written));
        }
        if self.trimming && in_flight > 0 {
            return None;
        }
        self.trimming = false;
        self.queue.pop_front().map(|written| (Direction::Read, written))
    }

    /// Returns a block that could not be requested now.
    pub(crate) fn put_back(&mut self, direction: Direction, written: Written) {
        match direction {
            Direction::Trim => self.trims.push_front(written),
            _ => self.queue.push_front(written),
        }
    }

    /// Whether this round has nothing left to read back.
    pub(crate) fn is_through(&self) -> bool {
        self.queue.is_empty() && self.trims.is_empty()
    }

    /// Offset of the headers; a pattern has none.
    fn header_at(&self) -> usize {
        if matches!(self.verify.hash, Hash::Pattern(_)) { 0 } else { self.verify.header_at as usize }
    }

    /// A plain pattern runs through the whole block, with the block's offset, as in fio.
    fn interval(&self, len: usize) -> usize {
        match self.verify.interval as usize {
            _ if matches!(self.verify.hash, Hash::Pattern(_)) => len.max(1),
            0 => len.max(1),
            interval => interval.min(len).max(1),
        }
    }

    /// Removes writes that later ones replaced, even in part: such a block has lost its header, or
    /// its checksum no longer matches.
    fn sort_out(&mut self) {
        // A batch may have left the others in the order of their places.
        self.written.sort_by_key(|written| written.generation);
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

/// Adds a range to the set, merging it with those it overlaps.
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
    use workload::job::TrimChecks;

    fn checker(writes: &[(u64, u32)]) -> Vec<(u64, u64)> {
        let mut checker = Checker::new(&Verify::default(), 1, &Reach::default());
        for &(at, len) in writes {
            checker.note(&JobDraft { direction: Direction::Write, file: 0, at, len, due: Time::ZERO });
        }
        checker.begin(Round::Last);
        std::iter::from_fn(|| checker.next(0)).map(|(_, written)| (written.at, written.generation)).collect()
    }

    fn write(checker: &mut Checker, block: u64) {
        let draft = JobDraft { direction: Direction::Write, file: 0, at: block * 10, len: 10, due: Time::ZERO };
        checker.note(&draft);
    }

    /// A backlog is checked batch by batch, and the rest at the end.
    #[test]
    fn a_backlog_is_checked_in_batches() {
        let mut checker =
            Checker::new(&Verify { backlog: 4, backlog_batch: 3, ..Verify::default() }, 1, &Reach::default());
        let round = |checker: &mut Checker, round| {
            checker.begin(round);
            std::iter::from_fn(|| checker.next(0)).map(|(_, written)| written.at / 10).collect::<Vec<_>>()
        };
        (0..4).for_each(|block| write(&mut checker, block));
        assert!(checker.is_due());
        assert_eq!(round(&mut checker, Round::Due), [0, 1, 2]);
        (4..8).for_each(|block| write(&mut checker, block));
        assert_eq!(round(&mut checker, Round::Due), [3, 4, 5]);
        assert_eq!(round(&mut checker, Round::Last), [6, 7]);
    }

    /// Without a backlog a round has all writes since the round before.
    #[test]
    fn what_was_checked_is_not_checked_again() {
        let mut checker = Checker::new(&Verify::default(), 1, &Reach::default());
        for first in [0, 3] {
            (first..first + 3).for_each(|block| write(&mut checker, block));
            checker.begin(Round::Last);
            let checked: Vec<u64> =
                std::iter::from_fn(|| checker.next(0)).map(|(_, written)| written.at / 10).collect();
            assert_eq!(checked, [first, first + 1, first + 2]);
        }
    }

    /// About as many blocks as asked are trimmed before anything is read, and they are read back
    /// only if asked.
    #[test]
    fn some_blocks_are_given_back_before_they_are_read() {
        for expect_zeroes in [false, true] {
            let trims = TrimChecks { percent: 30, expect_zeroes, backlog: 0 };
            let mut checker = Checker::new(&Verify { trims, ..Verify::default() }, 7, &Reach::default());
            (0..1000).for_each(|block| write(&mut checker, block));
            checker.begin(Round::Last);
            let mut trimmed = 0;
            while let Some((Direction::Trim, written)) = checker.next(5) {
                trimmed += 1;
                let data = checker.check(&[7; 10], written.at, written.generation).is_ok();
                let zeroes = checker.check(&[0; 10], written.at, written.generation).is_ok();
                assert!(zeroes && !data);
            }
            // 30 % of 1000, with a deviation of √(1000 × 0.3 × 0.7) = 14; four of them are 58.
            assert!(300u32.abs_diff(trimmed) < 58, "{trimmed}");
            assert_eq!(checker.next(5), None, "trims are still on their way");
            let read = std::iter::from_fn(|| checker.next(0)).count();
            assert_eq!(read, if expect_zeroes { 1000 } else { 1000 - trimmed as usize });
            // Nothing is trimmed twice.
            checker.begin(Round::Last);
            assert!(!matches!(checker.next(0), Some((Direction::Trim, _))));
        }
    }

    #[test]
    fn the_newest_of_each_place_is_checked() {
        assert_eq!(checker(&[(0, 10), (10, 10), (0, 10)]), [(0, 3), (10, 2)]);
        // The third write covers half of both others.
        assert_eq!(checker(&[(0, 10), (10, 10), (5, 10)]), [(5, 3)]);
        // A block that a write replaced in part is removed even if that write was itself replaced.
        assert_eq!(checker(&[(0, 30), (0, 10), (20, 10), (5, 20)]), [(5, 4)]);
    }
}
