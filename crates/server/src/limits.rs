//! Limits on what clients may use of the server. Each has a name, a unit and a reason.

use crate::claims::slot_of;
use block::{Bytes, Span};

/// The limits of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Connections at once; another one is told so and closed. Each has a receive buffer. All of
    /// these together take at most a quarter of `memory`, which may lower the number.
    pub connections: u32,
    /// Connections at once from one IP address; another one is told so and closed. Unix sockets
    /// have no address.
    pub connections_per_address: u32,
    /// Requests of a connection whose replies are not sent yet, by the memory that they need.
    /// Beyond it the server stops reading from the connection. One request of any allowed length
    /// always fits.
    pub connection_in_flight: Bytes,
    /// A connection's requests whose replies are not sent yet.
    pub connection_requests: u32,
    /// Duration of a handshake. A client that connects and sends nothing would hold a connection.
    pub handshake_time: Span,
    /// Options in one handshake; see [`nbd::HandshakeLimits`].
    pub handshake_options: u32,
    /// How long a client with no outstanding request may be silent; zero means for ever. A mounted
    /// file system may be idle for days, so there is no limit by default.
    pub idle_time: Span,
    /// How long a stopping server waits for clients to take their replies.
    pub drain_time: Span,
    /// How long the client may take for its part of a transfer (reading replies, or sending a
    /// write's data), plus a second for each MiB. It applies while others wait for memory, and
    /// while the connection is ending.
    pub patience: Span,
    /// Memory of all data buffers of the shard together.
    pub memory: Bytes,
    /// Size of a connection's receive buffer, from 4 KiB to 1 MiB: the most that one system call
    /// receives.
    pub receive: Bytes,
}

/// Smallest useful memory for buffers.
const MEMORY_MIN: Bytes = Bytes::mib(16);

/// Why limits are invalid, or cannot be met together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// A limit of zero.
    #[error("limits.{0}: must be at least 1, got 0")]
    Zero(&'static str),
    /// The receive buffer.
    #[error("limits.receive: must be between 4 KiB and 1 MiB, got {0}")]
    Receive(Bytes),
    /// The memory.
    #[error("limits.memory: must be at least 16 MiB, got {0}")]
    Memory(Bytes),
    /// Too many connections for the memory.
    #[error(
        "limits.connections: {connections} with {each} of receive buffers each take more than a quarter of \
         limits.memory = {memory}; set at most {most}, less limits.receive, or more memory"
    )]
    Buffers {
        /// The limit that was given.
        connections: u32,
        /// Memory of a connection's receive buffers.
        each: Bytes,
        /// The limit `memory`.
        memory: Bytes,
        /// How many connections fit.
        most: u64,
    },
}

/// Receive buffers of a connection; TLS needs a second one for ciphertext.
fn slots(tls: bool) -> u64 {
    1 + u64::from(tls)
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            connections: 1024,
            connections_per_address: 1024,
            connection_in_flight: Bytes::mib(64),
            connection_requests: 16_384,
            handshake_time: Span::from_secs(10),
            handshake_options: 64,
            idle_time: Span::ZERO,
            drain_time: Span::from_secs(5),
            patience: Span::from_secs(10),
            memory: Bytes::mib(512),
            receive: Bytes::kib(64),
        }
    }
}

/// Refused connections that may exist at once, in addition to `connections`, to be told the reason.
/// Further ones are closed without one.
pub(crate) const REFUSALS: u32 = 8;

impl ServerLimits {
    /// The default limits for a machine with `whole` memory: buffers take at most a quarter of it,
    /// and connections are as many as those allow.
    pub fn of_memory(whole: Option<Bytes>) -> ServerLimits {
        let default = ServerLimits::default();
        let most = whole.map_or(default.memory, |whole| Bytes(whole.0 / 4).max(MEMORY_MIN));
        ServerLimits { memory: default.memory.min(most), ..default }.with_connections_carried()
    }

    /// The same with no more connections than the memory allows.
    pub(crate) fn with_connections_carried(self) -> ServerLimits {
        ServerLimits { connections: self.connections.min(self.connections_most(true)).max(1), ..self }
    }

    /// Memory of a connection's receive buffers.
    fn of_connection(&self, tls: bool) -> Bytes {
        Bytes(slot_of(self.receive.0) * slots(tls))
    }

    /// The number of connections whose receive buffers fit in a quarter of the memory.
    fn connections_most(&self, tls: bool) -> u32 {
        u32::try_from(self.memory.0 / 4 / self.of_connection(tls).0.max(1)).unwrap_or(u32::MAX)
    }

    /// The same, reduced to what the ring's `settings` allow. A connection may have a receive and a
    /// send in flight, and the store's requests come on top. The receive buffers of all connections
    /// take at most a quarter of the memory.
    pub(crate) fn within(self, settings: &uring::IoSettings, listeners: usize, tls: bool) -> ServerLimits {
        let beside = store::VolumesSettings::default().in_flight_limit + listeners;
        let room = settings.in_flight.saturating_sub(beside as u32) / 2;
        let limits = ServerLimits {
            connection_requests: self.connection_requests.max(1),
            memory: self.memory.min(settings.slab),
            receive: self.receive.clamp(Bytes::kib(4), Bytes::mib(1)),
            ..self
        };
        let connections = limits.connections.min(room).min(limits.connections_most(tls));
        ServerLimits { connections, ..limits }
    }

    /// Memory of the receive buffers of all connections.
    pub(crate) fn receive_buffers(&self, tls: bool) -> Bytes {
        Bytes(u64::from(self.connections + REFUSALS) * self.of_connection(tls).0)
    }

    /// Checks the limits against each other.
    ///
    /// # Errors
    /// The receive buffers of all connections would take more than a quarter of the memory, or a
    /// limit is out of range.
    pub fn check(&self, tls: bool) -> Result<(), LimitsError> {
        if !(Bytes::kib(4)..=Bytes::mib(1)).contains(&self.receive) {
            return Err(LimitsError::Receive(self.receive));
        }
        if self.memory < MEMORY_MIN {
            return Err(LimitsError::Memory(self.memory));
        }
        for (name, value) in [
            ("connections", self.connections),
            ("connections_per_address", self.connections_per_address),
            ("connection_requests", self.connection_requests),
            ("handshake_options", self.handshake_options),
        ] {
            if value == 0 {
                return Err(LimitsError::Zero(name));
            }
        }
        let (each, most) = (self.of_connection(tls), self.connections_most(tls).into());
        match u64::from(self.connections) > most {
            true => Err(LimitsError::Buffers { connections: self.connections, each, memory: self.memory, most }),
            false => Ok(()),
        }
    }

    /// Requests at the kernel for this many connections and the store; see [`uring::IoSettings`].
    pub fn in_flight(&self) -> u32 {
        16_384.max((self.connections.saturating_add(REFUSALS)).saturating_mul(2).saturating_add(1024))
    }

    /// The longest read or write, in bytes: at most an eighth of the memory, so that it fits beside
    /// what others hold.
    pub(crate) fn longest(&self) -> u32 {
        let eighth = (self.memory.0 / 8).clamp(4096, u64::from(store::VolumesSettings::default().longest));
        // At most the store's own limit, which is a `u32`, rounded down to a power of two.
        1 << eighth.ilog2()
    }
}
