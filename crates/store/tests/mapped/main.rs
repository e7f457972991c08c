//! LUNs and snapshots in one file of blocks, through a real ring. Reads return what was written,
//! clones and snapshots keep their contents, a pool that is opened again has all of it, and the
//! check finds no faults.

mod cached;
mod loss;
mod members;
mod random;
mod second;
mod space;

use block::{
    Buf, Bytes, Completion, Driver, Fault, ObjectId, Op, OpKind, Request, Span, Submitted, Target, Time, Wakeup,
};
use map::{MapRefusal, What};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use store::{Cache, MapError, MapSettings, MappedPool, MappedVolumes, VolumesSettings, check_maps};
use uring::disk::OpenError;
use uring::{Choice, Io, IoSettings};

const BACKENDS: [Choice; 2] = [Choice::Auto, Choice::Threads];
const SIZE: u64 = 200 << 10;
const PAGED: MapSettings = MapSettings {
    named: store::Named { data: Vec::new(), log: None },
    cache: Cache::Page,
    capacity: Some(64 << 20),
    log: 64 << 10,
    give_back: true,
    memory: None,
};

struct Bench {
    io: Io,
    volumes: MappedVolumes,
    next_tag: u64,
    /// Memory of its cache; 0 for none.
    cache: Bytes,
}

impl Bench {
    fn new(backend: Choice, pool: MappedPool) -> Bench {
        Bench::with(backend, pool, VolumesSettings::default())
    }

    fn with(backend: Choice, pool: MappedPool, volumes: VolumesSettings) -> Bench {
        let cache = volumes.cache.as_ref().map_or(Bytes(0), |cache| cache.memory);
        let settings = IoSettings { backend, slab: Bytes::mib(16), views: Some(64 << 10), ..IoSettings::default() };
        let io = Io::open(&settings).unwrap();
        let mut volumes = match MappedVolumes::new(&io, pool, volumes) {
            Ok(volumes) => volumes,
            Err(_) => panic!("the slab is large enough"),
        };
        for (tree, _) in volumes.core().trees() {
            volumes.open(ObjectId(tree));
        }
        Bench { io, volumes, next_tag: 0, cache }
    }

    fn submit(&mut self, lun: u32, at: u64, len: u64, op: Op, fua: bool) -> u64 {
        self.next_tag += 1;
        let now = self.io.now();
        let request = Request { tag: self.next_tag, object: ObjectId(lun), at, len, op, fua, due: now };
        assert!(matches!(self.volumes.submit(now, request), Submitted::Taken(_)));
        self.next_tag
    }

    fn filled(&self, bytes: &[u8]) -> Buf {
        let mut buf = self.io.take(bytes.len() as u32).expect("the slab is large enough");
        self.io.with_mut(&mut buf, |to| to.copy_from_slice(bytes));
        buf
    }

    /// Polls, and waits for the kernel if that returns nothing.
    fn turn(&mut self, out: &mut Vec<Completion>) {
        let (now, before) = (self.io.now(), out.len());
        let was_busy = self.volumes.core().is_busy() || self.volumes.has_work();
        self.volumes.poll(now, out);
        if out.len() == before {
            match self.volumes.next_wakeup() {
                Wakeup::Now => self.io.turn(Some(Time::ZERO)),
                Wakeup::External => self.io.turn(None),
                Wakeup::At(time) => self.io.turn(Some(time)),
                // The last one in flight was the maps' own, or the cache's.
                Wakeup::Idle if was_busy => now,
                asleep => panic!("nothing will ever end: {asleep:?}"),
            };
        }
    }

    /// Polls without waiting for what is due later: the store reads no clock, so it is time now.
    fn turn_early(&mut self, out: &mut Vec<Completion>) {
        match self.volumes.next_wakeup() {
            Wakeup::At(due) => {
                self.io.turn(Some(Time::ZERO));
                self.volumes.poll(due, out);
            }
            _ => self.turn(out),
        }
    }

    fn all(&mut self, count: usize) -> BTreeMap<u64, Completion> {
        let mut out = Vec::new();
        while out.len() < count {
            self.turn(&mut out);
        }
        for completion in out.iter_mut().filter(|completion| completion.kind == OpKind::Write) {
            completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
        }
        out.into_iter().map(|completion| (completion.tag, completion)).collect()
    }

    fn result(&mut self) -> Result<(), Fault> {
        self.all(1).into_values().next().unwrap().result
    }

    fn write(&mut self, lun: u32, at: u64, bytes: &[u8]) -> Result<(), Fault> {
        let buf = self.filled(bytes);
        self.submit(lun, at, bytes.len() as u64, Op::Write(buf), false);
        self.result()
    }

