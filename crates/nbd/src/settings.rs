//! What a handshake settles for the transmission phase.

use crate::contexts::Contexts;

/// How messages are framed in the transmission phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Framing {
    /// 28-byte requests, 16-byte replies that succeed or fail as a whole.
    #[default]
    Simple,
    /// As above, but a read (and block status) is answered by chunks with 20-byte headers.
    Structured,
    /// 32-byte requests and chunk headers with 64-bit lengths; no simple replies.
    Extended,
}

/// What both sides agreed on. After the same handshake the server's and the client's are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How messages are framed.
    pub framing: Framing,
    /// The metadata contexts that the client selected for this export.
    pub contexts: Contexts,
    /// The client asked for block sizes when it entered transmission, so it must keep to them.
    pub block_sizes: bool,
    /// The handshake went over TLS.
    pub encrypted: bool,
}
