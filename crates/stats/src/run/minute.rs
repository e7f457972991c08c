//! Response times by minute, coarser than the histogram of a point. They give percentiles for any
//! section of a long run, where histograms would take more space than all the run's seconds.

use crate::Histogram;
use block::Span;

/// Number of histogram buckets that are joined into one. An octave then has 16, and the middle of
/// one differs from its values by at most 1/32.
const JOINED: u32 = 8;

/// Length of a minute.
pub(crate) const MINUTE: Span = Span::from_secs(60);

/// Response times of a class over about a minute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    /// Its start; all slices up to the next minute belong to it.
    pub start: Span,
    /// Response times; empty if no request completed.
    pub response: Coarse,
}

/// Counts of durations with an error of at most 3.2 %.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coarse {
    /// Counts by bucket number, ascending; none is zero.
    counts: Vec<(u32, u64)>,
}

impl Minute {
    /// Adds to the minute that contains `start`, or to a new one if it is the first; minutes are
    /// counted from `origin`.
    pub(crate) fn add(minutes: &mut Vec<Minute>, origin: Span, start: Span, times: Option<&Histogram>) {
        let passed = start.saturating_sub(origin).as_nanos();
        let begun = origin + Span::from_nanos(passed - passed % MINUTE.as_nanos());
        if minutes.last().is_none_or(|last| last.start < begun) {
            minutes.push(Minute { start: begun, response: Coarse::default() });
        }
        if let (Some(last), Some(times)) = (minutes.last_mut(), times) {
            last.response.add(times);
        }
    }
}

impl Coarse {
    /// Adds the values of a histogram.
    pub fn add(&mut self, histogram: &Histogram) {
        for (bucket, count) in histogram.filled() {
            let bucket = bucket / JOINED;
            match self.counts.binary_search_by_key(&bucket, |(known, _)| *known) {
                Ok(at) => self.counts[at].1 += count,
                Err(at) => self.counts.insert(at, (bucket, count)),
            }
        }
    }

    /// The filled buckets in ascending order.
    pub fn filled(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.counts.iter().copied()
    }

    /// Restores counts from [`Coarse::filled`]; `None` if they are invalid.
    pub fn from_filled(filled: Vec<(u32, u64)>) -> Option<Coarse> {
        let rises = filled.is_sorted_by(|(one, _), (next, _)| one < next);
        (rises && filled.iter().all(|(_, count)| *count > 0)).then_some(Coarse { counts: filled })
    }

    /// The counts as filled buckets of a [`Histogram`], each in the middle of those that it joins.
    pub fn buckets(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.filled().map(|(bucket, count)| (bucket.saturating_mul(JOINED).saturating_add(JOINED / 2), count))
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values over six decades, alone and together: every percentile is within 1/32 of the
    /// histogram's.
    #[test]
    fn percentiles_are_within_a_thirty_second() {
        let mut histogram = Histogram::new();
        let mut value = 130.0;
        while value < 1e9 {
            histogram.record(Span::from_nanos(value as u64));
            value *= 1.013;
        }
        let mut coarse = Coarse::default();
        coarse.add(&histogram);
        assert_eq!(coarse.count(), histogram.count());
        let buckets: Vec<(u32, u64)> = coarse.buckets().collect();
        let all = Histogram::from_filled(&buckets, Span::ZERO, Span::ZERO, Span::from_nanos(u64::MAX)).unwrap();
        for part in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let [exact, near] = [&histogram, &all].map(|times| times.quantile(part).as_nanos() as f64);
            assert!((near / exact - 1.0).abs() < 1.0 / 28.0, "{part}: {near} for {exact}");
        }
        assert_eq!(Coarse::from_filled(coarse.filled().collect()), Some(coarse));
        assert_eq!(Coarse::from_filled(vec![(3, 1), (3, 2)]), None);
    }

    #[test]
    fn a_minute_takes_in_what_begins_in_it() {
        let mut times = Histogram::new();
        times.record(Span::from_micros(100));
        let (origin, mut minutes) = (Span::from_secs(7), Vec::new());
        for second in [7, 8, 66, 67, 200] {
            Minute::add(&mut minutes, origin, Span::from_secs(second), (second != 67).then_some(&times));
        }
        let told: Vec<_> = minutes.iter().map(|minute| (minute.start, minute.response.count())).collect();
        assert_eq!(told, [(7, 3), (67, 0), (187, 1)].map(|(start, count)| (Span::from_secs(start), count)));
    }
}
