//! Runs load jobs: checks all of them, lays their files out, drives them at their storage, and
//! returns the results.
//!
//! ```text
//!   JobSpec ─ prepare (sizes, safety, lay-out) ─► Prepared ─┬─ crew (thread, ring): Runner, Runner, … ─┐
//!                                                           └─ crew …                                 ├─► JobOutcome
//!                                    board: how far each is, whether all are to stop ◄────────────────┘
//! ```
//! Everything that can be checked is checked for all jobs before the first byte is written.

mod board;
mod command;
mod context;
mod course;
mod crew;
mod disks;
mod fill;
mod flow;
mod header;
mod logs;
mod patience;
mod placement;
mod places;
mod prepare;
mod prepared;
mod room;
mod runner;
mod search;
mod simulated;
mod site;
mod site_error;
mod slots;
mod stage;
mod steady;
mod sums;
mod written;

pub use board::JobProgress;
pub use prepare::SetupError;
pub use simulated::{Completing, Simulation};
pub use stage::{RunSettings, Watch, play, run};
