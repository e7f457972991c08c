//! The client's reading of replies: headers only; payloads are the caller's to take off the stream.

use std::ops::Range;

use crate::errno::NbdErrno;
use crate::error::StreamError;
use crate::extents::Extents;
use crate::limits::{ERROR_CHUNK_BYTES_MAX, STATUS_EXTENTS_MAX};
use crate::request::Parsed;
use crate::settings::Framing;
use crate::text::lossy;
use crate::values::{EXTENDED_REPLY_MAGIC, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk};
use crate::wire::Cursor;

const SIMPLE_BYTES: usize = 16;
const STRUCTURED_BYTES: usize = 20;
const EXTENDED_BYTES: usize = 32;

/// A reply, or one chunk of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// The request's.
    pub cookie: u64,
    /// No more chunks for this request.
    pub done: bool,
    /// A simple reply. Under [`Framing::Simple`] the data of a successful read follows it, as many
    /// bytes as were asked for; under [`Framing::Structured`] it must not answer a read, which
    /// [`ReadAssembly::finish`] notices.
    pub simple: bool,
    /// Extended headers: the request's offset, to be compared with it.
    pub offset: Option<u64>,
    /// What it says.
    pub body: Body<'a>,
}

/// What a reply or chunk says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Success, or the plain end of a chunked reply.
    Success,
    /// The request failed, as a whole or at an offset of the export.
    Error {
        /// Why.
        errno: NbdErrno,
        /// Where, if the server said so.
        at: Option<u64>,
        /// The server's words, maybe empty; see [`Body::message`].
        message: &'a [u8],
    },
    /// `len` bytes of data for `offset` of the export follow. To be placed with
    /// [`ReadAssembly::place`].
    Data {
        /// First byte within the export.
        offset: u64,
        /// Bytes; never 0.
        len: u32,
    },
    /// `len` bytes from `offset` of the export read as zeroes.
    Hole {
        /// First byte within the export.
        offset: u64,
        /// Bytes; never 0.
        len: u32,
    },
    /// Extents of a metadata context follow, [`Extents::bytes`] of them.
    Status {
        /// The context's id.
        context: u32,
        /// What follows.
        extents: Extents,
    },
}

impl Body<'_> {
    /// The server's words about an error.
    pub fn message(&self) -> Option<String> {
        match self {
            Body::Error { message, .. } if !message.is_empty() => Some(lossy(message)),
            _ => None,
        }
    }
}

/// Parses replies of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyParser {
    framing: Framing,
    payload: u32,
}

/// A chunk's header.
#[derive(Clone, Copy)]
struct Head {
    bytes: usize,
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: Option<u64>,
    len: u64,
}

impl ReplyParser {
    /// For replies under `framing` to reads of at most `payload` bytes (see
    /// [`crate::Rules::payload`]).
    pub const fn new(framing: Framing, payload: u32) -> ReplyParser {
        ReplyParser { framing, payload }
    }

