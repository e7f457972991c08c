//! The LUNs of a pool on real files: what is asked is done whatever its alignment, once each, in the order that the
//! protocol promises, and errors are told as what they are.

use block::{Buf, Completion, Driver, Extent, Fault, ObjectId, Op, Request, Submitted, Target, Ticket, Time, Wakeup};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::Path;
use store::{DataFile, Doubt, Volumes, VolumesSettings};
use uring::disk::{self, Cache, Create, Opening};
use uring::{Choice, Io, IoSettings};

const LUN: ObjectId = ObjectId(3);
const BACKENDS: [Choice; 2] = [Choice::Auto, Choice::Threads];

/// Volumes on a ring of their own.
struct Bench {
    io: Io,
    volumes: Volumes,
    next_tag: u64,
}

impl Bench {
    fn new(backend: Choice) -> Bench {
        Bench::with(backend, block::Bytes::mib(16), VolumesSettings::default())
    }

    fn with(backend: Choice, slab: block::Bytes, settings: VolumesSettings) -> Bench {
        let io = Io::open(&IoSettings { backend, slab, ..IoSettings::default() }).unwrap();
        let volumes = Volumes::new(&io, settings);
        Bench { io, volumes, next_tag: 0 }
    }

    /// With one LUN of `size` bytes in a file whose I/O has to be aligned to `align` bytes.
    fn serving(backend: Choice, dir: &Path, size: u64, align: u32) -> Bench {
        let mut bench = Bench::new(backend);
        bench.volumes.open(Time::ZERO, LUN, page_file(&dir.join("lun"), size, align), size);
        bench
    }

    fn submit(&mut self, at: u64, len: u64, op: Op, fua: bool) -> (u64, Ticket) {
        self.next_tag += 1;
        let now = self.io.now();
        let request = Request { tag: self.next_tag, object: LUN, at, len, op, fua, due: now };
        match self.volumes.submit(now, request) {
            Submitted::Taken(ticket) => (self.next_tag, ticket),
            Submitted::Full(_) => panic!("volumes take everything"),
        }
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> u64 {
        let buf = self.filled(bytes);
        self.submit(at, bytes.len() as u64, Op::Write(buf), false).0
    }

    fn filled(&self, bytes: &[u8]) -> Buf {
        let mut buf = self.io.take(bytes.len() as u32).expect("the slab is large enough");
        self.io.with_mut(&mut buf, |to| to.copy_from_slice(bytes));
        buf
    }

    /// One poll's completions.
    fn poll(&mut self) -> Vec<Completion> {
        let mut out = Vec::new();
        let now = self.io.now();
        self.volumes.poll(now, &mut out);
        out
    }

    /// Polls until something has ended; panics rather than wait for what cannot come.
    fn some(&mut self) -> Vec<Completion> {
        loop {
            let out = self.poll();
            if !out.is_empty() {
                return out;
            }
            match self.volumes.next_wakeup() {
                Wakeup::Now => self.io.turn(Some(Time::ZERO)),
                Wakeup::External => self.io.turn(None),
                asleep => panic!("nothing will ever end: {asleep:?}"),
            };
        }
    }

    /// Everything that is under way, by tag; buffers of writes are given back.
    fn all(&mut self, count: usize) -> BTreeMap<u64, Completion> {
        let mut ended = BTreeMap::new();
        while ended.len() < count {
            for mut completion in self.some() {
                if completion.kind == block::OpKind::Write {
                    completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
                }
                let again = ended.insert(completion.tag, completion);
                assert!(again.is_none(), "{again:?} ended twice");
            }
        }
        assert!(self.poll().is_empty());
        ended
    }

    fn read(&mut self, at: u64, len: u64) -> Vec<u8> {
        let (tag, _) = self.submit(at, len, Op::Read, false);
        let mut completion = self.all(1).remove(&tag).unwrap();
        assert_eq!(completion.result, Ok(()));
        let buf = completion.buf.take().unwrap();
        assert_eq!(u64::from(buf.len()), len);
        let bytes = self.io.with(&buf, <[u8]>::to_vec);
        self.io.give(buf);
        bytes
    }

    /// The result of the one request under way.
    fn result(&mut self) -> Result<(), Fault> {
        let ended = self.all(1);
        let (_, completion) = ended.into_iter().next().unwrap();
        completion.buf.into_iter().for_each(|buf| self.io.give(buf));
        completion.result
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.io.outstanding(), 0, "all buffers came back");
        }
    }
}

