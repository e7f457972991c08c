//! Random histories of writes, trims, resizes, clones and snapshots against a simple model; the
//! pool is opened again at the end. If there is a cache, its partitions and its limit change
//! meanwhile, and streams are read ahead.

use super::*;
use cache::PartitionId;

/// LUNs start with [`SIZE`] and may grow to this many bytes.
const LARGEST: u64 = 2 * SIZE;
/// Limit on the requests of a stream, each of a page: read-ahead starts with the fourth.
const STREAM: usize = 24;

/// An action. A number selects one of the existing LUNs, and a range beyond its end wraps around to
/// its beginning.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Write { lun: usize, at: u64, len: u64, seed: u8, fua: bool },
    Trim { lun: usize, at: u64, len: u64 },
    Zero { lun: usize, at: u64, len: u64, no_hole: bool },
    Flush,
    Read { lun: usize, at: u64, len: u64 },
    Stream { lun: usize, at: u64 },
    Share { lun: usize, frozen: bool },
    Restore { lun: usize, from: usize },
    Resize { lun: usize, size: u64, discards: bool },
    Delete { lun: usize },
    Checkpoint,
    Cache(OfCache),
}

/// A change of the cache, if there is one.
#[derive(Clone, Debug)]
pub(super) enum OfCache {
    /// Two partitions of this many eighths beside the default one; 0 for none.
    Divide {
        eighths: [u64; 2],
        memory_only: bool,
    },
    Assign {
        lun: usize,
        partition: u8,
    },
    Limit {
        eighths: u64,
    },
}

pub(super) fn act() -> impl Strategy<Value = Act> {
    let place = prop_oneof![Just(1u64), Just(512), Just(4096), Just(65536)].prop_flat_map(|unit| {
        (0..LARGEST / unit, 1..=(SIZE / unit).min(5_000)).prop_map(move |(at, len)| (at * unit, len * unit))
    });
    let size =
        prop_oneof![3 => (1..=LARGEST / 4096).prop_map(|n| n * 4096), 1 => (1..=LARGEST / 512).prop_map(|n| n * 512)];
    (place, any::<(u8, bool, usize, usize)>(), size, 0..16).prop_map(
        |((at, len), (seed, flag, lun, from), size, kind)| match kind {
            0..=4 => Act::Write { lun, at, len, seed, fua: flag },
            5 => Act::Trim { lun, at, len },
            6 => Act::Zero { lun, at, len, no_hole: flag },
            7 => Act::Flush,
            8 | 9 => Act::Read { lun, at, len },
            10 => Act::Share { lun, frozen: flag },
            11 => Act::Restore { lun, from },
            12 => Act::Delete { lun },
            13 | 14 => Act::Resize { lun, size, discards: flag },
            _ => Act::Checkpoint,
        },
    )
}

/// Does the same with a cache, which changes too.
pub(super) fn act_with_cache() -> impl Strategy<Value = Act> {
    let lun = any::<usize>;
    let divide = ((0u64..5, 0u64..4), any::<bool>())
        .prop_map(|((one, two), memory_only)| OfCache::Divide { eighths: [one, two], memory_only });
    let of_cache = prop_oneof![
        divide,
        (lun(), 0u8..3).prop_map(|(lun, partition)| OfCache::Assign { lun, partition }),
        (1u64..=8).prop_map(|eighths| OfCache::Limit { eighths }),
    ];
    let stream = (lun(), 0..LARGEST).prop_map(|(lun, at)| Act::Stream { lun, at });
    prop_oneof![12 => act(), 1 => stream, 2 => of_cache.prop_map(Act::Cache)]
}

/// Repeats each read this many times.
pub(super) fn repeated(acts: Vec<Act>, times: usize) -> Vec<Act> {
    let each = |act: Act| vec![act.clone(); if matches!(act, Act::Read { .. }) { times } else { 1 }];
    acts.into_iter().flat_map(each).collect()
}

/// The contents of the pool: bytes, and whether they may change.
pub(super) type Model = BTreeMap<u32, (Vec<u8>, bool)>;

/// A history so far.
pub(super) struct History {
    pub(super) model: Model,
    /// The last LUN that was created.
    last: u32,
}

impl History {
    pub(super) fn begin(bench: &mut Bench) -> History {
        bench.administer(1, What::Create { size: SIZE }).unwrap();
        History { model: Model::from([(1, (vec![0; SIZE as usize], false))]), last: 1 }
    }

