//! What was acknowledged is there after the server died.

use crate::requires::{client, requires};
use crate::running::{run, seawall, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};

/// Two writes, one acknowledged with FUA and one covered by a flush, then SIGKILL. The next server takes the pool (its
/// lock went with its holder), replaces both sockets that the dead one left, and has both.
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

/// A second server on a pool in use is refused in one line, makes nothing, and does not disturb the first.
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