/// A file through the page cache that pretends to need `align`.
fn page_file(path: &Path, size: u64, align: u32) -> DataFile {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    file.set_len(size).unwrap();
    of_file(file, align)
}

fn of_file(file: File, align: u32) -> DataFile {
    let probe = file.try_clone().unwrap();
    DataFile { file, probe, align, doubt: Doubt::default() }
}

/// A file past the page cache, if the temporary folder's file system has that.
fn direct_file(path: &Path, size: u64) -> Option<DataFile> {
    let opening = Opening { cache: Cache::Direct, write: true, create: Create::New, mode: 0o600 };
    match disk::open(path, opening) {
        Ok(disk) => {
            disk.file.set_len(size).unwrap();
            Some(of_file(disk.file, disk.align))
        }
        Err(disk::OpenError::NoDirect(_)) => {
            println!("not direct: the temporary folder's file system has no O_DIRECT");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

/// A change or a read of a LUN of 64 KiB.
#[derive(Clone, Debug)]
enum Act {
    Write { at: u64, len: u64, seed: u8, fua: bool },
    Trim { at: u64, len: u64, fua: bool },
    Zero { at: u64, len: u64, no_hole: bool },
    Flush,
    Read { at: u64, len: u64 },
}

const SIZE: u64 = 64 << 10;

fn act() -> impl Strategy<Value = Act> {
    // Some aligned, most not, some across many blocks.
    let place = prop_oneof![Just(1u64), Just(512), Just(4096)].prop_flat_map(|unit| {
        (0..SIZE / unit, 1..=(SIZE / unit).min(20_000)).prop_map(move |(at, len)| {
            let at = at * unit;
            (at, (len * unit).min(SIZE - at))
        })
    });
    (place, any::<(u8, bool)>(), 0..6).prop_map(|((at, len), (seed, flag), kind)| match kind {
        0 | 1 => Act::Write { at, len, seed, fua: flag },
        2 => Act::Trim { at, len, fua: flag },
        3 => Act::Zero { at, len, no_hole: flag },
        4 => Act::Flush,
        _ => Act::Read { at, len },
    })
}

fn pattern(seed: u8, len: u64) -> Vec<u8> {
    (0..len).map(|n| seed.wrapping_add((n % 251) as u8) | 1).collect()
}

impl Act {
    /// First byte and the one after the last that it changes.
    fn changes(&self) -> Option<(u64, u64)> {
        match *self {
            Act::Write { at, len, .. } | Act::Trim { at, len, .. } | Act::Zero { at, len, .. } => Some((at, at + len)),
            _ => None,
        }
    }

    fn range(&self) -> (u64, u64) {
        match *self {
            Act::Read { at, len } => (at, at + len),
            _ => self.changes().unwrap_or((0, 0)),
        }
    }

    fn apply(&self, model: &mut [u8]) {
        match *self {
            Act::Write { at, len, seed, .. } => {
                model[at as usize..(at + len) as usize].copy_from_slice(&pattern(seed, len));
            }
            Act::Trim { at, len, .. } | Act::Zero { at, len, .. } => {
                model[at as usize..(at + len) as usize].fill(0);
            }
            _ => {}
        }
    }

    fn submit(&self, bench: &mut Bench) -> u64 {
        match *self {
            Act::Write { at, len, seed, fua } => {
                let buf = bench.filled(&pattern(seed, len));
                bench.submit(at, len, Op::Write(buf), fua).0
            }
            Act::Trim { at, len, fua } => bench.submit(at, len, Op::Trim, fua).0,
            Act::Zero { at, len, no_hole } => bench.submit(at, len, Op::Zero { no_hole, fast_only: false }, false).0,
            Act::Flush => bench.submit(0, 0, Op::Flush, false).0,
            Act::Read { at, len } => bench.submit(at, len, Op::Read, false).0,
        }
    }
}

/// Runs acts in batches that overlap nowhere, so that their order says nothing about the outcome, and checks every read
/// and in the end every byte against a plain array.
fn run_against_model(bench: &mut Bench, acts: &[Act]) {
    let mut model = vec![0u8; SIZE as usize];
    let mut rest = acts;
    while !rest.is_empty() {
        let mut taken: Vec<&Act> = Vec::new();
        let apart = |a: &Act, b: &Act| {
            let ((a0, a1), (b0, b1)) = (a.range(), b.range());
            a1 <= b0 || b1 <= a0
        };
        let count = rest.iter().take_while(|act| {
            let fits = taken.iter().all(|other| apart(act, other));
            taken.push(act);
            fits
        });
        let count = count.count().max(1);
        let batch: Vec<(u64, &Act)> = rest[..count].iter().map(|act| (act.submit(bench), act)).collect();
        let mut ended = bench.all(batch.len());
        for (tag, act) in batch {
            let completion = ended.remove(&tag).unwrap();
            assert_eq!(completion.result, Ok(()), "{act:?}");
            if let Act::Read { at, len } = *act {
                let buf = completion.buf.unwrap();
                bench.io.with(&buf, |bytes| assert!(bytes == &model[at as usize..(at + len) as usize], "{act:?}"));
                bench.io.give(buf);
            }
            act.apply(&mut model);
        }
        rest = &rest[count..];
    }
    assert!(bench.read(0, SIZE) == model);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Through the page cache with a pretended alignment of 4 KiB, so that it runs on any file system.
    #[test]
    fn any_alignment_is_served(acts in proptest::collection::vec(act(), 1..40), threads in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let mut bench = Bench::serving(BACKENDS[usize::from(threads)], dir.path(), SIZE, 4096);
        run_against_model(&mut bench, &acts);
    }

    /// Past it, with the alignment that the file system states.
    #[test]
    fn any_alignment_is_served_past_the_page_cache(acts in proptest::collection::vec(act(), 1..40)) {
        let dir = tempfile::tempdir().unwrap();
        let mut bench = Bench::new(Choice::Auto);
        let Some(data) = direct_file(&dir.path().join("lun"), SIZE) else { return Ok(()) };
        bench.volumes.open(Time::ZERO, LUN, data, SIZE);
        run_against_model(&mut bench, &acts);
    }
}

#[test]
fn neighbours_in_one_block_do_not_undo_each_other() {
    for backend in BACKENDS {
        let dir = tempfile::tempdir().unwrap();
        let mut bench = Bench::serving(backend, dir.path(), SIZE, 4096);
        // All at once: 64 writes of 100 bytes side by side in two blocks, and whole blocks between them.
        let mut expected = vec![0u8; 16 << 10];
        for n in 0..64u64 {
            let bytes = pattern(n as u8, 100);
            bench.write(n * 100, &bytes);
            expected[(n * 100) as usize..(n * 100 + 100) as usize].copy_from_slice(&bytes);
            if n % 16 == 0 {
                let block = pattern(200, 4096);
                bench.write(8192, &block);
                expected[8192..12288].copy_from_slice(&block);
            }
        }
        let ended = bench.all(64 + 4);
        assert!(ended.values().all(|completion| completion.result == Ok(())));
        assert!(bench.read(0, 16 << 10) == expected);
    }
}

#[test]
fn a_patch_of_one_lun_holds_nobody_elses_changes() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::serving(Choice::Auto, dir.path(), SIZE, 4096);
    let other = ObjectId(4);
    bench.volumes.open(Time::ZERO, other, page_file(&dir.path().join("other"), SIZE, 4096), SIZE);
    // A patch, a change behind it, and a change of the other LUN: the last is at the kernel before any end is known.
    bench.write(1, &[1; 10]);
    bench.write(4096, &[2; 4096]);
    let buf = bench.filled(&[3; 4096]);
    let now = bench.io.now();
    let request = Request { tag: 99, object: other, at: 0, len: 4096, op: Op::Write(buf), fua: false, due: now };
    assert!(matches!(bench.volumes.submit(now, request), Submitted::Taken(_)));
    bench.poll();
    bench.volumes.close(now, LUN);
    // What was parked is gone at once; the patch and the other LUN's change are under way and end well.
    let results: Vec<_> = bench.all(3).into_iter().map(|(tag, completion)| (tag, completion.result)).collect();
    assert_eq!(results, [(1, Ok(())), (2, Err(Fault::Gone)), (99, Ok(()))]);
}

#[test]
fn a_flush_is_answered_by_a_sync_that_began_after_it() {
    for backend in BACKENDS {
        let dir = tempfile::tempdir().unwrap();
        let mut bench = Bench::serving(backend, dir.path(), SIZE, 4096);
        let (first, _) = bench.submit(0, 0, Op::Flush, false);
        assert!(bench.poll().is_empty(), "its sync has not been submitted yet");
        // These come while the first one's sync is at the kernel: they share the next one.
        let later: Vec<u64> = (0..10).map(|_| bench.submit(0, 0, Op::Flush, false).0).collect();
        assert!(bench.poll().is_empty());
        let tags = |ended: Vec<Completion>| ended.iter().map(|completion| completion.tag).collect::<Vec<_>>();
        assert_eq!(tags(bench.some()), [first]);
        assert_eq!(tags(bench.some()), later);
    }
}

#[test]
fn a_durable_trim_waits_for_a_sync_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::serving(Choice::Auto, dir.path(), SIZE, 4096);
    bench.write(0, &[9; 8192]);
    bench.all(1);
    let (trim, _) = bench.submit(0, 4096, Op::Trim, true);
    let (zero, _) = bench.submit(4096, 4096, Op::Zero { no_hole: false, fast_only: false }, true);
    let ended = bench.all(2);
    assert!(ended[&trim].result.is_ok() && ended[&zero].result.is_ok());
    assert_eq!(bench.read(0, 8192), vec![0; 8192]);
}

#[test]
fn after_a_sync_that_failed_nothing_is_called_durable() {
    // An eventfd and the like cannot be synced; a pipe is one that std makes.
    let (reader, _writer) = std::io::pipe().unwrap();
    let mut bench = Bench::new(Choice::Auto);
    bench.volumes.open(Time::ZERO, LUN, of_file(File::from(std::os::fd::OwnedFd::from(reader)), 1), SIZE);
    bench.submit(0, 0, Op::Flush, false);
    bench.poll();
    bench.submit(0, 0, Op::Flush, false);
    let ended = bench.all(2);
    assert_eq!(ended[&1].result, Err(Fault::Invalid), "as the kernel said");
    assert_eq!(ended[&2].result, Err(Fault::Io), "a second sync is not even tried");
    bench.submit(0, 0, Op::Flush, false);
    assert_eq!(bench.result(), Err(Fault::Io));
    bench.write(0, &[1; 512]);
    assert_eq!(bench.result(), Err(Fault::Io));
    bench.submit(0, 512, Op::Trim, true);
    assert_eq!(bench.result(), Err(Fault::Io));
}

#[test]
fn errors_of_the_medium_are_told_as_what_they_are() {
    for backend in BACKENDS {
        let mut bench = Bench::new(backend);
        let full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        bench.volumes.open(Time::ZERO, LUN, of_file(full, 512), SIZE);
        bench.write(0, &[1; 512]);
        assert_eq!(bench.result(), Err(Fault::NoSpace));
        // Through a patch: its read is answered with zeroes, its write is not.
        bench.write(3, &[1; 5]);
        assert_eq!(bench.result(), Err(Fault::NoSpace));
        // Nothing is mapped at the process's own address 0.
        let bad = File::open("/proc/self/mem").unwrap();
        bench.volumes.open(Time::ZERO, LUN, of_file(bad, 512), SIZE);
        bench.submit(0, 512, Op::Read, false);
        assert_eq!(bench.result(), Err(Fault::Io));
        bench.submit(7, 5, Op::Read, false);
        assert_eq!(bench.result(), Err(Fault::Io));
    }
}

#[test]
fn what_does_not_fit_the_lun_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::serving(Choice::Auto, dir.path(), SIZE, 4096);
    let mut refused = |at: u64, len: u64, op: Op| {
        bench.submit(at, len, op, false);
        bench.result().unwrap_err()
    };
    assert_eq!(refused(SIZE, 1, Op::Read), Fault::Invalid);
    assert_eq!(refused(u64::MAX, 2, Op::Trim), Fault::Invalid);
    assert_eq!(refused(0, 0, Op::Read), Fault::Invalid);
    assert_eq!(refused(0, (32 << 20) + 1, Op::Read), Fault::Invalid);
    bench.write(SIZE - 1, &[1, 2]);
    assert_eq!(bench.result(), Err(Fault::NoSpace));
    bench.volumes.resize(LUN, 2 * SIZE);
    // The file is still short: what lies behind its end is an error, not invented data.
    bench.submit(SIZE, 4096, Op::Read, false);
    assert_eq!(bench.result(), Err(Fault::Io));
}

