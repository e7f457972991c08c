//! Reading the recordings of a file of version 3, whose tables were renamed: the step to version 4 keeps them anew.

use super::Failure;
use super::cells::{Cells, one, rows};
use super::packed;
use block::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Params, Result, Row};
use stats::{
    CycleRecord, DispatchTrace, FloorFared, HeldBy, Histogram, Interval, LimitsInForce, Machine, ObjectRecord, Origin,
    Outcome, Phase, Recording, Scale, Tally, Verdict, Waits, WorkloadRecord,
};

/// The histograms of a tally as version 3 names them.
const HISTOGRAM_KINDS: [&str; 4] = ["response", "service", "queued", "device"];

/// The numbers of all runs.
pub(super) fn numbers(connection: &Connection) -> Result<Vec<i64>> {
    rows(connection, "SELECT id FROM earlier_run ORDER BY id", [], |cells| cells.next())
}

/// The whole run; `None` when there is none of that number.
pub(super) fn load(connection: &Connection, run: i64) -> Result<Option<Recording>, Failure> {
    let Some(mut recording) = load_run(connection, run)? else { return Ok(None) };
    let loader = Loader { connection, run };
    recording.phases = loader.phases()?;
    recording.workloads = loader.workloads()?;
    recording.objects = loader.objects()?;
    recording.verdicts = loader.verdicts()?;
    recording.notes = loader.lines("SELECT line FROM earlier_note WHERE run = ?1 ORDER BY position", [run])?;
    Ok(Some(recording))
}

fn load_run(connection: &Connection, run: i64) -> Result<Option<Recording>> {
    let mut statement = connection.prepare(
        "SELECT title, plan, command, version, seed, started_unix_ms, simulated, cut_short,
            host, kernel, cpu, cores, memory_bytes, storage, backend,
            scale_factor, scale_published_iops, scale_measured_iops
        FROM earlier_run WHERE id = ?1",
    )?;
    let read = |row: &Row<'_>| {
        let mut cells = Cells::of(row);
        let origin = Origin {
            title: cells.next()?,
            plan: cells.next()?,
            command: cells.next()?,
            version: cells.next()?,
            seed: cells.number()?,
            started_unix_ms: cells.number()?,
            simulated: cells.next()?,
            cut_short: cells.next()?,
        };
        let machine = Machine {
            host: cells.next()?,
            kernel: cells.next()?,
            cpu: cells.next()?,
            cores: cells.next()?,
            memory: Bytes(cells.number()?),
            storage: cells.next()?,
            backend: cells.next()?,
        };
        let (factor, published_iops, measured_iops) = (cells.next()?, cells.next::<Option<f64>>()?, cells.next()?);
        let scale = Option::zip(factor, published_iops).map(|(factor, published_iops)| Scale {
            factor,
            published_iops,
            measured_iops,
        });
        Ok(Recording { origin, machine, scale, ..Recording::default() })
    };
    statement.query_row([run], read).optional()
}

/// Reads the rows that belong to one run.
struct Loader<'c> {
    connection: &'c Connection,
    run: i64,
}

