//! What is stored is read again, and whatever is not as it was written is detected.

use super::*;

const POOL: u64 = 7;

fn fresh(path: &Path) -> Catalogue {
    Catalogue::create(path, POOL).unwrap();
    open(path)
}

fn open(path: &Path) -> Catalogue {
    let reading = Catalogue::read(path).unwrap();
    assert!(reading.is_whole && reading.pool == POOL);
    Catalogue::open(path, reading).unwrap()
}

fn object(id: CatalogueId, kind: Kind, parent: Option<CatalogueId>, name: &str) -> ObjectRow {
    ObjectRow {
        os_type: (kind == Kind::Lun).then(|| "vmware".into()),
        node: (kind == Kind::ClientFile).then_some((7, 1_795_314_659_000_000_000)),
        ..ObjectRow::new(id, kind, parent, name)
    }
}

fn snapshot() -> SnapshotRow {
    let leaf = |tree: u32, qtree: Option<&str>, name: &str| SnapshotLeafRow {
        tree,
        kind: Kind::Lun,
        qtree: qtree.map(str::to_owned),
        name: name.into(),
        size: 1 << 20,
        os_type: Some("aix".into()),
    };
    let leaves = vec![leaf(1 << 31, None, "lun1"), leaf((1 << 31) + 1, Some("q1"), "lun1")];
    SnapshotRow {
        id: 1,
        volume: 2,
        name: "nightly".into(),
        created: 1_795_314_659,
        comment: "before the upgrade".into(),
        leaves,
    }
}

fn small() -> Contents {
    let svm = object(1, Kind::Svm, None, "svm01");
    let volume = ObjectRow {
        size: 1 << 40,
        policy: Some(4),
        created: 1_795_314_600,
        junction: Some("/vol1".into()),
        placed: 1_795_314_700,
        origin: Some(2),
        origin_snapshot: Some("nightly".into()),
        ..object(2, Kind::Volume, Some(1), "vol1")
    };
    let file = object(4, Kind::ClientFile, Some(2), "folder/file1");
    let lun = ObjectRow { fair: true, offline: true, ..object(3, Kind::Lun, Some(2), "lun1") };
    let policy = PolicyRow { id: 4, svm: 1, name: "policy1".into(), uuid: "u".into(), settings: "{}".into() };
    Contents {
        objects: [svm, volume, lun, file].into_iter().map(|row| (row.id, row)).collect(),
        policies: [(4, policy)].into(),
        snapshots: [(1, snapshot())].into(),
        partitions: [(
            3,
            PartitionRow { id: 3, name: "db".into(), size: 1 << 30, volumes: vec![2], memory_only: true },
        )]
        .into(),
        fair: false,
        last_object: 4,
    }
}

#[test]
fn what_was_kept_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("catalogue.db");
    let mut catalogue = fresh(&path);
    catalogue.keep(small()).unwrap();
    let mut changed = small();
    changed.objects.remove(&3);
    changed.fair = true;
    changed.objects.get_mut(&2).unwrap().size = 5;
    changed.snapshots.get_mut(&1).unwrap().name = "weekly".into();
    changed.snapshots.insert(2, SnapshotRow { id: 2, leaves: Vec::new(), ..snapshot() });
    // The volume changes partitions, whichever of the two is written first.
    changed.partitions.get_mut(&3).unwrap().volumes.clear();
    changed
        .partitions
        .insert(1, PartitionRow { id: 1, name: "other".into(), size: 5, volumes: vec![2], memory_only: false });
    changed.policies.get_mut(&4).unwrap().settings = "{\"max_iops\":1000}".into();
    catalogue.keep(changed.clone()).unwrap();
    drop(catalogue);
    assert_eq!(*open(&path).contents(), changed);
}

#[test]
fn a_refused_change_leaves_everything_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    let mut catalogue = fresh(&path);
    catalogue.keep(small()).unwrap();
    let mut orphaned = small();
    orphaned.objects.get_mut(&3).unwrap().size = 9;
    orphaned.objects.insert(7, object(7, Kind::Volume, Some(99), "nowhere"));
    assert!(catalogue.keep(orphaned).is_err(), "its parent does not exist");
    assert_eq!(*catalogue.contents(), small());
    drop(catalogue);
    assert_eq!(*open(&path).contents(), small());
}