#[test]
fn a_lun_that_grew_reads_as_zeroes_behind_its_old_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::serving(Choice::Auto, dir.path(), SIZE, 4096);
    bench.write(SIZE - 10, &[7; 10]);
    bench.all(1);
    File::options().write(true).open(dir.path().join("lun")).unwrap().set_len(2 * SIZE).unwrap();
    bench.volumes.resize(LUN, 2 * SIZE);
    let bytes = bench.read(SIZE - 10, 4106);
    assert_eq!((&bytes[..10], &bytes[10..]), (&[7; 10][..], &[0; 4096][..]));
}

#[test]
fn an_object_that_is_closed_and_opened_again_is_another_lun() {
    for backend in BACKENDS {
        let dir = tempfile::tempdir().unwrap();
        let mut bench = Bench::serving(backend, dir.path(), SIZE, 4096);
        let (old, _) = bench.submit(0, 0, Op::Flush, false);
        bench.write(0, &[1; 4096]);
        bench.poll();
        let (waiting, _) = bench.submit(0, 0, Op::Flush, false);
        let now = bench.io.now();
        bench.volumes.open(now, LUN, page_file(&dir.path().join("new"), SIZE, 512), SIZE);
        let (new, _) = bench.submit(0, 4096, Op::Read, false);
        let mut ended = bench.all(4);
        assert_eq!(ended[&old].result, Ok(()));
        assert_eq!(ended[&waiting].result, Err(Fault::Gone), "it had not begun");
        let buf = ended.remove(&new).unwrap().buf.unwrap();
        bench.io.with(&buf, |bytes| assert_eq!(bytes, [0; 4096]));
        bench.io.give(buf);
        assert_eq!(bench.volumes.next_wakeup(), Wakeup::Idle);
    }
}

