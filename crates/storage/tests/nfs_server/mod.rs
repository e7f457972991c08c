//! A server of NFS version 3 that keeps one file in memory and can be made to misbehave. It shares
//! only the wire format with our client; for the behaviour of a correct server there is
//! nfs-ganesha.

use nfs::mount::{self, MountCall, MountStatus};
use nfs::record::Joiner;
use nfs::rpc::{self, CallOutcome, Called};
use nfs::{
    Attributes, Call, FileHandle, FileKind, FsInfo, Moment, Procedure, ReadDone, Reader, Reply, Stable, Status, Wcc,
    Written,
};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// How the server answers.
#[derive(Clone, Debug, Default)]
pub struct Manners {
    /// Limit on the bytes that a READ or WRITE does.
    pub short: Option<u32>,
    /// Replies are sent in fragments of this many bytes.
    pub fragments: Option<usize>,
    /// How many calls are first answered with "ask again later".
    pub jukebox: u32,
    /// How many more calls of READ, WRITE and COMMIT there are before connections end.
    pub patience: Option<u32>,
    /// Replies to READ, WRITE and COMMIT are these bytes.
    pub nonsense: Option<Vec<u8>>,
    /// The status of READ, WRITE and COMMIT.
    pub fault: Option<Status>,
    /// Writes are durable at once, whatever was asked for.
    pub durable: bool,
    /// Writes are never durable, whatever was asked for.
    pub forgetful: bool,
    /// The status of READ, WRITE and COMMIT as it stands on the wire.
    pub status: Option<u32>,
}

#[derive(Debug)]
pub struct State {
    pub data: Vec<u8>,
    /// What survives when the server dies.
    pub safe: Vec<u8>,
    pub verifier: [u8; 8],
    pub manners: Manners,
    /// READ, WRITE and COMMIT calls so far.
    pub calls: [u32; 3],
    /// Calls that ended their connection, with `patience` used up.
    pub refused: u32,
    /// Connections that carried any of them.
    pub connections: std::collections::BTreeSet<u16>,
    open: Vec<TcpStream>,
}

