//! The catalogue: names, sizes, policies and attachments in SQLite. It is on no request's way.
//!
//! A change is durable when its call returns (`synchronous = FULL`), so a server may acknowledge it.

use crate::StoreError;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::path::Path;

/// The number of a row, never used again after it is deleted.
pub type CatalogueId = i64;

/// What kind of storage object a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A storage virtual machine.
    Svm,
    /// A volume of an SVM.
    Volume,
    /// A quota tree of a volume.
    Qtree,
    /// A LUN of a volume or qtree.
    Lun,
    /// A file of a volume or qtree.
    File,
}

/// A storage object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRow {
    /// Its number; a LUN's data file is named by it.
    pub id: CatalogueId,
    /// What it is.
    pub kind: Kind,
    /// What it hangs on; `None` for an SVM.
    pub parent: Option<CatalogueId>,
    /// Its name within its parent.
    pub name: String,
    /// Its size in bytes; 0 for an SVM.
    pub size: u64,
    /// The policy group attached to it.
    pub policy: Option<CatalogueId>,
}

/// A policy group, fixed or adaptive; values that a kind does not have are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRow {
    /// Its number; 0 before it is added.
    pub id: CatalogueId,
    /// The SVM that owns it.
    pub svm: CatalogueId,
    /// Its name, unique in the pool.
    pub name: String,
    /// Its UUID as text.
    pub uuid: String,
    /// Whether its members share one budget.
    pub shared: bool,
    /// Most operations per second.
    pub max_iops: Option<u64>,
    /// Most bytes per second.
    pub max_bytes: Option<u64>,
    /// Least operations per second.
    pub min_iops: Option<u64>,
    /// Least bytes per second.
    pub min_bytes: Option<u64>,
    /// Settings beyond these, one text that the server writes and reads (`key=value` separated by blanks).
    pub more: String,
}

/// The open catalogue.
#[derive(Debug)]
pub struct Catalogue {
    db: Connection,
}

/// `application_id` of our files ("SEAW"), so that another program's database is not taken for a pool.
const APPLICATION_ID: i64 = 0x5345_4157;

/// The steps from each format to the next; the number of steps is the current format.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE policy_group (
        id        INTEGER PRIMARY KEY AUTOINCREMENT,
        svm       INTEGER NOT NULL REFERENCES object (id),
        name      TEXT NOT NULL UNIQUE,
        uuid      TEXT NOT NULL UNIQUE,
        shared    INTEGER NOT NULL,
        max_iops  INTEGER,
        max_bytes INTEGER,
        min_iops  INTEGER,
        min_bytes INTEGER,
        more      TEXT NOT NULL
    ) STRICT;
    CREATE TABLE object (
        id        INTEGER PRIMARY KEY AUTOINCREMENT,
        kind      TEXT NOT NULL CHECK (kind IN ('svm', 'volume', 'qtree', 'lun', 'file')),
        parent    INTEGER REFERENCES object (id),
        name      TEXT NOT NULL,
        size      INTEGER NOT NULL,
        policy    INTEGER REFERENCES policy_group (id)
    ) STRICT;
    CREATE UNIQUE INDEX object_name ON object (ifnull(parent, 0), name);
    "];

