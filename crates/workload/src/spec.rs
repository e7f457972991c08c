//! The specification of a workload's load: pattern, mix, sizes, range, arrival. Plain numbers, and
//! the rules that they must obey.
//!
//! Keys in error messages are those of a plan file.

use block::{Bytes, Iops};

/// Smallest block: a sector, the unit of addresses of block devices.
pub const BLOCK_MIN: Bytes = Bytes(512);
/// Largest block, which NBD clients and servers must be able to transfer in one request.
pub const BLOCK_MAX: Bytes = Bytes::mib(32);
/// Maximum number of sizes in a mix of blocks; fio's own limit for `bssplit`.
pub const BLOCK_SIZES_MAX: usize = 64;
/// Maximum number of requests in flight on one connection: 64 Ki, the largest submission queue of
/// kernels.
pub const DEPTH_MAX: u32 = 65_536;
/// Maximum number of connections of a workload. Creating stream `n` takes `n` jumps of its
/// generator, half a second for all of these.
pub const CONNECTIONS_MAX: u32 = 1_024;
/// Highest rate of a workload: ten nanoseconds a request, more than a core can make.
pub const RATE_MAX: Iops = Iops(100_000_000);

/// The load of one workload. Depth and the maximum of outstanding requests apply to each
/// connection; rate and number of requests to the whole workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Where requests go.
    pub pattern: Pattern,
    /// Percentage of reads; the others are writes. Drawn for each request.
    pub read_percent: u32,
    /// Sizes of requests.
    pub blocks: Blocks,
    /// The part of the target that is used.
    pub range: Range,
    /// When requests are made.
    pub arrival: Arrival,
    /// Number of writes after which a connection makes a flush, like a database's journal; `None`
    /// never flushes. A flush is a request like any other: it counts as outstanding and takes its
    /// place in the schedule.
    pub flush_every: Option<u32>,
    /// Maximum rate of each connection of a closed loop in requests a second, however fast the
    /// storage is: the limit of its host. `None` for no limit.
    pub pace: Option<Iops>,
    /// Number of connections that share the load, each with its own stream; 0 for a silent
    /// workload.
    pub connections: u32,
    /// Number of requests after which it ends; `None` goes on until stopped.
    pub requests: Option<u64>,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Uniform over all whole blocks of the range.
    Random,
    /// One after the other, wrapping around the range. Each connection starts at its own equal part
    /// of it. Reads and writes advance together.
    Sequential,
}

/// When requests are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Closed loop: a request is made when another completes.
    Closed {
        /// Requests kept in flight on each connection.
        depth: u32,
    },
    /// Open loop: requests are due by a schedule that does not wait for the target.
    Open {
        /// Requests a second, of the whole workload.
        rate: Iops,
        /// How they are spread over time.
        spacing: Spacing,
        /// Maximum number of requests in flight on each connection. At the maximum, requests are
        /// made late, and their response time still counts from when they were due.
        outstanding: u32,
    },
}

impl Arrival {
    /// Maximum number of requests in flight on each connection.
    pub fn most(&self) -> u32 {
        match *self {
            Arrival::Closed { depth } => depth,
            Arrival::Open { outstanding, .. } => outstanding,
        }
    }
}

/// How an open loop's requests are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly; the connections take turns.
    Uniform,
    /// Poisson, as from many independent users: times between requests are exponential.
    Poisson,
}

/// A part of a target, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Its start.
    pub offset: Bytes,
    /// Its length; `None` means up to the target's end.
    pub size: Option<Bytes>,
}

/// Sizes of requests: one size, or several by weight. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks(Vec<BlockShare>);

/// One size in a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShare {
    /// The size.
    pub size: Bytes,
    /// Its frequency, relative to the sum of all weights.
    pub weight: u32,
}

