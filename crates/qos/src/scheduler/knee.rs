//! How much best-effort work the device can use at once: its knee. More than that in flight makes nothing faster, only
//! everybody's requests slower, those of floors included. So while floors are in use the window grows no further, but
//! where all of them have ample room and feel nothing of it: there it opens unsearched.
//!
//! ```text
//!   throughput ▲        ╭────────────────      two levels take turns until it is plain whether the larger does more by
//!              │      ╭─╯ ▲                    a hundredth; if so it is kept and compared with one still larger, else
//!              │    ╭─╯   knee                 the smaller stays for a while
//!              └────────────────────────► in flight
//! ```
//!
//! A device's throughput wavers by more than the hundredth in question: collections of garbage, others on the machine.
//! So a level is not judged by one measurement but by pairs of them side by side, as many as their own spread asks for.

use block::{Span, Time};

use super::window::{Round, Standings, Window};

/// The search for the knee. Costs are in operations.
#[derive(Debug)]
pub(crate) struct Knee {
    /// The most that the window may be.
    pub cap: f64,
    meter: Meter,
    trial: Option<Trial>,
    /// When the next level is tried, and how long after a failure.
    try_at: Time,
    rest: Span,
    /// When floors last lowered the cap.
    lowered_at: Time,
    /// The throughput at this level when it was last found that more does not help.
    usual: f64,
}

/// What ends at one level.
#[derive(Debug, Default)]
struct Meter {
    /// Requests that were in flight when the level began: they belong to the one before.
    skip: u64,
    /// In 1/256 operations, how many requests, and since when.
    cost: u64,
    count: u64,
    since: Time,
}

/// A comparison of two levels.
#[derive(Debug)]
struct Trial {
    below: f64,
    above: f64,
    /// The throughput of the smaller one in this pair, while the larger is measured.
    first: Option<f64>,
    /// Logarithms of the ratios of the pairs, how many, and the sum of their squares.
    sum: f64,
    squares: f64,
    pairs: f64,
}

/// How a comparison stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Open,
    More,
    NoMore,
}

impl Knee {
    /// Half the queue of a SATA drive: a start from which few devices have far to go, and no floor suffers.
    pub const START: f64 = 16.0;
    /// How much more is in flight, of everything, at the next level, unless floors bound it.
    const STEP: f64 = 2.0;
    /// A next level nearer than this is not worth a comparison.
    const STEP_LEAST: f64 = 1.1;
    /// What floors keep of their room at a new level.
    const MARGIN: f64 = 1.25;
    /// A queue that takes longer is not tried: comparing would take as long as floors are judged by.
    const LONGEST: Span = Span::from_millis(100);
    /// A level is measured by at least so many requests, those in flight twice, and for so long.
    const SAMPLES: f64 = 64.0;
    const LEAST: Span = Span::from_millis(30);
    /// What lowering the cap does shows after so long.
    const EFFECT: Span = Span::from_millis(200);
    const REST: Span = Span::from_secs(2);
    const REST_MAX: Span = Span::from_secs(16);

    pub fn new() -> Knee {
        Knee {
            cap: Knee::START,
            meter: Meter::default(),
            trial: None,
            try_at: Time::ZERO,
            rest: Knee::REST,
            lowered_at: Time::ZERO,
            usual: 0.0,
        }
    }

    /// A request of this cost ended.
    #[inline]
    pub fn ended(&mut self, now: Time, cost: u64) {
        let meter = &mut self.meter;
        if meter.skip > 0 {
            meter.skip -= 1;
            meter.since = now;
            return;
        }
        meter.cost += cost;
        meter.count += 1;
    }

    /// The window is less than the cap, or is not used up: nothing can be learned.
    pub fn pass(&mut self, now: Time) {
        if let Some(trial) = self.trial.take() {
            self.cap = trial.below;
        }
        self.meter = Meter { since: now, ..Meter::default() };
    }

    /// A floor is short: what is tried, is tried again later.
    pub fn give_up(&mut self, now: Time) {
        if self.trial.is_some() {
            self.rest(now);
        }
        self.pass(now);
    }

    /// Floors do not bear more than this, but not more often than the effect of the last time shows.
    pub fn lower(&mut self, now: Time, to: f64) {
        self.pass(now);
        if to < self.cap && now.since(self.lowered_at) >= Knee::EFFECT {
            (self.cap, self.lowered_at) = (to, now);
            self.rest(now);
        }
    }

