//! `/api/storage/volumes`: volumes, and clones of volumes.

use super::job::moment;
use super::{Resource, View, VolumeSnapshots};
use crate::body::Body;
use crate::problem::{Problem, code};
use crate::record::{Field, Kind, asked, key, known};
use crate::setting::{Place, Setting, Takes, setting};
use admin::{Top, uuid_of};
use block::ObjectId;
use ontap::Command;
use ontap::catalogue::{
    CloneCommand, SnapshotCommand, SnapshotRestore, VolumeCloneCreate, VolumeCommand, VolumeCreate, VolumeDelete,
    VolumeModify, VolumeMount, VolumeRename, VolumeUnmount,
};
use ontap::value::{
    Count, JunctionPath, NewSize, ObjectName, Query, SizeUnit, Switch, UnitSize, UnixPermissions, ValueError,
};
use qos::{Object, ObjectKind};
use serde_json::Value;
use std::str::FromStr;

/// Volumes.
pub(crate) struct Volumes;

const FIELDS: &[Field<ObjectId>] = &[
    key("uuid", |_, volume| Some(uuid_of(volume).into())),
    key("name", |view, volume| Some(view.name_of(volume).into())),
    known("svm", |view, volume| Some(view.name_value(view.registry().svm_of(volume)?))).of(Kind::Named),
    known("size", |view, volume| Some(view.size_of(volume).into())).of(Kind::Number),
    known("state", |_, _| Some("online".into())).of(Kind::Word(&["error", "mixed", "offline", "online"])),
    known("style", |_, _| Some("flexvol".into())).of(Kind::Word(&["flexvol", "flexgroup", "flexgroup_constituent"])),
    known("type", |_, _| Some("rw".into())).of(Kind::Word(&["rw", "dp", "ls"])),
    known("aggregates", |view, _| Some(view.cluster.aggregates())).of(Kind::NamedList),
    known("create_time", |view, volume| match view.administration.details(volume).created {
        0 => None,
        created => Some(moment(created)),
    })
    .of(Kind::Moment),
    known("nas.path", |view, volume| Some(view.administration.details(volume).junction?.to_string().into())),
    known("nas.security_style", |_, _| Some("unix".into())),
    asked("nas.uid", |view, volume| Some(view.top_of(volume)?.user.into())).of(Kind::Number),
    asked("nas.gid", |view, volume| Some(view.top_of(volume)?.group.into())).of(Kind::Number),
    asked("nas.unix_permissions", |view, volume| octal_digits(view.top_of(volume)?.mode)).of(Kind::Number),
    known("clone.is_flexclone", |view, volume| Some(view.administration.parent_of_clone(volume).is_some().into()))
        .of(Kind::Truth),
    known("clone.parent_volume", |view, volume| {
        Some(view.name_value(view.administration.parent_of_clone(volume)?.id()))
    })
    .of(Kind::Named),
    known("clone.parent_svm", |view, volume| {
        let parent = view.administration.parent_of_clone(volume)?;
        Some(view.name_value(view.registry().svm_of(parent.id())?))
    })
    .of(Kind::Named),
    known("clone.parent_snapshot.name", |view, volume| {
        let _ = view.administration.parent_of_clone(volume)?;
        Some(view.administration.details(volume).origin?.snapshot?.into())
    }),
    known("qos.policy.name", |view, volume| view.policy_name(volume)),
    known("qos.policy.uuid", |view, volume| view.policy_uuid(volume)),
    known("qos.policy.max_throughput_iops", |view, object| view.max_iops(object)).of(Kind::Number),
    known("qos.policy.max_throughput_mbps", |view, object| view.max_mbps(object)).of(Kind::Number),
    known("qos.policy.min_throughput_iops", |view, object| view.min_iops(object)).of(Kind::Number),
    known("qos.policy.min_throughput_mbps", |view, object| view.min_mbps(object)).of(Kind::Number),
    known("space.size", |view, volume| Some(view.size_of(volume).into())).of(Kind::Number),
    asked("space.used", |view, volume| Some(view.used_in(volume).into())).of(Kind::Number),
    asked("space.available", |view, volume| {
        Some(view.at.world.left(view.size_of(volume), view.used_in(volume)).into())
    })
    .of(Kind::Number),
    asked("metric", |view, object| view.metric(object)).of(Kind::Metric),
    asked("statistics", |view, object| view.statistics(object)).of(Kind::Counters),
];

