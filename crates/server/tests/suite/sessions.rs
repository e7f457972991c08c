//! Requests are executed and answered with every framing, at any alignment, in any order.

use crate::support::{BACKENDS, Client, LUN, LUN_BYTES, Server, is_closed, limits};
use nbd::{Command, CommandFlags, Framing, NbdErrno, NbdRequest, Wishes};
use server::ServerLimits;
use std::collections::HashMap;
use std::io::Write;

fn wishes(framing: Framing) -> Wishes {
    Wishes { structured: framing >= Framing::Structured, extended: framing == Framing::Extended, ..Wishes::plain(LUN) }
}

#[test]
fn what_is_written_is_read_back_under_every_framing() {
    for backend in BACKENDS {
        let server = Server::start(backend, limits());
        for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
            let mut client = Client::connect(&server.socket, wishes(framing));
            assert_eq!(client.rules.framing, framing);
            // From far smaller to far larger than the receive buffer, and at odd positions.
            for (at, len) in [(0u64, 1u64), (511, 3), (4096, 4096), (70_001, 65_537), (1 << 20, 2 << 20)] {
                let bytes: Vec<u8> = (0..len).map(|n| (n * 7 + at) as u8).collect();
                assert_eq!(client.write(at, &bytes), Ok(()));
                assert!(client.read(at, len).unwrap() == bytes, "{framing:?} {at} {len}");
            }
            for command in [Command::Flush, Command::Trim, Command::WriteZeroes, Command::Cache] {
                let len = if command == Command::Flush { 0 } else { 4096 };
                assert_eq!(client.call(NbdRequest::new(3, command, 0, len), &[]), Ok(Vec::new()), "{command:?}");
            }
            let durable = NbdRequest::write(4, 0, 4).with(CommandFlags::FUA);
            assert_eq!(client.call(durable, b"safe"), Ok(Vec::new()));
            // Refused, and the stream stays intact although a payload follows.
            assert_eq!(client.write(LUN_BYTES - 1, &[1, 2]), Err(NbdErrno::NoSpace));
            assert_eq!(client.read(LUN_BYTES, 1), Err(NbdErrno::Invalid));
            assert_eq!(client.write(0, &vec![1; 3 << 20]), Err(NbdErrno::Invalid), "longer than the maximum");
            assert_eq!(client.call(NbdRequest::new(5, Command::Other(99), 0, 1), &[]), Err(NbdErrno::Invalid));
            assert_eq!(client.read(0, 4).unwrap(), b"safe");
            client.ask(NbdRequest::new(6, Command::Disconnect, 0, 0), &[]);
            assert!(is_closed(&mut client.stream));
        }
        server.until_empty();
    }
}

/// Unwritten ranges are reported as holes to clients that support it: at the ends of a read, unless
/// the client wants one piece (DF), and unless the hole is too small.
#[test]
fn what_was_never_written_is_read_as_a_hole() {
    let server = Server::start(BACKENDS[0], limits());
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let mut client = Client::connect(&server.socket, wishes(framing));
        let data = vec![7; 8192];
        client.write(1 << 20, &data).unwrap();
        // Start, length, and how many bytes of it are reported as a hole: before the data, after
        // it, both, all, none.
        for (from, len, told) in [
            ((1 << 20) - 65_536, 65_536 + 4096, 65_536),
            ((1 << 20) + 4096, 4096 + 65_536, 65_536),
            ((1 << 20) - 65_536, 65_536 + 8192 + 65_536, 131_072),
            (4 << 20, 1 << 20, 1 << 20),
            (1 << 20, 8192, 0),
            ((1 << 20) - 511, 1000, 0),
            ((1 << 20) - 512, 1000, 512),
        ] {
            let mut expected = vec![0; len as usize];
            (0..len)
                .filter(|at| (1 << 20..(1 << 20) + 8192).contains(&(from + at)))
                .for_each(|at| expected[at as usize] = 7);
            for (flags, told) in [(CommandFlags::NONE, told), (CommandFlags::DF, 0)] {
                if framing == Framing::Simple && flags == CommandFlags::DF {
                    continue;
                }
                client.holes = 0;
                let request = NbdRequest { flags, ..NbdRequest::new(1, Command::Read, from, len) };
                assert!(client.call(request, &[]) == Ok(expected.clone()), "{framing:?} {from} {len}");
                let told = if framing == Framing::Simple { 0 } else { told };
                assert_eq!(client.holes, told, "{framing:?} {from} {len} {flags:?}");
            }
        }
        client.call(NbdRequest::new(1, Command::Trim, 1 << 20, 1 << 20), &[]).unwrap();
    }
    server.until_empty();
}

