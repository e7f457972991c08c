//! All snapshots: names, dates, and which tree of the maps holds which LUN or file. The contents of
//! the trees belong to the store.

use block::ObjectId;
use ontap::value::OsType;
use qos::ObjectKind;
use std::collections::BTreeMap;

/// Most snapshots of one volume, as in ONTAP.
pub const SNAPSHOTS_MAX: usize = 1023;

/// Trees of snapshots have numbers from here on; smaller ones are objects'.
const FIRST_TREE: u32 = 1 << 31;

/// A LUN or file in a snapshot, or clients' files of the volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotLeaf {
    /// The tree with its data.
    pub tree: ObjectId,
    /// A LUN, a file, or a volume for clients' files.
    pub kind: ObjectKind,
    /// The qtree that it was in.
    pub qtree: Option<String>,
    /// Its name there.
    pub name: String,
    /// Its size then, in bytes.
    pub size: u64,
    /// The operating system that a LUN was for.
    pub os_type: OsType,
}

/// A snapshot of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its number: one more than the newest had when it was made.
    pub id: u32,
    /// The volume.
    pub volume: ObjectId,
    /// Its name, unique within the volume.
    pub name: String,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// What administrators noted about it; empty if nothing.
    pub comment: String,
    /// Clients' files, and all LUNs and files of the volume.
    pub leaves: Vec<SnapshotLeaf>,
}

/// All snapshots by number, which is the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshots {
    by_id: BTreeMap<u32, Snapshot>,
}

impl Snapshots {
    /// The stored snapshots.
    pub fn new(kept: impl IntoIterator<Item = Snapshot>) -> Snapshots {
        Snapshots { by_id: kept.into_iter().map(|snapshot| (snapshot.id, snapshot)).collect() }
    }

    /// All snapshots.
    pub fn all(&self) -> impl Iterator<Item = &Snapshot> {
        self.by_id.values()
    }

    /// The snapshots of a volume, oldest first.
    pub fn of(&self, volume: ObjectId) -> impl Iterator<Item = &Snapshot> {
        self.all().filter(move |snapshot| snapshot.volume == volume)
    }

    /// The snapshot of a volume with that name.
    pub fn named(&self, volume: ObjectId, name: &str) -> Option<&Snapshot> {
        self.of(volume).find(|snapshot| snapshot.name == name)
    }

    /// Whether a number is that of a snapshot's tree, not of an object.
    pub fn is_tree(object: ObjectId) -> bool {
        object.0 >= FIRST_TREE
    }

    /// Unused numbers for this many trees; `None` if there are not enough.
    pub(crate) fn free_trees(&self, count: usize) -> Option<Vec<ObjectId>> {
        let taken = self.all().flat_map(|snapshot| &snapshot.leaves).map(|leaf| leaf.tree.0).max();
        let first = taken.map_or(Some(FIRST_TREE), |last| last.checked_add(1))?;
        // The last numbers are reserved for trees that exist only during a command.
        let last = first.checked_add(count as u32).filter(|last| *last < u32::MAX - (1 << 20))?;
        Some((first..last).map(ObjectId).collect())
    }

    /// The snapshot with that number.
    pub fn get(&self, id: u32) -> Option<&Snapshot> {
        self.by_id.get(&id)
    }

    /// The number of the next snapshot.
    pub(crate) fn next_id(&self) -> u32 {
        self.by_id.keys().next_back().map_or(1, |last| last + 1)
    }

    /// Sets or removes the snapshot with that number; returns the previous one.
    pub(crate) fn set(&mut self, id: u32, snapshot: Option<Snapshot>) -> Option<Snapshot> {
        match snapshot {
            Some(snapshot) => self.by_id.insert(id, snapshot),
            None => self.by_id.remove(&id),
        }
    }
}
