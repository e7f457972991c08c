//! The scheduler: which request goes next, and when. Pure: it holds the waiting requests and picks
//! the one to hand to the backend; the gate hands it over.
//!
//! ```text
//!   request ─► every limit on its path open and nobody waiting before it? ──► goes at once
//!                     │ no
//!                     ▼
//!              its object's queue ─► the object waits at ONE place: behind its own limit (a timer), or in the turn queue of
//!                                    the node or group that holds it; so do the nodes above it, up to what binds
//!   pick:  floors that are due ─► root's turn queue, least tag first, down to a queue ─► timers that are due
//! ```
//!
//! A request is charged to all limits on its path or to none, at the moment it goes. A node that
//! the walk down from the root finds blocked moves to the place that blocks it; a poll takes a
//! bounded number of such steps. A limit that opens wakes only its owner, however many wait behind
//! it: they are taken from the owner's turn queue one at a time, for as long as the limit stays
//! open.

mod apply;
mod appointment;
mod attempts;
mod charge;
mod comparison;
mod constants;
pub(crate) mod corrections;
mod due;
mod end;
mod floor;
mod floor_tally;
mod floors;
mod flow;
mod gauge;
mod held;
mod job;
mod judge;
mod knee;
mod latency;
mod limit;
mod meter;
mod node;
mod pace;
mod phase;
mod pulse;
mod queue;
mod report;
mod round;
mod scale;
mod trace;
mod turns;
mod waiting;
mod wakeup;
mod waste;
mod window;

use std::collections::VecDeque;

use block::{Cause, Completion, ObjectId, Request, Time};

use crate::account::Bin;
use crate::heap::Heap;
use crate::slab::{NONE, Slab};
use crate::tuning::Settings;
use crate::wheel::Wheel;
use floor::FloorControl;
use floors::Floors;
use job::{Job, Stage};
use limit::Limit;
use meter::Meter;
use node::{Entity, Group, Index, Node, Path, Place, ROOT};
use pace::Pace;
use report::{Interval, Round};
use turns::{OPERATION, TurnQueue};

/// The decision on a new request.
pub(crate) enum Admission {
    /// It goes to the backend at once: its object's node, and why it may.
    Go(u32, DispatchReason),
    /// It has to wait in its object's queue.
    Wait(u32),
    /// No policy applies to it, but it has to wait for the backend.
    Spill(u32),
    /// There is no such object.
    Unknown,
    /// The queue is full.
    Full,
}

/// Why a request may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DispatchReason {
    /// No policy is on its path.
    Free,
    /// Best effort: its limits are open and the window has room.
    Room,
    /// The floor of this node is due.
    Floor(u32),
    /// Its appointment has come: turns and limits were charged when it was made.
    Appointed,
}

/// A decision: this request goes now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick {
    /// The slot of the request.
    pub job: u32,
    reason: DispatchReason,
}

/// All state of one backend's quality of service.
#[derive(Debug)]
pub(crate) struct Scheduler {
    settings: Settings,
    now: Time,
    /// The trace bin that `now` lies in.
    bin: u64,
    nodes: Slab<Node>,
    groups: Slab<Group>,
    limits: Slab<Limit>,
    turn_queues: Slab<TurnQueue>,
    guarantees: Slab<FloorControl>,
    meters: Slab<Meter>,
    /// Meters with requests and limits that passed any since the last account.
    metered: Vec<u32>,
    passed: Vec<u32>,
    /// What the next account covers.
    interval: Interval,
    round: Option<Round>,
    pace: Pace,
    jobs: Slab<Job>,
    objects: Index,
    group_index: Index,
    /// Limits with work behind them, keyed by when they open.
    timers: Wheel,
    /// Objects whose first request goes at an appointed time.
    appointments: Heap,
    /// Floors whose objects have work, keyed by when they are due.
    due_floors: Heap,
    floors: Floors,
    /// Requests without a policy that the backend would not take, oldest first.
    spilled: VecDeque<u32>,
    /// Whether a spilled request goes next where queued ones could too: the two kinds alternate.
    spilled_next: bool,
    /// The backend refused the last request.
    backend_full: bool,
    /// What held back work at the root last, and when.
    root_held: (Time, Cause),
    /// Steps left in this poll.
    steps: u32,
    queued: u32,
    in_flight: u32,
    /// Counts edits: a node's cached path is valid for one epoch, and counts begin at one.
    epoch: u32,
    traces: u32,
    /// Numbers the entries in heaps.
    seq: u32,
    /// Completions of requests that ended without the backend: refused, cancelled, object removed.
    ended: Vec<Completion>,
}

