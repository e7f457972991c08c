//! A host whose processor is the limit: one thread takes all that waits, works on it, and answers
//! it in one go. The fixed cost of a turn is shared by its requests, so throughput flattens
//! gradually. With N outstanding
//!
//! ```text
//!   throughput ▲            ╭───────────  1 / request
//!   N / (turn  │      ╭─────╯
//!    + N ·     │   ╭──╯                   half of it at N = turn / request
//!    request)  └──┴───────────────────► N
//! ```
//!
//! Others on the same machine take the processor away now and then: an [`Absence`] of random length
//! after a time of random length, both exponential, by the seed.

use std::collections::VecDeque;

use block::{Bytes, Span, Time};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::simulated::{Job, Medium, or_never, withdraw};
use crate::work::Work;

/// A thread that serves in turns what has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The fixed cost of a turn.
    pub turn: Span,
    /// What a request adds to its turn.
    pub request: Span,
    /// A read or write of S bytes adds `request × (1 + S / size_unit)`, rounded up to the
    /// nanosecond. `None`: size costs nothing.
    pub size_unit: Option<Bytes>,
    /// Absences of the processor; `None` for none.
    pub absence: Option<Absence>,
    /// What a flush adds to its turn; a write with forced unit access adds this and its own.
    pub flush: Span,
    /// What a trim, zeroing or status request adds, whatever its length.
    pub trim: Span,
}

/// The times at which the processor is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// How long it is there, on average. Counted while it works.
    pub every: Span,
    /// How long it is away, on average.
    pub length: Span,
}

impl Absence {
    /// Draws how long it is there until the next absence.
    pub fn draw_until(&self, chance: &mut impl Rng) -> Span {
        exponential(chance, self.every)
    }

    /// Draws how long it is away.
    pub fn draw_length(&self, chance: &mut impl Rng) -> Span {
        exponential(chance, self.length)
    }
}

/// Exponential with this mean: `-ln(1 - u) × mean` for u in [0, 1).
fn exponential(chance: &mut impl Rng, mean: Span) -> Span {
    let u = (chance.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    Span::from_secs_f64(-(1.0 - u).ln() * mean.as_secs_f64())
}

impl Host {
    /// What requests add to their turn.
    fn work(&self) -> Work {
        let &Host { request, size_unit, flush, trim, .. } = self;
        Work { read: request, write: request, size_unit, flush, trim }
    }
}

/// The thread at work.
#[derive(Debug)]
pub(crate) struct Thread {
    spec: Host,
    chance: Xoshiro256PlusPlus,
    waiting: VecDeque<Job>,
    /// The turn under way, and when it ends.
    turn: Vec<u32>,
    ends: Option<Time>,
    /// Work left until the processor is taken away.
    until_absence: Span,
    percent: u32,
}

impl Thread {
    pub(crate) fn new(spec: Host, seed: u64) -> Thread {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let until_absence = spec.absence.map_or(Span::MAX, |absence| absence.draw_until(&mut chance));
        Thread { spec, chance, waiting: VecDeque::new(), turn: Vec::new(), ends: None, until_absence, percent: 100 }
    }

    /// Wakes the thread a moment later, so that requests of one instant go in one turn.
    fn wake(&mut self, now: Time) {
        if self.ends.is_none() && self.percent > 0 && !self.waiting.is_empty() {
            self.ends = Some(now + Span::from_nanos(1));
        }
    }

    /// Begins a turn with all that waits.
    fn begin(&mut self, now: Time) {
        if self.waiting.is_empty() || self.percent == 0 {
            return;
        }
        let each = self.spec.work();
        let work = self.waiting.iter().fold(self.spec.turn, |sum, job| sum + each.of(job));
        self.turn.extend(self.waiting.drain(..).map(|job| job.slot));
        let work = Span::from_nanos((u128::from(work.as_nanos()) * 100).div_ceil(u128::from(self.percent)) as u64);
        let away = self.absences(work);
        self.ends = Some(now + work + away);
    }

    /// How long the processor is away while it does so much work.
    fn absences(&mut self, work: Span) -> Span {
        let Some(absence) = self.spec.absence else { return Span::ZERO };
        let (mut left, mut away) = (work, Span::ZERO);
        while left >= self.until_absence {
            left = left.saturating_sub(self.until_absence);
            away += absence.draw_length(&mut self.chance);
            // At least a nanosecond of work, or it would be away for ever.
            self.until_absence = absence.draw_until(&mut self.chance).max(Span::from_nanos(1));
        }
        self.until_absence = self.until_absence.saturating_sub(left);
        away
    }
}

impl Medium for Thread {
    fn arrive(&mut self, now: Time, job: Job) {
        self.waiting.push_back(job);
        self.wake(now);
    }

    fn next_event(&self) -> Time {
        or_never(self.ends)
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        if self.ends.is_some_and(|ends| ends <= now) {
            self.ends = None;
            if self.turn.is_empty() {
                return self.begin(now);
            }
            // Requests that its answers bring at once go in the next turn with all that waits.
            ended.append(&mut self.turn);
            self.wake(now);
        }
    }

    fn withdraw(&mut self, _now: Time, slot: u32) -> bool {
        withdraw(&mut self.waiting, slot)
    }

    /// Sets the speed of the processor from the next turn on.
    fn scale(&mut self, now: Time, percent: u32) {
        self.percent = percent;
        self.wake(now);
    }
}
