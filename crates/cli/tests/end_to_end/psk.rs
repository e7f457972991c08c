//! Exports that are encrypted with a pre-shared key, seen by libnbd's tools and QEMU's, whose TLS is GnuTLS'.

use crate::requires::{client, requires};
use crate::running::{Running, run, seawall, succeed, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, pattern, read};
use std::path::PathBuf;

/// A server with keys, a LUN of 8 MiB, and a port that the system chose.
struct Keyed {
    running: Running,
    port: String,
    keys: PathBuf,
}

/// A key of 32 bytes, each the same.
fn line(name: &str, byte: &str) -> String {
    format!("{name}:{}\n", byte.repeat(32))
}

impl Keyed {
    fn start(scratch: &Scratch, arguments: &[&str]) -> Keyed {
        let keys = scratch.join("keys.psk");
        crate::scratch::secret(&keys, &(line("alice", "a1") + &line("backup", "b2")));
        let mut command = seawall(scratch.path());
        command.arg("serve").args(arguments);
        let mut running = Running::start(command);
        let said = running.wait_for("listening on 127.0.0.1:");
        let port = said.split([':', ' ']).nth(3).expect("a port").to_owned();
        running.wait_for("commands: ");
        let mut shell = seawall(scratch.path());
        shell.args(["shell", "--pool", "pool", "-c", "vserver create -vserver svm01"]);
        shell.args(["-c", "volume create -vserver svm01 -volume vol1 -size 64MiB"]);
        succeed(shell.args(["-c", &format!("lun create -vserver svm01 -path {LUN} -size 8MiB")]));
        Keyed { running, port, keys }
    }

    fn uri(&self, name: &str, keys: &std::path::Path) -> String {
        let export = LUN.replacen('/', "%2F", 1);
        format!("nbds://{name}@localhost:{}/{export}?tls-psk-file={}", self.port, keys.display())
    }
}

const REQUIRED: [&str; 9] =
    ["--pool", "pool", "--create", "--listen", "127.0.0.1:0", "--tls", "required", "--tls-psk", "keys.psk"];

/// nbdcopy writes and reads back over four connections with a key; a wrong key, an unknown name and clear text get nothing.
#[test]
fn libnbd_copies_with_a_key_and_not_without() {
    requires!("nbdinfo", "nbdcopy");
    let scratch = Scratch::new();
    let server = Keyed::start(&scratch, &REQUIRED);
    let uri = server.uri("alice", &server.keys);
    let (there, back) = (scratch.join("there"), scratch.join("back"));
    std::fs::write(&there, pattern(8 << 20)).unwrap();
    succeed(client("nbdcopy").args(["--connections=4", "--flush"]).arg(&there).arg(&uri));
    succeed(client("nbdcopy").arg(&uri).arg(&back));
    assert!(read(&there) == read(&back), "what came back is not what went there");
    let told = succeed_with(client("nbdinfo"), [&uri]);
    assert!(told.contains("newstyle-fixed with TLS"), "{told}");
    let wrong = scratch.join("wrong.psk");
    std::fs::write(&wrong, line("alice", "a2") + &line("carol", "a1")).unwrap();
    for name in ["alice", "carol"] {
        assert_eq!(run(client("nbdinfo").arg(server.uri(name, &wrong))).code, Some(1), "{name}");
    }
    let clear = format!("nbd://localhost:{}/{}", server.port, LUN.replacen('/', "%2F", 1));
    assert_eq!(run(client("nbdinfo").arg(clear)).code, Some(1));
}

/// qemu-img writes an image with a key and finds it there.
#[test]
fn qemu_img_converts_and_compares_with_a_key() {
    requires!("qemu-img");
    let scratch = Scratch::new();
    let server = Keyed::start(&scratch, &REQUIRED);
    let image = scratch.join("image");
    std::fs::write(&image, pattern(8 << 20)).unwrap();
    let credentials = format!("tls-creds-psk,id=tls,endpoint=client,username=alice,dir={}", scratch.path().display());
    let target = format!(
        "driver=raw,file.driver=nbd,file.host=localhost,file.port={},file.export={LUN},file.tls-creds=tls",
        server.port
    );
    let source = format!("driver=raw,file.driver=file,file.filename={}", image.display());
    let qemu_img = |verb: &str| {
        let mut command = client("qemu-img");
        command.args([verb, "--object", &credentials, "--image-opts"]);
        command
    };
    succeed(qemu_img("convert").args(["-n", "--target-image-opts", &source, &target]));
    let said = succeed(qemu_img("compare").args([&source, &target]));
    assert!(said.contains("identical"), "{said}");
}

/// Our own load with a key, and a configuration whose rules go by the name of it: the backup reads and does not write. After
/// SIGHUP a key that was taken out of the file opens nothing.
#[test]
fn a_configuration_says_who_sees_what_by_key() {
    requires!("nbdinfo");
    let scratch = Scratch::new();
    let text = r#"
        listen = ["127.0.0.1:0"]
        [pool]
        folder = "pool"
        create = true
        [tls]
        mode = "required"
        psk = "keys.psk"
        [[access]]
        exports = ["svm01:*"]
        psk = ["alice"]
        [[access]]
        exports = ["svm01:/vol/vol1/*"]
        psk = ["back*"]
        read_only = true
        [log]
        level = "info"
    "#;
    std::fs::write(scratch.join("server.toml"), text).unwrap();
    let mut server = Keyed::start(&scratch, &["--config", "server.toml"]);
    let read_only = |name: &str| succeed_with(client("nbdinfo"), [server.uri(name, &server.keys)]);
    assert!(read_only("alice").contains("is_read_only: false"));
    assert!(read_only("backup").contains("is_read_only: true"));
    let mut fio = seawall(scratch.path());
    fio.args(["fio", "--name=a", "--ioengine=nbd", "--rw=randwrite", "--bs=4k", "--iodepth=8", "--number_ios=200"]);
    let said = succeed(fio.arg(format!("--uri={}", server.uri("alice", &server.keys))));
    assert!(said.contains("err= 0"), "{said}");
    crate::scratch::secret(&server.keys, &line("backup", "b2"));
    let old = scratch.join("old.psk");
    std::fs::write(&old, line("alice", "a1")).unwrap();
    server.running.signal("HUP");
    server.running.wait_for("are read again");
    assert_eq!(run(client("nbdinfo").arg(server.uri("alice", &old))).code, Some(1));
    server.running.signal("TERM");
    let (status, lines) = server.running.end();
    assert!(status.success());
    assert!(lines.iter().any(|line| line.contains("(PSK:backup)")), "{lines:?}");
}
