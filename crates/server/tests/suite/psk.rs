//! Connections encrypted with a pre-shared key: which clients a key admits, what they see, and that
//! nothing of a broken connection remains. The client is the same library's other end; GnuTLS'
//! client is in `cli/tests/end_to_end/psk.rs`.

use crate::support;
use crate::support::by_hand::{
    ACK, Conversation, EPERM, ERR_TLS_REQD, ERR_UNKNOWN, OPT_ABORT, OPT_GO, OPT_INFO, answers_at_its_stop, at_tls, go,
    greeted, option,
};
use crate::support::{BACKENDS, Chance, LUN, Server, is_closed, limits};
use block::Span;
use cipher::{Key, Pulled, Session};
use server::{Access, AccessRule, Front, ServerLimits, Tls, TlsMode, TlsSource};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use uring::Choice;

/// A file of keys with these names, each of 32 distinct bytes.
fn keys(names: &[&str]) -> String {
    let hex = |name: &str| {
        (0..64)
            .map(|at| char::from(b"0123456789abcdef"[(at * 7 + name.len() * 5 + usize::from(name.as_bytes()[0])) % 16]))
            .collect::<String>()
    };
    names.iter().map(|name| format!("{name}:{}\n", hex(name))).collect()
}

/// A server that knows alice, bob and backup.
struct Keyed {
    server: Server,
    dir: tempfile::TempDir,
    tls: Tls,
}

impl Keyed {
    fn start(backend: Choice, limits: ServerLimits, mode: TlsMode, access: Access) -> Keyed {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("keys.psk");
        support::secret(&file, &keys(&["alice", "bob", "backup"]));
        let tls = Tls::load(TlsSource::Keys(file)).unwrap();
        let front = Front { tls_mode: Some(mode), tls: Some(tls.clone()), access, ..Front::default() };
        Keyed { server: Server::start_behind(backend, limits, front), dir, tls }
    }

    /// A client with the key of that name.
    fn connect(&self, name: &str) -> Secret {
        self.try_connect(&keys(&[name]), name).expect("the key opens")
    }

    fn try_connect(&self, keys: &str, name: &str) -> Result<Secret, String> {
        let session = Session::connect(&Key::find(keys, name).unwrap()).unwrap();
        let mut client = Secret { stream: at_tls(&self.server), session };
        loop {
            let step = client.session.shake_hands();
            client.flush().map_err(|error| error.to_string())?;
            if step.map_err(|error| error.to_string())? {
                return Ok(client);
            }
            client.feed().map_err(|error| error.to_string())?;
        }
    }
}

/// An encrypted stream.
struct Secret {
    stream: UnixStream,
    session: Session,
}

impl Secret {
    fn feed(&mut self) -> std::io::Result<()> {
        let mut chunk = [0; 20_000];
        match self.stream.read(&mut chunk)? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            got => {
                self.session.feed(&chunk[..got]);
                Ok(())
            }
        }
    }
}

impl Read for Secret {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            match self.session.read(into).map_err(std::io::Error::other)? {
                Pulled::Bytes(got) => return Ok(got),
                Pulled::End => return Ok(0),
                Pulled::Nothing => self.feed()?,
            }
        }
    }
}

