//! `/api/storage/volumes/UUID/files`: the files of a volume, by their paths from the volume's root.
//! A POST to a path makes a file of fixed size. Hosts use it as a block device, so no data is sent
//! with it.

use super::volume::size_in;
use super::{Resource, View};
use crate::body::Body;
use crate::problem::{Problem, code};
use crate::query::encoded;
use crate::record::{Field, Kind, asked, key, known};
use crate::setting::{Place, Setting, Takes, setting};
use admin::uuid_of;
use block::ObjectId;
use ontap::Command;
use ontap::catalogue::{FileCommand, FileCreate, FileDelete, FileModify, FileRename};
use ontap::value::{FilePath, Switch, ValueError};
use qos::{Object, ObjectKind};

/// The files of a volume.
pub(crate) struct VolumeFiles {
    pub volume: ObjectId,
}

const FIELDS: &[Field<ObjectId>] = &[
    key("path", |view, file| Some(path_in_volume(view, file).into())),
    key("name", |view, file| Some(path_in_volume(view, file).rsplit('/').next().unwrap_or_default().into())),
    key("volume", |view, file| Some(view.name_value(view.above(file, ObjectKind::Volume)?))).of(Kind::Named),
    known("type", |_, _| Some("file".into())),
    known("size", |view, file| Some(view.length_of(file).into())).of(Kind::Number),
    known("qos_policy.name", |view, file| view.policy_name(file)),
    known("qos_policy.uuid", |view, file| view.policy_uuid(file)),
    known("qos_policy.max_throughput_iops", |view, object| view.max_iops(object)).of(Kind::Number),
    known("qos_policy.max_throughput_mbps", |view, object| view.max_mbps(object)).of(Kind::Number),
    known("qos_policy.min_throughput_iops", |view, object| view.min_iops(object)).of(Kind::Number),
    known("qos_policy.min_throughput_mbps", |view, object| view.min_mbps(object)).of(Kind::Number),
    asked("bytes_used", |view, file| Some(view.used_in(file).into())).of(Kind::Number),
];

const SETTINGS: &[Setting] = &[
    setting("path", Takes::Text, Place::Both),
    setting("size", Takes::Number, Place::RequiredAndPatch),
    setting("type", Takes::OneOf(&["file"]), Place::Post),
    setting("qos_policy", Takes::Policy, Place::Both),
];

impl Resource for VolumeFiles {
    type Item = ObjectId;

