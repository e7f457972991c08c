//! One run: reads on schedule and write cycles at the same time, on one target, driven by the owner
//! of the clock.
//!
//! ```text
//!   reads   ─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─   on schedule, all the time
//!   cycle    sleep │ journal, sync │ N writers, sync │ clear │ sleep │ journal …
//!                  └ wake                              end ┘       └ wake, 80 s after the first
//! ```
//! A cycle that is not finished when the next is due delays it; two never overlap. Response times
//! of reads count from when they were due, so stalls of the storage are visible.

mod setup;
mod stream;
mod writer;

pub use setup::{BlockTarget, BufferContents, Buffers, DataFile, Layout, NoContents, SetupError, Spot};
pub use writer::WriterPhase;

use crate::cycle::Cycle;
use crate::ladder::RampLoad;
use crate::reads::Reads;
use crate::settings::{Constants, RampSettings};
use block::{
    Actor, Completion, Driver, Fault, ObjectId, Op, OpKind, Request, Span, Submitted, Target, Time, Wait, Wakeup, drive,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stats::job::Losses;
use stats::run::Class;
use stats::{Direction, Ended, Noted, Tape};
use std::sync::Arc;
use stream::Stream;
use writer::{Step, Writer};

/// Tag of every read; the writer's tags are smaller. Several machines may share a target, which
/// leaves 48 bits for tags.
const READ: u64 = 1 << 47;
/// Number of buffer pieces that are filled before reads are checked again.
const STEPS_MAX: u32 = 4;

/// The class of writes to the write image journal.
const JOURNAL: usize = Tape::OWN;
/// The class of writes to the transaction journal; only a run with one has it.
const LOG: usize = JOURNAL + 1;

/// The outcome of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RampOutcome {
    /// Target in total IOPS.
    pub target: u64,
    /// How long reads were scheduled and cycles begun.
    pub runtime: Span,
    /// From the start until everything had completed; at least the planned length, unless the run
    /// was cut short.
    pub elapsed: Span,
    /// The results of its requests: scheduled reads, single writes to the database, writes to the
    /// journal; writes to the transaction journal and its flushes, if there is one. The flushes of
    /// a cycle are only in the cycle's times.
    pub tape: Tape,
    /// Time in which reads were overdue while all readers waited for the storage.
    pub waited: Span,
    /// Time in which reads were overdue while the storage had completed reads that this loop had
    /// not yet handled.
    pub behind: Span,
    /// Processor time of the thread that made the requests, and its time waiting for a processor;
    /// set by the caller on a wall clock, zero in virtual time.
    pub busy: Span,
    /// Number of synchronous writers.
    pub writers: u32,
    /// The completed cycles, in order.
    pub cycles: Vec<Cycle>,
    /// Cycles that were due within the run but never began.
    pub cycles_missed: u64,
    /// The failure that ended the run early.
    pub failure: Option<Failure>,
    /// Connections to the storage that were lost; as with `busy`, set by the caller.
    pub losses: Losses,
    /// Whether it was stopped before its end.
    pub cut_short: bool,
}

impl RampOutcome {
    /// Whether the storage delayed the overdue reads: in at least half of the time in which some
    /// were overdue, all readers waited for the storage and this host was idle. All busy time of
    /// the host is counted against that time, so that the storage is never blamed for delays that
    /// the processor may have caused.
    pub fn storage_held(&self) -> bool {
        let overdue = self.waited + self.behind;
        overdue > Span::ZERO && self.waited.saturating_sub(self.busy) * 2 >= overdue
    }
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of request.
    pub kind: OpKind,
    /// The file.
    pub object: ObjectId,
    /// The fault.
    pub fault: Fault,
    /// Why, where the storage says it.
    pub why: Option<Arc<str>>,
    /// When, from the run's start.
    pub at: Span,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Since its start.
    pub elapsed: Span,
    /// The phase of the writer.
    pub phase: WriterPhase,
    /// Blocks of the current phase that are still to be written.
    pub blocks_left: u64,
    /// How long the current cycle has taken; zero in sleep.
    pub cycle: Span,
    /// Completed reads.
    pub reads: u64,
    /// Mean response time of the reads so far.
    pub read_mean: Span,
    /// Completed cycles.
    pub cycles: u64,
}

