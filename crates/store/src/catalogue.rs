//! The catalogue: names, sizes, policies and attachments in SQLite. It is on no request's way.
//!
//! A change is durable when its call returns (`synchronous = FULL`), so a server may acknowledge it.
//!
//! One of an earlier format is brought to the current one when it is opened; a copy of it as it was stays beside it
//! (`catalogue.format-2`).
//!
//! On a full file system nothing could be deleted, because that too has to be written first. So a little room is kept in
//! a file beside the catalogue, which goes when a change that frees space finds none, and is made anew later.

use crate::StoreError;
use rusqlite::{Connection, OpenFlags, Row, Transaction, params};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The number of an object or of a policy group; whoever makes them gives the numbers.
pub type CatalogueId = u32;

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
    /// Its number, greater than its parent's; a LUN's data file is named by it.
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
    /// The policy group that its new children get.
    pub template: Option<CatalogueId>,
    /// Whether its children take turns where no limit binds.
    pub fair: bool,
}

/// A policy group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRow {
    /// Its number.
    pub id: CatalogueId,
    /// The SVM that owns it.
    pub svm: CatalogueId,
    /// Its name, unique in the pool.
    pub name: String,
    /// Its UUID as text.
    pub uuid: String,
    /// What it stands for, as JSON; the server writes and reads it.
    pub settings: String,
}

/// A LUN or file in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotLeafRow {
    /// The tree of the maps that holds it.
    pub tree: u32,
    /// What it is.
    pub kind: Kind,
    /// The qtree that it was in.
    pub qtree: Option<String>,
    /// Its name there.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A snapshot of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRow {
    /// Its number.
    pub id: CatalogueId,
    /// The volume.
    pub volume: CatalogueId,
    /// Its name, unique within the volume.
    pub name: String,
    /// Seconds since the beginning of 1970.
    pub created: u64,
    /// What the volume had.
    pub leaves: Vec<SnapshotLeafRow>,
}

/// Everything in a catalogue, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The storage objects.
    pub objects: BTreeMap<CatalogueId, ObjectRow>,
    /// The policy groups.
    pub policies: BTreeMap<CatalogueId, PolicyRow>,
    /// The snapshots.
    pub snapshots: BTreeMap<CatalogueId, SnapshotRow>,
    /// Whether the SVMs take turns where no limit binds.
    pub fair: bool,
}

impl Contents {
    /// Where an object is, as administrators write it: `svm01:/vol/vol1/qtree1/lun1`.
    pub(crate) fn path(&self, row: &ObjectRow) -> String {
        let mut names = vec![row.name.as_str()];
        let mut above = row.parent;
        // As deep as objects are; a damaged catalogue may go round.
        for _ in 0..3 {
            let Some(row) = above.and_then(|parent| self.objects.get(&parent)) else { break };
            names.push(&row.name);
            above = row.parent;
        }
        match names.pop() {
            Some(svm) if !names.is_empty() => {
                names.reverse();
                format!("{svm}:/vol/{}", names.join("/"))
            }
            _ => row.name.clone(),
        }
    }
}

/// The open catalogue.
#[derive(Debug)]
pub struct Catalogue {
    db: Connection,
    contents: Contents,
    ballast: PathBuf,
}

/// What is kept of the file system for a deletion: some pages of 4 KiB each in the log and in the file itself.
const BALLAST_BYTES: usize = 256 << 10;

/// `application_id` of our files ("SEAW"), so that another program's database is not taken for a pool.
const APPLICATION_ID: i64 = 0x5345_4157;

/// The format that this program writes: 1 had no maps, 2 no snapshots.
const FORMAT: u32 = MIGRATIONS.len() as u32;

