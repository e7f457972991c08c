//! Every option of a job after its values were read: what fio calls `thread_options`.
//!
//! A section starts from a copy of what the global sections above it set. Values that depend on
//! each other (a block size and a split, a size and a number of files) stay apart here;
//! [`crate::Job::spec`] joins them.

mod course;
mod data;
mod pace;
mod pattern;
mod report;
mod target;

pub use course::{CourseOptions, Steady};
pub use data::DataOptions;
pub use pace::PaceOptions;
pub use pattern::{Blocks, Kind, PatternOptions, Ways};
pub use report::{LogOptions, ReportOptions, Unified};
pub use target::{Engine, TargetOptions};

use crate::dialect::KbBase;
use stats::PerDirection;

/// One value for reads, writes and trims each, where one was given.
pub type Triple<T> = PerDirection<Option<T>>;

/// The options of one job, defaults as fio has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `name`: replaces the section's name.
    pub name: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// What units mean.
    pub kb_base: KbBase,
    /// `unit_base=1`: rates in the normal output count bits.
    pub bits: bool,
    /// What it talks to.
    pub target: TargetOptions,
    /// What it asks.
    pub pattern: PatternOptions,
    /// When it asks.
    pub pace: PaceOptions,
    /// What it writes and checks.
    pub data: DataOptions,
    /// When it starts and ends, and where.
    pub course: CourseOptions,
    /// What it reports.
    pub report: ReportOptions,
    /// What the user should know of options that do less, or something else, than in fio. One line
    /// each.
    pub notes: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            name: None,
            description: None,
            kb_base: KbBase::Binary,
            bits: false,
            target: TargetOptions::default(),
            pattern: PatternOptions::default(),
            pace: PaceOptions::default(),
            data: DataOptions::default(),
            course: CourseOptions::default(),
            report: ReportOptions::default(),
            notes: Vec::new(),
        }
    }
}

impl Options {
    /// Adds a note, once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// The most files of one job: each is open at once.
pub const FILES_MAX: u64 = 65_536;
