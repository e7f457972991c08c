//! The client's end of TLS: whom it trusts, who it is, and the two ways between clear text and
//! records.
//!
//! The files of a folder are named as libnbd, nbdkit and QEMU name them: `ca-cert.pem` (who may
//! vouch for the server), and `client-cert.pem` with `client-key.pem` where the server wants to
//! know its clients.

use cipher::{CipherFault, Records, Trust, TrustError};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a connection is encrypted with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsChoice {
    /// Certificates.
    Certificates {
        /// The folder of the files.
        folder: PathBuf,
        /// The server's name in its certificate. Without it, that of a TCP address is the host's; a
        /// Unix socket has no name, so there any certificate of the authority will do.
        hostname: Option<String>,
    },
    /// A pre-shared key.
    Key {
        /// The file of keys, a line `NAME:HEX` each.
        file: PathBuf,
        /// Which of them.
        name: String,
    },
}

/// Why TLS cannot be used; one line.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file of the folder.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The server's name is none that a certificate could have.
    #[error("{0:?} is no name that a certificate can have: set tls-hostname")]
    Name(String),
    /// The certificates do not suit each other, or the handshake failed.
    #[error("TLS: {0}")]
    Rustls(#[from] rustls::Error),
    /// The server closed in the middle of the handshake.
    #[error("TLS: the server ended the handshake without a word; it may not take this key or certificate")]
    Ended,
    /// The handshake with a key failed, or the session.
    #[error("TLS with a pre-shared key: {0}")]
    Key(#[from] cipher::PskError),
}

impl From<CipherFault> for TlsError {
    fn from(fault: CipherFault) -> TlsError {
        match fault {
            CipherFault::Certificates(error) => error.into(),
            CipherFault::Keys(error) => error.into(),
        }
    }
}

impl TlsChoice {
    /// A session that has not begun, with the server of that host name.
    ///
    /// # Errors
    /// A file cannot be used.
    pub(super) fn begin(&self, host: Option<&str>) -> Result<Records, TlsError> {
        match self {
            TlsChoice::Certificates { folder, hostname } => {
                let name = hostname.as_deref().or(host);
                let config = config(folder, name.is_some())?;
                let name = name.unwrap_or("localhost").to_owned();
                let server = ServerName::try_from(name.clone()).map_err(|_| TlsError::Name(name))?;
                // What is sent is bounded by the requests in flight.
                Ok(Records::of_certificates(ClientConnection::new(Arc::new(config), server)?))
            }
            TlsChoice::Key { file: path, name } => {
                let text = cipher::secret::read(path).map_err(|error| file(path, &error))?;
                let key = cipher::Key::find(&text, name).map_err(|error| file(path, &error))?;
                Ok(Records::of_keys(cipher::Session::connect(&key)?))
            }
        }
    }
}

fn config(folder: &Path, check_name: bool) -> Result<ClientConfig, TlsError> {
    let authority = folder.join("ca-cert.pem");
    let trust = if check_name { Trust::Name(authority) } else { Trust::Authority(authority) };
    let builder = trust.config()?;
    let (certificate, key) = (folder.join("client-cert.pem"), folder.join("client-key.pem"));
    if !certificate.exists() && !key.exists() {
        return Ok(builder.with_no_client_auth());
    }
    let chain = cipher::certificates(&certificate)?;
    let text = cipher::secret::read(&key).map_err(|error| file(&key, &error))?;
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| file(&key, &error))?;
    Ok(builder.with_client_auth_cert(chain, key)?)
}

fn file(path: &Path, why: &dyn std::fmt::Display) -> TlsError {
    TrustError::File { path: path.into(), why: why.to_string() }.into()
}

/// A session past its handshake: clear text goes in and records come out, and the other way round.
#[derive(Debug)]
pub(super) struct Tls {
    records: Records,
    /// Clear text that came; unread from `start` on.
    clear: Vec<u8>,
    start: usize,
    /// The server said that nothing more will come.
    pub(super) closed: bool,
}

impl Tls {
    /// Around a session whose handshake is over, and clear text that came behind it.
    pub(super) fn new(records: Records, early: Vec<u8>) -> Tls {
        Tls { records, clear: early, start: 0, closed: false }
    }

    /// Takes clear text to be sent.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.records.write(bytes);
    }

    /// Moves all records that are to be sent to the end of `out`.
    pub(super) fn seal(&mut self, out: &mut Vec<u8>) {
        self.records.take(out);
    }

    /// Takes records that came; their clear text is in [`Tls::clear`] afterwards.
    ///
    /// # Errors
    /// They are not from the server of this session, or damaged.
    pub(super) fn open(&mut self, mut records: &[u8]) -> Result<(), TlsError> {
        if self.start == self.clear.len() {
            self.clear.clear();
            self.start = 0;
        } else if self.start > 0 {
            self.clear.drain(..self.start);
            self.start = 0;
        }
        while !records.is_empty() && !self.closed {
            records = &records[self.records.feed(records)?..];
            self.closed |= self.records.take_clear(&mut self.clear)?;
        }
        Ok(())
    }

    /// Clear text that nobody took yet.
    pub(super) fn clear(&self) -> &[u8] {
        &self.clear[self.start..]
    }

    /// The first `count` bytes of it are taken.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.clear.len());
    }
}
