//! Sockets on every backend.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use crate::backends::{on_each, reap, run};
use block::Driver;
use uring::{Failure, Io, Job, Message, Part};

/// Discarded bytes are removed from the stream and are nowhere else: what follows them is received.
#[test]
fn bytes_of_a_tcp_peer_are_discarded() {
    on_each(|io| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = io.register(listener.accept().unwrap().0);
        let port = io.port();
        let mut sent = vec![7; 100_000];
        sent.extend(b"behind");
        let sending = std::thread::spawn(move || sender.write_all(&sent).map(|()| sender));
        let mut left = 100_000;
        while left > 0 {
            let done = run(io, &port, Job::Discard { socket, len: left });
            let got = done.result.unwrap();
            assert!((1..=left).contains(&got) && done.buf.is_none());
            left -= got;
        }
        let sender = sending.join().unwrap().unwrap();
        let mut behind = Vec::new();
        while behind.len() < 6 {
            let done = run(io, &port, Job::Receive { socket, buf: io.take(64).unwrap() });
            let buf = done.buf.unwrap();
            io.with(&buf, |bytes| behind.extend_from_slice(&bytes[..done.result.unwrap() as usize]));
            io.give(buf);
        }
        assert_eq!(behind, b"behind");
        drop(sender);
        assert_eq!(run(io, &port, Job::Discard { socket, len: 9 }).result, Ok(0), "the end of the stream");
    });
}

/// Receives until the stream ends.
fn receive_all(io: &mut Io, port: &uring::Port, socket: uring::FileId) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let done = run(io, port, Job::Receive { socket, buf: io.take(64 << 10).unwrap() });
        let buf = done.buf.unwrap();
        let len = done.result.unwrap() as usize;
        io.with(&buf, |bytes| all.extend_from_slice(&bytes[..len]));
        io.give(buf);
        if len == 0 {
            return all;
        }
    }
}

/// A message of headers and data in turn, and its bytes. 1500 parts are more than one system call
/// takes (1024), and 3 MiB are more than a socket buffers. So it takes many rounds, which end in
/// the middle of parts.
fn long_message(io: &Io) -> (Message, Vec<u8>) {
    let mut message = Message::default();
    let mut bytes = Vec::new();
    for number in 0..750u32 {
        let header = number.to_be_bytes();
        message.header(&header);
        bytes.extend_from_slice(&header);
        let len = 1 + number * 37 % 8192;
        let mut buf = io.take(len).unwrap();
        io.with_mut(&mut buf, |data| data.iter_mut().enumerate().for_each(|(at, b)| *b = (at as u32 + number) as u8));
        io.with(&buf, |data| bytes.extend_from_slice(data));
        message.data(buf);
    }
    (message, bytes)
}

#[test]
fn a_long_message_in_many_parts_arrives_whole() {
    on_each(|io| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let port = io.port();
        let socket = io.register(ours);
        let (message, expected) = long_message(io);
        assert_eq!(message.parts.len(), 1500);
        let reader = std::thread::spawn(move || {
            let mut got = Vec::new();
            theirs.read_to_end(&mut got).unwrap();
            got
        });
        let done = run(io, &port, Job::Send { socket, message });
        assert_eq!(done.result, Ok(expected.len() as u32));
        let mut message = done.message.unwrap();
        assert_eq!(message.len(), expected.len() as u64, "it comes back whole");
        message.unload().for_each(|buf| io.give(buf));
        io.close(socket);
        assert!(reader.join().unwrap() == expected);
    });
}

/// Both ends on one worker: nothing progresses unless receives continue while a send is stuck.
#[test]
fn a_stuck_send_does_not_stop_receives() {
    on_each(|io| {
        let (a, b) = UnixStream::pair().unwrap();
        let (sender, receiver) = (io.port(), io.port());
        let (a, b) = (io.register(a), io.register(b));
        let mut buf = io.take(4 << 20).unwrap();
        io.with_mut(&mut buf, |bytes| bytes.fill(5));
        let mut message = Message::default();
        message.data(buf);
        sender.push(1, Job::Send { socket: a, message }).unwrap();
        let mut got = 0;
        while got < 4 << 20 {
            let done = run(io, &receiver, Job::Receive { socket: b, buf: io.take(100_000).unwrap() });
            let len = done.result.unwrap() as usize;
            let buf = done.buf.unwrap();
            io.with(&buf, |bytes| assert!(bytes[..len].iter().all(|&byte| byte == 5)));
            io.give(buf);
            assert!(len > 0);
            got += len;
        }
        let mut done = reap(io, &sender, 1);
        assert_eq!(done[0].result, Ok(4 << 20));
        done[0].message.as_mut().unwrap().unload().for_each(|buf| io.give(buf));
    });
}