    /// The LUN that a number selects.
    pub(super) fn pick(&self, number: usize) -> u32 {
        *self.model.keys().nth(number % self.model.len()).unwrap()
    }

    /// The selected bytes of a LUN, as a range.
    pub(super) fn part(&self, lun: u32, at: u64, len: u64) -> std::ops::Range<usize> {
        let size = self.model[&lun].0.len();
        let at = at as usize % size;
        at..size.min(at + len as usize)
    }

    /// Plays an action, and compares what is read, and its result, with the model.
    pub(super) fn play(&mut self, bench: &mut Bench, act: &Act) {
        match *act {
            Act::Write { lun, at, len, .. } | Act::Trim { lun, at, len } | Act::Zero { lun, at, len, .. } => {
                let lun = self.pick(lun);
                self.change(bench, act, lun, self.part(lun, at, len));
            }
            Act::Flush => assert_eq!(bench.flush(self.pick(0)), Ok(())),
            Act::Read { lun, at, len } => {
                let lun = self.pick(lun);
                self.read(bench, lun, self.part(lun, at, len));
            }
            Act::Stream { lun, at } => {
                let lun = self.pick(lun);
                let whole = self.part(lun, at, LARGEST);
                whole.clone().step_by(4096).take(STREAM).for_each(|at| {
                    self.read(bench, lun, at..whole.end.min(at + 4096));
                });
            }
            Act::Resize { lun, size, discards } => {
                let lun = self.pick(lun);
                self.resize(bench, lun, size as usize, discards);
            }
            Act::Share { .. } | Act::Restore { .. } | Act::Delete { .. } => self.restructure(bench, act),
            Act::Checkpoint => bench.administer(0, What::Checkpoint).unwrap(),
            Act::Cache(ref what) => self.change_cache(bench, what),
        }
    }

    fn read(&self, bench: &mut Bench, lun: u32, part: std::ops::Range<usize>) {
        let found = bench.read(lun, part.start as u64, part.len() as u64);
        assert!(found == self.model[&lun].0[part.clone()], "LUN {lun}: {part:?}");
    }

    fn change(&mut self, bench: &mut Bench, act: &Act, lun: u32, part: std::ops::Range<usize>) {
        let (at, len) = (part.start as u64, part.len() as u64);
        let (content, frozen) = self.model.get_mut(&lun).unwrap();
        let (op, fua, after) = match *act {
            Act::Write { seed, fua, .. } => {
                let bytes = pattern(seed, len);
                (Op::Write(bench.filled(&bytes)), fua, Some((part, bytes)))
            }
            Act::Trim { .. } => {
                // Whole pages become zeroes, the rest stays.
                let end = if part.end == content.len() { part.end } else { part.end / 4096 * 4096 };
                let pages = part.start.next_multiple_of(4096)..end;
                (Op::Trim, false, (!pages.is_empty()).then(|| (pages.clone(), vec![0; pages.len()])))
            }
            Act::Zero { no_hole, .. } => {
                (Op::Zero { no_hole, fast_only: false }, false, Some((part, vec![0; len as usize])))
            }
            _ => unreachable!("no change of data"),
        };
        bench.submit(lun, at, len, op, fua);
        assert_eq!(bench.result(), if *frozen { Err(Fault::ReadOnly) } else { Ok(()) });
        if let (Some((part, bytes)), false) = (after, *frozen) {
            content[part].copy_from_slice(&bytes);
        }
    }

    /// Resizes a LUN; `discards` says whether what is beyond a smaller size is discarded before.
    fn resize(&mut self, bench: &mut Bench, lun: u32, size: usize, discards: bool) {
        let (content, frozen) = &self.model[&lun];
        let (was, frozen) = (content.len(), *frozen);
        if discards && size < was {
            self.change(bench, &Act::Trim { lun: 0, at: 0, len: 0 }, lun, size..was);
        }
        // Brings the last page into memory, with what is behind it there.
        self.read(bench, lun, was.saturating_sub(512)..was);
        let (content, _) = self.model.get_mut(&lun).unwrap();
        let loses = content.iter().skip(size).any(|byte| *byte != 0);
        match bench.administer(lun, What::Resize { size: size as u64 }) {
            Ok(()) => {
                assert!(!frozen && !loses, "from {was} to {size}");
                // What is beyond the former end was never written, whatever was there before.
                content.resize(size, 0);
            }
            Err(MapRefusal::Frozen(_)) => assert!(frozen),
            // The page at the new end may still have data.
            Err(MapRefusal::HoldsData(_)) => {
                assert!(size < was && !frozen && !(discards && size.is_multiple_of(4096)), "from {was} to {size}");
            }
            Err(other) => panic!("from {was} to {size}: {other}"),
        }
        // Whatever the page size: one piece lies only in the page of the former end.
        let end = self.model[&lun].0.len();
        for at in (was.min(end)..end).step_by(512).take(8) {
            self.read(bench, lun, at..end.min(at + 512));
        }
    }

