//! `volume clone` and `volume file clone`: volumes, LUNs and files that start as a copy of others
//! and share their space until either is written. A clone has none of its parent's policies.

use super::snapshot::leaf_at;
use super::{AdminError, Answer, Assigned, CloneOrigin, Errand, ObjectDetails, Snapshot, SnapshotLeaf, whole};
use block::ObjectId;
use ontap::catalogue::{CloneCommand, FileCloneCreate, VolumeCloneCreate};
use ontap::show::CloneRow;
use qos::{Object, ObjectKind};

impl Errand<'_> {
    pub(super) fn clone(&mut self, command: CloneCommand) -> Result<Answer, AdminError> {
        match command {
            CloneCommand::Volume(create) => self.clone_volume(&create),
            CloneCommand::File(create) => self.clone_file(&create),
            CloneCommand::Show(selection) => {
                let volumes = self.registry.objects().filter(|object| object.kind() == ObjectKind::Volume);
                self.listed(volumes.filter_map(|volume| self.clone_row(volume)), &selection)
            }
        }
    }

    fn clone_volume(&mut self, create: &VolumeCloneCreate) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(create.vserver.as_ref(), create.parent_volume.as_str())?;
        let parent = self.known_volume(svm, create.parent_volume.as_str())?;
        let leaves = self.leaves_to_clone(parent, create.parent_snapshot.as_ref(), create)?;
        let size = self.registry.object(parent).map_or(0, |object| object.size().allocated.0);
        // A volume that was shrunk since the snapshot must still be able to hold the snapshot's
        // contents.
        let size = size.max(leaves.iter().map(|leaf| self.needed_by(leaf)).sum());
        let (volume, change) = self.registry.add_volume(svm, create.flexclone.as_str(), whole(size, 0))?;
        self.take(change);
        let snapshot = create.parent_snapshot.as_ref().map(ToString::to_string);
        let origin = Some(CloneOrigin { volume: parent, snapshot });
        self.set_details(volume, ObjectDetails { created: self.at.date(), origin, ..ObjectDetails::default() });
        self.set_junction(volume, create.junction_path.as_ref())?;
        if create.parent_snapshot.is_none() {
            let qtrees: Vec<String> = self.children(parent, ObjectKind::Qtree).map(|q| q.name().to_owned()).collect();
            for qtree in qtrees {
                let (_, change) = self.registry.add_qtree(volume, &qtree)?;
                self.take(change);
            }
        }
        for leaf in &leaves {
            self.plant(volume, leaf)?;
        }
        let (fixed, adaptive) = (create.qos_policy_group.as_ref(), create.qos_adaptive_policy_group.as_ref());
        self.assign(volume, &Assigned { fixed, adaptive })?;
        Ok(Answer::default())
    }

    /// `None` for a volume that is not a clone, or whose parent is gone.
    fn clone_row(&self, volume: &Object) -> Option<CloneRow> {
        let origin = self.details(volume.id()).origin?;
        let parent = self.registry.object(origin.volume)?;
        Some(CloneRow {
            vserver: self.svm_name(volume.id()),
            flexclone: volume.name().into(),
            parent_vserver: self.svm_name(parent.id()),
            parent_volume: parent.name().into(),
            parent_snapshot: origin.snapshot,
        })
    }

    /// Has the clones of a snapshot know it by another name from now on, or not at all: it is gone,
    /// and the next one of its name is another.
    pub(super) fn tell_clones(&mut self, snapshot: &Snapshot, name: Option<&str>) {
        let was = CloneOrigin { volume: snapshot.volume, snapshot: Some(snapshot.name.clone()) };
        let is = CloneOrigin { volume: snapshot.volume, snapshot: name.map(str::to_owned) };
        let of_it = self.details.iter().filter(|(_, details)| details.origin.as_ref() == Some(&was));
        let clones: Vec<ObjectId> = of_it.map(|(clone, _)| *clone).collect();
        for clone in clones {
            self.set_details(clone, ObjectDetails { origin: Some(is.clone()), ..self.details(clone) });
        }
    }

    fn leaves_to_clone(
        &self,
        parent: ObjectId,
        snapshot: Option<&ontap::value::ObjectName>,
        create: &VolumeCloneCreate,
    ) -> Result<Vec<SnapshotLeaf>, AdminError> {
        match snapshot {
            None => Ok(self.leaves_in(parent)),
            Some(name) => Ok(self.known_snapshot(create.vserver.as_ref(), &create.parent_volume, name)?.leaves),
        }
    }

    fn clone_file(&mut self, create: &FileCloneCreate) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(create.vserver.as_ref(), create.volume.as_str())?;
        let volume = self.known_volume(svm, create.volume.as_str())?;
        let (leaves, place) = match &create.snapshot_name {
            None => (self.leaves_in(volume), format!("volume {}", create.volume)),
            Some(name) => {
                let snapshot = self.known_snapshot(create.vserver.as_ref(), &create.volume, name)?;
                (snapshot.leaves, format!("snapshot {name}"))
            }
        };
        let source = leaf_at(&leaves, create.source_path.as_str(), &place, "cloned")?;
        self.check_room(volume, source.size, 0)?;
        let copy = self.plant_at(volume, create.destination_path.as_str(), source)?;
        let (fixed, adaptive) = (create.qos_policy_group.as_ref(), create.qos_adaptive_policy_group.as_ref());
        self.assign(copy, &Assigned { fixed, adaptive })?;
        debug_assert!(self.registry.object(copy).is_some_and(|object| Object::kind(object) == source.kind));
        Ok(Answer::default())
    }
}
