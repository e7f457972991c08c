//! The command line: the original's options with one dash, ours with two.

mod options;
mod read;

pub use options::help;
pub use read::parse;
pub(crate) use read::settle;

use block::Span;

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub enum OrionCommand {
    /// Print the help.
    Help,
    /// Measure.
    Run(Box<Settings>),
}

/// The settings of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Its kind.
    pub run: RunKind,
    /// The stem of its file names and of its list of volumes.
    pub test_name: String,
    /// Number of disks for the ladders; `None` for the number of volumes.
    pub disks: Option<u32>,
    /// The points of the matrix.
    pub matrix: Matrix,
    /// Small loads instead of the ladder's.
    pub small_levels: Option<Vec<u32>>,
    /// Large loads instead of the ladder's.
    pub large_levels: Option<Vec<u32>>,
    /// The settings of each point.
    pub load: Load,
    /// Limit all points to two minutes together.
    pub quick: bool,
    /// Limit of response times of small requests for the second maximum: for 99 % of them.
    pub small_limit: Span,
    /// The same for large requests.
    pub large_limit: Span,
    /// Print points as they end.
    pub verbose: bool,
    /// Where the page goes.
    pub page: Option<String>,
    /// Targets that may be overwritten although seawall did not fill them.
    pub destroy: Vec<String>,
    /// Devices that may be written even while they are in use.
    pub even_in_use: Vec<String>,
    /// The command line.
    pub words: Vec<String>,
    /// Notes for the user on the options.
    pub notes: Vec<String>,
}

/// Kinds of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Small loads alone, then large ones alone.
    Simple,
    /// All combinations.
    Normal,
    /// Set by options.
    Advanced,
    /// Large loads alone.
    Dss,
    /// Small loads alone.
    Oltp,
}

/// The points of the matrix in an advanced run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// The first row and the first column.
    Basic,
    /// All.
    Detailed,
    /// This one.
    Point {
        /// Small requests outstanding.
        small: u32,
        /// Large requests outstanding, or streams.
        large: u32,
    },
    /// All large loads beside this small one.
    Col {
        /// Small requests outstanding.
        small: u32,
    },
    /// All small loads beside this large one.
    Row {
        /// Large requests outstanding, or streams.
        large: u32,
    },
    /// All up to this one.
    Max {
        /// Small requests outstanding.
        small: u32,
        /// Large requests outstanding, or streams.
        large: u32,
    },
}

/// The settings of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Bytes of a small request.
    pub small: u32,
    /// Bytes of a large request.
    pub large: u32,
    /// The order of large requests.
    pub pattern: Pattern,
    /// How the volumes are combined.
    pub array: Array,
    /// Percentage of requests that write; of streams if large loads are streams.
    pub write_percent: u32,
    /// Bytes to transfer before a point of streams, so that it does not find the previous one's
    /// data in a cache; `None` for two minutes of transfers.
    pub warm: Option<u64>,
    /// Measured duration of a point.
    pub duration: Span,
    /// Settling time before it.
    pub settle: Span,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Through the host's page cache.
    pub page_cache: bool,
}

/// The order of large requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Random.
    Random,
    /// Sequential within each stream.
    Streams {
        /// Requests that each stream keeps outstanding.
        depth: u32,
    },
}

/// How the volumes are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array {
    /// Concatenated.
    Concat,
    /// In stripes.
    Raid0 {
        /// Bytes of a stripe on one volume.
        stripe: u64,
    },
}

/// What is wrong with a command line, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

impl RunKind {
    /// The name as typed.
    pub fn word(self) -> &'static str {
        match self {
            RunKind::Simple => "simple",
            RunKind::Normal => "normal",
            RunKind::Advanced => "advanced",
            RunKind::Dss => "dss",
            RunKind::Oltp => "oltp",
        }
    }
}
