//! How the catalogue's file is opened: for changes, or to be read with nothing left beside it.

use crate::StoreError;
use crate::error::is_damage;
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::path::Path;

/// Opens the file for changes. SQLite makes its log and the log's index beside it.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "foreign_keys", true)?;
    // The log's index is made at the first read.
    db.query_row("SELECT count(*) FROM pool", [], |_| Ok(()))?;
    Ok(db)
}

/// SQLite reports a full file system as such, or as an I/O error if its shared memory cannot grow.
pub(super) fn is_for_want_of_room(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DiskFull, SystemIoFailure};
    matches!(error.sqlite_error_code(), Some(DiskFull | SystemIoFailure))
}

/// Does something with a catalogue that is only read, and leaves nothing beside it: without a log
/// nothing is needed there, and with one SQLite may make the log's index. It would also delete a
/// log beside an empty file.
pub(super) fn without_traces<T>(
    path: &Path,
    read: impl Fn(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let lost = |what| Err(StoreError::NoCatalogue { path: path.into(), what });
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return lost("is not there"),
        Err(error) => return Err(StoreError::file(path, "look at the catalogue")(error)),
        Ok(about) if about.len() == 0 => return lost("is empty"),
        Ok(_) => {}
    }
    let [log, index] = ["db-wal", "db-shm"].map(|extension| path.with_extension(extension));
    // Whoever has the catalogue open has a log there, if only an empty one.
    let result = if !log.exists() {
        immutable::open(path).map_err(StoreError::from).and_then(|db| read(&db))
    } else {
        let is_new = !index.exists();
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let result = read(&db);
        drop(db);
        if is_new {
            let _ = fs::remove_file(index);
        }
        result
    };
    result.map_err(|error| match error {
        StoreError::Catalogue(cause) if is_damage(&cause) => StoreError::Damaged { path: path.into(), cause },
        other => other,
    })
}