impl Loader<'_> {
    fn phases(&self) -> Result<Vec<Phase>> {
        let sql =
            "SELECT name, about, start_ns, end_ns, stalled_ns FROM earlier_phase WHERE run = ?1 ORDER BY position";
        let read = |cells: &mut Cells<'_>| {
            let (name, about) = (cells.next()?, cells.next()?);
            let (start, end, stalled) = (cells.span()?, cells.span()?, cells.span()?);
            Ok(Phase { name, about, start, end, stalled, ..Phase::default() })
        };
        let mut phases = rows(self.connection, sql, [self.run], read)?;
        let sql =
            "SELECT line FROM earlier_phase_command WHERE run = ?1 AND phase = ?2 AND form = ?3 ORDER BY position";
        for (position, phase) in phases.iter_mut().enumerate() {
            phase.commands = self.lines(sql, (self.run, position as i64, "run"))?;
            phase.commands_published = self.lines(sql, (self.run, position as i64, "published"))?;
        }
        Ok(phases)
    }

    fn workloads(&self) -> Result<Vec<WorkloadRecord>, Failure> {
        let sql = "SELECT name, host, object FROM earlier_workload WHERE run = ?1 ORDER BY position";
        let read = |cells: &mut Cells<'_>| {
            let (name, host, object) = (cells.next()?, cells.next()?, cells.next()?);
            Ok(WorkloadRecord { name, host, object, ..WorkloadRecord::default() })
        };
        let mut workloads = rows(self.connection, sql, [self.run], read)?;
        for (position, workload) in workloads.iter_mut().enumerate() {
            workload.intervals = self.intervals(position)?;
            workload.tallies = self.tallies(position)?;
            workload.cycles = self.cycles(position)?;
        }
        Ok(workloads)
    }

    fn intervals(&self, workload: usize) -> Result<Vec<Interval>, Failure> {
        let sql = "SELECT start_ns, length_ns, reads, writes, other, read_bytes, write_bytes, faults,
                response_count, response_mean_ns, response_p50_ns, response_p99_ns, response_p999_ns, response_max_ns,
                service_count, service_mean_ns, service_p50_ns, service_p99_ns, service_p999_ns, service_max_ns,
                outstanding, wait_ceiling_ns, wait_floors_ns, wait_turn_ns, device_ns, held_by, held_at, floor,
                floor_number
            FROM earlier_interval WHERE run = ?1 AND workload = ?2 ORDER BY position";
        let found = rows(self.connection, sql, (self.run, workload as i64), |cells| {
            let interval = Interval {
                start: cells.span()?,
                length: cells.span()?,
                counts: cells.counts()?,
                response: cells.summary()?,
                service: cells.summary()?,
                outstanding: cells.next()?,
                waits: Waits {
                    ceiling: cells.span()?,
                    floors: cells.span()?,
                    turn: cells.span()?,
                    device: cells.span()?,
                },
                ..Interval::default()
            };
            let held_by: String = cells.next()?;
            let interval = Interval { held_at: cells.next()?, ..interval };
            Ok((interval, held_by, cells.next::<String>()?, cells.optional()?))
        })?;
        let named = |(interval, held_by, floor, number): (Interval, String, String, Option<u64>)| {
            let held_by = HeldBy::from_key(&held_by).ok_or(Failure::Damaged("what held a workload back"))?;
            let floor = FloorFared::from_key(&floor, number).ok_or(Failure::Damaged("how a floor fared"))?;
            Ok(Interval { held_by, floor, ..interval })
        };
        found.into_iter().map(named).collect()
    }

    fn tallies(&self, workload: usize) -> Result<Vec<Tally>, Failure> {
        let sql = "SELECT length_ns, reads, writes, other, read_bytes, write_bytes, faults, late, late_max_ns
            FROM earlier_tally WHERE run = ?1 AND workload = ?2 ORDER BY position";
        let mut tallies = rows(self.connection, sql, (self.run, workload as i64), |cells| {
            let (length, counts) = (cells.span()?, cells.counts()?);
            Ok(Tally { length, counts, late: cells.number()?, late_max: cells.span()?, ..Tally::default() })
        })?;
        for (position, tally) in tallies.iter_mut().enumerate() {
            let kinds = [&mut tally.response, &mut tally.service, &mut tally.queued, &mut tally.device];
            for (kind, into) in HISTOGRAM_KINDS.into_iter().zip(kinds) {
                *into = self.histogram(workload, position, kind)?;
            }
        }
        Ok(tallies)
    }

    fn cycles(&self, workload: usize) -> Result<Vec<CycleRecord>> {
        let sql = "SELECT phase, due_ns, start_ns, sleep_ns, wij_ns, write_ns, cycle_ns, blocks
            FROM earlier_cycle WHERE run = ?1 AND workload = ?2 ORDER BY position";
        rows(self.connection, sql, (self.run, workload as i64), |cells| {
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

    fn histogram(&self, workload: usize, tally: usize, kind: &str) -> Result<Histogram, Failure> {
        let sql = "SELECT count, sum_ns, min_ns, max_ns, buckets FROM earlier_histogram
            WHERE run = ?1 AND workload = ?2 AND tally = ?3 AND kind = ?4";
        let key = (self.run, workload as i64, tally as i64, kind);
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
