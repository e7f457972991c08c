//! `lun`: block devices inside volumes.

use super::{AdminError, Assigned, Effect, Errand, bytes_of, path_of, uuid_of, whole};
use block::ObjectId;
use ontap::catalogue::{LunCommand, LunCreate, LunDelete, LunModify};
use ontap::show::{LunRow, answer, lun_created};
use ontap::value::{LunPath, ObjectName};
use qos::{Object, ObjectKind};

impl Errand<'_> {
    pub(super) fn lun(&mut self, command: LunCommand) -> Result<String, AdminError> {
        match command {
            LunCommand::Create(create) => self.create_lun(&create),
            LunCommand::Modify(modify) => self.modify_lun(&modify),
            LunCommand::Delete(delete) => self.delete_lun(&delete),
            LunCommand::Show(selection) => {
                let luns = self.registry.objects().filter(|object| object.kind() == ObjectKind::Lun);
                let rows: Vec<LunRow> = luns.map(|lun| self.lun_row(lun)).collect();
                Ok(answer(&rows, &selection, self.units))
            }
        }
    }

    fn create_lun(&mut self, create: &LunCreate) -> Result<String, AdminError> {
        let svm = self.svm(create.vserver.as_ref())?;
        let volume = self.known_volume(svm, create.path.volume.as_str())?;
        if create.path.qtree.is_some() {
            return Err(AdminError::Command(format!("{}: this server has no qtrees yet", create.path)));
        }
        let size = bytes_of(create.size, self.units)?;
        self.check_room(volume, size, 0)?;
        let (lun, change) = self.registry.add_lun(svm, &create.path.to_string(), whole(size, 0))?;
        self.take(change);
        let (fixed, adaptive) = (create.qos_policy_group.as_ref(), create.qos_adaptive_policy_group.as_ref());
        self.assign(lun, &Assigned { fixed, adaptive })?;
        self.effects.push(Effect::Make { lun, size });
        Ok(lun_created(create.size, size))
    }

    fn modify_lun(&mut self, modify: &LunModify) -> Result<String, AdminError> {
        let lun = self.known_lun(modify.vserver.as_ref(), &modify.path)?;
        let old = self.registry.object(lun).map_or(0, |object| object.size().allocated.0);
        let size = modify.size.map(|size| bytes_of(size, self.units)).transpose()?;
        if let Some(size) = size {
            if size < old {
                return Err(AdminError::Command(format!(
                    "{}: a LUN of {old} bytes would lose data by shrinking to {size}; make a smaller one and copy",
                    modify.path
                )));
            }
            let volume = self.registry.object(lun).and_then(Object::parent).unwrap_or(lun);
            self.check_room(volume, size, old)?;
            let used = self.registry.object(lun).map_or(0, |object| object.size().used.0);
            self.registry.set_size(lun, whole(size, used), self.now)?;
            self.effects.push(Effect::Grow { lun, size });
        }
        let (fixed, adaptive) = (modify.qos_policy_group.as_ref(), modify.qos_adaptive_policy_group.as_ref());
        self.assign(lun, &Assigned { fixed, adaptive })?;
        Ok(String::new())
    }

    fn delete_lun(&mut self, delete: &LunDelete) -> Result<String, AdminError> {
        let lun = self.known_lun(delete.vserver.as_ref(), &delete.path)?;
        let change = self.registry.remove_object(lun)?;
        self.take(change);
        self.effects.push(Effect::Remove { lun });
        Ok(String::new())
    }

    fn known_lun(&self, vserver: Option<&ObjectName>, path: &LunPath) -> Result<ObjectId, AdminError> {
        let svm = self.svm(vserver)?;
        let found = self.registry.find_lun(svm, &path.to_string());
        found.ok_or_else(|| AdminError::Command(format!("SVM {} has no LUN {path}", self.svm_name(svm))))
    }

    /// Whether a volume has room for a LUN of `size` bytes in place of one of `old` bytes.
    fn check_room(&self, volume: ObjectId, size: u64, old: u64) -> Result<(), AdminError> {
        let all = self.registry.object(volume).map_or(0, |object| object.size().allocated.0);
        let left = all.saturating_sub(self.taken_in(volume) - old);
        if size <= left {
            return Ok(());
        }
        let path = path_of(self.registry, volume).unwrap_or_default();
        Err(AdminError::Command(format!(
            "{path}: has {left} of its {all} bytes left for LUNs, {size} are needed; grow it with `volume modify -size`"
        )))
    }

    fn lun_row(&self, lun: &Object) -> LunRow {
        let (qos_policy_group, qos_adaptive_policy_group) = self.attached(lun.id());
        let path = path_of(self.registry, lun.id()).unwrap_or_default();
        let volume = lun.parent().and_then(|volume| self.registry.object(volume));
        LunRow {
            vserver: self.svm_name(lun.id()),
            path: path.split_once(':').map_or(String::new(), |(_, path)| path.to_owned()),
            volume: volume.map_or(String::new(), |volume| volume.name().to_owned()),
            qtree: None,
            lun: lun.name().into(),
            size: lun.size().allocated.0,
            ostype: "linux".into(),
            state: "online".into(),
            mapped: true,
            uuid: uuid_of(lun.id()),
            qos_policy_group,
            qos_adaptive_policy_group,
        }
    }
}
