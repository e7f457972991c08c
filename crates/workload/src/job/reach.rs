//! What a job requests: directions, order, offsets, sizes.

use super::{Amount, Direction, PerDirection};

/// What a job requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// Directions of its requests.
    pub mix: Mix,
    /// How the next offset follows from the last.
    pub order: Order,
    /// In a random order: the percentage of requests at random offsets; the others follow the
    /// request before them.
    pub random_percent: PerDirection<u32>,
    /// Distribution of random offsets.
    pub distribution: PerDirection<Distribution>,
    /// Whether a random order visits each block once.
    pub coverage: BlockCoverage,
    /// Sizes of requests.
    pub blocks: PerDirection<BlockSizes>,
    /// In a random order: sizes of requests at random offsets, if they differ from the others.
    pub random_blocks: Option<BlockSizes>,
    /// Random offsets that may repeat are multiples of this; of the smallest block when `None`.
    pub align: PerDirection<Option<u64>>,
    /// Uses the region piece by piece.
    pub strides: Option<Strides>,
}

/// Piecewise use of a region: `bytes` are transferred within a piece of `range`, then the next
/// piece begins `skip` behind its end. After the last piece comes the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// Length of a piece; at least the largest block.
    pub range: u64,
    /// Bytes transferred in a piece before the next; above zero.
    pub bytes: u64,
    /// Gap between pieces.
    pub skip: u64,
}

impl Default for Reach {
    fn default() -> Reach {
        Reach {
            mix: Mix::Only(Direction::Read),
            order: Order::Sequential { hole: 0 },
            random_percent: PerDirection::all(100),
            distribution: PerDirection::all(Distribution::Uniform),
            coverage: BlockCoverage::Once,
            blocks: PerDirection::all(BlockSizes::Fixed(4096)),
            random_blocks: None,
            align: PerDirection::all(None),
            strides: None,
        }
    }
}

/// The directions of a job's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Only this one.
    Only(Direction),
    /// Reads and writes, drawn for each request.
    ReadWrite {
        /// Percentage of reads.
        read_percent: u32,
    },
    /// Each block is trimmed and then written.
    TrimThenWrite,
}

impl Mix {
    /// Whether any request has this direction.
    pub fn has(self, direction: Direction) -> bool {
        match self {
            Mix::Only(only) => only == direction,
            Mix::ReadWrite { read_percent } => match direction {
                Direction::Read => read_percent > 0,
                Direction::Write => read_percent < 100,
                Direction::Trim => false,
            },
            Mix::TrimThenWrite => direction != Direction::Read,
        }
    }

    /// Whether it changes stored data.
    pub fn changes_data(self) -> bool {
        self.has(Direction::Write) || self.has(Direction::Trim)
    }
}

/// How the next offset follows from the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Right after the last, wrapping around the region. Reads and writes advance separately.
    Sequential {
        /// Gap after each request in bytes; negative goes backwards.
        hole: i64,
    },
    /// At a new random offset after each run.
    Random {
        /// Number of requests in a run, at least 1.
        run: u32,
        /// All requests of a run have the same offset, instead of following each other.
        same: bool,
    },
}

impl Order {
    /// A new random offset for each request.
    pub const RANDOM: Order = Order::Random { run: 1, same: false };

    /// Whether it is random.
    pub fn is_random(self) -> bool {
        matches!(self, Order::Random { .. })
    }
}

/// How random offsets are distributed over the region.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform.
    Uniform,
    /// The block of rank `k` has the weight `1 / k^theta`; ranks are scattered over the region.
    Zipf {
        /// Above 0; not 1.
        theta: f64,
        /// Position of the most frequent block, as a fraction (0 to 1) of the region; drawn from
        /// the seed when `None`.
        center: Option<f64>,
    },
    /// A fraction `1 − h` of the requests go to a fraction `h` of the blocks, and likewise within
    /// each part; scattered like Zipf.
    Pareto {
        /// Between 0 and 1, both excluded.
        h: f64,
        /// Position of the most frequent block, as a fraction (0 to 1) of the region; drawn from
        /// the seed when `None`.
        center: Option<f64>,
    },
    /// Mostly the middle ranks; scattered like Zipf.
    Normal {
        /// Width of the uniform draw that moves the mean of twelve draws over all ranks, in percent
        /// of their number.
        width_percent: f64,
        /// Moves all offsets by its distance from the middle of the region; by a distance drawn
        /// from the seed when `None`.
        center: Option<f64>,
    },
    /// Zones with their own shares, uniform within. Shares add up to 100.
    Zoned(Vec<Zone>),
}

/// A part of the region with its share of the requests; zones follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Percentage of the requests.
    pub access_percent: u32,
    /// Its length, in bytes or as a percentage of the region.
    pub length: Amount,
}

/// Whether random offsets visit each block once before any is repeated. Only uniform distributions
/// can. In runs that is so for where they begin, not for the requests that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockCoverage {
    /// Each block once.
    Once,
    /// Independent draws.
    Free,
}

/// Sizes of the requests of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSizes {
    /// All the same size, in bytes.
    Fixed(u32),
    /// Uniform between two sizes.
    Range {
        /// The smallest, in bytes.
        least: u32,
        /// The largest, in bytes.
        most: u32,
        /// Sizes are multiples of this many bytes; 1 for any.
        step: u32,
    },
    /// Drawn by weight; never empty.
    Split(Vec<SplitShare>),
}

/// One size in a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitShare {
    /// Bytes.
    pub size: u32,
    /// Its frequency, relative to the sum of all weights.
    pub weight: u32,
}

impl BlockSizes {
    /// The smallest, in bytes.
    pub fn least(&self) -> u32 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { least, .. } => *least,
            BlockSizes::Split(shares) => shares.iter().map(|share| share.size).min().unwrap_or(0),
        }
    }

    /// The largest, in bytes.
    pub fn most(&self) -> u32 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { most, .. } => *most,
            BlockSizes::Split(shares) => shares.iter().map(|share| share.size).max().unwrap_or(0),
        }
    }
}

impl Reach {
    /// The smallest block of all directions that occur, in bytes.
    pub fn least_block(&self) -> u32 {
        self.all_blocks().map(BlockSizes::least).min().unwrap_or(0)
    }

    /// The largest block of all directions that occur, in bytes.
    pub fn most_block(&self) -> u32 {
        self.all_blocks().map(BlockSizes::most).max().unwrap_or(0)
    }

    fn all_blocks(&self) -> impl Iterator<Item = &BlockSizes> {
        self.directions().map(|direction| &self.blocks[direction]).chain(&self.random_blocks)
    }

    /// The directions that occur.
    pub fn directions(&self) -> impl Iterator<Item = Direction> + '_ {
        Direction::ALL.into_iter().filter(|&direction| self.mix.has(direction))
    }
}
