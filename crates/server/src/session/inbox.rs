//! A stream buffer: bytes are received at its end and parsed at its front.

use block::Buf;
use uring::Io;

/// Received bytes that are not parsed yet. `buf` is `None` while the kernel fills it.
pub(super) struct Inbox {
    buf: Option<Buf>,
    /// Length of the buffer.
    room: u32,
    /// Unread bytes are `start..end` of the buffer.
    start: u32,
    end: u32,
}

impl Inbox {
    /// An empty inbox that uses all of `buf`.
    pub(super) fn new(buf: Buf) -> Inbox {
        Inbox { room: buf.len(), buf: Some(buf), start: 0, end: 0 }
    }

    /// Its capacity in bytes.
    pub(super) fn room(&self) -> u32 {
        self.room
    }

    /// Lends out the free space behind the unread bytes, which are moved to the front first; `None`
    /// if it is lent out already.
    pub(super) fn lend(&mut self, io: &Io) -> Option<Buf> {
        let buf = self.buf.take()?;
        let mut buf = buf.window(0, self.end);
        if self.start > 0 {
            let (start, end) = (self.start as usize, self.end as usize);
            if start < end {
                io.with_mut(&mut buf, |bytes| bytes.copy_within(start..end, 0));
            }
            (self.start, self.end) = (0, self.end - self.start);
        }
        // The message that is waited for always fits. A receive into an empty buffer would look
        // like the end of the stream.
        debug_assert!(self.end < self.room, "there is room for what is waited for");
        Some(buf.window(self.end, self.room - self.end))
    }

    /// Takes the buffer back after a receive of `got` bytes.
    pub(super) fn came(&mut self, buf: Buf, got: u32) {
        self.end += got;
        self.buf = Some(buf.window(0, self.end));
    }

    /// Runs `f` on the unread bytes; it returns how many of them it consumed. `None` while the
    /// buffer is lent out.
    pub(super) fn unread<R>(&mut self, io: &Io, f: impl FnOnce(&[u8]) -> (usize, R)) -> Option<R> {
        let buf = self.buf.as_ref()?;
        let (start, end) = (self.start as usize, self.end as usize);
        let (taken, result) = io.with(buf, |bytes| f(&bytes[start..end]));
        self.start += taken as u32;
        Some(result)
    }

    /// Takes the buffer out, to be freed.
    pub(super) fn close(&mut self) -> Option<Buf> {
        self.buf.take()
    }
}
