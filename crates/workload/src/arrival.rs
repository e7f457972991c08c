//! When an open loop's requests are due: a schedule in whole nanoseconds that never looks at how the target keeps up.
//!
//! *Uniform*: request `k` (from 1) of a workload is due at `⌈k × 10^9 / rate⌉` ns from the start, so that exactly
//! `⌊rate × t⌋` requests are due within `t` seconds. Connections take turns: lane `i` of `L` has requests i+1, i+1+L, …
//! The remainder of each division is carried, so that nothing drifts.
//!
//! *Poisson*: each lane draws exponential times of mean `L × 10^9 / rate` ns; `L` such lanes together are a Poisson
//! process of the whole rate. Times add up in 2^-32 ns; cutting each to a microsecond, as some tools do, makes the rate
//! a third too high at 300 000 requests a second.

use crate::chance::{Chance, EXPONENTIAL_BITS};
use crate::spec::Spacing;
use block::{Iops, Time};

const NANOS_A_SECOND: u64 = 1_000_000_000;
/// Fraction bits of a Poisson schedule's position.
const POSITION_BITS: u32 = 32;
/// Fraction bits of its mean. The largest mean is below 2^40 ns (1024 lanes at one request a second), so 40 + 24 bits
/// fill a `u64`; at the highest rate the rounding of 2^-25 ns is 3 parts in 10^9 of the mean.
const MEAN_BITS: u32 = 24;

/// One lane's part of an open loop's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Of the whole workload; not zero.
    pub(crate) rate: Iops,
    pub(crate) spacing: Spacing,
    /// This lane's number, below `lanes`.
    pub(crate) lane: u32,
    /// Connections that share the rate.
    pub(crate) lanes: u32,
}

/// The due times of one lane, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    due: Time,
    clockwork: Clockwork,
}

#[derive(Clone, Debug)]
enum Clockwork {
    /// The exact position is `whole + part / rate` ns; a step is `step_whole + step_part / rate` ns.
    Uniform { whole: u64, part: u64, step_whole: u64, step_part: u64, rate: u64 },
    /// The position in 2^-32 ns, the mean in 2^-24 ns.
    Poisson { position: u128, mean: u64, chance: Chance },
}

impl Schedule {
    /// A schedule from `start` on. Poisson times are drawn from `chance`.
    pub(crate) fn new(start: Time, share: Share, chance: Chance) -> Schedule {
        let (start, rate) = (start.as_nanos(), share.rate.0);
        let step = u64::from(share.lanes) * NANOS_A_SECOND;
        let clockwork = match share.spacing {
            Spacing::Uniform => {
                let first = u64::from(share.lane + 1) * NANOS_A_SECOND;
                let (whole, part) = (start.saturating_add(first / rate), first % rate);
                Clockwork::Uniform { whole, part, step_whole: step / rate, step_part: step % rate, rate }
            }
            Spacing::Poisson => {
                let mean = ((u128::from(step) << MEAN_BITS) + u128::from(rate / 2)) / u128::from(rate);
                Clockwork::Poisson { position: u128::from(start) << POSITION_BITS, mean: mean as u64, chance }
            }
        };
        let mut schedule = Schedule { due: Time::ZERO, clockwork };
        match schedule.clockwork {
            Clockwork::Uniform { whole, part, .. } => schedule.due = whole_nanos(whole, part),
            Clockwork::Poisson { .. } => schedule.advance(),
        }
        schedule
    }

    /// When the next request is due.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// On to the request after it.
    #[inline]
    pub(crate) fn advance(&mut self) {
        match &mut self.clockwork {
            Clockwork::Uniform { whole, part, step_whole, step_part, rate } => {
                *part += *step_part;
                let carry = u64::from(*part >= *rate);
                *part -= carry * *rate;
                *whole = whole.saturating_add(*step_whole + carry);
                self.due = whole_nanos(*whole, *part);
            }
            Clockwork::Poisson { position, mean, chance } => {
                let product = u128::from(chance.exponential()) * u128::from(*mean);
                // 96 bits of whole nanoseconds: the sum cannot overflow, and its cut to 64 bits is 584 years away.
                *position += product >> (EXPONENTIAL_BITS + MEAN_BITS - POSITION_BITS);
                self.due = Time::from_nanos((*position >> POSITION_BITS) as u64);
            }
        }
    }

