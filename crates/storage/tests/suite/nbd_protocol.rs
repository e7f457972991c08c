//! Our NBD client against a server that sends exactly what a test says: pieces in any order, some
//! of them, too many of them, or nothing at all.

use crate::support::{BACKENDS, Client};
use block::{Driver as _, Fault, Op};
use nbd::{
    BlockSizes, Command, CommandFlags, ExportInfo, ExportRefusal, Exports, Framing, HandshakeLimits, Last, NbdErrno,
    NbdRequest, Parsed, ReplyTo, Rules, ServerHandshake, ServerStep, TlsMode, TransmissionFlags, Wishes,
};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread::JoinHandle;

const SIZE: u64 = 1 << 20;

struct One;

impl Exports for One {
    fn list(&self, _each: &mut dyn FnMut(&str, Option<&str>)) {}

    fn find(&self, _name: &str) -> Result<ExportInfo, ExportRefusal> {
        let features = TransmissionFlags::SEND_FLUSH | TransmissionFlags::SEND_TRIM;
        let block = BlockSizes { minimum: 1, preferred: 4096, maximum: 1 << 25 };
        Ok(ExportInfo { size: SIZE, features, block, ..ExportInfo::default() })
    }
}

/// The server's end of a connection after its handshake.
struct Peer {
    stream: UnixStream,
    rules: Rules,
    received: Vec<u8>,
}

