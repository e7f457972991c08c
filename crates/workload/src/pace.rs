//! The pace of a closed loop: the highest rate at which a client makes requests, however fast the
//! storage is.
//!
//! ```text
//!   free ≤ now: make one     free = max(free, now − CATCH_UP) + 1 / rate
//! ```
//!
//! Times add up in 2⁻³² ns, so rounding does not accumulate.

use block::{Iops, Span, Time};

/// How far a delayed client may fall behind and still catch up: enough for a late timer and a batch
/// of completions.
const CATCH_UP: Span = Span::from_millis(5);

const FRACTION_BITS: u32 = 32;

/// Pace of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    rate: Iops,
    /// When the next request may be made, and the time for one, both in 2⁻³² ns.
    free: u128,
    step: u128,
}

impl Pace {
    /// A pace of `rate` requests a second, at least one, from `now` on.
    pub(crate) fn new(now: Time, rate: Iops) -> Pace {
        let step = (1_000_000_000u128 << FRACTION_BITS) / u128::from(rate.0.max(1));
        Pace { rate, free: u128::from(now.as_nanos()) << FRACTION_BITS, step }
    }

    /// The rate it was created with.
    pub(crate) fn rate(&self) -> Iops {
        self.rate
    }

    /// When the next request may be made.
    #[inline]
    pub(crate) fn free(&self) -> Time {
        let whole = self.free.div_ceil(1 << FRACTION_BITS);
        Time::from_nanos(u64::try_from(whole).unwrap_or(u64::MAX))
    }

    /// Records that a request was made.
    #[inline]
    pub(crate) fn take(&mut self, now: Time) {
        let earliest = now.as_nanos().saturating_sub(CATCH_UP.as_nanos());
        self.free = self.free.max(u128::from(earliest) << FRACTION_BITS) + self.step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many requests are made in a second if it is asked every `every` ns.
    fn made(rate: u64, every: u64) -> u64 {
        let mut pace = Pace::new(Time::ZERO, Iops(rate));
        let mut made = 0;
        for now in (0..1_000_000_000).step_by(every as usize).map(Time::from_nanos) {
            while pace.free() <= now {
                pace.take(now);
                made += 1;
            }
        }
        made
    }

    /// One at once, then one every 1 / rate. Asked less than 5 ms late it loses nothing, except
    /// what is due after the last time it was asked: at 4 ms, 4 ms × 3500/s = 14.
    #[test]
    fn lateness_costs_nothing_until_it_is_too_much() {
        assert_eq!(made(3_500, 1_000), 3_500);
        assert_eq!(made(7, 1_000), 7);
        assert!((3_486..=3_500).contains(&made(3_500, 4_000_000)), "{}", made(3_500, 4_000_000));
        // Asked every 20 ms it makes 5 ms' worth each time, and the one that is due.
        assert!((50 * 17..=50 * 19).contains(&made(3_500, 20_000_000)), "{}", made(3_500, 20_000_000));
    }
}
