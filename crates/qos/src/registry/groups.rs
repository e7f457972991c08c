//! Policy groups are created, changed under their members, renamed, and deleted.

use std::sync::Arc;

use block::{Iops, ObjectId, Span};

use super::{Change, Note, Registry};
use crate::adaptive::{Allocation, Density, Evaluation, Per};
use crate::edit::{Edit, GroupId};
use crate::group::{Group, GroupClass, check_name};
use crate::object::{Membership, ObjectKind};
use crate::policy::{AdaptivePolicy, BlockSize, BurstKnobs, FixedPolicy, Policy, Rates};
use crate::rule::{Refusal, Rule};
use crate::settings::PeakMode;

/// A policy group to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGroup<'a> {
    /// Unique over all SVMs.
    pub name: &'a str,
    /// Its owner.
    pub svm: ObjectId,
    /// Reported to whoever asks, and otherwise unused.
    pub uuid: u128,
    /// What it stands for.
    pub policy: Policy,
}

/// New settings for a policy group; its kind never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyChange {
    /// For a fixed group.
    Fixed(FixedChange),
    /// For an adaptive group.
    Adaptive(AdaptiveChange),
}

/// New settings for a fixed policy; `None` leaves one as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixedChange {
    /// The whole new ceiling.
    pub ceiling: Option<Rates>,
    /// The whole new floor.
    pub floor: Option<Rates>,
    /// A new latency; zero for none.
    pub expected_latency: Option<Span>,
    /// Accepted only as it is.
    pub shared: Option<bool>,
    /// New burst settings.
    pub burst: BurstChange,
}

/// New settings for an adaptive policy; `None` leaves one as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdaptiveChange {
    /// See [`AdaptivePolicy::expected`].
    pub expected: Option<Density>,
    /// See [`AdaptivePolicy::peak`].
    pub peak: Option<Density>,
    /// See [`AdaptivePolicy::expected_allocation`].
    pub expected_allocation: Option<Allocation>,
    /// See [`AdaptivePolicy::peak_allocation`].
    pub peak_allocation: Option<Allocation>,
    /// See [`AdaptivePolicy::absolute_min`].
    pub absolute_min: Option<Iops>,
    /// See [`AdaptivePolicy::expected_latency`]; zero for none.
    pub expected_latency: Option<Span>,
    /// See [`AdaptivePolicy::block_size`].
    pub block_size: Option<BlockSize>,
    /// See [`AdaptivePolicy::peak_mode`].
    pub peak_mode: Option<PeakMode>,
    /// New burst settings.
    pub burst: BurstChange,
}

/// New burst settings; `None` leaves one as it is, and all three zero take them all away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstChange {
    /// See [`BurstKnobs::percent`].
    pub percent: Option<u32>,
    /// See [`BurstKnobs::duration`].
    pub duration: Option<Span>,
    /// See [`BurstKnobs::iops`].
    pub iops: Option<Iops>,
}

impl Registry {
    /// Makes a policy group without members.
    pub fn create_group(&mut self, new: NewGroup<'_>) -> Result<Change, Refusal> {
        let NewGroup { name, svm, uuid, policy } = new;
        self.check_group(name, svm, &policy)?;
        let max = self.settings.groups_max;
        let made = self.groups.values().filter(|group| group.class() == GroupClass::User).count();
        if made >= max || self.next_group == u32::MAX {
            let given = format!("{} with a limit of {max}", made + 1);
            return Err(Refusal::new(Rule::GroupsMax, Group::subject(name), given));
        }
        let mut change = Change { edits: Vec::new(), notes: notes_on(&policy) };
        let group = Group::new(GroupId(self.next_group), name, uuid, Some(svm), policy.normal());
        self.insert_group(group, &mut change.edits);
        Ok(change)
    }

