//! The TLS part of a session: what the ring brought is decrypted into the receive buffer, replies are encrypted on their
//! way out. Nothing here waits; the ring moves the ciphertext as it moves everything else.
//!
//! ```text
//!   ring ─► cipher ─► rustls ─► receive buffer ─► parse          message ─► rustls ─► sealed bytes ─► ring
//! ```

use super::inbox::Inbox;
use block::Buf;
use rustls::ServerConnection;
use std::io::{ErrorKind, Read, Write};
use uring::{Io, Message, Part};

/// Plaintext that is encrypted for one send at most: so much memory beside the slab's may a connection take, and a bit
/// more for what TLS adds.
const SEAL_BYTES_MAX: usize = 64 << 10;

/// A connection's TLS.
pub(super) struct TlsLink {
    connection: ServerConnection,
    /// Ciphertext that came and was not looked at yet.
    pub cipher: Inbox,
    /// The goodbye is said, or there is nobody to say it to.
    parted: bool,
}

/// What pulling plaintext came to.
#[derive(Debug)]
pub(super) enum Pulled {
    /// So many bytes.
    Bytes(u32),
    /// More ciphertext is needed.
    Nothing,
    /// The client said goodbye.
    End,
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
    pub(super) fn new(mut connection: ServerConnection, cipher: Buf) -> TlsLink {
        // What may be encrypted at once is bounded by `SEAL_BYTES_MAX`.
        connection.set_buffer_limit(None);
        TlsLink { connection, cipher: Inbox::new(cipher), parted: false }
    }

    /// Works on the handshake with what is here; true when it is over.
    pub(super) fn shake_hands(&mut self, io: &Io) -> Result<bool, rustls::Error> {
        while self.connection.is_handshaking() && self.feed(io)? {}
        Ok(!self.connection.is_handshaking())
    }

    /// The certificate that the client proved to have, in DER.
    pub(super) fn client_certificate(&self) -> Option<&[u8]> {
        self.connection.peer_certificates()?.first().map(AsRef::as_ref)
    }

    /// What was agreed, for the log.
    pub(super) fn words(&self) -> String {
        let version = self.connection.protocol_version().and_then(|version| version.as_str().map(str::to_owned));
        let suite = self.connection.negotiated_cipher_suite();
        let suite = suite.and_then(|suite| suite.suite().as_str().map(str::to_owned));
        [version, suite].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Decrypts as much as fits and is here.
    pub(super) fn pull(&mut self, io: &Io, into: &mut [u8]) -> Result<Pulled, rustls::Error> {
        loop {
            match self.connection.reader().read(into) {
                Ok(0) => return Ok(Pulled::End),
                Ok(got) => return Ok(Pulled::Bytes(got as u32)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return Ok(Pulled::End),
            }
            if !self.feed(io)? {
                return Ok(Pulled::Nothing);
            }
        }
    }

    /// Hands some ciphertext on; false when none is here.
    fn feed(&mut self, io: &Io) -> Result<bool, rustls::Error> {
        let connection = &mut self.connection;
        let read = self.cipher.unread(io, |mut bytes| {
            if bytes.is_empty() {
                return (0, Ok(0));
            }
            let read = connection.read_tls(&mut bytes);
            (*read.as_ref().unwrap_or(&0), read)
        });
        match read {
            None | Some(Ok(0)) => return Ok(false),
            Some(Ok(_)) => {}
            // Plaintext is taken out before more goes in, so this is a record or message longer than any may be.
            Some(Err(error)) => return Err(rustls::Error::General(error.to_string())),
        }
        connection.process_new_packets().map(|_| true)
    }

    /// Whether there is something to send beside replies: the handshake, an alert, a goodbye.
    pub(super) fn wants_to_speak(&self) -> bool {
        self.connection.wants_write()
    }

    /// Encrypts more of the message behind what TLS itself has to say; true when all of it is done.
    pub(super) fn seal(&mut self, sealing: &mut Sealing, io: &Io, out: &mut Message) -> bool {
        let mut room = SEAL_BYTES_MAX;
        while room > 0 && sealing.part < sealing.message.parts.len() {
            let part = &sealing.message.parts[sealing.part];
            let from = sealing.done as usize;
            let to = part.len().min((from + room) as u32) as usize;
            let mut writer = self.connection.writer();
            // Memory takes all that it is given: there is no limit to the connection's buffer.
            let _ = match part {
                Part::Header { start, .. } => {
                    let start = *start as usize;
                    writer.write_all(&sealing.message.headers[start + from..start + to])
                }
                Part::Data(buf) => io.with(buf, |bytes| writer.write_all(&bytes[from..to])),
            };
            room -= to - from;
            sealing.done = to as u32;
            if to as u32 == part.len() {
                (sealing.part, sealing.done) = (sealing.part + 1, 0);
            }
        }
        let start = out.headers.len() as u32;
        while self.connection.wants_write() {
            // A vector takes everything.
            let _ = self.connection.write_tls(&mut out.headers);
        }
        out.parts.push(Part::Header { start, len: out.headers.len() as u32 - start });
        sealing.part == sealing.message.parts.len()
    }

    /// Says goodbye, once.
    pub(super) fn part(&mut self) {
        if !std::mem::replace(&mut self.parted, true) {
            self.connection.send_close_notify();
        }
    }

    /// The stream is broken; an alert that says why is all that still goes out.
    pub(super) fn give_up(&mut self) {
        self.parted = true;
    }

    /// Whether all was said.
    pub(super) fn is_over(&self) -> bool {
        self.parted && !self.connection.wants_write()
    }
}
