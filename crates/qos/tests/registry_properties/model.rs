//! A plain model of the scheduler's tree: the edits of the registry, replayed.

use super::*;

/// The scheduler's tree as plain maps; it holds each edit to what the scheduler demands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub objects: BTreeMap<ObjectId, Node>,
    pub groups: BTreeMap<GroupId, Limits>,
    pub fair: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    pub parent: Option<ObjectId>,
    pub limits: Limits,
    pub group: Option<GroupId>,
    pub fair: bool,
}

impl Model {
    pub fn apply(&mut self, edit: &Edit) {
        match *edit {
            Edit::AddObject { object, parent } => {
                assert!(parent.is_none_or(|parent| self.objects.contains_key(&parent)), "{edit:?}");
                let node = Node { parent, ..Node::default() };
                assert!(self.objects.insert(object, node).is_none(), "{edit:?}");
            }
            Edit::RemoveObject { object } => {
                assert!(self.objects.values().all(|node| node.parent != Some(object)), "{edit:?} has children");
                assert!(self.objects.remove(&object).is_some_and(|node| node.group.is_none()), "{edit:?}");
            }
            Edit::SetLimits { object, limits } => {
                assert_sane(&limits);
                assert_ne!(self.node(object).limits, limits, "an edit that changes nothing");
                self.node(object).limits = limits;
            }
            Edit::AddGroup { group, limits } => {
                assert_sane(&limits);
                assert!(self.groups.insert(group, limits).is_none(), "{edit:?}");
            }
            Edit::SetGroup { group, limits } => {
                assert_sane(&limits);
                assert!(self.groups.insert(group, limits).is_some(), "{edit:?}");
            }
            Edit::RemoveGroup { group } => {
                assert!(self.objects.values().all(|node| node.group != Some(group)), "{edit:?} has members");
                assert!(self.groups.remove(&group).is_some(), "{edit:?}");
            }
            Edit::Join { object, group } => {
                assert!(group.is_none_or(|group| self.groups.contains_key(&group)), "{edit:?}");
                self.node(object).group = group;
            }
            Edit::SetFair { object: Some(object), fair } => self.node(object).fair = fair,
            Edit::SetFair { object: None, fair } => self.fair = fair,
        }
    }

    fn node(&mut self, object: ObjectId) -> &mut Node {
        self.objects.get_mut(&object).unwrap_or_else(|| panic!("no {object:?}"))
    }

    /// What holds at each limited level from an object up: floor and ceiling of its own, or the
    /// shared ceiling.
    pub fn levels(&self, object: ObjectId) -> Vec<(ObjectId, Limits)> {
        let mut levels = Vec::new();
        let mut at = Some(object);
        while let Some(id) = at {
            let node = &self.objects[&id];
            let mut limits = node.limits;
            if let Some(group) = node.group {
                assert_eq!(limits.ceiling, Default::default(), "a member has no ceiling beside the shared one");
                limits.ceiling = self.groups[&group].ceiling;
            }
            if limits != Limits::default() {
                levels.push((id, limits));
            }
            at = node.parent;
        }
        levels
    }
}

/// What the scheduler may expect of edits: rates of 1 to 2^42, no floor above its ceiling, no burst
/// of nothing.
fn assert_sane(limits: &Limits) {
    let Limits { ceiling, floor } = limits;
    let rates = [
        ceiling.iops.map(|rate| rate.0),
        ceiling.bytes.map(|rate| rate.0),
        floor.iops.map(|rate| rate.0),
        floor.bytes.map(|rate| rate.0),
    ];
    assert!(rates.into_iter().flatten().all(|rate| (1..=1 << 42).contains(&rate)), "{limits:?}");
    assert!(ceiling.iops.zip(floor.iops).is_none_or(|(most, least)| least <= most), "{limits:?}");
    assert!(ceiling.bytes.zip(floor.bytes).is_none_or(|(most, least)| least <= most), "{limits:?}");
    assert!(ceiling.burst.is_none_or(|burst| burst.ppm > 0 && burst.duration > Span::ZERO), "{limits:?}");
}
