//! RanRead: the random-read test of a database's storage known from InterSystems, and its sweep to
//! a knee.
//!
//! ```text
//!   words ──► Command ──► jobs of `workload` (a process is a job at depth 1) ──► engine
//!                                                                                  │
//!      console, export file, CSV  ◄── Batch ◄── Row (one a process) ◄── JobOutcome ┤
//!                                       │ ▲                                         ▼
//!                                       │ └─────────────────────────── stats::Run, which is kept
//!      Sweep: which load is next ◄──────┘──► Point ──► knee, target, what limited ──► table, page
//! ```
//! The classic text is the original's to the byte. What the original does not report (maxima,
//! percentiles, the number of reads) is added beside it. Nothing here touches a file, reads a clock
//! or starts a thread.

mod advice;
mod batch;
mod console;
mod evidence;
mod export;
mod grammar;
mod jobs;
mod judge;
pub mod kept;
mod manifest;
mod page;
mod point;
mod row;
mod sweep;
mod table;
mod workbook;

pub use advice::setup_advice;
pub use batch::Batch;
pub use console::{EXPORT_DONE, exporting, run_begins, run_ends};
pub use console::{Installation, help, setup_begins, setup_ends, usage};
pub use evidence::{BatchEvidence, Limiter};
pub use export::{csv, export, export_name, partial_batches};
pub use grammar::{
    Command, Effort, ExportOptions, GrammarError, Load, PurgeOptions, RunOptions, Settings, SetupOptions, SweepOptions,
    parse,
};
pub use jobs::{Aim, jobs, setup_job};
pub use judge::{Finding, as_far_as_sure, judge, judge_batch, knee, limiter};
pub use kept::{batches, sheet};
pub use manifest::{DATABASE_FILE, MANIFEST_FILE, Manifest, ManifestError};
pub use page::page;
pub use point::{Measured, Point};
pub use row::{ProcessRow, ProcessState};
pub use sweep::{Ended, Limits, Series, Sweep, SweepPlan, Target};
pub use table::{sweep_heads, sweep_line};
pub use workbook::workbook;

/// A block of the database, in bytes.
pub const BLOCK: u32 = 8192;
