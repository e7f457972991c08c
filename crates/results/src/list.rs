//! Which runs there are, in a line each, and how one of them is named.

use super::cells::rows;
use super::{Error, Results};
use rusqlite::{Connection, Result, params};

/// One run of a file, in a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunLine {
    /// Its number in the file; never given twice.
    pub id: i64,
    /// Its name in all files.
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
    /// Whether it has not ended, or the program was killed.
    pub running: bool,
    /// Operations of all actors over the length of the run, a second; `None` where nothing was
    /// measured.
    pub iops: Option<f64>,
    /// Criteria that held.
    pub passed: usize,
    /// Criteria of which the run cannot say.
    pub cannot_say: usize,
    /// Criteria that did not hold.
    pub failed: usize,
    /// What the user said of it, as `key=word key=word`.
    pub labels: String,
}

/// Which runs are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this tool.
    pub tool: Option<String>,
    /// With all of these labels; a label without a word has any.
    pub labels: Vec<(String, Option<String>)>,
    /// Started at this time or later, in milliseconds since 1970.
    pub since_unix_ms: Option<u64>,
    /// Of those the last so many.
    pub last: Option<usize>,
}

impl Results {
    /// The runs that pass the filter, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunLine>, Error> {
        let mut lines = list(&self.connection, filter).map_err(|source| Error::sqlite(&self.path, source))?;
        if let Some(last) = filter.last {
            lines.drain(..lines.len().saturating_sub(last));
        }
        Ok(lines)
    }

    /// The number of the run that `name` stands for: its number, the beginning of its name in all
    /// files (eight characters or more), `last`, or `last~1` for the one before it.
    ///
    /// # Errors
    /// None or several are called so.
    pub fn number_of(&self, name: &str) -> Result<i64, Error> {
        let found = self.named(name).map_err(|source| Error::sqlite(&self.path, source))?;
        match found[..] {
            [only] => Ok(only),
            _ => Err(Error::NotNamed { path: self.path.clone(), name: name.into(), found: found.len() }),
        }
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
            // Eight digits may as well begin a name, but no file has so many runs.
            Ok(number) if name.len() < 8 => numbers("SELECT id FROM run WHERE id = ?1", &number),
            _ if name.len() < 8 => Ok(Vec::new()),
            _ => numbers("SELECT id FROM run WHERE substr(uuid, 1, length(?1)) = lower(?1) LIMIT 3", &name),
        }
    }
}

fn list(connection: &Connection, filter: &Filter) -> Result<Vec<RunLine>> {
    let sql = "SELECT run.id, uuid, tool, title, started_unix_ms, version, host, clock = 'virtual',
            state = 'cut_short', state = 'running',
            (SELECT sum(ops) FROM cell WHERE cell.run = run.id AND class = 'all') * 1e9
                / nullif((SELECT max(end_ns) - min(start_ns) FROM point WHERE point.run = run.id), 0),
            (SELECT count(*) FROM verdict WHERE verdict.run = run.id AND outcome = 'pass'),
            (SELECT count(*) FROM verdict WHERE verdict.run = run.id AND outcome = 'cannot_say'),
            (SELECT count(*) FROM verdict WHERE verdict.run = run.id AND outcome = 'fail'),
            (SELECT coalesce(group_concat(key || '=' || word, ' ' ORDER BY key), '') FROM label
                WHERE label.run = run.id)
        FROM run JOIN machine ON machine.id = run.machine
        WHERE (?1 IS NULL OR tool = ?1) AND (?2 IS NULL OR started_unix_ms >= ?2)
        ORDER BY run.id";
    let since = filter.since_unix_ms.map(|ms| ms as i64);
    let lines = rows(connection, sql, params![filter.tool, since], |cells| {
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
