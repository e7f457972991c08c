//! What a handshake agrees on for the transmission phase.

use crate::contexts::Contexts;

/// The framing of messages in the transmission phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Framing {
    /// 28-byte requests; 16-byte replies, each of which succeeds or fails as a whole.
    #[default]
    Simple,
    /// The same, but a read or block status is answered by chunks with 20-byte headers.
    Structured,
    /// 32-byte requests and chunk headers with 64-bit lengths; no simple replies.
    Extended,
}

/// What both sides agreed on: the same values on the server and the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How messages are framed.
    pub framing: Framing,
    /// The metadata contexts that the client selected for this export.
    pub contexts: Contexts,
    /// Whether the client asked for block sizes when it entered transmission, and so must respect
    /// them.
    pub block_sizes: bool,
    /// Whether the handshake went over TLS.
    pub encrypted: bool,
}