/// The steps from each format to the next.
const MIGRATIONS: [&str; 3] = [
    "
    CREATE TABLE object (
        id        INTEGER PRIMARY KEY,
        kind      TEXT NOT NULL CHECK (kind IN ('svm', 'volume', 'qtree', 'lun', 'file')),
        parent    INTEGER REFERENCES object (id) DEFERRABLE INITIALLY DEFERRED,
        name      TEXT NOT NULL,
        size      INTEGER NOT NULL,
        policy    INTEGER,
        template  INTEGER,
        fair      INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE policy_group (
        id        INTEGER PRIMARY KEY,
        svm       INTEGER NOT NULL REFERENCES object (id) DEFERRABLE INITIALLY DEFERRED,
        name      TEXT NOT NULL,
        uuid      TEXT NOT NULL,
        settings  TEXT NOT NULL
    ) STRICT;
    CREATE TABLE pool (fair INTEGER NOT NULL) STRICT;
    INSERT INTO pool (fair) VALUES (0);
    ",
    // The tables are the same; a program that knows only sparse files must refuse a pool with maps.
    "",
    "
    CREATE TABLE snapshot (
        id        INTEGER PRIMARY KEY,
        volume    INTEGER NOT NULL REFERENCES object (id) DEFERRABLE INITIALLY DEFERRED,
        name      TEXT NOT NULL,
        created   INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE snapshot_leaf (
        tree      INTEGER PRIMARY KEY,
        snapshot  INTEGER NOT NULL REFERENCES snapshot (id) DEFERRABLE INITIALLY DEFERRED,
        kind      TEXT NOT NULL CHECK (kind IN ('lun', 'file')),
        qtree     TEXT,
        name      TEXT NOT NULL,
        size      INTEGER NOT NULL
    ) STRICT;
    ",
];

impl Catalogue {
    /// Opens the catalogue in that file and brings it to the current format; an empty or missing file becomes a new one.
    ///
    /// # Errors
    /// The file is no catalogue, or of a later format.
    pub fn open(path: &Path) -> Result<Catalogue, StoreError> {
        let mut db = Connection::open(path)?;
        let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let found: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if application != APPLICATION_ID && (application, found) != (0, 0) {
            return Err(StoreError::NotAPool(path.into()));
        }
        if found > FORMAT {
            return Err(StoreError::TooNew { path: path.into(), found, known: FORMAT });
        }
        if (1..FORMAT).contains(&found) {
            back_up(&db, &path.with_extension(format!("format-{found}")))?;
        }
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "foreign_keys", true)?;
        let change = db.transaction()?;
        for step in MIGRATIONS.iter().skip(found as usize) {
            change.execute_batch(step)?;
        }
        change.pragma_update(None, "application_id", APPLICATION_ID)?;
        change.pragma_update(None, "user_version", FORMAT)?;
        change.commit()?;
        let contents = read(&db)?;
        let catalogue = Catalogue { db, contents, ballast: path.with_extension("ballast") };
        catalogue.keep_room();
        Ok(catalogue)
    }

    /// Reads a catalogue that nobody has open, without changing it, and says what is wrong with it.
    ///
    /// # Errors
    /// It is none, or of a later format.
    pub(crate) fn inspect(path: &Path) -> Result<(Contents, Vec<String>), StoreError> {
        // A reader makes these two where there are none, and leaves them.
        let beside = ["db-wal", "db-shm"].map(|extension| path.with_extension(extension));
        let new: Vec<&PathBuf> = beside.iter().filter(|path| !path.exists()).collect();
        let read = Catalogue::inspect_with(path);
        // One that stays is empty.
        new.into_iter().for_each(|path| drop(fs::remove_file(path)));
        read
    }

    fn inspect_with(path: &Path) -> Result<(Contents, Vec<String>), StoreError> {
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let found: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if application != APPLICATION_ID {
            return Err(StoreError::NotAPool(path.into()));
        }
        if found > FORMAT {
            return Err(StoreError::TooNew { path: path.into(), found, known: FORMAT });
        }
        let mut wrong = Vec::new();
        let mut query = db.prepare("PRAGMA integrity_check")?;
        for line in query.query_map([], |row| row.get::<_, String>(0))? {
            wrong.extend(Some(line?).filter(|line| line != "ok").map(|line| line.replace('\n', " ")));
        }
        let mut query = db.prepare("PRAGMA foreign_key_check")?;
        let orphans = query.query_map([], |row| {
            let (table, row, of): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(format!("row {row} of table {table} names a row of table {of} that is not there"))
        })?;
        for orphan in orphans {
            wrong.push(orphan?);
        }
        // The first formats had no snapshots.
        let contents = if found < FORMAT { read_objects(&db)? } else { read(&db)? };
        Ok((contents, wrong))
    }

    /// What is in it.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Makes the catalogue hold exactly `wanted`. Only what differs is written, as one change: all of it is durable
    /// when this returns `Ok`, and nothing was changed otherwise.
    ///
    /// # Errors
    /// The file cannot be written, or a parent or owner is missing.
    pub fn keep(&mut self, wanted: Contents) -> Result<(), StoreError> {
        self.keep_room();
        let frees = gone(&self.contents.objects, &wanted.objects).next().is_some()
            || gone(&self.contents.snapshots, &wanted.snapshots).next().is_some();
        match self.write(&wanted) {
            Err(error) if frees && is_for_want_of_room(&error) => {
                // It may be gone already; then the second attempt fails as the first one did.
                let _ = fs::remove_file(&self.ballast);
                self.write(&wanted)?;
            }
            written => written?,
        }
        self.contents = wanted;
        Ok(())
    }

    /// Has the ballast be there, where there is room for it.
    fn keep_room(&self) {
        if self.ballast.exists() {
            return;
        }
        let laid = fs::File::create(&self.ballast)
            .and_then(|mut file| file.write_all(&[0; BALLAST_BYTES]).and_then(|()| file.sync_all()));
        if laid.is_err() {
            // Half of it would pass for whole.
            let _ = fs::remove_file(&self.ballast);
        }
    }

    fn write(&mut self, wanted: &Contents) -> rusqlite::Result<()> {
        let change = self.db.transaction()?;
        for id in gone(&self.contents.objects, &wanted.objects) {
            change.execute("DELETE FROM object WHERE id = ?1", [id])?;
        }
        for id in gone(&self.contents.policies, &wanted.policies) {
            change.execute("DELETE FROM policy_group WHERE id = ?1", [id])?;
        }
        for id in gone(&self.contents.snapshots, &wanted.snapshots) {
            change.execute("DELETE FROM snapshot_leaf WHERE snapshot = ?1", [id])?;
            change.execute("DELETE FROM snapshot WHERE id = ?1", [id])?;
        }
        for row in new_or_changed(&self.contents.objects, &wanted.objects) {
            write_object(&change, row)?;
        }
        for row in new_or_changed(&self.contents.policies, &wanted.policies) {
            write_policy(&change, row)?;
        }
        for row in new_or_changed(&self.contents.snapshots, &wanted.snapshots) {
            write_snapshot(&change, row)?;
        }
        change.execute("UPDATE pool SET fair = ?1 WHERE fair <> ?1", [wanted.fair])?;
        change.commit()
    }
}

/// SQLite tells of a full file system as such, or as an I/O error where it grows its shared memory.
fn is_for_want_of_room(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DiskFull, SystemIoFailure};
    matches!(error.sqlite_error_code(), Some(DiskFull | SystemIoFailure))
}