    fn read(&mut self, lun: u32, at: u64, len: u64) -> Vec<u8> {
        let tag = self.submit(lun, at, len, Op::Read, false);
        let completion = self.all(1).remove(&tag).unwrap();
        assert_eq!(completion.result, Ok(()));
        self.taken(completion, len)
    }

    fn taken(&self, completion: Completion, len: u64) -> Vec<u8> {
        let buf = completion.buf.unwrap();
        assert_eq!(u64::from(buf.len()), len);
        self.io.fetch_buf(&buf).unwrap();
        let bytes = self.io.with(&buf, <[u8]>::to_vec);
        self.io.give(buf);
        bytes
    }

    fn flush(&mut self, lun: u32) -> Result<(), Fault> {
        self.submit(lun, 0, 0, Op::Flush, false);
        self.result()
    }

    /// Lets blocks become free that replies held, which are checked every 20 ms, and those that are
    /// released in steps.
    fn release(&mut self) {
        let mut out = Vec::new();
        while self.volumes.core().holds_back() || self.volumes.core().has_work() {
            self.turn(&mut out);
        }
        assert!(out.is_empty(), "nothing was asked for");
    }

    /// Lets everything in progress end by itself.
    fn settle(&mut self) {
        let mut out = Vec::new();
        loop {
            match self.volumes.next_wakeup() {
                Wakeup::Now => {}
                Wakeup::External => {
                    self.io.turn(None);
                }
                Wakeup::At(time) if self.volumes.reads_ahead() > 0 || self.volumes.core().is_busy() => {
                    self.io.turn(Some(time));
                }
                // Do not wait for what is due later.
                _ => break,
            }
            let now = self.io.now();
            self.volumes.poll(now, &mut out);
        }
        assert!(out.is_empty(), "nothing was asked for");
    }

    fn administer(&mut self, tree: u32, what: What) -> Result<(), MapRefusal> {
        let id = self.volumes.administer(ObjectId(tree), what);
        let (mut answers, mut out) = (Vec::new(), Vec::new());
        self.volumes.take_answers(&mut answers);
        while answers.is_empty() {
            self.turn(&mut out);
            self.volumes.take_answers(&mut answers);
        }
        assert_eq!((answers.len(), answers[0].id, out.len()), (1, id, 0));
        self.volumes.open(ObjectId(tree));
        answers[0].result
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.io.outstanding(), self.volumes.own_buffers(), "all buffers came back");
        }
    }
}

