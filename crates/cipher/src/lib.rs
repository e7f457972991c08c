//! Either end of an encrypted connection, without sockets: records go in and clear text comes out,
//! and vice versa. It uses `rustls` for certificates or, with the feature `psk`, the crate of that
//! name for pre-shared keys. Files with secrets are read here for both.

#[cfg(not(feature = "psk"))]
mod absent;
pub mod secret;
mod trust;

#[cfg(not(feature = "psk"))]
pub use absent::{FileError, Key, Keys, PskError, Pulled, Session};
#[cfg(feature = "psk")]
pub use psk::{FileError, Key, Keys, PskError, Pulled, Session};

pub use trust::{Trust, TrustError, certificates, error_text};

use rustls::Connection;
use rustls::pki_types::CertificateDer;
use std::io::{ErrorKind, Read as _, Write as _};

/// Most clear text in a record, in bytes.
const RECORD: usize = 16 << 10;

/// One end of an encrypted connection.
#[derive(Debug)]
pub enum Records {
    /// With certificates: the server has one, and the client may have one.
    Certificates(Box<Connection>),
    /// With a key that both ends know.
    Keys(Box<Session>),
}

/// Why an encrypted connection failed.
#[derive(Debug, thiserror::Error)]
pub enum CipherFault {
    /// With certificates.
    #[error("{}", error_text(.0))]
    Certificates(rustls::Error),
    /// With keys.
    #[error(transparent)]
    Keys(#[from] PskError),
}

impl From<rustls::Error> for CipherFault {
    fn from(error: rustls::Error) -> CipherFault {
        CipherFault::Certificates(error)
    }
}

impl Records {
    /// Wraps a connection with certificates. The caller has to bound the clear text that it writes
    /// at once.
    pub fn of_certificates(connection: impl Into<Connection>) -> Records {
        let mut connection = connection.into();
        connection.set_buffer_limit(None);
        Records::Certificates(Box::new(connection))
    }

    /// Wraps a session with a pre-shared key.
    pub fn of_keys(session: Session) -> Records {
        Records::Keys(Box::new(session))
    }

    /// Continues the handshake; true if it is over. Records may have to be sent either way.
    ///
    /// # Errors
    /// The handshake failed.
    pub fn shake_hands(&mut self) -> Result<bool, CipherFault> {
        match self {
            Records::Certificates(connection) => Ok(!connection.is_handshaking()),
            Records::Keys(session) => Ok(session.shake_hands()?),
        }
    }

    /// Whether the handshake is in progress.
    pub fn is_handshaking(&self) -> bool {
        match self {
            Records::Certificates(connection) => connection.is_handshaking(),
            Records::Keys(session) => session.is_handshaking(),
        }
    }

    /// Consumes some of `records`, at least one byte, and continues the handshake; returns how many
    /// bytes it consumed. Their clear text has to be read before more is fed.
    ///
    /// # Errors
    /// They are damaged, or not from the other end of this connection; an alert may have to be
    /// sent.
    pub fn feed(&mut self, mut records: &[u8]) -> Result<usize, CipherFault> {
        match self {
            Records::Certificates(connection) => {
                // Clear text is read before more is fed, so only a record or message of excessive
                // length can fail here.
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

    /// Reads clear text of the records that were fed, as far as it fits.
    ///
    /// # Errors
    /// They are damaged, or not from the other end of this connection.
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

    /// Appends all available clear text to `clear`; true if the other end sent its close
    /// notification.
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

    /// Encrypts clear text into records.
    pub fn write(&mut self, clear: &[u8]) {
        // Writing to memory cannot fail. If the session is broken, the next read reports it.
        match self {
            Records::Certificates(connection) => drop(connection.writer().write_all(clear)),
            Records::Keys(session) => drop(session.write(clear)),
        }
    }

    /// Whether there are records to be sent: data, handshake, an alert or a close notification.
    pub fn has_some(&self) -> bool {
        match self {
            Records::Certificates(connection) => connection.wants_write(),
            Records::Keys(session) => session.has_records(),
        }
    }

    /// Appends the records that are to be sent to `out`.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        match self {
            Records::Certificates(connection) => {
                while connection.wants_write() {
                    // Writing to a vector cannot fail.
                    let _ = connection.write_tls(out);
                }
            }
            Records::Keys(session) => session.take_records(out),
        }
    }

    /// Sends the close notification.
    pub fn part(&mut self) {
        match self {
            Records::Certificates(connection) => connection.send_close_notify(),
            Records::Keys(session) => session.part(),
        }
    }

    /// The certificate that the other end presented.
    pub fn certificate(&self) -> Option<&CertificateDer<'static>> {
        match self {
            Records::Certificates(connection) => connection.peer_certificates().and_then(<[_]>::first),
            Records::Keys(_) => None,
        }
    }

    /// The name of the key that both ends proved to know.
    pub fn key(&self) -> Option<&str> {
        match self {
            Records::Certificates(_) => None,
            Records::Keys(session) => Some(session.name()),
        }
    }

    /// The negotiated parameters, for the log.
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
