//! Saves a run, row by row.

use super::block::{pack_gate, pack_minute, pack_slices};
use super::cells::{Cell as _, insert};
use super::host::{self, Figures};
use super::packed;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Result, params};
use stats::run::{
    Cell, DeviceRow, DeviceSeries, GateSeries, HostRow, Kind, Minute, Point, Run, Series, Setting, Slice, State, Times,
    Value,
};
use stats::{CycleRecord, Histogram, Machine, ObjectRecord, Outcome};

/// Maximum number of slices in a block, which holds a minute.
const BLOCK_ROWS_MAX: usize = 120;
/// Length of the time in a block, in nanoseconds.
const MINUTE: u64 = 60_000_000_000;

/// Saves `run` and returns its number, which is `number` if given; that must be free. The caller
/// holds the transaction.
pub(super) fn save(connection: &Connection, run: &Run, number: Option<i64>, uuid: Option<&str>) -> Result<i64> {
    save_run(connection, run, number, uuid)?;
    let saver = Saver { connection, run: connection.last_insert_rowid() };
    saver.all(run)?;
    Ok(saver.run)
}

/// Tables whose rows are all rewritten when a run is saved again. Minutes are not among them: those
/// that are over stay, so that what is written grows no faster than what is measured.
const ANEW: [&str; 17] = [
    "label",
    "place",
    "actor",
    "point",
    "point_command",
    "point_arm",
    "setting",
    "cell",
    "latency",
    "event",
    "cycle",
    "object",
    "cache_partition",
    "limits",
    "limits_beside",
    "verdict",
    "note",
];

/// Saves a run in progress again under its number and name; `run` must continue the saved one.
/// Returns whether there is one.
pub(super) fn replace(connection: &Connection, number: i64, run: &Run) -> Result<bool> {
    let identity = &run.identity;
    let machine = machine_row(connection, &run.machine)?;
    let changed = connection.execute(
        "UPDATE run SET title = ?2, state = ?3, machine = ?4, storage = ?5, backend = ?6, seed = ?7, scale_factor = ?8,
            scale_published_iops = ?9, scale_measured_iops = ?10
        WHERE id = ?1",
        params![
            number,
            identity.title,
            state(identity.state),
            machine,
            run.machine.storage,
            run.machine.backend,
            identity.seed as i64,
            run.scale.map(|scale| scale.factor),
            run.scale.map(|scale| scale.published_iops),
            run.scale.and_then(|scale| scale.measured_iops),
        ],
    )?;
    if changed == 0 {
        return Ok(false);
    }
    for table in ANEW {
        connection.prepare_cached(&format!("DELETE FROM {table} WHERE run = ?1"))?.execute([number])?;
    }
    Saver { connection, run: number }.all(run)?;
    Ok(true)
}

fn state(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Ended => "ended",
        State::CutShort => "cut_short",
    }
}

fn save_run(connection: &Connection, run: &Run, number: Option<i64>, uuid: Option<&str>) -> Result<()> {
    let (identity, machine, scale) = (&run.identity, &run.machine, run.scale);
    let machine_row = machine_row(connection, machine)?;
    let uuid = match uuid {
        Some(uuid) => uuid.to_owned(),
        None => new_uuid(connection)?,
    };
    insert(
        connection,
        "run",
        [
            number.map_or(Sql::Null, Sql::Integer), // SQLite chooses one that was never given
            uuid.cell(),
            identity.tool.cell(),
            identity.title.cell(),
            identity.command.cell(),
            identity.text.cell(),
            identity.version.cell(),
            identity.seed.cell(),
            identity.started_unix_ms.cell(),
            if identity.simulated { "virtual" } else { "wall" }.cell(),
            state(identity.state).cell(),
            Sql::Integer(machine_row),
            machine.storage.cell(),
            machine.backend.cell(),
            scale.map(|scale| scale.factor).cell(),
            scale.map(|scale| scale.published_iops).cell(),
            scale.and_then(|scale| scale.measured_iops).cell(),
        ],
    )
}

/// The row of this machine, which is added if it is new.
fn machine_row(connection: &Connection, machine: &Machine) -> Result<i64> {
    let Machine { host, kernel, cpu, cores, memory, .. } = machine;
    let figures = params![host, kernel, cpu, cores, memory.0 as i64];
    connection.execute(
        "INSERT INTO machine (host, kernel, cpu, cores, memory_bytes) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        figures,
    )?;
    connection.query_row(
        "SELECT id FROM machine WHERE (host, kernel, cpu, cores, memory_bytes) = (?1, ?2, ?3, ?4, ?5)",
        figures,
        |row| row.get(0),
    )
}

