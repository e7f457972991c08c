//! Calls that are answered at once: names, attributes, what the server takes; and what is asked by
//! the others.
//!
//! What is offered is what NBD clients see, by the same rules of access ([`crate::access`]): who is
//! called what (`AUTH_SYS`) anybody can say, so it decides nothing. Names are made and taken away
//! by administrators' commands alone.

use super::{ANSWER, Asked, What, is_missing, said};
use crate::access::{Access, Caller, Grant};
use crate::exports::{Export, Exports};
use crate::folders::{FolderId, Node};
use ::nfs::limits::DATA_BYTES_MAX;
use ::nfs::listing::{Listed, Pager};
use ::nfs::mount::{self, Exported, MountCall, MountStatus};
use ::nfs::record;
use ::nfs::rpc::{self, CallHead, CallOutcome};
use ::nfs::{
    Attributes, Call, CreateHow, Entry, FileHandle, FileKind, FsInfo, FsStat, Moment, PathConf, Procedure, Reader,
    Reply, SetAttributes, SetMoment, Stable, Status, Wcc, XdrError,
};
use block::ObjectId;

/// What a call led to.
pub(super) enum Answered {
    /// The reply is written.
    Reply,
    /// The store has to be asked.
    Asked(Asked),
}

/// What is needed to answer one client.
pub(super) struct Service<'a> {
    pub exports: &'a Exports,
    pub access: &'a Access,
    pub caller: &'a Caller,
}

/// Bits of RFC 1813, `ACCESS3_*`.
const MAY_READ: u32 = 1;
const MAY_LOOK_UP: u32 = 2;
const MAY_CHANGE: u32 = 4 | 8;

/// Handles begin with this; then the kind, and who it is.
const MAGIC: [u8; 4] = *b"SWN1";

