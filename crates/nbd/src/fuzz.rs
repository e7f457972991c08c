//! Entry points for fuzzing: for any input no panic, no endless loop, no wait beyond the limits.
//!
//! Each function asserts the invariants and returns how many bytes it consumed, so that a harness
//! can keep interesting inputs. Tests call them with random and with damaged bytes.

use crate::chunks::{Body, ReadAssembly, ReplyParser};
use crate::client::{ClientHandshake, ClientStep, Purpose, TlsWish, Wishes};
use crate::contexts::{Context, Contexts};
use crate::errno::NbdErrno;
use crate::export::{BlockSizes, ExportInfo, ExportRefusal, Exports, TransmissionFlags};
use crate::extents::StatusExtent;
use crate::limits::{ERROR_CHUNK_BYTES_MAX, HandshakeLimits};
use crate::option::{OPTION_HEADER_BYTES, REPLY_HEADER_BYTES};
use crate::reply::{Last, ReplyTo};
use crate::request::{Command, Parsed};
use crate::rules::Rules;
use crate::server::{ServerHandshake, ServerStep, TlsMode};
use crate::settings::Framing;

const ALLOCATION: Contexts = Contexts::NONE.with(Context::Allocation, 1);
const SHARING: Contexts = Contexts::NONE.with(Context::Sharing, 2);
const BOTH: Contexts = ALLOCATION.with(Context::Sharing, 2);

/// A few exports: the default one, `a`, and names that are refused.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue;

impl Exports for Catalogue {
    fn list(&self, each: &mut dyn FnMut(&str, Option<&str>)) {
        each("", None);
        each("a", Some("first"));
    }

    fn find(&self, name: &str) -> Result<ExportInfo, ExportRefusal> {
        match name {
            "" | "a" => Ok(ExportInfo {
                id: 7,
                name: Some("a".into()),
                description: Some("first".into()),
                size: 1 << 30,
                features: TransmissionFlags(0xffff).without(TransmissionFlags::READ_ONLY),
                block: BlockSizes { minimum: 512, preferred: 4096, maximum: 1 << 25 },
                sharing: true,
            }),
            "policy" => Err(ExportRefusal::Policy),
            "tls" => Err(ExportRefusal::TlsRequired),
            "offline" => Err(ExportRefusal::Offline),
            "late" => Err(ExportRefusal::Shutdown),
            _ => Err(ExportRefusal::Unknown),
        }
    }
}

/// The bytes that a client with `wishes` sends to the server of [`Catalogue`], and those that it
/// receives: a starting point for a fuzzer.
///
/// # Panics
/// The export's name is too long.
pub fn conversation(wishes: Wishes) -> (Vec<u8>, Vec<u8>) {
    let mut server = ServerHandshake::new(HandshakeLimits::SERVER, TlsMode::Off);
    let mut client = ClientHandshake::new(wishes, HandshakeLimits::CLIENT).expect("a name that is not too long");
    let (mut from_client, mut from_server) = (Vec::new(), Vec::new());
    server.start(&mut from_server);
    let (mut heard_by_client, mut heard_by_server) = (0, 0);
    loop {
        let mut input = &from_server[heard_by_client..];
        let step = client.receive(&mut input, &mut from_client);
        heard_by_client = from_server.len() - input.len();
        if matches!(step, Ok(ClientStep::Continue)) {
            continue;
        }
        if !matches!(step, Ok(ClientStep::NeedMore(_))) {
            return (from_client, from_server);
        }
        let mut input = &from_client[heard_by_server..];
        let mut steps = 0;
        while let Ok(ServerStep::Continue) = server.receive(&mut input, &Catalogue, &mut from_server) {
            steps += 1;
        }
        heard_by_server = from_client.len() - input.len();
        assert!(steps > 0 || from_server.len() > heard_by_client, "nobody speaks");
    }
}

/// Replies of every kind to a read at 4096, with their data: a starting point for a fuzzer.
pub fn seed_replies(framing: Framing) -> Vec<u8> {
    let (mut bytes, to) = (Vec::new(), ReplyTo { cookie: 1, offset: 4096 });
    framing.ok(&mut bytes, to);
    framing.error(&mut bytes, to, NbdErrno::Io, "worn out");
    if let Some(chunks) = framing.chunks() {
        chunks.data(&mut bytes, to, 4096, 16, Last::No);
        bytes.extend_from_slice(&[7; 16]);
        chunks.hole(&mut bytes, to, 8192, 4096, Last::No);
        chunks.error_at(&mut bytes, to, NbdErrno::Io, "here", 5000, Last::No);
        chunks.status(&mut bytes, to, 1, &[StatusExtent::allocation(4096, true, false); 3], Last::No);
        chunks.done(&mut bytes, to);
    }
    bytes
}

/// Feeds a client's bytes to a server's handshake. The first byte selects the TLS mode.
pub fn server_handshake(bytes: &[u8]) -> usize {
    let Some((choice, mut input)) = bytes.split_first() else { return 0 };
    let tls = [TlsMode::Off, TlsMode::Optional, TlsMode::Required][usize::from(choice % 3)];
    let limits = HandshakeLimits::SERVER;
    let mut server = ServerHandshake::new(limits, tls);
    let mut out = Vec::new();
    server.start(&mut out);
    loop {
        out.clear();
        let before = input.len();
        let step = server.receive(&mut input, &Catalogue, &mut out);
        assert!(out.len() < 64 << 10, "one answer is small");
        match step {
            Ok(ServerStep::NeedMore(n)) => {
                assert!(n > input.len() && n <= OPTION_HEADER_BYTES + limits.option_bytes as usize);
                break;
            }
            Ok(ServerStep::Continue) => assert!(input.len() < before, "each step consumes"),
            Ok(ServerStep::StartTls) => {
                assert!(input.is_empty(), "no plain text is carried over");
                server.tls_established();
            }
            Ok(ServerStep::Transmission(_) | ServerStep::Aborted) | Err(_) => break,
        }
    }
    bytes.len() - input.len()
}

