//! How much best-effort work may be in flight, so that floors hold on a backend whose capacity
//! nobody measured.
//!
//! Requests that a floor sends bypass the window; all others count against it. In a busy backend
//! the time that a request takes is proportional to what is in flight. So a floor that gets the
//! part ρ of its due would get all of it with the part ρ of what is in flight now:
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
//! What the climb finds tells two reasons apart. If throughput does not grow from the bottom, the
//! floors alone fill the backend: they are overcommitted, and all are scaled by one factor. If it
//! grows up to a knee, the backend had room all along, and the floor's owner has too few requests
//! outstanding; giving away everyone else's throughput would not help it. The window then stays at
//! the knee, and the floor is held to what it got there.
//!
//! Where floors are missed and the others lose much by it, this stops: the window opens, and floors
//! are tried again later (`waste.rs`). Where other floors are met, it does not open: those that are
//! short are let go, and the window is as the others need it.
//!
//! The window grows no further than the knee of the device (`knee.rs`), unless floors have ample
//! room: their requests are elsewhere most of the time, and the window opens.
//!
//! Like all judging of floors, this runs once a tick and not on the path of a request, so it may
//! compute with fractions.

use block::{Span, Time};

use super::constants::{search, size, surplus};
use super::corrections::{Correction, Corrections};
use super::knee::Knee;
use super::phase::{Phase, State};
use super::round::{Round, Standings};
use super::turns::OPERATION;
use super::waste::{Look, LookResult, Waste};

/// The outcome of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Go on.
    Nothing,
    /// The window changed so much that measurements begin anew.
    Remeasure,
    /// The floors together are more than the backend can do.
    Overcommitted,
    /// Those that are short have too few requests outstanding.
    TooShallow,
    /// Some floors are short beside others that are met, and the backend has room.
    OutOfReach,
    /// Some cost much in vain beside others that are met: they are let go for this long.
    LetGo(Span),
    /// A mean is short with the others held back as far as they can be: it is eased or given up.
    MeanShort,
    /// After a time in which nobody was held back, floors are tried again.
    Retry,
}

/// The window and its controller.
#[derive(Debug)]
pub(crate) struct Window {
    /// Best-effort cost that may be in flight, in 1/256 operations.
    pub limit: u64,
    size: f64,
    pub knee: Knee,
    state: State,
    waste: Waste,
    /// The size and the knee's cap before the latest attempt.
    before: Option<(f64, f64)>,
}

impl Window {
    pub fn new(corrections: Corrections) -> Window {
        let mut window = Window {
            limit: 0,
            size: search::START,
            knee: Knee::new(corrections),
            state: State::Settled(Phase::Holding),
            waste: Waste::default(),
            before: None,
        };
        window.set(search::START);
        window
    }

    fn set(&mut self, size: f64) {
        self.size = size.clamp(size::LEAST_PACED, size::MOST);
        self.limit = (self.size * OPERATION as f64) as u64;
    }

    /// What the controller is doing.
    pub fn phase(&self) -> Phase {
        self.state.phase()
    }

    fn enter(&mut self, phase: Phase) {
        self.state = State::Settled(phase);
    }

    /// Enters a phase after a large change of the window.
    fn settle_into(&mut self, phase: Phase) {
        self.state = State::Settling(phase);
    }

    /// Whether this round was the one in which what was in flight before a large change drained.
    pub fn has_settled(&mut self) -> bool {
        let State::Settling(phase) = self.state else { return false };
        self.enter(phase);
        true
    }

    /// No floor is in use: whatever comes may go.
    pub fn idle(&mut self, now: Time) {
        self.knee.pass(now);
        self.set(size::MOST);
        if !self.lets_go() {
            self.enter(Phase::Idle);
        }
    }

    /// A floor is in use.
    pub fn awake(&mut self) {
        if self.phase() == Phase::Idle {
            self.enter(Phase::Holding);
        }
    }

