//! The result of any run, whichever tool made it: the root of everything that is stored, queried,
//! compared and shown.
//!
//! ```text
//!   Run ─┬─ Place    what was loaded          Point ── a stretch: a plan's phase, a ramp's run, a stage of a job file
//!        ├─ Actor    who loaded it            Class ── a kind of work: read, write, trim, flush, journal …
//!        ├─ Cell     point × actor × class:   counts, punctuality, histograms by kind
//!        ├─ Series   actor × class:           a slice of about a second after the other
//!        ├─ GateSeries  actor:                where its requests waited, what held it back
//!   Host ┴─ DeviceSeries                     what the machine and the devices under the places did meanwhile
//! ```
//! Two rules make the figures of all tools comparable. What is not known is `None`, never zero. And
//! every cell and series of the class [`Class::ALL`] is the whole of its actor. The other classes
//! are parts of it, so that nothing is counted twice, except flushes and journals. Those are kept
//! beside the whole: they are overhead, which tables do not count as work.
//!
//! Times are relative to the start of the first point.

mod class;
mod compare;
mod fold;
mod host;
mod jobs;
mod minute;
mod partition;
mod recording;
mod second;
mod series;
mod tapes;
mod times;
mod together;

pub use class::{Class, Kind};
pub use compare::{Difference, alone, differences, obstacles};
pub use host::{CpuTimes, DeviceRow, DeviceSeries, HostRecord, HostRow, MemoryUse, Moved, Pressure, Stall};
pub use minute::{Coarse, Minute};
pub use partition::PartitionRecord;
pub use second::{Second, Served};
pub use tapes::Taped;
use times::to_four_digits;
pub use times::{Spread, Times};

use crate::{CycleRecord, FloorOutcome, HeldBy, Histogram, Machine, ObjectRecord, Origin, Scale, Verdict, Waits};
use block::Span;

/// One whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Its origin: tool, command, text, version.
    pub identity: Identity,
    /// The machine that made the load.
    pub machine: Machine,
    /// The user's labels: pairs of key and word.
    pub labels: Vec<(String, String)>,
    /// How published figures were scaled to this machine, if a plan was scaled.
    pub scale: Option<Scale>,
    /// The storage that was loaded.
    pub places: Vec<RunPlace>,
    /// What made the load.
    pub actors: Vec<RunActor>,
    /// The points, in order of time.
    pub points: Vec<Point>,
    /// The settings, as figures and words.
    pub settings: Vec<Setting>,
    /// Results by point, actor and class.
    pub cells: Vec<Cell>,
    /// Results over time.
    pub series: Vec<Series>,
    /// Statistics of a QoS gate for each actor over time.
    pub gates: Vec<GateSeries>,
    /// Host statistics during the run; empty in virtual time.
    pub host: HostRecord,
    /// Single events.
    pub events: Vec<Event>,
    /// Write cycles, each with its actor's index.
    pub cycles: Vec<(u32, CycleRecord)>,
    /// Storage objects as a server saw them.
    pub objects: Vec<ObjectRecord>,
    /// Activity of the cache's partitions in each point.
    pub partitions: Vec<PartitionRecord>,
    /// The verdicts of its criteria.
    pub verdicts: Vec<Verdict>,
    /// What the reader must know. One line each.
    pub notes: Vec<String>,
}

/// The origin of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The command that made it: `fio`, `ramp`, `ranread`, `orion`, `run`, `demo`, `simulate`.
    pub tool: String,
    /// A one-line title.
    pub title: String,
    /// The command that repeats it.
    pub command: String,
    /// The text of the plan or job file, as run; empty if there was none.
    pub text: String,
    /// The program's version.
    pub version: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// When it started, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Whether time was virtual.
    pub simulated: bool,
    /// How it ended.
    pub state: State,
}

impl Identity {
    /// The unit of operation rates; for order entry operations are transactions.
    pub fn rate_unit(&self) -> &'static str {
        Origin { transactions: self.has_transactions(), ..Origin::default() }.rate_unit()
    }

    /// Whether its operations are transactions of a database.
    pub fn has_transactions(&self) -> bool {
        self.tool == "oltp"
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It goes on, or the program was killed; everything stored was measured.
    Running,
    /// It completed.
    #[default]
    Ended,
    /// It ended early, by hand or by a failure.
    CutShort,
}

/// A place that was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunPlace {
    /// `file`, `device`, `nbd`, `null`, `volume`, `folder`.
    pub kind: String,
    /// Its path, address or name.
    pub name: String,
    /// Its size in bytes.
    pub size: Option<u64>,
}