#[test]
fn many_requests_at_once_are_answered_once_each_before_the_goodbye() {
    for backend in BACKENDS {
        let server = Server::start(backend, limits());
        let mut client = server.connect();
        let mut asked: HashMap<u64, (u64, u32)> = HashMap::new();
        let mut bytes = Vec::new();
        for cookie in 0..500u64 {
            let at = cookie * 8192;
            if cookie % 2 == 0 {
                bytes.extend(client.bytes(&NbdRequest::write(cookie, at, 4096), &[cookie as u8; 4096]));
                asked.insert(cookie, (at, 0));
            } else {
                bytes.extend(client.bytes(&NbdRequest::new(cookie, Command::Read, at, 4096), &[]));
                asked.insert(cookie, (at, 4096));
            }
        }
        bytes.extend(client.bytes(&NbdRequest::new(0, Command::Disconnect, 0, 0), &[]));
        // Reads and writes concurrently, otherwise both ends would wait for each other.
        let mut to = client.stream.try_clone().unwrap();
        let writer = std::thread::spawn(move || to.write_all(&bytes).unwrap());
        let all = asked.clone();
        while let Some((cookie, result)) = client.answer(|cookie| all[&cookie]) {
            let (_, len) = asked.remove(&cookie).expect("asked, and not answered before");
            assert_eq!(result, Ok(vec![0; len as usize]));
        }
        writer.join().unwrap();
        assert!(asked.is_empty(), "{} were never answered", asked.len());
        server.until_empty();
    }
}

#[test]
fn a_request_in_the_smallest_pieces_is_the_same_request() {
    let server = Server::start(BACKENDS[0], limits());
    let mut client = server.connect();
    let bytes = client.bytes(&NbdRequest::write(9, 5, 20), &[3; 20]);
    for byte in bytes {
        client.stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(client.answer(|_| (0, 0)), Some((9, Ok(Vec::new()))));
    assert_eq!(client.read(4, 22).unwrap()[1..21], [3; 20]);
}

#[test]
fn the_connections_of_a_deleted_lun_end_and_others_do_not() {
    let mut server = Server::start(BACKENDS[0], limits());
    server.control.execute("lun create -path /vol/vol1/other -size 1MB").unwrap();
    let mut gone = server.connect();
    let mut other = Client::connect(&server.socket, Wishes::plain("/vol/vol1/other"));
    assert_eq!(gone.write(0, &[1; 4096]), Ok(()));
    let refused = server.control.execute(&format!("lun delete -path {LUN}")).unwrap_err().to_string();
    assert!(refused.starts_with("svm01:/vol/vol1/lun1: is mapped (1 connection); "), "{refused}");
    assert_eq!(gone.read(0, 4096), Ok(vec![1; 4096]));
    server.control.execute(&format!("lun delete -path {LUN} -force")).unwrap();
    assert!(is_closed(&mut gone.stream));
    assert_eq!(other.write(0, &[2; 4096]), Ok(()));
    // A LUN of the same name is a new one.
    server.control.execute(&format!("lun create -path {LUN} -size {LUN_BYTES}")).unwrap();
    assert_eq!(server.connect().read(0, 4096).unwrap(), [0; 4096]);
}

#[test]
fn a_stop_answers_what_was_asked() {
    for backend in BACKENDS {
        let mut server = Server::start(backend, limits());
        // 100 a second: most of the 32 writes wait in the gate when the stop comes.
        for line in [
            "qos policy-group create slow -vserver svm01 -max-throughput 100IOPS",
            "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
        ] {
            server.control.execute(line).unwrap();
        }
        let mut client = server.connect();
        for cookie in 0..32 {
            client.ask(NbdRequest::write(cookie, cookie * 4096, 4096), &[9; 4096]);
        }
        server.until("queued", |account| account.gate.queued >= 20);
        // It follows them, so when it has been admitted, so have they.
        client.ask(NbdRequest::new(99, Command::Flush, 1, 1), &[]);
        assert_eq!(client.answer_of(99), Err(NbdErrno::Invalid));
        let before = client.other_answers;
        let Server { control, socket, dir } = server;
        drop(control);
        let mut answered = before;
        while let Some((_, result)) = client.answer(|_| (0, 0)) {
            assert_eq!(result, Ok(Vec::new()));
            answered += 1;
        }
        assert_eq!(answered, 32);
        assert!(!socket.exists(), "the socket goes with its server");
        drop(dir);
    }
}

/// Of 32 writes that have all arrived when the server stops, the eight that a limit admitted are
/// executed, and the others are refused with ESHUTDOWN.
#[test]
fn what_a_limit_held_back_is_told_that_the_server_stops() {
    for backend in BACKENDS {
        let limits = ServerLimits { connection_requests: 8, ..limits() };
        let mut server = Server::start(backend, limits);
        for line in [
            "qos policy-group create slow -vserver svm01 -max-throughput 5IOPS",
            "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
        ] {
            server.control.execute(line).unwrap();
        }
        let mut client = server.connect();
        // All of it in one piece, and less than one receive.
        let all: Vec<u8> = (0..32).flat_map(|n| client.bytes(&NbdRequest::write(n, n * 512, 512), &[9; 512])).collect();
        client.stream.write_all(&all).unwrap();
        server.until("held back", |account| account.gate.queued >= 6);
        let Server { control, socket: _socket, dir } = server;
        drop(control);
        let mut told: HashMap<Result<Vec<u8>, NbdErrno>, u32> = HashMap::new();
        while let Some((_, result)) = client.answer(|_| (0, 0)) {
            *told.entry(result).or_default() += 1;
        }
        let (done, dismissed) = (told.remove(&Ok(Vec::new())).unwrap_or(0), told.remove(&Err(NbdErrno::Shutdown)));
        assert!(told.is_empty(), "{told:?}");
        // At least eight are admitted. At five a second it takes more than four seconds until none
        // is left to be refused.
        assert!(done + dismissed.unwrap_or(0) == 32 && done >= 8 && dismissed >= Some(1), "{done} {dismissed:?}");
        drop(dir);
    }
}
