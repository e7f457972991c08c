//! Measurements and conclusions: schedules of due times, the tape that records requests, the run
//! that tapes become, and criteria with their verdicts.
//!
//! ```text
//!   Schedule ──due──► requests ──ends──► Tape (classes: counts, histograms, slices) ──► run::Run ──► Criterion ──► Verdict
//! ```
//!
//! Formatting for people belongs to `report`; nothing here reads a clock.

mod criterion;
mod direction;
mod histogram;
pub mod job;
mod judge;
pub mod kernel;
mod median;
mod recording;
pub mod run;
mod schedule;
mod tape;
mod window;

pub use criterion::{Criterion, Measured, Outcome, Rate, Verdict};
pub use direction::{Direction, PerDirection};
pub use histogram::{Histogram, Summary};
pub use judge::told;
pub use median::Median;
pub use recording::{
    BurstAllowed, Counts, CycleRecord, FloorOutcome, HeldBy, Interval, LimitsInForce, Machine, ObjectRecord, Origin,
    Part, Phase, Recording, Scale, Tally, Waits, WorkloadRecord,
};
pub use schedule::Schedule;
pub use tape::{Ended, Longest, Noted, Punctuality, Tape, TapeSecond, TapeSlice, Track};
pub use window::{BINS_A_SECOND, DispatchTrace, Peak, Window};

/// The first part of every phase, which its tally leaves out because requests of the earlier phase
/// may still be queued.
pub const SETTLE: block::Span = block::Span::SECOND;
