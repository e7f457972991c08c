//! Due times of requests at a rate: exact, in whole nanoseconds, without drift.
//!
//! A request that follows `u` units (requests or bytes) is due `⌈u × 10^9 / rate⌉` ns after the
//! start. So the first is due at once and request `k` (from 0) at `k / rate`, whatever the storage
//! does. Times are rounded up, because a request must not be made early. The remainder of each
//! division is carried on, so rounding does not accumulate.

use block::{Span, Time};

/// Due times at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The exact position is `whole + part / rate` ns.
    whole: u64,
    part: u64,
    rate: u64,
    /// Time in nanoseconds in which `rate` units are due.
    per: u64,
    /// The last step in units, and as `step_whole + step_part / rate` ns; cached, because most
    /// steps are equal.
    step: u64,
    step_whole: u64,
    step_part: u64,
}

impl Schedule {
    /// A schedule of `rate` units in every `per`, from `start` on; at least one unit.
    ///
    /// # Panics
    /// If `rate` is above 2^63, because the sum of two fractional parts must not overflow.
    pub fn new(start: Time, rate: u64, per: Span) -> Schedule {
        assert!(rate <= 1 << 63, "{rate} units");
        let (rate, per) = (rate.max(1), per.as_nanos());
        Schedule { whole: start.as_nanos(), part: 0, rate, per, step: 0, step_whole: 0, step_part: 0 }
    }

    /// When the next request is due.
    #[inline]
    pub fn due(&self) -> Time {
        Time::from_nanos(self.whole.saturating_add(u64::from(self.part > 0)))
    }

    /// Moves on to the next request, due `units` later.
    #[inline]
    pub fn advance(&mut self, units: u64) {
        if units != self.step {
            self.set_step(units);
        }
        self.part += self.step_part;
        let carry = u64::from(self.part >= self.rate);
        self.part -= carry * self.rate;
        self.whole = self.whole.saturating_add(self.step_whole + carry);
    }

    /// Moves all future due times back by `span`.
    pub fn postpone(&mut self, span: Span) {
        self.whole = self.whole.saturating_add(span.as_nanos());
    }

    /// How many requests, `units` (above zero) apart, are due by `now`. Does not move the schedule.
    pub fn due_by(&self, now: Time, units: u64) -> u64 {
        if self.due() > now {
            return 0;
        }
        // The j-th from here is due at ⌈(whole × rate + part + j × units × per) / rate⌉, which is ≤
        // now exactly when j × units × per ≤ (now − whole) × rate − part; the products of two
        // 64-bit figures fit into 128.
        let span = u128::from(now.as_nanos() - self.whole) * u128::from(self.rate) - u128::from(self.part);
        let step = u128::from(units) * u128::from(self.per);
        u64::try_from(span / step.max(1)).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// The time from one request to the next, `units` apart, rounded down.
    pub fn spacing(&self, units: u64) -> Span {
        let span = u128::from(units) * u128::from(self.per) / u128::from(self.rate);
        Span::from_nanos(u64::try_from(span).unwrap_or(u64::MAX))
    }

    fn set_step(&mut self, units: u64) {
        let nanos = u128::from(units) * u128::from(self.per);
        let rate = u128::from(self.rate);
        self.step = units;
        self.step_whole = u64::try_from(nanos / rate).unwrap_or(u64::MAX / 2);
        self.step_part = (nanos % rate) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_is_due_at_once_and_nothing_drifts_over_an_hour() {
        // 7 a second: 10^9 / 7 has a remainder. Request 7 × 3600 (from 0) is due after exactly an
        // hour.
        let mut hour = Schedule::new(Time::from_nanos(5), 7, Span::SECOND);
        assert_eq!((hour.due(), hour.spacing(1)), (Time::from_nanos(5), Span::from_nanos(142_857_142)));
        (0..7 * 3600).for_each(|_| hour.advance(1));
        assert_eq!(hour.due(), Time::from_nanos(5 + 3600 * 1_000_000_000));
    }

    #[test]
    fn bytes_have_their_time() {
        // 1 MiB a second: 4 KiB take 3 906 250 ns, 8 KiB twice as long.
        let mut schedule = Schedule::new(Time::ZERO, 1 << 20, Span::SECOND);
        schedule.advance(4096);
        assert_eq!(schedule.due(), Time::from_nanos(3_906_250));
        schedule.advance(8192);
        assert_eq!(schedule.due(), Time::from_nanos(3 * 3_906_250));
        schedule.postpone(Span::SECOND);
        assert_eq!(schedule.due(), Time::from_nanos(1_000_000_000 + 3 * 3_906_250));
    }

    proptest! {
        /// By time t, `⌊rate × t⌋ + 1` requests are due, whether counted by division or step by
        /// step, from any position.
        #[test]
        fn as_many_are_due_as_the_rate_says(
            rate in 1u64..2_000_000, seconds in 1u64..200, start in 0u64..1 << 60, t in 0u64..5_000_000, before in 0u64..5,
        ) {
            let mut schedule = Schedule::new(Time::from_nanos(start), rate, Span::from_secs(seconds));
            let now = Time::from_nanos(start + t);
            let expected = (u128::from(rate) * u128::from(t) / u128::from(seconds * 1_000_000_000)) as u64 + 1;
            (0..before).for_each(|_| schedule.advance(1));
            let counted = schedule.due_by(now, 1);
            let mut walked = 0;
            while schedule.due() <= now {
                schedule.advance(1);
                walked += 1;
            }
            prop_assert_eq!((counted, walked), (expected.saturating_sub(before), expected.saturating_sub(before)));
        }
    }
}
