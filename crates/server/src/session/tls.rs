//! The TLS part of a session: received ciphertext is decrypted into the receive buffer, replies are
//! encrypted before they are sent. Nothing here blocks; the ring moves ciphertext as it moves
//! everything else.
//!
//! ```text
//!   ring ─► cipher ─► records ─► receive buffer ─► parse          message ─► records ─► sealed bytes ─► ring
//! ```

use super::inbox::Inbox;
use crate::access::Caller;
use crate::certificate;
use block::Buf;
use cipher::{CipherFault, Pulled, Records};
use uring::{Io, Message, Part};

/// Most plaintext that is encrypted for one send. It bounds the memory beyond the slab that a
/// connection takes, apart from TLS's overhead.
const SEAL_BYTES_MAX: usize = 64 << 10;

/// The TLS state of a connection.
pub(super) struct TlsLink {
    records: Records,
    /// Received ciphertext that is not decrypted yet.
    pub cipher: Inbox,
    /// The close notification was sent, or the stream is broken and none will be.
    parted: bool,
}

/// Progress of the encryption of a message.
#[derive(Default)]
pub(super) struct Sealing {
    pub message: Message,
    part: usize,
    /// Bytes of the current part that are encrypted.
    done: u32,
}

impl Sealing {
    pub(super) fn new(message: Message) -> Sealing {
        Sealing { message, part: 0, done: 0 }
    }
}

impl TlsLink {
    pub(super) fn new(records: Records, cipher: Buf) -> TlsLink {
        TlsLink { records, cipher: Inbox::new(cipher), parted: false }
    }

    /// Continues the handshake with what has arrived; true if it is over.
    pub(super) fn shake_hands(&mut self, io: &Io) -> Result<bool, CipherFault> {
        while self.records.is_handshaking() && self.feed(io)? {}
        Ok(!self.records.is_handshaking())
    }

    /// Records in `caller` that the connection is encrypted, and the identity that the client
    /// proved.
    pub(super) fn introduce(&self, caller: &mut Caller) {
        caller.encrypted = true;
        caller.names =
            self.records.certificate().map(|certificate| certificate::names(certificate)).unwrap_or_default();
        caller.key = self.records.key().map(str::to_owned);
    }

    /// The negotiated parameters, for the log.
    pub(super) fn words(&self) -> String {
        self.records.words()
    }

    /// Decrypts what has arrived, as far as it fits.
    pub(super) fn pull(&mut self, io: &Io, into: &mut [u8]) -> Result<Pulled, CipherFault> {
        loop {
            match self.records.read(into)? {
                Pulled::Nothing => {}
                pulled => return Ok(pulled),
            }
            if !self.feed(io)? {
                return Ok(Pulled::Nothing);
            }
        }
    }

    /// Feeds ciphertext to TLS; false if none has arrived.
    fn feed(&mut self, io: &Io) -> Result<bool, CipherFault> {
        let records = &mut self.records;
        let fed = self.cipher.unread(io, |bytes| {
            if bytes.is_empty() {
                return (0, Ok(0));
            }
            let fed = records.feed(bytes);
            (*fed.as_ref().unwrap_or(&0), fed)
        });
        Ok(fed.transpose()?.is_some_and(|fed| fed > 0))
    }

    /// Whether TLS has records of its own to send: handshake, alert or close notification.
    pub(super) fn wants_to_speak(&self) -> bool {
        self.records.has_some()
    }

    /// Encrypts more of the message after TLS's own records; true if all of it is done.
    pub(super) fn seal(&mut self, sealing: &mut Sealing, io: &Io, out: &mut Message) -> bool {
        let mut room = SEAL_BYTES_MAX;
        while room > 0 && sealing.part < sealing.message.parts.len() {
            let part = &sealing.message.parts[sealing.part];
            let from = sealing.done as usize;
            let to = part.len().min((from + room) as u32) as usize;
            match part {
                Part::Header { start, .. } => {
                    let start = *start as usize;
                    self.records.write(&sealing.message.headers[start + from..start + to]);
                }
                Part::Data(buf) => io.with(buf, |bytes| self.records.write(&bytes[from..to])),
            }
            room -= to - from;
            sealing.done = to as u32;
            if to as u32 == part.len() {
                (sealing.part, sealing.done) = (sealing.part + 1, 0);
            }
        }
        let start = out.headers.len() as u32;
        self.records.take(&mut out.headers);
        out.parts.push(Part::Header { start, len: out.headers.len() as u32 - start });
        sealing.part == sealing.message.parts.len()
    }

    /// Queues the close notification, once.
    pub(super) fn part(&mut self) {
        if !std::mem::replace(&mut self.parted, true) {
            self.records.part();
        }
    }

    /// Marks the stream as broken; only an alert with the reason is still sent.
    pub(super) fn give_up(&mut self) {
        self.parted = true;
    }

    /// Whether TLS has nothing more to send, and the end of the stream is settled.
    pub(super) fn is_over(&self) -> bool {
        self.parted && !self.records.has_some()
    }
}
