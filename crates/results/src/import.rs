//! Imports runs from another results file, or runs that were read from another program's files.

use super::{Error, Failure, Filter, Results, RunLine, load, save};
use rusqlite::{Connection, OpenFlags};
use stats::run::Run;
use std::path::{Path, PathBuf};

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The new runs as pairs (number in the source, number here).
    pub added: Vec<(i64, i64)>,
    /// Number of runs that were here already.
    pub known: usize,
}

impl Results {
    /// Imports runs, all or none, except those that are here already. Their source numbers are
    /// their positions, from 1.
    ///
    /// # Errors
    /// This file cannot be written.
    pub fn take_in(&mut self, runs: &[Run]) -> Result<Imported, Error> {
        let mine = self.list(&Filter::default())?;
        let is_known = |run: &Run| mine.iter().any(|line| started(line) == identity(run));
        let new: Vec<(i64, &Run)> = (1..).zip(runs).filter(|(_, run)| !is_known(run)).collect();
        let save = |connection: &Connection| {
            new.iter().map(|(there, run)| Ok((*there, save::save(connection, run, None, None)?))).collect()
        };
        let added: Vec<(i64, i64)> = self.write(save)?;
        Ok(Imported { known: runs.len() - added.len(), added })
    }

    /// Imports every run of another file that is not here yet, all or none. The other file is not
    /// changed, whatever its format.
    ///
    /// # Errors
    /// The other file is not a results file, is newer or damaged, or this file cannot be written.
    pub fn import(&mut self, other: &Path) -> Result<Imported, Error> {
        let copy = Copy::of(other, &self.path)?;
        let theirs = Results::open_existing(&copy.path)?;
        let mut mine = self.list(&Filter::default())?;
        let mut imported = Imported::default();
        let mut runs = Vec::new();
        for line in theirs.list(&Filter::default())? {
            if mine.iter().any(|known| is_same(known, &line)) {
                imported.known += 1;
                continue;
            }
            match load::load(&theirs.connection, line.id, load::Detail::Whole) {
                Ok(Some(run)) => runs.push((line.clone(), run)),
                Ok(None) => {}
                // Errors name the original file and not its copy.
                Err(failure @ (Failure::Sqlite(_) | Failure::Damaged(_))) => return Err(failure.of(other, line.id)),
            }
            mine.push(line);
        }
        imported.added = self.write(|connection| {
            let save = |(line, run): &(RunLine, _)| Ok((line.id, save::save(connection, run, None, Some(&line.uuid))?));
            runs.iter().map(save).collect()
        })?;
        Ok(imported)
    }
}

/// Whether two lines are the same run: by name, or by start time, host and title, because files of
/// format 3 had no names.
fn is_same(a: &RunLine, b: &RunLine) -> bool {
    a.uuid == b.uuid || started(a) == started(b)
}

fn started(line: &RunLine) -> (u64, &str, &str) {
    (line.started_unix_ms, &line.host, &line.title)
}

fn identity(run: &Run) -> (u64, &str, &str) {
    (run.identity.started_unix_ms, &run.machine.host, &run.identity.title)
}

/// A temporary copy that may be upgraded; removed when dropped.
struct Copy {
    path: PathBuf,
}

impl Copy {
    /// Copies the file `other` to a file beside `beside`.
    fn of(other: &Path, beside: &Path) -> Result<Copy, Error> {
        if !other.exists() {
            return Err(Error::NoFile { path: other.into() });
        }
        let mut name = beside.as_os_str().to_owned();
        name.push(format!(".import-{}", std::process::id()));
        let copy = Copy { path: name.into() };
        // Nothing is written, but a read-only connection could not remove the log that reading
        // creates.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = |source: rusqlite::Error| match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Error::NotResults { path: other.into() },
            _ => Error::sqlite(other, source),
        };
        let connection = Connection::open_with_flags(other, flags).map_err(sqlite)?;
        connection.execute("VACUUM INTO ?1", [copy.path.to_string_lossy()]).map_err(sqlite)?;
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // The log and its index disappear with the last connection; the other files are backups of
        // the upgrade.
        for ending in ["", "-wal", "-shm", ".v1.bak", ".v2.bak", ".v3.bak", ".v4.bak", ".v5.bak", ".v6.bak"] {
            let mut name = self.path.as_os_str().to_owned();
            name.push(ending);
            let _ = std::fs::remove_file(name);
        }
    }
}
