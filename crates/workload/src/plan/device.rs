//! The simulated device of a plan: its kind, and figures that differ from the kind's defaults.
//!
//! Each kind is a row of [`KINDS`], and each of its keys a row within. Thus the keys are data here;
//! the simulator knows their meaning and reads them by the same names.

mod changes;

use super::error::{PlanErrors, Problem};
use super::read::document;
use super::table::{Report, Table};
use block::{Bytes, Span};
use std::fmt;

/// A simulated device, or a stage of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// `parallel-servers`, `disk`, `flash`, `cloud-volume`, `host` or `array`; for a stage also
    /// `hba`, `link`, `controller`, `write-log`, `cache`, `credits`, `control-group` or `raid`.
    pub kind: &'static str,
    /// The name by which it was chosen, if it is one that comes with the program.
    pub name: Option<String>,
    /// Description for people, if there is one.
    pub about: Option<String>,
    /// Stages of an array, from the hosts to the media.
    pub stages: Vec<Device>,
    /// Sources of figures, by key.
    pub sources: Vec<(String, String)>,
    /// Figures that the plan gives, by key; all others have their kind's defaults.
    pub said: Vec<(&'static str, DeviceFigure)>,
    /// Changes of its capacity in order of time: the time after the start, and the percentage from
    /// then on.
    pub changes: Vec<(Span, u32)>,
    /// `file:line` of its table, by the key `kind`, and of each figure.
    pub places: Vec<(&'static str, String)>,
}

/// A figure of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceFigure {
    /// A plain number.
    Count(u64),
    /// A duration.
    Time(Span),
    /// A size.
    Size(Bytes),
    /// Bytes a second.
    Rate(Bytes),
    /// One of several words.
    Word(&'static str),
    /// Yes or no.
    Flag(bool),
}

/// How a key's value is read.
#[derive(Clone, Copy)]
enum Form {
    /// A number from 1 to this maximum.
    Count(u64),
    /// A number, which may be 0.
    CountOrNone,
    /// A duration above zero.
    Time,
    /// A duration, which may be zero.
    TimeOrNone,
    /// A size above zero.
    Size,
    /// Bytes a second, above zero.
    Rate,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
}

struct Key {
    name: &'static str,
    form: Form,
    /// The advice if it is missing; `None` if it is optional.
    needed: Option<&'static str>,
}

const fn key(name: &'static str, form: Form) -> Key {
    Key { name, form, needed: None }
}

const fn needed(name: &'static str, form: Form, advice: &'static str) -> Key {
    Key { name, form, needed: Some(advice) }
}

/// Maximum number of servers or channels of a simulated device, and of requests in its queue.
const PLACES_MAX: u64 = 65_536;
/// Maximum number of devices that are combined into one.
const MEMBERS_MAX: u64 = 256;
/// Maximum of a count that is a rate or a credit.
const RATE_MAX: u64 = 1 << 50;

/// Keys of everything that serves requests itself: latencies of flushes and trims.
const SERVES: [Key; 2] = [key("flush", Form::TimeOrNone), key("trim", Form::TimeOrNone)];
/// Keys of a whole device.
const WHOLE: [Key; 3] =
    [key("queue_limit", Form::Count(PLACES_MAX)), key("members", Form::Count(MEMBERS_MAX)), key("stripe", Form::Size)];
/// Kinds that serve no requests themselves but pass them on.
const HANDS_ON: [&str; 7] = ["array", "hba", "link", "write-log", "cache", "control-group", "raid"];

const KINDS: [(&str, &[Key]); 6] = [
    (
        "parallel-servers",
        &[
            needed("servers", Form::Count(PLACES_MAX), "say how many requests it serves at a time"),
            needed("service", Form::Time, "say how long each takes, such as 1ms"),
            key("size_unit", Form::Size),
        ],
    ),
    (
        "disk",
        &[
            key("seek_shortest", Form::TimeOrNone),
            key("seek_longest", Form::TimeOrNone),
            key("rotation", Form::Time),
            key("track", Form::Size),
            key("track_inner", Form::Size),
            key("window", Form::Count(PLACES_MAX)),
            key("patience", Form::Count(PLACES_MAX)),
        ],
    ),
    (
        "flash",
        &[
            key("channels", Form::Count(PLACES_MAX)),
            key("page", Form::Size),
            key("read", Form::Time),
            key("program", Form::Time),
            key("collect_every", Form::Size),
            key("collect_stall", Form::TimeOrNone),
            key("pause_every", Form::Time),
            key("pause_length", Form::Time),
        ],
    ),
    (
        "cloud-volume",
        &[
            key("iops", Form::Count(RATE_MAX)),
            key("iops_peak", Form::Count(RATE_MAX)),
            key("iops_credit", Form::CountOrNone),
            key("bytes", Form::Rate),
            key("bytes_peak", Form::Rate),
            key("bytes_credit", Form::Size),
            key("io_unit", Form::Size),
            key("latency", Form::TimeOrNone),
            key("jitter", Form::TimeOrNone),
        ],
    ),
    (
        "host",
        &[
            key("turn", Form::Time),
            key("request", Form::Time),
            key("size_unit", Form::Size),
            key("absent_every", Form::Time),
            key("absent_length", Form::TimeOrNone),
        ],
    ),
    ("array", &[]),
];

/// Stages that may precede the media in an array. Bandwidths are bytes a second.
const STAGES: [(&str, &[Key]); 8] = [
    (
        "link",
        &[
            key("bandwidth", Form::Rate),
            key("latency", Form::TimeOrNone),
            key("flow", Form::Rate),
            key("flows", Form::Count(PLACES_MAX)),
        ],
    ),
    (
        "controller",
        &[
            key("cores", Form::Count(PLACES_MAX)),
            key("read", Form::TimeOrNone),
            key("write", Form::TimeOrNone),
            key("size_unit", Form::Size),
            key("reads_first", Form::Flag),
        ],
    ),
    (
        "write-log",
        &[
            key("half", Form::Size),
            key("latency", Form::TimeOrNone),
            key("bandwidth", Form::Rate),
            key("every", Form::Time),
            key("depth", Form::Count(PLACES_MAX)),
            key("unit", Form::Size),
            key("anywhere", Form::Flag),
        ],
    ),
    (
        "cache",
        &[
            key("size", Form::Size),
            key("memory", Form::Size),
            key("page", Form::Size),
            key("latency", Form::TimeOrNone),
            key("second", Form::Size),
            key("second_latency", Form::TimeOrNone),
            key("warm", Form::Flag),
            key("policy", Form::Word(&["s3-fifo", "2q", "sieve", "lru"])),
        ],
    ),
    ("credits", KINDS[3].1),
    (
        "hba",
        &[
            key("hosts", Form::Count(PLACES_MAX)),
            key("luns", Form::Count(PLACES_MAX)),
            key("queue", Form::Count(PLACES_MAX)),
            key("adapter", Form::Count(PLACES_MAX)),
        ],
    ),
    (
        "control-group",
        &[key("reads", Form::Count(RATE_MAX)), key("writes", Form::Count(RATE_MAX)), key("slice", Form::Time)],
    ),
    (
        "raid",
        &[
            needed("level", Form::Word(&["0", "1", "10", "5", "6", "dp"]), "say which, such as \"5\""),
            needed("members", Form::Count(PLACES_MAX), "say how many, with parity and copies"),
            key("unit", Form::Size),
        ],
    ),
];

impl Device {
    /// Reads the table `[device]` of a file, which may be a plan or hold nothing else. `file` is
    /// its name in messages.
    ///
    /// # Errors
    /// Every mistake, one line each.
    pub fn read(text: &str, file: &str) -> Result<Device, PlanErrors> {
        let report = Report::new(text, file);
        let Some(document) = document(text, &report) else { return Err(report.into_errors()) };
        let root = Table::root(&report, document.get_ref());
        root.missing("device", "begin it with a line [device] and choose its kind");
        let device = root.table("device", "[device]").and_then(|table| read(&table));
        match device.filter(|_| report.is_clean()) {
            Some(device) => Ok(device),
            None => Err(report.into_errors()),
        }
    }

    /// The same array with a changed figure in its stages of this kind. The value is written as in
    /// a file but without quotes.
    ///
    /// # Errors
    /// There is no such stage, the stage has no such key, or the key does not take the value: one
    /// line.
    pub fn with(&self, kind: &str, key: &str, value: &str) -> Result<Device, String> {
        let has = |stages: &[Device]| stages.iter().map(|stage| stage.kind).collect::<Vec<_>>().join(", ");
        if !self.stages.iter().any(|stage| stage.kind == kind) {
            return Err(format!("{kind}.{key}: no such stage; there are {}", has(&self.stages)));
        }
        let mut changed = self.clone();
        for stage in changed.stages.iter_mut().filter(|stage| stage.kind == kind) {
            let rows = STAGES.iter().chain(&KINDS);
            let keys = rows.filter(|(known, _)| *known == kind).flat_map(|(_, keys)| *keys).chain(serves(kind));
            let Some(found) = keys.clone().find(|known| known.name == key) else {
                let known: Vec<&str> = keys.map(|known| known.name).collect();
                return Err(format!("{kind}.{key}: no such key; there are {}", known.join(", ")));
            };
            let bare = match found.form {
                Form::Word(_) => false,
                Form::Flag => true,
                _ => value.parse::<i64>().is_ok(),
            };
            let text = if bare { format!("{key} = {value}\n") } else { format!("{key} = {value:?}\n") };
            let report = Report::new(&text, "");
            let document = document(&text, &report);
            let figure =
                document.as_ref().and_then(|document| figure(&Table::root(&report, document.get_ref()), found));
            let Some(figure) = figure.filter(|_| report.is_clean()) else {
                let errors = report.into_errors().0.into_iter();
                return Err(errors.map(|error| format!("{kind}.{}", error.problem)).next().unwrap_or_default());
            };
            stage.said.retain(|(known, _)| *known != key);
            stage.said.push((found.name, figure));
        }
        Ok(changed)
    }

    /// The names of the kinds.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        KINDS.into_iter().map(|(kind, _)| kind)
    }

    /// The names of the kinds that a name alone makes: each of their figures has a usual one.
    pub fn usual_kinds() -> impl Iterator<Item = &'static str> {
        let is_usual = |keys: &[Key]| keys.iter().all(|key| key.needed.is_none());
        KINDS.into_iter().filter(move |(kind, keys)| *kind != "array" && is_usual(keys)).map(|(kind, _)| kind)
    }

    /// The figure of a key, if the plan gives one.
    pub fn figure(&self, key: &str) -> Option<DeviceFigure> {
        self.said.iter().find(|(name, _)| *name == key).map(|(_, figure)| *figure)
    }

    /// Its maximum rate in operations per second, if that follows by a division.
    pub fn iops(&self) -> Option<f64> {
        match (self.figure("servers")?, self.figure("service")?) {
            (DeviceFigure::Count(servers), DeviceFigure::Time(service)) => Some(servers as f64 / service.as_secs_f64()),
            _ => None,
        }
    }
}