    const NAME: &'static str = "file";
    const KEYS: &'static [&'static str] = &["path"];
    const MADE_AT_KEY: bool = true;

    fn path(&self) -> String {
        format!("/api/storage/volumes/{}/files", uuid_of(self.volume))
    }

    fn fields(&self) -> &'static [Field<ObjectId>] {
        FIELDS
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn items(&self, view: &View<'_>) -> Vec<ObjectId> {
        let files = view.registry().objects().filter(|object| object.kind().is_file()).map(Object::id);
        files.filter(|file| view.above(*file, ObjectKind::Volume) == Some(self.volume)).collect()
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<ObjectId> {
        let file = view.registry().find_file(self.volume, &format!("/{}", key.trim_start_matches('/')))?;
        view.registry().object(file).map(Object::id)
    }

    /// One part of the URL, encoded as the client does.
    fn key(&self, view: &View<'_>, item: ObjectId) -> String {
        encoded(&path_in_volume(view, item))
    }

    fn svm(&self, view: &View<'_>, _: ObjectId) -> Option<ObjectId> {
        view.registry().svm_of(self.volume)
    }

    fn of_svm(&self, view: &View<'_>) -> Option<ObjectId> {
        view.registry().svm_of(self.volume)
    }

    fn put_key(&self, body: &mut Body, key: &str) -> Result<(), Problem> {
        body.put("path", key)
    }

    fn create(&self, view: &View<'_>, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let file = path_in(body)?;
        body.only("type", "file")?;
        let (size, policy) = (size_in(body, "size")?, view.assignment(body.object("qos_policy")?, None)?);
        Ok(vec![Command::File(FileCommand::Create(FileCreate {
            file: body.required("path", file)?,
            volume: view.object_name(self.volume)?,
            vserver: view.svm_name(self.volume)?,
            size: body.required("size", size)?,
            qos_policy_group: policy.fixed,
            qos_adaptive_policy_group: policy.adaptive,
        }))])
    }

    fn made(&self, view: &View<'_>, mut body: Body) -> Option<ObjectId> {
        view.registry().find_file(self.volume, path_in(&mut body).ok()??.as_str())
    }

    fn modify(&self, view: &View<'_>, item: ObjectId, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let (volume, vserver, file) = (view.object_name(self.volume)?, view.svm_name(item)?, path(view, item)?);
        let size = size_in(body, "size")?;
        let policy = view.assignment(body.object("qos_policy")?, Some(item))?;
        let mut commands = Vec::new();
        if size.is_some() || !policy.is_none() {
            commands.push(FileCommand::Modify(FileModify {
                file: file.clone(),
                volume: volume.clone(),
                vserver: vserver.clone(),
                size,
                force: Switch(false),
                qos_policy_group: policy.fixed,
                qos_adaptive_policy_group: policy.adaptive,
            }));
        }
        if let Some(new_path) = path_in(body)?.filter(|new_path| *new_path != file) {
            commands.push(FileCommand::Rename(FileRename { file, volume, vserver, new_path }));
        }
        Ok(commands.into_iter().map(Command::File).collect())
    }

    /// A clients' file becomes an item when it gets a policy.
    fn modify_other(&self, view: &View<'_>, key: &str, body: &mut Body) -> Option<Result<Vec<Command>, Problem>> {
        let file: FilePath = format!("/{}", key.trim_start_matches('/')).parse().ok()?;
        view.at.world.client_file(self.volume, file.as_str())?;
        Some(self.assign(view, file, body))
    }

    fn delete(&self, view: &View<'_>, item: ObjectId) -> Result<Vec<Command>, Problem> {
        let (volume, vserver) = (view.object_name(self.volume)?, view.svm_name(item)?);
        let (file, force) = (path(view, item)?, Switch(false));
        Ok(vec![Command::File(FileCommand::Delete(FileDelete { file, volume, vserver, force }))])
    }
}

impl VolumeFiles {
    fn assign(&self, view: &View<'_>, file: FilePath, body: &mut Body) -> Result<Vec<Command>, Problem> {
        view.may_change(view.registry().svm_of(self.volume))?;
        let policy = view.assignment(body.object("qos_policy")?, None)?;
        Ok(vec![Command::File(FileCommand::Modify(FileModify {
            file,
            volume: view.object_name(self.volume)?,
            vserver: view.svm_name(self.volume)?,
            size: size_in(body, "size")?,
            force: Switch(false),
            qos_policy_group: policy.fixed,
            qos_adaptive_policy_group: policy.adaptive,
        }))])
    }
}

/// The path in a body, from the volume's root, with or without a leading slash.
fn path_in(body: &mut Body) -> Result<Option<FilePath>, Problem> {
    let field = body.name("path");
    let Some(path) = body.text("path")? else { return Ok(None) };
    let path = format!("/{}", path.trim_start_matches('/')).parse();
    path.map(Some).map_err(|error| Problem::bad(code::INVALID_VALUE, &field, format!("{field}: {error}")))
}

/// The path within the volume, without a leading slash: `dir/disk.img`.
fn path_in_volume(view: &View<'_>, file: ObjectId) -> String {
    let path = view.path_in_svm(file);
    let path = path.strip_prefix("/vol/").and_then(|path| path.split_once('/'));
    path.map(|(_, path)| path.to_owned()).unwrap_or_default()
}

fn path(view: &View<'_>, file: ObjectId) -> Result<FilePath, Problem> {
    let path = format!("/{}", path_in_volume(view, file));
    path.parse().map_err(|error: ValueError| Problem::new(500, code::INTERNAL, error.to_string()))
}
