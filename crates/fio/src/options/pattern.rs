//! What a job requests: directions, offsets and lengths.

use super::Triple;
use stats::{Direction, PerDirection};
use workload::job::Distribution;

/// Directions, order, sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternOptions {
    /// `rw`.
    pub kind: Kind,
    /// The number after the colon of `rw`, in bytes or requests.
    pub more: Option<i64>,
    /// `rw_sequencer=identical`.
    pub identical: bool,
    /// `rwmixread`.
    pub read_percent: u32,
    /// `bs`, `bsrange`, `bssplit`: the last one given for each direction.
    pub blocks: Triple<Blocks>,
    /// `bs_unaligned`.
    pub unaligned: bool,
    /// `bs_is_seq_rand`: the block size for reads is that of sequential requests, the one for
    /// writes that of random requests.
    pub blocks_by_order: bool,
    /// `ba`.
    pub align: Triple<u64>,
    /// `percentage_random`.
    pub random_percent: PerDirection<u32>,
    /// `random_distribution`.
    pub distribution: PerDirection<Distribution>,
    /// `zonemode=strided`.
    pub strided: bool,
    /// `zonesize`.
    pub zone_bytes: u64,
    /// `zonerange`; 0 means `zonesize`.
    pub zone_range: u64,
    /// `zoneskip`.
    pub zone_skip: u64,
    /// `norandommap`.
    pub norandommap: bool,
    /// `randseed`.
    pub seed: u64,
    /// `randrepeat`.
    pub repeat: bool,
}

/// `rw`: directions and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// One direction, or a mix.
    pub directions: Directions,
    /// Whether offsets are random.
    pub random: bool,
}

/// The directions that `rw` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// A single one.
    Only(Direction),
    /// Reads and writes.
    ReadWrite,
    /// Trims, each followed by a write.
    TrimWrite,
}

/// Block sizes of one direction, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// `bs`.
    Fixed(u64),
    /// `bsrange`: smallest and largest.
    Range(u64, u64),
    /// `bssplit`: size and percentage.
    Split(Vec<(u64, u32)>),
}

impl Default for PatternOptions {
    fn default() -> PatternOptions {
        PatternOptions {
            kind: Kind { directions: Directions::Only(Direction::Read), random: false },
            more: None,
            identical: false,
            read_percent: 50,
            blocks: Triple::default(),
            unaligned: false,
            blocks_by_order: false,
            align: Triple::default(),
            random_percent: PerDirection::all(100),
            distribution: PerDirection::all(Distribution::Uniform),
            strided: false,
            zone_bytes: 0,
            zone_range: 0,
            zone_skip: 0,
            norandommap: false,
            // fio's default.
            seed: 0x89,
            repeat: true,
        }
    }
}
