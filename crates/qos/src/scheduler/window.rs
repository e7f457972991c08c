//! How much best-effort work may be in flight, so that floors hold on a backend whose capacity
//! nobody measured.
//!
//! Requests that a floor sends bypass the window; all others count against it. In a backend that is
//! kept busy, what is in flight and the time a request takes are proportional, so a floor that gets
//! the part ρ of its due would get all of it with the part ρ of what is in flight now:
//!
//! ```text
//!   in flight  ▲ W ─┐ a floor is short: cut by what is missing
//!              │    └┐                     ╭── all floors met: grow, the slower the nearer
//!              │     └┐___________________╭╯
//!              └──────────────────────────────────────────► time
//!                       │ at the bottom and still short: not the window's fault
//!                       └──► climb by halves until throughput grows no more: the knee
//! ```
//!
//! What the climb finds tells the two reasons apart. No growth from the bottom: the floors alone
//! fill the backend, they are overcommitted and all scaled by one factor. Growth up to a knee: the
//! backend had room all along and the floor's owner asks for too few at a time; giving everyone
//! else's throughput away would not help it. The window stays at the knee, and the floor is held to
//! what it got there.
//!
//! Where floors are missed and the others lose much by it, none of this goes on: the window opens,
//! and it is tried again later (`waste.rs`).
//!
//! It grows no further than the knee of the device (`knee.rs`), but where floors have ample room:
//! their requests wait elsewhere most of the time, and it opens.
//!
//! This runs once a tick, not on the way of a request, and is the only place that computes with
//! fractions.

use block::Time;

use super::constants::{scale, search, size};
use super::knee::Knee;
use super::turn::OPERATION;
use super::waste::{Sight, Waste};

/// How the floors stand, one with another.
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
    /// Floors judged in this round, and floors that want something but cannot be judged yet.
    pub judged: u32,
    pub pending: u32,
    /// Floors whose owners ask at leisure: what room they have is a guess.
    pub guessed: u32,
}

impl Default for Standings {
    /// Nobody was looked at.
    fn default() -> Standings {
        let none = f64::INFINITY;
        Standings { worst: none, room: none, memory: 0.0, slow: none, judged: 0, pending: 0, guessed: 0 }
    }
}

impl Standings {
    /// Floors that have so much room do not feel what is in flight: their requests wait elsewhere
    /// most of the time.
    pub fn has_ample_room(&self) -> bool {
        self.room >= size::AMPLE && self.judged > 0 && self.guessed + self.pending == 0
    }
}

/// What one round over all floors found. Costs are in operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub standings: Standings,
    /// Cost completed per second since the last change of the window had its effect, and out of how
    /// many completions.
    pub total: f64,
    pub samples: f64,
    /// Cost in flight on average, all of it, and of best effort only.
    pub in_flight: f64,
    pub best_effort: f64,
    /// What a request of best effort costs on average.
    pub request: f64,
    /// Most best-effort cost in flight at once since the last round.
    pub best_effort_max: f64,
    /// The floors are scaled down already.
    pub scaled: bool,
    /// A floor got less than all of itself in the last second, whatever it is held to.
    pub missed: bool,
    /// Seconds since the round before.
    pub time: f64,
}

/// What the round led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Go on.
    Nothing,
    /// The window changed so much that measurements begin anew.
    Remeasure,
    /// The floors together are more than the backend can do.
    Overcommitted,
    /// Those who are short ask for too few at a time.
    TooShallow,
    /// After a time in which nobody was held back: floors are tried again.
    Retry,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Follow the floors.
    Follow,
    /// At the bottom for so many rounds, or cutting has nothing to take.
    Stuck(u32),
    /// Climbing: the throughput of the level below, and how many levels were climbed.
    Climb { below: f64, levels: u32 },
    /// Holding the others back did not help: they go as they come, since then. The window was of
    /// this size.
    Open { since: Time, size: f64 },
}