    /// Changes a policy group; all its members follow at once.
    pub fn modify_group(&mut self, name: &str, change: &PolicyChange) -> Result<Change, Refusal> {
        let group = self.user_group(name, &change.given())?;
        let id = group.id;
        let policy = changed(group, change)?;
        policy.check(&Group::subject(name), &self.settings)?;
        self.check_members(group, &policy)?;
        let notes = notes_on(&policy);
        Ok(Change { edits: self.replace_policy(id, policy), notes })
    }

    /// Renames a policy group; its members stay.
    pub fn rename_group(&mut self, name: &str, to: &str) -> Result<Change, Refusal> {
        let id = self.user_group(name, &format!("the new name {to}"))?.id;
        check_name(to)?;
        match self.group(to) {
            Some(other) if other.id == id => return Ok(Change::default()),
            Some(_) => return Err(Refusal::new(Rule::NameTaken, Group::subject(name), to)),
            None => {}
        }
        let (before, name): (_, Arc<str>) = (self.groups[&id].name.clone(), to.into());
        self.link_group(before, None);
        self.link_group(name.clone(), Some(id));
        self.group_at(id).name = name;
        Ok(Change::default())
    }

    /// Deletes a policy group. One with members or an SVM's template is refused unless forced;
    /// forced, its members are in no group afterwards.
    pub fn delete_group(&mut self, name: &str, force: bool) -> Result<Change, Refusal> {
        let group = self.user_group(name, "delete")?;
        let id = group.id;
        let used = group.members.first().or(group.templates.first());
        if let (Some(user), false) = (used, force) {
            let (users, user) = (group.members.len() + group.templates.len(), self.label(*user));
            let given = if users == 1 { user } else { format!("{user} and {} more", users - 1) };
            return Err(Refusal::new(Rule::GroupInUse, Group::subject(name), given));
        }
        let mut change = Change::default();
        for member in self.groups[&id].members.clone() {
            self.join(member, None, &mut change.edits);
            change.notes.push(Note::Detached { object: self.label(member), group: name.into() });
        }
        for svm in self.groups[&id].templates.clone() {
            self.at(svm).template = None;
            change.notes.push(Note::NoTemplate { svm: self.label(svm), group: name.into() });
        }
        if self.groups[&id].policy.shared() {
            change.edits.push(Edit::RemoveGroup { group: id });
        }
        self.drop_group(id);
        self.link_group(name.into(), None);
        Ok(change)
    }

    pub(super) fn check_group(&self, name: &str, svm: ObjectId, policy: &Policy) -> Result<(), Refusal> {
        check_name(name)?;
        let owner = self.known(svm)?;
        if owner.kind != ObjectKind::Svm {
            return Err(Refusal::new(Rule::WrongKind, self.label(svm), "a policy group of its own"));
        }
        if let Some(other) = self.group(name) {
            let rule = match (policy, &other.policy) {
                (Policy::Fixed(_), Policy::Fixed(_)) => Rule::FixedTaken,
                (Policy::Adaptive(_), Policy::Adaptive(_)) => Rule::AdaptiveTaken,
                (Policy::Fixed(_), Policy::Adaptive(_)) => Rule::NameOfAdaptive,
                (Policy::Adaptive(_), Policy::Fixed(_)) => Rule::NameOfFixed,
            };
            return Err(Refusal::new(rule, Group::subject(name), name));
        }
        policy.check(&Group::subject(name), &self.settings)
    }

    pub(super) fn insert_group(&mut self, group: Group, edits: &mut Vec<Edit>) {
        if group.policy.shared() {
            edits.push(Edit::AddGroup { group: group.id, limits: group.policy.budget(&self.settings) });
        }
        self.next_group = self.next_group.max(group.id.0.saturating_add(1));
        self.link_group(group.name.clone(), Some(group.id));
        self.put_group(group);
    }

    fn user_group(&self, name: &str, given: &str) -> Result<&Group, Refusal> {
        let group = self.known_group(name)?;
        match group.class() {
            GroupClass::Preset => Err(Refusal::new(Rule::Preset, Group::subject(name), given)),
            GroupClass::User => Ok(group),
        }
    }