/// Reads the plan's table `[device]`.
pub(super) fn read(table: &Table<'_>) -> Option<Device> {
    table.missing("kind", "choose one, such as parallel-servers");
    let (kind, keys) = table.choice("kind", &KINDS.map(|(kind, keys)| (kind, (kind, keys))))?;
    let is_array = kind == "array";
    let own = if is_array { &["changes", "about", "source", "stage"][..] } else { &["changes", "about", "source"] };
    let keys: Vec<&Key> = keys.iter().chain(serves(kind)).chain(&WHOLE).collect();
    let mut device = figures(table, kind, &keys, own);
    device.changes = changes::read(table);
    if is_array {
        table.missing("stage", "write each with a line [[device.stage]], from the hosts to the media");
        device.stages = stages(table);
    }
    Some(device)
}

/// The stages of an array; the last one is its media.
fn stages(array: &Table<'_>) -> Vec<Device> {
    let tables = if array.has("stage") { array.tables("stage", "[[device.stage]]") } else { Vec::new() };
    let mut stages = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        table.missing("kind", "choose one, such as controller");
        let is_last = index + 1 == tables.len();
        let kinds: Vec<_> = match is_last {
            true => KINDS.into_iter().filter(|(kind, _)| *kind != "array").collect(),
            false => STAGES.to_vec(),
        };
        let is_before_media = |given: &str| STAGES.iter().any(|(kind, _)| *kind == given);
        if is_last && table.has("kind") && table.text("kind").is_some_and(|given| is_before_media(given.value)) {
            let media = kinds.iter().map(|(kind, _)| *kind).collect::<Vec<_>>().join(", ");
            table.wrong("kind", "a medium in the last stage", format!("write a stage behind it with one of {media}"));
            continue;
        }
        let words: Vec<_> = kinds.into_iter().map(|(kind, keys)| (kind, (kind, keys))).collect();
        let Some((kind, keys)) = table.choice("kind", &words) else { continue };
        let keys: Vec<&Key> = keys.iter().chain(serves(kind)).collect();
        stages.push(figures(table, kind, &keys, &["about", "source"]));
    }
    stages
}

