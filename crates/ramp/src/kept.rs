//! A ramp as a kept run: each of its runs is a point, the database is its only actor, and reads,
//! writes, the write image journal and the transaction journal are classes. As in the published
//! tables, journals are not part of the total.

use crate::{BLOCK, RampRow, RunOutcome};
use block::{Fault, OpKind, Span};
use stats::run::{Cell, Class, Event, Point, Run, RunActor, RunPlace, Setting, State, Taped, Value};
use stats::{CycleRecord, Outcome, Verdict};

/// The database is the only actor.
const ACTOR: u32 = 0;

/// A ramp of the host `system` before its first run, without its identity. `place` is the loaded
/// place.
pub fn begun(system: &str, place: &str) -> Run {
    let mut kept = Run::default();
    let place = kept.place(RunPlace { kind: "folder".into(), name: place.into(), size: None });
    let name = "ramp".to_owned();
    kept.actors.push(RunActor { name, host: system.into(), group: None, place: Some(place) });
    kept.set(Some(ACTOR), "block_bytes", BLOCK as f64);
    kept
}

/// The point of a run with this target in blocks per second.
pub fn point(target: u64) -> Point {
    Point {
        name: format!("{target} IOPS"),
        about: format!("reads and write cycles of {target} IOPS in all"),
        ..Point::default()
    }
}

/// Adds the outcome of `actor` in a run to `kept`, as the whole of the last point or as its part of
/// it.
pub fn add(kept: &mut Run, actor: u32, run: &RunOutcome) {
    let point = (kept.points.len() as u32).saturating_sub(1);
    let Some(last) = kept.points.last_mut() else { return };
    let start = last.start;
    last.end = last.end.max(start + run.elapsed);
    let value = Value::Number(run.target as f64);
    kept.settings.push(Setting { point: Some(point), actor: Some(actor), key: "target_iops".into(), value });
    kept.add_tape(&run.tape, Taped { point, actor, start, measured: run.elapsed });
    kept.cycles.extend(run.cycles.iter().map(|cycle| {
        let crate::Cycle { due, start, sleep, wij, write, cycle, blocks, .. } = *cycle;
        (actor, CycleRecord { phase: point, due, start, sleep, wij, write, cycle, blocks })
    }));
    kept.events.extend(run.failure.as_ref().map(|failure| Event {
        point: Some(point),
        actor: Some(actor),
        at: start + failure.at,
        kind: "failure".into(),
        name: format!("{}: {}", kind(failure.kind), failure.why.as_deref().unwrap_or(fault(failure.fault))),
        number: None,
    }));
    kept.add_losses(point, actor, start + run.elapsed, &run.losses);
    let name = kept.actors.get(actor as usize).map_or(String::new(), |actor| actor.name.clone());
    kept.note_of(&name, &run.losses.lines());
}

/// The rows of a summary as a run. It has counts, rates and verdicts, but no seconds, histograms or
/// cycles, so times are settings of its points instead of latencies.
pub fn imported(rows: &[RampRow]) -> Run {
    let mut kept = Run::default();
    let (system, comment) = rows.first().map_or(("", ""), |row| (&*row.system, &*row.comment));
    kept.identity.tool = "ramp".into();
    kept.identity.title = [system, comment].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    kept.identity.state = State::Ended;
    kept.actors.push(RunActor { name: "ramp".into(), host: system.into(), group: None, place: None });
    kept.set(Some(ACTOR), "block_bytes", BLOCK as f64);
    kept.notes.push(
        "of a summary.csv: it has no seconds, histograms and cycles; writes are its rate times its length".into(),
    );
    let mut start = Span::ZERO;
    for (point, row) in (0..).zip(rows) {
        let end = start + row.elapsed;
        let name = format!("{} IOPS", row.target);
        kept.points.push(Point { name, about: row.comment.clone(), start, end, ..Point::default() });
        start = end;
        let writes = (row.write_iops * row.elapsed.as_secs_f64()).round() as u64;
        let cell = |class, ops: u64| Cell {
            ops,
            bytes: Some(ops.saturating_mul(BLOCK)),
            ..Cell::new(point, ACTOR, class, row.elapsed)
        };
        let never_sent = Some(row.reads_missed);
        kept.cells.push(Cell { never_sent, ..cell(Class::ALL, row.reads.saturating_add(writes)) });
        kept.cells.extend([cell(Class::READ, row.reads), cell(Class::WRITE, writes)]);
        kept.settings.extend(figures(row).into_iter().filter_map(|(key, figure)| {
            let value = Value::Number(figure?);
            Some(Setting { point: Some(point), actor: Some(ACTOR), key: key.into(), value })
        }));
        let outcome = match row.verdict.as_str() {
            "pass" => Some(Outcome::Pass),
            "fail" => Some(Outcome::Fail),
            "cannot say" => Some(Outcome::CannotSay),
            _ => None,
        };
        kept.verdicts.extend(outcome.map(|outcome| Verdict {
            question: format!("run {}: {} IOPS", row.run, row.target),
            outcome,
            because: "as its summary.csv says".into(),
            measured: None,
        }));
    }
    if rows.iter().any(|row| !row.comparable) {
        kept.notes.push("not comparable with published figures, as its summary.csv says".into());
    }
    kept
}