    fn restructure(&mut self, bench: &mut Bench, act: &Act) {
        match *act {
            Act::Share { lun, frozen } => {
                let from = self.pick(lun);
                self.last += 1;
                bench.administer(self.last, What::Share { from, frozen }).unwrap();
                self.model.insert(self.last, (self.model[&from].0.clone(), frozen));
            }
            Act::Restore { lun, from } => {
                let (lun, from) = (self.pick(lun), self.pick(from));
                let allowed = !self.model[&lun].1 && self.model[&from].1;
                assert_eq!(bench.administer(lun, What::Restore { from }).is_ok(), allowed);
                if allowed {
                    self.model.get_mut(&lun).unwrap().0 = self.model[&from].0.clone();
                }
            }
            Act::Delete { lun } if self.model.len() > 1 => {
                let lun = self.pick(lun);
                bench.administer(lun, What::Delete).unwrap();
                self.model.remove(&lun);
            }
            _ => {}
        }
    }

    fn change_cache(&self, bench: &mut Bench, what: &OfCache) {
        let part = |eighths: u64| Bytes(bench.cache.0 * eighths / 8);
        match *what {
            OfCache::Divide { eighths, memory_only } => {
                let parts = eighths.iter().zip(1..).filter(|(eighths, _)| **eighths > 0);
                let parts: Vec<_> = parts.map(|(eighths, id)| (PartitionId(id), part(*eighths))).collect();
                let only = memory_only.then_some(PartitionId(1));
                // An eighth of a few large pages may be none: then nothing changes.
                let _ = bench.volumes.divide_cache(&parts, only.as_slice());
            }
            OfCache::Assign { lun, partition } => {
                // The partition may not exist: then nothing of the LUN is cached.
                bench.volumes.assign_partition(ObjectId(self.pick(lun)), PartitionId(partition));
            }
            OfCache::Limit { eighths } => bench.volumes.limit_cache(part(eighths)),
        }
    }
}

pub(super) fn run(bench: &mut Bench, acts: &[Act]) -> Model {
    let mut history = History::begin(bench);
    acts.iter().for_each(|act| history.play(bench, act));
    history.model
}

pub(super) fn compare(bench: &mut Bench, model: &Model) {
    assert_eq!(bench.volumes.core().audit(), []);
    for (lun, (content, _)) in model {
        assert!(bench.read(*lun, 0, content.len() as u64) == *content, "LUN {lun}");
    }
    bench.settle();
}

fn run_and_open_again(backend: Choice, dir: &Path, pool: MappedPool, settings: MapSettings, acts: &[Act]) {
    let mut bench = Bench::new(backend, pool);
    let model = run(&mut bench, acts);
    compare(&mut bench, &model);
    assert_eq!(bench.flush(*model.keys().next().unwrap()), Ok(()));
    bench.release();
    let used = bench.volumes.core().usage().used;
    drop(bench);
    let report = check_maps(dir, &store::Named::default()).unwrap();
    assert_eq!((report.damages, report.used, report.trees), (vec![], used, model.len() as u64));
    let mut bench = Bench::new(backend, MappedPool::open(dir, settings).unwrap());
    compare(&mut bench, &model);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_read_is_what_was_written(acts in proptest::collection::vec(act(), 1..60), threads in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let pool = MappedPool::create(dir.path(), 7, PAGED).unwrap();
        run_and_open_again(BACKENDS[usize::from(threads)], dir.path(), pool, PAGED, &acts);
    }

    #[test]
    fn past_the_page_cache_too(acts in proptest::collection::vec(act(), 1..60)) {
        let dir = tempfile::tempdir().unwrap();
        let Some(pool) = direct(dir.path()) else { return Ok(()) };
        run_and_open_again(Choice::Auto, dir.path(), pool, MapSettings { cache: Cache::Direct, ..PAGED }, &acts);
    }
}
