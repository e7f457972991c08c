//! Replies: headers, extents of a block status, and errors.

use super::link::Link;
use super::sender::Load;
use super::{Ending, Filling, Pending, Phase, Session, ShardParts};
use crate::claims::claim_of;
use block::{Buf, Completion, Fault, OpKind, Time};
use nbd::{CommandFlags, Context, Contexts, NbdErrno, NbdRequest, ReplyTo};
use uring::Io;

/// How far a client has taken the replies of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replies {
    /// Length of the message that was handed to the kernel in this turn, in bytes.
    pub(crate) answered: u64,
    /// Kernel memory of earlier messages that the client has not read yet, in bytes.
    pub(crate) unread: u64,
}

impl Session {
    /// Its replies, if a send began in the turn at `at` and requests are being received. `None`
    /// over TCP, which does not report what the client has read. Makes a system call.
    pub(crate) fn replies(&self, at: Time, io: &Io) -> Option<Replies> {
        let (since, answered) = self.tx.at_kernel()?;
        let is_asking = since == at && self.receiving == Some(Filling::Inbox);
        (is_asking && self.caller.address.is_none()).then(|| Replies { answered, unread: io.send_queue(self.socket) })
    }

    /// Writes the reply of a completed request.
    pub(super) fn reply(&mut self, pending: &Pending, completion: Completion, shard: &mut ShardParts<'_>) {
        if let super::Request::Nfs(asked) = &pending.request {
            asked.end(shard);
        }
        if self.ending == Ending::Broken {
            self.release_request(pending.claim, shard);
            return completion.buf.into_iter().for_each(|buf| shard.io.give(buf));
        }
        match &pending.request {
            super::Request::Nbd(request) => self.reply_nbd(request, pending.claim, completion, shard),
            super::Request::Nfs(asked) => self.reply_nfs(asked, pending.claim, completion, shard),
            super::Request::Kept(_) => unreachable!("nothing was asked of the gate for it"),
        }
    }

    fn reply_nbd(&mut self, request: &NbdRequest, claim: u64, completion: Completion, shard: &mut ShardParts<'_>) {
        let (failed_at, buf) = (completion.failed_at(), completion.buf);
        let Phase::Transmission(link) = &self.phase else { unreachable!("requests come after the handshake") };
        let framing = link.rules.framing;
        let (out, to) = (&mut *shard.scratch, ReplyTo::from(request));
        out.clear();
        // Data and extents keep their claim until they are sent. Other replies keep only that of
        // their header.
        let mut keep = claim_of(0);
        let mut data = None;
        // Where the part of `out` begins that follows the data.
        let mut tail = None;
        match (completion.kind, completion.result, buf) {
            (OpKind::Read, Err(fault), Some(buf)) => {
                (data, tail) = cut_short(out, link, request, (fault, failed_at), buf, shard.io);
                if data.is_some() {
                    keep = claim;
                }
            }
            (kind, Err(fault), buf) => {
                framing.error(out, to, errno_of(fault), &format!("{} failed: {}", word_of(kind), words_of(fault)));
                buf.into_iter().for_each(|buf| shard.io.give(buf));
            }
            (OpKind::Read, Ok(()), Some(buf)) => {
                data = read(out, link, request, &completion.extents, buf, shard.io);
                if data.is_some() {
                    keep = claim;
                }
            }
            (OpKind::Status, Ok(()), _) => {
                status(out, link, request, &completion.extents);
                keep = claim;
            }
            (_, Ok(()), buf) => {
                framing.ok(out, to);
                buf.into_iter().for_each(|buf| shard.io.give(buf));
            }
        }
        let (head, tail) = shard.scratch.split_at(tail.unwrap_or(shard.scratch.len()));
        self.tx.reply(shard.now, head, data, keep, claim);
        if !tail.is_empty() {
            self.tx.say(tail);
        }
        self.release(Load { bytes: claim - keep, ..Load::default() }, shard);
    }
}

/// The answer to a read; returns the data that goes with it. If the store reports that the first or
/// last bytes were never written, and the client supports it, they are sent as holes instead of
/// zeroes. The chunks of holes go first, which is allowed because chunks may come in any order; the
/// chunk of data ends the reply. Holes in between are sent as zeroes.
fn read(
    out: &mut Vec<u8>,
    link: &Link,
    request: &NbdRequest,
    extents: &[block::Extent],
    buf: Buf,
    io: &Io,
) -> Option<Buf> {
    let (to, len) = (ReplyTo::from(request), buf.len());
    let (framing, whole) = (link.rules.framing, request.flags.contains(CommandFlags::DF));
    let Some(chunks) = framing.chunks().filter(|_| !whole && !extents.is_empty()) else {
        framing.read(out, to, len);
        return Some(buf);
    };
    let hole = |extent: Option<&block::Extent>| {
        extent.filter(|it| it.hole && it.len >= HOLE_BYTES_MIN).map_or(0, |it| it.len as u32)
    };
    let first = hole(extents.first());
    if first == len {
        chunks.hole(out, to, to.offset, len, nbd::Last::Yes);
        io.give(buf);
        return None;
    }
    let last = hole(extents.last());
    let (start, data) = (buf.start(), len - first - last);
    if first > 0 {
        chunks.hole(out, to, to.offset, first, nbd::Last::No);
    }
    if last > 0 {
        chunks.hole(out, to, to.offset + u64::from(len - last), last, nbd::Last::No);
    }
    chunks.data(out, to, to.offset + u64::from(first), data, nbd::Last::Yes);
    Some(buf.window(start + first, data))
}

