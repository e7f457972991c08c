//! Lists runs, one line each, and resolves their names.

use super::cells::rows;
use super::{Error, Results};
use rusqlite::{Connection, Result, params};
use stats::run::Event;

/// Summary of a run in one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunLine {
    /// Its number in the file, which is never reused.
    pub id: i64,
    /// Its name, which is the same in all files.
    pub uuid: String,
    /// The command that made it.
    pub tool: String,
    /// Its title.
    pub title: String,
    /// When it started, in milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// The version of Seawall that made it.
    pub version: String,
    /// The host it ran on.
    pub host: String,
    /// Whether time was virtual.
    pub simulated: bool,
    /// Whether it was stopped before its end.
    pub cut_short: bool,
    /// Whether it goes on, or the program was killed.
    pub running: bool,
    /// The process that writes it, if it has not ended.
    pub process: Option<String>,
    /// Operations a second of all actors, over the time in which any of them was measured. Where
    /// users of a database had other work beside them, only their transactions, since unlike things
    /// have no sum. Of `orion` the most small requests a second of a point that was
    /// measured to its end. `None` if nothing was measured.
    pub iops: Option<f64>,
    /// Criteria that passed.
    pub passed: usize,
    /// Criteria with the verdict "cannot say".
    pub cannot_say: usize,
    /// Criteria that failed.
    pub failed: usize,
    /// Its labels, as `key=word key=word`.
    pub labels: String,
}

/// Selects the runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only runs of this tool; `simulate` stands for all in virtual time.
    pub tool: Option<String>,
    /// Only runs with all of these labels; without a word, any value matches.
    pub labels: Vec<(String, Option<String>)>,
    /// Only runs started at this time or later, in milliseconds since 1970.
    pub since_unix_ms: Option<u64>,
    /// Only the last ones, at most this many.
    pub last: Option<usize>,
}

impl Results {
    /// The selected runs, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunLine>, Error> {
        let mut lines = list(&self.connection, filter).map_err(|source| Error::sqlite(&self.path, source))?;
        if let Some(last) = filter.last {
            lines.drain(..lines.len().saturating_sub(last));
        }
        Ok(lines)
    }

    /// Resolves `name` to the number of a run: a number, a prefix of its name of at least eight
    /// characters, `last`, or `last~1` for the one before it.
    ///
    /// # Errors
    /// No run, or more than one, matches.
    pub fn number_of(&self, name: &str) -> Result<i64, Error> {
        let found = self.named(name).map_err(|source| Error::sqlite(&self.path, source))?;
        match found[..] {
            [only] => Ok(only),
            [] if self.is_empty().map_err(|source| Error::sqlite(&self.path, source))? => {
                Err(Error::NoRunYet { path: self.path.clone() })
            }
            _ => Err(Error::NotNamed { path: self.path.clone(), name: name.into(), found: found.len() }),
        }
    }

    fn is_empty(&self) -> Result<bool> {
        self.connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM run)", [], |row| row.get(0))
    }

    fn named(&self, name: &str) -> Result<Vec<i64>> {
        let back = match name.strip_prefix("last") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('~').and_then(|back| back.parse::<u32>().ok()),
            None => None,
        };
        let numbers = |sql: &str, key: &dyn rusqlite::ToSql| rows(&self.connection, sql, [key], |cells| cells.next());
        if let Some(back) = back {
            return numbers("SELECT id FROM run ORDER BY id DESC LIMIT 1 OFFSET ?1", &back);
        }
        match name.parse::<i64>() {
            // Eight digits are taken as a prefix, because no file has so many runs.
            Ok(number) if name.len() < 8 => numbers("SELECT id FROM run WHERE id = ?1", &number),
            _ if name.len() < 8 => Ok(Vec::new()),
            _ => numbers("SELECT id FROM run WHERE substr(uuid, 1, length(?1)) = lower(?1) LIMIT 3", &name),
        }
    }
}

/// The actors of a run whose operations are transactions ([`stats::run::Run::has_transactions`]).
const USERS: &str = "(SELECT actor.n FROM actor JOIN place ON place.run = actor.run AND place.n = actor.place
    WHERE actor.run = run.id AND place.kind = 'database' AND run.tool != 'ranread')";

