//! Edits of the tree while requests wait and are in flight: each is checked first, then applied
//! whole.

use block::{BytesPerSecond, Iops, ObjectId, Span};

use super::Scheduler;
use super::floor::{FloorControl, Spot};
use super::limit::Limit;
use super::node::{Entity, Group, Node, Place, ROOT};
use super::turns::{Position, TurnQueue};
use crate::edit::{Ceiling, Edit, EditError, Floor, GroupId, Limits};
use crate::slab::NONE;

/// Levels of objects beneath the backend at most; a request's path is walked a few times.
pub(crate) const LEVELS_MAX: usize = 8;

/// A floor's latency is at least 1 µs.
const LATENCY_LEAST: Span = Span::from_micros(1);

/// Rates are 1 ..= 2⁴² a second.
const RATE_MAX: u64 = 1 << 42;

impl Scheduler {
    /// Applies one edit, or says why not and changes nothing.
    pub fn edit(&mut self, edit: &Edit) -> Result<(), EditError> {
        // Counts that begin with this edit are known by it.
        self.epoch += 1;
        let was = self.limit_with_a_rate(edit);
        match *edit {
            Edit::AddObject { object, parent } => self.add_object(object, parent)?,
            Edit::RemoveObject { object } => self.remove_object(object)?,
            Edit::SetLimits { object, limits } => self.set_limits(object, limits)?,
            Edit::AddGroup { group, limits } => self.add_group(group, limits)?,
            Edit::SetGroup { group, limits } => self.set_group(group, limits)?,
            Edit::RemoveGroup { group } => self.remove_group(group)?,
            Edit::Join { object, group } => self.join(object, group)?,
            Edit::SetFair { object, fair } => self.set_fair(object, fair)?,
        }
        // What waited for the backend alone may be under a policy now.
        self.recall_spilled();
        let is = self.limit_with_a_rate(edit);
        if is != was {
            self.charge_appointed(is);
        }
        self.bring_appointments_forward();
        Ok(())
    }

    /// The limit that an edit changes, if it has a rate; [`NONE`] if not.
    fn limit_with_a_rate(&self, edit: &Edit) -> u32 {
        let of_object = |object| self.node(object).map_or(NONE, |node| self.nodes[node].limit);
        let of_group = |group| self.group(group).map_or(NONE, |group| self.groups[group].limit);
        let limit = match *edit {
            Edit::SetLimits { object, .. } => of_object(object),
            Edit::SetGroup { group, .. } => of_group(group),
            Edit::Join { object, .. } => {
                let group = self.node(object).map_or(NONE, |node| self.nodes[node].group);
                if group == NONE { NONE } else { self.groups[group].limit }
            }
            _ => NONE,
        };
        if limit != NONE && self.limits[limit].has_rate() { limit } else { NONE }
    }

    fn add_object(&mut self, object: ObjectId, parent: Option<ObjectId>) -> Result<(), EditError> {
        let above = parent.map_or(Ok(ROOT), |p| self.node(p))?;
        if self.objects.get(object.0) != NONE {
            return Err(EditError::ObjectExists(object));
        }
        if std::iter::successors(Some(above), |&n| Some(self.nodes[n].parent).filter(|&p| p != NONE)).count()
            > LEVELS_MAX
        {
            return Err(EditError::TooDeep(LEVELS_MAX));
        }
        let node = self.nodes.add(Node::new(object, above));
        self.objects.set(object.0, node);
        self.nodes[above].children += 1;
        if self.nodes[above].turn_queue == NONE {
            self.nodes[above].turn_queue = self.turn_queues.add(TurnQueue::default());
            self.set_price(self.nodes[above].turn_queue, self.nodes[above].limit);
            if self.nodes[above].queued > 0 && !self.nodes[above].appointed {
                self.join_own(above);
            }
        }
        Ok(())
    }

    fn remove_object(&mut self, object: ObjectId) -> Result<(), EditError> {
        let node = self.node(object)?;
        if self.nodes[node].children > 0 {
            return Err(EditError::HasChildren(object));
        }
        self.recall_spilled();
        while self.nodes[node].head != NONE {
            self.end_unsent(self.nodes[node].head);
        }
        self.change_group(node, NONE);
        self.free_floor(node);
        let limit = std::mem::replace(&mut self.nodes[node].limit, NONE);
        self.free_limit(limit);
        let turn_queue = std::mem::replace(&mut self.nodes[node].turn_queue, NONE);
        if turn_queue != NONE {
            self.turn_queues.free(turn_queue);
        }
        self.objects.set(object.0, NONE);
        let parent = self.nodes[node].parent;
        self.nodes[parent].children -= 1;
        // It is kept until its requests in flight have ended, and so is what is above it.
        self.nodes[parent].lingering += 1;
        self.nodes[node].dead = true;
        self.free_dead(node);
        Ok(())
    }

