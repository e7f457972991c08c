//! Views: buffers whose bytes are in files or in pages.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use crate::backends::{reap, run, settings};
use block::{Buf, Bytes, Driver, Span};
use uring::{Choice, Errno, Failure, FileId, Io, IoSettings, Job, Message, Pages, Port, TaskWork};

const LEAST: u32 = 64 << 10;
const FILE: usize = 3 << 20;

/// Byte `at` of a file.
fn pattern(seed: u8, at: usize) -> u8 {
    (at as u32).wrapping_mul(2_654_435_761).rotate_left(9) as u8 ^ seed
}

fn bytes(seed: u8, at: usize, len: usize) -> Vec<u8> {
    (at..at + len).map(|at| pattern(seed, at)).collect()
}

fn file(seed: u8) -> File {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&bytes(seed, 0, FILE), 0).unwrap();
    file
}

/// Runs a test on each kind of ring. Views must be given back, which `outstanding` shows.
fn on_rings(test: impl Fn(&mut Io, &Port)) {
    for task_work in [TaskWork::Deferred, TaskWork::Cooperative, TaskWork::Plain] {
        let mut io = Io::open(&IoSettings { task_work, views: Some(LEAST), ..settings() }).unwrap();
        if !matches!(io.backend(), uring::Backend::Uring { .. }) {
            return println!("skipped: no io_uring here");
        }
        let port = io.port();
        test(&mut io, &port);
        drop(port);
        assert_eq!(io.outstanding(), 0, "a buffer leaked on {}", io.backend());
    }
}

fn view(io: &mut Io, port: &Port, file: FileId, at: u64, len: u32) -> Buf {
    let done = run(io, port, Job::View { file, at, buf: io.take(len).unwrap() });
    assert_eq!(done.result, Ok(len));
    done.buf.unwrap()
}

/// A head, a buffer, and a tail.
fn message(buf: Buf) -> Message {
    let mut message = Message::default();
    message.header(b"head");
    message.data(buf);
    message.header(b"tail");
    message
}

fn framed(data: &[u8]) -> Vec<u8> {
    [b"head", data, b"tail"].concat()
}

/// A peer that receives everything, a little at a time.
fn all_of(mut peer: UnixStream) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let (mut got, mut piece) = (Vec::new(), [0; 30_000]);
        loop {
            match peer.read(&mut piece).unwrap() {
                0 => return got,
                len => got.extend_from_slice(&piece[..len]),
            }
        }
    })
}

fn give(io: &Io, message: Option<Message>) {
    message.unwrap().unload().for_each(|buf| io.give(buf));
}

/// Lengths and offsets around the threshold, around pages, and around what a socket takes: the
/// bytes are always right, and short reads use a buffer. A reader with a small buffer makes the
/// sends take many rounds.
#[test]
fn what_a_buffer_stands_for_arrives() {
    on_rings(|io, port| {
        let on_disk = file(1);
        let id = io.register(on_disk);
        for (at, len) in [
            (0, LEAST - 1),
            (0, LEAST),
            (1, LEAST + 1),
            (4095, LEAST),
            (4096, 128 << 10),
            (511, 212_992),
            (4097, (1 << 20) + 3),
            (0, 2 << 20),
            (FILE as u64 - u64::from(LEAST), LEAST),
        ] {
            let buf = view(io, port, id, at, len);
            assert_eq!(io.view(&buf).is_some(), len >= LEAST, "{len} from {at}");
            let window = buf.window(1, len - 2);
            let (ours, theirs) = UnixStream::pair().unwrap();
            let socket = io.register(ours);
            let reader = all_of(theirs);
            let done = run(io, port, Job::Send { socket, message: message(window) });
            assert_eq!(done.result, Ok(len - 2 + 8));
            give(io, done.message);
            io.close(socket);
            assert!(reader.join().unwrap() == framed(&bytes(1, at as usize + 1, len as usize - 2)), "{len} from {at}");
        }
        io.close(id);
    });
}