    /// Ends the round in which floors are given up or let go; false if this is not one.
    pub fn end_giving_up(&mut self, now: Time, round: &Round) -> bool {
        match self.phase() {
            Phase::LettingGo if round.standings.let_go == 0 => {
                // Those that cost it want nothing now, or were met by then. None can be let go
                // alone, so the window opens for all.
                self.enter(Phase::Open(Look::new(now, self.size, false)));
                self.set(size::MOST);
            }
            Phase::GivingUp | Phase::LettingGo => self.enter(Phase::Holding),
            _ => return false,
        }
        true
    }

    /// Goes on with the search for the device's knee.
    pub fn seek_knee(&mut self, now: Time, round: &Round) {
        if self.lets_go() {
            return;
        }
        self.knee.note(round);
        let full = round.flow.best_effort_max >= size::FULL * self.size
            || round.is_held_back(self.size)
                && (round.has_margin() || round.has_surplus(surplus::MORE) || self.knee.has_rested(now, round));
        let searches = self.size >= size::AT_CAP * self.knee.cap
            && (full || self.knee.tries_larger() || self.knee.has_less(now, round));
        if round.standings.worst < size::SHORT || round.standings.paced {
            // Levels in comparison alternate faster than a mean can be measured.
            self.knee.give_up(now);
        } else if searches {
            // Levels in comparison are set at once: during a slow change, the sizes in between
            // would be measured.
            self.knee.press(now, round, full);
            self.set(self.knee.cap);
        } else {
            self.knee.pass(now);
        }
        if self.size > self.knee.cap
            && !round.standings.paced
            && matches!(self.phase(), Phase::Holding | Phase::GivingUp)
        {
            self.set(self.knee.cap);
        }
    }

    /// Judges a round.
    pub fn judge(&mut self, now: Time, round: &Round) -> Verdict {
        if round.standings.all_have_their_due() {
            // The attempt did not fail.
            self.before = None;
        }
        let accounts = round.corrections.has(Correction::Account);
        if accounts && !self.lets_go() && self.waste.note(now, round, round.is_held_back(self.size)) {
            return self.look(now, round);
        }
        match self.phase() {
            Phase::Looking(look) => self.look_on(now, round, look),
            Phase::Open(look) => self.stay_open(now, round, look),
            Phase::Climbing { below, levels, others } => self.climb(round, below, levels, others),
            _ if round.standings.worst >= size::SHORT => self.grow(round),
            _ => self.cut(now, round),
        }
    }

    /// Floors are missed and cost much: looks at what the device does with more in flight.
    fn look(&mut self, now: Time, round: &Round) -> Verdict {
        // A climb begins at the bottom, and says nothing about where floors are held.
        let is_climbing = matches!(self.phase(), Phase::Climbing { .. });
        let held_at = if is_climbing { size::LEAST } else { self.size };
        self.settle_into(Phase::Looking(Look::new(now, held_at, round.has_met())));
        self.knee.give_up(now);
        let wider = self.waste.begin_look(now, self.size, round.standings.kept > 0);
        self.set(wider);
        Verdict::Remeasure
    }

    fn look_on(&mut self, now: Time, round: &Round, mut look: Look) -> Verdict {
        match self.waste.look(now, round, &mut look, self.is_at_most()) {
            LookResult::Early => self.enter(Phase::Looking(look)),
            LookResult::Cheap => {
                self.go_back(&look);
                return Verdict::Remeasure;
            }
            LookResult::Dear if look.others => {
                self.knee.pass(now);
                self.let_go(look.size);
                return Verdict::LetGo(self.waste.let_go(round.corrections));
            }
            LookResult::Dear => {
                self.enter(Phase::Open(look));
                self.set(size::MOST);
            }
            LookResult::Forgiven => return self.try_again(now, &look),
        }
        Verdict::Nothing
    }

    fn stay_open(&mut self, now: Time, round: &Round, mut look: Look) -> Verdict {
        if self.waste.look(now, round, &mut look, self.is_at_most()) == LookResult::Forgiven {
            return self.try_again(now, &look);
        }
        self.enter(Phase::Open(look));
        Verdict::Nothing
    }

