//! A request goes: every limit, floor and turn on its path is charged, and why it waited is booked.

use block::{Cause, Request, Ticket, Time};

use super::job::Stage;
use super::limit::Limit;
use super::node::{Place, ROOT};
use super::turn::{Price, Turn};
use super::{Pick, Scheduler, Warrant};
use crate::slab::NONE;

/// What a limit is charged.
#[derive(Clone, Copy)]
struct Charge {
    bytes: u64,
    /// When the request was taken on, on the scale on which counts of requests in flight begin.
    epoch: u32,
    /// Its appointment was charged already.
    called: bool,
}

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
        let slack = self.slack();
        let job = &self.jobs[pick.job];
        let (epoch, mut latest) = (job.epoch, Latest { cause: Cause::Nothing, until: job.arrived });
        // Beneath the node whose floor it was, turns were taken; from there up the floor goes ahead of them.
        let mut by_turn = true;
        let called = pick.warrant == Warrant::Called;
        let mut child = NONE;
        let mut at = leaf;
        while at != NONE {
            let node = &self.nodes[at];
            let (limit, group, floor, desk, parent) = (node.limit, node.group, node.floor, node.desk, node.parent);
            let mut price = Price::default();
            if limit != NONE {
                price = self.limits[limit].price;
                self.charge_limit(limit, Charge { bytes, epoch, called }, &mut latest);
            }
            if waited && desk != NONE {
                self.charge_turn(desk, child, Turn { cost: price.cost(bytes), slack, by_turn });
            }
            by_turn &= pick.warrant != Warrant::Floor(at);
            if group != NONE {
                self.charge_limit(self.groups[group].limit, Charge { bytes, epoch: 0, called }, &mut latest);
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

    #[inline]
    fn charge_limit(&mut self, number: u32, charge: Charge, latest: &mut Latest) {
        let limit = &mut self.limits[number];
        latest.note(limit);
        if !charge.called {
            limit.reserve(self.now, charge.bytes);
        }
        limit.record(self.bin, charge.bytes);
        if limit.is_first_passed() {
            self.passed.push(number);
        }
        limit.flying += u32::from(limit.has_depth() && charge.epoch >= limit.since);
        if !limit.floors.is_empty() {
            self.call_parked(number);
        }
    }

    /// Charges a child's turn at its parent's desk; the turn of the node's own queue if there is no child.
    #[inline]
    pub(super) fn charge_turn(&mut self, desk: u32, child: u32, turn: Turn) {
        let desk = &mut self.desks[desk];
        if child == NONE {
            let mut seat = desk.own;
            desk.charge(&mut seat, turn);
            desk.own = seat;
        } else {
            desk.charge(&mut self.nodes[child].seat, turn);
        }
    }

    /// Charges a member's turn at its group's desk, and the group's at the root's if that is where it came from.
    pub(super) fn charge_group_turn(&mut self, group: u32, member: u32, bytes: u64, by_turn: bool) {
        let slack = self.slack();
        let record = &mut self.groups[group];
        let cost = self.limits[record.limit].price.cost(bytes);
        self.desks[record.desk].charge(&mut self.nodes[member].group_seat, Turn { cost, slack, by_turn });
        if self.nodes[member].place == Place::Group {
            let cost = Price::default().cost(bytes);
            let desk = self.nodes[ROOT].desk;
            self.desks[desk].charge(&mut record.seat, Turn { cost, slack, by_turn });
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

    /// What holds an object's queue now: a closed limit, or what held its first request last.
    pub(super) fn what_holds(&self, leaf: u32) -> Cause {
        let head = self.nodes[leaf].head;
        let arrived = if head == NONE { self.now } else { self.jobs[head].arrived };
        let mut latest = Latest { cause: Cause::Nothing, until: arrived };
        let mut at = leaf;
        while at != NONE {
            let node = &self.nodes[at];
            let shared = if node.group == NONE { NONE } else { self.groups[node.group].limit };
            for limit in [node.limit, shared].into_iter().filter(|&l| l != NONE) {
                latest.note(&self.limits[limit]);
            }
            at = node.parent;
        }
        let (held_at, held) = self.root_held;
        match latest.cause {
            cause if cause != Cause::Nothing && (latest.until > self.now || latest.until > held_at) => cause,
            _ if held_at >= arrived && held != Cause::Nothing => held,
            Cause::Nothing => Cause::Turn,
            cause => cause,
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
