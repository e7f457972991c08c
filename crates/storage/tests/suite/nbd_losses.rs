//! Our NBD client when its server is lost. Requests in flight are counted by kind, reads are sent
//! again, writes only if that was asked for, flushes never. The server is nbdkit, which is killed
//! and restarted.

use crate::support::{BACKENDS, Client, Peer, find};
use block::{Fault, Op, OpKind};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SIZE: usize = 8 << 20;

/// A file that nbdkit serves, and its address.
struct Disk {
    program: PathBuf,
    folder: TempDir,
}

impl Disk {
    fn new(program: PathBuf) -> Disk {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..SIZE).map(|at| (at / 4096 % 251) as u8 | 1).collect();
        std::fs::write(folder.path().join("disk"), bytes).unwrap();
        Disk { program, folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    fn uri(&self, parameters: &str) -> String {
        format!("nbd+unix:///?socket={}{parameters}", self.socket().display())
    }

    /// A server that answers at once.
    fn prompt(&self) -> Peer {
        Peer::nbdkit(&self.program, &self.socket(), &["file", text(&self.file())])
    }

    /// A server that takes far longer for each request than any test.
    fn slow(&self) -> Peer {
        let delays = ["delay-read=600", "delay-write=600", "delay-trim=600", "delay-zero=600"];
        let file = self.file();
        let arguments = [&["--filter=delay", "file", text(&file)][..], &delays].concat();
        Peer::nbdkit(&self.program, &self.socket(), &arguments)
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn block(at: u64) -> Vec<u8> {
    vec![(at / 4096 % 251) as u8 | 1; 4096]
}

/// Twenty reads, ten writes, a trim, zeroes and a flush are in flight when the server dies. When it
/// was restarted, it is found and the reads are answered with its data. What changes data failed,
/// is counted by kind, and was not done a second time.
#[test]
fn reads_are_repeated_and_writes_of_unknown_outcome_are_not() {
    let Some(program) = find("nbdkit") else { return };
    for backend in BACKENDS {
        let disk = Disk::new(program.clone());
        let peer = disk.slow();
        let mut client = Client::open(backend, &disk.uri("&reconnect=600"));
        let reads: Vec<u64> = (0..20).map(|n| client.read(n * 4096, 4096)).collect();
        let mut changes: Vec<u64> = (100..110).map(|n| client.write(n * 4096, &[0; 4096])).collect();
        changes.push(client.submit(1 << 20, 4096, Op::Trim).unwrap());
        changes.push(client.submit(2 << 20, 4096, Op::Zero { no_hole: true, fast_only: false }).unwrap());
        changes.push(client.submit(0, 0, Op::Flush).unwrap());
        client.hand_over();
        peer.kill();
        let peer = disk.prompt();
        let ended = client.all(33);
        for (n, tag) in reads.iter().enumerate() {
            assert!(ended[tag] == Ok(block(n as u64 * 4096)), "read {n}");
        }
        // The flush may have been answered: that server does not delay it.
        for tag in &changes[..12] {
            assert_eq!(ended[tag], Err(Fault::Gone));
        }
        let losses = client.target.losses();
        let told = losses.borrow().clone();
        assert_eq!((told.lost, told.regained, told.unsent, told.not_flushed), (1, 1, 0, 0), "{told:?}");
        for (kind, count) in [(OpKind::Read, 20), (OpKind::Write, 10), (OpKind::Trim, 1), (OpKind::Zero, 1)] {
            assert_eq!(told.under_way.of(kind), count, "{told:?}");
            let (again, failed) = if kind == OpKind::Read { (count, 0) } else { (0, count) };
            assert_eq!((told.repeated.of(kind), told.unknown.of(kind)), (again, failed), "{told:?}");
        }
        assert_eq!(told.repeated.of(OpKind::Flush), 0);
        assert_eq!(told.under_way.total(), told.unsent + told.repeated.total() + told.unknown.total());
        // And requests work again.
        let (write, read) = (client.write(0, &[9; 4096]), client.read(4096, 4096));
        let ended = client.all(2);
        assert!(ended[&write].is_ok() && ended[&read] == Ok(block(4096)));
        client.close();
        drop(peer);
        // Nobody wrote a second time what the first server was asked to write.
        let bytes = std::fs::read(disk.file()).unwrap();
        for n in 100..110usize {
            assert!(bytes[n * 4096..][..4096] == block(n as u64 * 4096), "block {n}");
        }
    }
}

/// With `repeat-writes=true`, the next server gets the same writes with their data; a flush still
/// fails.
#[test]
fn writes_are_repeated_where_that_is_asked() {
    let Some(program) = find("nbdkit") else { return };
    for backend in BACKENDS {
        let disk = Disk::new(program.clone());
        let peer = disk.slow();
        let mut client = Client::open(backend, &disk.uri("&reconnect=600&repeat-writes=true"));
        let writes: Vec<u64> = (100..140).map(|n| client.write(n * 4096, &[n as u8; 4096])).collect();
        let zero = client.submit(2 << 20, 4096, Op::Zero { no_hole: true, fast_only: false }).unwrap();
        client.hand_over();
        // Not handed to the kernel yet: these were never sent, so they are not repeated.
        let late: Vec<u64> = (140..150).map(|n| client.write(n * 4096, &[n as u8; 4096])).collect();
        peer.kill();
        let peer = disk.prompt();
        let ended = client.all(51);
        for tag in writes.iter().chain(&late).chain([&zero]) {
            assert_eq!(ended[tag], Ok(Vec::new()));
        }
        let told = client.target.losses().borrow().clone();
        assert_eq!(told.unknown.total(), 0, "{told:?}");
        assert_eq!(told.repeated.of(OpKind::Write) + told.unsent, 50 + u64::from(told.repeated.of(OpKind::Zero) == 0));
        assert!(told.repeated.of(OpKind::Write) >= 1, "{told:?}");
        // 41 writes and zeroes were answered, none was flushed; this flush covers them.
        let flush = client.submit(0, 0, Op::Flush).unwrap();
        assert!(client.all(1)[&flush].is_ok());
        client.close();
        drop(peer);
        let bytes = std::fs::read(disk.file()).unwrap();
        for n in 100..150usize {
            assert!(bytes[n * 4096..][..4096] == [n as u8; 4096], "block {n}");
        }
        assert!(bytes[2 << 20..][..4096] == [0; 4096]);
    }
}

/// Three writes are answered, one of them with FUA, and then a flush; two more are answered. The
/// server dies: it may have lost these two, which the client reports.
#[test]
fn what_no_flush_covered_is_told() {
    let Some(program) = find("nbdkit") else { return };
    let disk = Disk::new(program);
    let peer = disk.prompt();
    let mut client = Client::open(BACKENDS[0], &disk.uri("&reconnect=600"));
    for n in 0..3 {
        client.write(n * 4096, &[1; 4096]);
    }
    client.all(3);
    client.submit(0, 0, Op::Flush).unwrap();
    client.all(1);
    for n in 0..2 {
        client.write(n * 4096, &[2; 4096]);
    }
    client.all(2);
    peer.kill();
    let peer = disk.prompt();
    let read = client.read(0, 4096);
    assert!(client.all(1)[&read].is_ok());
    let told = client.target.losses().borrow().clone();
    assert_eq!((told.lost, told.regained, told.not_flushed), (1, 1, 2), "{told:?}");
    assert!(
        told.lines().iter().any(|line| line.contains("not flushed") && line.ends_with(": 2")),
        "{:?}",
        told.lines()
    );
    client.close();
    drop(peer);
}

/// A server that stays away is given up after the time that was set; what waited fails with the
/// reason.
#[test]
fn patience_ends() {
    let Some(program) = find("nbdkit") else { return };
    for backend in BACKENDS {
        let disk = Disk::new(program.clone());
        let peer = disk.slow();
        let mut client = Client::open(backend, &disk.uri("&reconnect=1"));
        let read = client.read(0, 4096);
        client.hand_over();
        peer.kill();
        // Accepted while there is no server.
        let ended = client.all(1);
        assert_eq!(ended[&read], Err(Fault::Gone));
        let late = client.read(0, 4096);
        assert_eq!(client.all(1)[&late], Err(Fault::Gone));
        let told = client.target.losses().borrow().clone();
        assert_eq!((told.lost, told.regained), (1, 0), "{told:?}");
        assert!(told.away >= block::Span::SECOND, "{told:?}");
        assert!(told.given_up.as_ref().is_some_and(|why| why.contains("No such file")), "{told:?}");
        client.close();
    }
}

/// Another disk at the same address is not the one that was lost: it is not written to.
#[test]
fn another_export_is_not_mistaken_for_the_lost_one() {
    let Some(program) = find("nbdkit") else { return };
    let disk = Disk::new(program.clone());
    let peer = disk.slow();
    let mut client = Client::open(BACKENDS[0], &disk.uri("&reconnect=600&repeat-writes=true"));
    let write = client.write(0, &[9; 4096]);
    client.hand_over();
    peer.kill();
    let peer = Peer::nbdkit(&program, &disk.socket(), &["memory", "16M"]);
    assert_eq!(client.all(1)[&write], Err(Fault::Gone));
    let told = client.target.losses().borrow().clone();
    assert!(told.given_up.as_ref().is_some_and(|why| why.contains("16 MiB instead of 8 MiB")), "{told:?}");
    client.close();
    drop(peer);
}

/// Four connections to one export: all carry requests, a flush covers them, and losing the server
/// loses four. If a server does not allow several connections, they are refused with advice.
#[test]
fn several_connections_share_the_work() {
    let Some(program) = find("nbdkit") else { return };
    for backend in BACKENDS {
        let disk = Disk::new(program.clone());
        let peer = disk.prompt();
        let mut client = Client::open(backend, &disk.uri("&connections=4&reconnect=600"));
        for n in 0..200 {
            client.write(n * 4096, &[n as u8; 4096]);
        }
        assert!(client.all(200).values().all(Result::is_ok));
        let flush = client.submit(0, 0, Op::Flush).unwrap();
        assert!(client.all(1)[&flush].is_ok());
        let reads: Vec<u64> = (0..200).map(|n| client.read(n * 4096, 4096)).collect();
        let ended = client.all(200);
        assert!(reads.iter().enumerate().all(|(n, tag)| ended[tag] == Ok(vec![n as u8; 4096])));
        peer.kill();
        let peer = disk.prompt();
        // Each connection notices it when it is used.
        for _ in 0..2 {
            let reads: Vec<u64> = (0..200).map(|n| client.read(n * 4096, 4096)).collect();
            let ended = client.all(200);
            assert!(reads.iter().all(|tag| ended[tag].is_ok()));
        }
        let told = client.target.losses().borrow().clone();
        assert_eq!((told.lost, told.unknown.total(), told.not_flushed), (4, 0, 0), "{told:?}");
        client.close();
        drop(peer);
    }
    let disk = Disk::new(program.clone());
    let file = disk.file();
    let arguments = ["--filter=multi-conn", "file", text(&file), "multi-conn-mode=disable"];
    let peer = Peer::nbdkit(&program, &disk.socket(), &arguments);
    let refused = Client::try_open(BACKENDS[0], &disk.uri("&connections=2")).err().unwrap();
    assert!(refused.contains("CAN_MULTI_CONN") && refused.ends_with("leave connections= out"), "{refused}");
    Client::open(BACKENDS[0], &disk.uri("")).close();
    drop(peer);
}

/// nbdkit's exitlast filter ends the server with its last client: closing the target closes every
/// connection.
#[test]
fn the_last_connection_that_closes_ends_the_server() {
    let Some(program) = find("nbdkit") else { return };
    let disk = Disk::new(program.clone());
    let socket = disk.socket();
    // A test whether it listens would be its first client and its last.
    let mut command = std::process::Command::new(&program);
    command.args(["--foreground", "--exit-with-parent", "--filter=exitlast", "--unix"]).arg(&socket);
    let mut child = command.arg("file").arg(disk.file()).spawn().unwrap();
    while !socket.exists() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    // The socket's file exists a moment before it accepts connections.
    let mut client = loop {
        match Client::try_open(BACKENDS[0], &disk.uri("&connections=3")) {
            Ok(client) => break client,
            Err(error) => assert!(error.contains("refused"), "{error}"),
        }
    };
    let read = client.read(0, 4096);
    assert!(client.all(1)[&read] == Ok(block(0)));
    assert!(child.try_wait().unwrap().is_none());
    client.close();
    assert!(child.wait().unwrap().success());
}