impl Peer {
    fn shake_hands(mut stream: UnixStream) -> Peer {
        let mut handshake = ServerHandshake::new(HandshakeLimits::SERVER, TlsMode::Off);
        let (mut received, mut out) = (Vec::new(), Vec::new());
        handshake.start(&mut out);
        loop {
            stream.write_all(&out).unwrap();
            out.clear();
            let mut rest = &received[..];
            let step = handshake.receive(&mut rest, &One, &mut out).unwrap();
            let taken = received.len() - rest.len();
            received.drain(..taken);
            match step {
                ServerStep::Continue => {}
                ServerStep::NeedMore(_) => {
                    let mut chunk = [0; 4096];
                    let got = stream.read(&mut chunk).unwrap();
                    received.extend_from_slice(&chunk[..got]);
                }
                ServerStep::Transmission(admitted) => {
                    stream.write_all(&out).unwrap();
                    return Peer { stream, rules: Rules::of_server(&admitted), received };
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Reads the next request, without its payload.
    fn request(&mut self) -> NbdRequest {
        loop {
            if let Parsed::Message(request, head) = self.rules.parse(&self.received).unwrap() {
                let whole = head + request.payload as usize;
                if self.received.len() >= whole {
                    self.received.drain(..whole);
                    return request;
                }
            }
            let mut chunk = vec![0; 1 << 16];
            let got = self.stream.read(&mut chunk).unwrap();
            assert!(got > 0, "the client went first");
            self.received.extend_from_slice(&chunk[..got]);
        }
    }

    fn framing(&self) -> Framing {
        self.rules.framing
    }
}

/// Serves one connection with `script` in the background.
fn serve<T: Send + 'static>(path: &Path, script: impl FnOnce(Peer) -> T + Send + 'static) -> JoinHandle<T> {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || script(Peer::shake_hands(listener.accept().unwrap().0)))
}

fn wishes(framing: Framing) -> Wishes {
    Wishes {
        structured: framing >= Framing::Structured,
        extended: framing == Framing::Extended,
        block_sizes: true,
        ..Wishes::plain("x")
    }
}

/// The export's byte at an offset.
fn byte(at: u64) -> u8 {
    (at % 251) as u8 | 1
}

fn bytes(at: u64, len: u64) -> Vec<u8> {
    (at..at + len).map(byte).collect()
}

/// A complete answer.
fn answer(framing: Framing, request: &NbdRequest) -> Vec<u8> {
    let mut out = Vec::new();
    match request.command {
        Command::Read => {
            framing.read(&mut out, ReplyTo::from(request), request.length as u32);
            out.extend(bytes(request.offset, request.length));
        }
        _ => framing.ok(&mut out, ReplyTo::from(request)),
    }
    out
}

/// Answers come in order, so of four requests as many succeed as there were complete answers, and
/// the others are gone.
#[test]
fn a_server_that_vanishes_at_any_byte_ends_each_request_once() {
    // Three reads and a write; their answers are cut at every byte.
    const LEN: u64 = 50;
    let mut seen = [false; 5];
    for (n, framing) in [Framing::Simple, Framing::Structured, Framing::Extended].into_iter().enumerate() {
        for cut in (0..=3 * (40 + LEN as usize) + 32).step_by(7) {
            let backend = BACKENDS[cut % 2];
            let keep_data = n % 2 == cut % 2;
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s");
            let server = serve(&path, move |mut peer| {
                let requests: Vec<NbdRequest> = (0..4).map(|_| peer.request()).collect();
                let answers = requests.iter().map(|request| answer(peer.framing(), request));
                let (mut all, mut whole) = (Vec::new(), 0);
                for answer in answers {
                    all.extend(answer);
                    whole += usize::from(all.len() <= cut);
                }
                peer.stream.write_all(&all[..cut.min(all.len())]).unwrap();
                whole
            });
            let mut client = Client::connect(backend, &path, wishes(framing), keep_data);
            let reads: Vec<u64> = (0..3).map(|n| client.read(n * 1000, LEN)).collect();
            let write = client.write(5000, &[1; 600]);
            let ended = client.all(4);
            let whole = server.join().unwrap();
            for (n, tag) in reads.iter().chain([&write]).enumerate() {
                let data = if keep_data && n < 3 { bytes(n as u64 * 1000, LEN) } else { Vec::new() };
                let expected = if n < whole { Ok(data) } else { Err(Fault::Gone) };
                assert!(ended[tag] == expected, "{framing:?}, cut at {cut}, request {n}: {:?}", ended[tag]);
            }
            seen[whole] = true;
            // Nothing is sent twice, and no more requests are accepted.
            let late = client.submit(0, 512, Op::Read).unwrap();
            let late_write = client.write(0, &[1; 512]);
            let ended = client.all(2);
            assert_eq!((&ended[&late], &ended[&late_write]), (&Err(Fault::Gone), &Err(Fault::Gone)));
            client.close();
        }
    }
    assert_eq!(seen, [true; 5], "every number of whole answers came up");
}

#[test]
fn pieces_and_holes_come_in_any_order_and_between_each_other() {
    for backend in BACKENDS {
        for framing in [Framing::Structured, Framing::Extended] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s");
            let server = serve(&path, move |mut peer| {
                let (a, b) = (peer.request(), peer.request());
                let (to_a, to_b) = (ReplyTo::from(&a), ReplyTo::from(&b));
                let chunks = peer.framing().chunks().unwrap();
                let mut out = Vec::new();
                let data = |out: &mut Vec<u8>, to, at: u64, len: u64| {
                    chunks.data(out, to, at, len as u32, Last::No);
                    out.extend(bytes(at, len));
                };
                data(&mut out, to_a, a.offset + 3000, 1096);
                chunks.hole(&mut out, to_b, b.offset, 4000, Last::No);
                data(&mut out, to_a, a.offset, 1000);
                chunks.hole(&mut out, to_a, a.offset + 1000, 2000, Last::No);
                data(&mut out, to_b, b.offset + 4000, 96);
                chunks.done(&mut out, to_b);
                chunks.done(&mut out, to_a);
                // One that fails after some of its data arrived.
                let c = peer.request();
                data(&mut out, ReplyTo::from(&c), c.offset, 10);
                chunks.error(&mut out, ReplyTo::from(&c), NbdErrno::Io, "no luck", Last::No);
                chunks.done(&mut out, ReplyTo::from(&c));
                peer.stream.write_all(&out).unwrap();
                // Until the client closes.
                let _ = peer.stream.read(&mut [0]);
            });
            let mut client = Client::connect(backend, &path, wishes(framing), true);
            let (a, b, c) = (client.read(8192, 4096), client.read(65_536, 4096), client.read(0, 512));
            let ended = client.all(3);
            let with_hole = [bytes(8192, 1000), vec![0; 2000], bytes(8192 + 3000, 1096)].concat();
            assert!(ended[&a] == Ok(with_hole));
            assert!(ended[&b] == Ok([vec![0; 4000], bytes(65_536 + 4000, 96)].concat()));
            assert_eq!(ended[&c], Err(Fault::Io));
            client.close();
            server.join().unwrap();
        }
    }
}

/// A read of 4096 bytes at 8192 that fails at 8192 + 3000: what arrived before that place is kept,
/// what arrived after it is not. An error without a place makes everything that arrived invalid.
#[test]
fn a_read_that_fails_in_the_middle_keeps_what_came_before() {
    for backend in BACKENDS {
        for framing in [Framing::Structured, Framing::Extended] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s");
            let server = serve(&path, move |mut peer| {
                let chunks = peer.framing().chunks().unwrap();
                let (mut out, places) = (Vec::new(), [Some(3000), None]);
                for place in places {
                    let request = peer.request();
                    let (to, at) = (ReplyTo::from(&request), request.offset);
                    chunks.data(&mut out, to, at, 3000, Last::No);
                    out.extend(bytes(at, 3000));
                    chunks.hole(&mut out, to, at + 3500, 100, Last::No);
                    match place {
                        Some(place) => chunks.error_at(&mut out, to, NbdErrno::Io, "worn out", at + place, Last::Yes),
                        None => chunks.error(&mut out, to, NbdErrno::Io, "worn out", Last::Yes),
                    }
                }
                peer.stream.write_all(&out).unwrap();
                let _ = peer.stream.read(&mut [0]);
            });
            let mut client = Client::connect(backend, &path, wishes(framing), true);
            let known = client.read(8192, 4096);
            client.read(8192, 4096);
            let mut ended = Vec::new();
            while ended.len() < 2 {
                client.wait();
                ended.extend(client.poll());
            }
            for mut completion in ended {
                let buf = completion.buf.take().expect("reads are kept");
                assert_eq!(completion.result, Err(Fault::Io));
                if completion.tag == known {
                    assert_eq!(completion.failed_at(), Some(8192 + 3000));
                    assert!(client.io.with(&buf, |came| came == bytes(8192, 3000)));
                } else {
                    assert_eq!(completion.failed_at(), None);
                }
                client.io.give(buf);
            }
            client.close();
            server.join().unwrap();
        }
    }
}

