//! Judging floors, a few a poll and round by round: what part of its due each got. What follows
//! from that is in `floors.rs`.

use super::Scheduler;
use super::constants::{attempt, promise, round, size};
use super::floor::{FloorControl, Spot, Standing};
use super::latency::MeanEnd;
use super::phase::Phase;

/// The part of its floor that an owner got, in a second or of late, whichever is less. 0 where that
/// says nothing: the floor is a latency or held to a part, or its owner asks at its own pace.
fn surplus(guarantee: &FloorControl) -> f64 {
    if guarantee.latency.is_some() || guarantee.part() < 1.0 || guarantee.busy_part() < promise::LEISURE {
        return 0.0;
    }
    let gauge = &guarantee.gauge;
    guarantee.part_of_floor(&gauge.second).min(guarantee.part_of_floor(&gauge.recent))
}

impl Scheduler {
    /// Judges a bounded number of floors, once a tick is due.
    #[inline]
    pub(super) fn judge_some(&mut self) {
        if self.floors.set > 0 && self.now >= self.floors.next_tick {
            self.judge_on();
        }
    }

    fn judge_on(&mut self) {
        for _ in 0..round::JUDGED_PER_POLL {
            let Some(&floor) = self.floors.active.get(self.floors.cursor) else {
                return self.floors.end_round(self.now, self.settings.tick);
            };
            if self.judge(floor) {
                self.floors.cursor += 1;
            } else {
                let guarantee = &mut self.guarantees[floor];
                guarantee.active = false;
                if !std::mem::replace(&mut guarantee.account.slept, true) {
                    self.floors.slept.push(floor);
                }
                self.floors.active.swap_remove(self.floors.cursor);
            }
        }
    }

    /// Judges one floor. False if nothing was asked of it for a while.
    fn judge(&mut self, floor: u32) -> bool {
        let now = self.now;
        let phi = self.floors.scale.part();
        let guarantee = &mut self.guarantees[floor];
        let memory = guarantee.fold(now, phi, self.floors.window.size());
        if guarantee.is_asleep(memory) {
            return false;
        }
        if !self.lets_go(floor) && !self.gives_up_mean(floor) {
            self.judge_awake(floor, phi, memory);
        }
        let guarantee = &mut self.guarantees[floor];
        if guarantee.retime(now, phi, false) && guarantee.spot == Spot::Listed {
            self.relist_floor(floor);
        }
        true
    }

    /// Lets a floor go if it is time to, or tries it again. True if others are not held back for
    /// it.
    fn lets_go(&mut self, floor: u32) -> bool {
        let attempt = self.floors.attempts.number;
        let guarantee = &mut self.guarantees[floor];
        if self.floors.window.phase() == Phase::LettingGo {
            match guarantee.is_met() {
                // What it had above its floor meanwhile says nothing about what it gets from here
                // on.
                true => guarantee.forget_second(),
                false => guarantee.let_go(attempt),
            }
        }
        let let_go = guarantee.stays_let_go(attempt);
        self.floors.sums.standings.let_go += u32::from(let_go);
        let_go
    }

    /// Whether its mean is held to less or given up in this round.
    fn gives_up_mean(&mut self, floor: u32) -> bool {
        if self.floors.window.phase() != Phase::GivingUp {
            return false;
        }
        let (now, attempts) = (self.now, &mut self.floors.attempts);
        let Some(end) = self.guarantees[floor].give_up_mean(attempts.number) else { return false };
        match end {
            MeanEnd::Eased => attempts.rest(now, attempt::RETRY),
            MeanEnd::GivenUp => attempts.fail(now, self.settings.corrections),
        }
        self.floors.sums.standings.pending += 1;
        true
    }

    /// Adds a floor that wants something, or might, to the round.
    fn judge_awake(&mut self, floor: u32, phi: f64, memory: f64) {
        let guarantee = &mut self.guarantees[floor];
        let fresh = guarantee.measured_after == self.floors.changes;
        let standing = if fresh { guarantee.standing(phi) } else { Standing::Pending };
        let surplus = if fresh { surplus(guarantee) } else { 0.0 };
        guarantee.forget_ceiling(self.now, memory);
        if self.floors.window.holds() {
            guarantee.note_met(&standing, phi);
        }
        let standings = &mut self.floors.sums.standings;
        standings.surplus = standings.surplus.min(surplus);
        let is_met = guarantee.is_met() && guarantee.part() >= 1.0;
        standings.met += u32::from(is_met);
        standings.kept += u32::from(is_met && (guarantee.has_its_due(phi) || guarantee.has_its_median(phi)));
        match standing {
            Standing::Got(got) => {
                self.note(floor, got);
                self.floors.sums.missed = self.floors.sums.missed.max(self.guarantees[floor].missed(phi));
            }
            Standing::Pending => {
                standings.pending += 1;
                standings.paced |= guarantee.is_by_mean();
            }
            Standing::Content => {
                standings.room = standings.room.min(guarantee.guess(phi));
                standings.guessed += 1;
            }
        }
    }

    /// Adds what a floor got to the round, or gives it up, or tries it again.
    fn note(&mut self, floor: u32, got: f64) {
        let floors = &mut self.floors;
        let guarantee = &mut self.guarantees[floor];
        guarantee.note_best();
        if got >= 1.0 {
            guarantee.look_at_mean();
        }
        let chance = guarantee.gauge.recent.chance();
        if floors.window.phase() == Phase::GivingUp && got < 1.0 {
            // It is held to what it gets here, where others lose nothing by it.
            let part = got * (attempt::MARGIN - attempt::CHANCE * chance);
            guarantee.give_up(self.now, floors.window.size(), part, floors.attempts.number);
        } else if guarantee.is_given_up_at(floors.window.size()) && got < size::SHORT {
            // Its owner asks for even less, or the device got slower: neither is a reason for a
            // smaller window.
            if got < 1.0 - attempt::SHORT * chance {
                guarantee.hold_to(got * attempt::MARGIN);
            }
        } else {
            floors.sums.add(guarantee, got, floors.scale.part());
            if guarantee.is_refining() {
                // The window stays as it is until it is known how much there is to get.
                floors.sums.standings.pending += 1;
                guarantee.refine(self.now);
            } else if guarantee.attempt != floors.attempts.number {
                guarantee.try_again(floors.attempts.number);
            }
        }
    }
}
