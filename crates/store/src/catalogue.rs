//! The catalogue: names, sizes, policies and attachments in SQLite. No request's path goes through
//! it.
//!
//! A change is durable when its call returns (`synchronous = FULL`), so a server may acknowledge
//! it. It is written to SQLite's log (`catalogue.db-wal`) and checkpointed to the file immediately,
//! so the log is empty except during a change.
//!
//! Each change creates a new *edition*: a generation number that increases, and a checksum of all
//! contents. The maps know which edition they belong to (see [`map::Agreed`]). So a catalogue that
//! is outdated, from another pool, or incomplete is detected.
//!
//! On a full file system nothing could be deleted, as a deletion is written first. So a file beside
//! the catalogue reserves some space: it is removed where that is needed, and made again later.

mod changes;
mod file;
mod rows;
mod schema;

pub use changes::Changes;
pub use rows::PartitionRow;

use crate::StoreError;
use block::Bytes;
use file::{connect, is_for_want_of_room, without_traces};
use map::Edition;
use rusqlite::{Connection, params};
use schema::{APPLICATION_ID, FORMAT, SCHEMA};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of an object or a policy group; the creator assigns it.
pub type CatalogueId = u32;

/// The policy groups from 1 to this are built in: they always exist and have no rows.
pub const BUILT_IN_POLICIES: CatalogueId = 3;

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
    /// A file of a volume or qtree with a fixed size, created by an administrator.
    File,
    /// A file that clients created and that has or had a policy; its data is in its volume's tree.
    ClientFile,
}

/// A storage object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRow {
    /// Its number, greater than its parent's. The tree of a LUN has the same number.
    pub id: CatalogueId,
    /// What it is.
    pub kind: Kind,
    /// Its parent; `None` for an SVM.
    pub parent: Option<CatalogueId>,
    /// Its name within its parent.
    pub name: String,
    /// Its size in bytes; 0 for an SVM.
    pub size: u64,
    /// The policy group attached to it.
    pub policy: Option<CatalogueId>,
    /// The policy group that its new children get.
    pub template: Option<CatalogueId>,
    /// Whether its children take turns while no limit binds.
    pub fair: bool,
    /// Whether an administrator took a LUN offline: it is kept, but clients cannot access it.
    pub offline: bool,
    /// The operating system that a LUN is for, in the administrators' term.
    pub os_type: Option<String>,
    /// When a volume was created, in seconds since 1970; 0 if unknown.
    pub created: u64,
    /// A volume's place in its SVM's name space.
    pub junction: Option<String>,
    /// When a volume got its name or junction, in seconds since 1970; 0 if when it was created.
    pub placed: u64,
    /// The volume that a volume was cloned from. It may have been deleted.
    pub origin: Option<CatalogueId>,
    /// The snapshot that it was cloned from, if it was one.
    pub origin_snapshot: Option<String>,
    /// The node of a clients' file in its volume's tree: number and generation.
    pub node: Option<(u32, u64)>,
}

impl ObjectRow {
    /// An object of that name, without a size and without anything that it may have besides.
    pub fn new(id: CatalogueId, kind: Kind, parent: Option<CatalogueId>, name: &str) -> ObjectRow {
        ObjectRow {
            id,
            kind,
            parent,
            name: name.into(),
            size: 0,
            policy: None,
            template: None,
            fair: false,
            offline: false,
            os_type: None,
            created: 0,
            junction: None,
            placed: 0,
            origin: None,
            origin_snapshot: None,
            node: None,
        }
    }
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
    /// Its settings as JSON, which the server writes and reads.
    pub settings: String,
}

/// A LUN or file in a snapshot, or the clients' files of the volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotLeafRow {
    /// The tree of the maps that holds it.
    pub tree: u32,
    /// Its kind; a volume for the clients' files.
    pub kind: Kind,
    /// The qtree that it was in.
    pub qtree: Option<String>,
    /// Its name there.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The operating system that a LUN was for, in the administrators' word.
    pub os_type: Option<String>,
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
    /// What administrators noted about it; empty if nothing.
    pub comment: String,
    /// What the volume contained.
    pub leaves: Vec<SnapshotLeafRow>,
}

