//! The snapshots that there are: names and times, and which tree of the maps holds which LUN or
//! file as it was. What is in the trees is the store's.

use block::ObjectId;
use ontap::value::OsType;
use qos::ObjectKind;
use std::collections::BTreeMap;

/// Snapshots of one volume at most, as ONTAP has it.
pub const SNAPSHOTS_MAX: usize = 1023;

/// Trees of snapshots have numbers from here on, objects those before.
const FIRST_TREE: u32 = 1 << 31;

/// A LUN or file in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotLeaf {
    /// The tree that holds its bytes.
    pub tree: ObjectId,
    /// A LUN, a file, or a volume: what clients made on it.
    pub kind: ObjectKind,
    /// The qtree that it was in.
    pub qtree: Option<String>,
    /// Its name there.
    pub name: String,
    /// Its size then, in bytes.
    pub size: u64,
    /// What a LUN was for.
    pub os_type: OsType,
}

/// A volume as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its number, which is never another's.
    pub id: u32,
    /// The volume.
    pub volume: ObjectId,
    /// Its name, unique within the volume.
    pub name: String,
    /// Seconds since the beginning of 1970.
    pub created: u64,
    /// What clients had made on the volume, and all its LUNs and files.
    pub leaves: Vec<SnapshotLeaf>,
}

/// All snapshots, by number: in the order of their making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshots {
    by_id: BTreeMap<u32, Snapshot>,
}

impl Snapshots {
    /// With those that were kept.
    pub fn new(kept: impl IntoIterator<Item = Snapshot>) -> Snapshots {
        Snapshots { by_id: kept.into_iter().map(|snapshot| (snapshot.id, snapshot)).collect() }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Snapshot> {
        self.by_id.values()
    }

    /// Those of a volume, the oldest first.
    pub fn of(&self, volume: ObjectId) -> impl Iterator<Item = &Snapshot> {
        self.all().filter(move |snapshot| snapshot.volume == volume)
    }

    /// The snapshot of that name.
    pub fn named(&self, volume: ObjectId, name: &str) -> Option<&Snapshot> {
        self.of(volume).find(|snapshot| snapshot.name == name)
    }

    /// Whether a number is that of a snapshot's tree and not of an object.
    pub fn is_tree(object: ObjectId) -> bool {
        object.0 >= FIRST_TREE
    }

    /// Numbers for so many trees that no snapshot has; `None` when there are no more.
    pub(crate) fn free_trees(&self, count: usize) -> Option<Vec<ObjectId>> {
        let taken = self.all().flat_map(|snapshot| &snapshot.leaves).map(|leaf| leaf.tree.0).max();
        let first = taken.map_or(Some(FIRST_TREE), |last| last.checked_add(1))?;
        // Those at the end are kept for what lives only during a command.
        let last = first.checked_add(count as u32).filter(|last| *last < u32::MAX - (1 << 20))?;
        Some((first..last).map(ObjectId).collect())
    }

    /// The snapshot of that number.
    pub fn get(&self, id: u32) -> Option<&Snapshot> {
        self.by_id.get(&id)
    }

    /// The number of the next one.
    pub(crate) fn next_id(&self) -> u32 {
        self.by_id.keys().next_back().map_or(1, |last| last + 1)
    }

    /// Has a snapshot be under that number, or none; returns what was.
    pub(crate) fn set(&mut self, id: u32, snapshot: Option<Snapshot>) -> Option<Snapshot> {
        match snapshot {
            Some(snapshot) => self.by_id.insert(id, snapshot),
            None => self.by_id.remove(&id),
        }
    }
}