impl Catalogue {
    /// Opens the catalogue in that file and brings it to the current format; an empty or missing file becomes a new one.
    ///
    /// # Errors
    /// The file is no catalogue, or of a later format.
    pub fn open(path: &Path) -> Result<Catalogue, StoreError> {
        let mut db = Connection::open(path)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "foreign_keys", true)?;
        let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let found: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if application != APPLICATION_ID && (application, found) != (0, 0) {
            return Err(StoreError::NotAPool(path.into()));
        }
        let known = MIGRATIONS.len() as u32;
        if found > known {
            return Err(StoreError::TooNew { path: path.into(), found, known });
        }
        let change = db.transaction()?;
        for step in &MIGRATIONS[found as usize..] {
            change.execute_batch(step)?;
        }
        change.pragma_update(None, "application_id", APPLICATION_ID)?;
        change.pragma_update(None, "user_version", known)?;
        change.commit()?;
        Ok(Catalogue { db })
    }

    /// Runs several changes as one: all of them are durable when it returns `Ok`, none otherwise.
    ///
    /// # Errors
    /// What `changes` returned, or the catalogue's own.
    pub fn atomically<T, E: From<StoreError>>(
        &mut self,
        changes: impl FnOnce(&mut Catalogue) -> Result<T, E>,
    ) -> Result<T, E> {
        let run = |db: &Connection, sql| db.execute_batch(sql).map_err(StoreError::from);
        run(&self.db, "BEGIN IMMEDIATE")?;
        match changes(self) {
            Ok(value) => {
                run(&self.db, "COMMIT")?;
                Ok(value)
            }
            Err(error) => {
                run(&self.db, "ROLLBACK")?;
                Err(error)
            }
        }
    }

    /// Every object, parents before their children.
    ///
    /// # Errors
    /// The catalogue cannot be read.
    pub fn objects(&self) -> Result<Vec<ObjectRow>, StoreError> {
        let mut query = self.db.prepare("SELECT id, kind, parent, name, size, policy FROM object ORDER BY id")?;
        let rows = query.query_map([], object_of)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The object of that name under that parent.
    ///
    /// # Errors
    /// The catalogue cannot be read.
    pub fn find(&self, parent: Option<CatalogueId>, name: &str) -> Result<Option<ObjectRow>, StoreError> {
        let sql = "SELECT id, kind, parent, name, size, policy FROM object WHERE ifnull(parent, 0) = ?1 AND name = ?2";
        Ok(self.db.query_row(sql, params![parent.unwrap_or(0), name], object_of).optional()?)
    }

    /// Adds an object without a policy and returns its number.
    ///
    /// # Errors
    /// The name is taken, or the parent does not exist.
    pub fn add_object(
        &mut self,
        kind: Kind,
        parent: Option<CatalogueId>,
        name: &str,
        size: u64,
    ) -> Result<CatalogueId, StoreError> {
        let sql = "INSERT INTO object (kind, parent, name, size) VALUES (?1, ?2, ?3, ?4)";
        self.db.execute(sql, params![kind.word(), parent, name, size as i64])?;
        Ok(self.db.last_insert_rowid())
    }

    /// Changes an object's size in bytes.
    ///
    /// # Errors
    /// The catalogue cannot be written.
    pub fn set_size(&mut self, object: CatalogueId, size: u64) -> Result<(), StoreError> {
        self.db.execute("UPDATE object SET size = ?2 WHERE id = ?1", params![object, size as i64])?;
        Ok(())
    }

    /// Attaches a policy group to an object, or takes it away.
    ///
    /// # Errors
    /// The policy group does not exist.
    pub fn set_policy(&mut self, object: CatalogueId, policy: Option<CatalogueId>) -> Result<(), StoreError> {
        self.db.execute("UPDATE object SET policy = ?2 WHERE id = ?1", params![object, policy])?;
        Ok(())
    }

    /// Removes an object.
    ///
    /// # Errors
    /// Something hangs on it.
    pub fn remove_object(&mut self, object: CatalogueId) -> Result<(), StoreError> {
        self.db.execute("DELETE FROM object WHERE id = ?1", [object])?;
        Ok(())
    }

    /// Every policy group, oldest first.
    ///
    /// # Errors
    /// The catalogue cannot be read.
    pub fn policies(&self) -> Result<Vec<PolicyRow>, StoreError> {
        let sql = "SELECT id, svm, name, uuid, shared, max_iops, max_bytes, min_iops, min_bytes, more
                   FROM policy_group ORDER BY id";
        let mut query = self.db.prepare(sql)?;
        let rows = query.query_map([], policy_of)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Adds a policy group (its `id` is ignored) and returns its number.
    ///
    /// # Errors
    /// The name or UUID is taken, or the SVM does not exist.
    pub fn add_policy(&mut self, policy: &PolicyRow) -> Result<CatalogueId, StoreError> {
        let sql = "INSERT INTO policy_group (svm, name, uuid, shared, max_iops, max_bytes, min_iops, min_bytes, more)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let p = policy;
        let signed = |value: Option<u64>| value.map(|v| v as i64);
        let limits = (signed(p.max_iops), signed(p.max_bytes), signed(p.min_iops), signed(p.min_bytes));
        self.db
            .execute(sql, params![p.svm, p.name, p.uuid, p.shared, limits.0, limits.1, limits.2, limits.3, p.more])?;
        Ok(self.db.last_insert_rowid())
    }

    /// Changes a policy group: everything but its number, owner, UUID and whether it is shared.
    ///
    /// # Errors
    /// The new name is taken.
    pub fn update_policy(&mut self, policy: &PolicyRow) -> Result<(), StoreError> {
        let sql = "UPDATE policy_group SET name = ?2, max_iops = ?3, max_bytes = ?4, min_iops = ?5, min_bytes = ?6,
                   more = ?7 WHERE id = ?1";
        let p = policy;
        let signed = |value: Option<u64>| value.map(|v| v as i64);
        let limits = (signed(p.max_iops), signed(p.max_bytes), signed(p.min_iops), signed(p.min_bytes));
        self.db.execute(sql, params![p.id, p.name, limits.0, limits.1, limits.2, limits.3, p.more])?;
        Ok(())
    }

    /// Removes a policy group.
    ///
    /// # Errors
    /// It is attached somewhere.
    pub fn remove_policy(&mut self, policy: CatalogueId) -> Result<(), StoreError> {
        self.db.execute("DELETE FROM policy_group WHERE id = ?1", [policy])?;
        Ok(())
    }
}

impl Kind {
    /// The word in the catalogue.
    const fn word(self) -> &'static str {
        match self {
            Kind::Svm => "svm",
            Kind::Volume => "volume",
            Kind::Qtree => "qtree",
            Kind::Lun => "lun",
            Kind::File => "file",
        }
    }

    fn of_word(word: &str) -> Option<Kind> {
        [Kind::Svm, Kind::Volume, Kind::Qtree, Kind::Lun, Kind::File].into_iter().find(|kind| kind.word() == word)
    }
}

