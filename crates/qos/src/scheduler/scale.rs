//! The common scale of floors, phi: all of each, or the same part of each where they are
//! overcommitted.

use block::{Span, Time};

use super::constants::scale;
use super::corrections::{Correction, Corrections};

/// The part of every floor that is held.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Scale {
    /// All of it.
    #[default]
    Whole,
    /// The floors together are more than the backend does.
    Overcommitted {
        /// Phi.
        part: f64,
        /// Nothing is given back until then, unless others take a good part; and the rest after the
        /// next miss.
        rests_until: Time,
        rest: Span,
    },
}

impl Scale {
    /// Phi.
    pub fn part(&self) -> f64 {
        match *self {
            Scale::Whole => 1.0,
            Scale::Overcommitted { part, .. } => part,
        }
    }

    /// Floors got this share of what they are held to with nothing more to take: lowers phi.
    pub fn fall(&mut self, now: Time, share: f64, corrections: Corrections) {
        let rest = match *self {
            Scale::Whole => scale::HOLD,
            Scale::Overcommitted { rest, .. } => rest,
        };
        let part = (self.part() * (scale::FALL * share).min(scale::FALL_LEAST)).clamp(scale::LEAST, 1.0);
        let next = if corrections.has(Correction::Rest) { (rest * 2).min(scale::HOLD_MAX) } else { rest };
        *self = Scale::Overcommitted { part, rests_until: now + rest, rest: next };
    }

    /// Gives a little back, since floors are met while others take this part of the backend.
    pub fn recover(&mut self, now: Time, spare: f64, corrections: Corrections) {
        let Scale::Overcommitted { part, rests_until, .. } = self else { return };
        let step = match spare {
            s if s > scale::SPARE && corrections.has(Correction::Spare) => scale::SPARE_STEP * s,
            _ if now >= *rests_until => scale::STEP,
            _ => 0.0,
        };
        *part *= 1.0 + step;
        if *part >= 1.0 {
            *self = Scale::Whole;
        }
    }
}
