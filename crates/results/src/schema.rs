//! The tables, and upgrades of a file: a list of steps, each from one version to the next.
//!
//! `PRAGMA user_version` is the number of steps a file has had, and `PRAGMA application_id` marks
//! our files. A new file takes every step, an older one the missing steps after a backup beside it,
//! and a newer one is refused. All missing steps are one transaction, so a file is never between
//! versions. A step that was released never changes.
//!
//! Steps are about tables. Views hold no data: those of the newest version (`views.sql`) replace
//! all others, which are dropped before the first step.
//!
//! Unsigned 64-bit numbers are stored bit for bit: SQLite shows those from 2^63 on, such as some
//! seeds, as negative.

use super::{Error, Failure, earlier, save};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::path::{Path, PathBuf};

/// `SWal`, which marks our files.
const APPLICATION_ID: i32 = 0x5357_616c;

/// A step from one version to the next.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// These statements.
    Sql(&'static str),
    /// Only views have changed.
    Views,
    /// Work that statements alone cannot do.
    Code(fn(&Connection) -> Result<(), (i64, Failure)>),
}

/// Step `n` (from 0) leads to version `n + 1`.
pub(super) const STEPS: &[Step] = &[
    Step::Sql(include_str!("version_1.sql")),
    Step::Sql(include_str!("version_2.sql")),
    Step::Sql(include_str!("version_3.sql")),
    Step::Code(keep_anew),
    // 5: the published table of RanRead.
    Step::Views,
    Step::Sql(include_str!("version_6.sql")),
    Step::Sql(include_str!("version_7.sql")),
    Step::Sql(include_str!("version_8.sql")),
    Step::Sql(include_str!("version_9.sql")),
    // 10: the state of RanRead's batches.
    Step::Views,
    Step::Sql(include_str!("version_11.sql")),
];

/// The tables of versions 1 to 3; those that others refer to are last.
const EARLIER: [&str; 13] = [
    "phase_command",
    "interval",
    "histogram",
    "tally",
    "cycle",
    "object_trace",
    "limits",
    "verdict",
    "note",
    "workload",
    "phase",
    "object",
    "run",
];

/// Version 4 has different tables: each run is loaded from the old ones and saved to the new ones
/// under its number.
fn keep_anew(connection: &Connection) -> Result<(), (i64, Failure)> {
    let other = |error: rusqlite::Error| (0, Failure::Sqlite(error));
    for table in EARLIER {
        connection.execute_batch(&format!("ALTER TABLE {table} RENAME TO earlier_{table}")).map_err(other)?;
    }
    connection.execute_batch(include_str!("version_4.sql")).map_err(other)?;
    for number in earlier::numbers(connection).map_err(other)? {
        let Some(run) = earlier::load(connection, number).map_err(|failure| (number, failure))? else { continue };
        save::save(connection, &run, Some(number), None).map_err(other)?;
    }
    // Numbers are never reused, not even those of deleted runs.
    connection
        .execute_batch(
            "UPDATE sqlite_sequence SET seq = max(seq, (SELECT coalesce(max(seq), 0) FROM sqlite_sequence
            WHERE name = 'earlier_run')) WHERE name = 'run'",
        )
        .map_err(other)?;
    for table in EARLIER {
        connection.execute_batch(&format!("DROP TABLE earlier_{table}")).map_err(other)?;
    }
    Ok(())
}

/// Upgrades the file behind `connection` to the newest version.
pub(super) fn prepare(connection: &mut Connection, path: &Path, steps: &[Step]) -> Result<(), Error> {
    let sqlite = |source| Error::sqlite(path, source);
    let found = recognise(connection, path)?;
    if found > steps.len() {
        return Err(Error::Newer { path: path.into(), found, known: steps.len() });
    }
    if found == steps.len() {
        return Ok(());
    }
    if found > 0 {
        copy_beside(connection, path, found)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
    // Read again, because another process may have upgraded the file while this one waited for the
    // lock.
    let found = pragma(&transaction, "user_version").map_err(sqlite)? as usize;
    if found < steps.len() {
        drop_views(&transaction).map_err(sqlite)?;
    }
    for step in steps.iter().skip(found) {
        match step {
            Step::Sql(sql) => transaction.execute_batch(sql).map_err(sqlite)?,
            Step::Views => {}
            Step::Code(code) => code(&transaction).map_err(|(run, failure)| failure.of(path, run))?,
        }
    }
    if found < steps.len() {
        transaction.execute_batch(include_str!("views.sql")).map_err(sqlite)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sqlite)?;
        transaction.pragma_update(None, "user_version", steps.len() as i64).map_err(sqlite)?;
    }
    transaction.commit().map_err(sqlite)
}

fn drop_views(connection: &Connection) -> rusqlite::Result<()> {
    let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'")?;
    let names = names.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    names.iter().try_for_each(|name| connection.execute_batch(&format!("DROP VIEW \"{name}\"")))
}

