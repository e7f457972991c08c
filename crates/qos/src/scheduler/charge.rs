//! A request goes: every limit, floor and turn on its path is charged, and why it waited is booked.

use block::{Cause, Request, Ticket, Time};

use super::job::Stage;
use super::limit::Limit;
use super::node::{Entity, Place, ROOT};
use super::turn::Price;
use super::{Pick, Scheduler, Warrant};
use crate::slab::NONE;

/// The limit that opened last while a request waited.
#[derive(Clone, Copy)]
struct Latest {
    cause: Cause,
    until: Time,
}

impl Latest {
    fn note(&mut self, limit: &Limit) {
        if limit.until > self.until {
            *self = Latest { cause: limit.cause(), until: limit.until };
        }
    }
}

impl Scheduler {
    /// The request itself, under the tag that the backend is to know it by.
    pub fn take_request(&mut self, job: u32) -> Option<Request> {
        let tag = self.token(job);
        let mut request = self.jobs[job].request.take()?;
        request.tag = tag;
        Some(request)
    }

    /// The backend took it.
    #[inline]
    pub fn started(&mut self, pick: Pick, ticket: Ticket) {
        let now = self.now;
        let job = &mut self.jobs[pick.job];
        let (leaf, bytes, cost) = (job.node, job.bytes, u64::from(job.cost));
        (job.started, job.ticket) = (now, ticket);
        job.best_effort = !matches!(pick.warrant, Warrant::Floor(_));
        let was = std::mem::replace(&mut job.stage, Stage::Flying);
        let (kind, best_effort) = (job.kind, job.best_effort);
        self.flying += 1;
        self.floors.started(now, cost, best_effort);
        self.meters[self.nodes[leaf].meter].dispatched(kind, bytes);
        if pick.warrant != Warrant::Free || was != Stage::Open {
            self.charge(pick, was, leaf, bytes);
        }
    }

    fn charge(&mut self, pick: Pick, was: Stage, leaf: u32, bytes: u64) {
        let waited = was == Stage::Queued && pick.warrant != Warrant::Called;
        let latest = self.charge_path(pick, leaf, bytes, waited);
        match was {
            Stage::Queued => self.unlink(pick.job),
            Stage::Spilled => self.unspill(pick.job),
            _ => return,
        }
        self.spilled_next = was == Stage::Queued;
        if pick.warrant == Warrant::Called {
            self.kept_appointment(leaf);
        }
        self.book_wait(pick.job, latest);
    }

    /// Charges limits, floors and, if it waited, turns, from the leaf up.
    fn charge_path(&mut self, pick: Pick, leaf: u32, bytes: u64, waited: bool) -> Latest {
        let mut latest = Latest { cause: Cause::Nothing, until: self.jobs[pick.job].arrived };
        // Beneath the node whose floor it was, turns were taken; from there up the floor goes ahead of them.
        let mut by_turn = true;
        let called = pick.warrant == Warrant::Called;
        let epoch = self.jobs[pick.job].epoch;
        let mut child = NONE;
        let mut at = leaf;
        while at != NONE {
            let node = &self.nodes[at];
            let (limit, group, floor, parent) = (node.limit, node.group, node.floor, node.parent);
            if waited && node.desk != NONE {
                self.charge_turn(at, child, bytes, by_turn);
            }
            by_turn &= pick.warrant != Warrant::Floor(at);
            if limit != NONE {
                latest.note(&self.limits[limit]);
                self.charge_limit(limit, epoch, bytes, called);
            }
            if group != NONE {
                let limit = self.groups[group].limit;
                latest.note(&self.limits[limit]);
                self.charge_limit(limit, 0, bytes, called);
                if waited {
                    self.charge_group_turn(group, at, bytes, by_turn);
                }
            }
            if floor != NONE && matches!(pick.warrant, Warrant::Floor(_)) {
                self.guarantees[floor].charge(self.now, bytes);
            }
            (child, at) = (at, parent);
        }
        // By appointment its limits have been charged for it already, and open later.
        latest.until = latest.until.min(self.now);
        latest
    }

    fn charge_limit(&mut self, number: u32, epoch: u32, bytes: u64, called: bool) {
        let limit = &mut self.limits[number];
        match called {
            true => limit.record(self.bin, bytes),
            false => limit.charge(self.now, self.bin, bytes),
        }
        limit.flying += u32::from(limit.has_depth() && epoch >= limit.since);
        if !limit.floors.is_empty() {
            self.call_parked(number);
        }
    }

    /// Charges a member's turn at its group's desk, and the group's at the root's if that is where it came from.
    pub(super) fn charge_group_turn(&mut self, group: u32, member: u32, bytes: u64, by_turn: bool) {
        let cost = self.price(Entity::Group(group)).cost(bytes);
        let (desk, slack) = (self.groups[group].desk, self.slack());
        self.desks[desk].charge(&mut self.nodes[member].group_seat, cost, slack, by_turn);
        if self.nodes[member].place == Place::Group {
            let cost = self.price(Entity::Node(ROOT)).cost(bytes);
            let desk = self.nodes[ROOT].desk;
            self.desks[desk].charge(&mut self.groups[group].seat, cost, slack, by_turn);
        }
    }

    /// Charges a child's turn at a node's desk; the turn of the node's own queue if there is no child.
    pub(super) fn charge_turn(&mut self, node: u32, child: u32, bytes: u64, by_turn: bool) {
        let cost = self.price(Entity::Node(node)).cost(bytes);
        let slack = self.slack();
        let desk = &mut self.desks[self.nodes[node].desk];
        if child == NONE {
            let mut seat = desk.own;
            desk.charge(&mut seat, cost, slack, by_turn);
            desk.own = seat;
        } else {
            desk.charge(&mut self.nodes[child].seat, cost, slack, by_turn);
        }
    }

    fn price(&self, entity: Entity) -> Price {
        match self.limit_of(entity) {
            NONE => Price::default(),
            limit => self.limits[limit].price,
        }
    }

    /// Books why a request waited: until the last limit opened for that limit, from then on for what held the root.
    fn book_wait(&mut self, job: u32, latest: Latest) {
        let now = self.now;
        let (leaf, arrived) = (self.jobs[job].node, self.jobs[job].arrived);
        let (held_at, held) = self.root_held;
        let after = if held_at >= latest.until && held != Cause::Nothing {
            held
        } else if latest.cause != Cause::Nothing {
            latest.cause
        } else {
            Cause::Turn
        };
        let meter = &mut self.meters[self.nodes[leaf].meter];
        meter.waited(now);
        if after == latest.cause {
            meter.book(arrived, now, after);
        } else {
            meter.book(arrived, latest.until, latest.cause);
            meter.book(latest.until, now, after);
        }
        if now > arrived {
            self.jobs[job].cause = after;
        }
    }

    /// The backend would not take one that waited: it stays where it is, first in its queue.
    pub fn refused(&mut self, pick: Pick, mut request: Request) {
        let job = &mut self.jobs[pick.job];
        request.tag = job.tag;
        let fresh = job.stage == Stage::Open;
        self.backend_full = true;
        self.root_held = (self.now, Cause::Backend);
        if fresh {
            self.wait(pick.job, request, pick.warrant == Warrant::Free);
        } else {
            job.request = Some(request);
        }
    }
}
