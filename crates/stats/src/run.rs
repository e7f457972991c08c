//! What any run was, whichever tool made it: the one root that is kept, queried, compared and
//! shown.
//!
//! ```text
//!   Run ─┬─ Place    what was loaded          Point ── a stretch: a plan's phase, a ramp's run, a stage of a job file
//!        ├─ Actor    who loaded it            Class ── a kind of work: read, write, trim, flush, journal …
//!        ├─ Cell     point × actor × class:   counts, punctuality, histograms by kind
//!        ├─ Series   actor × class:           a slice of about a second after the other
//!        ├─ GateSeries  actor:                where its requests waited, what held it back
//!   Host ┴─ DeviceSeries                     what the machine and the devices under the places did meanwhile
//! ```
//! Two rules make figures of all tools comparable. What is not known is `None`, never zero. And
//! every cell and series of the class [`Class::ALL`] is the whole of its actor; the other classes
//! are parts of it, so that nothing is counted twice, except flushes and journals, which are told
//! beside it: they are what the work costs, and nobody's tables count them.
//!
//! Times are spans from the start of the first point on.

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
mod together;

pub use class::{Class, Kind};
pub use compare::{Difference, alone, differences, obstacles};
pub use host::{CpuTimes, DeviceRow, DeviceSeries, HostRecord, HostRow, MemoryUse, Moved, Pressure, Stall};
pub use minute::{Coarse, Minute};
pub use partition::PartitionRecord;
pub use second::{Second, Served};
pub use tapes::Taped;

use crate::{
    CycleRecord, FloorFared, HeldBy, Histogram, Machine, ObjectRecord, Origin, Scale, Summary, Verdict, Waits,
};
use block::Span;

/// One whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Where it came from.
    pub identity: Identity,
    /// The machine that put the load on.
    pub machine: Machine,
    /// What the user said of it: pairs of key and word.
    pub labels: Vec<(String, String)>,
    /// How published figures became this machine's, where a plan was scaled.
    pub scale: Option<Scale>,
    /// What was loaded.
    pub places: Vec<RunPlace>,
    /// Who loaded it.
    pub actors: Vec<RunActor>,
    /// The stretches, in order of time.
    pub points: Vec<Point>,
    /// What was asked for, in figures and words.
    pub settings: Vec<Setting>,
    /// What each class of each actor did in each point.
    pub cells: Vec<Cell>,
    /// The same over time.
    pub series: Vec<Series>,
    /// What a QoS gate said of each actor over time.
    pub gates: Vec<GateSeries>,
    /// What the host did meanwhile; nothing in virtual time.
    pub host: HostRecord,
    /// What happened at one moment.
    pub events: Vec<Event>,
    /// Write cycles, each with its actor's number.
    pub cycles: Vec<(u32, CycleRecord)>,
    /// What a server saw of its objects.
    pub objects: Vec<ObjectRecord>,
    /// What the partitions of its cache did in each point.
    pub partitions: Vec<PartitionRecord>,
    /// Whether it was what was asked for.
    pub verdicts: Vec<Verdict>,
    /// What the reader must know. One line each.
    pub notes: Vec<String>,
}

/// Where a run came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The command that made it: `fio`, `ramp`, `ranread`, `orion`, `run`, `demo`, `simulate`.
    pub tool: String,
    /// A line about it.
    pub title: String,
    /// The command that repeats it.
    pub command: String,
    /// The plan or job file, whole, as run; empty where there was none.
    pub text: String,
    /// The program's version.
    pub version: String,
    /// The seed of all chance.
    pub seed: u64,
    /// When it started, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Whether time was virtual.
    pub simulated: bool,
    /// How it ended.
    pub state: State,
}

impl Identity {
    /// What a second's count of operations is called: those of order entry are transactions.
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
    /// It did not yet, or the program was killed: what is there was measured.
    Running,
    /// As it should.
    #[default]
    Ended,
    /// Before its end: stopped by hand, or by a failure.
    CutShort,
}

/// What was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunPlace {
    /// `file`, `device`, `nbd`, `null`, `volume`, `folder`.
    pub kind: String,
    /// Its path, address or name.
    pub name: String,
    /// Its size in bytes.
    pub size: Option<u64>,
}

/// Who loaded: a job, a workload, a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunActor {
    /// Its name.
    pub name: String,
    /// The host it ran on or stood for; empty where there is but one.
    pub host: String,
    /// The group it is reported with.
    pub group: Option<u32>,
    /// What it loaded: a place's number.
    pub place: Option<u32>,
}

