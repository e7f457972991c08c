//! Judging floors, a few a poll and round by round: who got what part of its due, and what follows
//! from it for the window and for the floors.

use block::{Span, Time};

use super::Scheduler;
use super::constants::{attempt, rest, round, scale, size};
use super::floor::{Spot, Standing};
use super::knee::Knee;
use super::pulse::{Beat, Pulse};
use super::window::{Round, Standings, Verdict, Window};
use crate::edit::Floor;

/// All floors' common state.
#[derive(Debug)]
pub(crate) struct Floors {
    /// How many objects have one, and what they promise together.
    pub set: u32,
    pub iops: u64,
    pub bytes: u64,
    pub window: Window,
    /// The window refused someone since the last end.
    pub window_full: bool,
    /// Best-effort cost in flight, and all, in 1/256 operations.
    best_effort: u64,
    /// When the first of what is in flight of best effort went, and until when nothing follows it.
    busy_since: Time,
    rest_until: Time,
    all: u64,
    /// The part of every floor that is held.
    pub phi: f64,
    /// The part of their due that the floors together got when best effort was held back most.
    share: f64,
    /// Floors that may have wanted something since the last round, and up to where this round has
    /// judged them.
    pub active: Vec<u32>,
    cursor: usize,
    pub next_tick: Time,
    sums: Sums,
    flow: Flow,
    pulse: Pulse,
    /// What the last round found; some of it is done floor by floor in the next.
    verdict: Verdict,
    /// Counts the window's large changes: measurements begin anew after each.
    pub changes: u32,
    /// The window changed much: the next tick begins to measure.
    settling: bool,
    /// Until when `phi` rests, and for how long after the next miss.
    hold_until: Time,
    hold: Span,
    /// Counts how often floors that were given up are tried again; when next, and how long after
    /// that.
    tries: u32,
    retry_at: Time,
    retry: Span,
    /// One whose owner asks for more may be tried again from then on.
    retry_early_at: Time,
    /// Since when this attempt.
    short_since: Option<Time>,
    /// When a floor was last in use.
    used_at: Time,
    /// When the last round was over.
    round_at: Time,
}

/// What a round adds up.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    standings: Standings,
    served: f64,
    needed: f64,
    service: f64,
    completions: f64,
    missed: bool,
}

/// What flows through the backend, in 1/256 operations.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    touched: Time,
    since: Time,
    all_area: u128,
    best_effort_area: u128,
    best_effort_max: u64,
    done: u64,
    completions: u64,
    best_effort_done: u64,
    best_effort_completions: u64,
}

impl Floors {
    pub fn new() -> Floors {
        Floors {
            set: 0,
            iops: 0,
            bytes: 0,
            window: Window::new(),
            window_full: false,
            best_effort: 0,
            busy_since: Time::ZERO,
            rest_until: Time::ZERO,
            all: 0,
            phi: 1.0,
            share: 1.0,
            active: Vec::new(),
            cursor: 0,
            next_tick: Time::ZERO,
            sums: Sums::default(),
            flow: Flow::default(),
            pulse: Pulse::default(),
            verdict: Verdict::Nothing,
            changes: 0,
            settling: false,
            hold_until: Time::ZERO,
            hold: scale::HOLD,
            tries: 0,
            retry_at: Time::MAX,
            retry: attempt::RETRY,
            retry_early_at: Time::ZERO,
            short_since: None,
            used_at: Time::ZERO,
            round_at: Time::ZERO,
        }
    }

    /// Adds to what is promised, or takes away from it. A floor of both kinds is met by the one
    /// reached first: only its operations are a promise that adds up.
    pub fn promise(&mut self, floor: Floor, more: bool) {
        let bytes = floor.bytes.filter(|_| floor.iops.is_none());
        for (sum, rate) in [(&mut self.iops, floor.iops.map(|r| r.0)), (&mut self.bytes, bytes.map(|r| r.0))] {
            let rate = rate.unwrap_or(0);
            *sum = if more { sum.saturating_add(rate) } else { sum.saturating_sub(rate) };
        }
    }

    /// A floor is gone: nobody judges it any more.
    pub fn forget(&mut self, floor: u32) {
        self.active.retain(|&f| f != floor);
        self.cursor = 0;
    }

