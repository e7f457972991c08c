//! The cache never shows stale data: random histories against the model, concurrent changes against
//! the disk, while partitions are added, changed and removed.

use super::random::{act_with_cache, compare, repeated, run};
use super::second::{over, place};
use super::*;
use cache::{Eviction, PartitionId};
use store::CacheSettings;

const DEFAULT: PartitionId = PartitionId(0);

fn with_cache(memory: Bytes, page: u32, policy: Eviction) -> VolumesSettings {
    VolumesSettings { cache: Some(CacheSettings { memory, page, policy }), ..VolumesSettings::default() }
}

/// A cache of 12 to 400 pages of any size, with any policy: some of the histories fit into it, some
/// do not.
fn any_cache() -> impl Strategy<Value = VolumesSettings> {
    let policy = prop_oneof![Just(Eviction::S3Fifo), Just(Eviction::TwoQ), Just(Eviction::Sieve)];
    let page = (12u32..=16).prop_map(|bits| 1 << bits);
    (12u64..400, page, policy)
        .prop_map(|(pages, page, policy)| with_cache(Bytes(pages * u64::from(page)), page, policy))
}

/// A small random generator (xorshift), so that a history can be repeated by its seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// What may happen in between: a restore or resize, whose number is returned, or a change of the
/// cache.
fn meanwhile(bench: &mut Bench, chance: &mut Chance) -> Option<u64> {
    let what = match chance.below(8) {
        0 => What::Restore { from: 2 },
        // Nothing was ever written beyond the smallest size.
        1 => What::Resize { size: [160 << 10, SIZE, 2 * SIZE][chance.below(3) as usize] },
        2 => {
            let partitions = [(PartitionId(1), Bytes::kib(64 << chance.below(3)))];
            let memory_only = &[PartitionId(1)][..chance.below(2) as usize];
            bench.volumes.divide_cache(&partitions, memory_only).unwrap();
            bench.volumes.assign_partition(ObjectId(1), PartitionId(chance.below(2) as u8));
            return None;
        }
        3 => {
            bench.volumes.limit_cache(Bytes::kib(64 << chance.below(4)));
            return None;
        }
        _ => return None,
    };
    Some(bench.volumes.administer(ObjectId(1), what))
}

/// Writes, trims, zeroes and reads of one LUN, eight at a time, with restores, resizes and changes
/// of the cache in between. In whatever order the disk had them, later reads return what is on the
/// disk, as a pool opened without a cache shows it. Every second run has a second level, if the
/// file system has direct I/O, and little memory.
fn overlap(seed: u64, page: u32) {
    let dir = tempfile::tempdir().unwrap();
    let pool = || MappedPool::create(dir.path(), 7, PAGED).unwrap();
    let few = (Bytes::kib(256).0 / u64::from(page), page);
    let second = (seed % 2 == 1).then(|| over(&place(dir.path()), pool, few, Eviction::S3Fifo, Choice::Auto));
    let mut bench = second
        .flatten()
        .unwrap_or_else(|| Bench::with(Choice::Auto, pool(), with_cache(Bytes::kib(512), page, Eviction::S3Fifo)));
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    bench.administer(1, What::Create { size: SIZE }).unwrap();
    bench.administer(2, What::Share { from: 1, frozen: true }).unwrap();
    for _ in 0..40 {
        let mut asked = 0;
        for _ in 0..8 {
            // Close together, so that they overlap.
            let (at, len) = (chance.below(20) * 512 + chance.below(3) * 65_536, 512 * (1 + chance.below(24)));
            let op = match chance.below(8) {
                0..=3 => Op::Write(bench.filled(&vec![chance.below(256) as u8; len as usize])),
                4 => Op::Trim,
                5 => Op::Zero { no_hole: chance.below(2) == 0, fast_only: false },
                _ => Op::Read,
            };
            bench.submit(1, at, len, op, chance.below(4) == 0);
            asked += 1;
        }
        let ask = meanwhile(&mut bench, &mut chance);
        let (mut answers, mut out) = (Vec::new(), Vec::new());
        while out.len() < asked || answers.len() < usize::from(ask.is_some()) {
            bench.turn(&mut out);
            bench.volumes.take_answers(&mut answers);
        }
        assert!(answers.iter().all(|answer| answer.result == Ok(())));
        for mut completion in out {
            completion.buf.take().into_iter().for_each(|buf| bench.io.give(buf));
        }
        // Fills pages for the next round.
        let size = bench.volumes.core().tree(1).unwrap().0;
        let _ = bench.read(1, 0, size);
    }
    let size = bench.volumes.core().tree(1).unwrap().0;
    let shown = bench.read(1, 0, size);
    bench.settle();
    assert_eq!(bench.flush(1), Ok(()));
    bench.release();
    drop(bench);
    let mut bench = Bench::new(Choice::Auto, MappedPool::open(dir.path(), PAGED).unwrap());
    let there = bench.read(1, 0, size);
    let wrong = (0..size as usize).find(|at| shown[*at] != there[*at]);
    assert_eq!(wrong, None, "seed {seed}, pages of {page}: the first byte that was not what lies there");
}

