//! The figures of one job, or of several as one.

use super::coverage::Coverage;
use super::losses::Losses;
use super::spread::{Confidence, Spread, confidence};
use super::steady::SteadyReport;
use crate::{Direction, Histogram, PerDirection};
use block::Span;

/// What a job did. Times are counted from the start of the run unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobOutcome {
    /// The job's name.
    pub name: String,
    /// Which of its clones.
    pub number: u32,
    /// Its report group.
    pub group: u32,
    /// When it started, after its delay and the jobs that it waited for.
    pub start: Span,
    /// From its start to its end, ramp included.
    pub elapsed: Span,
    /// How long it was measured: from the end of the ramp to the last end of a request.
    pub measured: Span,
    /// What its requests did, ramp excluded.
    pub directions: PerDirection<DirectionOutcome>,
    /// Bytes that were moved in the ramp.
    pub ramp_bytes: PerDirection<u64>,
    /// Where its requests went, where that was asked.
    pub coverage: Option<Coverage>,
    /// What its flushes did.
    pub sync: SyncOutcome,
    /// How many requests were in flight whenever one was made.
    pub depth: DepthShares,
    /// How many requests went to the kernel together.
    pub submitted: DepthShares,
    /// How many ends were taken together.
    pub completed: DepthShares,
    /// How well an open loop's schedule was kept; all zero for a closed loop.
    pub punctuality: Punctuality,
    /// Failures by kind.
    pub errors: Errors,
    /// What was under way when connections to the server were lost; all zero where none was.
    pub losses: Losses,
    /// Processor time and what goes with it.
    pub usage: JobUsage,
    /// What the block layer says of the devices behind the files over the job's time, where it can be told.
    pub disks: Vec<DiskUse>,
    /// Whether its figures became steady, where that was asked.
    pub steady: Option<SteadyReport>,
    /// What a search for a depth that keeps a latency found.
    pub latency_search: Option<LatencyFinding>,
    /// What checking the data found, where it was checked.
    pub verify: Option<VerifyOutcome>,
    /// Why it ended early or failed; `None` when all went well.
    pub error: Option<JobError>,
    /// It was stopped from outside before its end (Ctrl-C, or another job that ends all).
    pub interrupted: bool,
    /// What it ran on, as `io_uring (deferred task work, …)` or `system calls`.
    pub backend: String,
    /// The seed of all chance.
    pub seed: u64,
    /// What the reader must know: fallbacks, limits that were met. One line each.
    pub notes: Vec<String>,
    /// A row for each request in the order of ends, where that was asked.
    pub log: Vec<LogRow>,
    /// Histograms of service time over time, where that was asked.
    pub histogram_log: Vec<HistogramRow>,
    /// The files of `asked`, in order.
    pub files: Vec<String>,
    /// A row for each request of the load as it was made, ramp included, where that was asked.
    pub asked: Vec<AskedRow>,
}

/// What requests of one direction did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionOutcome {
    /// Requests that ended well.
    pub ops: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests that moved less than asked before the file ended.
    pub short: u64,
    /// Requests that failed.
    pub failed: u64,
    /// From the start of measuring to the last end of this direction.
    pub measured: Span,
    /// From made to handed over to the kernel; the same for all that went together.
    pub slat: Histogram,
    /// From handed over to the end.
    pub clat: Histogram,
    /// From due to the end: response time.
    pub lat: Histogram,
    /// Figures over time, without gaps, in order.
    pub slices: Vec<Slice>,
}

/// One direction over a short time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its end, counted from the start of the job's measuring.
    pub end: Span,
    /// Its length.
    pub length: Span,
    /// Requests that ended in it.
    pub ops: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their times from made to handed over.
    pub slat_sum: Span,
    /// Sum of their times from handed over to the end.
    pub clat_sum: Span,
    /// Sum of their times from due to the end.
    pub lat_sum: Span,
    /// The longest of these three, where logs of the longest were asked for; zero otherwise.
    pub most: SliceMost,
}

/// The longest times of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceMost {
    /// From made to handed over.
    pub slat: Span,
    /// From handed over to the end.
    pub clat: Span,
    /// From due to the end.
    pub lat: Span,
}

impl SliceMost {
    /// The longer one of each.
    pub fn max(self, other: SliceMost) -> SliceMost {
        SliceMost { slat: self.slat.max(other.slat), clat: self.clat.max(other.clat), lat: self.lat.max(other.lat) }
    }
}

