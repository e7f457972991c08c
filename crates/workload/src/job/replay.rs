//! Requests that were recorded elsewhere, to be made again.

use super::Direction;
use block::Span;
use std::sync::Arc;

/// A recording to be run again, in place of requests that are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The requests, their times never going back; shared, because a recording may be large and
    /// jobs have clones.
    pub rows: Arc<[ReplayRow]>,
    /// Times are left aside: each request is made as soon as there is room.
    pub at_once: bool,
}

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayRow {
    /// When it is due, from the start of the pass.
    pub at: Span,
    /// What it asks.
    pub ask: ReplayAsk,
    /// On which of the job's files.
    pub file: u32,
    /// First byte in the file.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub len: u32,
}

/// What a recorded request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayAsk {
    /// To move data, or to give space back.
    Move(Direction),
    /// To make writes durable, with all that describes the file or without.
    Flush {
        /// As `fsync`; otherwise as `fdatasync`.
        whole: bool,
    },
}

impl Replay {
    /// How long a file must be for all requests on it.
    pub fn extent(&self, file: u32) -> u64 {
        let ends = self.rows.iter().filter(|row| row.file == file).map(|row| row.offset + u64::from(row.len));
        ends.max().unwrap_or(0)
    }

    /// The longest and the shortest request of a direction, in bytes; `None` where there is none.
    pub fn lengths(&self, direction: Direction) -> Option<(u32, u32)> {
        let lengths = self.rows.iter().filter(|row| row.ask == ReplayAsk::Move(direction)).map(|row| row.len);
        lengths.fold(None, |found, len| {
            let (longest, shortest) = found.unwrap_or((len, len));
            Some((longest.max(len), shortest.min(len)))
        })
    }
}
