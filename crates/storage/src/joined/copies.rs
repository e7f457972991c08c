//! The memory of split requests: a buffer for each part, and the copies to it or from it.

use block::Buf;
use std::ops::Range;
use uring::Io;

/// Where the bytes of split requests are copied.
#[derive(Clone)]
pub struct Copies {
    /// The I/O of the members' worker, with its slab.
    pub io: Io,
    /// Whether the data of split reads is kept; otherwise it is discarded.
    pub keep_data: bool,
}

impl Copies {
    /// Copies runs of the whole's buffer `from` to a part's buffer.
    pub(super) fn scatter(&self, from: &Buf, to: &mut Buf, runs: impl Iterator<Item = Run>) {
        if from.is_nothing() {
            return;
        }
        let copy = |from: &[u8], to: &mut [u8]| runs.for_each(|run| to[run.part].copy_from_slice(&from[run.whole]));
        self.io.with(from, |from| self.io.with_mut(to, |to| copy(from, to)));
    }

    /// Copies a part's bytes to the whole's buffer.
    pub(super) fn gather(&self, from: &Buf, to: &mut Buf, runs: impl Iterator<Item = Run>) {
        if from.is_nothing() {
            return;
        }
        let copy = |from: &[u8], to: &mut [u8]| runs.for_each(|run| to[run.whole].copy_from_slice(&from[run.part]));
        self.io.with(from, |from| self.io.with_mut(to, |to| copy(from, to)));
    }
}

/// Bytes that are contiguous in the whole's buffer and in that of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub whole: Range<usize>,
    pub part: Range<usize>,
}

/// A buffer for a part of `whole`; `None` if there is no room.
pub(super) fn take(copies: Option<&Copies>, whole: &Buf, len: u32) -> Option<Buf> {
    match copies {
        Some(copies) if !whole.is_nothing() => copies.io.take(len),
        _ => Some(Buf::nothing(len)),
    }
}
