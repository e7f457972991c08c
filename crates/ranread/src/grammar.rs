//! The command line: a command word with values and options, or the published call with its class
//! and method.

mod call;
mod read;
mod words;

pub use read::parse;

use crate::sweep::{Limits, Series, Target};
use block::Bytes;

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Print the help.
    Help,
    /// Make a database.
    Setup(SetupOptions),
    /// Run one batch.
    Run(RunOptions),
    /// Run batches with more and more processes.
    Sweep(SweepOptions),
    /// End running batches.
    Stop,
    /// Delete all rows.
    Reset,
    /// Write a summary of all rows.
    Export(ExportOptions),
    /// Remove a database.
    Purge(PurgeOptions),
}

/// A database to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupOptions {
    /// Its directory.
    pub directory: String,
    /// Its name, in capitals.
    pub name: String,
    /// Its size, in whole blocks.
    pub size: Bytes,
    /// The size as the console prints it: `100GB`.
    pub size_said: String,
    /// Log level of the console, 0 to 3.
    pub log_level: u32,
    /// The array's cache, if known.
    pub array_cache: Option<Bytes>,
    /// The seed of its data.
    pub seed: u64,
}

/// How much each process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// This many requests.
    Iterations(u64),
    /// As many as possible in this many seconds.
    Seconds(u64),
}

/// What each process does.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Directories that setup made, devices, NBD exports; processes take turns.
    pub targets: Vec<String>,
    /// How much; `None` chooses by storage.
    pub effort: Option<Effort>,
    /// Bytes of a request: 8 KiB or 64 KiB.
    pub block: u32,
    /// Percentage of requests that read.
    pub read_percent: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Through the host's page cache.
    pub page_cache: bool,
    /// Targets that may be overwritten although setup did not make them.
    pub destroy: Vec<String>,
    /// Devices that may be written even while they are in use.
    pub even_in_use: Vec<String>,
}

/// One batch.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// What its processes do.
    pub load: Load,
    /// Number of processes.
    pub processes: u32,
    /// Limits of response times, if any.
    pub limits: Option<Limits>,
}

/// A sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepOptions {
    /// What each process does.
    pub load: Load,
    /// Its settings.
    pub settings: Settings,
    /// Where the page goes.
    pub page: Option<String>,
    /// Where the workbook goes.
    pub xlsx: Option<String>,
    /// The specification of the storage, line by line, such as `array` with its text.
    pub sheet: Vec<(String, String)>,
}

/// The settings of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The lowest load.
    pub from: u32,
    /// The highest.
    pub to: u32,
    /// The loads between them.
    pub series: Series,
    /// Mean response time in milliseconds above which it stops.
    pub stop_ms: f64,
    /// The limits of a load.
    pub limits: Limits,
    /// The target for the storage.
    pub target: Option<Target>,
    /// A load is repeated until its mean is known to this fraction,
    pub precision: f64,
    /// but no more often than this.
    pub repeats: u32,
}

/// A summary to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportOptions {
    /// The directory.
    pub directory: String,
    /// Clean CSV with all columns instead of the classic file.
    pub csv: bool,
    /// A workbook to write as well.
    pub xlsx: Option<String>,
    /// The specification of the storage, line by line, for the workbook.
    pub sheet: Vec<(String, String)>,
}

/// A database to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeOptions {
    /// Its directory.
    pub directory: String,
    /// Its name, for confirmation.
    pub name: Option<String>,
}

/// What is wrong with a command line; one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// There is no such command.
    #[error("{typed:?}: there is no such command{hint}; help lists them", hint = hint(*.near))]
    Command {
        /// As typed.
        typed: String,
        /// The nearest command.
        near: Option<&'static str>,
    },
    /// There is no such option.
    #[error("--{typed}: {command} has no such option{hint}; help lists them", hint = hint(*.near))]
    Option {
        /// As typed.
        typed: String,
        /// The command.
        command: &'static str,
        /// The nearest option.
        near: Option<&'static str>,
    },
    /// An option without its value, or a switch with one.
    #[error("--{option}: {rule}")]
    Form {
        /// The option.
        option: String,
        /// What it takes.
        rule: &'static str,
    },
    /// An invalid value.
    #[error("{what}: must be {rule}, got {given:?}")]
    Value {
        /// Which value.
        what: String,
        /// What it must be.
        rule: String,
        /// What was typed.
        given: String,
    },
    /// A missing value.
    #[error("{command}: needs {what}, as in: seawall ranread {example}")]
    Missing {
        /// The command.
        command: &'static str,
        /// What it needs.
        what: &'static str,
        /// An example.
        example: &'static str,
    },
    /// Too many values.
    #[error("{command}: takes no {given:?} behind its {most} values, as in: seawall ranread {example}")]
    Extra {
        /// The command.
        command: &'static str,
        /// The value.
        given: String,
        /// Maximum number of values.
        most: usize,
        /// An example.
        example: &'static str,
    },
    /// Two options that exclude each other.
    #[error("--{0} and --{1}: say two things about one figure; keep one of them")]
    Both(&'static str, &'static str),
    /// The published call is not written as such.
    #[error("{given:?}: {rule}, as in: do ##class(PerfTools.RanRead).Run(\"/dir\",20,10000)")]
    Call {
        /// What was typed.
        given: String,
        /// What is wrong with it.
        rule: &'static str,
    },
}

fn hint(near: Option<&str>) -> String {
    near.map_or(String::new(), |near| format!("; did you mean {near}?"))
}

#[cfg(test)]
mod tests;
