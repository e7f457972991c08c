//! The writer: wakes every cycle, writes the journal, then the blocks, and then clears the journal.
//!
//! ```text
//!   Sleep ──wake──► Journal ──► JournalSync ──► Data ──► DataSync ──► Clear ──► Sleep
//! ```
//! It returns the next write and handles completions; it never blocks.

use super::setup::{BlockTarget, BufferContents, Buffers, Layout};
use crate::BLOCK;
use crate::burst::Burst;
use crate::cycle::Cycle;
use crate::settings::Constants;
use block::{Buf, ObjectId, Op, Request, Span, Time};

/// The phase of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterPhase {
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

/// The answer of a writer that is polled for its next request.
pub(super) enum Step {
    /// The request.
    Request(Request),
    /// It filled a part of a request's buffer; poll again.
    Busy,
    /// Nothing now: it waits for a completion or for its next cycle.
    Waits,
}

/// A journal write whose buffer is being filled.
struct Half {
    buf: Buf,
    blocks: u64,
    made: u64,
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
    phase: WriterPhase,
    burst: Burst,
    /// Cycles begun so far.
    number: u64,
    /// Units submitted in the current phase: blocks, or files to flush.
    made: u64,
    flying: u32,
    slept_since: Time,
    begun: Time,
    due: Time,
    sleep: Span,
    wij_end: Time,
    data_end: Time,
    objects: Vec<ObjectId>,
    places: Vec<BlockTarget>,
    half: Option<Half>,
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
            phase: WriterPhase::Sleep,
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
            half: None,
            held: None,
        }
    }

    pub(super) fn phase(&self) -> WriterPhase {
        self.phase
    }

    pub(super) fn flying(&self) -> u32 {
        self.flying
    }

    pub(super) fn is_asleep(&self) -> bool {
        self.phase == WriterPhase::Sleep
    }

    pub(super) fn blocks_left(&self) -> u64 {
        match self.phase {
            WriterPhase::Sleep | WriterPhase::DataSync | WriterPhase::Clear => 0,
            WriterPhase::JournalSync => self.len,
            WriterPhase::Journal => (self.len + 1).saturating_sub(self.made),
            WriterPhase::Data => self.len - self.made,
        }
    }

    pub(super) fn cycle_so_far(&self, now: Time) -> Span {
        if self.is_asleep() { Span::ZERO } else { now.since(self.begun) }
    }

    /// When the next cycle is due; `None` during a cycle, and if no more cycles begin within the
    /// run.
    pub(super) fn wakes_at(&self) -> Option<Time> {
        let due = self.due_of(self.number + 1);
        let begins = due.max(self.slept_since);
        (self.is_asleep() && self.len > 0 && begins < self.start + self.runtime).then_some(due)
    }

    /// Cycles due within the run: the last one begins before its end.
    pub(super) fn cycles_due(&self) -> u64 {
        if self.len == 0 { 0 } else { self.runtime.as_nanos().saturating_sub(1) / self.period.as_nanos() }
    }

    /// The next request, if there is one.
    pub(super) fn next(&mut self, now: Time, layout: &Layout, buffers: &mut dyn Buffers) -> Step {
        if let Some(request) = self.held.take() {
            self.flying += 1;
            return Step::Request(request);
        }
        self.wake(now, layout);
        let request = match self.phase {
            WriterPhase::Sleep => None,
            WriterPhase::Journal => match self.journal(now, layout, buffers) {
                Step::Request(request) => Some(request),
                other => return other,
            },
            WriterPhase::Data => self.data(now, layout, buffers),
            WriterPhase::JournalSync | WriterPhase::DataSync => self.sync(now),
            WriterPhase::Clear => self.clear(now, layout, buffers),
        };
        let Some(request) = request else { return Step::Waits };
        self.flying += 1;
        Step::Request(request)
    }

    /// Returns its buffers at the end.
    pub(super) fn finish(&mut self, buffers: &mut dyn Buffers) {
        self.half.take().into_iter().for_each(|half| buffers.give(half.buf));
        if let Some(Request { op: Op::Write(buf), .. }) = self.held.take() {
            buffers.give(buf);
        }
    }

    /// The target refused the request for now.
    pub(super) fn put_back(&mut self, request: Request) {
        self.flying -= 1;
        self.held = Some(request);
    }

    /// Handles the completion of one of its requests; returns the cycle if that was the last of it.
    pub(super) fn ended(&mut self, end: Time, layout: &Layout) -> Option<Cycle> {
        self.flying -= 1;
        let all = match self.phase {
            WriterPhase::Sleep => 0,
            WriterPhase::Journal => self.len + 1,
            WriterPhase::Data => self.len,
            WriterPhase::JournalSync | WriterPhase::DataSync => self.objects.len() as u64,
            WriterPhase::Clear => 2,
        };
        if self.flying > 0 || self.held.is_some() || self.made < all {
            return None;
        }
        self.made = 0;
        self.phase = match self.phase {
            WriterPhase::Sleep => WriterPhase::Sleep,
            WriterPhase::Journal => {
                // The transaction journal is flushed together with the cycle's own.
                self.objects.clear();
                self.objects.push(layout.wij().0);
                self.objects.extend(layout.stream().map(|spot| spot.object).filter(|object| *object != layout.wij().0));
                WriterPhase::JournalSync
            }
            WriterPhase::JournalSync => {
                self.wij_end = end;
                WriterPhase::Data
            }
            WriterPhase::Data => {
                self.objects = layout.objects();
                WriterPhase::DataSync
            }
            WriterPhase::DataSync => {
                self.data_end = end;
                WriterPhase::Clear
            }
            WriterPhase::Clear => {
                self.slept_since = end;
                self.phase = WriterPhase::Sleep;
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
        // A cycle that became due during the previous one begins at that one's end, whenever that
        // is noticed.
        self.begun = due.max(self.slept_since);
        self.sleep = self.begun.since(self.slept_since);
        self.burst = Burst::new(layout.blocks(), self.len, self.seed ^ self.number.wrapping_mul(0xd6e8_feb8_6659_fd93));
        self.made = 0;
        self.phase = WriterPhase::Journal;
    }

    /// The next journal write: one at a time, in order. Its first block is the header. Its buffer
    /// is filled piece by piece while the previous write is in flight, so that due reads do not
    /// wait.
    fn journal(&mut self, now: Time, layout: &Layout, buffers: &mut dyn Buffers) -> Step {
        if self.made > self.len {
            return Step::Waits;
        }
        let is_header = self.made == 0;
        if self.half.is_none() {
            let first = self.made.saturating_sub(1);
            let last = if is_header { first } else { (first + self.wij_blocks).min(self.len) };
            self.places.clear();
            self.places.extend((first..last).map(|index| layout.place(self.burst.block(index), self.number)));
            let blocks = (last - first).max(1);
            let Some(buf) = buffers.take(blocks * BLOCK) else { return Step::Waits };
            self.half = Some(Half { buf, blocks, made: 0 });
        }
        let Some(half) = &mut self.half else { return Step::Waits };
        if half.made < half.blocks {
            let contents = match is_header {
                true => BufferContents::Header { blocks: self.len, generation: self.number },
                false => BufferContents::Blocks(&self.places[half.made as usize..]),
            };
            half.made += buffers.fill(&mut half.buf, half.made, contents);
            if half.made < half.blocks {
                return Step::Busy;
            }
        }
        if self.flying > 0 {
            return Step::Waits;
        }
        let Some(Half { buf, blocks, .. }) = self.half.take() else { return Step::Waits };
        let (object, base) = layout.wij();
        let at = base + self.made * BLOCK;
        self.made += blocks;
        Step::Request(write(object, at, buf, now))
    }

    /// The next write to the database: one for each idle writer.
    fn data(&mut self, now: Time, layout: &Layout, buffers: &mut dyn Buffers) -> Option<Request> {
        if self.flying >= self.writers || self.made >= self.len {
            return None;
        }
        let block = self.burst.block(self.made);
        let mut buf = buffers.take(BLOCK)?;
        buffers.fill(&mut buf, 0, BufferContents::Blocks(&[layout.place(block, self.number)]));
        self.made += 1;
        let (object, at) = layout.locate(block);
        Some(write(object, at, buf, now))
    }

    /// Flushes all objects of this phase concurrently.
    fn sync(&mut self, now: Time) -> Option<Request> {
        let &object = self.objects.get(self.made as usize)?;
        self.made += 1;
        Some(flush(object, now))
    }

    /// Clears the journal's header and makes that durable: a write and then a flush, which all
    /// storage supports.
    fn clear(&mut self, now: Time, layout: &Layout, buffers: &mut dyn Buffers) -> Option<Request> {
        if self.flying > 0 || self.made > 1 {
            return None;
        }
        let (object, at) = layout.wij();
        self.made += 1;
        if self.made == 2 {
            return Some(flush(object, now));
        }
        let Some(mut buf) = buffers.take(BLOCK) else {
            self.made = 0;
            return None;
        };
        buffers.fill(&mut buf, 0, BufferContents::Header { blocks: 0, generation: self.number });
        Some(write(object, at, buf, now))
    }
}

fn flush(object: ObjectId, now: Time) -> Request {
    Request { tag: 0, object, at: 0, len: 0, op: Op::Flush, fua: false, due: now }
}

fn write(object: ObjectId, at: u64, buf: Buf, now: Time) -> Request {
    Request { tag: 0, object, at, len: u64::from(buf.len()), op: Op::Write(buf), fua: false, due: now }
}
