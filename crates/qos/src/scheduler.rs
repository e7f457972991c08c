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
mod floor;
mod job;
mod limit;
mod meter;
mod node;
mod queue;
mod report;
mod trace;
mod turn;
mod window;

use std::collections::VecDeque;

use block::{Cause, Completion, Fault, ObjectId, Request, Ticket, Time};

use crate::heap::{Entry, Heap};
use crate::slab::{NONE, Slab};
use crate::tuning::Settings;
use floor::{Ended, Floors, Guarantee};
use job::{Job, Stage};
use limit::Limit;
use meter::Meter;
use node::{Entity, Group, Index, Node, Place, ROOT};
use turn::{Desk, OPERATION, Price};

/// Whether a request may go.
pub(crate) enum Admission {
    /// At once, to the backend.
    Go(u32, Warrant),
    /// It has to wait in its object's queue.
    Wait(u32),
    /// No policy holds it, but others of its kind wait for the backend.
    Spill(u32),
    /// There is no such object.
    Unknown,
    /// The queue is full.
    Full,
}

/// By what a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warrant {
    /// Best effort: nothing stands in its way.
    Room,
    /// The floor of this node is due.
    Floor(u32),
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
    warrant: Warrant,
}

/// All state of one backend's quality of service.
#[derive(Debug)]
pub(crate) struct Scheduler {
    settings: Settings,
    nodes: Slab<Node>,
    groups: Slab<Group>,
    limits: Slab<Limit>,
    guarantees: Slab<Guarantee>,
    /// Floors whose objects have work, by when they are due.
    due_floors: Heap,
    floors: Floors,
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
            guarantees: Slab::default(),
            due_floors: Heap::default(),
            floors: Floors::new(),
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
    pub fn admit(&mut self, request: &Request) -> Admission {
        let leaf = self.objects.get(request.object.0);
        if leaf == NONE {
            return Admission::Unknown;
        }
        let policy = self.is_under_policy(leaf);
        let queued = self.nodes[leaf].queued;
        if queued == 0 && !policy && self.spilled.is_empty() && !self.backend_full {
            return Admission::Go(leaf, Warrant::Room);
        }
        if self.queued >= self.settings.queued_max || queued >= self.settings.queued_max_per_object {
            return Admission::Full;
        }
        if queued == 0 && !policy {
            return Admission::Spill(leaf);
        }
        match self.warrant(leaf, request) {
            Some(warrant) if queued == 0 && !self.backend_full => Admission::Go(leaf, warrant),
            _ => Admission::Wait(leaf),
        }
    }

    /// Whether anything may hold back requests of an object; with floors anywhere, the window may.
    fn is_under_policy(&self, leaf: u32) -> bool {
        let mut policy = self.floors.set > 0;
        let mut at = leaf;
        while at != NONE {
            policy |= self.nodes[at].has_policy;
            at = self.nodes[at].parent;
        }
        policy
    }

