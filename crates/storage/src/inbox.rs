//! The receive buffer of a connection: the unread bytes, and at most one receive in flight that
//! adds to them.

use block::Buf;
use uring::{Done, Failure, FileId, Io, Job, Port};

/// Bytes that one receive may return: the replies of some thirty 4 KiB reads.
pub(crate) const RECEIVE: u32 = 128 << 10;

pub(crate) struct Inbox {
    io: Io,
    /// Its window ends with the received bytes. `None` while the kernel fills it.
    buf: Option<Buf>,
    /// The unread bytes are `start..end`.
    start: u32,
    end: u32,
}

impl Inbox {
    /// Starts with the bytes in `early`, which came before there was an inbox. `None` if the slab
    /// has no room.
    pub(crate) fn new(io: &Io, early: &[u8]) -> Option<Inbox> {
        let mut buf = io.take(RECEIVE)?.window(0, early.len() as u32);
        io.with_mut(&mut buf, |bytes| bytes.copy_from_slice(early));
        Some(Inbox { io: io.clone(), buf: Some(buf), start: 0, end: early.len() as u32 })
    }

    /// Number of unread bytes.
    pub(crate) fn len(&self) -> u32 {
        self.end - self.start
    }

    /// Calls `look` with the unread bytes; with none while the kernel has the buffer.
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

    /// Whether no receive is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.buf.is_some()
    }

    /// Starts a receive, unless one is in flight. The unread bytes must be fewer than [`RECEIVE`].
    pub(crate) fn receive(&mut self, port: &Port, token: u64, socket: FileId) {
        let Some(mut buf) = self.buf.take() else { return };
        let (start, end) = (self.start as usize, self.end as usize);
        if start == end {
            (self.start, self.end) = (0, 0);
        } else if start > 0 {
            self.io.with_mut(&mut buf, |bytes| bytes.copy_within(start..end, 0));
            (self.start, self.end) = (0, (end - start) as u32);
        }
        // A receive of no bytes would look like the end of the stream.
        debug_assert!(self.end < RECEIVE);
        let free = buf.window(self.end, RECEIVE - self.end);
        match port.push(token, Job::Receive { socket, buf: free }) {
            Ok(()) => {}
            Err(Job::Receive { buf, .. }) => self.buf = Some(buf.window(0, self.end)),
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }

    /// A receive has ended.
    ///
    /// # Errors
    /// Why there is no more to receive.
    pub(crate) fn take(&mut self, done: Done) -> Result<(), String> {
        self.end += done.result.unwrap_or(0);
        self.buf = done.buf.map(|buf| buf.window(0, self.end));
        received(done.result).map(|_| ())
    }
}

/// How many bytes a receive brought.
///
/// # Errors
/// Why there is no more to receive.
pub(crate) fn received(result: Result<u32, Failure>) -> Result<u32, String> {
    match result.map_err(failed)? {
        0 => Err("the server closed the connection".into()),
        got => Ok(got),
    }
}

/// Why a connection is lost on which a send or a receive failed.
pub(crate) fn failed(failure: Failure) -> String {
    format!("the connection failed: {failure}")
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.buf.take().into_iter().for_each(|buf| self.io.give(buf));
    }
}
