//! What goes out of a session: replies gather in one message while the one before it is at the kernel.

use super::{Around, Direction, token};
use block::{Buf, Time};
use uring::{FileId, Io, Job, Message};

/// What requests take of the limits until their replies are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub requests: u32,
    /// What they claim of the shard's memory.
    pub bytes: u64,
}

/// The replies of a session.
#[derive(Default)]
pub(super) struct Sender {
    next: Message,
    /// What ends when `next` is sent.
    next_load: Load,
    /// The other message, when it is not at the kernel.
    spare: Option<Message>,
    at_kernel: Option<AtKernel>,
}

struct AtKernel {
    since: Time,
    bytes: u64,
    load: Load,
}

impl Sender {
    /// Adds bytes that are no request's.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        self.next.header(bytes);
    }

    /// Adds a reply; when it is sent, one request less is unanswered and `claim` bytes are free.
    pub(super) fn reply(&mut self, head: &[u8], data: Option<Buf>, claim: u64) {
        self.next.header(head);
        data.into_iter().for_each(|buf| self.next.data(buf));
        self.next_load.requests += 1;
        self.next_load.bytes += claim;
    }

    /// Hands what has gathered to the kernel, if nothing is there; false when the ring is full.
    pub(super) fn send(&mut self, index: u32, socket: FileId, around: &mut Around<'_>) -> bool {
        if self.is_busy() || self.next.is_empty() {
            return true;
        }
        let message = std::mem::replace(&mut self.next, self.spare.take().unwrap_or_default());
        let bytes = message.len();
        match around.port.push(token(index, Direction::Send), Job::Send { socket, message }) {
            Ok(()) => {
                let load = std::mem::take(&mut self.next_load);
                self.at_kernel = Some(AtKernel { since: around.now, bytes, load });
                true
            }
            Err(Job::Send { message, .. }) => {
                self.spare = Some(std::mem::replace(&mut self.next, message));
                false
            }
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }

    /// Takes the end of a send, well or not; returns what has ended with it.
    pub(super) fn sent(&mut self, message: Option<Message>, io: &Io) -> Load {
        if let Some(mut message) = message {
            message.unload().for_each(|buf| io.give(buf));
            self.spare = Some(message);
        }
        self.at_kernel.take().map(|sent| sent.load).unwrap_or_default()
    }

    /// Drops what has gathered; returns what has ended with it.
    pub(super) fn clear(&mut self, io: &Io) -> Load {
        self.next.unload().for_each(|buf| io.give(buf));
        std::mem::take(&mut self.next_load)
    }

    /// A message is at the kernel.
    pub(super) fn is_busy(&self) -> bool {
        self.at_kernel.is_some()
    }

    /// Nothing has gathered.
    pub(super) fn is_empty(&self) -> bool {
        self.next.is_empty()
    }

    /// Since when a message is at the kernel, and its length in bytes.
    pub(super) fn at_kernel(&self) -> Option<(Time, u64)> {
        self.at_kernel.as_ref().map(|sent| (sent.since, sent.bytes))
    }
}
