//! A target on its own ring, and what tests need of the machine.

#![allow(dead_code, reason = "each test file uses its part")]

use block::{Bytes, Completion, Driver, Fault, ObjectId, Op, OpKind, Request, Submitted, Target, Wakeup};
use nbd::Wishes;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use storage::{Address, Connection, Export, NbdTarget};
use uring::{Choice, Io, IoSettings};

pub const BACKENDS: [Choice; 2] = [Choice::Auto, Choice::Threads];

/// A target that is driven by hand.
pub struct Client<T: Target = NbdTarget> {
    pub io: Io,
    pub target: T,
    next_tag: u64,
}

impl Client {
    pub fn connect(backend: Choice, path: &Path, wishes: Wishes, keep_data: bool) -> Client {
        let io = Io::open(&IoSettings { backend, slab: Bytes::mib(16), ..IoSettings::default() }).unwrap();
        let connection = Connection::open_with(&Address::Unix(path.into()), wishes).unwrap();
        let target = storage::own_connection(&io, connection, keep_data).unwrap();
        Client { io, target, next_tag: 0 }
    }

    /// Opens an export by its URI; read data is kept.
    pub fn open(backend: Choice, uri: &str) -> Client {
        Client::try_open(backend, uri).unwrap_or_else(|error| panic!("{uri}: {error}"))
    }

    /// Does the same, or returns why it failed.
    pub fn try_open(backend: Choice, uri: &str) -> Result<Client, String> {
        let io = Io::open(&IoSettings { backend, slab: Bytes::mib(16), ..IoSettings::default() }).unwrap();
        let export = Export::parse(uri)?;
        let target = storage::own_export(&io, &export, true).map_err(|error| error.to_string())?;
        Ok(Client { io, target, next_tag: 0 })
    }
}

impl<T: Target> Client<T> {
    pub fn new(io: Io, target: T) -> Client<T> {
        Client { io, target, next_tag: 0 }
    }

    /// Hands what was submitted to the kernel, without waiting for a completion.
    pub fn hand_over(&mut self) {
        assert!(self.poll().is_empty());
        self.io.turn(Some(block::Time::ZERO));
    }

    pub fn submit(&mut self, at: u64, len: u64, op: Op) -> Option<u64> {
        self.ask(at, len, op, false)
    }

    /// Submits a request that must be durable when it completes.
    pub fn submit_durable(&mut self, at: u64, len: u64, op: Op) -> u64 {
        self.ask(at, len, op, true).expect("there is memory")
    }

    fn ask(&mut self, at: u64, len: u64, op: Op, fua: bool) -> Option<u64> {
        let now = self.io.now();
        let tag = self.next_tag + 1;
        let request = Request { tag, object: ObjectId(0), at, len, op, fua, due: now };
        match self.target.submit(now, request) {
            Submitted::Taken(_) => {
                self.next_tag = tag;
                Some(tag)
            }
            Submitted::Full(_) => None,
        }
    }

    pub fn read(&mut self, at: u64, len: u64) -> u64 {
        self.submit(at, len, Op::Read).expect("there is memory")
    }

    pub fn write(&mut self, at: u64, bytes: &[u8]) -> u64 {
        let op = self.data(bytes);
        self.submit(at, bytes.len() as u64, op).unwrap()
    }

    /// A write of these bytes.
    pub fn data(&mut self, bytes: &[u8]) -> Op {
        let mut buf = self.io.take(bytes.len() as u32).unwrap();
        self.io.with_mut(&mut buf, |to| to.copy_from_slice(bytes));
        Op::Write(buf)
    }

    pub fn poll(&mut self) -> Vec<Completion> {
        let mut out = Vec::new();
        let now = self.io.now();
        self.target.poll(now, &mut out);
        out
    }

    /// Waits for the next event; panics if none can come.
    pub fn wait(&mut self) {
        match self.target.next_wakeup() {
            Wakeup::Now => self.io.turn(Some(block::Time::ZERO)),
            Wakeup::External => self.io.turn(None),
            Wakeup::At(time) => self.io.turn(Some(time)),
            asleep @ Wakeup::Idle => panic!("nothing will ever end: {asleep:?}"),
        };
    }

    /// The next completion: its result, and why it failed.
    pub fn ended(&mut self) -> (Result<(), Fault>, String) {
        loop {
            if let [completion] = &mut self.poll()[..] {
                completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
                return (completion.result, completion.why().map(ToString::to_string).unwrap_or_default());
            }
            self.wait();
        }
    }

