//! `volume`: volumes. A volume's size limits the sum of the sizes of its LUNs and files.

use super::{
    AdminError, Answer, Assigned, Effect, Errand, FILES_BYTES, ObjectDetails, Obstacle, Report, Top, list, path_of,
    uuid_of, whole,
};
use crate::size::{new_volume_bytes, rounded_up, volume_bytes};
use block::ObjectId;
use ontap::catalogue::{
    VolumeCommand, VolumeCreate, VolumeDelete, VolumeModify, VolumeMount, VolumeRename, VolumeSize, VolumeUnmount,
};
use ontap::show::{DfRow, Listing, VolumeRow, size as size_text};
use ontap::value::{Count, NewSize, UnixPermissions};
use qos::{Object, ObjectKind};

/// The size of a volume that is made without one, as in ONTAP.
const DEFAULT_SIZE: u64 = 20 << 20;

impl Errand<'_> {
    pub(super) fn volume(&mut self, command: VolumeCommand) -> Result<Answer, AdminError> {
        match command {
            VolumeCommand::Create(create) => self.create_volume(&create),
            VolumeCommand::Modify(modify) => self.modify_volumes(&modify),
            VolumeCommand::Rename(rename) => self.rename_volume(&rename),
            VolumeCommand::Delete(delete) => self.delete_volume(&delete),
            VolumeCommand::Size(size) => self.size_volume(&size),
            VolumeCommand::Mount(mount) => self.mount_volume(&mount),
            VolumeCommand::Unmount(unmount) => self.unmount_volume(&unmount),
            VolumeCommand::Df(selection) => {
                let volumes = self.registry.objects().filter(|object| object.kind() == ObjectKind::Volume);
                let rows = volumes.map(|volume| (volume.id(), DfRow(self.volume_row(volume))));
                Ok(Answer::Rows(Listing::measured(rows, &selection, self.units, |volume, DfRow(row)| {
                    row.used = self.used_in(volume);
                    row.available = self.at.world.left(row.size, row.used);
                })))
            }
            VolumeCommand::Show(selection) => {
                let volumes = self.registry.objects().filter(|object| object.kind() == ObjectKind::Volume);
                let rows = volumes.map(|volume| (volume.id(), self.volume_row(volume)));
                Ok(Answer::Rows(Listing::measured(rows, &selection, self.units, |volume, row| {
                    let top = self.at.world.files(volume).top;
                    row.top = top.map(|Top { user, group, mode }| (user, group, UnixPermissions::new(mode)));
                    row.used = self.used_in(volume);
                    row.available = self.at.world.left(row.size, row.used);
                })))
            }
        }
    }

    fn create_volume(&mut self, create: &VolumeCreate) -> Result<Answer, AdminError> {
        let svm = self.svm(create.vserver.as_ref())?;
        let size = create.size.map_or(Ok(DEFAULT_SIZE), |size| volume_bytes(size, self.units))?;
        let (volume, change) = self.registry.add_volume(svm, create.volume.as_str(), whole(size, 0))?;
        self.take(change);
        self.set_details(volume, ObjectDetails { created: self.at.date(), ..ObjectDetails::default() });
        self.set_junction(volume, create.junction_path.as_ref())?;
        self.lead_to(Effect::Make { object: volume, size: FILES_BYTES });
        self.permit(volume, (create.user, create.group, create.unix_permissions));
        let (fixed, adaptive) = (create.qos_policy_group.as_ref(), create.qos_adaptive_policy_group.as_ref());
        self.assign(volume, &Assigned { fixed, adaptive })?;
        Ok(Answer::default())
    }

    fn modify_volumes(&mut self, modify: &VolumeModify) -> Result<Answer, AdminError> {
        let has = |svm| self.children(svm, ObjectKind::Volume).any(|volume| modify.volume.matches(volume.name()));
        let svm = self.svm_that_has(modify.vserver.as_ref(), &modify.volume.to_string(), has)?;
        let volumes: Vec<ObjectId> = self
            .children(svm, ObjectKind::Volume)
            .filter(|volume| modify.volume.matches(volume.name()))
            .map(Object::id)
            .collect();
        if volumes.is_empty() {
            return Err(self.no_volume(svm, &modify.volume));
        }
        let (fixed, adaptive) = (modify.qos_policy_group.as_ref(), modify.qos_adaptive_policy_group.as_ref());
        for &volume in &volumes {
            if let Some(size) = modify.size {
                self.resize_volume(volume, size)?;
            }
            self.permit(volume, (modify.user, modify.group, modify.unix_permissions));
            self.assign(volume, &Assigned { fixed, adaptive })?;
        }
        Ok(Report::VolumesModified(volumes.len()).into())
    }

    /// Sets owner and permissions of a volume's top folder.
    fn permit(&mut self, object: ObjectId, asked: (Option<Count>, Option<Count>, Option<UnixPermissions>)) {
        let (user, group) = (asked.0.map(|count| count.0), asked.1.map(|count| count.0));
        let mode = asked.2.map(UnixPermissions::mode);
        if (user, group, mode) != (None, None, None) {
            self.lead_to(Effect::Permit { object, user, group, mode });
        }
    }

    /// Changes a volume's size; returns the new size.
    fn resize_volume(&mut self, volume: ObjectId, size: NewSize) -> Result<u64, AdminError> {
        let bytes = new_volume_bytes(size, self.size_of(volume), self.units)?;
        self.check_volume_holds(volume, size, bytes)?;
        self.resize(volume, bytes)?;
        Ok(bytes)
    }

    fn size_of(&self, object: ObjectId) -> u64 {
        self.registry.object(object).map_or(0, |object| object.size().allocated.0)
    }

    fn size_volume(&mut self, asked: &VolumeSize) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(asked.vserver.as_ref(), asked.volume.as_str())?;
        let volume = self.known_volume(svm, asked.volume.as_str())?;
        let text = match asked.new_size {
            Some(size) => {
                let bytes = self.resize_volume(volume, size)?;
                let is = rounded_up(size, bytes, self.units).unwrap_or_else(|| size_text(bytes, self.units));
                format!("size set to {is}")
            }
            None => format!("has size {}", size_text(self.size_of(volume), self.units)),
        };
        let (svm, name) = (self.svm_name(svm), &asked.volume);
        Ok(Answer::Text(format!("vol size: Volume \"{svm}:{name}\" {text}.\n")))
    }

    /// Gives it a place in its SVM's name space. One that it has is taken away by a command of its
    /// own, since clients mount it by that.
    fn mount_volume(&mut self, mount: &VolumeMount) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(mount.vserver.as_ref(), mount.volume.as_str())?;
        let volume = self.known_volume(svm, mount.volume.as_str())?;
        if let Some(at) = self.details(volume).junction.filter(|at| *at != mount.junction_path) {
            let path = path_of(self.registry, volume).unwrap_or_default();
            let text = format!("{path}: is mounted at {at}; unmount it first with `volume unmount {}`", mount.volume);
            return Err(Obstacle::Mounted.told(text).given(&mount.junction_path).about(path).into());
        }
        self.set_junction(volume, Some(&mount.junction_path))?;
        Ok(Answer::default())
    }

    fn unmount_volume(&mut self, unmount: &VolumeUnmount) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(unmount.vserver.as_ref(), unmount.volume.as_str())?;
        let volume = self.known_volume(svm, unmount.volume.as_str())?;
        self.set_junction(volume, None)?;
        Ok(Answer::default())
    }

    fn rename_volume(&mut self, rename: &VolumeRename) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(rename.vserver.as_ref(), rename.volume.as_str())?;
        let volume = self.known_volume(svm, rename.volume.as_str())?;
        self.rename(volume, rename.new_name.as_str())
    }

    fn delete_volume(&mut self, delete: &VolumeDelete) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(delete.vserver.as_ref(), delete.volume.as_str())?;
        let volume = self.known_volume(svm, delete.volume.as_str())?;
        self.check_empty(volume)?;
        self.check_no_snapshots(volume)?;
        self.forced = delete.force.0;
        if !self.forced {
            self.check_no_files(volume)?;
        }
        self.leave_partition(volume);
        self.forget_client_files(volume)?;
        self.lead_to(Effect::Remove { object: volume });
        self.remove_object(volume)?;
        Ok(Answer::default())
    }

    /// Finds the volume of that name.
    pub(super) fn known_volume(&self, svm: ObjectId, name: &str) -> Result<ObjectId, AdminError> {
        self.registry.find_volume(svm, name).ok_or_else(|| self.no_volume(svm, name))
    }

    fn no_volume(&self, svm: ObjectId, name: impl std::fmt::Display) -> AdminError {
        let known: Vec<_> = self.children(svm, ObjectKind::Volume).map(|v| v.name().to_owned()).collect();
        let svm = self.svm_name(svm);
        let text = format!("SVM {svm} has no volume {name}; it has: {}", list(&known));
        Obstacle::NoVolume.told(text).given(name).about(svm).into()
    }

    /// Checks that the LUNs and files of a volume fit in the `bytes` that its new size comes to.
    fn check_volume_holds(&self, volume: ObjectId, size: NewSize, bytes: u64) -> Result<(), AdminError> {
        let taken = self.taken_in(volume) + self.at.world.files(volume).bytes;
        if taken <= bytes {
            return Ok(());
        }
        let path = path_of(self.registry, volume).unwrap_or_default();
        let [taken, given] = self.sizes([taken, bytes]);
        let given = rounded_up(size, bytes, self.units).unwrap_or(given);
        let text = format!(
            "{path}: its LUNs and files take {taken} together, which is more than the size given ({given}); delete \
             some first"
        );
        Err(Obstacle::BelowContents.told(text).given(bytes).about(path).into())
    }

    pub(super) fn children(&self, parent: ObjectId, kind: ObjectKind) -> impl Iterator<Item = &Object> {
        let children = self.registry.object(parent).into_iter().flat_map(Object::children);
        children.filter_map(|id| self.registry.object(id)).filter(move |child| child.kind() == kind)
    }

    fn volume_row(&self, volume: &Object) -> VolumeRow {
        let (qos_policy_group, qos_adaptive_policy_group) = self.attached(volume.id());
        let size = volume.size().allocated.0;
        VolumeRow {
            vserver: self.svm_name(volume.id()),
            volume: volume.name().into(),
            aggregate: self.aggregate_name(),
            uuid: uuid_of(volume.id()),
            state: "online".into(),
            kind: "RW".into(),
            size,
            available: size,
            used: 0,
            junction_path: self.details(volume.id()).junction.map(|path| path.to_string()),
            top: None,
            qos_policy_group,
            qos_adaptive_policy_group,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Administration;
    use crate::Effect;
    use block::Time;

    /// A volume can be deleted only when it is empty, so that no LUN or file is lost unnoticed.
    #[test]
    fn a_volume_with_luns_stays() {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        let mut run = |line: &str| administration.execute(line, Time::ZERO, &|_| 0).map_err(|error| error.to_string());
        for line in ["vserver create s", "volume create v -size 1MB", "lun create /vol/v/l -size 1MB"] {
            let _ = run(line).unwrap();
        }
        assert_eq!(run("volume delete v").unwrap_err(), "s:/vol/v: still holds LUN l; delete what is in it first");
        assert!(matches!(run("lun delete /vol/v/l").unwrap().effects[..], [Effect::Remove { .. }]));
        let _ = run("volume delete v").unwrap();
        assert!(run("lun show").unwrap().answer.text().contains("currently empty"));
    }

    /// The grammar and the registry both limit names; the longest name that one accepts is the
    /// longest that the other does.
    #[test]
    fn the_longest_names_are_taken() {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        let mut run =
            |line: String| administration.execute(&line, Time::ZERO, &|_| 0).map_err(|error| error.to_string());
        let (name, group) = ("n".repeat(203), "g".repeat(127));
        for line in [
            format!("vserver create {name}"),
            format!("volume create {name} -size 10MB"),
            format!("volume qtree create {name} -volume {name}"),
            format!("lun create /vol/{name}/{name}/{name} -size 1MB"),
            format!("volume snapshot create {name} -snapshot {name}"),
            format!("qos policy-group create {group} -max-throughput 5IOPS"),
        ] {
            let _ = run(line).unwrap();
        }
        assert!(run(format!("volume create {name}n -size 1MB")).unwrap_err().contains("1 to 203 letters"));
        let refused = run(format!("qos policy-group create {group}g -max-throughput 5IOPS")).unwrap_err();
        assert!(refused.contains("1 to 127 letters"), "{refused}");
    }

    /// With several SVMs, a volume's name suffices if one SVM alone has it. If two have it, the SVM
    /// must be given; and for a new volume there is no name to go by.
    #[test]
    fn a_name_that_one_svm_has_needs_no_vserver() {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        let cache = crate::CacheMemory { memory: block::Bytes(1 << 30), page: block::Bytes(4096) };
        administration.partitions.memory = Some(cache);
        let mut run = |line: &str| administration.execute(line, Time::ZERO, &|_| 0).map_err(|error| error.to_string());
        for line in [
            "vserver create svm01",
            "vserver create svm02",
            "volume create vol1 -vserver svm01 -size 1GB",
            "volume create vol2 -vserver svm02 -size 1GB",
            "volume create both -vserver svm01 -size 1GB",
            "volume create both -vserver svm02 -size 1GB",
            "qos policy-group create p -vserver svm01 -max-throughput 10IOPS",
            "volume modify vol1 -qos-policy-group p",
            "lun create /vol/vol2/l -size 1MB",
            "lun modify /vol/vol2/l -size 2MB",
            "volume qtree create q -volume vol1",
            "volume snapshot create vol2 -snapshot one",
            "volume modify vol1* -qos-policy-group none",
            "volume delete both -vserver svm02",
            "volume size both",
        ] {
            let _ = run(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        let _ = run("volume create both -vserver svm02 -size 1GB").unwrap();
        for (line, told) in [
            ("volume delete both", "several SVMs have a volume both: svm01, svm02; say which with -vserver"),
            ("volume modify vol* -size 2GB", "several SVMs have a volume vol*: svm01, svm02"),
            // Lists have no such parameter, but each of their volumes may be given with its SVM.
            ("cache partition create fast -size 1MB -volumes vol1,both", "write svm01:both or svm02:both"),
            ("volume delete none", "no SVM has a volume none"),
            ("volume create new -size 1GB", "say which with -vserver"),
            ("qos policy-group create q -max-throughput 10IOPS", "say which with -vserver"),
        ] {
            assert!(run(line).unwrap_err().contains(told), "{line}: {}", run(line).unwrap_err());
        }
    }
}
