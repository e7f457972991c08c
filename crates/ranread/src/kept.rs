//! Batches as a kept run, and back: a batch is a point of the run, and a process is an actor that
//! all batches share.

use crate::batch::Batch;
use crate::grammar::{Effort, Load};
use crate::row::{ProcessRow, ProcessState};
use block::Span;
use stats::Histogram;
use stats::job::JobOutcome;
use stats::run::{Cell, Class, Kind, Point, Run, RunPlace, Setting, Value};
use std::collections::BTreeMap;

/// Names of settings that are read back.
const PROCESSES: &str = "processes";
const STATE: &str = "batch";
const ITERATIONS: &str = "iterations";
const RUNTIME: &str = "runtime_s";
const READ_PERCENT: &str = "read_percent";
const BLOCKS: [&str; 2] = ["read_block_bytes", "write_block_bytes"];
/// Prefix of the settings that are lines of the specification sheet.
const SHEET: &str = "sheet ";

/// A completed or partial batch.
pub struct Taken {
    /// When it began, from the start of the run.
    pub start: Span,
    /// How it ended.
    pub state: ProcessState,
    /// The outcomes of its processes, in order.
    pub outcomes: Vec<JobOutcome>,
}

/// A run without batches: the settings of its processes, the places that they take turns at, and
/// the specification sheet. The caller sets its identity.
pub fn begun(load: &Load, places: Vec<RunPlace>, sheet: &[(String, String)]) -> Run {
    let mut run = Run { places, ..Run::default() };
    let mix = match load.read_percent {
        100 => "read",
        0 => "write",
        _ => "readwrite",
    };
    run.set(None, "mix", mix);
    run.set(None, READ_PERCENT, f64::from(load.read_percent));
    run.set(None, "order", "random");
    for (key, used) in BLOCKS.into_iter().zip([load.read_percent > 0, load.read_percent < 100]) {
        if used {
            run.set(None, key, f64::from(load.block));
        }
    }
    run.set(None, "depth", 1.0);
    match load.effort {
        Some(Effort::Iterations(iterations)) => run.set(None, ITERATIONS, iterations as f64),
        Some(Effort::Seconds(seconds)) => run.set(None, RUNTIME, seconds as f64),
        None => {}
    }
    run.set(None, "page_cache", if load.page_cache { "yes" } else { "no" });
    sheet.iter().for_each(|(name, words)| run.set(None, &format!("{SHEET}{name}"), words.as_str()));
    run
}

/// The point of the next batch, with this many processes.
pub fn point(run: &Run, processes: u32) -> Point {
    let load = report::text::count(processes as usize, "process", "processes");
    let about = format!("{load} at once, each at depth 1");
    let before = run.points.iter().filter(|point| point.about == about).count();
    let name = if before == 0 { load } else { format!("{load}, batch {}", before + 1) };
    Point { name, about, ..Point::default() }
}

/// Adds a batch to a run of [`begun()`], as its last point.
pub fn add(run: &mut Run, batch: Taken) {
    let Taken { start, state, outcomes } = batch;
    let (point, processes) = ((run.points.len() as u32).saturating_sub(1), outcomes.len());
    let Some(last) = run.points.last_mut() else { return };
    (last.start, last.end) = (start, start);
    let mut set = |key: &str, value| {
        run.settings.push(Setting { point: Some(point), actor: None, key: key.into(), value });
    };
    set(PROCESSES, Value::Number(processes as f64));
    set(STATE, Value::Word(state.key().into()));
    for (number, mut outcome) in outcomes.into_iter().enumerate() {
        if run.actors.len() == number {
            let place = number.checked_rem(run.places.len()).map(|place| place as u32);
            run.add_actor(&outcome.name, place);
        }
        outcome.start = start + outcome.start;
        let end = outcome.start + outcome.elapsed;
        run.points[point as usize].end = end.max(run.points[point as usize].end);
        run.add_outcome(point, number as u32, &outcome);
    }
}

/// The specification sheet of a run.
pub fn sheet(run: &Run) -> Vec<(String, String)> {
    let line = |setting: &Setting| match &setting.value {
        Value::Word(words) => Some((setting.key.strip_prefix(SHEET)?.to_owned(), words.clone())),
        Value::Number(_) => None,
    };
    run.settings.iter().filter_map(line).collect()
}

