//! A ramp as any run is kept: each of its runs is a point, the database its one actor, and reads, writes, the write image
//! journal and the transaction journal are classes of its work. As in the published tables, journals are no part of the
//! whole.

use crate::{BLOCK, RunOutcome};
use block::{OpKind, Span};
use stats::CycleRecord;
use stats::run::{Actor, Event, Place, Point, Run, Setting, Taped, Value};

/// The database is the only actor.
const ACTOR: u32 = 0;

/// What the runs so far of the host `system` are, without where they come from. `place` is what was loaded.
pub fn kept(system: &str, place: &str, runs: &[RunOutcome]) -> Run {
    let mut kept = Run::default();
    let place = kept.place(Place { kind: "folder".into(), name: place.into(), size: None });
    let name = "ramp".to_owned();
    kept.actors.push(Actor { name, host: system.into(), group: None, place: Some(place) });
    kept.set(Some(ACTOR), "block_bytes", BLOCK as f64);
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
        kept.add_tape(&run.tape, Taped { point, actor: ACTOR, start, measured: run.elapsed });
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
    kept
}

fn kind(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        _ => "flush",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::run::{Class, Kind};
    use stats::{Direction, Punctuality, Tape, TapeSlice};

    /// What a run's tape knows is what is kept: reads never made are not late, and journals are beside the whole.
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
        let run = RunOutcome { target: 100, elapsed: Span::SECOND, tape, ..RunOutcome::default() };
        let kept = kept("host", "/data", &[run.clone(), run]);
        let all = kept.cell(1, 0, &Class::ALL).unwrap();
        assert_eq!((all.ops, all.never_sent, all.late), (50, Some(7), Some(0)));
        assert_eq!(all.latency(Kind::Response).unwrap().count(), 50);
        assert_eq!(kept.cell(1, 0, &Class::JOURNAL).unwrap().bytes, Some(33 * BLOCK));
        let slices = &kept.series(0, &Class::READ).unwrap().slices;
        assert_eq!(slices.iter().map(|slice| slice.start).collect::<Vec<_>>(), [Span::ZERO, Span::SECOND]);
        let times = slices[0].response.unwrap();
        assert_eq!((times.count, times.mean, times.spread, times.max), (50, Span::from_micros(200), None, None));
        // Nothing was written, so nothing is said of writes over time.
        assert_eq!(kept.series(0, &Class::WRITE), None);
    }
}
