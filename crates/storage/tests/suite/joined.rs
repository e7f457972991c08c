//! Joined places: random requests across their borders against a model, on files and on files
//! beside an export of nbdkit; and in virtual time on simulated devices, whose members take time
//! and have limited room.

use crate::support::{Peer, find};
use array::{DeviceSpec, Model, ParallelServers, VirtualClock};
use block::{Buf, Bytes, Completion, Driver, Fault, ObjectId, Op, Request, Span, Submitted, Target, Time, Wakeup};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::path::Path;
use storage::{Consent, How, Intent, Joined, Member, OpenError, Permit, Place};
use uring::{Io, IoSettings};

const BLOCK: u64 = 4096;
/// Sizes of the three members, in blocks.
const BLOCKS: [u64; 3] = [3, 9, 5];

/// A step of a random run: first block, number of blocks, and what is done there.
#[derive(Clone, Debug)]
enum Step {
    Read(u64, u64),
    Write(u64, u64, u8),
    Trim(u64, u64),
    Zero(u64, u64),
    Flush,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || (0u64..30, 1u64..14);
    let step = prop_oneof![
        4 => range().prop_map(|(at, len)| Step::Read(at, len)),
        5 => (range(), any::<u8>()).prop_map(|((at, len), byte)| Step::Write(at, len, byte)),
        1 => range().prop_map(|(at, len)| Step::Trim(at, len)),
        1 => range().prop_map(|(at, len)| Step::Zero(at, len)),
        1 => Just(Step::Flush),
    ];
    proptest::collection::vec(step, 1..40)
}

fn request(tag: u64, at: u64, len: u64, op: Op) -> Request {
    Request { tag, object: ObjectId(7), at, len, op, fua: false, due: Time::ZERO }
}

/// Waits for this many completions.
fn ends(driver: &mut impl Driver, target: &mut impl Target, count: usize) -> Vec<Completion> {
    let mut out = Vec::new();
    loop {
        target.poll(driver.now(), &mut out);
        if out.len() >= count {
            assert_eq!(out.len(), count);
            return out;
        }
        match target.next_wakeup() {
            Wakeup::Now => driver.turn(Some(Time::ZERO)),
            Wakeup::At(time) => driver.turn(Some(time)),
            Wakeup::External => driver.turn(None),
            Wakeup::Idle => panic!("{} of {count} ended, and nothing is under way", out.len()),
        };
    }
}

fn taken(submitted: Submitted) -> block::Ticket {
    match submitted {
        Submitted::Taken(ticket) => ticket,
        Submitted::Full(request) => panic!("no room for {request:?}"),
    }
}

/// Plays steps on the whole and on a model, and compares everything that is read; returns the
/// model.
fn play(io: &Io, joined: &mut impl Target, steps: &[Step]) -> Vec<u8> {
    let size = joined.traits().size.0;
    let mut model = vec![0u8; size as usize];
    let mut driver = io.clone();
    for (tag, step) in (0..).zip(steps) {
        let (mut at, mut len) = match *step {
            Step::Read(at, len) | Step::Write(at, len, _) | Step::Trim(at, len) | Step::Zero(at, len) => (at, len),
            Step::Flush => (0, 0),
        };
        at = at * BLOCK % size;
        len = (len * BLOCK).min(size - at);
        let range = at as usize..(at + len) as usize;
        let op = match *step {
            Step::Read(..) => Op::Read,
            Step::Write(_, _, byte) => {
                // No two blocks of a write are the same.
                for (place, to) in model[range.clone()].iter_mut().enumerate() {
                    *to = byte ^ (place as u8) ^ (place as u64 / BLOCK * 37) as u8;
                }
                let mut buf = io.take(len as u32).expect("the slab has room for one request");
                io.with_mut(&mut buf, |to| to.copy_from_slice(&model[range.clone()]));
                Op::Write(buf)
            }
            // What was trimmed in a file or in nbdkit's memory reads as zeroes.
            Step::Trim(..) => {
                model[range.clone()].fill(0);
                Op::Trim
            }
            Step::Zero(..) => {
                model[range.clone()].fill(0);
                Op::Zero { no_hole: false, fast_only: false }
            }
            Step::Flush => Op::Flush,
        };
        taken(joined.submit(io.now(), request(tag, at, len, op)));
        let mut done = ends(&mut driver, joined, 1).remove(0);
        assert_eq!((done.tag, done.object, done.len, done.result), (tag, ObjectId(7), len, Ok(())), "{step:?}");
        if let Some(buf) = done.buf.take() {
            assert_eq!(u64::from(buf.len()), len);
            io.with(&buf, |bytes| assert!(bytes == &model[range], "{step:?} of {size} bytes"));
            io.give(buf);
        } else {
            // The kernel may still have the buffer of a write to an export.
            assert!(!matches!(step, Step::Read(..)), "{step:?} without its bytes");
        }
    }
    model
}