/// All contents of a catalogue, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The storage objects.
    pub objects: BTreeMap<CatalogueId, ObjectRow>,
    /// The policy groups.
    pub policies: BTreeMap<CatalogueId, PolicyRow>,
    /// The snapshots.
    pub snapshots: BTreeMap<CatalogueId, SnapshotRow>,
    /// The partitions of the cache.
    pub partitions: BTreeMap<CatalogueId, PartitionRow>,
    /// Whether the SVMs take turns while no limit binds.
    pub fair: bool,
    /// The greatest number that an object ever had. The next object gets a greater one, so a
    /// client's reference to a deleted object (an NFS file handle) never refers to another.
    pub last_object: CatalogueId,
}

impl Contents {
    /// The path of an object, as administrators write it: `svm01:/vol/vol1/qtree1/lun1`.
    pub(crate) fn path(&self, row: &ObjectRow) -> String {
        let mut names = vec![row.name.as_str()];
        let mut above = row.parent;
        // The maximum depth of an object; in a damaged catalogue, parents may form a cycle.
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
    reading: Reading,
    ballast: PathBuf,
}

/// Space reserved for a deletion: some pages of 4 KiB in the log and in the file.
const BALLAST_BYTES: usize = 256 << 10;

/// Space that must be available before some is reserved, so that the reserve is not the last of it.
const ROOM: Bytes = Bytes::mib(1);

/// How long a change waits for that of someone else, such as an administrator with the file open.
const BUSY_TIME: Duration = Duration::from_secs(5);

/// A catalogue's contents, and what it says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub contents: Contents,
    /// The pool's own number.
    pub pool: u64,
    /// Its generation, and the checksum of what was read.
    pub edition: Edition,
    /// The sum of the rows' checksums.
    pub sum: rows::Sum,
    /// Whether the contents match the stored checksum.
    pub is_whole: bool,
}

/// The edition of a new pool's catalogue.
pub(crate) fn first_edition(pool: u64) -> Edition {
    Edition { generation: 0, digest: rows::digest(pool, 0, &Contents::default(), rows::Sum::default()) }
}

impl Catalogue {
    /// Creates the catalogue of a new pool in a file that must not exist. After a power failure it
    /// is complete and durable, or does not exist.
    ///
    /// # Errors
    /// The file system refuses.
    pub(crate) fn create(path: &Path, pool: u64) -> Result<(), StoreError> {
        let making = path.with_extension("new");
        let failed = StoreError::file(path, "make the catalogue");
        match fs::remove_file(&making) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut db = Connection::open(&making)?;
        db.pragma_update(None, "synchronous", "FULL")?;
        let change = db.transaction()?;
        change.execute_batch(SCHEMA)?;
        let digest = first_edition(pool).digest;
        let sql = "INSERT INTO pool (number, generation, digest, fair, last_object) VALUES (?1, 0, ?2, 0, 0)";
        change.execute(sql, params![pool as i64, digest])?;
        change.pragma_update(None, "application_id", APPLICATION_ID)?;
        change.pragma_update(None, "user_version", FORMAT)?;
        change.commit()?;
        db.close().map_err(|(_, error)| error)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let synced = fs::File::open(&making).and_then(|file| file.sync_all());
        synced
            .and_then(|()| fs::rename(&making, path))
            .and_then(|()| fs::File::open(folder)?.sync_all())
            .map_err(failed)
    }

    /// Reads a catalogue that nobody has open, without changing anything: neither its contents nor
    /// its log, even if the file has lost something.
    ///
    /// # Errors
    /// It is not a catalogue, or has another format.
    pub(crate) fn read(path: &Path) -> Result<Reading, StoreError> {
        without_traces(path, reading_of)
    }

    /// Does the same, and returns everything that SQLite finds wrong.
    ///
    /// # Errors
    /// It is not a catalogue, or has another format.
    pub(crate) fn inspect(path: &Path) -> Result<(Reading, Vec<String>), StoreError> {
        without_traces(path, |db| Ok((reading_of(db)?, faults(db)?)))
    }

