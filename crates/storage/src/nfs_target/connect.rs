//! Finding a file at its server: ports, mount, look-ups; blocking, before the ring takes over the
//! connections.
//!
//! Only the server knows which part of a path is the export. The longest part that can be mounted
//! is taken for it, and the rest is looked up.

use super::file::NfsFile;
use crate::dial::{PATIENCE, call, retry_interrupted};
use nfs::mount::{self, MountCall, MountStatus};
use nfs::portmap::{self, Mapping};
use nfs::record::{self, Joiner, RecordError};
use nfs::rpc::{self, CallHead, CallOutcome, Credential, Groups, SysCredential};
use nfs::{
    Attributes, Call, CreateHow, Entry, FileHandle, FileKind, FsInfo, Post, Reader, Reply, SetAttributes, Status,
    XdrError,
};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;

/// Why a file of an NFS server cannot be used: one line.
#[derive(Debug, thiserror::Error)]
pub enum NfsError {
    /// The socket failed.
    #[error("{address}: {source}")]
    Socket {
        /// The address.
        address: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The program is not registered with the server's port mapper.
    #[error("{host}: its port mapper knows of no {program} version 3 over TCP; is the server running there?")]
    NotRegistered {
        /// The server.
        host: String,
        /// The program.
        program: &'static str,
    },
    /// The server does not accept our calls.
    #[error("{address}: {program}: {outcome}")]
    Call {
        /// The address.
        address: String,
        /// The program that was called.
        program: &'static str,
        /// The server's answer.
        outcome: CallOutcome,
    },
    /// Neither the path nor any folder above it can be mounted.
    #[error("{address}: {path}: cannot be mounted: {status}")]
    Mount {
        /// The address.
        address: String,
        /// The folder of the file.
        path: String,
        /// The server's answer.
        status: MountStatus,
    },
    /// An NFS procedure failed.
    #[error("{address}: {path}: {status}")]
    Nfs {
        /// The address.
        address: String,
        /// The path that it was for.
        path: String,
        /// The server's answer.
        status: Status,
    },
    /// It is not a regular file.
    #[error("{address}: {path}: is no file with data; name one")]
    Kind {
        /// The address.
        address: String,
        /// The path.
        path: String,
    },
    /// It does not exist, and its URI has no size.
    #[error("{address}: {path}: is not there; make it first, or say how large it is to be made, as in ?size=1GiB")]
    Missing {
        /// The address.
        address: String,
        /// The path.
        path: String,
    },
    /// The server violates the protocol.
    #[error("{address}: answers what is no {program} version 3: {why}")]
    Protocol {
        /// The address.
        address: String,
        /// The program that was called.
        program: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The server closed the connection.
    #[error("{0}: the server closed the connection")]
    Closed(String),
    /// The slab has no room for the receive buffer.
    #[error("no memory left for another connection")]
    NoMemory,
}

/// The user of the calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    uid: u32,
    gid: u32,
}

/// The client's name in credentials.
const MACHINE: &[u8] = b"seawall";

impl Caller {
    fn of(file: &NfsFile) -> Caller {
        let own = std::fs::metadata("/proc/self").map(|about| (about.uid(), about.gid()));
        let (uid, gid) = own.unwrap_or((65534, 65534));
        Caller { uid: file.uid.unwrap_or(uid), gid: file.gid.unwrap_or(gid) }
    }

    /// In the form of the head of a call.
    pub(crate) fn credential(self) -> Credential<'static> {
        let Caller { uid, gid } = self;
        Credential::Sys(SysCredential { stamp: 0, machine: MACHINE, uid, gid, groups: Groups::default() })
    }
}

/// A file that was found, and the limits of its server.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The address for NFS.
    pub(crate) address: String,
    pub(crate) caller: Caller,
    pub(crate) handle: FileHandle,
    pub(crate) size: u64,
    /// The file has our mark: see [`MARK`].
    pub(crate) ours: bool,
    /// Limits on the bytes of a READ and of a WRITE.
    pub(crate) read_most: u32,
    pub(crate) write_most: u32,
}

