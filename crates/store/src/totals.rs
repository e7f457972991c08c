//! What was done and promised in each hour, for 13 months. It is an SQLite database, `totals.db`,
//! beside the catalogue.
//!
//! Neither requests nor commands wait for it. Once a minute, what has accumulated is added in one
//! transaction, and is then durable. A server that is killed in between loses that minute. Anybody
//! may read the file, even while a server writes to it.
//!
//! An object stands there by its number, by what it was called then and by the policy group that it
//! was in, itself or with what holds it in its volume: after a rename or under another policy it
//! has two rows in that hour, and a number that was given anew is another object by its name.

use crate::{CatalogueId, StoreError};
use history::{Figures, Totals};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params_from_iter};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file's name in the pool's folder.
pub const TOTALS: &str = "totals.db";

/// Hours that are kept: nearly 13 months of 31 days, at about 75 bytes per object and hour.
pub const HOURS_KEPT: u64 = 24 * 396;

/// How long an addition waits for another that has locked the file.
const BUSY_TIME: Duration = Duration::from_secs(5);

/// `application_id` of these files ("SEWT").
const APPLICATION_ID: i64 = 0x5345_5754;
/// The format that this program writes, and the only one that it reads.
const FORMAT: i64 = 1;

/// One object in one hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HourRow {
    /// The hour, counted from 1970.
    pub hour: u64,
    /// The object's number.
    pub object: CatalogueId,
    /// Its name at the time.
    pub name: ObjectName,
    /// What it did, and what it was promised.
    pub totals: Totals,
}

/// The name of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// Its SVM.
    pub svm: String,
    /// The volume that it is, or is in; empty for an SVM.
    pub volume: String,
    /// The whole path, as administrators write it: `svm01:/vol/vol1/lun1`.
    pub path: String,
    /// The policy group that it is in, itself or with what holds it in its volume; empty without.
    pub policy: String,
}

/// The open file, for adding to it.
#[derive(Debug)]
pub struct HourlyTotals {
    path: PathBuf,
    db: Connection,
}

impl HourlyTotals {
    /// Opens the file in a pool's folder, or creates it.
    ///
    /// # Errors
    /// It is from another program or format, or the file system refuses.
    pub fn open(folder: &Path) -> Result<HourlyTotals, StoreError> {
        let path = folder.join(TOTALS);
        let error = |cause| StoreError::of_totals(&path, cause);
        let mut db = Connection::open(&path).map_err(error)?;
        db.busy_timeout(BUSY_TIME).map_err(error)?;
        // Before anything is written: another program's file stays unchanged.
        if has_tables(&db).map_err(error)? {
            must_be_ours(&db, &path)?;
        }
        make_tables(&mut db).map_err(error)?;
        Ok(HourlyTotals { path, db })
    }

    /// Adds rows in one transaction; they are durable when this returns.
    ///
    /// # Errors
    /// The file cannot be written; nothing was added.
    pub fn add(&mut self, rows: &[HourRow]) -> Result<(), StoreError> {
        insert(&mut self.db, rows).map_err(|cause| StoreError::of_totals(&self.path, cause))
    }

    /// Deletes what is older than [`HOURS_KEPT`] at hour `now`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn forget(&mut self, now: u64) -> Result<(), StoreError> {
        let deleted = delete_before(&mut self.db, now.saturating_sub(HOURS_KEPT));
        deleted.map_err(|cause| StoreError::of_totals(&self.path, cause))
    }

    /// Reads the hours of a pool, ordered by hour and path, whether it is served or not. A pool
    /// without the file has no hours.
    ///
    /// # Errors
    /// The file is from another program or format, or cannot be read.
    pub fn read(folder: &Path, hours: Range<u64>, each: &mut dyn FnMut(HourRow)) -> Result<(), StoreError> {
        let Some(HourlyTotals { path, db }) = to_read(folder)? else { return Ok(()) };
        each_row(&db, hours, each).map_err(|cause| StoreError::of_totals(&path, cause))
    }

    /// What an object and everything in it did in each hour of a range, and for how many seconds of
    /// the hour its volume was served. Hours without data are left out. `path` is the object's,
    /// `volume` is that of its volume.
    ///
    /// # Errors
    /// As [`HourlyTotals::read`].
    pub fn of(folder: &Path, path: &str, volume: &str, hours: Range<u64>) -> Result<Vec<ObjectHour>, StoreError> {
        let Some(HourlyTotals { path: file, db }) = to_read(folder)? else { return Ok(Vec::new()) };
        hours_of(&db, path, volume, hours).map_err(|cause| StoreError::of_totals(&file, cause))
    }
}

