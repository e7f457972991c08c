//! Features that few clients use yet, exercised by hand: reads that fail in the middle, filters of
//! block status, sizes that change under a connection, and requests in transit when the server
//! stops.

use crate::support;
use crate::support::{BACKENDS, Client, LUN, LUN_BYTES, Server, is_closed, limits};
use nbd::{
    Body, Command, CommandFlags, Context, Contexts, Framing, NbdErrno, NbdRequest, Parsed, ReplyParser,
    TransmissionFlags, Wishes,
};
use server::ServerLimits;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command as Program, Stdio};

const MIB: u64 = 1 << 20;
const BLOCK: u64 = 64 << 10;

fn wishes(framing: Framing) -> Wishes {
    Wishes { structured: framing >= Framing::Structured, extended: framing == Framing::Extended, ..Wishes::plain(LUN) }
}

/// One chunk of a reply, with its payload.
#[derive(Debug, PartialEq, Eq)]
enum Chunk {
    Done,
    Data(u64, Vec<u8>),
    Hole(u64, u32),
    Error(NbdErrno, Option<u64>),
    /// The context's id, lengths and flags.
    Status(u32, Vec<(u64, u64)>),
}

/// Reads the chunks of one reply, whatever they are.
struct Chunks {
    client: Client,
    received: Vec<u8>,
}

impl Chunks {
    fn connect(socket: &Path, wishes: Wishes) -> Chunks {
        Chunks { client: Client::connect(socket, wishes), received: Vec::new() }
    }

    fn ask(&mut self, request: NbdRequest) -> Vec<Chunk> {
        self.client.ask(request, &[]);
        self.reply(request.cookie)
    }

    fn send(&mut self, bytes: &[u8], cookie: u64) -> Vec<Chunk> {
        self.client.stream.write_all(bytes).unwrap();
        self.reply(cookie)
    }

    fn reply(&mut self, expected: u64) -> Vec<Chunk> {
        let parser = ReplyParser::new(self.client.rules.framing, self.client.rules.payload);
        let mut chunks = Vec::new();
        loop {
            let (chunk, done, taken) = loop {
                if let Parsed::Message(reply, head) = parser.parse(&self.received).unwrap() {
                    assert_eq!(reply.cookie, expected);
                    let payload = match reply.body {
                        Body::Data { len, .. } => len as usize,
                        Body::Status { extents, .. } => extents.bytes(),
                        _ => 0,
                    };
                    if let Some(payload) = self.received.get(head..head + payload) {
                        let chunk = match reply.body {
                            Body::Success => Chunk::Done,
                            Body::Data { offset, .. } => Chunk::Data(offset, payload.to_vec()),
                            Body::Hole { offset, len } => Chunk::Hole(offset, len),
                            Body::Error { errno, at, .. } => Chunk::Error(errno, at),
                            Body::Status { context, extents } => {
                                let all = extents.decode(payload).map(Result::unwrap);
                                Chunk::Status(context, all.map(|extent| (extent.length, extent.flags)).collect())
                            }
                        };
                        break (chunk, reply.done, head + payload.len());
                    }
                }
                let mut piece = vec![0; 256 << 10];
                let got = self.client.stream.read(&mut piece).unwrap();
                assert!(got > 0, "the server closed the connection");
                self.received.extend_from_slice(&piece[..got]);
            };
            self.received.drain(..taken);
            chunks.push(chunk);
            if done {
                return chunks;
            }
        }
    }
}

