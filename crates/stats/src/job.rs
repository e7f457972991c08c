//! The results of a load job: counts, latencies, figures over time, and how far they can be
//! trusted.
//!
//! Counts and latencies are its tape, see [`Tape`](crate::Tape); fio's slat, clat and lat are
//! submission, service and response.

mod coverage;
mod losses;
mod outcome;
mod reasons;
mod spread;
mod steady;

pub use coverage::{Coverage, Evenness};
pub use losses::{KindCounts, Losses};
pub use outcome::{
    Asked, AskedRow, DepthShares, DiskUse, ErrorKind, Errors, HistogramRow, JobError, JobOutcome, JobUsage,
    LatencyFinding, LogRow, Mismatch, VerifyOutcome,
};
pub use reasons::Reasons;
pub use spread::{Confidence, Spread, confidence, student_95, welch};
pub use steady::{SteadyReport, excursion, line_rise};
