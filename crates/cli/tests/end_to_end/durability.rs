//! What was acknowledged is there after the server died.

use crate::requires::{client, requires};
use crate::running::{Running, run, seawall, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};

/// Two writes, one acknowledged with FUA and one covered by a flush, then SIGKILL. The next server
/// takes the pool (its lock went with its holder), replaces both sockets that the dead one left,
/// and has both.
#[test]
fn acknowledged_writes_survive_a_killed_server() {
    requires!("qemu-io");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let writes = ["-c", "write -f -P 0x66 0 64k", "-c", "write -P 0x77 1M 64k", "-c", "flush"];
    succeed_with(client("qemu-io"), [&["-f", "raw", "-t", "none"], &writes[..], &[&server.uri(LUN)]].concat());
    let socket = server.socket();
    server.kill();
    assert!(socket.exists(), "a killed server leaves its socket");
    let server = Server::start(&scratch);
    let reads = ["-c", "read -P 0x66 0 64k", "-c", "read -P 0x77 1M 64k"];
    let said = succeed_with(client("qemu-io"), [&["-f", "raw"], &reads[..], &[&server.uri(LUN)]].concat());
    assert!(!said.contains("verification failed"), "{said}");
    assert!(server.tell(&["lun show"]).contains(LUN), "it takes commands again");
}

/// Names, sizes, policies and attachments read the same after a stop and after a kill.
#[test]
fn policies_and_objects_survive_a_restart() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    server.tell(&[
        "qos policy-group create policy1 -vserver svm01 -max-throughput 10000IOPS,300MB/s -is-shared false",
        "qos policy-group modify policy1 -max-throughput 1000IOPS,200MB/s",
        "qos policy-group create both -vserver svm01 -max-throughput 3000IOPS -min-throughput 100IOPS -is-shared false",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group policy1",
        "volume create -vserver svm01 -volume vol2 -size 4MiB",
        "volume delete -vserver svm01 -volume vol2",
        "volume create -vserver svm01 -volume vol3 -size 8MiB",
    ]);
    let shows = ["vserver show", "volume show -instance", "lun show -instance", "qos policy-group show -instance"];
    let before = server.tell(&shows);
    assert!(before.contains("1000IOPS,200MB/s") && before.contains("vol3") && !before.contains("vol2"), "{before}");
    let (status, _) = server.stop();
    assert_eq!(status.code(), Some(0));
    let server = Server::start(&scratch);
    assert_eq!(server.tell(&shows), before);
    server.kill();
    assert_eq!(Server::start(&scratch).tell(&shows), before);
}

/// A second server on a pool in use is refused in one line, makes nothing, and does not disturb the
/// first.
#[test]
fn a_pool_is_served_by_one_server_at_a_time() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    let before = scratch.listing();
    let second = run(seawall(scratch.path()).args(["serve", "--pool", "pool", "--listen", "unix:other.sock"]));
    assert_eq!(second.code, Some(2));
    assert_eq!(second.err, "seawall: --pool pool: the pool is in use by another server (its file `lock` is held)\n");
    assert_eq!(scratch.listing(), before);
    assert!(server.tell(&["lun show"]).contains(LUN));
}

/// A client writes numbered entries with a flush after each eighth while the server is killed five
/// times. After each start everything up to the last flush that was answered is there; the client
/// goes on from there.
#[test]
fn a_diary_survives_five_kills() {
    requires!("nbdsh");
    let scratch = Scratch::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/diary.py");
    let mut server = Server::start(&scratch);
    server.make_lun("64MiB");
    let mut last = 0;
    for kill in 1..=5 {
        let mut command = client("python3");
        command.args([script, "write", &server.uri(LUN), &last.to_string()]);
        let mut writer = Running::start(command);
        // A different moment each time: after 97, 194, … more entries, rounded up to a flush.
        let until = (last + 97 * kill) / 8 * 8 + 7;
        writer.wait_for(&format!("flushed {until}"));
        server.kill();
        let (_, lines) = writer.end();
        last = lines.iter().filter_map(|line| line.strip_prefix("flushed ")?.parse().ok()).max().expect("a flush");
        assert!(last >= until, "{lines:?}");
        server = Server::start(&scratch);
        let said = succeed_with(client("python3"), [script, "read", &server.uri(LUN), &last.to_string()]);
        assert_eq!(said, "all there\n", "after kill {kill}");
    }
}
