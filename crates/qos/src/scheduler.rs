//! The scheduler: which request goes next, and when. Pure: it holds the requests that wait and says which one to hand
//! to the backend; the gate does it.
//!
//! ```text
//!   request ─► every limit on its path open and nobody waiting before it? ──► goes at once
//!                     │ no
//!                     ▼
//!              its object's queue ─► the object waits at ONE place: behind its own limit (a timer), or at the desk of
//!                                    the node or group that holds it; so do the nodes above it, up to what binds
//!   pick:  floors that are due ─► root's desk, least tag first, down to a queue ─► timers that are due
//! ```
//!
//! A request is charged to all limits on its path or to none, at the moment it goes. Who is found blocked on the way
//! down moves to where it is blocked, one step of a bounded number a poll. A limit that opens wakes its owner alone,
//! however many wait behind it: they are taken from its desk one at a time, for as long as it stays open.

mod apply;
mod appointment;
mod desk;
mod job;
mod limit;
mod meter;
mod node;
mod queue;
mod report;
mod trace;
mod turn;

use std::collections::VecDeque;

use block::{Cause, Completion, Fault, ObjectId, Request, Ticket, Time};

use crate::heap::{Entry, Heap};
use crate::slab::{NONE, Slab};
use crate::tuning::Settings;
use job::{Job, Stage};
use limit::Limit;
use meter::Meter;
use node::{Entity, Group, Index, Node, Place, ROOT};
use turn::{Desk, OPERATION};

/// Whether a request may go.
pub(crate) enum Admission {
    /// At once, to the backend.
    Go(u32),
    /// It has to wait in its object's queue.
    Wait(u32),
    /// No policy holds it, but others of its kind wait for the backend.
    Spill(u32),
    /// There is no such object.
    Unknown,
    /// The queue is full.
    Full,
}

/// A decision: this request goes now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick {
    /// Its slot.
    pub job: u32,
    /// It came through the desks, so that its turn is charged.
    queued: bool,
    /// By appointment: turn and limits were charged when it was made.
    called: bool,
}

/// All state of one backend's quality of service.
#[derive(Debug)]
pub(crate) struct Scheduler {
    settings: Settings,
    nodes: Slab<Node>,
    groups: Slab<Group>,
    limits: Slab<Limit>,
    desks: Slab<Desk>,
    meters: Slab<Meter>,
    jobs: Slab<Job>,
    objects: Index,
    group_index: Index,
    /// Limits with work behind them, by when they open.
    agenda: Heap,
    /// Objects whose first request goes at an appointed time.
    appointments: Heap,
    /// Requests that no policy holds and the backend would not take, oldest first.
    spilled: VecDeque<u32>,
    /// Whose turn it is when both policy-free and policy-bound work wait for the backend.
    spilled_next: bool,
    /// The backend would not take the last one.
    backend_full: bool,
    /// What held back work at the root last, and when.
    root_held: (Time, Cause),
    /// Steps left in this poll, and whether they ran out.
    steps: u32,
    now: Time,
    queued: u32,
    flying: u32,
    traces: u32,
    /// Numbers the entries in desks' heaps.
    seq: u32,
    /// Ended without the backend: refused, cancelled, of removed objects.
    ended: Vec<Completion>,
}

impl Scheduler {
    pub fn new(settings: Settings) -> Scheduler {
        let mut nodes = Slab::default();
        let mut desks = Slab::default();
        let desk = desks.add(|_| Desk::default());
        nodes.add(|_| Node { desk, ..Node::new(ObjectId(u32::MAX), NONE) });
        Scheduler {
            settings,
            nodes,
            groups: Slab::default(),
            limits: Slab::default(),
            desks,
            meters: Slab::default(),
            jobs: Slab::default(),
            objects: Index::default(),
            group_index: Index::default(),
            agenda: Heap::default(),
            appointments: Heap::default(),
            spilled: VecDeque::new(),
            spilled_next: false,
            backend_full: false,
            root_held: (Time::ZERO, Cause::Nothing),
            steps: settings.steps_per_poll,
            now: Time::ZERO,
            queued: 0,
            flying: 0,
            traces: 0,
            seq: 0,
            ended: Vec::new(),
        }
    }