/// A run in progress.
pub struct CycleMachine {
    target: Box<dyn Target>,
    buffers: Box<dyn Buffers>,
    layout: Layout,
    schedule: Reads,
    writer: Writer,
    stream: Option<Stream>,
    /// Requests due within this time are waited for by polling.
    alert: Span,
    chance: Xoshiro256PlusPlus,
    readers: u32,
    reading: u32,
    start: Time,
    runtime: Span,
    last_end: Time,
    held: Option<Request>,
    /// All readers waited for the storage, and the schedule has not been caught up since.
    cap_met: bool,
    /// Since when reads are overdue, and whether they wait for the storage.
    overdue: Option<(Time, bool)>,
    stopped: bool,
    /// The writer has more to do immediately.
    more_writes: bool,
    outcome: RampOutcome,
    completions: Vec<Completion>,
}

impl CycleMachine {
    /// A run of `load` that starts at `start`; `number` gives each run its own random choices.
    ///
    /// # Errors
    /// The data or the journal is too small for the burst.
    pub fn new(
        target: Box<dyn Target>,
        buffers: Box<dyn Buffers>,
        layout: Layout,
        load: &RampLoad,
        run: &RunSetup,
        start: Time,
    ) -> Result<CycleMachine, SetupError> {
        layout.check(load.burst)?;
        let RunSetup { constants, runtime, seed } = *run;
        let stream = layout.stream().filter(|_| constants.journal.0 > 0);
        let schedule = Reads::new(start, load.target, load.read_percent, runtime);
        let noted = Noted { slices: Some(Span::SECOND), lateness: true, ..Noted::default() };
        let mut tape = Tape::new(start, noted);
        tape.add(Class::JOURNAL);
        stream.iter().for_each(|_| _ = tape.add(Class::LOG));
        tape.punctuality.scheduled = schedule.due().is_some();
        Ok(CycleMachine {
            stream: stream.map(|spot| Stream::new(spot, constants.journal.0, start, runtime)),
            alert: Span::ZERO,
            target,
            buffers,
            schedule,
            writer: Writer::new(load.burst, &constants, seed, start, runtime),
            chance: Xoshiro256PlusPlus::seed_from_u64(seed),
            layout,
            readers: constants.readers,
            reading: 0,
            start,
            runtime,
            last_end: start,
            held: None,
            cap_met: false,
            overdue: None,
            stopped: false,
            more_writes: false,
            outcome: RampOutcome {
                target: load.target,
                runtime,
                tape,
                writers: constants.writers,
                ..RampOutcome::default()
            },
            completions: Vec::new(),
        })
    }

    /// Polls for reads that follow one another within `alert`: on a wall clock, sleeping takes
    /// longer than that and would make them late. It uses a whole processor; for slower reads the
    /// thread sleeps.
    pub fn alert(mut self, alert: Span) -> CycleMachine {
        self.alert = if self.schedule.spacing() <= alert { alert } else { Span::ZERO };
        self
    }

    /// Drives the run to its end; `watch` gets the progress about every `every`, and ends the run
    /// by returning false.
    pub fn run(
        mut self,
        driver: &mut dyn Driver,
        every: Span,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> RampOutcome {
        let mut next_look = driver.now() + every;
        let look = |now, machines: &mut [CycleMachine]| {
            if now >= next_look {
                next_look = now + every;
                for machine in machines {
                    if !watch(&machine.progress(now)) {
                        machine.stop();
                    }
                }
            }
            Wait::Until(next_look)
        };
        let end = drive(driver, std::slice::from_mut(&mut self), look);
        self.finish(end)
    }

    /// Submits nothing more; requests in flight still complete.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.outcome.cut_short = true;
    }

    /// The progress.
    pub fn progress(&self, now: Time) -> Progress {
        Progress {
            elapsed: now.since(self.start),
            phase: self.writer.phase(),
            blocks_left: self.writer.blocks_left(),
            cycle: self.writer.cycle_so_far(now),
            reads: self.outcome.tape[Direction::Read].ops,
            read_mean: self.outcome.tape[Direction::Read].response.mean(),
            cycles: self.outcome.cycles.len() as u64,
        }
    }

