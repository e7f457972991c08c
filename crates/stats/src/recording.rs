//! A run as tables, pages and criteria look at it: per-second intervals and per-phase histograms of
//! every workload and storage object, with the plan, the phases and the machine they came from. It
//! is made from a [`Run`](crate::run::Run), and from nothing else.
//!
//! Times in a recording are spans from the run's first phase on.

mod floor;
mod held_by;

use crate::run::{Class, Hits, HostRecord, PartitionRecord, Times};
use crate::{DispatchTrace, Histogram, Verdict};
use block::{Bytes, Span};

/// One whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Where it came from.
    pub origin: Origin,
    /// The machine.
    pub machine: Machine,
    /// How the plan was scaled to the machine, if it was.
    pub scale: Option<Scale>,
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// What the clients saw.
    pub workloads: Vec<WorkloadRecord>,
    /// What the server saw at its gate.
    pub objects: Vec<ObjectRecord>,
    /// What the partitions of its cache did in each phase.
    pub partitions: Vec<PartitionRecord>,
    /// What the host did meanwhile; nothing in virtual time.
    pub host: HostRecord,
    /// The verdicts.
    pub verdicts: Vec<Verdict>,
    /// What the reader must know: fallbacks taken, limits met, doubts about the figures. One line
    /// each.
    pub notes: Vec<String>,
}

/// Where a run came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The plan's title.
    pub title: String,
    /// The plan file, whole, as run.
    pub plan: String,
    /// The command that repeats the run.
    pub command: String,
    /// The program's version.
    pub version: String,
    /// The seed of every random choice.
    pub seed: u64,
    /// When it started, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Whether time was virtual (a simulation).
    pub simulated: bool,
    /// Whether it was stopped before its end.
    pub cut_short: bool,
    /// Whether its operations are transactions of a database.
    pub transactions: bool,
}

impl Origin {
    /// What a second's count of operations is called.
    pub fn rate_unit(&self) -> &'static str {
        if self.transactions { "TPS" } else { "IOPS" }
    }
}

/// The machine, as far as it can be told; empty strings where it cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The host's name.
    pub host: String,
    /// Operating system and kernel.
    pub kernel: String,
    /// The processor's model.
    pub cpu: String,
    /// Logical processors.
    pub cores: u32,
    /// Memory.
    pub memory: Bytes,
    /// The pool's file system and device.
    pub storage: String,
    /// The I/O back end: `io_uring`, `threads`, `virtual`.
    pub backend: String,
}

/// How the published figures became this machine's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// What depths and limits were multiplied by.
    pub factor: f64,
    /// What the plan says its machine could do, in IOPS.
    pub published_iops: f64,
    /// What this machine can do by the measuring before the run, in IOPS; `None` when the factor
    /// was given.
    pub measured_iops: Option<f64>,
}

/// A phase as it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// What it shows, one line.
    pub about: String,
    /// The administrators' lines that were run at its start, as run (scaled).
    pub commands: Vec<String>,
    /// The same lines as the plan has them.
    pub commands_published: Vec<String>,
    /// Start, after its commands took effect.
    pub start: Span,
    /// End.
    pub end: Span,
    /// Time in which the server's thread was kept from the processor, beyond what its limits make
    /// up for afterwards.
    pub stalled: Span,
}

impl Phase {
    /// How long it was.
    pub fn length(&self) -> Span {
        self.end.saturating_sub(self.start)
    }
}

/// Operations and bytes, by direction. `other` counts trims, zeroes and the rest; flushes are told
/// beside the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Everything else.
    pub other: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Failed.
    pub faults: u64,
}

impl Counts {
    /// All operations.
    pub fn ops(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.write_bytes
    }

    /// Whether it is known how many bytes they moved, or nothing was done: transactions do not
    /// tell.
    pub fn has_bytes(&self) -> bool {
        self.bytes() > 0 || self.ops() == 0
    }
}

/// One workload: what a client asked and how long it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadRecord {
    /// Its name in the plan (`server1`).
    pub name: String,
    /// The host it stands for.
    pub host: String,
    /// The path of the storage object it uses (`svm01:/vol/vol1/lun1`), or the name of another
    /// place.
    pub object: String,
    /// What kind of place that is, as [`run::RunPlace`](crate::run::RunPlace) has it.
    pub kind: String,
    /// A second each.
    pub intervals: Vec<Interval>,
    /// One for each phase, in the order of [`Recording::phases`].
    pub tallies: Vec<Tally>,
    /// Write cycles, where the workload writes in cycles.
    pub cycles: Vec<CycleRecord>,
}

