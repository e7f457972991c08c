//! Exports that are encrypted with a pre-shared key, seen by libnbd's tools and QEMU's, whose TLS
//! is GnuTLS'.

use crate::encrypted::Encrypted;
use crate::requires::{client, requires};
use crate::running::{run, seawall, succeed, succeed_with};
use crate::scratch::Scratch;
use crate::server::LUN;
use std::path::{Path, PathBuf};

/// A server with keys and a LUN of 8 MiB.
struct Keyed {
    server: Encrypted,
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
        let server = Encrypted::start(scratch, arguments);
        server.make_volume(scratch);
        Keyed { server, keys }
    }

    fn uri(&self, name: &str, keys: &Path) -> String {
        self.server.uri(&format!("{name}@"), LUN, &format!("tls-psk-file={}", keys.display()))
    }
}

const REQUIRED: [&str; 9] =
    ["--pool", "pool", "--create", "--listen", "127.0.0.1:0", "--tls", "required", "--tls-psk", "keys.psk"];

/// nbdcopy writes and reads back over four connections with a key; a wrong key, an unknown name and
/// clear text get nothing.
#[test]
fn libnbd_copies_with_a_key_and_not_without() {
    requires!("nbdinfo", "nbdcopy");
    let scratch = Scratch::new();
    let keyed = Keyed::start(&scratch, &REQUIRED);
    keyed.server.is_copied_by_libnbd(&scratch, &keyed.uri("alice", &keyed.keys));
    let wrong = scratch.join("wrong.psk");
    std::fs::write(&wrong, line("alice", "a2") + &line("carol", "a1")).unwrap();
    for name in ["alice", "carol"] {
        assert_eq!(run(client("nbdinfo").arg(keyed.uri(name, &wrong))).code, Some(1), "{name}");
    }
}

/// qemu-img writes an image with a key and finds it there.
#[test]
fn qemu_img_converts_and_compares_with_a_key() {
    requires!("qemu-img");
    let scratch = Scratch::new();
    let keyed = Keyed::start(&scratch, &REQUIRED);
    let credentials = format!("tls-creds-psk,id=tls,endpoint=client,username=alice,dir={}", scratch.path().display());
    keyed.server.is_converted_by_qemu(&scratch, &credentials);
}

/// Our own load with a key, and a configuration whose rules go by the name of it: the backup reads
/// and does not write. After SIGHUP a key that was taken out of the file opens nothing.
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
    let mut keyed = Keyed::start(&scratch, &["--config", "server.toml"]);
    let read_only = |name: &str| succeed_with(client("nbdinfo"), [keyed.uri(name, &keyed.keys)]);
    assert!(read_only("alice").contains("is_read_only: false"));
    assert!(read_only("backup").contains("is_read_only: true"));
    let mut fio = seawall(scratch.path());
    fio.args(["fio", "--name=a", "--ioengine=nbd", "--rw=randwrite", "--bs=4k", "--iodepth=8", "--number_ios=200"]);
    let said = succeed(fio.arg(format!("--uri={}", keyed.uri("alice", &keyed.keys))));
    assert!(said.contains("err= 0"), "{said}");
    crate::scratch::secret(&keyed.keys, &line("backup", "b2"));
    let old = scratch.join("old.psk");
    std::fs::write(&old, line("alice", "a1")).unwrap();
    keyed.server.running.signal("HUP");
    keyed.server.running.wait_for("are read again");
    assert_eq!(run(client("nbdinfo").arg(keyed.uri("alice", &old))).code, Some(1));
    keyed.server.running.signal("TERM");
    let (status, lines) = keyed.server.running.end();
    assert!(status.success());
    assert!(lines.iter().any(|line| line.contains("(PSK:backup)")), "{lines:?}");
}
