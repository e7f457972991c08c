//! The control socket and the commands behind it: no input there disturbs the data path, answered
//! changes survive a restart, and refused ones have no effect.

use crate::support;
use crate::support::{BACKENDS, Client, LUN, Server, is_closed, limits, open, settings, stream};
use server::{ControlClient, ControlSocket};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use store::Pool;
use tempfile::TempDir;

struct Served {
    control: Arc<Mutex<server::Control>>,
    commands: Option<ControlSocket>,
    path: PathBuf,
    data: PathBuf,
    _dir: TempDir,
}

fn served() -> Served {
    let Server { control, socket, dir } = Server::start(BACKENDS[0], limits());
    let control = Arc::new(Mutex::new(control));
    let path = dir.path().join("control");
    let commands = ControlSocket::open(&path, Arc::clone(&control)).unwrap();
    Served { control, commands: Some(commands), path, data: socket, _dir: dir }
}

#[test]
fn lines_are_answered_whatever_others_say_meanwhile() {
    let served = served();
    assert_eq!(std::fs::metadata(&served.path).unwrap().permissions().mode() & 0o777, 0o600);
    // Binary data, endless data, half a line, silence, and an answer that nobody reads.
    let mut garbage = stream(&served.path);
    garbage.write_all(&[0xff, 0, 0x80, b'\n', b'\n', 0, b'\n']).unwrap();
    let mut endless = stream(&served.path);
    let flood = std::thread::spawn(move || {
        let _ = endless.write_all(&vec![b'x'; 1 << 20]);
        let mut said = Vec::new();
        let _ = endless.read_to_end(&mut said);
        String::from_utf8(said).unwrap()
    });
    let mut half = stream(&served.path);
    half.write_all(b"vserver sho").unwrap();
    let _silent = stream(&served.path);
    let mut client = ControlClient::connect(&served.path).unwrap();
    let shown = client.run("volume show").unwrap().unwrap();
    assert!(shown.contains("vol1"), "{shown}");
    assert!(client.run("volume shew").unwrap().is_err());
    assert!(client.run("two\nlines").unwrap().is_err(), "one line, one answer");
    assert_eq!(client.run("volume show").unwrap().unwrap(), shown);
    assert!(flood.join().unwrap().contains("a line has at most 65536 bytes"));
    half.write_all(b"w\n").unwrap();
    let mut word = [0; 3];
    half.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"ok ");
    for _ in 0..3 {
        let mut no = [0; 3];
        garbage.read_exact(&mut no).unwrap();
        assert_eq!(&no, b"no ");
        let mut rest = Vec::new();
        while rest.last() != Some(&b'\n') {
            rest.push(0);
            garbage.read_exact(rest.last_mut().map(std::slice::from_mut).unwrap()).unwrap();
        }
        let len: usize = String::from_utf8(rest).unwrap().trim().parse().unwrap();
        garbage.read_exact(&mut vec![0; len]).unwrap();
    }
}

/// Answers and refusals are JSON for a line that asks for JSON, and text for others.
#[test]
fn a_line_is_answered_as_json_where_it_asks_for_that() {
    let served = served();
    let mut client = ControlClient::connect(&served.path).unwrap();
    let shown = client.run("volume show -fields size -output json").unwrap().unwrap();
    assert!(shown.starts_with("{\"num_records\":1,\"records\":[{\"size\":"), "{shown}");
    // ONTAP's 4 for a missing node, and 262179 for an unknown parameter.
    let refusals = [
        ("qos statistics performance show -node n9 -iterations 1 -output json", "\"code\":\"4\""),
        ("volume show -nonsense 1 -output json", "\"code\":\"262179\""),
    ];
    for (line, code) in refusals {
        let refused = client.run(line).unwrap().unwrap_err();
        assert!(refused.starts_with("{\"error\":{") && refused.contains(code), "{line}: {refused}");
    }
    assert!(!client.run("volume show -nonsense 1").unwrap().unwrap_err().contains('{'));
}

#[test]
fn a_command_that_takes_its_time_holds_no_data_back() {
    let served = served();
    let mut client = Client::connect(&served.data, nbd::Wishes::plain(LUN));
    // A command holds this lock while it works.
    let busy = served.control.lock().unwrap();
    for n in 0..50u64 {
        assert_eq!(client.write(n * 4096, &[1; 4096]), Ok(()));
    }
    drop(busy);
}

