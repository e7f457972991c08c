//! A buffer that bytes of a stream come into at its end and are read from at its front.

use block::Buf;
use uring::Io;

/// Bytes that came and were not read yet. `buf` is away while the kernel fills it.
pub(super) struct Inbox {
    buf: Option<Buf>,
    /// Bytes of the buffer.
    room: u32,
    /// Unread bytes are `start..end` of the buffer.
    start: u32,
    end: u32,
}

impl Inbox {
    /// An empty one in `buf`, all of it.
    pub(super) fn new(buf: Buf) -> Inbox {
        Inbox { room: buf.len(), buf: Some(buf), start: 0, end: 0 }
    }

    /// Bytes that it holds.
    pub(super) fn room(&self) -> u32 {
        self.room
    }

    /// The room behind the unread bytes, which move to the front first; `None` while the buffer is
    /// away.
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
        // A message that is waited for always fits, and a receive of nothing would look like the
        // end of the stream.
        debug_assert!(self.end < self.room, "there is room for what is waited for");
        Some(buf.window(self.end, self.room - self.end))
    }

    /// Takes the buffer back with `got` more bytes behind the unread ones.
    pub(super) fn came(&mut self, buf: Buf, got: u32) {
        self.end += got;
        self.buf = Some(buf.window(0, self.end));
    }

    /// Works on the unread bytes; `f` returns how many of them it took. `None` while the buffer is
    /// away.
    pub(super) fn unread<R>(&mut self, io: &Io, f: impl FnOnce(&[u8]) -> (usize, R)) -> Option<R> {
        let buf = self.buf.as_ref()?;
        let (start, end) = (self.start as usize, self.end as usize);
        let (taken, result) = io.with(buf, |bytes| f(&bytes[start..end]));
        self.start += taken as u32;
        Some(result)
    }

    /// The buffer, to be given back.
    pub(super) fn close(&mut self) -> Option<Buf> {
        self.buf.take()
    }
}
