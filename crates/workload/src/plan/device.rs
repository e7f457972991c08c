//! What stands in for the disk when a plan is simulated: a kind of device, and what is different from its usual figures.
//!
//! Each kind is a row of [`KINDS`], each of its keys a row within: what can be said of a device is data, and the
//! simulator, which knows what it means, takes it by the same names.

use super::error::PlanErrors;
use super::read::document;
use super::table::{Report, Table};
use block::{Bytes, Span};
use std::fmt;

/// A simulated device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// `parallel-servers`, `disk`, `flash`, `cloud-volume` or `host`.
    pub kind: &'static str,
    /// What the plan says of it, by key; the rest is as usual for its kind.
    pub said: Vec<(&'static str, Figure)>,
    /// How its capacity changes, in the order of time: from when on after the start, and to how many percent.
    pub changes: Vec<(Span, u32)>,
}

/// A figure of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// A plain number.
    Count(u64),
    /// A duration.
    Time(Span),
    /// A size.
    Size(Bytes),
}

/// How a key's value is read.
#[derive(Clone, Copy)]
enum Form {
    /// A number from 1 to the bound.
    Count(u64),
    /// A number from 0 on.
    CountOrNone,
    /// A duration above zero.
    Time,
    /// A duration.
    TimeOrNone,
    /// A size above zero.
    Size,
}

struct Key {
    name: &'static str,
    form: Form,
    /// What to say where it is missing and needed.
    needed: Option<&'static str>,
}

const fn key(name: &'static str, form: Form) -> Key {
    Key { name, form, needed: None }
}

const fn needed(name: &'static str, form: Form, advice: &'static str) -> Key {
    Key { name, form, needed: Some(advice) }
}

/// Most servers or channels of a simulated device, and most requests in its queue.
const PLACES_MAX: u64 = 65_536;
/// Most devices that are one together.
const MEMBERS_MAX: u64 = 256;
/// Most of a count that is a rate or a credit.
const RATE_MAX: u64 = 1 << 50;

/// What a device of any kind has, beside what its kind has.
const EVERY: [Key; 5] = [
    key("flush", Form::TimeOrNone),
    key("trim", Form::TimeOrNone),
    key("queue_limit", Form::Count(PLACES_MAX)),
    key("members", Form::Count(MEMBERS_MAX)),
    key("stripe", Form::Size),
];

const KINDS: [(&str, &[Key]); 5] = [
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
            key("bytes", Form::Size),
            key("bytes_peak", Form::Size),
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
];

impl Device {
    /// Reads the table `[device]` of a file, whatever else stands in it: a plan has one, and a file may hold nothing else.
    /// `file` is its name in messages.
    ///
    /// # Errors
    /// Every mistake, a line each.
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

    /// The names of the kinds.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        KINDS.into_iter().map(|(kind, _)| kind)
    }

    /// The figure under a key, if the plan says it.
    pub fn figure(&self, key: &str) -> Option<Figure> {
        self.said.iter().find(|(name, _)| *name == key).map(|(_, figure)| *figure)
    }

    /// The most it can do, in operations per second, where that is a matter of a division.
    pub fn iops(&self) -> Option<f64> {
        match (self.figure("servers")?, self.figure("service")?) {
            (Figure::Count(servers), Figure::Time(service)) => Some(servers as f64 / service.as_secs_f64()),
            _ => None,
        }
    }
}

/// The device of the plan's table `[device]`.
pub(super) fn read(table: &Table<'_>) -> Option<Device> {
    table.missing("kind", "choose one, such as parallel-servers");
    let words = KINDS.map(|(kind, keys)| (kind, (kind, keys)));
    let (kind, keys) = table.choice("kind", &words)?;
    let keys = || keys.iter().chain(&EVERY);
    let names: Vec<&str> = ["kind"].into_iter().chain(keys().map(|key| key.name)).chain(["changes"]).collect();
    table.only(&names);
    for key in keys() {
        if let Some(advice) = key.needed {
            table.missing(key.name, advice);
        }
    }
    let said = keys().filter_map(|key| Some((key.name, figure(table, key)?))).collect();
    Some(Device { kind, said, changes: changes(table) })
}

fn figure(table: &Table<'_>, key: &Key) -> Option<Figure> {
    let name = key.name;
    let figure = match key.form {
        Form::Count(_) | Form::CountOrNone => Figure::Count(table.whole(name)?),
        Form::Time | Form::TimeOrNone => Figure::Time(table.duration(name)?),
        Form::Size => Figure::Size(table.size(name)?),
    };
    match (key.form, figure) {
        (Form::Count(most), Figure::Count(count)) if !(1..=most).contains(&count) => {
            table.wrong(name, format!("from 1 to {most}"), key.needed.unwrap_or("leave it out for what is usual"));
        }
        (Form::CountOrNone, Figure::Count(count)) if count > RATE_MAX => {
            table.wrong(name, format!("from 0 to {RATE_MAX}"), "leave it out for what is usual");
        }
        (Form::Time, Figure::Time(Span::ZERO)) => {
            table.wrong(name, "above zero", "a real device takes at least some microseconds");
        }
        (Form::Size, Figure::Size(Bytes(0))) => table.wrong(name, "above zero", "leave it out for what is usual"),
        _ => return Some(figure),
    }
    None
}

/// Changes of the capacity, in the order of time, the last of them above zero.
fn changes(table: &Table<'_>) -> Vec<(Span, u32)> {
    const ADVICE: &str = "such as [{ at = \"10s\", percent = 50 }, { at = \"20s\", percent = 100 }]";
    if !table.has("changes") {
        return Vec::new();
    }
    let mut changes: Vec<(Span, u32)> = Vec::new();
    for change in table.tables("changes", "changes") {
        change.only(&["at", "percent"]);
        change.missing("at", "say after how long, such as 10s");
        change.missing("percent", "say how much of its capacity it has from then on");
        let (Some(at), Some(percent)) = (change.duration("at"), change.count("percent")) else { continue };
        if changes.last().is_some_and(|(before, _)| *before > at) {
            change.wrong("at", "no earlier than the change before it", "put them in the order of time");
        }
        if percent > 1000 {
            change.wrong("percent", "from 0 to 1000", "100 is its full capacity");
        }
        changes.push((at, percent));
    }
    if changes.last().is_some_and(|(_, percent)| *percent == 0) {
        table.wrong("changes", "a list whose last change is above 0 percent, or it stands still for ever", ADVICE);
    }
    changes
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.figure("servers"), self.figure("service"), self.iops()) {
            (Some(Figure::Count(servers)), Some(Figure::Time(service)), Some(iops)) => {
                write!(f, "{servers} parallel servers of {service} each, {iops:.0} IOPS")?;
            }
            _ => f.write_str(self.kind)?,
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

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Count(count) => write!(f, "{count}"),
            Figure::Time(span) => write!(f, "{span}"),
            Figure::Size(size) => write!(f, "{size}"),
        }
    }
}