impl Scheduler {
    pub fn new(settings: Settings) -> Scheduler {
        let mut nodes = Slab::default();
        let mut turn_queues = Slab::default();
        let turn_queue = turn_queues.add(TurnQueue::default());
        nodes.add(Node { turn_queue, ..Node::new(ObjectId(u32::MAX), NONE) });
        Scheduler {
            settings,
            now: Time::ZERO,
            bin: 0,
            nodes,
            groups: Slab::default(),
            limits: Slab::default(),
            turn_queues,
            guarantees: Slab::default(),
            meters: Slab::default(),
            metered: Vec::new(),
            passed: Vec::new(),
            interval: Interval::default(),
            round: None,
            pace: Pace::default(),
            jobs: Slab::default(),
            objects: Index::default(),
            group_index: Index::default(),
            timers: Wheel::new(settings.timer_grain),
            appointments: Heap::default(),
            due_floors: Heap::default(),
            floors: Floors::new(settings.corrections),
            spilled: VecDeque::new(),
            spilled_next: false,
            backend_full: false,
            root_held: (Time::ZERO, Cause::Nothing),
            steps: settings.steps_per_poll,
            queued: 0,
            in_flight: 0,
            epoch: 1,
            traces: 0,
            seq: 0,
            ended: Vec::new(),
        }
    }

    /// Moves the time on and returns it; a clock that steps back counts as standing still.
    #[inline]
    pub fn advance(&mut self, now: Time) -> Time {
        if now > self.now {
            self.now = now;
            self.bin = now.as_nanos() / Bin::WIDTH.as_nanos();
        }
        self.now
    }

    /// Decides on a new request.
    #[inline]
    pub fn admit(&mut self, request: &Request) -> Admission {
        let leaf = self.objects.get(request.object.0);
        if leaf == NONE {
            return Admission::Unknown;
        }
        let free = !self.path(leaf).has_policy && self.floors.set == 0;
        let queued = self.nodes[leaf].queued;
        if free && queued == 0 && self.spilled.is_empty() && !self.backend_full {
            return Admission::Go(leaf, DispatchReason::Free);
        }
        if self.queued >= self.settings.queued_max || queued >= self.settings.queued_max_per_object {
            return Admission::Full;
        }
        if free && queued == 0 {
            return Admission::Spill(leaf);
        }
        if queued > 0 || self.backend_full {
            return Admission::Wait(leaf);
        }
        match self.reason(leaf, request) {
            Some(reason) => Admission::Go(leaf, reason),
            None => Admission::Wait(leaf),
        }
    }

    /// What is on a node's path: from the cache, unless an edit made it stale.
    #[inline]
    fn path(&mut self, leaf: u32) -> Path {
        let node = &self.nodes[leaf];
        if node.path_epoch == self.epoch { node.path } else { self.find_path(leaf) }
    }

    #[cold]
    fn find_path(&mut self, leaf: u32) -> Path {
        let node = &self.nodes[leaf];
        let (limit, parent) = (node.limit, node.parent);
        let has_depth = limit != NONE && self.limits[limit].has_depth();
        let has_rate = limit != NONE && self.limits[limit].has_rate();
        let counts = has_depth || node.floor != NONE;
        let binds = has_depth || has_rate || node.group != NONE;
        let above = if parent == NONE { Path::default() } else { self.path(parent) };
        // One level further up; `UNCOUNTED` saturates, so it stays what it is.
        let counted_above = if counts { 0 } else { above.counted_above.saturating_add(1) };
        let path = Path { has_policy: binds || above.has_policy, counted_above };
        (self.nodes[leaf].path, self.nodes[leaf].path_epoch) = (path, self.epoch);
        path
    }

