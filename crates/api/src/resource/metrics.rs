//! `…/metrics` of volumes, LUNs, qtrees and workloads: what each did over time; and the fields
//! `metric` and `statistics`.
//!
//! Latencies are those of all requests: they are not recorded by kind, so there is no
//! `latency.read`. The parts of the total are in additional fields, which ONTAP does not have.

use super::{Resource, View};
use crate::problem::{Problem, code};
use crate::query::Query;
use crate::record::{Field, Kind, key, known};
use admin::{Done, Stretch};
use block::{ObjectId, Span, date, moment};
use history::{Figures, Latency, Point};
use ontap::value::Interval;
use serde_json::{Value, json};

/// The interval of the field `metric`, in seconds.
const METRIC: u64 = 15;

/// What one object did, interval by interval.
pub(crate) struct Metrics {
    /// The collection's path.
    pub path: String,
    pub object: ObjectId,
    /// Its intervals, oldest first.
    stretches: Vec<Stretched>,
}

/// One interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretched {
    done: Done,
    width: u64,
}

const FIELDS: &[Field<Stretched>] = &[
    key("timestamp", |_, one: Stretched| Some(timestamp(one.done.date).into())).of(Kind::Moment),
    known("duration", |_, one: Stretched| Some(duration(one.width).into())),
    known("status", |_, _: Stretched| Some("ok".into())),
    known("iops", |_, one: Stretched| Some(iops(&one.done.point))).of(Kind::ReadWrite),
    known("throughput", |_, one: Stretched| Some(throughput(&one.done.point))).of(Kind::ReadWrite),
    known("latency", |_, one: Stretched| Some(latency(one.done.point.figures.latency()))).of(Kind::Latency),
];

impl Metrics {
    /// Reads what the object did over a period.
    ///
    /// # Errors
    /// The pool's hourly totals cannot be read; the log says why.
    pub fn read(view: &View<'_>, path: String, object: ObjectId, interval: Interval) -> Result<Metrics, Problem> {
        let (since, width) = interval.seconds();
        let done = view.administration.history(object, Stretch { since, width }, view.at).map_err(|error| {
            tracing::error!(error, path, "metrics cannot be read");
            let message = "the metrics that the pool keeps cannot be read; the server's log says why, and `1d` and less \
                           are in memory";
            Problem::new(500, code::INTERNAL, message)
        })?;
        Ok(Metrics { path, object, stretches: done.into_iter().map(|done| Stretched { done, width }).collect() })
    }

    /// An empty collection at a path, for the OpenAPI document.
    pub fn empty(path: String) -> Metrics {
        Metrics { path, object: ObjectId::default(), stretches: Vec::new() }
    }

    /// The interval that a query asks for.
    ///
    /// # Errors
    /// There is no such interval.
    pub fn interval(query: &mut Query) -> Result<Interval, Problem> {
        let read = query.take_own("interval").map(str::parse).transpose();
        let interval =
            read.map_err(|error| Problem::bad(code::INVALID_VALUE, "interval", format!("interval: {error}")))?;
        Ok(interval.unwrap_or_default())
    }
}

impl Resource for Metrics {
    type Item = Stretched;

    const NAME: &'static str = "metric";
    const CHANGES: &'static [&'static str] = &[];

    fn path(&self) -> String {
        self.path.clone()
    }

    fn fields(&self) -> &'static [Field<Stretched>] {
        FIELDS
    }

    fn items(&self, _: &View<'_>) -> Vec<Stretched> {
        self.stretches.clone()
    }

    fn find(&self, _: &View<'_>, key: &str) -> Option<Stretched> {
        let seconds = moment(key.trim_end_matches('Z'))?;
        self.stretches.iter().copied().find(|one| one.done.date == seconds)
    }

    fn key(&self, _: &View<'_>, item: Stretched) -> String {
        timestamp(item.done.date)
    }

    fn svm(&self, view: &View<'_>, _: Stretched) -> Option<ObjectId> {
        view.registry().svm_of(self.object)
    }
}

impl View<'_> {
    /// What an object did in the last 15 s, as rates.
    pub fn metric(&self, object: ObjectId) -> Option<Value> {
        let all_as_one = Stretch { since: METRIC, width: u32::MAX.into() };
        let done = self.administration.history(object, all_as_one, self.at).ok()?.pop()?;
        Some(json!({
            "timestamp": timestamp(done.date),
            "duration": duration(METRIC),
            "status": "ok",
            "iops": iops(&done.point),
            "throughput": throughput(&done.point),
            "latency": latency(done.point.figures.latency()),
        }))
    }

    /// What an object did since the server started, as counters.
    pub fn statistics(&self, object: ObjectId) -> Option<Value> {
        let figures = self.at.world.counted(object);
        let all = Figures { completed: 1, ..figures };
        Some(json!({
            "timestamp": timestamp(self.at.date()),
            "status": "ok",
            "iops_raw": per_kind(figures.read_ops, figures.write_ops, figures.other_ops),
            "throughput_raw": per_kind(figures.read_bytes, figures.write_bytes, 0),
            "latency_raw": latency(all.latency()),
        }))
    }
}

fn iops(point: &Point) -> Value {
    let Figures { read_ops, write_ops, other_ops, .. } = point.figures;
    rates(point, read_ops, write_ops, other_ops)
}

fn throughput(point: &Point) -> Value {
    let Figures { read_bytes, write_bytes, .. } = point.figures;
    rates(point, read_bytes, write_bytes, 0)
}

/// The total is rounded on its own, so it may differ from the sum of the parts by one.
fn rates(point: &Point, read: u64, write: u64, other: u64) -> Value {
    let mut rates = per_kind(point.rate(read), point.rate(write), point.rate(other));
    rates["total"] = point.rate(read.saturating_add(write).saturating_add(other)).into();
    rates
}

fn per_kind(read: u64, write: u64, other: u64) -> Value {
    let total = read.saturating_add(write).saturating_add(other);
    json!({ "read": read, "write": write, "other": other, "total": total })
}

/// In microseconds.
fn latency(of: Latency) -> Value {
    let us = |span: Span| span.as_nanos() / 1000;
    json!({
        "total": us(of.total()),
        "network": us(of.network),
        "qos_max": us(of.qos_max),
        "qos_min": us(of.qos_min),
        "store": us(of.store),
        "disk": us(of.disk),
    })
}

fn timestamp(seconds: u64) -> String {
    date(seconds, "%Y-%m-%dT%H:%M:%SZ")
}

/// `PT15S`, `PT4M`, `PT2H`, `P1D`
fn duration(seconds: u64) -> String {
    match seconds {
        seconds if seconds % 86_400 == 0 => format!("P{}D", seconds / 86_400),
        seconds if seconds % 3600 == 0 => format!("PT{}H", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("PT{}M", seconds / 60),
        seconds => format!("PT{seconds}S"),
    }
}