/// The answer to a failed read. If the position of the failure is known, the data before it is
/// sent, followed by an error that names the position. Returns the data, and where the part of
/// `out` begins that follows it.
fn cut_short(
    out: &mut Vec<u8>,
    link: &Link,
    request: &NbdRequest,
    (fault, at): (Fault, Option<u64>),
    buf: Buf,
    io: &Io,
) -> (Option<Buf>, Option<usize>) {
    let (to, framing) = (ReplyTo::from(request), link.rules.framing);
    let whole = request.flags.contains(CommandFlags::DF);
    let (Some(chunks), Some(at), false) = (framing.chunks(), at, whole) else {
        io.give(buf);
        framing.error(out, to, errno_of(fault), &format!("read failed: {}", words_of(fault)));
        return (None, None);
    };
    // The specification: "the client can use this offset to determine if request had any partial
    // success".
    chunks.data(out, to, to.offset, buf.len(), nbd::Last::No);
    let head = out.len();
    chunks.error_at(out, to, errno_of(fault), &format!("read failed at {at}: {}", words_of(fault)), at, nbd::Last::Yes);
    (Some(buf), Some(head))
}

/// Shorter holes at the ends of a read are sent as zeroes, in bytes: a chunk of its own costs up to
/// 52 bytes and extra parsing by the client.
const HOLE_BYTES_MIN: u64 = 512;

/// The answer to a block status, cut to the range that was asked for: one chunk for each context.
fn status(out: &mut Vec<u8>, link: &Link, request: &NbdRequest, extents: &[block::Extent]) {
    let (to, contexts) = (ReplyTo::from(request), wanted(link, request));
    let Some(chunks) = link.rules.framing.chunks().filter(|_| !contexts.is_empty() && !extents.is_empty()) else {
        return link.rules.framing.error(out, to, NbdErrno::Invalid, "no status to tell");
    };
    let count = contexts.len();
    for (number, (context, id)) in contexts.iter().enumerate() {
        let told = |extent: &block::Extent| match context {
            Context::Allocation => nbd::StatusExtent::allocation(extent.len, extent.hole, extent.zero),
            Context::Sharing => nbd::StatusExtent::sharing(extent.len, !extent.hole, extent.shared),
        };
        let mut extents: Vec<nbd::StatusExtent> = extents.iter().map(told).collect();
        nbd::fit_extents(&mut extents, request);
        let last = if number + 1 == count { nbd::Last::Yes } else { nbd::Last::No };
        chunks.status(out, to, id, &extents, last);
    }
}

fn errno_of(fault: Fault) -> NbdErrno {
    match fault {
        Fault::Invalid => NbdErrno::Invalid,
        Fault::ReadOnly | Fault::Denied => NbdErrno::Permission,
        Fault::NoSpace => NbdErrno::NoSpace,
        Fault::Io => NbdErrno::Io,
        Fault::Unsupported => NbdErrno::NotSupported,
        Fault::NoMemory => NbdErrno::NoMemory,
        Fault::Gone => NbdErrno::Shutdown,
    }
}

/// The description of an error that is sent to the client.
fn words_of(fault: Fault) -> &'static str {
    match fault {
        Fault::Invalid => "the request is invalid",
        Fault::ReadOnly => "the export is read-only",
        Fault::Denied => "permission is denied",
        Fault::NoSpace => "no space is left, or the export ends there",
        Fault::Io => "the storage failed",
        Fault::Unsupported => "it is not supported",
        Fault::NoMemory => "memory is short; try again",
        Fault::Gone => "the export was taken offline, changed or deleted on the server",
    }
}

fn word_of(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Flush => "flush",
        OpKind::Trim => "trim",
        OpKind::Zero => "write zeroes",
        OpKind::Cache => "cache",
        OpKind::Status => "block status",
    }
}

/// The contexts that a block status asks for.
pub(super) fn wanted(link: &Link, request: &NbdRequest) -> Contexts {
    request.only.unwrap_or(link.rules.contexts)
}