impl Write for Secret {
    fn write(&mut self, clear: &[u8]) -> std::io::Result<usize> {
        self.session.write(clear).map_err(std::io::Error::other)?;
        Ok(clear.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let mut records = Vec::new();
        self.session.take_records(&mut records);
        self.stream.write_all(&records)
    }
}

/// Requests of many lengths, in separate records and sends; the end of the connection is announced.
#[test]
fn what_is_written_with_a_key_is_read_back() {
    for backend in BACKENDS {
        let keyed = Keyed::start(backend, limits(), TlsMode::Required, Access::default());
        let mut client = keyed.connect("alice");
        assert_eq!(client.ask(&go(OPT_GO, LUN)), ACK);
        for (round, len) in [1_usize, 512, 4096, 16_384, 100_000, 1 << 20].into_iter().enumerate() {
            let mut chance = Chance(round as u64);
            let bytes: Vec<u8> = (0..len).map(|_| chance.below(256) as u8).collect();
            assert_eq!(client.put(4096, &bytes), 0);
            assert!(client.get(4096, len) == (0, bytes), "{len} bytes");
        }
        drop(client);
        let mut client = keyed.connect("bob");
        assert_eq!(client.ask(&option(OPT_ABORT, &[])), ACK);
        // A stream that ends without a close notification would be an error here.
        assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
        keyed.server.until_empty();
    }
}

/// A stop with requests in flight: all are answered, followed by TLS's close notification.
#[test]
fn a_stop_answers_what_was_sent_and_says_goodbye() {
    let limits = ServerLimits { connection_requests: 1, receive: block::Bytes::kib(4), ..limits() };
    for backend in BACKENDS {
        let keyed = Keyed::start(backend, limits, TlsMode::Required, Access::default());
        let client = keyed.connect("alice").enter();
        answers_at_its_stop(keyed.server, client);
    }
}

/// A wrong key, an unknown name, and clear text where keys are required are refused; with optional
/// keys, both are served.
#[test]
fn only_who_knows_a_key_comes_in() {
    let keyed = Keyed::start(BACKENDS[0], limits(), TlsMode::Required, Access::default());
    for (text, name) in [(keys(&["carol"]), "carol"), (keys(&["bob"]).replace("bob", "alice"), "alice")] {
        assert!(keyed.try_connect(&text, name).is_err(), "{name}");
    }
    let mut clear = greeted(&keyed.server);
    assert_eq!(clear.ask(&go(OPT_GO, LUN)), ERR_TLS_REQD);
    drop(clear);
    keyed.server.until_empty();
    let keyed = Keyed::start(BACKENDS[0], limits(), TlsMode::Optional, Access::default());
    assert_eq!(keyed.server.connect().read(0, 1), Ok(vec![0]));
    assert_eq!(keyed.connect("bob").ask(&go(OPT_GO, LUN)), ACK);
    keyed.server.until_empty();
}

/// The key's name decides what is visible and what may be written.
#[test]
fn the_keys_name_decides_what_is_seen() {
    let rule = |name: &str, read_only| AccessRule {
        exports: vec!["svm01:/vol/vol1/*".into()],
        keys: vec![name.into()],
        read_only,
        ..AccessRule::default()
    };
    let access = Access::by_rules(vec![rule("alice", false), rule("back*", true)]);
    let keyed = Keyed::start(BACKENDS[0], limits(), TlsMode::Optional, access);
    let mut bob = keyed.connect("bob");
    assert_eq!(bob.list(), Vec::<String>::new());
    assert_eq!(bob.ask(&go(OPT_INFO, LUN)), ERR_UNKNOWN);
    let mut clear = greeted(&keyed.server);
    assert_eq!(clear.ask(&go(OPT_GO, LUN)), ERR_UNKNOWN);
    let mut alice = keyed.connect("alice");
    assert_eq!(alice.list(), [LUN]);
    assert_eq!(alice.ask(&go(OPT_GO, LUN)), ACK);
    assert_eq!(alice.put(0, b"data"), 0);
    let mut backup = keyed.connect("backup");
    assert_eq!(backup.ask(&go(OPT_GO, LUN)), ACK);
    assert_eq!(backup.put(0, b"harm"), EPERM);
    assert_eq!(backup.get(0, 4), (0, b"data".to_vec()));
    drop((bob, clear, alice, backup));
    keyed.server.until_empty();
}

/// A key that was removed from the file is refused after a renewal; open connections stay.
#[test]
fn keys_can_be_renewed() {
    let keyed = Keyed::start(BACKENDS[0], limits(), TlsMode::Required, Access::default());
    let mut early = keyed.connect("alice");
    support::secret(&keyed.dir.path().join("keys.psk"), &keys(&["bob"]));
    keyed.tls.renew().unwrap();
    assert!(keyed.try_connect(&keys(&["alice"]), "alice").is_err());
    assert_eq!(keyed.connect("bob").list(), [LUN]);
    assert_eq!(early.list(), [LUN]);
}

/// Writes data that the server may not accept any more: it closes invalid connections, and on a
/// busy machine the client's time may be over.
fn write(stream: &mut UnixStream, bytes: &[u8]) {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
    if let Err(error) = stream.write_all(bytes) {
        assert!(matches!(error.kind(), BrokenPipe | ConnectionReset), "{error}");
    }
}

/// Depends on the machine's speed, so nothing runs beside these tests: see CONTRIBUTING.md.
mod alone {
    use super::*;

    /// Handshakes that are cut, damaged, or stop half-way, in the smallest pieces: each ends, none
    /// takes more than its time, and another client is served throughout.
    #[test]
    fn broken_handshakes_leave_nothing_behind() {
        for backend in BACKENDS {
            let limits = ServerLimits { handshake_time: Span::from_millis(300), ..limits() };
            let keyed = Keyed::start(backend, limits, TlsMode::Required, Access::default());
            let mut steady = keyed.connect("bob");
            assert_eq!(steady.ask(&go(OPT_GO, LUN)), ACK);
            let mut chance = Chance(77);
            let mut silent = Vec::new();
            for round in 0..40 {
                let mut session = Session::connect(&Key::find(&keys(&["alice"]), "alice").unwrap()).unwrap();
                let mut stream = at_tls(&keyed.server);
                let mut hello = Vec::new();
                assert!(!session.shake_hands().unwrap());
                session.take_records(&mut hello);
                match round % 4 {
                    // Cut off.
                    0 => write(&mut stream, &hello[..chance.below(hello.len() as u64) as usize]),
                    // Damaged: an alert and the end, or an answer if the change is in a part that
                    // is not verified before the key.
                    1 => {
                        let at = chance.below(hello.len() as u64) as usize;
                        hello[at] ^= 1 << chance.below(8);
                        write(&mut stream, &hello);
                        silent.push(stream);
                    }
                    // No TLS at all.
                    2 => {
                        let garbage: Vec<u8> = (0..3000).map(|_| chance.below(256) as u8).collect();
                        write(&mut stream, &garbage);
                        assert!(is_closed(&mut stream));
                    }
                    // Half of it, and then nothing.
                    _ => {
                        for byte in &hello[..hello.len() / 2] {
                            write(&mut stream, &[*byte]);
                        }
                        silent.push(stream);
                    }
                }
                assert_eq!(steady.get(0, 512), (0, vec![0; 512]));
            }
            // A client that stopped is told nothing, and is closed at its deadline.
            assert!(silent.iter_mut().all(is_closed));
            drop(steady);
            keyed.server.until_empty();
        }
    }
}
