//! The writer: wakes every cycle, writes the journal, then the blocks, then clears the journal.
//!
//! ```text
//!   Sleep ──wake──► Journal ──► JournalSync ──► Data ──► DataSync ──► Clear ──► Sleep
//! ```
//! It says what to write next and is told what ended; it never waits.

use super::setup::{Buffers, Contents, Layout, Place};
use crate::BLOCK;
use crate::burst::Burst;
use crate::cycle::Cycle;
use crate::settings::Constants;
use block::{ObjectId, Op, Request, Span, Time};

/// What the writer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waits for the next cycle.
    Sleep,
    /// Writes the journal.
    Journal,
    /// Makes it durable.
    JournalSync,
    /// Writes the blocks to their places.
    Data,
    /// Makes them durable.
    DataSync,
    /// Clears the journal.
    Clear,
}

pub(super) struct Writer {
    len: u64,
    period: Span,
    writers: u32,
    /// Blocks of one write to the journal.
    wij_blocks: u64,
    seed: u64,
    start: Time,
    runtime: Span,
    phase: Phase,
    burst: Burst,
    /// Cycles begun.
    number: u64,
    /// Units of the current phase made so far: blocks, or files to make durable.
    made: u64,
    flying: u32,
    slept_since: Time,
    begun: Time,
    due: Time,
    sleep: Span,
    wij_end: Time,
    data_end: Time,
    objects: Vec<ObjectId>,
    places: Vec<Place>,
    held: Option<Request>,
}

