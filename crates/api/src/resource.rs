//! The resources: of each what there is, its fields, and the commands that its changes are.

mod aggregate;
mod cluster;
mod event;
mod file;
mod job;
mod lun;
mod metrics;
mod policy;
mod qtree;
mod reference;
mod snapshot;
mod svm;
mod volume;
mod workload;

pub(crate) use aggregate::Aggregates;
pub use cluster::Cluster;
pub(crate) use event::EmsEvents;
pub(crate) use file::VolumeFiles;
pub(crate) use job::{Job, Jobs, JobsResource};
pub(crate) use lun::Luns;
pub(crate) use metrics::Metrics;
pub(crate) use policy::Policies;
pub(crate) use qtree::Qtrees;
pub(crate) use snapshot::VolumeSnapshots;
pub(crate) use svm::Svms;
pub(crate) use volume::Volumes;
pub(crate) use workload::Workloads;

use crate::body::Body;
use crate::caller::{Caller, Role};
use crate::problem::{Problem, code};
use crate::record::Field;
use crate::setting::Setting;
use admin::{Administration, At, Event};
use block::ObjectId;
use ontap::Command;
use ontap::value::ObjectName;
use qos::{Object, ObjectKind, Registry};
use std::cell::OnceCell;
use std::sync::Arc;

/// What a request sees.
pub(crate) struct View<'a> {
    pub administration: &'a Administration,
    pub at: &'a At<'a>,
    pub caller: &'a Caller,
    pub jobs: &'a Jobs,
    /// What the server calls itself.
    pub cluster: &'a Cluster,
    /// What the server noticed, the oldest first, once somebody looked.
    pub events: OnceCell<Vec<Arc<Event>>>,
}

/// A kind of thing that there is a collection of.
pub(crate) trait Resource {
    /// One of them.
    type Item: Copy + 'static;

    /// What one is called in messages.
    const NAME: &'static str;
    /// Whether a change answers with a job.
    const HAS_JOBS: bool = true;
    /// The methods that change it.
    const CHANGES: &'static [&'static str] = &["POST", "PATCH", "DELETE"];
    /// Texts of a PATCH's body that may stand in its query instead, by their dotted names.
    const IN_QUERY: &'static [&'static str] = &[];

    /// The collection's path: `/api/storage/volumes`.
    fn path(&self) -> String;

    /// Its records' fields, the keys first.
    fn fields(&self) -> &'static [Field<Self::Item>];

    /// What bodies that make and change one may have.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    /// All of them, in the order that they are listed in.
    fn items(&self, view: &View<'_>) -> Vec<Self::Item>;

    /// The one that stands behind the collection's path.
    fn find(&self, view: &View<'_>, key: &str) -> Option<Self::Item>;

    /// What stands behind the collection's path for one.
    fn key(&self, view: &View<'_>, item: Self::Item) -> String;

    /// The fields that a body names one by, in the order in which the path does: of a list of
    /// records to change, each has them.
    const KEYS: &'static [&'static str] = &["uuid"];
    /// Whether one is made by a POST to its own path.
    const MADE_AT_KEY: bool = false;

    /// The key of the one that a body names, taken out of it.
    fn key_in(&self, body: &mut Body) -> Result<String, Problem> {
        let one = |field: &&str| {
            let value = body.at(field)?;
            body.required(field, value)
        };
        Ok(Self::KEYS.iter().map(one).collect::<Result<Vec<String>, Problem>>()?.join("/"))
    }

    /// Has a body name what stands in the path.
    fn put_key(&self, _body: &mut Body, _key: &str) -> Result<(), Problem> {
        Err(unsupported(Self::NAME, "POST"))
    }

    /// Whether one is shown to the caller.
    fn is_seen(&self, view: &View<'_>, item: Self::Item) -> bool {
        view.sees(self.svm(view, item))
    }

    /// The SVM that one belongs to; `None` for what is everybody's.
    fn svm(&self, view: &View<'_>, item: Self::Item) -> Option<ObjectId>;

    /// The SVM that all of them belong to, where that is one.
    fn of_svm(&self, _view: &View<'_>) -> Option<ObjectId> {
        None
    }

    /// What makes one.
    fn create(&self, _view: &View<'_>, _body: &mut Body) -> Result<Vec<Command>, Problem> {
        Err(unsupported(Self::NAME, "POST"))
    }

    /// The one that a body had made: by its name.
    fn made(&self, _view: &View<'_>, _body: Body) -> Option<Self::Item> {
        None
    }

    /// What changes one.
    fn modify(&self, _view: &View<'_>, _item: Self::Item, _body: &mut Body) -> Result<Vec<Command>, Problem> {
        Err(unsupported(Self::NAME, "PATCH"))
    }

    /// What changes something that a key names and that is none of them yet; `None` where the key
    /// names nothing.
    fn modify_other(&self, _view: &View<'_>, _key: &str, _body: &mut Body) -> Option<Result<Vec<Command>, Problem>> {
        None
    }

    /// What takes one away.
    fn delete(&self, _view: &View<'_>, _item: Self::Item) -> Result<Vec<Command>, Problem> {
        Err(unsupported(Self::NAME, "DELETE"))
    }
}

pub(crate) fn unsupported(name: &str, method: &str) -> Problem {
    // "An SVM" by how that is spoken.
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'S']) { "an" } else { "a" };
    Problem::new(405, code::UNSUPPORTED, format!("{method}: cannot be done with {article} {name}"))
}