const SETTINGS: &[Setting] = &[
    setting("name", Takes::Text, Place::RequiredAndPatch),
    setting("svm", Takes::Named, Place::Required),
    setting("size", Takes::Number, Place::Both),
    setting("aggregates", Takes::NamedList, Place::Post),
    setting("style", Takes::OneOf(&["flexvol"]), Place::Post),
    setting("type", Takes::OneOf(&["rw"]), Place::Post),
    setting("nas.path", Takes::Text, Place::Both),
    setting("nas.security_style", Takes::OneOf(&["unix"]), Place::Both),
    setting("nas.uid", Takes::Number, Place::Both),
    setting("nas.gid", Takes::Number, Place::Both),
    setting("nas.unix_permissions", Takes::Number, Place::Both),
    setting("qos.policy", Takes::Policy, Place::Both),
    setting("clone.is_flexclone", Takes::Truth, Place::Post),
    setting("clone.parent_volume", Takes::Named, Place::Post),
    setting("clone.parent_svm", Takes::Named, Place::Post),
    setting("clone.parent_snapshot.name", Takes::Text, Place::Post),
    setting("restore_to.snapshot.name", Takes::Text, Place::Patch),
    setting("restore_to.snapshot.uuid", Takes::Text, Place::Patch),
];

impl Resource for Volumes {
    type Item = ObjectId;

    const NAME: &'static str = "volume";
    const IN_QUERY: &'static [&'static str] = &["restore_to.snapshot.name", "restore_to.snapshot.uuid"];

    fn path(&self) -> String {
        "/api/storage/volumes".into()
    }

    fn fields(&self) -> &'static [Field<ObjectId>] {
        FIELDS
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn items(&self, view: &View<'_>) -> Vec<ObjectId> {
        view.objects(ObjectKind::Volume)
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<ObjectId> {
        view.object(ObjectKind::Volume, key)
    }

    fn key(&self, _: &View<'_>, item: ObjectId) -> String {
        uuid_of(item)
    }

    fn svm(&self, view: &View<'_>, item: ObjectId) -> Option<ObjectId> {
        view.registry().svm_of(item)
    }

    fn create(&self, view: &View<'_>, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let svm = view.svm_in(body)?;
        let vserver = Some(view.object_name(svm)?);
        let name = body.value("name")?;
        let name: ObjectName = body.required("name", name)?;
        view.any_aggregate(body)?;
        body.only("style", "flexvol")?;
        body.only("type", "rw")?;
        let Nas { path, user, group, unix_permissions } = nas_in(body)?;
        let junction_path = path.flatten();
        let policy = view.assignment(policy_in(body)?, None)?;
        if let Some(clone) = body.object("clone")? {
            if user.is_some() || group.is_some() || unix_permissions.is_some() {
                return Err(of_parent());
            }
            let (parent_volume, parent_snapshot) = parent(view, svm, clone)?;
            return Ok(vec![Command::Clone(CloneCommand::Volume(VolumeCloneCreate {
                flexclone: name,
                vserver,
                parent_volume,
                parent_snapshot,
                junction_path,
                qos_policy_group: policy.fixed,
                qos_adaptive_policy_group: policy.adaptive,
            }))]);
        }
        Ok(vec![Command::Volume(VolumeCommand::Create(VolumeCreate {
            volume: name,
            vserver,
            aggregate: None,
            size: size_in(body, "size")?,
            junction_path,
            user,
            group,
            unix_permissions,
            qos_policy_group: policy.fixed,
            qos_adaptive_policy_group: policy.adaptive,
        }))])
    }

    fn made(&self, view: &View<'_>, mut body: Body) -> Option<ObjectId> {
        let svm = view.svm_in(&mut body).ok()?;
        view.registry().find_volume(svm, &body.text("name").ok()??)
    }

    fn modify(&self, view: &View<'_>, item: ObjectId, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let (volume, vserver) = (view.object_name(item)?, view.svm_name(item)?);
        let size = size_in(body, "size")?;
        let policy = view.assignment(policy_in(body)?, Some(item))?;
        let Nas { path, user, group, unix_permissions } = nas_in(body)?;
        let is_permitted = user.is_some() || group.is_some() || unix_permissions.is_some();
        let mut commands = Vec::new();
        if let Some(snapshot) = restored(view, item, body)? {
            let (volume, vserver) = (volume.clone(), vserver.clone());
            let restore = SnapshotRestore { volume, vserver, snapshot, force: Switch(false) };
            commands.push(Command::Snapshot(SnapshotCommand::Restore(restore)));
        }
        if size.is_some() || is_permitted || !policy.is_none() {
            commands.push(Command::Volume(VolumeCommand::Modify(VolumeModify {
                volume: Query::exact(volume.as_str()),
                vserver: vserver.clone(),
                size: size.map(NewSize::Is),
                user,
                group,
                unix_permissions,
                qos_policy_group: policy.fixed,
                qos_adaptive_policy_group: policy.adaptive,
            })));
        }
        if let Some(path) = path {
            commands.extend(moved(view, item, path)?);
        }
        if let Some(new_name) = view.new_name(item, body)? {
            commands.push(Command::Volume(VolumeCommand::Rename(VolumeRename { volume, vserver, new_name })));
        }
        Ok(commands)
    }

    fn delete(&self, view: &View<'_>, item: ObjectId) -> Result<Vec<Command>, Problem> {
        let (volume, vserver) = (view.object_name(item)?, view.svm_name(item)?);
        Ok(vec![Command::Volume(VolumeCommand::Delete(VolumeDelete { volume, vserver, force: Switch(false) }))])
    }
}