    /// The outcome.
    pub fn finish(mut self, now: Time) -> RampOutcome {
        let shortest = if self.stopped { now } else { self.start + self.runtime };
        let end = self.last_end.max(shortest);
        self.outcome.elapsed = end.since(self.start);
        self.outcome.tape.finish(end, end);
        if !self.stopped {
            self.outcome.tape.punctuality.never_sent = self.schedule.all() - self.schedule.made();
            self.outcome.cycles_missed = self.writer.cycles_due().saturating_sub(self.outcome.cycles.len() as u64);
        }
        self.writer.finish(&mut *self.buffers);
        if let Some(stream) = self.stream {
            stream.finish(&mut *self.buffers);
        }
        self.outcome
    }

    /// Whether due reads may be submitted.
    fn reads(&self, now: Time) -> bool {
        !self.stopped && now < self.start + self.runtime && self.reading < self.readers && self.held.is_none()
    }

    /// Counts the time since the last pass if reads were overdue then.
    #[inline]
    fn count_overdue(&mut self, now: Time) {
        let Some((since, storage)) = self.overdue.take() else { return };
        let passed = now.min(self.start + self.runtime).since(since);
        *(if storage { &mut self.outcome.waited } else { &mut self.outcome.behind }) += passed;
    }

    /// Notes whether reads are overdue after this pass, and whether only the storage can release
    /// them.
    #[inline]
    fn note_overdue(&mut self, now: Time) {
        let due = self.held.is_some() || self.schedule.due().is_some_and(|due| due <= now);
        if due && !self.stopped && now < self.start + self.runtime {
            self.overdue = Some((now, !self.more_writes && self.target.next_wakeup() != Wakeup::Now));
        }
    }

    fn take(&mut self, now: Time) {
        let mut completions = std::mem::take(&mut self.completions);
        self.target.poll(now, &mut completions);
        for mut completion in completions.drain(..) {
            if let Some(buf) = completion.buf.take() {
                self.buffers.give(buf);
            }
            self.last_end = self.last_end.max(completion.end);
            let class = self.class_of(&completion);
            let tape = &mut self.outcome.tape;
            if let Err(fault) = completion.result {
                class.into_iter().for_each(|class| tape.failed(class, false));
                let at = completion.end.since(self.start);
                let why = completion.why().cloned();
                let failure = Failure { kind: completion.kind, object: completion.object, fault, why, at };
                self.outcome.failure.get_or_insert(failure);
                self.stopped = true;
            } else if let Some(class) = class {
                tape.ended(&Ended::of(class, &completion));
            }
            if completion.tag & READ != 0 {
                self.reading -= 1;
            } else if completion.tag & Stream::TAG != 0 {
                self.stream.iter_mut().for_each(|stream| stream.ended(&completion));
            } else if let Some(cycle) = self.writer.ended(completion.end, &self.layout) {
                self.outcome.cycles.push(cycle);
            }
        }
        self.completions = completions;
    }

    /// The class in which a request is counted.
    fn class_of(&self, completion: &Completion) -> Option<usize> {
        let is_write = completion.kind == OpKind::Write;
        if completion.tag & READ != 0 {
            return Some(Tape::READ);
        }
        if completion.tag & Stream::TAG != 0 {
            return Some(if is_write { LOG } else { Tape::FLUSH });
        }
        match self.writer.phase() {
            WriterPhase::Journal if is_write => Some(JOURNAL),
            WriterPhase::Data if is_write => Some(Tape::WRITE),
            _ => None,
        }
    }

    /// Submits the due reads.
    fn read(&mut self, now: Time) {
        while let Some(request) = self.next_read(now) {
            let due = request.due;
            match self.target.submit(now, request) {
                Submitted::Taken(_) => self.outcome.tape.made(due, now, self.cap_met),
                Submitted::Full(request) => {
                    self.reading -= 1;
                    self.held = Some(request);
                    break;
                }
            }
            self.held = None;
        }
    }

