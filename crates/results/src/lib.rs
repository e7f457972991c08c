//! The results database: one SQLite file with any number of runs, each of them whole. All SQL for
//! results is here.
//!
//! A run has a row from its beginning on and is written in transactions, so that whatever ends it
//! early leaves what was measured until then. While a run is written nothing is synchronised: the
//! write-ahead log is brought into the file when the last program closes it, and then the file is a
//! single one that can be copied or sent.

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

/// An open file of results.
#[derive(Debug)]
pub struct Results {
    connection: Connection,
    path: PathBuf,
    /// What SQLite calls it: the same, but of a file beside which nothing can be written.
    name: PathBuf,
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
    /// There is nothing in the file, and it was to be read.
    #[error("{}: is empty and no results database; it was left as it is, name one that a run has written", path.display())]
    Empty {
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
    /// The file is only read, and part of it stands in a log beside it.
    #[error("{}: cannot be read where nothing can be written, because {}-wal has part of it; copy both and open the copy",
        path.display(), path.display())]
    Unfinished {
        /// The file.
        path: PathBuf,
    },
    /// The file is only read, and of an older format.
    #[error("{}: written in format {found}, and cannot be brought up to date where nothing can be written; open a copy of it",
        path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: usize,
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
    /// No run or several are called so.
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
    /// A query is wrong.
    #[error("the query is wrong: {why}")]
    Query {
        /// SQLite's words.
        why: String,
    },
    /// A query is empty, or a comment.
    #[error("the query is empty; give a statement, as in: select run, title from results")]
    NoQuery,
    /// A query took longer than it may.
    #[error("the query took too long and was ended; ask less, or give it more time")]
    TooLong,
    /// A statement is no query.
    #[error("only queries are answered here; nothing is changed by SQL, see results delete and label")]
    NotAQuery,
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

/// Whether a file could be read and not be changed.
fn is_read_only(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, ReadOnly};
    matches!(error.sqlite_error_code(), Some(ReadOnly | CannotOpen | DatabaseBusy))
}

/// Why rows could not be read.
#[derive(Debug)]
enum Failure {
    /// SQLite said so.
    Sqlite(rusqlite::Error),
    /// The rows are there, but one holds what is never written.
    Damaged(&'static str),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        Failure::Sqlite(error)
    }
}

impl Failure {
    /// Of a run of the file at `path`.
    fn of(self, path: &Path, run: i64) -> Error {
        match self {
            Failure::Sqlite(source) => Error::sqlite(path, source),
            Failure::Damaged(what) => Error::Damaged { path: path.into(), run, what },
        }
    }
}

impl Error {
    /// Whether it may be tried again: another program was writing, or there was no space.
    pub fn may_pass(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, DiskFull};
        let Error::Sqlite { source, .. } = self else { return false };
        matches!(source.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | DiskFull))
    }

    fn sqlite(path: &Path, source: rusqlite::Error) -> Error {
        Error::Sqlite { path: path.into(), source }
    }
}

impl Results {
    /// Opens the file at `path`, makes it if there is none, and brings an older one up to date
    /// after putting a copy (`NAME.v1.bak`) beside it.
    ///
    /// # Errors
    /// When the file is not ours, is newer than this program, or cannot be read or written.
    pub fn open(path: &Path) -> Result<Results, Error> {
        Results::with(path, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// As [`Results::open`], but a file must be there. One that is on a file system mounted for
    /// reading, or in a folder of somebody else's, is read as it is.
    ///
    /// # Errors
    /// When there is no file, and as with [`Results::open`].
    pub fn open_existing(path: &Path) -> Result<Results, Error> {
        if !path.exists() {
            return Err(Error::NoFile { path: path.into() });
        }
        match Results::with(path, OpenFlags::empty()) {
            Err(Error::Sqlite { source, .. }) if unwritable::is_meant(&source) => unwritable::open(path),
            opened => opened,
        }
    }

    /// Writes a whole run and returns its number; when it fails, nothing of it is kept.
    ///
    /// # Errors
    /// When the file cannot be written, above all because the disk is full.
    pub fn save(&mut self, run: &Run) -> Result<i64, Error> {
        self.write(|connection| save::save(connection, run, None, None))
    }

    /// Writes a run in the place of the one of that number, of which it is the same and more: what
    /// goes on has more to tell each time. Minutes that are over are not written again.
    ///
    /// # Errors
    /// When the file cannot be written, or the run was deleted meanwhile.
    pub fn replace(&mut self, number: i64, run: &Run) -> Result<(), Error> {
        let replaced = self.write(|connection| save::replace(connection, number, run))?;
        if replaced { Ok(()) } else { Err(Error::NoRun { path: self.path.clone(), run: number }) }
    }

    /// Reads a whole run, equal to what was saved.
    ///
    /// # Errors
    /// When there is no such run, or its rows cannot be read.
    pub fn load(&self, run: i64) -> Result<Run, Error> {
        self.load_as(run, Detail::Whole)
    }

    /// As [`Results::load`], but where the run has more slices of a second than `detail` says, a
    /// minute is one: its percentiles are within 3.2 % then. A day of a hundred workloads has 26
    /// million seconds, of which no page shows each.
    ///
    /// # Errors
    /// As with [`Results::load`].
    pub fn load_as(&self, run: i64, detail: Detail) -> Result<Run, Error> {
        // One transaction, so that all rows are of the same moment.
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
        // Without SQLITE_OPEN_URI a name that starts with `file:` is a name.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let mut connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(sqlite)?;
        if create.is_empty() && schema::recognise(&connection, path)? == 0 {
            // Another program may be making it right now: its lock is free once that is done. Where
            // nothing can be written nobody makes anything.
            let _ = connection.transaction_with_behavior(TransactionBehavior::Immediate).map(drop);
            if schema::recognise(&connection, path)? == 0 {
                return Err(Error::Empty { path: path.into() });
            }
        }
        // Of a new file: blocks have 500 to 1000 bytes, of which a page of 4096 would waste an
        // eighth.
        connection.pragma_update(None, "page_size", 8192).map_err(sqlite)?;
        schema::prepare(&mut connection, path, schema::STEPS)?;
        functions::register(&connection).map_err(sqlite)?;
        // With a write-ahead log that no commit brings into the file, nothing is synchronised while
        // a run goes on; the log is brought in when the last program closes the file. What a file
        // system refuses is done without.
        connection
            .pragma_update(None, "journal_mode", "wal")
            .or_else(|source| if is_read_only(&source) { Ok(()) } else { Err(sqlite(source)) })?;
        connection.pragma_update(None, "synchronous", "normal").map_err(sqlite)?;
        connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(sqlite)?;
        Ok(Results { connection, path: path.into(), name: path.into() })
    }
}
