//! What a server offers: exports, their sizes and features.

use std::fmt;
use std::ops::BitOr;

use crate::contexts::Context;
use crate::limits::PAYLOAD_BYTES_MAX;
use crate::settings::Framing;

/// The server's exports, as one connection may see them: this is the place for access control.
pub trait Exports {
    /// Calls `each` with the name and description of every export that this connection may list.
    /// The handshake leaves out names that are invalid in the protocol (longer than 4096 bytes, or
    /// with a NUL).
    fn list(&self, each: &mut dyn FnMut(&str, Option<&str>));

    /// The export called `name`. The empty name means the default export, if there is one.
    fn find(&self, name: &str) -> Result<ExportInfo, ExportRefusal>;
}

/// Why an export is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportRefusal {
    /// There is no export with that name.
    #[error("there is no such export")]
    Unknown,
    /// It exists, but this client may not use it.
    #[error("this client may not use the export")]
    Policy,
    /// It is served over TLS only, and the connection is in clear text. On an encrypted connection
    /// this is treated as [`ExportRefusal::Policy`].
    #[error("the export is served over TLS only")]
    TlsRequired,
    /// An administrator took it offline.
    #[error("it is offline; an administrator of the server can bring it online")]
    Offline,
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Shutdown,
}

/// One export, as the handshake describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportInfo {
    /// The server's own number for it; returned to the server, never sent.
    pub id: u64,
    /// The canonical name, if it may differ from the one asked for.
    pub name: Option<String>,
    /// A description for people.
    pub description: Option<String>,
    /// Size in bytes.
    pub size: u64,
    /// Its features. The handshake decides on `HAS_FLAGS`, `SEND_DF` and `BLOCK_STATUS_PAYLOAD`,
    /// which are ignored here.
    pub features: TransmissionFlags,
    /// Block sizes.
    pub block: BlockSizes,
    /// Whether it knows which bytes are shared: [`crate::Context::Sharing`].
    pub sharing: bool,
}

impl ExportInfo {
    /// Whether it can answer a block status of `context`.
    pub fn tells(&self, context: Context) -> bool {
        context == Context::Allocation || self.sharing
    }

    /// The transmission flags with `framing`, if no metadata context is selected.
    pub fn flags(&self, framing: Framing) -> TransmissionFlags {
        use TransmissionFlags as T;
        // Protocol text, "Transmission flags": HAS_FLAGS "MUST always be 1".
        let mut flags = self.features.without(T::BLOCK_STATUS_PAYLOAD) | T::HAS_FLAGS;
        // "MUST leave this flag clear if structured replies have not been negotiated".
        flags = flags.with(T::SEND_DF, framing != Framing::Simple);
        if flags.contains(T::READ_ONLY) {
            flags = flags.without(T::SEND_TRIM | T::SEND_WRITE_ZEROES);
        }
        // "MUST set this transmission flag to 0 if NBD_FLAG_SEND_WRITE_ZEROES is not set".
        if !flags.contains(T::SEND_WRITE_ZEROES) {
            flags = flags.without(T::SEND_FAST_ZERO);
        }
        flags
    }
}

/// The features of an export. Protocol text, "Transmission flags".
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TransmissionFlags(pub u16);

impl TransmissionFlags {
    /// Always set on the wire.
    pub const HAS_FLAGS: TransmissionFlags = TransmissionFlags(1 << 0);
    /// Writes fail with EPERM.
    pub const READ_ONLY: TransmissionFlags = TransmissionFlags(1 << 1);
    /// `FLUSH` is supported.
    pub const SEND_FLUSH: TransmissionFlags = TransmissionFlags(1 << 2);
    /// The FUA flag is supported.
    pub const SEND_FUA: TransmissionFlags = TransmissionFlags(1 << 3);
    /// A rotating medium.
    pub const ROTATIONAL: TransmissionFlags = TransmissionFlags(1 << 4);
    /// `TRIM` is supported.
    pub const SEND_TRIM: TransmissionFlags = TransmissionFlags(1 << 5);
    /// `WRITE_ZEROES` and its `NO_HOLE` flag are supported.
    pub const SEND_WRITE_ZEROES: TransmissionFlags = TransmissionFlags(1 << 6);
    /// The "do not fragment" flag of reads is supported.
    pub const SEND_DF: TransmissionFlags = TransmissionFlags(1 << 7);
    /// A flush on one connection covers writes completed on all connections to the export.
    pub const CAN_MULTI_CONN: TransmissionFlags = TransmissionFlags(1 << 8);
    /// `CACHE` is supported.
    pub const SEND_CACHE: TransmissionFlags = TransmissionFlags(1 << 10);
    /// The `FAST_ZERO` flag is supported.
    pub const SEND_FAST_ZERO: TransmissionFlags = TransmissionFlags(1 << 11);
    /// A block status may have a payload that selects contexts. Extended headers only.
    pub const BLOCK_STATUS_PAYLOAD: TransmissionFlags = TransmissionFlags(1 << 12);

    /// Whether all of `flags` are set.
    pub const fn contains(self, flags: TransmissionFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// With `flags` set or cleared.
    #[must_use]
    pub const fn with(self, flags: TransmissionFlags, set: bool) -> TransmissionFlags {
        if set { TransmissionFlags(self.0 | flags.0) } else { self.without(flags) }
    }

    /// Without `flags`.
    #[must_use]
    pub const fn without(self, flags: TransmissionFlags) -> TransmissionFlags {
        TransmissionFlags(self.0 & !flags.0)
    }
}

impl BitOr for TransmissionFlags {
    type Output = TransmissionFlags;