fn io() -> Io {
    Io::open(&IoSettings { slab: Bytes::mib(4), ..IoSettings::default() }).unwrap()
}

/// For any file system: without direct I/O, the page cache is used.
fn how() -> How {
    How { fallback: Some(BLOCK as u32), ..How::default() }
}

fn file(folder: &Path, number: usize, blocks: u64) -> Place {
    let path = folder.join(format!("m{number}"));
    std::fs::File::create(&path).unwrap().set_len(blocks * BLOCK).unwrap();
    Place::Path(path)
}

fn permits(places: &[Place]) -> Vec<Permit> {
    let consent = Consent::default().to_all();
    places.iter().map(|place| Permit::ask(place, Intent::Write(&consent)).unwrap()).collect()
}

fn cases(cases: u32, run: impl Fn(Vec<Step>, Option<u64>)) {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(cases) });
    let outcome = runner.run(&(steps(), proptest::option::of(1u64..4)), |(steps, stripe)| {
        run(steps, stripe);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// Random reads, writes, trims, zeroes and flushes of three files match a model of the whole. In
/// the end, the files have the model's bytes in the places of the layout: concatenated, or in
/// stripes.
#[test]
fn bytes_are_where_they_belong() {
    cases(60, |steps, stripe| {
        let folder = tempfile::tempdir().unwrap();
        let places: Vec<Place> = (0..3).map(|n| file(folder.path(), n, BLOCKS[n])).collect();
        let io = io();
        let mut joined =
            storage::open_joined(&io, &permits(&places), stripe.map(|n| Bytes(n * BLOCK)), how()).unwrap().target;
        // In stripes, the smallest member of 3 blocks decides.
        let blocks = stripe.map_or(3 + 9 + 5, |stripe| 3 / stripe * stripe * 3);
        assert_eq!(joined.traits().size, Bytes(blocks * BLOCK));
        let model = play(&io, &mut joined, &steps);
        drop(joined);
        assert_eq!(io.outstanding(), 0, "buffers are out");
        let files: Vec<Vec<u8>> = places.iter().map(|place| std::fs::read(place.to_string()).unwrap()).collect();
        for (block, bytes) in (0u64..).zip(model.chunks(BLOCK as usize)) {
            let (member, at) = match stripe {
                None if block < 3 => (0, block),
                None if block < 12 => (1, block - 3),
                None => (2, block - 12),
                Some(n) => ((block / n % 3) as usize, block / n / 3 * n + block % n),
            };
            let at = (at * BLOCK) as usize;
            assert!(files[member][at..at + BLOCK as usize] == *bytes, "block {block} of stripes {stripe:?}");
        }
    });
}

/// Does the same with another server's export between two files: reads return what was written.
#[test]
fn files_and_an_export_are_one() {
    let Some(program) = find("nbdkit") else { return };
    cases(12, |steps, stripe| {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let _peer = Peer::nbdkit(&program, &socket, &["memory", &(BLOCKS[1] * BLOCK).to_string()]);
        let export = Place::parse(&format!("nbd+unix:///?socket={}", socket.display())).unwrap();
        let places = [file(folder.path(), 0, BLOCKS[0]), export, file(folder.path(), 2, BLOCKS[2])];
        let io = io();
        let before = io.outstanding();
        let mut joined =
            storage::open_joined(&io, &permits(&places), stripe.map(|n| Bytes(n * BLOCK)), how()).unwrap().target;
        play(&io, &mut joined, &steps);
        drop(joined);
        assert_eq!(io.outstanding(), before, "buffers are out");
    });
}

/// A folder stands for its non-empty files, by name; a stripe must be a multiple of the members'
/// blocks.
#[test]
fn folders_are_their_files_and_stripes_fit() {
    let folder = tempfile::tempdir().unwrap();
    let [second, first] = ["b", "a"].map(|name| folder.path().join(name));
    for path in [&second, &first] {
        std::fs::write(path, [0; 4096]).unwrap();
    }
    std::fs::create_dir(folder.path().join("below")).unwrap();
    std::fs::write(folder.path().join("empty"), "").unwrap();
    let whole = Place::Path(folder.path().into());
    assert_eq!(whole.files().unwrap(), [Place::Path(first.clone()), Place::Path(second)]);
    assert_eq!(Place::Path(first.clone()).files().unwrap(), [Place::Path(first)]);
    let error = Place::Path(folder.path().join("below")).files().unwrap_err();
    assert!(matches!(error, OpenError::NoFiles(_)), "{error}");
    let (io, nothing) = (io(), vec![Place::Nothing(Bytes(BLOCK)); 2]);
    let error = storage::open_joined(&io, &permits(&nothing), Some(Bytes(0)), how()).err().expect("no stripe");
    assert_eq!(error.to_string(), "stripe: must be a whole multiple of 1 B, which the places take, got 0 B");
}

/// A simulated device of 1 MiB that takes 100 µs for any read or write, has one server and room for
/// `room` requests.
fn device(room: u32) -> Box<dyn Target> {
    let servers = ParallelServers { servers: 1, service: Span::from_micros(100), ..ParallelServers::default() };
    let mut spec = DeviceSpec::of(Model::ParallelServers(servers));
    (spec.size, spec.queue_limit) = (Bytes::mib(1), Some(room));
    spec.build(1).unwrap()
}

fn simulated(rooms: &[u32], stripe: Option<Bytes>) -> Joined<Box<dyn Target>> {
    let members =
        (0..rooms.len()).map(|target| Member { target, object: ObjectId(0), size: Bytes::mib(1), flushes: true });
    Joined::new(rooms.iter().map(|room| device(*room)).collect(), members.collect(), stripe, None)
}

fn micros(time: Time) -> u64 {
    time.since(Time::ZERO).as_nanos() / 1000
}

/// A request across the border of two devices ends when both parts have, which run at the same
/// time: after 100 µs rather than 200. Two requests in one device run one after the other, in
/// different devices concurrently.
#[test]
fn members_work_at_the_same_time() {
    for (requests, ended) in [
        (&[((1 << 20) - 4096, 8192)][..], &[100][..]),
        (&[(0, 4096), (4096, 4096)], &[100, 200]),
        (&[(0, 4096), (1 << 20, 4096)], &[100, 100]),
    ] {
        let (mut clock, mut joined) = (VirtualClock::new(), simulated(&[8, 8], None));
        for (tag, &(at, len)) in (0..).zip(requests) {
            taken(joined.submit(Time::ZERO, request(tag, at, len, Op::Read)));
        }
        let done = ends(&mut clock, &mut joined, requests.len());
        assert_eq!(done.iter().map(|end| micros(end.end)).collect::<Vec<_>>(), ended);
        assert!(done.iter().all(|end| end.result == Ok(()) && end.service == end.end.since(Time::ZERO)));
    }
}

/// The second device has room for one request and is busy: the part for it waits, with everything
/// later for that device, and nothing is lost or done twice. If the first device is busy, the whole
/// request is handed back unchanged.
#[test]
fn a_part_without_room_waits_and_a_whole_is_handed_back() {
    let (mut clock, mut joined) = (VirtualClock::new(), simulated(&[1, 1], Some(Bytes::kib(4))));
    // Blocks 0 and 2 are on the first device, 1 and 3 on the second.
    taken(joined.submit(Time::ZERO, request(1, 4096, 4096, Op::Read)));
    taken(joined.submit(Time::ZERO, request(2, 0, 8192, Op::Write(Buf::nothing(8192)))));
    let third = request(3, 12288, 8192, Op::Write(Buf::nothing(8192)));
    let Submitted::Full(third) = joined.submit(Time::ZERO, third) else { panic!("there was no room") };
    assert_eq!(third, request(3, 12288, 8192, Op::Write(Buf::nothing(8192))));
    let Submitted::Full(fourth) = joined.submit(Time::ZERO, request(4, 4096, 4096, Op::Read)) else {
        panic!("it has overtaken the part that waits")
    };
    assert_eq!(fourth, request(4, 4096, 4096, Op::Read));
    let done = ends(&mut clock, &mut joined, 2);
    // The read ends after 100 µs; then the write's second part starts.
    assert_eq!(done.iter().map(|end| (end.tag, micros(end.end))).collect::<Vec<_>>(), [(1, 100), (2, 200)]);
    assert_eq!(done[1].buf, Some(Buf::nothing(8192)));
    assert_eq!(joined.next_wakeup(), Wakeup::Idle);
}

/// A request that is cancelled while a part of it waits ends once, as gone.
#[test]
fn a_cancelled_whole_ends_once() {
    let (mut clock, mut joined) = (VirtualClock::new(), simulated(&[1, 1], Some(Bytes::kib(4))));
    taken(joined.submit(Time::ZERO, request(1, 4096, 4096, Op::Read)));
    let ticket = taken(joined.submit(Time::ZERO, request(2, 0, 8192, Op::Read)));
    joined.cancel(Time::ZERO, ticket);
    let mut done = ends(&mut clock, &mut joined, 2);
    done.sort_by_key(|end| end.tag);
    assert_eq!(done.iter().map(|end| (end.tag, end.result)).collect::<Vec<_>>(), [(1, Ok(())), (2, Err(Fault::Gone))]);
    taken(joined.submit(clock.now(), request(3, 0, 8192, Op::Read)));
    assert_eq!(ends(&mut clock, &mut joined, 1)[0].result, Ok(()));
}

/// What does not lie within the whole is refused, and a trim of everything is one part for each
/// member.
#[test]
fn ranges_are_the_wholes() {
    let (mut clock, mut joined) = (VirtualClock::new(), simulated(&[1, 1, 1], Some(Bytes::kib(4))));
    let size = joined.traits().size.0;
    assert_eq!(size, (1 << 20) / 4096 * 4096 * 3);
    taken(joined.submit(Time::ZERO, request(1, size - 4096, 8192, Op::Read)));
    assert_eq!(ends(&mut clock, &mut joined, 1)[0].result, Err(Fault::Invalid));
    // With room for one request in each device this starts at once, however many stripes it
    // includes.
    taken(joined.submit(Time::ZERO, request(2, 0, size, Op::Trim)));
    let trimmed = ends(&mut clock, &mut joined, 1);
    taken(joined.submit(clock.now(), request(3, 0, 0, Op::Flush)));
    let flushed = ends(&mut clock, &mut joined, 1);
    assert_eq!((trimmed[0].result, flushed[0].result), (Ok(()), Ok(())));
}
