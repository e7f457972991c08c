//! The registry: which storage objects and policy groups exist, which object is in which group, and
//! what follows for the scheduler.
//!
//! ```text
//!   SVM ── volume ── qtree ── LUN, file          policy group (of one SVM, or built in)
//!             └───── LUN, file                      ▲ an object is in one group at most
//! ```
//!
//! Every change is checked first and then applied. Either it is refused and nothing has changed, or
//! all of it holds and the [`Edit`]s say what the scheduler must do. The edits since the registry
//! was made, applied in order, always give the limits that the registry reports. Nothing here reads
//! a clock; `now` is passed in where a delay counts.

mod attach;
mod catalogue;
mod evaluate;
mod groups;
mod in_force;
mod objects;
mod promised;
mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use block::{ObjectId, Time};

pub use catalogue::{Catalogue, GroupRecord, ObjectRecord};
pub use groups::{AdaptiveChange, BurstChange, FixedChange, NewGroup, PolicyChange};
pub use in_force::{InForce, Level};
pub use undo::{Touched, Undo};

use crate::edit::{Edit, GroupId, Limits};
use crate::group::{Group, presets};
use crate::object::{Object, ObjectKind};
use crate::rule::{Refusal, Rule};
use crate::settings::RegistrySettings;

/// All objects and policy groups of one storage server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    settings: RegistrySettings,
    objects: BTreeMap<ObjectId, Object>,
    svms: BTreeMap<Arc<str>, ObjectId>,
    groups: BTreeMap<GroupId, Group>,
    group_names: BTreeMap<Arc<str>, GroupId>,
    /// Objects in policy groups.
    workloads: usize,
    /// Whether SVMs take turns even where no limit binds.
    fair: bool,
    /// Objects whose size changed since their adaptive policy was evaluated, by when it is to be
    /// evaluated anew.
    due: BTreeSet<(Time, ObjectId)>,
    /// Numbers are never used twice in a registry's life.
    next_object: u32,
    next_group: u32,
    /// What was replaced, while that is recorded.
    log: Option<Undo>,
}

/// What an accepted change leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "the edits must reach the scheduler"]
pub struct Change {
    /// For the scheduler, in this order.
    pub edits: Vec<Edit>,
    /// For the caller to show.
    pub notes: Vec<Note>,
}

/// Something that an accepted change did beyond what was asked, or that deserves a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The object left another policy group for this one.
    Replaced {
        /// The object's name for people.
        object: String,
        /// The group it left.
        was: String,
        /// The group it is in now.
        now: String,
    },
    /// The object lost its policy because the group was deleted.
    Detached {
        /// The object's name for people.
        object: String,
        /// The group.
        group: String,
    },
    /// An SVM has no template any more because the group was deleted.
    NoTemplate {
        /// The SVM's name for people.
        svm: String,
        /// The group.
        group: String,
    },
    /// What was restored breaks a rule of today's settings. It stays in force.
    Misfit(Refusal),
    /// A ceiling in bytes per operation outside 1 KB to 4096 KB, which ONTAP documents as refused
    /// (8454260): only one of its two parts will ever bind.
    OddRatio {
        /// Bytes per second over operations per second.
        bytes_per_operation: u64,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Replaced { object, was, now } => write!(f, "{object} left policy group {was} for {now}"),
            Note::Detached { object, group } => write!(f, "{object} left policy group {group}, which is deleted"),
            Note::NoTemplate { svm, group } => {
                write!(f, "{svm} has no template any more: policy group {group} is deleted")
            }
            Note::Misfit(refusal) => write!(f, "{refusal}; it is kept and in force as it was"),
            Note::OddRatio { bytes_per_operation } => write!(
                f,
                "the ceiling allows {bytes_per_operation} bytes an operation; outside 1 KB to 4096 KB one of its two \
                 parts hardly ever binds"
            ),
        }
    }
}

impl Registry {
    /// With the three built-in policy groups and no object.
    pub fn new(settings: RegistrySettings) -> Registry {
        let groups: BTreeMap<GroupId, Group> = presets().map(|group| (group.id, group)).collect();
        Registry {
            settings,
            objects: BTreeMap::new(),
            svms: BTreeMap::new(),
            group_names: groups.values().map(|group| (group.name.clone(), group.id)).collect(),
            next_group: groups.keys().map(|id| id.0 + 1).max().unwrap_or(1),
            groups,
            workloads: 0,
            fair: false,
            due: BTreeSet::new(),
            next_object: 1,
            log: None,
        }
    }

    /// The settings that it was made with.
    pub const fn settings(&self) -> &RegistrySettings {
        &self.settings
    }

    /// All objects, by number; an object comes after its parent.
    pub fn objects(&self) -> impl ExactSizeIterator<Item = &Object> {
        self.objects.values()
    }

    /// One object.
    pub fn object(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(&id)
    }