    fn set_limits(&mut self, object: ObjectId, limits: Limits) -> Result<(), EditError> {
        let node = self.node(object)?;
        check(limits)?;
        self.set_ceiling(node, limits.ceiling);
        self.set_floor(node, Some(limits.floor), None);
        Ok(())
    }

    fn set_ceiling(&mut self, node: u32, ceiling: Ceiling) {
        if self.nodes[node].limit == NONE && (ceiling.iops.is_some() || ceiling.bytes.is_some()) {
            self.nodes[node].limit = self.add_limit(Entity::Node(node));
        }
        let limit = self.nodes[node].limit;
        if limit != NONE {
            self.limits[limit].set(self.now, ceiling, self.settings.tolerance);
            self.set_price(self.nodes[node].turn_queue, limit);
        }
        self.reopen(Entity::Node(node));
    }

    /// After a change of its limit: those who wait for it may go on.
    fn reopen(&mut self, entity: Entity) {
        self.release(entity);
        let limit = self.limit_of(entity);
        if limit != NONE {
            self.call_parked(limit);
        }
    }

    /// Sets a node's floors: its own, its part of its group's, or both.
    fn set_floor(&mut self, node: u32, own: Option<Floor>, shared: Option<Floor>) {
        let old = self.nodes[node].floor;
        let has = |floor: Option<Floor>| floor.is_some_and(|f| f != Floor::default());
        if old == NONE && !has(own) && !has(shared) {
            return;
        }
        if old == NONE {
            self.nodes[node].floor =
                self.guarantees.add(FloorControl::new(self.now, node, self.epoch, self.settings.corrections));
            self.floors.add(self.now);
        }
        let floor = self.nodes[node].floor;
        let guarantee = &mut self.guarantees[floor];
        let before = guarantee.wanted();
        self.floors.promise(before, false);
        guarantee.own = own.unwrap_or(guarantee.own);
        guarantee.shared = shared.unwrap_or(guarantee.shared);
        if guarantee.wanted() == Floor::default() {
            return self.free_floor(node);
        }
        self.floors.promise(guarantee.wanted(), true);
        if guarantee.is_let_go() && guarantee.wanted() != before {
            // What it could not have was another floor.
            guarantee.try_again(self.floors.attempts.number);
        }
        guarantee.retime(self.now, self.floors.scale.part(), true);
        if guarantee.spot != Spot::Parked && self.has_work(Entity::Node(node)) {
            self.relist_floor(floor);
        }
    }

    fn free_floor(&mut self, node: u32) {
        let floor = std::mem::replace(&mut self.nodes[node].floor, NONE);
        if floor == NONE {
            return;
        }
        self.floors.set -= 1;
        self.floors.promise(self.guarantees[floor].wanted(), false);
        self.floors.forget(floor);
        self.guarantees[floor].node = NONE;
        self.guarantees[floor].spot = Spot::Out;
        self.guarantees.free(floor);
        if self.floors.set == 0 {
            self.floors.end_of_floors(self.now);
        }
    }

    /// A group's floor is divided equally among its members. With one member, as ONTAP allows, that
    /// is exact.
    fn share_group_floor(&mut self, group: u32) {
        let Group { limits, members, .. } = self.groups[group];
        let part = |rate: u64| rate.div_ceil(u64::from(members.max(1)));
        let shared = Floor {
            iops: limits.floor.iops.map(|r| Iops(part(r.0))),
            bytes: limits.floor.bytes.map(|r| BytesPerSecond(part(r.0))),
            latency: limits.floor.latency,
        };
        for node in self.nodes.numbers() {
            if self.nodes[node].group == group && !self.nodes[node].dead {
                self.set_floor(node, None, Some(shared));
            }
        }
    }

    fn add_group(&mut self, group: GroupId, limits: Limits) -> Result<(), EditError> {
        if self.group_index.get(group.0) != NONE {
            return Err(EditError::GroupExists(group));
        }
        check(limits)?;
        let turn_queue = self.turn_queues.add(TurnQueue::default());
        let slot = self.groups.add(Group {
            id: group,
            dead: false,
            limits,
            limit: NONE,
            turn_queue,
            members: 0,
            position: Position::default(),
            place: Place::Out,
        });
        let limit = self.add_limit(Entity::Group(slot));
        self.limits[limit].set(self.now, limits.ceiling, self.settings.tolerance);
        self.set_price(turn_queue, limit);
        self.groups[slot].limit = limit;
        self.group_index.set(group.0, slot);
        Ok(())
    }