/// The server.
pub struct Server {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

const ROOT: &[u8] = b"root";
const FILE: &[u8] = b"file";

impl Server {
    pub fn start(data: Vec<u8>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State {
            safe: data.clone(),
            data,
            verifier: [1; 8],
            manners: Manners::default(),
            calls: [0; 3],
            refused: 0,
            connections: Default::default(),
            open: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                shared.lock().unwrap().open.push(stream.try_clone().unwrap());
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Server { port, state }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn uri(&self, more: &str) -> String {
        format!("nfs://127.0.0.1:{}/export/file{more}", self.port)
    }

    /// The machine loses power, and a new instance starts: what no COMMIT made durable is lost, and
    /// so are the connections.
    pub fn die(&self) {
        let mut state = self.state();
        state.data = state.safe.clone();
        state.verifier = state.verifier.map(|byte| byte + 1);
        state.open.drain(..).for_each(|stream| {
            let _ = stream.shutdown(Shutdown::Both);
        });
    }
}

fn serve(mut stream: TcpStream, shared: &Mutex<State>) {
    let (mut joiner, mut came, mut chunk) = (Joiner::new(), Vec::new(), vec![0; 1 << 16]);
    let peer = stream.peer_addr().map_or(0, |peer| peer.port());
    loop {
        let mut input = &came[..];
        let record = joiner.feed(&mut input).expect("a good client keeps to the limits").map(<[u8]>::to_vec);
        let taken = came.len() - input.len();
        came.drain(..taken);
        let Some(record) = record else {
            match stream.read(&mut chunk) {
                Ok(0) | Err(_) => return,
                Ok(got) => came.extend_from_slice(&chunk[..got]),
            }
            continue;
        };
        joiner.clear();
        let mut state = shared.lock().unwrap();
        let Some(reply) = state.answer(&record, peer) else {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        };
        let fragments = state.manners.fragments.unwrap_or(reply.len()).max(1);
        drop(state);
        let mut out = Vec::new();
        let mut rest = &reply[..];
        loop {
            let piece = rest.split_off(..rest.len().min(fragments)).expect("so many are there");
            let mark = piece.len() as u32 | u32::from(rest.is_empty()) << 31;
            out.extend_from_slice(&mark.to_be_bytes());
            out.extend_from_slice(piece);
            if rest.is_empty() {
                break;
            }
        }
        if stream.write_all(&out).is_err() {
            return;
        }
    }
}

impl State {
    /// The reply's record; `None` ends the connection.
    fn answer(&mut self, record: &[u8], peer: u16) -> Option<Vec<u8>> {
        let mut reader = Reader::new(record);
        let Ok(Called::Call(head)) = rpc::read_call(&mut reader) else { panic!("no call: {record:?}") };
        let mut out = Vec::new();
        rpc::put_reply(&mut out, head.xid, CallOutcome::Success);
        if head.program == mount::PROGRAM {
            let call = MountCall::read(head.procedure, &mut reader).unwrap().unwrap();
            let mounted = match call {
                MountCall::Mount(b"/export") => Ok((FileHandle::new(ROOT).unwrap(), vec![mount::FLAVOUR_SYS])),
                _ => Err(MountStatus::NoEntry),
            };
            mount::put_mounted(&mut out, &mounted);
            return Some(out);
        }
        let call = Call::read(Procedure::of(head.procedure).unwrap(), &mut reader).unwrap();
        if matches!(call, Call::Read { .. } | Call::Write { .. } | Call::Commit { .. }) {
            self.connections.insert(peer);
            if let Some(patience) = &mut self.manners.patience {
                let Some(left) = patience.checked_sub(1) else {
                    self.refused += 1;
                    return None;
                };
                *patience = left;
            }
            if let Some(nonsense) = &self.manners.nonsense {
                return Some(nonsense.clone());
            }
            if let Some(status) = self.manners.status {
                out.extend_from_slice(&status.to_be_bytes());
                // No attributes before and after.
                out.extend_from_slice(&[0; 8]);
                return Some(out);
            }
        }
        let data = &record[reader.taken()..];
        let (reply, read) = self.reply(call, data);
        reply.put(&mut out);
        out.extend_from_slice(&read);
        out.resize(out.len().next_multiple_of(4), 0);
        Some(out)
    }

    fn attributes(&self) -> Attributes {
        let moment = Moment::default();
        Attributes {
            kind: FileKind::Regular,
            mode: 0o1644,
            links: 1,
            uid: 0,
            gid: 0,
            size: self.data.len() as u64,
            used: self.data.len() as u64,
            device: (0, 0),
            fsid: 1,
            fileid: 2,
            accessed: moment,
            modified: moment,
            changed: moment,
        }
    }

    fn reply(&mut self, call: Call<'_>, data: &[u8]) -> (Reply<'static>, Vec<u8>) {
        let later = self.manners.jukebox.checked_sub(1);
        let most = self.manners.short.unwrap_or(u32::MAX);
        let fault = self.manners.fault;
        let refused = |later: Option<u32>| match (later, fault) {
            (Some(_), _) => Some(Status::Jukebox),
            (None, fault) => fault,
        };
        let mut come = |number: usize| {
            self.calls[number] += 1;
            self.manners.jukebox = later.unwrap_or(0);
            refused(later)
        };
        let mut read = Vec::new();
        let reply = match call {
            Call::FsInfo(_) => {
                let info = FsInfo { read_most: 1 << 20, write_most: 1 << 20, ..FsInfo::default() };
                Reply::FsInfo(None, Ok(info))
            }
            Call::Lookup(entry) if entry.name == FILE => {
                Reply::Lookup(None, Ok((FileHandle::new(FILE).unwrap(), Some(self.attributes()))))
            }
            Call::Lookup(_) => Reply::Lookup(None, Err(Status::NoEntry)),
            Call::Read { at, count, .. } => match come(0) {
                Some(status) => Reply::Read(None, Err(status)),
                None => {
                    let rest = self.data.get(at as usize..).unwrap_or_default();
                    read = rest[..rest.len().min(count.min(most) as usize)].to_vec();
                    let (count, eof) = (read.len() as u32, read.len() == rest.len());
                    Reply::Read(Some(self.attributes()), Ok(ReadDone { count, eof, len: count }))
                }
            },
            Call::Write { at, count, stable, .. } => match come(1) {
                Some(status) => Reply::Write(Wcc::default(), Err(status)),
                None => {
                    let (at, count) = (at as usize, count.min(most) as usize);
                    self.data[at..at + count].copy_from_slice(&data[..count]);
                    let stable = match self.manners {
                        Manners { forgetful: true, .. } => Stable::Unstable,
                        Manners { durable: true, .. } => Stable::File,
                        _ => stable,
                    };
                    if stable != Stable::Unstable {
                        self.safe[at..at + count].copy_from_slice(&data[..count]);
                    }
                    let written = Written { count: count as u32, stable, verifier: self.verifier };
                    Reply::Write(Wcc::default(), Ok(written))
                }
            },
            Call::Commit { .. } => match come(2) {
                Some(status) => Reply::Commit(Wcc::default(), Err(status)),
                None => {
                    self.safe = self.data.clone();
                    Reply::Commit(Wcc::default(), Ok(self.verifier))
                }
            },
            other => panic!("not called by a load: {other:?}"),
        };
        (reply, read)
    }
}