/// A worker that rests until a peer responds is told of the end of a send that had to be tried
/// again, even though its last part was sent at once. With nothing else to arrive, it would sleep
/// until its time-out.
#[test]
fn the_end_of_a_send_in_rounds_ends_a_rest() {
    on_rings(|io, port| {
        let id = io.register(file(3));
        for _ in 0..8 {
            let buf = view(io, port, id, 0, 1 << 20);
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let socket = io.register(ours);
            let reader = std::thread::spawn(move || theirs.read_exact(&mut vec![0; (1 << 20) + 8]).unwrap());
            port.push(0, Job::Send { socket, message: message(buf) }).unwrap();
            let until = io.now() + Span::from_secs(100);
            let mut ended = Vec::new();
            while ended.is_empty() {
                let now = io.rest(Some(until));
                port.reap(&mut ended);
                assert!(now < until, "it slept through the end");
            }
            reader.join().unwrap();
            give(io, ended.pop().unwrap().message);
            io.close(socket);
        }
        io.close(id);
    });
}

/// A buffer may be a view of several parts of files. They are sent in its order, whatever window of
/// it is sent.
#[test]
fn a_buffer_may_stand_for_several_parts() {
    on_rings(|io, port| {
        let (one, two) = (io.register(file(1)), io.register(file(2)));
        // 32 pieces of 32 KiB, alternating between two files, the last ones first.
        let (piece, count) = (32 << 10, 32);
        let whole = piece * count;
        let place = |number: u32| {
            (u64::from((count - number) * piece), if number.is_multiple_of(2) { (one, 1) } else { (two, 2) })
        };
        let expected: Vec<u8> = (0..count)
            .flat_map(|number| {
                let (at, (_, seed)) = place(number);
                bytes(seed, at as usize, piece as usize)
            })
            .collect();
        for (start, len) in [(0, whole), (1, whole - 2), (piece - 1, 2), (5 * piece + 7, 3 * piece)] {
            let mut buf = io.take(whole).unwrap();
            for number in 0..count {
                buf = buf.window(number * piece, piece);
                let (at, (file, _)) = place(number);
                assert!(io.stand(file, at, &buf, whole));
            }
            assert!(!io.stand(one, FILE as u64, &buf, whole), "nothing is there");
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let socket = io.register(ours);
            let reader = std::thread::spawn(move || {
                let mut got = Vec::new();
                theirs.read_to_end(&mut got).unwrap();
                got
            });
            let done = run(io, port, Job::Send { socket, message: message(buf.window(start, len)) });
            assert_eq!(done.result, Ok(len + 8));
            let window = start as usize..(start + len) as usize;
            let mut sent = done.message.unwrap();
            for buf in sent.unload() {
                io.fetch_buf(&buf).unwrap();
                io.with(&buf, |got| assert!(got == &expected[window.clone()]));
                io.give(buf);
            }
            io.close(socket);
            assert!(reader.join().unwrap() == framed(&expected[window]), "{len} from {start}");
        }
        [one, two].into_iter().for_each(|id| io.close(id));
    });
}

/// A view shows the file as it is when it is sent, and as it was when it was fetched; so it has no
/// copy before.
#[test]
fn fetched_bytes_do_not_depend_on_the_file_any_more() {
    on_rings(|io, port| {
        let on_disk = file(1);
        let id = io.register(on_disk.try_clone().unwrap());
        let standing = view(io, port, id, 0, LEAST);
        let fetched = view(io, port, id, 4096, LEAST);
        let name = io.view(&fetched).unwrap();
        assert!(io.is_viewed(name));
        io.fetch(name).unwrap();
        assert!(!io.is_viewed(name) && io.view(&fetched).is_none());
        on_disk.write_all_at(&bytes(2, 0, FILE), 0).unwrap();
        io.with(&fetched, |got| assert!(got == bytes(1, 4096, LEAST as usize)));
        io.fetch_buf(&standing).unwrap();
        io.with(&standing, |got| assert!(got == bytes(2, 0, LEAST as usize)));
        io.give(standing);
        io.give(fetched);
        assert_eq!(io.fetch(name), Ok(()), "nobody stands for it any more");
        io.close(id);
    });
}

