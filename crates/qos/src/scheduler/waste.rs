//! What floors cost in vain. Holding others back is worth its cost as long as floors are met by it.
//! Where one is missed all the same, for whatever reason, the throughput lost meanwhile is added
//! up, and once it is too much nobody is held back for a while:
//!
//! ```text
//!   lost   ▲      ╭╮ budget: look, then let everything go            the device's throughput with nobody held back is
//!          │     ╱ ╲╲                                                  measured then: so it is known from there on what
//!          │   ╱     ╲╲  forgiven, the slower the more often          holding back costs, and where it costs nothing
//!          │ ╱         ╲╲___                                            it goes on at once
//!          └──────────────────────► time
//!            missed │ open │ tried again
//! ```
//!
//! Only the part of the loss that is in vain counts: all of it where a floor lacks much, little
//! where it is nearly held, none where it catches up. An attempt begins with the window as it was
//! before the look.
//!
//! A look is short, and the device may waver in it by more than what is to be told. So the finding
//! that holding back is free is trusted only as far as the look allows: after an even one for
//! seconds at once, after one that wavers for less than a second, and twice as long each time that
//! it is found again.

use block::{Span, Time};

use super::constants::{account, size};
use super::corrections::{Correction, Corrections};
use super::round::Round;

/// The account of it. Throughputs are costs completed per second.
#[derive(Debug, Default)]
pub(crate) struct Waste {
    /// Seconds of the whole throughput.
    spent: f64,
    /// Seconds of rounds whose cost is in `spent` as assumed, until a look shows it.
    assumed: f64,
    /// How often the budget was used up since floors were last met for long.
    failures: f64,
    /// A look since then showed that holding back costs something.
    looked: bool,
    /// The throughput while others were held back, fading.
    held: f64,
    /// The most best effort in flight meanwhile, fading.
    most: f64,
    /// The throughput while nobody was held back, the seconds over which that was measured, when
    /// last, and for how many seconds from then on it is valid.
    open: f64,
    weight: f64,
    seen: Time,
    lasts: f64,
    /// When a floor was last missed or tried again, and the seconds that the slowest looks back.
    missed: Time,
    memory: f64,
    /// The part of what holding back costs that is in vain, as far as is known.
    vain: f64,
}

/// A look at the device with nobody held back, or fewer than before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    since: Time,
    /// The window before it, in operations.
    pub size: f64,
    /// Other floors were met before it.
    pub others: bool,
    /// How many rounds, and how many seconds.
    rounds: f64,
    weight: f64,
    /// The sums of the throughput and of its square over them, weighted by time.
    sum: f64,
    squares: f64,
}

/// What a look shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookResult {
    /// Too early to say.
    Early,
    /// Holding back cost nothing, or less than the budget: it goes on.
    Cheap,
    /// It cost something: nobody is held back until that is forgiven.
    Dear,
    /// That has been forgiven.
    Forgiven,
}

impl Look {
    /// Begins now, with a window of this size, beside other floors that are met or not.
    pub fn new(since: Time, size: f64, others: bool) -> Look {
        Look { since, size, others, rounds: 0.0, weight: 0.0, sum: 0.0, squares: 0.0 }
    }

    fn add(&mut self, round: &Round) {
        self.rounds += 1.0;
        self.weight += round.time;
        self.sum += round.time * round.rate;
        self.squares += round.time * round.rate * round.rate;
    }

    fn mean(&self) -> f64 {
        self.sum / self.weight.max(1e-9)
    }

    /// How far the mean may be off by chance (the standard error), as a part of it.
    fn error(&self) -> f64 {
        let mean = self.mean().max(1e-9);
        let variance = (self.squares / self.weight.max(1e-9) - mean * mean).max(0.0);
        (variance / self.rounds.max(1.0)).sqrt() / mean
    }
}

impl Waste {
    /// Ends a round in which others were held back or not. True if too much was lost in vain by
    /// now.
    pub fn note(&mut self, now: Time, round: &Round, held_back: bool) -> bool {
        self.forgive(round);
        if round.missed > 0.0 {
            (self.missed, self.memory) = (now, round.standings.memory);
            self.vain = (round.missed / account::IN_VAIN).powi(2).min(1.0);
        } else if round.standings.all_have_their_due() {
            // They catch up, which is what the others are held back for.
            self.vain = 0.0;
        }
        let since = now.since(self.missed);
        if self.missed == Time::ZERO || since >= account::RECENT {
            if since >= account::FORGET {
                (self.failures, self.looked, self.lasts) = (0.0, false, 0.0);
            }
            return false;
        }
        if held_back {
            self.add(now, round);
        }
        held_back && self.is_used_up()
    }

    fn is_used_up(&self) -> bool {
        self.spent >= account::BUDGET.max(self.memory)
    }