    /// The time to use: a clock that steps back counts as standing still.
    pub fn advance(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    /// Decides on a new request.
    pub fn admit(&mut self, object: ObjectId) -> Admission {
        let leaf = self.objects.get(object.0);
        if leaf == NONE {
            return Admission::Unknown;
        }
        let mut policy = false;
        let mut at = leaf;
        while at != NONE {
            policy |= self.nodes[at].has_policy;
            at = self.nodes[at].parent;
        }
        let queued = self.nodes[leaf].queued;
        if queued == 0 && !policy && self.spilled.is_empty() && !self.backend_full {
            return Admission::Go(leaf);
        }
        if self.queued >= self.settings.queued_max || queued >= self.settings.queued_max_per_object {
            return Admission::Full;
        }
        if queued == 0 && !policy {
            return Admission::Spill(leaf);
        }
        if queued == 0 && !self.backend_full && self.is_free_to_go(leaf) {
            return Admission::Go(leaf);
        }
        Admission::Wait(leaf)
    }

    /// Whether every limit on the path is open and nobody waits at any desk of it.
    fn is_free_to_go(&self, leaf: u32) -> bool {
        let mut at = leaf;
        while at != NONE {
            let node = &self.nodes[at];
            if node.desk != NONE && self.desks[node.desk].waiting > 0 || !self.is_open(Entity::Node(at)) {
                return false;
            }
            if node.group != NONE {
                let desk = self.groups[node.group].desk;
                if self.desks[desk].waiting > 0 || !self.is_open(Entity::Group(node.group)) {
                    return false;
                }
            }
            at = node.parent;
        }
        self.spilled.is_empty()
    }

    /// Whether a node's or group's own limit lets a request pass now.
    fn is_open(&self, entity: Entity) -> bool {
        let (limit, flying) = match entity {
            Entity::Node(n) => (self.nodes[n].limit, self.nodes[n].flying),
            Entity::Group(g) => (self.groups[g].limit, 0),
        };
        limit == NONE || self.limits[limit].until <= self.now && flying < self.limits[limit].depth_max
    }

    /// Takes a request on: from now on it has a slot and counts as outstanding.
    pub fn open(&mut self, leaf: u32, request: &Request) -> u32 {
        let now = self.now;
        let job = self.jobs.add(|old| Job::new(now, leaf, old.map_or(0, |j| j.age.wrapping_add(1)), request));
        let mut at = leaf;
        while at != NONE {
            self.nodes[at].outstanding += 1;
            at = self.nodes[at].parent;
        }
        if self.nodes[leaf].meter == NONE {
            self.nodes[leaf].meter = self.meters.add(|_| Meter::new(now, leaf));
        }
        self.meters[self.nodes[leaf].meter].arrived(now);
        job
    }

    /// The gate's ticket for a request, and the tag under which the backend knows it.
    pub fn token(&self, job: u32) -> u64 {
        Job::token(job, self.jobs[job].age)
    }

    /// A decision by [`Admission::Go`].
    pub fn go(&self, job: u32) -> Pick {
        Pick { job, queued: false, called: false }
    }

    /// The next request to go, if any may. Every step counts against the poll's bound.
    pub fn pick(&mut self) -> Option<Pick> {
        while self.steps > 0 {
            self.steps -= 1;
            if let Some(pick) = self.pick_ready() {
                return Some(pick);
            }
            if !self.is_ready() && !self.wake_one() {
                return None;
            }
        }
        None
    }

    fn pick_ready(&mut self) -> Option<Pick> {
        if self.backend_full {
            return None;
        }
        if let Some(pick) = self.pick_called() {
            return Some(pick);
        }
        let spilled = !self.spilled.is_empty();
        let desk = self.desks[self.nodes[ROOT].desk].waiting > 0;
        if spilled && (self.spilled_next || !desk) {
            return self.spilled.front().map(|&job| Pick { job, queued: false, called: false });
        }
        if !desk {
            return None;
        }
        if !self.is_open(Entity::Node(ROOT)) {
            self.hold_root(Cause::Turn);
            return None;
        }
        let leaf = self.descend(Entity::Node(ROOT))?;
        Some(Pick { job: self.nodes[leaf].head, queued: true, called: false })
    }

    /// Whether another step may find a request to go without a timer.
    fn is_ready(&self) -> bool {
        !self.backend_full
            && (!self.spilled.is_empty()
                || self.next_appointment().is_some_and(|at| at <= self.now)
                || self.desks[self.nodes[ROOT].desk].waiting > 0 && self.is_open(Entity::Node(ROOT)))
    }

    fn hold_root(&mut self, cause: Cause) {
        self.root_held = (self.now, cause);
    }

    /// Opens the limit that is due first. False if none is.
    fn wake_one(&mut self) -> bool {
        let Some(entry) = self.agenda.peek().filter(|e| e.key <= self.now.as_nanos()) else {
            return false;
        };
        self.agenda.pop();
        let limit = &mut self.limits[entry.id];
        if limit.timer_at.as_nanos() != entry.key {
            return true;
        }
        limit.timer_at = Time::MAX;
        let entity = limit.entity();
        self.release(entity);
        true
    }

    /// Lets an entity that was held go on to where it waits next; if its limit is still closed, that is here.
    fn release(&mut self, entity: Entity) {
        if self.place(entity) == Place::Held {
            self.set_place(entity, Place::Out);
            self.settle(entity);
        }
    }

    /// Arranges to look at a limit again when it opens. One that is closed by what is in flight opens with an end.
    fn set_timer(&mut self, limit: u32) {
        let record = &mut self.limits[limit];
        if record.until > self.now && record.until < record.timer_at {
            record.timer_at = record.until;
            self.agenda.push(Entry { key: record.until.as_nanos(), id: limit, seq: 0 });
        }
    }

    /// The request itself, under the tag that the backend is to know it by.
    pub fn take_request(&mut self, job: u32) -> Option<Request> {
        let tag = self.token(job);
        let mut request = self.jobs[job].request.take()?;
        request.tag = tag;
        Some(request)
    }

    /// The backend took it: every limit on the path is charged, and its turn.
    pub fn started(&mut self, pick: Pick, ticket: Ticket) {
        let now = self.now;
        let job = &mut self.jobs[pick.job];
        let (leaf, bytes, kind, arrived) = (job.node, job.bytes, job.kind, job.arrived);
        let stage = std::mem::replace(&mut job.stage, Stage::Flying);
        (job.started, job.ticket) = (now, ticket);
        match stage {
            Stage::Spilled => self.unspill(pick.job),
            Stage::Queued if pick.queued && !pick.called => self.charge_turns(leaf, bytes),
            _ => {}
        }
        let (binding, binding_until) = self.charge_limits(leaf, bytes, arrived, pick.called);
        self.flying += 1;
        let meter = &mut self.meters[self.nodes[leaf].meter];
        meter.account.tally_mut(kind).add(bytes);
        if pick.queued || stage == Stage::Spilled {
            meter.waited(now);
            let cause = self.book_wait(pick.job, binding, binding_until);
            self.jobs[pick.job].cause = cause;
        }
        if pick.queued {
            self.unlink(pick.job);
        }
        if pick.called {
            self.kept_appointment(leaf);
        }
        self.spilled_next = !self.spilled_next;
    }

    /// Charges every limit on the path. Tells which of them opened last while the request waited, and when.
    fn charge_limits(&mut self, leaf: u32, bytes: u64, arrived: Time, called: bool) -> (Cause, Time) {
        let (mut cause, mut until) = (Cause::Nothing, arrived);
        let mut at = leaf;
        while at != NONE {
            let node = &mut self.nodes[at];
            node.flying += 1;
            let (limit, group, parent) = (node.limit, node.group, node.parent);
            for limit in [limit, if group == NONE { NONE } else { self.groups[group].limit }] {
                if limit != NONE {
                    let limit = &mut self.limits[limit];
                    if limit.until > until {
                        (cause, until) = (limit.cause(), limit.until);
                    }
                    match called {
                        true => limit.record(self.now, bytes),
                        false => limit.charge(self.now, bytes),
                    }
                }
            }
            at = parent;
        }
        (cause, until.min(self.now))
    }

    /// Books why a request waited: until the last limit opened for that limit, from then on for what held the root.
    fn book_wait(&mut self, job: u32, binding: Cause, opened: Time) -> Cause {
        let (leaf, arrived) = (self.jobs[job].node, self.jobs[job].arrived);
        let (held_at, held) = self.root_held;
        let meter = &mut self.meters[self.nodes[leaf].meter];
        let after = if held_at >= opened && held != Cause::Nothing {
            held
        } else if binding != Cause::Nothing {
            binding
        } else {
            Cause::Turn
        };
        meter.book(arrived, opened, binding);
        meter.book(opened, self.now, after);
        if self.now > arrived { after } else { Cause::Nothing }
    }

    /// The backend would not take it: it stays where it is, first in its queue.
    pub fn refused(&mut self, pick: Pick, mut request: Request) {
        let job = &mut self.jobs[pick.job];
        request.tag = job.tag;
        job.request = Some(request);
        self.backend_full = true;
        self.hold_root(Cause::Backend);
    }

    /// A request of [`Admission::Wait`] or `Spill` begins to wait.
    pub fn wait(&mut self, job: u32, request: Request, spill: bool) {
        self.jobs[job].request = Some(request);
        let meter = self.nodes[self.jobs[job].node].meter;
        self.meters[meter].waits(self.now);
        if spill {
            self.spill(job);
        } else {
            self.link(job);
        }
    }

    /// A request by [`Admission::Go`] was not taken after all.
    pub fn go_refused(&mut self, pick: Pick, mut request: Request) {
        request.tag = self.jobs[pick.job].tag;
        let mut policy = false;
        let mut at = self.jobs[pick.job].node;
        while at != NONE {
            policy |= self.nodes[at].has_policy;
            at = self.nodes[at].parent;
        }
        self.backend_full = true;
        self.hold_root(Cause::Backend);
        self.wait(pick.job, request, !policy);
    }

    /// Restores what the caller knows in a completion of the backend's, and frees its slot.
    pub fn finish(&mut self, completion: &mut Completion) {
        let (slot, age) = Job::of_token(completion.tag);
        let known = self.jobs.get(slot).is_some_and(|j| j.age == age && j.stage == Stage::Flying);
        assert!(known, "the inner target completed a request that is not in flight");
        let job = &mut self.jobs[slot];
        job.stage = Stage::Ended;
        let waited = job.started.since(job.arrived);
        let inner = completion.queued;
        completion.tag = job.tag;
        completion.service = completion.end.since(job.started).saturating_sub(inner);
        completion.queued = waited + inner;
        if job.cause != Cause::Nothing || inner == block::Span::ZERO {
            completion.cause = job.cause;
        }
        let leaf = job.node;
        self.flying -= 1;
        self.backend_full = false;
        self.meter_end(leaf, completion);
        self.jobs.free(slot);
        self.leave_path(leaf, true);
    }

    /// Ends a request that never reached the backend.
    fn end_unsent(&mut self, job: u32, fault: Fault) {
        let record = &mut self.jobs[job];
        record.stage = Stage::Ended;
        let (leaf, arrived) = (record.node, record.arrived);
        if let Some(request) = record.request.take() {
            let mut completion = Completion::refuse(request, self.now, fault);
            completion.queued = self.now.since(arrived);
            completion.cause = self.what_holds(leaf);
            let meter = &mut self.meters[self.nodes[leaf].meter];
            meter.waited(self.now);
            meter.book(arrived, self.now, completion.cause);
            self.meter_end(leaf, &completion);
            self.ended.push(completion);
        }
        self.jobs.free(job);
        self.leave_path(leaf, false);
    }

    fn meter_end(&mut self, leaf: u32, completion: &Completion) {
        let meter = &mut self.meters[self.nodes[leaf].meter];
        meter.ended(self.now);
        meter.account.completed += 1;
        meter.account.faults += u64::from(completion.result.is_err());
        meter.account.queued.add(completion.queued);
        meter.account.service.add(completion.service);
    }

    /// One request less on the path from a node up; nodes that were kept only for it are free.
    fn leave_path(&mut self, leaf: u32, flew: bool) {
        let mut at = leaf;
        while at != NONE {
            let node = &mut self.nodes[at];
            node.outstanding -= 1;
            node.flying -= u32::from(flew);
            let (parent, held) = (node.parent, node.place == Place::Held && flew);
            if node.dead && node.outstanding == 0 {
                self.free_node(at);
            } else if held && self.is_open(Entity::Node(at)) {
                self.release(Entity::Node(at));
            }
            at = parent;
        }
    }

    /// A new poll: its steps, and the backend is asked again.
    pub fn begin_poll(&mut self) {
        self.steps = self.settings.steps_per_poll;
        self.backend_full = false;
    }

    /// Completions that the backend has no part in.
    pub fn drain_ended(&mut self, out: &mut Vec<Completion>) {
        out.append(&mut self.ended);
    }

    /// A refusal of a request that was never taken on.
    pub fn refuse(&mut self, request: Request, fault: Fault) {
        self.ended.push(Completion::refuse(request, self.now, fault));
    }

    /// Ends a waiting request early, or says under which ticket the backend knows it.
    pub fn cancel(&mut self, ticket: Ticket) -> Option<Ticket> {
        let (slot, age) = Job::of_token(ticket.0);
        let job = self.jobs.get(slot).filter(|j| j.age == age)?;
        match job.stage {
            Stage::Flying => return Some(job.ticket),
            Stage::Queued => {
                self.unlink(slot);
                self.end_unsent(slot, Fault::Gone);
            }
            Stage::Spilled => {
                self.unspill(slot);
                self.end_unsent(slot, Fault::Gone);
            }
            Stage::Ended => {}
        }
        None
    }

    /// When to poll again for the scheduler's own sake.
    pub fn next_wakeup(&self) -> block::Wakeup {
        if !self.ended.is_empty() || self.is_ready() {
            return block::Wakeup::Now;
        }
        // One that is due waits for room in the backend, which comes with an end.
        let appointment = self.next_appointment().filter(|&at| at > self.now);
        let opening = self.agenda.peek().map(|entry| Time::from_nanos(entry.key));
        match [appointment, opening].into_iter().flatten().min() {
            Some(at) => block::Wakeup::At(at),
            None => block::Wakeup::Idle,
        }
    }

    fn slack(&self) -> u64 {
        u64::from(self.settings.turn_slack) * OPERATION
    }
}
