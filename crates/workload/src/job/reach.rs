//! What a job asks: directions, order, offsets, sizes.

use super::{Amount, Direction, PerDirection};

/// What a job asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// Which directions.
    pub mix: Mix,
    /// Where the next request goes, seen from the one before.
    pub order: Order,
    /// In a random order: how many of a hundred requests are at random places; the others follow
    /// the one before them.
    pub random_percent: PerDirection<u32>,
    /// How random places are spread.
    pub distribution: PerDirection<Distribution>,
    /// Whether a random order visits each block once.
    pub coverage: BlockCoverage,
    /// How long requests are.
    pub blocks: PerDirection<BlockSizes>,
    /// In a random order: how long requests at random places are, where those have lengths of their
    /// own.
    pub random_blocks: Option<BlockSizes>,
    /// Random offsets are multiples of this; the smallest block when `None`.
    pub align: PerDirection<Option<u64>>,
    /// The region is used piece by piece.
    pub strides: Option<Strides>,
}

/// Use of a region piece by piece: `bytes` within a piece of `range`, then on to the next one,
/// which begins `skip` behind its end; behind the last the first comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// Length of a piece; not below the longest block.
    pub range: u64,
    /// Bytes that are moved in a piece before the next; above zero.
    pub bytes: u64,
    /// What is left out between pieces.
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

/// Which directions a job's requests have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// This one.
    Only(Direction),
    /// Reads and writes, drawn for each request.
    ReadWrite {
        /// How many of a hundred read.
        read_percent: u32,
    },
    /// Each block is trimmed and then written.
    TrimThenWrite,
}

impl Mix {
    /// Whether some requests have this direction.
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

    /// Whether it changes what is stored.
    pub fn changes_data(self) -> bool {
        self.has(Direction::Write) || self.has(Direction::Trim)
    }
}

/// Where the next request goes, seen from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Behind it, around the region. Reads and writes advance each on their own.
    Sequential {
        /// Bytes left out after each; negative goes backwards.
        hole: i64,
    },
    /// At a new random place after each run.
    Random {
        /// Requests in a row from one random place, at least 1.
        run: u32,
        /// A run asks for the same place over and over instead of going on behind it.
        same: bool,
    },
}

impl Order {
    /// A new random place for each request.
    pub const RANDOM: Order = Order::Random { run: 1, same: false };

    /// Whether it is random.
    pub fn is_random(self) -> bool {
        matches!(self, Order::Random { .. })
    }
}

/// How random places are spread over the region.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Each as likely as any other.
    Uniform,
    /// The block of rank `k` with a weight of `1 / k^theta`; ranks are scattered over the region.
    Zipf {
        /// Above 0; not 1.
        theta: f64,
        /// Where the most asked block is, as a part (0 to 1) of the region.
        center: Option<f64>,
    },
    /// `1 − h` of the requests go to `h` of the blocks, and so on within each part; scattered like
    /// zipf.
    Pareto {
        /// Between 0 and 1, both excluded.
        h: f64,
        /// Where the most asked block is, as a part (0 to 1) of the region.
        center: Option<f64>,
    },
    /// Middle ranks mostly; scattered like zipf.
    Normal {
        /// How far an even draw moves the mean of twelve of all ranks, in percent of their number.
        width_percent: f64,
        /// Moves all places by its distance from one half of the region.
        center: Option<f64>,
    },
    /// Each zone with its share, uniform within. Shares add up to 100.
    Zoned(Vec<Zone>),
}

/// A part of the region with its share of the requests; zones lie one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Requests of a hundred.
    pub access_percent: u32,
    /// Its length, in bytes or as a part of the region.
    pub length: Amount,
}

/// Whether a random order visits each block once before any comes again. Without a uniform
/// distribution it never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockCoverage {
    /// Each block once.
    Once,
    /// Drawn freely.
    Free,
}

/// How long requests of one direction are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSizes {
    /// All the same, in bytes.
    Fixed(u32),
    /// Drawn evenly.
    Range {
        /// The shortest, in bytes.
        least: u32,
        /// The longest, in bytes.
        most: u32,
        /// Lengths are multiples of this many bytes; 1 for any.
        step: u32,
    },
    /// Drawn by share; never empty.
    Split(Vec<SplitShare>),
}

/// One size in a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitShare {
    /// Bytes.
    pub size: u32,
    /// How often it occurs, against the sum of all weights.
    pub weight: u32,
}

impl BlockSizes {
    /// The shortest, in bytes.
    pub fn least(&self) -> u32 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { least, .. } => *least,
            BlockSizes::Split(shares) => shares.iter().map(|share| share.size).min().unwrap_or(0),
        }
    }

    /// The longest, in bytes.
    pub fn most(&self) -> u32 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { most, .. } => *most,
            BlockSizes::Split(shares) => shares.iter().map(|share| share.size).max().unwrap_or(0),
        }
    }
}

impl Reach {
    /// The shortest block of all directions that occur, in bytes.
    pub fn least_block(&self) -> u32 {
        self.all_blocks().map(BlockSizes::least).min().unwrap_or(0)
    }

    /// The longest block of all directions that occur, in bytes.
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
