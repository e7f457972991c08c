//! Loads a run, in the order in which its rows were saved.

mod minutes;

use super::block::{unpack_gate, unpack_minute, unpack_slices};
use super::cells::{Cells, rows};
use super::{Failure, host, packed};
use block::{Bytes, Span};
use rusqlite::{Connection, OptionalExtension as _, Params, Result, Row};
use stats::run::{
    Cell, Class, DeviceRow, DeviceSeries, Event, GateSeries, Hits, HostRecord, HostRow, Identity, Kind,
    PartitionRecord, Point, Run, RunActor, RunPlace, Series, Setting, State, Value,
};
use stats::{BurstAllowed, CycleRecord, Histogram, LimitsInForce, Measured, ObjectRecord, Outcome, Verdict};
use std::collections::BTreeMap;

/// The detail in which a run is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    Whole,
    /// If the run has more slices than this, minutes replace its seconds.
    Within(u64),
    /// Like `Within`, but without percentiles over time for the classes that are parts of a whole,
    /// which pages and tables do not show.
    Drawn(u64),
}

/// Loads a run; `None` if there is none with that number.
pub(super) fn load(connection: &Connection, number: i64, detail: Detail) -> Result<Option<Run>, Failure> {
    let Some(mut run) = load_run(connection, number)? else { return Ok(None) };
    let loader = Loader { connection, run: number };
    let is_whole = match detail {
        Detail::Whole => true,
        Detail::Within(most) | Detail::Drawn(most) => loader.slices()? <= most,
    };
    loader.about(&mut run)?;
    run.points = loader.points()?;
    run.settings = loader.settings()?;
    run.cells = loader.cells()?;
    run.series =
        if is_whole { loader.series()? } else { loader.series_by_minute(!matches!(detail, Detail::Drawn(_)))? };
    run.gates = if is_whole { loader.gates()? } else { loader.gates_by_minute()? };
    run.host = loader.host()?;
    run.events = loader.events()?;
    run.cycles = loader.cycles()?;
    run.objects = loader.objects()?;
    run.partitions = loader.partitions()?;
    run.verdicts = loader.verdicts()?;
    run.notes = loader.lines("SELECT line FROM note WHERE run = ?1 ORDER BY n", [number])?;
    Ok(Some(run))
}

fn load_run(connection: &Connection, number: i64) -> Result<Option<Run>, Failure> {
    let mut statement = connection.prepare(
        "SELECT tool, title, command, text, version, seed, started_unix_ms, clock, state,
            host, kernel, cpu, cores, memory_bytes, storage, backend,
            scale_factor, scale_published_iops, scale_measured_iops
        FROM run JOIN machine ON machine.id = run.machine WHERE run.id = ?1",
    )?;
    let read = |row: &Row<'_>| {
        let mut cells = Cells::of(row);
        let mut identity = Identity {
            tool: cells.next()?,
            title: cells.next()?,
            command: cells.next()?,
            text: cells.next()?,
            version: cells.next()?,
            seed: cells.number()?,
            started_unix_ms: cells.number()?,
            ..Identity::default()
        };
        identity.simulated = cells.next::<String>()? == "virtual";
        identity.state = match cells.next::<String>()?.as_str() {
            "running" => State::Running,
            "ended" => State::Ended,
            _ => State::CutShort,
        };
        Ok(Run { identity, machine: cells.machine()?, scale: cells.scale()?, ..Run::default() })
    };
    Ok(statement.query_row([number], read).optional()?)
}

/// Reads the rows of one run.
struct Loader<'c> {
    connection: &'c Connection,
    run: i64,
}