/// The figures of a row that are not counts.
fn figures(row: &RampRow) -> [(&'static str, Option<f64>); 16] {
    let ms = |span: Span| Some(span.as_millis_f64());
    let read = |latency: Span| row.of_reads(latency).map(Span::as_millis_f64);
    [
        ("target_iops", Some(row.target as f64)),
        ("longest_wij_ms", ms(row.longest_wij)),
        ("longest_cycle_ms", ms(row.longest_cycle)),
        ("cycle_p90_ms", ms(row.cycle_p90)),
        ("effective_write_ms", row.effective_write_ms),
        ("read_mean_ms", read(row.read_mean)),
        ("read_p99_ms", read(row.read_p99)),
        ("read_p999_ms", read(row.read_p999)),
        ("read_p9999_ms", read(row.read_p9999)),
        ("read_service_mean_ms", read(row.read_service)),
        ("write_mean_ms", ms(row.write_mean)),
        ("cycles", Some(row.cycles as f64)),
        ("cycles_missed", Some(row.cycles_missed as f64)),
        ("overruns", Some(row.overruns as f64)),
        ("journal_mb_s", row.journal_mb_s),
        ("journal_sync_p99_ms", row.journal_sync_p99.map(Span::as_millis_f64)),
    ]
}

fn kind(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        _ => "flush",
    }
}

fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Invalid => "invalid request",
        Fault::ReadOnly => "read-only",
        Fault::Denied => "permission denied",
        Fault::NoSpace => "no space left",
        Fault::Io => "I/O error",
        Fault::Unsupported => "not supported",
        Fault::NoMemory => "no memory",
        Fault::Gone => "target went away",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Failure;
    use block::ObjectId;
    use stats::job::Losses;
    use stats::run::Kind;
    use stats::{Direction, Punctuality, Tape, TapeSlice};

    /// The failure that ended a run is kept in words.
    #[test]
    fn a_failure_is_kept_in_words() {
        let failure =
            Failure { kind: OpKind::Write, object: ObjectId(0), fault: Fault::NoSpace, why: None, at: Span::SECOND };
        let run = RunOutcome { failure: Some(failure), ..RunOutcome::default() };
        let mut kept = begun("host", "/data");
        kept.points.push(point(100));
        add(&mut kept, ACTOR, &run);
        assert_eq!(kept.events[0].name, "write: no space left");
    }

    /// A run is kept as its tape recorded it: reads never made do not count as late, and journals
    /// are not in the total.
    #[test]
    fn a_run_is_kept_as_it_was_recorded() {
        let mut tape = Tape::default();
        let journal = tape.add(Class::JOURNAL);
        let reads = &mut tape[Direction::Read];
        (reads.ops, reads.bytes) = (50, 50 * BLOCK);
        reads.response.record_many(Span::from_micros(200), 50);
        let sum = Span::from_millis(10);
        let slice =
            TapeSlice { end: Span::SECOND, length: Span::SECOND, ops: 50, response_sum: sum, ..TapeSlice::default() };
        reads.slices = vec![slice];
        (tape[journal].ops, tape[journal].bytes) = (2, 33 * BLOCK);
        tape.punctuality = Punctuality { scheduled: true, never_sent: 7, ..Punctuality::default() };
        let losses = Losses { lost: 2, regained: 2, ..Losses::default() };
        let run = RunOutcome { target: 100, elapsed: Span::SECOND, tape, losses, ..RunOutcome::default() };
        let mut kept = begun("host", "/data");
        for start in [Span::ZERO, run.elapsed] {
            kept.points.push(Point { start, ..point(run.target) });
            add(&mut kept, ACTOR, &run);
        }
        let all = kept.cell(1, 0, &Class::ALL).unwrap();
        assert_eq!((all.ops, all.never_sent, all.late), (50, Some(7), Some(0)));
        assert_eq!(all.latency(Kind::Response).unwrap().count(), 50);
        assert_eq!(kept.cell(1, 0, &Class::JOURNAL).unwrap().bytes, Some(33 * BLOCK));
        let slices = &kept.series(0, &Class::READ).unwrap().slices;
        assert_eq!(slices.iter().map(|slice| slice.start).collect::<Vec<_>>(), [Span::ZERO, Span::SECOND]);
        let times = slices[0].response.unwrap();
        assert_eq!((times.count, times.mean, times.spread, times.max), (50, Span::from_micros(200), None, None));
        let lost: Vec<_> = kept.events.iter().map(|event| (event.point, event.kind.as_str(), event.number)).collect();
        assert_eq!(lost, [0, 1].map(|point| (Some(point), "connections_lost", Some(2.0))));
        assert!(kept.notes[0].starts_with("ramp: connections lost: 2, made again: 2"), "{:?}", kept.notes);
        // Nothing was written, so there is no series of writes.
        assert_eq!(kept.series(0, &Class::WRITE), None);
    }
}
