//! Runs of another file, of another machine or an earlier time; and runs that were read from
//! another program's.

use super::{Error, Failure, Filter, Results, RunLine, load, save};
use rusqlite::{Connection, OpenFlags};
use stats::run::Run;
use std::path::{Path, PathBuf};

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The numbers that the runs have here, by their numbers there.
    pub added: Vec<(i64, i64)>,
    /// How many were here already.
    pub known: usize,
}

impl Results {
    /// Takes in runs that were made elsewhere, all or none, without those that are here already.
    /// Their numbers there are those in the order given, from 1.
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

    /// Takes in every run of another file that is not here yet, all or none. The other file is left
    /// as it is, of whatever format.
    ///
    /// # Errors
    /// The other file is none of ours, newer or damaged, or this one cannot be written.
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
                // Named by its own name and not by that of its copy.
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

/// Whether two lines are of one run: by its name, or, as files of format 3 had none, by when and
/// how it was started.
fn is_same(a: &RunLine, b: &RunLine) -> bool {
    a.uuid == b.uuid || started(a) == started(b)
}

fn started(line: &RunLine) -> (u64, &str, &str) {
    (line.started_unix_ms, &line.host, &line.title)
}

fn identity(run: &Run) -> (u64, &str, &str) {
    (run.identity.started_unix_ms, &run.machine.host, &run.identity.title)
}

/// A copy that may be brought up to date; gone with its end.
struct Copy {
    path: PathBuf,
}

impl Copy {
    /// Of the file `other`, beside the file `beside`.
    fn of(other: &Path, beside: &Path) -> Result<Copy, Error> {
        if !other.exists() {
            return Err(Error::NoFile { path: other.into() });
        }
        let mut name = beside.as_os_str().to_owned();
        name.push(format!(".import-{}", std::process::id()));
        let copy = Copy { path: name.into() };
        // Nothing is written, but a user who may not write cannot take away the log that reading
        // needs.
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
        // The log and its index go with the last connection; what else is left was put there by the
        // upgrade.
        for ending in ["", "-wal", "-shm", ".v1.bak", ".v2.bak", ".v3.bak", ".v4.bak", ".v5.bak", ".v6.bak"] {
            let mut name = self.path.as_os_str().to_owned();
            name.push(ending);
            let _ = std::fs::remove_file(name);
        }
    }
}
