//! Reads runs of a version 3 file, whose tables have other names. The upgrade to version 4 saves
//! them again.

use super::Failure;
use super::cells::{Cells, one, rows};
use super::packed;
use block::{Bytes, Span};
use rusqlite::{Connection, OptionalExtension as _, Params, Result, Row};
use stats::run::{
    Cell, Class, GateRow, GateSeries, Identity, Kind, Point, Run, RunActor, RunPlace, Series, Slice, State, Times,
};
use stats::{
    Counts, CycleRecord, DispatchTrace, FloorOutcome, HeldBy, Histogram, LimitsInForce, ObjectRecord, Outcome, Verdict,
    Waits,
};

/// The histograms of a workload's phase, by their names in version 3.
const HISTOGRAM_KINDS: [(&str, Kind); 4] =
    [("response", Kind::Response), ("service", Kind::Service), ("queued", Kind::Gate), ("device", Kind::Device)];

/// The numbers of all runs.
pub(super) fn numbers(connection: &Connection) -> Result<Vec<i64>> {
    rows(connection, "SELECT id FROM earlier_run ORDER BY id", [], |cells| cells.next())
}

/// Loads a whole run; `None` if there is none with that number.
pub(super) fn load(connection: &Connection, run: i64) -> Result<Option<Run>, Failure> {
    let Some(mut found) = load_run(connection, run)? else { return Ok(None) };
    let loader = Loader { connection, run };
    found.points = loader.points()?;
    loader.add_workloads(&mut found)?;
    found.objects = loader.objects()?;
    found.verdicts = loader.verdicts()?;
    found.notes = loader.lines("SELECT line FROM earlier_note WHERE run = ?1 ORDER BY position", [run])?;
    Ok(Some(found))
}

fn load_run(connection: &Connection, run: i64) -> Result<Option<Run>> {
    let mut statement = connection.prepare(
        "SELECT title, plan, command, version, seed, started_unix_ms, simulated, cut_short,
            host, kernel, cpu, cores, memory_bytes, storage, backend,
            scale_factor, scale_published_iops, scale_measured_iops
        FROM earlier_run WHERE id = ?1",
    )?;
    let read = |row: &Row<'_>| {
        let mut cells = Cells::of(row);
        let mut identity = Identity {
            title: cells.next()?,
            text: cells.next()?,
            command: cells.next()?,
            version: cells.next()?,
            seed: cells.number()?,
            started_unix_ms: cells.number()?,
            simulated: cells.next()?,
            state: if cells.next()? { State::CutShort } else { State::Ended },
            ..Identity::default()
        };
        // In those versions only plans were stored.
        identity.tool = if identity.simulated { "simulate" } else { "run" }.into();
        Ok(Run { identity, machine: cells.machine()?, scale: cells.scale()?, ..Run::default() })
    };
    statement.query_row([run], read).optional()
}

/// A second of a workload.
struct Second {
    whole: Slice,
    counts: Counts,
    gate: GateRow,
}

/// The classes that version 3 distinguishes: operations, and bytes for classes that transfer some.
fn classes(counts: &Counts) -> [(Class, u64, Option<u64>); 3] {
    [
        (Class::READ, counts.reads, Some(counts.read_bytes)),
        (Class::WRITE, counts.writes, Some(counts.write_bytes)),
        (Class::OTHER, counts.other, None),
    ]
}

/// Reads the rows of one run.
struct Loader<'c> {
    connection: &'c Connection,
    run: i64,
}

