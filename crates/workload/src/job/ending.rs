//! When a job ends.

use super::Amount;
use block::Span;

/// When a job ends: at the first of these conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ending {
    /// Amount of data in each loop. `None` means the length of the region, which percentages also
    /// refer to.
    pub amount: Option<Amount>,
    /// Ends a loop at the end of the region even if `amount` was not reached. Otherwise the region
    /// is used again until it is.
    pub ends_with_region: bool,
    /// Number of requests in each loop.
    pub requests: Option<u64>,
    /// Number of loops; 0 counts as 1.
    pub loops: u32,
    /// Maximum time, counted after the ramp.
    pub runtime: Option<Span>,
    /// Restarts the load when it is done, until the run time is over.
    pub time_based: bool,
    /// Time at the start that is not measured.
    pub ramp: Span,
    /// Ends when the figures have become steady.
    pub steady: Option<SteadyRule>,
    /// Other jobs that end with this one.
    pub ends: Ends,
    /// Ends all other jobs if this one fails.
    pub ends_all_on_error: bool,
}

/// Other jobs that end together with a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// None.
    #[default]
    None,
    /// The jobs of its report group.
    Group,
    /// The jobs of its stage; the next stage begins.
    Stage,
    /// All jobs, including those that have not begun.
    All,
}

/// When figures count as steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRule {
    /// The figure that is judged.
    pub figure: SteadyFigure,
    /// The rule.
    pub check: SteadyCheck,
    /// Rounds that begin before this do not count.
    pub ramp: Span,
    /// Length of a round, which has one figure.
    pub round: Span,
    /// Length of the window whose rounds must be steady together, at least two. The standard of the
    /// Storage Networking Industry Association (SNIA) has five.
    pub duration: Span,
}

/// The figure that is compared between rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyFigure {
    /// Operations a second.
    Iops,
    /// Bytes a second.
    Throughput,
    /// Mean response time.
    Latency,
}

/// The rule by which the last rounds are steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SteadyCheck {
    /// No round differs from their mean by more than this.
    Deviation(SteadyLimit),
    /// The slope of their regression line is at most this much a round.
    Slope(SteadyLimit),
    /// The rule of SNIA's Performance Test Specification: the largest and the smallest round differ
    /// by at most `excursion_percent` of the mean, and the ends of the regression line by at most
    /// `slope_percent` of it.
    Snia {
        /// 20 in the standard.
        excursion_percent: f64,
        /// 10 in the standard.
        slope_percent: f64,
    },
}

/// A bound for steady figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SteadyLimit {
    /// In percent of the mean.
    Percent(f64),
    /// In the unit of the figure: operations a second, bytes a second, or nanoseconds.
    Absolute(f64),
}

impl SteadyRule {
    /// The rule of the standard: five rounds of `round` each, excursion at most 20 %, slope at most
    /// 10 %.
    pub fn snia(figure: SteadyFigure, round: Span) -> SteadyRule {
        SteadyRule {
            figure,
            check: SteadyCheck::Snia { excursion_percent: 20.0, slope_percent: 10.0 },
            ramp: Span::ZERO,
            round,
            duration: round * 5,
        }
    }
}
