//! What a load job leaves: counts, latencies, figures over time, and statements about how far they can be trusted.
//!
//! ```text
//!   due ──late──► made ──slat──► handed over ──clat──► end
//!    └───────────────── response (lat) ─────────────────┘
//! ```
//! In a closed loop a request is due when it is made. In an open loop it is due by the schedule, so that a stalled
//! device cannot hide: what waits for its turn has a response time that grows.

mod coverage;
mod losses;
mod outcome;
mod spread;
mod steady;

pub use coverage::{Coverage, Evenness};
pub use losses::{KindCounts, Losses};
pub use outcome::{
    Asked, AskedRow, DepthShares, DirectionOutcome, DiskUse, ErrorKind, Errors, HistogramRow, JobError, JobOutcome,
    JobUsage, LatencyFinding, LogRow, Mismatch, Punctuality, Slice, SliceMost, SyncOutcome, VerifyOutcome,
};
pub use spread::{Confidence, Spread, confidence, student_95, welch};
pub use steady::{SteadyReport, excursion, line_rise};