#[test]
fn a_server_that_breaks_the_protocol_is_left_and_its_words_are_not_believed() {
    type Lie = fn(&mut Vec<u8>, &NbdRequest, Framing);
    let lies: [(&str, &str, Lie); 9] = [
        ("half of a read", "a read's reply has 100 of 512 bytes", |out, request, framing| {
            let chunks = framing.chunks().unwrap();
            chunks.data(out, ReplyTo::from(request), request.offset, 100, Last::Yes);
            out.extend([7; 100]);
        }),
        ("success without data", "a read's reply has 0 of 512 bytes", |out, request, framing| {
            framing.chunks().unwrap().done(out, ReplyTo::from(request));
        }),
        ("a simple reply to a read", "a read's reply has 0 of 512 bytes", |out, request, _| {
            Framing::Simple.ok(out, ReplyTo::from(request));
        }),
        ("the same piece twice", "chunks of one read must not overlap", |out, request, framing| {
            for _ in 0..2 {
                framing.chunks().unwrap().hole(out, ReplyTo::from(request), request.offset, 300, Last::No);
            }
        }),
        ("a piece before the read", "the chunk lies outside the read", |out, request, framing| {
            framing.chunks().unwrap().hole(out, ReplyTo::from(request), request.offset - 1, 10, Last::No);
        }),
        ("a piece behind the read", "the chunk lies outside the read", |out, request, framing| {
            framing.chunks().unwrap().hole(out, ReplyTo::from(request), request.offset + 511, 2, Last::No);
        }),
        ("an answer to nothing", "which no request has", |out, request, framing| {
            framing.ok(out, ReplyTo { cookie: request.cookie ^ 1 << 40, offset: request.offset });
        }),
        ("an answer to a place that never was", "a reply has the cookie 0xffffffffffffffff", |out, _, framing| {
            framing.ok(out, ReplyTo { cookie: u64::MAX, offset: 0 });
        }),
        ("noise", "must not start with 0x55555555", |out, _, _| out.extend([0x55; 64])),
    ];
    for backend in BACKENDS {
        for (name, rule, lie) in lies {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s");
            let server = serve(&path, move |mut peer| {
                let (first, second) = (peer.request(), peer.request());
                let mut out = Vec::new();
                lie(&mut out, &first, peer.framing());
                // A correct answer after the invalid one is not used either: nobody knows where it
                // begins.
                out.extend(answer(peer.framing(), &second));
                peer.stream.write_all(&out).unwrap();
                let _ = peer.stream.read(&mut [0]);
            });
            let mut client = Client::connect(backend, &path, wishes(Framing::Structured), true);
            let (first, second) = (client.read(4096, 512), client.read(8192, 512));
            let mut ended = Vec::new();
            while ended.len() < 2 {
                client.wait();
                ended.extend(client.poll());
            }
            for completion in ended {
                assert!([first, second].contains(&completion.tag));
                assert_eq!(completion.result, Err(Fault::Gone), "{name}");
                let why = completion.why().expect("a reason");
                assert!(why.starts_with("the server broke the protocol: ") && why.contains(rule), "{name}: {why}");
                assert!(completion.buf.is_none(), "{name}");
            }
            client.close();
            server.join().unwrap();
        }
    }
}

