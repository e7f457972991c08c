//! A results database beside which nothing can be written: on a file system that is mounted read
//! only or is full, or in a folder of another user.

use super::{Error, Results, functions, schema};
use rusqlite::{ErrorCode, ffi};
use std::path::Path;

/// Whether SQLite failed because it could not create files beside the database. On a full file
/// system it can create the index of the write-ahead log, but not enlarge it.
pub(super) fn is_meant(error: &rusqlite::Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::DiskFull))
        || extended.is_some_and(|code| [ffi::SQLITE_IOERR_SHMSIZE, ffi::SQLITE_IOERR_SHMOPEN].contains(&code))
}

/// Opens the file read-only.
pub(super) fn open(path: &Path) -> Result<Results, Error> {
    if immutable::has_log(path) {
        return Err(Error::Unfinished { path: path.into() });
    }
    let sqlite = |source| Error::sqlite(path, source);
    let connection = immutable::open(path).map_err(sqlite)?;
    schema::check(&connection, path)?;
    functions::register(&connection).map_err(sqlite)?;
    Ok(Results { connection, path: path.into(), name: immutable::uri(path) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;
    use rusqlite::Connection;

    /// A file is read without files beside it. If a log holds part of its data, or its format is
    /// older, the error is one line.
    #[test]
    fn a_file_is_read_with_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a?b.sqlite");
        let mut run = stats::run::Run::default();
        run.identity.title = "kept".into();
        Results::open(&path).unwrap().save(&run).unwrap();
        let results = open(&path).unwrap();
        assert_eq!(results.list(&Filter::default()).unwrap()[0].title, "kept");
        assert_eq!(results.load(1).unwrap(), run);
        let asked = |query: &str| results.query(query, || false).unwrap().rows.len();
        assert_eq!((asked("SELECT * FROM runs"), asked("SELECT * FROM PerfTools.runs")), (1, 1));
        let beside = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(beside, 1, "nothing was written");
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 5).unwrap();
        assert!(matches!(open(&path), Err(Error::Older { found: 5, .. })));
        std::fs::write(dir.path().join("a?b.sqlite-wal"), "x").unwrap();
        assert!(matches!(open(&path), Err(Error::Unfinished { .. })));
    }
}
