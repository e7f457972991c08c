//! Calls that are answered at once (names, attributes, limits of the server), and the parsing of
//! READ, WRITE and COMMIT.
//!
//! Clients see the same exports as over NBD, by the same access rules ([`crate::access`]). LUNs and
//! administrators' files have mode 0666 and appear at the top of their volume beside clients' files
//! (`changing`). For clients' files the mode decides ([`tree::permission`]), with the identity that
//! the client states (`AUTH_SYS`) as mapped by the rules.

use super::made::KeptFor;
use super::nodes::{handle_of, node_of};
use super::{ANSWER, Asked, What, said, too_long};
use crate::access::{Access, Caller, Grant, Squash};
use crate::exports::{Export, Exports};
use crate::folders::Node;
use crate::repeats::{self, CallMark};
use crate::volume_files::{AllFiles, Until, status_of};
use ::nfs::limits::DATA_BYTES_MAX;
use ::nfs::listing::Pager;
use ::nfs::rpc::{self, CallHead, CallOutcome, Credential};
use ::nfs::{Call, Entry, FileHandle, PathConf, Procedure, Reader, Reply, Stable, Status, Wcc, XdrError};
use ::nfs::{mount, portmap, record};
use block::{ObjectId, Span};
use std::cell::Cell;
use tree::{FileTree, NodeId, NodeKind, Ownership, Who};

/// The result of a call.
pub(super) enum Answered {
    /// The reply is written.
    Reply,
    /// The store has to be asked.
    Asked(Asked),
    /// The reply is written, and has to wait.
    Kept(KeptFor),
    /// The call was not executed, and has to wait.
    Crowded,
}

/// Everything needed to answer one client.
pub(super) struct Service<'a> {
    pub exports: &'a Exports,
    pub access: &'a Access,
    pub caller: &'a Caller,
    pub files: &'a mut AllFiles,
    /// The user who calls, as the client states it; `None` if it does not.
    pub said: Option<Who>,
    /// The time since 1970.
    pub now: Span,
    /// Bytes that the pool has left.
    pub pool_left: u64,
    /// The last result of the access rules in this call.
    pub known: Cell<Option<(ObjectId, (Grant, Squash))>>,
}

/// The outcome of a call.
pub(super) enum Outcome<'a> {
    /// The reply.
    Reply(Reply<'a>),
    /// The store has to be asked.
    Asked(Asked),
    /// The reply, and what it has to wait for.
    Later(Reply<'a>, ObjectId, Until),
}

impl<'a> Service<'a> {
    /// Nothing is known of the user yet.
    pub(super) fn new(
        (exports, access): (&'a Exports, &'a Access),
        caller: &'a Caller,
        files: &'a mut AllFiles,
        (now, pool_left): (Span, u64),
    ) -> Service<'a> {
        Service { exports, access, caller, files, said: None, now, pool_left, known: Cell::default() }
    }
}

