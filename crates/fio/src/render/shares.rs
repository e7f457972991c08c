//! The distribution of latencies and depths over fio's coarse buckets, in percent.

use block::Span;
use stats::Histogram;
use stats::job::DepthShares;

/// Upper bounds of the nanosecond and microsecond buckets; those of milliseconds have two more.
pub const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// Names of the buckets of depths.
pub const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];

/// Names of the buckets of requests submitted or completed together.
pub const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

/// Latencies by order of magnitude, in percent. A bucket counts what is below its bound and not in
/// an earlier bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyShares {
    /// Below 1 µs.
    pub ns: [f64; 10],
    /// From 1 µs to 1 ms.
    pub us: [f64; 10],
    /// From 1 ms on; the last two are up to 2 s and above.
    pub ms: [f64; 12],
}

impl LatencyShares {
    /// Of these latencies.
    pub fn of(latencies: &Histogram) -> LatencyShares {
        let mut below = 0;
        let count = latencies.count();
        let mut percent = |bound: Span| {
            let found = latencies.count_below(bound).max(below);
            let share = if count == 0 { 0.0 } else { (found - below) as f64 / count as f64 * 100.0 };
            below = found;
            share
        };
        let ns = BOUNDS.map(|bound| percent(Span::from_nanos(bound)));
        let us = BOUNDS.map(|bound| percent(Span::from_micros(bound)));
        let mut ms = [0.0; 12];
        for (share, bound) in ms.iter_mut().zip(BOUNDS.into_iter().chain([2000])) {
            *share = percent(Span::from_millis(bound));
        }
        ms[11] = percent(Span::MAX);
        LatencyShares { ns, us, ms }
    }

    /// Microseconds as in the terse output: the first bucket includes everything shorter.
    pub fn us_with_ns(&self) -> [f64; 10] {
        let mut us = self.us;
        us[0] += self.ns.iter().sum::<f64>();
        us
    }
}

/// Names of the buckets of milliseconds.
pub fn ms_names() -> impl Iterator<Item = String> {
    BOUNDS.iter().map(u64::to_string).chain(["2000".into(), ">=2000".into()])
}

/// Percent of each bucket of [`DEPTHS`].
pub fn depths(shares: &DepthShares) -> [f64; 7] {
    let mut parts = [0; 7];
    (0..8).for_each(|index| parts[index.min(6)] += shares.counts[index]);
    percents(parts, shares.total())
}

/// Percent of each bucket of [`BATCHES`].
pub fn batches(shares: &DepthShares) -> [f64; 7] {
    let c = &shares.counts;
    percents([shares.zeroes, c[0] - shares.zeroes + c[1] + c[2], c[3], c[4], c[5], c[6], c[7]], shares.total())
}

fn percents(parts: [u64; 7], total: u64) -> [f64; 7] {
    parts.map(|part| if total == 0 { 0.0 } else { part as f64 / total as f64 * 100.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_their_buckets() {
        let mut latencies = Histogram::new();
        // One each of 1, 30 and 800 ns, 1.5 and 60 µs, 3 ms, 1.5 and 5 s: an eighth each.
        for ns in [1, 30, 800, 1_500, 60_000, 3_000_000, 1_500_000_000, 5_000_000_000] {
            latencies.record(Span::from_nanos(ns));
        }
        let shares = LatencyShares::of(&latencies);
        assert_eq!([shares.ns[0], shares.ns[4], shares.ns[9], shares.us[0], shares.us[5]], [12.5; 5]);
        assert_eq!([shares.ms[1], shares.ms[10], shares.ms[11]], [12.5; 3]);
        assert_eq!(shares.us_with_ns()[0], 50.0);
        let all: f64 = shares.ns.iter().chain(&shares.us).chain(&shares.ms).sum();
        assert_eq!(all, 100.0);
        assert_eq!(LatencyShares::of(&Histogram::new()), LatencyShares::default());
    }

    #[test]
    fn depths_and_batches() {
        let mut shares = DepthShares::default();
        for (value, times) in [(0, 1), (1, 1), (4, 2), (32, 4), (64, 1), (100, 1)] {
            shares.count(value, times);
        }
        assert_eq!(batches(&shares), [10.0, 30.0, 0.0, 0.0, 40.0, 10.0, 10.0]);
        assert_eq!(depths(&shares), [20.0, 0.0, 20.0, 0.0, 0.0, 40.0, 20.0]);
    }
}
