//! Floors that are due: which of them sends the next request, and where the others wait.
//!
//! Floors with work are in one heap, keyed by when they are due; one that finds a ceiling closed
//! waits at that ceiling. The requests outstanding under a floor are counted here too.

use block::{LimitKind, ObjectId};

use super::Scheduler;
use super::floor::Spot;
use super::node::Entity;
use crate::heap::Entry;
use crate::slab::NONE;

impl Scheduler {
    /// Lists the floor of a node that has work, if it is in no list yet.
    pub(super) fn list_floor(&mut self, node: u32) {
        let floor = self.nodes[node].floor;
        if floor != NONE && self.guarantees[floor].spot == Spot::Out {
            self.relist_floor(floor);
        }
    }

    /// Lists a floor with the time at which it is due now; an older entry becomes stale.
    pub(super) fn relist_floor(&mut self, floor: u32) {
        let seq = self.next_seq();
        let guarantee = &mut self.guarantees[floor];
        (guarantee.spot, guarantee.seq) = (Spot::Listed, seq);
        self.due_floors.push(Entry { key: guarantee.due().as_nanos(), id: floor, seq });
    }

    /// The next request that a floor sends, if one is due: its queue, and the floor's node.
    pub(super) fn pick_floor(&mut self) -> Option<(u32, u32)> {
        let entry = self.due_floors.peek().filter(|e| e.key <= self.now.as_nanos())?;
        let guarantee = &self.guarantees[entry.id];
        let (node, due) = (guarantee.node, guarantee.due().as_nanos());
        if guarantee.seq != entry.seq || guarantee.spot != Spot::Listed {
            self.due_floors.pop();
            return None;
        }
        if !self.has_work(Entity::Node(node)) {
            self.guarantees[entry.id].spot = Spot::Out;
            self.due_floors.pop();
            return None;
        }
        if due != entry.key {
            let seq = self.next_seq();
            self.guarantees[entry.id].seq = seq;
            self.due_floors.postpone(due, seq);
            // Another floor may be first now.
            if due > self.now.as_nanos() || self.due_floors.peek().is_none_or(|first| first.seq != seq) {
                return None;
            }
        }
        let closed = self.closed_above(node);
        if closed != NONE {
            self.due_floors.pop();
            self.park_floor(entry.id, closed);
            return None;
        }
        self.descend(Entity::Node(node)).map(|leaf| (leaf, node))
    }

    /// Whether an object has a floor on its path.
    pub fn has_floor(&self, object: ObjectId) -> bool {
        let mut at = self.objects.get(object.0);
        while at != NONE && self.nodes[at].floor == NONE {
            at = self.nodes[at].parent;
        }
        at != NONE
    }

    /// Whether a floor on an object's path is due.
    pub fn is_due(&self, object: ObjectId) -> bool {
        self.due_floor_above(self.objects.get(object.0)) != NONE
    }

    /// The first node up from an object whose floor is due, so that a new request may go by it at
    /// once; [`NONE`] if there is none.
    pub(super) fn due_floor_above(&self, leaf: u32) -> u32 {
        let mut at = leaf;
        while at != NONE {
            let node = &self.nodes[at];
            if node.floor != NONE && self.guarantees[node.floor].due() <= self.now {
                return at;
            }
            at = node.parent;
        }
        NONE
    }

    /// A limit on the path from a node up that is closed, [`NONE`] if all are open.
    pub(super) fn closed_above(&self, node: u32) -> u32 {
        let mut at = node;
        while at != NONE {
            let record = &self.nodes[at];
            let shared = if record.group == NONE { NONE } else { self.groups[record.group].limit };
            for limit in [record.limit, shared] {
                if limit != NONE && self.limits[limit].until > self.now {
                    return limit;
                }
            }
            at = record.parent;
        }
        NONE
    }

    fn park_floor(&mut self, floor: u32, limit: u32) {
        let (seq, now) = (self.next_seq(), self.now);
        let own = self.nodes[self.guarantees[floor].node].limit == limit;
        let binding = self.limits[limit].binding();
        let guarantee = &mut self.guarantees[floor];
        (guarantee.spot, guarantee.seq) = (Spot::Parked, seq);
        (guarantee.capped, guarantee.capped_at) = (true, now);
        // Its own ceiling is at least its floor. If it is of the same kind, it cannot be why the
        // floor is missed.
        let wanted = guarantee.wanted();
        let same_kind = match binding {
            LimitKind::Iops => wanted.iops.is_some(),
            LimitKind::Throughput => wanted.bytes.is_some(),
        };
        guarantee.account.capped |= !(own && same_kind);
        let entry = Entry { key: guarantee.due().as_nanos(), id: floor, seq };
        self.limits[limit].floors.push(entry);
        self.set_timer(limit);
    }

    /// If a limit is open, tries the floor parked there that is due first; the others follow one by
    /// one. If it is closed, they are tried when it opens.
    pub(super) fn call_parked(&mut self, limit: u32) {
        if self.limits[limit].until > self.now {
            if !self.limits[limit].floors.is_empty() {
                self.set_timer(limit);
            }
            return;
        }
        while let Some(entry) = self.limits[limit].floors.pop() {
            let guarantee = &self.guarantees[entry.id];
            if guarantee.seq == entry.seq && guarantee.spot == Spot::Parked {
                return self.relist_floor(entry.id);
            }
        }
    }

    /// Changes the number of requests outstanding under a floor.
    pub(super) fn count_at_floor(&mut self, floor: u32, change: i32) {
        let (now, changes) = (self.now, self.floors.changes);
        let guarantee = &mut self.guarantees[floor];
        guarantee.touch(now);
        guarantee.outstanding = guarantee.outstanding.saturating_add_signed(change);
        if guarantee.measured_after != changes || !guarantee.active {
            guarantee.measured_after = changes;
            guarantee.gauge.forget(now);
            if let Some(latency) = &mut guarantee.latency {
                latency.forget();
            }
        }
        if !guarantee.active {
            guarantee.active = true;
            self.floors.active.push(floor);
        }
    }
}
