//! A run of many workloads over a long time, as busy storage gives it.

use block::Span;
use stats::run::{Actor, Class, GateRow, GateSeries, Point, Run, Series, Slice, Spread, Times};
use stats::{FloorFared, HeldBy, Histogram, Waits};

/// A source of chance that is the same everywhere (Knuth's MMIX constants).
struct Chance(u64);

impl Chance {
    /// From 0 to below `most`.
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Times as a busy disk has them: percentiles are middles of buckets, the mean and the longest are any nanosecond.
fn times(chance: &mut Chance, count: u64, ns: u64) -> Option<Times> {
    let mut around = |ns: u64| Span::from_nanos(ns - ns / 10 + chance.below(ns / 5));
    let middle = |span: Span| Histogram::middle(Histogram::bucket(span));
    let spread = Spread { p50: middle(around(ns)), p99: middle(around(ns * 4)), p999: middle(around(ns * 9)) };
    Some(Times { count, mean: around(ns * 11 / 10), spread: Some(spread), max: Some(around(ns * 14)) })
}

/// So many workloads with a row for each second: the whole with its times, reads and writes with their counts, and the gate.
pub fn run(workloads: u32, seconds: u64) -> Run {
    let mut chance = Chance(1);
    let point = Point { name: "all".into(), end: Span::from_secs(seconds), ..Point::default() };
    let mut run = Run { points: vec![point], ..Run::default() };
    for actor in 0..workloads {
        run.actors.push(Actor { name: format!("w{actor}"), ..Actor::default() });
        let mut series =
            [Class::ALL, Class::READ, Class::WRITE].map(|class| Series { actor, class, slices: Vec::new() });
        let mut rows = Vec::new();
        for second in 0..seconds {
            let (reads, writes) = (2_000 + chance.below(400), 700 + chance.below(200));
            let length = Span::from_nanos(1_000_000_000 + chance.below(60_000));
            let start = Span::from_nanos(second * 1_000_030_000);
            let counted = |ops: u64| Slice { start, length, ops, bytes: Some(ops * 8192), ..Slice::default() };
            let ops = reads + writes;
            let all = Slice {
                failed: Some(0),
                response: times(&mut chance, ops, 400_000),
                service: times(&mut chance, ops, 300_000),
                outstanding: Some(24 + chance.below(16) as u32),
                ..counted(ops)
            };
            for (series, slice) in series.iter_mut().zip([all, counted(reads), counted(writes)]) {
                series.slices.push(slice);
            }
            let mut wait = |ns: u64| Span::from_nanos(chance.below(ns));
            let waits = Waits { ceiling: wait(90_000), floors: wait(9_000), turn: wait(9_000), device: wait(300_000) };
            let (held_by, floor) = (HeldBy::Disk, FloorFared::Met);
            rows.push(GateRow { start, length, waits, held_by, held_at: None, floor });
        }
        run.series.extend(series);
        run.gates.push(GateSeries { actor, rows });
    }
    run
}
