//! A run as seen by tables, pages and criteria: per-second intervals and per-phase histograms of
//! every workload and storage object, with the plan, the phases and the machine. It is only ever
//! made from a [`Run`](crate::run::Run).
//!
//! Times in a recording are relative to the start of the run's first phase.

mod floor;
mod held_by;

use crate::run::{Class, Hits, HostRecord, PartitionRecord, Times};
use crate::{DispatchTrace, Histogram, Verdict};
use block::{Bytes, Span};

/// One whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Its plan, command and version.
    pub origin: Origin,
    /// The machine.
    pub machine: Machine,
    /// How the plan was scaled to the machine, if it was.
    pub scale: Option<Scale>,
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// Each workload as its clients saw it.
    pub workloads: Vec<WorkloadRecord>,
    /// Each storage object as the server's gate saw it.
    pub objects: Vec<ObjectRecord>,
    /// Activity of the cache's partitions in each phase.
    pub partitions: Vec<PartitionRecord>,
    /// Host statistics during the run; empty in virtual time.
    pub host: HostRecord,
    /// The verdicts.
    pub verdicts: Vec<Verdict>,
    /// What the reader must know: fallbacks, limits that were reached, doubts about the figures.
    /// One line each.
    pub notes: Vec<String>,
}

/// The origin of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The plan's title.
    pub title: String,
    /// The text of the plan file, as run.
    pub plan: String,
    /// The command that repeats the run.
    pub command: String,
    /// The program's version.
    pub version: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// When it started, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Whether time was virtual (a simulation).
    pub simulated: bool,
    /// Whether there is less of it than was to be: it was stopped, or it still goes on.
    pub cut_short: bool,
    /// Whether it still goes on.
    pub goes_on: bool,
    /// The user's labels: pairs of key and word.
    pub labels: Vec<(String, String)>,
    /// Whether its operations are transactions of a database.
    pub transactions: bool,
}

impl Origin {
    /// The unit of operation rates.
    pub fn rate_unit(&self) -> &'static str {
        if self.transactions { "TPS" } else { "IOPS" }
    }
}

/// The machine, as far as it is known; unknown texts are empty.
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

/// How the published figures were scaled to this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Factor for depths and limits.
    pub factor: f64,
    /// The rate of the published machine, in IOPS.
    pub published_iops: f64,
    /// The rate of this machine, measured before the run, in IOPS; `None` if the factor was given.
    pub measured_iops: Option<f64>,
}

/// A phase as it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// What it shows, one line.
    pub about: String,
    /// The administrators' commands at its start, as run (scaled).
    pub commands: Vec<String>,
    /// The same commands as written in the plan.
    pub commands_published: Vec<String>,
    /// Start, after its commands took effect.
    pub start: Span,
    /// End.
    pub end: Span,
    /// Time in which the server's thread was ready but did not run, beyond what its limits make up
    /// for afterwards.
    pub stalled: Span,
}

impl Phase {
    /// Its length.
    pub fn length(&self) -> Span {
        self.end.saturating_sub(self.start)
    }
}

/// Operations and bytes by direction. `other` counts trims, zeroes and the rest; flushes are not
/// included.
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
    /// Bytes of everything else.
    pub other_bytes: u64,
    /// Failed operations.
    pub faults: u64,
}

impl Counts {
    /// All operations.
    pub fn ops(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.write_bytes + self.other_bytes
    }

    /// Whether the number of bytes is known, or there were no operations. It is not known for
    /// transactions.
    pub fn has_bytes(&self) -> bool {
        self.bytes() > 0 || self.ops() == 0
    }
}

/// One workload, as its client saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadRecord {
    /// Its name in the plan (`server1`).
    pub name: String,
    /// The host it stands for.
    pub host: String,
    /// The path of the storage object it uses (`svm01:/vol/vol1/lun1`), or the name of another
    /// place.
    pub object: String,
    /// The kind of that place; see [`run::RunPlace`](crate::run::RunPlace).
    pub kind: String,
    /// Whether its operations are transactions of a database.
    pub transactions: bool,
    /// One for each second.
    pub intervals: Vec<Interval>,
    /// One for each phase, in the order of [`Recording::phases`].
    pub tallies: Vec<Tally>,
    /// Its write cycles, if it writes in cycles.
    pub cycles: Vec<CycleRecord>,
}

