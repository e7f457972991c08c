//! The transaction journal beside the cycles: a steady stream of writes to one place, one after the
//! other, made durable every two seconds, and by every write cycle together with its own journal.
//!
//! It begins again at its first byte when its place is full, as a database does with journal files
//! that it has done with.

use super::setup::{BufferContents, Buffers, Spot};
use crate::BLOCK;
use block::{Buf, Completion, Op, OpKind, Request, Span, Time};
use stats::Schedule;

/// Bytes of one write.
const UNIT: u64 = 64 << 10;
/// How long a write may wait to be made durable: the database's own interval when nobody commits.
const SYNC: Span = Span::from_secs(2);

pub(super) struct Stream {
    spot: Spot,
    /// When writes are due, by bytes.
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
    /// Bytes of its place: what it takes before it begins again.
    pub(super) const PLACE: u64 = 256 << 20;
    /// Tag of its requests.
    pub(super) const TAG: u64 = 1 << 46;

    pub(super) fn new(spot: Spot, rate: u64, start: Time, runtime: Span) -> Stream {
        let (schedule, end, sync_due) = (Schedule::new(start, rate, Span::SECOND), start + runtime, start + SYNC);
        let (made, flying, unsynced) = (0, false, false);
        Stream { spot, schedule, end, made, flying, unsynced, sync_due, half: None, held: None }
    }

    /// When the next request is due; `None` while one is under way, and when no more comes within
    /// the run.
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

    /// The next request that is due, if its contents are made; they are made piece by piece.
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

    /// The target did not take it.
    pub(super) fn put_back(&mut self, request: Request) {
        self.flying = false;
        self.held = Some(request);
    }

    /// Its request ended.
    pub(super) fn ended(&mut self, completion: &Completion) {
        self.flying = false;
        self.unsynced |= completion.result.is_ok() && completion.kind == OpKind::Write;
    }

    /// Whether something of it is still under way.
    pub(super) fn is_flying(&self) -> bool {
        self.flying
    }

    /// Whether it works on a write that is due.
    pub(super) fn is_busy(&self) -> bool {
        self.half.is_some()
    }

    /// Its buffers go back.
    pub(super) fn finish(self, buffers: &mut dyn Buffers) {
        let held = self.held.and_then(|request| match request.op {
            Op::Write(buf) => Some(buf),
            _ => None,
        });
        held.into_iter().chain(self.half.map(|(buf, _)| buf)).for_each(|buf| buffers.give(buf));
    }
}