    /// Tries floors again with the window as it was before the look: those that can be held are met
    /// at once. Coming down from an open window would take longer than the attempt.
    fn try_again(&mut self, now: Time, look: &Look) -> Verdict {
        self.waste.begin_attempt(now);
        self.knee.pass(now);
        self.before = None;
        self.go_back(look);
        Verdict::Retry
    }

    fn go_back(&mut self, look: &Look) {
        self.settle_into(Phase::Holding);
        self.set(look.size);
    }

    /// Whether nobody is held back.
    fn is_at_most(&self) -> bool {
        self.size >= size::MOST
    }

    /// Whether others are not held back, or less than floors need it.
    fn lets_go(&self) -> bool {
        matches!(self.phase(), Phase::Looking(_) | Phase::Open(_))
    }

    /// Whether others are held back as floors need it, and nothing is tried.
    pub fn holds(&self) -> bool {
        matches!(self.phase(), Phase::Holding | Phase::Bottom { .. })
    }

    /// Whether the window is open because holding others back did not help.
    pub fn is_open(&self) -> bool {
        matches!(self.phase(), Phase::Open(_))
    }

    fn grow(&mut self, round: &Round) -> Verdict {
        if round.standings.pending > 0 {
            // A mean that is still being measured does not end what is known at the bottom.
            if !(round.standings.paced && self.is_at_bottom()) {
                self.enter(Phase::Holding);
            }
            return Verdict::Nothing;
        }
        self.enter(Phase::Holding);
        // In small steps where the edge is near, so that an effect that has not shown yet does not
        // take it past: a fifth of the room that is left.
        let Standings { room, paced, .. } = round.standings;
        let near = (size::GROW * (room - 1.0)).clamp(size::GROW_LEAST, size::GROW_MOST);
        let part = if round.has_ample_room() {
            // There is no edge to go past.
            size::GROW_AMPLE
        } else if paced {
            near.max((size::GROW_PACED * (room - size::ROOM_PACED)).min(size::GROW_PACED_MOST))
        } else {
            near
        };
        let most = if paced { size::MOST } else { self.knee.cap };
        self.set((self.size * (1.0 + part) + size::GROW_BY).min(most));
        Verdict::Nothing
    }

    fn cut(&mut self, now: Time, round: &Round) -> Verdict {
        let paced = round.standings.paced;
        let least = if paced { size::LEAST_PACED } else { size::LEAST };
        let used = self.size.min(round.flow.best_effort_max.max(size::LEAST));
        // Where a mean paces them, few requests cost more than their time in flight: part of a
        // slice.
        let nothing = round.flow.best_effort < size::NOTHING * round.flow.in_flight && !paced;
        if used <= least || nothing {
            return self.stay_at_bottom(round, used);
        }
        let excess = round.flow.in_flight * (1.0 - round.standings.worst / size::AIM);
        let left = (used - excess).clamp(used * size::CUT_MOST, used * size::CUT_LEAST);
        self.set(left.max(least));
        if round.standings.slow < size::SLOW && !paced && round.corrections.has(Correction::Lower) {
            // A whole second shows it, so the edge is here, and is not to be tried again soon. The
            // second tells where it is better than the moment.
            let edge = used - round.flow.in_flight * (1.0 - round.standings.slow / size::AIM);
            // At the bottom a cut may take less than that.
            self.knee.lower(now, edge.min(used * size::CUT_LEAST).max(self.size));
        }
        if left < size::GROSS * used && round.corrections.has(Correction::Settle) {
            self.settle_into(Phase::Holding);
            return Verdict::Remeasure;
        }
        self.enter(Phase::Holding);
        Verdict::Nothing
    }

