//! `volume file`: files of a fixed size, which are exported to hosts by their path like LUNs, and
//! the policies of clients' files.

use super::client_file::clients_own;
use super::{AdminError, Answer, Assigned, ClientFile, Errand, Obstacle, uuid_of, whole};
use crate::size::leaf_bytes;
use block::ObjectId;
use ontap::catalogue::{FileCommand, FileCreate, FileDelete, FileModify, FileRename};
use ontap::show::{FileRow, Listing};
use ontap::value::{FilePath, ObjectName};
use qos::Object;

impl Errand<'_> {
    pub(super) fn file(&mut self, command: FileCommand) -> Result<Answer, AdminError> {
        match command {
            FileCommand::Create(create) => self.create_file(&create),
            FileCommand::Modify(modify) => self.modify_file(&modify),
            FileCommand::Rename(rename) => self.rename_file(&rename),
            FileCommand::Delete(delete) => self.delete_file(&delete),
            FileCommand::Show(selection) => {
                let files = self.registry.objects().filter(|object| object.kind().is_file());
                let rows = files.map(|file| (file.id(), self.file_row(file)));
                let measure = |file, row: &mut FileRow| {
                    row.used = self.at.world.used(file);
                    row.size = if self.is_client_file(file) { self.at.world.length(file) } else { row.size };
                };
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
        let (fixed, adaptive) = (modify.qos_policy_group.as_ref(), modify.qos_adaptive_policy_group.as_ref());
        let assigned = Assigned { fixed, adaptive };
        let (volume, known) = self.file_in(modify.vserver.as_ref(), &modify.volume, &modify.file)?;
        let of_clients = match known {
            Some(file) => self.details(file).node.map(|node| ClientFile { node, used: 0 }),
            None => self.at.world.client_file(volume, modify.file.as_str()),
        };
        match (known, of_clients) {
            (_, Some(_)) if modify.size.is_some() => Err(clients_own(&modify.file)),
            (Some(file), Some(_)) => self.assign(file, &assigned),
            (None, Some(found)) => self.assign_client_file(volume, &modify.file, found, &assigned),
            (Some(file), None) => {
                self.forced = modify.force.0;
                let size = modify.size.map(|size| leaf_bytes(size, self.units)).transpose()?;
                self.modify_leaf(file, size, &assigned)
            }
            (None, None) => Err(no_file(&modify.volume, &modify.file)),
        }?;
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

    /// Finds a file whose name and size administrators control.
    fn known_file(
        &self,
        vserver: Option<&ObjectName>,
        volume: &ObjectName,
        path: &FilePath,
    ) -> Result<ObjectId, AdminError> {
        match self.file_in(vserver, volume, path)? {
            (_, Some(file)) if !self.is_client_file(file) => Ok(file),
            (_, Some(_)) => Err(clients_own(path)),
            (parent, None) if self.at.world.client_file(parent, path.as_str()).is_some() => Err(clients_own(path)),
            (_, None) => Err(no_file(volume, path)),
        }
    }

    /// Finds a volume, and the file at a path in it that is an object.
    fn file_in(
        &self,
        vserver: Option<&ObjectName>,
        volume: &ObjectName,
        path: &FilePath,
    ) -> Result<(ObjectId, Option<ObjectId>), AdminError> {
        let svm = self.svm_of_volume(vserver, volume.as_str())?;
        let parent = self.known_volume(svm, volume.as_str())?;
        Ok((parent, self.registry.find_file(parent, path.as_str())))
    }

    fn file_row(&self, file: &Object) -> FileRow {
        let (qos_policy_group, qos_adaptive_policy_group) = self.attached(file.id());
        let (volume, qtree) = self.place_of(file.id());
        // Clients of their own files are connected to the volume.
        let used = if self.is_client_file(file.id()) { self.volume_of(file.id()) } else { file.id() };
        let folder = qtree.as_ref().map_or(String::new(), |qtree| format!("/{qtree}"));
        FileRow {
            vserver: self.svm_name(file.id()),
            volume,
            qtree,
            file: format!("{folder}/{}", file.name()),
            size: file.size().allocated.0,
            used: 0,
            connections: self.at.world.connections(used),
            uuid: uuid_of(file.id()),
            qos_policy_group,
            qos_adaptive_policy_group,
        }
    }
}

fn no_file(volume: &ObjectName, path: &FilePath) -> AdminError {
    let text = format!("volume {volume} has no file {path}; `volume file show` lists what there is");
    Obstacle::NoFile.told(text).given(path).about(volume).into()
}
