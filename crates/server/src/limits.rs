//! What clients may take of the server. Each limit has a name, a unit and a reason.

use block::{Bytes, Span};

/// The limits of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Connections at once; one more is closed at once. Each holds a receive buffer.
    pub connections: u32,
    /// A connection's requests that are not answered yet, counted by their data. Beyond it the server stops reading
    /// from the connection; one request of any allowed length always fits.
    pub connection_in_flight: Bytes,
    /// A connection's requests that are not answered yet.
    pub connection_requests: u32,
    /// How long a handshake may take: a client that connects and says nothing holds a place.
    pub handshake_time: Span,
    /// Options in one handshake, see [`nbd::HandshakeLimits`].
    pub handshake_options: u32,
    /// All data buffers of the shard together.
    pub memory: Bytes,
    /// A connection's receive buffer: what one system call may bring.
    pub receive: Bytes,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            connections: 1024,
            connection_in_flight: Bytes::mib(64),
            connection_requests: 16_384,
            handshake_time: Span::from_secs(10),
            handshake_options: 64,
            memory: Bytes::mib(512),
            receive: Bytes::kib(64),
        }
    }
}