/// The keys of a kind that serves requests itself.
fn serves(kind: &str) -> &'static [Key] {
    if HANDS_ON.contains(&kind) { &[] } else { &SERVES }
}

/// The figures that a table gives for these keys; `own` are keys that are read elsewhere.
fn figures(table: &Table<'_>, kind: &'static str, keys: &[&'static Key], own: &[&str]) -> Device {
    let known = ["kind"].into_iter().chain(keys.iter().map(|key| key.name)).chain(own.iter().copied());
    table.only(&known.collect::<Vec<_>>());
    for key in keys {
        if let Some(advice) = key.needed {
            table.missing(key.name, advice);
        }
    }
    let said: Vec<_> = keys.iter().filter_map(|key| Some((key.name, figure(table, key)?))).collect();
    check_credit(table, &said);
    let about = if table.has("about") { table.text("about").map(|found| found.value.to_string()) } else { None };
    let given = said.iter().map(|(key, _)| *key);
    let places = ["kind"].into_iter().chain(given).map(|key| (key, table.place_of(key))).collect();
    Device { kind, about, said, sources: sources(table), places, ..Device::default() }
}

/// Reports a credit without a peak, or a peak without a credit: with an explicit base rate neither
/// has a default.
fn check_credit(table: &Table<'_>, said: &[(&'static str, DeviceFigure)]) {
    for [base, peak, credit] in [["iops", "iops_peak", "iops_credit"], ["bytes", "bytes_peak", "bytes_credit"]] {
        let has = |key: &str| said.iter().any(|(name, figure)| *name == key && *figure != DeviceFigure::Count(0));
        if !has(base) || has(peak) == has(credit) {
            continue;
        }
        let (key, other) = if has(peak) { (peak, credit) } else { (credit, peak) };
        let advice = "beside a rate of its own it needs both, a peak and the credit for it; say that, too";
        table.note(table.line_of(key), Problem::Alone { key: table.full(key), other, advice });
    }
}

