//! A file beside which nothing can be written: on a file system that is mounted for reading, or in
//! a folder of somebody else's. SQLite needs a log and its index to read a file of ours, unless it
//! is told that nobody changes it meanwhile; and nobody can who has not the file open already, and
//! then the log is there.

use super::{Error, Results, functions, schema};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Whether SQLite could not make what it needs beside a file.
pub(super) fn is_meant(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Opens it, to be read alone.
pub(super) fn open(path: &Path) -> Result<Results, Error> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Err(Error::Unfinished { path: path.into() });
    }
    let sqlite = |source| Error::sqlite(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let name = uri(path);
    let connection = Connection::open_with_flags(&name, flags).map_err(sqlite)?;
    schema::check(&connection, path)?;
    functions::register(&connection).map_err(sqlite)?;
    Ok(Results { connection, path: path.into(), name })
}

/// The file as a URI that says so; what has a meaning in a URI is escaped.
fn uri(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    PathBuf::from(uri + "?immutable=1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    #[test]
    fn a_name_is_a_name() {
        assert_eq!(uri(Path::new("a b/100%?#.sqlite")), Path::new("file:a%20b/100%25%3F%23.sqlite?immutable=1"));
    }

    /// Read with nothing beside it; a log that has part of it, and an older format, are told in a
    /// line.
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