/// A copy of a catalogue as it is, durable when it returns. One that an upgrade left which did not get further goes.
fn back_up(db: &Connection, to: &Path) -> Result<(), StoreError> {
    let making = to.with_added_extension("new");
    let failed = |error| StoreError::file(to, "keep a copy of the catalogue before its upgrade")(error);
    match fs::remove_file(&making) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    db.execute("VACUUM INTO ?1", [making.to_string_lossy()])?;
    let synced = fs::File::open(&making).and_then(|file| file.sync_all());
    synced.and_then(|()| fs::rename(&making, to)).map_err(failed)
}

fn gone<'a, T>(
    before: &'a BTreeMap<CatalogueId, T>,
    wanted: &'a BTreeMap<CatalogueId, T>,
) -> impl Iterator<Item = CatalogueId> + 'a {
    before.keys().copied().filter(|id| !wanted.contains_key(id))
}

fn new_or_changed<'a, T: PartialEq>(
    before: &'a BTreeMap<CatalogueId, T>,
    wanted: &'a BTreeMap<CatalogueId, T>,
) -> impl Iterator<Item = &'a T> {
    wanted.iter().filter(|(id, row)| before.get(id) != Some(row)).map(|(_, row)| row)
}

fn read(db: &Connection) -> Result<Contents, StoreError> {
    Ok(Contents { snapshots: read_snapshots(db)?, ..read_objects(db)? })
}

