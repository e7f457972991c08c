//! A server in a folder of its own, and clients that send exactly what a test needs.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod by_hand;
pub mod ganesha;
pub mod pools;

use block::{Bytes, Span};
use nbd::{
    Body, ClientHandshake, ClientStep, Command, HandshakeError, HandshakeLimits, NbdErrno, NbdRequest, Parsed,
    ReadAssembly, ReplyParser, Rules, Wishes,
};
use qos::RegistrySettings;
use server::{Account, Control, Front, Listen, ServerLimits, Shard};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::Pool;
use tempfile::TempDir;
use uring::{Choice, Clock, IoSettings};

pub const BACKENDS: [Choice; 2] = [Choice::Auto, Choice::Threads];

/// The LUN that every server here has: 8 MiB of zeroes.
pub const LUN: &str = "/vol/vol1/lun1";
pub const LUN_BYTES: u64 = 8 << 20;

/// Timeout of a condition: far longer than it ever takes.
const GIVE_UP: Duration = Duration::from_secs(60);

pub struct Server {
    // The control stops the shard before the folder goes.
    pub control: Control,
    pub socket: PathBuf,
    pub dir: TempDir,
}

/// Small, so that limits are reached soon.
pub fn limits() -> ServerLimits {
    ServerLimits { memory: Bytes::mib(16), ..ServerLimits::default() }
}

pub fn settings(backend: Choice, limits: &ServerLimits) -> IoSettings {
    let (registered, views) = (Bytes::mib(1), Some(128 << 10));
    IoSettings { backend, slab: limits.memory, registered, in_flight: 8192, views, ..IoSettings::default() }
}

impl Server {
    pub fn start(backend: Choice, limits: ServerLimits) -> Server {
        Server::start_with(limits, settings(backend, &limits))
    }

    pub fn start_with(limits: ServerLimits, settings: IoSettings) -> Server {
        Server::start_under(limits, settings, RegistrySettings::default())
    }

    pub fn start_under(limits: ServerLimits, settings: IoSettings, registry: RegistrySettings) -> Server {
        Server::start_over(|pool, socket| open_with(pool, socket, limits, settings, registry))
    }

    /// A server that accepts clients as `front` says, over the Unix socket.
    pub fn start_behind(backend: Choice, limits: ServerLimits, front: Front) -> Server {
        Server::start_over(|pool, socket| open_behind(pool, socket, backend, limits, front))
    }

    fn start_over(open: impl FnOnce(Pool, &Path) -> Control) -> Server {
        let dir = tempfile::tempdir().unwrap();
        // Through the page cache, so that it runs on any file system; alignment is tested in the
        // store.
        let pool_dir = dir.path().join("pool");
        std::fs::create_dir(&pool_dir).unwrap();
        std::fs::write(pool_dir.join("seawall.toml"), "cache = \"page\"\n").unwrap();
        let pool = Pool::create(&pool_dir).unwrap();
        let socket = dir.path().join("nbd");
        let mut control = open(pool, &socket);
        for line in ["vserver create -vserver svm01", "volume create -volume vol1 -size 1GB"] {
            control.execute(line).unwrap();
        }
        control.execute(&format!("lun create -path {LUN} -size {LUN_BYTES}")).unwrap();
        control.record().unwrap();
        Server { control, socket, dir }
    }

    pub fn account(&self) -> Account {
        self.control.account().unwrap()
    }

    /// Waits until an account satisfies a condition; panics with the last one if none does.
    pub fn until(&self, what: &str, condition: impl Fn(&Account) -> bool) -> Account {
        let give_up = Clock::new().now() + Span::from_secs(GIVE_UP.as_secs());
        loop {
            let account = self.account();
            if condition(&account) {
                return account;
            }
            assert!(account.now < give_up, "never {what}: {account:?}");
            std::thread::yield_now();
        }
    }

    /// Waits until no client is left, and checks that nothing of them remains.
    pub fn until_empty(&self) {
        let account = self.until("empty", |account| account.connections == 0);
        assert_eq!((account.claimed, account.buffers), (Bytes(0), 0), "what clients had came back: {account:?}");
    }

    pub fn connect(&self) -> Client {
        Client::connect(&self.socket, Wishes::plain(LUN))
    }

    /// Does something as a client of an export, and waits until the server has noticed its end.
    pub fn with<T>(&self, export: &str, work: impl FnOnce(&mut Client) -> T) -> T {
        let before = self.account().connections;
        let result = work(&mut Client::connect(&self.socket, Wishes::plain(export)));
        self.until("gone", |account| account.connections <= before);
        result
    }

