//! The resources: their items, their fields, and the commands of their changes.

mod aggregate;
mod certificate;
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
pub(crate) use certificate::Certificates;
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

/// The state that a request sees.
pub(crate) struct View<'a> {
    pub administration: &'a Administration,
    pub at: &'a At<'a>,
    pub caller: &'a Caller,
    pub jobs: &'a Jobs,
    /// The name and identifier of the server.
    pub cluster: &'a Cluster,
    /// The log of events, oldest first, once it has been read.
    pub events: OnceCell<Vec<Arc<Event>>>,
}

/// A kind of item that forms a collection.
pub(crate) trait Resource {
    /// One item.
    type Item: Copy + 'static;

    /// The name of an item in messages.
    const NAME: &'static str;
    /// Whether a change is answered with a job.
    const HAS_JOBS: bool = true;
    /// The supported methods that change it.
    const CHANGES: &'static [&'static str] = &["POST", "PATCH", "DELETE"];
    /// Dotted names of text fields of a PATCH's body that may be given in its query.
    const IN_QUERY: &'static [&'static str] = &[];

    /// The collection's path: `/api/storage/volumes`.
    fn path(&self) -> String;

    /// The fields of its records, keys first.
    fn fields(&self) -> &'static [Field<Self::Item>];

    /// The fields of bodies that make and change an item.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    /// All items, in the order of the listing.
    fn items(&self, view: &View<'_>) -> Vec<Self::Item>;

    /// The item with a key, the part of the path after the collection's.
    fn find(&self, view: &View<'_>, key: &str) -> Option<Self::Item>;

    /// The key of an item.
    fn key(&self, view: &View<'_>, item: Self::Item) -> String;

    /// The fields that identify an item in a body, in the order of the path. Each record in a list
    /// of changes has them.
    const KEYS: &'static [&'static str] = &["uuid"];
    /// Whether an item is made by a POST to its own path.
    const MADE_AT_KEY: bool = false;

    /// Takes the key of an item out of a body.
    fn key_in(&self, body: &mut Body) -> Result<String, Problem> {
        let one = |field: &&str| {
            let value = body.at(field)?;
            body.required(field, value)
        };
        Ok(Self::KEYS.iter().map(one).collect::<Result<Vec<String>, Problem>>()?.join("/"))
    }

    /// Sets the key fields of a body from the path.
    fn put_key(&self, _body: &mut Body, _key: &str) -> Result<(), Problem> {
        Err(unsupported(Self::NAME, "POST"))
    }

    /// Whether the caller may see an item.
    fn is_seen(&self, view: &View<'_>, item: Self::Item) -> bool {
        view.sees(self.svm(view, item))
    }

    /// The SVM of an item; `None` if it belongs to the whole server.
    fn svm(&self, view: &View<'_>, item: Self::Item) -> Option<ObjectId>;

    /// The SVM of all items, if they share one.
    fn of_svm(&self, _view: &View<'_>) -> Option<ObjectId> {
        None
    }

    /// The commands that make an item.
    fn create(&self, _view: &View<'_>, _body: &mut Body) -> Result<Vec<Command>, Problem> {
        Err(unsupported(Self::NAME, "POST"))
    }

    /// The item that a body had made, found by name.
    fn made(&self, _view: &View<'_>, _body: Body) -> Option<Self::Item> {
        None
    }

    /// The commands that change an item.
    fn modify(&self, _view: &View<'_>, _item: Self::Item, _body: &mut Body) -> Result<Vec<Command>, Problem> {
        Err(unsupported(Self::NAME, "PATCH"))
    }

    /// The commands for a key that names something which is not an item yet; `None` if the key
    /// names nothing.
    fn modify_other(&self, _view: &View<'_>, _key: &str, _body: &mut Body) -> Option<Result<Vec<Command>, Problem>> {
        None
    }

    /// The commands that delete an item.
    fn delete(&self, _view: &View<'_>, _item: Self::Item) -> Result<Vec<Command>, Problem> {
        Err(unsupported(Self::NAME, "DELETE"))
    }
}

pub(crate) fn unsupported(name: &str, method: &str) -> Problem {
    // "An SVM", because of its pronunciation.
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'S']) { "an" } else { "a" };
    Problem::new(405, code::UNSUPPORTED, format!("{method}: cannot be done with {article} {name}"))
}

impl View<'_> {
    /// The registry of the administration.
    pub fn registry(&self) -> &Registry {
        &self.administration.registry
    }

    /// Whether the caller may see what belongs to an SVM.
    pub fn sees(&self, svm: Option<ObjectId>) -> bool {
        match (&self.caller.role, svm) {
            (Role::Svm(own), Some(svm)) => self.name_of(svm) == own,
            _ => true,
        }
    }

    /// Whether the caller may see what concerns all SVMs together.
    pub fn sees_all(&self) -> bool {
        !matches!(self.caller.role, Role::Svm(_))
    }

    /// The log of events, oldest first.
    pub fn events(&self) -> &[Arc<Event>] {
        self.events.get_or_init(|| self.at.world.events())
    }

    /// Checks that the caller may change what belongs to an SVM, or with `None` to the whole
    /// server.
    pub fn may_change(&self, svm: Option<ObjectId>) -> Result<(), Problem> {
        match &self.caller.role {
            Role::Admin => Ok(()),
            Role::Svm(own) if svm.is_some_and(|svm| self.name_of(svm) == own) => Ok(()),
            role => Err(Problem::denied(format!("{}: may not do that, with the role {role}", self.caller.name))),
        }
    }

    /// An object's own name; empty if it does not exist.
    pub fn name_of(&self, object: ObjectId) -> &str {
        self.registry().object(object).map(Object::name).unwrap_or_default()
    }

    /// All objects of a kind, by number.
    pub fn objects(&self, kind: ObjectKind) -> Vec<ObjectId> {
        self.registry().objects().filter(|object| object.kind() == kind).map(Object::id).collect()
    }

    /// The object of a kind with that identifier.
    pub fn object(&self, kind: ObjectKind, uuid: &str) -> Option<ObjectId> {
        let object = self.registry().object(admin::object_of_uuid(uuid)?)?;
        (object.kind() == kind).then(|| object.id())
    }

    /// The object of a kind that contains an object; an object contains itself.
    pub fn above(&self, object: ObjectId, kind: ObjectKind) -> Option<ObjectId> {
        self.registry().path(object).find(|above| above.kind() == kind).map(Object::id)
    }

    /// An object's name as a command's parameter; every name in the registry is valid.
    pub fn object_name(&self, object: ObjectId) -> Result<ObjectName, Problem> {
        let name = self.name_of(object);
        name.parse().map_err(|error| Problem::new(500, code::INTERNAL, format!("{name}: {error}")))
    }

    /// The name of an object's SVM as a command's parameter.
    pub fn svm_name(&self, object: ObjectId) -> Result<Option<ObjectName>, Problem> {
        self.registry().svm_of(object).map(|svm| self.object_name(svm)).transpose()
    }
}