/// A pool with direct I/O, if the temporary folder's file system supports that.
fn direct(dir: &Path) -> Option<MappedPool> {
    match MappedPool::create(dir, 7, MapSettings { cache: Cache::Direct, ..PAGED }) {
        Ok(pool) => Some(pool),
        Err(MapError::Open(OpenError::NoDirect(_))) => {
            println!("not direct: the temporary folder's file system has no O_DIRECT");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

fn pattern(seed: u8, len: u64) -> Vec<u8> {
    (0..len).map(|n| seed.wrapping_add((n % 251) as u8) | 1).collect()
}

#[test]
fn neighbours_written_at_once_do_not_undo_each_other() {
    for backend in BACKENDS {
        let dir = tempfile::tempdir().unwrap();
        let mut bench = Bench::new(backend, MappedPool::create(dir.path(), 7, PAGED).unwrap());
        bench.administer(1, What::Create { size: SIZE }).unwrap();
        let mut expected = vec![0u8; SIZE as usize];
        for round in 0..3u8 {
            // Whole pages and parts of pages, all in flight together; from the second round on they
            // are shared.
            for n in 0..100u64 {
                let (at, len) = if n % 3 == 0 { (n * 2048 / 4096 * 4096, 4096) } else { (n * 2048 + 100, 1000) };
                // No parts of a page that is also written whole: overlapping writes may end either
                // way.
                if n % 3 != 0 && (n / 2 * 2) % 3 != 1 {
                    continue;
                }
                let bytes = pattern(n as u8 ^ round, len);
                let buf = bench.filled(&bytes);
                bench.submit(1, at, len, Op::Write(buf), n % 7 == 0);
                expected[at as usize..(at + len) as usize].copy_from_slice(&bytes);
                bench.all(usize::from(n % 3 == 0 && n % 2 == 1));
            }
            let mut out = Vec::new();
            while bench.volumes.core().is_busy() {
                bench.turn(&mut out);
            }
            out.into_iter().filter_map(|completion| completion.buf).for_each(|buf| bench.io.give(buf));
            assert!(bench.read(1, 0, SIZE) == expected, "round {round}");
            bench.administer(10 + u32::from(round), What::Share { from: 1, frozen: true }).unwrap();
        }
    }
}

/// Four blocks, two of them of a LUN. A read of both has completed, and its buffer is a view of
/// them, when the LUN releases them and another LUN writes four blocks. That write has to wait for
/// the two until the bytes of the read were copied, and those are still right. When the buffer has
/// been given back, nobody has to wait.
#[test]
fn blocks_that_a_reply_stands_for_are_not_given_out() {
    for given_back in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let settings = MapSettings { capacity: Some(4 << 16), ..PAGED };
        let mut bench = Bench::new(Choice::Auto, MappedPool::create(dir.path(), 7, settings).unwrap());
        bench.administer(1, What::Create { size: 10 << 20 }).unwrap();
        bench.administer(2, What::Create { size: 10 << 20 }).unwrap();
        bench.write(1, 0, &vec![5; 2 << 16]).unwrap();
        let tag = bench.submit(1, 0, 2 << 16, Op::Read, false);
        let mut completion = bench.all(1).remove(&tag).unwrap();
        let is_ring = matches!(bench.io.backend(), uring::Backend::Uring { .. });
        let view = bench.io.view(completion.buf.as_ref().unwrap());
        assert_eq!(view.is_some(), is_ring);
        if given_back {
            completion.buf.take().into_iter().for_each(|buf| bench.io.give(buf));
        }
        bench.submit(1, 0, 2 << 16, Op::Trim, true);
        assert_eq!(bench.result(), Ok(()));
        assert_eq!(bench.write(2, 0, &vec![6; 4 << 16]), Ok(()));
        if let (Some(view), false) = (view, given_back) {
            assert!(!bench.io.is_viewed(view), "the blocks came free by copying them");
        }
        if !given_back {
            assert!(bench.taken(completion, 2 << 16).iter().all(|&byte| byte == 5));
        }
        assert!(bench.read(2, 0, 4 << 16).iter().all(|&byte| byte == 6));
    }
}

/// Four reads of 1 MiB whose replies nobody takes. As long as nothing was freed, they remain views.
/// When freed blocks wait for them, they are copied after 200 ms, at 40 MiB a second: one, and 25
/// ms later the next. When a write waits for the blocks, two are copied in one poll. They are
/// checked every 20 ms.
#[test]
fn replies_that_nobody_takes_are_copied_only_where_their_blocks_are_wanted() {
    const MIB: u64 = 1 << 20;
    let dir = tempfile::tempdir().unwrap();
    let settings = MapSettings { capacity: Some(8 * MIB), ..PAGED };
    let mut bench = Bench::new(Choice::Auto, MappedPool::create(dir.path(), 7, settings).unwrap());
    if !matches!(bench.io.backend(), uring::Backend::Uring { .. }) {
        return println!("skipped: no io_uring here");
    }
    bench.administer(1, What::Create { size: 16 * MIB }).unwrap();
    for at in (0..5 * MIB).step_by(MIB as usize) {
        bench.write(1, at, &vec![5; MIB as usize]).unwrap();
    }
    (0..4).for_each(|at| _ = bench.submit(1, at * MIB, MIB, Op::Read, false));
    let replies = bench.all(4);
    let views: Vec<_> = replies.values().map(|reply| bench.io.view(reply.buf.as_ref().unwrap()).unwrap()).collect();
    let left = |bench: &Bench| views.iter().filter(|view| bench.io.is_viewed(**view)).count();
    let mut now = bench.io.now() + Span::from_secs(3600);
    bench.volumes.poll(now, &mut Vec::new());
    assert_eq!(left(&bench), 4, "nothing waits for them");
    // A block that none of them shows: what was freed waits for all reads that started before.
    bench.submit(1, 4 * MIB, MIB, Op::Trim, true);
    assert_eq!(bench.result(), Ok(()));
    for (after, expected) in [(20, 3), (20, 3), (20, 2), (20, 2)] {
        now += Span::from_millis(after);
        bench.volumes.poll(now, &mut Vec::new());
        assert_eq!(left(&bench), expected, "{after} ms later");
    }
    // Three of eight MiB are available, and the fourth is the one that waits.
    let filled = bench.filled(&vec![6; 4 * MIB as usize]);
    bench.submit(1, 12 * MIB, 4 * MIB, Op::Write(filled), false);
    bench.volumes.poll(now, &mut Vec::new());
    assert!(bench.volumes.core().is_starved());
    bench.volumes.poll(now, &mut Vec::new());
    assert_eq!(left(&bench), 0, "a write waits");
    assert_eq!(bench.result(), Ok(()));
    for reply in replies.into_values() {
        assert!(bench.taken(reply, MIB).iter().all(|&byte| byte == 5));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(Choice::Auto, MappedPool::create(dir.path(), 7, PAGED).unwrap());
    bench.administer(1, What::Create { size: SIZE }).unwrap();
    assert_eq!(bench.write(1, SIZE - 1, &[1, 2]), Err(Fault::NoSpace));
    assert_eq!(bench.write(2, 0, &[1, 2]), Err(Fault::Gone));
    bench.submit(1, SIZE, 1, Op::Read, false);
    assert_eq!(bench.result(), Err(Fault::Invalid));
    assert_eq!(bench.administer(1, What::Create { size: 512 }), Err(MapRefusal::Exists(1)));
    assert_eq!(bench.administer(2, What::Create { size: 100 }), Err(MapRefusal::Size(100)));
    assert_eq!(bench.administer(3, What::Share { from: 4, frozen: false }), Err(MapRefusal::NoTree(4)));
    bench.write(1, SIZE - 512, &[1; 512]).unwrap();
    assert_eq!(bench.administer(1, What::Resize { size: 4096 }), Err(MapRefusal::HoldsData(4096)));
    bench.submit(1, 8192, SIZE - 8192, Op::Trim, false);
    assert_eq!(bench.result(), Ok(()));
    assert_eq!(bench.administer(1, What::Resize { size: 8192 }), Ok(()));
    assert_eq!(bench.administer(1, What::Resize { size: SIZE }), Ok(()));
    assert_eq!(bench.read(1, 0, SIZE), vec![0; SIZE as usize]);
}

#[test]
fn what_nobody_flushes_becomes_durable_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(Choice::Auto, MappedPool::create(dir.path(), 7, PAGED).unwrap());
    bench.administer(1, What::Create { size: SIZE }).unwrap();
    bench.write(1, 0, &[5; 4096]).unwrap();
    let Wakeup::At(due) = bench.volumes.next_wakeup() else { panic!("it wants to be polled in time") };
    assert!(bench.volumes.core().has_changes());
    // The store reads no clock: this is the time.
    bench.volumes.poll(due, &mut Vec::new());
    while bench.volumes.next_wakeup() != Wakeup::Idle {
        bench.io.turn(Some(Time::ZERO));
        let now = bench.io.now();
        bench.volumes.poll(now, &mut Vec::new());
    }
    assert!(!bench.volumes.core().has_changes());
    drop(bench);
    let mut again = Bench::new(Choice::Auto, MappedPool::open(dir.path(), PAGED).unwrap());
    assert_eq!(again.read(1, 0, 8192), [[5; 4096], [0; 4096]].concat());
}

#[test]
fn what_cannot_be_served_is_refused_in_one_line_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(MappedPool::create(dir.path(), 7, PAGED).unwrap());
    assert!(matches!(MappedPool::create(dir.path(), 8, PAGED), Err(MapError::Exists(_))));
    let tables = ["maps/table.0", "maps/table.1"].map(|name| dir.path().join(name));
    let whole = std::fs::read(&tables[0]).unwrap();
    let write = |bytes: &[u8]| tables.iter().for_each(|table| std::fs::write(table, bytes).unwrap());
    let error = |bytes: &[u8]| {
        write(bytes);
        MappedPool::open(dir.path(), PAGED).err().map(|error| error.to_string()).unwrap()
    };
    let mut newer = whole.clone();
    newer[4] = 9;
    assert!(error(&newer).contains("format 9, this program knows up to 2; use a newer seawall"));
    newer[4] = 1;
    assert!(error(&newer).contains("format 1, this program needs 2; copy the LUNs with the seawall that made them"));
    let mut damaged = whole.clone();
    damaged[20] ^= 1;
    assert!(error(&damaged).contains("neither of the two tables is whole"));
    assert_eq!(std::fs::read(&tables[0]).unwrap(), damaged, "nothing was written");
    write(&whole);
    assert!(MappedPool::open(dir.path(), PAGED).is_ok());
}

/// Concurrent flushes are combined: sixteen clients that flush after each write cause far fewer
/// flushes of the disk, and a client that only reads and writes is not delayed by any.
#[test]
fn flushes_of_many_are_one_flush_of_the_disk() {
    const ROUNDS: u64 = 20;
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(Choice::Auto, MappedPool::create(dir.path(), 7, PAGED).unwrap());
    bench.administer(1, What::Create { size: 16 << 20 }).unwrap();
    let before = bench.volumes.counts();
    for round in 0..ROUNDS {
        for client in 0..16 {
            let buf = bench.filled(&[round as u8; 4096]);
            bench.submit(1, client * 4096, 4096, Op::Write(buf), false);
        }
        bench.all(16);
        (0..16).for_each(|_| {
            bench.submit(1, 0, 0, Op::Flush, false);
        });
        assert!(bench.all(16).values().all(|completion| completion.result == Ok(())));
    }
    let after = bench.volumes.counts();
    assert_eq!(after.flushes - before.flushes, 16 * ROUNDS);
    // Those of a round that arrive during one share the next: at most two each.
    assert!((ROUNDS..=2 * ROUNDS).contains(&(after.syncs - before.syncs)), "{after:?}");
}
