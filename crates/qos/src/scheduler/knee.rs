//! How much best-effort work the device can use at once: its knee. More than that in flight makes
//! nothing faster and everybody's requests slower, those of floors included. So while floors are in
//! use the window grows no further, unless all of them have so much room that they do not feel it:
//! then it opens without a search.
//!
//! ```text
//!   throughput ▲        ╭────────────────      two levels take turns until it is plain whether the larger does more by
//!              │      ╭─╯ ▲                    a hundredth; if so it is kept and compared with one still larger, else
//!              │    ╭─╯   knee                 the smaller stays for a while
//!              └────────────────────────► in flight
//! ```
//!
//! A device's throughput wavers by more than the hundredth in question, because of garbage
//! collection or others on the machine. So a level is not judged by one measurement but by pairs of
//! them side by side, as many as their own spread asks for. A gain that cannot be shown counts as
//! none, since the shorter queue is a certain gain.
//!
//! Where owners get more than their floors and others do a part of the work, a level is judged by
//! what these others do. What is in flight decides who gets how much, and what an owner has above
//! its floor is for the others.
//!
//! The search goes down too, to where it began. Where operations take longer in the device than
//! they must, half of what is used is compared with the window as it is: loads change, and a level
//! found under one is seldom used up under the next. Where nothing queues, nobody is held back to
//! try it.

use block::{Span, Time};

use super::comparison::{Pace, Standing, Trial};
use super::constants::{search, size, surplus};
use super::corrections::{Correction, Corrections};
use super::flow::{End, Stream};
use super::round::Round;
use super::turns::OPERATION;

/// The search for the knee. Costs are in operations.
#[derive(Debug)]
pub(crate) struct Knee {
    corrections: Corrections,
    /// The most that the window may be.
    pub cap: f64,
    meter: Meter,
    trial: Option<Trial>,
    /// When the next level is tried, and the wait after the next failure.
    try_at: Time,
    rest: Span,
    /// The next trial is of half as much.
    less_next: bool,
    /// When floors last lowered the cap, and the least total throughput since.
    lowered_at: Time,
    slowest: f64,
    /// The throughput at this level when more was last found not to help.
    usual: f64,
    /// The least time that an operation took in the device, in seconds.
    least_time: f64,
    /// The time that it took when half of what was in flight was too little, in seconds; it fades.
    needed_time: f64,
}

/// Completions at one level.
#[derive(Debug, Default)]
struct Meter {
    /// Completions to skip: requests in flight when the level began belong to the one before.
    skip: u64,
    all: Count,
    /// Of owners without a floor.
    others: Count,
    since: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// In 1/256 operations.
    cost: u64,
    requests: u64,
}

impl Count {
    fn add(&mut self, cost: u64) {
        self.cost += cost;
        self.requests += 1;
    }

    /// The rate over so many seconds.
    fn pace(&self, seconds: f64) -> Pace {
        Pace { cost: self.cost as f64 / OPERATION as f64 / seconds, requests: self.requests as f64 / seconds }
    }

    /// The deviation of such a rate that the count alone makes, as a part of it.
    fn chance(&self) -> f64 {
        search::CHANCE / (self.requests.max(1) as f64).sqrt()
    }
}

impl Knee {
    pub fn new(corrections: Corrections) -> Knee {
        Knee {
            corrections,
            cap: search::START,
            meter: Meter::default(),
            trial: None,
            try_at: Time::ZERO,
            rest: search::REST,
            less_next: false,
            lowered_at: Time::ZERO,
            slowest: f64::INFINITY,
            usual: 0.0,
            least_time: f64::INFINITY,
            needed_time: 0.0,
        }
    }

    /// A request ended.
    #[inline]
    pub fn ended(&mut self, now: Time, end: End) {
        let meter = &mut self.meter;
        if meter.skip > 0 {
            meter.skip -= 1;
            meter.since = now;
            return;
        }
        meter.all.add(end.cost);
        if !end.has_floor {
            meter.others.add(end.cost);
        }
    }

    /// The cap without the level that is being tried.
    pub fn settled(&self) -> f64 {
        self.trial.as_ref().map_or(self.cap, Trial::before)
    }

    /// The window is below the cap or is not used up: nothing can be learned, and a trial is
    /// dropped.
    pub fn pass(&mut self, now: Time) {
        self.cap = self.settled();
        self.trial = None;
        self.meter = Meter { since: now, ..Meter::default() };
    }