/// The socket is full in the middle of the buffer. Then its bytes are fetched, and the file is
/// overwritten. The peer, which only reads now, gets none of the new bytes.
#[test]
fn a_send_goes_on_with_what_was_fetched() {
    on_rings(|io, port| {
        let on_disk = file(1);
        let id = io.register(on_disk.try_clone().unwrap());
        let buf = view(io, port, id, 100, 2 << 20);
        let name = io.view(&buf).unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let socket = io.register(ours);
        port.push(1, Job::Send { socket, message: message(buf) }).unwrap();
        // Until the peer has the first byte, nothing is at the kernel; then as much as there is
        // room for.
        let mut first = [0; 4];
        theirs.set_nonblocking(true).unwrap();
        while theirs.read(&mut first).is_err() {
            let now = io.now();
            io.turn(Some(now));
        }
        assert!(io.is_viewed(name), "more than a socket takes");
        io.fetch(name).unwrap();
        assert!(!io.is_viewed(name));
        on_disk.write_all_at(&bytes(2, 0, FILE), 0).unwrap();
        theirs.set_nonblocking(false).unwrap();
        let reader = std::thread::spawn(move || {
            let mut got = first.to_vec();
            theirs.read_to_end(&mut got).unwrap();
            got
        });
        let done = reap(io, port, 1).pop().unwrap();
        assert_eq!(done.result, Ok((2 << 20) + 8));
        let mut sent = done.message.unwrap();
        for buf in sent.unload() {
            io.with(&buf, |got| assert!(got == bytes(1, 100, 2 << 20), "it holds them now"));
            io.give(buf);
        }
        io.close(socket);
        io.close(id);
        assert!(reader.join().unwrap() == framed(&bytes(1, 100, 2 << 20)));
    });
}

/// Nobody may access or change the bytes of a view.
#[test]
fn what_a_buffer_stands_for_cannot_be_looked_at() {
    type Misuse = fn(&Io, &Port, FileId, Buf);
    let misuses: [Misuse; 3] = [
        |io, _, _, buf| io.with(&buf, |_| ()),
        |io, _, _, mut buf| io.with_mut(&mut buf, |_| ()),
        |_, port, file, buf| drop(port.push(1, Job::Read { file, at: 0, buf })),
    ];
    for misuse in misuses {
        let mut io = Io::open(&IoSettings { views: Some(LEAST), ..settings() }).unwrap();
        if !matches!(io.backend(), uring::Backend::Uring { .. }) {
            return println!("skipped: no io_uring here");
        }
        let port = io.port();
        let id = io.register(file(1));
        let buf = view(&mut io, &port, id, 0, LEAST);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| misuse(&io, &port, id, buf)));
        assert!(outcome.is_err());
    }
}

/// A view that would reach beyond the file, or into the next mapping, is read as usual; so is
/// everything with threads, and if views were not asked for.
#[test]
fn what_cannot_be_shown_is_read() {
    on_rings(|io, port| {
        let long = tempfile::tempfile().unwrap();
        let edge = 256 << 20;
        long.write_all_at(&bytes(3, 0, 128 << 10), edge - (64 << 10)).unwrap();
        let (id, long) = (io.register(file(1)), io.register(long));
        let beyond = Job::View { file: id, at: FILE as u64 - 4096, buf: io.take(LEAST).unwrap() };
        let done = run(io, port, beyond);
        assert_eq!((done.result, done.moved), (Err(Failure::UnexpectedEnd), 4096));
        io.give(done.buf.unwrap());
        let buf = view(io, port, long, edge - (64 << 10), 128 << 10);
        assert!(io.view(&buf).is_none());
        io.with(&buf, |got| assert!(got == bytes(3, 0, 128 << 10)));
        io.give(buf);
        let buf = view(io, port, long, edge, 64 << 10);
        assert!(io.view(&buf).is_some(), "the first of the next mapping");
        io.fetch_buf(&buf).unwrap();
        io.with(&buf, |got| assert!(got == bytes(3, 64 << 10, 64 << 10)));
        io.give(buf);
        [id, long].into_iter().for_each(|id| io.close(id));
    });
    for settings in [
        IoSettings { backend: Choice::Threads, views: Some(LEAST), ..settings() },
        IoSettings { views: None, ..settings() },
    ] {
        let mut io = Io::open(&settings).unwrap();
        let port = io.port();
        let id = io.register(file(1));
        let buf = view(&mut io, &port, id, 0, LEAST);
        io.with(&buf, |got| assert!(got == bytes(1, 0, LEAST as usize)));
        io.give(buf);
    }
}

