//! Our NBD client against servers of other projects.

use crate::support::{BACKENDS, Client, Peer, find};
use block::{Driver, Fault, Op};
use nbd::{Framing, Wishes};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

const SIZE: u64 = 8 << 20;

fn nbdkit(dir: &Path, program: &Path, plugin: &[&str]) -> Peer {
    Peer::nbdkit(program, &dir.join("s"), plugin)
}

fn qemu(dir: &Path, program: &Path, file: &Path) -> Peer {
    let socket = dir.join("s");
    let mut command = Command::new(program);
    command.args(["--persistent", "--shared=0", "--format=raw", "--discard=unmap", "--socket"]).arg(&socket).arg(file);
    Peer::start(command, &socket)
}

fn wishes(framing: Framing) -> Wishes {
    Wishes {
        structured: framing >= Framing::Structured,
        extended: framing == Framing::Extended,
        block_sizes: true,
        ..Wishes::plain("")
    }
}

/// Many requests at once, then what was written is read back; all compared with a plain array that
/// starts with the present contents.
fn exercise(peer: &Peer, mut model: Vec<u8>, framing: Framing) {
    for backend in BACKENDS {
        let mut client = Client::connect(backend, &peer.socket, wishes(framing), true);
        let mut count = 0;
        for n in 0..64u64 {
            let (at, len) = (n * 100_000 / 512 * 512, 512 + n * 512);
            let bytes = vec![n as u8 + 1; len as usize];
            client.write(at, &bytes);
            model[at as usize..(at + len) as usize].copy_from_slice(&bytes);
            count += 1;
        }
        assert!(client.all(count).values().all(Result::is_ok));
        client.submit(4096, 65_536, Op::Trim).unwrap();
        client.submit(1 << 20, 1 << 16, Op::Zero { no_hole: true, fast_only: false }).unwrap();
        client.submit(0, 0, Op::Flush).unwrap();
        assert!(client.all(3).values().all(Result::is_ok));
        model[1 << 20..(1 << 20) + (1 << 16)].fill(0);
        // A trim is only a hint: either result is right, so it is overwritten.
        client.write(4096, &vec![9; 65_536]);
        model[4096..4096 + 65_536].fill(9);
        assert!(client.all(1).values().all(Result::is_ok));
        let reads: Vec<(u64, u64)> = (0..8).map(|n| (n << 20, if n % 2 == 0 { 1 << 20 } else { 4096 })).collect();
        let tags: Vec<u64> = reads.iter().map(|&(at, len)| client.read(at, len)).collect();
        let ended = client.all(tags.len());
        for (tag, (at, len)) in tags.iter().zip(reads) {
            assert!(ended[tag].as_ref().unwrap() == &model[at as usize..(at + len) as usize], "{framing:?} at {at}");
        }
        client.close();
    }
}

#[test]
fn nbdkit_serves_us() {
    let Some(program) = find("nbdkit") else { return };
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let dir = tempfile::tempdir().unwrap();
        // Older ones do not support extended headers, so the client uses less.
        let peer = nbdkit(dir.path(), &program, &["memory", "8M"]);
        exercise(&peer, vec![0; SIZE as usize], framing);
    }
}

#[test]
fn qemu_nbd_serves_us_holes_included() {
    let Some(program) = find("qemu-nbd") else { return };
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let file = File::create(&path).unwrap();
        file.set_len(SIZE).unwrap();
        let mut model = vec![0; SIZE as usize];
        // Data around holes, so that one read covers both.
        for at in [0usize, 2 << 20, 5 << 20] {
            model[at..at + 70_000].fill(3);
            file.write_all_at(&model[at..at + 70_000], at as u64).unwrap();
        }
        let peer = qemu(dir.path(), &program, &path);
        let mut client = Client::connect(BACKENDS[0], &peer.socket, wishes(framing), true);
        let tag = client.read(0, SIZE);
        assert!(client.all(1)[&tag].as_ref().unwrap() == &model, "{framing:?}");
        client.close();
        exercise(&peer, model, framing);
    }
}

type Ended = Result<Vec<u8>, Fault>;

