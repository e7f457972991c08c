//! How NFS clients find a server whose port nobody told them: `showmount`, and libnfs without
//! ports, in a network of their own, with a port mapper and without.

use crate::ganesha::peer::{OWN, may_have_a_network};
use crate::requires::{client, requires, skip};
use crate::running::{run, succeed};
use crate::scratch::Scratch;
use crate::server::{Server, read_text};
use std::path::Path;
use std::process::Command;

/// Runs a command in the network until a line comes to `stop`, then lets it end and says what the
/// port mapper knows.
const SCRIPT: &str = r#"
set -e
mount -t tmpfs none /run
mkdir /run/rpcbind
ip link set lo up
folder=$1
mapper=$2
shift 2
mkfifo "$folder/stop"
if [ "$mapper" = rpcbind ]; then
    rpcbind -w -f &
    until rpcinfo -p 127.0.0.1 >/dev/null 2>&1; do :; done
fi
"$@" &
server=$!
read -r line < "$folder/stop"
kill -TERM $server
wait $server
if [ "$mapper" = rpcbind ]; then rpcinfo -p 127.0.0.1 > "$folder/after"; fi
"#;

/// A server in a network of its own.
fn start(scratch: &Scratch, mapper: &str, arguments: &[&str]) -> Server {
    let mut by = Command::new("unshare");
    by.args(OWN).args(["sh", "-c", SCRIPT, "sh"]).arg(scratch.path()).arg(mapper);
    let server = Server::start_by(scratch, by, arguments);
    server.tell(&[
        "vserver create -vserver svm01",
        "volume create -vserver svm01 -volume vol1 -size 100MB -junction-path /db",
        "volume create -vserver svm01 -volume vol2 -size 100MB",
    ]);
    server
}

fn inside(server: &mut Server, command: &Command) -> Command {
    let mut inside = Command::new("nsenter");
    inside.arg(format!("--net=/proc/{}/ns/net", server.running().id()));
    inside.arg(command.get_program()).args(command.get_args());
    inside
}

/// What clients find that know no port.
fn check(server: &mut Server) {
    let mut show =
        |option: &str| succeed(inside(server, &client("showmount")).args(["--no-headers", option, "127.0.0.1"]));
    let exports = show("-e");
    let words: Vec<&str> = exports.split_whitespace().collect();
    assert_eq!(words, ["/db", "10.0.0.0/8,127.0.0.1", "/vol2", "(everyone)"], "{exports}");
    assert_eq!(show("-a"), "");
    let listed = succeed(inside(server, &client("nfs-ls")).arg("nfs://127.0.0.1/vol2?version=3"));
    assert_eq!(listed, "", "it is empty");
    let refused = run(inside(server, &client("nfs-ls")).arg("nfs://127.0.0.1/vol3?version=3"));
    assert_ne!(refused.code, Some(0), "{refused:?}");
}

/// Rules that let machines in by address.
fn rules(scratch: &Scratch, portmap: &str) -> String {
    let text = format!(
        r#"
        server.portmap = "{portmap}"
        [[access]]
        exports = ["svm01:/vol/vol1/*"]
        addresses = ["10.0.0.0/8", "127.0.0.1"]
        [[access]]
        exports = ["svm01:/vol/vol2/*"]
        "#
    );
    let path = scratch.join("server.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn stop(server: Server, folder: &Path) {
    std::fs::write(folder.join("stop"), "\n").unwrap();
    let (status, said) = server.end();
    assert!(status.success(), "{said:?}");
}

/// The port mapper of the machine tells clients where we are, as long as we are there.
#[test]
fn the_port_mapper_of_the_machine_is_told() {
    requires!("rpcbind", "rpcinfo", "showmount", "nfs-ls", "ip", "nsenter", "unshare");
    if !may_have_a_network() {
        return skip("a network of one's own takes root");
    }
    let scratch = Scratch::new();
    let config = rules(&scratch, "register");
    let mut server = start(&scratch, "rpcbind", &["--nfs", "127.0.0.1:0", "--config", &config]);
    let port = server.nfs().rsplit(':').next().unwrap().to_owned();
    check(&mut server);
    let known = succeed(inside(&mut server, &client("rpcinfo")).args(["-p", "127.0.0.1"]));
    for program in ["100003", "100005"] {
        let is_it = |line: &str| line.split_whitespace().take(4).eq([program, "3", "tcp", &port]);
        assert!(known.lines().any(is_it), "{program}: {known}");
    }
    stop(server, scratch.path());
    let after = read_text(&scratch.join("after"));
    assert!(after.contains("100000") && !after.contains("100003") && !after.contains("100005"), "{after}");
}

/// Where there is no port mapper we answer for one.
#[test]
fn the_port_of_a_port_mapper_is_answered() {
    requires!("showmount", "nfs-ls", "ip", "nsenter", "unshare");
    if !may_have_a_network() {
        return skip("a network of one's own takes root");
    }
    let scratch = Scratch::new();
    let config = rules(&scratch, "serve");
    let mut server = start(&scratch, "none", &["--nfs", "127.0.0.1:0", "--config", &config]);
    check(&mut server);
    stop(server, scratch.path());
}
