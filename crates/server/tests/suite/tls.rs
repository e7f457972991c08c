//! Encrypted connections: what is accepted, what is refused, and that nothing of a broken one
//! remains.
//!
//! The client here is rustls over a socket, with the protocol's bytes written by hand, so that it
//! can also misbehave.

use crate::support;
use crate::support::by_hand::*;
use crate::support::{BACKENDS, Chance, LUN, Server, is_closed, limits};
use block::{Bytes, Span};
use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion, version};
use server::{Access, AccessRule, Front, Listen, ServerLimits, Tls, TlsFiles, TlsMode};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use uring::Choice;

/// A certificate authority and what it signed.
struct Authority {
    dir: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

/// A client's certificate and key.
type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

impl Authority {
    /// An authority with a certificate for the server, in a folder as libnbd uses it.
    fn new() -> Authority {
        let dir = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let authority = Authority { dir, issuer: Issuer::new(params, key), certificate };
        std::fs::write(authority.dir.path().join("ca-cert.pem"), authority.certificate.pem()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".into()]).unwrap();
        let server = params.signed_by(&key, &authority.issuer).unwrap();
        std::fs::write(authority.dir.path().join("server-cert.pem"), server.pem()).unwrap();
        support::secret(&authority.dir.path().join("server-key.pem"), &key.serialize_pem());
        authority
    }

    /// A client's certificate with that common name.
    fn client(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.der().clone(), PrivateKeyDer::Pkcs8(key.serialize_der().into()))
    }

    fn tls(&self, verify_clients: bool) -> Tls {
        Tls::load(TlsFiles::in_folder(self.dir.path(), verify_clients)).unwrap()
    }

    /// A server that requires TLS, and client certificates if clients are verified.
    fn server(&self, backend: Choice, limits: ServerLimits, verify_clients: bool) -> Server {
        self.server_with(backend, limits, verify_clients, Access::default())
    }

    fn server_with(&self, backend: Choice, limits: ServerLimits, verify_clients: bool, access: Access) -> Server {
        let tls = Some(self.tls(verify_clients));
        let front = Front { tls_mode: Some(TlsMode::Required), tls, access, ..Front::default() };
        Server::start_behind(backend, limits, front)
    }

