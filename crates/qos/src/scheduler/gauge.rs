//! What a floor's owner gets and asks for: sums over time that fade.
//!
//! Kept by a floor, updated with integers on the path of each of its requests, and folded into
//! fractions once a tick.

use block::{Span, Time};

/// Sums since the last tick, and fading sums of the ticks before.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Gauge {
    tick: Tick,
    /// The time up to which the tick's integrals are complete, and when the tick began.
    touched: Time,
    began: Time,
    /// Fading within the floor's own memory.
    pub recent: Sums,
    /// Fading within a second, and kept through changes of the window.
    pub second: Sums,
    /// The part of `second` in which the owner wanted more than it got.
    pub wanted: Sums,
    /// Most requests outstanding at once, fading within a second.
    pub peak: f64,
    /// For how many seconds nothing has been outstanding, in whole ticks.
    pub quiet: f64,
}

#[derive(Debug, Default)]
struct Tick {
    ops: u64,
    bytes: u64,
    service: u64,
    outstanding_area: u64,
    outstanding_max: u32,
}

/// Seconds, and what happened in them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    pub time: f64,
    pub ops: f64,
    pub bytes: f64,
    /// Seconds that its requests spent in the device, added up.
    pub service: f64,
    /// Request-seconds outstanding.
    pub outstanding: f64,
}

impl Sums {
    /// What happened in a tick.
    fn of(time: f64, tick: &Tick) -> Sums {
        Sums {
            time,
            ops: tick.ops as f64,
            bytes: tick.bytes as f64,
            service: tick.service as f64 / 1e9,
            outstanding: tick.outstanding_area as f64 / 1e9,
        }
    }

    /// Adds a tick, with the part `keep` of the ticks before.
    fn add(&mut self, tick: &Sums, keep: f64) {
        let sums = [
            (&mut self.time, tick.time),
            (&mut self.ops, tick.ops),
            (&mut self.bytes, tick.bytes),
            (&mut self.service, tick.service),
            (&mut self.outstanding, tick.outstanding),
        ];
        for (sum, new) in sums {
            *sum = *sum * keep + new;
        }
    }

    /// The standard deviation of the count by chance, as a part of it.
    pub fn chance(&self) -> f64 {
        1.0 / self.ops.max(1.0).sqrt()
    }

    /// Seconds that a request takes on average.
    pub fn mean_service(&self) -> Option<f64> {
        (self.ops > 0.0).then(|| self.service / self.ops)
    }
}

impl Gauge {
    /// Nothing measured before now.
    pub fn new(now: Time) -> Gauge {
        Gauge { touched: now, began: now, ..Gauge::default() }
    }

    /// Brings the integral up to now, before the number outstanding changes. Returns how long it
    /// was 0.
    pub fn touch(&mut self, now: Time, outstanding: u32) -> Span {
        let span = now.since(self.touched);
        self.touched = now;
        self.tick.outstanding_max = self.tick.outstanding_max.max(outstanding);
        let area = span.as_nanos().saturating_mul(u64::from(outstanding));
        self.tick.outstanding_area = self.tick.outstanding_area.saturating_add(area);
        if outstanding > 0 { Span::ZERO } else { span }
    }

    /// Counts a completed request.
    pub fn count(&mut self, bytes: u64, service: Span) {
        self.tick.ops += 1;
        self.tick.bytes = self.tick.bytes.saturating_add(bytes);
        self.tick.service = self.tick.service.saturating_add(service.as_nanos());
    }

    /// Notes whether the owner wanted more in this tick.
    pub fn note_wanting(&mut self, tick: &Sums, wants: bool) {
        let new = if wants { *tick } else { Sums::default() };
        self.wanted.add(&new, kept(tick.time, 1.0));
    }

    /// Ends a tick; returns what was in it.
    pub fn fold(&mut self, now: Time, memory: f64) -> Sums {
        let time = now.since(self.began).as_secs_f64();
        let tick = std::mem::take(&mut self.tick);
        self.began = now;
        let most = f64::from(tick.outstanding_max);
        self.peak = most.max(self.peak - (self.peak - most) * time.min(1.0));
        self.quiet = if tick.outstanding_max == 0 { self.quiet + time } else { 0.0 };
        let tick = Sums::of(time, &tick);
        self.recent.add(&tick, kept(time, memory));
        self.second.add(&tick, kept(time, 1.0));
        tick
    }

    /// Forgets what was measured before a large change of the window.
    pub fn forget(&mut self, now: Time) {
        *self = Gauge {
            touched: self.touched,
            began: now,
            second: self.second,
            wanted: self.wanted,
            peak: self.peak,
            quiet: self.quiet,
            ..Gauge::default()
        };
    }

    /// Forgets the last second too.
    pub fn forget_second(&mut self) {
        (self.second, self.wanted) = (Sums::default(), Sums::default());
    }
}

/// How much is kept after a tick of so many seconds, if what is older than `memory` seconds is to
/// fade.
pub(crate) fn kept(time: f64, memory: f64) -> f64 {
    (1.0 - time / memory).max(0.0)
}