/// A peer that reads nothing and goes away, a file that is truncated, a socket that is closed: each
/// is an error without a signal, and the buffers are given back.
#[test]
fn sends_that_fail_give_their_buffers_back() {
    on_rings(|io, port| {
        let on_disk = file(1);
        let id = io.register(on_disk.try_clone().unwrap());
        let stuck = |io: &mut Io| {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let buf = view(io, port, id, 0, 2 << 20);
            let socket = io.register(ours);
            port.push(7, Job::Send { socket, message: message(buf) }).unwrap();
            let mut first = [0; 4];
            theirs.set_nonblocking(true).unwrap();
            while theirs.read(&mut first).is_err() {
                let now = io.now();
                io.turn(Some(now));
            }
            (socket, theirs)
        };
        let (socket, theirs) = stuck(io);
        drop(theirs);
        let done = reap(io, port, 1).pop().unwrap();
        assert!(matches!(done.result, Err(Failure::Os(Errno(libc::EPIPE | libc::ECONNRESET)))), "{:?}", done.result);
        give(io, done.message);
        io.close(socket);

        let (socket, _theirs) = stuck(io);
        io.close(socket);
        let done = reap(io, port, 1).pop().unwrap();
        assert_eq!(done.result, Err(Failure::Canceled));
        give(io, done.message);

        let (socket, mut theirs) = stuck(io);
        on_disk.set_len(4096).unwrap();
        theirs.set_nonblocking(false).unwrap();
        let reader = std::thread::spawn(move || theirs.read_to_end(&mut Vec::new()));
        let done = reap(io, port, 1).pop().unwrap();
        assert_eq!(done.result, Err(Failure::Os(Errno(libc::EFAULT))));
        give(io, done.message);
        io.close(socket);
        reader.join().unwrap().unwrap();
        io.close(id);
    });
}

/// A peer may move what it received into a pipe without a copy, as proxies do, and look at it when
/// the sender believes that it was read. It has bytes of its own: neither the file's pages, nor a
/// buffer's.
#[test]
fn a_peer_that_keeps_pages_keeps_none_of_ours() {
    on_rings(|io, port| {
        let on_disk = file(1);
        let id = io.register(on_disk.try_clone().unwrap());
        let buf = view(io, port, id, 0, LEAST);
        assert!(io.view(&buf).is_some());
        let (ours, theirs) = UnixStream::pair().unwrap();
        let socket = io.register(ours);
        let mut message = Message::default();
        message.data(buf);
        let done = run(io, port, Job::Send { socket, message });
        assert_eq!(done.result, Ok(LEAST));
        give(io, done.message);
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut moved = 0;
        while moved < LEAST as usize {
            let (from, to, none) = (theirs.as_raw_fd(), writer.as_raw_fd(), std::ptr::null_mut());
            // SAFETY: no memory is passed; both are open.
            let got = unsafe { libc::splice(from, none, to, none, LEAST as usize - moved, 0) };
            assert!(got > 0, "{}", std::io::Error::last_os_error());
            moved += got as usize;
        }
        assert_eq!(io.outstanding(), 0);
        on_disk.write_all_at(&bytes(2, 0, FILE), 0).unwrap();
        let mut next = view(io, port, id, 0, LEAST);
        io.fetch_buf(&next).unwrap();
        io.with_mut(&mut next, |bytes| bytes.fill(0xEE));
        let mut kept = vec![0; LEAST as usize];
        reader.read_exact(&mut kept).unwrap();
        assert!(kept == bytes(1, 0, LEAST as usize));
        io.give(next);
        [socket, id].into_iter().for_each(|id| io.close(id));
    });
}