    /// By what a new request may go at once.
    fn warrant(&mut self, leaf: u32, request: &Request) -> Option<Warrant> {
        if self.floors.set > 0 {
            let desk = self.nodes[leaf].desk;
            let floor = self.due_floor_above(leaf);
            if floor != NONE && (desk == NONE || self.desks[desk].waiting == 0) && self.closed_above(leaf) == NONE {
                return Some(Warrant::Floor(floor));
            }
            let bytes = if request.op.kind().moves_data() { request.len } else { 0 };
            if !self.floors.has_room(Price::default().cost(bytes)) {
                self.hold_root(Cause::Floor);
                return None;
            }
        }
        self.is_free_to_go(leaf).then_some(Warrant::Room)
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
            if self.nodes[at].floor != NONE {
                self.touch_floor(at);
            }
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
    pub fn go(&self, job: u32, warrant: Warrant) -> Pick {
        Pick { job, queued: false, called: false, warrant }
    }

    /// The next request to go, if any may. Every step counts against the poll's bound.
    pub fn pick(&mut self) -> Option<Pick> {
        while self.steps > 0 {
            self.steps -= 1;
            if self.judge_step() {
                continue;
            }
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
        if self.is_floor_due() {
            let (leaf, floor) = self.pick_floor()?;
            return Some(Pick {
                job: self.nodes[leaf].head,
                queued: true,
                called: false,
                warrant: Warrant::Floor(floor),
            });
        }
        let spilled = !self.spilled.is_empty();
        let desk = self.desks[self.nodes[ROOT].desk].waiting > 0;
        if spilled && (self.spilled_next || !desk) {
            return self.spilled.front().map(|&job| Pick { job, queued: false, called: false, warrant: Warrant::Room });
        }
        if !desk || self.floors.window_full {
            return None;
        }
        if !self.is_open(Entity::Node(ROOT)) {
            self.hold_root(Cause::Turn);
            return None;
        }
        let leaf = self.descend(Entity::Node(ROOT))?;
        let job = self.nodes[leaf].head;
        if !self.floors.has_room(u64::from(self.jobs[job].cost)) {
            self.floors.window_full = true;
            self.hold_root(Cause::Floor);
            return None;
        }
        Some(Pick { job, queued: true, called: false, warrant: Warrant::Room })
    }

    fn is_floor_due(&self) -> bool {
        self.due_floors.peek().is_some_and(|e| e.key <= self.now.as_nanos())
    }

    /// Whether another step may find a request to go without a timer.
    fn is_ready(&self) -> bool {
        !self.backend_full
            && (!self.spilled.is_empty()
                || self.next_appointment().is_some_and(|at| at <= self.now)
                || self.is_floor_due()
                || self.desks[self.nodes[ROOT].desk].waiting > 0
                    && !self.floors.window_full
                    && self.is_open(Entity::Node(ROOT)))
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
        if self.limits[entry.id].until > self.now && !self.limits[entry.id].floors.is_empty() {
            self.set_timer(entry.id);
        } else {
            self.unpark_floor(entry.id);
        }
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
        let (cost, best_effort) = (u64::from(job.cost), pick.warrant == Warrant::Room);
        job.best_effort = best_effort;
        self.floors.started(now, cost, best_effort);
        match stage {
            Stage::Spilled => self.unspill(pick.job),
            Stage::Queued if pick.queued && !pick.called => self.charge_turns(leaf, bytes, pick.warrant),
            _ => {}
        }
        let (binding, binding_until) = self.charge_limits(leaf, bytes, arrived, pick.called);
        if !best_effort {
            self.charge_floors(leaf, bytes);
        }
        if self.floors.set > 0 {
            self.call_parked_floors(leaf);
        }
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
        let policy = self.is_under_policy(self.jobs[pick.job].node);
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
        let ended = Ended::of(job, completion.end);
        self.floors.ended(self.now, u64::from(job.cost), job.best_effort);
        self.flying -= 1;
        self.backend_full = false;
        self.meter_end(leaf, completion);
        self.jobs.free(slot);
        self.leave_path(leaf, Some(ended));
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
        self.leave_path(leaf, None);
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
    fn leave_path(&mut self, leaf: u32, ended: Option<Ended>) {
        let flew = ended.is_some();
        let mut at = leaf;
        while at != NONE {
            if self.nodes[at].floor != NONE {
                self.touch_floor(at);
                if let Some(ended) = &ended {
                    self.count_floor(at, ended);
                }
            }
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
        // What is due and still here waits for room in the backend, which comes with an end.
        let timers = [self.agenda.peek(), self.due_floors.peek().filter(|_| !self.backend_full)];
        let tick = (self.floors.set > 0 && self.queued + self.flying > 0).then_some(self.floors.next_tick);
        let appointment = self.next_appointment().filter(|&at| at > self.now);
        let times = timers.into_iter().flatten().map(|e| Time::from_nanos(e.key)).chain(tick).chain(appointment);
        times.min().map_or(block::Wakeup::Idle, block::Wakeup::At)
    }

    fn slack(&self) -> u64 {
        u64::from(self.settings.turn_slack) * OPERATION
    }
}
