//! What can be asked of an [`crate::Io`], and how it comes back.

use std::net::Shutdown;
use std::os::fd::OwnedFd;

use block::Buf;

use crate::slab::Slab;
use crate::{Failure, FileId};

/// One request. Whatever it holds (buffer, message) comes back in its [`Done`].
///
/// Requests run side by side and end in any order. So a connection should have one send and one
/// receive in flight at a time: two sends may mix their bytes, and two receives may end in the
/// wrong order. A write and a sync in flight together say nothing about each other.
#[derive(Debug)]
pub enum Job {
    /// Fills the buffer from byte `at` of the file. A file that ends early is
    /// [`Failure::UnexpectedEnd`].
    Read {
        /// The file.
        file: FileId,
        /// First byte in the file.
        at: u64,
        /// Where to; its length is the request's.
        buf: Buf,
    },
    /// As [`Job::Read`]; but if the bytes lie in the page cache and
    /// [`IoSettings::views`](crate::IoSettings::views) allows it, they stay there, and the buffer
    /// stands for them ([`crate::Io::view`]): it can be sent or given back, and not looked at
    /// before [`crate::Io::fetch_buf`]. It shows what the file has when it is sent or fetched, so
    /// who pushes this sees to it that the bytes are still the right ones then.
    View {
        /// The file.
        file: FileId,
        /// First byte in the file.
        at: u64,
        /// What is to stand for the bytes; its length is the request's.
        buf: Buf,
    },
    /// Writes the whole buffer from byte `at` of the file.
    Write {
        /// The file.
        file: FileId,
        /// First byte in the file.
        at: u64,
        /// Where from; its length is the request's.
        buf: Buf,
        /// Durable before it completes, as `RWF_DSYNC` has it.
        durable: bool,
    },
    /// Makes everything completed before durable, as `fdatasync` has it.
    Sync {
        /// The file.
        file: FileId,
    },
    /// Makes everything completed before durable with all that describes the file, as `fsync` has
    /// it.
    SyncAll {
        /// The file.
        file: FileId,
    },
    /// Gives the range's space back; it reads as zeroes afterwards.
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
        /// The space stays allocated.
        keep: bool,
    },
    /// Takes the next connection: [`Done::accepted`].
    Accept {
        /// A listening socket.
        listener: FileId,
    },
    /// Takes what the peer sent, at most the buffer's length; a result of 0 is the end of the
    /// stream.
    Receive {
        /// A connected stream socket.
        socket: FileId,
        /// Where to.
        buf: Buf,
    },
    /// Takes bytes that a TCP peer sent off the stream without looking at them, at most so many;
    /// the result is how many. Nothing is copied (`MSG_TRUNC`, tcp(7)).
    Discard {
        /// A connected TCP socket.
        socket: FileId,
        /// How many, 1 or more.
        len: u32,
    },
    /// Sends the whole message.
    Send {
        /// A connected stream socket.
        socket: FileId,
        /// What.
        message: Message,
    },
    /// Ends one or both directions of a connection.
    Shutdown {
        /// A connected socket.
        socket: FileId,
        /// Which directions.
        side: Shutdown,
    },
    /// Waits until there is something to read (or the peer is gone); the result is the mask of
    /// `poll(2)`.
    PollIn {
        /// Any file that can be polled.
        file: FileId,
    },
}

impl Job {
    /// The file that it is about.
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

    /// Whether it may wait for a peer without end, so that closing its file or port must cancel
    /// it. Disk requests end by themselves, and ending them early would leave unknown what reached
    /// the disk.
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
    /// The bytes that [`Part::Header`] names.
    pub headers: Vec<u8>,
    /// What to send, in this order.
    pub parts: Vec<Part>,
}

/// A run of a message's bytes.
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

    /// Appends header bytes as a part of their own, or to the last part when that is the end of
    /// the headers already.
    ///
    /// # Panics
    /// When the headers of one message would pass 4 GiB.
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

    /// Takes the buffers out, one after the other, and leaves the message empty with its memory
    /// kept.
    pub fn unload(&mut self) -> impl Iterator<Item = Buf> + '_ {
        self.headers.clear();
        self.parts.drain(..).filter_map(|part| match part {
            Part::Data(buf) => Some(buf),
            Part::Header { .. } => None,
        })
    }
}

/// The end of a [`Job`]. Exactly one comes for every job that was taken.
#[derive(Debug)]
pub struct Done {
    /// As it was pushed.
    pub token: u64,
    /// Bytes moved (reads, writes, receives, sends), the poll mask, or 0.
    pub result: Result<u32, Failure>,
    /// Bytes moved before a read or write failed: so much of it is as it should be.
    pub moved: u32,
    /// The job's buffer.
    pub buf: Option<Buf>,
    /// The job's message, whole; its receiver owes the buffers to the slab.
    pub message: Option<Message>,
    /// The new connection of [`Job::Accept`].
    pub accepted: Option<OwnedFd>,
}

impl Done {
    /// Gives its buffers back, where nobody wants them.
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
