//! A request ends: completed by the backend, cancelled, or removed with its object.

use block::{Cause, Completion, Fault, Request, Span, Ticket};

use super::Scheduler;
use super::flow::End;
use super::job::{self, Job, Stage};
use super::node::{Entity, Path};
use crate::slab::NONE;

/// What a floor counts of a request that the backend completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub bytes: u64,
    /// Time in the backend, and time since its arrival.
    pub service: Span,
    pub response: Span,
}

impl Scheduler {
    /// Turns a completion of the backend's into the caller's, and frees the slot.
    #[inline]
    pub fn finish(&mut self, completion: &mut Completion) {
        let (slot, age) = Job::of_token(completion.tag);
        let known = self.jobs.get(slot).is_some_and(|j| j.age == age && j.stage == Stage::InFlight);
        assert!(known, "the inner target completed a request that is not in flight");
        let job = &mut self.jobs[slot];
        job.stage = Stage::Ended;
        let took = completion.end.since(job.started);
        let inner = completion.queued;
        completion.tag = job.tag;
        completion.service = took.saturating_sub(inner);
        completion.queued = job.started.since(job.arrived) + inner;
        if job.cause != Cause::Nothing || inner == Span::ZERO {
            completion.cause = job.cause;
        }
        let response = completion.end.since(job.arrived);
        let served = Served { bytes: job.bytes, service: took, response };
        self.in_flight -= 1;
        let pressed = self.backend_full || self.floors.window_full || self.floors.scale.part() < 1.0;
        self.backend_full = false;
        self.pace.count(self.now, job.bytes, pressed);
        let (cost, best_effort) = (job::cost(job.bytes), job.best_effort);
        let has_floor = self.leave_node(slot, completion, Some(served));
        self.jobs.free(slot);
        self.floors.ended(self.now, End { cost, best_effort, has_floor });
    }

    /// Refuses a request that was never accepted.
    pub fn refuse(&mut self, request: Request, fault: Fault) {
        self.ended.push(Completion::refuse(request, self.now, fault));
    }

    /// Ends a waiting request early, or returns the backend's ticket of one in flight.
    pub fn cancel(&mut self, ticket: Ticket) -> Option<Ticket> {
        let (slot, age) = Job::of_token(ticket.0);
        let job = self.jobs.get(slot).filter(|j| j.age == age)?;
        match job.stage {
            Stage::InFlight => return Some(job.ticket),
            Stage::Queued | Stage::Spilled => self.end_unsent(slot),
            Stage::Open | Stage::Ended => {}
        }
        None
    }

    /// Ends a waiting request with [`Fault::Gone`].
    pub(super) fn end_unsent(&mut self, slot: u32) {
        let cause = self.what_holds(self.jobs[slot].node);
        match self.jobs[slot].stage {
            Stage::Spilled => self.unspill(slot),
            _ => self.unlink(slot),
        }
        let job = &mut self.jobs[slot];
        job.stage = Stage::Ended;
        let arrived = job.arrived;
        if let Some(mut request) = job.request.take() {
            request.tag = job.tag;
            let mut completion = Completion::refuse(request, self.now, Fault::Gone);
            (completion.queued, completion.cause) = (self.now.since(arrived), cause);
            let now = self.now;
            if let Some(meter) = self.meter_of(slot) {
                meter.waited(now);
                meter.book(arrived, now, cause);
            }
            self.leave_node(slot, &completion, None);
            self.jobs.free(slot);
            self.ended.push(completion);
        }
    }

    /// One request less at its node; counted along its path where that is done. Tells whether a
    /// floor is there.
    #[inline]
    fn leave_node(&mut self, slot: u32, completion: &Completion, served: Option<Served>) -> bool {
        let now = self.now;
        let Job { node: leaf, epoch, .. } = self.jobs[slot];
        let is_counted = self.path(leaf).counted_above != Path::UNCOUNTED;
        let has_floor = is_counted && self.count_end(leaf, epoch, served);
        if let Some(meter) = self.meter_of(slot) {
            meter.ended(now, completion.queued, completion.service, completion.result.is_err());
        }
        let node = &mut self.nodes[leaf];
        node.outstanding -= 1;
        if node.dead && node.outstanding == 0 {
            self.free_dead(leaf);
        }
        has_floor
    }

    /// Counts an accepted request at the floors on its path.
    pub(super) fn count_outstanding(&mut self, leaf: u32) {
        let mut at = self.counted_at(leaf);
        while at != NONE {
            if self.nodes[at].floor != NONE {
                self.count_at_floor(self.nodes[at].floor, 1);
            }
            at = self.counted_above(at);
        }
    }

    /// The first node from this one up that counts requests, [`NONE`] if there is none.
    #[inline]
    fn counted_at(&mut self, node: u32) -> u32 {
        match self.path(node).counted_above {
            Path::UNCOUNTED => NONE,
            levels => (0..levels).fold(node, |at, _| self.nodes[at].parent),
        }
    }

    #[inline]
    fn counted_above(&mut self, node: u32) -> u32 {
        let parent = self.nodes[node].parent;
        if parent == NONE { NONE } else { self.counted_at(parent) }
    }

    /// Counts the end of a request at the floors and turns on its path that counted its start. True
    /// if a floor is among them.
    fn count_end(&mut self, leaf: u32, epoch: u32, served: Option<Served>) -> bool {
        let (mut at, mut has_floor) = (self.counted_at(leaf), false);
        while at != NONE {
            let node = &self.nodes[at];
            let (floor, limit) = (node.floor, node.limit);
            has_floor |= floor != NONE;
            if floor != NONE && epoch >= self.guarantees[floor].since {
                self.count_at_floor(floor, -1);
            }
            if floor != NONE
                && let Some(served) = &served
            {
                self.guarantees[floor].count(served);
            }
            if limit != NONE && served.is_some() && self.limits[limit].has_depth() {
                self.limits[limit].count_in_flight(epoch, -1);
                if self.limits[limit].is_open(self.now) {
                    self.release(Entity::Node(at));
                }
            }
            at = self.counted_above(at);
        }
        has_floor
    }

    /// Frees a removed node whose last request has ended, and removed nodes above it that were kept
    /// for it.
    pub(super) fn free_dead(&mut self, node: u32) {
        let mut at = node;
        while self.nodes[at].dead && self.nodes[at].outstanding == 0 && self.nodes[at].lingering == 0 {
            let meter = std::mem::replace(&mut self.nodes[at].meter, NONE);
            if meter != NONE {
                // The next account frees it.
                self.meters[meter].in_use = false;
            }
            let parent = self.nodes[at].parent;
            self.nodes.free(at);
            self.nodes[parent].lingering -= 1;
            at = parent;
        }
    }
}