/// A volume's place in the name space from now on, or none. A command would refuse to move it
/// there from another; here it leaves that first.
fn moved(view: &View<'_>, item: ObjectId, path: Option<JunctionPath>) -> Result<Vec<Command>, Problem> {
    let (volume, vserver) = (view.object_name(item)?, view.svm_name(item)?);
    let mut commands = Vec::new();
    if view.administration.details(item).junction != path {
        let (volume, vserver) = (volume.clone(), vserver.clone());
        commands.push(VolumeCommand::Unmount(VolumeUnmount { volume, vserver }));
    }
    if let Some(junction_path) = path {
        commands.push(VolumeCommand::Mount(VolumeMount { volume, vserver, junction_path }));
    }
    Ok(commands.into_iter().map(Command::Volume).collect())
}

/// Takes `qos.policy` of a body.
fn policy_in(body: &mut Body) -> Result<Option<Body>, Problem> {
    let Some(mut qos) = body.object("qos")? else { return Ok(None) };
    let policy = qos.object("policy")?;
    qos.end()?;
    Ok(policy)
}

/// The settings in `nas`.
#[derive(Default)]
struct Nas {
    /// The junction path; an empty one removes it.
    path: Option<Option<JunctionPath>>,
    user: Option<Count>,
    group: Option<Count>,
    unix_permissions: Option<UnixPermissions>,
}

fn nas_in(body: &mut Body) -> Result<Nas, Problem> {
    let Some(mut nas) = body.object("nas")? else { return Ok(Nas::default()) };
    let path = match nas.text("path")?.as_deref() {
        None => None,
        Some("") => Some(None),
        Some(text) => Some(Some(parsed(&nas.name("path"), text)?)),
    };
    nas.only("security_style", "unix")?;
    let user = id_in(&mut nas, "uid")?;
    let group = id_in(&mut nas, "gid")?;
    // The digits are octal: 755 is rwxr-xr-x.
    let digits = nas.number("unix_permissions")?.map(|digits| digits.to_string());
    let name = nas.name("unix_permissions");
    let wrong = |digits: &str| format!("{name}: {digits}: must be octal digits, as in 755");
    let unix_permissions = digits
        .map(|digits| digits.parse().map_err(|_| Problem::bad(code::INVALID_VALUE, &name, wrong(&digits))))
        .transpose()?;
    nas.end()?;
    Ok(Nas { path, user, group, unix_permissions })
}

/// The number of a user or group, as a command's parameter.
fn id_in(nas: &mut Body, field: &str) -> Result<Option<Count>, Problem> {
    let name = nas.name(field);
    nas.number(field)?.map(|number| parsed(&name, &number.to_string())).transpose()
}

fn parsed<T: FromStr<Err = ValueError>>(field: &str, text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error| Problem::bad(code::INVALID_VALUE, field, format!("{field}: {error}")))
}

