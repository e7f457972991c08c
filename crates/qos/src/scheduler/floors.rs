//! All floors' common state: what they promise, what is in flight beside them, the window, the
//! scale at which they are held, and the attempts with those that were given up.

use block::{Span, Time};

use super::attempts::Attempts;
use super::constants::{rest, round, size};
use super::corrections::{Correction, Corrections};
use super::floor::FloorControl;
use super::flow::{End, Flow};
use super::knee::Knee;
use super::pulse::{Beat, Pulse};
use super::round::{Round, Standings};
use super::scale::Scale;
use super::window::{Verdict, Window};
use crate::edit::Floor;

/// All floors' common state.
#[derive(Debug)]
pub(crate) struct Floors {
    corrections: Corrections,
    /// How many objects have a floor, and what the floors promise together.
    pub set: u32,
    pub iops: u64,
    pub bytes: u64,
    pub window: Window,
    /// The window refused a request since the last completion.
    pub window_full: bool,
    /// Best-effort cost in flight, and all, in 1/256 operations.
    best_effort: u64,
    all: u64,
    /// When the first best-effort request of those in flight went, and until when none may follow.
    busy_since: Time,
    rest_until: Time,
    /// The part of every floor that is held.
    pub scale: Scale,
    /// The part of their due that the floors together got when best effort was last held back most.
    share: f64,
    pub attempts: Attempts,
    /// Floors that may have wanted something since the last round, and how many of them this round
    /// has judged.
    pub active: Vec<u32>,
    /// Those that fell asleep since the last account.
    pub slept: Vec<u32>,
    pub cursor: usize,
    pub next_tick: Time,
    pub sums: Sums,
    flow: Flow,
    pulse: Pulse,
    /// Counts the window's large changes: measurements begin anew after each.
    pub changes: u32,
    /// When a floor was last in use.
    used_at: Time,
    /// When the last round was over.
    round_at: Time,
}

/// What a round adds up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub standings: Standings,
    pub served: f64,
    pub needed: f64,
    pub service: f64,
    pub completions: f64,
    pub missed: f64,
}

impl Sums {
    /// Adds a floor that got this part of its due.
    pub fn add(&mut self, guarantee: &FloorControl, got: f64, phi: f64) {
        let recent = &guarantee.gauge.recent;
        let (rate, standings) = (recent.ops / recent.time, &mut self.standings);
        standings.worst = standings.worst.min(got);
        // What it would get with all of its requests in the device, not only those that are due.
        standings.room = standings.room.min(got * (recent.outstanding / recent.service.max(1e-9)).max(1.0));
        standings.memory = standings.memory.max(recent.time);
        standings.slow = standings.slow.min(guarantee.got_in_a_second(phi));
        standings.judged += 1;
        standings.paced |= guarantee.is_by_mean();
        standings.mean_short |= guarantee.is_short_by_mean();
        self.served += rate;
        self.needed += if got > 0.0 { rate / (got * guarantee.urgency()) } else { 0.0 };
        self.service += recent.service;
        self.completions += recent.ops;
    }
}

impl Floors {
    pub fn new(corrections: Corrections) -> Floors {
        Floors {
            corrections,
            set: 0,
            iops: 0,
            bytes: 0,
            window: Window::new(corrections),
            window_full: false,
            best_effort: 0,
            all: 0,
            busy_since: Time::ZERO,
            rest_until: Time::ZERO,
            scale: Scale::Whole,
            share: 1.0,
            attempts: Attempts::new(),
            active: Vec::new(),
            slept: Vec::new(),
            cursor: 0,
            next_tick: Time::ZERO,
            sums: Sums::default(),
            flow: Flow::default(),
            pulse: Pulse::default(),
            changes: 0,
            used_at: Time::ZERO,
            round_at: Time::ZERO,
        }
    }

    /// Adds a floor to what is promised, or takes it away. A floor of both kinds is met by the one
    /// reached first: only its operations are a promise that adds up.
    pub fn promise(&mut self, floor: Floor, more: bool) {
        let bytes = floor.bytes.filter(|_| floor.iops.is_none());
        for (sum, rate) in [(&mut self.iops, floor.iops.map(|r| r.0)), (&mut self.bytes, bytes.map(|r| r.0))] {
            let rate = rate.unwrap_or(0);
            *sum = if more { sum.saturating_add(rate) } else { sum.saturating_sub(rate) };
        }
    }

