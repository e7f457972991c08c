//! The results database: one SQLite file with any number of complete runs. All SQL for results is
//! here.
//!
//! A run has a row from its beginning and is written in transactions, so whatever ends it early
//! leaves what was measured until then. While runs are written nothing is synced. The last program
//! that closes the file checkpoints its write-ahead log; then it is a single file that can be
//! copied or sent.

mod block;
mod cells;
mod column;
mod earlier;
mod edit;
mod escape;
mod functions;
mod host;
mod import;
mod list;
mod load;
mod math;
mod packed;
mod query;
mod save;
mod schema;
mod unwritable;

pub use import::Imported;
pub use list::{Filter, RunLine};
pub use load::Detail;
pub use query::{Answer, ROWS_MAX, SqlValue};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use stats::run::Run;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for another process that is writing to the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// An open results file.
#[derive(Debug)]
pub struct Results {
    connection: Connection,
    path: PathBuf,
    /// The name given to SQLite: the path, or a URI if nothing can be written beside the file.
    name: PathBuf,
}

/// Why results could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file does not exist and was not to be created.
    #[error("{}: no such file; name a file of results that a run has written", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// The file is empty and was to be read.
    #[error("{}: is empty and no results database; it was left as it is, name one that a run has written", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a results file.
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
    /// The file is read-only, and part of its data is in a log beside it.
    #[error("{}: cannot be read where nothing can be written, because {}-wal has part of it; copy both and open the copy",
        path.display(), path.display())]
    Unfinished {
        /// The file.
        path: PathBuf,
    },
    /// The file is read-only and has an older format.
    #[error("{}: written in format {found}, and cannot be brought up to date where nothing can be written; open a copy of it",
        path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: usize,
    },
    /// The file was opened read-only because it or what is beside it cannot be written, and was to
    /// be changed.
    #[error("{}: cannot be changed, because it or its folder cannot be written; look at its permissions and the space there, or open a copy of it", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
    },
    /// An older file could not be backed up, so it was not upgraded.
    #[error("{}: not upgraded, because no copy of it could be written to {}", path.display(), copy.display())]
    Backup {
        /// The file.
        path: PathBuf,
        /// The path of the backup.
        copy: PathBuf,
        /// The reason.
        source: rusqlite::Error,
    },
    /// The file has no run with that number.
    #[error("{}: no run {run}; list the runs to see which there are", path.display())]
    NoRun {
        /// The file.
        path: PathBuf,
        /// The number asked for.
        run: i64,
    },
    /// The file has no run at all.
    #[error("{}: no run is kept yet; run something first, or name another file with --results", path.display())]
    NoRunYet {
        /// The file.
        path: PathBuf,
    },
    /// The name is that of a folder.
    #[error("{}: is a folder; name a file in it", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// No run, or more than one, has that name.
    #[error("{}: {} called {name:?}; give its number, `last`, `last~1` or eight characters of its uuid", path.display(),
        if *found == 0 { "no run is" } else { "several runs are" })]
    NotNamed {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// How many were found.
        found: usize,
    },
    /// A query is invalid.
    #[error("the query is wrong: {why}")]
    Query {
        /// SQLite's message.
        why: String,
    },
    /// A query has no statement.
    #[error("the query is empty; give a statement, as in: select run, title from results")]
    NoQuery,
    /// A query exceeded its time limit.
    #[error("the query took too long and was ended; ask less, or give it more time")]
    TooLong,
    /// A statement is not a query.
    #[error("only queries are answered here; nothing is changed by SQL, see results delete and label")]
    NotAQuery,
    /// A row of a run holds something that is never written.
    #[error("{}: run {run} is damaged: {what} cannot be read", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The run's number.
        run: i64,
        /// What could not be read.
        what: &'static str,
    },
    /// SQLite failed.
    #[error("{}: {}", path.display(), said(failure))]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The reason, which the message includes.
        failure: rusqlite::Error,
    },
}

/// What SQLite's failure means, and what to do.
fn said(failure: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, ReadOnly};
    let said = match failure.sqlite_error_code() {
        Some(DatabaseCorrupt) => {
            "is damaged; `sqlite3 FILE .recover` prints what can still be read, --results names another file"
        }
        Some(DatabaseBusy | DatabaseLocked) => {
            "database is locked, as another program is writing to it; try again when that is done"
        }
        Some(DiskFull) => "there is no space left for it; free some",
        Some(CannotOpen) => "cannot be opened; look at its permissions and those of its folder",
        Some(ReadOnly) => "cannot be written; look at its permissions and those of its folder",
        _ => return format!("the results database failed: {failure}"),
    };
    said.to_owned()
}

/// Whether the error means that a file can only be read.
fn is_read_only(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, ReadOnly};
    matches!(error.sqlite_error_code(), Some(ReadOnly | CannotOpen | DatabaseBusy))
}

/// Why rows could not be read.
#[derive(Debug)]
enum Failure {
    /// An error of SQLite.
    Sqlite(rusqlite::Error),
    /// A row holds something that is never written.
    Damaged(&'static str),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        Failure::Sqlite(error)
    }
}

