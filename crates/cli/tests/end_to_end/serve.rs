//! `seawall serve`: its beginning and its end.

use crate::requires::{client, requires};
use crate::running::{Running, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt as _;

/// A client in libnbd's shell that asks for `count` reads at once, says so when the first is answered, and says at the
/// end how many were.
fn reader(server: &Server, count: u32) -> Running {
    let script = format!(
        "
import nbd, sys
h = nbd.NBD()
h.connect_uri('{}')
cookies = [h.aio_pread(nbd.Buffer(4096), at * 4096) for at in range({count})]
while h.aio_in_flight() == {count}:
    h.poll(-1)
print('asked', flush=True)
try:
    while h.aio_in_flight() > 0:
        h.poll(-1)
except nbd.Error as error:
    print(error)
answered = {count} - h.aio_in_flight()
print('answered', answered, flush=True)
",
        server.uri(LUN)
    );
    let mut command = client("python3");
    command.arg("-c").arg(script);
    Running::start(command)
}

/// A stop answers what was asked. Forty reads wait at a ceiling of 20 IOPS, two seconds' worth, when SIGTERM comes; all
/// are answered, then the server ends with exit code 0 and takes its sockets with it.
#[test]
fn a_stop_answers_what_was_asked() {
    requires!("nbdsh");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    server.tell(&[
        "qos policy-group create slow -vserver svm01 -max-throughput 20IOPS -is-shared false",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
    ]);
    let mut client = reader(&server, 40);
    client.wait_for("asked");
    let socket = server.socket();
    let (status, lines) = server.stop();
    assert_eq!(status.code(), Some(0), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("stopping")), "{lines:?}");
    client.wait_for("answered 40");
    assert!(!socket.exists() && !scratch.join("pool/control.sock").exists());
}

/// The second signal ends it at once: with an hour's worth of reads waiting at a ceiling of 1 IOPS a clean stop takes
/// seconds, and an end at once has exit code 130, by a signal's custom, and not 0.
#[test]
fn the_second_signal_ends_it_at_once() {
    requires!("nbdsh");
    let scratch = Scratch::new();
    let mut server = Server::start(&scratch);
    server.make_lun("16MiB");
    server.tell(&[
        "qos policy-group create slow -vserver svm01 -max-throughput 1IOPS -is-shared false",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
    ]);
    let mut client = reader(&server, 3600);
    client.wait_for("asked");
    server.running().signal("INT");
    server.running().wait_for("stopping");
    let (status, lines) = server.stop();
    assert_eq!(status.code(), Some(130), "{lines:?}");
}

/// Only the owner may use the sockets: administrators' commands and data alike.
#[test]
fn sockets_are_for_their_owner_alone() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    for socket in [server.socket(), scratch.join("pool/control.sock")] {
        let mode = std::fs::metadata(&socket).expect("the socket is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", socket.display());
    }
    assert_eq!(std::fs::metadata(scratch.join("pool")).unwrap().permissions().mode() & 0o777, 0o700);
}

/// Strangers on the port (garbage, an old web browser's request, a call that says nothing, one that hangs up at once)
/// are hung up on or left waiting, and a client beside them is served.
#[test]
fn strangers_do_not_disturb_a_client() {
    requires!("nbdinfo");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    let call = || TcpStream::connect(&server.tcp).expect("it listens");
    let silent = call();
    drop(call());
    for garbage in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &[0xff; 65_536], &[0; 4096], b"NBDMAGICIHAVEOPT"] {
        let mut stranger = call();
        // It may hang up in the middle of that.
        let _ = stranger.write_all(garbage);
        let _ = stranger.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        // What matters is that it comes to an end, and soon: a stranger is sent a greeting and no more than a refusal.
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.starts_with(b"NBDMAGIC") && answer.len() < 4096, "{} bytes", answer.len());
    }
    let size = succeed_with(client("nbdinfo"), ["--size", &server.tcp_uri(LUN)]);
    assert_eq!(size.trim(), "8388608");
    drop(silent);
}
