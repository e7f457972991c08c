//! Membership of policy groups: attaching, detaching, templates, and the rules about nesting.

use block::ObjectId;

use super::{Change, Note, Registry};
use crate::edit::{Edit, GroupId};
use crate::group::Group;
use crate::object::{Membership, Object, ObjectKind};
use crate::policy::Policy;
use crate::rule::{Refusal, Rule};
use crate::settings::Nesting;

impl Registry {
    /// Puts an object into a policy group, or into none. A group that it was in before is left, and
    /// a note says so. The limits hold at once, an adaptive policy's for the size known now.
    pub fn attach(&mut self, object: ObjectId, group: Option<&str>) -> Result<Change, Refusal> {
        self.known(object)?;
        let group = group.map(|name| self.group_for(object, name)).transpose()?;
        if let Some(group) = group {
            self.check_attach(object, group)?;
        }
        let mut change = Change::default();
        let before = self.objects[&object].membership;
        self.join(object, group, &mut change.edits);
        if let (Some(Membership { group: was, .. }), Some(now)) = (before, group)
            && was != now
        {
            let name = |id| self.groups[&id].name.to_string();
            change.notes.push(Note::Replaced { object: self.label(object), was: name(was), now: name(now) });
        }
        Ok(change)
    }

    /// Sets the adaptive group that volumes made in the SVM from now on join, or none. Volumes that
    /// are there keep what they have.
    pub fn set_template(&mut self, svm: ObjectId, group: Option<&str>) -> Result<Change, Refusal> {
        self.known(svm)?;
        let group = group.map(|name| self.group_for(svm, name)).transpose()?;
        if let Some(group) = group {
            self.check_template(svm, group)?;
        }
        let before = std::mem::replace(&mut self.at(svm).template, group);
        if let Some(before) = before {
            self.set_template_of(before, svm, false);
        }
        if let Some(group) = group {
            self.set_template_of(group, svm, true);
        }
        Ok(Change::default())
    }

    /// Whether the children of an object (SVMs where `None`) take turns even where no limit binds.
    pub fn set_fair(&mut self, object: Option<ObjectId>, fair: bool) -> Result<Change, Refusal> {
        let flag = match object {
            Some(id) => {
                self.known(id)?;
                &mut self.at(id).fair
            }
            None => &mut self.fair,
        };
        let mut change = Change::default();
        if std::mem::replace(flag, fair) != fair {
            change.edits.push(Edit::SetFair { object, fair });
        }
        Ok(change)
    }

    /// The group that an object is to join.
    fn group_for(&self, object: ObjectId, name: &str) -> Result<GroupId, Refusal> {
        let group = self.group(name).map(Group::id);
        group.ok_or_else(|| Refusal::new(Rule::NoGroup, self.label(object), format_args!("policy group {name:?}")))
    }

    pub(super) fn check_attach(&self, id: ObjectId, group: GroupId) -> Result<(), Refusal> {
        let (object, group) = (&self.objects[&id], &self.groups[&group]);
        if object.membership.is_some_and(|membership| membership.group == group.id) {
            return Ok(());
        }
        let refuse = |rule, given: String| Err(Refusal::new(rule, self.label(id), given));
        if group.svm.is_some() && group.svm != self.svm_of(id) {
            return refuse(Rule::OtherSvm, format!("policy group {}", group.name));
        }
        self.check_kind(object, &group.name, &group.policy)?;
        if let Some(template) = object.template {
            return refuse(Rule::TemplateAndPolicy, format!("template {}", self.groups[&template].name));
        }
        if group.policy.shared() && group.policy.has_floor() && !group.members.is_empty() {
            return refuse(Rule::SharedFloor, format!("a second member for policy group {}", group.name));
        }
        if object.membership.is_none() {
            self.check_workloads(&self.label(id), 1)?;
        }
        self.check_nesting(object)
    }

    pub(super) fn check_kind(&self, object: &Object, group: &str, policy: &Policy) -> Result<(), Refusal> {
        let (rule, given) = match policy {
            Policy::Adaptive(_) if !object.kind.has_size() => (Rule::AdaptiveKind, format!("policy group {group}")),
            Policy::Fixed(policy) if object.kind == ObjectKind::Svm && !policy.floor.normal().is_none() => {
                (Rule::FloorOnSvm, format!("policy group {group} with a floor of {}", policy.floor))
            }
            _ => return Ok(()),
        };
        Err(Refusal::new(rule, self.label(object.id), given))
    }

