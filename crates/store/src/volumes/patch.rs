//! A change that the device cannot take as it is: bytes that do not fill whole blocks, or zeroes where the file system
//! has no call for them.
//!
//! ```text
//!   blocks    |........|........|........|        a piece of up to 256 KiB at a time:
//!   change         [=================]            read it if the change does not cover it · merge · write
//! ```
//!
//! Between the read and the write nothing else may change those blocks, or it would be undone. So a patch runs alone
//! among the changes of its LUN; see [`super::Lun::alone`].

use super::Queued;
use block::Buf;
use uring::{FileId, Io, Job};

/// The longest piece, in bytes: what one patch needs beside the client's data.
pub(super) const PIECE: u64 = 256 << 10;

/// A patch on its way.
pub(super) struct Patch {
    pub queued: Queued,
    /// The client's bytes; `None` writes zeroes.
    data: Option<Buf>,
    /// What changes: bytes `from..to`.
    from: u64,
    to: u64,
    /// The piece at hand: blocks from here on.
    at: u64,
    align: u64,
    /// Where pieces are put together; away while the kernel has it.
    bounce: Option<Buf>,
    /// The piece at hand has been read.
    is_read: bool,
}

impl Patch {
    /// The change that `queued` asks for, in blocks of `align` bytes; its data is `data`, or zeroes. `bounce` holds
    /// [`PIECE`] bytes.
    pub(super) fn new(queued: Queued, data: Option<Buf>, align: u64, bounce: Buf) -> Patch {
        let (from, to) = (queued.request.at, queued.request.at + queued.request.len);
        let at = from - from % align;
        Patch { queued, data, from, to, at, align, bounce: Some(bounce), is_read: false }
    }

    /// The next thing to ask of the kernel; `None` when all is written. The bounce buffer must be here.
    pub(super) fn job(&mut self, io: &Io, file: FileId) -> Option<Job> {
        if self.at >= self.to {
            return None;
        }
        let len = self.piece();
        let mut buf = self.bounce.take()?.window(0, len as u32);
        if self.must_read() {
            return Some(Job::Read { file, at: self.at, buf });
        }
        self.merge(io, &mut buf, len);
        Some(Job::Write { file, at: self.at, buf, durable: self.queued.request.fua })
    }

    /// Takes a job back that the kernel had no room for.
    pub(super) fn put_back(&mut self, job: Job) {
        if let Job::Read { buf, .. } | Job::Write { buf, .. } = job {
            self.bounce = Some(buf);
        }
    }

    /// Takes the buffer of a job back that has ended.
    pub(super) fn take_back(&mut self, bounce: Option<Buf>) {
        self.bounce = bounce;
    }

    /// The next step, after a job that went well.
    pub(super) fn go_on(&mut self) {
        if self.must_read() {
            self.is_read = true;
        } else {
            self.at += self.piece();
            self.is_read = false;
        }
    }

    /// Whether the piece at hand must be read before it can be written.
    fn must_read(&self) -> bool {
        !self.is_read && (self.at < self.from || self.to < self.at + self.piece())
    }

    /// The request, the client's buffer, the bounce buffer.
    pub(super) fn end(self) -> (Queued, Option<Buf>, Option<Buf>) {
        (self.queued, self.data, self.bounce)
    }

    /// Bytes of the piece at hand, whole blocks.
    fn piece(&self) -> u64 {
        (self.to.next_multiple_of(self.align) - self.at).min(PIECE)
    }

    /// Puts the change's part of the piece into it.
    fn merge(&self, io: &Io, piece: &mut Buf, len: u64) {
        let (first, last) = (self.from.max(self.at), self.to.min(self.at + len));
        let into = (first - self.at) as usize..(last - self.at) as usize;
        match &self.data {
            Some(data) => io.with(data, |bytes| {
                let from = (first - self.from) as usize..(last - self.from) as usize;
                io.with_mut(piece, |to| to[into].copy_from_slice(&bytes[from]));
            }),
            None => io.with_mut(piece, |to| to[into].fill(0)),
        }
    }
}