impl WorkloadRecord {
    /// The unit of its operation rates.
    pub fn rate_unit(&self) -> &'static str {
        Origin { transactions: self.transactions, ..Origin::default() }.rate_unit()
    }
}

/// A write cycle of a workload that writes in bursts. Times are relative to the start of its phase,
/// or lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CycleRecord {
    /// Index of its phase in [`Recording::phases`].
    pub phase: u32,
    /// When it was due.
    pub due: Span,
    /// When it began; later than due if the cycle before was not over.
    pub start: Span,
    /// How long the writer slept before it.
    pub sleep: Span,
    /// Time to write the journal durably.
    pub wij: Span,
    /// Time to write the blocks to their places durably.
    pub write: Span,
    /// From its start until the journal was cleared.
    pub cycle: Span,
    /// Number of blocks written to their places.
    pub blocks: u64,
}

/// One second of a workload (the last of a run may be shorter).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Its start.
    pub start: Span,
    /// Its length.
    pub length: Span,
    /// Completed operations.
    pub counts: Counts,
    /// Flushes, which the counts leave out.
    pub flushes: u64,
    /// Response times, from due to end; `None` without requests.
    pub response: Option<Times>,
    /// Device times from the server; without a server, service times from hand-over to end.
    pub service: Option<Times>,
    /// Requests outstanding at its end, if recorded.
    pub outstanding: Option<u32>,
    /// Mean waiting times by place, from the server.
    pub waits: Waits,
    /// What held it back, from the server.
    pub held_by: HeldBy,
    /// Owner of the limit that held it back: an index in [`Recording::objects`].
    pub held_at: Option<u32>,
    /// State of the floor that covers it.
    pub floor: FloorOutcome,
    /// Cache hits and misses of its reads, from the server; zero without a cache.
    pub cached: Hits,
}

/// One phase of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Measured time.
    pub length: Span,
    /// Completed operations.
    pub counts: Counts,
    /// Response times, from due to end.
    pub response: Histogram,
    /// Service times, from hand-over to end.
    pub service: Histogram,
    /// Times in the QoS gate, from the server.
    pub queued: Histogram,
    /// Device times from the server; without a server, service times.
    pub device: Histogram,
    /// Requests of an open loop that were made late; `None` for a closed loop, and if they were not
    /// counted.
    pub late: Option<u64>,
    /// The longest delay of a late request.
    pub late_max: Option<Span>,
    /// Requests of an open loop that were held by its cap; `None` for a closed loop, and if they
    /// were not counted.
    pub held: Option<u64>,
    /// Requests of an open loop that were due by the end and not made by then. If the same arrival
    /// continues in the next phase, they may be made there. `None` for a closed loop, and if they
    /// were not counted.
    pub never_sent: Option<u64>,
    /// Flushes, which the counts leave out.
    pub flushes: u64,
    /// Times of the single classes, if known; those of the whole are their sum.
    pub parts: Vec<Part>,
}

/// Times of one class of a tally's requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The class.
    pub class: Class,
    /// Response times, from due to end.
    pub response: Histogram,
    /// Service times, from hand-over to end.
    pub service: Histogram,
}

/// Mean waiting time of a request, by place and cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// In the QoS gate, held by a ceiling.
    pub ceiling: Span,
    /// In the QoS gate, for others' floors.
    pub floors: Span,
    /// In the QoS gate, for its turn, for room in the device, or for a server that did not run.
    pub turn: Span,
    /// In the device.
    pub device: Span,
}

