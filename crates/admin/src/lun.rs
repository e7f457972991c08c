//! `lun`: block devices inside volumes.

use super::{AdminError, Answer, Assigned, Effect, Errand, Obstacle, Report, path_of, uuid_of, whole};
use crate::size::{leaf_bytes, new_leaf_bytes};
use block::ObjectId;
use ontap::catalogue::{LunCommand, LunCreate, LunDelete, LunModify, LunMove, LunResize};
use ontap::show::LunRow;
use ontap::value::{LunPath, ObjectName, Query};
use qos::{Object, ObjectKind};

impl Errand<'_> {
    pub(super) fn lun(&mut self, command: LunCommand) -> Result<Answer, AdminError> {
        match command {
            LunCommand::Create(create) => self.create_lun(&create),
            LunCommand::Modify(modify) => self.modify_lun(&modify),
            LunCommand::Resize(resize) => self.resize_lun(&resize),
            LunCommand::Move(rename) => self.rename_lun(&rename),
            LunCommand::Offline(offline) => self.offer(offline.vserver.as_ref(), &offline.path, false),
            LunCommand::Online(online) => self.offer(online.vserver.as_ref(), &online.path, true),
            LunCommand::Delete(delete) => self.delete_lun(&delete),
            LunCommand::Show(selection) => {
                let luns = self.registry.objects().filter(|object| object.kind() == ObjectKind::Lun);
                self.listed(luns.map(|lun| self.lun_row(lun)), &selection)
            }
        }
    }

    fn create_lun(&mut self, create: &LunCreate) -> Result<Answer, AdminError> {
        let svm = self.svm_of_volume(create.vserver.as_ref(), create.path.volume.as_str())?;
        let volume = self.known_volume(svm, create.path.volume.as_str())?;
        self.check_qtree(create.vserver.as_ref(), &create.path)?;
        let size = leaf_bytes(create.size, self.units)?;
        self.check_room(volume, size, 0)?;
        let path = create.path.to_string();
        let path_there = path.strip_prefix(&format!("/vol/{}", create.path.volume)).unwrap_or(&path);
        self.check_free_of_files(volume, path_there)?;
        let (lun, change) = self.registry.add_lun(svm, &create.path.to_string(), whole(size, 0))?;
        self.take(change);
        let (fixed, adaptive) = (create.qos_policy_group.as_ref(), create.qos_adaptive_policy_group.as_ref());
        self.make_leaf(lun, size, &Assigned { fixed, adaptive })?;
        self.set_os_type(lun, create.ostype);
        Ok(Report::LunCreated { size: create.size, bytes: size }.into())
    }

    fn modify_lun(&mut self, modify: &LunModify) -> Result<Answer, AdminError> {
        let lun = self.known_lun(modify.vserver.as_ref(), &modify.path)?;
        self.forced = modify.force.0;
        let size = modify.size.map(|size| leaf_bytes(size, self.units)).transpose()?;
        let (fixed, adaptive) = (modify.qos_policy_group.as_ref(), modify.qos_adaptive_policy_group.as_ref());
        self.modify_leaf(lun, size, &Assigned { fixed, adaptive })?;
        Ok(Answer::default())
    }

    fn resize_lun(&mut self, resize: &LunResize) -> Result<Answer, AdminError> {
        let lun = self.known_lun(resize.vserver.as_ref(), &resize.path)?;
        self.forced = resize.force.0;
        let was = self.registry.object(lun).map_or(0, |lun| lun.size().allocated.0);
        let size = new_leaf_bytes(resize.size, was, self.units)?;
        self.modify_leaf(lun, Some(size), &Assigned { fixed: None, adaptive: None })?;
        Ok(Answer::default())
    }

    fn rename_lun(&mut self, rename: &LunMove) -> Result<Answer, AdminError> {
        let lun = self.known_lun(rename.vserver.as_ref(), &rename.path)?;
        self.check_qtree(rename.vserver.as_ref(), &rename.new_path)?;
        self.rename(lun, &rename.new_path.to_string())
    }

    fn delete_lun(&mut self, delete: &LunDelete) -> Result<Answer, AdminError> {
        let lun = self.known_lun(delete.vserver.as_ref(), &delete.path)?;
        self.forced = delete.force.0;
        self.delete_leaf(lun)?;
        Ok(Answer::default())
    }

    /// Takes all LUNs of that path offline or online. LUNs that are in that state already stay so.
    fn offer(&mut self, vserver: Option<&ObjectName>, path: &Query, online: bool) -> Result<Answer, AdminError> {
        // A path without a pattern names a volume, and thereby its SVM.
        let svm = match path.literal().and_then(|path| path.parse::<LunPath>().ok()) {
            Some(path) => self.svm_of_volume(vserver, path.volume.as_str())?,
            None => self.svm(vserver)?,
        };
        let is_meant = |lun: &&Object| {
            lun.kind() == ObjectKind::Lun
                && self.registry.svm_of(lun.id()) == Some(svm)
                && path.matches(&self.path_in_svm(lun.id()))
        };
        let luns: Vec<ObjectId> = self.registry.objects().filter(is_meant).map(Object::id).collect();
        if luns.is_empty() {
            return Err(self.no_lun(svm, path));
        }
        // Disconnecting clients is the purpose of going offline.
        self.forced = !online;
        for &object in &luns {
            if self.set_offline(object, !online) {
                self.lead_to(Effect::Offer { object, online });
            }
        }
        Ok(if path.literal().is_some() { Report::Silent } else { Report::LunsActedOn(luns.len()) }.into())
    }

    fn path_in_svm(&self, lun: ObjectId) -> String {
        let path = path_of(self.registry, lun).unwrap_or_default();
        path.split_once(':').map_or(String::new(), |(_, path)| path.to_owned())
    }

    fn no_lun(&self, svm: ObjectId, path: impl std::fmt::Display) -> AdminError {
        let svm = self.svm_name(svm);
        let text = format!("SVM {svm} has no LUN {path}; `lun show` lists what there is");
        Obstacle::NoLun.told(text).given(path).about(svm).into()
    }

    fn known_lun(&self, vserver: Option<&ObjectName>, path: &LunPath) -> Result<ObjectId, AdminError> {
        let svm = self.svm_of_volume(vserver, path.volume.as_str())?;
        let found = self.registry.find_lun(svm, &path.to_string());
        found.ok_or_else(|| self.no_lun(svm, path))
    }

    /// Whether there is the qtree that a path leads through, if it does.
    fn check_qtree(&self, vserver: Option<&ObjectName>, path: &LunPath) -> Result<(), AdminError> {
        let qtree = path.qtree.as_ref();
        qtree.map_or(Ok(()), |qtree| self.known_qtree(vserver, &path.volume, qtree).map(drop))
    }

    fn lun_row(&self, lun: &Object) -> LunRow {
        let (qos_policy_group, qos_adaptive_policy_group) = self.attached(lun.id());
        let (volume, qtree) = self.place_of(lun.id());
        LunRow {
            vserver: self.svm_name(lun.id()),
            path: self.path_in_svm(lun.id()),
            volume,
            qtree,
            lun: lun.name().into(),
            size: lun.size().allocated.0,
            ostype: self.details(lun.id()).os_type.to_string(),
            state: if self.offline.contains(&lun.id()) { "offline" } else { "online" }.into(),
            connections: self.at.world.connections(lun.id()),
            uuid: uuid_of(lun.id()),
            qos_policy_group,
            qos_adaptive_policy_group,
        }
    }
}
