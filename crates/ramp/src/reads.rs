//! The open schedule of reads: evenly spaced, in whole nanoseconds, without drift.

use block::{Span, Time};

/// When each read is due. The n-th is due `n / rate` after the start, worked out anew each time, so that rounding never
/// adds up: a rate that does not divide a second is met all the same.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    start: Time,
    /// Reads in 100 seconds: the rate is a whole percentage of a whole number.
    per_100_s: u64,
    end: Span,
    made: u64,
    /// When the next is due, after the start: worked out once and asked for several times.
    next: Option<Span>,
}

impl Schedule {
    /// `percent` of `target` IOPS from `start` on, for `length`.
    pub fn new(start: Time, target: u64, percent: u32, length: Span) -> Schedule {
        let per_100_s = target.saturating_mul(u64::from(percent));
        let mut schedule = Schedule { start, per_100_s, end: length, made: 0, next: None };
        schedule.next = schedule.after();
        schedule
    }

    /// When the next read is due; `None` when the last one was made.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        self.next.map(|after| self.start + after)
    }

    /// How long after the start the next read is due.
    fn after(&self) -> Option<Span> {
        if self.per_100_s == 0 {
            return None;
        }
        // Wide numbers take several times as long to divide, and only the longest runs need them.
        let after = match self.made.checked_mul(100_000_000_000) {
            Some(hundredths) => u128::from(hundredths / self.per_100_s),
            None => u128::from(self.made) * 100_000_000_000 / u128::from(self.per_100_s),
        };
        (after < u128::from(self.end.as_nanos())).then(|| Span::from_nanos(after as u64))
    }

    /// From one read to the next, rounded down; as long as can be without any.
    pub fn spacing(&self) -> Span {
        100_000_000_000u64.checked_div(self.per_100_s).map_or(Span::from_nanos(u64::MAX), Span::from_nanos)
    }

    /// Takes the next read off.
    #[inline]
    pub fn advance(&mut self) {
        self.made += 1;
        self.next = self.after();
    }

    /// Reads made so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Reads of the whole length.
    pub fn all(&self) -> u64 {
        // The reads 0, 1, … that are due before the end: as many as the smallest n with n / rate ≥ end.
        let hundredths = u128::from(self.per_100_s) * u128::from(self.end.as_nanos());
        hundredths.div_ceil(100_000_000_000) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_spaced_evenly_and_do_not_drift() {
        // 75 % of 4 IOPS are 3 a second: 0, 1/3, 2/3, 1, … and 30 in 10 s.
        let mut schedule = Schedule::new(Time::from_nanos(7), 4, 75, Span::from_secs(10));
        assert_eq!((schedule.all(), schedule.spacing()), (30, Span::from_nanos(333_333_333)));
        let mut dues = Vec::new();
        while let Some(due) = schedule.due() {
            dues.push(due.as_nanos() - 7);
            schedule.advance();
        }
        assert_eq!(dues.len(), 30);
        assert_eq!(&dues[..4], &[0, 333_333_333, 666_666_666, 1_000_000_000]);
        assert_eq!(dues[29], 9_666_666_666);
    }

    #[test]
    fn no_reads_are_never_due() {
        assert_eq!(Schedule::new(Time::ZERO, 1000, 0, Span::SECOND).due(), None);
        assert_eq!(Schedule::new(Time::ZERO, 1000, 0, Span::SECOND).all(), 0);
    }
}
