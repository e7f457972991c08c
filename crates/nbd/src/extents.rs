//! The descriptors of a block status answer, both directions.
//!
//! ```text
//! compact   4 length  4 flags         8 bytes     in NBD_REPLY_TYPE_BLOCK_STATUS
//! extended  8 length  8 flags        16 bytes     in NBD_REPLY_TYPE_BLOCK_STATUS_EXT
//! ```

use crate::error::StreamError;
use crate::values::{STATE_HOLE, STATE_ZERO, chunk};
use crate::wire::{Cursor, Put};

/// A run of bytes with one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes; never 0.
    pub length: u64,
    /// `base:allocation`: [`STATE_HOLE`], [`STATE_ZERO`].
    pub flags: u64,
}

impl Extent {
    /// An extent of `base:allocation`.
    pub fn allocation(length: u64, hole: bool, zero: bool) -> Extent {
        let flags = if hole { STATE_HOLE } else { 0 } | if zero { STATE_ZERO } else { 0 };
        Extent { length, flags: u64::from(flags) }
    }

    /// `base:allocation`: no space behind it.
    pub fn is_hole(self) -> bool {
        self.flags & u64::from(STATE_HOLE) != 0
    }

    /// `base:allocation`: it reads as zeroes.
    pub fn is_zero(self) -> bool {
        self.flags & u64::from(STATE_ZERO) != 0
    }

    pub(crate) fn put_compact(self, out: &mut Vec<u8>) {
        // The largest multiple of 64 KiB, the largest minimum block size: "MUST use descriptor lengths that are an
        // integer multiple of any advertised minimum block size".
        const LONGEST: u32 = !0xffff;
        out.put_u32(u32::try_from(self.length).unwrap_or(LONGEST));
        // All contexts that this crate knows have 32-bit flags.
        out.put_u32(self.flags as u32);
    }

    pub(crate) fn put_extended(self, out: &mut Vec<u8>) {
        out.put_u64(self.length);
        out.put_u64(self.flags);
    }
}

/// The descriptors that follow the header of a status chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// How many.
    pub count: u32,
    /// 64-bit lengths and flags.
    pub wide: bool,
}

impl Extents {
    /// Bytes of one descriptor.
    pub const fn extent_bytes(self) -> usize {
        if self.wide { 16 } else { 8 }
    }

    /// Bytes of all: the payload that the caller takes off the stream. At most 16 MiB.
    pub const fn bytes(self) -> usize {
        self.count as usize * self.extent_bytes()
    }

    /// Decodes the descriptors at the front of `payload`, as many as are there whole; the payload may be taken in pieces
    /// of any multiple of [`Extents::extent_bytes`].
    pub fn decode(self, payload: &[u8]) -> impl Iterator<Item = Result<Extent, StreamError>> + '_ {
        payload.chunks_exact(self.extent_bytes()).map(move |bytes| {
            let mut c = Cursor(bytes);
            let fields = if self.wide { c.u64().zip(c.u64()) } else { c.u32().zip(c.u32()).map(widen) };
            let (length, flags) = fields.expect("the piece is as long as a descriptor");
            if length == 0 {
                let kind = if self.wide { chunk::BLOCK_STATUS_EXT } else { chunk::BLOCK_STATUS };
                return Err(StreamError::Chunk { kind, rule: "an extent must not be empty" });
            }
            Ok(Extent { length, flags })
        })
    }
}

fn widen((length, flags): (u32, u32)) -> (u64, u64) {
    (length.into(), flags.into())
}