impl View<'_> {
    /// What there is.
    pub fn registry(&self) -> &Registry {
        &self.administration.registry
    }

    /// Whether what belongs to an SVM is shown to whoever asks.
    pub fn sees(&self, svm: Option<ObjectId>) -> bool {
        match (&self.caller.role, svm) {
            (Role::Svm(own), Some(svm)) => self.name_of(svm) == own,
            _ => true,
        }
    }

    /// Whether what is of all SVMs together is shown to whoever asks.
    pub fn sees_all(&self) -> bool {
        !matches!(self.caller.role, Role::Svm(_))
    }

    /// What the server noticed, the oldest first.
    pub fn events(&self) -> &[Arc<Event>] {
        self.events.get_or_init(|| self.at.world.events())
    }

    /// Whether whoever asks may change what belongs to an SVM, or, with `None`, to everybody.
    pub fn may_change(&self, svm: Option<ObjectId>) -> Result<(), Problem> {
        match &self.caller.role {
            Role::Admin => Ok(()),
            Role::Svm(own) if svm.is_some_and(|svm| self.name_of(svm) == own) => Ok(()),
            role => Err(Problem::denied(format!("{}: may not do that, with the role {role}", self.caller.name))),
        }
    }

    /// An object's own name; nothing where there is no such object.
    pub fn name_of(&self, object: ObjectId) -> &str {
        self.registry().object(object).map(Object::name).unwrap_or_default()
    }

    /// All objects of a kind, by number.
    pub fn objects(&self, kind: ObjectKind) -> Vec<ObjectId> {
        self.registry().objects().filter(|object| object.kind() == kind).map(Object::id).collect()
    }

    /// The object of a kind that has an identifier.
    pub fn object(&self, kind: ObjectKind, uuid: &str) -> Option<ObjectId> {
        let object = self.registry().object(admin::object_of_uuid(uuid)?)?;
        (object.kind() == kind).then(|| object.id())
    }

    /// What an object is in, of a kind; an object is in itself.
    pub fn above(&self, object: ObjectId, kind: ObjectKind) -> Option<ObjectId> {
        self.registry().path(object).find(|above| above.kind() == kind).map(Object::id)
    }

    /// An object's name, for a command: what the registry took as a name is one.
    pub fn object_name(&self, object: ObjectId) -> Result<ObjectName, Problem> {
        let name = self.name_of(object);
        name.parse().map_err(|error| Problem::new(500, code::INTERNAL, format!("{name}: {error}")))
    }

    /// The name of an object's SVM, for a command.
    pub fn svm_name(&self, object: ObjectId) -> Result<Option<ObjectName>, Problem> {
        self.registry().svm_of(object).map(|svm| self.object_name(svm)).transpose()
    }
}
