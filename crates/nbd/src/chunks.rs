//! Parsing of replies by a client: headers only; the caller receives the payloads itself.

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
    /// The request's cookie.
    pub cookie: u64,
    /// The last chunk of the request.
    pub done: bool,
    /// A simple reply. With [`Framing::Simple`], the data of a successful read follows it, as many
    /// bytes as were asked for. With [`Framing::Structured`] it must not answer a read, which
    /// [`ReadAssembly::finish`] detects.
    pub simple: bool,
    /// With extended headers: the request's offset, to be compared.
    pub offset: Option<u64>,
    /// The contents.
    pub body: Body<'a>,
}

/// The contents of a reply or chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Success, or the end of a chunked reply.
    Success,
    /// The request failed, as a whole or at an offset of the export.
    Error {
        /// Why.
        errno: NbdErrno,
        /// Where, if the server said so.
        at: Option<u64>,
        /// The server's message, possibly empty; see [`Body::message`].
        message: &'a [u8],
    },
    /// `len` bytes of data for `offset` of the export follow; place them by
    /// [`ReadAssembly::place`].
    Data {
        /// First byte within the export.
        offset: u64,
        /// Bytes; never 0.
        len: u32,
    },
    /// `len` bytes from `offset` of the export are zeroes.
    Hole {
        /// First byte within the export.
        offset: u64,
        /// Bytes; never 0.
        len: u32,
    },
    /// Extents of a metadata context follow: [`Extents::bytes`] bytes.
    Status {
        /// The context's id.
        context: u32,
        /// The extents.
        extents: Extents,
    },
}

impl Body<'_> {
    /// The server's message in an error.
    pub fn message(&self) -> Option<String> {
        match self {
            Body::Error { message, .. } if !message.is_empty() => Some(lossy(message)),
            _ => None,
        }
    }
}

/// Parses the replies on a connection.
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
    /// For replies with `framing` to reads of at most `payload` bytes (see
    /// [`crate::Rules::payload`]).
    pub const fn new(framing: Framing, payload: u32) -> ReplyParser {
        ReplyParser { framing, payload }
    }

    /// Parses one header from the front of `bytes`, including the fixed part of its payload.
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

    /// Bytes of the payload that are parsed here, after checking that its length is valid for its
    /// type. They are all that is waited for: at most `ERROR_CHUNK_BYTES_MAX`.
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
    // The caller checked that 16 bytes are here.
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
    // `fixed` checked that the length is 9 to payload + 8, so 8 bytes are here.
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

/// Assembles the chunks of one read: the place of each in the reader's buffer, and whether all have
/// arrived.
///
/// Overlapping chunks are not detected: a server that lies about the bytes it sent could as well
/// send wrong bytes. No chunk can reach outside the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAssembly {
    offset: u64,
    len: u32,
    received: u64,
    /// Contiguous bytes from the first one on that have arrived.
    front: u64,
    error: Option<NbdErrno>,
    /// Bytes before the first failed place; 0 if an error named no place in the read.
    good: u64,
}

impl ReadAssembly {
    /// For a read of `len` bytes at `offset`.
    pub const fn new(offset: u64, len: u32) -> ReadAssembly {
        ReadAssembly { offset, len, received: 0, front: 0, error: None, good: len as u64 }
    }

    /// The place in the buffer for a chunk's `len` bytes at `offset` of the export.
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

    /// Records an error chunk and the place that it names. The first error is the result of the
    /// read.
    pub fn fail(&mut self, errno: NbdErrno, at: Option<u64>) {
        self.error.get_or_insert(errno);
        // An error without a place: "the client MAY NOT make any assumptions about partial
        // success".
        let before = at.and_then(|at| at.checked_sub(self.offset)).filter(|before| *before < self.len.into());
        self.good = self.good.min(before.unwrap_or(0));
    }

    /// Valid bytes at the front of the buffer, even if the read failed: those that arrived without
    /// a gap before the first failed place.
    pub fn good(&self) -> u32 {
        // No more than `len`.
        self.front.min(self.good) as u32
    }

    /// The result of the read after its last chunk. An outer error means that the server violated
    /// the protocol.
    pub fn finish(self) -> Result<Result<(), NbdErrno>, StreamError> {
        match self.error {
            Some(errno) => Ok(Err(errno)),
            None if self.received == self.len.into() => Ok(Ok(())),
            // "the server MUST send enough data chunks to cover the entire region".
            None => Err(StreamError::ReadShort { got: self.received, len: self.len }),
        }
    }
}
