//! Some rows of a catalogue that are to be otherwise, without the rest.

use super::{CatalogueId, Contents, ObjectRow, PartitionRow, PolicyRow, SnapshotRow};
use std::collections::BTreeMap;

/// Rows as they are to be, under their numbers; `None` is a row that is to go.
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
    /// Whether the SVMs take turns where no limit binds, if that is to be otherwise.
    pub fair: Option<bool>,
}

impl Changes {
    /// All that leads from `contents` to `wanted`.
    pub fn between(contents: &Contents, wanted: Contents) -> Changes {
        // The greatest number follows from the objects that there were.
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

    /// Leaves out the rows that `contents` has as they are.
    pub fn leave_out_what_is_so(&mut self, contents: &Contents) {
        differing(&mut self.objects, &contents.objects);
        differing(&mut self.policies, &contents.policies);
        differing(&mut self.snapshots, &contents.snapshots);
        differing(&mut self.partitions, &contents.partitions);
        self.fair = self.fair.filter(|fair| *fair != contents.fair);
    }

    /// Whether nothing is to be otherwise.
    pub fn is_empty(&self) -> bool {
        let Changes { objects, policies, snapshots, partitions, fair } = self;
        objects.is_empty() && policies.is_empty() && snapshots.is_empty() && partitions.is_empty() && fair.is_none()
    }

    /// Whether an object or a snapshot goes, and with it what its rows take.
    pub(super) fn frees(&self) -> bool {
        self.objects.values().any(Option::is_none) || self.snapshots.values().any(Option::is_none)
    }
}

impl Contents {
    /// Makes changes; returns those that bring back what was.
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