    /// Stops it and starts it again on the same pool.
    pub fn restart(self, limits: ServerLimits, settings: IoSettings) -> Server {
        let Server { control, socket, dir } = self;
        drop(control);
        let control = open(Pool::open(&dir.path().join("pool")).unwrap(), &socket, limits, settings);
        Server { control, socket, dir }
    }

    /// Restarts it on the same pool, to accept clients as `front` says.
    pub fn restart_behind(self, limits: ServerLimits, front: Front) -> Server {
        let Server { control, socket, dir } = self;
        drop(control);
        let pool = Pool::open(&dir.path().join("pool")).unwrap();
        let control = open_behind(pool, &socket, BACKENDS[0], limits, front);
        Server { control, socket, dir }
    }

    pub fn raw(&self) -> UnixStream {
        stream(&self.socket)
    }
}

pub fn open(pool: Pool, socket: &Path, limits: ServerLimits, settings: IoSettings) -> Control {
    open_with(pool, socket, limits, settings, RegistrySettings::default())
}

pub fn open_behind(pool: Pool, socket: &Path, backend: Choice, limits: ServerLimits, front: Front) -> Control {
    let front = Front { listen: [vec![Listen::Unix(socket.into())], front.listen].concat(), ..front };
    let shard = Shard::start_behind(front, limits, settings(backend, &limits)).unwrap();
    Control::open(pool, shard, RegistrySettings::default()).unwrap()
}

pub fn open_with(
    pool: Pool,
    socket: &Path,
    limits: ServerLimits,
    settings: IoSettings,
    registry: RegistrySettings,
) -> Control {
    let shard = Shard::start(&[Listen::Unix(socket.into())], limits, settings).unwrap();
    Control::open(pool, shard, registry).unwrap()
}

/// Waits until a condition holds; panics if it never does.
pub fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let clock = Clock::new();
    let give_up = clock.now() + Span::from_secs(GIVE_UP.as_secs());
    while !condition() {
        assert!(clock.now() < give_up, "never {what}");
        std::thread::yield_now();
    }
}

/// A socket with a timeout, so that a hang becomes a failure.
pub fn stream(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(GIVE_UP)).unwrap();
    stream.set_write_timeout(Some(GIVE_UP)).unwrap();
    stream
}

/// A client past its handshake.
pub struct Client {
    pub stream: UnixStream,
    pub rules: Rules,
    /// Replies that [`Client::answer_of`] passed over.
    pub other_answers: usize,
    /// Bytes of replies to reads that were reported as holes.
    pub holes: u64,
    received: Vec<u8>,
}

/// A reply: its cookie, and its data or its error.
pub type Answer = (u64, Result<Vec<u8>, NbdErrno>);

impl Client {
    pub fn connect(path: &Path, wishes: Wishes) -> Client {
        Client::try_connect(path, wishes).unwrap()
    }

