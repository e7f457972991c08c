//! Limits on what the peer can make us wait for, store or write. Each has a name, a unit and a
//! reason.

/// Longest string, bytes. Protocol text, "Conventions": "MUST be no longer than 4096 bytes".
pub const STRING_BYTES_MAX: usize = 4096;

/// Longest write payload that is received even if it will be refused, bytes. Protocol text, "Block
/// size constraints": a length below 2^25 "SHOULD NOT be considered a denial of service attack".
pub const PAYLOAD_BYTES_TOLERATED: u32 = 1 << 25;

/// Largest "maximum block size" that an export may advertise, bytes. It is the largest that common
/// servers advertise, and keeps every chunk length far below 2^32.
pub const PAYLOAD_BYTES_MAX: u32 = 1 << 26;

/// Longest error chunk that a client waits for, bytes: error, message length, the longest message,
/// an offset, and as much again for fields that later extensions may add.
pub const ERROR_CHUNK_BYTES_MAX: u32 = 8192;

/// Most extents in one block status chunk. Protocol text, `NBD_CMD_BLOCK_STATUS`: "SHOULD NOT send
/// more than 2^20".
pub const STATUS_EXTENTS_MAX: u32 = 1 << 20;

/// Limits of one handshake, with the same names on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeLimits {
    /// Options that a client may send (server only), and two more for each export that it was told
    /// of: enough to describe all of them on one connection.
    pub options: u32,
    /// Bytes in the data of one option (server) or one option reply (client), all of which the
    /// caller may have to buffer.
    pub option_bytes: u32,
    /// Bytes received in the whole handshake, including skipped ones, without those of the options
    /// that listed exports add.
    pub total_bytes: u64,
    /// Bytes in one answer to `LIST` (server), and of the exports kept from one (client: 16 bytes
    /// or more for each).
    pub list_bytes: usize,
}

impl HandshakeLimits {
    /// Server: 64 options of 64 KiB, 1 MiB in all, 4 MiB of list.
    pub const SERVER: HandshakeLimits =
        HandshakeLimits { options: 64, option_bytes: 64 << 10, total_bytes: 1 << 20, list_bytes: 4 << 20 };

    /// Client: the same, but a server's list may be long.
    pub const CLIENT: HandshakeLimits =
        HandshakeLimits { options: 64, option_bytes: 64 << 10, total_bytes: 16 << 20, list_bytes: 8 << 20 };
}
