//! What passes through the backend while the window keeps its size, in 1/256 operations: integers,
//! added up on the path of each request.

use block::{Span, Time};

use super::constants::{round, scale};
use super::turns::OPERATION;

/// A request that the backend completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// In 1/256 operations.
    pub cost: u64,
    /// Whether it counted against the window, not being sent by a floor; and whether its owner has
    /// one.
    pub best_effort: bool,
    pub has_floor: bool,
}

/// Sums since the last change of the window took effect.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    touched: Time,
    since: Time,
    all_area: u128,
    best_effort_area: u128,
    best_effort_max: u64,
    /// Cost completed in all: by now, when these sums began, and when the last round ended.
    done: u64,
    done_before: u64,
    done_by_round: u64,
    completions: u64,
    best_effort_done: u64,
    best_effort_completions: u64,
}

/// The same in operations and per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    /// Completed per second, and the number of completions behind that.
    pub total: f64,
    pub samples: f64,
    /// In flight on average: all, and best effort.
    pub in_flight: f64,
    pub best_effort: f64,
    /// What a request of best effort costs on average.
    pub request: f64,
    /// The most best effort in flight at once since the last round.
    pub best_effort_max: f64,
}

impl Stream {
    /// Seconds that an operation spends in the backend (Little's law).
    pub fn time(&self) -> f64 {
        self.in_flight / self.total.max(1e-9)
    }
}

impl Flow {
    /// Begins anew: nothing is known before now.
    pub fn begin(&mut self, now: Time, best_effort: u64) {
        let (done, done_by_round) = (self.done, self.done_by_round);
        let begun = Flow { touched: now, since: now, best_effort_max: best_effort, ..Flow::default() };
        *self = Flow { done, done_before: done, done_by_round, ..begun };
    }

    /// Begins anew if these sums are old enough.
    pub fn renew(&mut self, now: Time, best_effort: u64) {
        if now.since(self.since) > round::FLOW {
            self.begin(now, best_effort);
        }
    }

    /// Brings the integrals up to now; called before what is in flight changes.
    #[inline]
    pub fn touch(&mut self, now: Time, all: u64, best_effort: u64) {
        let span = u128::from(now.since(self.touched).as_nanos());
        self.touched = now;
        self.all_area += span * u128::from(all);
        self.best_effort_area += span * u128::from(best_effort);
    }

    /// Notes how much best effort is in flight now.
    #[inline]
    pub fn note_most(&mut self, best_effort: u64) {
        self.best_effort_max = self.best_effort_max.max(best_effort);
    }

    /// Ends a round: the most in flight is counted anew.
    pub fn end_round(&mut self, best_effort: u64) {
        (self.best_effort_max, self.done_by_round) = (best_effort, self.done);
    }

    /// Operations completed since the last round, whether these sums include them or not.
    pub fn done_in_round(&self) -> f64 {
        (self.done - self.done_by_round) as f64 / OPERATION as f64
    }

    /// A request ended.
    #[inline]
    pub fn ended(&mut self, end: End) {
        self.done += end.cost;
        self.completions += 1;
        if end.best_effort {
            self.best_effort_done += end.cost;
            self.best_effort_completions += 1;
        }
    }

    /// The part of what was completed that was best effort and could go to floors instead. One
    /// request of it is always allowed, and that is a good part where few are in flight: it does
    /// not count.
    pub fn spare(&self, now: Time) -> f64 {
        let Stream { best_effort, request, .. } = self.stream(now);
        match best_effort > scale::MORE_THAN_ONE * request {
            true => self.best_effort_done as f64 / (self.done - self.done_before).max(1) as f64,
            false => 0.0,
        }
    }

    /// Rates and averages up to now.
    pub fn stream(&self, now: Time) -> Stream {
        let time = now.since(self.since).as_secs_f64().max(1e-9);
        let operations = |units: f64| units / OPERATION as f64;
        Stream {
            total: operations((self.done - self.done_before) as f64) / time,
            samples: self.completions as f64,
            in_flight: operations(self.all_area as f64 / Span::SECOND.as_nanos() as f64) / time,
            best_effort: operations(self.best_effort_area as f64 / Span::SECOND.as_nanos() as f64) / time,
            request: operations(self.best_effort_done as f64) / self.best_effort_completions.max(1) as f64,
            best_effort_max: operations(self.best_effort_max as f64),
        }
    }
}
