//! What a job writes, and how it verifies what it reads back.

/// What a job writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The bytes.
    pub fill: Fill,
    /// Fills buffers anew for each write; otherwise the bytes of an earlier write are used again.
    pub refill: bool,
    /// If buffers are not filled anew, changes a few bytes in every 512, so that no two writes are
    /// equal.
    pub scramble: bool,
    /// Percentage of the bytes that a compressor can save; `None` leaves the bytes as they are.
    /// Above 0, buffers are filled anew.
    pub compress_percent: Option<u32>,
    /// Unit of compression in bytes: each unit has the compressibility asked for. 0 means a whole
    /// block, which is also the maximum.
    pub compress_chunk: u32,
    /// Percentage of blocks that are copies of earlier ones; `None` makes none on purpose.
    pub dedupe_percent: Option<u32>,
    /// The blocks that are copied; any earlier block when `None`.
    pub working_set: Option<WorkingSet>,
}

/// A fixed set of blocks from which copies are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkingSet {
    /// Number of blocks, at least 1.
    pub blocks: u64,
    /// Seed of their contents: jobs with the same seed copy the same blocks.
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
    /// Zeros.
    Zero,
    /// A repeated pattern. With `compress_percent` it takes the place of the random bytes.
    Pattern(Pattern),
}

/// Bytes that repeat from the start of each block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The bytes; never empty.
    pub bytes: Vec<u8>,
    /// Positions in `bytes` where eight bytes are replaced by the block's offset in the file,
    /// little-endian.
    pub offsets_at: Vec<u32>,
}

/// How data that is read back is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verify {
    /// The checksum, or comparison with the data itself.
    pub hash: Hash,
    /// Distance of headers within a block, in bytes; 0 means one header for each block.
    pub interval: u32,
    /// Reads back and checks after each pass of writing. If false, blocks are written so that a
    /// later run can check them.
    pub reads_back: bool,
    /// Only checks what an earlier run of the same job wrote.
    pub only: bool,
    /// Ends the job at the first mismatch.
    pub fatal: bool,
    /// Number of writes after which the backlog is checked; 0 means only at the end of a pass.
    pub backlog: u64,
    /// Number of blocks to check then; 0 means all.
    pub backlog_batch: u64,
    /// Offset of the header within its interval, in bytes.
    pub header_at: u32,
    /// Leaves the data of a mismatch in files.
    pub dump: bool,
    /// Whether some of the written blocks are trimmed.
    pub trims: TrimChecks,
    /// With `only`: the number of writes that the earlier run made. `None` means its whole first
    /// pass.
    pub written: Option<u64>,
}

/// Trims of written blocks before they would be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrimChecks {
    /// Percentage of the written blocks.
    pub percent: u32,
    /// Also reads trimmed blocks back, which must be zeros.
    pub expect_zeroes: bool,
    /// Number of writes after which blocks are trimmed; 0 means only before a round of checking.
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
            dump: false,
            trims: TrimChecks::default(),
            written: None,
        }
    }
}

/// How written data is recognised. All but the plain pattern put a header in front of the data,
/// with offset, generation and seed, so that lost and misplaced writes can be told from damaged
/// data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hash {
    /// CRC-32C (Castagnoli).
    Crc32c,
    /// xxHash, 64 bits.
    Xxhash64,
    /// CRC-7, as in memory cards.
    Crc7,
    /// CRC-16 with the polynomial 0x8005, reflected.
    Crc16,
    /// CRC-32, as in Ethernet.
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
    /// Only the header, without a checksum of the data.
    Header,
    /// A header, followed by the pattern that the data must equal.
    HeaderPattern(Pattern),
    /// No header: the data must equal the pattern.
    Pattern(Pattern),
}
