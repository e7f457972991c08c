//! What can be asked of the maps, and the answers.

use crate::refusal::MapRefusal;

/// A request to the maps. Exactly one [`Ended`] answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The caller's identifier, returned in the answer and in the commands for it.
    pub id: u64,
    /// The tree that it concerns; 0 if it concerns the pool.
    pub tree: u32,
    /// First byte.
    pub at: u64,
    /// Bytes.
    pub len: u64,
    /// What to do.
    pub what: What,
    /// Whether it is durable before it ends.
    pub fua: bool,
    /// Whether the client's memory is aligned for the disk.
    pub aligned: bool,
}

/// What can be asked. From `Create` on, everything is durable when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Write the client's data.
    Write,
    /// Release whole pages. They read as zeroes afterwards; after a crash before the next flush,
    /// possibly as before.
    Trim,
    /// Make a range read as zeroes.
    Zero {
        /// Keep or make its blocks allocated.
        no_hole: bool,
    },
    /// Make everything that ended before durable.
    Flush,
    /// Create an empty tree.
    Create {
        /// In bytes.
        size: u64,
    },
    /// Create `tree`, sharing everything with `from`.
    Share {
        /// The tree to share.
        from: u32,
        /// Whether it is a snapshot, which never changes.
        frozen: bool,
    },
    /// Make `tree` share everything with the snapshot `from`; its previous contents are dropped.
    Restore {
        /// The snapshot.
        from: u32,
    },
    /// Delete `tree`.
    Delete,
    /// Resize `tree`. Shrinking is refused while there is data beyond the new end.
    Resize {
        /// In bytes.
        size: u64,
    },
    /// Bring the tables up to date, so that opening need not read the log.
    Checkpoint,
    /// Record in the end how far the log goes.
    Anchor,
}

impl What {
    /// Whether it changes the set of trees, or a tree as a whole.
    pub(crate) const fn is_structure(self) -> bool {
        !matches!(self, What::Write | What::Trim | What::Zero { .. })
    }
}

/// The answer to an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The id of the ask.
    pub id: u64,
    /// How it ended.
    pub result: Result<(), MapRefusal>,
}