    pub(super) fn check_workloads(&self, subject: &str, more: usize) -> Result<(), Refusal> {
        let (wanted, max) = (self.workloads + more, self.settings.workloads_max);
        if wanted <= max {
            return Ok(());
        }
        Err(Refusal::new(Rule::WorkloadsMax, subject, format_args!("{wanted} with a limit of {max}")))
    }

    fn check_nesting(&self, object: &Object) -> Result<(), Refusal> {
        if self.settings.nesting == Nesting::Free {
            return Ok(());
        }
        let other = if object.kind.is_leaf() {
            self.path(object.id).skip(1).find(|above| above.membership.is_some())
        } else {
            self.leaf_in_group(object)
        };
        let Some(Object { id, membership: Some(membership), .. }) = other else { return Ok(()) };
        let given = format!("{} in policy group {}", self.label(*id), self.groups[&membership.group].name);
        Err(Refusal::new(Rule::Nested, self.label(object.id), given))
    }

    /// A LUN or file in a policy group below `object`: follows the counts down, so it costs no
    /// search.
    fn leaf_in_group<'a>(&'a self, mut object: &'a Object) -> Option<&'a Object> {
        while object.leaves_in_groups > 0 {
            let children = || object.children().map(|id| &self.objects[&id]);
            if let Some(leaf) = children().find(|child| child.kind.is_leaf() && child.membership.is_some()) {
                return Some(leaf);
            }
            object = children().find(|child| child.leaves_in_groups > 0)?;
        }
        None
    }

    fn check_template(&self, svm: ObjectId, group: GroupId) -> Result<(), Refusal> {
        let (object, group) = (&self.objects[&svm], &self.groups[&group]);
        let refuse = |rule, given: String| Err(Refusal::new(rule, self.label(svm), given));
        if object.kind != ObjectKind::Svm {
            return refuse(Rule::WrongKind, "a template".into());
        }
        if group.policy.adaptive().is_none() {
            return refuse(Rule::TemplateKind, format!("fixed policy group {}", group.name));
        }
        if group.svm.is_some_and(|owner| owner != svm) {
            return refuse(Rule::OtherSvm, format!("policy group {}", group.name));
        }
        match object.membership {
            Some(membership) => {
                let own = &self.groups[&membership.group].name;
                refuse(Rule::TemplateAndPolicy, format!("policy group {own}"))
            }
            None => Ok(()),
        }
    }

    /// Moves an object between groups; everything was checked.
    pub(super) fn join(&mut self, id: ObjectId, group: Option<GroupId>, edits: &mut Vec<Edit>) {
        let before = self.binding(id);
        self.enrol(id, group);
        before.edits(self.binding(id), id, edits);
    }

    /// The registry's part of [`Registry::join`], without edits for the scheduler.
    pub(super) fn enrol(&mut self, id: ObjectId, group: Option<GroupId>) {
        let object = &self.objects[&id];
        let is_leaf = object.kind.is_leaf();
        let evaluation = |group: &GroupId| self.groups[group].policy.evaluate(object.size, self.settings.units);
        let after = group.map(|group| Membership { group, evaluation: evaluation(&group) });
        let before = std::mem::replace(&mut self.at(id).membership, after);
        if let Some(before) = before {
            self.set_member(before.group, id, false);
        }
        if let Some(group) = group {
            self.set_member(group, id, true);
        }
        self.settled(id);
        self.workloads = self.workloads + usize::from(after.is_some()) - usize::from(before.is_some());
        if is_leaf && before.is_some() != after.is_some() {
            self.count_leaf(id, after.is_some());
        }
    }

    fn count_leaf(&mut self, leaf: ObjectId, joined: bool) {
        let mut above = self.objects[&leaf].parent;
        while let Some(id) = above {
            let object = self.at(id);
            object.leaves_in_groups = if joined { object.leaves_in_groups + 1 } else { object.leaves_in_groups - 1 };
            above = object.parent;
        }
    }
}
