//! Appointments: how a request passes two limits that are never open at the same moment.
//!
//! ```text
//!   volume's limit   ──open── taken by a neighbour ──open── …        both used up all the time: whenever one opens,
//!   group's limit    ─────open── taken by a member ─────open── …     the other is closed, and the member in both starves
//! ```
//!
//! Nested limits never do this: what is open below stays open until its turn above. A shared group
//! crosses the tree. So a member whose turn comes at one of the two while the other holds it gets
//! an appointment: all limits on its path are charged now, dated to when the last of them opens,
//! and the request goes then without waiting for another turn.
//!
//! No limit loses rate by it: a charge that is dated within a limit's tolerance leaves the limit's
//! clock where it would be anyway. Requests may be so large that the time is beyond the tolerance
//! of both limits. A member that its group called in vain a few times then gets an appointment all
//! the same. Each limit is charged as of the end of its tolerance and loses nothing, but that one
//! request may fall late into a second that is full.

use block::Time;

use super::node::{Entity, ROOT};
use super::{DispatchReason, Pick, Scheduler};
use crate::heap::Entry;
use crate::slab::NONE;

/// How often a member that its group calls is sent away because the time is too far off, before it
/// gets an appointment anyway.
const MISSES_MAX: u8 = 4;

/// What the limits on a path allow together.
struct JointLimits {
    /// When all of them are open.
    open: Time,
    /// The latest time that a charge may be dated without any of them losing rate.
    latest: Time,
}

impl Scheduler {
    /// When a node can go whose turn it is in a turn queue, but which its group or a limit above
    /// holds. `None` if that may not be promised.
    pub(super) fn may_appoint(&mut self, node: u32, queue_of: Entity) -> Option<Time> {
        let together = self.together(node, queue_of)?;
        let by_group = matches!(queue_of, Entity::Group(_));
        let misses = self.nodes[node].misses;
        if together.open > together.latest && (!by_group || misses < MISSES_MAX) {
            self.nodes[node].misses = misses.saturating_add(u8::from(by_group));
            return None;
        }
        self.nodes[node].misses = 0;
        Some(together.open)
    }

    /// Combines the limits from a node's group up to the root. `None` if it is not this node's turn
    /// everywhere, if it is not known when a limit opens, or if no limit above the node competes
    /// with its group's.
    fn together(&self, node: u32, queue_of: Entity) -> Option<JointLimits> {
        let mut together = JointLimits { open: self.now, latest: Time::MAX };
        let by_group = matches!(queue_of, Entity::Group(_));
        let group = self.nodes[node].group;
        self.add_limit_to(&mut together, Entity::Group(group))?;
        if !by_group && !self.is_in_turn(self.nodes[node].group_position.tag, self.groups[group].turn_queue) {
            return None;
        }
        let (mut at, mut paced) = (node, false);
        while self.nodes[at].parent != ROOT {
            let parent = self.nodes[at].parent;
            if by_group && !self.is_in_turn(self.nodes[at].position.tag, self.nodes[parent].turn_queue) {
                return None;
            }
            at = parent;
            paced |= self.add_limit_to(&mut together, Entity::Node(at))?;
            if self.nodes[at].group != NONE {
                paced |= self.add_limit_to(&mut together, Entity::Group(self.nodes[at].group))?;
            }
        }
        paced.then_some(together)
    }

    /// Adds a limit; returns whether it has a rate. `None` for one that opens with a completion,
    /// whose time nobody knows.
    fn add_limit_to(&self, together: &mut JointLimits, entity: Entity) -> Option<bool> {
        let limit = self.limit_of(entity);
        if limit == NONE {
            return Some(false);
        }
        let limit = &self.limits[limit];
        if limit.until <= self.now && !self.is_open(entity) {
            return None;
        }
        if limit.has_rate() {
            together.open = together.open.max(limit.until);
            together.latest = together.latest.min(limit.latest(self.now));
        }
        Some(limit.has_rate())
    }

    /// Whether a waiter with this tag need not let anybody in the turn queue go first.
    fn is_in_turn(&self, tag: u64, turn_queue: u32) -> bool {
        let turn_queue = &self.turn_queues[turn_queue];
        turn_queue.waiting == 0 || turn_queue.tag_on_arrival(tag, self.slack()) <= turn_queue.now
    }

