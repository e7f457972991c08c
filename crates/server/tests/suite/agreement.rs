//! The catalogue and the maps refer to each other. Whatever is lost, damaged, outdated or from
//! another pool: the pool is served whole or not at all, the check reports it, nothing is written,
//! and once the right file is put back everything is there.

use crate::support;
use crate::support::pools::{BLOCK, copy, everything, mend, read, served, troubles, with_maps};
use crate::support::{BACKENDS, Server, limits};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use store::{Pool, RepairSettings, StoreError};
use tempfile::TempDir;

fn put(from: impl AsRef<Path>, to: &Path) {
    fs::copy(from, to).unwrap();
}

/// The contents of both LUNs.
fn whole() -> [Vec<u8>; 2] {
    [vec![1; 4], vec![2; 4]]
}

/// The pool's folder as it was while it was served, as after a kill.
fn killed(server: Server) -> (TempDir, PathBuf) {
    let (dir, pool) = served(server);
    fs::remove_dir_all(&pool).unwrap();
    fs::rename(dir.path().join("killed"), &pool).unwrap();
    (dir, pool)
}

/// The pool is not served, and the check reports an error. Neither writes anything.
fn must_be_refused(pool: &Path, why: &str) {
    let before = everything(pool);
    let found = troubles(pool);
    assert!(found.iter().any(|line| line.contains(why)), "{why}: {found:?}");
    let error = Pool::open(pool).expect_err(why).to_string();
    assert!(!error.contains('\n'), "{error}");
    // A refused server leaves its lock file.
    let after = everything(pool);
    let differing: Vec<&PathBuf> =
        after.iter().filter(|file| !before.contains(file) && !file.0.ends_with("lock")).map(|(path, _)| path).collect();
    assert!(differing.is_empty() && after.len() >= before.len(), "{why}: {differing:?}");
}

/// The pool is refused while `path` is changed, and is served once the change is undone.
fn must_be_refused_while(pool: &Path, path: &str, change: impl FnOnce(&Path), why: &str) {
    let path = pool.join(path);
    let aside = pool.with_extension("aside");
    match path.is_dir() {
        true => copy(&path, &aside),
        false => put(&path, &aside),
    }
    change(&path);
    must_be_refused(pool, why);
    if aside.is_dir() && path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::rename(&aside, &path).unwrap();
}

/// A change is made while somebody reads the catalogue, so that it stays in SQLite's write-ahead
/// log; then the server dies. Whichever bit of the log is changed, the pool is either served with
/// both LUNs or refused, and with the bit restored it is whole.
#[test]
fn no_changed_bit_of_the_catalogues_log_loses_a_lun() {
    let server = Server::start(BACKENDS[0], limits());
    let reader = Connection::open(server.dir.path().join("pool/catalogue.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let _: i64 = reader.query_row("SELECT count(*) FROM object", [], |row| row.get(0)).unwrap();
    let (dir, pool) = killed(server);
    drop(reader);
    let (wal, db) = (pool.join("catalogue.db-wal"), pool.join("catalogue.db"));
    let right = [fs::read(&db).unwrap(), fs::read(&wal).unwrap()];
    assert!(right[1].len() > 4096, "the log has the change");
    let put_back = || {
        let _ = fs::remove_file(pool.join("catalogue.db-shm"));
        fs::write(&db, &right[0]).unwrap();
        fs::write(&wal, &right[1]).unwrap();
    };
    let (mut refused, mut served) = (0, 0);
    for step in 0..97 {
        let mut damaged = right[1].clone();
        let at = damaged.len() * step / 97;
        damaged[at] ^= 1 << (step % 8);
        fs::write(&wal, &damaged).unwrap();
        match Pool::open(&pool) {
            Ok(opened) => {
                served += 1;
                assert_eq!(opened.contents().objects.len(), 4, "byte {at}");
                drop(opened);
            }
            Err(error) => {
                refused += 1;
                assert!(matches!(error, StoreError::Disagree { .. } | StoreError::Catalogue(_)), "byte {at}: {error}");
                assert_eq!(fs::read(&wal).unwrap(), damaged, "byte {at}: the log is as it was");
                assert!(!store::check(&pool).unwrap().is_clean(), "byte {at}");
            }
        }
        put_back();
    }
    assert!(refused > 60, "{refused} refused, {served} served");
    let whole_log = || fs::write(&wal, &right[1]).unwrap();
    fs::remove_file(&wal).unwrap();
    must_be_refused(&pool, "it is older, or has lost its last changes");
    whole_log();
    fs::write(&db, "").unwrap();
    must_be_refused(&pool, "the pool's catalogue is empty");
    assert_eq!(fs::read(&wal).unwrap(), right[1], "SQLite deletes a log beside an empty file");
    put_back();
    assert_eq!(read(&dir, &pool), whole());
}

/// Every way to have the wrong catalogue.
#[test]
fn a_catalogue_that_is_not_the_right_one_is_refused() {
    let server = Server::start(BACKENDS[0], limits());
    let older = dir_with(&server.dir.path().join("pool/catalogue.db"));
    let (dir, pool) = killed(server);
    let (_other_dir, other) = with_maps();
    let db = "catalogue.db";
    must_be_refused_while(&pool, db, |path| put(older.path().join(db), path), "it is older");
    must_be_refused_while(&pool, db, |path| put(other.join(db), path), "is of pool ");
    must_be_refused_while(&pool, db, |path| fs::write(path, "").unwrap(), "the pool's catalogue is empty");
    let garble = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        let at = bytes.windows(4).rposition(|word| word == b"lun2").unwrap();
        bytes[at + 3] = b'9';
        fs::write(path, bytes).unwrap();
    };
    must_be_refused_while(&pool, db, garble, "its checksum is wrong");
    // The text of a table's definition: its rows are as they were, and no LUN could be made.
    let redefine = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        let at = bytes.windows(5).position(|word| word == b"'lun'").unwrap();
        bytes[at + 1] ^= 2;
        fs::write(path, bytes).unwrap();
    };
    must_be_refused_while(&pool, db, redefine, "has tables that are not those of its format");
    // Without a catalogue there is nothing to check. A server reports what is missing, even if it
    // may create pools.
    fs::rename(pool.join(db), dir.path().join("away")).unwrap();
    for error in [Pool::open(&pool).err(), Pool::create(&pool).err(), store::check(&pool).err()] {
        let error = error.unwrap();
        assert!(matches!(error, StoreError::NoCatalogue { .. } | StoreError::NotAPool(_)), "{error}");
    }
    assert!(!store::clear_unfinished(&pool).unwrap());
    fs::rename(dir.path().join("away"), pool.join(db)).unwrap();
    assert_eq!(read(&dir, &pool), whole());
}

