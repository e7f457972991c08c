//! What clients may take of the server. Each limit has a name, a unit and a reason.

use crate::claims::slot_of;
use block::{Bytes, Span};

/// The limits of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Connections at once; one more is closed at once. Each holds a receive buffer; all of them together take a quarter
    /// of `memory` at most, which may mean fewer.
    pub connections: u32,
    /// A connection's requests whose replies are not sent yet, counted by the memory they need. Beyond it the server
    /// stops reading from the connection; one request of any allowed length always fits.
    pub connection_in_flight: Bytes,
    /// A connection's requests whose replies are not sent yet.
    pub connection_requests: u32,
    /// How long a handshake may take: a client that connects and says nothing holds a place.
    pub handshake_time: Span,
    /// Options in one handshake, see [`nbd::HandshakeLimits`].
    pub handshake_options: u32,
    /// How long a connection may take for its part of a transfer (its answers, or a write's data) while others wait for
    /// the memory that it holds, or after its goodbye; and a second more for each MiB.
    pub patience: Span,
    /// All data buffers of the shard together.
    pub memory: Bytes,
    /// A connection's receive buffer: what one system call may bring; from 4 KiB to 1 MiB.
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
            patience: Span::from_secs(10),
            memory: Bytes::mib(512),
            receive: Bytes::kib(64),
        }
    }
}

impl ServerLimits {
    /// As far as `settings` of the ring carry them: a connection may have a receive and a send at the kernel, and what
    /// the store has there comes on top. The connections' receive buffers together take a quarter of the memory at most.
    pub(crate) fn within(self, settings: &uring::IoSettings, listeners: usize) -> ServerLimits {
        let beside = store::VolumesSettings::default().in_flight_limit + listeners;
        let room = settings.in_flight.saturating_sub(beside as u32) / 2;
        let memory = self.memory.min(settings.slab);
        let receive = self.receive.clamp(Bytes::kib(4), Bytes::mib(1));
        let buffers = memory.0 / 4 / slot_of(receive.0);
        ServerLimits {
            connections: self.connections.min(room).min(u32::try_from(buffers).unwrap_or(u32::MAX)),
            connection_requests: self.connection_requests.max(1),
            memory,
            receive,
            ..self
        }
    }

    /// What the receive buffers of all connections take.
    pub(crate) fn receive_buffers(&self) -> Bytes {
        Bytes(u64::from(self.connections) * slot_of(self.receive.0))
    }

    /// The longest read or write, in bytes: an eighth of the memory at most, so that there is room for it beside what
    /// others hold.
    pub(crate) fn longest(&self) -> u32 {
        let eighth = (self.memory.0 / 8).clamp(4096, u64::from(store::VolumesSettings::default().longest));
        // At most the store's own limit, which is a `u32`; the largest power of two within.
        1 << eighth.ilog2()
    }
}
