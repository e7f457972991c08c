//! The way back from a command: what it replaced, and whose records that concerns.

use crate::{CachePartition, ObjectDetails, Snapshot};
use block::ObjectId;
use qos::GroupId;
use std::collections::BTreeSet;

/// What brings an administration back to where it was before a command. It is as large as the
/// change was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    pub(crate) registry: qos::Undo,
    /// What was under a number, in the order of the changes.
    pub(crate) snapshots: Vec<(u32, Option<Snapshot>)>,
    /// Whether a LUN was offline, likewise.
    pub(crate) offline: Vec<(ObjectId, bool)>,
    /// What was under a partition's number, likewise.
    pub(crate) partitions: Vec<(u32, Option<CachePartition>)>,
    /// What was kept of an object, likewise.
    pub(crate) details: Vec<(ObjectId, Option<ObjectDetails>)>,
}

/// Whose records a command may have changed. All others are as they were.
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
    /// Whose records it brings back.
    pub fn touched(&self) -> Touched {
        let qos::Touched { mut objects, groups } = self.registry.touched();
        objects.extend(self.offline.iter().map(|(lun, _)| *lun).chain(self.details.iter().map(|(object, _)| *object)));
        let snapshots = self.snapshots.iter().map(|(id, _)| *id).collect();
        Touched { objects, groups, snapshots, partitions: self.partitions.iter().map(|(id, _)| *id).collect() }
    }

    /// How many steps it takes, for tests of what a command costs.
    pub fn len(&self) -> usize {
        self.registry.len() + self.snapshots.len() + self.offline.len() + self.partitions.len() + self.details.len()
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