fn dir_with(file: &Path) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(file, dir.path().join(file.file_name().unwrap())).unwrap();
    dir
}

/// Every way to have maps, or blocks, that are damaged or outdated.
#[test]
fn maps_that_are_not_whole_are_refused() {
    let server = Server::start(BACKENDS[0], limits());
    let before = tempfile::tempdir().unwrap();
    copy(&server.dir.path().join("pool/maps"), &before.path().join("maps"));
    let (dir, pool) = killed(server);
    let older = |name: &str| {
        let from = before.path().join(name);
        move |path: &Path| put(from, path)
    };
    let cut = |path: &Path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(7 * BLOCK as u64).unwrap();
    let gone = |path: &Path| fs::remove_file(path).unwrap();
    must_be_refused_while(&pool, "maps/blocks", cut, "has 458752 bytes, and blocks up to byte 524288 are in use");
    must_be_refused_while(&pool, "maps/table.1", gone, "table.1 or one of its nodes is damaged");
    must_be_refused_while(&pool, "maps/end", gone, "the end is not there or damaged");
    must_be_refused_while(
        &pool,
        "maps/end",
        |path| fs::write(path, [7; 9000]).unwrap(),
        "the end is not there or damaged",
    );
    must_be_refused_while(&pool, "maps/end", older("maps/end"), "the end is an older one");
    must_be_refused_while(
        &pool,
        "maps",
        |path| fs::remove_dir_all(path).unwrap(),
        "and the catalogue says that the pool's",
    );
    let all = |path: &Path| {
        fs::remove_dir_all(path).unwrap();
        copy(&before.path().join("maps"), path);
    };
    must_be_refused_while(&pool, "maps", all, "the data is older");
    assert!(!pool.join("data").exists());
    assert_eq!(read(&dir, &pool), whole());
}

/// The last flush is in the last record of the log, and the log's end is updated a tenth of a
/// second later.
#[test]
fn a_log_that_lost_its_last_record_is_refused() {
    let server = Server::start(BACKENDS[0], limits());
    let before = dir_with(&server.dir.path().join("pool/maps/log"));
    let (dir, pool) = {
        let Server { mut control, socket, dir } = server;
        control.execute("lun create /vol/vol1/lun2 -size 64MiB").unwrap();
        let pool = dir.path().join("pool");
        for (export, byte) in [(support::LUN, 1), ("/vol/vol1/lun2", 2)] {
            let mut client = support::Client::connect(&socket, nbd::Wishes::plain(export));
            client.write(0, &[byte; 4 * BLOCK]).unwrap();
            client.call(nbd::NbdRequest::new(9, nbd::Command::Flush, 0, 0), &[]).unwrap();
        }
        let killed = dir.path().join("killed");
        let give_up = uring::Clock::new().now() + block::Span::from_secs(60);
        loop {
            copy(&pool, &killed);
            let report = store::check_maps(&killed, &store::Named::default()).unwrap();
            if report.anchored == report.sequence {
                break;
            }
            fs::remove_dir_all(&killed).unwrap();
            assert!(uring::Clock::new().now() < give_up, "the end never knows of the last record: {report:?}");
        }
        drop(control);
        (dir, killed)
    };
    let limits = store::check(&pool).unwrap().limits;
    assert!(limits.len() == 1 && limits[0].starts_with("the log goes to record "), "{limits:?}");
    must_be_refused_while(&pool, "maps/log", |path| put(before.path().join("log"), path), "older log");
    let last = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        let page = bytes.chunks(4096).rposition(|page| page.starts_with(b"SWLG")).unwrap();
        bytes[page * 4096 + 50] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    must_be_refused_while(&pool, "maps/log", last, "its last records are damaged");
    let again = dir.path().join("again.pool");
    copy(&pool, &again);
    assert_eq!(read(&dir, &again), whole());
    // A repair continues with what there is, and reports what was lost.
    last(&pool.join("maps/log"));
    let repaired = mend(&pool, &dir.path().join("copy"), &[]).unwrap();
    assert!(repaired.after.is_clean(), "{repaired:?}");
    assert!(repaired.done.iter().any(|line| line.contains("changes of the maps after record")), "{repaired:?}");
    assert_eq!(read(&dir, &pool), [vec![1; 4], vec![0; 4]]);
}