#[test]
fn a_connection_is_accepted_and_talks() {
    on_each(|io| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let port = io.port();
        let listener = io.register(listener);
        port.push(1, Job::Accept { listener }).unwrap();
        let client = std::thread::spawn(move || {
            let mut stream = UnixStream::connect(path).unwrap();
            stream.write_all(b"hello").unwrap();
        });
        let accepted = reap(io, &port, 1).pop().unwrap().accepted.unwrap();
        let socket = io.register(accepted);
        assert_eq!(receive_all(io, &port, socket), b"hello");
        client.join().unwrap();
    });
}

#[test]
fn a_wait_for_a_peer_can_be_cancelled() {
    on_each(|io| {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let port = io.port();
        let socket = io.register(ours);
        port.push(1, Job::Receive { socket, buf: io.take(4096).unwrap() }).unwrap();
        port.push(2, Job::PollIn { file: socket }).unwrap();
        io.turn(Some(io.now()));
        assert_eq!(port.in_flight(), 2);
        port.cancel(1);
        let done = reap(io, &port, 1).pop().unwrap();
        assert_eq!((done.token, done.result), (1, Err(Failure::Canceled)));
        io.give(done.buf.unwrap());
        port.cancel(3);
        port.cancel(2);
        assert_eq!(reap(io, &port, 1)[0].result, Err(Failure::Canceled));
    });
}

/// Cancelled before any turn: it must not be missed and wait forever.
#[test]
fn a_request_can_be_cancelled_before_it_is_submitted() {
    on_each(|io| {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let port = io.port();
        let socket = io.register(ours);
        for token in 0..40 {
            port.push(token, Job::PollIn { file: socket }).unwrap();
        }
        (0..40).for_each(|token| port.cancel(token));
        assert!(reap(io, &port, 40).iter().all(|done| done.result == Err(Failure::Canceled)));
    });
}

#[test]
fn closing_ends_what_waits_and_the_peer_sees_the_end() {
    on_each(|io| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let port = io.port();
        let socket = io.register(ours);
        port.push(1, Job::Receive { socket, buf: io.take(4096).unwrap() }).unwrap();
        io.turn(Some(io.now()));
        io.close(socket);
        let done = reap(io, &port, 1).pop().unwrap();
        assert_eq!(done.result, Err(Failure::Canceled));
        io.give(done.buf.unwrap());
        assert_eq!(theirs.read(&mut [0; 1]).unwrap(), 0);
        let late = run(io, &port, Job::PollIn { file: socket });
        assert_eq!(late.result, Err(Failure::Closed));
    });
}

#[test]
fn a_dropped_port_leaves_nothing_behind() {
    on_each(|io| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (gone, stays) = (io.port(), io.port());
        let (socket, other) = (io.register(ours), io.register(theirs));
        gone.push(1, Job::Receive { socket, buf: io.take(4096).unwrap() }).unwrap();
        gone.push(2, Job::Receive { socket, buf: block::Buf::nothing(1) }).unwrap();
        io.turn(Some(io.now()));
        drop(gone);
        while io.outstanding() > 0 {
            io.turn(None);
        }
        // The socket still works: data that arrives now is not lost to the cancelled receive.
        let mut message = Message::default();
        message.header(b"x");
        assert_eq!(run(io, &stays, Job::Send { socket: other, message }).result, Ok(1));
        let done = run(io, &stays, Job::Receive { socket, buf: io.take(10).unwrap() });
        assert_eq!(done.result, Ok(1));
        io.give(done.buf.unwrap());
    });
}

#[test]
fn shutdown_and_poll() {
    on_each(|io| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let port = io.port();
        let socket = io.register(ours);
        theirs.write_all(b"x").unwrap();
        let mask = run(io, &port, Job::PollIn { file: socket }).result.unwrap();
        assert!(mask & libc::POLLIN as u32 != 0);
        assert_eq!(run(io, &port, Job::Shutdown { socket, side: std::net::Shutdown::Write }).result, Ok(0));
        assert_eq!(theirs.read(&mut [0; 1]).unwrap(), 0);
    });
}

#[test]
fn sending_to_a_peer_that_is_gone_is_an_error_and_no_signal() {
    on_each(|io| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let port = io.port();
        let socket = io.register(ours);
        let mut message = Message::default();
        message.header(b"x");
        let done = run(io, &port, Job::Send { socket, message });
        assert_eq!(done.result, Err(Failure::Os(uring::Errno(libc::EPIPE))));
    });
}

#[test]
fn a_message_whose_parts_are_outside_its_headers_is_refused() {
    on_each(|io| {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let port = io.port();
        let socket = io.register(ours);
        let message = Message { headers: vec![0; 4], parts: vec![Part::Header { start: 2, len: 3 }] };
        let done = run(io, &port, Job::Send { socket, message });
        assert_eq!(done.result, Err(Failure::Os(uring::Errno(libc::EFAULT))));
        let done = run(io, &port, Job::Send { socket, message: Message::default() });
        assert_eq!(done.result, Ok(0));
    });
}