/// The columns of all runs that a filter may name. Actors of a point may be measured one after
/// another: each until its last second there, and the rate is over the time that any of them was.
fn query() -> String {
    format!(
        "SELECT run.id, uuid, tool, title, started_unix_ms, version, host, clock = 'virtual',
            state = 'cut_short', state = 'running',
            CASE tool WHEN 'orion' THEN
                (SELECT max(ops * 1e9 / nullif(measured_ns, 0)) FROM cell
                    JOIN actor ON actor.run = cell.run AND actor.n = cell.actor AND actor.name = 'small'
                    WHERE cell.run = run.id AND class = 'all' AND NOT EXISTS (SELECT 1 FROM event
                        WHERE event.run = run.id AND event.point = cell.point AND kind = ?3))
            ELSE
                (SELECT sum(ops) * 1e9 / nullif(sum(max(until - max(since, coalesce(before, since)), 0)), 0) FROM
                    (SELECT *, max(until) OVER (PARTITION BY point ORDER BY since
                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM
                        (SELECT *, until - measured_ns AS since FROM
                            (SELECT point, ops, measured_ns, min(end_ns, coalesce((SELECT start_ns + length_ns
                                    FROM minute WHERE minute.run = cell.run AND minute.actor = cell.actor
                                        AND class = 'all' AND start_ns < end_ns
                                    ORDER BY minute.n DESC LIMIT 1), end_ns)) AS until
                                FROM cell JOIN point ON point.run = cell.run AND point.n = cell.point
                                WHERE cell.run = run.id AND class = 'all'
                                    AND (cell.actor IN {USERS} OR NOT EXISTS {USERS})))))
            END,
            (SELECT name FROM event WHERE event.run = run.id AND kind = ?4),
            (SELECT count(*) FROM verdict WHERE verdict.run = run.id AND outcome = 'pass'),
            (SELECT count(*) FROM verdict WHERE verdict.run = run.id AND outcome = 'cannot_say'),
            (SELECT count(*) FROM verdict WHERE verdict.run = run.id AND outcome = 'fail'),
            (SELECT coalesce(group_concat(key || '=' || word, ' ' ORDER BY key), '') FROM label
                WHERE label.run = run.id)
        FROM run JOIN machine ON machine.id = run.machine
        WHERE (?1 IS NULL OR tool = ?1 OR (?1 = 'simulate' AND clock = 'virtual'))
            AND (?2 IS NULL OR started_unix_ms >= ?2)
        ORDER BY run.id"
    )
}

fn list(connection: &Connection, filter: &Filter) -> Result<Vec<RunLine>> {
    let since = filter.since_unix_ms.map(|ms| ms as i64);
    let lines = rows(connection, &query(), params![filter.tool, since, Event::INCOMPLETE, Event::PROCESS], |cells| {
        Ok(RunLine {
            id: cells.next()?,
            uuid: cells.next()?,
            tool: cells.next()?,
            title: cells.next()?,
            started_unix_ms: cells.number()?,
            version: cells.next()?,
            host: cells.next()?,
            simulated: cells.next()?,
            cut_short: cells.next()?,
            running: cells.next()?,
            iops: cells.next()?,
            process: cells.next()?,
            passed: cells.count()?,
            cannot_say: cells.count()?,
            failed: cells.count()?,
            labels: cells.next()?,
        })
    })?;
    let mut kept = Vec::new();
    for line in lines {
        if has_labels(connection, line.id, &filter.labels)? {
            kept.push(line);
        }
    }
    Ok(kept)
}

fn has_labels(connection: &Connection, run: i64, labels: &[(String, Option<String>)]) -> Result<bool> {
    let sql = "SELECT count(*) FROM label WHERE run = ?1 AND key = ?2 AND (?3 IS NULL OR word = ?3)";
    for (key, word) in labels {
        let found: i64 = connection.prepare_cached(sql)?.query_row(params![run, key, word], |row| row.get(0))?;
        if found == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Span;
    use stats::run::{Cell, Class, Event, Point, Run, Series, Slice};

    /// Two points of 10 s of which 1 and 2 s are measured, and a third that was cut. All actors of
    /// all points did 22 000 + 40 000 + 90 000 operations in 1 + 2 + 1 s; the best whole point of
    /// Orion did 21 797 small requests a second.
    #[test]
    fn rates_are_over_what_was_measured() {
        let dir = tempfile::tempdir().unwrap();
        let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
        let mut run = Run { points: vec![Point { end: Span::from_secs(10), ..Point::default() }; 3], ..Run::default() };
        ["small", "large"].into_iter().for_each(|name| _ = run.add_actor(name, None));
        for (point, actor, seconds, ops) in [(0, 0, 1, 21_797), (0, 1, 1, 203), (1, 0, 2, 40_000), (2, 0, 1, 90_000)] {
            run.cells.push(Cell { ops, ..Cell::new(point, actor, Class::ALL, Span::from_secs(seconds)) });
        }
        let (kind, name) = (Event::INCOMPLETE.into(), "stopped before its end".into());
        run.events.push(Event { point: Some(2), actor: None, at: Span::ZERO, kind, name, number: None });
        for tool in ["fio", "ramp", "ranread", "oltp", "run", "demo", "simulate", "orion"] {
            run.identity.tool = tool.into();
            results.save(&run).unwrap();
        }
        run.cells.retain(|cell| cell.actor == 1);
        results.save(&run).unwrap();
        let rates: Vec<_> = results.list(&Filter::default()).unwrap().into_iter().map(|line| line.iops).collect();
        let of_all = [Some(152_000.0 / 4.0); 7];
        assert_eq!(rates, [&of_all[..], &[Some(21_797.0), None]].concat(), "large requests alone are no small ones");
    }

    /// In a stage of 7 s one job does 100 operations in the seconds 0 to 2, others 100 each in 1 to
    /// 3 and, after a pause, in 5 to 7: 300 in the five seconds in which any of them ran. A second
    /// stage does 700 in 2 s.
    #[test]
    fn jobs_one_after_another_add_up_their_times() {
        let dir = tempfile::tempdir().unwrap();
        let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
        let seconds = Span::from_secs;
        let point = |start, end| Point { start: seconds(start), end: seconds(end), ..Point::default() };
        let mut run = Run { points: vec![point(0, 7), point(7, 9)], ..Run::default() };
        for (actor, (point, from, ops)) in (0..).zip([(0, 0, 100), (0, 1, 100), (0, 5, 100), (1, 7, 700)]) {
            run.add_actor("job", None);
            run.cells.push(Cell { ops, ..Cell::new(point, actor, Class::ALL, seconds(2)) });
            let slice = |start| Slice { start: seconds(start), length: Span::SECOND, ops: ops / 2, ..Slice::default() };
            let slices = vec![slice(from), slice(from + 1)];
            run.series.push(Series { actor, class: Class::ALL, slices, minutes: Vec::new() });
        }
        run.identity.tool = "fio".into();
        results.save(&run).unwrap();
        let listed = results.list(&Filter::default()).unwrap();
        assert_eq!(listed[0].iops, Some(1000.0 / 7.0));
    }

    /// Users of a database who do 100 transactions in a second beside a workload with 5000 requests
    /// in it: transactions alone have a sum. RanRead reads pages of a database, as requests.
    #[test]
    fn unlike_things_are_not_added_up() {
        let dir = tempfile::tempdir().unwrap();
        let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
        let mut run = Run { points: vec![Point { end: Span::SECOND, ..Point::default() }], ..Run::default() };
        for (kind, ops) in [("database", 100), ("volume", 5000)] {
            let place = run.place(stats::run::RunPlace { kind: kind.into(), name: kind.into(), size: None });
            let actor = run.actors.len() as u32;
            run.add_actor(kind, Some(place));
            run.cells.push(Cell { ops, ..Cell::new(0, actor, Class::ALL, Span::SECOND) });
        }
        for (tool, units, rate) in [("run", ["TPS", "IOPS"], 100.0), ("ranread", ["IOPS", "IOPS"], 5100.0)] {
            run.identity.tool = tool.into();
            let number = results.save(&run).unwrap();
            let line = results.list(&Filter::default()).unwrap().into_iter().find(|line| line.id == number).unwrap();
            assert_eq!((line.iops, [0, 1].map(|actor| run.rate_unit(actor))), (Some(rate), units), "{tool}");
        }
    }

    /// A job in virtual time is found by its own command and by `simulate`; the process that writes
    /// a run is known while it goes on.
    #[test]
    fn a_simulated_job_is_of_two_commands() {
        let dir = tempfile::tempdir().unwrap();
        let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
        let mut run = Run::default();
        run.identity.tool = "fio".into();
        let (kind, name) = (Event::PROCESS.into(), "boot 1 2".into());
        run.events.push(Event { point: None, actor: None, at: Span::ZERO, kind, name, number: None });
        results.save(&run).unwrap();
        run.events.clear();
        run.identity.simulated = true;
        results.save(&run).unwrap();
        let of = |tool: &str| {
            let found = results.list(&Filter { tool: Some(tool.into()), ..Filter::default() }).unwrap();
            found.into_iter().map(|line| (line.id, line.process)).collect::<Vec<_>>()
        };
        assert_eq!(of("fio"), [(1, Some("boot 1 2".into())), (2, None)]);
        assert_eq!(of("simulate"), [(2, None)]);
    }
}
