//! Ten thousand connections, most of them misbehaving: memory is bounded, and another client is
//! served.
//!
//! The clients are in a process of their own, because each end of a connection needs a descriptor;
//! the test runs itself again for them. If the system allows fewer descriptors, there are as many
//! connections as it allows, and the test says so.

use crate::support::by_hand::{FIXED_NO_ZEROES, OPT_GO, READ, go, request};
use crate::support::{LUN, Server, settings};
use block::{Bytes, Span};
use server::ServerLimits;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use uring::{Choice, IoSettings};

/// Set in the clients' process: where to connect, and how often.
const WHERE: &str = "SEAWALL_CROWD_SOCKET";
const COUNT: &str = "SEAWALL_CROWD_COUNT";

const CONNECTIONS: u32 = 10_000;
/// Descriptors that are not connections.
const OTHERS: u64 = 200;

/// Depends on the machine's speed, so nothing runs beside these tests: see CONTRIBUTING.md.
mod alone {
    use super::*;

    #[test]
    fn ten_thousand_connections_leave_room_for_one_more() {
        if let Ok(socket) = std::env::var(WHERE) {
            return be_the_crowd(Path::new(&socket), std::env::var(COUNT).unwrap().parse().unwrap());
        }
        uring::usage::raise_file_limit();
        let count = CONNECTIONS.min((descriptors() - OTHERS) as u32);
        if count < CONNECTIONS {
            println!("{count} connections in place of {CONNECTIONS}: the system allows {} descriptors", descriptors());
        }
        let limits = ServerLimits {
            connections: CONNECTIONS + 100,
            memory: Bytes::mib(256),
            receive: Bytes::kib(4),
            handshake_time: Span::from_secs(600),
            connection_in_flight: Bytes::mib(1),
            ..ServerLimits::default()
        };
        limits.check(false).unwrap();
        let ring = IoSettings { in_flight: limits.in_flight(), ..settings(Choice::Auto, &limits) };
        let server = Server::start_with(limits, ring);
        let before = resident();
        let mut crowd = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "crowd::alone::ten_thousand_connections_leave_room_for_one_more"])
            .env(WHERE, &server.socket)
            .env(COUNT, count.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Kept open to the end: the process prints more when it ends.
        let mut said = BufReader::new(crowd.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(said.any(|line| line.contains("here")), "the crowd came");
        let account = server.until("crowded", |account| account.connections == count);
        // A third of them have requested 64 reads of 4 KiB that they do not take. Each holds at
        // most what does not fit in the sockets, and all together at most the limit of memory.
        assert!(account.claimed <= limits.memory, "{account:?}");
        let mut witness = server.connect();
        for n in 0..100_u64 {
            assert_eq!(witness.write(n * 4096, &[n as u8; 4096]), Ok(()));
            assert_eq!(witness.read(n * 4096, 4096).unwrap(), [n as u8; 4096]);
        }
        let grown = resident().saturating_sub(before);
        // The slab is at most `memory`. A connection's own state is a few KiB; 16 KiB leaves room
        // for tables that double.
        let most = limits.memory.0 + u64::from(count) * (16 << 10);
        println!("{count} connections: {} MiB more memory, of which at most 256 are the slab", grown >> 20);
        assert!(grown <= most, "{grown} bytes for {count} connections");
        drop(witness);
        drop(crowd.stdin.take());
        assert!(crowd.wait().unwrap().success());
        server.until_empty();
    }
}

/// A third sends nothing, a third stops in the middle of its handshake, and a third requests a lot
/// and reads none of it.
fn be_the_crowd(socket: &Path, count: usize) {
    uring::usage::raise_file_limit();
    let connect = |n: usize| {
        let mut stream = UnixStream::connect(socket).unwrap();
        let hello = [&FIXED_NO_ZEROES[..], &go(OPT_GO, LUN)].concat();
        match n % 3 {
            0 => {}
            1 => stream.write_all(&hello[..20]).unwrap(),
            _ => {
                let read = |cookie| request(READ, cookie, 0, 4096, &[]);
                let reads: Vec<u8> = (0..64).flat_map(read).collect();
                stream.write_all(&[hello, reads].concat()).unwrap();
            }
        }
        stream
    };
    let streams: Vec<UnixStream> = (0..count).map(connect).collect();
    println!("here");
    std::io::stdout().flush().unwrap();
    // Until the other process has finished.
    let _ = std::io::stdin().read(&mut [0; 1]);
    drop(streams);
}

/// How many descriptors this process may have.
fn descriptors() -> u64 {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).and_then(|word| word.parse().ok()).unwrap_or(u64::MAX)
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok()).unwrap() * 4096
}