/// A catalogue that must not grow by a page stands in for a full file system. A new object is
/// refused, and the ballast stays for a deletion. The deletion removes it, and it is created again
/// when there is room.
#[test]
fn the_room_that_is_kept_is_for_deletions() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("catalogue.db");
    let ballast = dir.path().join("catalogue.ballast");
    let mut catalogue = fresh(&path);
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
    assert_eq!(*open(&path).contents(), less);
}

#[test]
fn a_later_format_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    drop(fresh(&path));
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Catalogue::read(&path).unwrap_err();
    assert!(matches!(error, StoreError::TooNew { found: 99, known: FORMAT, .. }), "{error}");
}

#[test]
fn another_programs_database_is_not_taken_for_ours() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 1).unwrap();
    assert!(matches!(Catalogue::read(&path), Err(StoreError::NoCatalogue { .. })));
}

/// An earlier format is refused: what it lacks cannot be invented.
#[test]
fn an_earlier_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    drop(fresh(&path));
    Connection::open(&path).unwrap().pragma_update(None, "user_version", FORMAT - 1).unwrap();
    let error = Catalogue::read(&path).unwrap_err();
    assert!(matches!(error, StoreError::TooOld { found, needed: FORMAT, .. } if found == FORMAT - 1), "{error}");
}

/// If a LUN is brought online behind the server's back, the catalogue differs: the checksum covers
/// the state.
#[test]
fn whether_a_lun_is_offline_is_kept_and_covered_by_the_checksum() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("catalogue.db");
    let mut catalogue = fresh(&path);
    catalogue.keep(small()).unwrap();
    let mut online = small();
    online.objects.get_mut(&3).unwrap().offline = false;
    assert_ne!(rows::Sum::of(&online), rows::Sum::of(&small()));
    catalogue.keep(online.clone()).unwrap();
    drop(catalogue);
    assert_eq!(*open(&path).contents(), online);
    let changed = Connection::open(&path).unwrap().execute("UPDATE object SET offline = 1 WHERE id = 3", []).unwrap();
    assert_eq!((changed, Catalogue::read(&path).unwrap().is_whole), (1, false));
}

/// Between changes everything is in the file itself: nothing is lost without the log.
#[test]
fn the_log_holds_nothing_between_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("catalogue.db");
    let mut catalogue = fresh(&path);
    catalogue.keep(small()).unwrap();
    assert_eq!(fs::metadata(path.with_extension("db-wal")).unwrap().len(), 0);
    let copy = dir.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    assert_eq!(*open(&copy).contents(), small());
}

/// Any bit of the file that changes what is read is detected; most are detected by nothing else.
#[test]
fn a_changed_bit_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("catalogue.db");
    let mut catalogue = fresh(&path);
    catalogue.keep(small()).unwrap();
    let right = catalogue.reading.clone();
    drop(catalogue);
    let bytes = fs::read(&path).unwrap();
    let (damaged, mut noticed) = (dir.path().join("damaged.db"), 0);
    for bit in (0..bytes.len() * 8).step_by(31) {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&damaged, &bytes).unwrap();
        match Catalogue::read(&damaged) {
            Ok(reading) if reading.is_whole => assert_eq!(reading, right, "bit {bit}"),
            // What is wrong is told with the file and what to do.
            Err(StoreError::Catalogue(error)) => panic!("bit {bit}: {error}"),
            _ => noticed += 1,
        }
    }
    assert!(noticed > 100, "{noticed}");
}

/// An empty file is not an empty catalogue. The log beside it stays, although SQLite would delete
/// it.
#[test]
fn an_empty_file_is_no_catalogue_and_its_log_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("catalogue.db");
    assert!(matches!(Catalogue::read(&path), Err(StoreError::NoCatalogue { what: "is not there", .. })));
    fs::write(&path, "").unwrap();
    fs::write(path.with_extension("db-wal"), [7; 5000]).unwrap();
    assert!(matches!(Catalogue::read(&path), Err(StoreError::NoCatalogue { what: "is empty", .. })));
    assert_eq!(fs::read(path.with_extension("db-wal")).unwrap(), [7; 5000]);
}