    fn rest(&mut self, now: Time) {
        (self.try_at, self.rest) = (now + self.rest, (self.rest * 2).min(Knee::REST_MAX));
    }

    /// The window is at the cap and used up. More is tried only as far as floors have room for it; where they have ample
    /// room nothing is searched, the window opens.
    pub fn press(&mut self, now: Time, round: &Round) {
        let &Round { in_flight, request, .. } = round;
        if round.standings.has_ample_room() {
            self.pass(now);
            self.cap = (self.cap + 0.25 * in_flight).min(Window::MOST);
            return;
        }
        let requests = in_flight / request.max(1.0);
        let count = self.meter.count as f64;
        let time = now.since(self.meter.since);
        if self.meter.skip > 0 || count < Knee::SAMPLES.max(2.0 * requests) || time < Knee::LEAST {
            return;
        }
        let throughput = self.meter.cost as f64 / 256.0 / time.as_secs_f64();
        let chance = 0.5 / count.sqrt();
        match self.trial.take() {
            None => {
                let changed = (throughput / self.usual - 1.0).abs() > 0.1 + 2.0 * chance;
                if now >= self.try_at || changed {
                    self.compare_with_more(round, throughput);
                }
            }
            Some(mut trial) => {
                let standing = trial.note(throughput, chance);
                self.cap = if trial.first.is_some() { trial.above } else { trial.below };
                match standing {
                    Standing::Open => self.trial = Some(trial),
                    Standing::More => {
                        (self.cap, self.rest) = (trial.above, Knee::REST);
                        self.compare_with_more(round, throughput);
                    }
                    Standing::NoMore => {
                        (self.cap, self.usual) = (trial.below, throughput);
                        self.rest(now);
                    }
                }
            }
        }
        let skip = if self.trial.is_some() { requests as u64 } else { 0 };
        self.meter = Meter { skip, since: now, ..Meter::default() };
    }

    /// Begins to compare this level with the next, if floors have room for it.
    fn compare_with_more(&mut self, round: &Round, throughput: f64) {
        let &Round { in_flight, request, standings: Standings { room, .. }, .. } = round;
        let longest = self.cap + throughput * Knee::LONGEST.as_secs_f64() - in_flight;
        let bound = (self.cap + in_flight * (room / Knee::MARGIN - 1.0)).min(longest);
        // At least one request more, or nothing changes.
        let above = (self.cap + (Knee::STEP - 1.0) * in_flight).min(bound);
        let least = (self.cap * Knee::STEP_LEAST).max(self.cap + request);
        if above >= least {
            self.trial = Some(Trial { below: self.cap, above, first: None, sum: 0.0, squares: 0.0, pairs: 0.0 });
        }
    }
}

impl Trial {
    /// More than this, as a logarithm, is worth the longer queue.
    const GAIN: f64 = 0.01;
    /// How sure it must be, in deviations of the mean.
    const SURE: f64 = 2.0;
    /// After so many pairs it is taken as it stands.
    const PAIRS: f64 = 16.0;

    /// A level was measured, `chance` being what the count alone makes. The smaller comes first in each pair.
    fn note(&mut self, throughput: f64, chance: f64) -> Standing {
        let Some(first) = self.first.take() else {
            self.first = Some(throughput);
            return Standing::Open;
        };
        let ratio = (throughput / first).ln();
        (self.sum, self.squares, self.pairs) = (self.sum + ratio, self.squares + ratio * ratio, self.pairs + 1.0);
        let mean = self.sum / self.pairs;
        // Few pairs say little of their spread: as if there had been one more, off by a twentieth.
        let spread = (self.squares - self.pairs * mean * mean).max(0.0) + 0.0025;
        let deviation = (spread / self.pairs).max(2.0 * chance * chance).sqrt() / self.pairs.sqrt();
        match mean - Trial::GAIN {
            over if over > Trial::SURE * deviation => Standing::More,
            over if over < -Trial::SURE * deviation => Standing::NoMore,
            over if self.pairs >= Trial::PAIRS => {
                if over > 0.0 {
                    Standing::More
                } else {
                    Standing::NoMore
                }
            }
            _ => Standing::Open,
        }
    }
}
