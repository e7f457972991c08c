//! The server's replies: only headers, appended to the bytes to send.
//!
//! ```text
//! simple      4 magic  4 error  8 cookie                                     16 bytes   data of a read follows
//! structured  4 magic  2 flags  2 type  8 cookie  4 length                   20 bytes   payload follows
//! extended    4 magic  2 flags  2 type  8 cookie  8 offset  8 length         32 bytes   payload follows
//! ```

use crate::errno::NbdErrno;
use crate::extents::StatusExtent;
use crate::request::NbdRequest;
use crate::settings::Framing;
use crate::text::cut;
use crate::values::{EXTENDED_REPLY_MAGIC, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk};
use crate::wire::Put;

/// What a reply repeats of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyTo {
    /// The request's cookie.
    pub cookie: u64,
    /// The request's offset.
    pub offset: u64,
}

impl From<&NbdRequest> for ReplyTo {
    fn from(request: &NbdRequest) -> ReplyTo {
        ReplyTo { cookie: request.cookie, offset: request.offset }
    }
}

impl Framing {
    /// Success of a request that returns no data: anything but a read or a block status.
    pub fn ok(self, out: &mut Vec<u8>, to: ReplyTo) {
        match self {
            // Protocol text, "Structured reply chunk message": "MAY use either a simple reply or a
            // structured reply to all other requests"; the simple one is 4 bytes shorter.
            Framing::Simple | Framing::Structured => simple(out, to, 0),
            // Extension text: "the server MUST NOT use simple replies even when there is no
            // payload".
            Framing::Extended => Chunks::Extended.done(out, to),
        }
    }

    /// Failure of any request. `message` is for people; at most 4096 bytes of it are sent, none
    /// with simple framing.
    pub fn error(self, out: &mut Vec<u8>, to: ReplyTo, errno: NbdErrno, message: &str) {
        match self.chunks() {
            // "it MUST NOT send any payload for this request".
            None => simple(out, to, errno.wire()),
            // "MUST NOT use a simple reply for NBD_CMD_READ (even for the case of an early
            // NBD_EINVAL due to bad flags)"; "The server SHOULD prefer sending errors via a
            // structured reply".
            Some(chunks) => chunks.error(out, to, errno, message, Last::Yes),
        }
    }

    /// Success of a read of `len` bytes, which the caller must send next: the whole answer in one
    /// piece, so it is also valid for requests with the DF flag.
    ///
    /// It excludes later errors ("MUST NOT mark a chunk as final if there is still a possibility of
    /// detecting an error"), so the data must be in memory.
    pub fn read(self, out: &mut Vec<u8>, to: ReplyTo, len: u32) {
        match self.chunks() {
            None => simple(out, to, 0),
            Some(chunks) => chunks.data(out, to, to.offset, len, Last::Yes),
        }
    }

    /// The chunks for an answer in several parts, if this framing has them.
    pub const fn chunks(self) -> Option<Chunks> {
        match self {
            Framing::Simple => None,
            Framing::Structured => Some(Chunks::Structured),
            Framing::Extended => Some(Chunks::Extended),
        }
    }
}

/// Whether a chunk ends its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// More chunks of this reply follow.
    No,
    /// The last one.
    Yes,
}

/// Replies in several chunks: reads with holes, block status, several errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunks {
    /// 20-byte headers.
    Structured,
    /// 32-byte headers.
    Extended,
}

impl Chunks {
    /// Ends a reply. Without error chunks before, the request succeeded.
    pub fn done(self, out: &mut Vec<u8>, to: ReplyTo) {
        // "This bit MUST always be set for the NBD_REPLY_TYPE_NONE chunk".
        self.header(out, to, chunk::NONE, Last::Yes, 0);
    }

    /// Data of a read: `len` bytes from `offset` of the export, which the caller must send next.
    pub fn data(self, out: &mut Vec<u8>, to: ReplyTo, offset: u64, len: u32, last: Last) {
        // "*length* MUST be at least 9": the offset and one byte.
        assert!(len > 0, "a data chunk holds at least one byte");
        self.header(out, to, chunk::OFFSET_DATA, last, u64::from(len) + 8);
        out.put_u64(offset);
    }