/// A write cycle of a workload that writes in bursts. Times are spans from its phase's start on, or
/// lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CycleRecord {
    /// Its phase's place in [`Recording::phases`].
    pub phase: u32,
    /// When it was due.
    pub due: Span,
    /// When it began; later than due where the one before was not over.
    pub start: Span,
    /// How long the writer slept before it.
    pub sleep: Span,
    /// The journal, made durable.
    pub wij: Span,
    /// The writes to their places, made durable.
    pub write: Span,
    /// From its start until the journal was cleared.
    pub cycle: Span,
    /// Blocks written to their places.
    pub blocks: u64,
}

/// One second (the last of a run may be shorter) of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Its start.
    pub start: Span,
    /// Its length.
    pub length: Span,
    /// What completed.
    pub counts: Counts,
    /// From due to end; `None` of no request.
    pub response: Option<Times>,
    /// In the device, as the server tells it; where no server does, from hand-over to end.
    pub service: Option<Times>,
    /// Requests outstanding at its end, where that was noted.
    pub outstanding: Option<u32>,
    /// Where what the client waited was spent, as the server tells it.
    pub waits: Waits,
    /// What held it back, as the server tells it.
    pub held_by: HeldBy,
    /// Whose ceiling or budget that was: the place in [`Recording::objects`].
    pub held_at: Option<u32>,
    /// How the floor fared that it is under.
    pub floor: FloorFared,
    /// What its reads asked of the server's cache, as the server tells it; nothing where it has
    /// none.
    pub cached: Hits,
}

/// One phase of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// How long it was measured.
    pub length: Span,
    /// What completed.
    pub counts: Counts,
    /// From due to end.
    pub response: Histogram,
    /// From hand-over to end.
    pub service: Histogram,
    /// Waited in the QoS gate, as the server tells it.
    pub queued: Histogram,
    /// In the device, as the server tells it; where no server does, from hand-over to end.
    pub device: Histogram,
    /// Requests of an open loop that were made later than they were due; `None` of a closed one,
    /// and where nobody counted.
    pub late: Option<u64>,
    /// The longest delay of such a request.
    pub late_max: Option<Span>,
    /// Requests of an open loop that were due while as many as allowed were outstanding; `None` of
    /// a closed one, and where nobody counted.
    pub held: Option<u64>,
    /// Requests of an open loop that were due by the end and not made by then; where the same
    /// arrival goes on in the next phase, they may be made there. `None` of a closed one, and where
    /// nobody counted.
    pub never_sent: Option<u64>,
    /// The times of the classes apart, where they were told apart; those of the whole are their
    /// sum.
    pub parts: Vec<Part>,
}

/// The times of one class of a tally's requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Which.
    pub class: Class,
    /// From due to end.
    pub response: Histogram,
    /// From hand-over to end.
    pub service: Histogram,
}

/// Mean time a request waited, by where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// In the QoS gate, held by a ceiling.
    pub ceiling: Span,
    /// In the QoS gate, for others' floors.
    pub floors: Span,
    /// In the QoS gate, for its turn, for the device to take more, or for a server that did not
    /// run.
    pub turn: Span,
    /// In the device.
    pub device: Span,
}

/// What held a workload back for most of an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Copy, PartialOrd, Ord)]
pub enum HeldBy {
    /// Nothing: it got what it asked for.
    #[default]
    Nothing,
    /// Its own ceiling in IOPS.
    CeilingIops,
    /// Its own ceiling in bytes per second.
    CeilingThroughput,
    /// The budget shared with others, in IOPS.
    SharedIops,
    /// The budget shared with others, in bytes per second.
    SharedThroughput,
    /// The floors of others.
    Floors,
    /// The disk (or whatever serves below the gate).
    Disk,
    /// The processor: the server or the client had no time left.
    Cpu,
    /// Its own depth: it did not ask for more.
    Depth,
    /// Its own pace: it made as many requests as its client can, or as its plan asks for.
    Pace,
    /// The server did not run: its processor was away while requests waited that might have gone.
    Stalled,
    /// What the server's link may carry of all connections.
    Link,
    /// What the server's link may carry of one connection.
    Flow,
    /// What the server's link may carry of all connections while it has credit.
    Burst,
}

