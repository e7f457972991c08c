//! A connection that speaks NFS version 3 and MOUNT: calls in, replies out.
//!
//! ```text
//!   record ──► head ──► about names or attributes: answered at once (`answer`)
//!                  └──► READ, WRITE, COMMIT ──► admit (limits) ──► gate.submit ──► completion ──► reply
//! ```
//! Limits, turns, the gate and sending are shared with NBD sessions. The data of a WRITE goes from
//! the socket directly to its buffer, that of a READ from the store to the socket; only heads are
//! parsed.

mod answer;
mod changing;
mod listing;
mod made;
mod mounting;
mod nodes;
mod parsing;
mod placing;
mod space;
mod too_long;

use super::link::Payload;
use super::{Ending, Filling, Pending, Phase, Session, ShardParts};
use crate::claims::{Claim, claim_of};
use crate::waiting::Wait;
use ::nfs::record::{self, MARK_BYTES};
use ::nfs::rpc::{self, CallOutcome};
use ::nfs::xdr::filling;
use ::nfs::{ReadDone, Reply, Stable, Status, Wcc, Written};
use answer::Service;
use block::{Buf, Completion, Fault, ObjectId, Op};
pub(super) use made::Kept;
use parsing::{Seen, said, see};
use std::collections::BTreeSet;
use tree::NodeId;

/// Most bytes of an answer to a call about names.
pub(super) const ANSWER: u64 = 32 << 10;

/// Most LUNs and files that a connection is known to use; those beyond them can be taken offline
/// without regard to the connection.
const USED_MAX: usize = 4096;

/// The state of a connection that speaks NFS.
#[derive(Default)]
pub(super) struct NfsLink {
    /// The call that is held back; it goes before any other.
    held: Option<Held>,
    /// Bytes of the stream that are to be discarded.
    skip: u32,
    /// Objects that were read or written over it.
    pub(super) used: BTreeSet<ObjectId>,
}

enum Held {
    /// A call that waits for a limit or for memory.
    Parsed(Asked),
    /// A request that the gate had no room for.
    Refused(block::Request),
    /// A write whose data has not arrived completely.
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
    /// The status that it is refused with; a write's data is discarded then.
    refused: Option<Status>,
    /// The client's file and its volume, if it is about one; `object` is then the file's qtree or
    /// volume.
    made: Option<(ObjectId, NodeId)>,
    /// Root makes the change, and is permitted to.
    by_root: bool,
    /// Where it goes, once that is known; `at` and `len` are then in the volume's tree.
    spot: Option<placing::Spot>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// `eof`: whether it reaches the end of the file.
    Read {
        eof: bool,
    },
    Write(Stable),
    Commit,
}

impl NfsLink {
    /// The write whose data is arriving, if any.
    pub(super) fn payload(&self) -> Option<&Payload<Asked>> {
        match &self.held {
            Some(Held::Payload(payload)) => Some(payload),
            _ => None,
        }
    }
}

