//! What one round over all floors found: how they stand, and what passed through the backend.

use super::constants::{search, size};
use super::corrections::{Correction, Corrections};
use super::flow::Stream;

/// How all floors stand together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standings {
    /// The least part of its due that a floor got; infinite if none wanted anything.
    pub worst: f64,
    /// The least factor by which requests may slow down while all floors could still be met.
    pub room: f64,
    /// Seconds that the slowest floor's measurements look back.
    pub memory: f64,
    /// The least part of its due that a judged floor got in the last second.
    pub slow: f64,
    /// The least part of itself that a floor got, in a second or of late; infinite if none is in
    /// use, 0 if that is unknown.
    pub surplus: f64,
    /// Floors judged in this round, and floors that want something but cannot be judged yet.
    pub judged: u32,
    pub pending: u32,
    /// Floors whose owners ask at their own pace: the room that they have is a guess.
    pub guessed: u32,
    /// Floors that were not short for some rounds in which others were held back.
    pub met: u32,
    /// Those of them that have their due too: not just owners that ask for less.
    pub kept: u32,
    /// Floors that were let go.
    pub let_go: u32,
    /// A mean decides: others may be held to less than one request at a time.
    pub paced: bool,
    /// A mean is short.
    pub mean_short: bool,
}

impl Default for Standings {
    /// No floor was judged.
    fn default() -> Standings {
        let none = f64::INFINITY;
        Standings {
            worst: none,
            room: none,
            memory: 0.0,
            slow: none,
            surplus: none,
            judged: 0,
            pending: 0,
            guessed: 0,
            met: 0,
            kept: 0,
            let_go: 0,
            paced: false,
            mean_short: false,
        }
    }
}

impl Standings {
    /// Whether floors have so much room that they do not feel what is in flight: their requests are
    /// elsewhere most of the time.
    pub fn has_ample_room(&self) -> bool {
        self.room >= size::AMPLE && self.is_known()
    }

    /// Whether all of them got their due of late.
    pub fn all_have_their_due(&self) -> bool {
        self.worst >= size::SHORT && self.is_known()
    }

    /// Whether no floor is asked for anything for which others might be held back.
    pub fn none_in_use(&self) -> bool {
        self.judged + self.guessed + self.pending == 0
    }

    /// Whether there are floors, and all were judged.
    fn is_known(&self) -> bool {
        self.judged > 0 && self.guessed + self.pending == 0
    }
}

/// What one round over all floors found. Costs are in operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub corrections: Corrections,
    pub standings: Standings,
    /// Since the last change of the window had its effect.
    pub flow: Stream,
    /// The most that a floor lacked in the last second, as a part of itself whatever it is held to;
    /// 0 if none is missed.
    pub missed: f64,
    /// Seconds since the round before, and completions per second in them, measured or not.
    pub time: f64,
    pub rate: f64,
}

impl Round {
    /// Whether some floors are met, so that only the others are to be let go.
    pub fn has_met(&self) -> bool {
        self.standings.met > 0 && self.corrections.has(Correction::LetGo)
    }

    /// Whether floors have ample room, so that nothing needs to be searched.
    pub fn has_ample_room(&self) -> bool {
        self.standings.has_ample_room() && self.corrections.has(Correction::Ample)
    }

    /// Whether floors are in use and every owner has at least so many times its floor.
    pub fn has_surplus(&self, least: f64) -> bool {
        let surplus = self.standings.surplus;
        surplus >= least && surplus.is_finite() && self.corrections.has(Correction::Others)
    }

    /// Whether floors bear a larger level, as far as they were judged.
    pub fn has_margin(&self) -> bool {
        self.standings.judged > 0 && self.standings.room >= search::MARGIN
    }

    /// Whether others are held back by a window of this size: nearly all of it was used, or there
    /// was no room for one request more.
    pub fn is_held_back(&self, size: f64) -> bool {
        let most = self.flow.best_effort_max;
        most >= size::FULL * size || most > 0.0 && most + self.flow.request.max(1.0) > size
    }
}
