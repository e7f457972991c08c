//! Ramp: the write-cycle test of a database that checkpoints, and its verdict.
//!
//! ```text
//!   words ──► Invocation ──► Settings ──► ladder of targets, run by run
//!                                             │
//!      block::Target ◄── Machine: reads on schedule + write cycles (WIJ, then N writers)
//!                                             │
//!                                          RunOutcome ──► Row of the summary ──► verdict
//!                                                     └─► lines of cycles
//! ```
//!
//! Reads follow an open schedule and never stop; every 80 s a burst of blocks goes first to the
//! write image journal (WIJ) and then to its places. A cycle must end within 45 s. Nothing here
//! reads a clock or touches a file: the same machine runs on the wall clock and on a virtual one.

mod advice;
mod burst;
mod content;
mod criteria;
mod cycle;
mod dataset;
mod experiment;
mod grammar;
pub mod kept;
mod label;
mod ladder;
mod machine;
mod page;
mod phases;
mod reading;
mod reads;
mod settings;
mod short;
mod summary;
mod timeline;

pub use advice::{
    Advice, AdviceError, Demand, Policy, PolicyNeed, TB, advice_chart, advice_page, advice_text, iops_of_references,
    references_of, space,
};
pub use burst::Burst;
pub use content::{BlockIdentity, Recipe, Wrong, is_block};
pub use criteria::{Criteria, CriteriaError, Criterion, Figure, Judgement, Limit};
pub use cycle::{Cycle, cycles_csv, cycles_header};
pub use dataset::{Dataset, FillPlan, ManifestError, Room};
pub use experiment::{
    Answered, Arm, Busy, Experiment, HostLoad, HostRows, Window, WindowError, busy, busy_by_cycle, experiment_page,
    experiment_table, experiment_verdict,
};
pub use grammar::{DASHES, GrammarError, RampInvocation, help};
pub use kept::imported;
pub use label::Label;
pub use ladder::{Ladder, RampLoad};
pub use machine::{
    BlockTarget, BufferContents, Buffers, CycleMachine, DataFile, Failure, Layout, NoContents, Progress,
    RampOutcome as RunOutcome, RunSetup, SetupError, Spot, WriterPhase,
};
pub use page::page;
pub use phases::{HostPhase, PhaseRun, Rates, Steady, journal_write, phases};
pub use reading::{ReadingError, read_seconds, read_summary};
pub use reads::Reads;
pub use settings::{Accounting, Constants, RampSettings, SettingsError, Steps};
pub use short::{is_short, read_short};
pub use stats::Outcome;
pub use summary::{HEADER, RampRow, next_number, summary_csv};
pub use timeline::{SECONDS_HEADER, TimelineSecond, seconds_csv};

/// A block of the database, in bytes: every read, and every write to the database.
pub const BLOCK: u64 = 8192;
