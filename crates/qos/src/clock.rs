//! One limit's virtual clock (GCRA): the time from which the next request may go.
//!
//! ```text
//!   eligible iff next ≤ now          on dispatch  next = max(next, now − tolerance) + units / rate
//!
//!   ──────┬───────────────┬─────────┬──────────► time
//!   now − tolerance      next      now            what lies between `next` and `now` is credit, at most `tolerance`;
//!                                                 a `next` after `now` is debt: the limit binds until then
//! ```
//!
//! Any window `D` admits at most `rate × (D + tolerance)` units and one request more. Time advances
//! by 2⁻³² ns, kept in two words so that the clock lasts as long as [`Time`]: a rate of
//! 10 000 000/s is exact, one of 2⁴²/s is off by less than 1 in 10⁶, and rounding is always towards
//! the slower side.

use block::{Span, Time};

const FRACTION_BITS: u32 = 32;
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// The virtual clock of one rate. Off until given a rate; a clock turned off remembers its debt, so
/// that taking a limit away and setting it again forgives nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// Whole nanoseconds of the time from which the next request may go.
    next: u64,
    /// The same in 2⁻³² ns beyond the whole ones.
    fraction: u32,
    on: bool,
    /// Time per unit in 2⁻³² ns: 2³² × 10⁹ / rate. 1/s needs 62 bits.
    step: u64,
    /// Nanoseconds.
    tolerance: u64,
}

impl Clock {
    /// Gives the clock a rate per second (`None` turns it off) from `now` on. Credit and debt are
    /// kept in units; a clock that was off has no credit.
    pub fn set(&mut self, now: Time, rate: Option<u64>, tolerance: Span) {
        self.set_scaled(now, rate, 1_000_000, tolerance);
    }

    /// The same with so many millionths of the rate.
    pub fn set_scaled(&mut self, now: Time, rate: Option<u64>, ppm: u32, tolerance: Span) {
        let Some(rate) = rate else {
            self.on = false;
            return;
        };
        let now = now.as_nanos();
        let per_second = u128::from(rate.max(1)) * u128::from(ppm.max(1));
        let step = ((NANOS_PER_SECOND << FRACTION_BITS) * 1_000_000).div_ceil(per_second);
        let step = u64::try_from(step).unwrap_or(u64::MAX);
        let tolerance = tolerance.as_nanos();
        if self.step == 0 || (!self.on && self.next <= now) {
            (self.next, self.fraction) = (now, 0);
        } else if self.next <= now {
            let credit = (now - self.next).min(self.tolerance);
            self.next = now - rescale(credit, step, self.step).min(tolerance).min(now);
        } else {
            self.next = now.saturating_add(rescale(self.next - now, step, self.step));
        }
        (self.on, self.step, self.tolerance) = (true, step, tolerance);
    }

