//! One load job: everything that the engine needs to run one thread's worth of load against files,
//! devices, an NBD export or nothing at all, whichever tool described it.
//!
//! A [`JobSpec`] is the user's job, checked and converted to plain numbers with units. What depends
//! on the machine (the size of a device, whether a file exists) stays open as an [`Amount`] or
//! `None`; the engine fills it in. `JobSpec::default()` is a sequential 4 KiB read at depth 1.

mod chooser;
mod content;
mod ending;
mod pacing;
mod permutation;
mod place;
mod ranks;
mod reach;
mod replay;
pub(crate) mod sizes;
mod spread;
mod stream;
mod walk;

pub use content::{Content, Fill, Hash, Pattern, TrimChecks, Verify, WorkingSet};
pub use ending::{Ending, Ends, SteadyCheck, SteadyFigure, SteadyLimit, SteadyRule};
pub use pacing::{Floor, FlowShare, LatencySearch, Pace, Pacing, Think};
pub use place::{
    Amount, Calls, EngineKind, FileLock, FileOrder, FileSpec, JobPlace, Layout, Provision, Turns, WriteSync,
};
pub use ranks::Zipf;
pub use reach::{BlockCoverage, BlockSizes, Distribution, Mix, Order, Reach, SplitShare, Strides, Zone};
pub use replay::{Replay, ReplayAsk, ReplayRow};
pub use stream::{JobDraft, JobNext, JobStream};
pub use walk::Region;

pub use stats::{Direction, PerDirection};

use block::Span;
use std::ops::Range;
use std::path::PathBuf;

/// Divides jobs into stages: the jobs of a stage start together, once those before them have ended.
pub fn stages(specs: &[JobSpec]) -> Vec<Range<usize>> {
    let begins = (0..specs.len()).filter(|job| *job == 0 || specs[*job].start.after_earlier);
    let mut begins: Vec<usize> = begins.collect();
    begins.push(specs.len());
    begins.windows(2).map(|stage| stage[0]..stage[1]).collect()
}

/// One job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobSpec {
    /// Its name in reports.
    pub name: String,
    /// Its index among the clones of one description, from 0.
    pub number: u32,
    /// The report group; jobs of a group may be reported as one.
    pub group: u32,
    /// The storage that it loads.
    pub place: JobPlace,
    /// How it accesses the storage.
    pub engine: EngineKind,
    /// Bypasses the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Whether each write is durable when it completes.
    pub write_sync: WriteSync,
    /// How plain system calls are made, for the engine that uses them.
    pub calls: Calls,
    /// How missing or short files are created, and what happens to them afterwards.
    pub layout: Layout,
    /// How the next of several files is chosen.
    pub file_order: FileOrder,
    /// What it requests: directions, order, offsets, sizes.
    pub reach: Reach,
    /// A recording to replay instead of requests drawn by `reach` and the rates; `reach` still has
    /// the directions and block sizes.
    pub replay: Option<Replay>,
    /// When it makes requests: depth, rate, pauses.
    pub pacing: Pacing,
    /// What it writes.
    pub content: Content,
    /// Whether and how read data is verified; `None` ignores it.
    pub verify: Option<Verify>,
    /// When it flushes.
    pub flushes: Flushes,
    /// When it starts.
    pub start: Start,
    /// When it ends.
    pub ending: Ending,
    /// Failures after which it continues.
    pub forgive: Forgive,
    /// Logs over time.
    pub logs: Logs,
    /// Seed of all random choices. The same seed makes the same requests in the same order.
    pub seed: u64,
    /// Processors that its thread may run on; empty means any.
    pub cpus: Vec<u32>,
    /// The NUMA nodes where it runs and where its buffers are.
    pub numa: Numa,
    /// A kernel thread polls for requests, which saves system calls and occupies a processor.
    pub kernel_polls: Option<KernelPolling>,
    /// Its scheduling priority.
    pub priority: Priority,
    /// Programs that are run before and after it.
    pub commands: Commands,
}

/// Placement of a job on NUMA nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numa {
    /// Nodes on whose processors its thread runs; empty means any.
    pub nodes: Vec<u32>,
    /// Placement of its buffers; `None` leaves it to the system.
    pub memory: Option<MemoryPolicy>,
}