impl Service<'_> {
    /// Answers a call, or returns what it asks of the store. `record` contains the arguments and
    /// everything before them.
    pub(super) fn answer(
        &mut self,
        head: &CallHead<'_>,
        reader: &mut Reader<'_>,
        record: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Answered, XdrError> {
        match (head.program, head.version) {
            (::nfs::PROGRAM, ::nfs::VERSION) => {}
            (mount::PROGRAM, mount::VERSION) => return self.mount(head, reader, out),
            (portmap::PROGRAM, portmap::VERSION) => return self.map_port(head, reader, out),
            (portmap::PROGRAM, _) => {
                return Ok(said(out, head.xid, CallOutcome::ProgramMismatch { low: 2, high: 2 }));
            }
            (::nfs::PROGRAM | mount::PROGRAM, _) => {
                return Ok(said(out, head.xid, CallOutcome::ProgramMismatch { low: 3, high: 3 }));
            }
            _ => return Ok(said(out, head.xid, CallOutcome::ProgramUnavailable)),
        }
        let Some(procedure) = Procedure::of(head.procedure) else {
            return Ok(said(out, head.xid, CallOutcome::ProcedureUnavailable));
        };
        let call = match Call::read(procedure, reader) {
            Err(XdrError::NameTooLong { .. }) => return Ok(too_long::answered(head.xid, procedure, out)),
            call => call?,
        };
        let mark = must_not_repeat(procedure).then(|| CallMark::of(head.xid, &record[..reader.taken()]));
        if let Some(kept) = mark.and_then(|mark| self.done_before(head.xid, procedure, mark, out)) {
            return Ok(Answered::Kept(kept));
        }
        if mark.is_some() && self.is_crowded(&call) {
            return Ok(Answered::Crowded);
        }
        self.said = said_by(head);
        let mut write = |reply: &Reply<'_>| {
            let start = record::begin(out);
            rpc::put_reply(out, head.xid, CallOutcome::Success);
            reply.put(out);
            record::end(out, start, 0);
        };
        match self.outcome(&call, head.xid) {
            Outcome::Asked(asked) => Ok(Answered::Asked(asked)),
            Outcome::Reply(reply) => {
                write(&reply);
                Ok(Answered::Reply)
            }
            Outcome::Later(reply, volume, until) => {
                write(&reply);
                if let (Some(mark), Until::Record(record)) = (mark, until) {
                    let (reading, reply) = (self.files.reading(volume), out.as_slice().into());
                    let answered = repeats::Answered { volume, record, reading, reply };
                    self.files.repeats.keep(self.now, self.caller.address, mark, answered);
                }
                Ok(Answered::Kept(KeptFor { volume, until, xid: head.xid, procedure }))
            }
        }
    }

    /// The reply of a call that was executed when it came before; it is sent once its effect is
    /// durable.
    fn done_before(&self, xid: u32, procedure: Procedure, mark: CallMark, out: &mut Vec<u8>) -> Option<KeptFor> {
        let done = self.files.done_before(self.now, self.caller.address, mark)?;
        out.extend_from_slice(&done.reply);
        Some(KeptFor { volume: done.volume, until: Until::Record(done.record), xid, procedure })
    }

    /// Whether the volume that a call would change takes no changes before a record is durable.
    fn is_crowded(&self, call: &Call<'_>) -> bool {
        let handle = match call {
            Call::SetAttr { handle, .. } | Call::Link { handle, .. } => handle,
            Call::Create { entry, .. } | Call::MakeDir { entry, .. } | Call::SymLink { entry, .. } => &entry.directory,
            Call::Remove(entry) | Call::RemoveDir(entry) | Call::Rename { from: entry, .. } => &entry.directory,
            _ => return false,
        };
        let volume = node_of(handle).and_then(|node| self.volume_of(node));
        volume.and_then(|volume| self.files.tree(volume).ok()).is_some_and(FileTree::is_crowded)
    }

    fn outcome(&mut self, call: &Call<'_>, xid: u32) -> Outcome<'_> {
        match *call {
            Call::SetAttr { handle, set, guard } => self.set_attributes(&handle, &set, guard),
            Call::Create { entry, how } => self.create(&entry, how),
            Call::MakeDir { entry, set } => self.make(&entry, NodeKind::Folder, &set, b""),
            Call::SymLink { entry, set, path } => self.make(&entry, NodeKind::Link, &set, path),
            Call::Remove(entry) => self.remove(&entry, false),
            Call::RemoveDir(entry) => self.remove(&entry, true),
            Call::Rename { from, to } => self.rename(&from, &to),
            Call::Link { handle, to } => self.link(&handle, &to),
            _ => match self.reply(call, xid) {
                Ok(reply) => Outcome::Reply(reply),
                Err(asked) => Outcome::Asked(asked),
            },
        }
    }

    fn reply(&self, call: &Call<'_>, xid: u32) -> Result<Reply<'_>, Asked> {
        Ok(match *call {
            Call::Null => Reply::Null,
            Call::GetAttr(handle) => Reply::GetAttr(self.node(&handle).map(|node| self.attributes(node))),
            Call::Lookup(entry) => self.look_up(&entry),
            Call::Access { handle, wanted } => match self.node(&handle) {
                Ok(node) => Reply::Access(Some(self.attributes(node)), Ok(self.may(node) & wanted)),
                Err(status) => Reply::Access(None, Err(status)),
            },
            Call::ReadLink(handle) => self.read_link(&handle),
            Call::Read { handle, at, count } => return self.read(xid, &handle, at, count),
            Call::Write { handle, at, count, stable, len } => {
                return Err(self.write(xid, &handle, (at, count.min(len)), stable, len));
            }
            Call::ReadDir { handle, cookie, count, .. } => {
                self.list(&handle, cookie, Pager::names(count.min(ANSWER as u32)))
            }
            Call::ReadDirPlus { handle, cookie, names, count, .. } => {
                self.list(&handle, cookie, Pager::plus(names, count.min(ANSWER as u32)))
            }
            Call::FsStat(handle) => Reply::FsStat(None, self.node(&handle).and_then(|node| self.space(node))),
            Call::FsInfo(handle) => Reply::FsInfo(None, self.node(&handle).map(|node| self.info(node))),
            Call::PathConf(handle) => Reply::PathConf(None, self.node(&handle).map(|_| path_conf())),
            Call::Commit { handle, .. } => return self.commit(xid, &handle),
            Call::MakeNode { .. } => Reply::Made(Wcc::default(), Err(Status::NotSupported)),
            Call::SetAttr { .. } | Call::Create { .. } | Call::MakeDir { .. } | Call::SymLink { .. } => Reply::Null,
            Call::Remove(_) | Call::RemoveDir(_) | Call::Rename { .. } | Call::Link { .. } => Reply::Null,
        })
    }

    /// The identity that the user is mapped to on a volume.
    pub(super) fn who(&self, volume: ObjectId) -> Who {
        self.standing(volume).1.of(self.said.as_ref())
    }

    pub(super) fn grant(&self, object: ObjectId) -> Grant {
        self.standing(object).0
    }

    /// What the caller may do with an object, and how its users are mapped there. The result is
    /// cached for the call, since nearly every call is about one object.
    fn standing(&self, object: ObjectId) -> (Grant, Squash) {
        if let Some((_, known)) = self.known.get().filter(|(of, _)| *of == object) {
            return known;
        }
        let access = |name: &str| self.access.standing(self.caller, name);
        let found = match self.exports.get(object).filter(|export| export.online) {
            // Avoids building the name, which no rule needs.
            Some(_) if self.access.is_open() => access(""),
            Some(export) => access(&export.full_name()),
            None => self.files.get(object).map_or((Grant::Nothing, Squash::default()), |found| access(&found.name)),
        };
        self.known.set(Some((object, found)));
        found
    }

    /// Checks that the client may write to an object.
    pub(super) fn may_write(&self, object: ObjectId) -> Result<(), Status> {
        if self.grant(object) == Grant::Write { Ok(()) } else { Err(Status::ReadOnly) }
    }

    /// Whether the client may know of a node.
    pub(super) fn sees(&self, node: Node) -> bool {
        match node {
            Node::Made(volume, _) => self.grant(volume) != Grant::Nothing,
            Node::File(object) => self.grant(object) != Grant::Nothing,
            Node::Folder(id) => self.exports.folders().any(id, &mut |object| self.grant(object) != Grant::Nothing),
        }
    }

    /// The LUN or file of a handle.
    fn file(&self, handle: &FileHandle) -> Result<&Export, Status> {
        match self.node(handle)? {
            Node::Folder(_) => Err(Status::IsDirectory),
            Node::File(object) => self.exports.get(object).ok_or(Status::Stale),
            // Clients' files are handled before.
            Node::Made(..) => Err(Status::Stale),
        }
    }

    fn look_up(&self, entry: &Entry<'_>) -> Reply<'_> {
        match self.entry(entry) {
            Ok((folder, node)) => {
                let folder = Some(self.attributes(folder));
                Reply::Lookup(folder, Ok((handle_of(node), Some(self.attributes(node)))))
            }
            Err(status) => Reply::Lookup(None, Err(status)),
        }
    }

    /// The client's file that a handle refers to, with its volume.
    fn made_file(&self, handle: &FileHandle) -> Option<(ObjectId, NodeId)> {
        match node_of(handle) {
            Some(Node::Made(volume, id)) => Some((volume, id)),
            _ => None,
        }
    }

    fn read_made(&self, xid: u32, (volume, id): (ObjectId, NodeId), at: u64, count: u32) -> Result<Reply<'_>, Asked> {
        let len = count.min(DATA_BYTES_MAX);
        let tree = if self.sees(Node::Made(volume, id)) { self.files.tree(volume) } else { Err(Status::Stale) };
        let placed = tree.and_then(|tree| {
            let info = tree.info(id).map_err(status_of)?;
            let may = info.kind != NodeKind::File || Ownership::from(&info).may_be_read(&self.who(volume));
            if may { tree.place_read(id, at, len.into()).map_err(status_of) } else { Err(Status::Access) }
        });
        match placed {
            Err(status) => Ok(Reply::Read(None, Err(status))),
            Ok(piece) if piece.len == 0 => Ok(Reply::Read(None, Ok(::nfs::ReadDone { count: 0, eof: true, len: 0 }))),
            Ok(piece) => {
                let (what, len) = (What::Read { eof: false }, piece.len as u32);
                let object = self.files.accounted(volume, id);
                Err(Asked {
                    xid,
                    object,
                    at,
                    len,
                    what,
                    refused: None,
                    made: Some((volume, id)),
                    by_root: false,
                    spot: None,
                })
            }
        }
    }

    fn write_made(
        &self,
        xid: u32,
        (volume, id): (ObjectId, NodeId),
        (at, count): (u64, u32),
        stable: Stable,
        len: u32,
    ) -> Asked {
        let (known, who) = (self.sees(Node::Made(volume, id)), self.who(volume));
        let judged = match self.files.tree(volume).and_then(|tree| tree.info(id).map_err(status_of)) {
            _ if !known => Err(Status::Stale),
            Err(status) => Err(status),
            Ok(info) if info.kind == NodeKind::Folder => Err(Status::IsDirectory),
            Ok(_) if count != len || len == 0 => Err(Status::Invalid),
            Ok(info) => self.may_write(volume).and_then(|()| match Ownership::from(&info).may_be_written(&who) {
                true => Ok(()),
                false => Err(Status::Access),
            }),
        };
        let (what, refused) = (What::Write(stable), judged.err());
        let object = self.files.accounted(volume, id);
        let by_root = who.uid == 0;
        Asked { xid, object, at, len, what, refused, made: Some((volume, id)), by_root, spot: None }
    }

    fn read(&self, xid: u32, handle: &FileHandle, at: u64, count: u32) -> Result<Reply<'_>, Asked> {
        if let Some(made) = self.made_file(handle) {
            return self.read_made(xid, made, at, count);
        }
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
        Err(Asked {
            xid,
            object: file.object,
            at,
            len,
            what: What::Read { eof },
            refused: None,
            made: None,
            by_root: false,
            spot: None,
        })
    }

    /// Parses a WRITE: `len` bytes follow its head, whatever becomes of it.
    fn write(&self, xid: u32, handle: &FileHandle, (at, count): (u64, u32), stable: Stable, len: u32) -> Asked {
        if let Some(made) = self.made_file(handle) {
            return self.write_made(xid, made, (at, count), stable, len);
        }
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
        Asked { xid, object, at, len, what: What::Write(stable), refused, made: None, by_root: false, spot: None }
    }

    fn commit(&self, xid: u32, handle: &FileHandle) -> Result<Reply<'_>, Asked> {
        if let (Some((volume, id)), Ok(_)) = (self.made_file(handle), self.node(handle)) {
            let (object, what, made) = (self.files.accounted(volume, id), What::Commit, Some((volume, id)));
            return Err(Asked { xid, object, at: 0, len: 0, what, refused: None, made, by_root: false, spot: None });
        }
        match self.file(handle) {
            Ok(file) => Err(Asked {
                xid,
                object: file.object,
                at: 0,
                len: 0,
                what: What::Commit,
                refused: None,
                made: None,
                by_root: false,
                spot: None,
            }),
            Err(status) => Ok(Reply::Commit(Wcc::default(), Err(status))),
        }
    }

    fn read_link(&self, handle: &FileHandle) -> Reply<'_> {
        let node = match self.node(handle) {
            Ok(node) => node,
            Err(status) => return Reply::ReadLink(None, Err(status)),
        };
        let post = Some(self.attributes(node));
        match node {
            Node::Made(volume, id) => {
                let target = self.files.tree(volume).and_then(|tree| tree.target(id).map_err(status_of));
                Reply::ReadLink(post, target)
            }
            Node::Folder(_) | Node::File(_) => Reply::ReadLink(post, Err(Status::Invalid)),
        }
    }
}

/// Whether executing a call twice has another effect than once. A repeated WRITE writes the same
/// data.
fn must_not_repeat(procedure: Procedure) -> bool {
    use Procedure as P;
    matches!(
        procedure,
        P::SetAttr | P::Create | P::MakeDir | P::SymLink | P::MakeNode | P::Remove | P::RemoveDir | P::Rename | P::Link
    )
}

/// The user that a caller claims to be.
fn said_by(head: &CallHead<'_>) -> Option<Who> {
    match &head.credential {
        Credential::Sys(sys) => Some(Who::new(sys.uid, sys.gid, sys.groups.as_slice())),
        Credential::None | Credential::Other(_) => None,
    }
}

fn path_conf() -> PathConf {
    PathConf {
        links_most: tree::limits::LINKS_MAX,
        name_most: 255,
        no_truncation: true,
        owner_restricted: true,
        case_insensitive: false,
        case_preserving: true,
    }
}