    fn add(&mut self, now: Time, round: &Round) {
        let part = if self.held == 0.0 { 1.0 } else { (round.time / account::HELD_MEMORY).min(1.0) };
        self.held += (round.rate - self.held) * part;
        self.most = round.flow.best_effort_max.max(self.most * (1.0 - part));
        let time = round.time * self.vain;
        let cost = match self.is_known(now) {
            // In some rounds a device that wavers does more than usual. That is no gain: it makes
            // up for the rounds in which it did less.
            true => 1.0 - round.rate / self.open.max(1e-9),
            false => {
                self.assumed += time;
                account::UNKNOWN
            }
        };
        self.spent = (self.spent + cost * time).max(0.0);
    }

    /// What is forgiven per second.
    fn forgiven(&self, corrections: Corrections) -> f64 {
        let most = if corrections.has(Correction::Forgiven) { account::FAILURES_MOST } else { 1.0 };
        account::FORGIVEN / self.failures.clamp(1.0, most)
    }

    /// Lets the floors that cost it go; a part of it stays in the account against the others.
    /// Returns the time in which all of it would be forgiven.
    pub fn let_go(&mut self, corrections: Corrections) -> Span {
        let spent = std::mem::replace(&mut self.spent, account::LEFT);
        Span::from_secs_f64(spent / self.forgiven(corrections))
    }

    fn forgive(&mut self, round: &Round) {
        self.spent = (self.spent - self.forgiven(round.corrections) * round.time).max(0.0);
        // No more of what was assumed can be replaced than is still in the account.
        self.assumed = self.assumed.min(self.spent / account::UNKNOWN);
    }

    /// Whether it is known what the device does with nobody held back.
    fn is_known(&self, now: Time) -> bool {
        now.since(self.seen).as_secs_f64() < self.lasts
    }

    /// Begins a look. Returns the window for it, given the present size and whether some floors are
    /// kept beside.
    pub fn begin_look(&mut self, now: Time, size: f64, kept: bool) -> f64 {
        let known = self.is_known(now);
        if !known {
            self.weight = 0.0;
        }
        if self.failures > 0.0 {
            // It is known to cost much, so there is nothing to find out by degrees.
            return size::MOST;
        }
        self.weight = self.weight.min(account::BEFORE);
        // A window that swings had more in flight a moment ago, and a look at less would show no
        // cost; but floors that are kept would feel it.
        let most = if kept { size } else { size.max(self.most) };
        account::WIDER * most + account::MORE
    }

    /// Begins an attempt: floors are tried again. They were not met meanwhile, so the cost counts
    /// as in vain until they are.
    pub fn begin_attempt(&mut self, now: Time) {
        self.missed = now;
    }

    /// Ends a round in which nobody was held back (`all`), or others less than before.
    pub fn look(&mut self, now: Time, round: &Round, look: &mut Look, all: bool) -> LookResult {
        self.forgive(round);
        look.add(round);
        self.weight += round.time;
        self.open += (round.rate - self.open) * (round.time / self.weight.max(1e-9)).min(1.0);
        self.weight = self.weight.min(account::OPEN_MEMORY);
        self.seen = now;
        if now.since(look.since) < account::LOOK {
            return LookResult::Early;
        }
        if self.held > 0.0 && self.is_cheap(look, round.corrections) {
            return LookResult::Cheap;
        }
        if all {
            // A look with some still held back says nothing about none.
            self.lasts = self.lasts.max((account::KNOWN * look.weight).min(account::KNOWN_MOST));
        }
        if self.spent > 0.0 { LookResult::Dear } else { LookResult::Forgiven }
    }

    /// Whether the first result of a look is that others are held back again at once.
    fn is_cheap(&mut self, look: &Look, corrections: Corrections) -> bool {
        let cost_beside = |open: f64| (1.0 - self.held / open.max(1e-9)).clamp(0.0, 1.0);
        // By this look alone, since the device may have become slower since the last. After a
        // failure there is a longer measurement too, and both must agree.
        let cost = cost_beside(look.mean());
        let free = cost <= account::COST_FREE && (self.failures == 0.0 || cost_beside(self.open) <= account::COST_FREE);
        let assumed = std::mem::take(&mut self.assumed);
        self.held = 0.0;
        if free && corrections.has(Correction::Free) {
            self.spent = 0.0;
            let even = look.error() < account::EVEN || !corrections.has(Correction::Even);
            let first = if even { account::KNOWN * look.weight } else { account::FIRST };
            self.lasts = (2.0 * self.lasts).clamp(first, account::KNOWN_MOST);
            return true;
        }
        // Floors that were met until now were short for a moment: the measured cost replaces the
        // assumed one. If they go on being missed, the look was too narrow to show all of the cost,
        // and it is assumed again.
        let is_first = !std::mem::replace(&mut self.looked, true);
        let is_little = is_first && cost <= account::COST_LITTLE && corrections.has(Correction::First);
        self.lasts = 0.0;
        if is_little {
            self.spent = (self.spent + assumed * (cost - account::UNKNOWN)).max(0.0);
            self.weight = 0.0;
        }
        let goes_on = is_little && !self.is_used_up();
        self.failures += f64::from(u8::from(!goes_on));
        goes_on
    }
}