/// A stretch of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Its name.
    pub name: String,
    /// What it shows, one line.
    pub about: String,
    /// Which arm of the experiment it belongs to, where arms take turns; empty otherwise.
    pub arm: String,
    /// Administrators' lines that were run at its start, as run.
    pub commands: Vec<String>,
    /// The same lines as the plan has them.
    pub commands_published: Vec<String>,
    /// Its start.
    pub start: Span,
    /// Its end.
    pub end: Span,
    /// Time in which a server's thread was kept from the processor; `None` where there was no
    /// server to tell.
    pub stalled: Option<Span>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// In which point; `None` in all.
    pub point: Option<u32>,
    /// Of which actor; `None` of all.
    pub actor: Option<u32>,
    /// Its name with its unit: `block_bytes`, `depth`, `rate_iops`, `read_percent`.
    pub key: String,
    /// What it was.
    pub value: Value,
}

/// What a setting was.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A figure, in the unit of the setting's name.
    Number(f64),
    /// A word.
    Word(String),
}

/// What a class of an actor did in a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The point's number.
    pub point: u32,
    /// The actor's number.
    pub actor: u32,
    /// The class.
    pub class: Class,
    /// For how long it was measured.
    pub measured: Span,
    /// What ended well.
    pub ops: u64,
    /// Its bytes; `None` for what moves none.
    pub bytes: Option<u64>,
    /// What failed.
    pub failed: Option<u64>,
    /// What moved less than asked.
    pub short: Option<u64>,
    /// Made late by the schedule of an open loop; these four are `None` where there was no
    /// schedule.
    pub late: Option<u64>,
    /// The longest time between due and made.
    pub late_max: Option<Span>,
    /// Due while as many as allowed were in flight.
    pub held: Option<u64>,
    /// Due by the end and not made by then.
    pub never_sent: Option<u64>,
    /// How long requests took, by kind; none that is empty.
    pub latencies: Vec<(Kind, Histogram)>,
}

impl Cell {
    /// An empty one.
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

    /// With a histogram of that kind, unless it is empty.
    #[must_use]
    pub fn with(mut self, kind: Kind, histogram: &Histogram) -> Cell {
        if histogram.count() > 0 {
            self.latencies.push((kind, histogram.clone()));
        }
        self
    }

    /// With the sums of what its parts took, for each kind that all of them know.
    #[must_use]
    pub fn summed(self, parts: &[Cell]) -> Cell {
        let parts: Vec<&Cell> = parts.iter().filter(|part| part.class.is_part() && part.ops > 0).collect();
        Kind::ALL.into_iter().fold(self, |whole, kind| {
            let mut sum = Histogram::new();
            let known = parts.iter().all(|part| part.latency(kind).map(|times| sum.merge(times)).is_some());
            if known { whole.with(kind, &sum) } else { whole }
        })
    }

    /// Its histogram of that kind.
    pub fn latency(&self, kind: Kind) -> Option<&Histogram> {
        self.latencies.iter().find(|(of, _)| *of == kind).map(|(_, histogram)| histogram)
    }
}

/// What a class of an actor did over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The actor's number.
    pub actor: u32,
    /// The class.
    pub class: Class,
    /// In order of time.
    pub slices: Vec<Slice>,
    /// Their minutes, in order of time; none where nobody kept histograms of them.
    pub minutes: Vec<Minute>,
}

/// About a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Its start.
    pub start: Span,
    /// Its length.
    pub length: Span,
    /// What ended well in it.
    pub ops: u64,
    /// Its bytes.
    pub bytes: Option<u64>,
    /// What failed.
    pub failed: Option<u64>,
    /// From due to end.
    pub response: Option<Times>,
    /// From hand-over to end, or in the device where a server tells it.
    pub service: Option<Times>,
    /// Requests outstanding at its end.
    pub outstanding: Option<u32>,
}

/// How long the requests of a slice took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How many there were; above zero.
    pub count: u64,
    /// Their mean.
    pub mean: Span,
    /// Percentiles and the longest, where a histogram was kept for so short a time.
    pub spread: Option<Spread>,
    /// The longest.
    pub max: Option<Span>,
}

/// The percentiles of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// The median.
    pub p50: Span,
    /// 99 % are at most this.
    pub p99: Span,
    /// 99.9 % are at most this.
    pub p999: Span,
}

