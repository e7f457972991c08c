//! What an owner is held to: all of its floor, or a part of it.

use block::Time;

use super::constants::{attempt, size};
use super::corrections::Correction;
use super::floor::{FloorControl, Standing};

/// What an owner is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Held {
    /// All of its floor.
    Whole,
    /// A part of it, because its owner has too few requests outstanding to get more. It was given
    /// up with a window of this size.
    Refining {
        part: f64,
        knee: f64,
        /// What it gets there is measured until then.
        until: Time,
    },
    /// The same, once that is known.
    GivenUp { part: f64, knee: f64 },
    /// Others are not held back for it: that was in vain, while other floors were met. Its clock
    /// gives it this part.
    LetGo { part: f64 },
}

impl Held {
    /// The part of its floor.
    pub fn part(&self) -> f64 {
        match *self {
            Held::Whole => 1.0,
            Held::Refining { part, .. } | Held::GivenUp { part, .. } | Held::LetGo { part } => part,
        }
    }
}

impl FloorControl {
    /// The part of its floor that it is held to.
    pub fn part(&self) -> f64 {
        self.held.part()
    }

    /// Gives it up: from now on it is held to this part of what it was held to so far. The window
    /// is at the knee.
    pub fn give_up(&mut self, now: Time, knee: f64, got: f64, attempt: u32) {
        let part = self.part();
        self.held = match self.corrections.has(Correction::Refine) {
            true => Held::Refining { part, knee, until: now + attempt::REFINE },
            false => Held::GivenUp { part, knee },
        };
        self.hold_to(got);
        self.gauge.forget_second();
        self.attempt = attempt;
    }

    /// Holds it to this part of what it was held to so far.
    pub fn hold_to(&mut self, got: f64) {
        if let Held::Refining { part, .. } | Held::GivenUp { part, .. } = &mut self.held {
            *part = (*part * got.max(attempt::STEP_LEAST)).clamp(attempt::LEAST, 1.0);
        }
        self.behind = 0.0;
    }

    /// Whether it was given up with a window of about this size, or a larger one.
    pub fn is_given_up_at(&self, size: f64) -> bool {
        match self.held {
            Held::Whole | Held::LetGo { .. } => false,
            Held::Refining { part, knee, .. } | Held::GivenUp { part, knee } => {
                part < 1.0 && size <= attempt::KNEE * knee
            }
        }
    }

    /// Whether what it gets at the knee is still being measured.
    pub fn is_refining(&self) -> bool {
        matches!(self.held, Held::Refining { .. })
    }

    /// Ends that measurement if it is complete.
    pub fn refine(&mut self, now: Time) {
        let Held::Refining { part, knee, until } = self.held else { return };
        let second = self.gauge.second;
        if now >= until && second.time > attempt::REFINED_TIME * attempt::REFINE.as_secs_f64() {
            let most = self.second_part() * (attempt::REFINED - second.chance()).max(attempt::REFINED_LEAST);
            self.held = Held::GivenUp { part: most.clamp(part, 1.0), knee };
        }
    }

    /// Notes whether it was met in a round in which others were held back.
    pub fn note_met(&mut self, standing: &Standing, phi: f64) {
        let met = match standing {
            Standing::Got(got) => *got >= size::SHORT && self.missed(phi) == 0.0,
            // That nothing can be said is no miss.
            Standing::Content if !self.has_its_due(phi) => return,
            Standing::Pending if !self.has_its_median(phi) => return,
            Standing::Content | Standing::Pending => true,
        };
        self.met = if met { self.met.saturating_add(1) } else { 0 };
    }

    /// Whether it was not short for some rounds, so that holding others back for it is worth while.
    pub fn is_met(&self) -> bool {
        self.met >= attempt::MET
    }

    /// Stops holding others back for it in this attempt. Its clock gives it about the rate that it
    /// had in the last second, and nothing for a latency.
    pub fn let_go(&mut self, attempt: u32) {
        let had = if self.has_rate() { self.part_of_floor(&self.gauge.second).min(1.0) } else { 1.0 };
        let part = (had * attempt::MARGIN).max(attempt::LEAST);
        (self.held, self.attempt, self.behind) = (Held::LetGo { part }, attempt, 0.0);
    }

    /// Whether it stays let go in this attempt. In a new one it is held to all of itself again.
    pub fn stays_let_go(&mut self, attempt: u32) -> bool {
        if self.is_let_go() && self.attempt != attempt {
            self.try_again(attempt);
        }
        self.is_let_go()
    }

    /// Whether others are not held back for it.
    pub fn is_let_go(&self) -> bool {
        matches!(self.held, Held::LetGo { .. })
    }

    /// Holds it to all of itself again, in this attempt. What it could get before says nothing.
    pub fn try_again(&mut self, attempt: u32) {
        (self.attempt, self.held) = (attempt, Held::Whole);
        (self.best_service, self.behind) = (f64::INFINITY, 0.0);
        self.gauge.forget_second();
        if let Some(latency) = &mut self.latency {
            latency.try_again();
        }
    }
}
