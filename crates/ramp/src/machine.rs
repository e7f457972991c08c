//! One run: reads on schedule and write cycles at the same time, on one target, driven by the owner
//! of the clock.
//!
//! ```text
//!   reads   ─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─   on schedule, all the time
//!   cycle    sleep │ journal, sync │ N writers, sync │ clear │ sleep │ journal …
//!                  └ wake                              end ┘       └ wake, 80 s after the first
//! ```
//! A cycle that is not over when the next is due delays it; two never overlap. Response times of
//! reads count from when they were due, so storage that stalls cannot hide.

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
use stream::Stream;
use writer::{Step, Writer};

/// Tag of every read; the writer's tags are smaller. Several machines may share a target, which
/// leaves them 48 bits.
const READ: u64 = 1 << 47;
/// Pieces of writes that are made before reads are looked after again.
const STEPS_MAX: u32 = 4;

/// The class of writes to the write image journal.
const JOURNAL: usize = Tape::OWN;
/// The class of writes to the transaction journal; only a run with one has it.
const LOG: usize = JOURNAL + 1;

/// What a run left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RampOutcome {
    /// Target in total IOPS.
    pub target: u64,
    /// For how long reads were scheduled and cycles begun.
    pub runtime: Span,
    /// From the start until all of it had ended; never shorter than the run was meant to be, unless
    /// it was cut short.
    pub elapsed: Span,
    /// What its requests did: reads on schedule, single writes to the database, writes to the
    /// journal; writes to the transaction journal and its flushes, where there is one. The flushes
    /// of a cycle are told by its times alone.
    pub tape: Tape,
    /// For how long reads were overdue while every reader was at the storage, which gave none back.
    pub waited: Span,
    /// For how long reads were overdue while the storage had given readers back that this loop had
    /// not come to.
    pub behind: Span,
    /// Processor time of the thread that made the requests, and what it waited for a processor;
    /// whoever plays a run on a wall clock says it, in virtual time it is nothing.
    pub busy: Span,
    /// Synchronous writers that did it.
    pub writers: u32,
    /// The cycles that ended, in order.
    pub cycles: Vec<Cycle>,
    /// Cycles that were due within the run but never began.
    pub cycles_missed: u64,
    /// What ended the run early.
    pub failure: Option<Failure>,
    /// What the connections to the storage lost; as with `busy`, the player of the run fills it in.
    pub losses: Losses,
    /// It was stopped before its end.
    pub cut_short: bool,
}

impl RampOutcome {
    /// Whether it was the storage that held overdue reads back: for at least half of the time in
    /// which some were overdue, every reader was at the storage and this host was idle. All that
    /// the host was busy counts as if it had been then, so the storage is never blamed for what a
    /// processor may have done.
    pub fn storage_held(&self) -> bool {
        let overdue = self.waited + self.behind;
        overdue > Span::ZERO && self.waited.saturating_sub(self.busy) * 2 >= overdue
    }
}

/// A request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it was.
    pub kind: OpKind,
    /// On which file.
    pub object: ObjectId,
    /// How.
    pub fault: Fault,
    /// When, from the run's start.
    pub at: Span,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Since its start.
    pub elapsed: Span,
    /// What the writer does.
    pub phase: WriterPhase,
    /// Blocks of the current phase that are still to be written.
    pub blocks_left: u64,
    /// How long the current cycle has taken; zero in sleep.
    pub cycle: Span,
    /// Reads that have ended.
    pub reads: u64,
    /// Mean response of the reads so far.
    pub read_mean: Span,
    /// Cycles that have ended.
    pub cycles: u64,
}

/// A run under way.
pub struct CycleMachine {
    target: Box<dyn Target>,
    buffers: Box<dyn Buffers>,
    layout: Layout,
    schedule: Reads,
    writer: Writer,
    stream: Option<Stream>,
    /// What is due within this time is waited for awake.
    alert: Span,
    chance: Xoshiro256PlusPlus,
    readers: u32,
    reading: u32,
    start: Time,
    runtime: Span,
    last_end: Time,
    held: Option<Request>,
    /// Every reader was at the storage, and the schedule was not caught up with since.
    cap_met: bool,
    /// Reads are overdue since then, and whether it is the storage that they wait for.
    overdue: Option<(Time, bool)>,
    stopped: bool,
    /// The writer has more to make at once.
    more_writes: bool,
    outcome: RampOutcome,
    completions: Vec<Completion>,
}

impl CycleMachine {
    /// A run of `load` that starts at `start`; `number` tells its random choices from those of
    /// other runs.
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

    /// Waits awake for reads that follow one another within `alert`: on a wall clock, sleeping
    /// takes longer than that and would make them late. It costs a processor; slower reads are
    /// slept for.
    pub fn alert(mut self, alert: Span) -> CycleMachine {
        self.alert = if self.schedule.spacing() <= alert { alert } else { Span::ZERO };
        self
    }

    /// Drives the run to its end; `watch` is shown how it stands about every `every`, and ends it
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

    /// Begins nothing more; what is in flight still ends.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.outcome.cut_short = true;
    }

    /// How it stands.
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

    /// What it left.
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

    /// Whether reads that are due may be made.
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

    /// Notes whether reads are overdue behind this pass, and whether anybody but the storage could
    /// let them go.
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
                let failure = Failure { kind: completion.kind, object: completion.object, fault, at };
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

    /// The class that a request counts in.
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

    /// Makes the reads that are due.
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
        // The high half of draw × n: what is likelier than others is so by n / 2^64, too little to
        // be seen.
        let block = ((u128::from(self.chance.next_u64()) * u128::from(blocks)) >> 64) as u64;
        let (object, at) = self.layout.locate(block);
        Some(Request { tag: READ, object, at, len: crate::BLOCK, op: Op::Read, fua: false, due })
    }

    /// Makes the next writes; whether there are more to make at once.
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

    /// The same of the transaction journal, where there is one.
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
    /// Takes what ended, makes what is due, but no more writes than reads can wait for.
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

/// What all runs of a ramp share, and the seed that tells one from another.
#[derive(Clone, Copy, Debug)]
pub struct RunSetup {
    /// The test's numbers.
    pub constants: Constants,
    /// Length.
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
