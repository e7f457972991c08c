//! `/metrics` for Prometheus, in its text format (version 0.0.4) and by its conventions: base
//! units, counters that end in `_total`, a bounded number of series.
//!
//! Volumes and policy groups have series of their own; LUNs, files and clients have none. Of more
//! than [`LABELLED_MAX`] of a kind, those with the highest numbers (the newest) have none either,
//! and a gauge has their number. The pool's sums include everything.

mod memory;

use crate::caller::Role;
use crate::resource::View;
use admin::ServerSeen;
use block::{ObjectId, Span};
use history::Figures;
use qos::{Group, GroupId, Level, ObjectKind};
use std::fmt::Write as _;

/// The format's media type.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Most volumes, and most policy groups, with series of their own, of about 20 each.
const LABELLED_MAX: usize = 2000;

/// All metrics that the caller may see: an SVM's administrator sees that SVM's volumes and policy
/// groups.
pub(crate) fn text(view: &View<'_>) -> String {
    let Some(seen) = view.at.world.server() else { return String::new() };
    let mut page = Page::default();
    if !matches!(view.caller.role, Role::Svm(_)) {
        server(&mut page, view, &seen);
        pool(&mut page, view, &seen);
        memory::memory(&mut page, view);
    }
    volumes(&mut page, view, &seen);
    groups(&mut page, view, &seen);
    page.0
}

/// The text written so far.
#[derive(Default)]
struct Page(String);

/// A metric's kind.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
}

/// A series' labels.
type Labels<'a> = [(&'static str, &'a str)];

impl Page {
    /// Starts a metric; its series follow.
    fn metric(&mut self, name: &str, kind: Kind, help: &str) -> Metric<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let name = format!("seawall_{name}");
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Metric { page: self, name }
    }

    /// Writes a metric with one series.
    fn one(&mut self, name: &str, kind: Kind, help: &str, value: impl Sample) {
        self.metric(name, kind, help).put(&[], value);
    }
}

/// A metric whose series are being written.
struct Metric<'a> {
    page: &'a mut Page,
    name: String,
}

impl Metric<'_> {
    fn put(&mut self, labels: &Labels<'_>, value: impl Sample) {
        let text = &mut self.page.0;
        text.push_str(&self.name);
        for (index, (name, value)) in labels.iter().enumerate() {
            let _ = write!(text, "{}{name}=\"{}\"", if index == 0 { '{' } else { ',' }, escaped(value));
        }
        if !labels.is_empty() {
            text.push('}');
        }
        let _ = writeln!(text, " {}", value.text());
    }
}

/// A value in the text format.
trait Sample: Copy {
    fn text(&self) -> String;
}