    /// Floors are short and there is nothing to take from others.
    fn stay_at_bottom(&mut self, round: &Round, used: f64) -> Verdict {
        let rounds = if let Phase::Bottom { rounds } = self.phase() { rounds + 1 } else { 1 };
        self.enter(Phase::Bottom { rounds });
        if self.size > used {
            self.set(used);
        }
        if rounds < size::PATIENCE || round.flow.samples < size::SAMPLES {
            return Verdict::Nothing;
        }
        self.start_climb(round)
    }

    fn start_climb(&mut self, round: &Round) -> Verdict {
        if round.standings.mean_short {
            // More in flight makes no mean shorter.
            self.enter(Phase::GivingUp);
            return Verdict::MeanShort;
        }
        if round.flow.best_effort_max < 1.0 && round.flow.in_flight < size::FEW {
            // There is nobody else to climb with, and too few requests to fill the device.
            return self.give_up();
        }
        self.step_up(round, 0, round.has_met())
    }

    /// Climbs to the next level; this round's throughput is that of the level below.
    fn step_up(&mut self, round: &Round, levels: u32, others: bool) -> Verdict {
        self.settle_into(Phase::Climbing { below: round.flow.total, levels, others });
        // At least one request more, or nothing changes.
        self.set(self.size + (size::CLIMB * round.flow.in_flight).max(round.flow.request).max(1.0).ceil());
        self.knee.cap = self.knee.cap.max(self.size);
        Verdict::Remeasure
    }

    fn climb(&mut self, round: &Round, below: f64, levels: u32, others: bool) -> Verdict {
        if round.flow.samples < size::SAMPLES || round.standings.pending > 0 {
            return Verdict::Nothing;
        }
        if round.flow.total > below * size::CLIMB_GAIN && !self.is_at_most() {
            if others {
                // There is room, and the floors that are met have enough of it: the knee is not
                // searched at their cost.
                self.let_go(self.size);
                return Verdict::OutOfReach;
            }
            return self.step_up(round, levels + 1, false);
        }
        if levels == 0 { self.overcommitted() } else { self.give_up() }
    }

    /// Begins an attempt with floors that were given up, and notes the window to return to.
    pub fn begin_attempt(&mut self) {
        self.before = Some((self.size, self.knee.settled()));
    }

    /// Lets floors that are short go in the next round. The window for those that are met is as
    /// before the attempt, or grows from this size.
    fn let_go(&mut self, size: f64) {
        self.settle_into(Phase::LettingGo);
        let (size, cap) = self.before.take().unwrap_or((size, self.knee.cap.max(search::START)));
        self.knee.cap = cap;
        self.set(size);
    }

    fn overcommitted(&mut self) -> Verdict {
        self.settle_into(Phase::Holding);
        self.set(size::LEAST);
        Verdict::Overcommitted
    }

    fn give_up(&mut self) -> Verdict {
        self.enter(Phase::GivingUp);
        Verdict::TooShallow
    }

    /// Whether the window is at the bottom, just before a climb or a verdict: floors get the most
    /// now that they can have.
    pub fn is_at_bottom(&self) -> bool {
        matches!(self.phase(), Phase::Bottom { .. })
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

#[cfg(test)]
mod tests {
    use super::super::flow::Stream;
    use super::*;

    /// From 1.02 there is less to take than the least that a cut takes: 3 %.
    #[test]
    fn a_cut_just_above_the_bottom_ends_there() {
        let mut window = Window::new(Corrections::ALL);
        window.set(1.02);
        let flow =
            Stream { total: 1e4, samples: 100.0, in_flight: 5.0, best_effort: 1.0, request: 1.0, best_effort_max: 2.0 };
        let standings = Standings { worst: 0.9, slow: 0.9, room: 1.0, judged: 1, ..Standings::default() };
        let corrections = Corrections::ALL;
        let round = Round { corrections, standings, flow, missed: 0.0, time: 0.02, rate: 1e4 };
        window.judge(Time::ZERO + Span::SECOND, &round);
        assert_eq!((window.size(), window.knee.cap), (1.0, 1.0));
    }
}
