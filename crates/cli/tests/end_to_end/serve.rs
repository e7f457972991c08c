//! `seawall serve`: its beginning and its end.

use crate::requires::{client, requires};
use crate::running::{Running, run, seawall, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, Server, read_text};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// A client in libnbd's shell that asks for `count` reads at once, says so when the first is
/// answered, and says at the end how many were.
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

/// A stop answers what was asked. Forty reads wait at a ceiling of 20 IOPS, two seconds' worth,
/// when SIGTERM comes; all are answered, then the server ends with exit code 0 and takes its
/// sockets with it.
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

/// A pool's folder is renamed while it is served: a clean stop takes the control socket out of it,
/// and leaves what has the socket's old path by then.
#[test]
fn a_stop_removes_the_socket_from_a_renamed_pool() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    std::fs::rename(scratch.join("pool"), scratch.join("moved")).unwrap();
    std::fs::create_dir(scratch.join("pool")).unwrap();
    std::fs::write(scratch.join("pool/control.sock"), "another's").unwrap();
    let (status, lines) = server.stop();
    assert_eq!(status.code(), Some(0), "{lines:?}");
    assert!(scratch.join("moved/catalogue.db").exists() && !scratch.join("moved/control.sock").exists());
    assert_eq!(read_text(&scratch.join("pool/control.sock")), "another's");
}

/// The second signal ends it at once: with an hour's worth of reads waiting at a ceiling of 1 IOPS
/// a clean stop takes seconds, and an end at once has exit code 130, by a signal's custom, and not
/// 0.
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
    // Two that come at once, as timeout(1) sends them, count as one: it is asked until it hears the
    // second.
    let ended = loop {
        server.running().signal("INT");
        if let Some(ended) = server.running().ended() {
            break ended;
        }
    };
    assert!(ended.ends_with("exit status: 130"), "{ended}");
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

/// Strangers on the port (garbage, an old web browser's request, a call that says nothing, one that
/// hangs up at once) are hung up on or left waiting, and a client beside them is served.
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
        // What matters is that it comes to an end, and soon: a stranger is sent a greeting and no
        // more than a refusal.
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.starts_with(b"NBDMAGIC") && answer.len() < 4096, "{} bytes", answer.len());
    }
    let size = succeed_with(client("nbdinfo"), ["--size", &server.tcp_uri(LUN)]);
    assert_eq!(size.trim(), "8388608");
    drop(silent);
}

/// A connection that says nothing, one with too many options, and one that leaves without taking
/// its answer: each is closed for a limit, and a server that was not asked to say more than usual
/// says which.
#[test]
fn what_is_closed_is_in_the_log() {
    let scratch = Scratch::new();
    let limits = "[limits]\nhandshake_time = \"300ms\"\nhandshake_options = 2\npatience = \"100ms\"\n";
    std::fs::write(scratch.path().join("limits.toml"), limits).expect("a file can be written");
    let mut server = Server::start_with(&scratch, &["--config", "limits.toml"]);
    server.make_lun("8MiB");
    let call = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(server.socket()).expect("it listens");
        stream.write_all(bytes).expect("it takes what is said");
        stream
    };
    let option = |number: u32, data: &[u8]| {
        [&b"IHAVEOPT"[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
    };
    // Fixed newstyle and no padding. LIST is 3, and adds two options for the only LUN; EXPORT_NAME
    // is 1; a read of 1 MiB is more than a socket takes, 2 is the goodbye.
    let flags = 3_u32.to_be_bytes();
    let head = |kind: u16, len: u32| {
        [&0x2560_9513_u32.to_be_bytes()[..], &[0; 2], &kind.to_be_bytes(), &[0; 16], &len.to_be_bytes()].concat()
    };
    let rude = [&flags[..], &option(1, LUN.as_bytes()), &head(0, 1 << 20), &head(2, 0)].concat();
    let rude = call(&rude);
    let long = call(&[&flags[..], &option(3, &[]).repeat(5)].concat());
    let silent = call(&[]);
    let mut missing = vec!["patience", "handshake_options", "handshake_time"];
    while !missing.is_empty() {
        let line = server.running().wait_for("connection closed: the limit");
        let found = missing.iter().position(|limit| line.contains(&format!("the limit `{limit}` is met")));
        missing.remove(found.unwrap_or_else(|| panic!("{line}: none of {missing:?}")));
        assert!(line.contains("WARN"), "{line}");
    }
    drop((rude, long, silent));
}

/// libnbd starts the server itself and hands it the socket (`LISTEN_FDS`): its tools' `[ … ]` form,
/// and its own call.
#[test]
fn a_client_may_start_it_and_hand_it_the_socket() {
    requires!("nbdinfo", "nbdsh");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    server.stop();
    let (program, pool) = (env!("CARGO_BIN_EXE_seawall"), scratch.join("pool"));
    let pool = pool.to_str().expect("a plain path");
    let arguments = ["--size", "--", "[", program, "serve", "--pool", pool, "--default-export", LUN, "]"];
    // The server's own words are elsewhere.
    let size = succeed_with(client("nbdinfo"), arguments);
    assert_eq!(size, "8388608\n");
    let script = format!(
        "
import nbd, sys
h = nbd.NBD()
h.set_export_name('{LUN}')
h.connect_systemd_socket_activation(['{program}', 'serve', '--pool', '{pool}'])
print('size', h.get_size())
"
    );
    let said = succeed_with(client("python3"), ["-c", &script]);
    assert_eq!(said, "size 8388608\n");
}

/// A promise of sockets that are not there is refused in one line.
#[test]
fn sockets_that_are_not_there_are_said() {
    let scratch = Scratch::new();
    for (count, words) in [("1", "descriptor 3 is no listening socket"), ("many", "LISTEN_FDS: must be a number")] {
        // The number of the process is known only to a shell that becomes it.
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "exec 3</dev/null; LISTEN_PID=$$ exec \"$0\" serve --pool pool --create"]);
        let ended = run(shell.arg(env!("CARGO_BIN_EXE_seawall")).env("LISTEN_FDS", count).current_dir(scratch.path()));
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(words) && ended.err.lines().count() == 1, "{ended:?}");
        assert!(scratch.listing().is_empty());
    }
}

