//! A connection that speaks NFS version 3 and MOUNT: calls in, replies out.
//!
//! ```text
//!   record ──► head ──► about names or attributes: answered at once (`answer`)
//!                  └──► READ, WRITE, COMMIT ──► admit (limits) ──► gate.submit ──► completion ──► reply
//! ```
//! Limits, turns, the gate and what is sent are those of all sessions. The data of a WRITE goes
//! from the socket to where it belongs, that of a READ from the store to the socket; heads alone
//! are looked at.

mod answer;
mod changing;
mod listing;
mod made;
mod mounting;
mod nodes;
mod placing;
mod too_long;

use super::link::Payload;
use super::{Around, Ending, Filling, Pending, Phase, Session};
use crate::claims::{Claim, claim_of};
use crate::waiting::Wait;
use ::nfs::limits::RECORD_BYTES_MAX;
use ::nfs::record::{self, MARK_BYTES, Mark};
use ::nfs::rpc::{self, AUTH_BAD_CREDENTIAL, CallOutcome, Called};
use ::nfs::xdr::filling;
use ::nfs::{ReadDone, Reader, Reply, Stable, Status, Wcc, Written, XdrError};
use answer::{Answered, Service};
use block::{Buf, Completion, Fault, ObjectId, Op};
pub(super) use made::Kept;
use made::KeptFor;
use std::collections::BTreeSet;
use tree::NodeId;

/// Bytes that an answer to a call about names may take.
pub(super) const ANSWER: u64 = 32 << 10;

/// LUNs and files that a connection is known to use at most; what it uses beyond them is taken away
/// without asking it.
const USED_MAX: usize = 4096;

/// A connection that speaks NFS.
#[derive(Default)]
pub(super) struct NfsLink {
    /// What could not go on: it goes first.
    held: Option<Held>,
    /// Bytes of the stream that say nothing any more.
    skip: u32,
    /// What was read or written over it.
    pub(super) used: BTreeSet<ObjectId>,
}

enum Held {
    /// A call that a limit or the lack of memory holds back.
    Parsed(Asked),
    /// A request that the gate was too full for.
    Refused(block::Request),
    /// A write whose bytes are still coming.
    Payload(Payload<Asked>),
}

/// A call of READ, WRITE or COMMIT.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    xid: u32,
    object: ObjectId,
    at: u64,
    len: u32,
    what: What,
    /// What it is refused for; a write's bytes are taken off the stream all the same.
    refused: Option<Status>,
    /// The file of a client that it is about, and its volume; `object` is the qtree that it is in
    /// then, or the volume.
    made: Option<(ObjectId, NodeId)>,
    /// Root writes it, who may.
    by_root: bool,
    /// Where it goes, once that is known: `at` and `len` are in the volume's tree from then on.
    spot: Option<placing::Spot>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// The file ends with it.
    Read {
        eof: bool,
    },
    Write(Stable),
    Commit,
}

/// What the bytes that are here begin with.
enum Seen {
    /// Less than a head.
    More,
    /// No call.
    Broken(String),
    /// A call that is answered already, and how many bytes of its record are left.
    Answered(u32),
    /// One that is not.
    Asked(Asked, u32),
    /// One whose reply is written and waits.
    Kept(KeptFor, u32),
}

impl NfsLink {
    /// The write whose bytes are coming, if any.
    pub(super) fn payload(&self) -> Option<&Payload<Asked>> {
        match &self.held {
            Some(Held::Payload(payload)) => Some(payload),
            _ => None,
        }
    }
}

impl Session {
    /// Works off what is here, then asks for more.
    pub(super) fn parse_nfs(&mut self, around: &mut Around<'_>) {
        loop {
            let is_new = self.nfs().held.is_none();
            let is_here = self.rx.unread(around.io, |bytes| (0, bytes.len() >= MARK_BYTES as usize));
            if (self.portion == 0 || *around.room == 0) && is_new && self.nfs().skip == 0 && is_here == Some(true) {
                self.waits = Some(Wait::Turn { floor: None });
                return;
            }
            if is_new
                && is_here == Some(true)
                && self.nfs().skip == 0
                && let Some(until) = around.link.let_in(around.now, self.index)
            {
                return self.wait_for_link(until, around);
            }
            let went_on = match self.nfs().held.take() {
                None => self.call(around),
                Some(Held::Parsed(asked)) => self.let_in(asked, around),
                Some(Held::Refused(request)) => self.hand_over(request, around),
                Some(Held::Payload(payload)) => self.fill_nfs(payload, around),
            };
            if !went_on || self.ending != Ending::No {
                return;
            }
        }
    }

