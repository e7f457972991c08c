//! nfs-ganesha, an NFS server that somebody else wrote, loaded by our client. It serves in a
//! network of its own, beside a port mapper of its own: both have ports that a machine has once.
//! That takes root.

use crate::requires::{client, requires, skip};
use crate::running::{Ended, run, run_by};
use crate::scratch::{Scratch, damage};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

#[path = "../../../server/tests/support/ganesha.rs"]
mod peer;

/// The server, in its network.
struct Ganesha {
    peer: peer::Ganesha,
    scratch: Scratch,
}

impl Ganesha {
    /// Starts it, and waits until it answers; `None` where it may not be.
    fn start() -> Option<Ganesha> {
        let scratch = Scratch::new();
        let mut server = match peer::Ganesha::start(tempfile::tempdir_in(scratch.path()).unwrap()) {
            Ok(peer) => Ganesha { peer, scratch },
            Err(reason) => {
                skip(reason);
                return None;
            }
        };
        #[allow(clippy::disallowed_methods, reason = "a bound for a server that never comes up")]
        let began = std::time::Instant::now();
        while run(server.inside(&client("nfs-ls")).arg(server.libnfs(""))).code != Some(0) {
            let ended = server.peer.ended();
            assert!(ended.is_none() && began.elapsed() < std::time::Duration::from_secs(60), "{ended:?}");
        }
        Some(server)
    }

    /// A command in the server's network.
    fn inside(&self, command: &Command) -> Command {
        run_by(self.peer.inside(command.get_program()), command)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.peer.export().join(name)
    }

    fn uri(&self, name: &str) -> String {
        format!("nfs://127.0.0.1{}", self.file(name).display())
    }

    fn libnfs(&self, name: &str) -> String {
        format!("{}?version=3", self.uri(name))
    }

    fn seawall(&self, arguments: &[&str]) -> Ended {
        let mut command = crate::running::seawall(self.scratch.path());
        command.args(arguments);
        run(&mut self.inside(&command))
    }

    /// `seawall fio` that must succeed.
    fn report(&self, arguments: &[&str]) -> Value {
        let ended = self.seawall(&[&["fio", "--output-format=json"], arguments].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {}", ended.out))
    }
}

/// Random writes at depth 16 over four connections, with a flush each 64, are read back and
/// checked; all is there when the file is looked at beside the server; damage is found.
#[test]
fn what_is_written_is_read_back_and_damage_is_found() {
    requires!("ganesha.nfsd", "rpcbind", "nfs-ls", "ip", "nsenter", "unshare");
    let Some(server) = Ganesha::start() else { return };
    let folder = format!("--nfs_url={}?nconnect=4", server.uri(""));
    let load = ["--name=v", "--ioengine=nfs", &folder, "--rw=randwrite", "--bs=4k", "--size=8m", "--iodepth=16"];
    let check = ["--verify=crc32c", "--fsync=64"];
    let json = server.report(&[&load[..], &check].concat());
    let job = &json["jobs"][0];
    // 8 MiB in blocks of 4 KiB.
    assert_eq!(job["write"]["total_ios"].as_u64(), Some(2048), "{job}");
    assert_eq!(job["seawall"]["verify"]["blocks"].as_u64(), Some(2048), "{job}");
    assert_eq!(job["seawall"]["verify"]["wrong"].as_u64(), Some(0), "{job}");
    assert_eq!(job["sync"]["total_ios"].as_u64(), Some(31), "{job}");
    let file = server.file("v.0.0");
    assert_eq!(file.metadata().unwrap().len(), 8 << 20);
    let again = server.seawall(&[&["fio"], &load[..], &check, &["--verify_only"]].concat());
    assert_eq!(again.code, Some(0), "{again:?}");
    damage(&file);
    let found = server.seawall(&[&["fio"], &load[..], &check, &["--verify_only"]].concat());
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.err.contains("at 40960: expected a block of offset 40960"), "{}", found.err);
}