/// The mark of files created here. NFS version 3 lacks the extended attributes in which local files
/// have it, so this is the sticky bit, which means nothing for files.
pub(crate) const MARK: u32 = 0o1000;

/// Finds the file. `None` if only the file itself is missing.
///
/// # Errors
/// The server cannot be reached, or refuses.
pub(crate) fn find(file: &NfsFile) -> Result<Option<Found>, NfsError> {
    Search::begin(file)?.find()
}

/// Finds the file; creates or extends it if its URI has a size.
///
/// # Errors
/// As [`find`]; or it does not exist and there is no size.
pub(crate) fn make(file: &NfsFile) -> Result<Found, NfsError> {
    let mut search = Search::begin(file)?;
    let found = search.find()?;
    match (found, file.size) {
        (None, None) => Err(NfsError::Missing { address: search.rpc.address, path: file.path.clone() }),
        (Some(found), size) if size.is_none_or(|size| size.0 <= found.size) => Ok(found),
        (found, size) => search.lengthen(found, size.unwrap_or_default().0),
    }
}

/// Makes another connection to the server of a file.
///
/// # Errors
/// Nobody listens there any more.
pub(crate) fn connect(found: &Found) -> Result<OwnedFd, NfsError> {
    let address = &found.address;
    let socket = |source| NfsError::Socket { address: address.clone(), source };
    let stream = call(address).map_err(socket)?;
    stream.set_nodelay(true).map_err(socket)?;
    Ok(stream.into())
}

struct Search<'f> {
    file: &'f NfsFile,
    caller: Caller,
    rpc: Rpc,
    /// The deepest folder that could be mounted, and the names below it.
    root: FileHandle,
    names: Vec<&'f str>,
    info: FsInfo,
    /// The folder of the file.
    folder: FileHandle,
}

