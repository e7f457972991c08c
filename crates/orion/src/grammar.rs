//! What was typed: the original's options with one dash, ours with two.

mod options;
mod read;

pub use options::help;
pub use read::parse;
pub(crate) use read::settle;

use block::Span;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum OrionCommand {
    /// Say how it is used.
    Help,
    /// Measure.
    Run(Box<Ask>),
}

/// A measurement as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Its kind.
    pub run: RunKind,
    /// What its files begin with, and its list of volumes.
    pub test_name: String,
    /// How many disks the ladders are made for; as many as there are volumes when `None`.
    pub disks: Option<u32>,
    /// Which points of the matrix.
    pub matrix: Matrix,
    /// Small loads in place of the ladder's.
    pub small_levels: Option<Vec<u32>>,
    /// Large loads in place of the ladder's.
    pub large_levels: Option<Vec<u32>>,
    /// What a point is.
    pub load: Load,
    /// All points within two minutes.
    pub quick: bool,
    /// Response times that small requests must keep for the second maximum: 99 % of them.
    pub small_limit: Span,
    /// The same for large requests.
    pub large_limit: Span,
    /// Points are told as they end.
    pub verbose: bool,
    /// Where the page goes.
    pub page: Option<String>,
    /// Data that may be overwritten although seawall did not put it there.
    pub destroy: Vec<String>,
    /// Devices that may be written even while they are in use.
    pub even_in_use: Vec<String>,
    /// What was typed.
    pub words: Vec<String>,
    /// What the user should know of the words.
    pub notes: Vec<String>,
}

/// Kinds of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Small loads alone, then large ones alone.
    Simple,
    /// All combinations.
    Normal,
    /// As its options say.
    Advanced,
    /// Large loads alone.
    Dss,
    /// Small loads alone.
    Oltp,
}

/// Which points of the matrix an advanced run has.
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

/// What a point is, whichever it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Bytes of a small request.
    pub small: u32,
    /// Bytes of a large request.
    pub large: u32,
    /// Where large requests go.
    pub pattern: Pattern,
    /// How the volumes become one.
    pub array: Array,
    /// Requests of a hundred that write; streams of a hundred where large loads are streams.
    pub write_percent: u32,
    /// Bytes that are moved before a point of streams, so that it finds no cache of the one before;
    /// two minutes of them when `None`.
    pub warm: Option<u64>,
    /// How long a point is measured.
    pub duration: Span,
    /// How long it runs before.
    pub settle: Span,
    /// The seed of all chance.
    pub seed: u64,
    /// Through the host's page cache.
    pub page_cache: bool,
}

/// Where large requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Anywhere.
    Random,
    /// Each stream behind its last one.
    Streams {
        /// Requests that each stream keeps outstanding.
        depth: u32,
    },
}

/// How the volumes become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array {
    /// One behind the other.
    Concat,
    /// In stripes.
    Raid0 {
        /// Bytes of a stripe on one volume.
        stripe: u64,
    },
}

/// What is wrong with what was typed, in a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

impl RunKind {
    /// As it is typed.
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