/// Checks that the file behind `connection` has the newest version.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), Error> {
    match recognise(connection, path)? {
        found if found > STEPS.len() => Err(Error::Newer { path: path.into(), found, known: STEPS.len() }),
        found if found < STEPS.len() => Err(Error::Older { path: path.into(), found }),
        _ => Ok(()),
    }
}

/// The version of a results file; 0 for an empty file.
pub(super) fn recognise(connection: &Connection, path: &Path) -> Result<usize, Error> {
    let read = || -> rusqlite::Result<(i64, i64, i64)> {
        let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((pragma(connection, "application_id")?, pragma(connection, "user_version")?, tables))
    };
    match read() {
        Ok((0, 0, 0)) => Ok(0),
        Ok((id, version, _)) if id == i64::from(APPLICATION_ID) && version > 0 => Ok(version as usize),
        Ok(_) => Err(Error::NotResults { path: path.into() }),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Err(Error::NotResults { path: path.into() })
        }
        Err(error) => Err(Error::sqlite(path, error)),
    }
}

/// Backs up the file as `NAME.v1.bak`, or with a number appended if that exists.
fn copy_beside(connection: &Connection, path: &Path, version: usize) -> Result<PathBuf, Error> {
    let name = |number: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".v{version}.bak"));
        if number > 1 {
            name.push(format!(".{number}"));
        }
        PathBuf::from(name)
    };
    let copy = (1..).map(name).find(|name| !name.exists()).expect("names do not run out");
    match connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]) {
        Ok(_) => Ok(copy),
        Err(source) => Err(Error::Backup { path: path.into(), copy, source }),
    }
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of a later Seawall: the real ones and one that adds a column.
    fn later() -> Vec<Step> {
        [STEPS, &[Step::Sql("ALTER TABLE run ADD COLUMN place TEXT NOT NULL DEFAULT 'here'")]].concat()
    }

    /// Steps of which the last fails after a change.
    fn broken() -> Vec<Step> {
        [STEPS, &[Step::Sql("ALTER TABLE run ADD COLUMN place TEXT; SELECT nonsense")]].concat()
    }

    /// The name of the first copy of a file with all steps.
    fn copy() -> String {
        format!("results.sqlite.v{}.bak", STEPS.len())
    }

    fn open(path: &Path, steps: &[Step]) -> Result<Connection, Error> {
        let mut connection = Connection::open(path).unwrap();
        prepare(&mut connection, path, steps).map(|()| connection)
    }

    fn count(connection: &Connection, sql: &str) -> i64 {
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    const ADD_RUN: &str = "INSERT INTO machine VALUES (1, '', '', '', 0, 0);
        INSERT INTO run (uuid, tool, title, command, text, version, seed, started_unix_ms, clock, state, machine,
        storage, backend) VALUES ('1', 'fio', 'old', '', '', '', 0, 0, 'wall', 'ended', 1, '', '')";

    #[test]
    fn an_older_file_is_upgraded_and_a_copy_of_it_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.sqlite");
        open(&path, STEPS).unwrap().execute_batch(ADD_RUN).unwrap();
        let newer = open(&path, &later()).unwrap();
        assert_eq!(count(&newer, "SELECT count(*) FROM run WHERE title = 'old' AND place = 'here'"), 1);
        assert_eq!(pragma(&newer, "user_version").unwrap(), STEPS.len() as i64 + 1);
        // The backup is a complete file of the old version, which the old program can open.
        let copy = open(&dir.path().join(copy()), STEPS).unwrap();
        assert_eq!(count(&copy, "SELECT count(*) FROM run WHERE title = 'old'"), 1);
    }

    #[test]
    fn a_newer_file_is_refused_in_one_line_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.sqlite");
        open(&path, &later()).unwrap();
        let before = std::fs::read(&path).unwrap();
        let error = open(&path, STEPS).unwrap_err().to_string();
        let formats = [format!("format {}", STEPS.len() + 1), format!("up to {}", STEPS.len())];
        assert!(formats.iter().all(|format| error.contains(format)) && !error.contains('\n'), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_version() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.sqlite");
        open(&path, STEPS).unwrap();
        assert!(matches!(open(&path, &broken()), Err(Error::Sqlite { .. })));
        let old = open(&path, STEPS).unwrap();
        assert_eq!(count(&old, "SELECT count(*) FROM pragma_table_info('run') WHERE name = 'place'"), 0);
    }

    #[test]
    fn a_second_upgrade_does_not_overwrite_the_first_copy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.sqlite");
        open(&path, STEPS).unwrap();
        assert!(open(&path, &broken()).is_err());
        open(&path, &later()).unwrap();
        assert!(dir.path().join(copy()).exists());
        assert!(dir.path().join(copy() + ".2").exists());
    }

    #[test]
    fn a_file_of_others_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("other.sqlite");
        Connection::open(&database).unwrap().execute_batch("CREATE TABLE cats (name)").unwrap();
        let text = dir.path().join("notes.txt");
        std::fs::write(&text, "This is not a database, however long it may be. ".repeat(50)).unwrap();
        for path in [database, text] {
            assert!(matches!(open(&path, STEPS), Err(Error::NotResults { .. })), "{path:?}");
        }
    }
}
