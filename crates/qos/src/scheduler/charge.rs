//! A request goes: every limit, floor and turn on its path is charged, and why it waited is
//! recorded.

use block::{Cause, LimitKind, Request, Ticket, Time};

use super::job::{self, Stage};
use super::limit::Limit;
use super::node::{Entity, Place, ROOT};
use super::turns::Turn;
use super::{DispatchReason, Pick, Scheduler};
use crate::slab::NONE;

/// What a limit is charged.
#[derive(Clone, Copy)]
struct Charge {
    bytes: u64,
    /// The epoch at which the request was accepted: counts that began later leave it out.
    epoch: u32,
    /// The limits were charged already, when its appointment was made.
    appointed: bool,
}

/// The limit that opened last while a request waited: its number, or [`NONE`], and its kind then.
#[derive(Clone, Copy)]
struct Latest {
    limit: u32,
    kind: LimitKind,
    until: Time,
}

impl Latest {
    fn since(arrived: Time) -> Latest {
        Latest { limit: NONE, kind: LimitKind::Iops, until: arrived }
    }

    #[inline]
    fn note(&mut self, number: u32, limit: &Limit) {
        if limit.until > self.until {
            *self = Latest { limit: number, kind: limit.binding(), until: limit.until };
        }
    }
}

impl Scheduler {
    /// Takes the request out of its slot, to be handed to the backend.
    #[inline]
    pub fn take_request(&mut self, job: u32) -> Option<Request> {
        self.jobs[job].request.take()
    }

    /// The backend accepted a request.
    #[inline]
    pub fn started(&mut self, pick: Pick, ticket: Ticket) {
        let now = self.now;
        let job = &mut self.jobs[pick.job];
        let (leaf, bytes, cost) = (job.node, job.bytes, job::cost(job.bytes));
        (job.started, job.ticket) = (now, ticket);
        job.best_effort = !matches!(pick.reason, DispatchReason::Floor(_));
        let was = std::mem::replace(&mut job.stage, Stage::InFlight);
        let (kind, best_effort) = (job.kind, job.best_effort);
        self.in_flight += 1;
        self.floors.started(now, cost, best_effort);
        if let Some(meter) = self.meter_of(pick.job) {
            meter.dispatched(kind, bytes);
        }
        if pick.reason != DispatchReason::Free || was != Stage::Open {
            self.charge(pick, was, leaf, bytes);
        }
    }

    fn charge(&mut self, pick: Pick, was: Stage, leaf: u32, bytes: u64) {
        if was == Stage::Queued && pick.reason != DispatchReason::Appointed {
            self.charge_turns(leaf, bytes, pick.reason);
        }
        let latest = self.charge_path(pick, leaf, bytes);
        match was {
            Stage::Queued => self.unlink(pick.job),
            Stage::Spilled => self.unspill(pick.job),
            _ => return,
        }
        self.spilled_next = was == Stage::Queued;
        if pick.reason == DispatchReason::Appointed {
            self.end_appointment(leaf);
        }
        self.book_wait(pick.job, latest);
    }

    /// Charges the limits from the leaf up, and the floors too if one of them sent the request.
    fn charge_path(&mut self, pick: Pick, leaf: u32, bytes: u64) -> Latest {
        let job = &self.jobs[pick.job];
        let appointed = pick.reason == DispatchReason::Appointed;
        let charge = Charge { bytes, epoch: job.epoch, appointed };
        let mut latest = Latest::since(job.arrived);
        let by_floor = matches!(pick.reason, DispatchReason::Floor(_));
        let mut at = leaf;
        while at != NONE {
            let node = &self.nodes[at];
            let (limit, group, floor) = (node.limit, node.group, node.floor);
            at = node.parent;
            if limit != NONE {
                self.charge_limit(limit, charge, &mut latest);
            }
            if group != NONE {
                self.charge_limit(self.groups[group].limit, Charge { epoch: 0, ..charge }, &mut latest);
            }
            if by_floor && floor != NONE {
                self.guarantees[floor].charge(self.now, bytes);
            }
        }
        // Limits were charged for an appointment in advance, and open later than now.
        latest.until = latest.until.min(self.now);
        latest
    }