    /// Whether the present members may have this policy.
    fn check_members(&self, group: &Group, policy: &Policy) -> Result<(), Refusal> {
        if !policy.has_floor() {
            return Ok(());
        }
        if policy.shared() && group.members.len() > 1 {
            let given = format!("a floor for {} members", group.members.len());
            return Err(Refusal::new(Rule::SharedFloor, Group::subject(&group.name), given));
        }
        group.members.iter().try_for_each(|member| self.check_kind(&self.objects[member], &group.name, policy))
    }

    /// Replaces a group's policy with one that was checked. Its kind and whether it is shared are
    /// as before, so nobody joins or leaves a budget. Where only the budget changed, members cost
    /// nothing.
    fn replace_policy(&mut self, id: GroupId, policy: Policy) -> Vec<Edit> {
        let mut edits = Vec::new();
        let before = std::mem::replace(&mut self.group_at(id).policy, policy);
        let (policy, settings) = (&self.groups[&id].policy, &self.settings);
        let budget = policy.budget(settings);
        if policy.shared() && budget != before.budget(settings) {
            edits.push(Edit::SetGroup { group: id, limits: budget });
        }
        let own = |policy: &Policy| policy.own(Evaluation::default(), settings);
        if policy.adaptive().is_none() && own(&before) == own(policy) {
            return edits;
        }
        for member in self.groups[&id].members.iter().copied().collect::<Vec<_>>() {
            self.follow(member, &before, &mut edits);
        }
        edits
    }

    /// Gives a member its group's new policy, at its present size.
    fn follow(&mut self, id: ObjectId, before: &Policy, edits: &mut Vec<Edit>) {
        self.settled(id);
        let object = &self.objects[&id];
        let Some(Membership { group, evaluation }) = object.membership else { return };
        let (policy, settings) = (&self.groups[&group].policy, &self.settings);
        let evaluated = policy.evaluate(object.size, settings.units);
        let limits = policy.own(evaluated, settings);
        if limits != before.own(evaluation, settings) {
            edits.push(Edit::SetLimits { object: id, limits });
        }
        self.at(id).membership = Some(Membership { group, evaluation: evaluated });
    }
}

/// The group's policy with the change made.
fn changed(group: &Group, change: &PolicyChange) -> Result<Policy, Refusal> {
    let refuse = |rule, given| Err(Refusal::new(rule, Group::subject(&group.name), given));
    let policy = match (&group.policy, change) {
        (Policy::Fixed(policy), PolicyChange::Fixed(change)) => {
            if let Some(shared) = change.shared.filter(|shared| *shared != policy.shared) {
                return refuse(Rule::SharedImmutable, if shared { "shared" } else { "non-shared" });
            }
            Policy::Fixed(change.on(policy))
        }
        (Policy::Adaptive(policy), PolicyChange::Adaptive(change)) => Policy::Adaptive(change.on(policy)),
        (Policy::Fixed(_), PolicyChange::Adaptive(_)) => return refuse(Rule::FixedToAdaptive, "adaptive settings"),
        (Policy::Adaptive(_), PolicyChange::Fixed(_)) => return refuse(Rule::AdaptiveToFixed, "fixed settings"),
    };
    Ok(policy.normal())
}

impl PolicyChange {
    /// What it sets, for the message of a refusal.
    fn given(&self) -> String {
        let parts = match self {
            PolicyChange::Fixed(change) => change.given(),
            PolicyChange::Adaptive(change) => change.given(),
        };
        if parts.is_empty() { "a change of nothing".into() } else { parts.join(", ") }
    }
}

impl FixedChange {
    fn given(&self) -> Vec<String> {
        let mut parts = Vec::new();
        parts.extend(self.ceiling.map(|rates| format!("a ceiling of {rates}")));
        parts.extend(self.floor.map(|rates| format!("a floor of {rates}")));
        parts.extend(self.expected_latency.map(|latency| format!("an expected latency of {latency}")));
        parts.extend(self.shared.map(|shared| if shared { "shared" } else { "not shared" }.to_owned()));
        parts.extend(self.burst.given());
        parts
    }