/// What an object did in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectHour {
    /// The hour, counted from 1970.
    pub hour: u64,
    /// Seconds for which it was served.
    pub seconds: u64,
    /// What it did.
    pub figures: Figures,
}

fn to_read(folder: &Path) -> Result<Option<HourlyTotals>, StoreError> {
    let path = folder.join(TOTALS);
    if !path.exists() {
        return Ok(None);
    }
    let error = |cause| StoreError::of_totals(&path, cause);
    // Reading beside a server uses its shared memory, which needs write permission.
    let db = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .or_else(|_| Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY))
        .map_err(error)?;
    db.busy_timeout(BUSY_TIME).map_err(error)?;
    must_be_ours(&db, &path)?;
    Ok(Some(HourlyTotals { path, db }))
}

fn make_tables(db: &mut Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    let change = db.transaction()?;
    if !has_tables(&change)? {
        change.execute_batch(&schema())?;
        change.pragma_update(None, "application_id", APPLICATION_ID)?;
        change.pragma_update(None, "user_version", FORMAT)?;
    }
    change.commit()
}

fn insert(db: &mut Connection, rows: &[HourRow]) -> rusqlite::Result<()> {
    let change = db.transaction()?;
    {
        let mut named = change.prepare_cached(
            "INSERT INTO object (number, svm, volume, path, policy) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (number, path, policy) DO UPDATE SET svm = ?2, volume = ?3 RETURNING key",
        )?;
        let mut added = change.prepare_cached(&addition())?;
        for HourRow { hour, object, name, totals } in rows {
            let named_by = (object, &name.svm, &name.volume, &name.path, &name.policy);
            let key: i64 = named.query_row(named_by, |row: &Row<'_>| row.get(0))?;
            // Values above 2⁶² are meaningless anyway.
            let values = totals.values().map(|value| value.min(1 << 62) as i64);
            added.execute(params_from_iter([*hour as i64, key].into_iter().chain(values)))?;
        }
    }
    change.commit()
}

fn delete_before(db: &mut Connection, hour: u64) -> rusqlite::Result<()> {
    let change = db.transaction()?;
    change.execute("DELETE FROM hour WHERE hour < ?1", [hour as i64])?;
    change.execute("DELETE FROM object WHERE key NOT IN (SELECT object FROM hour)", [])?;
    change.commit()
}

fn each_row(db: &Connection, hours: Range<u64>, each: &mut dyn FnMut(HourRow)) -> rusqlite::Result<()> {
    let columns = Totals::names().collect::<Vec<_>>().join(", ");
    let mut query = db.prepare(&format!(
        "SELECT hour, number, svm, volume, path, policy, {columns} FROM hour JOIN object ON object.key = hour.object \
         WHERE hour >= ?1 AND hour < ?2 ORDER BY hour, path, number"
    ))?;
    let mut rows = query.query([hours.start as i64, hours.end.min(i64::MAX as u64) as i64])?;
    while let Some(row) = rows.next()? {
        each(hour_row(row)?);
    }
    Ok(())
}

fn hours_of(db: &Connection, path: &str, volume: &str, hours: Range<u64>) -> rusqlite::Result<Vec<ObjectHour>> {
    let mut keys = db.prepare(
        "SELECT key, number, path = ?1 OR substr(path, 1, length(?1) + 1) IN (?1 || '/', ?1 || ':') AS within FROM object \
         WHERE path = ?2 OR within",
    )?;
    let keys: Vec<(i64, CatalogueId, bool)> =
        keys.query_map((path, volume), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect::<Result<_, _>>()?;
    let columns = Totals::names().collect::<Vec<_>>().join(", ");
    let mut one = db.prepare(&format!("SELECT {columns} FROM hour WHERE hour = ?1 AND object = ?2"))?;
    let mut found = Vec::new();
    for hour in hours {
        // Rows of one object, under one policy after the other, are one after the other.
        let (mut seconds, mut figures) = (BTreeMap::<CatalogueId, u64>::new(), None::<Figures>);
        for &(key, number_of, is_within) in &keys {
            let totals = one.query_row((hour as i64, key), |row| Totals::try_of(|at| number(row, at))).optional()?;
            let Some(totals) = totals else { continue };
            *seconds.entry(number_of).or_default() += totals.promise.seconds;
            if is_within {
                figures.get_or_insert_default().add(&totals.figures);
            }
        }
        if let Some(figures) = figures {
            let seconds = seconds.into_values().max().unwrap_or(0);
            found.push(ObjectHour { hour, seconds, figures });
        }
    }
    Ok(found)
}

fn hour_row(row: &Row<'_>) -> rusqlite::Result<HourRow> {
    Ok(HourRow {
        hour: number(row, 0)?,
        object: row.get(1)?,
        name: ObjectName { svm: row.get(2)?, volume: row.get(3)?, path: row.get(4)?, policy: row.get(5)? },
        totals: Totals::try_of(|at| number(row, 6 + at))?,
    })
}

fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(|value| value as u64)
}

fn schema() -> String {
    let columns: String = Totals::names().map(|name| format!(", {name} INTEGER NOT NULL")).collect();
    format!(
        "CREATE TABLE object (key INTEGER PRIMARY KEY, number INTEGER NOT NULL, svm TEXT NOT NULL, volume TEXT NOT NULL, \
         path TEXT NOT NULL, policy TEXT NOT NULL, UNIQUE (number, path, policy)) STRICT; \
         CREATE TABLE hour (hour INTEGER NOT NULL, object INTEGER NOT NULL REFERENCES object (key){columns}, \
         PRIMARY KEY (hour, object)) STRICT, WITHOUT ROWID;"
    )
}

fn addition() -> String {
    let names: Vec<String> = Totals::names().collect();
    let sums: Vec<String> = names.iter().map(|name| format!("{name} = hour.{name} + excluded.{name}")).collect();
    format!(
        "INSERT INTO hour (hour, object, {}) VALUES (?, ?{}) ON CONFLICT (hour, object) DO UPDATE SET {}",
        names.join(", "),
        ", ?".repeat(names.len()),
        sums.join(", ")
    )
}

fn has_tables(db: &Connection) -> rusqlite::Result<bool> {
    db.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

fn must_be_ours(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let numbers = number("application_id").and_then(|application| Ok((application, number("user_version")?)));
    let (application, format) = numbers.map_err(|cause| StoreError::of_totals(path, cause))?;
    if (application, format) == (APPLICATION_ID, FORMAT) {
        return Ok(());
    }
    let reason = match application {
        APPLICATION_ID => format!("has format {format}, this program knows {FORMAT}; move it away to begin a new one"),
        _ => "is no file of hourly totals; move it away to begin a new one".into(),
    };
    Err(StoreError::Settings { path: path.into(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::Promise;

    fn row(hour: u64, object: u32, path: &str, reads: u64) -> HourRow {
        let name = ObjectName { svm: "svm01".into(), volume: "vol1".into(), path: path.into(), policy: String::new() };
        let figures = Figures { read_ops: reads, disk_us: 7 * reads, ..Figures::default() };
        let promise = Promise { seconds: 60, floor_ops: 6000, ..Promise::default() };
        HourRow { hour, object, name, totals: Totals { figures, promise } }
    }

    fn read(folder: &Path, hours: Range<u64>) -> Vec<HourRow> {
        let mut rows = Vec::new();
        HourlyTotals::read(folder, hours, &mut |row| rows.push(row)).unwrap();
        rows
    }

    /// Sixty added minutes make the hour. A rename makes a second row of it, and a reused number is
    /// another object.
    #[test]
    fn minutes_add_up_to_hours_by_name() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path(), 0..u64::MAX), []);
        let mut totals = HourlyTotals::open(dir.path()).unwrap();
        for minute in 0..60 {
            let path = if minute < 45 { "svm01:/vol/vol1/lun1" } else { "svm01:/vol/vol1/db" };
            totals.add(&[row(490_000, 3, path, 10), row(490_001, 3, path, 1)]).unwrap();
        }
        drop(totals);
        let mut totals = HourlyTotals::open(dir.path()).unwrap();
        totals.add(&[row(490_000, 3, "svm01:/vol/vol1/db", 5)]).unwrap();
        let rows = read(dir.path(), 490_000..490_001);
        let told: Vec<_> = rows.iter().map(|row| (row.name.path.as_str(), row.totals.figures.read_ops)).collect();
        assert_eq!(told, [("svm01:/vol/vol1/db", 155), ("svm01:/vol/vol1/lun1", 450)]);
        let Totals { figures, promise } = rows[1].totals;
        assert_eq!((figures.disk_us, promise.seconds, promise.floor_ops), (7 * 450, 45 * 60, 45 * 6000));
        assert_eq!(read(dir.path(), 490_000..490_002).len(), 4);
        totals.forget(490_001 + HOURS_KEPT).unwrap();
        assert_eq!(read(dir.path(), 0..u64::MAX).iter().map(|row| row.hour).collect::<Vec<_>>(), [490_001; 2]);
    }

    /// For a volume: its own sums and those of everything in it, even if it was deleted, but not
    /// those of a volume whose name begins the same. For a LUN: only its own, with the seconds of
    /// its volume.
    #[test]
    fn an_objects_hours_are_of_all_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut totals = HourlyTotals::open(dir.path()).unwrap();
        let volume = "svm01:/vol/vol1";
        let lun = |hour, path: &str, reads| {
            let mut row = row(hour, 4, path, reads);
            row.totals.promise.seconds = 0;
            row
        };
        let rows = [
            row(7, 3, volume, 0),
            lun(7, "svm01:/vol/vol1/a", 10),
            lun(7, "svm01:/vol/vol1/b", 5),
            lun(7, "svm01:/vol/vol12/a", 100),
            row(9, 3, volume, 0),
            lun(9, "svm01:/vol/vol1/a", 1),
        ];
        totals.add(&rows).unwrap();
        let of = |path: &str| {
            let hours = HourlyTotals::of(dir.path(), path, volume, 6..10).unwrap();
            hours.iter().map(|hour| (hour.hour, hour.seconds, hour.figures.read_ops)).collect::<Vec<_>>()
        };
        assert_eq!(of(volume), [(7, 60, 15), (9, 60, 1)]);
        assert_eq!(of("svm01:/vol/vol1/a"), [(7, 60, 10), (9, 60, 1)]);
        assert_eq!(of("svm01:/vol/vol1/b"), [(7, 60, 5)]);
        assert_eq!(of("svm01").len(), 2);
        // A volume that had another policy for half of an hour was there for all of it.
        let mut other = row(7, 3, volume, 0);
        other.name.policy = "gold".into();
        totals.add(&[other]).unwrap();
        assert_eq!(of(volume), [(7, 120, 15), (9, 60, 1)]);
    }

    /// A server that is killed has added all of a minute or nothing: the files are read as they are
    /// at some moment.
    #[test]
    fn what_was_added_is_there_when_nobody_closed_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut totals = HourlyTotals::open(dir.path()).unwrap();
        totals.add(&[row(5, 1, "svm01:/vol/a/l", 3)]).unwrap();
        let copy = tempfile::tempdir().unwrap();
        for name in [TOTALS.to_owned(), format!("{TOTALS}-wal")] {
            std::fs::copy(dir.path().join(&name), copy.path().join(&name)).unwrap();
        }
        assert_eq!(read(copy.path(), 0..10), read(dir.path(), 0..10));
        assert_eq!(read(copy.path(), 0..10).len(), 1);
    }

    /// Another program's database, one of a later format, and a file that is no database are
    /// reported and stay unchanged.
    #[test]
    fn what_is_not_ours_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(TOTALS);
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE theirs (x)").unwrap();
        drop(other);
        let error = HourlyTotals::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("is no file of hourly totals; move it away"), "{error}");
        std::fs::remove_file(&path).unwrap();
        drop(HourlyTotals::open(dir.path()).unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 9).unwrap();
        let error = HourlyTotals::read(dir.path(), 0..1, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("has format 9, this program knows 1"), "{error}");
        std::fs::write(&path, "no database, and long enough to be looked at as one").unwrap();
        let expected = format!(
            "{}: the hourly totals are damaged (file is not a database); move the file away to begin a new one",
            path.display()
        );
        assert_eq!(HourlyTotals::open(dir.path()).unwrap_err().to_string(), expected);
        let read = HourlyTotals::read(dir.path(), 0..1, &mut |_| ());
        assert_eq!(read.unwrap_err().to_string(), expected);
        // One that is damaged behind its head.
        std::fs::remove_file(&path).unwrap();
        let mut totals = HourlyTotals::open(dir.path()).unwrap();
        totals.add(&[row(5, 1, "svm01:/vol/a/l", 3)]).unwrap();
        drop(totals);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[4096..].fill(0xa5);
        std::fs::write(&path, bytes).unwrap();
        let error = HourlyTotals::read(dir.path(), 0..10, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("totals.db: the hourly totals are damaged ("), "{error}");
        let mut totals = HourlyTotals::open(dir.path()).unwrap();
        let error = totals.add(&[row(5, 1, "svm01:/vol/a/l", 3)]).unwrap_err().to_string();
        assert!(error.contains("totals.db: the hourly totals are damaged ("), "{error}");
    }
}
