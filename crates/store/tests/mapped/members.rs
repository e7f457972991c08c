//! Pools of several members.

use super::*;

/// Data on three files, in segments of 1 MiB by turns.
fn on_members(dir: &Path, order: &[&str]) -> MapSettings {
    let data = order.iter().map(|name| dir.join(name)).collect();
    MapSettings { named: store::Named { data, log: None }, ..PAGED }
}

/// Data written across the ends of segments reads back, whole and in parts, after the pool was
/// opened again with its members named in another order; and each member has a part of it.
#[test]
fn data_lies_on_several_members_in_turn() {
    for backend in BACKENDS {
        let dir = tempfile::tempdir().unwrap();
        let pool = MappedPool::create(dir.path(), 7, on_members(dir.path(), &["a", "b", "c"])).unwrap();
        let mut bench = Bench::new(backend, pool);
        bench.administer(1, What::Create { size: 8 << 20 }).unwrap();
        let mut expected: Vec<u8> = (0..8u32 << 20).map(|n| (n >> 12) as u8 ^ (n >> 3) as u8).collect();
        for piece in 0..8 {
            let from = piece << 20;
            bench.write(1, from as u64, &expected[from..from + (1 << 20)]).unwrap();
        }
        bench.administer(2, What::Share { from: 1, frozen: true }).unwrap();
        let before = expected.clone();
        // Copies and writes in place, across blocks and segments, at odd offsets.
        for (at, len) in [(100, 5000), ((1 << 20) - 700, 1400), ((3 << 20) - 4096, 8192), ((5 << 20) - 65536, 200_000)]
        {
            let bytes = vec![at as u8 | 1; len];
            bench.write(1, at as u64, &bytes).unwrap();
            expected[at..at + len].copy_from_slice(&bytes);
        }
        bench.submit(1, 6 << 20, 1 << 20, Op::Trim, true);
        assert_eq!(bench.result(), Ok(()));
        expected[6 << 20..7 << 20].fill(0);
        let look = |bench: &mut Bench| {
            for (lun, content) in [(1, &expected), (2, &before)] {
                for at in (0..8usize << 20).step_by(999_999) {
                    let len = (1_500_000).min((8 << 20) - at);
                    assert!(bench.read(lun, at as u64, len as u64) == content[at..at + len], "LUN {lun} at {at}");
                }
            }
        };
        look(&mut bench);
        assert_eq!(bench.flush(1), Ok(()));
        drop(bench);
        // 8 MiB and the copies: at least 9 segments, so at least 3 MiB on each member, after the
        // label of 64 KiB.
        for name in ["a", "b", "c"] {
            let len = std::fs::metadata(dir.path().join(name)).unwrap().len();
            assert!(((2 << 20) + 65536..=(4 << 20) + 65536).contains(&len), "{name}: {len}");
        }
        let settings = on_members(dir.path(), &["c", "a", "b"]);
        let report = check_maps(dir.path(), &settings.named).unwrap();
        assert_eq!(report.damages, []);
        let mut bench = Bench::new(backend, MappedPool::open(dir.path(), settings).unwrap());
        look(&mut bench);
        assert_eq!(bench.volumes.core().audit(), []);
    }
}

/// A member that is not named, does not exist, belongs to another pool, or is named twice: one line
/// that names it.
#[test]
fn all_members_must_be_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    drop(MappedPool::create(&path("one"), 7, on_members(dir.path(), &["a", "b", "c"])).unwrap());
    drop(MappedPool::create(&path("two"), 8, on_members(dir.path(), &["d", "e", "f"])).unwrap());
    let error = |order: &[&str]| {
        let error = MappedPool::open(&path("one"), on_members(dir.path(), order)).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    assert!(
        error(&["a", "c"]).contains("lies on 3 files or devices, and `[pool] data` does not name number 2 of them")
    );
    assert!(error(&["c"]).contains("does not name number 1, 2 of them"));
    let gone = error(&["a", "gone", "c"]);
    assert!(gone.contains("gone: No such file or directory; it holds a part of the pool's data"), "{gone}");
    assert!(error(&["a", "e", "c"]).contains("e: is not this pool's"));
    assert!(error(&["d", "e", "f"]).contains("d: is not this pool's"));
    assert!(error(&["a", "b", "b", "c"]).contains("b: is not this pool's"));
    let opened = MappedPool::open(&path("one"), on_members(dir.path(), &["b", "c", "a"])).unwrap();
    let twin = MappedPool::open(&path("one"), on_members(dir.path(), &["a", "b", "c"])).unwrap_err().to_string();
    assert!(twin.contains("is in use by another server"), "{twin}");
    drop(opened);
    // One that belongs to another pool, and one that cannot be created: the others are unchanged.
    let error = |order: &[&str]| MappedPool::create(&path("three"), 9, on_members(dir.path(), order)).unwrap_err();
    assert!(matches!(error(&["g", "b"]), MapError::Labelled(found) if found == path("b")));
    assert!(
        matches!(error(&["g", "h", "no/such/folder"]), MapError::File { path: found, .. } if found == path("no/such/folder"))
    );
    assert!(!path("g").exists() && !path("h").exists());
    drop(MappedPool::create(&path("three"), 9, on_members(dir.path(), &["g", "h"])).unwrap());
}

/// A pool that was created but cannot be opened leaves its members free for the next one.
#[test]
fn a_pool_that_cannot_be_opened_when_it_is_made_leaves_no_label() {
    let dir = tempfile::tempdir().unwrap();
    let busy = std::fs::File::create(dir.path().join("b")).unwrap();
    busy.try_lock().unwrap();
    let create = || MappedPool::create(&dir.path().join("pool"), 7, on_members(dir.path(), &["a", "b"]));
    assert!(matches!(create(), Err(MapError::InUse(found)) if found == dir.path().join("b")));
    drop(busy);
    drop(create().unwrap());
}