/// Flushes within the load, timed from when they were asked to their end. Those at a job's end are not counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyncOutcome {
    /// How many ended well.
    pub ops: u64,
    /// How many of them with all that describes the file (`fsync`, not `fdatasync`).
    pub whole: u64,
    /// How long they took.
    pub lat: Histogram,
}

/// Counts by powers of two: `counts[k]` is of values from `2^(k-1) + 1` to `2^k`, `counts[0]` of 0 and 1, the last of
/// everything above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DepthShares {
    /// Bounds 1, 2, 4, 8, 16, 32, 64 and above.
    pub counts: [u64; 8],
    /// How many of `counts[0]` were 0.
    pub zeroes: u64,
}

/// How well an open loop's schedule was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Punctuality {
    /// There was a schedule.
    pub scheduled: bool,
    /// Requests made more than [`Punctuality::LATE_AFTER`] after they were due.
    pub late: u64,
    /// The longest time between due and made, of any request.
    pub late_most: Span,
    /// Requests that were due while as many as allowed were in flight: the cap was met.
    pub held: u64,
    /// Requests that were due before the end and never made.
    pub never_sent: u64,
}

/// Failures by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    counts: [u64; ErrorKind::ALL.len()],
    /// The error number of the first, as the system counts them.
    pub first: Option<i32>,
}

/// How a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// The medium failed (EIO).
    Io,
    /// No space left (ENOSPC).
    NoSpace,
    /// The file ended early.
    Short,
    /// The range or alignment was refused (EINVAL).
    Invalid,
    /// It may not be written (EROFS, EPERM).
    ReadOnly,
    /// The target does not do this (EOPNOTSUPP).
    Unsupported,
    /// No memory for it (ENOMEM).
    NoMemory,
    /// The target went away (ENODEV, a closed connection).
    Gone,
    /// Data was not what was written.
    Verify,
}

/// Processor time and what goes with it. Of a thread that several jobs share, each has its part by requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobUsage {
    /// Time in the program.
    pub user: Span,
    /// Time in the kernel.
    pub system: Span,
    /// Switches away from the thread.
    pub switches: u64,
    /// Page faults that needed I/O.
    pub faults_major: u64,
    /// Page faults that needed none.
    pub faults_minor: u64,
}

/// A block device over the time of a run, as `/proc/diskstats` counts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// The device's name.
    pub name: String,
    /// Requests that ended: reads, writes.
    pub ios: [u64; 2],
    /// Requests that were merged into others: reads, writes.
    pub merges: [u64; 2],
    /// Sectors of 512 bytes: read, written.
    pub sectors: [u64; 2],
    /// Sum of the times that requests took: reads, writes.
    pub ticks: [Span; 2],
    /// Sum over time of the requests in flight.
    pub in_queue: Span,
    /// Time with requests in flight.
    pub busy: Span,
    /// Length of the time.
    pub over: Span,
}

/// What a search for a depth found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyFinding {
    /// The highest depth that kept the latency; 0 when not even one request at a time did.
    pub depth: u32,
    /// Depths that were tried.
    pub tried: u32,
}

/// What checking the data found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyOutcome {
    /// Blocks that were checked.
    pub blocks: u64,
    /// Blocks that were wrong.
    pub wrong: u64,
    /// The first of them.
    pub mismatches: Vec<Mismatch>,
    /// Writes of the load, which have numbers in the order in which they were made.
    pub written: u64,
}

/// A block that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The file.
    pub file: String,
    /// Where in it.
    pub at: u64,
    /// Bytes of the block.
    pub len: u32,
    /// What should be there, in words.
    pub expected: String,
    /// What is there, in words.
    pub found: String,
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError {
    /// The system's number for it, positive; 5 (EIO) where it has none.
    pub number: i32,
    /// In words: what, where, why.
    pub text: String,
}

/// One request in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// When it ended, from the start of the job's measuring.
    pub end: Span,
    /// Its direction.
    pub direction: Direction,
    /// From made to handed over.
    pub slat: Span,
    /// From handed over to the end.
    pub clat: Span,
    /// From due to the end.
    pub lat: Span,
    /// Its first byte in the file.
    pub at: u64,
    /// Its bytes.
    pub len: u32,
}

/// The service times of one direction over an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramRow {
    /// End of the interval, from the start of the job's measuring.
    pub end: Span,
    /// The direction.
    pub direction: Direction,
    /// The longest block of the direction, in bytes.
    pub block: u32,
    /// From handed over to the end.
    pub clat: Histogram,
}