    fn set_group(&mut self, group: GroupId, limits: Limits) -> Result<(), EditError> {
        let slot = self.group(group)?;
        check(limits)?;
        let old = std::mem::replace(&mut self.groups[slot].limits, limits);
        if old.floor != limits.floor {
            self.share_group_floor(slot);
        }
        let limit = self.groups[slot].limit;
        self.limits[limit].set(self.now, limits.ceiling, self.settings.tolerance);
        self.set_price(self.groups[slot].turn_queue, limit);
        self.reopen(Entity::Group(slot));
        Ok(())
    }

    fn remove_group(&mut self, group: GroupId) -> Result<(), EditError> {
        let slot = self.group(group)?;
        if self.groups[slot].members > 0 {
            return Err(EditError::HasMembers(group));
        }
        self.free_limit(self.groups[slot].limit);
        self.turn_queues.free(self.groups[slot].turn_queue);
        self.group_index.set(group.0, NONE);
        self.groups[slot].dead = true;
        self.groups.free(slot);
        Ok(())
    }

    fn join(&mut self, object: ObjectId, group: Option<GroupId>) -> Result<(), EditError> {
        let node = self.node(object)?;
        let slot = group.map_or(Ok(NONE), |g| self.group(g))?;
        self.change_group(node, slot);
        Ok(())
    }

    fn change_group(&mut self, node: u32, group: u32) {
        let old = self.nodes[node].group;
        if old == group {
            return;
        }
        let entity = Entity::Node(node);
        if self.nodes[node].place == Place::Group {
            self.leave(entity);
        }
        self.nodes[node].group = group;
        self.nodes[node].group_position = Position::default();
        for (slot, joined) in [(old, false), (group, true)] {
            if slot != NONE {
                let members = &mut self.groups[slot].members;
                *members = if joined { *members + 1 } else { *members - 1 };
            }
        }
        self.set_floor(node, None, Some(Floor::default()));
        for slot in [old, group] {
            if slot != NONE && self.groups[slot].limits.floor != Floor::default() {
                self.share_group_floor(slot);
            }
        }
        if self.has_work(entity) {
            self.settle(entity);
        }
    }

    fn set_fair(&mut self, object: Option<ObjectId>, fair: bool) -> Result<(), EditError> {
        let node = object.map_or(Ok(ROOT), |o| self.node(o))?;
        if self.nodes[node].limit == NONE && fair {
            self.nodes[node].limit = self.add_limit(Entity::Node(node));
        }
        let limit = self.nodes[node].limit;
        if limit != NONE {
            let depth_max = fair.then(|| self.settings.fair_depth.max(1));
            self.limits[limit].set_depth(depth_max, self.epoch);
        }
        self.reopen(Entity::Node(node));
        Ok(())
    }

    /// A turn costs what its owner's limit counts.
    fn set_price(&mut self, turn_queue: u32, limit: u32) {
        if turn_queue != NONE && limit != NONE {
            self.turn_queues[turn_queue].price = self.limits[limit].price();
        }
    }

    fn add_limit(&mut self, owner: Entity) -> u32 {
        let traced = self.traces < self.settings.traces_max;
        self.traces += u32::from(traced);
        self.limits.add(Limit::new(owner, traced))
    }

    fn free_limit(&mut self, limit: u32) {
        if limit != NONE {
            self.traces -= u32::from(self.limits[limit].is_traced());
            // Timers for this slot are stale from now on; floors that wait there go on.
            self.limits[limit].retire();
            while !self.limits[limit].floors.is_empty() {
                self.call_parked(limit);
            }
            self.limits.free(limit);
        }
    }

    fn node(&self, object: ObjectId) -> Result<u32, EditError> {
        Some(self.objects.get(object.0)).filter(|&n| n != NONE).ok_or(EditError::NoObject(object))
    }

    fn group(&self, group: GroupId) -> Result<u32, EditError> {
        Some(self.group_index.get(group.0)).filter(|&g| g != NONE).ok_or(EditError::NoGroup(group))
    }
}

fn check(limits: Limits) -> Result<(), EditError> {
    let (ceiling, floor) = (limits.ceiling, limits.floor);
    let rates =
        [ceiling.iops.map(|r| r.0), ceiling.bytes.map(|r| r.0), floor.iops.map(|r| r.0), floor.bytes.map(|r| r.0)];
    if let Some(latency) = floor.latency.filter(|latency| *latency < LATENCY_LEAST) {
        return Err(EditError::Latency(latency));
    }
    match rates.into_iter().flatten().find(|r| !(1..=RATE_MAX).contains(r)) {
        Some(rate) => Err(EditError::Rate(rate)),
        None => Ok(()),
    }
}