    /// Its rate per second, exactly up to 10⁹; none while off.
    pub fn rate(&self) -> Option<u64> {
        // The step was rounded up by less than one, so the quotient is less than half below the
        // rate.
        let step = u128::from(self.step.max(1));
        let rate = ((NANOS_PER_SECOND << FRACTION_BITS) + step / 2) / step;
        self.on.then(|| u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }

    /// Whether it limits anything.
    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// Whether it is off and remembers nothing: as if it had never been on.
    pub fn is_blank(&self, now: Time) -> bool {
        !self.on && self.next <= now.as_nanos()
    }

    /// How far it may run behind.
    pub const fn tolerance(&self) -> Span {
        Span::from_nanos(self.tolerance)
    }

    /// When the next request may go: up to a nanosecond early, which is charged to the one after.
    /// The beginning of time while off.
    #[inline]
    pub const fn opens(&self) -> Time {
        if self.on { Time::from_nanos(self.next) } else { Time::ZERO }
    }

    /// Charges a request of one unit that goes at `now`.
    #[inline]
    pub fn charge_one(&mut self, now: Time) {
        if !self.on {
            return;
        }
        self.let_go(now);
        // A step is less than 2⁶², so that the sums fit.
        let fraction = u64::from(self.fraction) + (self.step & u64::from(u32::MAX));
        let whole = (self.step >> FRACTION_BITS) + (fraction >> FRACTION_BITS);
        self.next = self.next.saturating_add(whole);
        self.fraction = fraction as u32;
    }

    /// Drops credit beyond the tolerance.
    #[inline]
    fn let_go(&mut self, now: Time) {
        let earliest = now.as_nanos().saturating_sub(self.tolerance);
        if self.next < earliest {
            (self.next, self.fraction) = (earliest, 0);
        }
    }

    /// Charges a request of so many units that goes at `now`.
    #[inline]
    pub fn charge(&mut self, now: Time, units: u64) {
        if !self.on {
            return;
        }
        self.let_go(now);
        let advance = u128::from(units) * u128::from(self.step) + u128::from(self.fraction);
        let whole = u64::try_from(advance >> FRACTION_BITS).unwrap_or(u64::MAX);
        self.next = self.next.saturating_add(whole);
        self.fraction = advance as u32;
    }
}

/// A duration worth the same number of units at another time per unit.
fn rescale(nanos: u64, to_step: u64, from_step: u64) -> u64 {
    u64::try_from(u128::from(nanos) * u128::from(to_step) / u128::from(from_step)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(rate: u64, tolerance_ms: u64) -> Clock {
        let mut clock = Clock::default();
        clock.set(Time::from_nanos(1_000_000_000), Some(rate), Span::from_millis(tolerance_ms));
        clock
    }

    /// Dispatches whenever eligible from `from` for `ns`, polled every `step` ns; how many went.
    fn admitted(clock: &mut Clock, from: u64, ns: u64, step: u64) -> u64 {
        let mut count = 0;
        for now in (from..from + ns).step_by(step as usize) {
            while clock.opens().as_nanos() <= now {
                clock.charge(Time::from_nanos(now), 1);
                count += 1;
            }
        }
        count
    }

    #[test]
    fn one_unit_is_charged_alike_either_way() {
        for rate in [1, 3, 7_001, 9_999_999, 1 << 40, u64::MAX] {
            let (mut one, mut many) = (clock(rate, 5), clock(rate, 5));
            for _ in 0..1000 {
                one.charge_one(Time::from_nanos(1_000_000_000));
                many.charge(Time::from_nanos(1_000_000_000), 1);
            }
            assert_eq!((one.next, one.fraction), (many.next, many.fraction));
        }
    }

    #[test]
    fn ten_million_a_second_is_exact() {
        // 100 ns each, from the first at 0: exactly one per 100 ns, in 10 ms 100 000.
        let mut clock = clock(10_000_000, 0);
        assert_eq!(admitted(&mut clock, 1_000_000_000, 10_000_000, 50), 100_000);
    }

    #[test]
    fn odd_rates_do_not_drift() {
        // 3/s: a third of a second each. After 3 000 requests the next opens 1 000 s later, off by
        // less than 1 µs; the tolerance keeps the part of a nanosecond by which each goes late.
        let mut clock = clock(3, 5);
        for _ in 0..3000 {
            clock.charge(clock.opens(), 1);
        }
        let opens = clock.opens().as_nanos();
        assert!((1_001_000_000_000..1_001_000_001_000).contains(&opens), "{opens}");
    }

    #[test]
    fn late_polls_lose_nothing_up_to_the_tolerance() {
        // Polled every 4 ms with 5 ms of tolerance, 10 000/s passes 10 000 ± 1 tolerance's worth
        // (50) in a second.
        let mut clock = clock(10_000, 5);
        let count = admitted(&mut clock, 1_000_000_000, 1_000_000_000, 4_000_000);
        assert!((9_950..=10_050).contains(&count), "{count}");
    }

    #[test]
    fn a_jump_of_an_hour_saves_only_the_tolerance() {
        // After an hour idle: 5 ms × 10 000/s = 50 and one, then one per 100 µs.
        let mut clock = clock(10_000, 5);
        clock.charge(Time::from_nanos(1_000_000_000), 1);
        assert_eq!(admitted(&mut clock, 3_601_000_000_000, 1, 1), 51);
    }

    #[test]
    fn a_new_rate_keeps_debt_in_units() {
        // One operation of debt at 1/s is a second; at 1 000/s it is a millisecond.
        let now = Time::from_nanos(1_000_000_000);
        let mut clock = clock(1, 5);
        clock.charge(now, 1);
        clock.set(now, Some(1000), Span::from_millis(5));
        assert_eq!(clock.opens().since(now), Span::from_millis(1));
    }

    #[test]
    fn turning_it_off_and_on_forgives_no_debt_and_gives_no_credit() {
        let now = Time::from_nanos(9_000_000_000);
        let mut clock = clock(10, 5);
        clock.charge(now, 20);
        let opens = clock.opens();
        clock.set(now, None, Span::ZERO);
        assert_eq!(clock.opens(), Time::ZERO, "off: nothing binds");
        clock.set(now, Some(10), Span::from_millis(5));
        assert_eq!(clock.opens(), opens);
        let later = Time::from_nanos(90_000_000_000);
        clock.set(later, None, Span::ZERO);
        clock.set(later, Some(10), Span::from_millis(5));
        assert_eq!(clock.opens(), later);
    }

    #[test]
    fn absurd_rates_and_sizes_neither_overflow_nor_open_the_gate() {
        for rate in [1, 1_000_000_000, 1 << 40, u64::MAX] {
            let mut clock = clock(rate, 5);
            clock.charge(Time::MAX, u64::MAX);
            clock.charge(Time::ZERO, u64::MAX);
            clock.set(Time::MAX, Some(1), Span::MAX);
            clock.set(Time::ZERO, Some(1 << 40), Span::ZERO);
            assert!(clock.opens() > Time::ZERO);
        }
    }
}
