//! Writing a recording, row by row.

use super::packed;
use block::Span;
use rusqlite::types::Value;
use rusqlite::{Connection, Result, params_from_iter};
use stats::{Counts, Histogram, Interval, ObjectRecord, Outcome, Phase, Recording, Summary, Tally, WorkloadRecord};

/// Writes all of `recording` and returns its number. The caller holds the transaction.
pub(super) fn save(connection: &Connection, recording: &Recording) -> Result<i64> {
    save_run(connection, recording)?;
    let run = connection.last_insert_rowid();
    let saver = Saver { connection, run };
    for (position, phase) in recording.phases.iter().enumerate() {
        saver.phase(position, phase)?;
    }
    for (position, workload) in recording.workloads.iter().enumerate() {
        saver.workload(position, workload)?;
    }
    for (position, object) in recording.objects.iter().enumerate() {
        saver.object(position, object)?;
    }
    for (position, verdict) in recording.verdicts.iter().enumerate() {
        let outcome = match verdict.outcome {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::CannotSay => "cannot_say",
        };
        saver.row("verdict", [position.cell(), verdict.question.cell(), outcome.cell(), verdict.because.cell()])?;
    }
    for (position, note) in recording.notes.iter().enumerate() {
        saver.row("note", [position.cell(), note.cell()])?;
    }
    Ok(run)
}

fn save_run(connection: &Connection, recording: &Recording) -> Result<()> {
    let (origin, machine, scale) = (&recording.origin, &recording.machine, recording.scale);
    insert(
        connection,
        "run",
        [
            Value::Null, // the number, which SQLite chooses
            origin.title.cell(),
            origin.plan.cell(),
            origin.command.cell(),
            origin.version.cell(),
            origin.seed.cell(),
            origin.started_unix_ms.cell(),
            origin.simulated.cell(),
            origin.cut_short.cell(),
            machine.host.cell(),
            machine.kernel.cell(),
            machine.cpu.cell(),
            machine.cores.cell(),
            machine.memory.0.cell(),
            machine.storage.cell(),
            machine.backend.cell(),
            scale.map(|scale| scale.factor).cell(),
            scale.map(|scale| scale.published_iops).cell(),
            scale.and_then(|scale| scale.measured_iops).cell(),
        ],
    )
}

/// Writes the rows that belong to one run.
struct Saver<'c> {
    connection: &'c Connection,
    run: i64,
}

impl Saver<'_> {
    /// One row: the run, then the cells, in the order of the table's columns.
    fn row(&self, table: &str, cells: impl IntoIterator<Item = Value>) -> Result<()> {
        insert(self.connection, table, [Value::Integer(self.run)].into_iter().chain(cells))
    }

    fn phase(&self, position: usize, phase: &Phase) -> Result<()> {
        let (start, end, stalled) = (phase.start.cell(), phase.end.cell(), phase.stalled.cell());
        let cells = [position.cell(), phase.name.cell(), phase.about.cell(), start, end, stalled];
        self.row("phase", cells)?;
        for (form, lines) in [("run", &phase.commands), ("published", &phase.commands_published)] {
            for (place, line) in lines.iter().enumerate() {
                self.row("phase_command", [position.cell(), form.cell(), place.cell(), line.cell()])?;
            }
        }
        Ok(())
    }

    fn workload(&self, position: usize, workload: &WorkloadRecord) -> Result<()> {
        let cells = [position.cell(), workload.name.cell(), workload.host.cell(), workload.object.cell()];
        self.row("workload", cells)?;
        for (place, interval) in workload.intervals.iter().enumerate() {
            self.interval([position, place], interval)?;
        }
        for (place, tally) in workload.tallies.iter().enumerate() {
            self.tally([position, place], tally)?;
        }
        for (place, cycle) in workload.cycles.iter().enumerate() {
            let spans = [cycle.due, cycle.start, cycle.sleep, cycle.wij, cycle.write, cycle.cycle];
            let key = [position.cell(), place.cell(), cycle.phase.cell()];
            self.row("cycle", key.into_iter().chain(spans.map(|span| span.cell())).chain([cycle.blocks.cell()]))?;
        }
        Ok(())
    }

    fn interval(&self, key: [usize; 2], interval: &Interval) -> Result<()> {
        let mut cells = Vec::from(key.map(|place| place.cell()));
        cells.extend([interval.start.cell(), interval.length.cell()]);
        cells.extend(counts(&interval.counts));
        cells.extend(summary(&interval.response));
        cells.extend(summary(&interval.service));
        let waits = &interval.waits;
        cells.push(interval.outstanding.cell());
        cells.extend([waits.ceiling, waits.floors, waits.turn, waits.device].map(|span| span.cell()));
        cells.push(interval.held_by.key().cell());
        let (floor, number) = interval.floor.key();
        cells.extend([interval.held_at.cell(), floor.cell(), number.cell()]);
        self.row("interval", cells)
    }

    fn tally(&self, key: [usize; 2], tally: &Tally) -> Result<()> {
        let key = key.map(|place| place.cell());
        let mut cells = Vec::from(key.clone());
        cells.push(tally.length.cell());
        cells.extend(counts(&tally.counts));
        cells.extend([tally.late.cell(), tally.late_max.cell()]);
        self.row("tally", cells)?;
        let kinds = [&tally.response, &tally.service, &tally.queued, &tally.device];
        for (kind, histogram) in super::HISTOGRAM_KINDS.into_iter().zip(kinds) {
            let key = key.iter().cloned().chain([kind.cell()]);
            self.row("histogram", key.chain(buckets(histogram)))?;
        }
        Ok(())
    }

    fn object(&self, position: usize, object: &ObjectRecord) -> Result<()> {
        let used = [object.used_start, object.used_end].map(|used| used.map(|bytes| bytes.0).cell());
        let cells = [position.cell(), object.path.cell(), object.is_group.cell()];
        self.row("object", cells.into_iter().chain(used))?;
        let (first, bins) = packed::pack_trace(&object.trace);
        self.row("object_trace", [position.cell(), first.cell(), Value::Blob(bins)])?;
        for (place, limits) in object.limits.iter().enumerate() {
            let numbers = [limits.ceiling_iops, limits.ceiling_bytes, limits.floor_iops, limits.floor_bytes];
            let key = [position.cell(), place.cell(), limits.policy.cell()];
            self.row("limits", key.into_iter().chain(numbers.map(|number| number.cell())))?;
        }
        Ok(())
    }
}

