//! Hourly sums, until they are stored.

use crate::{Figures, Promise, Totals};
use block::ObjectId;
use std::collections::BTreeMap;

/// Seconds of an hour.
pub const HOUR: u64 = 3600;

/// The hour of a time, both counted from the beginning of 1970.
pub fn hour_of(date: u64) -> u64 {
    date / HOUR
}

/// Sums not handed out yet, by hour and object. An hour may be handed out in several parts; the
/// receiver adds them up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hours {
    sums: BTreeMap<(u64, ObjectId), Totals>,
}

impl Hours {
    /// Adds the activity of an object in a sample that ended at `date`, in seconds since the
    /// beginning of 1970.
    pub fn add(&mut self, date: u64, object: ObjectId, figures: &Figures) {
        self.sums.entry((hour_of(date), object)).or_default().figures.add(figures);
    }

    /// Adds the promise to an object in an interval that ended at `date`.
    pub fn promise(&mut self, date: u64, object: ObjectId, promise: &Promise) {
        self.sums.entry((hour_of(date), object)).or_default().promise.add(promise);
    }

    /// Returns all sums by hour and object, and starts anew.
    pub fn take(&mut self) -> Vec<(u64, ObjectId, Totals)> {
        std::mem::take(&mut self.sums).into_iter().map(|((hour, object), totals)| (hour, object, totals)).collect()
    }

    /// Takes back sums that could not be stored.
    pub fn take_back(&mut self, taken: Vec<(u64, ObjectId, Totals)>) {
        for (hour, object, totals) in taken {
            self.sums.entry((hour, object)).or_default().add(&totals);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two minutes before and two after the hour. Sums that were taken are gone, and come back to
    /// their hours.
    #[test]
    fn sums_are_by_the_hour_and_handed_out_once() {
        let mut hours = Hours::default();
        let figures = Figures { read_ops: 10, ..Figures::default() };
        for minute in 58..62 {
            hours.add(7200 + minute * 60, ObjectId(3), &figures);
        }
        let promise = Promise { seconds: 60, floor_ops: 6000, ..Promise::default() };
        hours.promise(7200 + 61 * 60, ObjectId(4), &promise);
        let taken = hours.take();
        let told: Vec<_> =
            taken.iter().map(|(hour, id, sum)| (*hour, id.0, sum.figures.read_ops, sum.promise.floor_ops)).collect();
        assert_eq!(told, [(2, 3, 20, 0), (3, 3, 20, 0), (3, 4, 0, 6000)]);
        assert!(hours.take().is_empty());
        hours.take_back(taken.clone());
        hours.add(3 * HOUR, ObjectId(4), &figures);
        assert_eq!(hours.take()[2].2, Totals { figures, promise });
    }
}
