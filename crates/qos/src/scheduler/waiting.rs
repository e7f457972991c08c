//! Where nodes and groups wait: joining and leaving turn queues, and finding the next in turn from
//! the root down.

use block::Time;

use super::Scheduler;
use super::node::{Entity, Place, ROOT, Waiter};
use super::turns::{Position, TurnQueue};
use crate::heap::Entry;
use crate::slab::NONE;

/// Whether a node in turn may pass.
enum Pass {
    Open,
    /// At that time, by appointment.
    From(Time),
    Blocked,
}

impl Scheduler {
    /// Whether something waits in an entity's queue or in its turn queue.
    pub(super) fn has_work(&self, entity: Entity) -> bool {
        match entity {
            Entity::Node(n) if self.nodes[n].turn_queue == NONE => self.nodes[n].queued > 0 && !self.nodes[n].appointed,
            _ => self.turn_queue(entity).waiting > 0,
        }
    }

    pub(super) fn place(&self, entity: Entity) -> Place {
        match entity {
            Entity::Node(n) => self.nodes[n].place,
            Entity::Group(g) => self.groups[g].place,
        }
    }

    pub(super) fn set_place(&mut self, entity: Entity, place: Place) {
        match entity {
            Entity::Node(n) => self.nodes[n].place = place,
            Entity::Group(g) => self.groups[g].place = place,
        }
    }

    /// Puts an entity with work where it has to wait, and then those above it that had no work
    /// before: behind its own limit if that is closed, in its group's turn queue if the group is
    /// closed or others wait there, else at its parent's.
    pub(super) fn settle(&mut self, entity: Entity) {
        let mut at = entity;
        while at != Entity::Node(ROOT) && self.place(at) == Place::Out {
            if let Entity::Node(n) = at {
                self.list_floor(n);
            }
            if !self.is_open(at) {
                self.set_place(at, Place::Held);
                return self.set_timer(self.limit_of(at));
            }
            at = match at {
                Entity::Node(n) if self.must_queue_at_group(n) => self.join_queue(at, Place::Group),
                _ => self.join_queue(at, Place::Parent),
            };
        }
    }

    fn must_queue_at_group(&self, node: u32) -> bool {
        let group = self.nodes[node].group;
        group != NONE && (self.turn_queue(Entity::Group(group)).waiting > 0 || !self.is_open(Entity::Group(group)))
    }

    /// The owner of the turn queue at which an entity waits in that place.
    fn owner(&self, entity: Entity, place: Place) -> Entity {
        match (entity, place) {
            (Entity::Node(n), Place::Group) => Entity::Group(self.nodes[n].group),
            (Entity::Node(n), _) => Entity::Node(self.nodes[n].parent),
            (Entity::Group(_), _) => Entity::Node(ROOT),
        }
    }

    /// Joins a turn queue; returns its owner.
    pub(super) fn join_queue(&mut self, entity: Entity, place: Place) -> Entity {
        self.set_place(entity, place);
        let owner = self.owner(entity, place);
        let slack = self.slack();
        let turn_queue = self.queue_number(owner);
        let (waiter, position) = match (entity, place) {
            (Entity::Node(n), Place::Group) => (Waiter::Node(n), &mut self.nodes[n].group_position),
            (Entity::Node(n), _) => (Waiter::Node(n), &mut self.nodes[n].position),
            (Entity::Group(g), _) => (Waiter::Group(g), &mut self.groups[g].position),
        };
        enter(&mut self.turn_queues[turn_queue], position, waiter, &mut self.seq, slack);
        owner
    }

    /// Leaves the turn queue at which it waits. Those above that have no work without it leave
    /// theirs too.
    pub(super) fn leave(&mut self, entity: Entity) {
        let mut at = entity;
        while at != Entity::Node(ROOT) {
            let place = self.place(at);
            self.set_place(at, Place::Out);
            let owner = match place {
                Place::Out | Place::Held => return,
                Place::Parent | Place::Group => self.owner(at, place),
            };
            self.position_mut(at, place).waiting = false;
            let turn_queue = self.queue_number(owner);
            self.turn_queues[turn_queue].waiting -= 1;
            if self.turn_queues[turn_queue].waiting > 0 {
                return;
            }
            at = owner;
        }
    }

