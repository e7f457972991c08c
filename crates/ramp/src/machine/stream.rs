//! The transaction journal beside the cycles: a steady sequence of writes to one place, one at a
//! time, flushed every two seconds and by every write cycle together with its own journal.
//!
//! It wraps to its first byte when its place is full, as a database reuses old journal files.

use super::setup::{BufferContents, Buffers, Spot};
use crate::BLOCK;
use block::{Buf, Completion, Op, OpKind, Request, Span, Time};
use stats::Schedule;

/// Bytes of one write.
const UNIT: u64 = 64 << 10;
/// Maximum time until a write is made durable: the database's own interval when nobody commits.
const SYNC: Span = Span::from_secs(2);

pub(super) struct Stream {
    spot: Spot,
    /// The schedule of writes, in bytes.
    schedule: Schedule,
    end: Time,
    made: u64,
    flying: bool,
    unsynced: bool,
    sync_due: Time,
    half: Option<(Buf, u64)>,
    held: Option<Request>,
}

impl Stream {
    /// Bytes of its place, after which it wraps.
    pub(super) const PLACE: u64 = 256 << 20;
    /// Tag of its requests.
    pub(super) const TAG: u64 = 1 << 46;

    pub(super) fn new(spot: Spot, rate: u64, start: Time, runtime: Span) -> Stream {
        let (schedule, end, sync_due) = (Schedule::new(start, rate, Span::SECOND), start + runtime, start + SYNC);
        let (made, flying, unsynced) = (0, false, false);
        Stream { spot, schedule, end, made, flying, unsynced, sync_due, half: None, held: None }
    }

    /// When the next request is due; `None` while one is in flight, and if no more come within the
    /// run.
    pub(super) fn wakes_at(&self) -> Option<Time> {
        if self.flying {
            return None;
        }
        let sync = self.unsynced.then_some(self.sync_due);
        [sync, self.due()].into_iter().flatten().min()
    }

    fn due(&self) -> Option<Time> {
        Some(self.schedule.due()).filter(|due| *due < self.end)
    }

    /// The next due request if its buffer is filled; it is filled piece by piece.
    pub(super) fn next(&mut self, now: Time, buffers: &mut dyn Buffers) -> Option<Request> {
        if self.flying {
            return None;
        }
        if let Some(request) = self.held.take() {
            self.flying = true;
            return Some(request);
        }
        let object = self.spot.object;
        if self.unsynced && self.sync_due <= now {
            let request =
                Request { tag: Stream::TAG, object, at: 0, len: 0, op: Op::Flush, fua: false, due: self.sync_due };
            self.sync_due = now + SYNC;
            self.unsynced = false;
            self.flying = true;
            return Some(request);
        }
        let due = self.due().filter(|due| *due <= now)?;
        if self.half.is_none() {
            self.half = Some((buffers.take(UNIT)?, 0));
        }
        let (buf, filled) = self.half.as_mut()?;
        let first = self.made * (UNIT / BLOCK);
        *filled += buffers.fill(
            buf,
            *filled,
            BufferContents::Stream { first: first + *filled, blocks: UNIT / BLOCK - *filled },
        );
        if *filled < UNIT / BLOCK {
            return None;
        }
        let (buf, _) = self.half.take()?;
        let place = self.spot.bytes / UNIT;
        let at = self.spot.at + self.made % place.max(1) * UNIT;
        self.made += 1;
        self.schedule.advance(UNIT);
        self.flying = true;
        Some(Request { tag: Stream::TAG, object, at, len: UNIT, op: Op::Write(buf), fua: false, due })
    }

    /// The target refused the request for now.
    pub(super) fn put_back(&mut self, request: Request) {
        self.flying = false;
        self.held = Some(request);
    }

    /// Handles the completion of its request.
    pub(super) fn ended(&mut self, completion: &Completion) {
        self.flying = false;
        self.unsynced |= completion.result.is_ok() && completion.kind == OpKind::Write;
    }

    /// Whether it has a request in flight.
    pub(super) fn is_flying(&self) -> bool {
        self.flying
    }

    /// Whether it is filling the buffer of a due write.
    pub(super) fn is_busy(&self) -> bool {
        self.half.is_some()
    }

    /// Returns its buffers.
    pub(super) fn finish(self, buffers: &mut dyn Buffers) {
        let held = self.held.and_then(|request| match request.op {
            Op::Write(buf) => Some(buf),
            _ => None,
        });
        held.into_iter().chain(self.half.map(|(buf, _)| buf)).for_each(|buf| buffers.give(buf));
    }
}
