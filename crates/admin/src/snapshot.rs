//! `volume snapshot`: a volume's LUNs and files as they were at one moment.

use super::snapshots::SNAPSHOTS_MAX;
use super::{AdminError, Answer, Effect, Errand, FILES_BYTES, Note, Obstacle, Snapshot, SnapshotLeaf, list, path_of};
use block::ObjectId;
use ontap::catalogue::{
    SnapshotCommand, SnapshotCreate, SnapshotDelete, SnapshotModify, SnapshotRename, SnapshotRestore,
    SnapshotRestoreFile,
};
use ontap::show::{Listing, SnapshotRow};
use ontap::value::ObjectName;
use qos::{Object, ObjectKind};

impl Errand<'_> {
    pub(super) fn snapshot(&mut self, command: SnapshotCommand) -> Result<Answer, AdminError> {
        match command {
            SnapshotCommand::Create(create) => self.create_snapshot(&create),
            SnapshotCommand::Modify(modify) => self.modify_snapshot(&modify),
            SnapshotCommand::Rename(rename) => self.rename_snapshot(&rename),
            SnapshotCommand::Restore(restore) => self.restore_snapshot(&restore),
            SnapshotCommand::RestoreFile(restore) => self.restore_file(&restore),
            SnapshotCommand::Delete(delete) => self.delete_snapshot(&delete),
            SnapshotCommand::Show(selection) => {
                let rows = self.snapshots.all().map(|snapshot| (snapshot, self.snapshot_row(snapshot)));
                let measure = |snapshot, row: &mut SnapshotRow| self.measure_snapshot(snapshot, row);
                Ok(Answer::Rows(Listing::measured(rows, &selection, self.units, measure)))
            }
        }
    }

    fn create_snapshot(&mut self, create: &SnapshotCreate) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(create.vserver.as_ref(), create.volume.as_str())?;
        let volume = self.known_volume(svm, create.volume.as_str())?;
        let name = create.snapshot.as_str();
        self.check_new_snapshot(volume, name)?;
        if self.snapshots.of(volume).count() >= SNAPSHOTS_MAX {
            let path = path_of(self.registry, volume).unwrap_or_default();
            let text =
                format!("{path}: has {SNAPSHOTS_MAX} snapshots, the most that a volume may have; delete one first");
            return Err(Obstacle::SnapshotsMax.told(text).given(name).about(path).into());
        }
        let live = self.leaves_in(volume);
        let trees = self.snapshots.free_trees(live.len());
        let trees =
            trees.ok_or_else(|| Obstacle::SnapshotNumbers.told("no number is left for a snapshot").given(name))?;
        let leaves: Vec<SnapshotLeaf> =
            live.into_iter().zip(&trees).map(|(leaf, tree)| self.share(leaf, *tree, true)).collect();
        let (id, created) = (self.snapshots.next_id(), self.at.date());
        let comment = create.comment.clone().unwrap_or_default().to_string();
        self.set_snapshot(id, Some(Snapshot { id, volume, name: name.into(), created, comment, leaves }));
        Ok(Answer::default())
    }

    fn modify_snapshot(&mut self, modify: &SnapshotModify) -> Result<Answer, AdminError> {
        let snapshot = self.known_snapshot(modify.vserver.as_ref(), &modify.volume, &modify.snapshot)?;
        let (id, comment) = (snapshot.id, modify.comment.to_string());
        self.set_snapshot(id, Some(Snapshot { comment, ..snapshot }));
        Ok(Answer::default())
    }

    fn rename_snapshot(&mut self, rename: &SnapshotRename) -> Result<Answer, AdminError> {
        let snapshot = self.known_snapshot(rename.vserver.as_ref(), &rename.volume, &rename.snapshot)?;
        self.check_new_snapshot(snapshot.volume, rename.new_name.as_str())?;
        self.tell_clones(&snapshot, Some(rename.new_name.as_str()));
        let (id, name) = (snapshot.id, rename.new_name.as_str().to_owned());
        self.set_snapshot(id, Some(Snapshot { name, ..snapshot }));
        Ok(Answer::default())
    }

    fn delete_snapshot(&mut self, delete: &SnapshotDelete) -> Result<Answer, AdminError> {
        let snapshot = self.known_snapshot(delete.vserver.as_ref(), &delete.volume, &delete.snapshot)?;
        self.tell_clones(&snapshot, None);
        self.set_snapshot(snapshot.id, None);
        snapshot.leaves.iter().for_each(|leaf| self.lead_to(Effect::Remove { object: leaf.tree }));
        Ok(Answer::default())
    }

    /// Restores a volume: LUNs and files that were made later are deleted, those that were deleted
    /// are made again. Other snapshots stay.
    fn restore_snapshot(&mut self, restore: &SnapshotRestore) -> Result<Answer, AdminError> {
        let snapshot = self.known_snapshot(restore.vserver.as_ref(), &restore.volume, &restore.snapshot)?;
        self.forced = restore.force.0;
        let volume = snapshot.volume;
        self.check_fits(volume, snapshot.leaves.iter().map(|leaf| self.needed_by(leaf)).sum())?;
        let live = self.leaves_in(volume);
        let of_snapshot = |live: &SnapshotLeaf| snapshot.leaves.iter().any(|leaf| is_same(leaf, live));
        for later in live.iter().filter(|live| !of_snapshot(live)) {
            let path = path_of(self.registry, later.tree).unwrap_or_default();
            let membership = self.registry.object(later.tree).and_then(Object::membership);
            let group = membership.and_then(|of| Some(self.registry.group_of(of.group)?.name().to_owned()));
            self.notes.push(Note::DeletedByRestore { path, group });
            self.delete_leaf(later.tree)?;
        }
        for leaf in &snapshot.leaves {
            match live.iter().find(|live| is_same(leaf, live)) {
                Some(live) => self.restore_leaf(live, leaf)?,
                None => self.make_again(volume, leaf)?,
            }
        }
        Ok(Answer::default())
    }

    fn restore_file(&mut self, restore: &SnapshotRestoreFile) -> Result<Answer, AdminError> {
        let snapshot = self.known_snapshot(restore.vserver.as_ref(), &restore.volume, &restore.snapshot)?;
        let place = format!("snapshot {}", snapshot.name);
        let leaf = leaf_at(&snapshot.leaves, restore.path.as_str(), &place, "restored")?.clone();
        self.forced = restore.force.0;
        let live = self.leaves_in(snapshot.volume);
        match live.iter().find(|live| is_same(&leaf, live)) {
            Some(live) => {
                self.check_room(snapshot.volume, leaf.size, live.size)?;
                self.restore_leaf(live, &leaf)?;
            }
            None => {
                self.check_room(snapshot.volume, leaf.size, 0)?;
                self.make_again(snapshot.volume, &leaf)?;
            }
        }
        Ok(Answer::default())
    }

    /// Bytes that a volume must have for the contents of a leaf.
    pub(super) fn needed_by(&self, leaf: &SnapshotLeaf) -> u64 {
        if leaf.is_files() { self.at.world.used(leaf.tree) } else { leaf.size }
    }

    fn restore_leaf(&mut self, live: &SnapshotLeaf, from: &SnapshotLeaf) -> Result<(), AdminError> {
        if live.size != from.size && !live.is_files() {
            self.resize(live.tree, from.size)?;
        }
        self.lead_to(Effect::Restore { object: live.tree, from: from.tree, size: from.size });
        Ok(())
    }

    /// The original was deleted or renamed: makes a new object, with no policy of its own.
    fn make_again(&mut self, volume: ObjectId, leaf: &SnapshotLeaf) -> Result<(), AdminError> {
        let object = self.plant(volume, leaf)?;
        if !leaf.is_files() {
            let path = path_of(self.registry, object).unwrap_or_default();
            self.notes.push(Note::MadeByRestore { path });
        }
        Ok(())
    }

    /// Makes a LUN or file in a volume that shares the contents of `leaf`, in no policy group. Its
    /// qtree is made if necessary.
    pub(super) fn plant(&mut self, volume: ObjectId, leaf: &SnapshotLeaf) -> Result<ObjectId, AdminError> {
        if leaf.is_files() {
            self.share(leaf.clone(), volume, false);
            return Ok(volume);
        }
        if let Some(qtree) = &leaf.qtree
            && self.registry.find_qtree(volume, qtree).is_none()
        {
            let (_, change) = self.registry.add_qtree(volume, qtree)?;
            self.take(change);
        }
        self.plant_at(volume, &leaf.path(), leaf)
    }

    /// The same at another path, from the root of the volume.
    pub(super) fn plant_at(
        &mut self,
        volume: ObjectId,
        path: &str,
        leaf: &SnapshotLeaf,
    ) -> Result<ObjectId, AdminError> {
        self.check_free_of_files(volume, path)?;
        let size = super::whole(leaf.size, 0);
        let (object, change) = match leaf.kind {
            ObjectKind::File => self.registry.add_file(volume, path, size)?,
            _ => {
                let svm = self.registry.svm_of(volume).unwrap_or(volume);
                let (volume, _) = self.place_of(volume);
                self.registry.add_lun(svm, &format!("/vol/{volume}{path}"), size)?
            }
        };
        self.take(change);
        self.set_os_type(object, leaf.os_type);
        self.share(leaf.clone(), object, false);
        Ok(object)
    }

    /// Has `tree` share the contents of a LUN or file.
    fn share(&mut self, leaf: SnapshotLeaf, tree: ObjectId, frozen: bool) -> SnapshotLeaf {
        self.lead_to(Effect::Share { object: tree, from: leaf.tree, size: leaf.size, frozen });
        SnapshotLeaf { tree, ..leaf }
    }

    /// Clients' files of a volume, and its LUNs and files, as leaves of a snapshot with their own
    /// trees.
    pub(super) fn leaves_in(&self, volume: ObjectId) -> Vec<SnapshotLeaf> {
        let objects = self.registry.objects().filter(|object| object.kind().has_tree());
        let leaf = |object: &Object| SnapshotLeaf {
            tree: object.id(),
            kind: object.kind(),
            qtree: self.place_of(object.id()).1,
            name: object.name().into(),
            size: object.size().allocated.0,
            os_type: self.details(object.id()).os_type,
        };
        let leaves = objects.filter(|object| self.volume_of(object.id()) == volume).map(leaf);
        std::iter::once(SnapshotLeaf::files(volume)).chain(leaves).collect()
    }

    pub(super) fn known_snapshot(
        &self,
        vserver: Option<&ObjectName>,
        volume: &ObjectName,
        snapshot: &ObjectName,
    ) -> Result<Snapshot, AdminError> {
        let svm = self.svm_of_volume(vserver, volume.as_str())?;
        let parent = self.known_volume(svm, volume.as_str())?;
        self.snapshots.named(parent, snapshot.as_str()).cloned().ok_or_else(|| {
            let known: Vec<_> = self.snapshots.of(parent).map(|snapshot| snapshot.name.clone()).collect();
            let text = format!("volume {volume} has no snapshot {snapshot}; it has: {}", list(&known));
            Obstacle::NoSnapshot.told(text).given(snapshot).about(volume).into()
        })
    }

    /// Checks that a volume has no snapshots, which would be lost with it.
    pub(super) fn check_no_snapshots(&self, volume: ObjectId) -> Result<(), AdminError> {
        let held: Vec<_> = self.snapshots.of(volume).map(|snapshot| snapshot.name.clone()).collect();
        if held.is_empty() {
            return Ok(());
        }
        let path = path_of(self.registry, volume).unwrap_or_default();
        let text = format!("{path}: still has snapshots: {}; delete them first", list(&held));
        Err(Obstacle::HasSnapshots.told(text).about(path).into())
    }

    fn check_new_snapshot(&self, volume: ObjectId, name: &str) -> Result<(), AdminError> {
        match self.snapshots.named(volume, name) {
            None => Ok(()),
            Some(_) => {
                let path = path_of(self.registry, volume).unwrap_or_default();
                let text = format!("{path}: has a snapshot {name} already; choose another name");
                Err(Obstacle::SnapshotTaken.told(text).given(name).about(path).into())
            }
        }
    }

    /// Checks that a volume can hold LUNs and files of `size` bytes in all.
    fn check_fits(&self, volume: ObjectId, size: u64) -> Result<(), AdminError> {
        let all = self.registry.object(volume).map_or(0, |object| object.size().allocated.0);
        if size <= all {
            return Ok(());
        }
        let path = path_of(self.registry, volume).unwrap_or_default();
        let [has, take] = self.sizes([all, size]);
        let text = format!(
            "{path}: has {has}, and the snapshot's LUNs and files take {take}; grow it with `volume modify -size`"
        );
        Err(Obstacle::NoRoom.told(text).given(size).about(path).into())
    }

    fn snapshot_row(&self, snapshot: &Snapshot) -> SnapshotRow {
        SnapshotRow {
            vserver: self.svm_name(snapshot.volume),
            volume: self.place_of(snapshot.volume).0,
            snapshot: snapshot.name.clone(),
            create_time: snapshot.created,
            size: 0,
            total_percent: 0,
            comment: snapshot.comment.clone(),
        }
    }

    fn measure_snapshot(&self, snapshot: &Snapshot, row: &mut SnapshotRow) {
        let size = self.at.world.owned(&mut snapshot.leaves.iter().map(|leaf| leaf.tree));
        let all = self.registry.object(snapshot.volume).map_or(0, |object| object.size().allocated.0);
        row.size = size;
        row.total_percent = if all == 0 { 0 } else { (u128::from(size) * 100 / u128::from(all)) as u64 };
    }
}