    /// The last floor is gone: all goes with it but what was learned about the device, which stays
    /// as it is whoever has a floor on it. Floors that come and go would otherwise find it anew
    /// each time, in the middle of their owners' work.
    pub fn end_of_floors(&mut self, now: Time) {
        let mut window = Window::new();
        window.knee = std::mem::replace(&mut self.window.knee, Knee::new());
        window.knee.pass(now);
        let (best_effort, all, changes) = (self.best_effort, self.all, self.changes + 1);
        *self = Floors { best_effort, all, changes, window, ..Floors::new() };
    }

    /// Whether best-effort work of this cost may go now. One request may although it costs more
    /// than the window, but then not the next behind its back.
    #[inline]
    pub fn has_room(&self, now: Time, cost: u64) -> bool {
        self.set == 0 || self.best_effort == 0 && self.rest_until <= now || self.best_effort + cost <= self.window.limit
    }

    /// When a rest after a request larger than the window is over, if one is.
    pub fn rests_until(&self) -> Option<Time> {
        (self.window_full && self.best_effort == 0).then_some(self.rest_until)
    }

    /// A request that cost more than the window has ended: for as long as makes them the window's
    /// size on average, nothing more goes.
    fn rest(&mut self, now: Time, cost: u64) {
        let service = now.since(self.busy_since).as_nanos();
        let rest = u128::from(service) * u128::from(cost - self.window.limit) / u128::from(self.window.limit);
        let rest = u64::try_from(rest).unwrap_or(u64::MAX).min(service.saturating_mul(rest::SERVICES));
        self.rest_until = now + Span::from_nanos(rest).min(rest::MOST);
    }

    fn touch(&mut self, now: Time) {
        let span = u128::from(now.since(self.flow.touched).as_nanos());
        self.flow.touched = now;
        self.flow.all_area += span * u128::from(self.all);
        self.flow.best_effort_area += span * u128::from(self.best_effort);
    }

    /// A request went to the backend.
    #[inline]
    pub fn started(&mut self, now: Time, cost: u64, best_effort: bool) {
        if self.set > 0 {
            self.touch(now);
        }
        self.all += cost;
        if best_effort {
            if self.best_effort == 0 {
                self.busy_since = now;
            }
            self.best_effort += cost;
            self.flow.best_effort_max = self.flow.best_effort_max.max(self.best_effort);
        }
    }

    /// A request came back.
    #[inline]
    pub fn ended(&mut self, now: Time, cost: u64, best_effort: bool) {
        if self.set > 0 {
            self.touch(now);
        }
        self.all -= cost;
        self.flow.done += cost;
        self.flow.completions += 1;
        self.pulse.ended();
        self.window.knee.ended(now, cost);
        if best_effort {
            self.best_effort -= cost;
            self.flow.best_effort_done += cost;
            self.flow.best_effort_completions += 1;
            self.window_full = false;
            if self.set > 0 && self.best_effort == 0 && cost > self.window.limit {
                self.rest(now, cost);
            }
        }
    }

    /// Whether the device stalls. What was measured meanwhile is forgotten once it is over.
    fn is_stalled(&mut self, now: Time) -> bool {
        let beat = self.pulse.beat(now);
        self.changes += u32::from(beat == Beat::Over);
        beat == Beat::Stalled
    }

    fn begin_flow(&mut self, now: Time) {
        self.flow = Flow { touched: now, since: now, best_effort_max: self.best_effort, ..Flow::default() };
    }

    fn round(&self, now: Time, sums: &Sums) -> Round {
        let flow = &self.flow;
        let time = now.since(flow.since).as_secs_f64().max(1e-9);
        let operations = |units: f64| units / 256.0;
        Round {
            standings: sums.standings,
            total: operations(flow.done as f64) / time,
            samples: flow.completions as f64,
            in_flight: operations(flow.all_area as f64 / 1e9) / time,
            best_effort: operations(flow.best_effort_area as f64 / 1e9) / time,
            request: operations(flow.best_effort_done as f64) / flow.best_effort_completions.max(1) as f64,
            best_effort_max: operations(flow.best_effort_max as f64),
            scaled: self.phi < 1.0,
            missed: sums.missed,
            time: now.since(self.round_at).min(round::LONGEST).as_secs_f64(),
        }
    }