#[test]
fn changes_at_one_time_leave_nothing_old_in_the_cache() {
    for seed in 0..24 {
        overlap(seed, 4096 << (seed % 5));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn with_a_cache_too_what_is_read_is_what_was_written(
        acts in proptest::collection::vec(act_with_cache(), 1..80), cache in any_cache(), threads in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let pool = MappedPool::create(dir.path(), 7, PAGED).unwrap();
        let mut bench = Bench::with(BACKENDS[usize::from(threads)], pool, cache);
        // Each is read twice: the second time from memory, if it fits.
        let model = run(&mut bench, &repeated(acts, 2));
        compare(&mut bench, &model);
        compare(&mut bench, &model);
    }
}

/// A bench with a LUN of 1 MiB that was written, and a cache of 2 MiB in pages of 4 KiB.
fn with_lun(dir: &Path) -> Bench {
    let pool = MappedPool::create(dir, 7, PAGED).unwrap();
    let mut bench = Bench::with(Choice::Auto, pool, with_cache(Bytes::mib(2), 4096, Eviction::S3Fifo));
    bench.administer(1, What::Create { size: 1 << 20 }).unwrap();
    bench.write(1, 0, &pattern(3, 1 << 20)).unwrap();
    bench.flush(1).unwrap();
    bench
}

#[test]
fn what_was_read_is_answered_without_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = with_lun(dir.path());
    let first = bench.read(1, 4096, 8192);
    let state = bench.volumes.partition(DEFAULT).unwrap();
    assert_eq!((state.counts.hits, state.counts.misses, state.resident), (0, 2, Bytes(8192)));
    // It is available before any poll or wait, and so is any part of it.
    bench.submit(1, 4096, 8192, Op::Read, false);
    let mut out = Vec::new();
    let now = bench.io.now();
    bench.volumes.poll(now, &mut out);
    let completion = out.pop().expect("answered at once");
    assert!(bench.taken(completion, 8192) == first);
    assert!(bench.read(1, 5000, 100) == first[904..1004]);
    assert_eq!(bench.volumes.partition(DEFAULT).unwrap().counts.hits, 3);
    // A write of a part is seen in memory and on the disk.
    bench.write(1, 6000, &[9; 10]).unwrap();
    assert_eq!(bench.read(1, 5999, 12)[1..11], [9; 10]);
    assert_eq!(bench.volumes.partition(DEFAULT).unwrap().counts.hits, 4);
}

#[test]
fn a_stream_is_read_ahead() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = with_lun(dir.path());
    for block in 0..256u64 {
        assert!(bench.read(1, block * 4096, 4096) == pattern(3, 1 << 20)[block as usize * 4096..][..4096]);
        // Read-ahead completes in its own time.
        while bench.volumes.reads_ahead() > 0 {
            let now = bench.io.now();
            bench.volumes.poll(now, &mut Vec::new());
            if bench.volumes.reads_ahead() > 0 {
                bench.io.turn(None);
            }
        }
    }
    let counts = bench.volumes.partition(DEFAULT).unwrap().counts;
    // The first three miss, and then none: the windows arrive before they are needed.
    assert_eq!((counts.misses, counts.hits), (3, 253));
    // A stream of pages that are in memory causes no read-ahead from the disk.
    for block in 0..256u64 {
        let _ = bench.read(1, block * 4096, 4096);
        assert_eq!(bench.volumes.reads_ahead(), 0, "block {block}");
    }
}

#[test]
fn partitions_come_change_and_go_while_reads_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = with_lun(dir.path());
    let partition = PartitionId(7);
    let refused = bench.volumes.divide_cache(&[(partition, Bytes::mib(3))], &[]).unwrap_err();
    assert_eq!(refused.to_string(), "the partitions would have 768 pages, and the cache has 512");
    assert!(bench.volumes.divide_cache(&[(partition, Bytes(100))], &[]).is_err(), "of no page");
    assert!(bench.volumes.divide_cache(&[(DEFAULT, Bytes::mib(1))], &[]).is_err(), "the default one has what is left");
    let whole = bench.read(1, 0, 1 << 20);
    bench.volumes.divide_cache(&[(partition, Bytes::kib(512))], &[]).unwrap();
    bench.volumes.assign_partition(ObjectId(1), partition);
    for _ in 0..2 {
        assert!(bench.read(1, 0, 1 << 20) == whole);
    }
    bench.release();
    let state = |bench: &Bench, partition| bench.volumes.partition(partition).map(|state| (state.size, state.resident));
    assert_eq!(state(&bench, partition), Some((Bytes::kib(512), Bytes::kib(512))));
    assert_eq!(state(&bench, DEFAULT), Some((Bytes::kib(1536), Bytes(0))), "what it had there was forgotten");
    bench.volumes.divide_cache(&[(partition, Bytes::kib(64))], &[]).unwrap();
    while bench.volumes.has_work() {
        bench.turn(&mut Vec::new());
    }
    assert_eq!(state(&bench, partition), Some((Bytes::kib(64), Bytes::kib(64))));
    assert!(bench.read(1, 0, 1 << 20) == whole);
    bench.volumes.assign_partition(ObjectId(1), DEFAULT);
    bench.volumes.divide_cache(&[], &[]).unwrap();
    assert_eq!(state(&bench, partition), None);
    assert!(bench.read(1, 0, 1 << 20) == whole && bench.read(1, 0, 1 << 20) == whole);
    assert_eq!(state(&bench, DEFAULT), Some((Bytes::mib(2), Bytes::mib(1))));
    bench.volumes.limit_cache(Bytes::kib(100));
    while bench.volumes.has_work() {
        bench.turn(&mut Vec::new());
    }
    assert_eq!(state(&bench, DEFAULT), Some((Bytes::kib(100), Bytes::kib(100))), "given back under pressure");
}