/// Why a specification cannot run. The text begins with the plan file's key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// More than 100 %.
    #[error("read_percent: must be from 0 to 100, got {0}; say how many of a hundred requests read")]
    ReadPercent(u32),
    /// A flush after every 0 writes.
    #[error("flush_every: must be 1 or more, got 0; leave it out for no flushes")]
    FlushEvery,
    /// The block is not a power of two of sectors, or is too large.
    #[error("block: must be a power of two from {BLOCK_MIN} to {BLOCK_MAX}, got {0}; 4k and 64k are common")]
    Block(Bytes),
    /// A size that never occurs.
    #[error("block: the weight of {0} must be 1 or more, got 0; leave the size out if it never occurs")]
    BlockWeight(Bytes),
    /// Too many sizes.
    #[error("block: must be at most {BLOCK_SIZES_MAX} sizes, got {0}; merge the rare ones")]
    BlockSizes(usize),
    /// A block does not fit into the range.
    #[error("block: must fit into the range of {range}, got {block}; make the block smaller or the range larger")]
    BlockOverRange {
        /// The block.
        block: Bytes,
        /// The range's length.
        range: Bytes,
    },
    /// The range does not start at a sector.
    #[error("offset: must be a multiple of {BLOCK_MIN}, got {bytes} bytes; round it", bytes = .0.0)]
    OffsetUnaligned(Bytes),
    /// The range starts beyond the target's end.
    #[error("offset: must lie before the end of the target at {target}, got {offset}; lower it")]
    OffsetBeyond {
        /// The offset.
        offset: Bytes,
        /// The target's size.
        target: Bytes,
    },
    /// The range is empty or does not end at a sector.
    #[error("size: must be a multiple of {BLOCK_MIN} above zero, got {bytes} bytes; leave it out to go to the end",
        bytes = .0.0)]
    SizeUnaligned(Bytes),
    /// The range ends beyond the target's end.
    #[error("size: must end within the target of {target}, got {size} from {offset} on; leave it out to go to the end")]
    SizeBeyond {
        /// The range's start.
        offset: Bytes,
        /// The range's length.
        size: Bytes,
        /// The target's size.
        target: Bytes,
    },
    /// The depth is zero or too large.
    #[error("depth: must be from 1 to {DEPTH_MAX}, got {0}; it counts requests in flight on each connection")]
    Depth(u32),
    /// The rate is zero or too large.
    #[error("rate: must be from 1 to {rate_max}, got {given}; it counts requests a second of the whole workload",
        rate_max = RATE_MAX.0, given = .0.0)]
    Rate(Iops),
    /// The pace is zero or too large.
    #[error("pace: must be from 1 to {rate_max}, got {given}; it counts requests a second of each connection",
        rate_max = RATE_MAX.0, given = .0.0)]
    Pace(Iops),
    /// The maximum of outstanding requests is zero or too large.
    #[error("outstanding: must be from 1 to {DEPTH_MAX}, got {0}; it caps requests in flight on each connection")]
    Outstanding(u32),
    /// Too many connections.
    #[error("connections: must be at most {CONNECTIONS_MAX}, got {0}; raise the depth instead")]
    Connections(u32),
    /// Zero requests: the workload ends before it begins.
    #[error("requests: must be 1 or more, got 0; leave it out to run until the end")]
    Requests,
}

impl Spec {
    /// Checks that it can run on a target of this size; an error is the first rule that it breaks.
    pub fn check(&self, target: Bytes) -> Result<(), SpecError> {
        self.broken_rules(Some(target)).into_iter().next().map_or(Ok(()), Err)
    }

    /// Every rule that it breaks; those on the target's size only if that is known.
    pub(crate) fn broken_rules(&self, target: Option<Bytes>) -> Vec<SpecError> {
        let mut broken = Vec::new();
        let mut unless = |holds: bool, error: SpecError| {
            if !holds {
                broken.push(error);
            }
        };
        unless(self.read_percent <= 100, SpecError::ReadPercent(self.read_percent));
        unless(self.flush_every != Some(0), SpecError::FlushEvery);
        unless(self.connections <= CONNECTIONS_MAX, SpecError::Connections(self.connections));
        unless(self.requests != Some(0), SpecError::Requests);
        if let Some(pace) = self.pace {
            unless((1..=RATE_MAX.0).contains(&pace.0), SpecError::Pace(pace));
        }
        let depths = 1..=DEPTH_MAX;
        match self.arrival {
            Arrival::Closed { depth } => unless(depths.contains(&depth), SpecError::Depth(depth)),
            Arrival::Open { rate, outstanding, .. } => {
                unless((1..=RATE_MAX.0).contains(&rate.0), SpecError::Rate(rate));
                unless(depths.contains(&outstanding), SpecError::Outstanding(outstanding));
            }
        }
        let (blocks, range) = (self.blocks.broken_rules(), self.range.broken_rules(target));
        if blocks.is_empty() && range.is_empty() {
            broken.extend(self.block_over_range(target));
        }
        broken.into_iter().chain(blocks).chain(range).collect()
    }

