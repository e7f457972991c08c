//! What clients may take of the server. Each limit has a name, a unit and a reason.

use crate::claims::slot_of;
use block::{Bytes, Span};

/// The limits of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Connections at once; one more is told so and closed. Each holds a receive buffer; all of
    /// them together take a quarter of `memory` at most, which may mean fewer.
    pub connections: u32,
    /// Connections from one IP address at once; one more is told so and closed. Unix sockets have
    /// no address.
    pub connections_per_address: u32,
    /// A connection's requests whose replies are not sent yet, counted by the memory they need.
    /// Beyond it the server stops reading from the connection; one request of any allowed length
    /// always fits.
    pub connection_in_flight: Bytes,
    /// A connection's requests whose replies are not sent yet.
    pub connection_requests: u32,
    /// How long a handshake may take: a client that connects and says nothing holds a place.
    pub handshake_time: Span,
    /// Options in one handshake, see [`nbd::HandshakeLimits`].
    pub handshake_options: u32,
    /// How long a client may say nothing once all that it asked is answered; zero for ever. A
    /// mounted file system may have nothing to say for days, so there is no limit unless one is
    /// set.
    pub idle_time: Span,
    /// How long a server that stops waits for clients to take their answers.
    pub drain_time: Span,
    /// How long a connection may take for its part of a transfer (its answers, or a write's data)
    /// while others wait for the memory that it holds, or after its goodbye; and a second more for
    /// each MiB.
    pub patience: Span,
    /// All data buffers of the shard together.
    pub memory: Bytes,
    /// A connection's receive buffer: what one system call may bring; from 4 KiB to 1 MiB.
    pub receive: Bytes,
}

/// Fewer buffers do not carry requests of any use.
const MEMORY_MIN: Bytes = Bytes::mib(16);

/// Why limits cannot be kept together.
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
        /// What a connection's buffers take.
        each: Bytes,
        /// The limit of memory.
        memory: Bytes,
        /// How many fit.
        most: u64,
    },
}

/// Receive buffers of a connection: ciphertext needs one of its own.
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

/// Connections that are told to go, at once; they come on top of `connections`. One more is closed
/// without a word.
pub(crate) const REFUSALS: u32 = 8;

impl ServerLimits {
    /// What there is where nothing is said: buffers are a quarter of a small machine's memory at
    /// most, and connections as many as they carry.
    pub fn of_memory(whole: Option<Bytes>) -> ServerLimits {
        let default = ServerLimits::default();
        let most = whole.map_or(default.memory, |whole| Bytes(whole.0 / 4).max(MEMORY_MIN));
        ServerLimits { memory: default.memory.min(most), ..default }.with_connections_carried()
    }

    /// The same with no more connections than the memory carries.
    pub(crate) fn with_connections_carried(self) -> ServerLimits {
        ServerLimits { connections: self.connections.min(self.connections_most(true)).max(1), ..self }
    }

    /// What the receive buffers of a connection take.
    fn of_connection(&self, tls: bool) -> Bytes {
        Bytes(slot_of(self.receive.0) * slots(tls))
    }

    /// As many connections have receive buffers in a quarter of the memory.
    fn connections_most(&self, tls: bool) -> u32 {
        u32::try_from(self.memory.0 / 4 / self.of_connection(tls).0.max(1)).unwrap_or(u32::MAX)
    }

    /// As far as `settings` of the ring carry them: a connection may have a receive and a send at
    /// the kernel, and what the store has there comes on top. The connections' receive buffers
    /// together take a quarter of the memory at most.
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

    /// What the receive buffers of all connections take.
    pub(crate) fn receive_buffers(&self, tls: bool) -> Bytes {
        Bytes(u64::from(self.connections + REFUSALS) * self.of_connection(tls).0)
    }

    /// Why these limits cannot be kept together, if they cannot.
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

    /// Requests at the kernel for as many connections and the store, see [`uring::IoSettings`].
    pub fn in_flight(&self) -> u32 {
        16_384.max((self.connections.saturating_add(REFUSALS)).saturating_mul(2).saturating_add(1024))
    }

    /// The longest read or write, in bytes: an eighth of the memory at most, so that there is room
    /// for it beside what others hold.
    pub(crate) fn longest(&self) -> u32 {
        let eighth = (self.memory.0 / 8).clamp(4096, u64::from(store::VolumesSettings::default().longest));
        // At most the store's own limit, which is a `u32`; the largest power of two within.
        1 << eighth.ilog2()
    }
}
