//! What date a time of the clock was.

use block::{Span, Time};
use std::cell::Cell;

/// Tells dates. What was told of a time is told of it again, whenever it is asked for, until the
/// date is set anew: records of the past are known by it.
#[derive(Debug)]
pub(crate) struct Dates {
    /// The date of now, in seconds since the beginning of 1970.
    pub(crate) today: fn() -> u64,
    /// That of the clock's zero. By whole seconds it seems to be one earlier or later as time goes.
    began: Cell<Option<u64>>,
}

impl Dates {
    /// By what tells the seconds since the beginning of 1970.
    pub(crate) fn new(today: fn() -> u64) -> Dates {
        Dates { today, began: Cell::default() }
    }

    /// The date of the clock's zero, in seconds since the beginning of 1970; now it is `now`.
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

    /// The date's second begins at another moment than the clock's: what happened at 2.5 s is of
    /// one date, asked for just before the date's next second or just behind it.
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
