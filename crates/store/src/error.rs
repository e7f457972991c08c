//! What can go wrong with a pool.

use crate::check::Trouble;
use crate::mapped::MapError;
use std::path::{Path, PathBuf};
use uring::disk::OpenError;

/// Why a pool could not do what was asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder contains something else.
    #[error("{}: not a pool, and not empty; name a pool, or, to make one, a folder that is empty or not there", .0.display())]
    NotAPool(PathBuf),
    /// There is no pool.
    #[error("{}: no pool there; `seawall serve --pool DIR --create` makes one", .0.display())]
    Missing(PathBuf),
    /// Its creation was interrupted.
    #[error("{}: a pool was begun here and not finished; `seawall serve --pool DIR --create` makes it anew", .0.display())]
    Unfinished(PathBuf),
    /// Another server has it open.
    #[error("{}: the pool is in use by another server (its file `lock` is held)", .0.display())]
    InUse(PathBuf),
    /// It was written by a later program.
    #[error("{}: the pool has format {found}, this program knows up to {known}; use a newer seawall", .path.display())]
    TooNew {
        /// The pool.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest known format.
        known: u32,
    },
    /// It was written by an earlier program.
    #[error(
        "{}: the pool has format {found}, this program needs {needed}; copy its LUNs with the seawall that made it",
        .path.display()
    )]
    TooOld {
        /// The pool.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The only supported format.
        needed: u32,
    },
    /// The catalogue is lost, but what it named may still be there.
    #[error("{}: the pool's catalogue {what}; put the right one back; nothing was changed", .path.display())]
    NoCatalogue {
        /// The file.
        path: PathBuf,
        /// `is not there`.
        what: &'static str,
    },
    /// The contents of the catalogue cannot be read.
    #[error("{}: the pool's catalogue is damaged ({cause}); put a copy of it back; nothing was changed", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What cannot be read.
        cause: rusqlite::Error,
    },
    /// The catalogue and the data do not match.
    #[error("{}: {first}{more}; nothing was changed, and `seawall check` tells all", .path.display())]
    Disagree {
        /// The pool.
        path: PathBuf,
        /// The first difference found.
        first: Box<Trouble>,
        /// How many more there are, in words.
        more: String,
    },
    /// A repair would continue with a catalogue that does not match the data.
    #[error(
        "{}: the catalogue is not the one that the data belongs to; put the right one back, or go on with this one by \
         --take-catalogue; nothing was changed",
        .0.display()
    )]
    NotTaken(PathBuf),
    /// What is to be given up is not missing.
    #[error("--give-up {0}: nothing of that name is missing or unknown; nothing was changed")]
    NotMissing(String),
    /// A setting in `seawall.toml` is wrong.
    #[error("{}: {reason}", .path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file system refused.
    #[error("{}: {what}: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A data file cannot be opened.
    #[error(transparent)]
    Open(OpenError),
    /// The file system does not support direct I/O.
    #[error(
        "{}: its file system has no direct I/O (O_DIRECT); write cache = \"page\" in the pool's seawall.toml, or use another \
         file system",
        .0.display()
    )]
    NoDirect(PathBuf),
    /// The device lacks space.
    #[error("{}: {needed} bytes needed, {free} free", .path.display())]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The maps cannot be created or opened.
    #[error(transparent)]
    Maps(MapError),
    /// The destination of a copy exists.
    #[error("{}: exists already; a copy goes to a folder that does not exist yet", .0.display())]
    CopyThere(PathBuf),
    /// The damage cannot be repaired.
    #[error("{}: {what}; nothing was changed", .path.display())]
    BeyondRepair {
        /// The pool.
        path: PathBuf,
        /// Why.
        what: &'static str,
    },
    /// The thread that serves the pool has ended.
    #[error("the thread that serves the pool has ended")]
    Gone,
    /// The maps refused a change.
    #[error(transparent)]
    Refused(#[from] map::MapRefusal),
    /// The hourly totals are damaged.
    #[error("{}: the hourly totals are damaged ({cause}); move the file away to begin a new one", .path.display())]
    DamagedTotals {
        /// The file.
        path: PathBuf,
        /// What cannot be read.
        cause: rusqlite::Error,
    },
    /// The hourly totals cannot be read or written.
    #[error("{}: hourly totals: {cause}", .path.display())]
    Totals {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: rusqlite::Error,
    },
    /// The catalogue cannot be read or written. SQLite's error is in the message, and therefore no
    /// source of this one.
    #[error("catalogue: {}", plain(.0))]
    Catalogue(rusqlite::Error),
}

/// SQLite's error in words; for want of space it may only give a number.
fn plain(error: &rusqlite::Error) -> String {
    match error.sqlite_error().map(|error| error.extended_code) {
        // The second: there is no room for the index of its log, beside the file.
        Some(rusqlite::ffi::SQLITE_FULL | rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => {
            "no space left on its file system; make room there".into()
        }
        _ => error.to_string(),
    }
}

/// SQLite finds the file wrong, or its tables or rows are not what they are to be.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    matches!(error.sqlite_error_code(), None | Some(DatabaseCorrupt | NotADatabase | Unknown))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError::Catalogue(error)
    }
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> StoreError {
        match error {
            OpenError::NoDirect(path) => StoreError::NoDirect(path),
            other => StoreError::Open(other),
        }
    }
}

impl From<MapError> for StoreError {
    fn from(error: MapError) -> StoreError {
        match error {
            MapError::Open(error) => error.into(),
            other => StoreError::Maps(other),
        }
    }
}

impl StoreError {
    /// The catalogue and the data do not match: `first`, and `others` more differences.
    pub(crate) fn disagree(dir: &Path, first: Trouble, others: usize) -> StoreError {
        let more = if others == 0 { String::new() } else { format!(" (and {others} more)") };
        StoreError::Disagree { path: dir.into(), first: Box::new(first), more }
    }

    /// Reading or writing the hourly totals in the file at `path` failed.
    pub(crate) fn of_totals(path: &Path, cause: rusqlite::Error) -> StoreError {
        let path = path.into();
        match is_damage(&cause) {
            true => StoreError::DamagedTotals { path, cause },
            false => StoreError::Totals { path, cause },
        }
    }

    /// For `map_err`: `what` was attempted on `path`.
    pub fn file(path: impl Into<PathBuf>, what: &'static str) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.into();
        move |source| StoreError::File { path, what, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    /// Whoever prints an error with its causes prints one line without SQLite's numbers.
    #[test]
    fn a_full_file_system_is_named_once() {
        for code in [rusqlite::ffi::SQLITE_FULL, rusqlite::ffi::SQLITE_IOERR_SHMSIZE] {
            let cause = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), Some("disk I/O error".into()));
            let error = StoreError::from(cause);
            assert_eq!(error.to_string(), "catalogue: no space left on its file system; make room there");
            assert!(error.source().is_none());
        }
    }
}