    /// Reads one header from the front of `bytes`, with the fixed part of its payload.
    pub fn parse<'a>(&self, bytes: &'a [u8]) -> Result<Parsed<Reply<'a>>, StreamError> {
        let least = if self.framing == Framing::Extended { EXTENDED_BYTES } else { SIMPLE_BYTES };
        let mut c = Cursor(bytes);
        if bytes.len() < least {
            return Ok(Parsed::NeedMore(least));
        }
        match (c.u32().unwrap_or(0), self.framing) {
            (SIMPLE_REPLY_MAGIC, Framing::Simple | Framing::Structured) => Ok(simple(c)),
            (STRUCTURED_REPLY_MAGIC, Framing::Structured) => match structured(c) {
                Some(head) => self.chunk(head, bytes),
                None => Ok(Parsed::NeedMore(STRUCTURED_BYTES)),
            },
            (EXTENDED_REPLY_MAGIC, Framing::Extended) => match extended(c) {
                Some(head) => self.chunk(head, bytes),
                None => Ok(Parsed::NeedMore(EXTENDED_BYTES)),
            },
            (got, _) => Err(StreamError::Magic { what: "a reply", got }),
        }
    }

    fn chunk<'a>(&self, head: Head, bytes: &'a [u8]) -> Result<Parsed<Reply<'a>>, StreamError> {
        let fixed = self.fixed(&head)?;
        let size = head.bytes + fixed as usize;
        let Some(payload) = bytes.get(head.bytes..size) else { return Ok(Parsed::NeedMore(size)) };
        let body = match head.kind {
            chunk::NONE => Body::Success,
            chunk::OFFSET_DATA => data(payload, &head),
            chunk::OFFSET_HOLE => hole(payload, &head)?,
            chunk::BLOCK_STATUS | chunk::BLOCK_STATUS_EXT => status(payload, &head)?,
            _ => error(payload, &head)?,
        };
        let reply = Reply { cookie: head.cookie, done: head.done(), simple: false, offset: head.offset, body };
        Ok(Parsed::Message(reply, size))
    }

    /// Bytes of the payload that are parsed here, after checking that the payload's length suits
    /// its type. All waiting is bounded by it: at most `ERROR_CHUNK_BYTES_MAX`.
    fn fixed(&self, head: &Head) -> Result<u32, StreamError> {
        let extents = u64::from(STATUS_EXTENTS_MAX);
        let (ok, fixed, rule) = match head.kind {
            // "*length* MUST be 0"; "MUST always be used with the NBD_REPLY_FLAG_DONE bit set".
            chunk::NONE => (head.len == 0 && head.done(), 0, "an empty chunk must have no payload and be the last"),
            // "*length* MUST be at least 9".
            chunk::OFFSET_DATA if head.len > u64::from(self.payload) + 8 => {
                return Err(StreamError::PayloadTooLong { len: head.len - 8, limit: self.payload });
            }
            chunk::OFFSET_DATA => (head.len >= 9, 8, "data must have an offset and at least one byte"),
            // "*length* MUST be exactly 12".
            chunk::OFFSET_HOLE => (head.len == 12, 12, "the payload of a hole must have 12 bytes"),
            // "*length* MUST be 4 + (a positive integer multiple of 8)".
            chunk::BLOCK_STATUS => {
                let ok = head.len >= 12 && (head.len - 4).is_multiple_of(8) && (head.len - 4) / 8 <= extents;
                (ok, 4, "status must be 4 bytes and 1 to 2^20 descriptors of 8")
            }
            // "*length* MUST be 8 + (a positive multiple of 16)"; "MUST NOT be used unless extended
            // headers".
            chunk::BLOCK_STATUS_EXT if self.framing == Framing::Extended => {
                let ok = head.len >= 24 && (head.len - 8).is_multiple_of(16) && (head.len - 8) / 16 <= extents;
                (ok, 8, "extended status must be 8 bytes and 1 to 2^20 descriptors of 16")
            }
            chunk::ERROR_OFFSET => {
                let ok = (14..=u64::from(ERROR_CHUNK_BYTES_MAX)).contains(&head.len);
                (ok, head.len as u32, "an error with offset must have 14 to 8192 bytes")
            }
            // "If the client receives an unknown or unexpected type with bit 15 set, it MUST
            // consider the current reply as errored"; all error chunks begin alike.
            kind if kind & chunk::ERROR_BIT != 0 => {
                let ok = (6..=u64::from(ERROR_CHUNK_BYTES_MAX)).contains(&head.len);
                (ok, head.len as u32, "an error must have 6 to 8192 bytes")
            }
            // "For all other messages with unknown or unexpected type …, the client MUST initiate a
            // hard disconnect".
            _ => (false, 0, "the type is not known under this framing"),
        };
        if ok { Ok(fixed) } else { Err(head.wrong(rule)) }
    }
}

impl Head {
    fn done(&self) -> bool {
        // "Clients MUST ignore unrecognized flags".
        self.flags & chunk::FLAG_DONE != 0
    }

    fn wrong(&self, rule: &'static str) -> StreamError {
        StreamError::Chunk { kind: self.kind, rule }
    }
}

fn simple<'a>(mut c: Cursor<'_>) -> Parsed<Reply<'a>> {
    // The caller saw that 16 bytes are here.
    let error = c.u32().unwrap_or(0);
    let cookie = c.u64().unwrap_or(0);
    let body = match error {
        0 => Body::Success,
        number => Body::Error { errno: NbdErrno::from_wire(number), at: None, message: &[] },
    };
    Parsed::Message(Reply { cookie, done: true, simple: true, offset: None, body }, SIMPLE_BYTES)
}

fn structured(mut c: Cursor<'_>) -> Option<Head> {
    let (flags, kind, cookie, len) = (c.u16()?, c.u16()?, c.u64()?, c.u32()?);
    Some(Head { bytes: STRUCTURED_BYTES, flags, kind, cookie, offset: None, len: len.into() })
}

fn extended(mut c: Cursor<'_>) -> Option<Head> {
    let (flags, kind, cookie, offset, len) = (c.u16()?, c.u16()?, c.u64()?, c.u64()?, c.u64()?);
    Some(Head { bytes: EXTENDED_BYTES, flags, kind, cookie, offset: Some(offset), len })
}

fn data<'a>(payload: &[u8], head: &Head) -> Body<'a> {
    // `fixed` checked that the length is 9 to payload + 8, so that 8 bytes are here.
    Body::Data { offset: Cursor(payload).u64().unwrap_or(0), len: (head.len - 8) as u32 }
}

