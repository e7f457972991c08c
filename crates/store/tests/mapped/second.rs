//! The second level of the cache: random histories against the model, what it serves without the
//! pool, and what happens to reads when its device fails.

use super::random::{act_with_cache, compare, repeated, run};
use super::*;
use cache::{Eviction, PartitionId};
use std::os::unix::fs::FileExt;
use store::{CacheSettings, SecondError, SecondPlace};

const DEFAULT: PartitionId = PartitionId(0);
const PAGE: u64 = 4096;

pub(super) fn place(dir: &Path) -> SecondPlace {
    SecondPlace { path: dir.join("second"), size: Bytes::mib(2), writes_per_day: Bytes::gib(1) }
}

/// A bench over a new pool with this many pages in memory and a second level of 2 MiB; `None` if
/// the file system has no direct I/O.
fn bench(dir: &Path, pages: (u64, u32), policy: Eviction, backend: Choice) -> Option<Bench> {
    over(&place(dir), || MappedPool::create(dir, 7, PAGED).unwrap(), pages, policy, backend)
}

/// Does the same over any pool, with any second level.
pub(super) fn over(
    place: &SecondPlace,
    pool: impl FnOnce() -> MappedPool,
    (pages, page): (u64, u32),
    policy: Eviction,
    backend: Choice,
) -> Option<Bench> {
    let opened = match place.open() {
        Ok(opened) => opened,
        Err(SecondError::Open(OpenError::NoDirect(_))) => {
            eprintln!("skipped: the temporary folder's file system has no direct I/O");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let cache = CacheSettings { memory: Bytes(pages * u64::from(page)), page, policy };
    let settings = VolumesSettings { cache: Some(cache), ..VolumesSettings::default() };
    let mut bench = Bench::with(backend, pool(), settings);
    assert!(bench.volumes.add_second_level(opened));
    Some(bench)
}

/// A bench with 64 pages in memory, and a LUN of 1 MiB each page of which was read twice in a row:
/// all were used, and most were evicted.
fn filled(dir: &Path) -> Option<Bench> {
    filled_above(dir, &place(dir))
}

fn filled_above(dir: &Path, place: &SecondPlace) -> Option<Bench> {
    let pool = || MappedPool::create(dir, 7, PAGED).unwrap();
    let mut bench = over(place, pool, (64, 4096), Eviction::S3Fifo, Choice::Auto)?;
    bench.administer(1, What::Create { size: 1 << 20 }).unwrap();
    bench.write(1, 0, &pattern(3, 1 << 20)).unwrap();
    bench.flush(1).unwrap();
    read_twice(&mut bench);
    Some(bench)
}

/// Reads each page of the LUN twice, none of which was written since, and in an order that nothing
/// is read ahead for.
fn read_twice(bench: &mut Bench) {
    for page in (0..256).map(|step| step * 37 % 256) {
        for _ in 0..2 {
            assert!(bench.read(1, page * PAGE, PAGE) == pattern(3, 1 << 20)[(page * PAGE) as usize..][..4096]);
        }
    }
    bench.settle();
}

pub(super) fn second(bench: &Bench) -> store::SecondState {
    bench.volumes.second_level().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Memory of 2 to 20 pages, so that almost everything goes through the second level. It has 2
    /// MiB for histories of up to 25 trees of 400 KiB, so that segments are overwritten.
    #[test]
    fn with_a_second_level_too_what_is_read_is_what_was_written(
        acts in proptest::collection::vec(act_with_cache(), 1..80), pages in 2u64..20, threads in any::<bool>(),
        page in (12u32..=16).prop_map(|bits| 1 << bits),
        policy in prop_oneof![Just(Eviction::S3Fifo), Just(Eviction::TwoQ), Just(Eviction::Sieve)],
    ) {
        let dir = tempfile::tempdir().unwrap();
        let backend = BACKENDS[usize::from(threads)];
        let Some(mut bench) = bench(dir.path(), (pages, page), policy, backend) else { return Ok(()) };
        // Each page is read three times, so that it counts as used and goes to the second level.
        let model = run(&mut bench, &repeated(acts, 3));
        for _ in 0..3 {
            compare(&mut bench, &model);
        }
        prop_assert_eq!(second(&bench).failed, None);
    }
}

#[test]
fn what_memory_evicted_is_read_from_there_and_a_write_takes_it_out() {
    let dir = tempfile::tempdir().unwrap();
    let Some(mut bench) = filled(dir.path()) else { return };
    let before = second(&bench);
    // At most 64 of 256 pages are in memory, and 3 segments of 64 pages would hold the others; one
    // may still be filling.
    assert!(before.counts.written >= 128 && before.counts.hits == 0, "{before:?}");
    // The pool's file is overwritten: what is not read from it does not change.
    let blocks = std::fs::OpenOptions::new().write(true).open(dir.path().join("maps/blocks")).unwrap();
    blocks.write_all_at(&[0xee; 1 << 20], 0).unwrap();
    let whole = pattern(3, 1 << 20);
    let (mut right, mut others) = (0u32, 0);
    // Out of order, so that nothing is read ahead.
    for page in (0..256u64).map(|n| n * 37 % 256) {
        match bench.read(1, page * PAGE, PAGE) {
            bytes if bytes == whole[(page * PAGE) as usize..][..4096] => right += 1,
            bytes => others += u32::from(bytes == [0xee; 4096]),
        }
    }
    assert_eq!(right + others, 256, "of one or the other");
    let hits = second(&bench).counts.hits;
    assert!(hits >= 64 && u64::from(right) >= hits, "{hits} found there, {right} right");
    assert_eq!(bench.volumes.partition(DEFAULT).unwrap().second_hits, hits);
    // From now on, reads return what was written.
    for page in 0..256u64 {
        bench.write(1, page * PAGE + 5, &[9; 10]).unwrap();
    }
    bench.settle();
    for page in 0..256u64 {
        assert_eq!(bench.read(1, page * PAGE, PAGE)[5..15], [9; 10], "page {page}");
    }
    let state = second(&bench);
    assert!(state.counts.invalidated >= 128 && state.failed.is_none(), "{state:?}");
}

/// A partition that becomes memory-only finds nothing on the second level from then on, and what it
/// had there is removed, which takes some dozen turns. When it may use the second level again, it
/// starts with nothing.
#[test]
fn a_partition_that_keeps_to_memory_finds_nothing_there() {
    let dir = tempfile::tempdir().unwrap();
    let large = SecondPlace { size: Bytes::mib(64), ..place(dir.path()) };
    let Some(mut bench) = filled_above(dir.path(), &large) else { return };
    let (id, size) = (PartitionId(3), Bytes::kib(128));
    let state = |bench: &Bench| {
        let state = bench.volumes.partition(id).unwrap();
        (state.second_hits, state.second_resident)
    };
    bench.volumes.divide_cache(&[(id, size)], &[]).unwrap();
    bench.volumes.assign_partition(ObjectId(1), id);
    (0..2).for_each(|_| read_twice(&mut bench));
    let (hits, resident) = state(&bench);
    assert!(hits > 0 && resident >= Bytes::kib(256), "{hits} found, {resident}");
    bench.volumes.divide_cache(&[(id, size)], &[id]).unwrap();
    for page in (0..256).map(|n| n * 37 % 256) {
        let _ = bench.read(1, page * PAGE, PAGE);
    }
    bench.settle();
    assert_eq!(state(&bench), (hits, Bytes(0)));
    bench.volumes.divide_cache(&[(id, size)], &[]).unwrap();
    assert_eq!(state(&bench), (hits, Bytes(0)));
    (0..2).for_each(|_| read_twice(&mut bench));
    let (again, resident) = state(&bench);
    assert!(again > hits && resident >= Bytes::kib(256), "{again} found, {resident}");
    // It is removed, and its number is reused: the new partition has found nothing.
    bench.volumes.divide_cache(&[], &[]).unwrap();
    bench.volumes.divide_cache(&[(id, size)], &[]).unwrap();
    assert_eq!(state(&bench).0, 0);
}

#[test]
fn a_read_of_several_pages_is_put_together_from_memory_and_from_there() {
    let dir = tempfile::tempdir().unwrap();
    let Some(mut bench) = filled(dir.path()) else { return };
    let whole = pattern(3, 1 << 20);
    let before = second(&bench).counts.hits;
    for at in (0..240u64).step_by(7) {
        let (at, len) = (at * PAGE + 100, 12 * PAGE + 1000);
        assert!(bench.read(1, at, len) == whole[at as usize..][..len as usize], "{len} from {at}");
    }
    let counts = second(&bench).counts;
    assert!(counts.hits > before + 12, "{counts:?}");
}

/// The device answers with other bytes, or not at all: it is turned off, reported once, and every
/// read is correct.
#[test]
fn a_device_that_fails_is_turned_off_and_reads_go_to_the_pool() {
    type Damage = fn(&std::fs::File);
    let kinds: [(Damage, &str); 2] = [
        (
            |file| file.write_all_at(&[7; 1 << 20], 64 << 10).unwrap(),
            "read: bytes that are not those that were written",
        ),
        (|file| file.set_len(64 << 10).unwrap(), "read: "),
    ];
    for (damage, why) in kinds {
        let dir = tempfile::tempdir().unwrap();
        let Some(mut bench) = filled(dir.path()) else { return };
        let file = std::fs::OpenOptions::new().write(true).open(place(dir.path()).path).unwrap();
        damage(&file);
        let (whole, mut tags) = (pattern(3, 1 << 20), BTreeMap::new());
        // Many at a time: some have already started to read there when the first detects it.
        for at in (0..256u64).step_by(8).map(|page| page * PAGE) {
            tags.insert(bench.submit(1, at, 8 * PAGE, Op::Read, false), at as usize);
        }
        for (tag, completion) in bench.all(tags.len()) {
            let at = tags[&tag];
            assert_eq!(completion.result, Ok(()));
            assert!(bench.taken(completion, 8 * PAGE) == whole[at..at + 8 * PAGE as usize]);
        }
        bench.settle();
        let state = second(&bench);
        assert!(state.failed.as_ref().is_some_and(|found| found.starts_with(why)), "{state:?}");
        let told = bench.volumes.take_second_failure().unwrap();
        assert_eq!(Some(told.1), state.failed);
        assert_eq!(bench.volumes.take_second_failure(), None, "told once");
        assert_eq!(bench.volumes.partition(DEFAULT).unwrap().second_resident, Bytes(0));
        assert!(bench.read(1, 0, 1 << 20) == whole);
    }
}

#[test]
fn it_begins_empty_and_what_is_not_ours_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let Some(bench) = filled(dir.path()) else { return };
    let place = place(dir.path());
    assert!(matches!(place.open(), Err(SecondError::InUse(_))));
    drop(bench);
    let opened = place.open().unwrap();
    let cache = CacheSettings { memory: Bytes::kib(256), page: 4096, policy: Eviction::S3Fifo };
    let settings = VolumesSettings { cache: Some(cache), ..VolumesSettings::default() };
    let mut bench = Bench::with(Choice::Auto, MappedPool::open(dir.path(), PAGED).unwrap(), settings);
    assert!(bench.volumes.add_second_level(opened));
    assert!(bench.read(1, 0, 1 << 20) == pattern(3, 1 << 20));
    assert_eq!(second(&bench).counts.hits, 0);

    let refused = |path: &str, bytes: Option<&[u8]>| {
        let path = dir.path().join(path);
        bytes.into_iter().for_each(|bytes| std::fs::write(&path, bytes).unwrap());
        let before = std::fs::read(&path).ok();
        let place = SecondPlace { path: path.clone(), ..place.clone() };
        let error = place.open().unwrap_err().to_string();
        assert_eq!(place.check().unwrap_err().to_string(), error);
        assert_eq!(std::fs::read(&path).ok(), before, "left as it was");
        assert!(error.starts_with(&format!("{}: ", path.display())) && !error.contains('\n'), "{error}");
        error
    };
    assert!(refused("letters", Some(b"Dear Sir")).contains("holds something that is not a second level"));
    assert!(refused("long", Some(&[1; 10_000])).contains("holds something that is not a second level"));
    assert!(refused("maps", None).contains("neither a file nor a block device"));
    assert!(refused("nowhere/second", None).contains("must be a file in a folder that is there, or a device"));
    // Anything but storage is not even read.
    assert!(refused("/dev/null", None).contains("neither a file nor a block device"));
    let new = SecondPlace { path: dir.path().join("new"), ..place };
    assert!(new.check().is_ok() && !new.path.exists(), "looked at alone");
}
