//! Waiting, waking and ending, on every backend.

use crate::backends;
use std::os::unix::net::UnixStream;

use crate::backends::{on_each, run, settings};
use block::{Driver, Span};
use uring::{Backend, Choice, Io, IoSettings, Job, Message};

#[test]
fn a_turn_without_events_returns_no_sooner_than_asked() {
    on_each(|io| {
        // The first turns may end early for no reason; only a return at the right time proves the
        // wait.
        let until = io.now() + Span::from_millis(3);
        let mut now = io.now();
        let mut turns = 0;
        while now < until {
            now = io.turn(Some(until));
            turns += 1;
        }
        assert!(now >= until);
        assert!(turns <= 3, "{turns} turns for one wait: it does not sleep");
    });
}

#[test]
fn a_turn_until_now_only_looks() {
    on_each(|io| {
        let now = io.turn(Some(block::Time::ZERO));
        assert!(io.turn(Some(now)) >= now);
    });
}

#[test]
fn another_thread_wakes_a_worker_that_waits_without_end() {
    on_each(|io| {
        let waker = io.waker();
        for _ in 0..20 {
            let waker = waker.clone();
            let waking = std::thread::spawn(move || waker.wake());
            io.turn(None);
            waking.join().unwrap();
        }
    });
}

/// Every turn has something to read from the page cache. A peer is heard all the same and gets its
/// answer: each takes until the second turn, since every other turn looks.
#[test]
fn a_peer_is_heard_while_others_read_without_end() {
    use std::io::{Read as _, Write as _};
    let mut io = Io::open(&IoSettings { cached_reads: true, ..settings() }).unwrap();
    if matches!(io.backend(), Backend::Threads { .. }) {
        return println!("skipped: no io_uring here");
    }
    let content = tempfile::tempfile().unwrap();
    std::os::unix::fs::FileExt::write_all_at(&content, &[7; 4096], 0).unwrap();
    let file = io.register(content);
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let (reads, peer, socket) = (io.port(), io.port(), io.register(ours));
    let mut done = Vec::new();
    let mut two_turns = |io: &mut Io| {
        for _ in 0..2 {
            reads.push(2, Job::Read { file, at: 0, buf: io.take(4096).unwrap() }).unwrap();
            io.turn(Some(block::Time::ZERO));
            reads.reap(&mut done);
            assert_eq!(done.len(), 1, "a turn reads");
            done.drain(..).for_each(|done| io.give(done.buf.unwrap()));
        }
    };
    for _ in 0..20 {
        peer.push(1, Job::Receive { socket, buf: io.take(4096).unwrap() }).unwrap();
        two_turns(&mut io);
        theirs.write_all(b"ask").unwrap();
        two_turns(&mut io);
        let mut heard = Vec::new();
        peer.reap(&mut heard);
        assert_eq!(heard.len(), 1, "it was heard");
        heard.drain(..).for_each(|done| io.give(done.buf.unwrap()));
        let mut message = Message::default();
        message.header(b"answer");
        peer.push(3, Job::Send { socket, message }).unwrap();
        two_turns(&mut io);
        let mut answer = [0; 6];
        theirs.read_exact(&mut answer).expect("it got its answer");
        two_turns(&mut io);
        peer.reap(&mut heard);
        assert_eq!(heard.len(), 1, "and that it was sent is known");
    }
    assert_eq!(io.outstanding(), 0);
}

/// The peer gets the bytes although the worker never turns; before the call they had not been sent.
#[test]
fn what_is_submitted_is_carried_out_without_a_turn() {
    use std::io::Read as _;
    on_each(|io| {
        if matches!(io.backend(), Backend::Threads { .. }) {
            return;
        }
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (port, socket) = (io.port(), io.register(ours));
        let mut message = Message::default();
        message.header(b"now");
        port.push(7, Job::Send { socket, message }).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let mut got = [0; 3];
        assert_eq!(theirs.read(&mut got).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        io.submit();
        theirs.set_nonblocking(false).unwrap();
        theirs.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"now");
        assert_eq!(backends::reap(io, &port, 1)[0].token, 7);
    });
}

/// A send that succeeds at once ends a turn but not a rest: the rest lasts until its time, and the
/// message was sent all the same.
#[test]
fn a_send_that_ends_at_once_does_not_disturb_a_rest() {
    use std::io::Read as _;
    on_each(|io| {
        if !matches!(io.backend(), Backend::Uring { task_work: uring::TaskWork::Deferred, .. }) {
            return;
        }
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (port, socket) = (io.port(), io.register(ours));
        let send = |text: &[u8]| {
            let mut message = Message::default();
            message.header(text);
            port.push(7, Job::Send { socket, message }).unwrap();
        };
        send(b"turn");
        io.turn(None);
        assert_eq!(backends::reap(io, &port, 1)[0].result, Ok(4));
        send(b"rest");
        let until = io.now() + Span::from_millis(3);
        assert!(io.rest(Some(until)) >= until, "it slept on");
        assert_eq!(backends::reap(io, &port, 1)[0].result, Ok(4));
        let mut got = [0; 8];
        theirs.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"turnrest");
    });
}

/// A rest ends when a send fails: the failure has to be reported.
#[test]
fn a_send_that_fails_ends_a_rest() {
    on_each(|io| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (port, socket) = (io.port(), io.register(ours));
        drop(theirs);
        let mut message = Message::default();
        message.header(b"nobody");
        port.push(7, Job::Send { socket, message }).unwrap();
        while !port.is_ready() {
            io.rest(None);
        }
        assert!(backends::reap(io, &port, 1)[0].result.is_err());
    });
}