/// What made load: a job, a workload, a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunActor {
    /// Its name.
    pub name: String,
    /// The host it ran on or stood for; empty if there is only one.
    pub host: String,
    /// The group in which it is reported.
    pub group: Option<u32>,
    /// Index of the place that it loaded.
    pub place: Option<u32>,
}

/// A section of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Its name.
    pub name: String,
    /// What it shows, one line.
    pub about: String,
    /// Name of the experiment's arm, if arms take turns; otherwise empty.
    pub arm: String,
    /// Administrators' commands at its start, as run.
    pub commands: Vec<String>,
    /// The same commands as written in the plan.
    pub commands_published: Vec<String>,
    /// Its start.
    pub start: Span,
    /// Its end.
    pub end: Span,
    /// Time in which a server's thread was ready but did not run; `None` without a server.
    pub stalled: Option<Span>,
}

/// A setting of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Index of the point it applies to; `None` for all.
    pub point: Option<u32>,
    /// Index of the actor it applies to; `None` for all.
    pub actor: Option<u32>,
    /// Its name with its unit: `block_bytes`, `depth`, `rate_iops`, `read_percent`.
    pub key: String,
    /// Its value.
    pub value: Value,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A figure, in the unit of the setting's name.
    Number(f64),
    /// A word.
    Word(String),
}

/// Results of a class of an actor in a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Index of the point.
    pub point: u32,
    /// Index of the actor.
    pub actor: u32,
    /// The class.
    pub class: Class,
    /// Measured time.
    pub measured: Span,
    /// Successful requests.
    pub ops: u64,
    /// Their bytes; `None` for a class that transfers none.
    pub bytes: Option<u64>,
    /// Failed requests.
    pub failed: Option<u64>,
    /// Requests that transferred less than asked.
    pub short: Option<u64>,
    /// Requests of an open loop made late; these four are `None` without a schedule.
    pub late: Option<u64>,
    /// The longest time between due and made.
    pub late_max: Option<Span>,
    /// Requests that were due while the cap was reached.
    pub held: Option<u64>,
    /// Requests that were due by the end and not made.
    pub never_sent: Option<u64>,
    /// Latencies of requests by kind, without empty histograms.
    pub latencies: Vec<(Kind, Histogram)>,
}

impl Cell {
    /// An empty cell.
    pub fn new(point: u32, actor: u32, class: Class, measured: Span) -> Cell {
        Cell {
            point,
            actor,
            class,
            measured,
            ops: 0,
            bytes: None,
            failed: None,
            short: None,
            late: None,
            late_max: None,
            held: None,
            never_sent: None,
            latencies: Vec::new(),
        }
    }

    /// Adds a histogram of that kind, unless it is empty.
    #[must_use]
    pub fn with(mut self, kind: Kind, histogram: &Histogram) -> Cell {
        if histogram.count() > 0 {
            self.latencies.push((kind, histogram.clone()));
        }
        self
    }

    /// Adds the merged histograms of its parts, for each kind that all of them have.
    #[must_use]
    pub fn summed(self, parts: &[Cell]) -> Cell {
        let parts: Vec<&Cell> = parts.iter().filter(|part| part.class.is_part() && part.ops > 0).collect();
        Kind::ALL.into_iter().fold(self, |whole, kind| {
            let mut sum = Histogram::new();
            let known = parts.iter().all(|part| part.latency(kind).map(|times| sum.merge(times)).is_some());
            if known { whole.with(kind, &sum) } else { whole }
        })
    }

    /// The histogram of that kind.
    pub fn latency(&self, kind: Kind) -> Option<&Histogram> {
        self.latencies.iter().find(|(of, _)| *of == kind).map(|(_, histogram)| histogram)
    }
}

/// Results of a class of an actor over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Index of the actor.
    pub actor: u32,
    /// The class.
    pub class: Class,
    /// Slices in order of time.
    pub slices: Vec<Slice>,
    /// Response times by minute, in order of time; empty if no histograms of minutes were kept.
    pub minutes: Vec<Minute>,
}

/// Results of about a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its start.
    pub start: Span,
    /// Its length.
    pub length: Span,
    /// Successful requests.
    pub ops: u64,
    /// Its bytes.
    pub bytes: Option<u64>,
    /// Failed requests.
    pub failed: Option<u64>,
    /// Response times, from due to end.
    pub response: Option<Times>,
    /// Service times, from hand-over to end; device times if a server reports them.
    pub service: Option<Times>,
    /// Requests outstanding at its end.
    pub outstanding: Option<u32>,
}

/// Statistics of a QoS gate for an actor over time.
#[derive(Clone, Debug, PartialEq)]
pub struct GateSeries {
    /// Index of the actor.
    pub actor: u32,
    /// Rows in order of time.
    pub rows: Vec<GateRow>,
}

