//! Where nodes and groups wait: joining desks, leaving them, and finding the next in turn from the
//! root down.

use block::Time;

use super::Scheduler;
use super::node::{Entity, Place, ROOT, Waiter};
use super::turn::{Desk, Seat};
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
    /// Whether something waits in an entity's queue or at its desk.
    pub(super) fn has_work(&self, entity: Entity) -> bool {
        match entity {
            Entity::Node(n) if self.nodes[n].desk == NONE => self.nodes[n].queued > 0 && !self.nodes[n].called,
            _ => self.desk(entity).waiting > 0,
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
    /// before: behind its own limit if that is closed, at its group's desk if the group is closed
    /// or others wait there, else at its parent's.
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
                Entity::Node(n) if self.must_queue_at_group(n) => self.sit(at, Place::Group),
                _ => self.sit(at, Place::Parent),
            };
        }
    }

    fn must_queue_at_group(&self, node: u32) -> bool {
        let group = self.nodes[node].group;
        group != NONE && (self.desk(Entity::Group(group)).waiting > 0 || !self.is_open(Entity::Group(group)))
    }

    /// The owner of the desk at which an entity waits in that place.
    fn owner(&self, entity: Entity, place: Place) -> Entity {
        match (entity, place) {
            (Entity::Node(n), Place::Group) => Entity::Group(self.nodes[n].group),
            (Entity::Node(n), _) => Entity::Node(self.nodes[n].parent),
            (Entity::Group(_), _) => Entity::Node(ROOT),
        }
    }

    /// Joins a desk; returns the desk's owner.
    pub(super) fn sit(&mut self, entity: Entity, place: Place) -> Entity {
        self.set_place(entity, place);
        let owner = self.owner(entity, place);
        let slack = self.slack();
        let desk = self.desk_number(owner);
        let (waiter, seat) = match (entity, place) {
            (Entity::Node(n), Place::Group) => (Waiter::Node(n), &mut self.nodes[n].group_seat),
            (Entity::Node(n), _) => (Waiter::Node(n), &mut self.nodes[n].seat),
            (Entity::Group(g), _) => (Waiter::Group(g), &mut self.groups[g].seat),
        };
        take_seat(&mut self.desks[desk], seat, waiter, &mut self.seq, slack);
        owner
    }

    /// Leaves the desk at which it waits. Those above that have no work without it leave theirs
    /// too.
    pub(super) fn leave(&mut self, entity: Entity) {
        let mut at = entity;
        while at != Entity::Node(ROOT) {
            let place = self.place(at);
            self.set_place(at, Place::Out);
            let owner = match place {
                Place::Out | Place::Held => return,
                Place::Parent | Place::Group => self.owner(at, place),
            };
            self.seat_mut(at, place).waiting = false;
            let desk = self.desk_number(owner);
            self.desks[desk].waiting -= 1;
            if self.desks[desk].waiting > 0 {
                return;
            }
            at = owner;
        }
    }

    /// The node's own queue joins the node's desk.
    pub(super) fn sit_own(&mut self, node: u32) {
        let slack = self.slack();
        let desk = self.nodes[node].desk;
        let mut seat = self.desks[desk].own;
        take_seat(&mut self.desks[desk], &mut seat, Waiter::Own(node), &mut self.seq, slack);
        self.desks[desk].own = seat;
    }

    /// The node's own queue leaves the node's desk.
    pub(super) fn stand_own(&mut self, node: u32) {
        let desk = &mut self.desks[self.nodes[node].desk];
        if desk.own.waiting {
            desk.own.waiting = false;
            desk.waiting -= 1;
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
                && self.nodes[n].desk == NONE
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

    /// Whether a node found at a desk may pass; if it is blocked, it is moved to where it is
    /// blocked.
    fn pass(&mut self, node: u32, desk_of: Entity) -> Pass {
        self.fetch(node);
        let entity = Entity::Node(node);
        if !self.is_open(entity) {
            self.move_on(entity);
            return Pass::Blocked;
        }
        let group = self.nodes[node].group;
        let held = match desk_of {
            Entity::Node(_) => group != NONE && !self.is_open(Entity::Group(group)),
            // Called by its group, it may not pass those who wait at a desk above it.
            Entity::Group(_) => !self.is_path_clear(self.nodes[node].parent),
        };
        if !held {
            return Pass::Open;
        }
        if let Some(time) = self.may_promise(node, desk_of) {
            return Pass::From(time);
        }
        match desk_of {
            Entity::Node(_) => self.move_on(entity),
            Entity::Group(_) => {
                self.leave(entity);
                let parent = self.sit(entity, Place::Parent);
                self.settle(parent);
            }
        }
        Pass::Blocked
    }

    /// Whether nothing holds what comes from beneath a node on its way to the root's desk.
    fn is_path_clear(&self, node: u32) -> bool {
        let mut at = node;
        while at != ROOT {
            let record = &self.nodes[at];
            let group = record.group;
            if !self.is_open(Entity::Node(at))
                || self.desks[record.desk].waiting > 0
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

    /// The waiter at a desk with the least tag. Entries of those who left are dropped on the way;
    /// those served since go back to their place.
    fn next_in_turn(&mut self, at: Entity) -> Option<Waiter> {
        let desk = self.desk_number(at);
        if self.desks[desk].waiting == 0 {
            return None;
        }
        loop {
            let entry = self.desks[desk].heap.peek()?;
            let waiter = Waiter::from_bits(entry.id);
            let next_seq = self.seq.wrapping_add(1);
            let seat = self.seat_of(waiter, at);
            if seat.seq != entry.seq || !seat.waiting {
                seat.listed &= seat.seq != entry.seq;
                self.desks[desk].heap.pop();
                // A dropped entry counts as a step, so that many of them do not hold up a poll.
                self.steps = self.steps.checked_sub(1)?;
            } else if seat.tag != entry.key {
                seat.seq = next_seq;
                let tag = seat.tag;
                self.desks[desk].heap.postpone(tag, next_seq);
                self.seq = next_seq;
            } else {
                return Some(waiter);
            }
        }
    }

    /// A waiter's seat at a desk. A stale entry's may be another's by now: the entry's number
    /// tells.
    fn seat_of(&mut self, waiter: Waiter, at: Entity) -> &mut Seat {
        match (waiter, at) {
            (Waiter::Own(n), _) => {
                let desk = self.nodes[n].desk;
                &mut self.desks[desk].own
            }
            (Waiter::Group(g), _) => &mut self.groups[g].seat,
            (Waiter::Node(n), Entity::Group(_)) => &mut self.nodes[n].group_seat,
            (Waiter::Node(n), Entity::Node(_)) => &mut self.nodes[n].seat,
        }
    }

    fn seat_mut(&mut self, entity: Entity, place: Place) -> &mut Seat {
        match (entity, place) {
            (Entity::Node(n), Place::Group) => &mut self.nodes[n].group_seat,
            (Entity::Node(n), _) => &mut self.nodes[n].seat,
            (Entity::Group(g), _) => &mut self.groups[g].seat,
        }
    }

    pub(super) fn limit_of(&self, entity: Entity) -> u32 {
        match entity {
            Entity::Node(n) => self.nodes[n].limit,
            Entity::Group(g) => self.groups[g].limit,
        }
    }

    fn desk_number(&self, entity: Entity) -> u32 {
        match entity {
            Entity::Node(n) => self.nodes[n].desk,
            Entity::Group(g) => self.groups[g].desk,
        }
    }

    fn desk(&self, entity: Entity) -> &Desk {
        &self.desks[self.desk_number(entity)]
    }
}

fn take_seat(desk: &mut Desk, seat: &mut Seat, waiter: Waiter, seq: &mut u32, slack: u64) {
    seat.tag = desk.tag_on_arrival(seat.tag, slack);
    seat.waiting = true;
    desk.waiting += 1;
    if !seat.listed {
        seat.listed = true;
        *seq = seq.wrapping_add(1);
        seat.seq = *seq;
        desk.heap.push(Entry { key: seat.tag, id: waiter.to_bits(), seq: seat.seq });
    }
}