    /// All policy groups, the built-in ones first, by number.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = &Group> {
        self.groups.values()
    }

    /// A policy group by name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.get(self.group_names.get(name)?)
    }

    /// A policy group by number.
    pub fn group_of(&self, id: GroupId) -> Option<&Group> {
        self.groups.get(&id)
    }

    /// Whether SVMs take turns even where no limit binds.
    pub const fn fair(&self) -> bool {
        self.fair
    }

    /// Objects in policy groups.
    pub const fn workloads(&self) -> usize {
        self.workloads
    }

    /// An SVM by name.
    pub fn find_svm(&self, name: &str) -> Option<ObjectId> {
        self.svms.get(name).copied()
    }

    /// A volume by its name in an SVM.
    pub fn find_volume(&self, svm: ObjectId, name: &str) -> Option<ObjectId> {
        self.child(svm, name, ObjectKind::Volume)
    }

    /// A qtree by its name in a volume.
    pub fn find_qtree(&self, volume: ObjectId, name: &str) -> Option<ObjectId> {
        self.child(volume, name, ObjectKind::Qtree)
    }

    /// A LUN by its path in an SVM: `/vol/VOLUME/LUN` or `/vol/VOLUME/QTREE/LUN`.
    pub fn find_lun(&self, svm: ObjectId, path: &str) -> Option<ObjectId> {
        let (parent, name) = self.lun_place(svm, path).ok()?;
        self.child(parent, name, ObjectKind::Lun)
    }

    /// A file by its path in a volume: `/FOLDER/…/NAME`. Of those that clients made, one that has a
    /// policy, or had one.
    pub fn find_file(&self, volume: ObjectId, path: &str) -> Option<ObjectId> {
        let (parent, name) = self.file_place(volume, path).ok()?;
        let id = *self.objects.get(&parent)?.children.get(name)?;
        self.objects[&id].kind.is_file().then_some(id)
    }

    /// The SVM that an object is in; an SVM is in itself.
    pub fn svm_of(&self, id: ObjectId) -> Option<ObjectId> {
        self.path(id).last().map(|object| object.id)
    }

    /// The object and all objects above it, up to the SVM.
    pub fn path(&self, id: ObjectId) -> impl Iterator<Item = &Object> {
        std::iter::successors(self.objects.get(&id), |object| self.objects.get(&object.parent?))
    }

    /// An object's name for people: `SVM svm01`, `volume svm01:vol1`, `LUN svm01:/vol/vol1/lun1`.
    pub fn label(&self, id: ObjectId) -> String {
        let names: Vec<&str> = self.path(id).map(Object::name).collect();
        let Some(object) = self.objects.get(&id) else { return format!("object {}", id.0) };
        let kind = object.kind;
        match names.iter().rev().collect::<Vec<_>>().as_slice() {
            [svm] => format!("{kind} {svm}"),
            [svm, volume] => format!("{kind} {svm}:{volume}"),
            [svm, within @ ..] => {
                format!("{kind} {svm}:/vol/{}", within.iter().map(|name| **name).collect::<Vec<_>>().join("/"))
            }
            [] => format!("{kind}"),
        }
    }

    fn child(&self, parent: ObjectId, name: &str, kind: ObjectKind) -> Option<ObjectId> {
        let id = *self.objects.get(&parent)?.children.get(name)?;
        (self.objects[&id].kind == kind).then_some(id)
    }

    fn known(&self, id: ObjectId) -> Result<&Object, Refusal> {
        self.objects.get(&id).ok_or_else(|| Refusal::new(Rule::NoObject, self.label(id), format_args!("{}", id.0)))
    }

    /// An existing policy group.
    ///
    /// # Errors
    /// [`Rule::NoGroup`].
    pub fn known_group(&self, name: &str) -> Result<&Group, Refusal> {
        self.group(name).ok_or_else(|| Refusal::new(Rule::NoGroup, Group::subject(name), format_args!("{name:?}")))
    }

    /// What the scheduler holds for an object.
    fn binding(&self, id: ObjectId) -> Binding {
        let Some(membership) = self.objects[&id].membership else { return Binding::default() };
        let policy = &self.groups[&membership.group].policy;
        Binding {
            own: policy.own(membership.evaluation, &self.settings),
            budget: policy.shared().then_some(membership.group),
        }
    }
}

/// What the scheduler holds for an object: its own limits and the shared budget that it draws on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Binding {
    own: Limits,
    budget: Option<GroupId>,
}

impl Binding {
    /// The edits that lead from here to `after`, the tightening ones first.
    fn edits(self, after: Binding, object: ObjectId, edits: &mut Vec<Edit>) {
        let join = (self.budget != after.budget).then_some(Edit::Join { object, group: after.budget });
        let limits = (self.own != after.own).then_some(Edit::SetLimits { object, limits: after.own });
        if after.budget.is_some() {
            edits.extend(join.into_iter().chain(limits));
        } else {
            edits.extend(limits.into_iter().chain(join));
        }
    }
}
