//! A run of many workloads over a long time on busy storage.

use block::Span;
use stats::run::{
    Cell, Class, Coarse, GateRow, GateSeries, Kind, Minute, Point, Run, RunActor, Series, Slice, Spread, Times,
};
use stats::{FloorOutcome, HeldBy, Histogram, Waits};

/// A portable random source (Knuth's MMIX constants).
struct Chance(u64);

impl Chance {
    /// A number from 0 to below `most`.
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Times of a busy disk: percentiles are middles of buckets, mean and maximum any number of
/// nanoseconds.
fn times(chance: &mut Chance, count: u64, ns: u64) -> Option<Times> {
    let mut around = |ns: u64| Span::from_nanos(ns - ns / 10 + chance.below(ns / 5));
    let middle = |span: Span| Histogram::middle(Histogram::bucket(span));
    let spread = Spread { p50: middle(around(ns)), p99: middle(around(ns * 4)), p999: middle(around(ns * 9)) };
    Some(Times { count, mean: around(ns * 11 / 10), spread: Some(spread), max: Some(around(ns * 14)) }.rounded())
}

/// A histogram of times of a busy disk: from 50 µs to 25 ms, most of them 400 µs.
fn histogram(chance: &mut Chance, count: u64) -> Histogram {
    let mut all = Histogram::new();
    for step in 0..300u64 {
        let ns = 50e3 * 500f64.powf(step as f64 / 300.0);
        let part = (-((ns / 400e3).ln() / 0.7).powi(2) / 2.0).exp() / 85.0;
        let expected = (count as f64 * part) as u64;
        all.record_many(Span::from_nanos(ns as u64), expected - expected / 10 + chance.below(expected / 5 + 2));
    }
    all
}

fn minute(chance: &mut Chance, count: u64) -> Coarse {
    let mut coarse = Coarse::default();
    coarse.add(&histogram(chance, count));
    coarse
}

/// A run of `workloads` equal workloads, without any seconds.
pub fn begun(workloads: u32, seconds: u64) -> Run {
    let point = Point { name: "all".into(), end: Span::from_secs(seconds), ..Point::default() };
    let actor = |actor| RunActor { name: format!("w{actor}"), ..RunActor::default() };
    let mut run = Run { points: vec![point], actors: (0..workloads).map(actor).collect(), ..Run::default() };
    let mut chance = Chance(1);
    for actor in 0..workloads {
        for class in [Class::ALL, Class::READ, Class::WRITE] {
            let times = histogram(&mut chance, 1500 * seconds);
            let cell = Cell { ops: times.count(), ..Cell::new(0, actor, class, Span::from_secs(seconds)) };
            run.cells.push(cell.with(Kind::Response, &times).with(Kind::Service, &times));
        }
    }
    run
}

/// Adds a row for each second of a workload: the whole, reads and writes with their times, and the
/// gate. A second begins where the one before it ended.
pub fn add(run: &mut Run, actor: u32, seconds: u64) {
    let mut chance = Chance(u64::from(actor) + 1);
    let mut series = [Class::ALL, Class::READ, Class::WRITE].map(|class| Series {
        actor,
        class,
        slices: Vec::new(),
        minutes: Vec::new(),
    });
    let (mut rows, mut start) = (Vec::new(), Span::ZERO);
    for second in 0..seconds {
        let (reads, writes) = (2_000 + chance.below(400), 700 + chance.below(200));
        let length = Span::from_micros(999_970 + chance.below(60));
        let slice = |chance: &mut Chance, ops: u64, ns: u64| Slice {
            start,
            length,
            ops,
            bytes: Some(ops * 8192),
            failed: Some(0),
            response: times(chance, ops, ns * 4 / 3),
            service: times(chance, ops, ns),
            outstanding: None,
        };
        let [read, write] = [slice(&mut chance, reads, 300_000), slice(&mut chance, writes, 200_000)];
        let mut all = slice(&mut chance, reads + writes, 275_000);
        all.outstanding = Some(24 + chance.below(16) as u32);
        for (series, slice) in series.iter_mut().zip([all, read, write]) {
            if second % 60 == 0 {
                series.minutes.push(Minute { start, response: minute(&mut chance, slice.ops * 60) });
            }
            series.slices.push(slice);
        }
        let mut wait = |ns: u64| Span::from_nanos(chance.below(ns) / 10 * 10);
        let waits = Waits { ceiling: wait(90_000), floors: wait(9_000), turn: wait(9_000), device: wait(300_000) };
        let (held_by, floor) = (HeldBy::Disk, FloorOutcome::Met);
        rows.push(GateRow { start, length, waits, held_by, floor, ..GateRow::default() });
        start += length;
    }
    run.series.extend(series);
    run.gates.push(GateSeries { actor, rows });
}
