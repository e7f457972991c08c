//! The server is killed while it serves a pool with a cache, read-ahead and a second level. The
//! pool's files are opened as they were at some moment.
//!
//! There is no write-back, so memory has nothing that the files lack. What is found was
//! acknowledged, what was durable is certainly there, and nothing from an earlier cache or second
//! level is ever shown. Here, data that was written and not flushed is in the files; the simulation
//! in `map/tests/crash` covers its loss in a power failure.

use super::random::{Act, History, act_with_cache, repeated};
use super::second::{over, place, second};
use super::*;
use cache::Eviction;

/// The contents of a sector are from one time or another, but not mixed.
const SECTOR: usize = 512;
/// How the LUNs are read afterwards: in pieces no longer than the second level has contiguously.
const PIECE: u64 = 16 << 10;

/// What each sector of the LUNs may contain after a loss: its contents when it was last durable,
/// and any contents since.
#[derive(Default)]
struct Lasting {
    versions: BTreeMap<u32, Vec<Vec<u8>>>,
}

impl Lasting {
    /// Plays an action, and records what it wrote and what of it is durable.
    fn play(&mut self, history: &mut History, bench: &mut Bench, act: &Act) {
        let durable = match *act {
            Act::Write { lun, at, len, fua: true, .. } => {
                let lun = history.pick(lun);
                Some((lun, history.part(lun, at, len)))
            }
            Act::Restore { lun, from } => {
                let (lun, from) = (history.pick(lun), &history.model[&history.pick(from)]);
                (from.1 && !history.model[&lun].1).then_some((lun, 0..from.0.len()))
            }
            _ => None,
        };
        history.play(bench, act);
        self.take_in(history);
        if let Some((lun, part)) = durable {
            let now = &history.model[&lun].0[part.clone()];
            let versions = self.versions.get_mut(&lun).unwrap();
            versions.iter_mut().for_each(|version| version[part.clone()].copy_from_slice(now));
        }
        if let Act::Flush = act {
            self.versions.values_mut().for_each(|versions| drop(versions.drain(..versions.len() - 1)));
        }
    }

    /// New and resized LUNs are durable as such.
    fn take_in(&mut self, history: &History) {
        self.versions.retain(|lun, _| history.model.contains_key(lun));
        for (lun, (content, _)) in &history.model {
            let versions = self.versions.entry(*lun).or_default();
            versions.iter_mut().for_each(|version| version.resize(content.len(), 0));
            if versions.last() != Some(content) {
                versions.push(content.clone());
            }
        }
    }

    fn check(&self, found: &BTreeMap<u32, Vec<u8>>) {
        assert!(found.keys().eq(self.versions.keys()), "{:?} of {:?}", found.keys(), self.versions.keys());
        for (lun, bytes) in found {
            let versions = &self.versions[lun];
            assert_eq!(bytes.len(), versions[0].len(), "the size of LUN {lun}");
            for (number, sector) in bytes.chunks(SECTOR).enumerate() {
                let at = number * SECTOR;
                let is_known = versions.iter().any(|version| version[at..at + sector.len()] == *sector);
                assert!(is_known, "LUN {lun} at {at}: {} versions, and none has what is there", versions.len());
            }
        }
    }
}

/// The files of a pool as they are now.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to.join("maps")).unwrap();
    for file in std::fs::read_dir(from.join("maps")).unwrap().map(|file| file.unwrap()) {
        std::fs::copy(file.path(), to.join("maps").join(file.file_name())).unwrap();
    }
}

fn all_of(bench: &mut Bench) -> BTreeMap<u32, Vec<u8>> {
    let trees = bench.volumes.core().trees();
    let found = trees.into_iter().map(|(lun, _)| {
        let size = bench.volumes.core().tree(lun).unwrap().0;
        let pieces = (0..size).step_by(PIECE as usize);
        (lun, pieces.flat_map(|at| bench.read(lun, at, PIECE.min(size - at))).collect())
    });
    let found = found.collect();
    bench.settle();
    found
}

/// A write that only a flush makes durable.
fn write() -> impl Strategy<Value = Act> {
    (any::<(usize, u8)>(), 0..2 * SIZE, 1u64..50_000).prop_map(|((lun, seed), at, len)| Act::Write {
        lun,
        at,
        len,
        seed,
        fua: false,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// The second level is kept for longer than the pool: it has all data written to LUNs since,
    /// and none of that reappears.
    #[test]
    fn a_server_that_is_killed_leaves_what_was_acknowledged_and_nothing_of_a_cache(
        before in proptest::collection::vec(act_with_cache(), 2..60),
        flushed in proptest::collection::vec(write(), 0..8), last in proptest::collection::vec(act_with_cache(), 0..3),
        after in proptest::collection::vec(act_with_cache(), 1..20),
        seed in any::<u8>(), pages in 4u64..40, page in (12u32..=16).prop_map(|bits| 1 << bits),
    ) {
        let (dir, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let create = || MappedPool::create(dir.path(), 7, PAGED).unwrap();
        let Some(mut bench) = over(&place(dir.path()), create, (pages, page), Eviction::S3Fifo, Choice::Auto) else { return Ok(()) };
        let (mut history, mut lasting) = (History::begin(&mut bench), Lasting::default());
        lasting.take_in(&history);
        let acts = before.into_iter().chain(flushed).chain([Act::Flush]).chain(last);
        for act in repeated(acts.collect(), 2) {
            lasting.play(&mut history, &mut bench, &act);
        }
        bench.settle();
        copy(dir.path(), left.path());
        repeated(after, 3).iter().for_each(|act| history.play(&mut bench, act));
        for lun in 0..history.model.len() {
            history.play(&mut bench, &Act::Write { lun, at: 0, len: 2 * SIZE, seed, fua: false });
        }
        (0..3).for_each(|_| drop(all_of(&mut bench)));
        std::fs::copy(dir.path().join("second"), left.path().join("second")).unwrap();
        drop(bench);

        let open = || MappedPool::open(left.path(), PAGED).unwrap();
        let found = all_of(&mut Bench::new(Choice::Auto, open()));
        lasting.check(&found);
        let mut bench = over(&place(left.path()), open, (pages, page), Eviction::S3Fifo, Choice::Auto).unwrap();
        for _ in 0..3 {
            prop_assert!(all_of(&mut bench) == found, "with a cache it is the same");
        }
        prop_assert_eq!(second(&bench).failed, None);
    }
}
