//! What is measured and what is concluded from it: histograms, per-second intervals, the recording that a run leaves,
//! and criteria with their verdicts.
//!
//! ```text
//!   completions ──► Histogram, Counts ──► Interval (a second) ──┐
//!                                     └─► Tally (a phase) ──────┴──► Recording ──► Criterion ──► Verdict
//! ```
//!
//! Formatting for people is the business of `report`; nothing here reads a clock.

mod criterion;
mod direction;
mod histogram;
pub mod job;
mod judge;
mod recording;
pub mod run;
mod window;

pub use criterion::{Criterion, Measured, Outcome, Rate, Verdict};
pub use direction::{Direction, PerDirection};
pub use histogram::{Histogram, Summary};
pub use recording::{
    Counts, CycleRecord, FloorFared, HeldBy, Interval, LimitsInForce, Machine, ObjectRecord, Origin, Part, Phase,
    Recording, Scale, Tally, Waits, WorkloadRecord,
};
pub use window::{BINS_A_SECOND, DispatchTrace, Peak};

/// The first part of every phase, left out of its tally: what an earlier phase left in queues drains then.
pub const SETTLE: block::Span = block::Span::SECOND;