/// If an older catalogue is the only one left, trees that it does not name are kept until they are
/// given up by name, and those that it names keep their contents.
#[test]
fn with_an_older_catalogue_nothing_goes_unless_it_is_given_up() {
    let server = Server::start(BACKENDS[0], limits());
    let older = dir_with(&server.dir.path().join("pool/catalogue.db"));
    let (dir, pool) = killed(server);
    let repair = |number: u32, give_up: &[&str], take_catalogue: bool| {
        let copy = dir.path().join(format!("copy{number}"));
        let give_up = give_up.iter().map(ToString::to_string).collect();
        store::repair(&pool, &RepairSettings { copy, give_up, take_catalogue })
    };
    let right = dir_with(&pool.join("catalogue.db"));
    fs::copy(older.path().join("catalogue.db"), pool.join("catalogue.db")).unwrap();
    assert!(matches!(repair(1, &[], false), Err(StoreError::NotTaken(_))));
    assert!(matches!(repair(1, &["17"], true), Err(StoreError::NotMissing(_))));
    let kept = repair(1, &[], true).unwrap();
    let unknown = "tree 4 of the maps (67108864 bytes): the catalogue does not name it; it is kept until it is given up: \
                   --give-up 4";
    assert_eq!(kept.after.troubles.iter().map(ToString::to_string).collect::<Vec<_>>(), [unknown]);
    assert_eq!(kept.after.used, 8 * BLOCK as u64);
    must_be_refused(&pool, "tree 4 of the maps");
    // The right catalogue is outdated now: the pool has continued with another.
    fs::copy(right.path().join("catalogue.db"), dir.path().join("right.db")).unwrap();
    let given = repair(2, &["4"], false).unwrap();
    assert!(given.after.is_clean() && given.after.used == 4 * BLOCK as u64, "{given:?}");
    let control = Pool::open(&pool).unwrap();
    assert_eq!(control.contents().objects.len(), 3);
    drop(control);
    must_be_refused_while(
        &pool,
        "catalogue.db",
        |path| put(dir.path().join("right.db"), path),
        "catalogue: is edition",
    );
}

/// A LUN that the maps do not contain is not replaced by zeroes without being asked for.
#[test]
fn a_lun_is_made_of_zeroes_only_by_name() {
    let (dir, pool) = with_maps();
    // The catalogue names one LUN more, and claims to be valid.
    let db = Connection::open(pool.join("catalogue.db")).unwrap();
    db.execute_batch(
        "INSERT INTO object SELECT 9, kind, parent, 'lun9', size, policy, template, fair, offline, os_type, created,
                            junction, placed, origin, origin_snapshot, node, generation FROM object WHERE id = 3",
    )
    .unwrap();
    drop(db);
    must_be_refused(&pool, "catalogue: what is in it is not what was written");
    must_be_refused(&pool, "LUN svm01:/vol/vol1/lun9 (number 9): the maps have nothing of it");
    let repair = |number: u32, give_up: &[&str], take_catalogue: bool| {
        let copy = dir.path().join(format!("copy{number}"));
        let give_up = give_up.iter().map(ToString::to_string).collect();
        store::repair(&pool, &RepairSettings { copy, give_up, take_catalogue })
    };
    assert!(matches!(repair(1, &["svm01:/vol/vol1/lun9"], false), Err(StoreError::NotTaken(_))));
    assert!(!repair(1, &[], true).unwrap().after.is_clean());
    must_be_refused(&pool, "LUN svm01:/vol/vol1/lun9 (number 9): the maps have nothing of it");
    let made = repair(2, &["svm01:/vol/vol1/lun9"], false).unwrap();
    assert!(made.after.is_clean() && made.after.leaves() == 3, "{made:?}");
    assert_eq!(read(&dir, &pool), whole());
}
