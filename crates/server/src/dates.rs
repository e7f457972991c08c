//! Converts times of the clock to dates.

use block::{Span, Time};
use std::cell::Cell;

/// Tells dates. A time always gives the same date, until the system's date is set: records of the
/// past are identified by it.
#[derive(Debug)]
pub(crate) struct Dates {
    /// The source of the present date, in seconds since 1970.
    pub(crate) today: fn() -> u64,
    /// The date of the clock's zero. Computed from whole seconds it varies by one over time.
    began: Cell<Option<u64>>,
}

impl Dates {
    /// Uses the source `today`, in seconds since 1970.
    pub(crate) fn new(today: fn() -> u64) -> Dates {
        Dates { today, began: Cell::default() }
    }

    /// The date of the clock's zero, in seconds since 1970; the clock is at `now`.
    pub(crate) fn began(&self, now: Time) -> u64 {
        let seems = (self.today)().saturating_sub(now.as_nanos() / Span::SECOND.as_nanos());
        let began = self.began.get().filter(|began| began.abs_diff(seems) <= 1).unwrap_or(seems);
        self.began.set(Some(began));
        began
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds of the date begin at another moment than those of the clock: 2.5 s has one date,
    /// whether it is asked for just before or just after the date's next second begins.
    #[test]
    fn a_time_has_one_date() {
        thread_local!(static NOW: Cell<u64> = const { Cell::new(0) });
        // The clock began 0.7 s into a second.
        let dates = Dates::new(|| 1_000_000 + (NOW.get() + 700) / 1000);
        let mut ask = |millis| {
            NOW.set(millis);
            dates.began(Time::ZERO + Span::from_millis(millis))
        };
        let told: Vec<u64> = (2600..5000).step_by(100).map(&mut ask).collect();
        assert!(told.iter().all(|began| *began == told[0]), "{told:?}");
        assert!((1_000_000..=1_000_001).contains(&told[0]), "{told:?}");
        // The date is set an hour back.
        let set_back = Dates { today: || 996_400, began: Cell::new(Some(1_000_000)) };
        assert_eq!(set_back.began(Time::ZERO), 996_400);
    }
}