impl Session {
    /// Handles what has arrived, then receives more.
    pub(super) fn parse_nfs(&mut self, shard: &mut ShardParts<'_>) {
        loop {
            let is_new = self.nfs().held.is_none();
            let is_here = self.rx.unread(shard.io, |bytes| (0, bytes.len() >= MARK_BYTES as usize));
            if (self.portion == 0 || *shard.room == 0) && is_new && self.nfs().skip == 0 && is_here == Some(true) {
                self.waits = Some(Wait::Turn { floor: None });
                return;
            }
            if is_new
                && is_here == Some(true)
                && self.nfs().skip == 0
                && let Some(until) = shard.link.let_in(shard.now, self.index)
            {
                return self.wait_for_link(until, shard);
            }
            let went_on = match self.nfs().held.take() {
                None => self.call(shard),
                Some(Held::Parsed(asked)) => self.let_in(asked, shard),
                Some(Held::Refused(request)) => self.hand_over(request, shard),
                Some(Held::Payload(payload)) => self.fill_nfs(payload, shard),
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

    /// Handles one call; false if there is none, or it has to wait.
    fn call(&mut self, shard: &mut ShardParts<'_>) -> bool {
        let skip = self.nfs().skip;
        let skipped = self.rx.unread(shard.io, |bytes| {
            let here = bytes.len().min(skip as usize);
            (here, here as u32)
        });
        let Some(skipped) = skipped else { return false };
        self.nfs().skip -= skipped;
        if self.nfs().skip > 0 {
            return self.receive(shard);
        }
        // Enough for any answer.
        let claim = claim_of(ANSWER);
        match self.ask(claim, shard) {
            Claim::Granted => {}
            Claim::Later => return false,
            Claim::Never => {
                self.abandon(shard);
                return false;
            }
        }
        match self.look(shard) {
            None => false,
            Some(Seen::More) => self.receive(shard),
            Some(seen) => self.take_seen(seen, claim, shard),
        }
    }

    /// Parses the head of a call, and answers it if that is possible at once.
    fn look(&mut self, shard: &mut ShardParts<'_>) -> Option<Seen> {
        shard.scratch.clear();
        let scratch = &mut *shard.scratch;
        let now = shard.exports.since_1970(shard.now);
        let (exports, access, files) = (shard.exports, shard.access, &mut *shard.files);
        let pool_left = shard.gate.inner().usage().map_or(0, |usage| usage.capacity.saturating_sub(usage.used));
        let mut answer = Service::new((exports, access), &self.caller, files, (now, pool_left));
        let room = self.rx.room();
        self.rx.unread(shard.io, |bytes| match see(bytes, room, &mut answer, scratch) {
            Ok((seen, taken)) => (taken, seen),
            Err(error) => (0, Seen::Broken(error.to_string())),
        })
    }

    /// Continues with a parsed call; false if it has to wait.
    fn take_seen(&mut self, seen: Seen, claim: u64, shard: &mut ShardParts<'_>) -> bool {
        match seen {
            Seen::More => false,
            Seen::Crowded => {
                // A record under way makes room.
                self.waits = Some(Wait::Room { starving: false });
                false
            }
            Seen::Broken(error) => {
                tracing::info!(session = self.index, client = %self.caller, error, "stream refused");
                self.abandon(shard);
                false
            }
            Seen::Answered(rest) => {
                self.nfs().skip = rest;
                self.portion = self.portion.saturating_sub(1);
                self.take_on(claim, shard);
                self.tx.reply(shard.now, shard.scratch, None, claim, claim);
                true
            }
            Seen::Kept(kept, rest) => {
                self.nfs().skip = rest;
                self.portion = self.portion.saturating_sub(1);
                self.take_on(claim, shard);
                self.keep(kept, claim, shard);
                true
            }
            Seen::Asked(asked, rest) => {
                let data = if let What::Write(_) = asked.what { asked.len } else { 0 };
                let Some(rest) = rest.checked_sub(data) else {
                    self.abandon(shard);
                    return false;
                };
                self.nfs().skip = rest;
                self.portion = self.portion.saturating_sub(1);
                *shard.room = shard.room.saturating_sub(1);
                self.let_in(asked, shard)
            }
        }
    }

    /// Admits a call if the limits allow it now; false if it has to wait.
    fn let_in(&mut self, asked: Asked, shard: &mut ShardParts<'_>) -> bool {
        let claim = if asked.refused.is_some() { claim_of(0) } else { asked.claim() };
        match self.ask(claim, shard) {
            Claim::Granted => {}
            Claim::Later => return self.hold_nfs(Held::Parsed(asked)),
            Claim::Never => {
                let refused = Some(Status::Jukebox);
                return self.let_in(Asked { refused, ..asked }, shard);
            }
        }
        if !matches!(asked.what, What::Commit) && asked.refused.is_none() {
            let waited = shard.link.charge(shard.now, self.index, asked.len.into());
            shard.tell_wait(asked.object, waited);
        }
        let is_write = matches!(asked.what, What::Write(_));
        if let Some(status) = asked.refused {
            self.take_on(claim, shard);
            shard.scratch.clear();
            put(shard.scratch, &asked, Err(status), (shard.exports.run_verifier(), Wcc::default()));
            self.tx.reply(shard.now, shard.scratch, None, claim, claim);
            let thrown_away = Payload { request: asked, buf: None, filled: 0, claim: 0, since: shard.now };
            return !is_write || self.fill_nfs(thrown_away, shard);
        }
        self.use_object(asked.made.map_or(asked.object, |(volume, _)| volume));
        if !is_write {
            self.take_on(claim, shard);
            let op = if let What::Read { .. } = asked.what { Op::Read } else { Op::Flush };
            return self.submit_nfs(asked, op, claim, shard);
        }
        let Some(buf) = shard.io.take(asked.len) else {
            // There is enough memory in total, but no free slot of that size.
            self.waits = Some(Wait::Room { starving: self.load.requests == 0 });
            return self.hold_nfs(Held::Parsed(asked));
        };
        self.take_on(claim, shard);
        self.fill_nfs(Payload { request: asked, buf: Some(buf), filled: 0, claim, since: shard.now }, shard)
    }

    /// Notes that the connection uses an object.
    fn use_object(&mut self, object: ObjectId) {
        let used = &mut self.nfs().used;
        if used.len() < USED_MAX {
            used.insert(object);
        }
    }

    /// Moves a write's data into its buffer; false if more has to arrive.
    fn fill_nfs(&mut self, mut payload: Payload<Asked>, shard: &mut ShardParts<'_>) -> bool {
        self.fill_from_inbox(&mut payload.buf, &mut payload.filled, payload.request.len, shard);
        if payload.filled == payload.request.len {
            return match payload.buf {
                Some(buf) => self.submit_nfs(payload.request, Op::Write(buf), payload.claim, shard),
                None => true,
            };
        }
        if self.receiving.is_some() {
            return self.hold_nfs(Held::Payload(payload));
        }
        // Everything received so far is used up, so the kernel can write the rest directly into the
        // buffer, without a copy.
        let own = if self.reads() { payload.buf.take() } else { None };
        let (at, rest) = (payload.filled, payload.request.len - payload.filled);
        self.hold_nfs(Held::Payload(payload));
        match own {
            Some(buf) => {
                self.push_receive(buf.window(at, rest), Filling::Payload, shard);
                false
            }
            None => self.receive(shard),
        }
    }

    /// Takes back a write's buffer after a receive of `got` bytes.
    pub(super) fn nfs_payload_came(&mut self, buf: Buf, got: u32) {
        let Some(Held::Payload(payload)) = &mut self.nfs().held else { unreachable!("a payload waits for its buffer") };
        payload.filled += got;
        payload.buf = Some(buf.window(0, payload.request.len));
    }

    fn submit_nfs(&mut self, asked: Asked, op: Op, claim: u64, shard: &mut ShardParts<'_>) -> bool {
        let (asked, op) = match self.place(asked, op, claim, shard) {
            Ok(placed) => placed,
            Err(went_on) => return went_on,
        };
        let len = if op == Op::Flush { 0 } else { u64::from(asked.len) };
        let request = block::Request {
            tag: self.pend(Pending { request: super::Request::Nfs(asked), ticket: block::Ticket(u64::MAX), claim }),
            object: asked.object,
            at: asked.at,
            len,
            // A client's file is flushed together with its attributes.
            fua: asked.made.is_none() && matches!(asked.what, What::Write(Stable::Data | Stable::File)),
            op,
            due: shard.now,
        };
        self.hand_over(request, shard)
    }

    fn hold_nfs(&mut self, held: Held) -> bool {
        self.nfs().held = Some(held);
        false
    }

    /// Holds a request that the gate had no room for.
    pub(super) fn hold_refused_call(&mut self, request: block::Request) -> bool {
        self.hold_nfs(Held::Refused(request))
    }

    /// Submits a request that the gate had no room for.
    pub(super) fn hand_over_held_call(&mut self, shard: &mut ShardParts<'_>) {
        match self.nfs().held.take() {
            Some(Held::Refused(request)) => {
                self.hand_over(request, shard);
            }
            held => self.nfs().held = held,
        }
    }

    /// Drops the held call. One whose buffer the kernel is filling stays until the buffer is back.
    pub(super) fn drop_held_call(&mut self, shard: &mut ShardParts<'_>) {
        match self.nfs().held.take() {
            Some(Held::Payload(payload)) if self.receiving == Some(Filling::Payload) => {
                self.hold_nfs(Held::Payload(payload));
            }
            Some(Held::Payload(Payload { buf, claim, .. })) => self.drop_payload(buf, claim, shard),
            Some(Held::Refused(request)) => self.drop_refused(request, shard),
            Some(Held::Parsed(_)) | None => {}
        }
    }

    /// Writes the reply of a completed call.
    pub(super) fn reply_nfs(&mut self, asked: &Asked, claim: u64, completion: Completion, shard: &mut ShardParts<'_>) {
        let result = completion.result.map_err(status_of);
        if let (What::Write(_), Ok(()), None) = (asked.what, result, asked.made) {
            shard.exports.touch(asked.object, shard.now);
        }
        if let (Some(spot), Ok(())) = (&asked.spot, result)
            && !matches!(asked.what, What::Read { .. })
        {
            completion.buf.into_iter().for_each(|buf| shard.io.give(buf));
            return self.reply_placed(asked, spot, claim, shard);
        }
        shard.scratch.clear();
        put(shard.scratch, asked, result, (shard.exports.run_verifier(), Wcc::default()));
        let data = completion.buf.and_then(|buf| match (asked.what, result) {
            (What::Read { .. }, Ok(())) => Some(buf),
            _ => {
                shard.io.give(buf);
                None
            }
        });
        let keep = if data.is_some() { claim } else { claim_of(0) };
        let filled = data.as_ref().map_or(0, |buf| filling(buf.len()));
        self.tx.reply(shard.now, shard.scratch, data, keep, claim);
        if filled > 0 {
            self.tx.say(&[0; 3][..filled as usize]);
        }
        self.release(super::Load { bytes: claim - keep, ..super::Load::default() }, shard);
    }
}

/// Writes the head of the reply to a READ, WRITE or COMMIT.
fn put(out: &mut Vec<u8>, asked: &Asked, result: Result<(), Status>, (verifier, wcc): (::nfs::Verifier, Wcc)) {
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
            let written = Written { count: asked.len, stable, verifier };
            Reply::Write(wcc, result.map(|()| written)).put(out);
        }
        What::Commit => Reply::Commit(wcc, result.map(|()| verifier)).put(out),
    }
    record::end(out, start, behind);
}

fn status_of(fault: Fault) -> Status {
    match fault {
        Fault::Invalid => Status::Invalid,
        Fault::ReadOnly => Status::ReadOnly,
        Fault::Denied => Status::Access,
        Fault::NoSpace => Status::NoSpace,
        Fault::Io => Status::Io,
        Fault::Unsupported => Status::NotSupported,
        Fault::NoMemory => Status::Jukebox,
        Fault::Gone => Status::Stale,
    }
}
