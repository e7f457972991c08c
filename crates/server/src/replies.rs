//! How long replies take to reach the network: from when a reply is written until the kernel has
//! taken its last byte. It is computed once for each send and not for each reply, so a request
//! costs one addition. Time that a request waited for the link limit is included: both are time in
//! the network.

use block::{ObjectId, Span};

/// Sums by object since the last query.
#[derive(Debug, Default)]
pub(crate) struct ReplyTimes {
    /// The index of an object's sum plus one, or 0 if it has none.
    places: Vec<u32>,
    sums: Vec<(ObjectId, Span)>,
}

impl ReplyTimes {
    /// Adds the time that replies of an object took.
    pub fn add(&mut self, object: ObjectId, took: Span) {
        let index = object.0 as usize;
        if index >= self.places.len() {
            self.places.resize(index + 1, 0);
        }
        let place = &mut self.places[index];
        match self.sums.get_mut((*place as usize).wrapping_sub(1)) {
            Some((_, sum)) => *sum += took,
            None => {
                self.sums.push((object, took));
                *place = self.sums.len() as u32;
            }
        }
    }

    /// Returns the sums and starts anew.
    pub fn take(&mut self) -> Vec<(ObjectId, Span)> {
        for (object, _) in &self.sums {
            self.places[object.0 as usize] = 0;
        }
        std::mem::take(&mut self.sums)
    }
}

/// The times at which replies of one send were written, summed up. The sum may wrap, since only
/// differences count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    count: u32,
    nanos: u64,
}

impl Written {
    /// Adds a reply that is written now.
    pub fn add(&mut self, now: block::Time) {
        self.count += 1;
        self.nanos = self.nanos.wrapping_add(now.as_nanos());
    }

    /// How long all of them together have waited until now.
    pub fn until(self, now: block::Time) -> Span {
        Span::from_nanos(now.as_nanos().wrapping_mul(self.count.into()).wrapping_sub(self.nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Time;

    #[test]
    fn sums_are_by_object_and_taken_once() {
        let mut times = ReplyTimes::default();
        for (object, us) in [(7, 10), (2, 1), (7, 5)] {
            times.add(ObjectId(object), Span::from_micros(us));
        }
        assert_eq!(times.take(), [(ObjectId(7), Span::from_micros(15)), (ObjectId(2), Span::from_micros(1))]);
        assert!(times.take().is_empty());
        times.add(ObjectId(7), Span::from_micros(3));
        assert_eq!(times.take(), [(ObjectId(7), Span::from_micros(3))]);
    }

    /// Three replies at 10, 20 and 40 ms, sent at 50 ms, waited for 40 + 30 + 10 ms. The clock is
    /// so far on that the sum of the times wraps.
    #[test]
    fn a_sum_of_times_that_wraps_still_tells_the_wait() {
        let begin = Time::from_nanos(u64::MAX / 2);
        let at = |ms| begin + Span::from_millis(ms);
        let mut written = Written::default();
        for ms in [10, 20, 40] {
            written.add(at(ms));
        }
        assert_eq!(written.until(at(50)), Span::from_millis(80));
        assert_eq!(Written::default().until(at(50)), Span::ZERO);
    }
}