    /// Charges the turns in all turn queues on the path of a request that waited.
    pub(super) fn charge_turns(&mut self, leaf: u32, bytes: u64, reason: DispatchReason) {
        // Up to the node whose floor sent it, the request went by its turn; from there up, ahead of
        // its turn.
        let mut turn = Turn { bytes, slack: self.slack(), by_turn: true };
        let own = self.nodes[leaf].turn_queue;
        if own != NONE {
            let mut position = self.turn_queues[own].own;
            self.turn_queues[own].charge(&mut position, turn);
            self.turn_queues[own].own = position;
        }
        let mut at = leaf;
        while at != ROOT {
            turn.by_turn &= reason != DispatchReason::Floor(at);
            let node = &mut self.nodes[at];
            let (group, parent) = (node.group, node.parent);
            if group != NONE {
                self.charge_group_turn(group, at, turn);
            }
            let turn_queue = self.nodes[parent].turn_queue;
            self.turn_queues[turn_queue].serve(&mut self.nodes[at].position, turn, &mut self.seq);
            at = parent;
        }
    }

    /// Charges a member's turn in its group's turn queue, and the group's turn in the root's turn
    /// queue if the request came that way.
    fn charge_group_turn(&mut self, group: u32, member: u32, turn: Turn) {
        let record = &mut self.groups[group];
        self.turn_queues[record.turn_queue].serve(&mut self.nodes[member].group_position, turn, &mut self.seq);
        if self.nodes[member].place == Place::Group {
            let root = self.nodes[ROOT].turn_queue;
            self.turn_queues[root].serve(&mut record.position, turn, &mut self.seq);
        }
    }

    #[inline]
    fn charge_limit(&mut self, number: u32, charge: Charge, latest: &mut Latest) {
        let limit = &mut self.limits[number];
        latest.note(number, limit);
        if !charge.appointed {
            limit.reserve(self.now, charge.bytes);
        }
        if limit.record(self.bin, charge.bytes) {
            self.passed.push(number);
        }
        if limit.has_depth() {
            limit.count_in_flight(charge.epoch, 1);
        }
        if !limit.floors.is_empty() {
            self.call_parked(number);
        }
    }

    /// Records why a request waited: for the limit that opened last until that opened, and from
    /// then on for whatever held back the root.
    fn book_wait(&mut self, job: u32, latest: Latest) {
        let now = self.now;
        let arrived = self.jobs[job].arrived;
        let (held_at, held) = self.root_held;
        let limit = self.cause(latest);
        let after = if held_at >= latest.until && held != Cause::Nothing {
            held
        } else if limit != Cause::Nothing {
            limit
        } else {
            Cause::Turn
        };
        if let Some(meter) = self.meter_of(job) {
            meter.waited(now);
            if after == limit {
                meter.book(arrived, now, after);
            } else {
                meter.book(arrived, latest.until, limit);
                meter.book(latest.until, now, after);
            }
        }
        if now > arrived {
            self.jobs[job].cause = after;
        }
    }

    /// The cause of a wait for this limit; `Nothing` if there was none.
    fn cause(&self, latest: Latest) -> Cause {
        if latest.limit == NONE {
            return Cause::Nothing;
        }
        match self.limits[latest.limit].entity() {
            Some(Entity::Node(node)) => Cause::Ceiling(self.nodes[node].id, latest.kind),
            Some(Entity::Group(group)) => Cause::Shared(self.groups[group].id.0, latest.kind),
            None => Cause::Nothing,
        }
    }

    /// What holds an object's queue back now: a closed limit, or what last held back its first
    /// request.
    pub(super) fn what_holds(&self, leaf: u32) -> Cause {
        let head = self.nodes[leaf].head;
        let arrived = if head == NONE { self.now } else { self.jobs[head].arrived };
        let mut latest = Latest::since(arrived);
        let mut at = leaf;
        while at != NONE {
            let node = &self.nodes[at];
            let shared = if node.group == NONE { NONE } else { self.groups[node.group].limit };
            for limit in [node.limit, shared].into_iter().filter(|&l| l != NONE) {
                latest.note(limit, &self.limits[limit]);
            }
            at = node.parent;
        }
        let (held_at, held) = self.root_held;
        match self.cause(latest) {
            cause if cause != Cause::Nothing && (latest.until > self.now || latest.until > held_at) => cause,
            _ if held_at >= arrived && held != Cause::Nothing => held,
            Cause::Nothing => Cause::Turn,
            cause => cause,
        }
    }

    /// The backend did not accept a picked request. One that waited stays first in its queue.
    pub fn refused(&mut self, pick: Pick, request: Request) {
        let fresh = self.jobs[pick.job].stage == Stage::Open;
        self.backend_full = true;
        self.root_held = (self.now, Cause::Backend);
        if fresh {
            self.wait(pick.job, request, pick.reason == DispatchReason::Free);
        } else {
            self.keep(pick.job, request);
        }
    }
}
