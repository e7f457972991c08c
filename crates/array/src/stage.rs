//! A stage that requests pass on their way down: a medium of its own, with what follows behind it.
//!
//! ```text
//!   ──► [stage] ──► below ──►        the stage's end is the arrival below; the end below is the end
//! ```
//! A controller is parallel servers used in this way; limits with credit are a cloud volume used
//! so.

use block::{Bytes, Span, Time};

use crate::device::{DeviceError, none_zero};
use crate::simulated::{Job, Medium};
use crate::work::Work;

/// Processors on which every request costs some time, first come first served. With c cores and a
/// cost of s seconds they do c / s requests a second (M/D/c). Where reads go first, the waits of
/// M/M/1 are Cobham's: with W0 the work under way, reads wait `W0 / (1 - u_reads)` and writes `W0 /
/// ((1 - u_reads)(1 - u))` (Operations Research 2, 1954).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// How many requests are worked on at once.
    pub cores: u32,
    /// What a read of no size costs.
    pub read: Span,
    /// What a write of no size costs.
    pub write: Span,
    /// A read or write of S bytes costs `× (1 + S / size_unit)`, rounded up to the nanosecond.
    /// `None`: size costs nothing.
    pub size_unit: Option<Bytes>,
    /// What a flush costs; a write with forced unit access costs this much more.
    pub flush: Span,
    /// What a trim, zeroing or status request costs.
    pub trim: Span,
    /// Whether no write begins while a read waits; one that has begun is not interrupted.
    pub reads_first: bool,
}

impl Controller {
    pub(crate) fn work(&self) -> Work {
        let &Controller { read, write, size_unit, flush, trim, .. } = self;
        Work { read, write, size_unit, flush, trim }
    }

    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        let unit = self.size_unit.map_or(1, |unit| unit.0);
        let fields = [("cores", u64::from(self.cores)), ("size_unit", unit)];
        none_zero("controller", &fields)
    }
}

impl Default for Controller {
    /// Two cores, 20 µs for a small request: 100 000 a second.
    fn default() -> Controller {
        let each = Span::from_micros(20);
        let small = Span::from_micros(5);
        Controller { cores: 2, read: each, write: each, size_unit: None, flush: small, trim: small, reads_first: false }
    }
}

/// The medium behind a stage, with the time of its next event. Asking for that through all levels
/// at each event was most of what an event cost.
#[derive(Debug)]
pub(crate) struct Below<M = Box<dyn Medium>> {
    medium: M,
    next: Time,
}

impl<M: Medium> Below<M> {
    pub(crate) fn new(medium: M) -> Below<M> {
        Below { next: medium.next_event(), medium }
    }

    pub(crate) fn arrive(&mut self, now: Time, job: Job) {
        self.medium.arrive(now, job);
        self.next = self.medium.next_event();
    }

    pub(crate) fn next_event(&self) -> Time {
        self.next
    }

    pub(crate) fn next_end(&self) -> Time {
        self.medium.next_end()
    }

    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.next <= now
    }

    pub(crate) fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        self.medium.step(now, ended);
        self.next = self.medium.next_event();
    }

    pub(crate) fn withdraw(&mut self, now: Time, slot: u32) -> bool {
        let gone = self.medium.withdraw(now, slot);
        self.next = self.medium.next_event();
        gone
    }

    pub(crate) fn scale(&mut self, now: Time, percent: u32) {
        self.medium.scale(now, percent);
        self.next = self.medium.next_event();
    }
}

/// A stage and what follows it.
#[derive(Debug)]
pub(crate) struct Before<S> {
    stage: S,
    below: Below,
    /// By slot: the job while it is in the stage.
    inside: Vec<Option<Job>>,
    passed: Vec<u32>,
}

impl<S: Medium> Before<S> {
    pub(crate) fn new(stage: S, below: Box<dyn Medium>) -> Before<S> {
        Before { stage, below: Below::new(below), inside: Vec::new(), passed: Vec::new() }
    }
}

impl<S: Medium> Medium for Before<S> {
    fn arrive(&mut self, now: Time, job: Job) {
        let slot = job.slot as usize;
        if self.inside.len() <= slot {
            self.inside.resize(slot + 1, None);
        }
        self.inside[slot] = Some(job);
        self.stage.arrive(now, job);
    }

    fn next_event(&self) -> Time {
        self.stage.next_event().min(self.below.next_event())
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        if self.stage.next_event() <= now {
            let mut passed = std::mem::take(&mut self.passed);
            self.stage.step(now, &mut passed);
            for slot in passed.drain(..) {
                let job = self.inside[slot as usize].take().expect("a stage ends what is inside it");
                self.below.arrive(now, job);
            }
            self.passed = passed;
        }
        if self.below.is_due(now) {
            self.below.step(now, ended);
        }
    }

    fn withdraw(&mut self, now: Time, slot: u32) -> bool {
        match self.inside[slot as usize] {
            Some(_) if self.stage.withdraw(now, slot) => {
                self.inside[slot as usize] = None;
                true
            }
            Some(_) => false,
            None => self.below.withdraw(now, slot),
        }
    }

    fn scale(&mut self, now: Time, percent: u32) {
        self.stage.scale(now, percent);
        self.below.scale(now, percent);
    }
}
