//! `vserver`: storage virtual machines.

use super::{AdminError, Answer, Assigned, Errand, uuid_of};
use ontap::catalogue::{VserverCommand, VserverCreate, VserverDelete, VserverModify, VserverRename};
use ontap::show::VserverRow;
use ontap::value::PolicyAssignment;
use qos::{Object, ObjectKind};

impl Errand<'_> {
    pub(super) fn vserver(&mut self, command: VserverCommand) -> Result<Answer, AdminError> {
        match command {
            VserverCommand::Create(create) => self.create_vserver(&create),
            VserverCommand::Modify(modify) => self.modify_vserver(&modify),
            VserverCommand::Rename(rename) => self.rename_vserver(&rename),
            VserverCommand::Delete(delete) => self.delete_vserver(&delete),
            VserverCommand::Show(selection) => {
                let svms = self.registry.objects().filter(|object| object.kind() == ObjectKind::Svm);
                self.listed(svms.map(|svm| self.vserver_row(svm)), &selection)
            }
        }
    }

    fn create_vserver(&mut self, create: &VserverCreate) -> Result<Answer, AdminError> {
        let (svm, change) = self.registry.add_svm(create.vserver.as_str())?;
        self.take(change);
        // A name that is in use is told first: that of an SVM is its users' as well.
        self.must_have_no_logins(&create.vserver)?;
        self.assign(svm, &Assigned { fixed: create.qos_policy_group.as_ref(), adaptive: None })?;
        Ok(Answer::default())
    }

    fn modify_vserver(&mut self, modify: &VserverModify) -> Result<Answer, AdminError> {
        let svm = self.svm(Some(&modify.vserver))?;
        self.assign(svm, &Assigned { fixed: modify.qos_policy_group.as_ref(), adaptive: None })?;
        if let Some(template) = &modify.qos_adaptive_policy_group_template {
            let change = self.registry.set_template(svm, PolicyAssignment::group(template).map(|g| g.as_str()))?;
            self.take(change);
        }
        Ok(Answer::default())
    }

    fn rename_vserver(&mut self, rename: &VserverRename) -> Result<Answer, AdminError> {
        self.must_have_no_logins(&rename.vserver)?;
        let svm = self.svm(Some(&rename.vserver))?;
        let answer = self.rename(svm, rename.new_name.as_str())?;
        self.must_have_no_logins(&rename.new_name)?;
        Ok(answer)
    }

    fn delete_vserver(&mut self, delete: &VserverDelete) -> Result<Answer, AdminError> {
        self.must_have_no_logins(&delete.vserver)?;
        let svm = self.svm(Some(&delete.vserver))?;
        self.remove_object(svm)?;
        Ok(Answer::default())
    }

    fn vserver_row(&self, svm: &Object) -> VserverRow {
        let template =
            svm.template().and_then(|group| self.registry.group_of(group)).map(|group| group.name().to_owned());
        VserverRow {
            vserver: svm.name().into(),
            uuid: uuid_of(svm.id()),
            kind: "data".into(),
            subtype: "default".into(),
            admin_state: "running".into(),
            operational_state: "running".into(),
            root_volume: None,
            aggregate: self.aggregate_name(),
            qos_policy_group: self.attached(svm.id()).0,
            qos_adaptive_policy_group_template: template,
        }
    }
}