/// Feeds a server's bytes to a client's handshake. The first byte selects the wishes.
pub fn client_handshake(bytes: &[u8]) -> usize {
    let Some((choice, mut input)) = bytes.split_first() else { return 0 };
    let limits = HandshakeLimits::CLIENT;
    let mut client = ClientHandshake::new(wishes(*choice), limits).expect("the name is good");
    let mut out = Vec::new();
    loop {
        out.clear();
        let before = input.len();
        let step = client.receive(&mut input, &mut out);
        assert!(out.len() < 4096, "one option is small");
        match step {
            Ok(ClientStep::NeedMore(n)) => {
                assert!(n > input.len() && n <= REPLY_HEADER_BYTES + limits.option_bytes as usize);
                break;
            }
            Ok(ClientStep::Continue) => assert!(input.len() < before, "each step consumes"),
            Ok(ClientStep::StartTls) => {
                assert!(input.is_empty(), "no plain text is carried over");
                client.tls_established(&mut out);
            }
            Ok(ClientStep::Transmission(_) | ClientStep::Described(_) | ClientStep::Listed(_)) | Err(_) => break,
        }
    }
    bytes.len() - input.len()
}

/// Feeds a client's bytes to a server's transmission. The first byte selects the framing.
pub fn requests(bytes: &[u8]) -> usize {
    let Some((choice, mut input)) = bytes.split_first() else { return 0 };
    let rules = Rules {
        framing: framing(*choice),
        size: 1 << 30,
        flags: TransmissionFlags(0xffff).with(TransmissionFlags::READ_ONLY, choice & 4 != 0),
        minimum: if choice & 8 != 0 { 512 } else { 1 },
        payload: 1 << 20,
        contexts: [Contexts::NONE, ALLOCATION, SHARING, BOTH][usize::from(choice >> 4 & 3)],
    };
    while let Ok(Parsed::Message(request, size)) = rules.parse(input) {
        assert!(size <= input.len());
        input = &input[size..];
        if rules.check(&request).is_ok() {
            // A filter selects among the agreed contexts, and its payload is parsed with the
            // header.
            assert!(request.only.is_none_or(|only| !only.is_empty() && request.payload == 0));
            // A disconnect has no range, so those fields are ignored.
            if request.command != Command::Disconnect {
                assert!(request.offset.checked_add(request.length).is_some_and(|end| end <= rules.size));
                assert_eq!(request.offset % u64::from(rules.minimum), 0);
            }
            let mut again = Vec::new();
            request.put(rules.framing, &mut again).expect("what was parsed can be sent");
            let parsed = rules.parse(&again);
            assert_eq!(parsed, Ok(Parsed::Message(request, again.len())));
        }
        input = &input[input.len().min(request.payload as usize)..];
    }
    bytes.len() - input.len()
}

/// Feeds a server's bytes to a client's transmission. The first byte selects the framing.
pub fn replies(bytes: &[u8]) -> usize {
    let Some((choice, mut input)) = bytes.split_first() else { return 0 };
    let parser = ReplyParser::new(framing(*choice), 1 << 20);
    let mut read = ReadAssembly::new(4096, 8192);
    loop {
        let (reply, size) = match parser.parse(input) {
            Ok(Parsed::Message(reply, size)) => (reply, size),
            Ok(Parsed::NeedMore(n)) => {
                assert!(n > input.len() && n <= 32 + ERROR_CHUNK_BYTES_MAX as usize);
                break;
            }
            Err(_) => break,
        };
        assert!(size <= input.len() && size >= 16);
        input = &input[size..];
        let payload = match reply.body {
            Body::Data { offset, len } | Body::Hole { offset, len } => {
                if let Ok(range) = read.place(offset, len) {
                    assert!(range.end <= 8192 && range.len() == len as usize);
                }
                if matches!(reply.body, Body::Data { .. }) { len as usize } else { 0 }
            }
            Body::Status { extents, .. } => {
                let here = &input[..input.len().min(extents.bytes())];
                assert!(extents.decode(here).count() <= extents.count as usize);
                extents.bytes()
            }
            Body::Error { errno, at, .. } => {
                let before = read.good();
                read.fail(errno, at);
                // No more than arrived, and nothing beyond the place.
                let most = at.and_then(|at| at.checked_sub(4096)).filter(|good| *good < 8192).unwrap_or(0);
                assert!(u64::from(read.good()) <= most.min(before.into()));
                0
            }
            Body::Success => 0,
        };
        input = &input[input.len().min(payload)..];
    }
    bytes.len() - input.len()
}

fn framing(choice: u8) -> Framing {
    [Framing::Simple, Framing::Structured, Framing::Extended, Framing::Extended][usize::from(choice & 3)]
}

/// The wishes that the bits of `choice` select.
pub fn wishes(choice: u8) -> Wishes {
    let bit = |n: u8| choice >> n & 1 == 1;
    Wishes {
        purpose: [Purpose::Go, Purpose::Go, Purpose::Info, Purpose::List][usize::from(choice & 3)],
        tls: if bit(2) { TlsWish::Prefer } else { TlsWish::Off },
        extended: bit(3),
        structured: bit(4),
        allocation: bit(5),
        sharing: bit(5) && bit(6),
        block_sizes: bit(6),
        old_entry: bit(7),
        ..Wishes::plain("a")
    }
}
