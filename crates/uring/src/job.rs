//! The requests that an [`crate::Io`] takes, and their completions.

use std::net::Shutdown;
use std::os::fd::OwnedFd;

use block::Buf;

use crate::slab::Slab;
use crate::{Failure, FileId};

/// One request. Its buffer or message is returned in its [`Done`].
///
/// Requests run concurrently and end in any order. So a connection should have at most one send and
/// one receive in flight: two sends may interleave their bytes, and two receives may end in the
/// wrong order. A sync does not cover a write that is in flight together with it.
#[derive(Debug)]
pub enum Job {
    /// Fills the buffer from byte `at` of the file. If the file ends early, it fails with
    /// [`Failure::UnexpectedEnd`].
    Read {
        /// The file.
        file: FileId,
        /// First byte in the file.
        at: u64,
        /// Where to put the bytes; its length is that of the request.
        buf: Buf,
    },
    /// As [`Job::Read`]; but if the bytes are in the page cache and
    /// [`IoSettings::views`](crate::IoSettings::views) allows it, they stay there and the buffer
    /// becomes a view of them ([`crate::Io::view`]). It can be sent or given back, but not looked
    /// at before [`crate::Io::fetch_buf`]. It shows what the file contains when it is sent or
    /// fetched, so the owner must make sure that the bytes are not overwritten before.
    View {
        /// The file.
        file: FileId,
        /// First byte in the file.
        at: u64,
        /// The buffer; its length is that of the request.
        buf: Buf,
    },
    /// Writes the whole buffer from byte `at` of the file.
    Write {
        /// The file.
        file: FileId,
        /// First byte in the file.
        at: u64,
        /// What to write; its length is that of the request.
        buf: Buf,
        /// Whether it is durable before it completes, as with `RWF_DSYNC`.
        durable: bool,
    },
    /// Makes everything that completed before it durable, as `fdatasync` does.
    Sync {
        /// The file.
        file: FileId,
    },
    /// Makes everything that completed before it durable, with all metadata, as `fsync` does.
    SyncAll {
        /// The file.
        file: FileId,
    },
    /// Releases the range's space; it reads as zeroes afterwards.
    Punch {
        /// The file.
        file: FileId,
        /// First byte.
        at: u64,
        /// Bytes.
        len: u64,
    },
    /// Makes the range read as zeroes.
    Zero {
        /// The file.
        file: FileId,
        /// First byte.
        at: u64,
        /// Bytes.
        len: u64,
        /// Whether the space stays allocated.
        keep: bool,
    },
    /// Accepts the next connection: [`Done::accepted`].
    Accept {
        /// A listening socket.
        listener: FileId,
    },
    /// Receives what the peer sent, at most the buffer's length. A result of 0 is the end of the
    /// stream.
    Receive {
        /// A connected stream socket.
        socket: FileId,
        /// Where to put the bytes.
        buf: Buf,
    },
    /// Discards up to `len` bytes that a TCP peer sent; the result is how many. Nothing is copied
    /// (`MSG_TRUNC`, tcp(7)).
    Discard {
        /// A connected TCP socket.
        socket: FileId,
        /// How many bytes, 1 or more.
        len: u32,
    },
    /// Sends the whole message.
    Send {
        /// A connected stream socket.
        socket: FileId,
        /// What to send.
        message: Message,
    },
    /// Shuts down one or both directions of a connection.
    Shutdown {
        /// A connected socket.
        socket: FileId,
        /// Which directions.
        side: Shutdown,
    },
    /// Waits until the file is readable, or the peer has gone. The result is the mask of `poll(2)`.
    PollIn {
        /// Any file that can be polled.
        file: FileId,
    },
}

impl Job {
    /// The file that it uses.
    pub fn file(&self) -> FileId {
        match self {
            Job::Read { file, .. }
            | Job::View { file, .. }
            | Job::Write { file, .. }
            | Job::Sync { file }
            | Job::SyncAll { file }
            | Job::Punch { file, .. }
            | Job::Zero { file, .. }
            | Job::PollIn { file } => *file,
            Job::Accept { listener } => *listener,
            Job::Discard { socket, .. }
            | Job::Receive { socket, .. }
            | Job::Send { socket, .. }
            | Job::Shutdown { socket, .. } => *socket,
        }
    }

