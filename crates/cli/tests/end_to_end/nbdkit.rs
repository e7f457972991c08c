//! nbdkit in front of `seawall serve`: its `nbd` plugin is a client of ours, its filters ask in
//! ways of their own.

use crate::requires::{client, requires};
use crate::running::{Running, run, succeed};
use crate::scratch::Scratch;
use crate::server::{LUN, Server, pattern, read};
use std::path::PathBuf;

/// nbdkit with our server behind its `nbd` plugin.
struct Proxy {
    nbdkit: Running,
    socket: PathBuf,
}

impl Proxy {
    fn start(scratch: &Scratch, server: &Server, filters: &[&str], settings: &[&str]) -> Proxy {
        let socket = scratch.join("proxy.sock");
        let _ = std::fs::remove_file(&socket);
        let mut command = client("nbdkit");
        command.args(["--foreground", "--exit-with-parent", "--unix"]).arg(&socket).args(filters);
        command.arg("nbd").arg(format!("uri={}", server.uri(LUN))).args(settings);
        let mut nbdkit = Running::start(command);
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(nbdkit.ended().is_none(), "{:?}", nbdkit.seen);
            std::thread::yield_now();
        }
        Proxy { nbdkit, socket }
    }

    fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    fn stop(self) {
        self.nbdkit.signal("TERM");
        self.nbdkit.end();
    }
}

/// Through nbdkit's plugin, whose clients share a connection to us, there and back: the same bytes,
/// the same holes.
#[test]
fn nbdkit_passes_on_what_we_serve() {
    requires!("nbdkit", "nbdcopy", "nbdinfo");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let proxy = Proxy::start(&scratch, &server, &[], &["shared=true"]);
    let (there, back) = (scratch.join("there"), scratch.join("back"));
    std::fs::write(&there, [vec![0; 2 << 20], pattern(9 << 20), vec![0; 5 << 20]].concat()).unwrap();
    succeed(client("nbdcopy").args(["--flush", "--destination-is-zero"]).arg(&there).arg(proxy.uri()));
    succeed(client("nbdcopy").arg(server.uri(LUN)).arg(&back));
    assert!(read(&there) == read(&back), "what came back is not what went there");
    let map = |uri: &str| succeed(client("nbdinfo").args(["--map", "--json", uri]));
    let (ours, theirs) = (map(&server.uri(LUN)), map(&proxy.uri()));
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    assert_eq!(parsed(&ours), parsed(&theirs));
    proxy.stop();
}

/// nbdkit's own check of a copy: its checkwrite filter compares each write with what is behind it.
/// A second copy of the same data passes; with one byte changed it fails, so the check sees
/// something.
#[test]
fn nbdkits_check_of_a_copy_finds_nothing_wrong() {
    requires!("nbdkit", "nbdcopy");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    let file = scratch.join("file");
    let mut bytes = [pattern(3 << 20), vec![0; 2 << 20], pattern(3 << 20)].concat();
    std::fs::write(&file, &bytes).unwrap();
    succeed(client("nbdcopy").arg(&file).arg(server.uri(LUN)));
    let proxy = Proxy::start(&scratch, &server, &["--filter=checkwrite"], &[]);
    succeed(client("nbdcopy").args(["--flush"]).arg(&file).arg(proxy.uri()));
    bytes[7 << 20] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let differs = run(client("nbdcopy").arg(&file).arg(proxy.uri()));
    assert_ne!(differs.code, Some(0), "{differs:?}");
    proxy.stop();
}

/// The blocksize filter cuts requests into pieces of 512 bytes to 4 KiB and mends those of odd
/// sizes by reading and writing around them: what qemu-io writes at odd places through it, it reads
/// there directly.
#[test]
fn requests_cut_to_odd_sizes_end_up_where_they_belong() {
    requires!("nbdkit", "qemu-io");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    let settings = ["minblock=512", "maxdata=4k", "maxlen=16k"];
    let proxy = Proxy::start(&scratch, &server, &["--filter=blocksize"], &settings);
    let qemu = |uri: &str, commands: &[&str]| {
        let mut command = client("qemu-io");
        command.args(["-f", "raw", "-t", "none"]);
        command.args(commands.iter().flat_map(|line| ["-c", line]));
        let said = succeed(command.arg(uri));
        assert!(!said.contains("verification failed") && !said.contains("failed:"), "{said}");
    };
    let through = ["write -P 0x11 0 1M", "write -P 0x22 512 3584", "write -z 64k 100k", "discard 512k 64k", "flush"];
    qemu(&proxy.uri(), &through);
    let directly = ["read -P 0x11 0 512", "read -P 0x22 512 3584", "read -P 0x11 4k 60k", "read -P 0 64k 100k"];
    qemu(&server.uri(LUN), &directly);
    proxy.stop();
}

/// The retry filter opens the connection anew after errors of the one behind it: our server killed
/// and started again in between, a reader in front of nbdkit notices nothing.
#[test]
fn a_reader_behind_nbdkits_retry_survives_our_restart() {
    requires!("nbdkit", "nbdsh");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    let proxy =
        Proxy::start(&scratch, &server, &["--filter=retry"], &["retries=60", "retry-delay=1", "retry-exponential=no"]);
    let script = format!(
        "
import nbd, sys
h = nbd.NBD()
h.connect_uri('{}')
h.pwrite(b'here' * 1024, 4096)
h.flush()
print('written', flush=True)
sys.stdin.readline()
assert h.pread(4096, 4096) == b'here' * 1024
print('read', flush=True)
",
        proxy.uri()
    );
    let mut command = client("python3");
    command.arg("-c").arg(script).stdin(std::process::Stdio::piped());
    let mut reader = Running::start(command);
    reader.wait_for("written");
    server.kill();
    let server = Server::start(&scratch);
    reader.say("go on");
    reader.wait_for("read");
    proxy.stop();
    drop(server);
}
