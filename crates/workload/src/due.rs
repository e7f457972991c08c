//! When the requests of an open loop are due: a schedule in whole nanoseconds that does not depend
//! on the target.
//!
//! *Uniform*: [`stats::Schedule`], so that request `k` (from 0) of a rate is due at `k / rate`, the
//! first at once. The connections of a plan's workload take turns: lane `i` of `L` has requests i,
//! i + L, …
//!
//! *Poisson*: the time to the next request is exponential, its mean what a uniform schedule would
//! wait. `L` lanes, each with the mean of `L` requests, are together a Poisson process of the whole
//! rate. Times add up in 2^-32 ns; cutting each to a microsecond, as some tools do, makes the rate
//! a third too high at 300 000 requests a second.

use crate::chance::{Chance, EXPONENTIAL_BITS};
use crate::spec::Spacing;
use block::{Iops, Span, Time};
use stats::Schedule;

/// Fraction bits of a position in a Poisson schedule and of its mean steps.
const FRACTION_BITS: u32 = 32;

/// One lane's part of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Rate of the whole workload; not zero.
    pub(crate) rate: Iops,
    pub(crate) spacing: Spacing,
    /// This lane's number, below `lanes`.
    pub(crate) lane: u32,
    /// Connections that share the rate.
    pub(crate) lanes: u32,
}

/// The due times of one lane, or of one direction of a job.
#[derive(Clone, Debug)]
pub(crate) struct Due(Spaced);

#[derive(Clone, Debug)]
enum Spaced {
    Uniform(Schedule),
    Poisson(Poisson),
}

#[derive(Clone, Debug)]
struct Poisson {
    /// Due time of the next request, in 2^-32 ns.
    position: u128,
    /// Rate in units a second.
    rate: u64,
    /// The last step in units and its mean in 2^-32 ns; cached, because most steps are equal.
    step: u64,
    mean: u128,
    chance: Chance,
}

impl Share {
    /// The lane's schedule from `start` on; [`Due::advance`] steps by [`Share::lanes`]. Poisson
    /// times are drawn from `chance`, including the first: lanes that all start at once would not
    /// be a Poisson process.
    pub(crate) fn due(&self, start: Time, chance: Chance) -> Due {
        let mut due = Due::new(start, self.rate.0, self.spacing, chance);
        due.advance(u64::from(if self.spacing == Spacing::Poisson { self.lanes } else { self.lane }));
        due
    }
}

impl Due {
    /// A schedule of `rate` units (requests or bytes) a second from `start` on, when the first
    /// request is due. Poisson times are drawn from `chance`.
    pub(crate) fn new(start: Time, rate: u64, spacing: Spacing, chance: Chance) -> Due {
        Due(match spacing {
            Spacing::Uniform => Spaced::Uniform(Schedule::new(start, rate.min(1 << 63), Span::SECOND)),
            Spacing::Poisson => {
                let position = u128::from(start.as_nanos()) << FRACTION_BITS;
                Spaced::Poisson(Poisson { position, rate: rate.max(1), step: 0, mean: 0, chance })
            }
        })
    }

    /// When the next request is due.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        match &self.0 {
            Spaced::Uniform(schedule) => schedule.due(),
            Spaced::Poisson(poisson) => poisson.due(),
        }
    }

    /// Moves on to the next request, due `units` later.
    #[inline]
    pub(crate) fn advance(&mut self, units: u64) {
        match &mut self.0 {
            Spaced::Uniform(schedule) => schedule.advance(units),
            Spaced::Poisson(poisson) => poisson.advance(units),
        }
    }

    /// Moves all future due times back by `span`.
    pub(crate) fn postpone(&mut self, span: Span) {
        match &mut self.0 {
            Spaced::Uniform(schedule) => schedule.postpone(span),
            Spaced::Poisson(poisson) => poisson.position += u128::from(span.as_nanos()) << FRACTION_BITS,
        }
    }

    /// How many requests, `units` apart, are due by `now`. Does not move the schedule.
    pub(crate) fn due_by(&self, now: Time, units: u64) -> u64 {
        match &self.0 {
            Spaced::Uniform(schedule) => schedule.due_by(now, units),
            Spaced::Poisson(poisson) => {
                let (mut ahead, mut count) = (poisson.clone(), 0);
                while ahead.due() <= now {
                    ahead.advance(units);
                    count += 1;
                }
                count
            }
        }
    }
}

impl Poisson {
    fn due(&self) -> Time {
        // Truncation to 64 bits matters after 584 years.
        Time::from_nanos((self.position >> FRACTION_BITS) as u64)
    }

