//! Undoing a run of changes: what each step replaced is recorded, so that all of them together can
//! be taken back.
//!
//! Every change of the registry's state goes through the few functions below. Each of them records
//! what it replaces and no more: taking back costs what was changed, however large the registry is.
//! Nothing is recorded between [`Registry::end`] and the next [`Registry::begin`].

use std::collections::BTreeSet;
use std::sync::Arc;

use block::{ObjectId, Time};

use super::Registry;
use crate::adaptive::Size;
use crate::edit::GroupId;
use crate::group::Group;
use crate::object::{Membership, Object};
use crate::policy::Policy;

/// What brings a registry back to where it was at [`Registry::begin`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "without it there is no way back"]
pub struct Undo {
    /// The registry's own counters and settings.
    whole: Option<Whole>,
    /// In the order in which they were made.
    steps: Vec<Step>,
}

/// What one step replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// There was no such object.
    Made(ObjectId),
    /// There was this object.
    Removed(Box<Object>),
    /// Its own fields were these.
    Object(ObjectId, Plain),
    /// The name below that parent led there.
    Child { parent: Option<ObjectId>, name: Arc<str>, was: Option<ObjectId> },
    /// There was no such policy group.
    GroupMade(GroupId),
    /// There was this policy group.
    GroupRemoved(Box<Group>),
    /// It had this name and policy.
    Group(GroupId, Arc<str>, Policy),
    /// The name of a group led there.
    GroupName(Arc<str>, Option<GroupId>),
    /// It was a member, or not.
    Member(GroupId, ObjectId, bool),
    /// It was the template of that SVM, or not.
    Template(GroupId, ObjectId, bool),
    /// The evaluation was due, or not.
    Due((Time, ObjectId), bool),
}

/// An object's own fields, without its children.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plain {
    name: Arc<str>,
    size: Size,
    membership: Option<Membership>,
    template: Option<GroupId>,
    fair: bool,
    due: Option<Time>,
    leaves_in_groups: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Whole {
    workloads: usize,
    fair: bool,
    next_object: u32,
    next_group: u32,
}

/// What a run of changes touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Objects that were made, changed or removed, including those that are as before again.
    pub objects: BTreeSet<ObjectId>,
    /// Policy groups likewise; membership is recorded with the objects.
    pub groups: BTreeSet<GroupId>,
}

impl Registry {
    /// Begins to record what changes replace.
    pub fn begin(&mut self) {
        let Registry { workloads, fair, next_object, next_group, .. } = *self;
        let whole = Some(Whole { workloads, fair, next_object, next_group });
        self.log = Some(Undo { whole, steps: Vec::new() });
    }

    /// Ends the recording: what leads back to [`Registry::begin`], as long as nothing else is
    /// changed.
    pub fn end(&mut self) -> Undo {
        self.log.take().unwrap_or_default()
    }

    /// Takes back what was changed between [`Registry::begin`] and [`Registry::end`]; nothing has
    /// been changed since.
    pub fn take_back(&mut self, undo: Undo) {
        for step in undo.steps.into_iter().rev() {
            self.step_back(step);
        }
        if let Some(Whole { workloads, fair, next_object, next_group }) = undo.whole {
            (self.workloads, self.fair) = (workloads, fair);
            (self.next_object, self.next_group) = (next_object, next_group);
        }
    }

    fn step_back(&mut self, step: Step) {
        match step {
            Step::Made(id) => drop(self.objects.remove(&id)),
            Step::Removed(object) => drop(self.objects.insert(object.id, *object)),
            Step::Object(id, plain) => {
                let Plain { name, size, membership, template, fair, due, leaves_in_groups } = plain;
                if let Some(object) = self.objects.get_mut(&id) {
                    *object = Object {
                        name,
                        size,
                        membership,
                        template,
                        fair,
                        due,
                        leaves_in_groups,
                        id: object.id,
                        kind: object.kind,
                        parent: object.parent,
                        children: std::mem::take(&mut object.children),
                    };
                }
            }
            Step::Child { parent, name, was } => drop(self.lead(parent, name, was)),
            Step::GroupMade(id) => drop(self.groups.remove(&id)),
            Step::GroupRemoved(group) => drop(self.groups.insert(group.id, *group)),
            Step::Group(id, name, policy) => {
                if let Some(group) = self.groups.get_mut(&id) {
                    (group.name, group.policy) = (name, policy);
                }
            }
            Step::GroupName(name, was) => drop(self.lead_group(name, was)),
            Step::Member(group, object, was) => drop(self.enlist(group, object, was)),
            Step::Template(group, svm, was) => drop(self.be_template(group, svm, was)),
            Step::Due(at, was) => drop(self.appoint(at, was)),
        }
    }

    fn note(&mut self, step: impl FnOnce() -> Step) {
        if let Some(log) = &mut self.log {
            log.steps.push(step());
        }
    }

