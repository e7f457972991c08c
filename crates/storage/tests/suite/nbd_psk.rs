//! Our NBD client with a pre-shared key, against nbdkit and qemu-nbd, whose TLS is GnuTLS.

use crate::support;
use crate::support::{BACKENDS, Client, Peer, find, lose_nbdkit};
use block::Op;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder with `keys.psk`, as `psktool` writes it and QEMU expects it.
struct Papers(TempDir);

impl Papers {
    fn new(keys: &[(&str, &str)]) -> Papers {
        let folder = tempfile::tempdir().unwrap();
        let text: String = keys.iter().map(|(name, byte)| format!("{name}:{}\n", byte.repeat(32))).collect();
        support::secret(&folder.path().join("keys.psk"), &text);
        Papers(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("keys.psk")
    }

    fn socket(&self) -> PathBuf {
        self.0.path().join("s")
    }

    fn nbdkit(&self, program: &Path, more: &[&str]) -> Peer {
        let keys = format!("--tls-psk={}", self.file().display());
        Peer::nbdkit(program, &self.socket(), &[&["--tls=require", &keys], more].concat())
    }

    /// The URI of this server for `name`, with the keys of `keys`.
    fn uri(&self, name: &str, keys: &Papers, parameters: &str) -> String {
        let (socket, file) = (self.socket(), keys.file());
        format!("nbds+unix://{name}@/?socket={}&tls-psk-file={}{parameters}", socket.display(), file.display())
    }
}

/// Writes and reads of lengths far below and above a record's 16 KiB, many at once.
fn exercise(client: &mut Client) {
    let lengths = [512_u64, 4096, 16_384, 65_536, 1 << 20];
    for (round, len) in lengths.into_iter().enumerate() {
        let bytes: Vec<u8> = (0..len).map(|at| (at * 31 + round as u64 * 7 + 1) as u8).collect();
        let writes: Vec<u64> = (0..3).map(|n| client.write(n << 20, &bytes)).collect();
        let ended = client.all(3);
        assert!(writes.iter().all(|tag| ended[tag].is_ok()), "{len}");
        let reads: Vec<u64> = (0..3).map(|n| client.read(n << 20, len)).collect();
        let ended = client.all(3);
        assert!(reads.iter().all(|tag| ended[tag].as_ref() == Ok(&bytes)), "{len}");
    }
    let flush = client.submit(0, 0, Op::Flush).unwrap();
    assert!(client.all(1)[&flush].is_ok());
}

/// nbdkit with two keys, with each framing and several connections; and a lost server that comes
/// back with its key.
#[test]
fn nbdkit_and_we_share_a_key() {
    let Some(program) = find("nbdkit") else { return };
    let papers = Papers::new(&[("alice", "a1"), ("bob", "b2")]);
    let peer = papers.nbdkit(&program, &["memory", "8M"]);
    for backend in BACKENDS {
        for (name, parameters) in
            [("alice", "&replies=simple"), ("bob", "&replies=extended"), ("bob", "&connections=4")]
        {
            let mut client = Client::open(backend, &papers.uri(name, &papers, parameters));
            exercise(&mut client);
            client.close();
        }
    }
    peer.kill();
    let uri = papers.uri("alice", &papers, "&reconnect=600");
    let (mut client, peer) = lose_nbdkit(BACKENDS[0], &uri, |more| papers.nbdkit(&program, more));
    exercise(&mut client);
    client.close();
    drop(peer);
}

/// A key that the server does not have, a name it does not know, a server with certificates, and
/// files without keys.
#[test]
fn a_wrong_key_is_said_in_one_line() {
    let Some(program) = find("nbdkit") else { return };
    let papers = Papers::new(&[("alice", "a1")]);
    let peer = papers.nbdkit(&program, &["memory", "8M"]);
    let refused = |keys: &Papers, name: &str| {
        let said = Client::try_open(BACKENDS[0], &papers.uri(name, keys, "")).err().expect("it is refused");
        assert!(!said.contains('\n') && !said.contains("a1a1"), "{said}");
        said
    };
    let others = Papers::new(&[("alice", "a2"), ("carol", "a1")]);
    for name in ["alice", "carol"] {
        let said = refused(&others, name);
        // nbdkit just closes the connection.
        assert!(said.contains("TLS: the server ended the handshake") || said.contains("pre-shared key: "), "{said}");
    }
    assert!(refused(&papers, "dave").contains("no key for \"dave\""));
    std::fs::write(others.file(), "alice:a1").unwrap();
    assert!(refused(&others, "alice").contains("keys.psk: line 1: the key must have 16 to 64 bytes"));
    std::fs::remove_file(others.file()).unwrap();
    assert!(refused(&others, "alice").contains("keys.psk: No such file"));
    drop(peer);
    // It was killed, and left its socket behind.
    let _ = std::fs::remove_file(papers.socket());
    let peer = Peer::nbdkit(&program, &papers.socket(), &["--tls=off", "memory", "8M"]);
    assert!(refused(&papers, "alice").contains("refused STARTTLS"));
    drop(peer);
}

/// qemu-nbd with the same file.
#[test]
fn qemu_nbd_and_we_share_a_key() {
    let Some(program) = find("qemu-nbd") else { return };
    let papers = Papers::new(&[("alice", "a1")]);
    let object = format!("tls-creds-psk,id=t,endpoint=server,dir={}", papers.0.path().display());
    let peer = Peer::qemu_nbd(&program, &papers.socket(), papers.0.path(), &object);
    for backend in BACKENDS {
        let mut client = Client::open(backend, &papers.uri("alice", &papers, ""));
        exercise(&mut client);
        client.close();
    }
    drop(peer);
}
