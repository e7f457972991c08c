//! When the next request of a rate is due, in whole nanoseconds that do not drift.
//!
//! *Uniform*: a request is due when the units before it (requests, or bytes) have had their time: after `u` units,
//! `⌈u × 10^9 / rate⌉` ns from the start. The remainder of each division is carried.
//!
//! *Poisson*: the time to the next request is exponential with that mean, added up in 2^-32 ns. Cutting each interval
//! to a microsecond, as fio does, makes 300 000 requests a second a third too many.

use super::Pace;
use crate::chance::{Chance, EXPONENTIAL_BITS};
use crate::spec::Spacing;
use block::{Span, Time};

const NANOS_A_SECOND: u128 = 1_000_000_000;
/// Fraction bits of a Poisson position and of its mean for one unit.
const FRACTION_BITS: u32 = 32;

/// The due times of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pace: Pace,
    rate: u64,
    /// Uniform: the exact position is `at + part / rate` ns.
    at: u64,
    part: u64,
    /// Poisson: the position in 2^-32 ns, and whose intervals are drawn from where.
    poisson: Option<(u128, Chance)>,
}

impl Due {
    /// From `start` on: the first request is due then, the later ones at `pace`, which is above zero.
    pub(crate) fn new(start: Time, pace: Pace, spacing: Spacing, chance: &Chance) -> Due {
        let rate = match pace {
            Pace::Throughput(bytes) => bytes.0,
            Pace::Iops(iops) => iops.0,
        };
        let poisson =
            (spacing == Spacing::Poisson).then(|| (u128::from(start.as_nanos()) << FRACTION_BITS, chance.clone()));
        Due { pace, rate: rate.max(1), at: start.as_nanos(), part: 0, poisson }
    }

    /// When the next request is due.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        Time::from_nanos(self.at + u64::from(self.part > 0))
    }

    /// On to the request after it, which follows `bytes`.
    #[inline]
    pub(crate) fn advance(&mut self, bytes: u32) {
        let units = match self.pace {
            Pace::Throughput(_) => u128::from(bytes),
            Pace::Iops(_) => 1,
        };
        let nanos = units * NANOS_A_SECOND;
        match &mut self.poisson {
            None => {
                let whole = nanos + u128::from(self.part);
                self.at += (whole / u128::from(self.rate)) as u64;
                self.part = (whole % u128::from(self.rate)) as u64;
            }
            Some((position, chance)) => {
                let mean = (nanos << FRACTION_BITS) / u128::from(self.rate);
                // A mean has less than 2^62 bits here (32 MiB at one byte a second), so it is scaled before the product.
                *position += mul_shift(mean, chance.exponential());
                self.at = (*position >> FRACTION_BITS) as u64;
            }
        }
    }

    /// Puts all that is still to come off by `span`.
    pub(crate) fn postpone(&mut self, span: Span) {
        self.at += span.as_nanos();
        if let Some((position, _)) = &mut self.poisson {
            *position += u128::from(span.as_nanos()) << FRACTION_BITS;
        }
    }

    /// How many requests of `bytes` each are due by `now`. Leaves the schedule where it is.
    pub(crate) fn due_by(&self, now: Time, bytes: u32) -> u64 {
        let (mut ahead, mut count) = (self.clone(), 0);
        if self.poisson.is_none() && self.due() <= now {
            // Equal steps are counted by division: walking a long backlog would take long.
            let units = if let Pace::Throughput(_) = self.pace { u128::from(bytes) } else { 1 };
            let span = u128::from(now.as_nanos() - self.at) * u128::from(self.rate) - u128::from(self.part);
            return (span / (units * NANOS_A_SECOND).max(1)) as u64 + 1;
        }
        while ahead.due() <= now {
            ahead.advance(bytes);
            count += 1;
        }
        count
    }
}

/// `mean × exponential / 2^EXPONENTIAL_BITS`, in the mean's own fraction.
#[inline]
fn mul_shift(mean: u128, exponential: u64) -> u128 {
    let (high, low) = (mean >> 60, mean & ((1 << 60) - 1));
    let exponential = u128::from(exponential);
    ((high * exponential) << (60 - EXPONENTIAL_BITS)) + ((low * exponential) >> EXPONENTIAL_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Bytes, Iops};
    use proptest::prelude::*;

    fn due(pace: Pace, spacing: Spacing) -> Due {
        Due::new(Time::ZERO, pace, spacing, &Chance::of_lane(7, 0))
    }

    #[test]
    fn bytes_have_their_time() {
        // 1 MiB a second: 4 KiB take 3 906 250 ns.
        let mut clock = due(Pace::Throughput(Bytes::mib(1)), Spacing::Uniform);
        assert_eq!(clock.due(), Time::ZERO);
        for k in 1..=256u64 {
            clock.advance(4096);
            assert_eq!(clock.due(), Time::from_nanos(k * 3_906_250));
        }
        clock.postpone(Span::SECOND);
        assert_eq!(clock.due(), Time::from_nanos(2_000_000_000));
    }

    #[test]
    fn poisson_keeps_its_rate_where_microseconds_would_not() {
        // Ten seconds at 300 000 a second deviate by √3 000 000 = 1732 (0.06 %); five of them are 0.3 %.
        let clock = due(Pace::Iops(Iops(300_000)), Spacing::Poisson);
        let n = clock.due_by(Time::from_nanos(10_000_000_000), 4096);
        assert!(n.abs_diff(3_000_000) < 5 * 1732, "{n}");
        // In bytes: 4 KiB at 400 MiB a second are 102 400 a second.
        let clock = due(Pace::Throughput(Bytes::mib(400)), Spacing::Poisson);
        let n = clock.due_by(Time::from_nanos(10_000_000_000), 4096);
        assert!(n.abs_diff(1_024_000) < 5 * 1012, "{n}");
    }

    proptest! {
        /// By time t, `⌊rate × t⌋ + 1` requests are due, the first at once; counted by division and by walking.
        #[test]
        fn as_many_are_due_as_the_rate_says(rate in 1u64..2_000_000, t in 0u64..5_000_000) {
            let mut clock = due(Pace::Iops(Iops(rate)), Spacing::Uniform);
            let now = Time::from_nanos(t);
            let counted = clock.due_by(now, 1);
            let mut walked = 0;
            while clock.due() <= now {
                clock.advance(1);
                walked += 1;
            }
            let expected = (u128::from(rate) * u128::from(t) / 1_000_000_000) as u64 + 1;
            prop_assert_eq!((counted, walked), (expected, expected));
        }
    }
}