fn counts(counts: &Counts) -> [Value; 6] {
    let Counts { reads, writes, other, read_bytes, write_bytes, faults } = *counts;
    [reads, writes, other, read_bytes, write_bytes, faults].map(|number| number.cell())
}

fn summary(summary: &Summary) -> [Value; 6] {
    let Summary { count, mean, p50, p99, p999, max } = *summary;
    [count.cell(), mean.cell(), p50.cell(), p99.cell(), p999.cell(), max.cell()]
}

fn buckets(histogram: &Histogram) -> [Value; 8] {
    let Summary { count, p50, p99, p999, max, .. } = histogram.summary();
    let (sum, min) = (histogram.sum(), histogram.min());
    let packed = Value::Blob(packed::pack_buckets(histogram));
    [count.cell(), sum.cell(), min.cell(), max.cell(), p50.cell(), p99.cell(), p999.cell(), packed]
}

/// One row with all of a table's columns in their order. The table's name is ours, never from outside.
fn insert(connection: &Connection, table: &str, cells: impl IntoIterator<Item = Value>) -> Result<()> {
    let cells: Vec<Value> = cells.into_iter().collect();
    let marks = vec!["?"; cells.len()].join(", ");
    connection.prepare_cached(&format!("INSERT INTO {table} VALUES ({marks})"))?.execute(params_from_iter(cells))?;
    Ok(())
}

/// What can stand in a cell.
trait Cell {
    fn cell(&self) -> Value;
}

impl Cell for u64 {
    /// Bit for bit.
    fn cell(&self) -> Value {
        Value::Integer(*self as i64)
    }
}

impl Cell for u32 {
    fn cell(&self) -> Value {
        Value::Integer(i64::from(*self))
    }
}

impl Cell for usize {
    fn cell(&self) -> Value {
        (*self as u64).cell()
    }
}

impl Cell for bool {
    fn cell(&self) -> Value {
        Value::Integer(i64::from(*self))
    }
}

impl Cell for f64 {
    fn cell(&self) -> Value {
        Value::Real(*self)
    }
}

impl Cell for Span {
    fn cell(&self) -> Value {
        self.as_nanos().cell()
    }
}

impl Cell for str {
    fn cell(&self) -> Value {
        Value::Text(self.into())
    }
}

impl Cell for String {
    fn cell(&self) -> Value {
        self.as_str().cell()
    }
}

impl<T: Cell> Cell for Option<T> {
    fn cell(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::cell)
    }
}
