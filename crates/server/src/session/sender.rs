//! The sending side of a session: replies are gathered in one message while the previous message is
//! in flight.

use super::tls::{Sealing, TlsLink};
use super::{Direction, ShardParts, token};
use crate::replies::Written;
use block::{Buf, Time};
use uring::{FileId, Io, Job, Message};

/// What requests take of the limits until their replies are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub requests: u32,
    /// What they claim of the shard's memory now, in bytes.
    pub bytes: u64,
    /// What they claimed when they were admitted, in bytes.
    pub asked: u64,
    /// When the replies were written. Unused in the total of a session.
    pub written: Written,
}

/// Gathers and sends the messages of a session.
#[derive(Default)]
pub(super) struct Sender {
    next: Message,
    /// What is released when `next` is sent.
    next_load: Load,
    /// A message that is being encrypted, a part for each send, and what is released after the last
    /// part.
    sealing: Option<(Sealing, Load)>,
    /// A message that the ring had no room for; it is sent first.
    refused: Option<(Message, Load)>,
    /// An empty message, kept to reuse its memory.
    spare: Option<Message>,
    at_kernel: Option<AtKernel>,
}

struct AtKernel {
    since: Time,
    bytes: u64,
    load: Load,
}

/// A message whose headers take more memory than this, in bytes, is not kept for reuse.
const SPARE_BYTES_MAX: usize = 16 << 10;

impl Sender {
    /// Adds bytes that belong to no request.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        self.next.header(bytes);
    }

    /// Adds the reply to a request that claimed `asked` bytes. When it is sent, one request and
    /// `claim` bytes are released.
    pub(super) fn reply(&mut self, now: Time, head: &[u8], data: Option<Buf>, claim: u64, asked: u64) {
        self.next.header(head);
        data.into_iter().for_each(|buf| self.next.data(buf));
        self.next_load.requests += 1;
        self.next_load.bytes += claim;
        self.next_load.asked += asked;
        self.next_load.written.add(now);
    }

    /// Hands the gathered message to the kernel unless one is in flight; false if the ring is full.
    pub(super) fn send(
        &mut self,
        index: u32,
        socket: FileId,
        tls: Option<&mut TlsLink>,
        shard: &mut ShardParts<'_>,
    ) -> bool {
        if self.is_busy() {
            return true;
        }
        let ready = self.refused.take().or_else(|| match tls {
            None => self.take_next(),
            Some(tls) => self.seal(tls, shard.io),
        });
        let Some((message, load)) = ready else { return true };
        let bytes = message.len();
        match shard.port.push(token(index, Direction::Send), Job::Send { socket, message }) {
            Ok(()) => {
                self.at_kernel = Some(AtKernel { since: shard.now, bytes, load });
                true
            }
            Err(Job::Send { message, .. }) => {
                self.refused = Some((message, load));
                false
            }
            Err(_) => unreachable!("the job that was pushed comes back"),
        }
    }

    fn take_next(&mut self) -> Option<(Message, Load)> {
        if self.next.is_empty() {
            return None;
        }
        let message = std::mem::replace(&mut self.next, self.spare.take().unwrap_or_default());
        Some((message, std::mem::take(&mut self.next_load)))
    }

    /// Encrypts as much as one send takes of the gathered replies and of TLS's own records.
    fn seal(&mut self, tls: &mut TlsLink, io: &Io) -> Option<(Message, Load)> {
        let begun = self.sealing.take();
        let begun = begun.or_else(|| self.take_next().map(|(message, load)| (Sealing::new(message), load)));
        if begun.is_none() && !tls.wants_to_speak() {
            return None;
        }
        let (mut sealing, load) = begun.unwrap_or_default();
        let mut sealed = self.spare.take().unwrap_or_default();
        let done = tls.seal(&mut sealing, io, &mut sealed);
        if !done {
            self.sealing = Some((sealing, load));
            return Some((sealed, Load::default()));
        }
        // The buffers are not needed once encrypted. Their claim is released only when the bytes
        // are sent.
        sealing.message.unload().for_each(|buf| io.give(buf));
        self.keep(sealing.message);
        Some((sealed, load))
    }

    /// Handles the completion of a send, successful or not; returns what is released with it.
    pub(super) fn sent(&mut self, message: Option<Message>, io: &Io) -> Load {
        if let Some(mut message) = message {
            message.unload().for_each(|buf| io.give(buf));
            self.keep(message);
        }
        self.at_kernel.take().map(|sent| sent.load).unwrap_or_default()
    }

    /// Keeps an empty message to reuse its memory, unless it is too large.
    fn keep(&mut self, message: Message) {
        if message.headers.capacity() <= SPARE_BYTES_MAX {
            self.spare = Some(message);
        }
    }

    /// Drops all unsent messages; returns what is released with them.
    pub(super) fn clear(&mut self, io: &Io) -> Load {
        let mut ended = std::mem::take(&mut self.next_load);
        self.next.unload().for_each(|buf| io.give(buf));
        let sealing = self.sealing.take().map(|(sealing, load)| (sealing.message, load));
        for (mut message, load) in sealing.into_iter().chain(self.refused.take()) {
            message.unload().for_each(|buf| io.give(buf));
            ended.requests += load.requests;
            ended.bytes += load.bytes;
            ended.asked += load.asked;
        }
        ended
    }

    /// Whether a message is in flight.
    pub(super) fn is_busy(&self) -> bool {
        self.at_kernel.is_some()
    }

    /// Whether nothing waits to be sent.
    pub(super) fn is_empty(&self) -> bool {
        self.next.is_empty() && self.sealing.is_none() && self.refused.is_none()
    }

    /// Bytes claimed by the message in flight, if that was handed to the kernel at `at`.
    pub(super) fn handed_over(&self, at: Time) -> Option<u64> {
        self.at_kernel.as_ref().filter(|sent| sent.since == at).map(|sent| sent.load.bytes)
    }

    /// When the message in flight was handed to the kernel, and its length in bytes.
    pub(super) fn at_kernel(&self) -> Option<(Time, u64)> {
        self.at_kernel.as_ref().map(|sent| (sent.since, sent.bytes))
    }
}