/// The file of the blocks, which the only LUN fills from the start, is truncated behind the
/// server's back, after 1 MiB + 4 KiB of the 2 MiB that are read. The data before that is sent, and
/// the error names the position: 1 MiB + 4096 = 1052672. With simple framing, or if the client
/// wants one piece, the read fails as a whole.
#[test]
fn a_read_that_fails_in_the_middle_brings_what_came_before() {
    const GOOD: u64 = MIB + 4096;
    let server = Server::start(BACKENDS[0], limits());
    let bytes: Vec<u8> = (0..2 * MIB).map(|n| (n / 4096 + n) as u8).collect();
    assert_eq!(server.connect().write(0, &bytes), Ok(()));
    OpenOptions::new().write(true).open(server.dir.path().join("pool/maps/blocks")).unwrap().set_len(GOOD).unwrap();
    let whole = NbdRequest::new(7, Command::Read, 0, 2 * MIB);
    for framing in [Framing::Structured, Framing::Extended] {
        let mut client = Chunks::connect(&server.socket, wishes(framing));
        for from in [0, 4096, 5000] {
            let request = NbdRequest { offset: from, length: 2 * MIB - from, ..whole };
            let chunks = client.ask(request);
            let [Chunk::Data(at, data), Chunk::Error(NbdErrno::Io, failed)] = &chunks[..] else {
                panic!("{framing:?} {from}: {} chunks", chunks.len())
            };
            assert_eq!((*at, data.len() as u64, *failed), (from, GOOD - from, Some(GOOD)), "{framing:?}");
            assert!(data[..] == bytes[from as usize..GOOD as usize], "{framing:?} {from}");
        }
        // All of it is before the end, or after it.
        assert_eq!(client.ask(NbdRequest { length: GOOD, ..whole }), [Chunk::Data(0, bytes[..GOOD as usize].into())]);
        let behind = client.ask(NbdRequest { offset: GOOD, length: 4096, ..whole });
        assert_eq!(behind, [Chunk::Error(NbdErrno::Io, None)], "nothing came before");
        assert_eq!(client.ask(whole.with(CommandFlags::DF)), [Chunk::Error(NbdErrno::Io, None)]);
    }
    assert_eq!(server.connect().read(0, 2 * MIB), Err(NbdErrno::Io), "simple replies fail as a whole");
    server.until_empty();
}

/// A LUN with a snapshot: its first block of 64 KiB was written again since, its second was not,
/// the third is new. The second context says which blocks belong to the LUN alone (1) and which the
/// snapshot has too (2). The clone shares both of the snapshot's blocks.
#[test]
fn a_second_context_tells_what_is_shared() {
    let mut server = Server::start(BACKENDS[0], limits());
    let mut client = server.connect();
    assert_eq!(client.write(0, &[1; 2 * BLOCK as usize]), Ok(()));
    server.control.execute("volume snapshot create vol1 -snapshot s").unwrap();
    assert_eq!(client.write(0, &[2; BLOCK as usize]), Ok(()));
    assert_eq!(client.write(2 * BLOCK, &[3; BLOCK as usize]), Ok(()));
    assert_eq!(client.call(NbdRequest::new(3, Command::Flush, 0, 0), &[]), Ok(Vec::new()));
    server.control.execute("volume file clone create /lun1 -destination-path /copy -volume vol1").unwrap();
    drop(client);
    let both = Wishes { allocation: true, sharing: true, ..wishes(Framing::Extended) };
    let mut client = Chunks::connect(&server.socket, both);
    let contexts = client.client.rules.contexts;
    let (allocation, sharing) = (contexts.id(Context::Allocation).unwrap(), contexts.id(Context::Sharing).unwrap());
    // The clone has all three blocks too.
    let rest = LUN_BYTES - 3 * BLOCK;
    let told = client.ask(NbdRequest::new(7, Command::BlockStatus, 0, LUN_BYTES));
    let expected = [
        Chunk::Status(allocation, vec![(3 * BLOCK, 0), (rest, 3)]),
        Chunk::Status(sharing, vec![(3 * BLOCK, 2), (rest, 0)]),
    ];
    assert_eq!(told, expected);
    // Without the clone, the second block is shared with the snapshot, and the others with nobody.
    server.control.execute("lun delete /vol/vol1/copy").unwrap();
    assert_eq!(client.client.call(NbdRequest::new(3, Command::Flush, 0, 0), &[]), Ok(Vec::new()));
    let only = NbdRequest::status_only(7, 0, LUN_BYTES, Contexts::NONE.with(Context::Sharing, sharing));
    let told = client.ask(only);
    assert_eq!(told, [Chunk::Status(sharing, vec![(BLOCK, 1), (BLOCK, 2), (BLOCK, 1), (rest, 0)])]);
    assert_eq!(client.ask(only.with(CommandFlags::REQ_ONE)), [Chunk::Status(sharing, vec![(BLOCK, 1)])]);
    // Without the snapshot, all blocks belong to the LUN alone.
    server.control.execute("volume snapshot delete vol1 -snapshot s").unwrap();
    assert_eq!(client.client.call(NbdRequest::new(3, Command::Flush, 0, 0), &[]), Ok(Vec::new()));
    assert_eq!(client.ask(only), [Chunk::Status(sharing, vec![(3 * BLOCK, 1), (rest, 0)])]);
    // A client that did not ask for it is only told the other context, in as few extents as before.
    let mut plain = Chunks::connect(&server.socket, Wishes { allocation: true, ..wishes(Framing::Structured) });
    let told = plain.ask(NbdRequest::new(7, Command::BlockStatus, 0, LUN_BYTES));
    assert_eq!(told, [Chunk::Status(1, vec![(3 * BLOCK, 0), (rest, 3)])]);
    drop((client, plain));
    server.until_empty();
}

