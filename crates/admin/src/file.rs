//! `volume file`: files of a fixed size, offered to hosts by their path as LUNs are.

use super::{AdminError, Answer, Assigned, Errand, Obstacle, uuid_of, whole};
use crate::size::leaf_bytes;
use block::ObjectId;
use ontap::catalogue::{FileCommand, FileCreate, FileDelete, FileModify, FileRename};
use ontap::show::{FileRow, Listing};
use ontap::value::{FilePath, ObjectName};
use qos::{Object, ObjectKind};

impl Errand<'_> {
    pub(super) fn file(&mut self, command: FileCommand) -> Result<Answer, AdminError> {
        match command {
            FileCommand::Create(create) => self.create_file(&create),
            FileCommand::Modify(modify) => self.modify_file(&modify),
            FileCommand::Rename(rename) => self.rename_file(&rename),
            FileCommand::Delete(delete) => self.delete_file(&delete),
            FileCommand::Show(selection) => {
                let files = self.registry.objects().filter(|object| object.kind() == ObjectKind::File);
                let rows = files.map(|file| (file.id(), self.file_row(file)));
                let measure = |file, row: &mut FileRow| row.used = self.at.world.used(file);
                Ok(Answer::Rows(Listing::measured(rows, &selection, self.units, measure)))
            }
        }
    }

    fn create_file(&mut self, create: &FileCreate) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(create.vserver.as_ref(), create.volume.as_str())?;
        let volume = self.known_volume(svm, create.volume.as_str())?;
        let size = leaf_bytes(create.size, self.units)?;
        self.check_room(volume, size, 0)?;
        self.check_free_of_files(volume, create.file.as_str())?;
        let (file, change) = self.registry.add_file(volume, create.file.as_str(), whole(size, 0))?;
        self.take(change);
        let (fixed, adaptive) = (create.qos_policy_group.as_ref(), create.qos_adaptive_policy_group.as_ref());
        self.make_leaf(file, size, &Assigned { fixed, adaptive })?;
        Ok(Answer::default())
    }

    fn modify_file(&mut self, modify: &FileModify) -> Result<Answer, AdminError> {
        let file = self.known_file(modify.vserver.as_ref(), &modify.volume, &modify.file)?;
        self.forced = modify.force.0;
        let size = modify.size.map(|size| leaf_bytes(size, self.units)).transpose()?;
        let (fixed, adaptive) = (modify.qos_policy_group.as_ref(), modify.qos_adaptive_policy_group.as_ref());
        self.modify_leaf(file, size, &Assigned { fixed, adaptive })?;
        Ok(Answer::default())
    }

    fn rename_file(&mut self, rename: &FileRename) -> Result<Answer, AdminError> {
        let file = self.known_file(rename.vserver.as_ref(), &rename.volume, &rename.file)?;
        self.rename(file, rename.new_path.as_str())
    }

    fn delete_file(&mut self, delete: &FileDelete) -> Result<Answer, AdminError> {
        let file = self.known_file(delete.vserver.as_ref(), &delete.volume, &delete.file)?;
        self.forced = delete.force.0;
        self.delete_leaf(file)?;
        Ok(Answer::default())
    }

    fn known_file(
        &self,
        vserver: Option<&ObjectName>,
        volume: &ObjectName,
        path: &FilePath,
    ) -> Result<ObjectId, AdminError> {
        let svm = self.svm_of_volume(vserver, volume.as_str())?;
        let parent = self.known_volume(svm, volume.as_str())?;
        let found = self.registry.find_file(parent, path.as_str());
        found.ok_or_else(|| {
            let text = format!("volume {volume} has no file {path}; `volume file show` lists what there is");
            Obstacle::NoFile.told(text).given(path).about(volume).into()
        })
    }

    fn file_row(&self, file: &Object) -> FileRow {
        let (qos_policy_group, qos_adaptive_policy_group) = self.attached(file.id());
        let (volume, qtree) = self.place_of(file.id());
        let folder = qtree.as_ref().map_or(String::new(), |qtree| format!("/{qtree}"));
        FileRow {
            vserver: self.svm_name(file.id()),
            volume,
            qtree,
            file: format!("{folder}/{}", file.name()),
            size: file.size().allocated.0,
            used: 0,
            connections: self.at.world.connections(file.id()),
            uuid: uuid_of(file.id()),
            qos_policy_group,
            qos_adaptive_policy_group,
        }
    }
}
