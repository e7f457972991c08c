//! Requests that were recorded elsewhere, to be replayed.

use super::Direction;
use block::Span;
use std::sync::Arc;

/// A recording to replay, in place of random requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The requests in order of time; shared, because a recording may be large and jobs have
    /// clones.
    pub rows: Arc<[ReplayRow]>,
    /// Ignores the times: each request is made as soon as there is room.
    pub at_once: bool,
}

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayRow {
    /// Its due time, from the start of the pass.
    pub at: Span,
    /// What it does.
    pub ask: ReplayAsk,
    /// Index of the file among the job's files.
    pub file: u32,
    /// First byte in the file.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub len: u32,
}

/// What a recorded request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayAsk {
    /// Transfers or trims data.
    Move(Direction),
    /// Makes writes durable, with or without all metadata.
    Flush {
        /// As `fsync`; otherwise as `fdatasync`.
        whole: bool,
    },
}

impl Replay {
    /// Length that a file must have for all requests to it.
    pub fn extent(&self, file: u32) -> u64 {
        let ends = self.rows.iter().filter(|row| row.file == file).map(|row| row.offset + u64::from(row.len));
        ends.max().unwrap_or(0)
    }

    /// The largest and the smallest request of a direction, in bytes; `None` if there is none.
    pub fn lengths(&self, direction: Direction) -> Option<(u32, u32)> {
        let lengths = self.rows.iter().filter(|row| row.ask == ReplayAsk::Move(direction)).map(|row| row.len);
        lengths.fold(None, |found, len| {
            let (longest, shortest) = found.unwrap_or((len, len));
            Some((longest.max(len), shortest.min(len)))
        })
    }
}
