//! The inverse of a command: the records that it replaced.

use crate::{CachePartition, ObjectDetails, Snapshot};
use block::ObjectId;
use qos::GroupId;
use std::collections::BTreeSet;

/// The change that returns an administration to its state before a command. It is as large as the
/// command's change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    pub(crate) registry: qos::Undo,
    /// Previous snapshots by number, in the order of the changes.
    pub(crate) snapshots: Vec<(u32, Option<Snapshot>)>,
    /// Whether LUNs were offline, in the order of the changes.
    pub(crate) offline: Vec<(ObjectId, bool)>,
    /// Previous cache partitions by number, in the order of the changes.
    pub(crate) partitions: Vec<(u32, Option<CachePartition>)>,
    /// Previous details of objects, in the order of the changes.
    pub(crate) details: Vec<(ObjectId, Option<ObjectDetails>)>,
}

/// The records that a command may have changed; all others are as they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Objects.
    pub objects: BTreeSet<ObjectId>,
    /// Policy groups.
    pub groups: BTreeSet<GroupId>,
    /// Snapshots, by number.
    pub snapshots: BTreeSet<u32>,
    /// Partitions of the cache, by number.
    pub partitions: BTreeSet<u32>,
}

impl Undo {
    /// The records that it restores.
    pub fn touched(&self) -> Touched {
        let qos::Touched { mut objects, groups } = self.registry.touched();
        objects.extend(self.offline.iter().map(|(lun, _)| *lun).chain(self.details.iter().map(|(object, _)| *object)));
        let snapshots = self.snapshots.iter().map(|(id, _)| *id).collect();
        Touched { objects, groups, snapshots, partitions: self.partitions.iter().map(|(id, _)| *id).collect() }
    }

    /// Number of its steps, for tests of what a command costs.
    pub fn len(&self) -> usize {
        self.registry.len() + self.snapshots.len() + self.offline.len() + self.partitions.len() + self.details.len()
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
