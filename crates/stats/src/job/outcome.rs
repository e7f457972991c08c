//! The results of one job, or of several added up.

use super::coverage::Coverage;
use super::losses::Losses;
use super::steady::SteadyReport;
use crate::{Direction, Histogram, PerDirection, Tape};
use block::Span;

/// The results of a job. Times count from the start of the run unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobOutcome {
    /// The job's name.
    pub name: String,
    /// Its index among its clones.
    pub number: u32,
    /// Its report group.
    pub group: u32,
    /// When it started, after its delay and the jobs that it waited for.
    pub start: Span,
    /// From its start to its end, ramp included.
    pub elapsed: Span,
    /// Measured time: from the end of the ramp to the last completion.
    pub measured: Span,
    /// Its requests, without the ramp. Flushes are those within the load, timed from when they were
    /// made; those at the job's end are not included.
    pub tape: Tape,
    /// Number of flushes with all metadata (`fsync`, not `fdatasync`).
    pub syncs_whole: u64,
    /// Bytes transferred in the ramp.
    pub ramp_bytes: PerDirection<u64>,
    /// The distribution of its requests over its space, if asked for.
    pub coverage: Option<Coverage>,
    /// Distribution of the number of requests in flight, counted whenever one is made.
    pub depth: DepthShares,
    /// Distribution of the number of requests submitted together.
    pub submitted: DepthShares,
    /// Distribution of the number of completions taken together.
    pub completed: DepthShares,
    /// Failures by kind.
    pub errors: Errors,
    /// Requests outstanding when connections to the server were lost; all zero if none was.
    pub losses: Losses,
    /// Processor time and related counters.
    pub usage: JobUsage,
    /// Block layer statistics of the devices under the files over the job's time, if known.
    pub disks: Vec<DiskUse>,
    /// Whether its figures became steady, if asked for.
    pub steady: Option<SteadyReport>,
    /// Result of a search for the highest depth that keeps a latency limit.
    pub latency_search: Option<LatencyFinding>,
    /// Result of verifying data, if it was verified.
    pub verify: Option<VerifyOutcome>,
    /// Why it ended early or failed; `None` if all went well.
    pub error: Option<JobError>,
    /// Whether it was stopped from outside before its end (Ctrl-C, or another job that ends all).
    pub interrupted: bool,
    /// The I/O backend, such as `io_uring (deferred task work, …)` or `system calls`.
    pub backend: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// What the reader must know: fallbacks, limits that were reached. One line each.
    pub notes: Vec<String>,
    /// A row for each request in order of completion, if asked for.
    pub log: Vec<LogRow>,
    /// Histograms of service time over time, if asked for.
    pub histogram_log: Vec<HistogramRow>,
    /// The file names that `asked` refers to, in order.
    pub files: Vec<String>,
    /// A row for each request of the load as it was made, including the ramp, if asked for.
    pub asked: Vec<AskedRow>,
}

/// Counts by powers of two: `counts[k]` counts values from `2^(k-1) + 1` to `2^k`, `counts[0]`
/// counts 0 and 1, the last one everything above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DepthShares {
    /// Bounds 1, 2, 4, 8, 16, 32, 64 and above.
    pub counts: [u64; 8],
    /// How many of those in `counts[0]` were 0.
    pub zeroes: u64,
}

/// Failures by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    counts: [u64; ErrorKind::ALL.len()],
    /// The `errno` value of the first failure.
    pub first: Option<i32>,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// The medium failed (EIO).
    Io,
    /// No space left (ENOSPC).
    NoSpace,
    /// The file ended early.
    Short,
    /// The range or alignment was invalid (EINVAL).
    Invalid,
    /// It may not be written (EROFS; EPERM of an NBD server).
    ReadOnly,
    /// Permission was denied (EACCES, EPERM).
    Denied,
    /// The target does not support this (EOPNOTSUPP).
    Unsupported,
    /// Out of memory (ENOMEM).
    NoMemory,
    /// The target disappeared (ENODEV, a closed connection).
    Gone,
    /// No answer had come when the run was ended by hand (ETIMEDOUT).
    Unanswered,
    /// Data did not verify.
    Verify,
}

/// Resource usage. Jobs that share a thread have parts of it in proportion to their requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobUsage {
    /// Time in the program.
    pub user: Span,
    /// Time in the kernel.
    pub system: Span,
    /// Context switches.
    pub switches: u64,
    /// Page faults that needed I/O.
    pub faults_major: u64,
    /// Page faults that needed none.
    pub faults_minor: u64,
}

/// Statistics of a block device over the time of a run, from `/proc/diskstats`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// The device's name.
    pub name: String,
    /// Completed requests: reads, writes.
    pub ios: [u64; 2],
    /// Merged requests: reads, writes.
    pub merges: [u64; 2],
    /// Sectors of 512 bytes: read, written.
    pub sectors: [u64; 2],
    /// Sum of the times of requests: reads, writes.
    pub ticks: [Span; 2],
    /// Integral over time of the requests in flight.
    pub in_queue: Span,
    /// Time with requests in flight.
    pub busy: Span,
    /// Length of the interval.
    pub over: Span,
}

impl DiskUse {
    /// The difference to `before`, over an interval of length `over`.
    #[must_use]
    pub fn since(&self, before: &DiskUse, over: Span) -> DiskUse {
        let less = |a: [u64; 2], b: [u64; 2]| [a[0].wrapping_sub(b[0]), a[1].wrapping_sub(b[1])];
        let less_span = |a: [Span; 2], b: [Span; 2]| [a[0].saturating_sub(b[0]), a[1].saturating_sub(b[1])];
        DiskUse {
            name: self.name.clone(),
            ios: less(self.ios, before.ios),
            merges: less(self.merges, before.merges),
            sectors: less(self.sectors, before.sectors),
            ticks: less_span(self.ticks, before.ticks),
            in_queue: self.in_queue.saturating_sub(before.in_queue),
            busy: self.busy.saturating_sub(before.busy),
            over,
        }
    }
}