/// What held a workload back for most of an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Copy, PartialOrd, Ord)]
pub enum HeldBy {
    /// Nothing: it made all the requests that it wanted to.
    #[default]
    Nothing,
    /// Its own ceiling in IOPS.
    CeilingIops,
    /// Its own ceiling in bytes per second.
    CeilingThroughput,
    /// The limit shared with others, in IOPS.
    SharedIops,
    /// The limit shared with others, in bytes per second.
    SharedThroughput,
    /// Floors of others.
    Floors,
    /// The disk, or whatever else is below the gate.
    Disk,
    /// The processor of server or client was saturated.
    Cpu,
    /// Its own depth: it did not make more requests.
    Depth,
    /// Its own pace: it made as many requests as its client can, or as its plan asks for.
    Pace,
    /// The server did not run, while requests waited that could have gone.
    Stalled,
    /// The limit of the server's link for all connections.
    Link,
    /// The limit of the server's link for one connection.
    Flow,
    /// The limit of the server's link for all connections while it has credit.
    Burst,
}

/// Whether a floor was met over an interval, and if not why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FloorOutcome {
    /// There is no floor.
    #[default]
    NotSet,
    /// Its owner got at least the floor, or everything it asked for.
    Met,
    /// Missed: its owner keeps too few requests at the server, and needs this many on average. A
    /// client's depth has to be larger, because some of its requests are always on the way.
    NeedsOutstanding(u64),
    /// Missed: the sum of the floors exceeds what the backend can do, so each is scaled to this
    /// many thousandths.
    Overcommitted(u32),
    /// Missed: a ceiling is lower.
    CeilingAbove,
    /// Missed: the server's link has a lower limit.
    LinkAbove,
    /// Missed: its client has as many requests outstanding as the floor needs, but too few of them
    /// are at the server at a time: the others are on the way, or wait for the client.
    AwayFromServer,
    /// Missed: the scheduler is still adjusting.
    Adjusting,
    /// Missed: a floor by latency whose median is at best this many nanoseconds, with others held
    /// back as far as possible.
    TakesAtBest(u64),
    /// Missed: holding others back did not help; it is tried again later.
    NotHelped,
}

/// A storage object as the server saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectRecord {
    /// Its path (`svm01:/vol/vol1`), or a shared group's name.
    pub path: String,
    /// Whether it is a shared policy group.
    pub is_group: bool,
    /// Space it used when the run began; `None` if not known.
    pub used_start: Option<Bytes>,
    /// Space it used when the run ended.
    pub used_end: Option<Bytes>,
    /// Dispatches to the device.
    pub trace: DispatchTrace,
    /// The limits in force in each phase, in the order of [`Recording::phases`].
    pub limits: Vec<LimitsInForce>,
}

/// The limits in force for an object in a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitsInForce {
    /// Name of the policy group; empty if there is none.
    pub policy: String,
    /// Ceiling in operations per second.
    pub ceiling_iops: Option<u64>,
    /// Ceiling in bytes per second.
    pub ceiling_bytes: Option<u64>,
    /// What may pass above the ceilings for a while, on credit saved below them.
    pub burst: Option<BurstAllowed>,
    /// Floor in operations per second.
    pub floor_iops: Option<u64>,
    /// Floor in bytes per second.
    pub floor_bytes: Option<u64>,
    /// Floor by latency: half of the requests take no longer.
    pub floor_latency: Option<Span>,
}

/// A burst that a policy allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstAllowed {
    /// Millionths of the ceiling above it.
    pub ppm: u64,
    /// How long a full credit lasts.
    pub duration: Span,
}

impl BurstAllowed {
    /// The most in any second, as a multiple of the ceiling.
    pub fn in_a_second(self) -> f64 {
        1.0 + self.ppm as f64 / 1e6 * self.duration.min(Span::SECOND).as_secs_f64()
    }

    /// The full credit, in seconds of the ceiling.
    pub fn credit(self) -> f64 {
        self.ppm as f64 / 1e6 * self.duration.as_secs_f64()
    }
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

/// A count divided by a length; zero if the length is zero.
fn per_second(count: u64, length: Span) -> f64 {
    if length == Span::ZERO { 0.0 } else { count as f64 / length.as_secs_f64() }
}