/// The batches of a run of [`begun()`], in order. A process of which nothing is kept has no row.
pub fn batches(run: &Run) -> Vec<Batch> {
    let database = run.places.iter().map(|place| place.name.as_str()).collect::<Vec<_>>().join(",");
    let number =
        |key: &str| run.settings.iter().find(|setting| setting.point.is_none() && setting.key == key).and_then(figure);
    let effort = match (number(ITERATIONS), number(RUNTIME)) {
        (None, Some(seconds)) => Effort::Seconds(seconds as u64),
        (iterations, _) => Effort::Iterations(iterations.unwrap_or(0.0) as u64),
    };
    let block = BLOCKS.into_iter().find_map(number).unwrap_or(0.0) as u32;
    let read_percent = number(READ_PERCENT).unwrap_or(100.0) as u32;
    let mut rows: Vec<BTreeMap<u32, ProcessRow>> = Vec::new();
    for (number, point) in run.points.iter().enumerate() {
        let of =
            |key: &str| run.settings.iter().find(|setting| setting.point == Some(number as u32) && setting.key == key);
        let blank = ProcessRow {
            started_unix_s: (run.identity.started_unix_ms + point.start.as_nanos() / 1_000_000) / 1000,
            database: database.clone(),
            processes: of(PROCESSES).and_then(figure).unwrap_or(0.0) as u32,
            job: 0,
            effort,
            block,
            read_percent,
            reads: 0,
            writes: 0,
            failed: 0,
            bytes: 0,
            elapsed: Span::ZERO,
            state: match of(STATE).map(|setting| &setting.value) {
                Some(Value::Word(word)) => ProcessState::from_key(word),
                _ => ProcessState::Running,
            },
            lat: Histogram::new(),
        };
        let cells = run.cells.iter().filter(|cell| cell.point as usize == number);
        let mut of_point: BTreeMap<u32, ProcessRow> = BTreeMap::new();
        cells.for_each(|cell| add_cell(of_point.entry(cell.actor).or_insert_with(|| blank.clone()), cell));
        rows.push(of_point);
    }
    let rows = rows.into_iter().filter(|rows| !rows.is_empty());
    rows.map(|rows| Batch { rows: rows.into_values().collect() }).collect()
}

/// Adds the values of a cell to its process.
fn add_cell(row: &mut ProcessRow, cell: &Cell) {
    row.job = cell.actor + 1;
    if cell.class == Class::READ {
        row.reads = cell.ops;
    } else if cell.class == Class::WRITE {
        row.writes = cell.ops;
    } else if cell.class == Class::ALL {
        row.elapsed = cell.measured;
        row.bytes = cell.bytes.unwrap_or(0);
        row.failed = cell.failed.unwrap_or(0);
        row.lat = cell.latency(Kind::Response).cloned().unwrap_or_default();
    }
}

fn figure(setting: &Setting) -> Option<f64> {
    match setting.value {
        Value::Number(number) => Some(number),
        Value::Word(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Direction;

    fn outcome(name: &str, reads: u64, writes: u64) -> JobOutcome {
        let mut outcome = JobOutcome { name: name.into(), start: Span::from_millis(3), ..JobOutcome::default() };
        (outcome.elapsed, outcome.measured) = (Span::from_millis(500), Span::from_millis(500));
        for (ops, direction) in [(reads, Direction::Read), (writes, Direction::Write)] {
            let done = &mut outcome.tape[direction];
            (done.ops, done.bytes, done.measured) = (ops, ops * 8192, Span::from_millis(500));
            (1..=ops).for_each(|us| done.response.record(Span::from_micros(us * 7)));
        }
        outcome
    }

    fn load() -> Load {
        Load {
            targets: vec!["/a".into(), "/b".into()],
            effort: Some(Effort::Iterations(100)),
            block: 8192,
            read_percent: 70,
            seed: 1,
            page_cache: false,
            destroy: Vec::new(),
            even_in_use: Vec::new(),
        }
    }

    /// Two batches of two processes, and one of a process that was killed: they are read back as
    /// they were, with their start times.
    #[test]
    fn batches_are_read_back_as_they_were_kept() {
        let place = |name: &str| RunPlace { kind: "folder".into(), name: name.into(), size: None };
        let told = [("Array".to_owned(), "AFF".to_owned())];
        let mut run = begun(&load(), vec![place("/a/"), place("/b/")], &told);
        run.identity.started_unix_ms = 1_464_012_480_500;
        let mut wanted = Vec::new();
        let loads = [
            (0, vec![outcome("process 1", 70, 30), outcome("process 2", 60, 40)], ProcessState::Whole),
            (10, vec![outcome("process 1", 65, 35), outcome("process 2", 7, 3)], ProcessState::Stopped),
            (20, vec![outcome("process 1", 0, 0)], ProcessState::Running),
        ];
        for (at, outcomes, state) in loads {
            let started = 1_464_012_480 + at;
            let blank = ProcessRow::blank(started, "/a/,/b/".into(), outcomes.len() as u32, &load());
            let rows = (1..).zip(&outcomes).map(|(job, outcome)| blank.of(job, state, outcome)).collect();
            wanted.push(Batch { rows });
            run.points.push(point(&run, outcomes.len() as u32));
            add(&mut run, Taken { start: Span::from_secs(at), state, outcomes });
        }
        assert_eq!(batches(&run), wanted);
        let names: Vec<&str> = run.points.iter().map(|point| point.name.as_str()).collect();
        assert_eq!(names, ["2 processes", "2 processes, batch 2", "1 process"]);
        let actors: Vec<_> = run.actors.iter().map(|actor| (actor.name.as_str(), actor.place)).collect();
        assert_eq!(actors, [("process 1", Some(0)), ("process 2", Some(1))], "a process is one actor in all batches");
        assert_eq!(sheet(&run), told);
    }
}