    fn nfs(&mut self) -> &mut NfsLink {
        match &mut self.phase {
            Phase::Nfs(link) => link,
            Phase::Handshake(_) | Phase::Transmission(_) => unreachable!("the connection speaks NFS"),
        }
    }

    /// Takes one call; false when there is none, or it has to wait.
    fn call(&mut self, around: &mut Around<'_>) -> bool {
        let skip = self.nfs().skip;
        let skipped = self.rx.unread(around.io, |bytes| {
            let here = bytes.len().min(skip as usize);
            (here, here as u32)
        });
        let Some(skipped) = skipped else { return false };
        self.nfs().skip -= skipped;
        if self.nfs().skip > 0 {
            return self.receive(around);
        }
        // Room for an answer, whatever is asked.
        let claim = claim_of(ANSWER);
        match self.ask(claim, around) {
            Claim::Granted => {}
            Claim::Later => return false,
            Claim::Never => {
                self.abandon(around);
                return false;
            }
        }
        match self.look(around) {
            None => false,
            Some(Seen::More) => self.receive(around),
            Some(seen) => self.take_seen(seen, claim, around),
        }
    }

    /// Reads the head of a call, and answers it if it can be answered at once.
    fn look(&mut self, around: &mut Around<'_>) -> Option<Seen> {
        around.scratch.clear();
        let scratch = &mut *around.scratch;
        let now = around.exports.since_1970(around.now);
        let (exports, access, files) = (around.exports, around.access, &mut *around.files);
        let mut answer = Service::new((exports, access), &self.caller, files, now);
        let room = self.rx.room();
        self.rx.unread(around.io, |bytes| match see(bytes, room, &mut answer, scratch) {
            Ok((seen, taken)) => (taken, seen),
            Err(error) => (0, Seen::Broken(error.to_string())),
        })
    }

    /// Goes on with a call that was read; false when it has to wait.
    fn take_seen(&mut self, seen: Seen, claim: u64, around: &mut Around<'_>) -> bool {
        match seen {
            Seen::More => false,
            Seen::Broken(error) => {
                tracing::info!(session = self.index, client = %self.caller, error, "stream refused");
                self.abandon(around);
                false
            }
            Seen::Answered(rest) => {
                self.nfs().skip = rest;
                self.portion = self.portion.saturating_sub(1);
                self.take_on(claim, around);
                self.tx.reply(around.now, around.scratch, None, claim, claim);
                true
            }
            Seen::Kept(kept, rest) => {
                self.nfs().skip = rest;
                self.portion = self.portion.saturating_sub(1);
                self.take_on(claim, around);
                self.keep(kept, claim, around);
                true
            }
            Seen::Asked(asked, rest) => {
                let data = if let What::Write(_) = asked.what { asked.len } else { 0 };
                let Some(rest) = rest.checked_sub(data) else {
                    self.abandon(around);
                    return false;
                };
                self.nfs().skip = rest;
                self.portion = self.portion.saturating_sub(1);
                *around.room = around.room.saturating_sub(1);
                self.let_in(asked, around)
            }
        }
    }

    /// Lets a call in if the limits allow it now; false when it has to wait.
    fn let_in(&mut self, asked: Asked, around: &mut Around<'_>) -> bool {
        let claim = if asked.refused.is_some() { claim_of(0) } else { asked.claim() };
        match self.ask(claim, around) {
            Claim::Granted => {}
            Claim::Later => return self.hold_nfs(Held::Parsed(asked)),
            Claim::Never => {
                let refused = Some(Status::Jukebox);
                return self.let_in(Asked { refused, ..asked }, around);
            }
        }
        if !matches!(asked.what, What::Commit) && asked.refused.is_none() {
            let waited = around.link.charge(around.now, self.index, asked.len.into());
            around.tell_wait(asked.object, waited);
        }
        let is_write = matches!(asked.what, What::Write(_));
        if let Some(status) = asked.refused {
            self.take_on(claim, around);
            around.scratch.clear();
            put(around.scratch, &asked, Err(status), (around.exports.life(), Wcc::default()));
            self.tx.reply(around.now, around.scratch, None, claim, claim);
            let thrown_away = Payload { request: asked, buf: None, filled: 0, claim: 0, since: around.now };
            return !is_write || self.fill_nfs(thrown_away, around);
        }
        self.use_object(asked.made.map_or(asked.object, |(volume, _)| volume));
        if !is_write {
            self.take_on(claim, around);
            let op = if let What::Read { .. } = asked.what { Op::Read } else { Op::Flush };
            return self.submit_nfs(asked, op, claim, around);
        }
        let Some(buf) = around.io.take(asked.len) else {
            // There is enough, but not in one piece.
            self.waits = Some(Wait::Room { starving: self.load.requests == 0 });
            return self.hold_nfs(Held::Parsed(asked));
        };
        self.take_on(claim, around);
        self.fill_nfs(Payload { request: asked, buf: Some(buf), filled: 0, claim, since: around.now }, around)
    }