    fn config(&self, identity: Option<Identity>, versions: &[&'static SupportedProtocolVersion]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
        let builder = builder.with_root_certificates(roots);
        Arc::new(match identity {
            Some((certificate, key)) => builder.with_client_auth_cert(vec![certificate], key).unwrap(),
            None => builder.with_no_client_auth(),
        })
    }

    fn connection(&self, identity: Option<Identity>) -> ClientConnection {
        let config = self.config(identity, &[&version::TLS13]);
        ClientConnection::new(config, ServerName::try_from("localhost").unwrap()).unwrap()
    }

    /// A client after its STARTTLS.
    fn connect(&self, server: &Server, identity: Option<Identity>) -> Secure {
        Secure::new(self.connection(identity), at_tls(server))
    }
}

/// An encrypted connection.
type Secure = StreamOwned<ClientConnection, UnixStream>;

fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut chance = Chance(seed);
    (0..len.div_ceil(8)).flat_map(|_| chance.below(u64::MAX).to_le_bytes()).take(len).collect()
}

/// Requests from a byte to a MiB, which take many records and many sends, work as in clear text, in
/// both versions of TLS and on both backends. A disconnect is answered by TLS's close notification.
#[test]
fn what_is_written_encrypted_is_read_back() {
    let authority = Authority::new();
    for (backend, version) in BACKENDS.iter().zip([&version::TLS13, &version::TLS12]) {
        let server = authority.server(*backend, limits(), false);
        let config = authority.config(None, &[version]);
        let connection = ClientConnection::new(config, ServerName::try_from("localhost").unwrap()).unwrap();
        let mut client = Secure::new(connection, at_tls(&server)).enter();
        for (round, len) in [1_usize, 512, 4096, 16_384, 100_000, 1 << 20].into_iter().enumerate() {
            let bytes = pattern(len, round as u64);
            assert_eq!(client.put(4096, &bytes), 0);
            // The same four times at once: replies are gathered, and encrypted in portions.
            let asked: Vec<_> = (0..4).map(|cookie| request(READ, cookie, 4096, len as u32, &[])).collect();
            for (errno, data) in client.requests(&asked, &[len; 4]) {
                assert!(errno == 0 && data == bytes, "{len} bytes");
            }
        }
        client.write_all(&request(DISCONNECT, 9, 0, 0, &[])).unwrap();
        // A stream that ends without a close notification is an error for rustls.
        assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
        server.until_empty();
    }
}

/// Before TLS, a server that requires it answers nothing else.
#[test]
fn nothing_but_starttls_and_abort_is_answered_in_clear_text() {
    let authority = Authority::new();
    let server = authority.server(BACKENDS[0], limits(), false);
    let mut stream = greeted(&server);
    for number in [OPT_LIST, OPT_INFO, OPT_GO, OPT_STRUCTURED, 9, OPT_SET_META, 11, 77] {
        stream.write_all(&go(number, LUN)).unwrap();
        let (kind, words) = reply(&mut stream).unwrap();
        assert_eq!(kind, ERR_TLS_REQD, "{number}");
        assert!(!String::from_utf8_lossy(&words).contains(LUN), "no name is told");
    }
    assert_eq!(stream.ask(&option(OPT_ABORT, &[])), ACK);
    // EXPORT_NAME cannot be answered with an error.
    let mut old = greeted(&server);
    old.write_all(&option(OPT_EXPORT_NAME, LUN.as_bytes())).unwrap();
    assert!(is_closed(&mut old));
    server.until_empty();
}

/// Bytes that an attacker put after STARTTLS are never taken for data over TLS, and what was
/// negotiated before is forgotten.
#[test]
fn nothing_said_in_clear_text_counts_afterwards() {
    let authority = Authority::new();
    let front = Front { tls_mode: Some(TlsMode::Optional), tls: Some(authority.tls(false)), ..Front::default() };
    let server = Server::start_behind(BACKENDS[0], limits(), front);
    let mut injected = greeted(&server);
    injected.write_all(&[option(OPT_STARTTLS, &[]), go(OPT_GO, LUN)].concat()).unwrap();
    assert!(is_closed(&mut injected));
    // Structured replies are negotiated first; after TLS a context requires them to be negotiated
    // again.
    let mut stream = greeted(&server);
    assert_eq!(stream.ask(&option(OPT_STRUCTURED, &[])), ACK);
    assert_eq!(stream.ask(&option(OPT_STARTTLS, &[])), ACK);
    let mut client = Secure::new(authority.connection(None), stream);
    let context = [&[0; 4][..], &[0, 0, 0, 0]].concat();
    assert_eq!(client.ask(&option(OPT_SET_META, &context)), ERR_INVALID);
    assert_eq!(client.ask(&option(OPT_STARTTLS, &[])), ERR_INVALID, "it is encrypted already");
    client.enter();
    // Without TLS it is served too: that is the meaning of optional.
    assert_eq!(server.connect().read(0, 1), Ok(vec![0]));
    server.until_empty();
}

/// If client certificates are verified, clients without one or with another authority's are
/// refused.
#[test]
fn only_certificates_of_the_authority_come_in() {
    let (authority, other) = (Authority::new(), Authority::new());
    for backend in BACKENDS {
        let server = authority.server(backend, limits(), true);
        for identity in [None, Some(other.client("db1"))] {
            let mut client = authority.connect(&server, identity);
            // With TLS 1.3 the client's handshake ends first, and it learns of the refusal with the
            // first answer.
            let heard = client.write_all(&option(OPT_LIST, &[])).and_then(|()| reply(&mut client));
            assert!(heard.is_err(), "{heard:?}");
        }
        let mut client = authority.connect(&server, Some(authority.client("db1"))).enter();
        assert_eq!(client.get(0, 8), (0, vec![0; 8]));
        drop(client);
        server.until_empty();
    }
}

/// A revoked certificate is refused, another one is accepted; with an outdated list, or one of
/// another authority, all are refused.
#[test]
fn what_was_taken_back_opens_nothing() {
    let authority = Authority::new();
    let numbered = |number: u64| {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.serial_number = Some(number.into());
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &authority.issuer).unwrap();
        (certificate.der().clone(), PrivateKeyDer::Pkcs8(key.serialize_der().into()))
    };
    let (gone, good) = (numbered(4711), numbered(4712));
    let list = |by: &Authority, in_force: bool| {
        let revoked = rcgen::RevokedCertParams {
            serial_number: 4711.into(),
            revocation_time: rcgen::date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let params = rcgen::CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2024, 1, 1),
            next_update: if in_force { rcgen::date_time_ymd(2400, 1, 1) } else { rcgen::date_time_ymd(2024, 2, 1) },
            crl_number: 1.into(),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: rcgen::KeyIdMethod::Sha256,
        };
        let list = params.signed_by(&by.issuer).unwrap().pem().unwrap();
        std::fs::write(authority.dir.path().join("ca-crl.pem"), list).unwrap();
    };
    list(&authority, true);
    let tls = authority.tls(true);
    let front = Front { tls_mode: Some(TlsMode::Required), tls: Some(tls.clone()), ..Front::default() };
    let server = Server::start_behind(BACKENDS[0], limits(), front);
    let comes_in = |identity: &Identity| {
        let identity = (identity.0.clone(), identity.1.clone_key());
        let mut client = authority.connect(&server, Some(identity));
        client.write_all(&option(OPT_ABORT, &[])).and_then(|()| reply(&mut client)).is_ok()
    };
    assert!(!comes_in(&gone) && comes_in(&good));
    list(&authority, false);
    tls.renew().unwrap();
    assert!(!comes_in(&gone) && !comes_in(&good), "the list is out of date");
    list(&Authority::new(), true);
    tls.renew().unwrap();
    assert!(!comes_in(&gone) && !comes_in(&good), "the list is another authority's");
    list(&authority, true);
    tls.renew().unwrap();
    assert!(!comes_in(&gone) && comes_in(&good));
    std::fs::write(authority.dir.path().join("ca-crl.pem"), "no list").unwrap();
    assert!(tls.renew().unwrap_err().to_string().contains("ca-crl.pem: certificate revocation lists in PEM: "));
}