/// The policy for memory placement; see set_mempolicy(2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// The node of the processor that touches it first, overriding the thread's earlier policy.
    Default,
    /// The node that the thread runs on.
    Local,
    /// This node while it has free memory.
    Prefer(u32),
    /// Only these nodes.
    Bind(Vec<u32>),
    /// Interleaved over these nodes.
    Interleave(Vec<u32>),
}

/// Polling of the submission queue by a kernel thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelPolling {
    /// The processor that the kernel thread runs on; any when `None`.
    pub processor: Option<u32>,
}

/// Scheduling priority of a job's thread, for the processor and for I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priority {
    /// Niceness, from −20 (highest priority) to 19; see nice(2).
    pub nice: Option<i32>,
    /// The kernel's number for class and level of its I/O priority; see ioprio_set(2).
    pub io: Option<u16>,
}

/// Programs that are run around a job by the shell. If one fails, the job fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// Run before the first request.
    pub before: Option<Command>,
    /// Run after the job's end.
    pub after: Option<Command>,
}

/// A command line, and where its output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The line for the shell.
    pub line: String,
    /// The file that receives the output.
    pub output: PathBuf,
}

/// When a job flushes its writes. A flush waits for the writes before it and is timed separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushes {
    /// Number of writes between calls of `fsync`; 0 means never.
    pub fsync_every: u32,
    /// Number of writes between calls of `fdatasync`; 0 means never.
    pub fdatasync_every: u32,
    /// Calls `fsync` for every file once when the job's writes are done.
    pub at_end: bool,
    /// Calls `fsync` for every file when it is closed.
    pub on_close: bool,
}

/// When a job starts, counted from the start of the run or of its stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The shortest delay.
    pub delay_least: Span,
    /// The longest delay; the delay is drawn between the two from the job's seed.
    pub delay_most: Span,
    /// Starts a new stage: waits until every job before it in the list has ended.
    pub after_earlier: bool,
    /// Waits until all jobs with this name have ended.
    pub after: Option<String>,
}

/// Failures after which a job continues. Each is counted in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgive {
    /// A read that failed with EIO; with `read_numbers` those alone.
    pub read: bool,
    /// A write, trim or flush that failed with EIO; with `write_numbers` those alone.
    pub write: bool,
    /// Data that does not verify.
    pub verify: bool,
    /// Failed reads with one of these `errno` values.
    pub read_numbers: Vec<i32>,
    /// Failed writes, trims and flushes with one of these `errno` values.
    pub write_numbers: Vec<i32>,
    /// Failed verifications with one of these `errno` values.
    pub verify_numbers: Vec<i32>,
}

/// A place of the medium failed.
const EIO: i32 = 5;

impl Forgive {
    /// Whether the job continues after a request that failed with this error number. As in fio,
    /// that is EIO unless numbers are named: another place may be good, while storage that is full
    /// or gone fails everything that follows, and the job would do nothing and succeed.
    pub fn after(&self, direction: Direction, number: i32) -> bool {
        let (forgiven, numbers) = match direction {
            Direction::Read => (self.read, &self.read_numbers),
            Direction::Write | Direction::Trim => (self.write, &self.write_numbers),
        };
        if numbers.is_empty() { forgiven && number == EIO } else { numbers.contains(&number) }
    }

    /// Whether any failure lets the job continue.
    pub fn goes_on(&self) -> bool {
        let numbers = [&self.read_numbers, &self.write_numbers, &self.verify_numbers];
        self.read || self.write || self.verify || numbers.iter().any(|numbers| !numbers.is_empty())
    }
}

/// Logs over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logs {
    /// A row for every request, with its latencies.
    pub each_request: bool,
    /// Length of the intervals over which bandwidth, operations and mean latencies are logged;
    /// above zero.
    pub interval: Span,
    /// Length of the intervals over which histograms of service time are logged.
    pub histogram_interval: Option<Span>,
    /// Also logs the longest latencies of each interval.
    pub longest: bool,
    /// A row for every request as it was made, from which the job can be replayed.
    pub asked: bool,
    /// Counts requests by this many slices of the job's whole space, to show whether its offsets
    /// are spread evenly.
    pub coverage: Option<u32>,
}

impl Default for Logs {
    fn default() -> Logs {
        Logs {
            each_request: false,
            interval: Span::from_millis(500),
            histogram_interval: None,
            longest: false,
            asked: false,
            coverage: None,
        }
    }
}
