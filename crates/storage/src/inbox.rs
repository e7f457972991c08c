//! What a connection brought and nobody has read: one buffer, and at most one receive at the kernel
//! that fills it up.

use block::Buf;
use uring::{Done, FileId, Io, Job, Port};

/// Bytes that one receive may bring: the answers of some thirty 4 KiB reads.
pub(crate) const RECEIVE: u32 = 128 << 10;

pub(crate) struct Inbox {
    io: Io,
    /// Its window ends with what has come; away while the kernel fills it.
    buf: Option<Buf>,
    /// Unread bytes are `start..end`.
    start: u32,
    end: u32,
}

impl Inbox {
    /// With what came `early`, before there was an inbox; `None` when the slab has no room.
    pub(crate) fn new(io: &Io, early: &[u8]) -> Option<Inbox> {
        let mut buf = io.take(RECEIVE)?.window(0, early.len() as u32);
        io.with_mut(&mut buf, |bytes| bytes.copy_from_slice(early));
        Some(Inbox { io: io.clone(), buf: Some(buf), start: 0, end: early.len() as u32 })
    }

    /// Bytes that are here.
    pub(crate) fn len(&self) -> u32 {
        self.end - self.start
    }

    /// Shows the bytes that are here; none while the kernel has the buffer.
    pub(crate) fn show<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        match &self.buf {
            Some(buf) => self.io.with(buf, |bytes| look(&bytes[self.start as usize..self.end as usize])),
            None => look(&[]),
        }
    }

    /// The first `count` bytes were read.
    pub(crate) fn consume(&mut self, count: u32) {
        self.start += count;
    }

    /// Whether the kernel was not asked for more.
    pub(crate) fn is_idle(&self) -> bool {
        self.buf.is_some()
    }

    /// Asks the kernel for more, if it was not asked. What is unread must be less than [`RECEIVE`].
    pub(crate) fn receive(&mut self, port: &Port, token: u64, socket: FileId) {
        let Some(mut buf) = self.buf.take() else { return };
        let (start, end) = (self.start as usize, self.end as usize);
        if start == end {
            (self.start, self.end) = (0, 0);
        } else if start > 0 {
            self.io.with_mut(&mut buf, |bytes| bytes.copy_within(start..end, 0));
            (self.start, self.end) = (0, (end - start) as u32);
        }
        // A receive of nothing would look like the end of the stream.
        debug_assert!(self.end < RECEIVE);
        let free = buf.window(self.end, RECEIVE - self.end);
        match port.push(token, Job::Receive { socket, buf: free }) {
            Ok(()) => {}
            Err(Job::Receive { buf, .. }) => self.buf = Some(buf.window(0, self.end)),
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }

    /// A receive is done; how many bytes it brought, none at the end of the stream.
    pub(crate) fn take(&mut self, done: Done) -> u32 {
        let got = done.result.unwrap_or(0);
        self.end += got;
        self.buf = done.buf.map(|buf| buf.window(0, self.end));
        got
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.buf.take().into_iter().for_each(|buf| self.io.give(buf));
    }
}