    /// A floor is short: a trial is broken off until later, and its smaller level stays.
    pub fn give_up(&mut self, now: Time) {
        if let Some(trial) = self.trial.take() {
            self.cap = trial.below;
            self.rest(now);
        }
        self.pass(now);
    }

    /// Lowers the cap to what floors bear, unless the effect of the last time cannot show yet.
    pub fn lower(&mut self, now: Time, to: f64) {
        self.give_up(now);
        if to < self.cap && now.since(self.lowered_at) >= search::EFFECT {
            (self.cap, self.lowered_at, self.slowest) = (to, now, f64::INFINITY);
            self.rest(now);
        }
    }

    fn rest(&mut self, now: Time) {
        (self.try_at, self.rest) = (now + self.rest, (self.rest * 2).min(search::REST_MAX));
        // Forgets slowly, as devices become faster and slower.
        self.needed_time *= search::FORGET;
        self.least_time /= search::FORGET;
        self.less_next =
            self.corrections.has(Correction::Less) && !self.less_next && self.cap >= search::START * search::STEP_LEAST;
    }

    /// Goes on with the search where the window is at the cap, and used up if `full`. More is tried
    /// only as far as floors have room. Where they have ample room nothing is searched, and the
    /// window opens. Less is tried down to where the search began.
    pub fn press(&mut self, now: Time, round: &Round, full: bool) {
        let Stream { in_flight, request, .. } = round.flow;
        if round.has_ample_room() {
            self.cap = self.trial.take().map_or(self.cap, |trial| trial.above);
            self.pass(now);
            let more = if full { search::AMPLE * in_flight } else { 0.0 };
            self.cap = (self.cap + more).min(size::MOST);
            return;
        }
        if self.cap < search::START && self.trial.is_none() && round.has_margin() && round.has_surplus(surplus::LEAST) {
            // Floors bore no more once, and do now: they have their due, and room. Nothing was
            // compared to get below where the search begins, so nothing is compared to get back
            // there.
            self.cap = (self.cap + more_borne(round)).min(search::START);
            return self.pass(now);
        }
        let requests = in_flight / request.max(1.0);
        let count = self.meter.all.requests as f64;
        let time = now.since(self.meter.since);
        if self.meter.skip > 0 || count < search::SAMPLES.max(search::FLIGHTS * requests) || time < search::LEAST {
            return;
        }
        let seconds = time.as_secs_f64();
        let throughput = self.meter.all.pace(seconds).cost;
        match self.trial.take() {
            None => {
                let changed = self.corrections.has(Correction::Changed)
                    && full
                    && (throughput / self.usual - 1.0).abs()
                        > search::CHANGED + search::CHANGED_CHANCE * self.meter.all.chance();
                let is_due = now >= self.try_at;
                if is_due && (self.less_next || !full) && self.is_queueing(round) {
                    self.compare_with_less(now, round);
                } else if full && (is_due || changed) {
                    self.compare_with_more(now, round, throughput);
                } else if is_due {
                    self.rest(now);
                }
            }
            // The smaller level is more than is asked for, so there is nothing to compare. A short
            // pause in the load is no reason to stay there.
            Some(trial) if trial.less && trial.first.is_none() && !full => {
                self.cap = if self.is_queueing(round) { trial.below } else { trial.above };
                self.compare_with_less(now, round);
            }
            Some(mut trial) => {
                let counted = if trial.others { &self.meter.others } else { &self.meter.all };
                let standing = trial.note(counted.pace(seconds), counted.chance(), self.corrections);
                self.go_on(now, round, throughput, standing, trial);
            }
        }
        let skip = if self.trial.is_some() { requests as u64 } else { 0 };
        self.meter = Meter { skip, since: now, ..Meter::default() };
    }

    /// A level of a comparison was measured: goes on with the comparison, or acts on its result.
    fn go_on(&mut self, now: Time, round: &Round, throughput: f64, standing: Standing, trial: Trial) {
        self.cap = if trial.first.is_some() { trial.above } else { trial.below };
        match (standing, trial.less) {
            (Standing::Open, _) => self.trial = Some(trial),
            (Standing::More, false) => {
                (self.cap, self.rest) = (trial.above, search::REST);
                self.compare_with_more(now, round, throughput);
            }
            (Standing::More, true) => {
                (self.cap, self.needed_time) = (trial.above, trial.time.min(round.flow.time()));
                self.rest(now);
            }
            (Standing::NoMore, false) => {
                (self.cap, self.usual) = (trial.below, throughput);
                self.rest(now);
            }
            (Standing::NoMore, true) => {
                (self.cap, self.rest) = (trial.below, search::REST);
                self.compare_with_less(now, round);
            }
        }
    }