/// While receives are held, data gathers in the socket, and one receive takes it all.
#[test]
fn what_comes_while_receives_are_held_is_received_together() {
    use std::io::Write as _;
    on_each(|io| {
        if !matches!(io.backend(), Backend::Uring { .. }) {
            return;
        }
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (port, socket) = (io.port(), io.register(ours));
        port.push(7, Job::Receive { socket, buf: io.take(64).unwrap() }).unwrap();
        theirs.write_all(b"one").unwrap();
        let until = io.now() + Span::from_millis(3);
        assert!(io.hold(until) >= until && !port.is_ready(), "it was received");
        theirs.write_all(b"two").unwrap();
        io.waker().wake();
        io.hold(io.now() + Span::from_secs(3600));
        assert!(!port.is_ready(), "it was received");
        let done = backends::reap(io, &port, 1).remove(0);
        assert_eq!(done.result, Ok(6));
        io.give(done.buf.unwrap());
    });
}

/// How much of what was sent over a Unix socket its peer has not read.
#[test]
fn a_unix_socket_says_what_its_peer_has_not_read() {
    use std::io::Read as _;
    on_each(|io| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (port, socket) = (io.port(), io.register(ours));
        assert_eq!(io.send_queue(socket), 0);
        let mut message = Message::default();
        message.header(&[1; 4096]);
        port.push(7, Job::Send { socket, message }).unwrap();
        backends::reap(io, &port, 1);
        assert!((4096..16_384).contains(&io.send_queue(socket)), "{}", io.send_queue(socket));
        theirs.read_exact(&mut [0; 4096]).unwrap();
        assert_eq!(io.send_queue(socket), 0);
    });
}

/// What was written before a wake-up is seen after the turn that it ended, and no wake-up is lost:
/// otherwise the counter would stop and the test would hang.
#[test]
fn no_wake_is_lost() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static SENT: AtomicU32 = AtomicU32::new(0);
    on_each(|io| {
        SENT.store(0, Ordering::Relaxed);
        let waker = io.waker();
        let sender = std::thread::spawn(move || {
            for _ in 0..2000 {
                SENT.fetch_add(1, Ordering::Relaxed);
                waker.wake();
            }
        });
        while SENT.load(Ordering::Relaxed) < 2000 {
            io.turn(None);
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_wake_before_the_turn_counts() {
    on_each(|io| {
        io.waker().wake();
        io.waker().wake();
        io.turn(None);
    });
}

/// A waker that outlives its worker does nothing.
#[test]
fn a_waker_may_outlive_its_worker() {
    let waker = Io::open(&settings()).unwrap().waker();
    waker.wake();
}

/// Dropping everything with requests of all kinds in flight: the memory is released only when the
/// kernel no longer uses it.
#[test]
fn dropping_with_requests_in_flight_ends_them() {
    for backend in [Choice::Auto, Choice::Threads] {
        for turned in [false, true] {
            let mut io = Io::open(&IoSettings { backend, ..settings() }).unwrap();
            let port = io.port();
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let socket = io.register(ours);
            let file = tempfile::tempfile().unwrap();
            file.set_len(1 << 20).unwrap();
            let file = io.register(file);
            for token in 0..10 {
                port.push(token, Job::Receive { socket, buf: io.take(4096).unwrap() }).unwrap();
                port.push(token, Job::Read { file, at: token * 4096, buf: io.take(4096).unwrap() }).unwrap();
                port.push(token, Job::PollIn { file: socket }).unwrap();
            }
            let mut message = Message::default();
            message.data(io.take(4 << 20).unwrap());
            port.push(99, Job::Send { socket, message }).unwrap();
            if turned {
                io.turn(Some(io.now()));
            }
            // The port holds the worker's I/O as well; dropping the last of the two ends it.
            drop(io);
            drop(port);
            // The socket was ours alone, so it is closed now: first the data that was sent, then
            // the end.
            std::io::copy(&mut theirs, &mut std::io::sink()).unwrap();
        }
    }
}

/// The worker sees a turn's completions in that turn, even if it only looks.
#[test]
fn looking_is_enough_for_what_is_done() {
    on_each(|io| {
        let port = io.port();
        let file = io.register(tempfile::tempfile().unwrap());
        assert!(run(io, &port, Job::Sync { file }).result.is_ok());
        port.push(1, Job::Sync { file }).unwrap();
        let mut done = Vec::new();
        while done.is_empty() {
            io.turn(Some(block::Time::ZERO));
            port.reap(&mut done);
        }
    });
}

/// Of many ports, the worker is told which are ready, each once.
#[test]
fn ready_ports_are_named_once() {
    on_each(|io| {
        let file = io.register(tempfile::tempfile().unwrap());
        let ports: Vec<_> = (0..10).map(|_| io.port()).collect();
        for number in [2, 5, 5, 7] {
            ports[number].push(0, Job::Sync { file }).unwrap();
        }
        let mut done = Vec::new();
        let mut names = Vec::new();
        while ports.iter().any(|port| port.in_flight() > 0) {
            // Not `None`: a turn never sleeps while there are unreaped completions, and there is no
            // need to sleep before.
            io.turn(Some(block::Time::ZERO));
        }
        ports.iter().for_each(|port| port.reap(&mut done));
        assert_eq!(done.len(), 4);
        io.ready_ports(&mut names);
        names.sort();
        assert_eq!(names, [ports[2].id(), ports[5].id(), ports[7].id()]);
        names.clear();
        io.ready_ports(&mut names);
        assert!(names.is_empty());
        // A dropped port is not reported.
        let gone = io.port();
        run(io, &gone, Job::Sync { file });
        drop(gone);
        io.ready_ports(&mut names);
        assert!(names.is_empty());
    });
}
