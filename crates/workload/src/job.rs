//! One load job: everything that the engine needs to run one thread's worth of load against files,
//! devices, an NBD export or nothing at all, whichever tool described it.
//!
//! A [`JobSpec`] is what was typed, checked and put into plain numbers with units. What only the
//! machine knows (how large a device is, whether a file exists) stays open here as an [`Amount`] or
//! `None`; the engine fills it in. `JobSpec::default()` is a sequential 4 KiB read at depth 1.

mod content;
mod ending;
mod pacing;
mod permutation;
mod place;
mod ranks;
mod reach;
mod replay;
pub(crate) mod sizes;
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

/// The stages of jobs: those of one start together, when those before them have ended.
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
    /// Which of the clones that one description made, from 0.
    pub number: u32,
    /// The report group; jobs of a group may be reported as one.
    pub group: u32,
    /// What it talks to.
    pub place: JobPlace,
    /// How it talks to it.
    pub engine: EngineKind,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Whether each write is durable before it ends.
    pub write_sync: WriteSync,
    /// How plain system calls are made, where it makes such.
    pub calls: Calls,
    /// How files that are missing or too short are made, and what becomes of them.
    pub layout: Layout,
    /// How the next of several files is chosen.
    pub file_order: FileOrder,
    /// What it asks: directions, order, offsets, sizes.
    pub reach: Reach,
    /// Runs this recording in place of what `reach` and the rates say; `reach` still names
    /// directions and block sizes.
    pub replay: Option<Replay>,
    /// When it asks: depth, rate, pauses.
    pub pacing: Pacing,
    /// What it writes.
    pub content: Content,
    /// Whether and how what is read back is checked; `None` does not look at data.
    pub verify: Option<Verify>,
    /// When it asks for durability.
    pub flushes: Flushes,
    /// When it starts.
    pub start: Start,
    /// When it ends.
    pub ending: Ending,
    /// Which failures it goes on after.
    pub forgive: Forgive,
    /// What is noted over time.
    pub logs: Logs,
    /// What all chance is drawn from. The same seed asks the same requests in the same order.
    pub seed: u64,
    /// Processors that its thread may run on; empty leaves it to the system.
    pub cpus: Vec<u32>,
    /// On which nodes of a machine with several memories it runs, and where its buffers are.
    pub numa: Numa,
    /// The kernel has a thread of its own that looks for requests, which spares system calls and
    /// takes a processor.
    pub kernel_polls: Option<KernelPolling>,
    /// How it stands behind or before other programs.
    pub priority: Priority,
    /// Programs that are run around it.
    pub commands: Commands,
}

/// A job's part of a machine with several memories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numa {
    /// Its thread runs on processors of these nodes only; empty leaves it to the system.
    pub nodes: Vec<u32>,
    /// Where its buffers are; `None` leaves it to the system.
    pub memory: Option<MemoryPolicy>,
}

/// Where memory is taken from; see set_mempolicy(2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// Near the processor that touches it first, whatever the thread had before.
    Default,
    /// From the node that the thread runs on.
    Local,
    /// From this node while it has some.
    Prefer(u32),
    /// From these nodes alone.
    Bind(Vec<u32>),
    /// From these nodes in turn.
    Interleave(Vec<u32>),
}

/// How the kernel looks for requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelPolling {
    /// The processor that its thread runs on; any when `None`.
    pub processor: Option<u32>,
}

/// How a job's thread stands behind or before other programs of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priority {
    /// −20, before all others, to 19, behind them; see nice(2).
    pub nice: Option<i32>,
    /// The kernel's number for the class and level of its I/O; see ioprio_set(2).
    pub io: Option<u16>,
}

/// Programs that are run around a job, each by the shell. One that fails fails the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// Before its first request.
    pub before: Option<Command>,
    /// After its end.
    pub after: Option<Command>,
}

/// A line for the shell, and where its output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What is run.
    pub line: String,
    /// The file that holds what it printed.
    pub output: PathBuf,
}

/// When a job asks for what it wrote to be durable. A flush waits for the writes before it and is
/// timed apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushes {
    /// `fsync` after so many writes; 0 never.
    pub fsync_every: u32,
    /// `fdatasync` after so many writes; 0 never.
    pub fdatasync_every: u32,
    /// `fsync` every file once when the job's writes are done.
    pub at_end: bool,
    /// `fsync` every file when it is closed.
    pub on_close: bool,
}

/// When a job starts, counted from the start of the run or of its stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Starts so much later at least.
    pub delay_least: Span,
    /// And so much later at most; drawn between both, from the job's seed.
    pub delay_most: Span,
    /// Waits until every job before it in the list has ended: a new stage begins with it.
    pub after_earlier: bool,
    /// Waits until all jobs of this name have ended.
    pub after: Option<String>,
}

/// Which failures a job goes on after. Each is counted in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgive {
    /// A read that failed.
    pub read: bool,
    /// A write, trim or flush that failed.
    pub write: bool,
    /// Data that was not what was written.
    pub verify: bool,
    /// Reads that failed with one of these numbers of the system.
    pub read_numbers: Vec<i32>,
    /// Writes, trims and flushes that failed with one of these.
    pub write_numbers: Vec<i32>,
    /// Checks that failed with one of these.
    pub verify_numbers: Vec<i32>,
}

impl Forgive {
    /// Whether there is a failure that it goes on after.
    pub fn goes_on(&self) -> bool {
        let numbers = [&self.read_numbers, &self.write_numbers, &self.verify_numbers];
        self.read || self.write || self.verify || numbers.iter().any(|numbers| !numbers.is_empty())
    }
}

/// What is noted over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logs {
    /// A row for every request, with its latencies.
    pub each_request: bool,
    /// Length of the intervals that bandwidth, operations and mean latencies are noted for; above
    /// zero.
    pub interval: Span,
    /// Length of the intervals that whole histograms of service time are noted for.
    pub histogram_interval: Option<Span>,
    /// The longest latencies of each interval are noted too.
    pub longest: bool,
    /// A row for every request as it was asked, so that the job can be run again from the
    /// recording.
    pub asked: bool,
    /// Requests are counted by so many slices of all that the job uses, to tell whether its offsets
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