    /// Opens a catalogue that was read and found correct.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn open(path: &Path, reading: Reading) -> Result<Catalogue, StoreError> {
        // What a server wrote before it died may only be in the page cache, and is relied on from
        // here.
        for file in [path.to_owned(), path.with_extension("db-wal")].iter().filter(|file| file.exists()) {
            let synced = fs::File::open(file).and_then(|file| file.sync_all());
            synced.map_err(StoreError::file(file, "make the catalogue durable"))?;
        }
        let ballast = path.with_extension("ballast");
        let db = match connect(path) {
            Err(error) if is_for_want_of_room(&error) => {
                // So that something can be deleted. Without a ballast it fails as before.
                let _ = fs::remove_file(&ballast);
                connect(path)?
            }
            opened => opened?,
        };
        let catalogue = Catalogue { db, reading, ballast };
        catalogue.fold();
        catalogue.keep_room();
        Ok(catalogue)
    }

    /// The pool's own number.
    pub fn pool(&self) -> u64 {
        self.reading.pool
    }

    /// Its present edition.
    pub fn edition(&self) -> Edition {
        self.reading.edition
    }

    /// Its contents.
    pub fn contents(&self) -> &Contents {
        &self.reading.contents
    }

    /// Makes the catalogue contain exactly `wanted`. Only differences are written, in one
    /// transaction: all of it is durable when this returns `Ok`, and otherwise nothing was changed.
    ///
    /// # Errors
    /// The file cannot be written, or a parent or owner is missing.
    pub fn keep(&mut self, wanted: Contents) -> Result<(), StoreError> {
        let changes = Changes::between(self.contents(), wanted);
        self.change(changes).map(drop)
    }

    /// Makes changes in one transaction: all of it is durable when this returns `Ok`, and otherwise
    /// nothing was changed. Returns the previous contents of the changed rows.
    ///
    /// # Errors
    /// As [`Catalogue::keep`].
    pub fn change(&mut self, changes: Changes) -> Result<Changes, StoreError> {
        self.keep_room();
        let frees = changes.frees();
        let last_object = self.reading.contents.last_object;
        let was = self.reading.contents.apply(changes);
        let generation = self.reading.edition.generation + 1;
        let sum = self.reading.sum.after(&was, self.contents());
        let digest = rows::digest(self.reading.pool, generation, self.contents(), sum);
        let edition = Edition { generation, digest };
        let written = match self.write(&was, edition) {
            Err(error) if frees && is_for_want_of_room(&error) => {
                // If it is gone already, the second attempt fails like the first.
                let _ = fs::remove_file(&self.ballast);
                self.write(&was, edition)
            }
            written => written,
        };
        if let Err(error) = written {
            self.reading.contents.apply(was);
            self.reading.contents.last_object = last_object;
            return Err(error.into());
        }
        (self.reading.edition, self.reading.sum) = (edition, sum);
        self.fold();
        Ok(was)
    }

    /// Checkpoints SQLite's log into the file, so that the file is complete as long as nothing
    /// changes. If that fails, everything is still in the log.
    fn fold(&self) {
        // Do not wait for concurrent readers.
        let _ = self.db.busy_timeout(Duration::ZERO);
        let _ = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let _ = self.db.busy_timeout(BUSY_TIME);
    }

    /// Creates the ballast if it is missing and there is space for it.
    pub(crate) fn keep_room(&self) {
        let folder = self.ballast.parent().unwrap_or(Path::new("."));
        if self.ballast.exists() || !uring::space::space(folder).is_ok_and(|space| space.available >= ROOM) {
            return;
        }
        let laid = fs::File::create(&self.ballast)
            .and_then(|mut file| file.write_all(&[0; BALLAST_BYTES]).and_then(|()| file.sync_all()));
        if laid.is_err() {
            // A partial one would be taken for complete.
            let _ = fs::remove_file(&self.ballast);
        }
    }

    /// Writes the present state of the rows that `was` has.
    fn write(&mut self, was: &Changes, edition: Edition) -> rusqlite::Result<()> {
        let change = self.db.transaction()?;
        let wanted = &self.reading.contents;
        for id in was.objects.keys().filter(|id| !wanted.objects.contains_key(id)) {
            change.execute("DELETE FROM object WHERE id = ?1", [id])?;
        }
        for id in was.policies.keys().filter(|id| !wanted.policies.contains_key(id)) {
            change.execute("DELETE FROM policy_group WHERE id = ?1", [id])?;
        }
        for id in was.snapshots.keys().filter(|id| !wanted.snapshots.contains_key(id)) {
            change.execute("DELETE FROM snapshot_leaf WHERE snapshot = ?1", [id])?;
            change.execute("DELETE FROM snapshot WHERE id = ?1", [id])?;
        }
        for id in was.partitions.keys() {
            change.execute("DELETE FROM cache_volume WHERE partition = ?1", [id])?;
            if !wanted.partitions.contains_key(id) {
                change.execute("DELETE FROM cache_partition WHERE id = ?1", [id])?;
            }
        }
        for row in was.objects.keys().filter_map(|id| wanted.objects.get(id)) {
            rows::write_object(&change, row)?;
        }
        for row in was.policies.keys().filter_map(|id| wanted.policies.get(id)) {
            rows::write_policy(&change, row)?;
        }
        for row in was.snapshots.keys().filter_map(|id| wanted.snapshots.get(id)) {
            rows::write_snapshot(&change, row)?;
        }
        for row in was.partitions.keys().filter_map(|id| wanted.partitions.get(id)) {
            rows::write_partition(&change, row)?;
        }
        let sql = "UPDATE pool SET fair = ?1, generation = ?2, digest = ?3, last_object = ?4";
        let Contents { fair, last_object, .. } = wanted;
        change.execute(sql, params![fair, edition.generation as i64, edition.digest, last_object])?;
        debug_assert_eq!(rows::read(&change).as_ref(), Ok(wanted), "what is not read back is lost");
        let again = || rows::digest(self.reading.pool, edition.generation, wanted, rows::Sum::of(wanted));
        debug_assert_eq!(again(), edition.digest);
        change.commit()
    }
}

