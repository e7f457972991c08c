//! TLS with pre-shared keys, without sockets: records go in, clear text comes out, and the other
//! way round.
//!
//! The library that does TLS with certificates here (`rustls`) has no external pre-shared keys;
//! `s2n-tls` has, in TLS 1.3. Both ends are made of it: [`Session::accept`] for a server with its
//! [`Keys`], [`Session::connect`] for a client with one [`Key`]. The decision and its price are in
//! `docs/decisions/0206-pre-shared-keys.md`.
//!
//! Keys are kept as GnuTLS' `psktool` writes them, and as libnbd, nbdkit and QEMU read them: a line
//! `NAME:HEX` each.

mod key;
mod pipe;
mod session;

pub use key::{FileError, Key, Keys};
pub use session::{Pulled, Session};

/// Why TLS failed.
#[derive(Debug, thiserror::Error)]
pub enum PskError {
    /// The library's word for it.
    #[error("{0}")]
    Tls(String),
    /// The client offers none of our keys.
    #[error("the other end names no key that is known here")]
    Unknown,
    /// The server speaks TLS, but not by our key.
    #[error("the server does not take the key: it may know none of that name, or use certificates")]
    NotTaken,
    /// It failed before.
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