    /// Why a new request may go at once, if it may.
    fn reason(&mut self, leaf: u32, request: &Request) -> Option<DispatchReason> {
        if self.floors.set > 0 {
            let turn_queue = self.nodes[leaf].turn_queue;
            let floor = self.due_floor_above(leaf);
            if floor != NONE
                && (turn_queue == NONE || self.turn_queues[turn_queue].waiting == 0)
                && self.closed_above(leaf) == NONE
            {
                return Some(DispatchReason::Floor(floor));
            }
            if !self.floors.has_room(self.now, job::cost(job::counted(request))) {
                self.root_held = (self.now, Cause::Floor);
                return None;
            }
        }
        self.is_free_to_go(leaf).then_some(DispatchReason::Room)
    }

    /// Whether every limit on the path is open and nobody waits in any turn queue of it.
    fn is_free_to_go(&self, leaf: u32) -> bool {
        let mut at = leaf;
        while at != NONE {
            let node = &self.nodes[at];
            if node.turn_queue != NONE && self.turn_queues[node.turn_queue].waiting > 0
                || !self.is_open(Entity::Node(at))
            {
                return false;
            }
            if node.group != NONE {
                let turn_queue = self.groups[node.group].turn_queue;
                if self.turn_queues[turn_queue].waiting > 0 || !self.is_open(Entity::Group(node.group)) {
                    return false;
                }
            }
            at = node.parent;
        }
        self.spilled.is_empty()
    }

    /// Whether a node's or group's own limit lets a request pass now.
    #[inline]
    fn is_open(&self, entity: Entity) -> bool {
        let limit = self.limit_of(entity);
        limit == NONE || self.limits[limit].is_open(self.now)
    }

    /// Accepts a request: it gets a slot and counts as outstanding.
    #[inline]
    pub fn open(&mut self, leaf: u32, request: &Request) -> u32 {
        let slot = self.jobs.claim();
        let job = &mut self.jobs[slot];
        job.node = leaf;
        job.age = job.age.wrapping_add(1) & Job::AGE_MAX;
        job.tag = request.tag;
        job.arrived = self.now;
        job.bytes = job::counted(request);
        job.cause = Cause::Nothing;
        job.epoch = self.epoch;
        job.kind = request.op.kind();
        job.stage = Stage::Open;
        let now = self.now;
        let node = &mut self.nodes[leaf];
        node.outstanding += 1;
        if !job.is_own() {
            if node.meter == NONE {
                node.meter = self.meters.add(Meter::new(now, leaf));
                self.metered.push(node.meter);
            }
            self.meters[node.meter].arrived(now);
        }
        if node.path.counted_above != Path::UNCOUNTED {
            self.count_outstanding(leaf);
        }
        slot
    }

    /// The meter of the request's object, unless no account counts the request.
    #[inline]
    fn meter_of(&mut self, job: u32) -> Option<&mut Meter> {
        let job = &self.jobs[job];
        if job.is_own() { None } else { Some(&mut self.meters[self.nodes[job.node].meter]) }
    }

    /// The gate's ticket for a request, which is also its tag at the backend.
    #[inline]
    pub fn token(&self, job: u32) -> u64 {
        Job::token(job, self.jobs[job].age)
    }

    /// The decision for a request with [`Admission::Go`].
    #[inline]
    pub fn go(&self, job: u32, reason: DispatchReason) -> Pick {
        Pick { job, reason }
    }

    /// A request of [`Admission::Wait`] or `Spill` begins to wait.
    pub fn wait(&mut self, job: u32, request: Request, spill: bool) {
        let now = self.now;
        if let Some(meter) = self.meter_of(job) {
            meter.waits(now);
        }
        if spill {
            self.spill(job);
        } else {
            self.link(job);
        }
        self.keep(job, request);
    }

