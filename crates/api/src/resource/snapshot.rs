//! `/api/storage/volumes/UUID/snapshots`: the snapshots of a volume.

use super::job::moment;
use super::{Resource, View};
use crate::body::Body;
use crate::problem::Problem;
use crate::record::{Field, Kind, asked, key, known};
use crate::setting::{Place, Setting, Takes, setting};
use admin::{Snapshot, uuid_of};
use block::ObjectId;
use ontap::Command;
use ontap::catalogue::{SnapshotCommand, SnapshotCreate, SnapshotDelete, SnapshotModify, SnapshotRename};
use ontap::value::{ObjectName, ValueError};

/// The snapshots of a volume.
pub(crate) struct VolumeSnapshots {
    pub volume: ObjectId,
}

impl VolumeSnapshots {
    /// The name of the snapshot with that identifier; `None` if there is none.
    ///
    /// # Errors
    /// Its name is not a valid parameter.
    pub fn name_of(&self, view: &View<'_>, uuid: &str) -> Result<Option<ObjectName>, Problem> {
        self.find(view, uuid).map(|id| name(view, id)).transpose()
    }
}

const FIELDS: &[Field<u32>] = &[
    key("uuid", |view, id| Some(uuid(snapshot(view, id)?).into())),
    key("name", |view, id| Some(snapshot(view, id)?.name.as_str().into())),
    known("volume", |view, id| Some(view.name_value(snapshot(view, id)?.volume))).of(Kind::Named),
    known("svm", |view, id| Some(view.name_value(view.registry().svm_of(snapshot(view, id)?.volume)?))).of(Kind::Named),
    known("create_time", |view, id| Some(moment(snapshot(view, id)?.created))).of(Kind::Moment),
    known("comment", |view, id| {
        let comment = snapshot(view, id)?.comment.as_str();
        (!comment.is_empty()).then(|| comment.into())
    }),
    asked("size", |view, id| {
        let snapshot = snapshot(view, id)?;
        Some(view.at.world.owned(&mut snapshot.leaves.iter().map(|leaf| leaf.tree)).into())
    })
    .of(Kind::Number),
];

fn snapshot<'a>(view: &View<'a>, id: u32) -> Option<&'a Snapshot> {
    view.administration.snapshots.get(id)
}

/// The identifier of a snapshot; its fixed bits differ from those of objects. The number of the
/// newest snapshot is given again once that is deleted, so the time of creation is part of it.
fn uuid(snapshot: &Snapshot) -> String {
    let created = snapshot.created as u32;
    let [high, low] = [created >> 16, created & 0xffff].map(u128::from);
    admin::uuid_text(0x5ea1_a112_0000_8000_8000_0000_0000_0000 | high << 80 | low << 32 | u128::from(snapshot.id))
}

const SETTINGS: &[Setting] =
    &[setting("name", Takes::Text, Place::RequiredAndPatch), setting("comment", Takes::Text, Place::Both)];

impl Resource for VolumeSnapshots {
    type Item = u32;

    const NAME: &'static str = "snapshot";

    fn path(&self) -> String {
        format!("/api/storage/volumes/{}/snapshots", uuid_of(self.volume))
    }

    fn fields(&self) -> &'static [Field<u32>] {
        FIELDS
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn items(&self, view: &View<'_>) -> Vec<u32> {
        view.administration.snapshots.of(self.volume).map(|snapshot| snapshot.id).collect()
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<u32> {
        view.administration.snapshots.of(self.volume).find(|snapshot| uuid(snapshot) == key).map(|snapshot| snapshot.id)
    }

    fn key(&self, view: &View<'_>, item: u32) -> String {
        snapshot(view, item).map(uuid).unwrap_or_default()
    }

    fn svm(&self, view: &View<'_>, _: u32) -> Option<ObjectId> {
        view.registry().svm_of(self.volume)
    }

    fn of_svm(&self, view: &View<'_>) -> Option<ObjectId> {
        view.registry().svm_of(self.volume)
    }

    fn create(&self, view: &View<'_>, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let (name, comment) = (body.value("name")?, body.value("comment")?);
        Ok(vec![Command::Snapshot(SnapshotCommand::Create(SnapshotCreate {
            volume: view.object_name(self.volume)?,
            vserver: view.svm_name(self.volume)?,
            snapshot: body.required("name", name)?,
            comment,
        }))])
    }

    fn made(&self, view: &View<'_>, mut body: Body) -> Option<u32> {
        let name = body.text("name").ok()??;
        view.administration.snapshots.of(self.volume).find(|snapshot| snapshot.name == name).map(|snapshot| snapshot.id)
    }

    fn modify(&self, view: &View<'_>, item: u32, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let snapshot = name(view, item)?;
        let (volume, vserver) = (view.object_name(self.volume)?, view.svm_name(self.volume)?);
        let mut commands = Vec::new();
        if let Some(comment) = body.value("comment")? {
            let (volume, vserver, snapshot) = (volume.clone(), vserver.clone(), snapshot.clone());
            commands.push(SnapshotCommand::Modify(SnapshotModify { volume, vserver, snapshot, comment }));
        }
        if let Some(new_name) = body.value::<ObjectName>("name")?.filter(|name| *name != snapshot) {
            commands.push(SnapshotCommand::Rename(SnapshotRename { volume, vserver, snapshot, new_name }));
        }
        Ok(commands.into_iter().map(Command::Snapshot).collect())
    }

    fn delete(&self, view: &View<'_>, item: u32) -> Result<Vec<Command>, Problem> {
        let (volume, vserver) = (view.object_name(self.volume)?, view.svm_name(self.volume)?);
        let snapshot = name(view, item)?;
        Ok(vec![Command::Snapshot(SnapshotCommand::Delete(SnapshotDelete { volume, vserver, snapshot }))])
    }
}

fn name(view: &View<'_>, id: u32) -> Result<ObjectName, Problem> {
    let name = snapshot(view, id).map(|snapshot| snapshot.name.as_str()).unwrap_or_default();
    name.parse().map_err(|error: ValueError| Problem::new(500, crate::problem::code::INTERNAL, error.to_string()))
}
