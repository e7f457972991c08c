//! What floors cost in vain. Holding others back is worth what it costs as long as the floors are
//! met by it. Where one is missed all the same, whatever the reason, the throughput that is lost
//! meanwhile is added up, and once it is too much nobody is held back for a while:
//!
//! ```text
//!   lost   ▲      ╭╮ budget: look, then let everything go            the device's throughput with nobody held back is
//!          │     ╱ ╲╲                                                  measured then: so it is known from there on what
//!          │   ╱     ╲╲  forgiven, the slower the more often          holding back costs, and where it costs nothing
//!          │ ╱         ╲╲___                                            it goes on at once
//!          └──────────────────────► time
//!            missed │ open │ tried again
//! ```

use block::Time;

use super::constants::account;
use super::window::Round;

/// The account of it. Throughputs are costs completed per second.
#[derive(Debug, Default)]
pub(crate) struct Waste {
    /// Seconds of the whole throughput.
    spent: f64,
    /// Seconds of rounds whose cost is in it as assumed, until a look shows it.
    assumed: f64,
    /// How often the budget was used up since floors were last met for long.
    failures: f64,
    /// The throughput while others were held back, fading.
    held: f64,
    /// The throughput while they were not, over how many seconds that was measured, and when last.
    open: f64,
    weight: f64,
    seen: Time,
    /// The same of this look alone.
    look: f64,
    look_weight: f64,
    /// When a floor was last missed, and how many seconds the slowest looks back.
    missed: Time,
    memory: f64,
}

/// What a look at the device with nobody held back shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Not enough yet.
    Early,
    /// Holding back cost nothing, or less than the budget: it goes on.
    Cheap,
    /// It cost something: nobody is held back until that is forgiven.
    Dear,
    /// It is.
    Forgiven,
}

impl Waste {
    /// A round is over in which others were held back or not. Whether too much was lost in vain by
    /// now.
    pub fn note(&mut self, now: Time, round: &Round, held_back: bool) -> bool {
        self.forgive(round.time);
        if round.missed {
            (self.missed, self.memory) = (now, round.standings.memory);
        }
        let since = now.since(self.missed);
        if self.missed == Time::ZERO || since >= account::RECENT {
            if since >= account::FORGET {
                self.failures = 0.0;
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
        self.held += (round.flow.total - self.held) * part;
        let cost = match self.is_known(now) {
            true => (1.0 - round.flow.total / self.open.max(1e-9)).clamp(account::GAIN_MOST, 1.0),
            false => {
                self.assumed += round.time;
                account::UNKNOWN
            }
        };
        self.spent = (self.spent + cost * round.time).max(0.0);
    }

    fn forgive(&mut self, time: f64) {
        self.spent =
            (self.spent - account::FORGIVEN / self.failures.clamp(1.0, account::FAILURES_MOST) * time).max(0.0);
        // Of what was assumed no more is left to be replaced than is still in the account.
        self.assumed = self.assumed.min(self.spent / account::UNKNOWN);
    }

    /// Whether it is known what the device does with nobody held back. A short look is soon
    /// forgotten.
    fn is_known(&self, now: Time) -> bool {
        now.since(self.seen).as_secs_f64() < (account::KNOWN * self.weight).min(account::KNOWN_MOST)
    }

    /// From now on it is looked at. Gives the window for that, in place of one of this size.
    pub fn begin_look(&mut self, now: Time, size: f64) -> f64 {
        self.weight = if self.is_known(now) { self.weight.min(account::BEFORE) } else { 0.0 };
        (self.look, self.look_weight) = (0.0, 0.0);
        account::WIDER * size + account::MORE
    }

    /// A round is over in which nobody was held back, or fewer than before.
    pub fn look(&mut self, now: Time, round: &Round, since: Time) -> Sight {
        self.forgive(round.time);
        for (mean, weight) in [(&mut self.open, &mut self.weight), (&mut self.look, &mut self.look_weight)] {
            *weight += round.time;
            *mean += (round.flow.total - *mean) * (round.time / weight.max(1e-9)).min(1.0);
        }
        self.weight = self.weight.min(account::OPEN_MEMORY);
        self.seen = now;
        if now.since(since) < account::LOOK {
            return Sight::Early;
        }
        if self.held > 0.0 {
            // By this look alone: the device may have become slower since the last.
            let cost = (1.0 - self.held / self.look.max(1e-9)).clamp(0.0, 1.0);
            let assumed = std::mem::take(&mut self.assumed);
            self.held = 0.0;
            if cost <= account::COST_FREE {
                self.spent = 0.0;
                return Sight::Cheap;
            }
            // Floors that were met until now were short for a moment: what that cost counts, in
            // place of what was assumed. Where they go on to be missed the look is too narrow to
            // show all of it, and it is assumed again.
            let is_little = self.failures == 0.0 && cost <= account::COST_LITTLE;
            self.failures += 1.0;
            if is_little {
                self.spent = (self.spent + assumed * (cost - account::UNKNOWN)).max(0.0);
                self.weight = 0.0;
                if !self.is_used_up() {
                    return Sight::Cheap;
                }
            }
        }
        if self.spent > 0.0 { Sight::Dear } else { Sight::Forgiven }
    }
}
