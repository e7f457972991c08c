//! A histogram of durations with a relative error below 0.4 % from one nanosecond to eighteen
//! minutes.
//!
//! Values below 128 ns have a bucket each. Above, every octave is cut into 128 buckets of equal
//! width, so a bucket is at most 1/128 of its values wide and its middle at most 1/256 away from
//! any of them. Finding the bucket takes one count of leading zeros, one shift and one add. The
//! buckets (34 KiB) are allocated with the first value and never again.

use block::Span;
use std::ops::Range;

const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
const OCTAVES: usize = 34;
const BUCKETS: usize = SUB * OCTAVES;

/// A histogram of durations.
#[derive(Clone)]
pub struct Histogram {
    /// Empty until the first value is recorded.
    buckets: Box<[u64]>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// The summary of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Their mean.
    pub mean: Span,
    /// The median.
    pub p50: Span,
    /// The 99th percentile.
    pub p99: Span,
    /// The 99.9th percentile.
    pub p999: Span,
    /// The largest.
    pub max: Span,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        let figures = |h: &Histogram| (h.count, h.sum_ns, h.min_ns, h.max_ns);
        figures(self) == figures(other) && self.filled().eq(other.filled())
    }
}

impl Eq for Histogram {}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Histogram").field(&self.summary()).finish()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Histogram {
        Histogram { buckets: Box::default(), count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Records a value. One beyond the last bucket counts in it; mean and maximum stay exact.
    #[inline]
    pub fn record(&mut self, value: Span) {
        self.record_many(value, 1);
    }

    /// Records the same value `times` times; `times` must not be 0.
    #[inline]
    pub fn record_many(&mut self, value: Span, times: u64) {
        let ns = value.as_nanos();
        match self.buckets.get_mut(unbounded_bucket_of(ns)) {
            Some(bucket) => *bucket += times,
            None => self.record_apart(ns, times),
        }
        self.count += times;
        self.sum_ns += u128::from(ns) * u128::from(times);
        if ns < self.min_ns || ns > self.max_ns {
            self.stretch_to(ns);
        }
    }

    /// Updates minimum and maximum. Called rarely, so it is kept out of the path of every request.
    #[cold]
    fn stretch_to(&mut self, ns: u64) {
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Records the first value, or one beyond the last bucket.
    #[cold]
    #[inline(never)]
    fn record_apart(&mut self, ns: u64, times: u64) {
        self.allocate()[bucket_of(ns)] += times;
    }

    #[cold]
    fn allocate(&mut self) -> &mut [u64] {
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS].into();
        }
        &mut self.buckets
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        self.allocate();
        let reach = other.reach();
        for (mine, theirs) in self.buckets[reach.clone()].iter_mut().zip(&other.buckets[reach]) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The buckets from minimum to maximum. They include all that are filled, and are a small part
    /// of the whole in most seconds of a run.
    fn reach(&self) -> Range<usize> {
        if self.count == 0 { 0..0 } else { bucket_of(self.min_ns)..bucket_of(self.max_ns) + 1 }
    }

    /// The values recorded since this histogram was `earlier`. Sum and mean are exact. Minimum and
    /// maximum are exact if they changed since then; otherwise they are the middles of their
    /// buckets.
    #[must_use]
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        if earlier.count == 0 || self.count <= earlier.count {
            return if earlier.count == 0 { self.clone() } else { Histogram::new() };
        }
        let mut fresh = self.clone();
        fresh.buckets.iter_mut().zip(&earlier.buckets).for_each(|(mine, theirs)| *mine -= theirs);
        fresh.count -= earlier.count;
        fresh.sum_ns -= earlier.sum_ns;
        let ends = fresh.buckets.iter().position(|&n| n > 0).zip(fresh.buckets.iter().rposition(|&n| n > 0));
        if let Some((least, most)) = ends {
            let middle = |index: usize| middle_of(index).clamp(self.min_ns, self.max_ns);
            fresh.min_ns = if self.min_ns < earlier.min_ns { self.min_ns } else { middle(least) };
            fresh.max_ns = if self.max_ns > earlier.max_ns { self.max_ns } else { middle(most) };
        }
        fresh
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        let reach = self.reach();
        self.buckets[reach].fill(0);
        (self.count, self.sum_ns, self.min_ns, self.max_ns) = (0, 0, u64::MAX, 0);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all values, exact.
    pub fn sum(&self) -> Span {
        Span::from_nanos(u64::try_from(self.sum_ns).unwrap_or(u64::MAX))
    }

    /// The mean, rounded down; zero if empty.
    pub fn mean(&self) -> Span {
        let mean = self.sum_ns.checked_div(u128::from(self.count)).unwrap_or(0);
        Span::from_nanos(mean as u64)
    }

    /// The smallest value, exact; zero if empty.
    pub fn min(&self) -> Span {
        Span::from_nanos(if self.count == 0 { 0 } else { self.min_ns })
    }

    /// The largest value, exact; zero if empty.
    pub fn max(&self) -> Span {
        Span::from_nanos(self.max_ns)
    }

    /// The smallest bucket middle such that at least `part` (0 to 1) of the values are at or below
    /// its bucket, clamped to the exact minimum and maximum. Zero if empty.
    pub fn quantile(&self, part: f64) -> Span {
        if self.count == 0 {
            return Span::ZERO;
        }
        let wanted = ((part * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        for index in self.reach() {
            seen += self.buckets[index];
            if seen >= wanted {
                return Span::from_nanos(middle_of(index).clamp(self.min_ns, self.max_ns));
            }
        }
        self.max()
    }

    /// [`Histogram::quantile`] of filled buckets in ascending order: the middle of the bucket with
    /// the quantile. Zero if there are none.
    pub fn quantile_of(filled: &[(u32, u64)], part: f64) -> Span {
        let count = filled.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        let rank = ((count as f64 * part).ceil() as u64).clamp(1, count.max(1));
        let mut below = 0u64;
        let within = filled.iter().find(|(_, count)| {
            below = below.saturating_add(*count);
            below >= rank
        });
        within.map_or(Span::ZERO, |(bucket, _)| Histogram::middle(*bucket))
    }

    /// Standard deviation, computed from bucket middles: within 1 % of the true one if values
    /// differ by more than that.
    pub fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let mean = self.sum_ns as f64 / self.count as f64;
        let square = |(middle, n): (Span, u64)| (middle.as_nanos() as f64 - mean).powi(2) * n as f64;
        (self.bins().map(square).sum::<f64>() / (self.count - 1) as f64).sqrt()
    }

    /// The filled buckets as (middle, count), in ascending order.
    pub fn bins(&self) -> impl Iterator<Item = (Span, u64)> + '_ {
        let within = |ns: u64| ns.clamp(self.min_ns, self.max_ns);
        self.filled().map(move |(index, n)| (Span::from_nanos(within(middle_of(index as usize))), n))
    }

    /// The number of values below `limit`, up to the values in the bucket of `limit`.
    pub fn count_below(&self, limit: Span) -> u64 {
        self.bins().take_while(|&(middle, _)| middle < limit).map(|(_, n)| n).sum()
    }

    /// The summary.
    pub fn summary(&self) -> Summary {
        Summary {
            count: self.count,
            mean: self.mean(),
            p50: self.quantile(0.5),
            p99: self.quantile(0.99),
            p999: self.quantile(0.999),
            max: self.max(),
        }
    }

    /// The number of the bucket of `value`.
    pub fn bucket(value: Span) -> u32 {
        bucket_of(value.as_nanos()) as u32
    }

    /// The middle of a bucket; of the last one if `bucket` is beyond it.
    pub fn middle(bucket: u32) -> Span {
        Span::from_nanos(middle_of((bucket as usize).min(BUCKETS - 1)))
    }

    /// The filled buckets as (bucket number, count), for storage.
    pub fn filled(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let filled = self.reach().map(|index| (index as u32, self.buckets[index]));
        filled.filter(|(_, n)| *n > 0)
    }

    /// Restores a histogram from its [`Histogram::filled`], [`Histogram::sum`], [`Histogram::min`]
    /// and [`Histogram::max`]; `None` if a bucket number is invalid.
    pub fn from_filled(filled: &[(u32, u64)], sum: Span, min: Span, max: Span) -> Option<Histogram> {
        let mut histogram = Histogram::new();
        for &(index, n) in filled {
            *histogram.allocate().get_mut(index as usize)? += n;
            histogram.count += n;
        }
        let counted = || filled.iter().filter(|(_, n)| *n > 0).map(|(index, _)| *index as usize);
        if let Some((least, most)) = counted().min().zip(counted().max()) {
            histogram.sum_ns = u128::from(sum.as_nanos());
            // Stored bounds that exclude recorded values are corrected.
            let (low, high) = (min.as_nanos(), max.as_nanos());
            histogram.min_ns = if bucket_of(low) > least { middle_of(least) } else { low };
            histogram.max_ns = if bucket_of(high) < most { middle_of(most) } else { high };
        }
        Some(histogram)
    }
}