    /// Counts one floor more. The first one starts the measurement of the device: without floors
    /// nobody adds up what is in flight.
    pub fn add(&mut self, now: Time) {
        self.set += 1;
        if self.set == 1 {
            self.flow.begin(now, self.best_effort);
        }
    }

    /// A floor is gone: nobody judges it any more.
    pub fn forget(&mut self, floor: u32) {
        self.active.retain(|&f| f != floor);
        self.cursor = 0;
    }

    /// The last floor is gone, and all state with it except what was learned about the device,
    /// which is the same whoever has a floor on it. Floors that come and go would otherwise have it
    /// searched anew each time, in the middle of their owners' work.
    pub fn end_of_floors(&mut self, now: Time) {
        let mut window = Window::new(self.corrections);
        if self.corrections.has(Correction::Known) {
            window.knee = std::mem::replace(&mut self.window.knee, Knee::new(self.corrections));
            window.knee.pass(now);
        }
        let (best_effort, all, changes) = (self.best_effort, self.all, self.changes + 1);
        *self = Floors { best_effort, all, changes, window, ..Floors::new(self.corrections) };
    }

    /// Whether best-effort work of this cost may go now. A request may go alone although it costs
    /// more than the window, but then the next waits for the rest after it.
    #[inline]
    pub fn has_room(&self, now: Time, cost: u64) -> bool {
        self.set == 0 || self.best_effort == 0 && self.rest_until <= now || self.best_effort + cost <= self.window.limit
    }

    /// When the rest after a request larger than the window ends, if anything waits for that.
    pub fn rests_until(&self) -> Option<Time> {
        (self.window_full && self.best_effort == 0).then_some(self.rest_until)
    }

    /// A request that cost more than the window has completed. Nothing more goes for as long as
    /// brings the two to the window's size on average.
    fn rest(&mut self, now: Time, cost: u64) {
        if !self.corrections.has(Correction::Large) {
            return;
        }
        let service = now.since(self.busy_since).as_nanos();
        let rest = u128::from(service) * u128::from(cost - self.window.limit) / u128::from(self.window.limit);
        let rest = u64::try_from(rest).unwrap_or(u64::MAX).min(service.saturating_mul(rest::SERVICES));
        self.rest_until = now + Span::from_nanos(rest).min(rest::MOST);
    }

    /// A request went to the backend.
    #[inline]
    pub fn started(&mut self, now: Time, cost: u64, best_effort: bool) {
        if self.set > 0 {
            self.flow.touch(now, self.all, self.best_effort);
        }
        self.all += cost;
        if best_effort {
            if self.best_effort == 0 {
                self.busy_since = now;
            }
            self.best_effort += cost;
            self.flow.note_most(self.best_effort);
        }
    }

    /// A request came back.
    #[inline]
    pub fn ended(&mut self, now: Time, end: End) {
        let cost = end.cost;
        if self.set > 0 {
            self.flow.touch(now, self.all, self.best_effort);
        }
        self.all -= cost;
        self.flow.ended(end);
        self.pulse.ended();
        self.window.knee.ended(now, end);
        if end.best_effort {
            self.best_effort -= cost;
            self.window_full = false;
            if self.set > 0 && self.best_effort == 0 && cost > self.window.limit {
                self.rest(now, cost);
            }
        }
    }

    /// All floors were judged in this round.
    pub fn end_round(&mut self, now: Time, tick: Span) {
        let sums = std::mem::take(&mut self.sums);
        self.cursor = 0;
        self.next_tick = now + tick;
        if self.window.has_settled() {
            // From here on the new size can be measured. The device does less now because it is
            // asked for less.
            self.changes += 1;
            self.pulse = Pulse::new(now);
            return self.flow.begin(now, self.best_effort);
        }
        if self.is_stalled(now) && self.corrections.has(Correction::Stalls) {
            return;
        }
        if sums.standings.none_in_use() && self.used_at > Time::ZERO {
            if now.since(self.used_at) > round::UNUSED {
                return self.idle(now);
            }
        } else {
            self.used_at = now;
        }
        self.window.awake();
        self.flow.touch(now, self.all, self.best_effort);
        self.conclude(now, &sums);
        self.flow.end_round(self.best_effort);
        self.round_at = now;
    }