    /// Whether it may wait for a peer forever, so that closing its file or port must cancel it.
    /// Disk requests end by themselves, and cancelling them would leave unknown what reached the
    /// disk.
    pub(crate) fn waits_for_a_peer(&self) -> bool {
        matches!(
            self,
            Job::Accept { .. } | Job::Receive { .. } | Job::Discard { .. } | Job::Send { .. } | Job::PollIn { .. }
        )
    }
}

/// A message in many parts, sent as one: small headers from `headers` between data from the slab,
/// without copying. Reuse it: both lists keep their memory when they are cleared.
#[derive(Debug, Default)]
pub struct Message {
    /// The bytes that [`Part::Header`] refers to.
    pub headers: Vec<u8>,
    /// What to send, in order.
    pub parts: Vec<Part>,
}

/// A contiguous part of a message.
#[derive(Debug)]
pub enum Part {
    /// Bytes `start..start + len` of [`Message::headers`].
    Header {
        /// First byte within the headers.
        start: u32,
        /// Bytes.
        len: u32,
    },
    /// A buffer's bytes.
    Data(Buf),
}

impl Part {
    /// Bytes.
    pub fn len(&self) -> u32 {
        match self {
            Part::Header { len, .. } => *len,
            Part::Data(buf) => buf.len(),
        }
    }

    /// Whether it holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Message {
    /// Bytes in all parts together.
    pub fn len(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.len())).sum()
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends header bytes, either as a new part or to the last part if that has the end of the
    /// headers.
    ///
    /// # Panics
    /// If the headers of one message would exceed 4 GiB.
    pub fn header(&mut self, bytes: &[u8]) {
        let start = u32::try_from(self.headers.len()).expect("headers of one message stay below 4 GiB");
        let added = u32::try_from(bytes.len()).expect("headers of one message stay below 4 GiB");
        self.headers.extend_from_slice(bytes);
        match self.parts.last_mut() {
            Some(Part::Header { start: first, len }) if *first + *len == start => *len += added,
            _ => self.parts.push(Part::Header { start, len: added }),
        }
    }

    /// Appends a buffer's bytes.
    pub fn data(&mut self, buf: Buf) {
        self.parts.push(Part::Data(buf));
    }

    /// Takes the buffers out one by one, and leaves the message empty with its memory kept.
    pub fn unload(&mut self) -> impl Iterator<Item = Buf> + '_ {
        self.headers.clear();
        self.parts.drain(..).filter_map(|part| match part {
            Part::Data(buf) => Some(buf),
            Part::Header { .. } => None,
        })
    }
}

/// The completion of a [`Job`]. Exactly one comes for every job that was taken.
#[derive(Debug)]
pub struct Done {
    /// The token that the job was pushed with.
    pub token: u64,
    /// Bytes moved (reads, writes, receives, sends), the poll mask, or 0.
    pub result: Result<u32, Failure>,
    /// Bytes that were moved before a read or write failed; they are valid.
    pub moved: u32,
    /// The job's buffer.
    pub buf: Option<Buf>,
    /// The job's message, complete. Its receiver must give the buffers back to the slab.
    pub message: Option<Message>,
    /// The new connection of [`Job::Accept`].
    pub accepted: Option<OwnedFd>,
}

impl Done {
    /// Gives its buffers back to the slab, if nobody wants them.
    pub(crate) fn give_back(mut self, slab: &Slab) {
        self.buf.iter().for_each(|buf| slab.give(buf));
        self.message.iter_mut().flat_map(Message::unload).for_each(|buf| slab.give(&buf));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjoining_headers_become_one_part() {
        let mut message = Message::default();
        message.header(b"one");
        message.header(b"two");
        message.data(Buf::nothing(10));
        message.header(b"three");
        assert_eq!(message.parts.len(), 3);
        assert_eq!(message.len(), 6 + 10 + 5);
        assert_eq!(message.unload().count(), 1);
        assert!(message.is_empty());
    }
}
