//! The registry as plain records, to keep it over a restart, and back.
//!
//! Numbers survive: an object and a policy group come back under their own. The records leave out
//! built-in groups and the evaluations of adaptive policies: each is evaluated at once, as on
//! assignment.

use block::ObjectId;

use super::{Change, Note, Registry};
use crate::adaptive::Size;
use crate::edit::{Edit, GroupId};
use crate::group::{Group, GroupClass};
use crate::object::{Object, ObjectKind};
use crate::policy::Policy;
use crate::rule::{Refusal, Rule};
use crate::settings::RegistrySettings;

/// All that must be kept of a registry but for its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// In any order.
    pub objects: Vec<ObjectRecord>,
    /// In any order, without the built-in groups.
    pub groups: Vec<GroupRecord>,
    /// See [`Registry::set_fair`].
    pub fair: bool,
    /// The greatest number that an object ever had; 0 before the first.
    pub last_object: u32,
}

/// One storage object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRecord {
    /// Its number, greater than its parent's.
    pub id: ObjectId,
    /// Its kind.
    pub kind: ObjectKind,
    /// Its parent.
    pub parent: Option<ObjectId>,
    /// Its name there; a file's is its path without the first slash.
    pub name: String,
    /// Its size.
    pub size: Size,
    /// The policy group that it is in.
    pub group: Option<GroupId>,
    /// An SVM's template.
    pub template: Option<GroupId>,
    /// See [`Registry::set_fair`].
    pub fair: bool,
}

/// One policy group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    /// Its number.
    pub id: GroupId,
    /// Its name.
    pub name: String,
    /// Its UUID.
    pub uuid: u128,
    /// Its owner.
    pub svm: ObjectId,
    /// What it stands for.
    pub policy: Policy,
}

impl Registry {
    /// The records to keep.
    pub fn catalogue(&self) -> Catalogue {
        Catalogue {
            objects: self.objects.values().map(object_record).collect(),
            groups: self.groups.values().filter_map(group_record).collect(),
            fair: self.fair,
            last_object: self.next_object - 1,
        }
    }

    /// One object's record.
    pub fn object_record(&self, id: ObjectId) -> Option<ObjectRecord> {
        self.objects.get(&id).map(object_record)
    }

    /// One policy group's record; built-in groups have none.
    pub fn group_record(&self, id: GroupId) -> Option<GroupRecord> {
        self.groups.get(&id).and_then(group_record)
    }

    /// The registry that the records describe, with the edits that bring an empty scheduler there.
    /// Records that contradict one another are refused. What breaks only today's settings stays as
    /// it is, and a note names it: nobody's data waits for an administrator to mend a policy.
    pub fn restore(settings: RegistrySettings, catalogue: &Catalogue) -> Result<(Registry, Change), Refusal> {
        let mut registry = Registry::new(settings);
        let mut change = Change::default();
        let mut objects: Vec<&ObjectRecord> = catalogue.objects.iter().collect();
        objects.sort_by_key(|record| record.id);
        for record in &objects {
            registry.restore_object(record, &mut change.edits)?;
        }
        for record in &catalogue.groups {
            registry.restore_group(record, &mut change)?;
        }
        for record in &objects {
            registry.restore_policy(record, &mut change)?;
        }
        registry.next_object = registry.next_object.max(catalogue.last_object.saturating_add(1));
        let fair = registry.settings.fair.unwrap_or(catalogue.fair);
        change.edits.extend(registry.set_fair(None, fair)?.edits);
        Ok((registry, change))
    }

    fn restore_object(&mut self, record: &ObjectRecord, edits: &mut Vec<Edit>) -> Result<(), Refusal> {
        let ObjectRecord { id, kind, parent, name, size, .. } = record;
        if self.objects.contains_key(id) || id.0 == u32::MAX {
            return Err(Refusal::new(Rule::Catalogue, format_args!("{kind} {name}"), format_args!("number {}", id.0)));
        }
        self.check_new(*parent, *kind, name)?;
        self.insert_as(*id, *parent, *kind, name, *size, edits);
        Ok(())
    }

    fn restore_group(&mut self, record: &GroupRecord, change: &mut Change) -> Result<(), Refusal> {
        let GroupRecord { id, name, uuid, svm, policy } = record;
        if self.groups.contains_key(id) || id.0 == u32::MAX {
            let given = format!("number {}", id.0);
            return Err(Refusal::new(Rule::Catalogue, Group::subject(name), given));
        }
        change.tolerate(self.check_group(name, *svm, policy))?;
        let group = Group::new(*id, name, *uuid, Some(*svm), policy.clone().normal());
        self.insert_group(group, &mut change.edits);
        Ok(())
    }

    fn restore_policy(&mut self, record: &ObjectRecord, change: &mut Change) -> Result<(), Refusal> {
        for id in record.group.iter().chain(&record.template) {
            if !self.groups.contains_key(id) {
                let given = format!("policy group {}", id.0);
                return Err(Refusal::new(Rule::Catalogue, self.label(record.id), given));
            }
        }
        if let Some(group) = record.group {
            change.tolerate(self.check_attach(record.id, group))?;
            self.join(record.id, Some(group), &mut change.edits);
        }
        if let Some(template) = record.template {
            let name = self.groups[&template].name.clone();
            change.edits.extend(self.set_template(record.id, Some(&name))?.edits);
        }
        change.edits.extend(self.set_fair(Some(record.id), record.fair)?.edits);
        Ok(())
    }
}

impl Change {
    /// Turns a refusal into a note if only the settings are the reason for it.
    fn tolerate(&mut self, checked: Result<(), Refusal>) -> Result<(), Refusal> {
        match checked {
            Err(refusal) if refusal.rule.is_of_settings() => self.notes.push(Note::Misfit(refusal)),
            checked => return checked,
        }
        Ok(())
    }
}

fn object_record(object: &Object) -> ObjectRecord {
    ObjectRecord {
        id: object.id,
        kind: object.kind,
        parent: object.parent,
        name: object.name.to_string(),
        size: object.size,
        group: object.membership.map(|membership| membership.group),
        template: object.template,
        fair: object.fair,
    }
}

fn group_record(group: &Group) -> Option<GroupRecord> {
    match (group.class(), group.svm) {
        (GroupClass::User, Some(svm)) => Some(GroupRecord {
            id: group.id,
            name: group.name.to_string(),
            uuid: group.uuid,
            svm,
            policy: group.policy.clone(),
        }),
        _ => None,
    }
}
