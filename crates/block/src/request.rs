//! Requests to storage, and their completions.

use crate::{Buf, Span, Time};
use std::sync::Arc;

/// A storage object: an SVM, volume, qtree, LUN or file. The number is assigned by the registry,
/// which also knows the name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// What to do. A read has no buffer while it is queued: the lowest target takes one when it
/// dispatches the read.
#[derive(Debug, PartialEq, Eq)]
pub enum Op {
    /// Read `len` bytes.
    Read,
    /// Write the bytes of this buffer.
    Write(Buf),
    /// Make everything that completed before it durable.
    Flush,
    /// Release the range's space; its contents are unspecified afterwards.
    Trim,
    /// Make the range read as zeroes.
    Zero {
        /// Keep the space allocated, so that a later write there cannot run out of space.
        no_hole: bool,
        /// Fail with [`Fault::Unsupported`] if it would be no faster than writing zeroes.
        fast_only: bool,
    },
    /// Read the range ahead into memory.
    Cache,
    /// Report which parts of the range are allocated.
    Status {
        /// Also report which parts are shared with other objects: [`Extent::shared`].
        sharing: bool,
    },
}

/// The kind of an [`Op`], for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpKind {
    /// [`Op::Read`]
    Read,
    /// [`Op::Write`]
    Write,
    /// [`Op::Flush`]
    Flush,
    /// [`Op::Trim`]
    Trim,
    /// [`Op::Zero`]
    Zero,
    /// [`Op::Cache`]
    Cache,
    /// [`Op::Status`]
    Status,
}

impl Op {
    /// Its kind.
    pub const fn kind(&self) -> OpKind {
        match self {
            Op::Read => OpKind::Read,
            Op::Write(_) => OpKind::Write,
            Op::Flush => OpKind::Flush,
            Op::Trim => OpKind::Trim,
            Op::Zero { .. } => OpKind::Zero,
            Op::Cache => OpKind::Cache,
            Op::Status { .. } => OpKind::Status,
        }
    }
}

impl OpKind {
    /// Whether it transfers data. Only such requests count against a limit in bytes per second.
    pub const fn moves_data(self) -> bool {
        matches!(self, OpKind::Read | OpKind::Write)
    }
}

/// One request to a target.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The caller's own identifier, returned in the completion. Targets do not interpret it.
    pub tag: u64,
    /// The storage object it is for. A target that serves a single object ignores it.
    pub object: ObjectId,
    /// Offset of the first byte.
    pub at: u64,
    /// Length in bytes; 0 for a flush.
    pub len: u64,
    /// What to do.
    pub op: Op,
    /// Force unit access: the write is durable before it completes.
    pub fua: bool,
    /// When it should have been made. Response time counts from here, so a stall of the target
    /// shows up in full.
    pub due: Time,
}

/// Which limit of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Throughput,
}

/// What last held a request back before it was dispatched to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Nothing: it was dispatched at once.
    #[default]
    Nothing,
    /// A ceiling of this object, which is the request's own or an ancestor of it.
    Ceiling(ObjectId, LimitKind),
    /// The common budget of this shared policy group, by its number in the registry.
    Shared(u32, LimitKind),
    /// Another object's floor: best-effort work waits while floors are served.
    Floor,
    /// Its turn among peers under a shared limit or in a fair node.
    Turn,
    /// The device, which accepted no more.
    Backend,
    /// A stall of the dispatcher: it did not run although a ceiling had opened.
    Stalled,
}

/// How a request failed. Each value maps to one error code of every protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The offset, length or alignment is not valid for this target.
    Invalid,
    /// The target may not be written.
    ReadOnly,
    /// The client lacks the permission.
    Denied,
    /// A write found no space left.
    NoSpace,
    /// The medium failed.
    Io,
    /// This target does not support the operation.
    Unsupported,
    /// No memory was available for it.
    NoMemory,
    /// Cancelled, or the target went away. Whether it took effect is unknown.
    Gone,
}

/// One extent of the answer to [`Op::Status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Length in bytes.
    pub len: u64,
    /// No space is allocated.
    pub hole: bool,
    /// It reads as zeroes.
    pub zero: bool,
    /// A clone, an origin or a snapshot has the same bytes in the same place. Reported only if the
    /// request asked for it.
    pub shared: bool,
}

/// What is known of a failed request beyond its fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// What a server said, which rule it broke, how its connection was lost.
    pub why: Option<Arc<str>>,
    /// For a read that failed partway: the first byte that could not be read. The completion's
    /// buffer then has the bytes before it.
    pub at: Option<u64>,
}

impl Detail {
    /// For a completion; none if nothing is known.
    pub fn known(why: Option<Arc<str>>, at: Option<u64>) -> Option<Box<Detail>> {
        (why.is_some() || at.is_some()).then(|| Box::new(Detail { why, at }))
    }
}

/// The end of a request. Exactly one comes for every request that was accepted.
#[derive(Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's tag.
    pub tag: u64,
    /// The request's object.
    pub object: ObjectId,
    /// The request's kind.
    pub kind: OpKind,
    /// The request's length in bytes.
    pub len: u64,
    /// The request's due time.
    pub due: Time,
    /// When it ended.
    pub end: Time,
    /// Time spent in Seawall's queues before the device got the request.
    pub queued: Span,
    /// From hand-over to the device until its end.
    pub service: Span,
    /// What last held it back.
    pub cause: Cause,
    /// How it ended.
    pub result: Result<(), Fault>,
    /// What is known of a failure beyond its fault.
    pub detail: Option<Box<Detail>>,
    /// A read's data, or a write's buffer returned. The receiver must give it back to the slab.
    pub buf: Option<Buf>,
    /// A status request's answer: extents from its first byte on, covering at most its length. A
    /// read has them too if the target knows without I/O that parts were never written; then they
    /// cover its whole length, otherwise there are none.
    pub extents: Vec<Extent>,
}

// One is moved for every request: what is larger is copied by a call of `memcpy`.
const _: () = assert!(size_of::<Completion>() <= 128);

impl Completion {
    /// A completion of `request` at `end`, with no waiting time; the caller fills in the rest.
    pub fn of(request: &Request, end: Time, result: Result<(), Fault>) -> Completion {
        Completion {
            tag: request.tag,
            object: request.object,
            kind: request.op.kind(),
            len: request.len,
            due: request.due,
            end,
            queued: Span::ZERO,
            service: Span::ZERO,
            cause: Cause::Nothing,
            result,
            detail: None,
            buf: None,
            extents: Vec::new(),
        }
    }

    /// A refusal of `request` at `end`, giving its buffer back.
    pub fn refuse(request: Request, end: Time, fault: Fault) -> Completion {
        let mut completion = Completion::of(&request, end, Err(fault));
        if let Op::Write(buf) = request.op {
            completion.buf = Some(buf);
        }
        completion
    }

    /// Why it failed, where the fault alone does not say it.
    pub fn why(&self) -> Option<&Arc<str>> {
        self.detail.as_ref()?.why.as_ref()
    }

    /// The first byte that a failed read could not read, if that is known.
    pub fn failed_at(&self) -> Option<u64> {
        self.detail.as_ref()?.at
    }

    /// Response time: from when the request was due until it completed.
    pub fn response(&self) -> Span {
        self.end.since(self.due)
    }
}