/// The bucket of a value; the last one for longer values.
fn bucket_of(ns: u64) -> usize {
    unbounded_bucket_of(ns).min(BUCKETS - 1)
}

/// The bucket of a value if there were no last one: 128 times the position of its leading one above
/// the eighth bit, plus its eight bits from there. Below 256 that is the value itself.
#[inline]
fn unbounded_bucket_of(ns: u64) -> usize {
    let shift = (ns | (2 * SUB as u64 - 1)).ilog2() - SUB_BITS;
    shift as usize * SUB + (ns >> shift) as usize
}

/// The middle of a bucket.
fn middle_of(index: usize) -> u64 {
    if index < SUB {
        return index as u64;
    }
    let shift = (index / SUB - 1) as u32;
    let low = ((index % SUB + SUB) as u64) << shift;
    low + (1u64 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_256_values_are_exact() {
        for ns in 0..256 {
            let mut h = Histogram::new();
            h.record(Span::from_nanos(ns));
            assert_eq!(middle_of(bucket_of(ns)), ns);
            assert_eq!(h.quantile(0.5), Span::from_nanos(ns));
        }
    }

    #[test]
    fn quantiles_of_a_known_row() {
        // 1 µs to 1000 µs, one each: the p-quantile is p·1000 µs, here to within half a bucket
        // (1/256).
        let mut h = Histogram::new();
        (1..=1000).for_each(|us| h.record(Span::from_micros(us)));
        for (part, us) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0)] {
            let found = h.quantile(part).as_micros_f64();
            assert!((found / us - 1.0).abs() < 1.0 / 256.0, "{part}: {found}");
        }
        assert_eq!(h.mean(), Span::from_nanos(500_500));
        assert_eq!((h.min(), h.max()), (Span::from_micros(1), Span::from_micros(1000)));
    }

    #[test]
    fn deviation_and_counts_of_a_known_row() {
        // 1 to 1000 µs: the deviation of n equally spaced values is √(n (n + 1) / 12) = √(1000 ×
        // 1001 / 12) = 288.8.
        let mut h = Histogram::new();
        (1..=1000).for_each(|us| h.record(Span::from_micros(us)));
        assert!((h.deviation() / 288_819.0 - 1.0).abs() < 0.01, "{}", h.deviation());
        // 400 µs lies in a bucket of 1/128: 399 values below it, give or take four.
        assert!(h.count_below(Span::from_micros(400)).abs_diff(399) <= 4);
        assert_eq!(h.bins().map(|(_, n)| n).sum::<u64>(), 1000);
        assert_eq!(Histogram::new().deviation(), 0.0);
    }

    proptest! {
        /// Any value from 1 ns to 1000 s falls in a bucket whose middle is within 0.4 % of it.
        #[test]
        fn every_bucket_is_narrow(ns in 1u64..1_000_000_000_000) {
            let middle = middle_of(bucket_of(ns));
            prop_assert!(middle.abs_diff(ns) as f64 <= ns as f64 * 0.004);
        }

        /// A histogram survives storage, and merging two is the same as recording all values in
        /// one.
        #[test]
        fn storing_and_merging_lose_nothing(a in prop::collection::vec(0u64..1 << 50, 0..50), b in prop::collection::vec(0u64..1 << 40, 0..50)) {
            let of = |values: &[u64]| {
                let mut h = Histogram::new();
                values.iter().for_each(|&ns| h.record(Span::from_nanos(ns)));
                h
            };
            let (of_a, of_b) = (of(&a), of(&b));
            let mut merged = of_a.clone();
            merged.merge(&of_b);
            let whole = of(&[a, b].concat());
            prop_assert_eq!(&merged, &whole);
            let fresh = whole.since(&of_a);
            prop_assert_eq!((fresh.count(), fresh.sum()), (of_b.count(), of_b.sum()));
            prop_assert!(fresh.filled().eq(of_b.filled()));
            for (found, exact) in [(fresh.min(), of_b.min()), (fresh.max(), of_b.max())] {
                prop_assert_eq!(Histogram::bucket(found), Histogram::bucket(exact));
            }
            let filled: Vec<_> = whole.filled().collect();
            prop_assert_eq!(Histogram::from_filled(&filled, whole.sum(), whole.min(), whole.max()), Some(whole));
        }
    }
}