/// A rule gives an export to one name. Another client neither lists it nor can distinguish it from
/// one that does not exist. A read-only client is told so, and its writes are refused.
#[test]
fn names_decide_what_is_seen() {
    let authority = Authority::new();
    let rule = |name: &str, read_only| AccessRule {
        exports: vec!["svm01:/vol/vol1/*".into()],
        certificates: vec![name.into()],
        read_only,
        ..AccessRule::default()
    };
    let access = Access::by_rules(vec![rule("CN=db1", false), rule("CN=backup*", true)]);
    let server = authority.server_with(BACKENDS[0], limits(), true, access);
    let mut stranger = authority.connect(&server, Some(authority.client("web")));
    assert_eq!(stranger.list(), Vec::<String>::new());
    for name in [LUN, "svm01:/vol/vol1/lun1", "/vol/vol1/none", ""] {
        assert_eq!(stranger.ask(&go(OPT_INFO, name)), ERR_UNKNOWN, "{name}");
    }
    let mut owner = authority.connect(&server, Some(authority.client("db1")));
    assert_eq!(owner.list(), [LUN]);
    let mut owner = owner.enter();
    assert_eq!(owner.put(0, b"data"), 0);
    let mut reader = authority.connect(&server, Some(authority.client("backup7"))).enter();
    let asked = [request(WRITE, 0, 0, 4, b"harm"), request(READ, 1, 0, 4, &[])];
    assert_eq!(reader.requests(&asked, &[0, 4]), [(EPERM, Vec::new()), (0, b"data".to_vec())]);
    drop((stranger, owner, reader));
    server.until_empty();
}

