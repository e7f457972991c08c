//! The client's two ways to encrypt: with certificates and with a pre-shared key, each by its own library.

use super::tls::TlsError;
use psk::Pulled;
use rustls::ClientConnection;
use std::io::{Read as _, Write as _};

/// A client's end of an encrypted connection.
#[derive(Debug)]
pub(super) enum Records {
    /// The server shows a certificate.
    Certificates(Box<ClientConnection>),
    /// Both know a key.
    Key(Box<psk::Session>),
}

impl Records {
    /// Goes on with the handshake; true when it is over. Records may have to go out either way.
    pub(super) fn shake_hands(&mut self) -> Result<bool, TlsError> {
        match self {
            Records::Certificates(connection) => Ok(!connection.is_handshaking()),
            Records::Key(session) => Ok(session.shake_hands()?),
        }
    }

    /// Takes some of the records that came, at least one byte. Their clear text is to be taken before the next ones.
    pub(super) fn feed(&mut self, records: &mut &[u8]) -> Result<(), TlsError> {
        match self {
            Records::Certificates(connection) => {
                connection.read_tls(records).map_err(|error| rustls::Error::General(error.to_string()))?;
                connection.process_new_packets()?;
            }
            Records::Key(session) => session.feed(std::mem::take(records)),
        }
        Ok(())
    }

    /// Moves clear text that is here to the end of `clear`; true when nothing more will come, as the server says.
    pub(super) fn take_clear(&mut self, clear: &mut Vec<u8>) -> Result<bool, TlsError> {
        match self {
            Records::Certificates(connection) => {
                let state = connection.process_new_packets()?;
                let (had, fresh) = (clear.len(), state.plaintext_bytes_to_read());
                clear.resize(had + fresh, 0);
                let read = connection.reader().read_exact(&mut clear[had..]);
                read.map_err(|error| rustls::Error::General(error.to_string()))?;
                Ok(state.peer_has_closed())
            }
            Records::Key(session) => loop {
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

    /// Takes clear text to be sent.
    pub(super) fn write(&mut self, clear: &[u8]) {
        match self {
            Records::Certificates(connection) => {
                connection.writer().write_all(clear).expect("without a limit all is taken");
            }
            // A session that is over: reading from it says so.
            Records::Key(session) => drop(session.write(clear)),
        }
    }

    /// Moves all records that are to be sent to the end of `out`.
    pub(super) fn seal(&mut self, out: &mut Vec<u8>) {
        match self {
            Records::Certificates(connection) => {
                while connection.wants_write() {
                    connection.write_tls(out).expect("memory takes all");
                }
            }
            Records::Key(session) => session.take_records(out),
        }
    }
}

/// Clear text of a record, at most.
const RECORD: usize = 16 << 10;
