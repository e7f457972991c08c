//! Settings and errors of the start of the data thread.

use crate::listen::ListenError;
use crate::shard::ShardGone;
use store::SecondError;

/// What the data thread does while it waits for the next request of a client in ping-pong (one
/// request at a time, each sent after the previous reply).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Latency {
    /// Busy-polls for up to 200 µs if that takes at most a quarter more processor time per request
    /// than sleeping; otherwise sleeps.
    #[default]
    Auto,
    /// Sleeps.
    Normal,
    /// Busy-polls for up to 200 µs, which occupies a processor meanwhile.
    Low,
}

/// Why the shard could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The ring cannot be opened.
    #[error(transparent)]
    Io(#[from] uring::IoError),
    /// The second level of the cache cannot be used.
    #[error("cache.second_level: {0}")]
    Second(#[from] SecondError),
    /// No thread can be started.
    #[error("start the data thread: {0}")]
    Thread(#[from] std::io::Error),
    /// The data thread cannot be bound to that processor.
    #[error("cpu = {cpu}: is none of the processors that this process may use ({allowed}); name one of them, or none")]
    Cpu {
        /// The processor that was named.
        cpu: u32,
        /// The processors that are allowed.
        allowed: String,
    },
    /// The thread died while starting.
    #[error(transparent)]
    Gone(#[from] ShardGone),
}
