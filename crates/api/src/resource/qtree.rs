//! `/api/storage/qtrees`: qtrees, identified by their volume's identifier and a number of their own
//! that never changes.

use super::{Resource, View};
use crate::body::Body;
use crate::problem::Problem;
use crate::record::{Field, Kind, asked, key, known};
use crate::setting::{Place, Setting, Takes, setting};
use admin::uuid_of;
use block::ObjectId;
use ontap::Command;
use ontap::catalogue::{QtreeCommand, QtreeCreate, QtreeDelete, QtreeModify, QtreeRename};
use qos::{Object, ObjectKind};

/// Qtrees.
pub(crate) struct Qtrees;

const FIELDS: &[Field<ObjectId>] = &[
    key("id", |_, qtree: ObjectId| Some(qtree.0.into())).of(Kind::Number),
    key("name", |view, qtree| Some(view.name_of(qtree).into())),
    key("volume", |view, qtree| Some(view.name_value(view.above(qtree, ObjectKind::Volume)?))).of(Kind::Named),
    key("svm", |view, qtree| Some(view.name_value(view.registry().svm_of(qtree)?))).of(Kind::Named),
    known("path", |view, qtree| {
        let path = view.path_in_svm(qtree);
        Some(path.strip_prefix("/vol").unwrap_or(&path).into())
    }),
    known("qos_policy.name", |view, qtree| view.policy_name(qtree)),
    known("qos_policy.uuid", |view, qtree| view.policy_uuid(qtree)),
    known("qos_policy.max_throughput_iops", |view, object| view.max_iops(object)).of(Kind::Number),
    known("qos_policy.max_throughput_mbps", |view, object| view.max_mbps(object)).of(Kind::Number),
    known("qos_policy.min_throughput_iops", |view, object| view.min_iops(object)).of(Kind::Number),
    known("qos_policy.min_throughput_mbps", |view, object| view.min_mbps(object)).of(Kind::Number),
    asked("metric", |view, object| view.metric(object)).of(Kind::Metric),
    asked("statistics", |view, object| view.statistics(object)).of(Kind::Counters),
];

const SETTINGS: &[Setting] = &[
    setting("name", Takes::Text, Place::RequiredAndPatch),
    setting("svm", Takes::Named, Place::Required),
    setting("volume", Takes::Named, Place::Required),
    setting("qos_policy", Takes::Policy, Place::Both),
];

impl Resource for Qtrees {
    type Item = ObjectId;

    const NAME: &'static str = "qtree";
    const KEYS: &'static [&'static str] = &["volume.uuid", "id"];

    fn path(&self) -> String {
        "/api/storage/qtrees".into()
    }

    fn fields(&self) -> &'static [Field<ObjectId>] {
        FIELDS
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn items(&self, view: &View<'_>) -> Vec<ObjectId> {
        view.objects(ObjectKind::Qtree)
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<ObjectId> {
        let (volume, id) = key.split_once('/')?;
        let (volume, id) = (view.object(ObjectKind::Volume, volume)?, ObjectId(id.parse().ok()?));
        let qtree = view.registry().object(id).filter(|object| object.kind() == ObjectKind::Qtree)?;
        (qtree.parent() == Some(volume)).then(|| Object::id(qtree))
    }

    fn key(&self, view: &View<'_>, item: ObjectId) -> String {
        let volume = view.above(item, ObjectKind::Volume).map(uuid_of).unwrap_or_default();
        format!("{volume}/{}", item.0)
    }

    fn svm(&self, view: &View<'_>, item: ObjectId) -> Option<ObjectId> {
        view.registry().svm_of(item)
    }

    fn create(&self, view: &View<'_>, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let svm = view.svm_in(body)?;
        let volume = view.volume_in(svm, "volume", body)?;
        let name = body.value("name")?;
        let policy = view.assignment(body.object("qos_policy")?, None)?;
        Ok(vec![Command::Qtree(QtreeCommand::Create(QtreeCreate {
            qtree: body.required("name", name)?,
            volume: view.object_name(volume)?,
            vserver: Some(view.object_name(svm)?),
            qos_policy_group: policy.any(),
        }))])
    }

    fn made(&self, view: &View<'_>, mut body: Body) -> Option<ObjectId> {
        let svm = view.svm_in(&mut body).ok()?;
        let volume = view.volume_in(svm, "volume", &mut body).ok()?;
        view.registry().find_qtree(volume, &body.text("name").ok()??)
    }

    fn modify(&self, view: &View<'_>, item: ObjectId, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let Some(volume) = view.above(item, ObjectKind::Volume) else { return Ok(Vec::new()) };
        let (qtree, volume, vserver) = (view.object_name(item)?, view.object_name(volume)?, view.svm_name(item)?);
        let mut commands = Vec::new();
        if let Some(policy) = view.assignment(body.object("qos_policy")?, Some(item))?.any() {
            commands.push(QtreeCommand::Modify(QtreeModify {
                qtree: qtree.clone(),
                volume: volume.clone(),
                vserver: vserver.clone(),
                qos_policy_group: Some(policy),
            }));
        }
        if let Some(new_name) = view.new_name(item, body)? {
            commands.push(QtreeCommand::Rename(QtreeRename { qtree, volume, vserver, new_name }));
        }
        Ok(commands.into_iter().map(Command::Qtree).collect())
    }

    fn delete(&self, view: &View<'_>, item: ObjectId) -> Result<Vec<Command>, Problem> {
        let Some(volume) = view.above(item, ObjectKind::Volume) else { return Ok(Vec::new()) };
        let (qtree, volume, vserver) = (view.object_name(item)?, view.object_name(volume)?, view.svm_name(item)?);
        Ok(vec![Command::Qtree(QtreeCommand::Delete(QtreeDelete { qtree, volume, vserver }))])
    }
}
