//! How long replies are on their way into the network: from when one is written until the kernel
//! has taken its last byte. Counted a send and not a reply, so that a request costs one addition.
//! What a request waited for limits of the link is added: both are time in the network.

use block::{ObjectId, Span};

/// Sums by object since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct ReplyTimes {
    /// Where an object's sum is, plus one; 0 without.
    places: Vec<u32>,
    sums: Vec<(ObjectId, Span)>,
}

impl ReplyTimes {
    /// Replies of an object's requests took so long, added up.
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

    /// Hands out what there is and starts anew.
    pub fn take(&mut self) -> Vec<(ObjectId, Span)> {
        for (object, _) in &self.sums {
            self.places[object.0 as usize] = 0;
        }
        std::mem::take(&mut self.sums)
    }
}

/// When replies were written that are sent together, added up. It may wrap: only differences count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    count: u32,
    nanos: u64,
}

impl Written {
    /// One more, written now.
    pub fn add(&mut self, now: block::Time) {
        self.count += 1;
        self.nanos = self.nanos.wrapping_add(now.as_nanos());
    }

    /// How long they all waited together until now.
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

    /// Three replies at 10, 20 and 40 ms, sent at 50 ms, waited 40 + 30 + 10 ms; by a clock so far
    /// on that the sum of their times wraps.
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