/// A random UUID (version 4 of RFC 9562), from SQLite's random source, which the system seeds.
fn new_uuid(connection: &Connection) -> Result<String> {
    connection.query_row(
        "SELECT printf('%s-%s-4%s-%s%s-%s', substr(h, 1, 8), substr(h, 9, 4), substr(h, 14, 3),
            substr('89ab', 1 + (abs(random()) % 4), 1), substr(h, 18, 3), substr(h, 21, 12))
        FROM (SELECT lower(hex(randomblob(16))) AS h)",
        [],
        |row| row.get(0),
    )
}

/// Writes the rows of one run.
struct Saver<'c> {
    connection: &'c Connection,
    run: i64,
}

impl Saver<'_> {
    fn all(&self, run: &Run) -> Result<()> {
        for (key, word) in &run.labels {
            self.row("label", [key.cell(), word.cell()])?;
        }
        for (n, place) in run.places.iter().enumerate() {
            self.row("place", [n.cell(), place.kind.cell(), place.name.cell(), place.size.cell()])?;
        }
        for (n, actor) in run.actors.iter().enumerate() {
            let cells = [n.cell(), actor.name.cell(), actor.host.cell(), actor.group.cell(), actor.place.cell()];
            self.row("actor", cells)?;
        }
        run.points.iter().enumerate().try_for_each(|(n, point)| self.point(n, point))?;
        run.settings.iter().enumerate().try_for_each(|(n, setting)| self.setting(n, setting))?;
        run.cells.iter().enumerate().try_for_each(|(n, cell)| self.cell(n, cell))?;
        run.series.iter().try_for_each(|series| self.series(series))?;
        run.gates.iter().try_for_each(|gate| self.gate(gate))?;
        self.host(&run.host.rows)?;
        run.host.devices.iter().try_for_each(|device| self.device(device))?;
        run.cycles.iter().enumerate().try_for_each(|(n, (actor, cycle))| self.cycle(n, *actor, cycle))?;
        run.objects.iter().enumerate().try_for_each(|(n, object)| self.object(n, object))?;
        for (n, done) in run.partitions.iter().enumerate() {
            let figures = [done.size, done.resident, done.asked.found, done.asked.missed, done.evicted];
            let key = [n.cell(), done.point.cell(), done.name.cell()];
            self.row("cache_partition", key.into_iter().chain(figures.map(|figure| figure.cell())))?;
        }
        for (n, event) in run.events.iter().enumerate() {
            let cells = [n.cell(), event.point.cell(), event.actor.cell(), event.at.cell(), event.kind.cell()];
            self.row("event", cells.into_iter().chain([event.name.cell(), event.number.cell()]))?;
        }
        for (n, verdict) in run.verdicts.iter().enumerate() {
            let figures = verdict.measured.as_ref();
            let cells = [n.cell(), verdict.question.cell(), outcome(verdict.outcome).cell(), verdict.because.cell()];
            let figures = [
                figures.map(|figures| figures.value).cell(),
                figures.map(|figures| figures.bound).cell(),
                figures.map(|figures| figures.unit.clone()).cell(),
            ];
            self.row("verdict", cells.into_iter().chain(figures))?;
        }
        run.notes.iter().enumerate().try_for_each(|(n, note)| self.row("note", [n.cell(), note.cell()]))
    }

    /// Inserts a row: the run's number, then the cells in the order of the table's columns.
    fn row(&self, table: &str, cells: impl IntoIterator<Item = Sql>) -> Result<()> {
        insert(self.connection, table, [Sql::Integer(self.run)].into_iter().chain(cells))
    }

    fn point(&self, n: usize, point: &Point) -> Result<()> {
        let (start, end, stalled) = (point.start.cell(), point.end.cell(), point.stalled.cell());
        self.row("point", [n.cell(), point.name.cell(), point.about.cell(), start, end, stalled])?;
        if !point.arm.is_empty() {
            self.row("point_arm", [n.cell(), point.arm.cell()])?;
        }
        for (form, lines) in [("run", &point.commands), ("published", &point.commands_published)] {
            for (place, line) in lines.iter().enumerate() {
                self.row("point_command", [n.cell(), form.cell(), place.cell(), line.cell()])?;
            }
        }
        Ok(())
    }

    fn setting(&self, n: usize, setting: &Setting) -> Result<()> {
        let (number, word) = match &setting.value {
            Value::Number(number) => (Some(*number), None),
            Value::Word(word) => (None, Some(word.clone())),
        };
        let cells = [n.cell(), setting.point.cell(), setting.actor.cell(), setting.key.cell()];
        self.row("setting", cells.into_iter().chain([number.cell(), word.cell()]))
    }

    fn cell(&self, n: usize, cell: &Cell) -> Result<()> {
        let key = [cell.point.cell(), cell.actor.cell(), cell.class.name().cell()];
        let punctuality = [cell.late.cell(), cell.late_max.cell(), cell.held.cell(), cell.never_sent.cell()];
        let counts = [cell.ops.cell(), cell.bytes.cell(), cell.failed.cell(), cell.short.cell()];
        let before = key.iter().cloned().chain([n.cell(), cell.measured.cell()]);
        self.row("cell", before.chain(counts).chain(punctuality))?;
        for (kind, histogram) in &cell.latencies {
            self.row("latency", key.iter().cloned().chain(latency(*kind, histogram)))?;
        }
        Ok(())
    }

    fn series(&self, series: &Series) -> Result<()> {
        let over =
            self.over("minute", params![self.run, series.actor, series.class.name()], "actor = ?2 AND class = ?3")?;
        for (n, (slices, times)) in of_series(series).enumerate().skip(over) {
            let key = [series.actor.cell(), series.class.name().cell(), n.cell()];
            let cells = [Sql::Null, Sql::Integer(self.run)].into_iter().chain(key).chain(minute(slices));
            insert(self.connection, "minute", cells)?;
            let id = self.connection.last_insert_rowid();
            insert(self.connection, "block", [Sql::Integer(id), Sql::Blob(pack_slices(slices))])?;
            if let Some(times) = times {
                insert(self.connection, "times", [Sql::Integer(id), Sql::Blob(pack_minute(times))])?;
            }
        }
        Ok(())
    }

    fn gate(&self, gate: &GateSeries) -> Result<()> {
        let over = self.over("gate", params![self.run, gate.actor], "actor = ?2")?;
        for (n, rows) in minutes(&gate.rows, |row| row.start.as_nanos()).enumerate().skip(over) {
            let start = rows[0].start;
            let length = rows.iter().fold(0u64, |sum, row| sum.wrapping_add(row.length.as_nanos()));
            let cells = [gate.actor.cell(), n.cell(), start.cell(), length.cell(), Sql::Blob(pack_gate(rows))];
            insert(self.connection, "gate", [Sql::Null, Sql::Integer(self.run)].into_iter().chain(cells))?;
        }
        Ok(())
    }

    fn host(&self, rows: &[HostRow]) -> Result<()> {
        // Runs from formats before 6 have none, and are saved again before this table exists.
        if rows.is_empty() {
            return Ok(());
        }
        let over = self.over("host", params![self.run], "true")?;
        for (n, rows) in minutes(rows, |row| row.start.as_nanos()).enumerate().skip(over) {
            self.figures("host", [n.cell()], HostRow::sum(rows), rows)?;
        }
        Ok(())
    }

    fn device(&self, device: &DeviceSeries) -> Result<()> {
        let over = self.over("device", params![self.run, device.name], "name = ?2")?;
        for (n, rows) in minutes(&device.rows, |row| row.start.as_nanos()).enumerate().skip(over) {
            self.figures("device", [device.name.cell(), n.cell()], DeviceRow::sum(rows), rows)?;
        }
        Ok(())
    }

    /// Inserts a minute: its figures joined by `sum`, and its rows in a block.
    fn figures<R: Figures>(
        &self,
        table: &str,
        key: impl IntoIterator<Item = Sql>,
        sum: Option<R>,
        rows: &[R],
    ) -> Result<()> {
        let figures = sum.map(|sum| sum.figures()).unwrap_or_default();
        let cells = [Sql::Null, Sql::Integer(self.run)].into_iter().chain(key);
        let cells = cells.chain(figures.iter().map(|figure| figure.cell())).chain([Sql::Blob(host::pack(rows))]);
        insert(self.connection, table, cells)
    }

    /// Number of minutes that are saved and over. The last one is deleted, because it may have been
    /// saved before it was over.
    fn over(&self, table: &str, key: &[&dyn rusqlite::ToSql], of: &str) -> Result<usize> {
        let count = format!("SELECT count(*) FROM {table} WHERE run = ?1 AND {of}");
        let written: i64 = self.connection.prepare_cached(&count)?.query_row(key, |row| row.get(0))?;
        let over = (written - 1).max(0);
        let last = format!("DELETE FROM {table} WHERE run = ?1 AND {of} AND n = {over}");
        self.connection.execute(&last, key)?;
        Ok(over as usize)
    }

    fn cycle(&self, n: usize, actor: u32, cycle: &CycleRecord) -> Result<()> {
        let spans = [cycle.due, cycle.start, cycle.sleep, cycle.wij, cycle.write, cycle.cycle];
        let key = [n.cell(), actor.cell(), cycle.phase.cell()];
        self.row("cycle", key.into_iter().chain(spans.map(|span| span.cell())).chain([cycle.blocks.cell()]))
    }

    fn object(&self, n: usize, object: &ObjectRecord) -> Result<()> {
        let used = [object.used_start, object.used_end].map(|used| used.map(|bytes| bytes.0).cell());
        let (first, bins) = packed::pack_trace(&object.trace);
        let trace = [first.cell(), Sql::Blob(bins)];
        let cells = [n.cell(), object.path.cell(), object.is_group.cell()];
        self.row("object", cells.into_iter().chain(used).chain(trace))?;
        for (point, limits) in object.limits.iter().enumerate() {
            let numbers = [limits.ceiling_iops, limits.ceiling_bytes, limits.floor_iops, limits.floor_bytes];
            let key = [n.cell(), point.cell(), limits.policy.cell()];
            self.row("limits", key.into_iter().chain(numbers.map(|number| number.cell())))?;
            if limits.burst.is_none() && limits.floor_latency.is_none() {
                continue;
            }
            let length = limits.burst.map(|burst| burst.duration);
            let spans = [length, limits.floor_latency].map(|span| span.map(|span| span.as_nanos()));
            let numbers = [limits.burst.map(|burst| burst.ppm), spans[0], spans[1]];
            let key = [n.cell(), point.cell()];
            self.row("limits_beside", key.into_iter().chain(numbers.map(|number| number.cell())))?;
        }
        Ok(())
    }
}