/// Result of a search for a depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyFinding {
    /// The highest depth that kept the limit; the last one tried if none did.
    pub depth: u32,
    /// Number of depths tried.
    pub tried: u32,
}

/// Result of verifying data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyOutcome {
    /// Number of blocks checked.
    pub blocks: u64,
    /// Number of wrong blocks.
    pub wrong: u64,
    /// The first of them, at most [`VerifyOutcome::MISMATCHES_MAX`].
    pub mismatches: Vec<Mismatch>,
    /// Number of writes of the load, which are numbered in the order in which they were made.
    pub written: u64,
}

/// A block with unexpected data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The file.
    pub file: String,
    /// Offset in the file.
    pub at: u64,
    /// Length of the block in bytes.
    pub len: u32,
    /// The expected content, as text.
    pub expected: String,
    /// The content found, as text.
    pub found: String,
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError {
    /// A positive `errno` value; 5 (EIO) if there is none.
    pub number: i32,
    /// Message: what, where, why.
    pub text: String,
}

/// One request in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// Its completion, from the start of the job's measuring.
    pub end: Span,
    /// Its direction.
    pub direction: Direction,
    /// Submission latency: from made to handed over.
    pub slat: Span,
    /// Completion latency: from handed over to the end.
    pub clat: Span,
    /// Total latency: from due to the end.
    pub lat: Span,
    /// Offset in the file.
    pub at: u64,
    /// Length in bytes.
    pub len: u32,
}

/// Service times of one direction over an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramRow {
    /// End of the interval, from the start of the job's measuring.
    pub end: Span,
    /// The direction.
    pub direction: Direction,
    /// The largest block of the direction, in bytes.
    pub block: u32,
    /// From handed over to the end.
    pub clat: Histogram,
}

/// A request as it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedRow {
    /// When it was made, from the start of the job.
    pub made: Span,
    /// What it does.
    pub what: Asked,
    /// Index of the file among the job's files.
    pub file: u32,
    /// Offset in the file; 0 for a flush.
    pub at: u64,
    /// Length in bytes; 0 for a flush.
    pub len: u32,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Transfers or trims data.
    Move(Direction),
    /// Makes writes durable, with or without all metadata.
    Flush {
        /// As `fsync`; otherwise as `fdatasync`.
        whole: bool,
    },
}

impl JobOutcome {
    /// Whether it completed everything without failures.
    pub fn is_good(&self) -> bool {
        self.error.is_none() && self.errors.total() == 0
    }

    /// Adds another job's results, as for the report of a group: counts add up, and times are the
    /// longest.
    pub fn absorb(&mut self, other: &JobOutcome) {
        self.start = self.start.min(other.start);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.measured = self.measured.max(other.measured);
        self.tape.absorb(&other.tape);
        Direction::ALL.into_iter().for_each(|direction| self.ramp_bytes[direction] += other.ramp_bytes[direction]);
        self.syncs_whole += other.syncs_whole;
        self.depth.add(&other.depth);
        self.submitted.add(&other.submitted);
        self.completed.add(&other.completed);
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

impl DepthShares {
    /// Counts `value`, `times` times.
    #[inline]
    pub fn count(&mut self, value: u32, times: u64) {
        let index = 32 - value.saturating_sub(1).leading_zeros();
        self.counts[index.min(7) as usize] += times;
        if value == 0 {
            self.zeroes += times;
        }
    }

    /// The fraction (0 to 1) of all counts at `index` of [`DepthShares::counts`].
    pub fn part(&self, index: usize) -> f64 {
        let all = self.total();
        if all == 0 { 0.0 } else { self.counts[index] as f64 / all as f64 }
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, other: &DepthShares) {
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.zeroes += other.zeroes;
    }
}

impl Errors {
    /// Counts a failure; `number` is its positive `errno` value, if it has one.
    pub fn count(&mut self, kind: ErrorKind, number: Option<i32>) {
        self.counts[kind as usize] += 1;
        self.first = self.first.or(number);
    }

    /// The count of a kind.
    pub fn of(&self, kind: ErrorKind) -> u64 {
        self.counts[kind as usize]
    }

    /// The sum of all kinds.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The kinds that occurred, with their counts.
    pub fn occurred(&self) -> impl Iterator<Item = (ErrorKind, u64)> + '_ {
        ErrorKind::ALL.into_iter().map(|kind| (kind, self.of(kind))).filter(|&(_, count)| count > 0)
    }

    fn add(&mut self, other: &Errors) {
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.first = self.first.or(other.first);
    }
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [ErrorKind; 11] = [
        ErrorKind::Io,
        ErrorKind::NoSpace,
        ErrorKind::Short,
        ErrorKind::Invalid,
        ErrorKind::ReadOnly,
        ErrorKind::Denied,
        ErrorKind::Unsupported,
        ErrorKind::NoMemory,
        ErrorKind::Gone,
        ErrorKind::Unanswered,
        ErrorKind::Verify,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Io => "io",
            ErrorKind::NoSpace => "no_space",
            ErrorKind::Short => "short",
            ErrorKind::Invalid => "invalid",
            ErrorKind::ReadOnly => "read_only",
            ErrorKind::Denied => "denied",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::NoMemory => "no_memory",
            ErrorKind::Gone => "gone",
            ErrorKind::Unanswered => "unanswered",
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
    /// How many mismatches are kept; all are counted.
    pub const MISMATCHES_MAX: usize = 16;

    /// Records a wrong block.
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
}
