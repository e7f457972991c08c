//! What can be asked of the maps, and how it is answered.

use crate::refusal::MapRefusal;

/// Something that is asked. Exactly one [`Ended`] answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The asker's number, given back in the answer and in the commands for it.
    pub id: u64,
    /// The tree it is about; 0 for those that are about the pool.
    pub tree: u32,
    /// First byte.
    pub at: u64,
    /// Bytes.
    pub len: u64,
    /// What to do.
    pub what: What,
    /// Durable before it ends.
    pub fua: bool,
    /// Whether the client's memory may go to the disk as it is.
    pub aligned: bool,
}

/// What can be asked. All from `Create` on are durable when they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Write the client's data.
    Write,
    /// Give whole pages back. They read as zeroes afterwards; after a crash before the next flush,
    /// perhaps as before.
    Trim,
    /// Make it read as zeroes.
    Zero {
        /// Its blocks stay, or become, allocated.
        no_hole: bool,
    },
    /// Make all that ended before durable.
    Flush,
    /// Make an empty tree.
    Create {
        /// In bytes.
        size: u64,
    },
    /// Make `tree` share all of `from`.
    Share {
        /// The tree to share.
        from: u32,
        /// A snapshot: it never changes.
        frozen: bool,
    },
    /// Make `tree` share all of the snapshot `from`; what it had is gone.
    Restore {
        /// The snapshot.
        from: u32,
    },
    /// Remove `tree`.
    Delete,
    /// Give `tree` another size. Shrinking is refused while there is data beyond the new end.
    Resize {
        /// In bytes.
        size: u64,
    },
    /// Bring the tables up to date, so that opening need not read the log.
    Checkpoint,
    /// Have the end say how far the log goes.
    Anchor,
}

impl What {
    /// Whether it changes which trees there are, or one as a whole.
    pub(crate) const fn is_structure(self) -> bool {
        !matches!(self, What::Write | What::Trim | What::Zero { .. })
    }
}

/// The answer to an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The ask's.
    pub id: u64,
    /// How it ended.
    pub result: Result<(), MapRefusal>,
}
