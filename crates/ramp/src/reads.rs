//! The open schedule of reads: a fixed rate from the start of a run to its end.

use block::{Span, Time};
use stats::Schedule;

/// A rate is a whole percentage of whole IOPS: a whole number of reads in 100 seconds.
const PER: Span = Span::from_secs(100);

/// When each read is due.
#[derive(Clone, Copy, Debug)]
pub struct Reads {
    /// `None` without reads.
    schedule: Option<Schedule>,
    /// Reads that would be due at this time or later are not made.
    end: Time,
    made: u64,
    all: u64,
}

impl Reads {
    /// `percent` of `target` IOPS from `start`, for `length`.
    pub fn new(start: Time, target: u64, percent: u32, length: Span) -> Reads {
        let (per_100_s, end) = (target.saturating_mul(u64::from(percent)), start + length);
        let schedule = (per_100_s > 0).then(|| Schedule::new(start, per_100_s, PER));
        let within = |schedule: Schedule| schedule.due_by(end - Span::from_nanos(1), 1);
        let all = schedule.filter(|_| length > Span::ZERO).map_or(0, within);
        Reads { schedule, end, made: 0, all }
    }

    /// When the next read is due; `None` after the last one.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        Some(self.schedule.as_ref()?.due()).filter(|due| *due < self.end)
    }

    /// Time from one read to the next, rounded down; the maximum if there are none.
    pub fn spacing(&self) -> Span {
        self.schedule.map_or(Span::MAX, |schedule| schedule.spacing(1))
    }

    /// Takes the next read from the schedule.
    #[inline]
    pub fn advance(&mut self) {
        self.made += 1;
        if let Some(schedule) = &mut self.schedule {
            schedule.advance(1);
        }
    }

    /// Reads made so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// Reads in the whole length.
    pub fn all(&self) -> u64 {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_spaced_evenly_and_do_not_drift() {
        // 75 % of 4 IOPS are 3 per second: at 0, 1/3, 2/3, 1, … and 30 in 10 s.
        let mut reads = Reads::new(Time::from_nanos(7), 4, 75, Span::from_secs(10));
        assert_eq!((reads.all(), reads.spacing()), (30, Span::from_nanos(333_333_333)));
        let mut dues = Vec::new();
        while let Some(due) = reads.due() {
            dues.push(due.as_nanos() - 7);
            reads.advance();
        }
        assert_eq!(dues.len(), 30);
        assert_eq!(&dues[..4], &[0, 333_333_334, 666_666_667, 1_000_000_000]);
        assert_eq!(dues[29], 9_666_666_667);
    }

    #[test]
    fn no_reads_are_never_due() {
        assert_eq!(Reads::new(Time::ZERO, 1000, 0, Span::SECOND).due(), None);
        assert_eq!(Reads::new(Time::ZERO, 1000, 0, Span::SECOND).all(), 0);
        assert_eq!(Reads::new(Time::ZERO, 1000, 75, Span::ZERO).all(), 0);
    }
}
