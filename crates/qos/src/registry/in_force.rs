//! What is in force for an object: the limits at every level above it, which of them binds, and
//! where each comes from.

use block::{BytesPerSecond, Iops, ObjectId};

use super::Registry;
use crate::edit::{Burst, Floor, GroupId, Limits};
use crate::settings::PeakMode;

/// The limits of one object on the way from an object to its SVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The object that is in the policy group.
    pub object: ObjectId,
    /// The policy group.
    pub group: GroupId,
    /// The ceiling is one budget for all members of the group.
    pub shared: bool,
    /// Under [`PeakMode::Credits`] the ceiling is the expected rate and its burst leads to the
    /// peak.
    pub peak: Option<PeakMode>,
    /// Ceiling with its burst, and floor.
    pub limits: Limits,
}

/// What is in force for an object. Empty where no policy applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// From the object itself up, only those in a policy group.
    pub levels: Vec<Level>,
}

impl Registry {
    /// The numbers in force for an object and where they come from; `None` for an unknown object.
    pub fn limits_in_force(&self, id: ObjectId) -> Option<InForce> {
        self.objects.get(&id)?;
        let levels = self.path(id).filter_map(|object| self.level(object.id)).collect();
        Some(InForce { levels })
    }

    fn level(&self, id: ObjectId) -> Option<Level> {
        let group = &self.groups[&self.objects[&id].membership?.group];
        let mut limits = self.binding(id).own;
        if group.policy.shared() {
            limits.ceiling = group.policy.budget(&self.settings).ceiling;
        }
        let peak = group.policy.adaptive().map(|policy| policy.peak_mode(&self.settings));
        Some(Level { object: id, group: group.id, shared: group.policy.shared(), peak, limits })
    }
}

impl InForce {
    /// The tightest ceiling in operations and the level that sets it; of equals the one nearest to
    /// the object.
    pub fn ceiling_iops(&self) -> Option<(Iops, &Level)> {
        self.tightest(|limits| limits.ceiling.iops)
    }

    /// The tightest ceiling in bytes and the level that sets it.
    pub fn ceiling_bytes(&self) -> Option<(BytesPerSecond, &Level)> {
        self.tightest(|limits| limits.ceiling.bytes)
    }

    /// The floor of the object itself. A floor above it belongs to all that is in there together.
    pub fn floor(&self, object: ObjectId) -> Floor {
        self.levels.iter().find(|level| level.object == object).map_or(Floor::default(), |level| level.limits.floor)
    }

    /// The burst that goes with the tightest ceiling in operations, else with that in bytes.
    pub fn burst(&self) -> Option<Burst> {
        let level = self.ceiling_iops().map(|(_, level)| level).or(self.ceiling_bytes().map(|(_, level)| level));
        level?.limits.ceiling.burst
    }

    /// The level whose ceiling makes the object's floor unreachable. Allowed, because ceilings
    /// always win, but seldom meant.
    pub fn floor_blocked_by(&self, object: ObjectId) -> Option<&Level> {
        let floor = self.floor(object);
        self.levels.iter().find(|level| {
            let ceiling = level.limits.ceiling;
            ceiling.iops.zip(floor.iops).is_some_and(|(most, least)| most < least)
                || ceiling.bytes.zip(floor.bytes).is_some_and(|(most, least)| most < least)
        })
    }

    fn tightest<R: Ord + Copy>(&self, rate: impl Fn(&Limits) -> Option<R>) -> Option<(R, &Level)> {
        self.levels.iter().filter_map(|level| Some((rate(&level.limits)?, level))).min_by_key(|(rate, _)| *rate)
    }
}