impl Loader<'_> {
    fn points(&self) -> Result<Vec<Point>> {
        let sql =
            "SELECT name, about, start_ns, end_ns, stalled_ns FROM earlier_phase WHERE run = ?1 ORDER BY position";
        let read = |cells: &mut Cells<'_>| {
            let (name, about) = (cells.next()?, cells.next()?);
            let (start, end, stalled) = (cells.span()?, cells.span()?, Some(cells.span()?));
            Ok(Point { name, about, start, end, stalled, ..Point::default() })
        };
        let mut points = rows(self.connection, sql, [self.run], read)?;
        let sql =
            "SELECT line FROM earlier_phase_command WHERE run = ?1 AND phase = ?2 AND form = ?3 ORDER BY position";
        for (position, point) in points.iter_mut().enumerate() {
            point.commands = self.lines(sql, (self.run, position as i64, "run"))?;
            point.commands_published = self.lines(sql, (self.run, position as i64, "published"))?;
        }
        Ok(points)
    }

    fn add_workloads(&self, run: &mut Run) -> Result<(), Failure> {
        let sql = "SELECT name, host, object FROM earlier_workload WHERE run = ?1 ORDER BY position";
        let read = |cells: &mut Cells<'_>| Ok((cells.next()?, cells.next()?, cells.next()?));
        let workloads: Vec<(String, String, String)> = rows(self.connection, sql, [self.run], read)?;
        for (number, (name, host, object)) in workloads.into_iter().enumerate() {
            let actor = number as u32;
            let place = (!object.is_empty()).then(|| run.place(RunPlace { name: object, ..RunPlace::default() }));
            run.actors.push(RunActor { name, host, group: None, place });
            self.add_seconds(run, actor)?;
            run.cells.extend(self.cells(actor)?);
            run.cycles.extend(self.cycles(actor)?.into_iter().map(|cycle| (actor, cycle)));
        }
        Ok(())
    }

    /// Adds the slices of the whole and of each class with requests, and the rows of the gate.
    fn add_seconds(&self, run: &mut Run, actor: u32) -> Result<(), Failure> {
        let seconds = self.seconds(actor)?;
        let mut add = |class: Class, slice: &dyn Fn(&Second) -> Slice| {
            let slices: Vec<Slice> = seconds.iter().map(slice).collect();
            if class == Class::ALL || slices.iter().any(|slice| slice.ops > 0) {
                run.series.push(Series { actor, class, slices, minutes: Vec::new() });
            }
        };
        add(Class::ALL, &|second| second.whole);
        for (number, class) in [Class::READ, Class::WRITE, Class::OTHER].into_iter().enumerate() {
            add(class, &|second| {
                let (_, ops, bytes) = classes(&second.counts)[number].clone();
                Slice { start: second.whole.start, length: second.whole.length, ops, bytes, ..Slice::default() }
            });
        }
        run.gates.push(GateSeries { actor, rows: seconds.into_iter().map(|second| second.gate).collect() });
        Ok(())
    }

    fn seconds(&self, actor: u32) -> Result<Vec<Second>, Failure> {
        let sql = "SELECT start_ns, length_ns, reads, writes, other, read_bytes, write_bytes, faults,
                response_count, response_mean_ns, response_p50_ns, response_p99_ns, response_p999_ns, response_max_ns,
                service_count, service_mean_ns, service_p50_ns, service_p99_ns, service_p999_ns, service_max_ns,
                outstanding, wait_ceiling_ns, wait_floors_ns, wait_turn_ns, device_ns, held_by, held_at, floor,
                floor_number
            FROM earlier_interval WHERE run = ?1 AND workload = ?2 ORDER BY position";
        let found = rows(self.connection, sql, (self.run, actor), |cells| {
            let (start, length, counts) = (cells.span()?, cells.span()?, cells.counts()?);
            let whole = Slice {
                start,
                length,
                ops: counts.ops(),
                bytes: Some(counts.bytes()),
                failed: Some(counts.faults),
                response: Times::of(&cells.summary()?),
                service: Times::of(&cells.summary()?),
                outstanding: cells.next()?,
            };
            let waits =
                Waits { ceiling: cells.span()?, floors: cells.span()?, turn: cells.span()?, device: cells.span()? };
            let held_by: String = cells.next()?;
            let gate = GateRow { start, length, waits, held_at: cells.next()?, ..GateRow::default() };
            Ok((Second { whole, counts, gate }, held_by, cells.next::<String>()?, cells.optional()?))
        })?;
        let named = |(second, held_by, floor, number): (Second, String, String, Option<u64>)| {
            let held_by = HeldBy::from_key(&held_by).ok_or(Failure::Damaged("what held a workload back"))?;
            let floor = FloorOutcome::from_key(&floor, number).ok_or(Failure::Damaged("how a floor fared"))?;
            Ok(Second { gate: GateRow { held_by, floor, ..second.gate }, ..second })
        };
        found.into_iter().map(named).collect()
    }

    /// A workload's cells: for each phase the whole, and the classes with requests.
    fn cells(&self, actor: u32) -> Result<Vec<Cell>, Failure> {
        let sql = "SELECT length_ns, reads, writes, other, read_bytes, write_bytes, faults, late, late_max_ns
            FROM earlier_tally WHERE run = ?1 AND workload = ?2 ORDER BY position";
        let found = rows(self.connection, sql, (self.run, actor), |cells| {
            Ok((cells.span()?, cells.counts()?, cells.number()?, cells.span()?))
        })?;
        let mut all = Vec::new();
        for (position, (measured, counts, late, late_max)) in found.into_iter().enumerate() {
            let cell = |class| Cell::new(position as u32, actor, class, measured);
            // Closed loops had zeros there.
            let scheduled = late > 0 || late_max > Span::ZERO;
            let mut whole = Cell {
                ops: counts.ops(),
                bytes: Some(counts.bytes()),
                failed: Some(counts.faults),
                late: scheduled.then_some(late),
                late_max: scheduled.then_some(late_max),
                ..cell(Class::ALL)
            };
            for (name, kind) in HISTOGRAM_KINDS {
                whole = whole.with(kind, &self.histogram(actor, position, name)?);
            }
            all.push(whole);
            let used = classes(&counts).into_iter().filter(|(_, ops, _)| *ops > 0);
            all.extend(used.map(|(class, ops, bytes)| Cell { ops, bytes, ..cell(class) }));
        }
        Ok(all)
    }

    fn cycles(&self, actor: u32) -> Result<Vec<CycleRecord>> {
        let sql = "SELECT phase, due_ns, start_ns, sleep_ns, wij_ns, write_ns, cycle_ns, blocks
            FROM earlier_cycle WHERE run = ?1 AND workload = ?2 ORDER BY position";
        rows(self.connection, sql, (self.run, actor), |cells| {
            Ok(CycleRecord {
                phase: cells.next()?,
                due: cells.span()?,
                start: cells.span()?,
                sleep: cells.span()?,
                wij: cells.span()?,
                write: cells.span()?,
                cycle: cells.span()?,
                blocks: cells.number()?,
            })
        })
    }

    fn histogram(&self, actor: u32, phase: usize, kind: &str) -> Result<Histogram, Failure> {
        let sql = "SELECT count, sum_ns, min_ns, max_ns, buckets FROM earlier_histogram
            WHERE run = ?1 AND workload = ?2 AND tally = ?3 AND kind = ?4";
        let key = (self.run, actor, phase as i64, kind);
        let (count, sum, min, max, packed) = one(self.connection, sql, key, |cells| {
            Ok((cells.number()?, cells.span()?, cells.span()?, cells.span()?, cells.next::<Vec<u8>>()?))
        })?;
        packed::unpack_buckets(&packed)
            .filter(|(_, total)| *total == count)
            .and_then(|(buckets, _)| Histogram::from_filled(&buckets, sum, min, max))
            .ok_or(Failure::Damaged("a histogram"))
    }

    fn objects(&self) -> Result<Vec<ObjectRecord>, Failure> {
        let sql = "SELECT path, is_group, used_start_bytes, used_end_bytes FROM earlier_object WHERE run = ?1 ORDER BY position";
        let mut objects = rows(self.connection, sql, [self.run], |cells| {
            Ok(ObjectRecord {
                path: cells.next()?,
                is_group: cells.next()?,
                used_start: cells.optional()?.map(Bytes),
                used_end: cells.optional()?.map(Bytes),
                ..ObjectRecord::default()
            })
        })?;
        for (position, object) in objects.iter_mut().enumerate() {
            object.trace = self.trace(position)?;
            object.limits = self.limits(position)?;
        }
        Ok(objects)
    }

    fn trace(&self, object: usize) -> Result<DispatchTrace, Failure> {
        let sql = "SELECT first_bin, bins FROM earlier_object_trace WHERE run = ?1 AND object = ?2";
        let read = |cells: &mut Cells<'_>| Ok((cells.number()?, cells.next::<Vec<u8>>()?));
        let (first, bins) = one(self.connection, sql, (self.run, object as i64), read)?;
        packed::unpack_trace(first, &bins).ok_or(Failure::Damaged("a dispatch trace"))
    }

    fn limits(&self, object: usize) -> Result<Vec<LimitsInForce>> {
        let sql = "SELECT policy, ceiling_iops, ceiling_bytes, floor_iops, floor_bytes
            FROM earlier_limits WHERE run = ?1 AND object = ?2 ORDER BY position";
        rows(self.connection, sql, (self.run, object as i64), |cells| {
            Ok(LimitsInForce {
                policy: cells.next()?,
                ceiling_iops: cells.optional()?,
                ceiling_bytes: cells.optional()?,
                floor_iops: cells.optional()?,
                floor_bytes: cells.optional()?,
                ..LimitsInForce::default()
            })
        })
    }

    fn verdicts(&self) -> Result<Vec<Verdict>, Failure> {
        let sql = "SELECT question, outcome, because FROM earlier_verdict WHERE run = ?1 ORDER BY position";
        let read = |cells: &mut Cells<'_>| Ok((cells.next()?, cells.next::<String>()?, cells.next()?));
        let found: Vec<(String, String, String)> = rows(self.connection, sql, [self.run], read)?;
        let named = |(question, outcome, because): (String, String, String)| {
            let outcome = match outcome.as_str() {
                "pass" => Outcome::Pass,
                "fail" => Outcome::Fail,
                "cannot_say" => Outcome::CannotSay,
                _ => return Err(Failure::Damaged("a verdict")),
            };
            Ok(Verdict { question, outcome, because, measured: None })
        };
        found.into_iter().map(named).collect()
    }

    fn lines(&self, sql: &str, key: impl Params) -> Result<Vec<String>> {
        rows(self.connection, sql, key, |cells| cells.next())
    }
}