/// How a floor fared over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FloorFared {
    /// There is none.
    #[default]
    NotSet,
    /// Its owner got at least the floor, or everything it asked for.
    Met,
    /// Missed: its owner keeps too few requests outstanding, and needs this many.
    NeedsOutstanding(u64),
    /// Missed: the floors together are more than the backend can do. Each is held at this many
    /// thousandths.
    Overcommitted(u32),
    /// Missed: a ceiling is in the way.
    CeilingAbove,
    /// Missed: the server's link does not carry as much.
    LinkAbove,
    /// Missed: the scheduler is still making room.
    Adjusting,
    /// Missed: half of its requests take so many nanoseconds where the others are held back most.
    TakesAtBest(u64),
    /// Missed: holding the others back did not help, and is tried again later.
    NotHelped,
}

/// One storage object as the server saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectRecord {
    /// Its path (`svm01:/vol/vol1`), or a shared group's name.
    pub path: String,
    /// Whether it is a shared policy group.
    pub is_group: bool,
    /// Space it used when the run began; `None` where nobody told.
    pub used_start: Option<Bytes>,
    /// Space it used at the run's end.
    pub used_end: Option<Bytes>,
    /// Dispatches to the device.
    pub trace: DispatchTrace,
    /// For each phase the ceiling and floor in force, in the order of [`Recording::phases`].
    pub limits: Vec<LimitsInForce>,
}

/// The numbers in force for an object in a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitsInForce {
    /// The policy group's name; empty without one.
    pub policy: String,
    /// Most operations per second.
    pub ceiling_iops: Option<u64>,
    /// Most bytes per second.
    pub ceiling_bytes: Option<u64>,
    /// Least operations per second.
    pub floor_iops: Option<u64>,
    /// Least bytes per second.
    pub floor_bytes: Option<u64>,
}

impl Tally {
    /// Operations per second.
    pub fn iops(&self) -> f64 {
        per_second(self.counts.ops(), self.length)
    }

    /// Bytes per second.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.counts.bytes(), self.length)
    }
}

impl Interval {
    /// Operations per second.
    pub fn iops(&self) -> f64 {
        per_second(self.counts.ops(), self.length)
    }

    /// Bytes per second.
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.counts.bytes(), self.length)
    }
}

impl std::fmt::Display for HeldBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            HeldBy::Nothing => "nothing",
            HeldBy::CeilingIops => "ceiling (IOPS)",
            HeldBy::CeilingThroughput => "ceiling (MB/s)",
            HeldBy::SharedIops => "shared (IOPS)",
            HeldBy::SharedThroughput => "shared (MB/s)",
            HeldBy::Floors => "others' floors",
            HeldBy::Disk => "the disk",
            HeldBy::Cpu => "the CPU",
            HeldBy::Depth => "its depth",
            HeldBy::Pace => "its own pace",
            HeldBy::Stalled => "server stalled",
            HeldBy::Link => "the network",
            HeldBy::Flow => "its connection",
            HeldBy::Burst => "network burst",
        })
    }
}

impl FloorFared {
    /// Whether it was missed.
    pub fn is_short(self) -> bool {
        !matches!(self, FloorFared::NotSet | FloorFared::Met)
    }
}

impl std::fmt::Display for FloorFared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FloorFared::NotSet => f.pad("no floor"),
            FloorFared::Met => f.pad("met"),
            FloorFared::NeedsOutstanding(number) => f.pad(&format!("needs {number} outstanding requests")),
            FloorFared::Overcommitted(thousandths) => {
                f.pad(&format!("more than the storage can do, all floors held at {} %", thousandths / 10))
            }
            FloorFared::CeilingAbove => f.pad("a ceiling is in its way"),
            FloorFared::LinkAbove => f.pad("the network is in its way"),
            FloorFared::Adjusting => f.pad("room is still being made"),
            FloorFared::TakesAtBest(ns) => {
                f.pad(&format!("its requests take {} with the others held back", Span::from_nanos(*ns)))
            }
            FloorFared::NotHelped => f.pad("holding the others back did not help"),
        }
    }
}

/// A count over a length as a rate; zero for no length.
fn per_second(count: u64, length: Span) -> f64 {
    if length == Span::ZERO { 0.0 } else { count as f64 / length.as_secs_f64() }
}