fn object_of(row: &Row<'_>) -> rusqlite::Result<ObjectRow> {
    let word: String = row.get(1)?;
    let kind = Kind::of_word(&word).ok_or(rusqlite::Error::InvalidColumnName(word))?;
    let size: i64 = row.get(4)?;
    Ok(ObjectRow {
        id: row.get(0)?,
        kind,
        parent: row.get(2)?,
        name: row.get(3)?,
        size: size as u64,
        policy: row.get(5)?,
    })
}

fn policy_of(row: &Row<'_>) -> rusqlite::Result<PolicyRow> {
    let unsigned = |index| row.get::<_, Option<i64>>(index).map(|value| value.map(|v| v as u64));
    Ok(PolicyRow {
        id: row.get(0)?,
        svm: row.get(1)?,
        name: row.get(2)?,
        uuid: row.get(3)?,
        shared: row.get(4)?,
        max_iops: unsigned(5)?,
        max_bytes: unsigned(6)?,
        min_iops: unsigned(7)?,
        min_bytes: unsigned(8)?,
        more: row.get(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(svm: CatalogueId, name: &str) -> PolicyRow {
        PolicyRow {
            svm,
            name: name.into(),
            uuid: format!("uuid of {name}"),
            max_iops: Some(1000),
            ..PolicyRow::default()
        }
    }

    #[test]
    fn what_was_written_is_there_after_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("catalogue.db");
        let mut catalogue = Catalogue::open(&path).unwrap();
        let svm = catalogue.add_object(Kind::Svm, None, "svm01", 0).unwrap();
        let volume = catalogue.add_object(Kind::Volume, Some(svm), "vol1", 1 << 30).unwrap();
        let group = catalogue.add_policy(&policy(svm, "policy1")).unwrap();
        catalogue.set_policy(volume, Some(group)).unwrap();
        let mut changed = catalogue.policies().unwrap().remove(0);
        changed.max_bytes = Some(200_000_000);
        catalogue.update_policy(&changed).unwrap();
        drop(catalogue);

        let catalogue = Catalogue::open(&path).unwrap();
        assert_eq!(catalogue.policies().unwrap(), [changed]);
        let found = catalogue.find(Some(svm), "vol1").unwrap().unwrap();
        assert_eq!((found.size, found.policy), (1 << 30, Some(group)));
        assert_eq!(catalogue.objects().unwrap().len(), 2);
    }

    #[test]
    fn references_hold_and_names_are_unique_among_siblings() {
        let dir = tempfile::tempdir().unwrap();
        let mut catalogue = Catalogue::open(&dir.path().join("c")).unwrap();
        let svm = catalogue.add_object(Kind::Svm, None, "svm01", 0).unwrap();
        assert!(catalogue.add_object(Kind::Svm, None, "svm01", 0).is_err(), "two SVMs of one name");
        let volume = catalogue.add_object(Kind::Volume, Some(svm), "vol1", 1).unwrap();
        assert!(catalogue.remove_object(svm).is_err(), "a volume hangs on it");
        let group = catalogue.add_policy(&policy(svm, "policy1")).unwrap();
        catalogue.set_policy(volume, Some(group)).unwrap();
        assert!(catalogue.remove_policy(group).is_err(), "it is attached");
        assert!(catalogue.set_policy(volume, Some(99)).is_err(), "no such group");
    }

    #[test]
    fn a_refused_change_takes_the_others_back() {
        let dir = tempfile::tempdir().unwrap();
        let mut catalogue = Catalogue::open(&dir.path().join("c")).unwrap();
        let result: Result<(), StoreError> = catalogue.atomically(|c| {
            c.add_object(Kind::Svm, None, "a", 0)?;
            c.add_object(Kind::Svm, None, "a", 0)?;
            Ok(())
        });
        assert!(result.is_err());
        assert_eq!(catalogue.objects().unwrap(), []);
    }

    #[test]
    fn a_later_format_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c");
        drop(Catalogue::open(&path).unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let error = Catalogue::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::TooNew { found: 99, known: 1, .. }), "{error}");
    }
}