#[test]
fn a_cancelled_request_ends_once_and_those_behind_it_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let settings = VolumesSettings { in_flight_limit: 1, ..VolumesSettings::default() };
    let mut bench = Bench::with(Choice::Auto, block::Bytes::mib(1), settings);
    bench.volumes.open(Time::ZERO, LUN, page_file(&dir.path().join("lun"), SIZE, 4096), SIZE);
    let buf = bench.filled(&[1; 4096]);
    let (flying, ticket) = bench.submit(0, 4096, Op::Write(buf), false);
    bench.poll();
    let buf = bench.filled(&[2; 4096]);
    let (waiting, early) = bench.submit(4096, 4096, Op::Write(buf), false);
    let (last, _) = bench.submit(0, 8192, Op::Read, false);
    let now = bench.io.now();
    for ticket in [early, ticket, early, Ticket(u64::MAX), Ticket(0)] {
        bench.volumes.cancel(now, ticket);
    }
    let mut ended = bench.all(3);
    assert_eq!((ended[&flying].result, ended[&waiting].result), (Ok(()), Err(Fault::Gone)));
    let buf = ended.remove(&last).unwrap().buf.unwrap();
    bench.io.with(&buf, |bytes| assert_eq!((bytes[0], bytes[4095], bytes[4096]), (1, 1, 0)));
    bench.io.give(buf);
}