    fn bitor(self, other: TransmissionFlags) -> TransmissionFlags {
        TransmissionFlags(self.0 | other.0)
    }
}

impl fmt::Debug for TransmissionFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(u16, &str); 12] = [
            (0, "HAS_FLAGS"),
            (1, "READ_ONLY"),
            (2, "SEND_FLUSH"),
            (3, "SEND_FUA"),
            (4, "ROTATIONAL"),
            (5, "SEND_TRIM"),
            (6, "SEND_WRITE_ZEROES"),
            (7, "SEND_DF"),
            (8, "CAN_MULTI_CONN"),
            (10, "SEND_CACHE"),
            (11, "SEND_FAST_ZERO"),
            (12, "BLOCK_STATUS_PAYLOAD"),
        ];
        let set: Vec<&str> = NAMES.iter().filter(|(bit, _)| self.0 >> bit & 1 == 1).map(|(_, name)| *name).collect();
        write!(f, "{:#06x}({})", self.0, set.join("|"))
    }
}

/// An export's block sizes in bytes. Protocol text, "Block size constraints".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths must be multiples of it.
    pub minimum: u32,
    /// Multiples of it avoid read-modify-write.
    pub preferred: u32,
    /// The longest read or write; `u32::MAX` if the server has no limit of its own.
    pub maximum: u32,
}

/// Why three numbers are not valid block sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockSizesError {
    /// The minimum is wrong.
    #[error("the minimum must be a power of 2 from 1 to 65536, got {0}")]
    Minimum(u32),
    /// The preferred size is wrong.
    #[error("the preferred size must be a power of 2, at least 512 and at least the minimum, got {0}")]
    Preferred(u32),
    /// The maximum is wrong.
    #[error("the maximum must be a multiple of the minimum or 4294967295, got {0}")]
    Maximum(u32),
}

impl BlockSizes {
    /// The sizes if none were sent. Protocol text: "a default minimum block size of 1, a preferred
    /// block size of 2^12 (4,096), and a maximum block size that is effectively unlimited"; the
    /// maximum is the portable 2^25.
    pub const DEFAULT: BlockSizes = BlockSizes { minimum: 1, preferred: 4096, maximum: 1 << 25 };

    /// The sizes that a client should respect if none were sent: "SHOULD constrain its requests to
    /// a minimum block size of 2^9 (512), and limit NBD_CMD_READ and NBD_CMD_WRITE commands to a
    /// maximum block size of 2^25".
    pub const PORTABLE: BlockSizes = BlockSizes { minimum: 512, preferred: 4096, maximum: 1 << 25 };

    /// Checks the three sizes.
    pub fn new(minimum: u32, preferred: u32, maximum: u32) -> Result<BlockSizes, BlockSizesError> {
        // "this value MUST be a power of 2, MUST NOT be larger than 2^16".
        if !minimum.is_power_of_two() || minimum > 1 << 16 {
            return Err(BlockSizesError::Minimum(minimum));
        }
        // "MUST be a power of 2 at least as large as the maximum of the minimum block size and 2^9
        // (512)".
        if !preferred.is_power_of_two() || preferred < minimum.max(512) {
            return Err(BlockSizesError::Preferred(preferred));
        }
        // "MUST be either an integer multiple of the minimum block size or the value 0xffffffff".
        if maximum == 0 || (maximum != u32::MAX && !maximum.is_multiple_of(minimum)) {
            return Err(BlockSizesError::Maximum(maximum));
        }
        Ok(BlockSizes { minimum, preferred, maximum })
    }

    /// The longest payload to use: the maximum, within the limit of this crate.
    pub const fn payload_bytes(self) -> u32 {
        if self.maximum < PAYLOAD_BYTES_MAX { self.maximum } else { PAYLOAD_BYTES_MAX }
    }
}

impl Default for BlockSizes {
    fn default() -> BlockSizes {
        BlockSizes::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_keep_the_rules_of_the_protocol() {
        assert!(BlockSizes::new(1, 512, u32::MAX).is_ok());
        assert!(BlockSizes::new(4096, 65536, 1 << 25).is_ok());
        assert_eq!(BlockSizes::new(0, 512, 512), Err(BlockSizesError::Minimum(0)));
        assert_eq!(BlockSizes::new(131_072, 131_072, 131_072), Err(BlockSizesError::Minimum(131_072)));
        assert_eq!(BlockSizes::new(1, 256, 512), Err(BlockSizesError::Preferred(256)));
        assert_eq!(BlockSizes::new(4096, 2048, 4096), Err(BlockSizesError::Preferred(2048)));
        assert_eq!(BlockSizes::new(512, 4096, 1000), Err(BlockSizesError::Maximum(1000)));
        assert_eq!(BlockSizes::new(512, 4096, 0), Err(BlockSizesError::Maximum(0)));
    }

    #[test]
    fn a_read_only_export_offers_no_writing_commands() {
        use TransmissionFlags as T;
        let writing = T::SEND_FLUSH | T::SEND_TRIM | T::SEND_WRITE_ZEROES | T::SEND_FAST_ZERO;
        let export = ExportInfo { features: writing | T::READ_ONLY, ..ExportInfo::default() };
        assert_eq!(export.flags(Framing::Simple), T::HAS_FLAGS | T::READ_ONLY | T::SEND_FLUSH);
        assert_eq!(export.flags(Framing::Structured), T::HAS_FLAGS | T::READ_ONLY | T::SEND_FLUSH | T::SEND_DF);
    }

    #[test]
    fn fast_zero_is_never_offered_without_write_zeroes() {
        use TransmissionFlags as T;
        let export = ExportInfo { features: T::SEND_FAST_ZERO, ..ExportInfo::default() };
        assert_eq!(export.flags(Framing::Simple), T::HAS_FLAGS);
    }
}
