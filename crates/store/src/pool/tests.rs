//! Pools are made, opened, and kept from each other and from what is no pool.

use super::*;
use crate::catalogue::{Kind, ObjectRow};

/// A pool with a sparse file a LUN.
fn of_files(dir: &Path) -> Pool {
    fs::write(dir.join(SETTINGS), "cache = \"page\"\nlayout = \"files\"\n").unwrap();
    Pool::create(dir).unwrap()
}

#[test]
fn a_pool_keeps_the_layout_that_it_was_made_with() {
    let dir = tempfile::tempdir().unwrap();
    let settings = |text: &str| fs::write(dir.path().join(SETTINGS), text).unwrap();
    settings("cache = \"page\"\nlayout = \"maps\"\n");
    assert!(Pool::create(dir.path()).unwrap().take_maps().is_some());
    settings("cache = \"page\"\nlayout = \"files\"\n");
    assert!(Pool::open(dir.path()).unwrap().take_maps().is_some());
    let other = tempfile::tempdir().unwrap();
    assert!(of_files(other.path()).take_maps().is_none());
    fs::remove_file(other.path().join(SETTINGS)).unwrap();
    assert!(Pool::open(other.path()).unwrap().take_maps().is_none());
}

#[test]
fn a_folder_with_other_things_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), "years of work").unwrap();
    assert!(matches!(Pool::create(dir.path()), Err(StoreError::NotAPool(_))));
    assert!(matches!(Pool::open(dir.path()), Err(StoreError::NotAPool(_))));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_pool_is_opened_by_one_server_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pool");
    assert!(matches!(Pool::open(&path), Err(StoreError::Missing(_))));
    fs::create_dir(&path).unwrap();
    fs::write(path.join(SETTINGS), "cache = \"page\"\n").unwrap();
    let pool = Pool::create(&path).unwrap();
    assert!(matches!(Pool::open(&path), Err(StoreError::InUse(_))));
    drop(pool);
    Pool::open(&path).unwrap();
}

#[test]
fn a_lun_is_thin_and_its_file_goes_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let pool = of_files(dir.path());
    pool.make_data_file(7, 1 << 30).unwrap();
    assert_eq!(fs::metadata(pool.data_file(7)).unwrap().len(), 1 << 30);
    assert_eq!(pool.used(7).unwrap(), 0);
    pool.remove_data_file(7).unwrap();
    pool.remove_data_file(7).unwrap();
    assert!(pool.used(7).is_err());
}

fn with_lun(id: CatalogueId, size: u64) -> Contents {
    let row = |id: CatalogueId, kind: Kind, parent: Option<CatalogueId>, size: u64| {
        let name = format!("{kind:?}");
        (id, ObjectRow { id, kind, parent, name, size, policy: None, template: None, fair: false, offline: false })
    };
    let (svm, volume) = (row(1, Kind::Svm, None, 0), row(2, Kind::Volume, Some(1), 1 << 20));
    Contents { objects: [svm, volume, row(id, Kind::Lun, Some(2), size)].into(), ..Contents::default() }
}

fn no_maps(_: Agreed) -> Result<(), StoreError> {
    unreachable!("a pool of files keeps it by itself")
}

/// The server dies at each point of making a LUN and of deleting it. Each time the pool is opened again, all that was
/// answered is there, what the change left goes, and a catalogue from before is refused.
#[test]
fn a_change_may_be_cut_off_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let mut pool = of_files(dir.path());
    let touched = BTreeSet::from([7]);
    let (db, file) = (dir.path().join(CATALOGUE), pool.data_file(7));
    let reopen = |has_file: bool| {
        let checked = crate::check(dir.path()).unwrap();
        assert!(checked.is_clean(), "{checked:?}");
        let pool = Pool::open(dir.path()).unwrap();
        assert_eq!(file.exists(), has_file);
        assert!(crate::check(dir.path()).is_err(), "in use");
        pool
    };
    pool.announce(&touched, &mut no_maps).unwrap();
    drop(pool);
    pool = reopen(false);
    pool.announce(&touched, &mut no_maps).unwrap();
    pool.make_data_file(7, 4096).unwrap();
    drop(pool);
    pool = reopen(false);
    let none = fs::read(&db).unwrap();
    pool.announce(&touched, &mut no_maps).unwrap();
    pool.make_data_file(7, 4096).unwrap();
    pool.keep(with_lun(7, 4096)).unwrap();
    drop(pool);
    pool = reopen(true);
    assert!(pool.make_data_file(7, 4096).is_err(), "its number is taken");
    drop(pool);
    let one = fs::read(&db).unwrap();
    // From here on the one before is an older one, and the LUN's file stays.
    fs::write(&db, &none).unwrap();
    let error = Pool::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("catalogue: is edition 0, and the data belongs to edition 1: it is older"), "{error}");
    assert!(file.exists());
    fs::write(&db, &one).unwrap();
    pool = reopen(true);
    pool.announce(&touched, &mut no_maps).unwrap();
    pool.keep(Contents::default()).unwrap();
    drop(pool);
    pool = reopen(false);
    drop(pool);
    fs::write(&db, &one).unwrap();
    assert!(matches!(Pool::open(dir.path()), Err(StoreError::Disagree { .. })));
}

/// A data file that no change has left and the catalogue does not name is somebody's: it is not removed, and not used.
#[test]
fn a_file_that_nobody_knows_stays_until_it_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let pool = of_files(dir.path());
    let file = pool.data_file(7);
    drop(pool);
    fs::write(&file, "of a LUN that the catalogue does not know").unwrap();
    let error = Pool::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("00000007 (41 bytes): the catalogue does not name it"), "{error}");
    let mend = |give_up: &[&str], copy: &str| {
        let give_up = give_up.iter().map(ToString::to_string).collect();
        crate::repair(
            dir.path(),
            &crate::RepairSettings { copy: dir.path().join(copy), give_up, take_catalogue: false },
        )
    };
    assert!(matches!(mend(&["8"], "a"), Err(StoreError::NotMissing(name)) if name == "8"));
    assert!(!mend(&[], "a").unwrap().after.is_clean() && file.exists());
    assert!(mend(&["7"], "b").unwrap().after.is_clean() && !file.exists());
    Pool::open(dir.path()).unwrap();
}

#[test]
fn the_cache_is_chosen_in_the_pools_settings() {
    let dir = tempfile::tempdir().unwrap();
    let settings = dir.path().join(SETTINGS);
    fs::write(&settings, "cache = \"page\"\n").unwrap();
    assert!(matches!(Pool::open(dir.path()), Err(StoreError::Missing(_))), "settings alone are no pool");
    assert_eq!(Pool::create(dir.path()).unwrap().cache(), Cache::Page);
    fs::write(&settings, "\ncash = \"page\"\n").unwrap();
    let error = Pool::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("cash"), "{error}");
}