/// Long hits are sent from the pages. However long a reply is kept, and whatever is written,
/// zeroed, evicted or released meanwhile, it shows what was there when it was answered.
#[test]
fn replies_that_show_pages_keep_what_they_showed() {
    const LUN: u64 = 1 << 20;
    for (seed, page) in [(1, 4096), (2, 16384), (3, 65536), (4, 4096), (5, 32768)] {
        let dir = tempfile::tempdir().unwrap();
        let pool = MappedPool::create(dir.path(), 7, PAGED).unwrap();
        let mut bench = Bench::with(Choice::Auto, pool, with_cache(Bytes::mib(2), page, Eviction::S3Fifo));
        let (mut chance, mut model) = (Chance(seed), pattern(seed as u8, LUN));
        bench.administer(1, What::Create { size: LUN }).unwrap();
        bench.write(1, 0, &model).unwrap();
        assert!(bench.read(1, 0, LUN) == model);
        let mut kept: Vec<(Completion, Vec<u8>)> = Vec::new();
        let (mut shown, mut hits) = (0, 0);
        for round in 0..1200 {
            let (mut at, mut len) = (chance.below(LUN - 300_000), 1 + chance.below(300_000));
            if chance.below(2) == 0 {
                (at, len) = (at / u64::from(page) * u64::from(page), len.next_multiple_of(page.into()));
            }
            let part = at as usize..(at + len) as usize;
            match chance.below(8) {
                0..=3 => {
                    let before = bench.volumes.partition(DEFAULT).unwrap().counts.misses;
                    let tag = bench.submit(1, at, len, Op::Read, false);
                    let reply = bench.all(1).remove(&tag).unwrap();
                    let is_hit = bench.volumes.partition(DEFAULT).unwrap().counts.misses == before;
                    let is_shown = bench.io.view(reply.buf.as_ref().unwrap()).is_some();
                    // Only its bytes are claimed for it: it holds at most an eighth more.
                    let whole = (at + len).next_multiple_of(page.into()) - at / u64::from(page) * u64::from(page);
                    let is_worth_it = len >= 32 << 10 && whole <= len + len / 8;
                    assert_eq!(is_shown, is_hit && is_worth_it, "{len} bytes, round {round} of {seed}");
                    (shown, hits) = (shown + u32::from(is_shown), hits + u32::from(is_hit));
                    kept.push((reply, model[part].to_vec()));
                }
                4 | 5 => {
                    let len = len % 20_000 + 1;
                    let bytes = vec![chance.below(256) as u8; len as usize];
                    bench.write(1, at, &bytes).unwrap();
                    model[at as usize..][..bytes.len()].copy_from_slice(&bytes);
                }
                6 => {
                    bench.submit(1, at, len, Op::Zero { no_hole: false, fast_only: false }, false);
                    assert_eq!(bench.result(), Ok(()));
                    model[part].fill(0);
                }
                _ => {
                    bench.volumes.limit_cache(Bytes::kib([256, 2048][chance.below(2) as usize]));
                    while bench.volumes.has_work() {
                        let now = bench.io.now();
                        bench.volumes.poll(now, &mut Vec::new());
                    }
                }
            }
            while kept.len() > 6 {
                let (reply, expected) = kept.swap_remove(chance.below(kept.len() as u64) as usize);
                let len = expected.len() as u64;
                assert!(bench.taken(reply, len) == expected, "round {round} of {seed}");
            }
        }
        assert!(shown > 30, "{shown} of {hits} hits were shown, pages of {page}");
        kept.drain(..).for_each(|(reply, expected)| {
            let len = expected.len() as u64;
            assert!(bench.taken(reply, len) == expected, "of {seed}");
        });
    }
}
