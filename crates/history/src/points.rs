//! The day of one object, in intervals of equal width.

use crate::{Figures, Slot};
use block::{ObjectId, Span, Time};
use std::sync::Arc;

/// The activity of an object over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// The end of the interval.
    pub to: Time,
    /// The part of it that samples cover, which rates refer to.
    pub length: Span,
    /// Its activity; zero if the object was idle.
    pub figures: Figures,
}

impl Point {
    /// A count as a rate a second.
    pub fn rate(&self, count: u64) -> u64 {
        let nanos = u128::from(self.length.as_nanos());
        (u128::from(count) * 1_000_000_000 + nanos / 2).checked_div(nanos).unwrap_or(0) as u64
    }
}

/// The activity of an object in these slots, in intervals of `width`. Slots that are wider stay as
/// they are; the first and the last interval may be shorter.
pub fn points(slots: &[Arc<Slot>], object: ObjectId, width: Span) -> Vec<Point> {
    let (mut points, mut last) = (Vec::<Point>::new(), None);
    for slot in slots {
        let place = slot.from().as_nanos() / width.as_nanos().max(1);
        let figures = slot.figures(object).unwrap_or_default();
        match points.last_mut().filter(|_| last == Some(place)) {
            Some(point) => {
                point.to = slot.to();
                point.length += slot.length();
                point.figures.add(&figures);
            }
            None => points.push(Point { to: slot.to(), length: slot.length(), figures }),
        }
        last = Some(place);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{History, HistorySettings};

    /// Forty seconds, every second one active. Intervals of 15 s are aligned to quarter minutes,
    /// the first one begins at the time asked for, and sums are those of the seconds.
    #[test]
    fn stretches_are_of_one_width() {
        let at = |second| Time::ZERO + Span::from_secs(second);
        let mut history = History::new(HistorySettings::default());
        for second in 1..=40 {
            let figures = Figures { read_ops: second, completed: second, ..Figures::default() };
            let active = (second % 2 == 0).then_some((ObjectId(4), figures));
            history.add(at(second), Span::SECOND, active.into_iter());
        }
        let found = points(&history.since(at(10)), ObjectId(4), Span::from_secs(15));
        let told: Vec<_> =
            found.iter().map(|p| (p.to, p.length.as_nanos() / 1_000_000_000, p.figures.read_ops)).collect();
        // 12 + 14; 16 to 30 in steps of two; 32 to 40.
        assert_eq!(told, [(at(15), 5, 26), (at(30), 15, 184), (at(40), 10, 180)]);
        assert_eq!((found[1].rate(184), Point::default().rate(5)), (12, 0));
        assert!(points(&history.slots(), ObjectId(5), Span::SECOND).iter().all(|p| p.figures.ops() == 0));
    }
}