/// The window and its controller.
#[derive(Debug)]
pub(crate) struct Window {
    /// Best-effort cost that may be in flight, in 1/256 operations.
    pub limit: u64,
    size: f64,
    pub knee: Knee,
    phase: Phase,
    /// Whether the last verdict was that the floors are overcommitted, without a success since.
    blamed_capacity: bool,
    /// The part of what was in flight that was best effort when the climb began.
    bottom: f64,
    waste: Waste,
}

impl Window {
    pub fn new() -> Window {
        let mut window = Window {
            limit: 0,
            size: search::START,
            knee: Knee::new(),
            phase: Phase::Follow,
            blamed_capacity: false,
            bottom: 0.0,
            waste: Waste::default(),
        };
        window.set(search::START);
        window
    }

    fn set(&mut self, size: f64) {
        self.size = size.clamp(size::LEAST, size::MOST);
        self.limit = (self.size * OPERATION as f64) as u64;
    }

    /// No floor is in use: whatever comes may go.
    pub fn open(&mut self) {
        self.set(size::MOST);
    }

    /// Goes on with the search for the device's knee.
    pub fn seek_knee(&mut self, now: Time, round: &Round) {
        if self.is_open() {
            return;
        }
        let full = round.best_effort_max >= size::FULL * self.size;
        let searches = self.size >= size::AT_CAP * self.knee.cap
            && (full || self.knee.tries_larger() || self.knee.has_less(now, round));
        if round.standings.worst < size::SHORT {
            self.knee.give_up(now);
        } else if searches {
            // Levels in comparison are taken at once: a slow change would measure what is in
            // between.
            self.knee.press(now, round, full);
            self.set(self.knee.cap);
        } else {
            self.knee.pass(now);
        }
        if self.size > self.knee.cap && self.phase == Phase::Follow {
            self.set(self.knee.cap);
        }
    }

    /// Judges a round.
    pub fn judge(&mut self, now: Time, round: &Round) -> Verdict {
        let held_back = round.best_effort_max >= size::FULL * self.size;
        if !self.is_open() && self.waste.note(now, round, held_back) {
            return self.look(now);
        }
        match self.phase {
            Phase::Open { since, size } => self.stay_open(now, round, since, size),
            Phase::Climb { below, levels } => self.climb(round, below, levels),
            _ if round.standings.worst >= size::SHORT => self.grow(round),
            _ => self.cut(now, round),
        }
    }

    /// Floors are missed and cost much: what does the device do without them?
    fn look(&mut self, now: Time) -> Verdict {
        self.phase = Phase::Open { since: now, size: self.size };
        self.knee.give_up(now);
        let wider = self.waste.begin_look(now, self.size);
        self.set(wider);
        Verdict::Remeasure
    }

    fn stay_open(&mut self, now: Time, round: &Round, since: Time, size: f64) -> Verdict {
        match self.waste.look(now, round, since) {
            Sight::Early => Verdict::Nothing,
            Sight::Dear => {
                self.set(size::MOST);
                Verdict::Nothing
            }
            Sight::Cheap => {
                self.phase = Phase::Follow;
                self.set(size);
                Verdict::Remeasure
            }
            Sight::Forgiven => {
                self.phase = Phase::Follow;
                self.set(round.best_effort_max);
                self.knee.cap = self.knee.cap.max(self.size);
                Verdict::Retry
            }
        }
    }