/// The table `source`: where each figure comes from.
fn sources(table: &Table<'_>) -> Vec<(String, String)> {
    let source = if table.has("source") { table.table_within("source") } else { None };
    let Some(source) = source else { return Vec::new() };
    let entry = |key: &str| Some((key.to_string(), source.text(key)?.value.to_string()));
    let keys: Vec<&str> = source.keys().map(|found| found.value).collect();
    for key in &keys {
        if !table.has(key) {
            source.wrong(key, "of a figure that stands beside it", "name a key of the same table");
        }
    }
    keys.into_iter().filter_map(entry).collect()
}

fn figure(table: &Table<'_>, key: &Key) -> Option<DeviceFigure> {
    let name = key.name;
    let figure = match key.form {
        Form::Count(most) => DeviceFigure::Count(table.whole_of(name, 1, most)?),
        Form::CountOrNone => DeviceFigure::Count(table.whole_of(name, 0, RATE_MAX)?),
        Form::Time | Form::TimeOrNone => DeviceFigure::Time(table.duration(name)?),
        Form::Size => DeviceFigure::Size(table.size(name)?),
        Form::Rate => DeviceFigure::Rate(table.size(name)?),
        Form::Word(words) => {
            let words: Vec<_> = words.iter().map(|word| (*word, *word)).collect();
            DeviceFigure::Word(table.choice(name, &words)?)
        }
        Form::Flag => DeviceFigure::Flag(table.flag(name)?),
    };
    match (key.form, figure) {
        (Form::Count(most), DeviceFigure::Count(count)) if !(1..=most).contains(&count) => {
            table.wrong(name, format!("from 1 to {most}"), key.needed.unwrap_or("leave it out for what is usual"));
        }
        (Form::CountOrNone, DeviceFigure::Count(count)) if count > RATE_MAX => {
            table.wrong(name, format!("from 0 to {RATE_MAX}"), "leave it out for what is usual");
        }
        (Form::Time, DeviceFigure::Time(Span::ZERO)) => {
            table.wrong(name, "above zero", "a real device takes at least some microseconds");
        }
        (Form::Size, DeviceFigure::Size(Bytes(0))) | (Form::Rate, DeviceFigure::Rate(Bytes(0))) => {
            table.wrong(name, "above zero", "leave it out for what is usual");
        }
        _ => return Some(figure),
    }
    None
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}, ")?;
        }
        match (self.figure("servers"), self.figure("service"), self.iops()) {
            (Some(DeviceFigure::Count(servers)), Some(DeviceFigure::Time(service)), Some(iops)) => {
                write!(f, "{servers} parallel servers of {service} each, {iops:.0} IOPS")?;
            }
            _ => f.write_str(self.kind)?,
        }
        for (index, stage) in self.stages.iter().enumerate() {
            write!(f, "{}{}", if index == 0 { ": " } else { ", " }, stage.kind)?;
            if let (Some(level), Some(members)) = (stage.figure("level"), stage.figure("members")) {
                write!(f, " {level} of {members}")?;
            }
        }
        let rest = self.said.iter().filter(|(name, _)| !["servers", "service"].contains(name));
        for (index, (name, figure)) in rest.enumerate() {
            let name = name.replace('_', " ");
            write!(f, "{} {name} {figure}", if index == 0 { " with" } else { "," })?;
        }
        for (at, percent) in &self.changes {
            write!(f, "; {percent} % from {at} on")?;
        }
        Ok(())
    }
}

impl fmt::Display for DeviceFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceFigure::Count(count) => write!(f, "{count}"),
            DeviceFigure::Time(span) => write!(f, "{span}"),
            DeviceFigure::Size(size) => write!(f, "{size}"),
            DeviceFigure::Rate(rate) => write!(f, "{} MB/s", rate.0 as f64 / 1e6),
            DeviceFigure::Word(word) => f.write_str(word),
            DeviceFigure::Flag(flag) => write!(f, "{flag}"),
        }
    }
}