impl Service<'_> {
    /// Answers a call, or says what it asks of the store. Its arguments are read.
    pub(super) fn answer(
        &self,
        head: &CallHead<'_>,
        reader: &mut Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Answered, XdrError> {
        match (head.program, head.version) {
            (::nfs::PROGRAM, ::nfs::VERSION) => {}
            (mount::PROGRAM, mount::VERSION) => return self.mount(head, reader, out),
            (::nfs::PROGRAM | mount::PROGRAM, _) => {
                return Ok(said(out, head.xid, CallOutcome::ProgramMismatch { low: 3, high: 3 }));
            }
            _ => return Ok(said(out, head.xid, CallOutcome::ProgramUnavailable)),
        }
        let Some(procedure) = Procedure::of(head.procedure) else {
            return Ok(said(out, head.xid, CallOutcome::ProcedureUnavailable));
        };
        if is_missing(procedure) {
            return Ok(said(out, head.xid, CallOutcome::ProcedureUnavailable));
        }
        let call = Call::read(procedure, reader)?;
        let reply = match self.reply(&call, head.xid) {
            Ok(reply) => reply,
            Err(asked) => return Ok(Answered::Asked(asked)),
        };
        let start = record::begin(out);
        rpc::put_reply(out, head.xid, CallOutcome::Success);
        reply.put(out);
        record::end(out, start, 0);
        Ok(Answered::Reply)
    }

    fn reply(&self, call: &Call<'_>, xid: u32) -> Result<Reply<'static>, Asked> {
        Ok(match *call {
            Call::Null => Reply::Null,
            Call::GetAttr(handle) => Reply::GetAttr(self.node(&handle).map(|node| self.attributes(node))),
            Call::SetAttr { handle, set, guard: _ } => {
                Reply::Done(Wcc::default(), self.node(&handle).and_then(|node| self.set(node, &set)))
            }
            Call::Lookup(entry) => self.look_up(&entry),
            Call::Access { handle, wanted } => match self.node(&handle) {
                Ok(node) => Reply::Access(Some(self.attributes(node)), Ok(self.may(node) & wanted)),
                Err(status) => Reply::Access(None, Err(status)),
            },
            Call::ReadLink(_) => Reply::ReadLink(None, Err(Status::Invalid)),
            Call::Read { handle, at, count } => return self.read(xid, &handle, at, count),
            Call::Write { handle, at, count, stable, len } => {
                return Err(self.write(xid, &handle, (at, count.min(len)), stable, len));
            }
            Call::Create { entry, how } => self.create(&entry, how),
            Call::MakeDir { .. } => Reply::Made(Wcc::default(), Err(Status::Access)),
            Call::Remove(_) | Call::RemoveDir(_) => Reply::Done(Wcc::default(), Err(Status::Access)),
            Call::Rename { .. } => Reply::Rename(Wcc::default(), Wcc::default(), Err(Status::Access)),
            Call::ReadDir { handle, cookie, count, .. } => {
                self.list(&handle, cookie, Pager::names(count.min(ANSWER as u32)))
            }
            Call::ReadDirPlus { handle, cookie, names, count, .. } => {
                self.list(&handle, cookie, Pager::plus(names, count.min(ANSWER as u32)))
            }
            Call::FsStat(handle) => Reply::FsStat(None, self.node(&handle).map(|node| self.space(node))),
            Call::FsInfo(handle) => Reply::FsInfo(None, self.node(&handle).map(|_| self.info())),
            Call::PathConf(handle) => Reply::PathConf(None, self.node(&handle).map(|_| path_conf())),
            Call::Commit { handle, .. } => return self.commit(xid, &handle),
            Call::SymLink { .. } | Call::MakeNode { .. } | Call::Link { .. } => Reply::Null,
        })
    }

    fn mount(&self, head: &CallHead<'_>, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<Answered, XdrError> {
        let Some(call) = MountCall::read(head.procedure, reader)? else {
            return Ok(said(out, head.xid, CallOutcome::ProcedureUnavailable));
        };
        let start = record::begin(out);
        rpc::put_reply(out, head.xid, CallOutcome::Success);
        match call {
            MountCall::Mount(path) => {
                let found = std::str::from_utf8(path).ok().and_then(|path| self.exports.folders().mount(path));
                let seen = found.filter(|folder| self.sees(Node::Folder(*folder)));
                let mounted = seen.map(|folder| (handle_of(Node::Folder(folder)), vec![mount::FLAVOUR_SYS]));
                tracing::info!(client = %self.caller, path = %String::from_utf8_lossy(path), done = mounted.is_some(), "mount");
                mount::put_mounted(out, &mounted.ok_or(MountStatus::NoEntry));
            }
            MountCall::Exports => mount::put_exports(out, &self.exported()),
            // Nobody is remembered.
            MountCall::Dump => ::nfs::xdr::put_flag(out, false),
            MountCall::Null | MountCall::Unmount(_) | MountCall::UnmountAll => {}
        }
        record::end(out, start, 0);
        Ok(Answered::Reply)
    }

    /// The volumes that the client sees: by their junction paths or their names, with the SVM where
    /// another one has the same.
    fn exported(&self) -> Vec<Exported> {
        let folders = self.exports.folders();
        let mut all = Vec::new();
        for (svm, top) in folders.tops() {
            let entries = folders.get(top).into_iter().flat_map(|folder| folder.entries.values());
            for (name, node) in entries.filter(|(_, node)| self.sees(*node)) {
                let short = folders.junction(svm, name).map_or_else(|| format!("/{name}"), str::to_owned);
                let is_alone = matches!(node, Node::Folder(id) if folders.mount(&short) == Some(*id));
                let path = if is_alone { short } else { format!("/{svm}:{short}") };
                // What does not fit into an answer can be mounted all the same.
                if all.len() < 64 {
                    all.push(Exported { path: path.into_bytes(), groups: Vec::new() });
                }
            }
        }
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all
    }

    fn grant(&self, object: ObjectId) -> Grant {
        match self.exports.get(object).filter(|export| export.online) {
            Some(export) => self.access.grant(self.caller, &export.full_name()),
            None => Grant::Nothing,
        }
    }

    /// Whether there is something that the client may know of.
    fn sees(&self, node: Node) -> bool {
        match node {
            Node::File(object) => self.grant(object) != Grant::Nothing,
            Node::Folder(id) => self.exports.folders().any(id, &mut |object| self.grant(object) != Grant::Nothing),
        }
    }

    /// What a handle stands for, if it is there and the client may know of it.
    fn node(&self, handle: &FileHandle) -> Result<Node, Status> {
        let bytes: &[u8; 13] = handle.as_bytes().try_into().map_err(|_| Status::BadHandle)?;
        let (magic, kind, number) = (&bytes[..4], bytes[4], &bytes[5..]);
        let number = u64::from_be_bytes(number.try_into().expect("eight bytes are left"));
        let node = match kind {
            _ if magic != MAGIC => return Err(Status::BadHandle),
            0 => Node::Folder(FolderId(number)),
            1 => Node::File(ObjectId(u32::try_from(number).map_err(|_| Status::BadHandle)?)),
            _ => return Err(Status::BadHandle),
        };
        if self.sees(node) { Ok(node) } else { Err(Status::Stale) }
    }

    /// The LUN or file of a handle.
    fn file(&self, handle: &FileHandle) -> Result<&Export, Status> {
        match self.node(handle)? {
            Node::Folder(_) => Err(Status::IsDirectory),
            Node::File(object) => self.exports.get(object).ok_or(Status::Stale),
        }
    }

    fn attributes(&self, node: Node) -> Attributes {
        let (kind, mode, links, size, fileid, written) = match node {
            Node::Folder(id) => (FileKind::Directory, 0o555, 2, 4096, id.0, self.exports.written(None)),
            Node::File(object) => {
                let size = self.exports.get(object).map_or(0, |export| export.size);
                let mode = if self.grant(object) == Grant::Write { 0o666 } else { 0o444 };
                (FileKind::Regular, mode, 1, size, object.0.into(), self.exports.written(Some(object)))
            }
        };
        Attributes {
            kind,
            mode,
            links,
            uid: 0,
            gid: 0,
            size,
            used: size,
            device: (0, 0),
            fsid: 1,
            fileid,
            accessed: written,
            modified: written,
            changed: written,
        }
    }

    /// Nothing is kept but the size, which is an administrator's.
    fn set(&self, node: Node, set: &SetAttributes) -> Result<(), Status> {
        let Node::File(object) = node else { return Err(Status::Access) };
        let times = (set.accessed, set.modified) != (SetMoment::Keep, SetMoment::Keep);
        let has_more = set.mode.is_some() || set.uid.is_some() || set.gid.is_some() || times;
        let size = self.exports.get(object).map(|export| export.size);
        match set.size {
            _ if has_more => Err(Status::NotSupported),
            Some(wanted) if Some(wanted) != size => Err(Status::NotSupported),
            _ => Ok(()),
        }
    }

    fn may(&self, node: Node) -> u32 {
        match node {
            Node::Folder(_) => MAY_READ | MAY_LOOK_UP,
            Node::File(object) if self.grant(object) == Grant::Write => MAY_READ | MAY_CHANGE,
            Node::File(_) => MAY_READ,
        }
    }

    /// The entry of a folder, with the two names that each has.
    fn entry(&self, entry: &Entry<'_>) -> Result<(FolderId, Node), Status> {
        let Node::Folder(id) = self.node(&entry.directory)? else { return Err(Status::NotDirectory) };
        let folders = self.exports.folders();
        let found = match entry.name {
            b"" | b"." => Some(Node::Folder(id)),
            b".." => folders.get(id).map(|folder| Node::Folder(folder.parent.unwrap_or(id))),
            name => std::str::from_utf8(name).ok().and_then(|name| folders.look_up(id, name)),
        };
        let node = found.filter(|node| self.sees(*node)).ok_or(Status::NoEntry)?;
        Ok((id, node))
    }

    fn look_up(&self, entry: &Entry<'_>) -> Reply<'static> {
        match self.entry(entry) {
            Ok((id, node)) => {
                let folder = Some(self.attributes(Node::Folder(id)));
                Reply::Lookup(folder, Ok((handle_of(node), Some(self.attributes(node)))))
            }
            Err(status) => Reply::Lookup(None, Err(status)),
        }
    }

    /// Opens what is there; nothing is made.
    fn create(&self, entry: &Entry<'_>, how: CreateHow) -> Reply<'static> {
        let made = match (self.entry(entry), how) {
            (Ok((_, node @ Node::File(_))), CreateHow::Unchecked(_)) => {
                Ok((Some(handle_of(node)), Some(self.attributes(node))))
            }
            (Ok(_), _) => Err(Status::Exists),
            (Err(Status::NoEntry), _) => Err(Status::Access),
            (Err(status), _) => Err(status),
        };
        Reply::Made(Wcc::default(), made)
    }

    fn list(&self, handle: &FileHandle, cookie: u64, mut pager: Pager) -> Reply<'static> {
        let id = match self.node(handle) {
            Ok(Node::Folder(id)) => id,
            Ok(Node::File(_)) => return Reply::Listing(None, Err(Status::NotDirectory)),
            Err(status) => return Reply::Listing(None, Err(status)),
        };
        let Some(folder) = self.exports.folders().get(id) else { return Reply::Listing(None, Err(Status::Stale)) };
        let post = Some(self.attributes(Node::Folder(id)));
        let dots = [(1, ".", Node::Folder(id)), (2, "..", Node::Folder(folder.parent.unwrap_or(id)))];
        let dots = dots.into_iter().filter(|(own, ..)| *own > cookie);
        let behind = (std::ops::Bound::Excluded(cookie.max(2)), std::ops::Bound::Unbounded);
        let entries = folder.entries.range(behind).map(|(own, (name, node))| (*own, name.as_str(), *node));
        let (mut eof, mut count) = (true, 0);
        for (own, name, node) in dots.chain(entries).filter(|(.., node)| self.sees(*node)) {
            let attributes = self.attributes(node);
            let entry = Listed {
                fileid: attributes.fileid,
                name: name.as_bytes(),
                cookie: own,
                attributes: Some(attributes),
                handle: Some(handle_of(node)),
            };
            if !pager.add(&entry) {
                eof = false;
                break;
            }
            count += 1;
        }
        if count == 0 && !eof {
            return Reply::Listing(post, Err(Status::TooSmall));
        }
        // Cookies stay good whatever comes and goes, so there is nothing to verify.
        Reply::Listing(post, Ok(pager.finish([0; 8], eof)))
    }

    fn read(&self, xid: u32, handle: &FileHandle, at: u64, count: u32) -> Result<Reply<'static>, Asked> {
        let file = match self.file(handle) {
            Ok(file) => file,
            Err(status) => return Ok(Reply::Read(None, Err(status))),
        };
        let left = file.size.saturating_sub(at);
        let len = left.min(u64::from(count.min(file.longest).min(DATA_BYTES_MAX))) as u32;
        let eof = u64::from(len) == left;
        if len == 0 {
            return Ok(Reply::Read(None, Ok(::nfs::ReadDone { count: 0, eof, len: 0 })));
        }
        Err(Asked { xid, object: file.object, at, len, what: What::Read { eof }, refused: None })
    }

    /// What a WRITE asks: `len` bytes follow its head whatever becomes of it.
    fn write(&self, xid: u32, handle: &FileHandle, (at, count): (u64, u32), stable: Stable, len: u32) -> Asked {
        let judged = self.file(handle).and_then(|file| {
            let end = at.checked_add(len.into());
            if self.grant(file.object) != Grant::Write {
                Err(Status::ReadOnly)
            } else if count != len || len == 0 || len > file.longest {
                Err(Status::Invalid)
            } else if end.is_none_or(|end| end > file.size) {
                Err(Status::NoSpace)
            } else {
                Ok(file.object)
            }
        });
        let (object, refused) = match judged {
            Ok(object) => (object, None),
            Err(status) => (ObjectId(0), Some(status)),
        };
        Asked { xid, object, at, len, what: What::Write(stable), refused }
    }

    fn commit(&self, xid: u32, handle: &FileHandle) -> Result<Reply<'static>, Asked> {
        match self.file(handle) {
            Ok(file) => Err(Asked { xid, object: file.object, at: 0, len: 0, what: What::Commit, refused: None }),
            Err(status) => Ok(Reply::Commit(Wcc::default(), Err(status))),
        }
    }

    /// All of a file system is taken: LUNs and files have their sizes.
    fn space(&self, node: Node) -> FsStat {
        let (mut bytes, mut files) = (0, 0);
        let mut count = |object: ObjectId| {
            bytes += self.exports.get(object).map_or(0, |export| export.size);
            files += 1;
            false
        };
        match node {
            Node::File(object) => {
                count(object);
            }
            Node::Folder(id) => {
                self.exports.folders().any(id, &mut count);
            }
        }
        FsStat { bytes, files, ..FsStat::default() }
    }

    fn info(&self) -> FsInfo {
        let most = DATA_BYTES_MAX;
        FsInfo {
            read_most: most,
            read_best: most,
            read_multiple: 4096,
            write_most: most,
            write_best: most,
            write_multiple: 4096,
            listing_best: ANSWER as u32,
            file_most: 1 << 47,
            time_step: Moment { seconds: 0, nanos: 1 },
            properties: FsInfo::HOMOGENEOUS,
        }
    }
}

fn handle_of(node: Node) -> FileHandle {
    let (kind, number) = match node {
        Node::Folder(FolderId(id)) => (0, id),
        Node::File(object) => (1, object.0.into()),
    };
    let mut bytes = [0; 13];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4] = kind;
    bytes[5..].copy_from_slice(&number.to_be_bytes());
    FileHandle::new(&bytes).expect("a handle holds 64 bytes")
}

fn path_conf() -> PathConf {
    PathConf {
        links_most: 1,
        name_most: 255,
        no_truncation: true,
        owner_restricted: true,
        case_insensitive: false,
        case_preserving: true,
    }
}