/// One request as it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedRow {
    /// When it was made, from the start of the job.
    pub made: Span,
    /// What it asks.
    pub what: Asked,
    /// On which of the job's files.
    pub file: u32,
    /// Its first byte in the file; 0 for a flush.
    pub at: u64,
    /// Its bytes; 0 for a flush.
    pub len: u32,
}

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To move data, or to give space back.
    Move(Direction),
    /// To make writes durable, with all that describes the file or without.
    Flush {
        /// As `fsync`; otherwise as `fdatasync`.
        whole: bool,
    },
}

impl JobOutcome {
    /// Whether it did all that was asked, without failures.
    pub fn is_good(&self) -> bool {
        self.error.is_none() && self.errors.total() == 0
    }

    /// Takes another job's figures in, as a report of a whole group does: counts add up, times are the longest.
    pub fn absorb(&mut self, other: &JobOutcome) {
        self.start = self.start.min(other.start);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.measured = self.measured.max(other.measured);
        for direction in Direction::ALL {
            self.directions[direction].absorb(&other.directions[direction]);
            self.ramp_bytes[direction] += other.ramp_bytes[direction];
        }
        self.sync.ops += other.sync.ops;
        self.sync.whole += other.sync.whole;
        self.sync.lat.merge(&other.sync.lat);
        self.depth.add(&other.depth);
        self.submitted.add(&other.submitted);
        self.completed.add(&other.completed);
        self.punctuality.add(&other.punctuality);
        self.errors.add(&other.errors);
        self.losses.absorb(&other.losses);
        self.usage.add(&other.usage);
        if let Some(theirs) = &other.verify {
            self.verify.get_or_insert_default().absorb(theirs);
        }
        self.error = self.error.take().or_else(|| other.error.clone());
        self.interrupted |= other.interrupted;
        for note in &other.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }
}

impl DirectionOutcome {
    /// Requests that ended well, a second.
    pub fn iops(&self) -> f64 {
        per_second(self.ops, self.measured)
    }

    /// Bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes, self.measured)
    }

    /// How bytes a second varied from slice to slice.
    pub fn throughput_spread(&self) -> Spread {
        Spread::of(self.full_slices().map(|slice| per_second(slice.bytes, slice.length)))
    }

    /// How operations a second varied from slice to slice.
    pub fn iops_spread(&self) -> Spread {
        Spread::of(self.full_slices().map(|slice| per_second(slice.ops, slice.length)))
    }

    /// Where the mean of operations a second lies with 95 % confidence, from the slices; `None` of fewer than two.
    pub fn iops_confidence(&self) -> Option<Confidence> {
        let rates: Vec<f64> = self.full_slices().map(|slice| per_second(slice.ops, slice.length)).collect();
        confidence(&rates)
    }

    /// The slices without a last one that is too short to say something beside the others.
    pub fn full_slices(&self) -> impl Iterator<Item = &Slice> {
        let usual = self.slices.first().map_or(Span::ZERO, |slice| slice.length);
        let only = self.slices.len() == 1;
        self.slices.iter().filter(move |slice| only || slice.length.as_nanos() >= usual.as_nanos() / 2)
    }

    /// Takes another's figures in: counts add up, times are the longest, slices of the same number become one.
    pub fn absorb(&mut self, other: &DirectionOutcome) {
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.short += other.short;
        self.failed += other.failed;
        self.measured = self.measured.max(other.measured);
        self.slat.merge(&other.slat);
        self.clat.merge(&other.clat);
        self.lat.merge(&other.lat);
        for (index, theirs) in other.slices.iter().enumerate() {
            match self.slices.get_mut(index) {
                Some(mine) => mine.absorb(theirs),
                None => self.slices.push(*theirs),
            }
        }
    }
}

impl Slice {
    fn absorb(&mut self, other: &Slice) {
        self.end = self.end.max(other.end);
        self.length = self.length.max(other.length);
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.slat_sum += other.slat_sum;
        self.clat_sum += other.clat_sum;
        self.lat_sum += other.lat_sum;
        self.most = self.most.max(other.most);
    }
}

impl DepthShares {
    /// Counts `value` `times` times.
    #[inline]
    pub fn count(&mut self, value: u32, times: u64) {
        let index = 32 - value.saturating_sub(1).leading_zeros();
        self.counts[index.min(7) as usize] += times;
        if value == 0 {
            self.zeroes += times;
        }
    }

    /// Of all counts, the part (0 to 1) at `index` of [`DepthShares::counts`].
    pub fn part(&self, index: usize) -> f64 {
        let all = self.total();
        if all == 0 { 0.0 } else { self.counts[index] as f64 / all as f64 }
    }

    /// All counts.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, other: &DepthShares) {
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.zeroes += other.zeroes;
    }
}