/// The name of an outcome in the database.
pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::CannotSay => "cannot_say",
    }
}

/// Splits rows into the minutes in which they start.
fn minutes<T>(rows: &[T], start: impl Fn(&T) -> u64) -> impl Iterator<Item = &[T]> {
    let same = move |a: &T, b: &T| start(a) / MINUTE == start(b) / MINUTE;
    rows.chunk_by(same).flat_map(|minute| minute.chunks(BLOCK_ROWS_MAX))
}

/// Splits the slices of a series into its minutes, each with its histogram if there is one.
fn of_series(series: &Series) -> impl Iterator<Item = (&[Slice], Option<&Minute>)> {
    let begun = |slice: &Slice| series.minutes.partition_point(|minute| minute.start <= slice.start);
    let same = move |a: &Slice, b: &Slice| begun(a) == begun(b);
    series.slices.chunk_by(same).flat_map(move |slices| {
        let minute = begun(&slices[0]).checked_sub(1).map(|at| &series.minutes[at]);
        // A series without minutes of its own is split by minutes of the clock.
        let parts: Vec<&[Slice]> = match minute {
            Some(_) => slices.chunks(BLOCK_ROWS_MAX).collect(),
            None => minutes(slices, |slice| slice.start.as_nanos()).collect(),
        };
        parts.into_iter().enumerate().map(move |(part, slices)| (slices, minute.filter(|_| part == 0)))
    })
}

