//! Random histories of writes, trims, clones and snapshots against a plain model, the pool opened
//! again at the end.

use super::*;

#[derive(Clone, Debug)]
pub(super) enum Act {
    Write { lun: usize, at: u64, len: u64, seed: u8, fua: bool },
    Trim { lun: usize, at: u64, len: u64 },
    Zero { lun: usize, at: u64, len: u64, no_hole: bool },
    Flush,
    Read { lun: usize, at: u64, len: u64 },
    Share { lun: usize, frozen: bool },
    Restore { lun: usize, from: usize },
    Delete { lun: usize },
    Checkpoint,
}

pub(super) fn act() -> impl Strategy<Value = Act> {
    let place = prop_oneof![Just(1u64), Just(512), Just(4096), Just(65536)].prop_flat_map(|unit| {
        (0..SIZE / unit, 1..=(SIZE / unit).min(5_000)).prop_map(move |(at, len)| {
            let at = at * unit;
            (at, (len * unit).min(SIZE - at))
        })
    });
    (place, any::<(u8, bool, usize, usize)>(), 0..14).prop_map(
        |((at, len), (seed, flag, lun, from), kind)| match kind {
            0..=4 => Act::Write { lun, at, len, seed, fua: flag },
            5 => Act::Trim { lun, at, len },
            6 => Act::Zero { lun, at, len, no_hole: flag },
            7 => Act::Flush,
            8 | 9 => Act::Read { lun, at, len },
            10 => Act::Share { lun, frozen: flag },
            11 => Act::Restore { lun, from },
            12 => Act::Delete { lun },
            _ => Act::Checkpoint,
        },
    )
}

/// What the pool holds: bytes and whether they may change.
pub(super) type Model = BTreeMap<u32, (Vec<u8>, bool)>;

pub(super) fn run(bench: &mut Bench, acts: &[Act]) -> Model {
    bench.administer(1, What::Create { size: SIZE }).unwrap();
    let mut model = Model::from([(1, (vec![0; SIZE as usize], false))]);
    let mut next = 1;
    for act in acts {
        let pick = |n: usize, model: &Model| *model.keys().nth(n % model.len()).unwrap();
        match *act {
            Act::Write { lun, at, len, seed, fua } => {
                let lun = pick(lun, &model);
                let bytes = pattern(seed, len);
                let buf = bench.filled(&bytes);
                bench.submit(lun, at, len, Op::Write(buf), fua);
                let (content, frozen) = model.get_mut(&lun).unwrap();
                assert_eq!(bench.result(), if *frozen { Err(Fault::ReadOnly) } else { Ok(()) });
                if !*frozen {
                    content[at as usize..(at + len) as usize].copy_from_slice(&bytes);
                }
            }
            Act::Trim { lun, at, len } => {
                let lun = pick(lun, &model);
                bench.submit(lun, at, len, Op::Trim, false);
                let (content, frozen) = model.get_mut(&lun).unwrap();
                assert_eq!(bench.result().is_err(), *frozen);
                // Whole pages become zeroes, the rest stays.
                let last = if at + len == SIZE { SIZE } else { (at + len) / 4096 * 4096 };
                let pages = at.next_multiple_of(4096) as usize..last as usize;
                if !*frozen && !pages.is_empty() {
                    content[pages].fill(0);
                }
            }
            Act::Zero { lun, at, len, no_hole } => {
                let lun = pick(lun, &model);
                bench.submit(lun, at, len, Op::Zero { no_hole, fast_only: false }, false);
                let (content, frozen) = model.get_mut(&lun).unwrap();
                assert_eq!(bench.result().is_err(), *frozen);
                if !*frozen {
                    content[at as usize..(at + len) as usize].fill(0);
                }
            }
            Act::Flush => assert_eq!(bench.flush(*model.keys().next().unwrap()), Ok(())),
            Act::Read { lun, at, len } => {
                let lun = pick(lun, &model);
                assert!(bench.read(lun, at, len) == model[&lun].0[at as usize..(at + len) as usize], "{act:?}");
            }
            Act::Share { lun, frozen } => {
                let from = pick(lun, &model);
                next += 1;
                bench.administer(next, What::Share { from, frozen }).unwrap();
                model.insert(next, (model[&from].0.clone(), frozen));
            }
            Act::Restore { lun, from } => {
                let (lun, from) = (pick(lun, &model), pick(from, &model));
                let allowed = !model[&lun].1 && model[&from].1;
                assert_eq!(bench.administer(lun, What::Restore { from }).is_ok(), allowed);
                if allowed {
                    model.get_mut(&lun).unwrap().0 = model[&from].0.clone();
                }
            }
            Act::Delete { lun } if model.len() > 1 => {
                let lun = pick(lun, &model);
                bench.administer(lun, What::Delete).unwrap();
                model.remove(&lun);
            }
            Act::Delete { .. } => {}
            Act::Checkpoint => bench.administer(0, What::Checkpoint).unwrap(),
        }
    }
    model
}

pub(super) fn compare(bench: &mut Bench, model: &Model) {
    assert_eq!(bench.volumes.core().audit(), []);
    for (lun, (content, _)) in model {
        assert!(bench.read(*lun, 0, SIZE) == *content, "LUN {lun}");
    }
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