/// Everything that a well-behaved client sends, cut at any point or changed in one place: nothing
/// remains.
#[test]
fn broken_tls_ends_its_connection_and_leaves_nothing() {
    let authority = Authority::new();
    for backend in BACKENDS {
        let server = authority.server(backend, limits(), false);
        let mut witness = authority.connect(&server, None).enter();
        for seed in 0..60 {
            let mut chance = Chance(seed);
            let mut connection = authority.connection(None);
            let mut hello = Vec::new();
            connection.write_tls(&mut hello).unwrap();
            let mut stream = at_tls(&server);
            match chance.below(4) {
                0 => hello.truncate(chance.below(hello.len() as u64) as usize),
                1 => {
                    let at = chance.below(hello.len() as u64) as usize;
                    hello[at] ^= 1 << chance.below(8);
                }
                2 => hello = pattern(chance.below(100_000) as usize, seed),
                // A valid beginning, and then noise.
                _ => hello.extend(pattern(chance.below(40_000) as usize, seed)),
            }
            // The server may hang up in the middle.
            let _ = stream.write_all(&hello);
            if chance.below(2) == 0 {
                let _ = stream.shutdown(std::net::Shutdown::Write);
                is_closed(&mut stream);
            }
        }
        // The same in transmission: a complete handshake, then an invalid record.
        let mut client = authority.connect(&server, None).enter();
        client.sock.write_all(&[23, 3, 3, 0, 32]).unwrap();
        client.sock.write_all(&[7; 32]).unwrap();
        assert!(is_closed(&mut client.sock));
        assert_eq!(witness.get(0, 1), (0, vec![0]));
        drop((client, witness));
        server.until_empty();
    }
}

/// A stream in pieces of one byte is the same stream.
#[test]
fn records_may_come_in_the_smallest_pieces() {
    let authority = Authority::new();
    let server = authority.server(BACKENDS[0], limits(), false);
    let mut client = authority.connect(&server, None).enter();
    let bytes = pattern(3000, 1);
    let Secure { conn, sock } = &mut client;
    conn.writer().write_all(&request(WRITE, 0, 0, 3000, &bytes)).unwrap();
    let mut sealed = Vec::new();
    conn.write_tls(&mut sealed).unwrap();
    for byte in sealed {
        sock.write_all(&[byte]).unwrap();
    }
    let mut head = [0; 16];
    client.read_exact(&mut head).unwrap();
    assert_eq!(head[4..8], [0; 4]);
    assert!(client.get(0, 3000).1 == bytes);
}

/// A client that requests far more than it reads is held back over TLS as in clear text: at most
/// one portion is encrypted and unsent, and others are served.
#[test]
fn an_encrypted_client_that_never_reads_is_held_back() {
    let authority = Authority::new();
    let limits = ServerLimits { connections: 16, connection_in_flight: Bytes::mib(2), ..limits() };
    for backend in BACKENDS {
        let server = authority.server(backend, limits, false);
        let mut deaf = authority.connect(&server, None).enter();
        let reads: Vec<_> = (0..64).map(|n| request(READ, n, 0, 256 << 10, &[])).collect();
        deaf.write_all(&reads.concat()).unwrap();
        let account = server.until("asleep", |account| account.gate.in_flight == 0 && account.turns <= 2);
        assert!(account.claimed <= Bytes::mib(3), "{account:?}");
        let mut witness = authority.connect(&server, None).enter();
        assert_eq!(witness.get(0, 4096), (0, vec![0; 4096]));
        drop((deaf, witness));
        server.until_empty();
    }
}

/// A stop with requests in flight: all are answered, followed by TLS's close notification.
#[test]
fn a_stop_answers_what_was_sent_and_says_goodbye() {
    let authority = Authority::new();
    let limits = ServerLimits { connection_requests: 1, receive: Bytes::kib(4), ..limits() };
    for backend in BACKENDS {
        for version in [&version::TLS13, &version::TLS12] {
            let server = authority.server(backend, limits, false);
            let config = authority.config(None, &[version]);
            let connection = ClientConnection::new(config, ServerName::try_from("localhost").unwrap()).unwrap();
            let client = Secure::new(connection, at_tls(&server)).enter();
            answers_at_its_stop(server, client);
        }
    }
}

/// Renewed certificates apply to later connections, without a restart.
#[test]
fn certificates_can_be_renewed() {
    let (authority, next) = (Authority::new(), Authority::new());
    let tls = authority.tls(false);
    let front = Front { tls_mode: Some(TlsMode::Required), tls: Some(tls.clone()), ..Front::default() };
    let server = Server::start_behind(BACKENDS[0], limits(), front);
    let mut early = authority.connect(&server, None).enter();
    for file in ["server-cert.pem", "server-key.pem"] {
        std::fs::copy(next.dir.path().join(file), authority.dir.path().join(file)).unwrap();
    }
    tls.renew().unwrap();
    let mut late = next.connect(&server, None).enter();
    for client in [&mut early, &mut late] {
        assert_eq!(client.get(0, 1), (0, vec![0]));
    }
    let mut trusts_the_old = authority.connect(&server, None);
    assert!(trusts_the_old.write_all(&option(OPT_LIST, &[])).and_then(|()| reply(&mut trusts_the_old)).is_err());
}

