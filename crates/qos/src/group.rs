//! Policy groups: a policy with a name, an owner and members, and the three that are built in.

use std::collections::BTreeSet;
use std::sync::Arc;

use block::{Iops, ObjectId, Span};

use crate::adaptive::{Density, Evaluation, Size, Units};
use crate::edit::GroupId;
use crate::policy::{AdaptivePolicy, Policy};
use crate::rule::{Refusal, Rule};

/// Who made a policy group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupClass {
    /// Built in and read-only; for objects of every SVM.
    Preset,
    /// An administrator's, of one SVM.
    User,
}

/// One policy group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub(crate) id: GroupId,
    pub(crate) name: Arc<str>,
    pub(crate) uuid: u128,
    pub(crate) svm: Option<ObjectId>,
    pub(crate) policy: Policy,
    pub(crate) members: BTreeSet<ObjectId>,
    /// SVMs whose template it is.
    pub(crate) templates: BTreeSet<ObjectId>,
}

impl Group {
    /// Its number: the policy group ID of the administrators, and the shared budget of the
    /// scheduler.
    pub const fn id(&self) -> GroupId {
        self.id
    }

    /// Its name, unique over all SVMs and both kinds.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its UUID, as its creator gave it.
    pub const fn uuid(&self) -> u128 {
        self.uuid
    }

    /// The SVM that owns it; `None` for a built-in group.
    pub const fn svm(&self) -> Option<ObjectId> {
        self.svm
    }

    /// Who made it.
    pub const fn class(&self) -> GroupClass {
        if self.svm.is_none() { GroupClass::Preset } else { GroupClass::User }
    }

    /// Its policy.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The objects in it, by number.
    pub fn members(&self) -> impl ExactSizeIterator<Item = ObjectId> + '_ {
        self.members.iter().copied()
    }

    /// The SVMs whose template it is.
    pub fn templates(&self) -> impl ExactSizeIterator<Item = ObjectId> + '_ {
        self.templates.iter().copied()
    }

    pub(crate) fn new(id: GroupId, name: &str, uuid: u128, svm: Option<ObjectId>, policy: Policy) -> Group {
        let (members, templates) = Default::default();
        Group { id, name: name.into(), uuid, svm, policy, members, templates }
    }

    pub(crate) fn subject(name: &str) -> String {
        format!("policy group {name}")
    }
}

/// How many policy groups are built in; they have the numbers from 1 on.
pub const BUILT_IN_GROUPS: u32 = 3;

/// The built-in groups: name, expected and peak IOPS per TB, absolute minimum,
/// expected latency in milliseconds.
pub(crate) fn presets() -> impl Iterator<Item = Group> {
    const PRESETS: [(&str, u64, u64, u64, u64); BUILT_IN_GROUPS as usize] =
        [("extreme", 6144, 12288, 1000, 1), ("performance", 2048, 4096, 500, 2), ("value", 128, 512, 75, 17)];
    // Fixed UUIDs: the same built-in group is the same everywhere.
    const UUID: u128 = 0x5ea1_a110_0000_4000_8000_0000_0000_0000;
    PRESETS.into_iter().zip(1u32..).map(|((name, expected, peak, minimum, latency), id)| {
        let policy = AdaptivePolicy {
            absolute_min: Some(Iops(minimum)),
            expected_latency: Some(Span::from_millis(latency)),
            ..AdaptivePolicy::new(Density::per_tb(expected), Density::per_tb(peak))
        };
        Group::new(GroupId(id), name, UUID + u128::from(id), None, Policy::Adaptive(policy))
    })
}

/// The smallest built-in group whose floor is at least `iops` for an object of `size`, and what it
/// comes to there; where none suffices, the largest.
pub fn smallest_built_in(iops: Iops, size: Size, units: Units) -> (Group, Evaluation) {
    let comes_to = |group: Group| {
        let evaluation = group.policy.evaluate(size, units);
        (group, evaluation)
    };
    // From the largest to the smallest, as they are numbered.
    let all: Vec<(Group, Evaluation)> = presets().map(comes_to).collect();
    let enough = all.iter().rposition(|(_, evaluation)| evaluation.floor >= iops);
    all.into_iter().nth(enough.unwrap_or(0)).expect("there are built-in groups")
}

/// Whether `name` may be a policy group's.
pub(crate) fn check_name(name: &str) -> Result<(), Refusal> {
    let fits = (1..=127).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if fits { Ok(()) } else { Err(Refusal::new(Rule::GroupName, "policy group", format_args!("{name:?}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Bytes;

    /// On 5 TB the floors are 640, 10 240 and 30 720; on 100 GB the minima rule, 75, 500 and 1000.
    #[test]
    fn the_smallest_class_that_suffices_is_named() {
        let at = |iops, gb: u64| {
            let size = Bytes(gb * 1_000_000_000);
            let (group, found) = smallest_built_in(Iops(iops), Size { allocated: size, used: size }, Units::Decimal);
            (group.name().to_owned(), found.floor.0)
        };
        for (iops, gb, name, floor) in [
            (640, 5000, "value", 640),
            (641, 5000, "performance", 10_240),
            (30_720, 5000, "extreme", 30_720),
            (75_000, 5000, "extreme", 30_720),
            (75, 100, "value", 75),
            (501, 100, "extreme", 1000),
        ] {
            assert_eq!(at(iops, gb), (name.to_owned(), floor), "{iops} on {gb} GB");
        }
    }

    #[test]
    fn a_name_has_1_to_127_characters_of_the_allowed_ones() {
        for name in ["p", "policy1-shared", "9_x", &"a".repeat(127)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "-p", "_p", "a b", "a.b", "ä", &"a".repeat(128)] {
            assert_eq!(check_name(name).unwrap_err().rule, Rule::GroupName, "{name}");
        }
    }
}