/// Every change stands in the trail with who gave it, what was before and what after; a refused one
/// with its reason; a question does not. The trail goes on where it was when the server starts
/// again.
#[test]
fn changes_leave_a_trail() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    server.tell(&["lun show"]);
    assert_eq!(server.ask(&["lun modify -vserver svm01 -path /vol/vol1/lun1 -size 1GiB"]).code, Some(1));
    server.stop();
    let server = Server::start(&scratch);
    server.tell(&["qos policy-group create gold -vserver svm01 -max-throughput 5000IOPS -is-shared false"]);
    server.tell(&["volume modify -volume vol1 -vserver svm01 -qos-policy-group gold"]);
    server.stop();
    let trail = read_text(&scratch.join("pool/audit.jsonl"));
    let lines: Vec<serde_json::Value> = trail.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 6, "{trail}");
    let uid = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(scratch.path()).unwrap());
    assert!(
        lines.iter().all(|line| line["who"]["uid"] == uid && line["at"].as_str().is_some_and(|at| at.ends_with('Z')))
    );
    let made = &lines[2]["changes"][0];
    assert_eq!((&made["kind"], &made["name"]), (&"lun".into(), &"svm01:/vol/vol1/lun1".into()));
    assert!(made["before"].is_null() && made["after"]["size"] == 8 << 20);
    assert_eq!(lines[3]["result"], "refused");
    assert!(lines[3]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{trail}");
    assert_eq!(lines[3]["changes"], serde_json::json!([]));
    let attached = &lines[5]["changes"][0];
    assert!(attached["before"]["policy"].is_null() && attached["after"]["policy"] == "gold", "{attached}");
    let mode = std::fs::metadata(scratch.join("pool/audit.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// systemd finds nothing wrong with the units that are shipped.
#[test]
fn the_units_are_in_order() {
    requires!("systemd-analyze");
    let scratch = Scratch::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    for name in ["seawall.service", "seawall.socket"] {
        // The program is not installed where the unit says.
        let unit = read_text(&folder.join(name)).replace("/usr/bin/seawall", env!("CARGO_BIN_EXE_seawall"));
        std::fs::write(scratch.join(name), unit).unwrap();
    }
    for name in ["seawall.service", "seawall.socket"] {
        let ended = run(client("systemd-analyze").args(["verify", "--man=no"]).arg(scratch.join(name)));
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{name}");
    }
    // The configuration that is shipped is read as it is.
    let text = read_text(&folder.join("server.toml"));
    std::fs::write(scratch.join("server.toml"), text.replace("folder = \"/etc/seawall/tls\"", "mode = \"off\""))
        .unwrap();
    let checked = run(seawall(scratch.path()).args(["serve", "--config", "server.toml", "--check-config"]));
    assert_eq!(checked.code, Some(0), "{checked:?}");
}
