//! The memory of requests that are split: a buffer for each part, and what is copied to it or from
//! it.

use block::Buf;
use std::ops::Range;
use uring::Io;

/// Where the bytes of requests that are split are copied.
#[derive(Clone)]
pub struct Copies {
    /// The slab of the members' worker.
    pub io: Io,
    /// Reads bring their bytes; without, those of a read that was split are forgotten.
    pub keep_data: bool,
}

impl Copies {
    /// Copies runs of `from`, what the whole has, to a part's buffer.
    pub(super) fn scatter(&self, from: &Buf, to: &mut Buf, runs: impl Iterator<Item = Run>) {
        if from.is_nothing() {
            return;
        }
        let copy = |from: &[u8], to: &mut [u8]| runs.for_each(|run| to[run.part].copy_from_slice(&from[run.whole]));
        self.io.with(from, |from| self.io.with_mut(to, |to| copy(from, to)));
    }

    /// Copies a part's bytes to the buffer of the whole.
    pub(super) fn gather(&self, from: &Buf, to: &mut Buf, runs: impl Iterator<Item = Run>) {
        if from.is_nothing() {
            return;
        }
        let copy = |from: &[u8], to: &mut [u8]| runs.for_each(|run| to[run.whole].copy_from_slice(&from[run.part]));
        self.io.with(from, |from| self.io.with_mut(to, |to| copy(from, to)));
    }
}

/// Bytes that lie together in the buffer of the whole and in that of a member's part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub whole: Range<usize>,
    pub part: Range<usize>,
}

/// A buffer for a part of what `whole` has; nothing where no room is left.
pub(super) fn take(copies: Option<&Copies>, whole: &Buf, len: u32) -> Option<Buf> {
    match copies {
        Some(copies) if !whole.is_nothing() => copies.io.take(len),
        _ => Some(Buf::nothing(len)),
    }
}