    fn advance(&mut self, units: u64) {
        if units != self.step {
            self.step = units;
            self.mean =
                ((u128::from(units) * u128::from(Span::SECOND.as_nanos())) << FRACTION_BITS) / u128::from(self.rate);
        }
        self.position += scaled(self.mean, self.chance.exponential());
    }
}

/// `mean × exponential / 2^EXPONENTIAL_BITS`, in the mean's own fraction. A mean may have 87 bits
/// (32 MiB at one byte a second), so it is split before the product.
#[inline]
fn scaled(mean: u128, exponential: u64) -> u128 {
    let (high, low) = (mean >> 60, mean & ((1 << 60) - 1));
    let exponential = u128::from(exponential);
    ((high * exponential) << (60 - EXPONENTIAL_BITS)) + ((low * exponential) >> EXPONENTIAL_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lane(start: u64, rate: u64, spacing: Spacing, lane: u32, lanes: u32) -> Due {
        let share = Share { rate: Iops(rate), spacing, lane, lanes };
        share.due(Time::from_nanos(start), Chance::of_lane(7, lane))
    }

    #[test]
    fn lanes_take_turns_and_together_keep_the_rate() {
        // Three lanes of 1000 a second: 1 ms apart, lane by lane, the first at once.
        let mut lanes: Vec<_> = (0..3).map(|n| lane(0, 1000, Spacing::Uniform, n, 3)).collect();
        for k in 0..30u64 {
            let lane = &mut lanes[(k % 3) as usize];
            assert_eq!(lane.due(), Time::from_nanos(k * 1_000_000));
            lane.advance(3);
        }
    }

    #[test]
    fn a_poisson_rate_is_exact_at_rates_where_microseconds_would_not_do() {
        // The count over time t deviates by √(rate × t). Ten seconds at 300 000 a second: √3 000
        // 000 = 1732, or 0.06 %; five deviations are allowed.
        let ten = Time::from_nanos(10_000_000_000);
        let n = lane(0, 300_000, Spacing::Poisson, 0, 1).due_by(ten, 1);
        assert!(n.abs_diff(3_000_000) < 5 * 1732, "{n}");
        // In bytes: 4 KiB at 400 MiB a second are 102 400 a second; √1 024 000 = 1012.
        let n = Due::new(Time::ZERO, 400 << 20, Spacing::Poisson, Chance::of_lane(7, 0)).due_by(ten, 4096);
        assert!(n.abs_diff(1_024_000) < 5 * 1012, "{n}");
    }

    #[test]
    fn poisson_lanes_together_keep_the_whole_rate() {
        let end = Time::from_nanos(100_000_000_000);
        let n: u64 = (0..8).map(|n| lane(0, 5_000, Spacing::Poisson, n, 8).due_by(end, 8)).sum();
        // √500 000 = 707.
        assert!(n.abs_diff(500_000) < 5 * 707, "{n}");
    }

    #[test]
    fn a_pause_puts_off_what_is_to_come() {
        for spacing in [Spacing::Uniform, Spacing::Poisson] {
            let due = lane(5, 1000, spacing, 0, 1);
            let mut later = due.clone();
            later.postpone(Span::SECOND);
            assert_eq!(later.due(), due.due() + Span::SECOND);
        }
    }

    proptest! {
        /// By time t exactly ⌊rate × t⌋ + 1 requests of a uniform schedule are due over all lanes,
        /// whether counted at once or step by step.
        #[test]
        fn as_many_are_due_as_the_rate_says(
            rate in 1u64..2_000_000, lanes in 1u32..9, start in 0u64..1 << 40, t in 0u64..50_000_000,
        ) {
            let now = Time::from_nanos(start + t);
            let (mut counted, mut walked) = (0, 0);
            for n in 0..lanes {
                let mut lane = lane(start, rate, Spacing::Uniform, n, lanes);
                counted += lane.due_by(now, u64::from(lanes));
                while lane.due() <= now {
                    lane.advance(u64::from(lanes));
                    walked += 1;
                }
            }
            let expected = (u128::from(rate) * u128::from(t) / 1_000_000_000) as u64 + 1;
            prop_assert_eq!((counted, walked), (expected, expected));
        }

        /// Due times never decrease, whatever the spacing.
        #[test]
        fn due_times_never_go_back(rate in 1u64..=100_000_000, poisson: bool, start in 0u64..1 << 60) {
            let spacing = if poisson { Spacing::Poisson } else { Spacing::Uniform };
            let mut lane = lane(start, rate, spacing, 0, 1);
            let mut before = Time::from_nanos(start);
            for _ in 0..100 {
                prop_assert!(lane.due() >= before);
                before = lane.due();
                lane.advance(1);
            }
        }
    }
}