#[test]
fn what_lacks_memory_says_so_sleeps_and_goes_on_when_there_is_some() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::with(Choice::Auto, block::Bytes::kib(64), VolumesSettings::default());
    bench.volumes.open(Time::ZERO, LUN, page_file(&dir.path().join("lun"), SIZE, 4096), SIZE);
    let all = bench.io.take(64 << 10).unwrap();
    bench.submit(0, 4096, Op::Read, false);
    assert!(bench.poll().is_empty());
    assert!(bench.volumes.lacks_memory());
    assert_eq!(bench.volumes.next_wakeup(), Wakeup::External, "no busy loop");
    bench.io.give(all);
    assert_eq!(bench.result(), Ok(()));
    assert!(!bench.volumes.lacks_memory());
}

#[test]
fn a_status_tells_holes_from_data_one_a_poll() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::serving(Choice::Auto, dir.path(), 1 << 20, 4096);
    bench.write(64 << 10, &[1; 65536]);
    bench.all(1);
    bench.submit(0, 1 << 20, Op::Status { sharing: false }, false);
    bench.submit(64 << 10, 4096, Op::Status { sharing: false }, false);
    let first = bench.poll();
    assert_eq!(first.len(), 1);
    assert_eq!(bench.volumes.next_wakeup(), Wakeup::Now, "the other one's turn is the next poll");
    let run = |len: u64, hole: bool| Extent { len, hole, zero: hole, shared: false };
    assert_eq!(first[0].extents, [run(64 << 10, true), run(64 << 10, false), run(896 << 10, true)]);
    assert_eq!(bench.poll()[0].extents, [run(4096, false)]);
}