    /// Whether floors have not lowered the cap for long, or the device was much slower at some time
    /// since: what they bore then says nothing now.
    pub fn has_rested(&self, now: Time, round: &Round) -> bool {
        let Stream { total, samples, .. } = round.flow;
        let is_faster = samples >= search::SAMPLES && total > search::FASTER * self.slowest;
        let outlived = Span::from_secs_f64(search::OUTLIVED / total);
        let outlived = outlived.clamp(search::OUTLIVED_LEAST, search::OUTLIVED_MOST);
        now.since(self.lowered_at) >= outlived || is_faster
    }

    /// Whether a larger level is being measured. It need not be used up: if the load ends below it,
    /// all of the load is in flight, and whether that does more is the question just as well.
    pub fn tries_larger(&self) -> bool {
        let unused = self.corrections.has(Correction::Unused);
        unused && self.trial.as_ref().is_some_and(|trial| trial.less || trial.first.is_some())
    }

    /// Whether it is time to try less, and there is less to try.
    pub fn has_less(&self, now: Time, round: &Round) -> bool {
        self.corrections.has(Correction::Less)
            && now >= self.try_at
            && self.used(round) >= search::START * search::STEP_LEAST
    }

    /// A round is over.
    pub fn note(&mut self, round: &Round) {
        if round.flow.samples >= search::SAMPLES {
            self.least_time = self.least_time.min(round.flow.time());
            self.slowest = self.slowest.min(round.flow.total);
        }
    }

    /// Whether operations take longer in the device than they must, or that is not known: with less
    /// in flight they would take less time at the same throughput.
    fn is_queueing(&self, round: &Round) -> bool {
        if !self.least_time.is_finite() {
            return true;
        }
        round.flow.samples >= search::SAMPLES
            && round.flow.time() > search::QUEUEING * self.least_time.max(self.needed_time)
    }

    /// How much of this level is used.
    fn used(&self, round: &Round) -> f64 {
        self.cap.min(round.flow.best_effort_max)
    }

    /// Begins to compare this level with half of what is used of it, if that is worth a comparison.
    fn compare_with_less(&mut self, now: Time, round: &Round) {
        let above = self.used(round);
        if above < search::START * search::STEP_LEAST || !self.is_queueing(round) {
            return self.rest(now);
        }
        // What the cap exceeds the load by holds nobody back.
        let below = (above / search::STEP).max(search::START);
        let others = self.is_about_others(round, surplus::LEAST);
        let time = round.flow.time();
        self.trial = Some(Trial::of_less(below, self.cap, others, time));
        self.cap = below;
    }

    /// Begins to compare this level with the next, if floors have room for it.
    fn compare_with_more(&mut self, now: Time, round: &Round, throughput: f64) {
        let Stream { in_flight, request, .. } = round.flow;
        let longest = self.cap + throughput * search::LONGEST.as_secs_f64() - in_flight;
        // As far as floors are known to have room, or a little past that, to find out whether they
        // have.
        let bold = more_borne(round).min((search::STEP - 1.0) * in_flight);
        let least = if self.corrections.has(Correction::Edge) { search::BOLD * in_flight } else { 0.0 };
        // At least one request more, or nothing changes.
        let least = if self.has_rested(now, round) { least.max(request) } else { least };
        let above = (self.cap + bold.max(least)).min(longest);
        if above >= self.cap + request {
            let others = self.is_about_others(round, surplus::MORE);
            self.trial = Some(Trial::of_more(self.cap, above, others));
        }
    }

    /// Whether a level is judged by what those without a floor do: owners have at least this many
    /// times their floors, and the others do enough of the work to tell.
    fn is_about_others(&self, round: &Round, least: f64) -> bool {
        let Meter { all, others, .. } = &self.meter;
        round.has_surplus(least) && others.cost as f64 >= search::OTHERS * all.cost as f64 && others.requests > 0
    }
}

