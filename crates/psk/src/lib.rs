//! TLS with pre-shared keys, without sockets: records go in and clear text comes out, and vice
//! versa.
//!
//! `rustls`, which is used for TLS with certificates, does not support external pre-shared keys;
//! `s2n-tls` does, in TLS 1.3. Both ends use it: [`Session::accept`] for a server with its
//! [`Keys`], [`Session::connect`] for a client with one [`Key`]. The decision and its price are in
//! `docs/decisions/0206-pre-shared-keys.md`.
//!
//! Files of keys have the format that GnuTLS' `psktool` writes, and that libnbd, nbdkit and QEMU
//! read: lines of `NAME:HEX`.

mod key;
mod pipe;
mod session;

pub use key::{FileError, Key, Keys};
pub use session::{Pulled, Session};

/// Why TLS failed.
#[derive(Debug, thiserror::Error)]
pub enum PskError {
    /// The library's message.
    #[error("{0}")]
    Tls(String),
    /// The client offers none of our keys.
    #[error("the other end names no key that is known here")]
    Unknown,
    /// The server speaks TLS, but does not accept our key.
    #[error("the server does not take the key: it may know none of that name, or use certificates")]
    NotTaken,
    /// The session failed or ended before.
    #[error("the session is over")]
    Over,
}

impl From<s2n_tls::error::Error> for PskError {
    fn from(error: s2n_tls::error::Error) -> PskError {
        match error.name() {
            // A server without certificates has nothing else to offer to a client whose keys it
            // does not know.
            "S2N_ERR_NO_VALID_SIGNATURE_SCHEME" => PskError::Unknown,
            _ => PskError::Tls(error.message().to_owned()),
        }
    }
}