    /// Whether the device stalls. What was measured in a stall is forgotten once it is over.
    fn is_stalled(&mut self, now: Time) -> bool {
        let beat = self.pulse.beat(now);
        self.changes += u32::from(beat == Beat::Over);
        beat == Beat::Stalled
    }

    /// No floor is in use.
    fn idle(&mut self, now: Time) {
        self.window_full = false;
        self.rest_until = now;
        self.window.idle(now);
    }

    /// Acts on what a round found.
    fn conclude(&mut self, now: Time, sums: &Sums) {
        let time = now.since(self.round_at);
        let round = Round {
            corrections: self.corrections,
            standings: sums.standings,
            flow: self.flow.stream(now),
            missed: sums.missed,
            rate: self.flow.done_in_round() / time.as_secs_f64().max(1e-9),
            time: time.min(round::LONGEST).as_secs_f64(),
        };
        if self.window.is_at_bottom() && sums.standings.judged > 0 {
            self.share = sums.served / sums.needed.max(1e-9);
        }
        let was = self.window.limit;
        let verdict =
            if self.window.end_giving_up(now, &round) { Verdict::Nothing } else { self.window.judge(now, &round) };
        self.window.seek_knee(now, &round);
        self.window_full &= self.window.limit <= was;
        self.act(now, verdict, sums, &round);
    }

    fn act(&mut self, now: Time, verdict: Verdict, sums: &Sums, round: &Round) {
        if round.standings.worst < size::SHORT {
            self.attempts.note_short(now);
        } else if verdict == Verdict::Nothing {
            self.attempts.note_met();
        }
        match verdict {
            Verdict::Nothing => self.recover(now, round),
            Verdict::MeanShort => {}
            Verdict::Retry => {
                self.attempts.begin_after_rest(now);
                self.settle(now, sums);
            }
            Verdict::Remeasure => self.settle(now, sums),
            Verdict::Overcommitted => self.scale.fall(now, self.share, self.corrections),
            Verdict::LetGo(time) => {
                self.attempts.rest(now, time);
                self.settle(now, sums);
            }
            Verdict::OutOfReach => {
                self.attempts.fail(now, self.corrections);
                self.settle(now, sums);
            }
            Verdict::TooShallow => self.attempts.fail(now, self.corrections),
        }
    }

    /// Waits until a request that joined the old queue has gone through, but not for a queue of
    /// seconds.
    fn settle(&mut self, now: Time, sums: &Sums) {
        let service = if sums.completions > 0.0 { sums.service / sums.completions } else { 0.0 };
        self.next_tick = now + Span::from_secs_f64(service).min(Span::SECOND);
    }

    /// Gives floors back what was taken from them, slowly.
    fn recover(&mut self, now: Time, round: &Round) {
        // Where nobody wants anything, nobody misses what is given back.
        if round.standings.worst >= size::SHORT {
            self.scale.recover(now, self.flow.spare(now), self.corrections);
        }
        if self.window.holds() && self.attempts.begin_if_due(now) {
            self.window.begin_attempt();
        }
        self.flow.renew(now, self.best_effort);
    }
}

#[cfg(test)]
mod tests {
    use super::super::constants::search;
    use super::*;

    /// What the device can do is nobody's floor: it stays, while the window and the common scale
    /// begin anew.
    #[test]
    fn the_device_is_known_to_the_next_floors() {
        let mut floors = Floors::new(Corrections::ALL);
        (floors.window.knee.cap, floors.best_effort) = (40.0, 512);
        floors.scale.fall(Time::ZERO, 0.5, Corrections::ALL);
        floors.window.idle(Time::ZERO);
        floors.end_of_floors(Time::from_nanos(1));
        assert_eq!((floors.window.knee.cap, floors.window.size()), (40.0, search::START));
        assert_eq!((floors.scale, floors.best_effort, floors.changes), (Scale::Whole, 512, 1));
    }
}
