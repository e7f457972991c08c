//! The figures of one job, or of several as one.

use super::coverage::Coverage;
use super::losses::Losses;
use super::steady::SteadyReport;
use crate::{Direction, Histogram, PerDirection, Tape};
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
    /// What its requests did, ramp excluded. Flushes are those within the load, timed from when
    /// they were asked; those at its end are not among them.
    pub tape: Tape,
    /// How many of the flushes were with all that describes the file (`fsync`, not `fdatasync`).
    pub syncs_whole: u64,
    /// Bytes that were moved in the ramp.
    pub ramp_bytes: PerDirection<u64>,
    /// Where its requests went, where that was asked.
    pub coverage: Option<Coverage>,
    /// How many requests were in flight whenever one was made.
    pub depth: DepthShares,
    /// How many requests went to the kernel together.
    pub submitted: DepthShares,
    /// How many ends were taken together.
    pub completed: DepthShares,
    /// Failures by kind.
    pub errors: Errors,
    /// What was under way when connections to the server were lost; all zero where none was.
    pub losses: Losses,
    /// Processor time and what goes with it.
    pub usage: JobUsage,
    /// What the block layer says of the devices behind the files over the job's time, where it can
    /// be told.
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

/// Counts by powers of two: `counts[k]` is of values from `2^(k-1) + 1` to `2^k`, `counts[0]` of 0
/// and 1, the last of everything above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DepthShares {
    /// Bounds 1, 2, 4, 8, 16, 32, 64 and above.
    pub counts: [u64; 8],
    /// How many of `counts[0]` were 0.
    pub zeroes: u64,
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

/// Processor time and what goes with it. Of a thread that several jobs share, each has its part by
/// requests.
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

impl DiskUse {
    /// What it was used since `before`, `over` that time.
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

    /// Takes another job's figures in, as a report of a whole group does: counts add up, times are
    /// the longest.
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