    /// It is known that the connection uses that.
    fn use_object(&mut self, object: ObjectId) {
        let used = &mut self.nfs().used;
        if used.len() < USED_MAX {
            used.insert(object);
        }
    }

    /// Moves a write's bytes to where they belong; false when more have to come.
    fn fill_nfs(&mut self, mut payload: Payload<Asked>, around: &mut Around<'_>) -> bool {
        self.fill_from_inbox(&mut payload.buf, &mut payload.filled, payload.request.len, around);
        if payload.filled == payload.request.len {
            return match payload.buf {
                Some(buf) => self.submit_nfs(payload.request, Op::Write(buf), payload.claim, around),
                None => true,
            };
        }
        if self.receiving.is_some() {
            return self.hold_nfs(Held::Payload(payload));
        }
        // All that was here is used up, so the kernel may put the rest where it belongs without a
        // copy.
        let own = if self.reads() { payload.buf.take() } else { None };
        let (at, rest) = (payload.filled, payload.request.len - payload.filled);
        self.hold_nfs(Held::Payload(payload));
        match own {
            Some(buf) => {
                self.push_receive(buf.window(at, rest), Filling::Payload, around);
                false
            }
            None => self.receive(around),
        }
    }

    /// Takes a payload's buffer back with `got` more bytes in it.
    pub(super) fn nfs_payload_came(&mut self, buf: Buf, got: u32) {
        let Some(Held::Payload(payload)) = &mut self.nfs().held else { unreachable!("a payload waits for its buffer") };
        payload.filled += got;
        payload.buf = Some(buf.window(0, payload.request.len));
    }

    fn submit_nfs(&mut self, asked: Asked, op: Op, claim: u64, around: &mut Around<'_>) -> bool {
        let (asked, op) = match self.place(asked, op, claim, around) {
            Ok(placed) => placed,
            Err(went_on) => return went_on,
        };
        let len = if op == Op::Flush { 0 } else { u64::from(asked.len) };
        let request = block::Request {
            tag: self.pend(Pending { request: super::Request::Nfs(asked), ticket: block::Ticket(u64::MAX), claim }),
            object: asked.object,
            at: asked.at,
            len,
            // A client's file is flushed with what is known of it.
            fua: asked.made.is_none() && matches!(asked.what, What::Write(Stable::Data | Stable::File)),
            op,
            due: around.now,
        };
        self.hand_over(request, around)
    }

    fn hold_nfs(&mut self, held: Held) -> bool {
        self.nfs().held = Some(held);
        false
    }

    /// What the gate was too full for.
    pub(super) fn hold_refused_call(&mut self, request: block::Request) -> bool {
        self.hold_nfs(Held::Refused(request))
    }

    /// Hands over what the gate was too full for.
    pub(super) fn hand_over_held_call(&mut self, around: &mut Around<'_>) {
        match self.nfs().held.take() {
            Some(Held::Refused(request)) => {
                self.hand_over(request, around);
            }
            held => self.nfs().held = held,
        }
    }

    /// Nothing more comes of the held call. One whose bytes the kernel is filling in stays until
    /// they are back.
    pub(super) fn drop_held_call(&mut self, around: &mut Around<'_>) {
        match self.nfs().held.take() {
            Some(Held::Payload(payload)) if self.receiving == Some(Filling::Payload) => {
                self.hold_nfs(Held::Payload(payload));
            }
            Some(Held::Payload(Payload { buf, claim, .. })) => self.drop_payload(buf, claim, around),
            Some(Held::Refused(request)) => self.drop_refused(request, around),
            Some(Held::Parsed(_)) | None => {}
        }
    }

    /// Writes the reply of a call that has ended.
    pub(super) fn reply_nfs(&mut self, asked: &Asked, claim: u64, completion: Completion, around: &mut Around<'_>) {
        let result = completion.result.map_err(status_of);
        if let (What::Write(_), Ok(()), None) = (asked.what, result, asked.made) {
            around.exports.touch(asked.object, around.now);
        }
        if let (Some(spot), Ok(())) = (&asked.spot, result)
            && !matches!(asked.what, What::Read { .. })
        {
            completion.buf.into_iter().for_each(|buf| around.io.give(buf));
            return self.reply_placed(asked, spot, claim, around);
        }
        around.scratch.clear();
        put(around.scratch, asked, result, (around.exports.life(), Wcc::default()));
        let data = completion.buf.and_then(|buf| match (asked.what, result) {
            (What::Read { .. }, Ok(())) => Some(buf),
            _ => {
                around.io.give(buf);
                None
            }
        });
        let keep = if data.is_some() { claim } else { claim_of(0) };
        let filled = data.as_ref().map_or(0, |buf| filling(buf.len()));
        self.tx.reply(around.now, around.scratch, data, keep, claim);
        if filled > 0 {
            self.tx.say(&[0; 3][..filled as usize]);
        }
        self.release(super::Load { bytes: claim - keep, ..super::Load::default() }, around);
    }
}

