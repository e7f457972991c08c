//! Why the maps refused or failed an ask.

use block::Fault;

/// Why an ask ended without effect, or with an effect that may not be durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapRefusal {
    /// The disk failed this request.
    #[error("the disk failed: {0:?}")]
    Disk(Fault),
    /// A flush or the log failed earlier: it is unknown what is durable, so nothing may change any
    /// more.
    #[error("the pool has failed to make something durable and takes no change until it is opened again")]
    Failed,
    /// All blocks are in use.
    #[error("the pool is full")]
    Full,
    /// The maps use all the memory that they may.
    #[error("the maps have all of the memory that they may have")]
    Crowded,
    /// There is no such tree.
    #[error("there is no tree {0}")]
    NoTree(u32),
    /// The number is in use.
    #[error("tree {0} exists")]
    Exists(u32),
    /// It is a snapshot.
    #[error("tree {0} is frozen: it can be read, shared and deleted")]
    Frozen(u32),
    /// It is not a snapshot.
    #[error("tree {0} is not frozen: it changes while it would be restored from")]
    NotFrozen(u32),
    /// Beyond the tree's end.
    #[error("beyond the end of the tree")]
    Beyond,
    /// An invalid size of a tree.
    #[error("a size must be a multiple of 512 bytes up to 128 TiB, got {0}")]
    Size(u64),
    /// Shrinking would lose data.
    #[error("there is data beyond byte {0}; discard it first")]
    HoldsData(u64),
    /// The number of trees is at its limit.
    #[error("the pool has {0} LUNs and snapshots, the most there may be")]
    TooMany(usize),
}

impl MapRefusal {
    /// The fault that the client gets.
    pub const fn fault(self) -> Fault {
        match self {
            MapRefusal::Disk(fault) => fault,
            MapRefusal::Failed => Fault::Io,
            MapRefusal::Full | MapRefusal::Crowded => Fault::NoSpace,
            MapRefusal::NoTree(_) => Fault::Gone,
            MapRefusal::Frozen(_) => Fault::ReadOnly,
            _ => Fault::Invalid,
        }
    }
}
