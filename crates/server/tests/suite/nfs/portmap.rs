//! How NFS clients find a server without being given the port: `showmount`, and libnfs without
//! ports, in a network namespace of their own, with a port mapper and without.

use super::*;
use crate::support::ganesha::{OWN, may_have_a_network};
use server::Portmap;
use std::path::Path;

/// Set when a test runs itself again, in the network namespace: whether a port mapper runs.
const MAPPER: &str = "SEAWALL_TEST_MAPPER";

/// A network namespace with only a loopback device, and a port mapper if one is asked for; then the
/// command to run.
const SCRIPT: &str = r#"
set -e
mount -t tmpfs none /run
mkdir /run/rpcbind
ip link set lo up
if [ "$SEAWALL_TEST_MAPPER" = rpcbind ]; then
    rpcbind -w -f &
    until rpcinfo -p 127.0.0.1 >/dev/null 2>&1; do :; done
fi
"$@"
"#;

/// The output of a program that must succeed.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new("timeout").arg("60").arg(program).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Whether qemu's programs can load their NFS module here, which is a separate package.
fn qemu_has_nfs() -> bool {
    let asked = Command::new("qemu-img").args(["info", "nfs://127.0.0.1/none/none"]).output();
    let has = asked.is_ok_and(|output| String::from_utf8_lossy(&output.stderr).contains("Failed to mount nfs share"));
    if !has {
        println!("not tested: qemu; its module for NFS is not there");
    }
    has
}

/// A qemu disk in a volume: created, written, read and copied to another.
fn qemu_writes_and_reads() {
    let [disk, copy] = ["nfs://127.0.0.1/vol2/disk", "nfs://127.0.0.1/vol2/copy"];
    said("qemu-img", &["create", "-q", "-f", "raw", disk, "4M"]);
    let commands = ["-c", "write -P 0x5a 1M 64k", "-c", "flush", "-c", "read -P 0x5a 1M 64k", "-c", "read -P 0 2M 1M"];
    let answers = said("qemu-io", &[&["-f", "raw"], &commands[..], &[disk]].concat());
    assert!(answers.contains("read 65536/65536 bytes") && !answers.contains("failed"), "{answers}");
    said("qemu-img", &["convert", "-f", "raw", "-O", "raw", disk, copy]);
    let same = said("qemu-img", &["compare", "-f", "raw", "-F", "raw", disk, copy]);
    assert!(same.contains("identical"), "{same}");
}

/// Whether this kernel has an NFS client; few test machines have one.
fn kernel_has_nfs() -> bool {
    // If the module cannot be loaded, the client is built in or missing.
    let _ = Command::new("modprobe").args(["-q", "nfs"]).status();
    let known = std::fs::read_to_string("/proc/filesystems").unwrap();
    let has = known.lines().any(|line| line.trim_start_matches("nodev").trim() == "nfs");
    if !has {
        println!("not tested: Linux's own client; this kernel has none");
    }
    has
}

/// A file accessed by Linux's client: written, and read through another mount of the volume.
fn linux_writes_and_reads() {
    let folder = Path::new("/run/mounted");
    std::fs::create_dir(folder).unwrap();
    let data: Vec<u8> = (0..1_000_003u32).map(|n| (n % 251) as u8).collect();
    for is_first in [true, false] {
        said("mount", &["-t", "nfs", "-o", "vers=3,nolock,proto=tcp", "127.0.0.1:/vol2", "/run/mounted"]);
        if is_first {
            std::fs::create_dir(folder.join("folder")).unwrap();
            std::fs::write(folder.join("folder/file"), &data).unwrap();
            std::fs::rename(folder.join("folder/file"), folder.join("file")).unwrap();
        } else {
            assert!(std::fs::read(folder.join("file")).unwrap() == data);
            assert_eq!(std::fs::read_dir(folder.join("folder")).unwrap().count(), 0);
        }
        said("umount", &["/run/mounted"]);
    }
}

/// The part that runs in the network namespace.
fn within_a_network(has_mapper: bool) {
    let portmap = if has_mapper { Portmap::Register } else { Portmap::Serve };
    let rule = |exports: &str, addresses: &[&str]| AccessRule {
        exports: vec![exports.into()],
        addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
        ..AccessRule::default()
    };
    let rules = vec![rule("svm01:/vol/vol1/*", &["10.0.0.0/8", "127.0.0.1"]), rule("svm01:/vol/vol2/*", &[])];
    let front = Front { portmap, ..front(Access::by_rules(rules)) };
    let mut server = Server::start_behind(BACKENDS[0], limits(), front);
    for line in ["volume create -volume vol2 -size 10MB", "volume mount vol1 -junction-path /db"] {
        server.control.execute(line).unwrap();
    }
    let exports = said("showmount", &["--no-headers", "-e", "127.0.0.1"]);
    let words: Vec<&str> = exports.split_whitespace().collect();
    assert_eq!(words, ["/db", "10.0.0.0/8,127.0.0.1", "/vol2", "(everyone)"], "{exports}");
    let mounted = || said("showmount", &["--no-headers", "-a", "127.0.0.1"]);
    assert_eq!(mounted(), "");
    let mut client = Client::connect(&server);
    client.mount("/vol2").unwrap();
    assert_eq!(mounted().trim(), "127.0.0.1:/vol2");
    let call = MountCall::Unmount(b"/vol2");
    client.send((mount::PROGRAM, 3, call.procedure()), &[], |out| call.put(out));
    assert!(client.results().is_empty() && mounted().is_empty());
    assert_eq!(said("nfs-ls", &["nfs://127.0.0.1/vol2?version=3"]), "", "it is empty");
    if qemu_has_nfs() {
        qemu_writes_and_reads();
    }
    if kernel_has_nfs() {
        linux_writes_and_reads();
    }
    let known = || said("rpcinfo", &["-p", "127.0.0.1"]);
    let told = known();
    let port = port(&server).to_string();
    for program in ["100003", "100005"] {
        let is_it = |line: &str| line.split_whitespace().take(4).eq([program, "3", "tcp", &port]);
        assert!(told.lines().any(is_it), "{program}: {told}");
    }
    drop(client);
    server.until_empty();
    drop(server);
    if has_mapper {
        let after = known();
        assert!(after.contains("100000") && !after.contains("100003") && !after.contains("100005"), "{after}");
    }
}

/// Runs that test again in a network namespace with that mapper.
fn run(test: &str, mapper: &str) {
    if let Ok(running) = std::env::var(MAPPER) {
        return within_a_network(running == "rpcbind");
    }
    for program in ["rpcbind", "rpcinfo", "showmount", "nfs-ls", "ip", "unshare"] {
        if program_or_skip(program).is_none() {
            return;
        }
    }
    if !may_have_a_network() {
        return skip("a network of one's own takes root");
    }
    let mut command = Command::new("unshare");
    command.args(OWN).args(["sh", "-c", SCRIPT, "sh"]).arg(std::env::current_exe().unwrap());
    command.arg(format!("nfs::portmap::{test}")).args(["--exact", "--nocapture"]);
    let ended = command.env(MAPPER, mapper).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    println!("{said}");
}

/// The machine's port mapper tells clients our port for as long as we run.
#[test]
fn the_port_mapper_of_the_machine_is_told() {
    run("the_port_mapper_of_the_machine_is_told", "rpcbind");
}

/// Without a port mapper, we answer in its place.
#[test]
fn the_port_of_a_port_mapper_is_answered() {
    run("the_port_of_a_port_mapper_is_answered", "none");
}