/// All but the snapshots.
fn read_objects(db: &Connection) -> Result<Contents, StoreError> {
    let mut query = db.prepare("SELECT id, kind, parent, name, size, policy, template, fair FROM object")?;
    let objects =
        query.query_map([], |row| object_of(row).map(|object| (object.id, object)))?.collect::<Result<_, _>>()?;
    let mut query = db.prepare("SELECT id, svm, name, uuid, settings FROM policy_group")?;
    let policies =
        query.query_map([], |row| policy_of(row).map(|policy| (policy.id, policy)))?.collect::<Result<_, _>>()?;
    let fair = db.query_row("SELECT fair FROM pool", [], |row| row.get(0))?;
    Ok(Contents { objects, policies, snapshots: BTreeMap::new(), fair })
}

fn read_snapshots(db: &Connection) -> Result<BTreeMap<CatalogueId, SnapshotRow>, StoreError> {
    let mut query = db.prepare("SELECT id, volume, name, created FROM snapshot")?;
    let mut snapshots: BTreeMap<CatalogueId, SnapshotRow> = query
        .query_map([], |row| snapshot_of(row).map(|snapshot| (snapshot.id, snapshot)))?
        .collect::<Result<_, _>>()?;
    let mut query = db.prepare("SELECT snapshot, tree, kind, qtree, name, size FROM snapshot_leaf ORDER BY tree")?;
    let leaves = query.query_map([], |row| Ok((row.get::<_, u32>(0)?, leaf_of(row)?)))?;
    for leaf in leaves {
        let (snapshot, leaf) = leaf?;
        if let Some(snapshot) = snapshots.get_mut(&snapshot) {
            snapshot.leaves.push(leaf);
        }
    }
    Ok(snapshots)
}

fn write_snapshot(change: &Transaction<'_>, row: &SnapshotRow) -> rusqlite::Result<()> {
    let SnapshotRow { id, volume, name, created, leaves } = row;
    let sql = "INSERT INTO snapshot (id, volume, name, created) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (id) DO UPDATE SET name = excluded.name";
    change.execute(sql, params![id, volume, name, *created as i64])?;
    change.execute("DELETE FROM snapshot_leaf WHERE snapshot = ?1", [id])?;
    let sql = "INSERT INTO snapshot_leaf (tree, snapshot, kind, qtree, name, size) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    for SnapshotLeafRow { tree, kind, qtree, name, size } in leaves {
        change.execute(sql, params![tree, id, kind.word(), qtree, name, *size as i64])?;
    }
    Ok(())
}

fn write_object(change: &Transaction<'_>, row: &ObjectRow) -> rusqlite::Result<usize> {
    let sql = "INSERT INTO object (id, kind, parent, name, size, policy, template, fair)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
               ON CONFLICT (id) DO UPDATE SET name = excluded.name, size = excluded.size, policy = excluded.policy,
               template = excluded.template, fair = excluded.fair";
    let ObjectRow { id, kind, parent, name, size, policy, template, fair } = row;
    change.execute(sql, params![id, kind.word(), parent, name, *size as i64, policy, template, fair])
}