    /// Promises the first request of an object's queue that time, and charges its turns and its
    /// limits.
    pub(super) fn appoint(&mut self, leaf: u32, at: Time) {
        let bytes = self.jobs[self.nodes[leaf].head].bytes;
        self.charge_turns(leaf, bytes, DispatchReason::Appointed);
        let mut node = leaf;
        while node != NONE {
            let (group, parent) = (self.nodes[node].group, self.nodes[node].parent);
            self.reserve(self.nodes[node].limit, at, bytes);
            if group != NONE {
                self.reserve(self.groups[group].limit, at, bytes);
            }
            node = parent;
        }
        if self.nodes[leaf].turn_queue != NONE {
            self.leave_own(leaf);
        }
        self.nodes[leaf].appointed = true;
        if !self.has_work(Entity::Node(leaf)) {
            self.leave(Entity::Node(leaf));
        }
        let seq = self.next_seq();
        self.nodes[leaf].appointment = seq;
        self.appointments.push(Entry { key: at.as_nanos(), id: leaf, seq });
    }

    fn reserve(&mut self, limit: u32, at: Time, bytes: u64) {
        if limit != NONE {
            let latest = self.limits[limit].latest(self.now);
            self.limits[limit].reserve(at.min(latest), bytes);
        }
    }

    /// After an edit that put one more limit on a path: charges it for the appointments beneath it.
    pub(super) fn charge_appointed(&mut self, limit: u32) {
        if limit == NONE {
            return;
        }
        for entry in self.appointments.entries() {
            let node = &self.nodes[entry.id];
            if node.appointed && node.appointment == entry.seq && self.is_beneath(entry.id, limit) {
                let bytes = self.jobs[node.head].bytes;
                self.reserve(limit, Time::from_nanos(entry.key), bytes);
            }
        }
    }

    fn is_beneath(&self, node: u32, limit: u32) -> bool {
        let mut at = node;
        while at != NONE {
            let record = &self.nodes[at];
            if record.limit == limit || record.group != NONE && self.groups[record.group].limit == limit {
                return true;
            }
            at = record.parent;
        }
        false
    }

    /// After an edit: brings appointments forward to when their limits are open now. What was
    /// charged stays charged.
    pub(super) fn bring_appointments_forward(&mut self) {
        let entries: Vec<Entry> = std::iter::from_fn(|| self.appointments.pop()).collect();
        for entry in entries {
            let node = &self.nodes[entry.id];
            if node.appointed && node.appointment == entry.seq {
                let key = entry.key.min(self.all_open(entry.id).as_nanos());
                self.appointments.push(Entry { key, ..entry });
            }
        }
    }

    /// When every limit on a node's path is open.
    fn all_open(&self, node: u32) -> Time {
        let mut open = self.now;
        let mut at = node;
        while at != NONE {
            let record = &self.nodes[at];
            let shared = if record.group == NONE { NONE } else { self.groups[record.group].limit };
            for limit in [record.limit, shared] {
                open = self.limits.get(limit).map_or(open, |limit| limit.until.max(open));
            }
            at = record.parent;
        }
        open
    }

    /// The first request whose appointment has come.
    pub(super) fn pick_appointed(&mut self) -> Option<Pick> {
        loop {
            let entry = self.appointments.peek().filter(|entry| entry.key <= self.now.as_nanos())?;
            let node = &self.nodes[entry.id];
            if node.appointed && node.appointment == entry.seq {
                return Some(Pick { job: node.head, reason: DispatchReason::Appointed });
            }
            // Its queue was cancelled; what was charged for it is lost.
            self.appointments.pop();
        }
    }

    /// The request with the appointment went; the rest of its queue waits as usual again.
    pub(super) fn end_appointment(&mut self, leaf: u32) {
        self.appointments.pop();
        self.nodes[leaf].appointed = false;
        if self.nodes[leaf].queued > 0 {
            self.queue_filled(leaf);
        }
    }

    /// When the next appointment is.
    pub(super) fn next_appointment(&self) -> Option<Time> {
        self.appointments.peek().map(|entry| Time::from_nanos(entry.key))
    }
}