/// Of 64 idle connections the first gives way to one more, and is told why; after it has been used,
/// the second is the one that has been idle longest.
#[test]
fn the_connection_that_was_idle_longest_gives_way() {
    let served = served();
    let mut idle: Vec<ControlClient> = (0..64).map(|_| ControlClient::connect(&served.path).unwrap()).collect();
    idle[0].run("vserver show").unwrap().unwrap();
    let mut one_more = ControlClient::connect(&served.path).unwrap();
    one_more.run("vserver show").unwrap().unwrap();
    let error = idle[1].run("vserver show").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionAborted);
    let told = "the server has at most 64 control connections, and this one was idle longest";
    assert_eq!(error.to_string(), told);
    for (number, client) in idle.iter_mut().enumerate().filter(|&(number, _)| number != 1) {
        client.run("vserver show").unwrap_or_else(|error| panic!("{number}: {error}")).unwrap();
    }
}

/// A line that runs is not cut off for another connection, which is told so.
#[test]
fn one_connection_too_many_is_refused_while_all_are_busy() {
    let served = served();
    let mut busy: Vec<UnixStream> = (0..64).map(|_| stream(&served.path)).collect();
    for stream in &mut busy {
        stream.write_all(b"qos statistics performance show\n").unwrap();
    }
    for stream in &mut busy {
        stream.read_exact(&mut [0; 5]).unwrap();
    }
    let error = ControlClient::connect(&served.path).unwrap().run("vserver show").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionAborted);
    assert!(error.to_string().starts_with("all 64 control connections of the server are busy; "), "{error}");
}

#[test]
fn a_stop_ends_open_connections_and_lets_go_of_the_control() {
    for gone in [false, true] {
        let mut served = served();
        let mut idle = stream(&served.path);
        let mut client = ControlClient::connect(&served.path).unwrap();
        client.run("volume show").unwrap().unwrap();
        if gone {
            std::fs::remove_file(&served.path).unwrap();
        }
        drop(served.commands.take());
        assert!(is_closed(&mut idle));
        assert!(client.run("volume show").is_err());
        assert!(!served.path.exists());
        assert_eq!(Arc::strong_count(&served.control), 1, "whoever has it now can stop the server");
    }
}

#[test]
fn what_was_answered_is_there_after_a_restart() {
    let Server { mut control, socket, dir } = Server::start(BACKENDS[0], limits());
    for line in [
        "qos policy-group create gold -vserver svm01 -max-throughput 900IOPS -is-shared false",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group gold",
        "lun create -path /vol/vol1/second -size 1MB",
        "lun modify -path /vol/vol1/second -size 2MB",
    ] {
        control.execute(line).unwrap();
    }
    let mut client = Client::connect(&socket, nbd::Wishes::plain(LUN));
    client.write(4096, b"kept").unwrap();
    drop(client);
    // Otherwise the LUN is mapped before the restart, but not after it.
    support::wait("gone", || control.account().unwrap().connections == 0);
    let show = ["volume show", "lun show", "qos policy-group show"];
    let before: Vec<String> = show.iter().map(|line| control.execute(line).unwrap()).collect();
    let in_force = control.limits();
    assert!(in_force.iter().any(|(_, limits)| limits.ceiling_iops == Some(900)), "{in_force:?}");
    drop(control);
    let pool = Pool::open(&dir.path().join("pool")).unwrap();
    let mut control = open(pool, &socket, limits(), settings(BACKENDS[0], &limits()));
    let after: Vec<String> = show.iter().map(|line| control.execute(line).unwrap()).collect();
    assert_eq!(after, before);
    assert_eq!(control.limits(), in_force);
    let mut client = Client::connect(&socket, nbd::Wishes::plain(LUN));
    assert_eq!(client.read(4096, 4).unwrap(), b"kept");
}

#[test]
fn what_the_maps_refuse_changes_nothing() {
    let mut server = Server::start(BACKENDS[0], limits());
    server.control.execute("volume create -volume vast -size 300TB").unwrap();
    let before = server.control.execute("lun show").unwrap();
    let error = server.control.execute("lun create -path /vol/vast/l2 -size 200TB").unwrap_err().to_string();
    assert!(error.contains("up to 128 TiB"), "{error}");
    assert_eq!(server.control.execute("lun show").unwrap(), before);
    server.control.execute("lun create -path /vol/vast/l2 -size 100TB").unwrap();
    assert_eq!(Client::connect(&server.socket, nbd::Wishes::plain("/vol/vast/l2")).read(90 << 40, 1), Ok(vec![0]));
}

#[test]
fn space_is_told_exactly_and_comes_back() {
    let mut server = Server::start(BACKENDS[0], limits());
    let mut client = server.connect();
    client.write(0, &[1; 4096]).unwrap();
    client.write(1 << 20, &[1; 4096]).unwrap();
    // Two blocks of 64 KiB: 131 072 bytes.
    let used = |server: &mut Server| server.control.execute("volume show -volume vol1 -fields used").unwrap();
    assert!(used(&mut server).contains("131.1KB"), "{}", used(&mut server));
    drop(client);
    server.until_empty();
    server.control.execute(&format!("lun delete -path {LUN}")).unwrap();
    assert!(used(&mut server).contains("0B"), "{}", used(&mut server));
}

