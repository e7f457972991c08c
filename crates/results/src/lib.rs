//! The results database: one SQLite file with any number of runs, each of them whole. All SQL for results is here.
//!
//! A run is written in one transaction, so a file never holds part of one. The file keeps to SQLite's rollback journal:
//! while nobody writes, it is a single file that can be copied or sent.

mod load;
mod packed;
mod save;
mod schema;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use stats::Recording;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another process that is writing to the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The histograms of a tally as the database names them, in the order of the fields of [`stats::Tally`].
const HISTOGRAM_KINDS: [&str; 4] = ["response", "service", "queued", "device"];

/// An open file of results.
#[derive(Debug)]
pub struct Results {
    connection: Connection,
    path: PathBuf,
}

/// One run of a file, in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLine {
    /// Its number in the file; never given twice.
    pub id: i64,
    /// The plan's title.
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
    /// Criteria that held.
    pub passed: usize,
    /// Criteria of which the run cannot say.
    pub cannot_say: usize,
    /// Criteria that did not hold.
    pub failed: usize,
}

/// Why results could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such file, and none was to be made.
    #[error("{}: no such file; name a file of results that a run has written", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: not a file of Seawall's results; it was left alone, choose another name", path.display())]
    NotResults {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer Seawall.
    #[error("{}: written in format {found} by a newer Seawall, this one reads up to {known}; use the newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: usize,
        /// The newest format known here.
        known: usize,
    },
    /// A copy of an older file could not be made, so it was not upgraded.
    #[error("{}: not upgraded, because no copy of it could be written to {}", path.display(), copy.display())]
    Backup {
        /// The file.
        path: PathBuf,
        /// Where the copy was to go.
        copy: PathBuf,
        /// Why not.
        source: rusqlite::Error,
    },
    /// The file has no run of that number.
    #[error("{}: no run {run}; list the runs to see which there are", path.display())]
    NoRun {
        /// The file.
        path: PathBuf,
        /// The number asked for.
        run: i64,
    },
    /// A run's rows hold something that is never written.
    #[error("{}: run {run} is damaged: {what} cannot be read", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The run's number.
        run: i64,
        /// What cannot be read.
        what: &'static str,
    },
    /// SQLite could not do it.
    #[error("{}: the results database failed", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}

impl Error {
    fn sqlite(path: &Path, source: rusqlite::Error) -> Error {
        Error::Sqlite { path: path.into(), source }
    }
}

impl Results {
    /// Opens the file at `path`, makes it if there is none, and brings an older one up to date after putting a copy
    /// (`NAME.v1.bak`) beside it.
    ///
    /// # Errors
    /// When the file is not ours, is newer than this program, or cannot be read or written.
    pub fn open(path: &Path) -> Result<Results, Error> {
        Results::with(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// As [`Results::open`], but a file must be there.
    ///
    /// # Errors
    /// When there is no file, and as with [`Results::open`].
    pub fn open_existing(path: &Path) -> Result<Results, Error> {
        if !path.exists() {
            return Err(Error::NoFile { path: path.into() });
        }
        Results::with(path, OpenFlags::empty())
    }

    /// Writes a whole run and returns its number; when it fails, nothing of it is kept.
    ///
    /// # Errors
    /// When the file cannot be written, above all because the disk is full.
    pub fn save(&mut self, recording: &Recording) -> Result<i64, Error> {
        let path = &self.path;
        let write = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let run = save::save(&transaction, recording)?;
            transaction.commit()?;
            Ok(run)
        };
        write(&mut self.connection).map_err(|source| Error::sqlite(path, source))
    }

    /// Reads a whole run, equal to what was saved.
    ///
    /// # Errors
    /// When there is no such run, or its rows cannot be read.
    pub fn load(&self, run: i64) -> Result<Recording, Error> {
        let path = || self.path.clone();
        // One transaction, so that all rows are of the same moment.
        let found = match self.connection.unchecked_transaction() {
            Ok(transaction) => load::load(&transaction, run),
            Err(source) => return Err(Error::Sqlite { path: path(), source }),
        };
        match found {
            Ok(Some(recording)) => Ok(recording),
            Ok(None) => Err(Error::NoRun { path: path(), run }),
            Err(load::Failure::Damaged(what)) => Err(Error::Damaged { path: path(), run, what }),
            Err(load::Failure::Sqlite(source)) => Err(Error::Sqlite { path: path(), source }),
        }
    }

    /// All runs, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(&self) -> Result<Vec<RunLine>, Error> {
        load::list(&self.connection).map_err(|source| Error::sqlite(&self.path, source))
    }

    fn with(path: &Path, create: OpenFlags) -> Result<Results, Error> {
        let sqlite = |source| Error::sqlite(path, source);
        // Without SQLITE_OPEN_URI a name that starts with `file:` is a name.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let mut connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(sqlite)?;
        schema::prepare(&mut connection, path, schema::STEPS)?;
        Ok(Results { connection, path: path.into() })
    }
}
