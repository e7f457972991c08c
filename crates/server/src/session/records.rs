//! The two libraries that make records of clear text and clear text of records: one for certificates, one for keys.

use crate::access::Caller;
use crate::certificate;
use psk::PskError;
use rustls::ServerConnection;
use std::io::{ErrorKind, Read, Write};

/// A server's end of an encrypted connection.
#[derive(Debug)]
pub(crate) enum Records {
    /// The server has a certificate, and so may the client.
    Certificates(Box<ServerConnection>),
    /// Both know a key.
    Keys(Box<psk::Session>),
}

/// What pulling clear text came to.
#[derive(Debug)]
pub(super) enum Pulled {
    /// So many bytes.
    Bytes(u32),
    /// More records are needed.
    Nothing,
    /// The client said goodbye.
    End,
}

/// Why an encrypted connection is given up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Certificates(#[from] rustls::Error),
    #[error(transparent)]
    Keys(#[from] PskError),
}

impl Records {
    pub(super) fn is_handshaking(&self) -> bool {
        match self {
            Records::Certificates(connection) => connection.is_handshaking(),
            Records::Keys(session) => session.is_handshaking(),
        }
    }

    /// Takes some of `records`, at least one byte, and goes on with the handshake; returns how many it took.
    pub(super) fn feed(&mut self, mut records: &[u8]) -> Result<usize, Fault> {
        match self {
            Records::Certificates(connection) => {
                // Clear text is taken out before more goes in, so this is a record or message longer than any may be.
                let read = connection.read_tls(&mut records);
                let read = read.map_err(|error| rustls::Error::General(error.to_string()))?;
                connection.process_new_packets()?;
                Ok(read)
            }
            Records::Keys(session) => {
                session.feed(records);
                session.shake_hands()?;
                Ok(records.len())
            }
        }
    }

    /// Clear text of what was fed.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<Pulled, Fault> {
        match self {
            Records::Certificates(connection) => match connection.reader().read(into) {
                Ok(0) => Ok(Pulled::End),
                Ok(got) => Ok(Pulled::Bytes(got as u32)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Pulled::Nothing),
                Err(_) => Ok(Pulled::End),
            },
            Records::Keys(session) => Ok(match session.read(into)? {
                psk::Pulled::Bytes(got) => Pulled::Bytes(got as u32),
                psk::Pulled::Nothing => Pulled::Nothing,
                psk::Pulled::End => Pulled::End,
            }),
        }
    }

    /// Makes records of clear text.
    pub(super) fn write(&mut self, clear: &[u8]) {
        // Memory takes all that it is given. What a broken session does not take nobody waits for: reading says so.
        match self {
            Records::Certificates(connection) => drop(connection.writer().write_all(clear)),
            Records::Keys(session) => drop(session.write(clear)),
        }
    }

    /// Whether there are records to be sent: of clear text, of the handshake, an alert, a goodbye.
    pub(super) fn has_some(&self) -> bool {
        match self {
            Records::Certificates(connection) => connection.wants_write(),
            Records::Keys(session) => session.has_records(),
        }
    }

    /// Moves them to the end of `out`.
    pub(super) fn take(&mut self, out: &mut Vec<u8>) {
        match self {
            Records::Certificates(connection) => {
                while connection.wants_write() {
                    // A vector takes everything.
                    let _ = connection.write_tls(out);
                }
            }
            Records::Keys(session) => session.take_records(out),
        }
    }

    /// Says goodbye.
    pub(super) fn part(&mut self) {
        match self {
            Records::Certificates(connection) => connection.send_close_notify(),
            Records::Keys(session) => session.part(),
        }
    }

    /// What the client has proved to be, and that nobody else hears it.
    pub(super) fn introduce(&self, caller: &mut Caller) {
        caller.encrypted = true;
        match self {
            Records::Certificates(connection) => {
                let certificate = connection.peer_certificates().and_then(<[_]>::first);
                caller.names = certificate.map(|certificate| certificate::names(certificate)).unwrap_or_default();
            }
            Records::Keys(session) => caller.key = Some(session.name().to_owned()),
        }
    }

    /// What was agreed, for the log.
    pub(super) fn words(&self) -> String {
        match self {
            Records::Certificates(connection) => {
                let version = connection.protocol_version().and_then(|version| version.as_str().map(str::to_owned));
                let suite = connection.negotiated_cipher_suite();
                let suite = suite.and_then(|suite| suite.suite().as_str().map(str::to_owned));
                [version, suite].into_iter().flatten().collect::<Vec<_>>().join(" ")
            }
            Records::Keys(session) => session.words(),
        }
    }
}
