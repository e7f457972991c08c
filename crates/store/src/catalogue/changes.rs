//! Changes to some rows of a catalogue.

use super::{CatalogueId, Contents, ObjectRow, PartitionRow, PolicyRow, SnapshotRow};
use std::collections::BTreeMap;

/// New rows by number; `None` deletes a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The storage objects.
    pub objects: BTreeMap<CatalogueId, Option<ObjectRow>>,
    /// The policy groups.
    pub policies: BTreeMap<CatalogueId, Option<PolicyRow>>,
    /// The snapshots.
    pub snapshots: BTreeMap<CatalogueId, Option<SnapshotRow>>,
    /// The partitions of the cache.
    pub partitions: BTreeMap<CatalogueId, Option<PartitionRow>>,
    /// Whether the SVMs take turns while no limit binds, if that changes.
    pub fair: Option<bool>,
}

impl Changes {
    /// The changes that lead from `contents` to `wanted`.
    pub fn between(contents: &Contents, wanted: Contents) -> Changes {
        // The greatest number follows from the objects.
        let Contents { objects, policies, snapshots, partitions, fair, last_object: _ } = wanted;
        let mut changes = Changes {
            objects: all(&contents.objects, objects),
            policies: all(&contents.policies, policies),
            snapshots: all(&contents.snapshots, snapshots),
            partitions: all(&contents.partitions, partitions),
            fair: Some(fair),
        };
        changes.leave_out_what_is_so(contents);
        changes
    }

    /// Drops the rows that are the same in `contents`.
    pub fn leave_out_what_is_so(&mut self, contents: &Contents) {
        differing(&mut self.objects, &contents.objects);
        differing(&mut self.policies, &contents.policies);
        differing(&mut self.snapshots, &contents.snapshots);
        differing(&mut self.partitions, &contents.partitions);
        self.fair = self.fair.filter(|fair| *fair != contents.fair);
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        let Changes { objects, policies, snapshots, partitions, fair } = self;
        objects.is_empty() && policies.is_empty() && snapshots.is_empty() && partitions.is_empty() && fair.is_none()
    }

    /// Whether an object or a snapshot is deleted, which frees space.
    pub(super) fn frees(&self) -> bool {
        self.objects.values().any(Option::is_none) || self.snapshots.values().any(Option::is_none)
    }
}

impl Contents {
    /// Makes changes; returns those that undo them.
    pub fn apply(&mut self, changes: Changes) -> Changes {
        let greatest = changes.objects.keys().next_back().copied().unwrap_or(0);
        self.last_object = self.last_object.max(greatest);
        Changes {
            objects: swap(&mut self.objects, changes.objects),
            policies: swap(&mut self.policies, changes.policies),
            snapshots: swap(&mut self.snapshots, changes.snapshots),
            partitions: swap(&mut self.partitions, changes.partitions),
            fair: changes.fair.map(|fair| std::mem::replace(&mut self.fair, fair)),
        }
    }
}

type Rows<T> = BTreeMap<CatalogueId, T>;

fn all<T>(before: &Rows<T>, wanted: Rows<T>) -> Rows<Option<T>> {
    let mut rows: Rows<Option<T>> = before.keys().map(|id| (*id, None)).collect();
    rows.extend(wanted.into_iter().map(|(id, row)| (id, Some(row))));
    rows
}

fn differing<T: PartialEq>(rows: &mut Rows<Option<T>>, before: &Rows<T>) {
    rows.retain(|id, row| before.get(id) != row.as_ref());
}

fn swap<T>(rows: &mut Rows<T>, changes: Rows<Option<T>>) -> Rows<Option<T>> {
    let one = |(id, row)| {
        let was = match row {
            Some(row) => rows.insert(id, row),
            None => rows.remove(&id),
        };
        (id, was)
    };
    changes.into_iter().map(one).collect()
}
