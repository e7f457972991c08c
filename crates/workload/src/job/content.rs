//! What a job writes, and how what comes back is checked.

/// What a job writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The bytes.
    pub fill: Fill,
    /// Buffers are filled anew for each write; without, the bytes of an earlier write are used
    /// again.
    pub refill: bool,
    /// Where buffers are not filled anew, a few bytes of each 512 are changed, so that no two
    /// writes are the same.
    pub scramble: bool,
    /// How many of a hundred bytes a compressor can save; `None` leaves the bytes as they are.
    /// Above 0 it fills anew.
    pub compress_percent: Option<u32>,
    /// The part that a compressor takes at once, in bytes: compressibility is met in each. 0 is the
    /// whole block, at most.
    pub compress_chunk: u32,
    /// How many of a hundred blocks are copies of earlier ones; `None` makes none on purpose.
    pub dedupe_percent: Option<u32>,
    /// What copies are made of; any earlier block when `None`.
    pub working_set: Option<WorkingSet>,
}

/// Blocks that copies are made of, the same all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkingSet {
    /// How many, at least 1.
    pub blocks: u64,
    /// What they are drawn from: jobs with the same seed copy the same blocks.
    pub seed: u64,
}

impl Default for Content {
    fn default() -> Content {
        Content {
            fill: Fill::Random,
            refill: false,
            scramble: true,
            compress_percent: None,
            compress_chunk: 512,
            dedupe_percent: None,
            working_set: None,
        }
    }
}

/// The bytes that are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Random, from the job's seed.
    Random,
    /// Zeroes.
    Zero,
    /// A pattern over and over. With `compress_percent` it is what takes the place of random bytes.
    Pattern(Pattern),
}

/// Bytes that repeat from the start of each block on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The bytes; never empty.
    pub bytes: Vec<u8>,
    /// Where in `bytes` eight of them are replaced by the block's offset in the file,
    /// little-endian.
    pub offsets_at: Vec<u32>,
}

/// How what is read back is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verify {
    /// By which sum over the data, or by the data itself.
    pub hash: Hash,
    /// Every so many bytes of a block have a header of their own; the whole block when 0.
    pub interval: u32,
    /// Reads back and checks after each pass of writing. Without, blocks are written so that a
    /// later run can check them.
    pub reads_back: bool,
    /// Checks what an earlier run of the same job wrote, and writes nothing.
    pub only: bool,
    /// The first mismatch ends the job.
    pub fatal: bool,
    /// Checks after so many writes already; 0 only at the end of a pass.
    pub backlog: u64,
    /// So many blocks are checked then, the oldest first; 0 checks all.
    pub backlog_batch: u64,
    /// Where the header stands in its interval, in bytes.
    pub header_at: u32,
    /// Whether some of what was written is given back.
    pub trims: TrimChecks,
    /// With `only`: the earlier run made so many writes; without it is taken to have made its first
    /// pass.
    pub written: Option<u64>,
}

/// Blocks that were written and are given back before they would be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrimChecks {
    /// How many of a hundred.
    pub percent: u32,
    /// They are read back too, and must be zeroes.
    pub expect_zeroes: bool,
    /// They are given back after so many writes already; 0 only before a round of checking.
    pub backlog: u64,
}

impl Default for Verify {
    fn default() -> Verify {
        Verify {
            hash: Hash::Crc32c,
            interval: 0,
            reads_back: true,
            only: false,
            fatal: false,
            backlog: 0,
            backlog_batch: 0,
            header_at: 0,
            trims: TrimChecks::default(),
            written: None,
        }
    }
}

/// What tells that data is what was written. All but the pattern put a header in front of the data:
/// offset, generation and seed, so that a lost or misplaced write is not taken for a damaged one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hash {
    /// CRC-32C (Castagnoli).
    Crc32c,
    /// xxHash, 64 bits.
    Xxhash64,
    /// CRC-7, as memory cards have it.
    Crc7,
    /// CRC-16 with the polynomial 0x8005, reflected.
    Crc16,
    /// CRC-32, as Ethernet has it.
    Crc32,
    /// CRC-64 with the polynomial of ECMA-182, reflected.
    Crc64,
    /// MD5.
    Md5,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// SHA3-224.
    Sha3L224,
    /// SHA3-256.
    Sha3L256,
    /// SHA3-384.
    Sha3L384,
    /// SHA3-512.
    Sha3L512,
    /// The header alone, no sum over the data.
    Header,
    /// A header, and behind it the pattern, with which the data is compared.
    HeaderPattern(Pattern),
    /// No header: the data is compared with the pattern.
    Pattern(Pattern),
}