    fn act(&mut self, now: Time, verdict: Verdict, sums: &Sums, round: &Round) {
        if round.standings.worst < size::SHORT {
            self.short_since.get_or_insert(now);
        } else if verdict == Verdict::Nothing {
            self.short_since = None;
        }
        match verdict {
            Verdict::Nothing => self.recover(now, round),
            Verdict::Retry => self.tries += 1,
            Verdict::Remeasure => {
                // A request that came to the old queue has gone after its time.
                let service = if sums.completions > 0.0 { sums.service / sums.completions } else { 0.0 };
                self.settling = true;
                self.next_tick = now + Span::from_secs_f64(service);
            }
            Verdict::Overcommitted => {
                self.phi = (self.phi * (scale::FALL * self.share).min(scale::FALL_LEAST)).clamp(scale::LEAST, 1.0);
                (self.hold_until, self.hold) = (now + self.hold, (self.hold * 2).min(scale::HOLD_MAX));
                self.settling = true;
            }
            Verdict::TooShallow => {
                let took = self.short_since.take().map_or(Span::ZERO, |since| now.since(since));
                let least = took * attempt::FACTOR;
                let wait = self.retry.max(least);
                (self.retry_at, self.retry) = (now + wait, (wait * 2).min(attempt::RETRY_MAX.max(least)));
                self.retry_early_at = now + least;
                self.verdict = verdict;
            }
        }
        self.flow.best_effort_max = self.best_effort;
    }

    /// Gives back what was taken from floors, slowly.
    fn recover(&mut self, now: Time, round: &Round) {
        // Where nobody wants anything nobody misses what is given back.
        let met = round.standings.worst >= size::SHORT;
        if self.phi >= 1.0 {
            self.hold = scale::HOLD;
        } else if met {
            let spare = self.flow.best_effort_done as f64 / self.flow.done.max(1) as f64;
            let step = match spare {
                s if s > scale::SPARE => scale::SPARE_STEP * s,
                _ if now >= self.hold_until => scale::STEP,
                _ => 0.0,
            };
            self.phi = (self.phi * (1.0 + step)).min(1.0);
        }
        if now >= self.retry_at {
            self.retry_at = Time::MAX;
            self.tries += 1;
        }
        if now.since(self.flow.since) > round::FLOW {
            self.begin_flow(now);
        }
    }
}

impl Scheduler {
    /// A bounded part of judging, once a tick is due.
    #[inline]
    pub(super) fn judge_some(&mut self) {
        if self.floors.set > 0 && self.now >= self.floors.next_tick {
            self.judge_on();
        }
    }

    fn judge_on(&mut self) {
        for _ in 0..round::JUDGED_PER_POLL {
            let Some(&floor) = self.floors.active.get(self.floors.cursor) else {
                return self.end_round();
            };
            if self.judge(floor) {
                self.floors.cursor += 1;
            } else {
                self.guarantees[floor].active = false;
                self.floors.active.swap_remove(self.floors.cursor);
            }
        }
    }

    /// Judges one floor. False if nothing was asked of it for a while.
    fn judge(&mut self, floor: u32) -> bool {
        let now = self.now;
        let phi = self.floors.phi;
        let guarantee = &mut self.guarantees[floor];
        let memory = guarantee.fold(now, phi);
        if guarantee.is_asleep(memory) {
            return false;
        }
        let fresh = guarantee.measured_after == self.floors.changes;
        let standing = if fresh { guarantee.standing(phi) } else { Standing::Pending };
        guarantee.forget_ceiling(now, memory);
        match standing {
            Standing::Got(got) => {
                self.floors.sums.missed |= guarantee.is_missed();
                self.note(floor, got);
            }
            Standing::Pending => self.floors.sums.standings.pending += 1,
            Standing::Content => {
                let guess = self.guarantees[floor].guess(phi);
                self.floors.sums.standings.room = self.floors.sums.standings.room.min(guess);
                self.floors.sums.standings.guessed += 1;
            }
        }
        let guarantee = &mut self.guarantees[floor];
        if guarantee.retime(now, phi, false) && guarantee.spot == Spot::Listed {
            self.relist_floor(floor);
        }
        true
    }