/// A block status request with a payload of that many bytes.
fn header(cookie: u64, payload: u64) -> Vec<u8> {
    let mut bytes = 0x21e4_1c71u32.to_be_bytes().to_vec();
    bytes.extend([0, 0x20, 0, 7]);
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(0u64.to_be_bytes());
    bytes.extend(payload.to_be_bytes());
    bytes
}

/// A filter for 4096 bytes.
fn filter(ids: &[u32]) -> Vec<u8> {
    let ids = ids.iter().flat_map(|id| id.to_be_bytes());
    4096u64.to_be_bytes().into_iter().chain(ids).collect()
}

/// An invalid id, a duplicate one, none, an invalid length, and a payload of 1 MiB; all are taken
/// off the stream.
fn refuses_bad_filters(client: &mut Chunks, id: u32) {
    for payload in [filter(&[9]), filter(&[id, id]), filter(&[]), vec![0; 5], vec![0; MIB as usize]] {
        let bytes = [header(9, payload.len() as u64), payload].concat();
        assert_eq!(client.send(&bytes, 9), [Chunk::Error(NbdErrno::Invalid, None)]);
    }
}

/// The same bytes for an independent server: qemu-nbd understands our filter, and refuses what we
/// refuse.
#[test]
fn another_server_answers_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (socket, image) = (dir.path().join("s"), dir.path().join("image"));
    std::fs::File::create(&image).unwrap().set_len(LUN_BYTES).unwrap();
    let mut qemu = Program::new("qemu-nbd");
    qemu.args(["--persistent", "--format=raw", "--socket"]).arg(&socket).arg(&image).stderr(Stdio::null());
    let Ok(mut qemu) = qemu.spawn() else { return println!("skipped: qemu-nbd is not installed") };
    support::wait("a socket", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    let wishes = Wishes { allocation: true, export: String::new(), ..wishes(Framing::Extended) };
    let mut client = Chunks::connect(&socket, wishes);
    let offered = client.client.rules.flags.contains(TransmissionFlags::BLOCK_STATUS_PAYLOAD);
    if offered {
        let all = client.client.rules.contexts;
        let id = all.id(Context::Allocation).expect("every qemu-nbd has it");
        assert_eq!(client.ask(NbdRequest::status_only(7, 0, 4096, all)), [Chunk::Status(id, vec![(4096, 3)])]);
        refuses_bad_filters(&mut client, id);
        assert_eq!(client.ask(NbdRequest::status_only(8, 512, 512, all)), [Chunk::Status(id, vec![(512, 3)])]);
    }
    drop(client);
    qemu.kill().unwrap();
    qemu.wait().unwrap();
    if !offered {
        println!("skipped: this qemu-nbd does not offer filters, 8.2 does");
    }
}

