//! Pools are created and opened, and are protected from each other and from anything else.

use super::*;

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

/// The memory of the maps is half of the process's, or what a server's other parts leave, or that
/// of the settings if that is not more.
#[test]
fn maps_have_what_the_settings_say_and_others_leave() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pool");
    let mut pool = Pool::create(&path).unwrap();
    let most = |pool: &Pool| pool.maps.as_ref().unwrap().core().usage().nodes_max;
    pool.bound_maps(Bytes::mib(3)).unwrap();
    assert_eq!(most(&pool), 3 << 20);
    pool.bound_maps(Bytes(u64::MAX)).unwrap();
    let half = uring::memory::most().unwrap().0 / 2;
    assert_eq!(most(&pool), half / map::PAGE * map::PAGE);
    fs::write(path.join(SETTINGS), "[pool]\nmaps_memory = \"2MiB\"\n").unwrap();
    drop(pool);
    let mut pool = Pool::open(&path).unwrap();
    pool.bound_maps(Bytes::mib(3)).unwrap();
    assert_eq!(most(&pool), 2 << 20);
    let error = pool.bound_maps(Bytes::mib(1)).unwrap_err().to_string();
    assert!(error.ends_with("must be at most the 1 MiB that the server's other parts of memory leave"), "{error}");
    assert_eq!(most(&pool), 2 << 20, "as it was");
}