impl Loader<'_> {
    fn about(&self, run: &mut Run) -> Result<()> {
        let sql = "SELECT key, word FROM label WHERE run = ?1 ORDER BY key";
        run.labels = self.rows(sql, |cells| Ok((cells.next()?, cells.next()?)))?;
        let sql = "SELECT kind, name, size_bytes FROM place WHERE run = ?1 ORDER BY n";
        run.places =
            self.rows(sql, |cells| Ok(RunPlace { kind: cells.next()?, name: cells.next()?, size: cells.optional()? }))?;
        let sql = "SELECT name, host, grp, place FROM actor WHERE run = ?1 ORDER BY n";
        run.actors = self.rows(sql, |cells| {
            Ok(RunActor { name: cells.next()?, host: cells.next()?, group: cells.next()?, place: cells.next()? })
        })?;
        Ok(())
    }

    fn points(&self) -> Result<Vec<Point>> {
        let sql = "SELECT name, about, start_ns, end_ns, stalled_ns, coalesce(arm, '') FROM point
            LEFT JOIN point_arm ON point_arm.run = point.run AND point_arm.point = n WHERE point.run = ?1 ORDER BY n";
        let mut points = self.rows(sql, |cells| {
            let (name, about) = (cells.next()?, cells.next()?);
            let (start, end, stalled) = (cells.span()?, cells.span()?, cells.optional()?.map(Span::from_nanos));
            Ok(Point { name, about, start, end, stalled, arm: cells.next()?, ..Point::default() })
        })?;
        let sql = "SELECT line FROM point_command WHERE run = ?1 AND point = ?2 AND form = ?3 ORDER BY n";
        for (n, point) in points.iter_mut().enumerate() {
            point.commands = self.lines(sql, (self.run, n as i64, "run"))?;
            point.commands_published = self.lines(sql, (self.run, n as i64, "published"))?;
        }
        Ok(points)
    }

    fn settings(&self) -> Result<Vec<Setting>, Failure> {
        let sql = "SELECT point, actor, key, number, word FROM setting WHERE run = ?1 ORDER BY n";
        let found = self.rows(sql, |cells| {
            let (point, actor, key) = (cells.next()?, cells.next()?, cells.next()?);
            let value = match (cells.next()?, cells.next()?) {
                (Some(number), None) => Some(Value::Number(number)),
                (None, Some(word)) => Some(Value::Word(word)),
                _ => None,
            };
            Ok(value.map(|value| Setting { point, actor, key, value }))
        })?;
        found.into_iter().map(|setting| setting.ok_or(Failure::Damaged("a setting"))).collect()
    }

    fn cells(&self) -> Result<Vec<Cell>, Failure> {
        let sql = "SELECT point, actor, class, measured_ns, ops, bytes, failed, short, late, late_max_ns, held,
                never_sent
            FROM cell WHERE run = ?1 ORDER BY n";
        let mut found = self.rows(sql, |cells| {
            let (point, actor, class) = (cells.next()?, cells.next()?, Class::named(cells.next::<String>()?));
            let cell = Cell::new(point, actor, class, cells.span()?);
            Ok(Cell {
                ops: cells.number()?,
                bytes: cells.optional()?,
                failed: cells.optional()?,
                short: cells.optional()?,
                late: cells.optional()?,
                late_max: cells.optional()?.map(Span::from_nanos),
                held: cells.optional()?,
                never_sent: cells.optional()?,
                ..cell
            })
        })?;
        for cell in &mut found {
            cell.latencies = self.latencies(cell)?;
        }
        Ok(found)
    }

    fn latencies(&self, cell: &Cell) -> Result<Vec<(Kind, Histogram)>, Failure> {
        let sql = "SELECT kind, count, sum_ns, min_ns, max_ns, buckets FROM latency
            WHERE run = ?1 AND point = ?2 AND actor = ?3 AND class = ?4 ORDER BY rowid";
        let key = (self.run, cell.point, cell.actor, cell.class.name());
        let found = rows(self.connection, sql, key, |cells| {
            let (kind, count) = (cells.next::<String>()?, cells.number()?);
            Ok((kind, count, [cells.span()?, cells.span()?, cells.span()?], cells.next::<Vec<u8>>()?))
        })?;
        let histogram = |(kind, count, [sum, min, max], packed): (String, u64, [Span; 3], Vec<u8>)| {
            let buckets = packed::unpack_buckets(&packed).filter(|(_, total)| *total == count);
            let histogram = buckets.and_then(|(buckets, _)| Histogram::from_filled(&buckets, sum, min, max));
            Kind::from_key(&kind).zip(histogram).ok_or(Failure::Damaged("a histogram"))
        };
        found.into_iter().map(histogram).collect()
    }

    fn series(&self) -> Result<Vec<Series>, Failure> {
        let sql = "SELECT minute.actor, minute.class, block.slices, times.response
            FROM minute JOIN block ON block.minute = minute.id LEFT JOIN times ON times.minute = minute.id
            WHERE minute.run = ?1 ORDER BY minute.id";
        let rows = self.rows(sql, |cells| {
            let (actor, class) = (cells.next()?, cells.next::<String>()?);
            Ok((actor, class, cells.next::<Vec<u8>>()?, cells.next::<Option<Vec<u8>>>()?))
        })?;
        let mut found = SeriesFound::default();
        for (actor, class, packed, times) in rows {
            let series = found.of(actor, class);
            series.slices.extend(unpack_slices(&packed).ok_or(Failure::Damaged("a minute"))?);
            if let Some(times) = times {
                series.minutes.push(unpack_minute(&times).ok_or(Failure::Damaged("the times of a minute"))?);
            }
        }
        Ok(found.all)
    }

    fn gates(&self) -> Result<Vec<GateSeries>, Failure> {
        let sql = "SELECT actor, rows FROM gate WHERE run = ?1 ORDER BY id";
        let found: Vec<(u32, Vec<u8>)> = self.rows(sql, |cells| Ok((cells.next()?, cells.next()?)))?;
        let mut gates: Vec<GateSeries> = Vec::new();
        for (actor, packed) in found {
            let rows = unpack_gate(&packed).ok_or(Failure::Damaged("a gate's minute"))?;
            match gates.iter_mut().find(|known| known.actor == actor) {
                Some(known) => known.rows.extend(rows),
                None => gates.push(GateSeries { actor, rows }),
            }
        }
        Ok(gates)
    }

    fn host(&self) -> Result<HostRecord, Failure> {
        let mut found = HostRecord::default();
        let blocks: Vec<Vec<u8>> =
            self.rows("SELECT rows FROM host WHERE run = ?1 ORDER BY n", |cells| cells.next())?;
        for packed in blocks {
            found.rows.extend(host::unpack::<HostRow>(&packed).ok_or(Failure::Damaged("a minute of the host"))?);
        }
        let sql = "SELECT name, rows FROM device WHERE run = ?1 ORDER BY id";
        let blocks: Vec<(String, Vec<u8>)> = self.rows(sql, |cells| Ok((cells.next()?, cells.next()?)))?;
        for (name, packed) in blocks {
            let rows = host::unpack::<DeviceRow>(&packed).ok_or(Failure::Damaged("a minute of a device"))?;
            match found.devices.iter_mut().find(|known| known.name == name) {
                Some(known) => known.rows.extend(rows),
                None => found.devices.push(DeviceSeries { name, rows }),
            }
        }
        Ok(found)
    }

    fn events(&self) -> Result<Vec<Event>> {
        let sql = "SELECT point, actor, at_ns, kind, name, number FROM event WHERE run = ?1 ORDER BY n";
        self.rows(sql, |cells| {
            Ok(Event {
                point: cells.next()?,
                actor: cells.next()?,
                at: cells.span()?,
                kind: cells.next()?,
                name: cells.next()?,
                number: cells.next()?,
            })
        })
    }

    fn cycles(&self) -> Result<Vec<(u32, CycleRecord)>> {
        let sql = "SELECT actor, point, due_ns, start_ns, sleep_ns, wij_ns, write_ns, cycle_ns, blocks
            FROM cycle WHERE run = ?1 ORDER BY n";
        self.rows(sql, |cells| {
            let actor = cells.next()?;
            let cycle = CycleRecord {
                phase: cells.next()?,
                due: cells.span()?,
                start: cells.span()?,
                sleep: cells.span()?,
                wij: cells.span()?,
                write: cells.span()?,
                cycle: cells.span()?,
                blocks: cells.number()?,
            };
            Ok((actor, cycle))
        })
    }

    fn objects(&self) -> Result<Vec<ObjectRecord>, Failure> {
        let sql = "SELECT path, is_group, used_start_bytes, used_end_bytes, first_bin, bins
            FROM object WHERE run = ?1 ORDER BY n";
        let found = self.rows(sql, |cells| {
            let object = ObjectRecord {
                path: cells.next()?,
                is_group: cells.next()?,
                used_start: cells.optional()?.map(Bytes),
                used_end: cells.optional()?.map(Bytes),
                ..ObjectRecord::default()
            };
            Ok((object, cells.number()?, cells.next::<Vec<u8>>()?))
        })?;
        let mut objects = Vec::new();
        for (n, (object, first, bins)) in found.into_iter().enumerate() {
            let trace = packed::unpack_trace(first, &bins).ok_or(Failure::Damaged("a dispatch trace"))?;
            objects.push(ObjectRecord { trace, limits: self.limits(n)?, ..object });
        }
        Ok(objects)
    }

    fn partitions(&self) -> Result<Vec<PartitionRecord>> {
        let sql = "SELECT point, name, size_bytes, resident_bytes, found, missed, evicted
            FROM cache_partition WHERE run = ?1 ORDER BY n";
        self.rows(sql, |cells| {
            Ok(PartitionRecord {
                point: cells.next()?,
                name: cells.next()?,
                size: cells.number()?,
                resident: cells.number()?,
                asked: Hits { found: cells.number()?, missed: cells.number()? },
                evicted: cells.number()?,
            })
        })
    }

    fn limits(&self, object: usize) -> Result<Vec<LimitsInForce>> {
        let sql = "SELECT policy, ceiling_iops, ceiling_bytes, floor_iops, floor_bytes, burst_ppm, burst_ns,
            floor_latency_ns FROM limits LEFT JOIN limits_beside USING (run, object, point)
            WHERE run = ?1 AND object = ?2 ORDER BY point";
        let burst = |ppm: Option<u64>, ns: Option<u64>| {
            ppm.zip(ns).map(|(ppm, ns)| BurstAllowed { ppm, duration: Span::from_nanos(ns) })
        };
        rows(self.connection, sql, (self.run, object as i64), |cells| {
            Ok(LimitsInForce {
                policy: cells.next()?,
                ceiling_iops: cells.optional()?,
                ceiling_bytes: cells.optional()?,
                floor_iops: cells.optional()?,
                floor_bytes: cells.optional()?,
                burst: burst(cells.optional()?, cells.optional()?),
                floor_latency: cells.optional()?.map(Span::from_nanos),
            })
        })
    }

    fn verdicts(&self) -> Result<Vec<Verdict>, Failure> {
        let sql = "SELECT question, outcome, because, measured, bound, unit FROM verdict WHERE run = ?1 ORDER BY n";
        let found = self.rows(sql, |cells| {
            let (question, outcome, because) = (cells.next()?, cells.next::<String>()?, cells.next()?);
            let (value, bound, unit) = (cells.next()?, cells.next()?, cells.next()?);
            let measured = Option::zip(value, bound).zip(unit);
            let measured = measured.map(|((value, bound), unit)| Measured { value, bound, unit });
            let outcome = match outcome.as_str() {
                "pass" => Some(Outcome::Pass),
                "fail" => Some(Outcome::Fail),
                "cannot_say" => Some(Outcome::CannotSay),
                _ => None,
            };
            Ok(outcome.map(|outcome| Verdict { question, outcome, because, measured }))
        })?;
        found.into_iter().map(|verdict| verdict.ok_or(Failure::Damaged("a verdict"))).collect()
    }

    fn lines(&self, sql: &str, key: impl Params) -> Result<Vec<String>> {
        rows(self.connection, sql, key, |cells| cells.next())
    }

    fn rows<T>(&self, sql: &str, read: impl FnMut(&mut Cells<'_>) -> Result<T>) -> Result<Vec<T>> {
        rows(self.connection, sql, [self.run], read)
    }
}

/// Series by actor and class. During a run the minutes of all series are written interleaved.
#[derive(Default)]
struct SeriesFound {
    all: Vec<Series>,
    numbers: BTreeMap<(u32, String), usize>,
}

impl SeriesFound {
    /// The series of a class, which is added if it is new.
    fn of(&mut self, actor: u32, class: String) -> &mut Series {
        let SeriesFound { all, numbers } = self;
        let at = *numbers.entry((actor, class)).or_insert_with_key(|(actor, class)| {
            let class = Class::named(class.clone());
            all.push(Series { actor: *actor, class, slices: Vec::new(), minutes: Vec::new() });
            all.len() - 1
        });
        &mut all[at]
    }
}