impl Writer {
    pub(super) fn new(len: u64, constants: &Constants, seed: u64, start: Time, runtime: Span) -> Writer {
        Writer {
            len,
            period: constants.cycle,
            writers: constants.writers,
            wij_blocks: (constants.wij_write.0 / BLOCK).max(1),
            seed,
            start,
            runtime,
            phase: Phase::Sleep,
            burst: Burst::new(len, len, seed),
            number: 0,
            made: 0,
            flying: 0,
            slept_since: start,
            begun: start,
            due: start,
            sleep: Span::ZERO,
            wij_end: start,
            data_end: start,
            objects: Vec::new(),
            places: Vec::new(),
            held: None,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    pub(super) fn flying(&self) -> u32 {
        self.flying
    }

    pub(super) fn is_asleep(&self) -> bool {
        self.phase == Phase::Sleep
    }

    pub(super) fn blocks_left(&self) -> u64 {
        match self.phase {
            Phase::Sleep | Phase::DataSync | Phase::Clear => 0,
            Phase::JournalSync => self.len,
            Phase::Journal => (self.len + 1).saturating_sub(self.made),
            Phase::Data => self.len - self.made,
        }
    }

    pub(super) fn cycle_so_far(&self, now: Time) -> Span {
        if self.is_asleep() { Span::ZERO } else { now.since(self.begun) }
    }

    /// When the next cycle is due; `None` while one is under way, and when no more begins within the run.
    pub(super) fn wakes_at(&self) -> Option<Time> {
        let due = self.due_of(self.number + 1);
        let begins = due.max(self.slept_since);
        (self.is_asleep() && self.len > 0 && begins < self.start + self.runtime).then_some(due)
    }

    /// Cycles due within the run: the last wakes before its end.
    pub(super) fn cycles_due(&self) -> u64 {
        if self.len == 0 { 0 } else { self.runtime.as_nanos().saturating_sub(1) / self.period.as_nanos() }
    }

    /// The request to make next; `None` while there is nothing to make.
    pub(super) fn next(&mut self, now: Time, layout: &Layout, buffers: &mut dyn Buffers) -> Option<Request> {
        if let Some(request) = self.held.take() {
            self.flying += 1;
            return Some(request);
        }
        self.wake(now, layout);
        let request = match self.phase {
            Phase::Sleep => None,
            Phase::Journal => self.journal(now, layout, buffers),
            Phase::Data => self.data(now, layout, buffers),
            Phase::JournalSync => self.sync(now, &[layout.wij().0]),
            Phase::DataSync => {
                let objects = std::mem::take(&mut self.objects);
                let request = self.sync(now, &objects);
                self.objects = objects;
                request
            }
            Phase::Clear => self.clear(now, layout, buffers),
        }?;
        self.flying += 1;
        Some(request)
    }

    /// The target did not take it.
    pub(super) fn put_back(&mut self, request: Request) {
        self.flying -= 1;
        self.held = Some(request);
    }

    /// One of its requests ended; the cycle, if that was its last.
    pub(super) fn ended(&mut self, end: Time) -> Option<Cycle> {
        self.flying -= 1;
        let all = match self.phase {
            Phase::Sleep => 0,
            Phase::Journal => self.len + 1,
            Phase::Data => self.len,
            Phase::DataSync => self.objects.len() as u64,
            Phase::JournalSync | Phase::Clear => 1,
        };
        if self.flying > 0 || self.held.is_some() || self.made < all {
            return None;
        }
        self.made = 0;
        self.phase = match self.phase {
            Phase::Sleep => Phase::Sleep,
            Phase::Journal => Phase::JournalSync,
            Phase::JournalSync => {
                self.wij_end = end;
                Phase::Data
            }
            Phase::Data => Phase::DataSync,
            Phase::DataSync => {
                self.data_end = end;
                Phase::Clear
            }
            Phase::Clear => {
                self.slept_since = end;
                self.phase = Phase::Sleep;
                return Some(self.cycle(end));
            }
        };
        None
    }

    fn cycle(&self, end: Time) -> Cycle {
        Cycle {
            number: self.number,
            due: self.due.since(self.start),
            start: self.begun.since(self.start),
            sleep: self.sleep,
            wij: self.wij_end.since(self.begun),
            write: self.data_end.since(self.wij_end),
            cycle: end.since(self.begun),
            blocks: self.len,
        }
    }

    fn due_of(&self, number: u64) -> Time {
        self.start + self.period * number
    }

    fn wake(&mut self, now: Time, layout: &Layout) {
        let Some(due) = self.wakes_at().filter(|due| *due <= now) else { return };
        self.number += 1;
        self.due = due;
        // What was due while the one before still ran begins at its end, whenever that was noticed.
        self.begun = due.max(self.slept_since);
        self.sleep = self.begun.since(self.slept_since);
        self.burst = Burst::new(layout.blocks(), self.len, self.seed ^ self.number.wrapping_mul(0xd6e8_feb8_6659_fd93));
        self.objects = layout.objects();
        self.made = 0;
        self.phase = Phase::Journal;
    }

    /// The next write to the journal: one at a time, in order. Its first block is the header.
    fn journal(&mut self, now: Time, layout: &Layout, buffers: &mut dyn Buffers) -> Option<Request> {
        if self.flying > 0 || self.made > self.len {
            return None;
        }
        let (object, base) = layout.wij();
        let (buf, blocks) = if self.made == 0 {
            (buffers.take(Contents::Header { blocks: self.len, generation: self.number })?, 1)
        } else {
            let first = self.made - 1;
            let last = (first + self.wij_blocks).min(self.len);
            self.places.clear();
            self.places.extend((first..last).map(|index| layout.place(self.burst.block(index), self.number)));
            (buffers.take(Contents::Blocks(&self.places))?, last - first)
        };
        let at = base + self.made * BLOCK;
        self.made += blocks;
        Some(write(object, at, buf, now, false))
    }

    /// The next write to the database: one for each writer that is free.
    fn data(&mut self, now: Time, layout: &Layout, buffers: &mut dyn Buffers) -> Option<Request> {
        if self.flying >= self.writers || self.made >= self.len {
            return None;
        }
        let block = self.burst.block(self.made);
        let buf = buffers.take(Contents::Blocks(&[layout.place(block, self.number)]))?;
        self.made += 1;
        let (object, at) = layout.locate(block);
        Some(write(object, at, buf, now, false))
    }

    fn sync(&mut self, now: Time, objects: &[ObjectId]) -> Option<Request> {
        let &object = objects.get(self.made as usize)?;
        self.made += 1;
        Some(Request { tag: 0, object, at: 0, len: 0, op: Op::Flush, fua: false, due: now })
    }

    fn clear(&mut self, now: Time, layout: &Layout, buffers: &mut dyn Buffers) -> Option<Request> {
        if self.made > 0 {
            return None;
        }
        let buf = buffers.take(Contents::Header { blocks: 0, generation: self.number })?;
        self.made = 1;
        let (object, at) = layout.wij();
        Some(write(object, at, buf, now, true))
    }
}

fn write(object: ObjectId, at: u64, buf: block::Buf, now: Time, fua: bool) -> Request {
    Request { tag: 0, object, at, len: u64::from(buf.len()), op: Op::Write(buf), fua, due: now }
}