impl SnapshotLeaf {
    /// The leaf of a volume's clients' files, whose tree has the volume's number.
    fn files(volume: ObjectId) -> SnapshotLeaf {
        let (kind, size) = (ObjectKind::Volume, FILES_BYTES);
        SnapshotLeaf { tree: volume, kind, qtree: None, name: ".".into(), size, os_type: Default::default() }
    }

    /// Whether it stands for clients' files, and not for a LUN or file.
    pub(super) fn is_files(&self) -> bool {
        self.kind == ObjectKind::Volume
    }

    /// Its path from the root of its volume: `/lun1`, `/qtree1/lun1`.
    pub(super) fn path(&self) -> String {
        let folder = self.qtree.as_ref().map_or(String::new(), |qtree| format!("/{qtree}"));
        format!("{folder}/{}", self.name)
    }
}

/// The LUN or file at a path from the root of its volume, among `leaves`. `what` names the
/// operation for the refusal of single clients' files, for which it is not supported.
pub(super) fn leaf_at<'a>(
    leaves: &'a [SnapshotLeaf],
    path: &str,
    place: &str,
    what: &str,
) -> Result<&'a SnapshotLeaf, AdminError> {
    if let Some(leaf) = leaves.iter().find(|leaf| !leaf.is_files() && leaf.path() == path) {
        return Ok(leaf);
    }
    let known: Vec<String> = leaves.iter().filter(|leaf| !leaf.is_files()).map(SnapshotLeaf::path).collect();
    let mut text = format!("{place} has no LUN or file {path}; it has: {}", list(&known));
    if leaves.iter().any(SnapshotLeaf::is_files) {
        text += &format!(" (files that clients made are {what} with the whole volume only)");
    }
    Err(Obstacle::NoSource.told(text).given(path).about(place).into())
}

fn is_same(a: &SnapshotLeaf, b: &SnapshotLeaf) -> bool {
    (a.kind, &a.qtree, &a.name) == (b.kind, &b.qtree, &b.name)
}
