//! The TLS part of a session: what the ring brought is decrypted into the receive buffer, replies
//! are encrypted on their way out. Nothing here waits; the ring moves the ciphertext as it moves
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

/// Plaintext that is encrypted for one send at most: so much memory beside the slab's may a
/// connection take, and a bit more for what TLS adds.
const SEAL_BYTES_MAX: usize = 64 << 10;

/// A connection's TLS.
pub(super) struct TlsLink {
    records: Records,
    /// Ciphertext that came and was not looked at yet.
    pub cipher: Inbox,
    /// The goodbye is said, or there is nobody to say it to.
    parted: bool,
}

/// How far a message is encrypted.
#[derive(Default)]
pub(super) struct Sealing {
    pub message: Message,
    part: usize,
    /// Bytes of that part that are done.
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

    /// Works on the handshake with what is here; true when it is over.
    pub(super) fn shake_hands(&mut self, io: &Io) -> Result<bool, CipherFault> {
        while self.records.is_handshaking() && self.feed(io)? {}
        Ok(!self.records.is_handshaking())
    }

    /// What the client has proved to be, and that nobody else hears it.
    pub(super) fn introduce(&self, caller: &mut Caller) {
        caller.encrypted = true;
        caller.names =
            self.records.certificate().map(|certificate| certificate::names(certificate)).unwrap_or_default();
        caller.key = self.records.key().map(str::to_owned);
    }

    /// What was agreed, for the log.
    pub(super) fn words(&self) -> String {
        self.records.words()
    }

    /// Decrypts as much as fits and is here.
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

    /// Hands some ciphertext on; false when none is here.
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

    /// Whether there is something to send beside replies: the handshake, an alert, a goodbye.
    pub(super) fn wants_to_speak(&self) -> bool {
        self.records.has_some()
    }

    /// Encrypts more of the message behind what TLS itself has to say; true when all of it is done.
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

    /// Says goodbye, once.
    pub(super) fn part(&mut self) {
        if !std::mem::replace(&mut self.parted, true) {
            self.records.part();
        }
    }

    /// The stream is broken; an alert that says why is all that still goes out.
    pub(super) fn give_up(&mut self) {
        self.parted = true;
    }

    /// Whether all was said.
    pub(super) fn is_over(&self) -> bool {
        self.parted && !self.records.has_some()
    }
}
