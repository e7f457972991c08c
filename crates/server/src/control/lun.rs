//! `lun`: block devices inside volumes.

use super::{Assigned, Control, ControlError, bytes_of, whole};
use crate::shard::Order;
use block::ObjectId;
use ontap::catalogue::{LunCommand, LunCreate, LunDelete, LunModify};
use ontap::show::{LunRow, answer, lun_created};
use ontap::value::{LunPath, ObjectName};
use qos::{Object, ObjectKind};

impl Control {
    pub(super) fn lun(&mut self, command: LunCommand) -> Result<String, ControlError> {
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

    fn create_lun(&mut self, create: &LunCreate) -> Result<String, ControlError> {
        let svm = self.svm(create.vserver.as_ref())?;
        let volume = self.known_volume(svm, create.path.volume.as_str())?;
        if create.path.qtree.is_some() {
            return Err(ControlError::Command(format!("{}: this server has no qtrees yet", create.path)));
        }
        let size = bytes_of(create.size, self.units)?;
        self.check_room(volume, size, 0)?;
        let made = self.change(|steps| {
            let (lun, change) = steps.registry.add_lun(svm, &create.path.to_string(), whole(size, 0))?;
            steps.take(change);
            steps.assign(
                lun,
                &Assigned {
                    fixed: create.qos_policy_group.as_ref(),
                    adaptive: create.qos_adaptive_policy_group.as_ref(),
                },
            )?;
            Ok((lun, steps.notes.concat()))
        });
        let (lun, notes) = made?;
        let served =
            self.pool.make_data_file(lun.0, size).map_err(ControlError::from).and_then(|()| self.serve_lun(lun));
        if let Err(error) = served {
            self.forget_lun(lun)?;
            return Err(error);
        }
        Ok(format!("{}{notes}", lun_created(create.size, size)))
    }

    fn modify_lun(&mut self, modify: &LunModify) -> Result<String, ControlError> {
        let lun = self.known_lun(modify.vserver.as_ref(), &modify.path)?;
        let old = self.registry.object(lun).map_or(0, |object| object.size().allocated.0);
        let size = modify.size.map(|size| bytes_of(size, self.units)).transpose()?;
        if let Some(size) = size {
            if size < old {
                return Err(ControlError::Command(format!(
                    "{}: a LUN of {old} bytes would lose data by shrinking to {size}; make a smaller one and copy",
                    modify.path
                )));
            }
            let volume = self.registry.object(lun).and_then(Object::parent).unwrap_or(lun);
            self.check_room(volume, size, old)?;
            self.pool.grow_data_file(lun.0, size)?;
        }
        let now = self.now();
        let notes = self.change(|steps| {
            if let Some(size) = size {
                let used = steps.registry.object(lun).map_or(0, |object| object.size().used.0);
                steps.registry.set_size(lun, whole(size, used), now)?;
            }
            steps.assign(
                lun,
                &Assigned {
                    fixed: modify.qos_policy_group.as_ref(),
                    adaptive: modify.qos_adaptive_policy_group.as_ref(),
                },
            )?;
            Ok(steps.notes.concat())
        })?;
        if let Some(size) = size {
            self.shard.order(Order::Resize { object: lun, size })?;
        }
        Ok(notes)
    }

    fn delete_lun(&mut self, delete: &LunDelete) -> Result<String, ControlError> {
        let lun = self.known_lun(delete.vserver.as_ref(), &delete.path)?;
        self.forget_lun(lun)?;
        Ok(String::new())
    }

    /// Takes a LUN out of registry and catalogue, stops serving it, and removes its data.
    fn forget_lun(&mut self, lun: ObjectId) -> Result<(), ControlError> {
        // The shard lets go of it before the scheduler forgets it, so nothing is asked of an object that is gone.
        self.shard.order(Order::Close { object: lun })?;
        self.change(|steps| {
            let change = steps.registry.remove_object(lun)?;
            steps.take(change);
            Ok(())
        })?;
        Ok(self.pool.remove_data_file(lun.0)?)
    }

    fn known_lun(&self, vserver: Option<&ObjectName>, path: &LunPath) -> Result<ObjectId, ControlError> {
        let svm = self.svm(vserver)?;
        let found = self.registry.find_lun(svm, &path.to_string());
        found.ok_or_else(|| ControlError::Command(format!("SVM {} has no LUN {path}", self.svm_name(svm))))
    }

    /// Whether a volume has room for a LUN of `size` bytes in place of one of `old` bytes.
    fn check_room(&self, volume: ObjectId, size: u64, old: u64) -> Result<(), ControlError> {
        let all = self.registry.object(volume).map_or(0, |object| object.size().allocated.0);
        let left = all.saturating_sub(self.taken_in(volume) - old);
        if size <= left {
            return Ok(());
        }
        let path = self.path_of(volume).unwrap_or_default();
        Err(ControlError::Command(format!(
            "{path}: has {left} of its {all} bytes left for LUNs, {size} are needed; grow it with `volume modify -size`"
        )))
    }

    fn lun_row(&self, lun: &Object) -> LunRow {
        let (qos_policy_group, qos_adaptive_policy_group) = self.attached(lun.id());
        let path = self.path_of(lun.id()).unwrap_or_default();
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
            uuid: self.uuid_of(lun.id()),
            qos_policy_group,
            qos_adaptive_policy_group,
        }
    }
}