    /// The range's length in bytes on a target of `target` bytes; zero if it starts beyond the end.
    pub(crate) fn range_len(&self, target: Bytes) -> Bytes {
        let rest = target.0.saturating_sub(self.range.offset.0);
        Bytes(self.range.size.map_or(rest, |size| size.0.min(rest)))
    }

    fn block_over_range(&self, target: Option<Bytes>) -> Option<SpecError> {
        let range = match target {
            Some(target) => self.range_len(target),
            None => self.range.size?,
        };
        let block = self.blocks.largest();
        (block > range).then_some(SpecError::BlockOverRange { block, range })
    }
}

impl SpecError {
    /// The key of a plan file that it is about.
    pub fn key(&self) -> &'static str {
        match self {
            SpecError::ReadPercent(_) => "read_percent",
            SpecError::FlushEvery => "flush_every",
            SpecError::Block(_)
            | SpecError::BlockWeight(_)
            | SpecError::BlockSizes(_)
            | SpecError::BlockOverRange { .. } => "block",
            SpecError::OffsetUnaligned(_) | SpecError::OffsetBeyond { .. } => "offset",
            SpecError::SizeUnaligned(_) | SpecError::SizeBeyond { .. } => "size",
            SpecError::Depth(_) => "depth",
            SpecError::Rate(_) => "rate",
            SpecError::Pace(_) => "pace",
            SpecError::Outstanding(_) => "outstanding",
            SpecError::Connections(_) => "connections",
            SpecError::Requests => "requests",
        }
    }
}

impl Range {
    fn broken_rules(self, target: Option<Bytes>) -> Vec<SpecError> {
        let aligned = |bytes: Bytes| bytes.0.is_multiple_of(BLOCK_MIN.0);
        let mut broken = Vec::new();
        if !aligned(self.offset) {
            broken.push(SpecError::OffsetUnaligned(self.offset));
        }
        if let Some(size) = self.size.filter(|&size| size.0 == 0 || !aligned(size)) {
            broken.push(SpecError::SizeUnaligned(size));
        }
        let Some(target) = target else { return broken };
        let offset = self.offset;
        if offset >= target {
            broken.push(SpecError::OffsetBeyond { offset, target });
        } else if let Some(size) = self.size.filter(|size| size.0 > target.0 - offset.0) {
            broken.push(SpecError::SizeBeyond { offset, size, target });
        }
        broken
    }
}

impl Blocks {
    /// A single size for all requests.
    pub fn of(size: Bytes) -> Blocks {
        Blocks(vec![BlockShare { size, weight: 1 }])
    }

    /// Several sizes; `None` if `shares` is empty.
    pub fn mixed(shares: Vec<BlockShare>) -> Option<Blocks> {
        (!shares.is_empty()).then_some(Blocks(shares))
    }

    /// The sizes and their weights, as given.
    pub fn shares(&self) -> &[BlockShare] {
        &self.0
    }

    /// The largest size.
    pub fn largest(&self) -> Bytes {
        self.0.iter().map(|share| share.size).max().unwrap_or_default()
    }

    fn broken_rules(&self) -> Vec<SpecError> {
        let mut broken = Vec::new();
        if self.0.len() > BLOCK_SIZES_MAX {
            broken.push(SpecError::BlockSizes(self.0.len()));
        }
        for share in &self.0 {
            if !share.size.0.is_power_of_two() || !(BLOCK_MIN..=BLOCK_MAX).contains(&share.size) {
                broken.push(SpecError::Block(share.size));
            }
            if share.weight == 0 {
                broken.push(SpecError::BlockWeight(share.size));
            }
        }
        broken
    }
}