#[test]
fn a_read_far_longer_than_the_receive_buffer_comes_whole() {
    for backend in BACKENDS {
        for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s");
            let server = serve(&path, |mut peer| {
                for _ in 0..6 {
                    let request = peer.request();
                    let all = answer(peer.framing(), &request);
                    peer.stream.write_all(&all).unwrap();
                }
            });
            let mut client = Client::connect(backend, &path, wishes(framing), true);
            // Around the buffer's 128 KiB, and the whole export.
            let lens = [1, (128 << 10) - 20, (128 << 10) - 16, 128 << 10, (128 << 10) + 1, SIZE];
            let tags: Vec<u64> = lens.iter().map(|&len| client.read(SIZE - len, len)).collect();
            let ended = client.all(lens.len());
            for (tag, len) in tags.iter().zip(lens) {
                assert!(ended[tag] == Ok(bytes(SIZE - len, len)), "{framing:?} {len}");
            }
            client.close();
            server.join().unwrap();
        }
    }
}

#[test]
fn a_read_without_memory_for_its_data_is_not_asked_before_there_is_some() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let server = serve(&path, |mut peer| {
        let request = peer.request();
        let all = answer(peer.framing(), &request);
        peer.stream.write_all(&all).unwrap();
    });
    let mut client = Client::connect(BACKENDS[0], &path, wishes(Framing::Simple), true);
    let hoard: Vec<_> = std::iter::from_fn(|| client.io.take(64 << 10)).collect();
    assert_eq!(client.submit(0, 64 << 10, Op::Read), None, "handed back");
    hoard.into_iter().for_each(|buf| client.io.give(buf));
    let tag = client.read(0, 64 << 10);
    assert!(client.all(1)[&tag] == Ok(bytes(0, 64 << 10)));
    client.close();
    server.join().unwrap();
}