impl Times {
    /// Of a summary; `None` of an empty one. One with a mean and no longest never had percentiles.
    pub fn of(summary: &Summary) -> Option<Times> {
        let Summary { count, mean, p50, p99, p999, max } = *summary;
        let known = [p50, p99, p999, max] != [Span::ZERO; 4] || mean == Span::ZERO;
        let spread = known.then_some(Spread { p50, p99, p999 });
        (count > 0).then(|| Times { count, mean, spread, max: known.then_some(max) }.rounded())
    }

    /// With mean and longest to four digits, within half a thousandth: a second is no surer than
    /// that, and the noise of further digits is most of what a long run takes to keep.
    #[must_use]
    pub fn rounded(self) -> Times {
        Times { mean: to_four_digits(self.mean), max: self.max.map(to_four_digits), ..self }
    }

    /// Of a sum over `count` requests; `None` of none.
    pub fn of_sum(count: u64, sum: Span, max: Option<Span>) -> Option<Times> {
        (count > 0).then(|| Times { count, mean: sum / count, spread: None, max }.rounded())
    }

    /// The median, where percentiles are known.
    pub fn p50(&self) -> Option<Span> {
        self.spread.map(|spread| spread.p50)
    }

    /// What 99 % are at most, where percentiles are known.
    pub fn p99(&self) -> Option<Span> {
        self.spread.map(|spread| spread.p99)
    }

    /// What 99.9 % are at most, where percentiles are known.
    pub fn p999(&self) -> Option<Span> {
        self.spread.map(|spread| spread.p999)
    }
}

/// What a QoS gate said of an actor over time.
#[derive(Clone, Debug, PartialEq)]
pub struct GateSeries {
    /// The actor's number.
    pub actor: u32,
    /// In order of time.
    pub rows: Vec<GateRow>,
}

/// About a second at a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateRow {
    /// Its start.
    pub start: Span,
    /// Its length.
    pub length: Span,
    /// Where a request waited, on average.
    pub waits: Waits,
    /// What held the actor back.
    pub held_by: HeldBy,
    /// Whose ceiling or budget that was: a number among [`Run::objects`].
    pub held_at: Option<u32>,
    /// How its floor fared.
    pub floor: FloorFared,
    /// What its reads asked of the server's cache.
    pub cached: Hits,
}

/// Pages that reads asked for of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Those that were there.
    pub found: u64,
    /// Those that were not.
    pub missed: u64,
}

impl Hits {
    /// The part that was there; `None` where none was asked for.
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

/// Something that happened at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// In which point.
    pub point: Option<u32>,
    /// To which actor.
    pub actor: Option<u32>,
    /// When.
    pub at: Span,
    /// What, in a word: `failure`, `connections_lost`, `mismatch`.
    pub kind: String,
    /// The words that go with it.
    pub name: String,
    /// The figure that goes with it.
    pub number: Option<f64>,
}

impl Point {
    /// How long it was.
    pub fn length(&self) -> Span {
        self.end.saturating_sub(self.start)
    }
}

impl Run {
    /// The number of the place of this kind and name, a new one if it was not there.
    pub fn place(&mut self, place: RunPlace) -> u32 {
        let same = |other: &RunPlace| (&other.kind, &other.name) == (&place.kind, &place.name);
        let number = self.places.iter().position(same).unwrap_or_else(|| {
            self.places.push(place);
            self.places.len() - 1
        });
        number as u32
    }

    /// Adds an actor of that name at a place; its number.
    pub fn add_actor(&mut self, name: impl Into<String>, place: Option<u32>) -> u32 {
        self.actors.push(RunActor { name: name.into(), place, ..RunActor::default() });
        self.actors.len() as u32 - 1
    }

    /// The cell of that class.
    pub fn cell(&self, point: u32, actor: u32, class: &Class) -> Option<&Cell> {
        self.cells.iter().find(|cell| (cell.point, cell.actor, &cell.class) == (point, actor, class))
    }

    /// The series of that class.
    pub fn series(&self, actor: u32, class: &Class) -> Option<&Series> {
        self.series.iter().find(|series| (series.actor, &series.class) == (actor, class))
    }

    /// Adds a setting of all points.
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

/// Within half a thousandth.
fn to_four_digits(span: Span) -> Span {
    let ns = span.as_nanos();
    let last = 10u64.pow(ns.checked_ilog10().unwrap_or(0).saturating_sub(3));
    Span::from_nanos(ns.saturating_add(last / 2) / last * last)
}