/// About a second at a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateRow {
    /// Its start.
    pub start: Span,
    /// Its length.
    pub length: Span,
    /// Mean waiting times of a request.
    pub waits: Waits,
    /// What held the actor back.
    pub held_by: HeldBy,
    /// Owner of the limit that held it back: an index in [`Run::objects`].
    pub held_at: Option<u32>,
    /// State of the floor that covers it.
    pub floor: FloorOutcome,
    /// Hits and misses of its reads in the server's cache.
    pub cached: Hits,
}

/// Hits and misses of a cache, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Pages that were found.
    pub found: u64,
    /// Pages that were not found.
    pub missed: u64,
}

impl Hits {
    /// Hit ratio; `None` if no pages were requested.
    pub fn share(self) -> Option<f64> {
        let asked = self.found + self.missed;
        (asked > 0).then(|| self.found as f64 / asked as f64)
    }
}

impl std::ops::AddAssign for Hits {
    fn add_assign(&mut self, more: Hits) {
        self.found += more.found;
        self.missed += more.missed;
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Index of the point.
    pub point: Option<u32>,
    /// Index of the actor.
    pub actor: Option<u32>,
    /// Its time.
    pub at: Span,
    /// What, in a word: `failure`, `connections_lost`, `mismatch`.
    pub kind: String,
    /// Its text.
    pub name: String,
    /// Its figure.
    pub number: Option<f64>,
}

impl Event {
    /// The kind that says that its point was not measured to its end, and why.
    pub const INCOMPLETE: &str = "incomplete";
    /// The kind that names the process that writes a run, as long as that goes on.
    pub const PROCESS: &str = "process";
}

impl Point {
    /// Its length.
    pub fn length(&self) -> Span {
        self.end.saturating_sub(self.start)
    }
}

impl Run {
    /// Why a point was not measured to its end; `None` if it was, or the tool does not say so.
    pub fn incomplete(&self, point: u32) -> Option<&str> {
        let of_point = |event: &&Event| event.point == Some(point) && event.kind == Event::INCOMPLETE;
        self.events.iter().find(of_point).map(|event| event.name.as_str())
    }

    /// Marks it as one that goes on, written by `process`.
    pub fn goes_on(&mut self, process: String) {
        self.identity.state = State::Running;
        let (kind, name) = (Event::PROCESS.into(), process);
        self.events.push(Event { point: None, actor: None, at: Span::ZERO, kind, name, number: None });
    }

    /// The process that writes it, if it has not ended.
    pub fn process(&self) -> Option<&str> {
        self.events.iter().find(|event| event.kind == Event::PROCESS).map(|event| event.name.as_str())
    }

    /// Whether the operations of an actor are transactions of a database. RanRead's are requests
    /// for its pages.
    pub fn has_transactions(&self, actor: u32) -> bool {
        let place = self.actors.get(actor as usize).and_then(|actor| self.places.get(actor.place? as usize));
        self.identity.has_transactions()
            || (self.identity.tool != "ranread" && place.is_some_and(|place| place.kind == "database"))
    }

    /// The unit of the operation rates of an actor.
    pub fn rate_unit(&self, actor: u32) -> &'static str {
        Origin { transactions: self.has_transactions(actor), ..Origin::default() }.rate_unit()
    }

    /// The index of a place, which is added if it is new.
    pub fn place(&mut self, place: RunPlace) -> u32 {
        let same = |other: &RunPlace| (&other.kind, &other.name) == (&place.kind, &place.name);
        let number = self.places.iter().position(same).unwrap_or_else(|| {
            self.places.push(place);
            self.places.len() - 1
        });
        number as u32
    }

    /// Adds an actor at a place; returns its index.
    pub fn add_actor(&mut self, name: impl Into<String>, place: Option<u32>) -> u32 {
        self.actors.push(RunActor { name: name.into(), place, ..RunActor::default() });
        self.actors.len() as u32 - 1
    }

    /// The cell with these keys.
    pub fn cell(&self, point: u32, actor: u32, class: &Class) -> Option<&Cell> {
        self.cells.iter().find(|cell| (cell.point, cell.actor, &cell.class) == (point, actor, class))
    }

    /// The series with these keys.
    pub fn series(&self, actor: u32, class: &Class) -> Option<&Series> {
        self.series.iter().find(|series| (series.actor, &series.class) == (actor, class))
    }

    /// Adds a setting for all points.
    pub fn set(&mut self, actor: Option<u32>, key: &str, value: impl Into<Value>) {
        self.settings.push(Setting { point: None, actor, key: key.into(), value: value.into() });
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Value {
        Value::Word(word.into())
    }
}
