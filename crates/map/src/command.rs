//! Commands for the disk. The caller carries out a command and reports how it ended. The maps never
//! touch a byte of the clients' data.

/// Identifies a command until it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

/// The regions of a pool on the disk. Each is flushed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    /// The blocks.
    Data,
    /// The ring of records.
    Log,
    /// The trees' nodes, two pages each.
    Nodes,
    /// The two tables, 0 and 1.
    Table(u8),
    /// The end: how far the log goes, and which catalogue it belongs to.
    End,
}

/// What to do on the disk. Commands run concurrently, and each ends by [`crate::Core::done`]. No
/// command of the data crosses a multiple of [`crate::Settings::segment`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Write a part of the client's data.
    Write {
        /// Identifies the command.
        token: Token,
        /// The id of the ask.
        id: u64,
        /// First byte in the client's data.
        from: u32,
        /// First byte in the data region.
        to: u64,
        /// Bytes.
        len: u32,
        /// Whether it is durable before it is done.
        durable: bool,
    },
    /// Assemble whole pages and write them.
    Patch {
        /// Identifies the command.
        token: Token,
        /// The id of the ask.
        id: u64,
        /// What to assemble.
        patch: Patch,
    },
    /// Make everything that was done before in a region durable.
    Flush {
        /// Identifies the command.
        token: Token,
        /// The region.
        region: Region,
    },
    /// Release the space of bytes of the data, whose contents no longer matter. If that fails,
    /// nothing is lost.
    Discard {
        /// Identifies the command.
        token: Token,
        /// First byte in the data region.
        at: u64,
        /// Bytes.
        len: u64,
    },
    /// Write bytes of the maps.
    Store {
        /// Identifies the command.
        token: Token,
        /// The region.
        region: Region,
        /// First byte.
        at: u64,
        /// The bytes: a multiple of 4 KiB.
        bytes: Vec<u8>,
        /// Whether it is durable before it is done.
        durable: bool,
    },
}

/// A range of pages to assemble: read, clear what must not be seen, overlay the client's bytes,
/// write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// First byte in the data region to write to.
    pub to: u64,
    /// Bytes to write: up to 64 KiB.
    pub len: u32,
    /// What to read first.
    pub read: Option<Source>,
    /// Pages to clear after reading; bit 0 is the first.
    pub clear: u16,
    /// Offset in the range for the client's bytes.
    pub into: u32,
    /// Number of the client's bytes.
    pub bytes: u32,
    /// Offset in the client's data; `None` overlays zeroes.
    pub from: Option<u32>,
    /// Whether it is durable before it is done.
    pub durable: bool,
}

/// What a patch reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// First byte in the data region.
    pub at: u64,
    /// Offset in the patch's range.
    pub into: u32,
    /// Bytes.
    pub len: u32,
}

/// A contiguous run of a tree's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First byte in the data region; `None` reads as zeroes.
    pub at: Option<u64>,
    /// Bytes.
    pub len: u64,
}