    /// Zeroes of a read: `len` bytes from `offset` of the export. Not for requests with the DF
    /// flag, which get "the zeroes explicitly present".
    pub fn hole(self, out: &mut Vec<u8>, to: ReplyTo, offset: u64, len: u32, last: Last) {
        // "hole size (unsigned, MUST be nonzero)".
        assert!(len > 0, "a hole has at least one byte");
        self.header(out, to, chunk::OFFSET_HOLE, last, 12);
        out.put_u64(offset);
        out.put_u32(len);
    }

    /// An error about the whole request.
    pub fn error(self, out: &mut Vec<u8>, to: ReplyTo, errno: NbdErrno, message: &str, last: Last) {
        let message = cut(message);
        self.header(out, to, chunk::ERROR, last, 6 + message.len() as u64);
        put_error(out, errno, message);
    }

    /// An error at `offset` of the export, which must lie within the request.
    pub fn error_at(self, out: &mut Vec<u8>, to: ReplyTo, errno: NbdErrno, message: &str, offset: u64, last: Last) {
        let message = cut(message);
        self.header(out, to, chunk::ERROR_OFFSET, last, 14 + message.len() as u64);
        put_error(out, errno, message);
        out.put_u64(offset);
    }

    /// The answer to a block status request for one context: consecutive extents from the request's
    /// offset on.
    ///
    /// Under structured framing an extent longer than 2^32 - 1 bytes ends the answer, shortened to
    /// the largest multiple of 64 KiB below that: "the server MAY return less data than requested".
    pub fn status(self, out: &mut Vec<u8>, to: ReplyTo, context: u32, extents: &[StatusExtent], last: Last) {
        // "the server MUST return at least one status descriptor", each with a "nonzero" length.
        assert!(!extents.is_empty() && extents.iter().all(|e| e.length > 0), "extents exist and are not empty");
        match self {
            Chunks::Structured => {
                let long = extents.iter().position(|e| e.length > u64::from(u32::MAX));
                let extents = long.map_or(extents, |at| &extents[..=at]);
                self.header(out, to, chunk::BLOCK_STATUS, last, 4 + 8 * extents.len() as u64);
                out.put_u32(context);
                for extent in extents {
                    extent.put_compact(out);
                }
            }
            // The client must be prepared for either type; clients in the field expect this one.
            Chunks::Extended => {
                self.header(out, to, chunk::BLOCK_STATUS_EXT, last, 8 + 16 * extents.len() as u64);
                out.put_u32(context);
                // "the server MUST ensure that the header *length* is equal to *descriptor count* *
                // 16 + 8".
                out.put_u32(extents.len() as u32);
                for extent in extents {
                    extent.put_extended(out);
                }
            }
        }
    }

    fn header(self, out: &mut Vec<u8>, to: ReplyTo, kind: u16, last: Last, len: u64) {
        let flags = if last == Last::Yes { chunk::FLAG_DONE } else { 0 };
        let mut header = [0; 32];
        header[4..6].copy_from_slice(&flags.to_be_bytes());
        header[6..8].copy_from_slice(&kind.to_be_bytes());
        header[8..16].copy_from_slice(&to.cookie.to_be_bytes());
        let (magic, size) = match self {
            Chunks::Structured => {
                let len = u32::try_from(len).expect("payloads are at most PAYLOAD_BYTES_MAX");
                header[16..20].copy_from_slice(&len.to_be_bytes());
                (STRUCTURED_REPLY_MAGIC, 20)
            }
            Chunks::Extended => {
                // Extension text: "*offset* which MUST match the *offset* of the client's request".
                header[16..24].copy_from_slice(&to.offset.to_be_bytes());
                header[24..32].copy_from_slice(&len.to_be_bytes());
                (EXTENDED_REPLY_MAGIC, 32)
            }
        };
        header[..4].copy_from_slice(&magic.to_be_bytes());
        out.extend_from_slice(&header[..size]);
    }
}

fn simple(out: &mut Vec<u8>, to: ReplyTo, error: u32) {
    let mut header = [0; 16];
    header[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    header[4..8].copy_from_slice(&error.to_be_bytes());
    header[8..].copy_from_slice(&to.cookie.to_be_bytes());
    out.extend_from_slice(&header);
}

fn put_error(out: &mut Vec<u8>, errno: NbdErrno, message: &str) {
    out.put_u32(errno.wire());
    // `cut` left at most 4096 bytes.
    out.put_u16(message.len() as u16);
    out.extend_from_slice(message.as_bytes());
}