#[test]
fn zeroes_are_written_by_hand_where_the_file_system_has_no_call_for_them() {
    let shared_memory = Path::new("/dev/shm");
    if !shared_memory.is_dir() {
        return println!("skipped: no /dev/shm, whose file system has no call to zero a range");
    }
    let dir = tempfile::tempdir_in(shared_memory).unwrap();
    let mut bench = Bench::serving(Choice::Auto, dir.path(), 2 << 20, 4096);
    bench.write(0, &vec![7; 1 << 20]);
    bench.all(1);
    let zero = |fast_only| Op::Zero { no_hole: true, fast_only };
    bench.submit(10, 600_000, zero(true), false);
    assert_eq!(bench.result(), Err(Fault::Unsupported), "it would not be faster");
    // With others around it, one of them in the block that it shares.
    let (zeroed, _) = bench.submit(10, 600_000, zero(false), true);
    bench.write(600_010, &[8; 100]);
    bench.write(1 << 20, &[9; 4096]);
    let ended = bench.all(3);
    assert!(ended.values().all(|completion| completion.result == Ok(())), "{:?}", ended[&zeroed]);
    let bytes = bench.read(0, (1 << 20) + 4096);
    assert_eq!(bytes[..10], [7; 10]);
    assert!(bytes[10..600_010].iter().all(|&byte| byte == 0));
    assert_eq!(bytes[600_010..600_110], [8; 100]);
    assert!(bytes[600_110..1 << 20].iter().all(|&byte| byte == 7));
    assert!(bytes[1 << 20..].iter().all(|&byte| byte == 9));
}
