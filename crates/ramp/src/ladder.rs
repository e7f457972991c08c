//! The ladder of targets, and the load of a target.

use crate::settings::{Constants, Steps};
use block::Span;

/// The targets of a ramp, in total IOPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// Lower end.
    pub min: u64,
    /// Upper end: the last run's target.
    pub max: u64,
    /// Number of runs.
    pub runs: u32,
    /// The placement of the steps.
    pub steps: Steps,
}

impl Ladder {
    /// The target of each run. A single run is at the upper end.
    ///
    /// The published tables rise by a tenth of the range in ten runs and begin one step above the
    /// lower end: 75 000 to 150 000 begins with 82 500.
    pub fn targets(&self) -> Vec<u64> {
        let range = u128::from(self.max.saturating_sub(self.min));
        // Rounded to the nearest.
        let place = |number: u64, of: u64| {
            let of = u128::from(of);
            self.min + ((range * u128::from(number) + of / 2) / of) as u64
        };
        let runs = u64::from(self.runs);
        match (self.steps, runs) {
            (_, 1) => vec![self.max],
            (Steps::AboveMinimum, _) => (1..=runs).map(|run| place(run, runs)).collect(),
            (Steps::Inclusive, _) => (0..runs).map(|run| place(run, runs - 1)).collect(),
        }
    }
}

/// The load of a target: a rate of reads, and a burst of writes per cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RampLoad {
    /// Total IOPS.
    pub target: u64,
    /// Percent of them that are reads.
    pub read_percent: u32,
    /// Blocks that a cycle writes.
    pub burst: u64,
}

impl RampLoad {
    /// The load of `target` IOPS: `read_percent` of it as reads, the writes of a whole cycle in one
    /// burst, rounded.
    pub fn of(target: u64, constants: &Constants) -> RampLoad {
        let writes_percent = u128::from(100 - constants.read_percent.min(100));
        let blocks = u128::from(target) * writes_percent * u128::from(constants.cycle.as_nanos());
        let unit = 100 * u128::from(Span::SECOND.as_nanos());
        RampLoad { target, read_percent: constants.read_percent.min(100), burst: ((blocks + unit / 2) / unit) as u64 }
    }

    /// Reads per second, for reports.
    pub fn reads_per_second(&self) -> f64 {
        self.target as f64 * f64::from(self.read_percent) / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn targets(min: u64, max: u64, runs: u32, steps: Steps) -> Vec<u64> {
        Ladder { min, max, runs, steps }.targets()
    }

    #[test]
    fn the_published_ladder_begins_a_step_above_the_minimum() {
        let found = targets(75_000, 150_000, 10, Steps::AboveMinimum);
        assert_eq!((found[0], found[1], found[9], found.len()), (82_500, 90_000, 150_000, 10));
        assert_eq!(targets(75_000, 75_000, 3, Steps::AboveMinimum), [75_000; 3]);
        assert_eq!(targets(75_000, 110_000, 1, Steps::AboveMinimum), [110_000]);
        // The A300's printed row is its step 6: two hosts of 96 000.
        assert_eq!(targets(75_000, 110_000, 10, Steps::AboveMinimum)[5], 96_000);
    }

    #[test]
    fn an_inclusive_ladder_begins_at_the_minimum() {
        assert_eq!(targets(10, 40, 4, Steps::Inclusive), [10, 20, 30, 40]);
        assert_eq!(targets(10, 40, 1, Steps::Inclusive), [40]);
    }

    #[test]
    fn a_burst_is_a_quarter_of_the_target_over_a_cycle() {
        // 75 000 · 0.25 · 80 = 1.5 million.
        let load = RampLoad::of(75_000, &Constants::default());
        assert_eq!((load.burst, load.reads_per_second()), (1_500_000, 56_250.0));
        // 1001 · 0.25 · 0.002 s = 0.5005, rounded to 1.
        let short = Constants { cycle: Span::from_millis(2), ..Constants::default() };
        assert_eq!(RampLoad::of(1001, &short).burst, 1);
    }

    proptest! {
        /// A ladder never falls, stays within its ends and ends at the upper one.
        #[test]
        fn a_ladder_rises_to_its_end(min in 0u64..1 << 40, range in 0u64..1 << 40, runs in 1u32..200, inclusive: bool) {
            let steps = if inclusive { Steps::Inclusive } else { Steps::AboveMinimum };
            let found = targets(min, min + range, runs, steps);
            prop_assert_eq!(found.len(), runs as usize);
            prop_assert!(found.windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert!(found[0] >= min && found[runs as usize - 1] == min + range);
        }
    }
}