#[test]
fn what_the_export_does_not_offer_is_not_sent() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let server = serve(&path, |mut peer| {
        // Only this one arrives.
        assert_eq!(peer.request().command, Command::Trim);
    });
    let mut client = Client::connect(BACKENDS[0], &path, wishes(Framing::Simple), false);
    let zero = client.submit(0, 512, Op::Zero { no_hole: false, fast_only: false }).unwrap();
    let far = client.submit(SIZE, 512, Op::Read).unwrap();
    let nothing = client.submit(0, 0, Op::Read).unwrap();
    let ended = client.all(3);
    assert_eq!(ended[&zero], Err(Fault::Unsupported));
    assert_eq!(ended[&far], Err(Fault::Invalid));
    assert_eq!(ended[&nothing], Err(Fault::Invalid));
    let trim = client.submit(0, 512, Op::Trim).unwrap();
    assert_eq!(client.all(1)[&trim], Err(Fault::Gone));
    client.close();
    server.join().unwrap();
}

/// The server offers flushes and no FUA. A flush goes out as it is, whatever the caller asks of it;
/// a write that must be durable is followed by a flush under its own cookie, and ends with that.
#[test]
fn a_durable_write_without_fua_ends_with_the_flush_that_follows_it() {
    for framing in [Framing::Simple, Framing::Extended] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let (go, answered) = std::sync::mpsc::channel::<()>();
        let server = serve(&path, move |mut peer| {
            for last in [false, true] {
                let write = peer.request();
                assert_eq!((write.command, write.flags), (Command::Write, CommandFlags::NONE));
                let reply = answer(peer.framing(), &write);
                peer.stream.write_all(&reply).unwrap();
                let flush = peer.request();
                assert_eq!(
                    (flush.command, flush.flags, flush.cookie),
                    (Command::Flush, CommandFlags::NONE, write.cookie)
                );
                assert_eq!((flush.offset, flush.length), (0, 0));
                answered.recv().unwrap();
                let mut reply = Vec::new();
                match last {
                    false => peer.framing().ok(&mut reply, ReplyTo::from(&flush)),
                    true => peer.framing().error(&mut reply, ReplyTo::from(&flush), NbdErrno::Io, "worn out"),
                }
                peer.stream.write_all(&reply).unwrap();
            }
            let flush = peer.request();
            assert_eq!((flush.command, flush.flags), (Command::Flush, CommandFlags::NONE));
            let reply = answer(peer.framing(), &flush);
            peer.stream.write_all(&reply).unwrap();
            let _ = peer.stream.read(&mut [0]);
        });
        let mut client = Client::connect(BACKENDS[0], &path, wishes(framing), false);
        for expected in [Ok(Vec::new()), Err(Fault::Io)] {
            let op = client.data(&[5; 4096]);
            let tag = client.submit_durable(8192, 4096, op);
            client.hand_over();
            // The write's own reply ends nothing.
            for _ in 0..3 {
                client.io.turn(Some(client.io.now() + block::Span::from_millis(5)));
                assert!(client.poll().is_empty());
            }
            go.send(()).unwrap();
            assert_eq!(client.all(1)[&tag], expected);
        }
        let tag = client.submit_durable(0, 0, Op::Flush);
        assert_eq!(client.all(1)[&tag], Ok(Vec::new()));
        client.close();
        server.join().unwrap();
    }
}

/// A key that others can read is not used; no connection is made.
#[test]
fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let keys = dir.path().join("keys.psk");
    std::fs::write(&keys, format!("alice:{}\n", "a1".repeat(32))).unwrap();
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o644)).unwrap();
    let socket = dir.path().join("s");
    let uri = format!("nbds+unix://alice@/x?socket={}&tls-psk-file={}", socket.display(), keys.display());
    let said = Client::try_open(BACKENDS[0], &uri).err().expect("it is refused");
    assert!(
        said.contains("keys.psk: everybody can read or change it (mode 0644), so it is no secret; chmod 600"),
        "{said}"
    );
}