/// An nbdkit whose plugin is a script: `offers` are the lines that say whether it has flushes and
/// FUA. Returns the calls of a flush and of a write that must be durable, and how both ended.
fn durable_at(offers: &str) -> Option<(Vec<String>, Ended)> {
    let program = find("nbdkit")?;
    let dir = tempfile::tempdir().unwrap();
    let (script, log) = (dir.path().join("plugin.sh"), dir.path().join("log"));
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in\nget_size) echo 1M;;\ncan_write) exit 0;;\n{offers}\npwrite) echo \"write $5\" >> \
         {log}; cat > /dev/null;;\nflush) echo flush >> {log};;\n*) exit 2;;\nesac\n",
        log = log.display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    let peer = nbdkit(dir.path(), &program, &["sh", script.to_str().unwrap()]);
    let mut client = Client::connect(BACKENDS[0], &peer.socket, wishes(Framing::Structured), true);
    let flush = client.submit_durable(0, 0, Op::Flush);
    let flushed = client.all(1).remove(&flush).unwrap();
    let op = client.data(&[1; 4096]);
    let write = client.submit_durable(0, 4096, op);
    let written = client.all(1).remove(&write).unwrap();
    client.close();
    let calls = std::fs::read_to_string(&log).unwrap_or_default();
    assert_eq!(flushed, written);
    Some((calls.lines().map(|line| line.trim().to_owned()).collect(), written))
}

#[test]
fn writes_are_durable_with_fua_or_with_a_flush_or_are_refused() {
    let Some(with_fua) = durable_at("can_flush) exit 0;;\ncan_fua) echo native;;") else { return };
    assert_eq!(with_fua, (vec!["flush".into(), "write fua".into()], Ok(Vec::new())));
    let without = durable_at("can_flush) exit 0;;\ncan_fua) echo none;;").unwrap();
    assert_eq!(without, (vec!["flush".into(), "write".into(), "flush".into()], Ok(Vec::new())));
    let with_neither = durable_at("can_flush) exit 3;;\ncan_fua) echo none;;").unwrap();
    assert_eq!(with_neither, (vec![], Err(Fault::Unsupported)));
}

#[test]
fn errors_of_a_server_are_told_as_what_they_are() {
    let Some(program) = find("nbdkit") else { return };
    let dir = tempfile::tempdir().unwrap();
    let trigger = dir.path().join("fail");
    let filter = format!("error-file={}", trigger.display());
    let options = ["--filter=error", "memory", "8M", "error-rate=1", "error-pread=EIO", "error-pwrite=ENOSPC", &filter];
    let peer = nbdkit(dir.path(), &program, &options);
    let mut client = Client::connect(BACKENDS[0], &peer.socket, wishes(Framing::Structured), true);
    let (read, write) = (client.read(0, 4096), client.write(0, &[1; 4096]));
    let ended = client.all(2);
    assert!(ended[&read].is_ok() && ended[&write].is_ok());
    File::create(&trigger).unwrap().write_all(b"now").unwrap();
    let (read, write) = (client.read(0, 4096), client.write(0, &[1; 4096]));
    let ended = client.all(2);
    assert_eq!((&ended[&read], &ended[&write]), (&Err(Fault::Io), &Err(Fault::NoSpace)));
    client.close();
    drop(peer);
}

#[test]
fn a_server_that_is_killed_ends_all_that_is_under_way_once() {
    let Some(program) = find("nbdkit") else { return };
    for backend in BACKENDS {
        // Answers take far longer than the test: all requests are in flight when the server dies.
        let options = ["--filter=delay", "memory", "8M", "rdelay=600", "wdelay=600"];
        let dir = tempfile::tempdir().unwrap();
        let mut peer = nbdkit(dir.path(), &program, &options);
        let mut client = Client::connect(backend, &peer.socket, wishes(Framing::Simple), true);
        for n in 0..100 {
            client.read(n * 4096, 4096);
            client.write(n * 4096, &[1; 4096]);
        }
        assert!(client.poll().is_empty());
        // Send them; not all, since that server accepts only so many at a time.
        client.io.turn(Some(block::Time::ZERO));
        peer.child.kill().unwrap();
        let ended = client.all(200);
        assert!(ended.values().all(|result| *result == Err(Fault::Gone)));
        assert!(client.poll().is_empty());
        client.close();
    }
}