    /// How many requests from the next one on are due by `now`. Leaves the schedule where it is.
    pub(crate) fn due_by(&self, now: Time) -> u64 {
        if self.due > now {
            return 0;
        }
        match &self.clockwork {
            Clockwork::Uniform { whole, part, step_whole, step_part, rate } => {
                // The j-th from here is due at ⌈(whole × rate + part + j × step) / rate⌉, which is ≤ now exactly when
                // j × step ≤ (now − whole) × rate − part; in 128 bits because (now − whole) × rate may pass 64.
                let span = u128::from(now.as_nanos() - whole) * u128::from(*rate) - u128::from(*part);
                let step = u128::from(*step_whole) * u128::from(*rate) + u128::from(*step_part);
                (span / step) as u64 + 1
            }
            Clockwork::Poisson { .. } => {
                let (mut ahead, mut count) = (self.clone(), 0);
                while ahead.due <= now {
                    ahead.advance();
                    count += 1;
                }
                count
            }
        }
    }
}

/// `⌈whole + part / rate⌉`: a request is never made before it is due.
#[inline]
fn whole_nanos(whole: u64, part: u64) -> Time {
    Time::from_nanos(whole.saturating_add(u64::from(part > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(start: u64, rate: u64, spacing: Spacing, lane: u32, lanes: u32) -> Schedule {
        let share = Share { rate: Iops(rate), spacing, lane, lanes };
        Schedule::new(Time::from_nanos(start), share, Chance::of_lane(7, lane))
    }

    #[test]
    fn a_uniform_schedule_does_not_drift_over_an_hour() {
        // 7 requests a second: 10^9 / 7 has a remainder. Request 7 × 3600 is due after exactly an hour.
        let mut hour = schedule(5, 7, Spacing::Uniform, 0, 1);
        for _ in 1..7 * 3600 {
            hour.advance();
        }
        assert_eq!(hour.due(), Time::from_nanos(5 + 3600 * NANOS_A_SECOND));
    }

    #[test]
    fn lanes_take_turns_and_together_keep_the_rate() {
        // Three lanes of 1000 a second: 1 ms apart, lane by lane.
        let mut lanes: Vec<_> = (0..3).map(|lane| schedule(0, 1000, Spacing::Uniform, lane, 3)).collect();
        for k in 1..=30u64 {
            let lane = &mut lanes[((k - 1) % 3) as usize];
            assert_eq!(lane.due(), Time::from_nanos(k * 1_000_000));
            lane.advance();
        }
    }

    #[test]
    fn a_poisson_rate_is_exact_at_rates_where_microseconds_would_not_do() {
        // A count over time t has the deviation √(rate × t). Ten seconds at 300 000 a second: √3 000 000 = 1732, which is
        // 0.06 %; five of them are allowed.
        let n = schedule(0, 300_000, Spacing::Poisson, 0, 1).due_by(Time::from_nanos(10 * NANOS_A_SECOND));
        assert!(n.abs_diff(3_000_000) < 5 * 1732, "{n}");
    }

    #[test]
    fn poisson_lanes_together_keep_the_whole_rate() {
        let end = Time::from_nanos(100 * NANOS_A_SECOND);
        let n: u64 = (0..8).map(|lane| schedule(0, 5_000, Spacing::Poisson, lane, 8).due_by(end)).sum();
        // √500 000 = 707.
        assert!(n.abs_diff(500_000) < 5 * 707, "{n}");
    }

    proptest! {
        /// By time t exactly ⌊rate × t⌋ requests of a uniform schedule are due, over all lanes, counted both ways.
        #[test]
        fn as_many_are_due_as_the_rate_says(
            rate in 1u64..2_000_000, lanes in 1u32..9, start in 0u64..1 << 40, t in 0u64..50_000_000,
        ) {
            let now = Time::from_nanos(start + t);
            let (mut counted, mut walked) = (0, 0);
            for lane in 0..lanes {
                let mut lane = schedule(start, rate, Spacing::Uniform, lane, lanes);
                counted += lane.due_by(now);
                while lane.due() <= now {
                    lane.advance();
                    walked += 1;
                }
            }
            let expected = (u128::from(rate) * u128::from(t) / 1_000_000_000) as u64;
            prop_assert_eq!((counted, walked), (expected, expected));
        }

        /// Due times never go back, whatever the spacing.
        #[test]
        fn due_times_never_go_back(rate in 1u64..=100_000_000, poisson: bool, start in 0u64..1 << 60) {
            let spacing = if poisson { Spacing::Poisson } else { Spacing::Uniform };
            let mut schedule = schedule(start, rate, spacing, 0, 1);
            let mut before = Time::from_nanos(start);
            for _ in 0..100 {
                prop_assert!(schedule.due() >= before);
                before = schedule.due();
                schedule.advance();
            }
        }
    }
}