    /// Whether others are let go because holding them back did not help.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open { .. })
    }

    fn grow(&mut self, round: &Round) -> Verdict {
        self.phase = Phase::Follow;
        if round.standings.pending > 0 {
            return Verdict::Nothing;
        }
        self.blamed_capacity &= round.standings.judged == 0;
        // Slowly where it is near, so that what has not shown yet does not take it past; a fifth of
        // what is left over. What the measurements do not show yet is more the longer they look
        // back.
        let part = (size::GROW * (round.standings.room - 1.0)).clamp(size::GROW_LEAST, size::GROW_MOST)
            * (size::MEMORY / round.standings.memory).min(1.0);
        // With ample room there is nothing to go past.
        let part = if round.standings.has_ample_room() { size::GROW_AMPLE } else { part };
        self.set((self.size * (1.0 + part) + size::GROW_BY).min(self.knee.cap));
        Verdict::Nothing
    }

    fn cut(&mut self, now: Time, round: &Round) -> Verdict {
        let used = self.size.min(round.best_effort_max.max(size::LEAST));
        let nothing_to_take = used <= size::LEAST || round.best_effort < size::NOTHING * round.in_flight;
        if nothing_to_take {
            let rounds = if let Phase::Stuck(rounds) = self.phase { rounds + 1 } else { 1 };
            self.phase = Phase::Stuck(rounds);
            if self.size > used {
                self.set(used);
            }
            if rounds >= size::PATIENCE && round.samples >= size::SAMPLES {
                // Known to be overcommitted, and a little too much was given back: no need to look
                // again.
                return if round.scaled && round.standings.worst > scale::NEAR {
                    self.overcommitted()
                } else {
                    self.start_climb(round)
                };
            }
            return Verdict::Nothing;
        }
        self.phase = Phase::Follow;
        let excess = round.in_flight * (1.0 - round.standings.worst / size::AIM);
        let left = (used - excess).clamp(used * size::CUT_MOST, used * size::CUT_LEAST);
        let gross = left < size::GROSS * used;
        self.set(left);
        if round.standings.slow < size::SLOW {
            // Not a moment's doing: here is the edge, and it is not to be tried again soon. Where
            // it is, the second tells better than the moment.
            let edge = used - round.in_flight * (1.0 - round.standings.slow / size::AIM);
            self.knee.lower(now, edge.clamp(self.size, used * size::CUT_LEAST));
        }
        if gross { Verdict::Remeasure } else { Verdict::Nothing }
    }

    fn start_climb(&mut self, round: &Round) -> Verdict {
        if round.best_effort_max < 1.0 && round.in_flight < size::FEW {
            // Nobody else to climb with, and so few requests that the device is hardly full of
            // them.
            self.phase = Phase::Follow;
            return Verdict::TooShallow;
        }
        self.bottom = round.best_effort / round.in_flight.max(1e-9);
        self.phase = Phase::Climb { below: round.total, levels: 0 };
        self.step_up(round);
        Verdict::Remeasure
    }

    fn step_up(&mut self, round: &Round) {
        // At least one request more, or nothing changes.
        self.set(self.size + (size::CLIMB * round.in_flight).max(round.request).max(1.0).ceil());
        self.knee.cap = self.knee.cap.max(self.size);
    }

    fn climb(&mut self, round: &Round, below: f64, levels: u32) -> Verdict {
        if round.samples < size::SAMPLES || round.standings.pending > 0 {
            return Verdict::Nothing;
        }
        let grew = round.total > below * size::CLIMB_GAIN && self.size < size::MOST;
        if grew {
            self.phase = Phase::Climb { below: round.total, levels: levels + 1 };
            self.step_up(round);
            return Verdict::Remeasure;
        }
        // Twice in a row, and others still take a part: floors that were scaled down cannot be the
        // reason.
        if levels == 0 && !(self.blamed_capacity && self.bottom > size::BOTTOM) {
            return self.overcommitted();
        }
        self.phase = Phase::Follow;
        Verdict::TooShallow
    }

    fn overcommitted(&mut self) -> Verdict {
        self.phase = Phase::Follow;
        self.set(size::LEAST);
        self.blamed_capacity = true;
        Verdict::Overcommitted
    }

    /// At the bottom, just before a climb or a verdict: what floors get now is the most that they
    /// can have.
    pub fn is_at_bottom(&self) -> bool {
        matches!(self.phase, Phase::Stuck(_))
    }

    /// In operations.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// Thousandths of requests.
    pub fn milli(&self) -> u64 {
        (self.size * 1000.0) as u64
    }
}
