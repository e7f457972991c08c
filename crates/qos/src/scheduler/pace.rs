//! The best that the backend has shown lately: advice for whoever promises floors, never an input
//! to a decision.

use block::{Span, Time};

/// Completions by windows of two seconds, the best of the last ten to twenty minutes kept.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    since: Time,
    ops: u64,
    bytes: u64,
    /// Of `ops`, those that ended while other requests waited for the backend.
    pressed: u64,
    best: Best,
    /// The best of the period before, and since when this period.
    before: Best,
    period: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Best {
    ops: u64,
    bytes: u64,
    /// Whether in some window more was asked of the backend than it gave.
    pressed: bool,
}

impl Pace {
    const WINDOW: Span = Span::from_secs(2);
    const PERIOD: Span = Span::from_secs(600);

    /// Counts a completion, `pressed` if other requests wait for the backend.
    #[inline]
    pub fn count(&mut self, now: Time, bytes: u64, pressed: bool) {
        if now.since(self.since) >= Self::WINDOW {
            self.turn(now);
        }
        self.ops += 1;
        self.pressed += u64::from(pressed);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    #[cold]
    fn turn(&mut self, now: Time) {
        let nanos = u128::from(now.since(self.since).as_nanos());
        let per_second = |count: u64| (u128::from(count) * 1_000_000_000 / nanos) as u64;
        self.best.ops = self.best.ops.max(per_second(self.ops));
        self.best.bytes = self.best.bytes.max(per_second(self.bytes));
        self.best.pressed |= self.pressed * 2 > self.ops;
        (self.since, self.ops, self.bytes, self.pressed) = (now, 0, 0, 0);
        if now.since(self.period) >= Self::PERIOD {
            (self.before, self.best, self.period) = (self.best, Best::default(), now);
        }
    }

    /// Operations per second.
    pub fn best_ops(&self) -> u64 {
        self.best.ops.max(self.before.ops)
    }

    /// Bytes per second.
    pub fn best_bytes(&self) -> u64 {
        self.best.bytes.max(self.before.bytes)
    }

    /// Whether the best is near what the backend can do: in some window most requests ended while
    /// others waited for it. Otherwise it may only have been asked for so little.
    pub fn was_pressed(&self) -> bool {
        self.best.pressed || self.before.pressed
    }
}
