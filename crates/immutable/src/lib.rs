//! A SQLite file that nobody changes, read without anything being written beside it: on a file
//! system that is mounted read only, or in a folder of another user.
//!
//! SQLite needs a write-ahead log and its index beside a file in WAL mode, even to read it, unless
//! the file is opened as immutable. It is immutable as long as no program has it open for writing,
//! and such a program keeps the log beside it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Whether a write-ahead log with something in it is beside the file: then the file alone is not
/// all, and must not be read as immutable.
pub fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(&log).is_ok_and(|log| log.len() > 0)
}

/// Opens the file for reading. No log may be beside it ([`has_log`]), and nobody may write to it
/// meanwhile.
///
/// # Errors
/// SQLite's: the file is not there, may not be read, or is no database.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri(path), flags)
}

/// What is encoded in a path: everything but letters, digits and these four.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// The file as a URI that marks it as immutable, also for `ATTACH`.
pub fn uri(path: &Path) -> PathBuf {
    PathBuf::from(format!("file:{}?immutable=1", percent_encode(path.as_os_str().as_bytes(), RESERVED)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_escaped() {
        assert_eq!(uri(Path::new("a b/100%?#.sqlite")), Path::new("file:a%20b/100%25%3F%23.sqlite?immutable=1"));
    }

    #[test]
    fn a_file_in_wal_mode_is_read_with_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a?b.db");
        let db = Connection::open(&path).unwrap();
        db.pragma_update(None, "journal_mode", "wal").unwrap();
        db.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (7)").unwrap();
        assert!(has_log(&path));
        db.close().unwrap();
        assert!(!has_log(&path));
        let number: i64 = open(&path).unwrap().query_row("SELECT x FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!((number, std::fs::read_dir(dir.path()).unwrap().count()), (7, 1));
    }
}