    /// Connects, or returns the error of the handshake.
    pub fn try_connect(path: &Path, wishes: Wishes) -> Result<Client, HandshakeError> {
        let mut stream = stream(path);
        let mut handshake = ClientHandshake::new(wishes, HandshakeLimits::CLIENT).unwrap();
        let (mut received, mut out, mut chunk) = (Vec::new(), Vec::new(), [0; 4096]);
        loop {
            let mut rest = &received[..];
            let step = handshake.receive(&mut rest, &mut out)?;
            let taken = received.len() - rest.len();
            received.drain(..taken);
            stream.write_all(&out).unwrap();
            out.clear();
            match step {
                ClientStep::Continue => {}
                ClientStep::Transmission(agreed) => {
                    let rules = Rules::of_client(&agreed);
                    return Ok(Client { stream, rules, other_answers: 0, holes: 0, received });
                }
                ClientStep::NeedMore(_) => {
                    let got = stream.read(&mut chunk).unwrap();
                    assert!(got > 0, "the server closed the connection");
                    received.extend_from_slice(&chunk[..got]);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// The bytes of a request.
    pub fn bytes(&self, request: &NbdRequest, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        request.put(self.rules.framing, &mut bytes).unwrap();
        bytes.extend_from_slice(payload);
        bytes
    }

    pub fn ask(&mut self, request: NbdRequest, payload: &[u8]) {
        let bytes = self.bytes(&request, payload);
        self.stream.write_all(&bytes).unwrap();
    }

    /// One request and its answer.
    pub fn call(&mut self, request: NbdRequest, payload: &[u8]) -> Result<Vec<u8>, NbdErrno> {
        self.ask(request, payload);
        let len = if request.command == Command::Read { request.length as u32 } else { 0 };
        let (cookie, result) = self.answer(|_| (request.offset, len)).expect("an answer");
        assert_eq!(cookie, request.cookie);
        result
    }

    pub fn read(&mut self, at: u64, len: u64) -> Result<Vec<u8>, NbdErrno> {
        self.call(NbdRequest::new(1, Command::Read, at, len), &[])
    }

    pub fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), NbdErrno> {
        self.call(NbdRequest::write(2, at, bytes.len() as u32), bytes).map(|_| ())
    }

    /// The reply to the request with this cookie; earlier replies must not be to reads.
    pub fn answer_of(&mut self, cookie: u64) -> Result<Vec<u8>, NbdErrno> {
        loop {
            match self.answer(|_| (0, 0)).expect("an answer") {
                (found, result) if found == cookie => return result,
                _ => self.other_answers += 1,
            }
        }
    }

    /// The next reply, assembled from its chunks; `read` returns the offset and length of the read
    /// with a cookie, 0 for other requests. `None` at the end of the stream.
    pub fn answer(&mut self, read: impl Fn(u64) -> (u64, u32)) -> Option<Answer> {
        let parser = ReplyParser::new(self.rules.framing, self.rules.payload);
        let mut data: Option<(ReadAssembly, Vec<u8>)> = None;
        let mut failed = None;
        loop {
            let mut hole = None;
            let (cookie, done, simple, body, taken) = loop {
                match parser.parse(&self.received).unwrap() {
                    Parsed::NeedMore(_) => {}
                    Parsed::Message(reply, taken) => {
                        let body = match reply.body {
                            Body::Success => None,
                            Body::Error { errno, .. } => {
                                failed = Some(errno);
                                None
                            }
                            Body::Data { offset, len } => Some((offset, len)),
                            Body::Hole { offset, len } => {
                                hole = Some((offset, len));
                                None
                            }
                            other => panic!("{other:?}"),
                        };
                        break (reply.cookie, reply.done, reply.simple, body, taken);
                    }
                }
                if !self.receive() {
                    return None;
                }
            };
            self.received.drain(..taken);
            let (at, len) = read(cookie);
            if let Some((offset, piece)) = hole {
                let (assembly, _) = data.get_or_insert_with(|| (ReadAssembly::new(at, len), vec![0; len as usize]));
                assembly.place(offset, piece).unwrap();
                self.holes += u64::from(piece);
            }
            let piece = body.or((simple && len > 0 && failed.is_none()).then_some((at, len)));
            if let Some((offset, piece)) = piece {
                let (assembly, bytes) = data.get_or_insert_with(|| (ReadAssembly::new(at, len), vec![0; len as usize]));
                let range = assembly.place(offset, piece).unwrap();
                while self.received.len() < range.len() {
                    if !self.receive() {
                        return None;
                    }
                }
                bytes[range.clone()].copy_from_slice(&self.received[..range.len()]);
                self.received.drain(..range.len());
            }
            if done {
                let bytes = match data {
                    Some((assembly, bytes)) if failed.is_none() => {
                        assembly.finish().unwrap().unwrap();
                        bytes
                    }
                    _ => Vec::new(),
                };
                return Some((cookie, failed.map_or(Ok(bytes), Err)));
            }
        }
    }

    fn receive(&mut self) -> bool {
        let mut chunk = vec![0; 256 << 10];
        match self.stream.read(&mut chunk) {
            Ok(0) => false,
            Ok(got) => {
                self.received.extend_from_slice(&chunk[..got]);
                true
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("the server neither answers nor closes: {error}"),
        }
    }
}

/// Whether the server has ended the connection, after reading everything that it sent.
pub fn is_closed(stream: &mut UnixStream) -> bool {
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

/// Reproducible randomness (splitmix64).
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}

/// Writes a file that only its owner may read, as a secret requires.
pub fn secret(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// The path of a program; if it is missing, the test is skipped with a reason.
pub fn program_or_skip(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    if found.is_none() {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// Reports why a test is skipped; fails if nothing may be skipped.
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
    assert!(!std::env::var("CI").is_ok_and(|value| matches!(value.as_str(), "true" | "1")), "{reason}");
}
