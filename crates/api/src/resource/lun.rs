//! `/api/storage/luns`: LUNs.

use super::volume::size_in;
use super::{Resource, View};
use crate::body::Body;
use crate::problem::{Problem, code};
use crate::record::{Field, Kind, asked, key, known};
use crate::setting::{Place, Setting, Takes, setting};
use admin::uuid_of;
use block::ObjectId;
use ontap::Command;
use ontap::catalogue::{LunCommand, LunCreate, LunDelete, LunModify, LunMove, LunOffline, LunOnline};
use ontap::value::{LunPath, ObjectName, OsType, Query, Switch, UnitSize, Value as _, ValueError};
use qos::ObjectKind;

/// LUNs.
pub(crate) struct Luns;

const FIELDS: &[Field<ObjectId>] = &[
    key("uuid", |_, lun| Some(uuid_of(lun).into())),
    key("name", |view, lun| Some(view.path_in_svm(lun).into())),
    known("svm", |view, lun| Some(view.name_value(view.registry().svm_of(lun)?))).of(Kind::Named),
    known("location.volume", |view, lun| Some(view.name_value(view.above(lun, ObjectKind::Volume)?))).of(Kind::Named),
    known("location.qtree.name", |view, lun| Some(view.name_of(view.above(lun, ObjectKind::Qtree)?).into())),
    known("location.logical_unit", |view, lun| Some(view.name_of(lun).into())),
    known("os_type", |view, lun| Some(view.administration.details(lun).os_type.to_string().into()))
        .of(Kind::Word(OsType::CHOICES)),
    known("enabled", |view, lun| Some((!view.administration.offline.contains(&lun)).into())).of(Kind::Truth),
    known("status.state", |view, lun| {
        Some(if view.administration.offline.contains(&lun) { "offline" } else { "online" }.into())
    }),
    known("qos_policy.name", |view, lun| view.policy_name(lun)),
    known("qos_policy.uuid", |view, lun| view.policy_uuid(lun)),
    known("qos_policy.max_throughput_iops", |view, object| view.max_iops(object)).of(Kind::Number),
    known("qos_policy.max_throughput_mbps", |view, object| view.max_mbps(object)).of(Kind::Number),
    known("qos_policy.min_throughput_iops", |view, object| view.min_iops(object)).of(Kind::Number),
    known("qos_policy.min_throughput_mbps", |view, object| view.min_mbps(object)).of(Kind::Number),
    known("space.size", |view, lun| Some(view.size_of(lun).into())).of(Kind::Number),
    asked("space.used", |view, lun| Some(view.used_in(lun).into())).of(Kind::Number),
    asked("status.mapped", |view, lun| Some((view.at.world.connections(lun) > 0).into())).of(Kind::Truth),
    asked("metric", |view, object| view.metric(object)).of(Kind::Metric),
    asked("statistics", |view, object| view.statistics(object)).of(Kind::Counters),
];

const SETTINGS: &[Setting] = &[
    setting("name", Takes::Text, Place::Both),
    setting("location.volume", Takes::Named, Place::Post),
    setting("location.qtree.name", Takes::Text, Place::Post),
    setting("location.logical_unit", Takes::Text, Place::Post),
    setting("svm", Takes::Named, Place::Required),
    setting("space.size", Takes::Number, Place::RequiredAndPatch),
    setting("os_type", Takes::OneOf(OsType::CHOICES), Place::Post),
    setting("enabled", Takes::Truth, Place::Patch),
    setting("qos_policy", Takes::Policy, Place::Both),
];

impl Resource for Luns {
    type Item = ObjectId;

    const NAME: &'static str = "LUN";

    fn path(&self) -> String {
        "/api/storage/luns".into()
    }