    /// Keeps a waiting request, with its tag for the backend. The tag is written after the move
    /// into the slot: a move that reads as a whole what was just written in part stalls the
    /// processor (store forwarding fails).
    pub(super) fn keep(&mut self, job: u32, request: Request) {
        let record = &mut self.jobs[job];
        record.request.insert(request).tag = Job::token(job, record.age);
    }

    /// Begins a poll: its steps are counted anew, and the backend may be tried again.
    pub fn begin_poll(&mut self) {
        self.steps = self.settings.steps_per_poll;
        self.backend_full = false;
        if self.floors.rests_until().is_some_and(|at| at <= self.now) {
            self.floors.window_full = false;
        }
        self.judge_some();
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
        if let Some(pick) = self.pick_appointed() {
            return Some(pick);
        }
        if self.is_floor_due() {
            let (leaf, floor) = self.pick_floor()?;
            return Some(Pick { job: self.nodes[leaf].head, reason: DispatchReason::Floor(floor) });
        }
        let turns = self.turn_queues[self.nodes[ROOT].turn_queue].waiting > 0 && !self.floors.window_full;
        if !self.spilled.is_empty() && (self.spilled_next || !turns) {
            return self.spilled.front().map(|&job| Pick { job, reason: DispatchReason::Free });
        }
        if !turns {
            return None;
        }
        if !self.is_open(Entity::Node(ROOT)) {
            self.root_held = (self.now, Cause::Turn);
            return None;
        }
        let leaf = self.descend(Entity::Node(ROOT))?;
        let job = self.nodes[leaf].head;
        if !self.floors.has_room(self.now, job::cost(self.jobs[job].bytes)) {
            self.floors.window_full = true;
            self.root_held = (self.now, Cause::Floor);
            return None;
        }
        Some(Pick { job, reason: DispatchReason::Room })
    }

    fn is_floor_due(&self) -> bool {
        self.due_floors.peek().is_some_and(|e| e.key <= self.now.as_nanos())
    }

    /// Wakes the owner of a limit whose timer is due. False if no timer is.
    fn wake_one(&mut self) -> bool {
        let Some((at, number)) = self.timers.pop(self.now) else {
            return false;
        };
        let limit = &mut self.limits[number];
        if limit.end_timer(at)
            && let Some(entity) = limit.entity()
        {
            self.note_late(number, at);
            self.release(entity);
            self.call_parked(number);
        }
        true
    }

    /// Notes that a limit which opened at `opened` is acted on only now. A delay within the
    /// tolerance costs nothing and is not recorded.
    #[inline]
    pub(super) fn note_late(&mut self, limit: u32, opened: Time) {
        if self.now.since(opened) > self.settings.tolerance {
            let late = self.now.since(opened.max(self.interval.since));
            self.limits[limit].note_late(&self.interval, late);
        }
    }

    /// Moves a held entity on to where it waits next, which is here again if its limit is still
    /// closed.
    fn release(&mut self, entity: Entity) {
        if self.place(entity) == Place::Held {
            self.set_place(entity, Place::Out);
            self.settle(entity);
        }
    }

    /// Sets a timer for when a limit opens. One that is closed by its requests in flight opens with
    /// a completion and needs none.
    fn set_timer(&mut self, limit: u32) {
        if let Some(until) = self.limits[limit].needs_timer(self.now) {
            self.timers.set(until, limit);
        }
    }

    /// Takes the completions of requests that ended without the backend.
    pub fn drain_ended(&mut self, out: &mut Vec<Completion>) {
        out.append(&mut self.ended);
    }

    fn next_seq(&mut self) -> u32 {
        self.seq = self.seq.wrapping_add(1);
        self.seq
    }

    fn slack(&self) -> u64 {
        u64::from(self.settings.turn_slack) * OPERATION
    }
}