/// The published workshop's first command line, with the folder of an NFS server in place of a
/// mount: two jobs with a file each, blocks of 1 MiB at depth 64, over 16 connections. libnfs then
/// reads what was written.
#[test]
fn the_workshops_command_line_loads_a_server() {
    requires!("ganesha.nfsd", "rpcbind", "nfs-ls", "nfs-cat", "ip", "nsenter", "unshare");
    let Some(server) = Ganesha::start() else { return };
    let folder = format!("--directory={}?nconnect=16", server.uri(""));
    let shape = |kind: &str| {
        let rw = format!("--rw={kind}");
        let options = ["--bs=1M", "--ioengine=libaio", "--numjobs=2", "--direct=1", "--iodepth=64", "--size=16M"];
        let line = ["--name=1M-write", &rw, &folder, "--group_reporting"];
        server.report(&[&line[..], &options].concat())
    };
    let (written, read) = (shape("write"), shape("read"));
    // Two jobs with 16 blocks each.
    assert_eq!(written["jobs"][0]["write"]["total_ios"].as_u64(), Some(32), "{written}");
    assert_eq!(read["jobs"][0]["read"]["total_ios"].as_u64(), Some(32), "{read}");
    assert_eq!(read["jobs"][0]["read"]["io_bytes"].as_u64(), Some(32 << 20), "{read}");
    let output = server.inside(&client("nfs-cat")).arg(server.libnfs("1M-write.1.0")).output().unwrap();
    assert!(output.status.success() && output.stdout.len() == 16 << 20);
    assert!(output.stdout == std::fs::read(server.file("1M-write.1.0")).unwrap());
}

/// A file of the user is not written over, is read, and is written with leave; what is wrong is one
/// line.
#[test]
fn files_of_others_are_kept_and_what_is_wrong_is_said() {
    requires!("ganesha.nfsd", "rpcbind", "nfs-ls", "ip", "nsenter", "unshare");
    let Some(server) = Ganesha::start() else { return };
    std::fs::write(server.file("letter"), vec![b'x'; 1 << 20]).unwrap();
    let uri = server.uri("letter");
    let job = |rw: &str, more: &[&str]| {
        let (folder, rw) = (format!("--nfs_url={}", server.uri("")), format!("--rw={rw}"));
        let line = ["fio", "--name=a", "--ioengine=nfs", &folder, "--filename=letter", &rw, "--bs=4k", "--size=1m"];
        server.seawall(&[&line[..], more].concat())
    };
    let refused = job("write", &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("it is a file of 1 MiB that seawall did not make"), "{}", refused.err);
    assert!(std::fs::read(server.file("letter")).unwrap().iter().all(|&byte| byte == b'x'));
    assert_eq!(job("read", &[]).code, Some(0));
    let consent = format!("--destroy-data={uri}?size=1048576");
    assert_eq!(job("write", &[&consent]).code, Some(0));
    assert!(std::fs::read(server.file("letter")).unwrap().iter().any(|&byte| byte != b'x'));
    for (uri, rule) in [
        (server.uri("nothing"), "is not there; make it first, or say how large it is to be made, as in ?size=1GiB"),
        ("nfs://127.0.0.1/elsewhere/f".into(), "/elsewhere: cannot be mounted: "),
        (format!("nfs://127.0.0.1{}", server.peer.export().display()), "cannot be mounted: "),
        (format!("{}?nfsport=9&mountport=9", server.uri("letter")), "127.0.0.1:9: Connection refused"),
    ] {
        let line = ["fio", "--name=a", "--ioengine=nbd", &format!("--uri={uri}"), "--rw=read", "--size=4k"];
        let ended = server.seawall(&line);
        assert_eq!(ended.code, Some(2), "{uri}: {ended:?}");
        assert!(ended.err.contains(rule), "{uri}: {}", ended.err);
    }
}