    /// Adds what a floor got to the round, or gives it up, or tries it again.
    fn note(&mut self, floor: u32, got: f64) {
        let now = self.now;
        let size = self.floors.window.size();
        let floors = &mut self.floors;
        let phi = floors.phi;
        let guarantee = &mut self.guarantees[floor];
        let recent = guarantee.gauge.recent;
        guarantee.best_service = recent.mean_service().unwrap_or(f64::INFINITY).min(guarantee.best_service);
        if let Some(latency) = &mut guarantee.latency {
            latency.note_best();
        }
        // Chance alone makes about the root of the count.
        let chance = 1.0 / recent.ops.max(1.0).sqrt();
        if floors.verdict == Verdict::TooShallow && got < 1.0 {
            // It is held to what it gets here, where others lose nothing by it.
            guarantee.give_up(now, size, got * (attempt::MARGIN - attempt::CHANCE * chance));
            guarantee.tried = floors.tries;
            return;
        }
        if guarantee.part < 1.0 && got < size::SHORT && size <= attempt::KNEE * guarantee.knee {
            // Its owner asks for less still, or the device got slower: no reason for a smaller
            // window either.
            if got < 1.0 - attempt::SHORT * chance {
                guarantee.hold_to(got * attempt::MARGIN);
            }
            return;
        }
        let (rate, urgency) = (recent.ops / recent.time, guarantee.urgency());
        let sums = &mut floors.sums;
        sums.standings.worst = sums.standings.worst.min(got);
        // With all of its requests in the device, not only those that are due, it would get so
        // much.
        sums.standings.room = sums.standings.room.min(got * (recent.outstanding / recent.service.max(1e-9)).max(1.0));
        sums.standings.memory = sums.standings.memory.max(recent.time);
        sums.standings.slow = sums.standings.slow.min(guarantee.got_in_a_second(phi));
        sums.standings.judged += 1;
        sums.served += rate;
        sums.needed += if got > 0.0 { rate / (got * urgency) } else { 0.0 };
        sums.service += recent.service;
        sums.completions += recent.ops;
        if guarantee.refine_at > Time::ZERO {
            // The window stays where it is until it is known what there is to get.
            sums.standings.pending += 1;
            guarantee.refine(now);
        } else if guarantee.tried != floors.tries || guarantee.asks_for_more() && now >= floors.retry_early_at {
            (guarantee.tried, guarantee.part) = (floors.tries, 1.0);
            guarantee.best_service = f64::INFINITY;
            if let Some(latency) = &mut guarantee.latency {
                latency.forget_best();
            }
        }
    }

    fn end_round(&mut self) {
        let now = self.now;
        let floors = &mut self.floors;
        let sums = std::mem::take(&mut floors.sums);
        floors.cursor = 0;
        floors.next_tick = now + self.settings.tick;
        if floors.settling {
            // What was in flight before the change has gone: from here on it can be measured. The
            // device does less now because it is asked for less.
            floors.settling = false;
            floors.changes += 1;
            floors.pulse = Pulse::new(now);
            return floors.begin_flow(now);
        }
        if floors.is_stalled(now) {
            return;
        }
        if !floors.active.is_empty() || floors.used_at == Time::ZERO {
            floors.used_at = now;
        } else if now.since(floors.used_at) > round::UNUSED {
            floors.window_full = false;
            floors.window.knee.pass(now);
            floors.rest_until = now;
            return floors.window.open();
        }
        floors.touch(now);
        let gave_up = std::mem::replace(&mut floors.verdict, Verdict::Nothing) == Verdict::TooShallow;
        let round = floors.round(now, &sums);
        if floors.window.is_at_bottom() && sums.standings.judged > 0 {
            floors.share = sums.served / sums.needed.max(1e-9);
        }
        let was = floors.window.limit;
        let verdict = if gave_up { Verdict::Nothing } else { floors.window.judge(now, &round) };
        floors.window.seek_knee(now, &round);
        floors.window_full &= floors.window.limit <= was;
        floors.act(now, verdict, &sums, &round);
        floors.round_at = now;
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
        let mut floors = Floors::new();
        (floors.window.knee.cap, floors.phi, floors.best_effort) = (40.0, 0.5, 512);
        floors.window.open();
        floors.end_of_floors(Time::from_nanos(1));
        assert_eq!((floors.window.knee.cap, floors.window.size()), (40.0, search::START));
        assert_eq!((floors.phi, floors.best_effort, floors.changes), (1.0, 512, 1));
    }
}