impl Punctuality {
    /// A request made so long after it was due counts as late. Below lies what a timer and a batch of ends take.
    pub const LATE_AFTER: Span = Span::from_millis(1);

    fn add(&mut self, other: &Punctuality) {
        self.scheduled |= other.scheduled;
        self.late += other.late;
        self.late_most = self.late_most.max(other.late_most);
        self.held += other.held;
        self.never_sent += other.never_sent;
    }
}

impl Errors {
    /// Counts one. `number` is the system's, positive, where it has one.
    pub fn count(&mut self, kind: ErrorKind, number: Option<i32>) {
        self.counts[kind as usize] += 1;
        self.first = self.first.or(number);
    }

    /// How many of a kind.
    pub fn of(&self, kind: ErrorKind) -> u64 {
        self.counts[kind as usize]
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Those that occurred, with how often.
    pub fn occurred(&self) -> impl Iterator<Item = (ErrorKind, u64)> + '_ {
        ErrorKind::ALL.into_iter().map(|kind| (kind, self.of(kind))).filter(|&(_, count)| count > 0)
    }

    fn add(&mut self, other: &Errors) {
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.first = self.first.or(other.first);
    }
}

impl ErrorKind {
    /// All of them.
    pub const ALL: [ErrorKind; 9] = [
        ErrorKind::Io,
        ErrorKind::NoSpace,
        ErrorKind::Short,
        ErrorKind::Invalid,
        ErrorKind::ReadOnly,
        ErrorKind::Unsupported,
        ErrorKind::NoMemory,
        ErrorKind::Gone,
        ErrorKind::Verify,
    ];

    /// A word for reports.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Io => "io",
            ErrorKind::NoSpace => "no_space",
            ErrorKind::Short => "short",
            ErrorKind::Invalid => "invalid",
            ErrorKind::ReadOnly => "read_only",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::NoMemory => "no_memory",
            ErrorKind::Gone => "gone",
            ErrorKind::Verify => "verify",
        }
    }
}

impl JobUsage {
    fn add(&mut self, other: &JobUsage) {
        self.user += other.user;
        self.system += other.system;
        self.switches += other.switches;
        self.faults_major += other.faults_major;
        self.faults_minor += other.faults_minor;
    }
}

impl VerifyOutcome {
    /// How many mismatches are kept in words; the others are counted.
    pub const MISMATCHES_MAX: usize = 16;

    /// Counts a wrong block.
    pub fn note(&mut self, mismatch: Mismatch) {
        self.wrong += 1;
        if self.mismatches.len() < VerifyOutcome::MISMATCHES_MAX {
            self.mismatches.push(mismatch);
        }
    }

    fn absorb(&mut self, other: &VerifyOutcome) {
        self.written += other.written;
        self.blocks += other.blocks;
        self.wrong += other.wrong;
        let room = VerifyOutcome::MISMATCHES_MAX.saturating_sub(self.mismatches.len());
        self.mismatches.extend(other.mismatches.iter().take(room).cloned());
    }
}

/// A count over a length as a rate; zero for no length.
fn per_second(count: u64, length: Span) -> f64 {
    if length == Span::ZERO { 0.0 } else { count as f64 / length.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_counted_by_powers_of_two() {
        let mut shares = DepthShares::default();
        for value in [0, 1, 2, 3, 4, 5, 8, 32, 33, 64, 65, 4096] {
            shares.count(value, 1);
        }
        // 0 and 1; 2; 3 and 4; 5 and 8; none of 9 to 16; 32; 33 and 64; 65 and 4096.
        assert_eq!(shares.counts, [2, 1, 2, 2, 0, 1, 2, 2]);
        assert_eq!((shares.total(), shares.zeroes), (12, 1));
    }

    #[test]
    fn a_group_is_the_sum_of_its_jobs() {
        let one = |ops, measured| {
            let mut outcome = JobOutcome { measured: Span::from_secs(measured), ..JobOutcome::default() };
            let reads = &mut outcome.directions.read;
            (reads.ops, reads.bytes, reads.measured) = (ops, ops * 4096, Span::from_secs(measured));
            reads.slices = vec![Slice { end: Span::SECOND, length: Span::SECOND, ops, ..Slice::default() }];
            reads.clat.record(Span::from_micros(ops));
            outcome
        };
        let (mut sum, other) = (one(100, 2), one(300, 4));
        sum.absorb(&other);
        let reads = &sum.directions.read;
        assert_eq!((reads.ops, reads.clat.count(), reads.slices[0].ops), (400, 2, 400));
        // 400 in the four seconds of the longer one.
        assert_eq!(reads.iops(), 100.0);
    }
}
