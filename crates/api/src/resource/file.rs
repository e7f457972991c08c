//! `/api/storage/volumes/UUID/files`: the files of a volume, each by its path from the volume's root. They are made on the
//! command line: a file of ONTAP's is made by writing it.

use super::volume::size_in;
use super::{Resource, View};
use crate::body::Body;
use crate::problem::{Problem, code};
use crate::query::encoded;
use crate::record::{Field, Kind, asked, key, known};
use admin::uuid_of;
use block::ObjectId;
use ontap::Command;
use ontap::catalogue::{FileCommand, FileDelete, FileModify, FileRename};
use ontap::value::{FilePath, Switch, ValueError};
use qos::{Object, ObjectKind};

/// A volume's files.
pub(crate) struct VolumeFiles {
    pub volume: ObjectId,
}

const FIELDS: &[Field<ObjectId>] = &[
    key("path", |view, file| Some(path_in_volume(view, file).into())),
    key("name", |view, file| Some(path_in_volume(view, file).rsplit('/').next().unwrap_or_default().into())),
    key("volume", |view, file| Some(view.name_value(view.above(file, ObjectKind::Volume)?))).of(Kind::Named),
    known("type", |_, _| Some("file".into())),
    known("size", |view, file| Some(view.size_of(file).into())).of(Kind::Number),
    known("qos_policy.name", |view, file| view.policy_name(file)),
    known("qos_policy.uuid", |view, file| view.policy_uuid(file)),
    asked("bytes_used", |view, file| Some(view.used_in(file).into())).of(Kind::Number),
];

impl Resource for VolumeFiles {
    type Item = ObjectId;

    const NAME: &'static str = "file";
    const CHANGES: &'static [&'static str] = &["PATCH", "DELETE"];

    fn path(&self) -> String {
        format!("/api/storage/volumes/{}/files", uuid_of(self.volume))
    }

    fn fields(&self) -> &'static [Field<ObjectId>] {
        FIELDS
    }

    fn items(&self, view: &View<'_>) -> Vec<ObjectId> {
        let is_in = |file: &ObjectId| view.above(*file, ObjectKind::Volume) == Some(self.volume);
        view.objects(ObjectKind::File).into_iter().filter(is_in).collect()
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<ObjectId> {
        let file = view.registry().find_file(self.volume, &format!("/{}", key.trim_start_matches('/')))?;
        view.registry().object(file).map(Object::id)
    }

    /// In one part of the URL, as the client sends it.
    fn key(&self, view: &View<'_>, item: ObjectId) -> String {
        encoded(&path_in_volume(view, item))
    }

    fn svm(&self, view: &View<'_>, _: ObjectId) -> Option<ObjectId> {
        view.registry().svm_of(self.volume)
    }

    fn of_svm(&self, view: &View<'_>) -> Option<ObjectId> {
        view.registry().svm_of(self.volume)
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
        let field = body.name("path");
        if let Some(new_path) = body.text("path")? {
            let new_path: FilePath = format!("/{}", new_path.trim_start_matches('/'))
                .parse()
                .map_err(|error| Problem::bad(code::INVALID_VALUE, &field, format!("{field}: {error}")))?;
            if new_path != file {
                commands.push(FileCommand::Rename(FileRename { file, volume, vserver, new_path }));
            }
        }
        Ok(commands.into_iter().map(Command::File).collect())
    }

    fn delete(&self, view: &View<'_>, item: ObjectId) -> Result<Vec<Command>, Problem> {
        let (volume, vserver) = (view.object_name(self.volume)?, view.svm_name(item)?);
        let (file, force) = (path(view, item)?, Switch(false));
        Ok(vec![Command::File(FileCommand::Delete(FileDelete { file, volume, vserver, force }))])
    }
}

/// `dir/disk.img`, without the volume and without a slash before it.
fn path_in_volume(view: &View<'_>, file: ObjectId) -> String {
    let path = view.path_in_svm(file);
    let path = path.strip_prefix("/vol/").and_then(|path| path.split_once('/'));
    path.map(|(_, path)| path.to_owned()).unwrap_or_default()
}

fn path(view: &View<'_>, file: ObjectId) -> Result<FilePath, Problem> {
    let path = format!("/{}", path_in_volume(view, file));
    path.parse().map_err(|error: ValueError| Problem::new(500, code::INTERNAL, error.to_string()))
}
