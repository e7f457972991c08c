//! The client's side of TLS: the authorities it trusts, its own identity, and the conversion
//! between clear text and records.
//!
//! The files in the folder are named as in libnbd, nbdkit and QEMU: `ca-cert.pem` (the authority
//! for the server), and `client-cert.pem` with `client-key.pem` if the server authenticates its
//! clients.

use cipher::{CipherFault, Records, Trust, TrustError};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsChoice {
    /// Certificates.
    Certificates {
        /// The folder of the files.
        folder: PathBuf,
        /// The server's name in its certificate; by default the host of a TCP address. A Unix
        /// socket has no name, so any certificate of the authority is accepted there.
        hostname: Option<String>,
    },
    /// A pre-shared key.
    Key {
        /// The file of keys, with a line `NAME:HEX` for each.
        file: PathBuf,
        /// The name of the key.
        name: String,
    },
}

/// Why TLS cannot be used; one line.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file of the folder cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The server's name is not valid in a certificate.
    #[error("{0:?} is no name that a certificate can have: set tls-hostname")]
    Name(String),
    /// The certificates do not match, or the handshake failed.
    #[error("TLS: {}", cipher::error_text(.0))]
    Rustls(#[from] rustls::Error),
    /// The server closed the connection during the handshake.
    #[error("TLS: the server ended the handshake without a word; it may not take this key or certificate")]
    Ended,
    /// The handshake with a key, or its session, failed.
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
    /// A new session with the server of that host name.
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
                // The data to send is bounded by the requests in flight.
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

/// A session after its handshake: converts clear text to records and back.
#[derive(Debug)]
pub(super) struct Tls {
    records: Records,
    /// Received clear text; unread from `start` on.
    clear: Vec<u8>,
    start: usize,
    /// The server has closed its direction.
    pub(super) closed: bool,
}

impl Tls {
    /// For a session after its handshake, with clear text that followed that.
    pub(super) fn new(records: Records, early: Vec<u8>) -> Tls {
        Tls { records, clear: early, start: 0, closed: false }
    }

    /// Adds clear text to send.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.records.write(bytes);
    }

    /// Moves all records to send to the end of `out`.
    pub(super) fn seal(&mut self, out: &mut Vec<u8>) {
        self.records.take(out);
    }

    /// Decrypts received records; the result is in [`Tls::clear`].
    ///
    /// # Errors
    /// They are damaged, or not from the server of this session.
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

    /// Unread clear text.
    pub(super) fn clear(&self) -> &[u8] {
        &self.clear[self.start..]
    }

    /// The first `count` bytes of it were read.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.clear.len());
    }
}
