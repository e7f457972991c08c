//! How the data thread starts, and why it could not.

use crate::listen::ListenError;
use crate::shard::ShardGone;
use store::SecondError;

/// What the data thread does while a client in ping-pong (one request at a time, each asked for
/// when the last was answered) has not asked again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Latency {
    /// It waits awake for up to 200 µs where that takes at most a quarter more processor time a
    /// request than to sleep, and sleeps elsewhere.
    #[default]
    Auto,
    /// It sleeps.
    Normal,
    /// It waits awake for up to 200 µs, which takes a processor meanwhile.
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
    /// The data thread cannot be bound there.
    #[error("cpu = {cpu}: is none of the processors that this process may use ({allowed}); name one of them, or none")]
    Cpu {
        /// The processor that was named.
        cpu: u32,
        /// Those that could be.
        allowed: String,
    },
    /// The thread died at its start.
    #[error(transparent)]
    Gone(#[from] ShardGone),
}
