//! How much best-effort work the device can use at once: its knee. More than that in flight makes nothing faster, only
//! everybody's requests slower, those of floors included. So the window never grows past it while floors are in use.
//!
//! ```text
//!   throughput ▲        ╭────────────────      a level is held until it can be compared; the next is half as much again;
//!              │      ╭─╯ ▲                    it is kept if throughput grew by more than chance, else the level before
//!              │    ╭─╯   knee                 comes back for a while
//!              └────────────────────────► in flight
//! ```

use block::{Span, Time};

/// The search for the knee. Costs are in operations.
#[derive(Debug)]
pub(crate) struct Knee {
    /// The most that the window may be.
    pub cap: f64,
    /// The level before, and its throughput, while one above is tried.
    below: Option<(f64, f64)>,
    /// What ended at this level, in 1/256 operations, how many requests, and since when.
    cost: u64,
    count: u64,
    since: Time,
    /// When the next level is tried, and how long after a failure.
    try_at: Time,
    rest: Span,
    /// The throughput at this level when it was last found that more does not help.
    usual: f64,
}

impl Knee {
    /// Half the queue of a SATA drive: a start from which few devices have far to go, and no floor suffers.
    pub const START: f64 = 16.0;
    const STEP: f64 = 1.5;
    /// A level is compared after at least so many requests and so long.
    const SAMPLES: f64 = 200.0;
    const LEAST: Span = Span::from_millis(60);
    /// What counts as growth beside chance.
    const GROWTH: f64 = 0.01;
    const REST: Span = Span::from_secs(2);
    const REST_MAX: Span = Span::from_secs(16);

    pub fn new() -> Knee {
        Knee {
            cap: Knee::START,
            below: None,
            cost: 0,
            count: 0,
            since: Time::ZERO,
            try_at: Time::ZERO,
            rest: Knee::REST,
            usual: 0.0,
        }
    }

    /// A request of this cost ended.
    #[inline]
    pub fn ended(&mut self, cost: u64) {
        self.cost += cost;
        self.count += 1;
    }

    fn begin(&mut self, now: Time) {
        (self.cost, self.count, self.since) = (0, 0, now);
    }

    /// The window is less than the cap, or is not used up: nothing can be learned.
    pub fn pass(&mut self, now: Time) {
        if let Some((cap, _)) = self.below.take() {
            self.cap = cap;
        }
        self.begin(now);
    }

    /// The window is at the cap and used up, with so much in flight in all, and this much a request of best effort.
    /// More is tried only if floors can do with `room`, the factor by which their requests may slow down.
    pub fn press(&mut self, now: Time, in_flight: f64, request: f64, room: f64) {
        let count = self.count as f64;
        let time = now.since(self.since);
        // What was in flight when the level began belongs to the one before: it should not matter.
        if count < Knee::SAMPLES.max(8.0 * in_flight / request.max(1.0)) || time < Knee::LEAST {
            return;
        }
        let throughput = self.cost as f64 / 256.0 / time.as_secs_f64();
        let chance = 0.5 / count.sqrt();
        self.begin(now);
        match self.below {
            None => {
                let changed = (throughput / self.usual - 1.0).abs() > 0.1 + 2.0 * chance;
                let slower = 1.0 + (self.next(request) - self.cap) / in_flight.max(1.0);
                if (now >= self.try_at || changed) && room > slower {
                    self.try_more(throughput, request);
                }
            }
            Some((_, below)) if throughput > below * (1.0 + Knee::GROWTH + chance) => {
                self.rest = Knee::REST;
                self.try_more(throughput, request);
            }
            Some((cap, below)) => {
                (self.below, self.cap, self.usual) = (None, cap, below.max(throughput));
                (self.try_at, self.rest) = (now + self.rest, (self.rest * 2).min(Knee::REST_MAX));
            }
        }
    }

    fn try_more(&mut self, throughput: f64, request: f64) {
        self.below = Some((self.cap, throughput));
        self.cap = self.next(request);
    }

    /// At least one request more, or nothing changes.
    fn next(&self, request: f64) -> f64 {
        (self.cap * Knee::STEP).max(self.cap + request)
    }
}