    fn on(&self, policy: &FixedPolicy) -> FixedPolicy {
        FixedPolicy {
            ceiling: self.ceiling.unwrap_or(policy.ceiling),
            floor: self.floor.unwrap_or(policy.floor),
            expected_latency: self.expected_latency.or(policy.expected_latency),
            shared: policy.shared,
            burst: self.burst.on(policy.burst),
            auto_generated: policy.auto_generated,
        }
    }
}

impl AdaptiveChange {
    fn given(&self) -> Vec<String> {
        let rate = |what: &str, density: Density| {
            let per = match density.per {
                Per::Gb => "GB",
                Per::Tb => "TB",
            };
            format!("{what} {} IOPS/{per}", density.iops.0)
        };
        let space = |what: &str, allocation| match allocation {
            Allocation::Allocated => format!("{what} by allocated space"),
            Allocation::Used => format!("{what} by used space"),
        };
        let mut parts = Vec::new();
        parts.extend(self.expected.map(|density| rate("expected", density)));
        parts.extend(self.peak.map(|density| rate("peak", density)));
        parts.extend(self.expected_allocation.map(|allocation| space("expected", allocation)));
        parts.extend(self.peak_allocation.map(|allocation| space("peak", allocation)));
        parts.extend(self.absolute_min.map(|Iops(least)| format!("an absolute minimum of {least} IOPS")));
        parts.extend(self.expected_latency.map(|latency| format!("an expected latency of {latency}")));
        parts.extend(self.block_size.map(|size| match size.bytes() {
            Some(bytes) => format!("a block size of {} KiB", bytes >> 10),
            None => "any block size".into(),
        }));
        parts.extend(self.peak_mode.map(|mode| match mode {
            PeakMode::Ceiling => "the peak as ceiling".to_owned(),
            PeakMode::Credits => "the peak on credits".to_owned(),
        }));
        parts.extend(self.burst.given());
        parts
    }

    fn on(&self, policy: &AdaptivePolicy) -> AdaptivePolicy {
        AdaptivePolicy {
            expected: self.expected.unwrap_or(policy.expected),
            peak: self.peak.unwrap_or(policy.peak),
            expected_allocation: self.expected_allocation.unwrap_or(policy.expected_allocation),
            peak_allocation: self.peak_allocation.unwrap_or(policy.peak_allocation),
            absolute_min: self.absolute_min.or(policy.absolute_min),
            expected_latency: self.expected_latency.or(policy.expected_latency),
            block_size: self.block_size.unwrap_or(policy.block_size),
            burst: self.burst.on(policy.burst),
            peak_mode: self.peak_mode.or(policy.peak_mode),
        }
    }
}

impl BurstChange {
    fn given(self) -> Option<String> {
        let BurstChange { percent, duration, iops } = self;
        (self != BurstChange::default()).then(|| BurstKnobs { percent, duration, iops }.given())
    }

    fn on(self, knobs: BurstKnobs) -> BurstKnobs {
        BurstKnobs {
            percent: self.percent.or(knobs.percent),
            duration: self.duration.or(knobs.duration),
            iops: self.iops.or(knobs.iops),
        }
        .normal()
    }
}

fn notes_on(policy: &Policy) -> Vec<Note> {
    let Policy::Fixed(FixedPolicy { ceiling: Rates { iops: Some(iops), bytes: Some(bytes) }, .. }) = policy else {
        return Vec::new();
    };
    match bytes.0.checked_div(iops.0) {
        Some(bytes_per_operation) if !(1_000..=4_096_000).contains(&bytes_per_operation) && bytes.0 > 0 => {
            vec![Note::OddRatio { bytes_per_operation }]
        }
        _ => Vec::new(),
    }
}
