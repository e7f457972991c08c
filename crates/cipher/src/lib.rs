//! Either end of an encrypted connection, without sockets: records go in, clear text comes out, and
//! the other way round, by the library for certificates (`rustls`) or, with the feature `psk`, by
//! the one for keys. Files of secrets are read here, for both.

#[cfg(not(feature = "psk"))]
mod absent;
pub mod secret;
mod trust;

#[cfg(not(feature = "psk"))]
pub use absent::{FileError, Key, Keys, PskError, Pulled, Session};
#[cfg(feature = "psk")]
pub use psk::{FileError, Key, Keys, PskError, Pulled, Session};

pub use trust::{Trust, TrustError, certificates};

use rustls::Connection;
use rustls::pki_types::CertificateDer;
use std::io::{ErrorKind, Read as _, Write as _};

/// Clear text of a record, at most.
const RECORD: usize = 16 << 10;

/// An end of an encrypted connection.
#[derive(Debug)]
pub enum Records {
    /// The server has a certificate, and the client may have one.
    Certificates(Box<Connection>),
    /// Both know a key.
    Keys(Box<Session>),
}

/// Why an encrypted connection is given up.
#[derive(Debug, thiserror::Error)]
pub enum CipherFault {
    /// With certificates.
    #[error(transparent)]
    Certificates(#[from] rustls::Error),
    /// With keys.
    #[error(transparent)]
    Keys(#[from] PskError),
}

impl Records {
    /// Around a connection with certificates. How much clear text it takes at once is its user's to
    /// bound.
    pub fn of_certificates(connection: impl Into<Connection>) -> Records {
        let mut connection = connection.into();
        connection.set_buffer_limit(None);
        Records::Certificates(Box::new(connection))
    }

    /// Around a session with keys.
    pub fn of_keys(session: Session) -> Records {
        Records::Keys(Box::new(session))
    }

    /// Goes on with the handshake; true when it is over. Records may have to go out either way.
    ///
    /// # Errors
    /// The two ends do not come together.
    pub fn shake_hands(&mut self) -> Result<bool, CipherFault> {
        match self {
            Records::Certificates(connection) => Ok(!connection.is_handshaking()),
            Records::Keys(session) => Ok(session.shake_hands()?),
        }
    }

    /// Whether the handshake still goes on.
    pub fn is_handshaking(&self) -> bool {
        match self {
            Records::Certificates(connection) => connection.is_handshaking(),
            Records::Keys(session) => session.is_handshaking(),
        }
    }

    /// Takes some of `records`, at least one byte, and goes on with the handshake; returns how many
    /// it took. Their clear text is to be taken before the next ones.
    ///
    /// # Errors
    /// They are not from the other end of this connection, or damaged; an alert that says so may
    /// have to go out.
    pub fn feed(&mut self, mut records: &[u8]) -> Result<usize, CipherFault> {
        match self {
            Records::Certificates(connection) => {
                // Clear text is taken out before more goes in, so this is a record or message
                // longer than any may be.
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

    /// Clear text of what was fed, as much as there is and fits.
    ///
    /// # Errors
    /// What came is not from the other end of this connection, or damaged.
    pub fn read(&mut self, into: &mut [u8]) -> Result<Pulled, CipherFault> {
        match self {
            Records::Certificates(connection) => match connection.reader().read(into) {
                Ok(0) => Ok(Pulled::End),
                Ok(got) => Ok(Pulled::Bytes(got)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Pulled::Nothing),
                Err(_) => Ok(Pulled::End),
            },
            Records::Keys(session) => Ok(session.read(into)?),
        }
    }

    /// Moves all clear text that is here to the end of `clear`; true when nothing more will come,
    /// as the other end says.
    ///
    /// # Errors
    /// As [`Records::read`].
    pub fn take_clear(&mut self, clear: &mut Vec<u8>) -> Result<bool, CipherFault> {
        match self {
            Records::Certificates(connection) => {
                let state = connection.process_new_packets()?;
                let (had, fresh) = (clear.len(), state.plaintext_bytes_to_read());
                clear.resize(had + fresh, 0);
                let read = connection.reader().read_exact(&mut clear[had..]);
                read.map_err(|error| rustls::Error::General(error.to_string()))?;
                Ok(state.peer_has_closed())
            }
            Records::Keys(session) => loop {
                let had = clear.len();
                clear.resize(had + RECORD, 0);
                let pulled = session.read(&mut clear[had..]);
                clear.truncate(had + if let Ok(Pulled::Bytes(got)) = pulled { got } else { 0 });
                match pulled? {
                    Pulled::Bytes(_) => {}
                    Pulled::Nothing => return Ok(false),
                    Pulled::End => return Ok(true),
                }
            },
        }
    }

    /// Makes records of clear text.
    pub fn write(&mut self, clear: &[u8]) {
        // Memory takes all that it is given. What a broken session does not take nobody waits for:
        // reading says so.
        match self {
            Records::Certificates(connection) => drop(connection.writer().write_all(clear)),
            Records::Keys(session) => drop(session.write(clear)),
        }
    }

    /// Whether there are records to be sent: of clear text, of the handshake, an alert, a goodbye.
    pub fn has_some(&self) -> bool {
        match self {
            Records::Certificates(connection) => connection.wants_write(),
            Records::Keys(session) => session.has_records(),
        }
    }

    /// Moves them to the end of `out`.
    pub fn take(&mut self, out: &mut Vec<u8>) {
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
    pub fn part(&mut self) {
        match self {
            Records::Certificates(connection) => connection.send_close_notify(),
            Records::Keys(session) => session.part(),
        }
    }

    /// The certificate that the other end has shown.
    pub fn certificate(&self) -> Option<&CertificateDer<'static>> {
        match self {
            Records::Certificates(connection) => connection.peer_certificates().and_then(<[_]>::first),
            Records::Keys(_) => None,
        }
    }

    /// The name of the key that both ends have shown to know.
    pub fn key(&self) -> Option<&str> {
        match self {
            Records::Certificates(_) => None,
            Records::Keys(session) => Some(session.name()),
        }
    }

    /// What was agreed, for a log.
    pub fn words(&self) -> String {
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