/// A filter names contexts by their ids. An invalid one is refused, and the next request is still
/// understood.
#[test]
fn a_block_status_is_answered_for_the_contexts_that_are_named() {
    for backend in BACKENDS {
        let server = Server::start(backend, limits());
        let both = Wishes { allocation: true, sharing: true, ..wishes(Framing::Extended) };
        let mut client = Chunks::connect(&server.socket, both);
        assert!(client.client.rules.flags.contains(TransmissionFlags::BLOCK_STATUS_PAYLOAD));
        let all = client.client.rules.contexts;
        let hole = Chunk::Status(1, vec![(LUN_BYTES, 3)]);
        let nothing = Chunk::Status(2, vec![(LUN_BYTES, 0)]);
        assert_eq!(client.ask(NbdRequest::status_only(7, 0, LUN_BYTES, all)), [hole, nothing]);
        let one = Contexts::NONE.with(Context::Allocation, 1);
        assert_eq!(client.ask(NbdRequest::status_only(8, 512, 4096, one)), [Chunk::Status(1, vec![(4096, 3)])]);
        refuses_bad_filters(&mut client, 1);
        // In the smallest pieces.
        let bytes = [header(10, 12), filter(&[2])].concat();
        for byte in &bytes[..bytes.len() - 1] {
            client.client.stream.write_all(&[*byte]).unwrap();
        }
        assert_eq!(client.send(&bytes[bytes.len() - 1..], 10), [Chunk::Status(2, vec![(4096, 0)])]);
        // A client that did not select contexts, or has no extended headers, is not offered it.
        for wishes in [wishes(Framing::Extended), Wishes { allocation: true, ..wishes(Framing::Structured) }] {
            let mut client = Chunks::connect(&server.socket, wishes);
            assert!(!client.client.rules.flags.contains(TransmissionFlags::BLOCK_STATUS_PAYLOAD));
            assert_eq!(client.client.read(0, 512), Ok(vec![0; 512]));
        }
    }
}

/// A LUN that grows under its connections: a connection keeps the size it was told, and the next
/// one sees the new size. If it shrinks by force, connections end. Requests past the end get the
/// protocol's errors.
#[test]
fn a_size_that_changes_is_met_by_the_next_connection() {
    let mut server = Server::start(BACKENDS[0], limits());
    let mut old = server.connect();
    assert_eq!(old.write(LUN_BYTES - 4096, &[5; 4096]), Ok(()));
    server.control.execute(&format!("lun modify -path {LUN} -size {}", 2 * LUN_BYTES)).unwrap();
    let mut grown = server.connect();
    assert_eq!(grown.rules.size, 2 * LUN_BYTES);
    assert_eq!(grown.write(2 * LUN_BYTES - 4096, &[6; 4096]), Ok(()));
    // The old connection does not know.
    assert_eq!(old.read(LUN_BYTES, 512), Err(NbdErrno::Invalid));
    assert_eq!(old.write(LUN_BYTES, &[7; 512]), Err(NbdErrno::NoSpace));
    assert_eq!(old.read(LUN_BYTES - 512, 512), Ok(vec![5; 512]));
    // A LUN can only be cut off where it has no data.
    for at in [LUN_BYTES - 4096, 2 * LUN_BYTES - 4096] {
        assert_eq!(grown.call(NbdRequest::new(3, Command::Trim, at, 4096), &[]), Ok(Vec::new()));
    }
    server.control.execute(&format!("lun modify -path {LUN} -size {MIB} -force")).unwrap();
    assert!(is_closed(&mut old.stream) && is_closed(&mut grown.stream));
    let mut client = server.connect();
    assert_eq!(client.rules.size, MIB);
    assert_eq!(client.read(MIB, 512), Err(NbdErrno::Invalid));
    assert_eq!(client.read(MIB - 512, 1024), Err(NbdErrno::Invalid), "across the new end");
    assert_eq!(client.write(MIB, &[7; 512]), Err(NbdErrno::NoSpace));
    assert_eq!(client.call(NbdRequest::new(3, Command::WriteZeroes, MIB, 512), &[]), Err(NbdErrno::NoSpace));
    for command in [Command::Trim, Command::Cache] {
        assert_eq!(client.call(NbdRequest::new(3, command, MIB, 512), &[]), Err(NbdErrno::Invalid), "{command:?}");
    }
    assert_eq!(client.write(MIB - 512, &[8; 512]), Ok(()), "up to the new end all is as before");
    assert_eq!(client.call(NbdRequest::new(3, Command::Flush, 0, 0), &[]), Ok(Vec::new()));
}