fn write_policy(change: &Transaction<'_>, row: &PolicyRow) -> rusqlite::Result<usize> {
    let sql = "INSERT INTO policy_group (id, svm, name, uuid, settings) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (id) DO UPDATE SET name = excluded.name, settings = excluded.settings";
    let PolicyRow { id, svm, name, uuid, settings } = row;
    change.execute(sql, params![id, svm, name, uuid, settings])
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

/// The kind in a column.
fn kind_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Kind> {
    let word: String = row.get(column)?;
    Kind::of_word(&word).ok_or(rusqlite::Error::InvalidColumnName(word))
}

fn snapshot_of(row: &Row<'_>) -> rusqlite::Result<SnapshotRow> {
    let created: i64 = row.get(3)?;
    Ok(SnapshotRow {
        id: row.get(0)?,
        volume: row.get(1)?,
        name: row.get(2)?,
        created: created as u64,
        leaves: Vec::new(),
    })
}

fn leaf_of(row: &Row<'_>) -> rusqlite::Result<SnapshotLeafRow> {
    let size: i64 = row.get(5)?;
    Ok(SnapshotLeafRow {
        tree: row.get(1)?,
        kind: kind_of(row, 2)?,
        qtree: row.get(3)?,
        name: row.get(4)?,
        size: size as u64,
    })
}

fn object_of(row: &Row<'_>) -> rusqlite::Result<ObjectRow> {
    let kind = kind_of(row, 1)?;
    let size: i64 = row.get(4)?;
    Ok(ObjectRow {
        id: row.get(0)?,
        kind,
        parent: row.get(2)?,
        name: row.get(3)?,
        size: size as u64,
        policy: row.get(5)?,
        template: row.get(6)?,
        fair: row.get(7)?,
    })
}

fn policy_of(row: &Row<'_>) -> rusqlite::Result<PolicyRow> {
    Ok(PolicyRow { id: row.get(0)?, svm: row.get(1)?, name: row.get(2)?, uuid: row.get(3)?, settings: row.get(4)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(id: CatalogueId, kind: Kind, parent: Option<CatalogueId>, name: &str) -> ObjectRow {
        ObjectRow { id, kind, parent, name: name.into(), size: 0, policy: None, template: None, fair: false }
    }

    fn snapshot() -> SnapshotRow {
        let leaf = |tree: u32, qtree: Option<&str>, name: &str| SnapshotLeafRow {
            tree,
            kind: Kind::Lun,
            qtree: qtree.map(str::to_owned),
            name: name.into(),
            size: 1 << 20,
        };
        let leaves = vec![leaf(1 << 31, None, "lun1"), leaf((1 << 31) + 1, Some("q1"), "lun1")];
        SnapshotRow { id: 1, volume: 2, name: "nightly".into(), created: 1_795_314_659, leaves }
    }

    fn small() -> Contents {
        let svm = object(1, Kind::Svm, None, "svm01");
        let volume = ObjectRow { size: 1 << 40, policy: Some(4), ..object(2, Kind::Volume, Some(1), "vol1") };
        let lun = ObjectRow { fair: true, ..object(3, Kind::Lun, Some(2), "lun1") };
        let policy = PolicyRow { id: 4, svm: 1, name: "policy1".into(), uuid: "u".into(), settings: "{}".into() };
        Contents {
            objects: [svm, volume, lun].into_iter().map(|row| (row.id, row)).collect(),
            policies: [(4, policy)].into(),
            snapshots: [(1, snapshot())].into(),
            fair: false,
        }
    }

    #[test]
    fn what_was_kept_is_there_after_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("catalogue.db");
        let mut catalogue = Catalogue::open(&path).unwrap();
        catalogue.keep(small()).unwrap();
        let mut changed = small();
        changed.objects.remove(&3);
        changed.fair = true;
        changed.objects.get_mut(&2).unwrap().size = 5;
        changed.snapshots.get_mut(&1).unwrap().name = "weekly".into();
        changed.snapshots.insert(2, SnapshotRow { id: 2, leaves: Vec::new(), ..snapshot() });
        changed.policies.get_mut(&4).unwrap().settings = "{\"max_iops\":1000}".into();
        catalogue.keep(changed.clone()).unwrap();
        drop(catalogue);
        assert_eq!(*Catalogue::open(&path).unwrap().contents(), changed);
    }

    #[test]
    fn a_refused_change_leaves_everything_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c");
        let mut catalogue = Catalogue::open(&path).unwrap();
        catalogue.keep(small()).unwrap();
        let mut orphaned = small();
        orphaned.objects.get_mut(&3).unwrap().size = 9;
        orphaned.objects.insert(7, object(7, Kind::Volume, Some(99), "nowhere"));
        assert!(catalogue.keep(orphaned).is_err(), "its parent does not exist");
        assert_eq!(*catalogue.contents(), small());
        drop(catalogue);
        assert_eq!(*Catalogue::open(&path).unwrap().contents(), small());
    }

    /// A catalogue that may not grow by a page stands in for a full file system: a new object is refused, and the ballast
    /// stays for a deletion. That takes it away, and it is laid anew when there is room again.
    #[test]
    fn the_room_that_is_kept_is_for_deletions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("catalogue.db");
        let ballast = dir.path().join("catalogue.ballast");
        let mut catalogue = Catalogue::open(&path).unwrap();
        catalogue.keep(small()).unwrap();
        assert_eq!(fs::metadata(&ballast).unwrap().len(), BALLAST_BYTES as u64);
        let pages: i64 = catalogue.db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        catalogue.db.pragma_update(None, "max_page_count", pages).unwrap();
        let mut more = small();
        more.objects.insert(9, object(9, Kind::Volume, Some(1), &"v".repeat(8192)));
        assert!(catalogue.keep(more.clone()).is_err());
        assert!(ballast.exists(), "a creation must not take it");
        more.objects.remove(&3);
        assert!(catalogue.keep(more).is_err(), "no room even so");
        assert!(!ballast.exists(), "a deletion may take it");
        assert_eq!(*catalogue.contents(), small());
        let mut less = small();
        less.objects.remove(&3);
        catalogue.keep(less.clone()).unwrap();
        assert!(ballast.exists());
        drop(catalogue);
        assert_eq!(*Catalogue::open(&path).unwrap().contents(), less);
    }

    #[test]
    fn a_later_format_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c");
        drop(Catalogue::open(&path).unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let error = Catalogue::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::TooNew { found: 99, known: FORMAT, .. }), "{error}");
    }

    /// A catalogue as the first format had it: it is upgraded, and a copy stays as it was.
    #[test]
    fn an_earlier_format_is_upgraded_beside_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("catalogue.db");
        for found in [1, 2] {
            let db = Connection::open(&path).unwrap();
            db.execute_batch(MIGRATIONS[0]).unwrap();
            db.execute_batch("INSERT INTO object VALUES (1, 'svm', NULL, 'svm01', 0, NULL, NULL, 0)").unwrap();
            db.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
            db.pragma_update(None, "user_version", found).unwrap();
            drop(db);
            let mut catalogue = Catalogue::open(&path).unwrap();
            assert_eq!(catalogue.contents().objects[&1].name, "svm01");
            let mut wanted = small();
            wanted.objects.get_mut(&1).unwrap().name = "svm02".into();
            catalogue.keep(wanted).unwrap();
            drop(catalogue);
            let copy = Connection::open(dir.path().join(format!("catalogue.format-{found}"))).unwrap();
            let version: u32 = copy.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
            let name: String = copy.query_row("SELECT name FROM object", [], |row| row.get(0)).unwrap();
            assert_eq!((version, name.as_str()), (found, "svm01"));
            for name in ["catalogue.db", "catalogue.db-wal", "catalogue.db-shm"] {
                let _ = fs::remove_file(dir.path().join(name));
            }
        }
    }

    #[test]
    fn another_programs_database_is_not_taken_for_ours() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c");
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 1).unwrap();
        assert!(matches!(Catalogue::open(&path), Err(StoreError::NotAPool(_))));
    }
}