    /// The node's own queue joins the node's turn queue.
    pub(super) fn join_own(&mut self, node: u32) {
        let slack = self.slack();
        let turn_queue = self.nodes[node].turn_queue;
        let mut position = self.turn_queues[turn_queue].own;
        enter(&mut self.turn_queues[turn_queue], &mut position, Waiter::Own(node), &mut self.seq, slack);
        self.turn_queues[turn_queue].own = position;
    }

    /// The node's own queue leaves the node's turn queue.
    pub(super) fn leave_own(&mut self, node: u32) {
        let turn_queue = &mut self.turn_queues[self.nodes[node].turn_queue];
        if turn_queue.own.waiting {
            turn_queue.own.waiting = false;
            turn_queue.waiting -= 1;
        }
    }

    /// The queue whose turn it is beneath an entity, if all limits on the way down are open. A
    /// waiter that is blocked moves to where it is blocked; one that needs two limits that are not
    /// open together gets an appointment. Both give `None`, and another step may find more.
    pub(super) fn descend(&mut self, from: Entity) -> Option<u32> {
        let mut at = from;
        let mut promised = None;
        loop {
            if let Entity::Node(n) = at
                && self.nodes[n].turn_queue == NONE
            {
                return self.meet(n, promised);
            }
            let waiter = self.next_in_turn(at)?;
            match waiter {
                Waiter::Own(n) => return self.meet(n, promised),
                Waiter::Group(g) => {
                    if !self.is_open(Entity::Group(g)) {
                        self.move_on(Entity::Group(g));
                        return None;
                    }
                    at = Entity::Group(g);
                }
                Waiter::Node(n) => {
                    match self.pass(n, at) {
                        Pass::Blocked => return None,
                        Pass::Open => {}
                        Pass::From(time) => promised = promised.max(Some(time)),
                    }
                    at = Entity::Node(n);
                }
            }
        }
    }

    /// A queue found with every limit open goes now; one that was promised a time gets its
    /// appointment.
    fn meet(&mut self, leaf: u32, promised: Option<Time>) -> Option<u32> {
        let Some(time) = promised else { return Some(leaf) };
        self.appoint(leaf, time);
        None
    }

    /// Reads what the request of a queue in turn will need, all at once. With many objects each
    /// record misses the caches; this way the misses overlap.
    #[inline]
    fn fetch(&self, leaf: u32) {
        let node = &self.nodes[leaf];
        if node.head == NONE {
            return;
        }
        let job = &self.jobs[node.head];
        let mut read = job.arrived.as_nanos() ^ u64::from(job.node);
        if let Some(meter) = self.meters.get(node.meter) {
            read ^= meter.fetch();
        }
        if let Some(limit) = self.limits.get(node.limit) {
            read ^= limit.fetch();
        }
        if let Some(guarantee) = self.guarantees.get(node.floor) {
            read ^= u64::from(guarantee.seq) ^ guarantee.account.since.as_nanos();
        }
        std::hint::black_box(read);
    }

    /// Whether a node found in a turn queue may pass; if it is blocked, it is moved to where it is
    /// blocked.
    fn pass(&mut self, node: u32, queue_of: Entity) -> Pass {
        self.fetch(node);
        let entity = Entity::Node(node);
        if !self.is_open(entity) {
            self.move_on(entity);
            return Pass::Blocked;
        }
        let group = self.nodes[node].group;
        let held = match queue_of {
            Entity::Node(_) => group != NONE && !self.is_open(Entity::Group(group)),
            // Taken from its group's queue, it may not pass others that wait in a turn queue above
            // it.
            Entity::Group(_) => !self.is_path_clear(self.nodes[node].parent),
        };
        if !held {
            return Pass::Open;
        }
        if let Some(time) = self.may_appoint(node, queue_of) {
            return Pass::From(time);
        }
        match queue_of {
            Entity::Node(_) => self.move_on(entity),
            Entity::Group(_) => {
                self.leave(entity);
                let parent = self.join_queue(entity, Place::Parent);
                self.settle(parent);
            }
        }
        Pass::Blocked
    }

