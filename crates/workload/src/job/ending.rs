//! When a job ends.

use super::Amount;
use block::Span;

/// When a job ends: by whichever comes first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ending {
    /// After so many bytes in each loop. `None` is the length of the region, once. Percents are of
    /// that length.
    pub amount: Option<Amount>,
    /// After so many requests in each loop.
    pub requests: Option<u64>,
    /// Does the whole so many times; 0 counts as 1.
    pub loops: u32,
    /// After so long, counted behind the ramp.
    pub runtime: Option<Span>,
    /// Begins anew when it is done, until the runtime is over.
    pub time_based: bool,
    /// At first it runs so long without being measured.
    pub ramp: Span,
    /// When the figures have become steady.
    pub steady: Option<SteadyRule>,
    /// Which other jobs its end ends.
    pub ends: Ends,
    /// Its failure ends all other jobs.
    pub ends_all_on_error: bool,
}

/// Which other jobs the end of one ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// None.
    #[default]
    None,
    /// Those of its report group.
    Group,
    /// Those of its stage; the next stage begins.
    Stage,
    /// All, also those that have not begun.
    All,
}

/// When figures count as steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRule {
    /// Which figure.
    pub figure: SteadyFigure,
    /// By which rule.
    pub check: SteadyCheck,
    /// Nothing counts before this.
    pub ramp: Span,
    /// Length of a round: one figure each.
    pub round: Span,
    /// The rounds that must be steady together are those of so long a time, at least two. The
    /// standard of the Storage Networking Industry Association has five.
    pub duration: Span,
}

/// The figure of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyFigure {
    /// Operations a second.
    Iops,
    /// Bytes a second.
    Throughput,
    /// Mean response time.
    Latency,
}

/// When the last rounds are steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SteadyCheck {
    /// No round is further from their mean than this.
    Deviation(SteadyLimit),
    /// The line of least squares through them rises or falls by at most this from one round to the
    /// next.
    Slope(SteadyLimit),
    /// Performance Test Specification of the Storage Networking Industry Association: the largest
    /// and the smallest round differ by at most `excursion_percent` of the mean, and the ends of
    /// the line of least squares by at most `slope_percent` of it.
    Snia {
        /// 20 in the standard.
        excursion_percent: f64,
        /// 10 in the standard.
        slope_percent: f64,
    },
}

/// How much is still steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SteadyLimit {
    /// In percent of the mean.
    Percent(f64),
    /// In operations a second, bytes a second, or nanoseconds.
    Absolute(f64),
}

impl SteadyRule {
    /// The standard's own: five rounds of `round` each, excursion at most 20 %, slope at most 10 %.
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