fn reading_of(db: &Connection) -> Result<Reading, StoreError> {
    let path = || PathBuf::from(db.path().unwrap_or_default());
    let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let found: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if application != APPLICATION_ID {
        return Err(StoreError::NoCatalogue { path: path(), what: "is another program's" });
    }
    if found > FORMAT {
        return Err(StoreError::TooNew { path: path(), found, known: FORMAT });
    }
    if found < FORMAT {
        return Err(StoreError::TooOld { path: path(), found, needed: FORMAT });
    }
    if definitions(db)? != definitions(&expected()?)? {
        return Err(StoreError::NoCatalogue { path: path(), what: "has tables that are not those of its format" });
    }
    let contents = rows::read(db)?;
    let sql = "SELECT number, generation, digest FROM pool";
    let (number, generation, written): (i64, i64, u32) =
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let (pool, generation) = (number as u64, generation as u64);
    let sum = rows::Sum::of(&contents);
    let digest = rows::digest(pool, generation, &contents, sum);
    Ok(Reading { contents, pool, edition: Edition { generation, digest }, sum, is_whole: digest == written })
}

/// A database with the tables that a catalogue has.
fn expected() -> Result<Connection, StoreError> {
    let db = Connection::open_in_memory()?;
    db.execute_batch(SCHEMA)?;
    Ok(db)
}

/// The definitions of all tables, as text. SQLite obeys them whatever they say, and the digest
/// covers rows only.
fn definitions(db: &Connection) -> Result<Vec<[Option<String>; 4]>, StoreError> {
    let mut query = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid")?;
    let rows = query.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Everything that SQLite finds wrong.
fn faults(db: &Connection) -> Result<Vec<String>, StoreError> {
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
    Ok(wrong)
}

#[cfg(test)]
mod tests;