/// The client has sent 1000 writes of 64 bytes (92 KB with their headers) when the server stops.
/// One is in flight, as a limit requires, 4 KiB are in the receive buffer, the rest in the socket.
/// All are answered: executed, or ESHUTDOWN.
#[test]
fn what_was_sent_before_the_stop_is_answered() {
    const WRITES: u64 = 1000;
    for backend in BACKENDS {
        let limits = ServerLimits { connection_requests: 1, receive: block::Bytes::kib(4), ..limits() };
        let mut server = Server::start(backend, limits);
        for line in [
            "qos policy-group create slow -vserver svm01 -max-throughput 2IOPS",
            "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
        ] {
            server.control.execute(line).unwrap();
        }
        let mut client = server.connect();
        let all: Vec<u8> =
            (0..WRITES).flat_map(|n| client.bytes(&NbdRequest::write(n, n * 64, 64), &[9; 64])).collect();
        client.stream.write_all(&all).unwrap();
        server.until("held back", |account| account.gate.queued >= 1);
        let Server { control, socket: _socket, dir } = server;
        drop(control);
        let mut told: HashMap<Result<Vec<u8>, NbdErrno>, u64> = HashMap::new();
        while let Some((_, result)) = client.answer(|_| (0, 0)) {
            *told.entry(result).or_default() += 1;
        }
        let done = told.remove(&Ok(Vec::new())).unwrap_or(0);
        let dismissed = told.remove(&Err(NbdErrno::Shutdown)).unwrap_or(0);
        assert!(told.is_empty(), "{told:?}");
        assert!(done >= 1 && done + dismissed == WRITES, "{done} + {dismissed}");
        drop(dir);
    }
}

/// A client that never stops sending does not delay the stop: it is read as far as it had sent, and
/// no further. The test shows this by ending.
#[test]
fn a_client_that_goes_on_asking_cannot_hold_a_stop() {
    for backend in BACKENDS {
        let server = Server::start(backend, limits());
        let mut client = server.connect();
        let requests: Vec<u8> =
            (0..64).flat_map(|n| client.bytes(&NbdRequest::write(n, 0, 4096), &[9; 4096])).collect();
        let mut to = client.stream.try_clone().unwrap();
        let flood = std::thread::spawn(move || while to.write_all(&requests).is_ok() {});
        assert_eq!(client.answer(|_| (0, 0)).expect("an answer").1, Ok(Vec::new()));
        let reader = std::thread::spawn(move || {
            let mut shut_down = 0;
            while let Some((_, result)) = client.answer(|_| (0, 0)) {
                shut_down += u32::from(result == Err(NbdErrno::Shutdown));
            }
            shut_down
        });
        let Server { control, socket: _socket, dir } = server;
        drop(control);
        flood.join().unwrap();
        let _ = reader.join().unwrap();
        drop(dir);
    }
}