/// The call that `bytes` begin with, and how many of them were taken; there may be as many as
/// `room`. What can be answered at once is, into `out`.
fn see(bytes: &[u8], room: u32, service: &mut Service<'_>, out: &mut Vec<u8>) -> Result<(Seen, usize), StreamError> {
    let Some(mark) = Mark::read(bytes)? else { return Ok((Seen::More, 0)) };
    if !mark.last {
        return Err(StreamError::Fragments);
    }
    let record = &bytes[MARK_BYTES as usize..];
    let record = &record[..record.len().min(mark.len as usize)];
    let is_whole = record.len() == mark.len as usize;
    let mut reader = Reader::new(record);
    let seen = match head(&mut reader, record, is_whole, service, out) {
        Err(XdrError::Short) if !is_whole && bytes.len() < room as usize => return Ok((Seen::More, 0)),
        Err(XdrError::Short) if !is_whole => too_long::cut(record, out)?,
        seen => seen?,
    };
    let taken = reader.taken();
    let rest = mark.len - taken as u32;
    debug_assert!(mark.len <= RECORD_BYTES_MAX);
    let seen = match seen {
        Answered::Reply => Seen::Answered(rest),
        Answered::Asked(asked) => Seen::Asked(asked, rest),
        Answered::Kept(kept) => Seen::Kept(kept, rest),
    };
    Ok((seen, MARK_BYTES as usize + taken))
}

fn head(
    reader: &mut Reader<'_>,
    record: &[u8],
    is_whole: bool,
    service: &mut Service<'_>,
    out: &mut Vec<u8>,
) -> Result<Answered, XdrError> {
    let head = match rpc::read_call(reader)? {
        Called::Call(head) => head,
        Called::Mismatch { xid } => return Ok(said(out, xid, CallOutcome::RpcMismatch { low: 2, high: 2 })),
        Called::BadCredential { xid } => return Ok(said(out, xid, CallOutcome::AuthError(AUTH_BAD_CREDENTIAL))),
    };
    // Arguments that are not here whole are waited for; those that break a rule are answered.
    match service.answer(&head, reader, record, out) {
        Err(XdrError::Short) if !is_whole => Err(XdrError::Short),
        Err(_) => Ok(said(out, head.xid, CallOutcome::GarbageArguments)),
        Ok(answered) => Ok(answered),
    }
}

/// A reply without results.
fn said(out: &mut Vec<u8>, xid: u32, outcome: CallOutcome) -> Answered {
    out.clear();
    let start = record::begin(out);
    rpc::put_reply(out, xid, outcome);
    record::end(out, start, 0);
    Answered::Reply
}

/// The head of the reply to a READ, WRITE or COMMIT.
fn put(out: &mut Vec<u8>, asked: &Asked, result: Result<(), Status>, (life, wcc): (::nfs::Verifier, Wcc)) {
    let start = record::begin(out);
    rpc::put_reply(out, asked.xid, CallOutcome::Success);
    let mut behind = 0;
    match asked.what {
        What::Read { eof } => {
            let len = asked.len;
            if result.is_ok() {
                behind = len + filling(len);
            }
            Reply::Read(None, result.map(|()| ReadDone { count: len, eof, len })).put(out);
        }
        What::Write(stable) => {
            let stable = if stable == Stable::Unstable { Stable::Unstable } else { Stable::File };
            let written = Written { count: asked.len, stable, verifier: life };
            Reply::Write(wcc, result.map(|()| written)).put(out);
        }
        What::Commit => Reply::Commit(wcc, result.map(|()| life)).put(out),
    }
    record::end(out, start, behind);
}

/// Bytes that are no call of NFS.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error(transparent)]
    Record(#[from] record::RecordError),
    #[error(transparent)]
    Xdr(#[from] XdrError),
    /// No client that we know sends any.
    #[error("a call in several fragments")]
    Fragments,
}

fn status_of(fault: Fault) -> Status {
    match fault {
        Fault::Invalid => Status::Invalid,
        Fault::ReadOnly => Status::ReadOnly,
        Fault::NoSpace => Status::NoSpace,
        Fault::Io => Status::Io,
        Fault::Unsupported => Status::NotSupported,
        Fault::NoMemory => Status::Jukebox,
        Fault::Gone => Status::Stale,
    }
}