    fn next_read(&mut self, now: Time) -> Option<Request> {
        if self.stopped {
            self.held = None;
        }
        if let Some(request) = self.held.take() {
            self.reading += 1;
            return Some(request);
        }
        if self.stopped || now >= self.start + self.runtime {
            return None;
        }
        if self.reading >= self.readers {
            self.cap_met = true;
            return None;
        }
        let Some(due) = self.schedule.due().filter(|due| *due <= now) else {
            self.cap_met = false;
            return None;
        };
        self.schedule.advance();
        self.reading += 1;
        let blocks = self.layout.blocks();
        // The high half of draw × n: the bias of n / 2^64 is too small to be seen.
        let block = ((u128::from(self.chance.next_u64()) * u128::from(blocks)) >> 64) as u64;
        let (object, at) = self.layout.locate(block);
        Some(Request { tag: READ, object, at, len: crate::BLOCK, op: Op::Read, fua: false, due })
    }

    /// Submits the next writes; returns whether there are more to submit immediately.
    fn write(&mut self, now: Time) -> bool {
        if self.stopped {
            return false;
        }
        let more = self.write_stream(now);
        for _ in 0..STEPS_MAX {
            match self.writer.next(now, &self.layout, &mut *self.buffers) {
                Step::Waits => return more,
                Step::Busy => {}
                Step::Request(request) => match self.target.submit(now, request) {
                    Submitted::Taken(_) => {}
                    Submitted::Full(request) => {
                        self.writer.put_back(request);
                        return more;
                    }
                },
            }
        }
        true
    }

    /// The same for the transaction journal, if there is one.
    fn write_stream(&mut self, now: Time) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        if let Some(request) = stream.next(now, &mut *self.buffers)
            && let Submitted::Full(request) = self.target.submit(now, request)
        {
            stream.put_back(request);
        }
        stream.is_busy()
    }
}

impl Actor for CycleMachine {
    /// Handles completions and submits due requests, but no more writes than reads can wait for.
    fn pass(&mut self, now: Time) {
        self.count_overdue(now);
        self.take(now);
        self.read(now);
        self.more_writes = self.write(now);
        self.note_overdue(now);
    }

    fn next_wakeup(&self, now: Time) -> Wakeup {
        if self.more_writes {
            return Wakeup::Now;
        }
        let read = self.schedule.due().filter(|_| self.reads(now));
        let stream = self.stream.as_ref().and_then(Stream::wakes_at).filter(|at| *at > now);
        let writes = [self.writer.wakes_at(), stream].into_iter().flatten().filter(|_| !self.stopped);
        let end = Some(self.start + self.runtime).filter(|end| *end > now);
        let times = read.into_iter().chain(writes).chain(end).map(Wakeup::At);
        match times.fold(self.target.next_wakeup(), Wakeup::sooner) {
            Wakeup::At(at) if at > now && at <= now + self.alert => Wakeup::Now,
            other => other,
        }
    }

    fn is_over(&self, now: Time) -> bool {
        let stream = self.stream.as_ref().is_some_and(Stream::is_flying);
        let flying = self.reading > 0 || self.writer.flying() > 0 || self.held.is_some() || stream;
        let ended = now >= self.start + self.runtime && self.writer.is_asleep();
        !flying && (self.stopped || ended)
    }
}

/// The settings that all runs of a ramp share, and the seed of one run.
#[derive(Clone, Copy, Debug)]
pub struct RunSetup {
    /// The test's numbers.
    pub constants: Constants,
    /// Length of the run.
    pub runtime: Span,
    /// Seed.
    pub seed: u64,
}

impl RunSetup {
    /// Run `number` of a ramp.
    pub fn of(settings: &RampSettings, number: u64) -> RunSetup {
        let seed = settings.seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        RunSetup { constants: settings.constants, runtime: settings.runtime, seed }
    }

    /// The load before the first run.
    pub fn warm_up(settings: &RampSettings) -> RunSetup {
        RunSetup { runtime: settings.warm_up_length(), ..RunSetup::of(settings, u64::MAX) }
    }
}
