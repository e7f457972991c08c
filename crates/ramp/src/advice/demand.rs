//! The demand of a database according to a recording: the mean over a write cycle, because with a
//! burst every 80 s single seconds say little.
//!
//! ```text
//!   IOPS ▲      ▄        ▄          the mean over a cycle, moved on by a second at a time:
//!        │▂▂▂▂▂▂█▂▂▂▂▂▂▂▂█▂▂▂       its 95th percentile, and its largest
//!        └───────────────────►
//! ```

use block::Span;

/// The demand of a recording, in total IOPS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Number of recorded seconds.
    pub seconds: u64,
    /// The length over which means were taken.
    pub window: Span,
    /// 95 % of the means are at most this, rounded up.
    pub p95: u64,
    /// The largest mean, rounded up.
    pub peak: u64,
    /// The busiest single second.
    pub second: u64,
}

impl Demand {
    /// The demand of `runs`, each a sequence of operations per second; means do not span runs. A
    /// run that is shorter than `window` is one mean. `None` if nothing was recorded.
    pub fn of(runs: &[Vec<u64>], window: Span) -> Option<Demand> {
        let wanted = (window.as_secs_f64().round() as usize).max(1);
        let longest = runs.iter().map(Vec::len).max().filter(|longest| *longest > 0)?;
        let length = wanted.min(longest);
        let mut means: Vec<u64> =
            runs.iter().filter(|run| run.len() >= length).flat_map(|run| means(run, length)).collect();
        means.sort_unstable();
        // The shortest prefix that holds 95 % of them.
        let p95 = means[(means.len() * 95).div_ceil(100) - 1];
        Some(Demand {
            seconds: runs.iter().map(|run| run.len() as u64).sum(),
            window: Span::from_secs(length as u64),
            p95,
            peak: means[means.len() - 1],
            second: runs.iter().flatten().copied().max().unwrap_or(0),
        })
    }

    /// Whether the recording was long enough for one whole `window`.
    pub fn covers(&self, window: Span) -> bool {
        self.window + Span::SECOND > window
    }
}

/// The means over `length` seconds, rounded up, at each second that is followed by enough seconds.
fn means(run: &[u64], length: usize) -> Vec<u64> {
    let mut sum: u64 = run[..length].iter().sum();
    let mut means = vec![sum.div_ceil(length as u64)];
    for (gone, come) in run.iter().zip(&run[length..]) {
        sum = sum + come - gone;
        means.push(sum.div_ceil(length as u64));
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of 75 a second and a burst of 100 in each fourth: every window of 4 s has exactly one
    /// burst, (4 · 75 + 100) / 4 = 100, while the busiest second has 175.
    #[test]
    fn a_burst_counts_by_its_cycle() {
        let run: Vec<u64> = (0..40).map(|second| if second % 4 == 3 { 175 } else { 75 }).collect();
        let demand = Demand::of(&[run], Span::from_secs(4)).unwrap();
        assert_eq!((demand.p95, demand.peak, demand.second, demand.seconds), (100, 100, 175, 40));
        assert!(demand.covers(Span::from_secs(4)) && !demand.covers(Span::from_secs(5)));
    }

    /// 100 means of one second, 1 to 100: 95 of them are at most 95.
    #[test]
    fn the_percentile_leaves_a_twentieth_out() {
        let demand = Demand::of(&[(1..=100).collect()], Span::SECOND).unwrap();
        assert_eq!((demand.p95, demand.peak), (95, 100));
    }

    #[test]
    fn runs_are_apart_and_short_ones_are_one_mean() {
        // Across the boundary of both runs a window would have 200.
        let demand = Demand::of(&[vec![0, 100], vec![100, 0]], Span::from_secs(2)).unwrap();
        assert_eq!((demand.peak, demand.window), (50, Span::from_secs(2)));
        let short = Demand::of(&[vec![10, 21]], Span::from_secs(80)).unwrap();
        assert_eq!((short.peak, short.window), (16, Span::from_secs(2)));
        assert!(!short.covers(Span::from_secs(80)));
        assert_eq!(Demand::of(&[], Span::SECOND), None);
        assert_eq!(Demand::of(&[Vec::new()], Span::SECOND), None);
    }
}