/// How much more in flight floors bear and keep the margin; negative if less.
fn more_borne(round: &Round) -> f64 {
    round.flow.in_flight * (round.standings.room / search::MARGIN - 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::round::Standings;
    use super::*;

    const END: End = End { cost: OPERATION, best_effort: true, has_floor: false };

    fn round(best_effort: f64, throughput: f64) -> Round {
        let standings =
            Standings { worst: 1.2, room: 2.0, judged: 1, guessed: 1, surplus: 0.0, ..Standings::default() };
        Round {
            corrections: Corrections::ALL,
            standings,
            flow: Stream {
                total: throughput,
                samples: 1e4,
                in_flight: best_effort + 8.0,
                best_effort,
                request: 1.0,
                best_effort_max: best_effort,
            },
            missed: 0.0,
            time: 0.02,
            rate: throughput,
        }
    }

    /// A device that does 60 000 a second from 12 in flight on, and was seen with 20. 200 may be in
    /// flight, 100 are: 200 against 50, 50 against 25, 25 against 16, and there the search began.
    #[test]
    fn what_is_not_needed_is_given_up() {
        let mut knee = Knee { cap: 200.0, least_time: 20.0 / 60_000.0, ..Knee::new(Corrections::ALL) };
        let mut now = Time::ZERO;
        for _ in 0..400 {
            let used = knee.cap.min(100.0);
            // 20 ms of 60 000 a second, and what was in flight before.
            (0..1200).for_each(|_| knee.ended(now, END));
            now += Span::from_millis(20);
            let full = used >= knee.cap * 0.9;
            if full || knee.tries_larger() || knee.has_less(now, &round(used, 60_000.0)) {
                knee.press(now, &round(used, 60_000.0), full);
            } else {
                knee.pass(now);
            }
        }
        // Where it rests, or at the next level up in a comparison.
        assert!(knee.cap <= 2.0 * search::START + 8.0, "{}", knee.cap);
    }

    /// The load ends at 28 in flight, below the next level: measured there, it is still seen to do
    /// more.
    #[test]
    fn a_level_that_is_not_used_up_is_compared_all_the_same() {
        let mut knee = Knee::new(Corrections::ALL);
        let mut now = Time::ZERO;
        for _ in 0..100 {
            let used = knee.cap.min(28.0);
            (0..(used * 12.0) as u32).for_each(|_| knee.ended(now, END));
            now += Span::from_millis(20);
            let (full, round) = (used >= knee.cap * 0.9, round(used, used * 600.0));
            match full || knee.tries_larger() {
                true => knee.press(now, &round, full),
                false => knee.pass(now),
            }
        }
        assert!(knee.cap >= 28.0, "{knee:?}");
    }

    /// A device that does 60 000 a second however many it has, of which 4 are an owner's: it has
    /// more than its floor of 2000 up to 116 others, so these get more room than where the search
    /// began, and no more than brings it there.
    #[test]
    fn what_is_above_a_floor_is_given_up() {
        let mut knee = Knee::new(Corrections::ALL);
        let (mut now, owners) = (Time::ZERO, End { has_floor: true, ..END });
        for _ in 0..1_000 {
            let size = knee.cap;
            let owner = 60_000.0 * 4.0 / (size + 4.0);
            (0..1200).for_each(|n| knee.ended(now, if f64::from(n) < owner * 0.02 { owners } else { END }));
            now += Span::from_millis(20);
            let mut round = round(size, 60_000.0);
            round.standings.surplus = owner / 2_000.0;
            match owner >= 2_000.0 {
                true => knee.press(now, &round, true),
                false => knee.give_up(now),
            }
        }
        let settled = knee.trial.as_ref().map_or(knee.cap, |trial| trial.below);
        assert!(settled > 64.0 && settled <= 116.0, "{knee:?}");
    }

    /// A device whose throughput is proportional to what is in flight keeps all that is used of it.
    #[test]
    fn what_is_needed_is_kept() {
        let mut knee = Knee { cap: 100.0, least_time: 1e-4, ..Knee::new(Corrections::ALL) };
        let mut now = Time::ZERO;
        for _ in 0..400 {
            let used = knee.cap.min(100.0);
            (0..(used * 12.0) as u32).for_each(|_| knee.ended(now, END));
            now += Span::from_millis(20);
            knee.press(now, &round(used, used * 600.0), true);
        }
        assert!(knee.trial.as_ref().map_or(knee.cap, |trial| trial.above) >= 99.0, "{knee:?}");
    }
}