/// Permissions as a number whose digits are octal.
fn octal_digits(mode: u32) -> Option<Value> {
    format!("{mode:o}").parse::<u64>().ok().map(Value::from)
}

/// The refusal of owner or permissions for a clone, which has its parent's.
fn of_parent() -> Problem {
    let message = "nas.uid, nas.gid and nas.unix_permissions: a clone has its parent's; change them afterwards";
    Problem::bad(code::INVALID_VALUE, "nas", message.to_owned())
}

/// The volume and the snapshot that `clone` names.
fn parent(view: &View<'_>, svm: ObjectId, mut clone: Body) -> Result<(ObjectName, Option<ObjectName>), Problem> {
    if clone.truth("is_flexclone")? == Some(false) {
        let field = clone.name("is_flexclone");
        return Err(Problem::bad(code::INVALID_VALUE, &field, format!("{field}: a clone is one; leave `clone` out")));
    }
    if let Some(mut parent_svm) = clone.object("parent_svm")? {
        let (name, uuid) = (parent_svm.text("name")?, parent_svm.text("uuid")?);
        let is_other =
            name.is_some_and(|name| name != view.name_of(svm)) || uuid.is_some_and(|uuid| uuid != uuid_of(svm));
        if is_other {
            let field = clone.name("parent_svm");
            let message = format!("{field}: a clone is in its parent's SVM, {}; name that one", view.name_of(svm));
            return Err(Problem::bad(code::INVALID_VALUE, &field, message));
        }
        parent_svm.end()?;
    }
    let volume = view.object_name(view.volume_in(svm, "parent_volume", &mut clone)?)?;
    let snapshot = match clone.object("parent_snapshot")? {
        None => None,
        Some(mut snapshot) => {
            let name = snapshot.value("name")?;
            snapshot.end()?;
            name
        }
    };
    clone.end()?;
    Ok((volume, snapshot))
}

/// The snapshot that `restore_to` names.
fn restored(view: &View<'_>, volume: ObjectId, body: &mut Body) -> Result<Option<ObjectName>, Problem> {
    let Some(mut place) = body.object("restore_to")? else { return Ok(None) };
    let Some(mut snapshot) = place.object("snapshot")? else {
        place.end()?;
        return Ok(None);
    };
    let (name, uuid) = (snapshot.value::<ObjectName>("name")?, snapshot.text("uuid")?);
    let field = snapshot.name("uuid");
    snapshot.end()?;
    place.end()?;
    let Some(uuid) = uuid else { return Ok(name) };
    let Some(of_uuid) = VolumeSnapshots { volume }.name_of(view, &uuid)? else {
        let message = format!("{field}: the volume has no snapshot {uuid:?}");
        return Err(Problem::bad(code::INVALID_VALUE, &field, message));
    };
    match name.filter(|name| *name != of_uuid) {
        None => Ok(Some(of_uuid)),
        Some(name) => {
            let message = format!("{field}: is the snapshot {of_uuid}, not {name}; give one of them");
            Err(Problem::bad(code::INVALID_VALUE, &field, message))
        }
    }
}

/// A size in bytes.
pub(super) fn size_in(body: &mut Body, field: &str) -> Result<Option<UnitSize>, Problem> {
    Ok(body.number(field)?.map(|number| UnitSize { number, unit: SizeUnit::Bytes }))
}

impl View<'_> {
    /// The size allocated to an object, in bytes.
    pub fn size_of(&self, object: ObjectId) -> u64 {
        self.registry().object(object).map_or(0, |object| object.size().allocated.0)
    }

    /// Length of a file in bytes. That of a clients' file is asked for; others have the size that
    /// they were given.
    pub fn length_of(&self, file: ObjectId) -> u64 {
        match self.registry().object(file).map(Object::kind) {
            Some(ObjectKind::ClientFile) => self.at.world.length(file),
            _ => self.size_of(file),
        }
    }

    /// Owner and mode of a volume's top folder; requires asking the data thread.
    fn top_of(&self, volume: ObjectId) -> Option<Top> {
        self.at.world.files(volume).top
    }

    /// Bytes that an object and everything in it use; requires asking the data thread.
    pub fn used_in(&self, object: ObjectId) -> u64 {
        self.administration.used_in(object, &|leaf| self.at.world.used(leaf))
    }
}