impl Sample for u64 {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Sample for Span {
    fn text(&self) -> String {
        format!("{}", self.as_secs_f64())
    }
}

impl Sample for bool {
    fn text(&self) -> String {
        u8::from(*self).to_string()
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn server(page: &mut Page, view: &View<'_>, seen: &ServerSeen) {
    use Kind::{Counter, Gauge};
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    page.metric("build_info", Gauge, "The running version; always 1.").put(&version, 1);
    page.one("connections", Gauge, "Open NBD connections.", u64::from(seen.connections));
    page.one("client_memory_bytes", Gauge, "Memory claimed by clients, out of the limit `memory`.", seen.claimed.0);
    let help = "Processor time used by the data thread.";
    page.one("data_thread_cpu_seconds_total", Counter, help, seen.cpu);
    let help =
        "Time by which the data thread woke up later than it had asked to; limits may have lost throughput to it.";
    page.one("data_thread_stalled_seconds_total", Counter, help, seen.stalled);
    let help = "Time that the data thread spent awake, waiting for a client that sends one request at a time.";
    page.one("data_thread_awake_seconds_total", Counter, help, seen.awake);
    page.one("data_thread_turns_total", Counter, "Times that the data thread looked for work.", seen.turns);
    let help = "Times that a receive was delayed to take several requests at once.";
    page.one("data_thread_holds_total", Counter, help, seen.holds);
    let help = "Failed additions to the pool's hourly totals; each is tried again.";
    page.one("totals_failures_total", Counter, help, seen.totals_failed);
    let mut omitted = page.metric("series_omitted", Gauge, "Volumes and policy groups without series of their own.");
    let count = view.objects(ObjectKind::Volume).len();
    omitted.put(&[("kind", "volume")], count.saturating_sub(LABELLED_MAX) as u64);
    let count = view.registry().groups().filter(|group| group.members().len() > 0).count();
    omitted.put(&[("kind", "policy_group")], count.saturating_sub(LABELLED_MAX) as u64);
}

fn pool(page: &mut Page, view: &View<'_>, seen: &ServerSeen) {
    use Kind::Gauge;
    if let Some(space) = view.at.world.aggregate() {
        page.one("pool_size_bytes", Gauge, "Size of the pool.", space.size);
        page.one("pool_available_bytes", Gauge, "Free space of the pool.", space.available);
    }
    let help =
        "Whether a flush of the pool has failed since the server started: data that was not flushed may be lost.";
    page.one("pool_flush_failed", Gauge, help, seen.flush_failed);
    let gate = view.at.world.sample().gate;
    page.one("pool_queued_requests", Gauge, "Requests waiting in the gate.", gate.queued);
    page.one("pool_outstanding_requests", Gauge, "Requests that have passed the gate and not ended.", gate.in_flight);
    let help = "Sum of all floors, in operations per second.";
    page.one("pool_floors_operations_per_second", Gauge, help, gate.floors_iops);
    let help = "The most operations per second that the storage has completed over 2 s.";
    page.one("pool_best_operations_per_second", Gauge, help, gate.best_iops);
    let all = [(vec![], seen.all)];
    work(page, "pool", "the whole pool", &all);
}

fn volumes(page: &mut Page, view: &View<'_>, seen: &ServerSeen) {
    let volumes = view.objects(ObjectKind::Volume).into_iter().take(LABELLED_MAX);
    let volumes: Vec<ObjectId> = volumes.filter(|volume| view.sees(view.registry().svm_of(*volume))).collect();
    let labels = |volume: ObjectId| {
        let svm = view.registry().svm_of(volume).map(|svm| view.name_of(svm)).unwrap_or_default();
        vec![("svm", svm), ("volume", view.name_of(volume))]
    };
    let counted = |volume: &ObjectId| seen.counted.get(volume).copied().unwrap_or_default();
    let rows: Vec<_> = volumes.iter().map(|volume| (labels(*volume), counted(volume))).collect();
    work(page, "volume", "a volume and everything in it", &rows);
    let mut size = page.metric("volume_size_bytes", Kind::Gauge, "Size of the volume.");
    for volume in &volumes {
        size.put(&labels(*volume), view.size_of(*volume));
    }
    let level = |volume: ObjectId| {
        let in_force = view.registry().limits_in_force(volume)?;
        in_force.levels.into_iter().find(|level| level.object == volume)
    };
    let levels: Vec<(ObjectId, Level)> = volumes.iter().filter_map(|volume| Some((*volume, level(*volume)?))).collect();
    for (name, what, of) in LIMITS {
        let help =
            format!("The {what}, from the volume's own policy group; all members of a shared group have it together.");
        let mut metric = page.metric(&format!("volume_{name}_per_second"), Kind::Gauge, &help);
        for (volume, level) in &levels {
            if let Some(rate) = of(level) {
                metric.put(&labels(*volume), rate);
            }
        }
    }
}

/// A limit's label, the values it has, and how to read it.
type LimitRow = (&'static str, &'static str, fn(&Level) -> Option<u64>);

const LIMITS: [LimitRow; 4] = [
    ("ceiling_operations", "ceiling in operations per second", |level| level.limits.ceiling.iops.map(|rate| rate.0)),
    ("ceiling_bytes", "ceiling in bytes per second", |level| level.limits.ceiling.bytes.map(|rate| rate.0)),
    ("floor_operations", "floor in operations per second", |level| level.limits.floor.iops.map(|rate| rate.0)),
    ("floor_bytes", "floor in bytes per second", |level| level.limits.floor.bytes.map(|rate| rate.0)),
];

fn groups(page: &mut Page, view: &View<'_>, seen: &ServerSeen) {
    let used = view.registry().groups().filter(|group| group.members().len() > 0).take(LABELLED_MAX);
    let used = used.filter(|group| view.sees(group.svm()));
    let row = |group: &'_ Group| (group.id(), group.name().to_owned());
    let named: Vec<(GroupId, String)> = used.map(row).collect();
    let counted = |group: &GroupId| seen.by_group.get(&Some(*group)).copied().unwrap_or_default();
    let rows: Vec<_> =
        named.iter().map(|(group, name)| (vec![("policy_group", name.as_str())], counted(group))).collect();
    work(page, "policy_group", "objects whose nearest policy group this is", &rows);
}

/// A kind of work: the value of its label, and how to read its figure.
type Part = (&'static str, fn(&Figures) -> u64);

const OPERATIONS: [Part; 3] =
    [("read", |done| done.read_ops), ("write", |done| done.write_ops), ("other", |done| done.other_ops)];
const BYTES: [Part; 2] = [("read", |done| done.read_bytes), ("write", |done| done.write_bytes)];
const WAITS: [Part; 5] = [
    ("network", |done| done.network_us),
    ("qos_max", |done| done.qos_max_us),
    ("qos_min", |done| done.qos_min_us),
    ("store", |done| done.store_us),
    ("disk", |done| done.disk_us),
];

/// Writes the work counters, with names that begin with `prefix`.
fn work(page: &mut Page, prefix: &str, of: &str, rows: &[(Vec<(&'static str, &str)>, Figures)]) {
    let mut counter = |name: &str, help: &str, label: &'static str, parts: &[Part], in_us: bool| {
        let mut metric = page.metric(&format!("{prefix}_{name}_total"), Kind::Counter, &format!("{help}, for {of}."));
        for (labels, done) in rows {
            for (value, part) in parts {
                let labels: Vec<_> =
                    labels.iter().copied().chain((!label.is_empty()).then_some((label, *value))).collect();
                match in_us {
                    true => metric.put(&labels, Span::from_nanos(part(done).saturating_mul(1000))),
                    false => metric.put(&labels, part(done)),
                }
            }
        }
    };
    counter("operations", "Operations", "kind", &OPERATIONS, false);
    counter("bytes", "Bytes read and written", "kind", &BYTES, false);
    counter(
        "completed_requests",
        "Requests that ended, including failed ones",
        "",
        &[("", |done| done.completed)],
        false,
    );
    counter("failed_requests", "Requests that ended with an error", "", &[("", |done| done.faults)], false);
    counter("request_seconds", "Time taken by requests that ended, by where they spent it", "part", &WAITS, true);
    let missed = |done: &Figures| done.missed_ms.saturating_mul(1000);
    counter("floor_missed_seconds", "Time in which a floor was missed", "", &[("", missed)], true);
    counter(
        "floor_missed_operations",
        "Operations by which floors were missed",
        "",
        &[("", |done| done.missed_ops)],
        false,
    );
    counter("floor_missed_bytes", "Bytes by which floors were missed", "", &[("", |done| done.missed_bytes)], false);
}