    /// Records an object whose fields, except its children, are about to be changed. Its number
    /// stays the same.
    pub(super) fn at(&mut self, id: ObjectId) -> &mut Object {
        let object = self.objects.get_mut(&id).expect("the registry names only objects that it has");
        if let Some(log) = &mut self.log {
            let Object { name, size, membership, template, fair, due, leaves_in_groups, .. } = &*object;
            log.steps.push(Step::Object(
                id,
                Plain {
                    name: name.clone(),
                    size: *size,
                    membership: *membership,
                    template: *template,
                    fair: *fair,
                    due: *due,
                    leaves_in_groups: *leaves_in_groups,
                },
            ));
        }
        object
    }

    /// Records a policy group whose name or policy is about to be changed. Its number stays the
    /// same.
    pub(super) fn group_at(&mut self, id: GroupId) -> &mut Group {
        let group = self.groups.get_mut(&id).expect("the registry names only groups that it has");
        if let Some(log) = &mut self.log {
            log.steps.push(Step::Group(id, group.name.clone(), group.policy.clone()));
        }
        group
    }

    pub(super) fn put_object(&mut self, object: Object) {
        let id = object.id;
        self.note(|| Step::Made(id));
        self.objects.insert(id, object);
    }

    pub(super) fn drop_object(&mut self, id: ObjectId) {
        if let Some(object) = self.objects.remove(&id) {
            self.note(|| Step::Removed(Box::new(object)));
        }
    }

    pub(super) fn put_group(&mut self, group: Group) {
        let id = group.id;
        self.note(|| Step::GroupMade(id));
        self.groups.insert(id, group);
    }

    pub(super) fn drop_group(&mut self, id: GroupId) {
        if let Some(group) = self.groups.remove(&id) {
            self.note(|| Step::GroupRemoved(Box::new(group)));
        }
    }

    /// Makes a name below a parent (of an SVM where `None`) lead to an object, or nowhere.
    pub(super) fn link(&mut self, parent: Option<ObjectId>, name: Arc<str>, to: Option<ObjectId>) {
        let was = self.lead(parent, name.clone(), to);
        self.note(|| Step::Child { parent, name, was });
    }

    fn lead(&mut self, parent: Option<ObjectId>, name: Arc<str>, to: Option<ObjectId>) -> Option<ObjectId> {
        let names = match parent {
            Some(parent) => &mut self.objects.get_mut(&parent)?.children,
            None => &mut self.svms,
        };
        match to {
            Some(to) => names.insert(name, to),
            None => names.remove(&name),
        }
    }

    /// Makes a policy group's name lead to it, or nowhere.
    pub(super) fn link_group(&mut self, name: Arc<str>, to: Option<GroupId>) {
        let was = self.lead_group(name.clone(), to);
        self.note(|| Step::GroupName(name, was));
    }

    fn lead_group(&mut self, name: Arc<str>, to: Option<GroupId>) -> Option<GroupId> {
        match to {
            Some(to) => self.group_names.insert(name, to),
            None => self.group_names.remove(&name),
        }
    }

    /// Makes an object a member of a group, or not.
    pub(super) fn set_member(&mut self, group: GroupId, object: ObjectId, is_member: bool) {
        let was = self.enlist(group, object, is_member);
        self.note(|| Step::Member(group, object, was));
    }

    /// Returns what was.
    fn enlist(&mut self, group: GroupId, object: ObjectId, is_member: bool) -> bool {
        self.groups.get_mut(&group).is_some_and(|group| set(&mut group.members, object, is_member))
    }

    /// Makes a group an SVM's template, or not.
    pub(super) fn set_template_of(&mut self, group: GroupId, svm: ObjectId, is_template: bool) {
        let was = self.be_template(group, svm, is_template);
        self.note(|| Step::Template(group, svm, was));
    }

    fn be_template(&mut self, group: GroupId, svm: ObjectId, is_template: bool) -> bool {
        self.groups.get_mut(&group).is_some_and(|group| set(&mut group.templates, svm, is_template))
    }

    /// Makes an object's evaluation due at a time, or not.
    pub(super) fn set_due(&mut self, at: (Time, ObjectId), is_due: bool) {
        let was = self.appoint(at, is_due);
        self.note(|| Step::Due(at, was));
    }

    fn appoint(&mut self, at: (Time, ObjectId), is_due: bool) -> bool {
        set(&mut self.due, at, is_due)
    }
}

impl Undo {
    /// How many steps it has, for tests and benches of what a change costs.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether no object, group or name was changed.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The objects and groups whose records may differ from before.
    pub fn touched(&self) -> Touched {
        let mut touched = Touched::default();
        for step in &self.steps {
            match step {
                Step::Made(id) | Step::Object(id, _) => drop(touched.objects.insert(*id)),
                Step::Removed(object) => drop(touched.objects.insert(object.id)),
                Step::GroupMade(id) | Step::Group(id, ..) => drop(touched.groups.insert(*id)),
                Step::GroupRemoved(group) => drop(touched.groups.insert(group.id)),
                Step::Child { .. } | Step::GroupName(..) | Step::Member(..) | Step::Template(..) | Step::Due(..) => {}
            }
        }
        touched
    }
}

/// Puts something into a set or takes it out; returns whether it was there.
fn set<T: Ord>(set: &mut BTreeSet<T>, one: T, is_in: bool) -> bool {
    if is_in { !set.insert(one) } else { set.remove(&one) }
}
