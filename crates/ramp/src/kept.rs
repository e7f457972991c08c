//! A ramp as any run is kept: each of its runs is a point, the database its one actor, and reads, writes, the write image
//! journal and the transaction journal are classes of its work. As in the published tables, journals are no part of the
//! whole.

use crate::{BLOCK, RunOutcome};
use block::{OpKind, Span};
use stats::CycleRecord;
use stats::run::{Actor, Cell, Class, Event, Kind, Place, Point, Run, Series, Setting, Slice, Times, Value};

/// The database is the only actor.
const ACTOR: u32 = 0;

/// What the runs so far of the host `system` are, without where they come from. `place` is what was loaded.
pub fn kept(system: &str, place: &str, runs: &[RunOutcome]) -> Run {
    let mut kept = Run::default();
    let place = kept.place(Place { kind: "folder".into(), name: place.into(), size: None });
    let name = "ramp".to_owned();
    kept.actors.push(Actor { name, host: system.into(), group: None, place: Some(place) });
    kept.set(Some(ACTOR), "block_bytes", BLOCK as f64);
    let classes = [Class::READ, Class::WRITE, Class::JOURNAL];
    let mut series = classes.map(|class| Series { actor: ACTOR, class, slices: Vec::new() });
    let mut start = Span::ZERO;
    for (number, run) in runs.iter().enumerate() {
        let point = number as u32;
        kept.points.push(Point {
            name: format!("{} IOPS", run.target),
            about: format!("reads and write cycles of {} IOPS in all", run.target),
            start,
            end: start + run.elapsed,
            ..Point::default()
        });
        let value = Value::Number(run.target as f64);
        kept.settings.push(Setting { point: Some(point), actor: Some(ACTOR), key: "target_iops".into(), value });
        kept.cells.extend(cells(point, run));
        for series in &mut series {
            let class = series.class.clone();
            series.slices.extend(slices(run, start, &class));
        }
        kept.cycles.extend(run.cycles.iter().map(|cycle| {
            let crate::Cycle { due, start, sleep, wij, write, cycle, blocks, .. } = *cycle;
            (ACTOR, CycleRecord { phase: point, due, start, sleep, wij, write, cycle, blocks })
        }));
        kept.events.extend(run.failure.map(|failure| Event {
            point: Some(point),
            actor: Some(ACTOR),
            at: start + failure.at,
            kind: "failure".into(),
            name: format!("{}: {:?}", kind(failure.kind), failure.fault),
            number: None,
        }));
        start += run.elapsed;
    }
    kept.series.extend(series.into_iter().filter(|series| series.slices.iter().any(|slice| slice.ops > 0)));
    kept
}

fn kind(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        _ => "flush",
    }
}

/// The whole, its reads, and what it wrote. Reads that were never made are no late ones.
fn cells(point: u32, run: &RunOutcome) -> Vec<Cell> {
    let cell =
        |class, ops: u64, bytes: u64| Cell { ops, bytes: Some(bytes), ..Cell::new(point, ACTOR, class, run.elapsed) };
    let late = run.lateness.count() - run.lateness.count_below(LATE_AFTER);
    let punctual = |cell: Cell| Cell {
        late: Some(late),
        late_max: Some(run.lateness.max()),
        never_sent: Some(run.reads_missed),
        ..cell
    };
    let reads = punctual(cell(Class::READ, run.reads, run.reads * BLOCK))
        .with(Kind::Response, &run.response)
        .with(Kind::Service, &run.service)
        .with(Kind::Lateness, &run.lateness);
    let all = punctual(cell(Class::ALL, run.reads + run.blocks, (run.reads + run.blocks) * BLOCK));
    let writes = cell(Class::WRITE, run.blocks, run.blocks * BLOCK).with(Kind::Response, &run.write);
    let journal: u64 = run.seconds.iter().map(|second| second.wij_bytes).sum();
    let parts = [reads, writes];
    let all = all.summed(&parts);
    let [reads, writes] = parts;
    let mut cells = vec![all, reads, writes, cell(Class::JOURNAL, journal / BLOCK, journal)];
    if let Some(stream) = &run.stream {
        let log = cell(Class::LOG, stream.writes.count(), stream.bytes).with(Kind::Response, &stream.writes);
        let syncs = Cell { bytes: None, ..cell(Class::FLUSH, stream.syncs.count(), 0) };
        cells.extend([log, syncs.with(Kind::Response, &stream.syncs)]);
    }
    cells
}

/// What counts as late of a read: the generator's own error is below it.
const LATE_AFTER: Span = Span::from_millis(1);

/// The seconds of a class; of reads the mean response time is known, and no percentile.
fn slices(run: &RunOutcome, start: Span, class: &Class) -> Vec<Slice> {
    let slice = |(number, second): (usize, &crate::machine::Second)| {
        let (ops, response) = if *class == Class::READ {
            (second.reads, Times::of_sum(second.reads, second.response, None))
        } else if *class == Class::WRITE {
            (second.writes, None)
        } else {
            (second.wij_bytes / BLOCK, None)
        };
        Slice {
            start: start + Span::SECOND * number as u64,
            length: Span::SECOND,
            ops,
            bytes: Some(ops * BLOCK),
            response,
            ..Slice::default()
        }
    };
    run.seconds.iter().enumerate().map(slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Second;

    #[test]
    fn reads_never_made_are_not_late_and_seconds_know_no_percentile() {
        let mut run =
            RunOutcome { target: 100, reads: 50, reads_missed: 7, elapsed: Span::SECOND, ..RunOutcome::default() };
        (0..50).for_each(|_| run.response.record(Span::from_micros(200)));
        (0..50).for_each(|_| run.lateness.record(Span::from_micros(20)));
        run.seconds = vec![Second { reads: 50, response: Span::from_millis(10), ..Second::default() }];
        let kept = kept("host", "/data", &[run]);
        let reads = kept.cell(0, 0, &Class::READ).unwrap();
        assert_eq!((reads.never_sent, reads.late, reads.held), (Some(7), Some(0), None));
        let times = kept.series(0, &Class::READ).unwrap().slices[0].response.unwrap();
        assert_eq!((times.count, times.mean, times.spread, times.max), (50, Span::from_micros(200), None, None));
        // Nothing was written, so nothing is said of writes over time.
        assert_eq!(kept.series(0, &Class::WRITE), None);
    }
}
