//! What was typed: a command word with its values and options, or the published call with its class
//! and method.

mod call;
mod read;
mod words;

pub use read::parse;

use crate::sweep::{Limits, Series, Target};
use block::Bytes;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Say how it is used.
    Help,
    /// Make a database.
    Setup(SetupAsk),
    /// Load it once.
    Run(RunAsk),
    /// Load it with more and more processes.
    Sweep(SweepAsk),
    /// End the batches that run.
    Stop,
    /// Forget all rows.
    Reset,
    /// Write a summary of all rows.
    Export(ExportAsk),
    /// Remove a database.
    Purge(PurgeAsk),
}

/// Which database to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupAsk {
    /// Where.
    pub directory: String,
    /// Its name, in capitals.
    pub name: String,
    /// Its size, whole blocks.
    pub size: Bytes,
    /// The size as the console says it: `100GB`.
    pub size_said: String,
    /// How much the console says, 0 to 3.
    pub log_level: u32,
    /// The array's cache, where it is known.
    pub array_cache: Option<Bytes>,
    /// The seed of its data.
    pub seed: u64,
}

/// How much each process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// So many requests.
    Iterations(u64),
    /// As many as it can in so many seconds.
    Seconds(u64),
}

/// What processes do, however many there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Directories that setup made, devices, NBD exports; processes take turns.
    pub targets: Vec<String>,
    /// How much; as the storage suggests when `None`.
    pub effort: Option<Effort>,
    /// Bytes of a request: 8 KiB or 64 KiB.
    pub block: u32,
    /// How many of a hundred requests read.
    pub read_percent: u32,
    /// The seed of all chance.
    pub seed: u64,
    /// Through the host's page cache.
    pub page_cache: bool,
    /// Data that may be overwritten although setup did not make it.
    pub destroy: Vec<String>,
    /// Devices that may be written even while they are in use.
    pub even_in_use: Vec<String>,
}

/// One batch.
#[derive(Clone, Debug, PartialEq)]
pub struct RunAsk {
    /// What its processes do.
    pub load: Load,
    /// How many processes.
    pub processes: u32,
    /// What is asked of the response times, if anything is.
    pub limits: Option<Limits>,
}

/// A sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepAsk {
    /// What processes do.
    pub load: Load,
    /// How it goes.
    pub settings: Settings,
    /// Where the page goes.
    pub page: Option<String>,
    /// Where the workbook goes.
    pub xlsx: Option<String>,
    /// What the storage is, line by line, as `array` and its words.
    pub sheet: Vec<(String, String)>,
}

/// How a sweep goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The lowest load.
    pub from: u32,
    /// The highest.
    pub to: u32,
    /// Which loads between them.
    pub series: Series,
    /// Response time in milliseconds beyond which it stops.
    pub stop_ms: f64,
    /// What a load must keep.
    pub limits: Limits,
    /// What is asked of the storage.
    pub target: Option<Target>,
    /// A load is repeated until its mean is known to this part of itself.
    pub precision: f64,
    /// But no more often than this.
    pub repeats: u32,
}

/// A summary to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportAsk {
    /// Where.
    pub directory: String,
    /// Clean CSV with all columns in place of the classic file.
    pub csv: bool,
    /// Where a workbook goes besides.
    pub xlsx: Option<String>,
    /// What the storage is, line by line, for the workbook.
    pub sheet: Vec<(String, String)>,
}

/// A database to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeAsk {
    /// Where.
    pub directory: String,
    /// Its name, to be sure.
    pub name: Option<String>,
}

/// What is wrong with what was typed; one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// No such command.
    #[error("{typed:?}: there is no such command{hint}; help lists them", hint = hint(*.near))]
    Command {
        /// As typed.
        typed: String,
        /// The nearest.
        near: Option<&'static str>,
    },
    /// No such option.
    #[error("--{typed}: {command} has no such option{hint}; help lists them", hint = hint(*.near))]
    Option {
        /// As typed.
        typed: String,
        /// Of which command.
        command: &'static str,
        /// The nearest.
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
    /// A value that cannot be.
    #[error("{what}: must be {rule}, got {given:?}")]
    Value {
        /// Which value.
        what: String,
        /// What it must be.
        rule: String,
        /// What was typed.
        given: String,
    },
    /// A value that is missing.
    #[error("{command}: needs {what}, as in: seawall ranread {example}")]
    Missing {
        /// The command.
        command: &'static str,
        /// What it needs.
        what: &'static str,
        /// How it is typed.
        example: &'static str,
    },
    /// A value too many.
    #[error("{command}: takes no {given:?} behind its {most} values, as in: seawall ranread {example}")]
    Extra {
        /// The command.
        command: &'static str,
        /// The value.
        given: String,
        /// How many it takes.
        most: usize,
        /// How it is typed.
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
