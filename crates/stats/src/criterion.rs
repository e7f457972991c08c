//! A bound on a recorded figure, and what a run says about it.

use crate::recording::HeldBy;
use block::{Bytes, Iops, Span};

/// What is asked of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    /// A ceiling is not exceeded by more than `tolerance` (0.01 is 1 %) plus one operation in any
    /// sliding second of dispatches while it is in force, in every phase in which it is.
    CeilingHeld {
        /// Part of the ceiling.
        tolerance: f64,
    },
    /// A shared group's members together reach its ceiling to within `tolerance`, and do not exceed
    /// it.
    SharedSum {
        /// The phase in which it is in force.
        phase: String,
        /// Part of the ceiling.
        tolerance: f64,
    },
    /// Workloads fall below `part` of what each had in the phase `baseline`; if they do not, the
    /// machine cannot show it.
    Starved {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase with the noisy neighbour.
        phase: String,
        /// The phase without.
        baseline: String,
        /// Part of the baseline IOPS.
        part: f64,
    },
    /// Workloads have again what each had in the phase `baseline`: at least `part` of it, and at
    /// most `most`. More is not what they had: something else than they themselves held them back
    /// then.
    Restored {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase with the policy.
        phase: String,
        /// The phase without the noisy neighbour.
        baseline: String,
        /// Part of the baseline IOPS.
        part: f64,
        /// Part of the baseline IOPS; `None` asks for no bound.
        most: Option<f64>,
    },
    /// Workloads are served at least `part` of their floor in every second of a phase but its
    /// first, in which the backend completed at least the sum of floors.
    FloorHeld {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// Part of the floor.
        part: f64,
    },
    /// Each of the workloads has so many percent of its requests answered in time; what an open
    /// loop never sent was not.
    ResponseWithin {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// How many of a hundred requests, above 0; 100 is all of them.
        percentile: f64,
        /// From when a request was due to its end.
        at_most: Span,
    },
    /// Each of the workloads reaches a rate, on average over a phase.
    RateReached {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// The rate.
        at_least: Rate,
    },
    /// Each of the workloads has a rate on average over a phase: what a limit says, neither less
    /// nor more.
    RateIs {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// The rate.
        rate: Rate,
        /// Part of the rate by which it may be off.
        tolerance: f64,
    },
    /// Each of the workloads is held back by that in most seconds of a phase. The first second is
    /// left out.
    HeldBy {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// What holds them.
        cause: HeldBy,
    },
    /// Each of the workloads finds as large a share of its pages in the cache as in the phase
    /// `baseline`, less so many points. The first second of a phase is left out.
    HitShareKept {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// The phase it is held against.
        baseline: String,
        /// Hundredths of all pages asked for.
        points: f64,
    },
    /// Each of the workloads finds less than a part of its pages in the cache.
    HitShareBelow {
        /// Which workloads.
        workloads: Vec<String>,
        /// The phase.
        phase: String,
        /// Part of the pages asked for.
        part: f64,
    },
}

/// So much a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Operations.
    Iops(Iops),
    /// Bytes that were read and written.
    Bytes(Bytes),
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rate::Iops(rate) => write!(f, "{} IOPS", rate.0),
            // As rates are printed everywhere else.
            Rate::Bytes(rate) => write!(f, "{} MB/s", rate.0 as f64 / 1e6),
        }
    }
}

/// How a criterion ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It held.
    Pass,
    /// The run cannot say; why is in the verdict.
    CannotSay,
    /// It did not hold.
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

/// What a run says about one criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The criterion in a short sentence.
    pub question: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was measured against which bound, or why nothing can be said; one line.
    pub because: String,
    /// The same as figures, where it is one figure against one bound.
    pub measured: Option<Measured>,
}

/// A figure against its bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What was measured.
    pub value: f64,
    /// What it must not be beyond.
    pub bound: f64,
    /// The unit of both.
    pub unit: String,
}