/// A LUN grows and shrinks. Data beyond a smaller size prevents that until it is trimmed, and so
/// does a client until it has gone or it is forced. A volume shrinks as far as its LUNs allow. All
/// of this also holds after a restart.
#[test]
fn sizes_go_both_ways_and_lose_nothing() {
    let mut server = Server::start(BACKENDS[0], limits());
    server.control.execute("lun create -path /vol/vol1/l2 -size 1MiB").unwrap();
    let mut first = Client::connect(&server.socket, nbd::Wishes::plain("/vol/vol1/l2"));
    first.write(1 << 19, &[7; 4096]).unwrap();
    server.control.execute("lun modify -path /vol/vol1/l2 -size 8MiB").unwrap();
    // A client sees the size at the time it connected.
    let mut client = Client::connect(&server.socket, nbd::Wishes::plain("/vol/vol1/l2"));
    client.write(6 << 20, &[8; 4096]).unwrap();
    let refused = server.control.execute("lun modify -path /vol/vol1/l2 -size 2MiB").unwrap_err().to_string();
    assert!(refused.starts_with("svm01:/vol/vol1/l2: is mapped (2 connections); "), "{refused}");
    drop((first, client));
    server.until_empty();
    let before = server.control.execute("lun show").unwrap();
    let refused = server.control.execute("lun modify -path /vol/vol1/l2 -size 2MiB").unwrap_err().to_string();
    assert_eq!(refused, "svm01:/vol/vol1/l2: there is data beyond byte 2097152; discard it first");
    assert_eq!(server.control.execute("lun show").unwrap(), before);
    let mut client = Client::connect(&server.socket, nbd::Wishes::plain("/vol/vol1/l2"));
    assert_eq!(client.read(6 << 20, 1), Ok(vec![8]));
    client.call(nbd::NbdRequest::new(9, nbd::Command::Trim, 6 << 20, 4096), &[]).unwrap();
    server.control.execute("lun modify -path /vol/vol1/l2 -size 2MiB -force").unwrap();
    assert!(is_closed(&mut client.stream));
    let mut client = Client::connect(&server.socket, nbd::Wishes::plain("/vol/vol1/l2"));
    assert_eq!(client.read(1 << 19, 1), Ok(vec![7]));
    assert!(client.read(6 << 20, 1).is_err() && client.write(2 << 20, &[1; 512]).is_err());
    let volume = server.control.execute("volume modify -volume vol1 -size 1MiB").unwrap_err().to_string();
    assert!(volume.contains("vol1"), "{volume}");
    drop(client);
    let Server { control, socket, dir } = server;
    drop(control);
    let pool = Pool::open(&dir.path().join("pool")).unwrap();
    let mut control = open(pool, &socket, limits(), settings(BACKENDS[0], &limits()));
    let mut client = Client::connect(&socket, nbd::Wishes::plain("/vol/vol1/l2"));
    assert!(client.read(1 << 19, 1) == Ok(vec![7]) && client.read(2 << 20, 1).is_err());
    // Data beyond the end is lost for good: it reads as zeroes when the LUN grows again.
    control.execute("lun modify -path /vol/vol1/l2 -size 8MiB").unwrap();
    assert_eq!(Client::connect(&socket, nbd::Wishes::plain("/vol/vol1/l2")).read(6 << 20, 1), Ok(vec![0]));
}

#[test]
fn a_server_that_stops_keeps_what_nobody_flushed() {
    let server = Server::start(BACKENDS[0], limits());
    server.connect().write(8192, b"kept").unwrap();
    let Server { control, socket, dir } = server;
    drop(control);
    let report = store::check_maps(&dir.path().join("pool"), &store::Named::default()).unwrap();
    assert_eq!((report.damages, report.used), (vec![], 64 << 10));
    let pool = Pool::open(&dir.path().join("pool")).unwrap();
    let _control = open(pool, &socket, limits(), settings(BACKENDS[0], &limits()));
    assert_eq!(Client::connect(&socket, nbd::Wishes::plain(LUN)).read(8192, 4).unwrap(), b"kept");
}

/// A start on a full file system leaves the pool without the space that a deletion needs. It is
/// reserved when the server looks at the space and finds some, without a command.
#[test]
fn the_room_for_deletions_is_reserved_once_there_is_space() {
    let server = Server::start(BACKENDS[0], limits());
    let reserved = server.control.folder().join("catalogue.ballast");
    std::fs::remove_file(&reserved).unwrap();
    server.control.look_at_space();
    assert_eq!(std::fs::metadata(&reserved).unwrap().len(), 256 << 10);
}