    /// Whether nothing holds what comes from beneath a node on its way to the root's turn queue.
    fn is_path_clear(&self, node: u32) -> bool {
        let mut at = node;
        while at != ROOT {
            let record = &self.nodes[at];
            let group = record.group;
            if !self.is_open(Entity::Node(at))
                || self.turn_queues[record.turn_queue].waiting > 0
                || group != NONE && !self.is_open(Entity::Group(group))
            {
                return false;
            }
            at = record.parent;
        }
        true
    }

    fn move_on(&mut self, entity: Entity) {
        self.leave(entity);
        self.settle(entity);
    }

    /// The waiter in a turn queue with the least tag. Entries of those who left are dropped on the
    /// way; those served since go back to their place.
    fn next_in_turn(&mut self, at: Entity) -> Option<Waiter> {
        let turn_queue = self.queue_number(at);
        if self.turn_queues[turn_queue].waiting == 0 {
            return None;
        }
        loop {
            let entry = self.turn_queues[turn_queue].heap.peek()?;
            let waiter = Waiter::from_bits(entry.id);
            let next_seq = self.seq.wrapping_add(1);
            let position = self.position_of(waiter, at);
            if position.seq != entry.seq || !position.waiting {
                position.listed &= position.seq != entry.seq;
                self.turn_queues[turn_queue].heap.pop();
                // A dropped entry counts as a step, so that many of them do not hold up a poll.
                self.steps = self.steps.checked_sub(1)?;
            } else if position.tag != entry.key {
                position.seq = next_seq;
                let tag = position.tag;
                self.turn_queues[turn_queue].heap.postpone(tag, next_seq);
                self.seq = next_seq;
            } else {
                return Some(waiter);
            }
        }
    }

    /// A waiter's position in a turn queue. A stale entry's may be another's by now: the entry's
    /// number tells.
    fn position_of(&mut self, waiter: Waiter, at: Entity) -> &mut Position {
        match (waiter, at) {
            (Waiter::Own(n), _) => {
                let turn_queue = self.nodes[n].turn_queue;
                &mut self.turn_queues[turn_queue].own
            }
            (Waiter::Group(g), _) => &mut self.groups[g].position,
            (Waiter::Node(n), Entity::Group(_)) => &mut self.nodes[n].group_position,
            (Waiter::Node(n), Entity::Node(_)) => &mut self.nodes[n].position,
        }
    }

    fn position_mut(&mut self, entity: Entity, place: Place) -> &mut Position {
        match (entity, place) {
            (Entity::Node(n), Place::Group) => &mut self.nodes[n].group_position,
            (Entity::Node(n), _) => &mut self.nodes[n].position,
            (Entity::Group(g), _) => &mut self.groups[g].position,
        }
    }

    pub(super) fn limit_of(&self, entity: Entity) -> u32 {
        match entity {
            Entity::Node(n) => self.nodes[n].limit,
            Entity::Group(g) => self.groups[g].limit,
        }
    }

    fn queue_number(&self, entity: Entity) -> u32 {
        match entity {
            Entity::Node(n) => self.nodes[n].turn_queue,
            Entity::Group(g) => self.groups[g].turn_queue,
        }
    }

    fn turn_queue(&self, entity: Entity) -> &TurnQueue {
        &self.turn_queues[self.queue_number(entity)]
    }
}

fn enter(turn_queue: &mut TurnQueue, position: &mut Position, waiter: Waiter, seq: &mut u32, slack: u64) {
    position.tag = turn_queue.tag_on_arrival(position.tag, slack);
    position.waiting = true;
    turn_queue.waiting += 1;
    if !position.listed {
        position.listed = true;
        *seq = seq.wrapping_add(1);
        position.seq = *seq;
        turn_queue.heap.push(Entry { key: position.tag, id: waiter.to_bits(), seq: position.seq });
    }
}
