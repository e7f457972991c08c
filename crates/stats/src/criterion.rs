//! A criterion: a bound on a recorded figure, and the verdict of a run about it.

use crate::recording::HeldBy;
use block::{Bytes, Iops, Span};

/// A criterion of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    /// No sliding second has more dispatches than the ceiling plus `tolerance` (0.01 is 1 %) plus
    /// one operation, in every phase in which the ceiling is in force.
    CeilingHeld {
        /// Fraction of the ceiling.
        tolerance: f64,
    },
    /// The members of a shared group together reach its ceiling to within `tolerance`, and do not
    /// exceed it.
    SharedSum {
        /// The phase in which the limit is in force.
        phase: String,
        /// Fraction of the ceiling.
        tolerance: f64,
    },
    /// Workloads fall below `part` of their rate in the phase `baseline`. If they do not, the
    /// machine cannot show the effect.
    Starved {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase with the noisy neighbour.
        phase: String,
        /// The phase without.
        baseline: String,
        /// Fraction of the baseline IOPS.
        part: f64,
    },
    /// Workloads have the rate of the phase `baseline` again: at least `part` of it, and at most
    /// `most`. If they have more, something other than their own demand limited them in the
    /// baseline.
    Restored {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase with the policy.
        phase: String,
        /// The phase without the noisy neighbour.
        baseline: String,
        /// Fraction of the baseline IOPS.
        part: f64,
        /// Fraction of the baseline IOPS; `None` for no upper bound.
        most: Option<f64>,
    },
    /// Workloads get at least `part` of their floor in every second of a phase except its first.
    /// Only seconds count in which the backend completed at least the sum of the floors.
    FloorHeld {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// Fraction of the floor.
        part: f64,
    },
    /// For each workload this percentage of its requests is answered in time. Requests that an open
    /// loop never sent are not.
    ResponseWithin {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// Percentage of requests, above 0; 100 is all of them.
        percentile: f64,
        /// Limit of the response time, from due to end.
        at_most: Span,
    },
    /// Each workload reaches a rate on average over a phase.
    RateReached {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// The rate.
        at_least: Rate,
    },
    /// Each workload has the rate that a limit sets on average over a phase, neither less nor more.
    RateIs {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// The rate.
        rate: Rate,
        /// Allowed deviation, as a fraction of the rate.
        tolerance: f64,
    },
    /// Each workload is held back by this cause in most seconds of a phase, except the first.
    HeldBy {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// The cause.
        cause: HeldBy,
    },
    /// Each workload's hit ratio in the cache is that of the phase `baseline`, less at most
    /// `points`. The first second of a phase is left out.
    HitShareKept {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// The phase to compare with.
        baseline: String,
        /// Percentage points of the hit ratio.
        points: f64,
    },
    /// Each workload's hit ratio in the cache is below `part`.
    HitShareBelow {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// Fraction of the pages requested.
        part: f64,
    },
}

/// A rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Operations a second.
    Iops(Iops),
    /// Bytes read and written a second.
    Bytes(Bytes),
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rate::Iops(rate) => write!(f, "{} IOPS", rate.0),
            // In decimal units, as rates are printed everywhere.
            Rate::Bytes(rate) => write!(f, "{} MB/s", rate.0 as f64 / 1e6),
        }
    }
}

/// Outcome of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It holds.
    Pass,
    /// The run cannot show it; the verdict says why.
    CannotSay,
    /// It does not hold.
    Fail,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Outcome::Pass => "pass",
            Outcome::CannotSay => "cannot say",
            Outcome::Fail => "fail",
        })
    }
}

/// The verdict of a run about one criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The criterion in a short sentence.
    pub question: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was measured and the bound, or why nothing can be said; one line.
    pub because: String,
    /// The same as figures, if it is one figure and one bound.
    pub measured: Option<Measured>,
}

/// A figure against its bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What was measured.
    pub value: f64,
    /// The bound that it must keep.
    pub bound: f64,
    /// The unit of both.
    pub unit: String,
}