/// A client that falls silent in the middle of TLS's handshake is closed at the handshake's
/// deadline.
#[test]
fn half_a_handshake_of_tls_is_ended() {
    let authority = Authority::new();
    let limits = ServerLimits { handshake_time: Span::from_millis(300), ..limits() };
    let server = authority.server(BACKENDS[0], limits, false);
    let mut stream = at_tls(&server);
    let mut hello = Vec::new();
    authority.connection(None).write_tls(&mut hello).unwrap();
    stream.write_all(&hello[..hello.len() / 2]).unwrap();
    assert!(is_closed(&mut stream));
    server.until_empty();
}

/// An address has a limit of its own: one more connection is told so, with the limit's name, and
/// other addresses are accepted.
#[test]
fn an_address_with_too_many_connections_is_told_so() {
    let front = Front { listen: vec![Listen::Tcp("127.0.0.1:0".into())], ..Front::default() };
    let limits = ServerLimits { connections_per_address: 2, ..limits() };
    let server = Server::start_behind(BACKENDS[0], limits, front);
    let address = server.control.shard().listening()[1].clone();
    let connect = || {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.read_exact(&mut [0; 18]).unwrap();
        stream.write_all(&[&FIXED_NO_ZEROES[..], &go(OPT_GO, LUN)].concat()).unwrap();
        let answer = loop {
            match reply(&mut stream).unwrap() {
                (REP_INFO, _) => {}
                answer => break answer,
            }
        };
        (stream, answer)
    };
    let places = [connect(), connect()];
    assert!(places.iter().all(|(_, (kind, _))| *kind == ACK));
    let (_, (kind, words)) = connect();
    assert_eq!(kind, ERR_POLICY);
    assert!(String::from_utf8_lossy(&words).contains("`connections_per_address`"), "{words:?}");
    assert_eq!(server.connect().read(0, 1), Ok(vec![0]), "another way in has room");
    drop(places);
    server.until("gone", |account| account.connections == 0);
    assert_eq!(connect().1.0, ACK, "places are given back");
}

/// Depends on the machine's speed, so nothing runs beside these tests: see CONTRIBUTING.md.
mod alone {
    use super::*;

    /// A client that is silent for `idle_time` is closed; one that keeps sending requests stays.
    #[test]
    fn silence_has_a_limit_if_one_is_set() {
        let limits = ServerLimits { idle_time: Span::from_millis(2500), ..limits() };
        let server = Server::start(BACKENDS[0], limits);
        let silent = server.connect();
        let busy = std::cell::RefCell::new(server.connect());
        server.until("one left", |account| {
            assert_eq!(busy.borrow_mut().read(0, 1), Ok(vec![0]), "it never was silent");
            account.connections == 1
        });
        assert!(is_closed(&mut { silent }.stream));
    }
}

/// Clear text beyond loopback has to be allowed explicitly.
#[test]
fn off_loopback_tls_is_required_unless_it_is_turned_off() {
    let authority = Authority::new();
    let front = |address: &str, tls: bool, mode| Front {
        listen: vec![Listen::Tcp(address.into())],
        tls: tls.then(|| authority.tls(false)),
        tls_mode: mode,
        ..Front::default()
    };
    let check = |front: Front| front.check().map(|lines| lines[0].clone()).map_err(|error| error.to_string());
    assert_eq!(check(front("127.0.0.1:1", false, None)).unwrap(), "127.0.0.1:1");
    assert_eq!(check(front("[::1]:1", true, None)).unwrap(), "[::1]:1 (TLS optional)");
    assert_eq!(check(front("0.0.0.0:1", true, None)).unwrap(), "0.0.0.0:1 (TLS required)");
    assert_eq!(check(front("10.1.1.1:1", false, Some(TlsMode::Off))).unwrap(), "10.1.1.1:1");
    let refused = check(front("[::]:1", false, None)).unwrap_err();
    assert!(refused.contains("[::]:1") && refused.contains("--tls-certificates") && refused.contains("--tls off"));
    assert!(check(front("127.0.0.1:1", false, Some(TlsMode::Required))).unwrap_err().contains("no certificates"));
}
