//! The descriptors in the answer to a block status request, in both directions.
//!
//! ```text
//! compact   4 length  4 flags         8 bytes     in NBD_REPLY_TYPE_BLOCK_STATUS
//! extended  8 length  8 flags        16 bytes     in NBD_REPLY_TYPE_BLOCK_STATUS_EXT
//! ```

use crate::error::StreamError;
use crate::limits::STATUS_EXTENTS_MAX;
use crate::request::{CommandFlags, NbdRequest};
use crate::values::{SHARING_NOTHING, SHARING_OWN, SHARING_SHARED, STATE_HOLE, STATE_ZERO, chunk};
use crate::wire::{Cursor, Put};

/// A run of bytes with one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusExtent {
    /// Length in bytes; never 0.
    pub length: u64,
    /// `base:allocation`: [`STATE_HOLE`], [`STATE_ZERO`]; `seawall:sharing`: one of `SHARING_…`.
    pub flags: u64,
}

impl StatusExtent {
    /// An extent of `base:allocation`.
    pub fn allocation(length: u64, hole: bool, zero: bool) -> StatusExtent {
        let flags = if hole { STATE_HOLE } else { 0 } | if zero { STATE_ZERO } else { 0 };
        StatusExtent { length, flags: u64::from(flags) }
    }

    /// An extent of `seawall:sharing`.
    pub fn sharing(length: u64, stored: bool, shared: bool) -> StatusExtent {
        let flags = match (stored, shared) {
            (false, _) => SHARING_NOTHING,
            (true, false) => SHARING_OWN,
            (true, true) => SHARING_SHARED,
        };
        StatusExtent { length, flags: u64::from(flags) }
    }

    /// `base:allocation`: no space is allocated.
    pub fn is_hole(self) -> bool {
        self.flags & u64::from(STATE_HOLE) != 0
    }

    /// `base:allocation`: it reads as zeroes.
    pub fn is_zero(self) -> bool {
        self.flags & u64::from(STATE_ZERO) != 0
    }

    pub(crate) fn put_compact(self, out: &mut Vec<u8>) {
        // The largest multiple of 64 KiB, the largest minimum block size: "MUST use descriptor
        // lengths that are an integer multiple of any advertised minimum block size".
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

/// Converts a backend's answer for `request`'s range, from its first byte on, to one that the
/// protocol allows: joins equal neighbours, drops empty extents and what lies beyond the range, and
/// keeps only one if that was asked for.
///
/// Lengths remain multiples of the block size. An empty answer remains empty; that is an error
/// then.
pub fn fit_extents(extents: &mut Vec<StatusExtent>, request: &NbdRequest) {
    // "The server SHOULD use different *status* values between consecutive descriptors where
    // feasible".
    extents.dedup_by(|next, kept| {
        let same = next.flags == kept.flags || next.length == 0;
        if same {
            kept.length = kept.length.saturating_add(next.length);
        }
        same
    });
    // Only the first one can still be empty, and only if its neighbour differs.
    if extents.first().is_some_and(|first| first.length == 0) {
        extents.remove(0);
    }
    // With REQ_ONE "every reply chunk MUST contain exactly one descriptor, and that descriptor MUST
    // NOT exceed the *length* of the original request"; else "SHOULD NOT send more than 2^20 status
    // descriptors".
    let one = request.flags.contains(CommandFlags::REQ_ONE);
    extents.truncate(if one { 1 } else { STATUS_EXTENTS_MAX as usize });
    let mut left = request.length;
    extents.retain_mut(|extent| {
        extent.length = extent.length.min(left);
        left -= extent.length;
        extent.length > 0
    });
}

/// The descriptors that follow the header of a status chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// The number of descriptors.
    pub count: u32,
    /// Lengths and flags have 64 bits.
    pub wide: bool,
}

impl Extents {
    /// Bytes of one descriptor.
    pub const fn extent_bytes(self) -> usize {
        if self.wide { 16 } else { 8 }
    }

    /// Bytes of all descriptors, which the caller must receive. At most 16 MiB.
    pub const fn bytes(self) -> usize {
        self.count as usize * self.extent_bytes()
    }

    /// Decodes the complete descriptors at the front of `payload`. The payload may be received in
    /// pieces, each a multiple of [`Extents::extent_bytes`].
    pub fn decode(self, payload: &[u8]) -> impl Iterator<Item = Result<StatusExtent, StreamError>> + '_ {
        payload.chunks_exact(self.extent_bytes()).map(move |bytes| {
            let mut c = Cursor(bytes);
            let fields = if self.wide { c.u64().zip(c.u64()) } else { c.u32().zip(c.u32()).map(widen) };
            let (length, flags) = fields.expect("the piece is as long as a descriptor");
            if length == 0 {
                let kind = if self.wide { chunk::BLOCK_STATUS_EXT } else { chunk::BLOCK_STATUS };
                return Err(StreamError::Chunk { kind, rule: "an extent must not be empty" });
            }
            Ok(StatusExtent { length, flags })
        })
    }
}

fn widen((length, flags): (u32, u32)) -> (u64, u64) {
    (length.into(), flags.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Command;

    fn fitted(extents: &[(u64, u64)], length: u64, flags: CommandFlags) -> Vec<(u64, u64)> {
        let mut extents: Vec<StatusExtent> =
            extents.iter().map(|&(length, flags)| StatusExtent { length, flags }).collect();
        fit_extents(&mut extents, &NbdRequest::new(1, Command::BlockStatus, 0, length).with(flags));
        extents.into_iter().map(|e| (e.length, e.flags)).collect()
    }

    #[test]
    fn equal_neighbours_are_joined_and_the_rest_is_cut() {
        let none = CommandFlags::NONE;
        // 512 and 512 with the same flags are 1024; of the 4096 after them 3072 lie within 4096.
        assert_eq!(fitted(&[(512, 0), (512, 0), (4096, 3), (512, 0)], 4096, none), [(1024, 0), (3072, 3)]);
        assert_eq!(fitted(&[(512, 0), (512, 3)], 4096, none), [(512, 0), (512, 3)]);
        // Empty extents are removed wherever they are.
        assert_eq!(fitted(&[(0, 1), (512, 0), (0, 3), (512, 0)], 4096, none), [(1024, 0)]);
        assert_eq!(fitted(&[(0, 1), (0, 2)], 4096, none), []);
        assert_eq!(fitted(&[], 4096, none), []);
        assert_eq!(fitted(&[(u64::MAX, 0), (u64::MAX, 0)], 4096, none), [(4096, 0)]);
    }

    #[test]
    fn one_extent_if_one_was_asked_for() {
        let one = CommandFlags::REQ_ONE;
        assert_eq!(fitted(&[(512, 0), (512, 0), (4096, 3)], 4096, one), [(1024, 0)]);
        assert_eq!(fitted(&[(8192, 3)], 4096, one), [(4096, 3)]);
    }
}