    /// The next `count` completions by tag, each once: the data of successful reads, or the fault.
    pub fn all(&mut self, count: usize) -> BTreeMap<u64, Result<Vec<u8>, Fault>> {
        let mut ended = BTreeMap::new();
        loop {
            for completion in self.poll() {
                let mut bytes = Vec::new();
                if let Some(buf) = completion.buf {
                    match completion.kind {
                        OpKind::Read => bytes = self.io.with(&buf, <[u8]>::to_vec),
                        kind => assert_eq!((kind, u64::from(buf.len())), (OpKind::Write, completion.len)),
                    }
                    self.io.give(buf);
                }
                let again = ended.insert(completion.tag, completion.result.map(|()| bytes));
                assert!(again.is_none(), "request {} ended twice", completion.tag);
            }
            if ended.len() >= count {
                assert_eq!(ended.len(), count);
                return ended;
            }
            self.wait();
        }
    }

    /// Closes the connection and checks that no buffer is lost.
    pub fn close(self) {
        let Client { io, target, .. } = self;
        drop(target);
        let mut driver = io.clone();
        while io.outstanding() > 0 {
            // Buffers at the kernel come back with the cancelled jobs. A leak would make this hang,
            // which the runner reports, so give up after a time.
            let before = io.outstanding();
            driver.turn(Some(driver.now() + block::Span::from_secs(10)));
            assert!(io.outstanding() < before, "{before} buffers never came back");
        }
    }
}

/// The environment variable with the file in which `cargo xtask test` collects skipped tests.
const SKIPPED_VARIABLE: &str = "SEAWALL_TESTS_SKIPPED";

/// A program's path. Without it the test is skipped with the reason, or fails if nothing may be
/// skipped.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    if found.is_none() {
        let thread = std::thread::current();
        let line = format!("{}: {program} is not installed", thread.name().unwrap_or("a test"));
        println!("skipped: {line}");
        assert!(!std::env::var("CI").is_ok_and(|value| matches!(value.as_str(), "true" | "1")), "{line}");
        if let Some(file) = std::env::var_os(SKIPPED_VARIABLE) {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
            file.and_then(|mut file| writeln!(file, "{line}")).expect("the file of skipped tests can be written");
        }
    }
    found
}

/// Another project's server, which ends with the test.
pub struct Peer {
    pub child: Child,
    pub socket: PathBuf,
}

impl Peer {
    /// Starts a server and waits until `socket` exists, or until it ended.
    pub fn start(mut command: Command, socket: &Path) -> Peer {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while std::os::unix::net::UnixStream::connect(socket).is_err() {
            if let Some(status) = child.try_wait().unwrap() {
                let mut said = String::new();
                let _ = std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut said);
                panic!("{command:?} ended with {status}: {said}");
            }
            std::thread::yield_now();
        }
        Peer { child, socket: socket.into() }
    }

    /// An nbdkit with its socket and further arguments.
    pub fn nbdkit(program: &Path, socket: &Path, arguments: &[&str]) -> Peer {
        let mut command = Command::new(program);
        command.args(["--foreground", "--exit-with-parent", "--unix"]).arg(socket).args(arguments);
        Peer::start(command, socket)
    }

    /// A qemu-nbd with its socket and a disk of 8 MiB in `folder`; `credentials` are an object for
    /// the server's side with the identifier `t`.
    pub fn qemu_nbd(program: &Path, socket: &Path, folder: &Path, credentials: &str) -> Peer {
        let disk = folder.join("disk");
        std::fs::File::create(&disk).unwrap().set_len(8 << 20).unwrap();
        let mut command = Command::new(program);
        command.args(["--persistent", "--shared=0", "--format=raw", "--object", credentials, "--tls-creds=t"]);
        command.arg("--socket").arg(socket).arg(&disk);
        Peer::start(command, socket)
    }

    /// Kills it as a power failure would, and removes its socket.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::fs::remove_file(&self.socket).unwrap();
    }
}

/// A slow nbdkit is lost during a read and a write and comes back: the read is sent again, the
/// write is not. `start` starts it on the same socket; returns the client, and the new server.
pub fn lose_nbdkit(backend: Choice, uri: &str, start: impl Fn(&[&str]) -> Peer) -> (Client, Peer) {
    let peer = start(&["--filter=delay", "memory", "8M", "delay-read=600", "delay-write=600"]);
    let mut client = Client::open(backend, uri);
    let (read, write) = (client.read(0, 4096), client.write(0, &[1; 4096]));
    client.hand_over();
    peer.kill();
    let peer = start(&["memory", "8M"]);
    let ended = client.all(2);
    assert_eq!((&ended[&read], &ended[&write]), (&Ok(vec![0; 4096]), &Err(Fault::Gone)));
    (client, peer)
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a file that only its owner may read, as is required of a secret.
pub fn secret(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}