impl Failure {
    /// As an error about a run of the file at `path`.
    fn of(self, path: &Path, run: i64) -> Error {
        match self {
            Failure::Sqlite(source) => Error::sqlite(path, source),
            Failure::Damaged(what) => Error::Damaged { path: path.into(), run, what },
        }
    }
}

impl Error {
    /// Whether a retry may succeed: another program was writing, or there was no space.
    pub fn may_pass(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, DiskFull};
        let Error::Sqlite { failure, .. } = self else { return false };
        matches!(failure.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | DiskFull))
    }

    fn sqlite(path: &Path, source: rusqlite::Error) -> Error {
        Error::Sqlite { path: path.into(), failure: source }
    }
}

impl Results {
    /// Opens the file at `path`. Creates it if there is none, and upgrades an older one after a
    /// backup (`NAME.v1.bak`) beside it.
    ///
    /// # Errors
    /// The file is not a results file, is newer than this program, or cannot be read or written.
    pub fn open(path: &Path) -> Result<Results, Error> {
        Results::with(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// [`Results::open`] of an existing file. A file on a read-only or full file system, or in a
    /// folder that the user cannot write, is opened read-only.
    ///
    /// # Errors
    /// There is no file, and those of [`Results::open`].
    pub fn open_existing(path: &Path) -> Result<Results, Error> {
        if !path.exists() {
            return Err(Error::NoFile { path: path.into() });
        }
        match Results::with(path, OpenFlags::empty()) {
            Err(Error::Sqlite { failure, .. }) if unwritable::is_meant(&failure) => unwritable::open(path),
            opened => opened,
        }
    }

    /// Saves a whole run and returns its number. If it fails, nothing is saved.
    ///
    /// # Errors
    /// The file cannot be written, in particular because the disk is full.
    pub fn save(&mut self, run: &Run) -> Result<i64, Error> {
        self.write(|connection| save::save(connection, run, None, None))
    }

    /// Saves a run in progress again under its number; `run` must continue the saved one. Minutes
    /// that are over are not written again.
    ///
    /// # Errors
    /// The file cannot be written, or the run was deleted meanwhile.
    pub fn replace(&mut self, number: i64, run: &Run) -> Result<(), Error> {
        let replaced = self.write(|connection| save::replace(connection, number, run))?;
        if replaced { Ok(()) } else { Err(Error::NoRun { path: self.path.clone(), run: number }) }
    }

    /// Loads a whole run, equal to the one that was saved.
    ///
    /// # Errors
    /// There is no such run, or its rows cannot be read.
    pub fn load(&self, run: i64) -> Result<Run, Error> {
        self.load_as(run, Detail::Whole)
    }

    /// [`Results::load`], but if the run has more slices than `detail` allows, each minute is one
    /// slice, with percentiles within 3.2 %. A day of a hundred workloads has 26 million seconds,
    /// more than any page can show.
    ///
    /// # Errors
    /// Those of [`Results::load`].
    pub fn load_as(&self, run: i64, detail: Detail) -> Result<Run, Error> {
        // In one transaction, so that all rows are of the same state.
        let found = match self.connection.unchecked_transaction() {
            Ok(transaction) => load::load(&transaction, run, detail),
            Err(source) => Err(Failure::Sqlite(source)),
        };
        match found {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(Error::NoRun { path: self.path.clone(), run }),
            Err(failure) => Err(failure.of(&self.path, run)),
        }
    }

    fn write<T>(&mut self, write: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let path = &self.path;
        if self.name != self.path {
            return Err(Error::Unwritable { path: path.clone() });
        }
        let carry_out = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = write(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        };
        carry_out(&mut self.connection).map_err(|source| Error::sqlite(path, source))
    }

    fn with(path: &Path, create: OpenFlags) -> Result<Results, Error> {
        let sqlite = |source| Error::sqlite(path, source);
        if path.is_dir() {
            return Err(Error::Folder { path: path.into() });
        }
        // Without SQLITE_OPEN_URI a name that starts with `file:` is an ordinary name.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let mut connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(sqlite)?;
        if create.is_empty() && schema::recognise(&connection, path)? == 0 {
            // Another program may be creating it now: once its lock is free that is done. If the
            // file is read-only nobody is creating it.
            let _ = connection.transaction_with_behavior(TransactionBehavior::Immediate).map(drop);
            if schema::recognise(&connection, path)? == 0 {
                return Err(Error::Empty { path: path.into() });
            }
        }
        // Takes effect in a new file. Blocks have 500 to 1000 bytes, and a page of 4096 would waste
        // an eighth.
        connection.pragma_update(None, "page_size", 8192).map_err(sqlite)?;
        schema::prepare(&mut connection, path, schema::STEPS)?;
        functions::register(&connection).map_err(sqlite)?;
        // A write-ahead log without automatic checkpoints, so that nothing is synced while a run is
        // written; the last program that closes the file checkpoints it. On a read-only file the
        // journal mode stays.
        connection
            .pragma_update(None, "journal_mode", "wal")
            .or_else(|source| if is_read_only(&source) { Ok(()) } else { Err(sqlite(source)) })?;
        connection.pragma_update(None, "synchronous", "normal").map_err(sqlite)?;
        connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(sqlite)?;
        Ok(Results { connection, path: path.into(), name: path.into() })
    }
}
