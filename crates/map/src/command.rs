//! What is done on the disk, and where. The caller that carries a command out reports how it ended;
//! the maps never touch a byte of the clients' data.

/// Names a command until it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

/// The parts of a pool on a disk. Each is flushed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    /// The blocks.
    Data,
    /// The ring of records.
    Log,
    /// The trees' nodes, two pages each.
    Nodes,
    /// The two tables, by 0 and 1.
    Table(u8),
    /// How far the log goes, and which catalogue it belongs to.
    End,
}

/// What to do on the disk. Commands run side by side; each ends by [`crate::Core::done`]. None of
/// the data reaches over a multiple of [`crate::Settings::segment`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Write a part of the client's data.
    Write {
        /// Its name.
        token: Token,
        /// The ask.
        id: u64,
        /// First byte within the client's data.
        from: u32,
        /// First byte of the data region.
        to: u64,
        /// Bytes.
        len: u32,
        /// Durable before it is done.
        durable: bool,
    },
    /// Put whole pages together and write them.
    Patch {
        /// Its name.
        token: Token,
        /// The ask.
        id: u64,
        /// How.
        patch: Patch,
    },
    /// Make everything done before in a region durable.
    Flush {
        /// Its name.
        token: Token,
        /// Where.
        region: Region,
    },
    /// Give the space of bytes of the data back; how they read afterwards does not matter. If that
    /// cannot be done, nothing is lost.
    Discard {
        /// Its name.
        token: Token,
        /// First byte of the data region.
        at: u64,
        /// Bytes.
        len: u64,
    },
    /// Write bytes of our own.
    Store {
        /// Its name.
        token: Token,
        /// Where.
        region: Region,
        /// First byte.
        at: u64,
        /// What: a multiple of 4 KiB.
        bytes: Vec<u8>,
        /// Durable before it is done.
        durable: bool,
    },
}

/// A run of pages to put together: read, clear what is not to be seen, lay the client's bytes over
/// it, write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// First byte of the data region to write to.
    pub to: u64,
    /// Bytes to write: up to 64 KiB.
    pub len: u32,
    /// What to read first.
    pub read: Option<Source>,
    /// Pages to clear after reading; bit 0 is the first.
    pub clear: u16,
    /// Where the client's bytes go.
    pub into: u32,
    /// How many.
    pub bytes: u32,
    /// First byte within the client's data; `None` lays zeroes.
    pub from: Option<u32>,
    /// Durable before it is done.
    pub durable: bool,
}

/// What a patch reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// First byte of the data region.
    pub at: u64,
    /// Where it goes.
    pub into: u32,
    /// Bytes.
    pub len: u32,
}

/// A run of a tree's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First byte in the data region; `None` reads as zeroes.
    pub at: Option<u64>,
    /// Bytes.
    pub len: u64,
}