    fn fields(&self) -> &'static [Field<ObjectId>] {
        FIELDS
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn items(&self, view: &View<'_>) -> Vec<ObjectId> {
        view.objects(ObjectKind::Lun)
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<ObjectId> {
        view.object(ObjectKind::Lun, key)
    }

    fn key(&self, _: &View<'_>, item: ObjectId) -> String {
        uuid_of(item)
    }

    fn svm(&self, view: &View<'_>, item: ObjectId) -> Option<ObjectId> {
        view.registry().svm_of(item)
    }

    fn create(&self, view: &View<'_>, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let svm = view.svm_in(body)?;
        let path = new_path(view, svm, body)?;
        let ostype = body.value("os_type")?.unwrap_or(OsType::Linux);
        let size = space_in(body)?;
        let size = body.required("space.size", size)?;
        let policy = view.assignment(body.object("qos_policy")?, None)?;
        Ok(vec![Command::Lun(LunCommand::Create(LunCreate {
            path,
            vserver: Some(view.object_name(svm)?),
            size,
            ostype,
            qos_policy_group: policy.fixed,
            qos_adaptive_policy_group: policy.adaptive,
        }))])
    }

    fn made(&self, view: &View<'_>, mut body: Body) -> Option<ObjectId> {
        let svm = view.svm_in(&mut body).ok()?;
        view.registry().find_lun(svm, &new_path(view, svm, &mut body).ok()?.to_string())
    }

    fn modify(&self, view: &View<'_>, item: ObjectId, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let (path, vserver) = (path(view, item)?, view.svm_name(item)?);
        let size = space_in(body)?;
        let policy = view.assignment(body.object("qos_policy")?, Some(item))?;
        let mut commands = Vec::new();
        if size.is_some() || !policy.is_none() {
            commands.push(LunCommand::Modify(LunModify {
                path: path.clone(),
                vserver: vserver.clone(),
                size,
                force: Switch(false),
                qos_policy_group: policy.fixed,
                qos_adaptive_policy_group: policy.adaptive,
            }));
        }
        let query = Query::exact(path.to_string());
        match body.truth("enabled")? {
            Some(true) => commands.push(LunCommand::Online(LunOnline { path: query, vserver: vserver.clone() })),
            Some(false) => commands.push(LunCommand::Offline(LunOffline { path: query, vserver: vserver.clone() })),
            None => {}
        }
        if let Some(new_path) = body.value::<LunPath>("name")?.filter(|new| *new != path) {
            commands.push(LunCommand::Move(LunMove { path, vserver, new_path }));
        }
        Ok(commands.into_iter().map(Command::Lun).collect())
    }

    fn delete(&self, view: &View<'_>, item: ObjectId) -> Result<Vec<Command>, Problem> {
        let (path, vserver, force) = (path(view, item)?, view.svm_name(item)?, Switch(false));
        Ok(vec![Command::Lun(LunCommand::Delete(LunDelete { path, vserver, force }))])
    }
}

/// The path of a new LUN: its `name`, or the parts in its `location`.
fn new_path(view: &View<'_>, svm: ObjectId, body: &mut Body) -> Result<LunPath, Problem> {
    let path = body.value::<LunPath>("name")?;
    let Some(mut location) = body.object("location")? else { return body.required("name", path) };
    let volume = location.first_of(&["volume"]).map(|field| view.volume_in(svm, field, &mut location));
    let volume = volume.transpose()?.map(|volume| view.object_name(volume)).transpose()?;
    let qtree = match location.object("qtree")? {
        Some(mut qtree) => {
            let name = qtree.value::<ObjectName>("name")?;
            qtree.end()?;
            name
        }
        None => None,
    };
    let lun = location.value::<ObjectName>("logical_unit")?;
    let Some(path) = path else {
        let (volume, lun) = (location.required("volume", volume)?, location.required("logical_unit", lun)?);
        location.end()?;
        return Ok(LunPath { volume, qtree, lun });
    };
    location.end()?;
    let agrees = volume.is_none_or(|volume| volume == path.volume)
        && lun.is_none_or(|lun| lun == path.lun)
        && (qtree.is_none() || qtree == path.qtree);
    if agrees {
        return Ok(path);
    }
    let message = format!("location: is another place than the name {path}; give one of them");
    Err(Problem::bad(code::EXCLUSIVE, "location", message))
}

/// Takes `space.size` of a body.
fn space_in(body: &mut Body) -> Result<Option<UnitSize>, Problem> {
    let Some(mut space) = body.object("space")? else { return Ok(None) };
    let size = size_in(&mut space, "size")?;
    space.end()?;
    Ok(size)
}

fn path(view: &View<'_>, lun: ObjectId) -> Result<LunPath, Problem> {
    let path = view.path_in_svm(lun);
    path.parse().map_err(|error: ValueError| Problem::new(500, code::INTERNAL, error.to_string()))
}

impl View<'_> {
    /// An object's path in its SVM: `/vol/vol1/lun1`.
    pub fn path_in_svm(&self, object: ObjectId) -> String {
        let path = self.administration.path_of(object).unwrap_or_default();
        path.split_once(':').map(|(_, path)| path.to_owned()).unwrap_or_default()
    }
}