impl<'f> Search<'f> {
    fn begin(file: &'f NfsFile) -> Result<Search<'f>, NfsError> {
        let caller = Caller::of(file);
        let (port, mount_port) = ports(file)?;
        let (root, names) = mount_longest(file, caller, mount_port)?;
        let rpc = Rpc::open(file.at(port), "NFS", nfs::PROGRAM, nfs::VERSION, caller.credential())?;
        let mut search = Search { file, caller, rpc, root, names, info: FsInfo::default(), folder: root };
        search.info = search.ask(&Call::FsInfo(root), &file.path, |reply| match reply {
            Reply::FsInfo(_, result) => Some(result),
            _ => None,
        })?;
        Ok(search)
    }

    fn find(&mut self) -> Result<Option<Found>, NfsError> {
        self.folder = self.root;
        let names = self.names.clone();
        let (own, folders) = names.split_last().expect("a path has a name");
        for name in folders {
            self.folder = self.look_up(name)?.0;
        }
        match self.look_up(own) {
            Ok((handle, post)) => {
                let attributes = match post {
                    Some(attributes) => attributes,
                    None => self.attributes(handle)?,
                };
                self.found(handle, attributes).map(Some)
            }
            Err(NfsError::Nfs { status: Status::NoEntry, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn look_up(&mut self, name: &str) -> Result<(FileHandle, Post), NfsError> {
        let entry = Entry { directory: self.folder, name: name.as_bytes() };
        let path = self.file.path.clone();
        self.ask(&Call::Lookup(entry), &path, |reply| match reply {
            Reply::Lookup(_, result) => Some(result),
            _ => None,
        })
    }

    fn attributes(&mut self, handle: FileHandle) -> Result<Attributes, NfsError> {
        let path = self.file.path.clone();
        self.ask(&Call::GetAttr(handle), &path, |reply| match reply {
            Reply::GetAttr(result) => Some(result),
            _ => None,
        })
    }

    fn found(&self, handle: FileHandle, attributes: Attributes) -> Result<Found, NfsError> {
        let address = self.rpc.address.clone();
        if attributes.kind != FileKind::Regular {
            return Err(NfsError::Kind { address, path: self.file.path.clone() });
        }
        // A server that does not say gets the smallest usual limit.
        let most = |own: u32, wished: Option<u32>| {
            let own = if own == 0 { 8192 } else { own.min(nfs::limits::DATA_BYTES_MAX) };
            wished.map_or(own, |wished| wished.min(own))
        };
        Ok(Found {
            address,
            caller: self.caller,
            handle,
            size: attributes.size,
            ours: attributes.mode & MARK != 0,
            read_most: most(self.info.read_most, self.file.read_most),
            write_most: most(self.info.write_most, self.file.write_most),
        })
    }

    /// Creates the file if it is missing, and extends it.
    fn lengthen(&mut self, found: Option<Found>, size: u64) -> Result<Found, NfsError> {
        let path = self.file.path.clone();
        let handle = match found {
            Some(found) => found.handle,
            None => {
                let name = *self.names.last().expect("a path has a name");
                let set = SetAttributes { mode: Some(0o644 | MARK), ..SetAttributes::default() };
                let entry = Entry { directory: self.folder, name: name.as_bytes() };
                let how = CreateHow::Guarded(set);
                let made = self.ask(&Call::Create { entry, how }, &path, |reply| match reply {
                    Reply::Made(_, result) => Some(result),
                    _ => None,
                })?;
                match made.0 {
                    Some(handle) => handle,
                    None => self.look_up(name)?.0,
                }
            }
        };
        let set = SetAttributes { size: Some(size), ..SetAttributes::default() };
        self.ask(&Call::SetAttr { handle, set, guard: None }, &path, |reply| match reply {
            Reply::Done(_, result) => Some(result),
            _ => None,
        })?;
        let attributes = self.attributes(handle)?;
        self.found(handle, attributes)
    }

    /// Calls a procedure that concerns `path`.
    fn ask<T>(
        &mut self,
        asked: &Call<'_>,
        path: &str,
        pick: impl FnOnce(Reply<'_>) -> Option<Result<T, Status>>,
    ) -> Result<T, NfsError> {
        let procedure = asked.procedure();
        let picked =
            self.rpc.call(procedure as u32, |out| asked.put(out), |reader| Reply::read(procedure, reader).map(pick))?;
        let address = self.rpc.address.clone();
        match picked {
            Some(Ok(value)) => Ok(value),
            Some(Err(status)) => Err(NfsError::Nfs { address, path: path.into(), status }),
            None => Err(NfsError::Protocol { address, program: "NFS", why: "a reply of another procedure".into() }),
        }
    }
}

/// The ports of NFS and MOUNT. Without a port mapper, both are assumed at the NFS port.
fn ports(file: &NfsFile) -> Result<(u16, u16), NfsError> {
    if let (Some(port), Some(mount_port)) = (file.port, file.mount_port) {
        return Ok((port, mount_port));
    }
    const HOME: u16 = 2049;
    let opened =
        Rpc::open(file.at(portmap::PORT), "the port mapper", portmap::PROGRAM, portmap::VERSION, Credential::None);
    let Ok(mut rpc) = opened else {
        let port = file.port.unwrap_or(HOME);
        return Ok((port, file.mount_port.unwrap_or(port)));
    };
    let mut ask = |program: u32, word: &'static str| {
        let mapping = Mapping { program, version: 3, protocol: portmap::TCP, port: 0 };
        let port = rpc.call(portmap::GET_PORT, |out| mapping.put(out), portmap::read_port)?;
        port.ok_or_else(|| NfsError::NotRegistered { host: file.host.clone(), program: word })
    };
    let port = file.port.map_or_else(|| ask(nfs::PROGRAM, "NFS"), Ok)?;
    let mount_port = file.mount_port.map_or_else(|| ask(mount::PROGRAM, "MOUNT"), Ok)?;
    Ok((port, mount_port))
}

/// Mounts the longest part of the file's path that can be mounted, excluding the file's own name.
/// Also returns the names that follow.
fn mount_longest(file: &NfsFile, caller: Caller, port: u16) -> Result<(FileHandle, Vec<&str>), NfsError> {
    let mut rpc = Rpc::open(file.at(port), "MOUNT", mount::PROGRAM, mount::VERSION, caller.credential())?;
    let names: Vec<&str> = file.names().collect();
    let folder = |count: usize| format!("/{}", names[..count].join("/"));
    let mut refused = None;
    for count in (0..names.len()).rev() {
        let path = folder(count);
        let asked = MountCall::Mount(path.as_bytes());
        match rpc.call(asked.procedure(), |out| asked.put(out), mount::read_mounted)? {
            Ok((root, _)) => return Ok((root, names[count..].to_vec())),
            // The answer for the whole folder is the most informative.
            Err(status) => {
                refused.get_or_insert(status);
            }
        }
    }
    let status = refused.expect("a path has a name");
    Err(NfsError::Mount { address: rpc.address, path: folder(names.len() - 1), status })
}

/// A connection for synchronous calls.
struct Rpc {
    address: String,
    name: &'static str,
    program: u32,
    version: u32,
    credential: Credential<'static>,
    stream: TcpStream,
    xid: u32,
    joiner: Joiner,
    /// Received bytes that were not read.
    came: Vec<u8>,
}

impl Rpc {
    fn open(
        address: String,
        name: &'static str,
        program: u32,
        version: u32,
        credential: Credential<'static>,
    ) -> Result<Rpc, NfsError> {
        let socket = |source| NfsError::Socket { address: address.clone(), source };
        let stream = call(&address).map_err(socket)?;
        stream.set_nodelay(true).map_err(socket)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(socket)?;
        let (joiner, came) = (Joiner::new(), Vec::new());
        // An earlier client's numbers are unknown, and a server repeats its answer for a repeated
        // number. So start at a random one.
        let xid = RandomState::new().build_hasher().finish() as u32;
        Ok(Rpc { address, name, program, version, credential, stream, xid, joiner, came })
    }

    fn call<T>(
        &mut self,
        procedure: u32,
        put: impl FnOnce(&mut Vec<u8>),
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, XdrError>,
    ) -> Result<T, NfsError> {
        self.xid = self.xid.wrapping_add(1);
        let Rpc { xid, program, version, credential, .. } = *self;
        let mut out = Vec::new();
        let start = record::begin(&mut out);
        rpc::put_call(&mut out, &CallHead { xid, program, version, procedure, credential });
        put(&mut out);
        record::end(&mut out, start, 0);
        self.stream.write_all(&out).map_err(|source| self.socket(source))?;
        let reply = self.receive()?;
        let mut reader = Reader::new(&reply);
        let (got, outcome) = rpc::read_reply(&mut reader).map_err(|why| self.protocol(&why))?;
        if got != xid {
            return Err(self.protocol(&"a reply to a call that was not made"));
        } else if outcome != CallOutcome::Success {
            return Err(NfsError::Call { address: self.address.clone(), program: self.name, outcome });
        }
        read(&mut reader).map_err(|why| self.protocol(&why))
    }

    /// The next record.
    fn receive(&mut self) -> Result<Vec<u8>, NfsError> {
        loop {
            let mut input = &self.came[..];
            let fed = self.joiner.feed(&mut input).map(|record| record.map(<[u8]>::to_vec));
            let taken = self.came.len() - input.len();
            self.came.drain(..taken);
            if let Some(record) = fed.map_err(|why: RecordError| self.protocol(&why))? {
                self.joiner.clear();
                return Ok(record);
            }
            let mut chunk = [0; 4096];
            let got = retry_interrupted(|| self.stream.read(&mut chunk)).map_err(|source| self.socket(source))?;
            if got == 0 {
                return Err(NfsError::Closed(self.address.clone()));
            }
            self.came.extend_from_slice(&chunk[..got]);
        }
    }

    fn socket(&self, source: std::io::Error) -> NfsError {
        NfsError::Socket { address: self.address.clone(), source }
    }

    fn protocol(&self, why: &dyn std::fmt::Display) -> NfsError {
        NfsError::Protocol { address: self.address.clone(), program: self.name, why: why.to_string() }
    }
}