/// There are views of more files than mappings are kept: a mapping that is replaced lives as long
/// as it has views.
#[test]
fn a_mapping_lives_as_long_as_its_views() {
    on_rings(|io, port| {
        let files: Vec<FileId> = (0..14).map(|seed| io.register(file(seed))).collect();
        let mut bufs = Vec::new();
        for round in 0..2 {
            for file in &files {
                bufs.push(view(io, port, *file, round * 4096, LEAST));
            }
        }
        let far = tempfile::tempfile().unwrap();
        let far_id = io.register(far.try_clone().unwrap());
        for part in 1..=6u64 {
            far.write_all_at(&bytes(99, 0, LEAST as usize), part << 28).unwrap();
            bufs.push(view(io, port, far_id, part << 28, LEAST));
            assert!(io.view(bufs.last().unwrap()).is_some());
        }
        files.into_iter().chain([far_id]).for_each(|id| io.close(id));
        for (number, buf) in bufs.into_iter().enumerate() {
            io.fetch_buf(&buf).unwrap();
            let (seed, at) = if number < 28 { ((number % 14) as u8, number / 14 * 4096) } else { (99, 0) };
            io.with(&buf, |got| assert!(got == bytes(seed, at, LEAST as usize), "{number}"));
            io.give(buf);
        }
    });
}

/// Messages of pages that change before, while and after they are sent: what arrives is what the
/// pages contained when they were shown. Every kind of engine supports this, since such bytes do
/// not move.
#[test]
fn pages_that_are_shown_arrive_as_they_were() {
    const PAGE: usize = 4096;
    const PAGES: u32 = 600;
    for backend in [Choice::Auto, Choice::Threads] {
        let mut io = Io::open(&IoSettings { backend, ..settings() }).unwrap();
        let port = io.port();
        let mut pages = Pages::map(PAGES, Bytes(PAGE as u64), 2 * PAGES).unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let socket = io.register(ours);
        let mut expected = Vec::new();
        let fill = |pages: &mut Pages, round: u8| {
            (0..PAGES).for_each(|page| {
                pages.write(page).copy_from_slice(&bytes(round, page as usize * PAGE, PAGE));
            });
        };
        let reader = all_of(theirs);
        for round in 0..6u8 {
            fill(&mut pages, round);
            // In order they are one piece, otherwise each is a piece of its own; with the second
            // message there are more pieces than one call takes.
            let whole: Vec<u32> = (0..PAGES).collect();
            let apart: Vec<u32> = (0..PAGES).step_by(2).chain((1..PAGES).step_by(2)).collect();
            let first = 100 + u32::from(round);
            let mut message = Message::default();
            for numbers in [whole, apart] {
                let len = PAGES * PAGE as u32 - first - 7;
                let buf = io.take(len).unwrap();
                assert!(io.show(&pages, &numbers, first, &buf));
                let shown: Vec<u8> = numbers.iter().flat_map(|page| pages.read(*page)).copied().collect();
                expected.extend_from_slice(&framed(&shown[first as usize + 1..][..len as usize - 2]));
                message.header(b"head");
                message.data(buf.window(1, len - 2));
                message.header(b"tail");
            }
            port.push(0, Job::Send { socket, message }).unwrap();
            // Prepared, but not at the kernel.
            fill(&mut pages, 100 + round);
            let _ = io.look();
            fill(&mut pages, 200 + round);
            (0..PAGES).step_by(3).for_each(|page| pages.give_back(page));
            let done = reap(&mut io, &port, 1).pop().unwrap();
            assert!(done.result.is_ok(), "{:?}", done.result);
            give(&io, done.message);
        }
        // One that is looked at here has the same bytes.
        let buf = io.take(2 * PAGE as u32).unwrap();
        assert!(io.show(&pages, &[1, 5], 0, &buf));
        pages.write(1).fill(0);
        io.fetch_buf(&buf).unwrap();
        let there = |page: usize| bytes(205, page * PAGE, PAGE);
        assert!(io.with(&buf, |got| got == [there(1), there(5)].concat()));
        io.give(buf);
        io.close(socket);
        assert!(reader.join().unwrap() == expected, "{}", io.backend());
        assert_eq!(io.outstanding(), 0);
    }
}
