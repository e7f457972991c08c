//! `volume qtree`: folders at the top of a volume that hold LUNs and files and carry a policy of
//! their own.

use super::{AdminError, Answer, Assigned, Errand, Obstacle, list};
use block::ObjectId;
use ontap::catalogue::{QtreeCommand, QtreeCreate, QtreeDelete, QtreeModify, QtreeRename};
use ontap::show::QtreeRow;
use ontap::value::ObjectName;
use qos::{Object, ObjectKind};

impl Errand<'_> {
    pub(super) fn qtree(&mut self, command: QtreeCommand) -> Result<Answer, AdminError> {
        match command {
            QtreeCommand::Create(create) => self.create_qtree(&create),
            QtreeCommand::Modify(modify) => self.modify_qtree(&modify),
            QtreeCommand::Rename(rename) => self.rename_qtree(&rename),
            QtreeCommand::Delete(delete) => self.delete_qtree(&delete),
            QtreeCommand::Show(selection) => {
                let volumes = self.registry.objects().filter(|object| object.kind() == ObjectKind::Volume);
                let qtrees = volumes.flat_map(|volume| self.children(volume.id(), ObjectKind::Qtree));
                self.listed(qtrees.map(|qtree| self.qtree_row(qtree)), &selection)
            }
        }
    }

    fn create_qtree(&mut self, create: &QtreeCreate) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(create.vserver.as_ref(), create.volume.as_str())?;
        let volume = self.known_volume(svm, create.volume.as_str())?;
        self.check_free_of_files(volume, create.qtree.as_str())?;
        let (qtree, change) = self.registry.add_qtree(volume, create.qtree.as_str())?;
        self.take(change);
        self.assign(qtree, &Assigned { fixed: create.qos_policy_group.as_ref(), adaptive: None })?;
        Ok(Answer::default())
    }

    fn modify_qtree(&mut self, modify: &QtreeModify) -> Result<Answer, AdminError> {
        let qtree = self.known_qtree(modify.vserver.as_ref(), &modify.volume, &modify.qtree)?;
        self.assign(qtree, &Assigned { fixed: modify.qos_policy_group.as_ref(), adaptive: None })?;
        Ok(Answer::default())
    }

    fn rename_qtree(&mut self, rename: &QtreeRename) -> Result<Answer, AdminError> {
        let qtree = self.known_qtree(rename.vserver.as_ref(), &rename.volume, &rename.qtree)?;
        self.rename(qtree, rename.new_name.as_str())
    }

    fn delete_qtree(&mut self, delete: &QtreeDelete) -> Result<Answer, AdminError> {
        let qtree = self.known_qtree(delete.vserver.as_ref(), &delete.volume, &delete.qtree)?;
        self.check_empty(qtree)?;
        self.check_no_files(qtree)?;
        self.forget_client_files(qtree)?;
        self.remove_object(qtree)?;
        Ok(Answer::default())
    }

    pub(super) fn known_qtree(
        &self,
        vserver: Option<&ObjectName>,
        volume: &ObjectName,
        qtree: &ObjectName,
    ) -> Result<ObjectId, AdminError> {
        let svm = self.svm_of_volume(vserver, volume.as_str())?;
        let parent = self.known_volume(svm, volume.as_str())?;
        self.registry.find_qtree(parent, qtree.as_str()).ok_or_else(|| {
            let known: Vec<_> = self.children(parent, ObjectKind::Qtree).map(|q| q.name().to_owned()).collect();
            let text = format!("volume {volume} has no qtree {qtree}; it has: {}", list(&known));
            Obstacle::NoQtree.told(text).given(qtree).about(volume).into()
        })
    }

    fn qtree_row(&self, qtree: &Object) -> QtreeRow {
        QtreeRow {
            vserver: self.svm_name(qtree.id()),
            volume: self.place_of(qtree.id()).0,
            qtree: qtree.name().into(),
            id: qtree.id().0,
            status: "normal".into(),
            qos_policy_group: self.attached(qtree.id()).0,
        }
    }
}
