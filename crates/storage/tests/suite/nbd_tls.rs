//! Our NBD client over TLS, against nbdkit and qemu-nbd: what is exchanged, and which peers are not
//! trusted.

use crate::support;
use crate::support::{BACKENDS, Client, Peer, find, lose_nbdkit};
use block::Op;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An authority, and its certificates for a server and a client, under the file names of libnbd.
struct Papers {
    folder: TempDir,
}

impl Papers {
    /// The server's certificate is for `host`.
    fn new(host: &str) -> Papers {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(folder.path().join("ca-cert.pem"), authority.pem()).unwrap();
        for (who, names) in [("server", vec![host.to_owned()]), ("client", vec!["client.test".to_owned()])] {
            let key = KeyPair::generate().unwrap();
            let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
            std::fs::write(folder.path().join(format!("{who}-cert.pem")), certificate.pem()).unwrap();
            support::secret(&folder.path().join(format!("{who}-key.pem")), &key.serialize_pem());
        }
        Papers { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    fn nbdkit(&self, program: &Path, more: &[&str]) -> Peer {
        let certificates = format!("--tls-certificates={}", self.path().display());
        Peer::nbdkit(program, &self.socket(), &[&["--tls=require", &certificates], more].concat())
    }

    fn uri(&self, parameters: &str) -> String {
        let (socket, folder) = (self.socket(), self.path());
        format!("nbds+unix:///?socket={}&tls-certificates={}{parameters}", socket.display(), folder.display())
    }
}

/// Many writes of different lengths at once, then everything is read back, in pieces far below and
/// above a record's 16 KiB.
fn exercise(client: &mut Client) {
    let mut model = vec![0; 4 << 20];
    client.submit(0, 4 << 20, Op::Zero { no_hole: true, fast_only: false }).unwrap();
    assert!(client.all(1).values().all(Result::is_ok));
    for n in 0..40u64 {
        let (at, len) = (n * 100_000 / 512 * 512, 512 + n * 2048);
        let bytes = vec![n as u8 + 1; len as usize];
        client.write(at, &bytes);
        model[at as usize..(at + len) as usize].copy_from_slice(&bytes);
        // One after the other, as neighbours overlap.
        assert!(client.all(1).values().all(Result::is_ok));
    }
    for round in 0..3 {
        let writes: Vec<u64> = (0..64).map(|n| client.write(n * 65_536, &[round + 7; 512])).collect();
        (0..64).for_each(|n| model[n * 65_536..][..512].fill(round + 7));
        let ended = client.all(64);
        assert!(writes.iter().all(|tag| ended[tag].is_ok()));
        let reads: Vec<u64> = (0..64).map(|n| client.read(n * 65_536, 4096)).collect();
        let ended = client.all(64);
        for (n, tag) in reads.iter().enumerate() {
            assert!(ended[tag].as_ref().unwrap() == &model[n * 65_536..][..4096], "{round}: {n}");
        }
    }
    let (all, flush) = (client.read(0, 4 << 20), client.submit(0, 0, Op::Flush).unwrap());
    let ended = client.all(2);
    assert!(ended[&all].as_ref().unwrap() == &model && ended[&flush].is_ok());
}

/// An nbdkit that requires TLS, over a Unix socket, with every framing it supports; and over
/// several connections.
#[test]
fn nbdkit_and_we_talk_in_secret() {
    let Some(program) = find("nbdkit") else { return };
    let papers = Papers::new("server.test");
    let peer = papers.nbdkit(&program, &["memory", "8M"]);
    for backend in BACKENDS {
        for parameters in ["&replies=simple", "&replies=extended", "&connections=4"] {
            let mut client = Client::open(backend, &papers.uri(parameters));
            exercise(&mut client);
            client.close();
        }
    }
    let clear = format!("nbd+unix:///?socket={}", papers.socket().display());
    let refused = Client::try_open(BACKENDS[0], &clear).err().unwrap();
    assert!(refused.contains("TLS"), "{refused}");
    drop(peer);
}

/// An nbdkit that requires client certificates gets ours; a client without one is refused.
#[test]
fn a_server_that_wants_to_know_us_does() {
    let Some(program) = find("nbdkit") else { return };
    let papers = Papers::new("server.test");
    let peer = papers.nbdkit(&program, &["--tls-verify-peer", "memory", "8M"]);
    let mut client = Client::open(BACKENDS[0], &papers.uri(""));
    exercise(&mut client);
    client.close();
    let nameless = Papers::new("server.test");
    std::fs::copy(papers.path().join("ca-cert.pem"), nameless.path().join("ca-cert.pem")).unwrap();
    ["client-cert.pem", "client-key.pem"].iter().for_each(|file| {
        std::fs::remove_file(nameless.path().join(file)).unwrap();
    });
    let uri =
        format!("nbds+unix:///?socket={}&tls-certificates={}", papers.socket().display(), nameless.path().display());
    assert!(Client::try_open(BACKENDS[0], &uri).is_err());
    drop(peer);
}

/// The server's certificate must be from the authority, and for the host that was asked for if that
/// has a name.
#[test]
fn an_impostor_is_not_believed() {
    let Some(program) = find("nbdkit") else { return };
    let (papers, others) = (Papers::new("server.test"), Papers::new("server.test"));
    let peer = papers.nbdkit(&program, &["memory", "8M"]);
    let named = |name: &str| papers.uri(&format!("&tls-hostname={name}"));
    Client::open(BACKENDS[0], &named("server.test")).close();
    let refused = Client::try_open(BACKENDS[0], &named("elsewhere.test")).err().unwrap();
    assert!(refused.contains("not valid for name"), "{refused}");
    let uri =
        format!("nbds+unix:///?socket={}&tls-certificates={}", papers.socket().display(), others.path().display());
    let refused = Client::try_open(BACKENDS[0], &uri).err().unwrap();
    assert!(refused.contains("certificate"), "{refused}");
    let uri = format!("nbds+unix:///?socket={}&tls-certificates=/nowhere", papers.socket().display());
    let refused = Client::try_open(BACKENDS[0], &uri).err().unwrap();
    assert!(refused.contains("/nowhere/ca-cert.pem: "), "{refused}");
    drop(peer);
}

/// A server without TLS is not used in clear text instead.
#[test]
fn a_server_without_tls_is_left() {
    let Some(program) = find("nbdkit") else { return };
    let papers = Papers::new("server.test");
    let peer = Peer::nbdkit(&program, &papers.socket(), &["--tls=off", "memory", "8M"]);
    let refused = Client::try_open(BACKENDS[0], &papers.uri("")).err().unwrap();
    assert!(refused.contains("refused STARTTLS"), "{refused}");
    drop(peer);
}

/// A server that is lost comes back encrypted, too: reads are sent again, writes are not.
#[test]
fn a_lost_server_is_found_again_in_secret() {
    let Some(program) = find("nbdkit") else { return };
    for backend in BACKENDS {
        let papers = Papers::new("server.test");
        let uri = papers.uri("&reconnect=600");
        let (mut client, peer) = lose_nbdkit(backend, &uri, |more| papers.nbdkit(&program, more));
        exercise(&mut client);
        client.close();
        drop(peer);
    }
}

/// qemu-nbd with the same certificates.
#[test]
fn qemu_nbd_and_we_talk_in_secret() {
    let Some(program) = find("qemu-nbd") else { return };
    let papers = Papers::new("server.test");
    let object = format!("tls-creds-x509,id=t,endpoint=server,verify-peer=on,dir={}", papers.path().display());
    let peer = Peer::qemu_nbd(&program, &papers.socket(), papers.path(), &object);
    for backend in BACKENDS {
        let mut client = Client::open(backend, &papers.uri(""));
        exercise(&mut client);
        client.close();
    }
    drop(peer);
}