fn hole<'a>(payload: &[u8], head: &Head) -> Result<Body<'a>, StreamError> {
    let mut c = Cursor(payload);
    match c.u64().zip(c.u32()) {
        Some((offset, len)) if len > 0 => Ok(Body::Hole { offset, len }),
        _ => Err(head.wrong("a hole must not be empty")),
    }
}

fn status<'a>(payload: &[u8], head: &Head) -> Result<Body<'a>, StreamError> {
    let mut c = Cursor(payload);
    let context = c.u32().unwrap_or(0);
    let wide = head.kind == chunk::BLOCK_STATUS_EXT;
    // `fixed` checked that the count is 1 to 2^20.
    let count = if wide { (head.len - 8) / 16 } else { (head.len - 4) / 8 } as u32;
    // "If the *descriptor count* field contains 0, the number … is determined solely by the
    // *length* field".
    match c.u32() {
        Some(said) if said != 0 && said != count => Err(head.wrong("the descriptor count contradicts the length")),
        _ => Ok(Body::Status { context, extents: Extents { count, wide } }),
    }
}

fn error<'a>(payload: &'a [u8], head: &Head) -> Result<Body<'a>, StreamError> {
    let mut c = Cursor(payload);
    let number = c.u32().unwrap_or(0);
    let len = c.u16().unwrap_or(0);
    // "32 bits: error (MUST be nonzero)".
    if number == 0 {
        return Err(head.wrong("an error number must not be 0"));
    }
    let message = c.take(len.into()).ok_or_else(|| head.wrong("the message is longer than the chunk"))?;
    let at = match head.kind {
        chunk::ERROR_OFFSET => Some(c.u64().ok_or_else(|| head.wrong("the message leaves no room for the offset"))?),
        _ => None,
    };
    Ok(Body::Error { errno: NbdErrno::from_wire(number), at, message })
}

/// Puts the chunks of one read together: where each belongs in the reader's buffer, and whether all
/// came.
///
/// Chunks that overlap are not told apart from chunks that fill the range: a server that lies about
/// which bytes it sent can as well send wrong bytes. No chunk reaches outside the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAssembly {
    offset: u64,
    len: u32,
    received: u64,
    /// Bytes from the first on that came without a gap.
    front: u64,
    error: Option<NbdErrno>,
    /// Bytes before the first place that an error named; none where one named no place in the read.
    good: u64,
}

impl ReadAssembly {
    /// For a read of `len` bytes at `offset`.
    pub const fn new(offset: u64, len: u32) -> ReadAssembly {
        ReadAssembly { offset, len, received: 0, front: 0, error: None, good: len as u64 }
    }

    /// Where in the buffer a chunk's `len` bytes at `offset` of the export belong.
    pub fn place(&mut self, offset: u64, len: u32) -> Result<Range<usize>, StreamError> {
        let outside = StreamError::Chunk { kind: chunk::OFFSET_DATA, rule: "the chunk lies outside the read" };
        let start = offset.checked_sub(self.offset).ok_or(outside)?;
        let end = start.checked_add(len.into()).filter(|end| *end <= self.len.into()).ok_or(outside)?;
        self.received += u64::from(len);
        if self.received > self.len.into() {
            return Err(StreamError::Chunk { kind: chunk::OFFSET_DATA, rule: "chunks of one read must not overlap" });
        }
        if start == self.front {
            self.front = end;
        }
        Ok(start as usize..end as usize)
    }

    /// Notes an error chunk and the place that it names; the first one is the read's result.
    pub fn fail(&mut self, errno: NbdErrno, at: Option<u64>) {
        self.error.get_or_insert(errno);
        // An error without a place: "the client MAY NOT make any assumptions about partial
        // success".
        let before = at.and_then(|at| at.checked_sub(self.offset)).filter(|before| *before < self.len.into());
        self.good = self.good.min(before.unwrap_or(0));
    }

    /// Bytes at the front of the buffer that are the export's, also when the read failed: what came
    /// without a gap before the first place that failed.
    pub fn good(&self) -> u32 {
        // No more than `len`.
        self.front.min(self.good) as u32
    }

    /// The read's result once the last chunk came; an outer error means that the server broke the
    /// protocol.
    pub fn finish(self) -> Result<Result<(), NbdErrno>, StreamError> {
        match self.error {
            Some(errno) => Ok(Err(errno)),
            None if self.received == self.len.into() => Ok(Ok(())),
            // "the server MUST send enough data chunks to cover the entire region".
            None => Err(StreamError::Chunk { kind: chunk::NONE, rule: "the read ended before all of it was sent" }),
        }
    }
}
