//! All options of a job after their values were parsed; fio calls this `thread_options`.
//!
//! A section starts from a copy of what the global sections before it set. Values that depend on
//! each other, such as a block size and a split, or a size and a number of files, are kept
//! separately here. [`crate::Job::spec`] combines them.

mod course;
mod data;
mod pace;
mod pattern;
mod report;
mod target;

pub use course::{CourseOptions, Steady};
pub use data::DataOptions;
pub use pace::PaceOptions;
pub use pattern::{Blocks, Directions, Kind, PatternOptions};
pub use report::{LogOptions, ReportOptions, Unified};
pub use target::{Engine, TargetOptions};

use crate::dialect::KbBase;
use stats::PerDirection;

/// One optional value each for reads, writes and trims.
pub type Triple<T> = PerDirection<Option<T>>;

/// The options of one job, with fio's defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `name`, which replaces the section's name.
    pub name: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// Meaning of the unit `k`.
    pub kb_base: KbBase,
    /// `unit_base=1`: rates in the normal output count bits.
    pub bits: bool,
    /// The target.
    pub target: TargetOptions,
    /// What is requested.
    pub pattern: PatternOptions,
    /// When requests are made.
    pub pace: PaceOptions,
    /// What is written and verified.
    pub data: DataOptions,
    /// Start, end and processors.
    pub course: CourseOptions,
    /// What is reported.
    pub report: ReportOptions,
    /// Notes for the user on options that do less than in fio, or something else. One line each.
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
    /// Adds a note unless it is already there.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Maximum number of files of one job, since all of them are open at once.
pub const FILES_MAX: u64 = 65_536;
