//! What is asked of storage, and how it ends.

use crate::{Buf, Span, Time};

/// A storage object: an SVM, volume, qtree, LUN or file. The number is the registry's; names live
/// there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// What to do. A read owns no buffer while it queues: the lowest target takes one when it
/// dispatches.
#[derive(Debug, PartialEq, Eq)]
pub enum Op {
    /// Read `len` bytes.
    Read,
    /// Write the buffer's bytes.
    Write(Buf),
    /// Make everything completed before durable.
    Flush,
    /// Give the space back; what is read there afterwards is unspecified.
    Trim,
    /// Make the range read as zeroes.
    Zero {
        /// The space stays allocated, so that a later write cannot run out of it.
        no_hole: bool,
        /// Fail with [`Fault::Unsupported`] where it would be no faster than writing the zeroes.
        fast_only: bool,
    },
    /// Bring the range into memory.
    Cache,
    /// Which parts of the range are allocated.
    Status {
        /// Also which of them others have, too.
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
    /// Whether it moves data, so that a limit in bytes per second counts its length.
    pub const fn moves_data(self) -> bool {
        matches!(self, OpKind::Read | OpKind::Write)
    }
}

/// One request of a block target.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The caller's own number, given back in the completion; opaque to targets.
    pub tag: u64,
    /// The storage object it is for. Targets that serve one object ignore it.
    pub object: ObjectId,
    /// First byte.
    pub at: u64,
    /// Bytes; 0 for a flush.
    pub len: u64,
    /// What to do.
    pub op: Op,
    /// Force unit access: durable before it completes.
    pub fua: bool,
    /// When it should have been made. Response time counts from here, so a stalled target cannot
    /// hide.
    pub due: Time,
}

/// Which of an object's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Throughput,
}

/// What held a request back last before it went to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Nothing: it went at once.
    #[default]
    Nothing,
    /// A ceiling of this object (itself or an ancestor).
    Ceiling(ObjectId, LimitKind),
    /// The one budget of this shared policy group (the registry's number).
    Shared(u32, LimitKind),
    /// Another object's floor: best-effort work waits so that floors hold.
    Floor,
    /// Its turn among equals under a shared limit or a fair node.
    Turn,
    /// The device would not take more.
    Backend,
    /// The one who lets requests go did not run, though a ceiling had opened.
    Stalled,
}

/// How a request failed; each maps to one error of every protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The range, length or alignment is not valid for the target.
    Invalid,
    /// The target may not be written.
    ReadOnly,
    /// No space left for a write.
    NoSpace,
    /// The medium failed.
    Io,
    /// Not done by this target.
    Unsupported,
    /// Out of memory for it.
    NoMemory,
    /// Cancelled, or the target went away: whether it took effect is unknown.
    Gone,
}

/// A run of a [`Op::Status`] answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes.
    pub len: u64,
    /// No space behind it.
    pub hole: bool,
    /// It reads as zeroes.
    pub zero: bool,
    /// A clone, an origin or a snapshot has the same bytes in the same place; said only where that
    /// was asked.
    pub shared: bool,
}

/// The end of a request. Exactly one comes for every request that was taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's.
    pub tag: u64,
    /// The request's.
    pub object: ObjectId,
    /// The request's kind.
    pub kind: OpKind,
    /// The request's length in bytes.
    pub len: u64,
    /// The request's due time.
    pub due: Time,
    /// When it ended.
    pub end: Time,
    /// Waited in queues of ours before the device got it.
    pub queued: Span,
    /// From hand-over to the device until its end.
    pub service: Span,
    /// What held it back.
    pub cause: Cause,
    /// How it ended.
    pub result: Result<(), Fault>,
    /// Where a read failed, if that is known and some of it came before: the first byte of the part
    /// that could not be read. Then `buf` has the bytes before it.
    pub failed_at: Option<u64>,
    /// A read's data or a write's buffer given back; the receiver owes it to the slab.
    pub buf: Option<Buf>,
    /// A status's answer, from the request's first byte on, covering at most its length. Also a
    /// read's, where some of its bytes were never written and the target knows without looking: all
    /// of its length then, and else nothing.
    pub extents: Vec<Extent>,
}

impl Completion {
    /// A completion of `request` at `end` that waited nowhere; the caller fills in what differs.
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
            failed_at: None,
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

    /// From when the request was due until its end.
    pub fn response(&self) -> Span {
        self.end.since(self.due)
    }
}