/// The columns of a minute after its key.
fn minute(slices: &[Slice]) -> Vec<Sql> {
    let sum = |of: &dyn Fn(&Slice) -> u64| slices.iter().fold(0u64, |sum, slice| sum.wrapping_add(of(slice)));
    let known = |of: &dyn Fn(&Slice) -> Option<u64>| {
        slices.iter().any(|slice| of(slice).is_some()).then(|| sum(&|slice| of(slice).unwrap_or(0)))
    };
    let times = |of: &dyn Fn(&Slice) -> Option<Times>| {
        let all = || slices.iter().filter_map(of);
        let count: u128 = all().map(|times| u128::from(times.count)).sum();
        let weighted = all().map(|times| u128::from(times.count) * u128::from(times.mean.as_nanos()));
        let whole = weighted.fold(0u128, u128::saturating_add);
        let mean = whole.checked_div(count).map(|mean| u64::try_from(mean).unwrap_or(u64::MAX));
        [mean.cell(), all().filter_map(|times| times.max).max().cell()]
    };
    let mut cells = vec![
        slices[0].start.cell(),
        sum(&|slice| slice.length.as_nanos()).cell(),
        slices.len().cell(),
        sum(&|slice| slice.ops).cell(),
        known(&|slice| slice.bytes).cell(),
        known(&|slice| slice.failed).cell(),
    ];
    cells.extend(times(&|slice| slice.response));
    cells.extend(times(&|slice| slice.service));
    cells
}

fn latency(kind: Kind, histogram: &Histogram) -> Vec<Sql> {
    let count = histogram.count();
    let moments = [histogram.sum(), histogram.mean(), histogram.min(), histogram.max()];
    let percentiles = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999].map(|part| histogram.quantile(part));
    let mut cells = vec![kind.key().cell(), count.cell()];
    cells.extend(moments.iter().chain(&percentiles).map(|span| span.cell()));
    cells.push(Sql::Blob(packed::pack_buckets(histogram)));
    cells
}
