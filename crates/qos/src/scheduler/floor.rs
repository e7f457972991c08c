//! Floors: who must be served first, and whether each got its due.
//!
//! A floor has a clock like a ceiling's, run 3 % fast and advanced only by requests that the floor itself sent: a client
//! that gets more by its share banks no debt. Its requests are due while the clock is not ahead of now; they go before
//! all turns and past the window. Ceilings win: a due floor that finds one closed waits there.

use block::{Span, Time};

use super::Scheduler;
use super::job::Job;
use super::node::Entity;
use super::window::{Round, Verdict, Window};
use crate::clock::Clock;
use crate::edit;
use crate::heap::Entry;
use crate::slab::NONE;

/// Where a floor's entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Nowhere: nothing waits.
    #[default]
    Out,
    /// Among those that are or will be due.
    Listed,
    /// At the closed limit with this number.
    Parked,
}

/// One object's floor.
#[derive(Debug, Default)]
pub(crate) struct Guarantee {
    pub node: u32,
    /// Set on the object itself, and its part of its group's.
    pub own: edit::Floor,
    pub shared: edit::Floor,
    ops: Clock,
    bytes: Clock,
    pub spot: Spot,
    pub seq: u32,
    /// Found a ceiling closed since the last round.
    capped: bool,
    /// In the list of those to judge.
    active: bool,
    /// Which of the window's large changes its measurements come after.
    measured_after: u32,
    /// At which retry its part was set.
    part_try: u32,
    gauge: Gauge,
    /// The part of the floor it is held to for its owner's own sake, and the mean outstanding with which it got that.
    part: f64,
    part_depth: f64,
    /// The scale at which the clocks run.
    ppm: u32,
    /// The least mean time its requests took, in nanoseconds, measured where best effort was held back.
    pub best_service: f64,
    pub tally: Tally,
}

/// What the account tells.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub ops: u64,
    pub bytes: u64,
    pub idle: u64,
    pub capped: bool,
    pub since: Time,
}

/// A leaky measurement of what a floor's owner gets.
#[derive(Debug, Default)]
struct Gauge {
    /// Since the last round.
    ops: u64,
    bytes: u64,
    service: u64,
    outstanding_area: u64,
    idle: u64,
    touched: Time,
    judged: Time,
    /// Leaky sums: time in seconds, and what happened in it.
    time: f64,
    sum_ops: f64,
    sum_bytes: f64,
    sum_service: f64,
    sum_outstanding: f64,
    sum_idle: f64,
}

/// How fast a floor's clock runs, in millionths.
const FAST: f64 = 1_030_000.0;
/// How far a floor's clock may lag behind, so that a short gap loses no rate.
const LAG: Span = Span::from_millis(10);
/// A floor's bytes per second count requests without bytes as this many.
const EMPTY_BYTES: u64 = 4096;

impl Gauge {
    fn touch(&mut self, now: Time, outstanding: u32) {
        let span = now.since(self.touched).as_nanos();
        self.touched = now;
        self.outstanding_area = self.outstanding_area.saturating_add(span.saturating_mul(u64::from(outstanding)));
        if outstanding == 0 {
            self.idle = self.idle.saturating_add(span);
        }
    }

    /// Adds what happened since the last round; what is older than `memory` seconds fades.
    fn fold(&mut self, now: Time, memory: f64) {
        let time = now.since(self.judged).as_secs_f64();
        let keep = (1.0 - time / memory).max(0.0);
        for (sum, new) in [
            (&mut self.time, time),
            (&mut self.sum_ops, self.ops as f64),
            (&mut self.sum_bytes, self.bytes as f64),
            (&mut self.sum_service, self.service as f64),
            (&mut self.sum_outstanding, self.outstanding_area as f64 / 1e9),
            (&mut self.sum_idle, self.idle as f64 / 1e9),
        ] {
            *sum = *sum * keep + new;
        }
        self.begin(now);
    }

    fn begin(&mut self, now: Time) {
        (self.ops, self.bytes, self.service, self.outstanding_area, self.idle) = (0, 0, 0, 0, 0);
        self.judged = now;
    }

    fn forget(&mut self, now: Time) {
        *self = Gauge { touched: self.touched, ..Gauge::default() };
        self.begin(now);
    }
}

impl Guarantee {
    pub fn new(now: Time, node: u32) -> Guarantee {
        let mut guarantee = Guarantee { node, part: 1.0, best_service: f64::INFINITY, ..Guarantee::default() };
        guarantee.gauge.touched = now;
        guarantee.tally.since = now;
        guarantee
    }

    /// What it promises in all: for each kind the larger of the two.
    pub fn wanted(&self) -> edit::Floor {
        edit::Floor { iops: self.own.iops.max(self.shared.iops), bytes: self.own.bytes.max(self.shared.bytes) }
    }

    /// From when its next request is due.
    pub fn due(&self) -> Time {
        let of = |clock: &Clock| if clock.is_on() { clock.opens() } else { Time::MAX };
        of(&self.ops).min(of(&self.bytes))
    }

    fn charge(&mut self, now: Time, bytes: u64) {
        self.ops.charge(now, 1);
        self.bytes.charge(now, bytes.max(EMPTY_BYTES));
    }

    /// Sets the clocks' rates anew for a common scale.
    pub fn retime(&mut self, now: Time, phi: f64) {
        let wanted = self.wanted();
        self.ppm = (FAST * phi * self.part).max(1.0) as u32;
        let two = |rate: u64| Span::from_nanos(2_000_000_000 / rate.max(1)).max(LAG);
        let ops = wanted.iops.map(|r| r.0);
        self.ops.set_scaled(now, ops, self.ppm, ops.map_or(LAG, two));
        let bytes = wanted.bytes.map(|r| r.0);
        self.bytes.set_scaled(now, bytes, self.ppm, LAG);
    }

    fn depth(&self) -> f64 {
        self.gauge.sum_outstanding / self.gauge.time.max(1e-9)
    }

    /// The part of its scaled due that it gets, if that can be said.
    fn got(&self, phi: f64) -> Option<f64> {
        let gauge = &self.gauge;
        let scale = phi * self.part * gauge.time;
        let wanted = self.wanted();
        let part = |rate: Option<u64>, sum: f64| rate.map_or(f64::INFINITY, |r| sum / (r as f64 * scale));
        let enough = wanted.iops.is_none_or(|r| r.0 as f64 * scale >= 8.0) && gauge.time > 0.015;
        let asks = gauge.sum_idle < 0.5 * gauge.time;
        (enough && asks && !self.capped).then(|| {
            part(wanted.iops.map(|r| r.0), gauge.sum_ops).min(part(wanted.bytes.map(|r| r.0), gauge.sum_bytes))
        })
    }

    /// How long its measurements remember: 50 ms, and long enough for 32 operations.
    fn memory(&self) -> f64 {
        self.wanted().iops.map_or(0.05, |r| (32.0 / r.0 as f64).max(0.05))
    }
}

/// All floors' common state.
#[derive(Debug)]
pub(crate) struct Floors {
    /// How many objects have one.
    pub set: u32,
    pub window: Window,
    /// Best-effort cost in flight, and all, in 1/256 operations.
    pub best_effort: u64,
    pub all: u64,
    /// The window refused someone since the last end.
    pub window_full: bool,
    /// The part of every floor that is held.
    pub phi: f64,
    /// Counts the window's large changes: measurements begin anew after each.
    pub changes: u32,
    /// Counts how often floors that were given up are tried again.
    tries: u32,
    /// Floors that may have wanted something since the last round, and up to where this round has judged them.
    active: Vec<u32>,
    cursor: usize,
    pub next_tick: Time,
    round: Sums,
    flow: Flow,
    /// Until when `phi` stays, and for how long after the next miss.
    hold_until: Time,
    hold: Span,
    /// When floors that were given up are tried again, how long after that the next time, and since when this attempt.
    retry_at: Time,
    retry: Span,
    short_since: Option<Time>,
    verdict: Verdict,
    /// The window changed much: the next tick begins to measure.
    settling: bool,
}

/// What a round adds up.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    worst: f64,
    judged: u32,
    served: f64,
    needed: f64,
    service: f64,
    completions: f64,
}

/// What flows through the backend.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    touched: Time,
    since: Time,
    all_area: u128,
    best_effort_area: u128,
    best_effort_max: u64,
    done: u64,
    completions: u64,
    best_effort_done: u64,
}

impl Floors {
    const HOLD: Span = Span::from_secs(2);
    const HOLD_MAX: Span = Span::from_secs(32);
    const RETRY: Span = Span::from_secs(8);
    const RETRY_MAX: Span = Span::from_secs(300);
    /// An attempt that failed is repeated after at least so many times its own length: it costs others at most 4 %.
    const RETRY_FACTOR: u64 = 25;

    pub fn new() -> Floors {
        Floors {
            set: 0,
            window: Window::new(),
            best_effort: 0,
            all: 0,
            window_full: false,
            phi: 1.0,
            changes: 0,
            tries: 0,
            active: Vec::new(),
            cursor: 0,
            next_tick: Time::ZERO,
            round: Sums { worst: f64::INFINITY, ..Sums::default() },
            flow: Flow::default(),
            hold_until: Time::ZERO,
            hold: Floors::HOLD,
            retry_at: Time::ZERO,
            retry: Floors::RETRY,
            short_since: None,
            verdict: Verdict::Nothing,
            settling: false,
        }
    }

    /// A floor is gone: nobody judges it any more.
    pub fn forget(&mut self, floor: u32) {
        self.active.retain(|&f| f != floor);
        self.cursor = 0;
    }

    /// The last floor is gone: what was learned about the backend goes with it.
    pub fn end_of_floors(&mut self) {
        *self = Floors { best_effort: self.best_effort, all: self.all, changes: self.changes, ..Floors::new() };
    }

    /// Whether best-effort work of this cost may go now.
    pub fn has_room(&self, cost: u64) -> bool {
        self.set == 0 || self.best_effort == 0 || self.best_effort + cost <= self.window.limit
    }

    fn touch(&mut self, now: Time) {
        if self.set == 0 {
            return;
        }
        let span = u128::from(now.since(self.flow.touched).as_nanos());
        self.flow.touched = now;
        self.flow.all_area += span * u128::from(self.all);
        self.flow.best_effort_area += span * u128::from(self.best_effort);
    }

    /// A request went to the backend.
    pub fn started(&mut self, now: Time, cost: u64, best_effort: bool) {
        self.touch(now);
        self.all += cost;
        if best_effort {
            self.best_effort += cost;
            self.flow.best_effort_max = self.flow.best_effort_max.max(self.best_effort);
        }
    }

    /// A request came back.
    pub fn ended(&mut self, now: Time, cost: u64, best_effort: bool) {
        self.touch(now);
        self.all -= cost;
        self.flow.done += cost;
        self.flow.completions += 1;
        if best_effort {
            self.best_effort -= cost;
            self.flow.best_effort_done += cost;
            self.window_full = false;
        }
    }
}

impl Scheduler {
    /// A floor whose node has work is listed among the due.
    pub(super) fn list_floor(&mut self, node: u32) {
        let floor = self.nodes[node].floor;
        if floor != NONE && self.guarantees[floor].spot == Spot::Out {
            self.relist_floor(floor);
        }
    }

    /// Lists it anew, by when it is due now; an older entry is stale.
    pub(super) fn relist_floor(&mut self, floor: u32) {
        self.seq = self.seq.wrapping_add(1);
        let guarantee = &mut self.guarantees[floor];
        (guarantee.spot, guarantee.seq) = (Spot::Listed, self.seq);
        self.due_floors.push(Entry { key: guarantee.due().as_nanos(), id: floor, seq: self.seq });
    }

    /// The next request that a floor sends, if one is due.
    pub(super) fn pick_floor(&mut self) -> Option<(u32, u32)> {
        let entry = self.due_floors.peek().filter(|e| e.key <= self.now.as_nanos())?;
        let guarantee = &mut self.guarantees[entry.id];
        let node = guarantee.node;
        if guarantee.seq != entry.seq || guarantee.spot != Spot::Listed {
            self.due_floors.pop();
            return None;
        }
        let due = guarantee.due().as_nanos();
        if due != entry.key {
            self.seq = self.seq.wrapping_add(1);
            guarantee.seq = self.seq;
            self.due_floors.postpone(due, self.seq);
            return None;
        }
        if !self.has_work(Entity::Node(node)) {
            self.guarantees[entry.id].spot = Spot::Out;
            self.due_floors.pop();
            return None;
        }
        let closed = self.closed_above(node);
        if closed != NONE {
            self.due_floors.pop();
            self.park_floor(entry.id, closed);
            return None;
        }
        self.descend(Entity::Node(node)).map(|leaf| (leaf, node))
    }

    /// Whether a floor is due that a new request of this object may use at once; its node.
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
        self.seq = self.seq.wrapping_add(1);
        let guarantee = &mut self.guarantees[floor];
        (guarantee.spot, guarantee.seq, guarantee.capped, guarantee.tally.capped) =
            (Spot::Parked, self.seq, true, true);
        let entry = Entry { key: guarantee.due().as_nanos(), id: floor, seq: self.seq };
        self.limits[limit].floors.push(entry);
        self.set_timer(limit);
    }

    /// The floor that has waited longest at a limit is tried again; the others follow one by one.
    pub(super) fn unpark_floor(&mut self, limit: u32) {
        while let Some(entry) = self.limits[limit].floors.pop() {
            let guarantee = &self.guarantees[entry.id];
            if guarantee.seq == entry.seq && guarantee.spot == Spot::Parked {
                return self.relist_floor(entry.id);
            }
        }
    }

    /// A request went past limits at which floors wait: one of them may try again, or must when the limit opens.
    pub(super) fn call_parked_floors(&mut self, leaf: u32) {
        let mut at = leaf;
        while at != NONE {
            let node = &self.nodes[at];
            let (parent, limits) =
                (node.parent, [node.limit, if node.group == NONE { NONE } else { self.groups[node.group].limit }]);
            for limit in limits {
                if limit == NONE || self.limits[limit].floors.is_empty() {
                    continue;
                }
                if self.limits[limit].until > self.now {
                    self.set_timer(limit);
                } else {
                    self.unpark_floor(limit);
                }
            }
            at = parent;
        }
    }

    /// A floor sent a request: the clocks of all floors on its path advance.
    pub(super) fn charge_floors(&mut self, leaf: u32, bytes: u64) {
        let mut at = leaf;
        while at != NONE {
            let floor = self.nodes[at].floor;
            if floor != NONE {
                self.guarantees[floor].charge(self.now, bytes);
            }
            at = self.nodes[at].parent;
        }
    }

    /// The number of requests outstanding at a node with a floor is about to change.
    pub(super) fn touch_floor(&mut self, node: u32) {
        let floor = self.nodes[node].floor;
        let outstanding = self.nodes[node].outstanding;
        let guarantee = &mut self.guarantees[floor];
        if outstanding == 0 {
            guarantee.tally.idle += self.now.since(guarantee.gauge.touched.max(guarantee.tally.since)).as_nanos();
        }
        guarantee.gauge.touch(self.now, outstanding);
        if guarantee.measured_after != self.floors.changes {
            guarantee.measured_after = self.floors.changes;
            guarantee.gauge.forget(self.now);
        }
        if !guarantee.active {
            guarantee.active = true;
            guarantee.gauge.forget(self.now);
            self.floors.active.push(floor);
        }
    }

    /// A request of a node with a floor ended.
    pub(super) fn count_floor(&mut self, node: u32, job: &Ended) {
        let guarantee = &mut self.guarantees[self.nodes[node].floor];
        guarantee.gauge.ops += 1;
        guarantee.gauge.bytes += job.bytes;
        guarantee.gauge.service += job.service;
        guarantee.tally.ops += 1;
        guarantee.tally.bytes += job.bytes;
    }

    /// One step of judging floors: true if there was one to do.
    pub(super) fn judge_step(&mut self) -> bool {
        if self.floors.set == 0 || self.now < self.floors.next_tick {
            return false;
        }
        if self.floors.cursor < self.floors.active.len() {
            let floor = self.floors.active[self.floors.cursor];
            if self.judge(floor) {
                self.floors.cursor += 1;
            } else {
                self.floors.active.swap_remove(self.floors.cursor);
            }
        } else {
            self.end_round();
        }
        true
    }

    /// Judges one floor. False if nothing was asked of it for a while.
    fn judge(&mut self, floor: u32) -> bool {
        let now = self.now;
        let phi = self.floors.phi;
        let guarantee = &mut self.guarantees[floor];
        if guarantee.node == NONE {
            return false;
        }
        let outstanding = self.nodes[guarantee.node].outstanding;
        guarantee.gauge.touch(now, outstanding);
        let memory = guarantee.memory();
        guarantee.gauge.fold(now, memory);
        if guarantee.gauge.sum_outstanding == 0.0 && guarantee.gauge.time > 0.5 * memory {
            guarantee.active = false;
            return false;
        }
        let fresh = guarantee.measured_after == self.floors.changes;
        let got = guarantee.got(phi).filter(|_| fresh);
        guarantee.capped = false;
        let changed = match got {
            Some(got) => self.add_to_round(floor, got),
            None => false,
        };
        let guarantee = &mut self.guarantees[floor];
        if changed || guarantee.ppm.abs_diff((FAST * phi * guarantee.part) as u32) > 1000 {
            guarantee.retime(now, phi);
            if guarantee.spot == Spot::Listed {
                self.relist_floor(floor);
            }
        }
        true
    }

    fn add_to_round(&mut self, floor: u32, got: f64) -> bool {
        let guarantee = &mut self.guarantees[floor];
        let (depth, gauge) = (guarantee.depth(), &guarantee.gauge);
        if gauge.sum_ops > 0.0 {
            let service = gauge.sum_service / gauge.sum_ops;
            guarantee.best_service = guarantee.best_service.min(service);
        }
        let cost = gauge.sum_ops / gauge.time;
        let round = &mut self.floors.round;
        round.worst = round.worst.min(got);
        round.judged += 1;
        round.served += cost;
        round.needed += if got > 0.0 { cost / got } else { 0.0 };
        round.service += gauge.sum_service;
        round.completions += gauge.sum_ops;
        let old = guarantee.part;
        if self.floors.verdict == Verdict::TooShallow && got < Window::SHORT {
            guarantee.part = (old * got * 0.97).clamp(0.001, 1.0);
            guarantee.part_depth = depth;
            guarantee.part_try = self.floors.tries;
        } else if guarantee.part_try != self.floors.tries {
            guarantee.part_try = self.floors.tries;
            guarantee.part = 1.0;
        } else if guarantee.part < 1.0 && depth > guarantee.part_depth * 1.25 {
            // More at a time gets more in the same time each.
            guarantee.part = (old * depth / guarantee.part_depth.max(0.001)).min(1.0);
            guarantee.part_depth = depth;
        }
        guarantee.part != old
    }

    fn end_round(&mut self) {
        let now = self.now;
        if self.floors.settling {
            // What was in flight before the change has gone: from here on it can be measured.
            self.floors.settling = false;
            self.floors.changes += 1;
            (self.floors.cursor, self.floors.round) = (0, Sums::default());
            self.floors.round.worst = f64::INFINITY;
            self.floors.next_tick = now + self.settings.tick;
            return self.begin_flow();
        }
        self.floors.touch(now);
        let sums = std::mem::replace(&mut self.floors.round, Sums { worst: f64::INFINITY, ..Sums::default() });
        self.floors.cursor = 0;
        self.floors.next_tick = now + self.settings.tick;
        let given_up = std::mem::replace(&mut self.floors.verdict, Verdict::Nothing) == Verdict::TooShallow;
        let floors = &mut self.floors;
        let flow = floors.flow;
        let time = now.since(flow.since).as_secs_f64().max(1e-9);
        let round = Round {
            worst: if given_up { f64::INFINITY } else { sums.worst },
            total: flow.done as f64 / 256.0 / time,
            samples: flow.completions as f64,
            in_flight: flow.all_area as f64 / 256.0 / 1e9 / time,
            best_effort: flow.best_effort_area as f64 / 256.0 / 1e9 / time,
            best_effort_max: flow.best_effort_max as f64 / 256.0,
            judged: sums.judged,
        };
        let was = floors.window.limit;
        let verdict = floors.window.judge(&round);
        floors.window_full &= floors.window.limit <= was;
        self.act(verdict, &sums, &round);
    }

    fn act(&mut self, verdict: Verdict, sums: &Sums, round: &Round) {
        let now = self.now;
        let floors = &mut self.floors;
        if round.worst < Window::SHORT {
            floors.short_since.get_or_insert(now);
        } else if verdict == Verdict::Nothing {
            floors.short_since = None;
        }
        let attempt = floors.short_since.map_or(Span::ZERO, |since| now.since(since));
        match verdict {
            Verdict::Nothing => self.recover(sums, round),
            Verdict::Remeasure => {
                let service = if sums.completions > 0.0 { sums.service / sums.completions } else { 0.0 };
                floors.settling = true;
                floors.next_tick = now + Span::from_nanos(service as u64);
            }
            Verdict::Overcommitted => {
                floors.phi = (floors.phi * 0.97 * sums.served / sums.needed.max(1e-9)).clamp(0.001, 1.0);
                (floors.hold_until, floors.hold) = (now + floors.hold, (floors.hold * 2).min(Floors::HOLD_MAX));
                floors.settling = true;
            }
            Verdict::TooShallow => {
                floors.verdict = Verdict::TooShallow;
                let wait = floors.retry.max(attempt * Floors::RETRY_FACTOR);
                (floors.retry_at, floors.retry) = (now + wait, (wait * 2).min(Floors::RETRY_MAX));
                floors.short_since = None;
            }
        }
        let flow = &mut self.floors.flow;
        flow.best_effort_max = self.floors.best_effort;
    }

    fn recover(&mut self, sums: &Sums, round: &Round) {
        let now = self.now;
        let floors = &mut self.floors;
        let met = round.worst >= Window::SHORT && sums.judged > 0;
        if floors.phi < 1.0 && met {
            let spare = floors.flow.best_effort_done as f64 / floors.flow.done.max(1) as f64;
            if spare > 0.05 {
                floors.phi = (floors.phi * (1.0 + 0.1 * spare)).min(1.0);
            } else if now >= floors.hold_until {
                floors.phi = (floors.phi * 1.002).min(1.0);
            }
        } else if floors.phi >= 1.0 {
            floors.hold = Floors::HOLD;
        }
        if now >= floors.retry_at && floors.retry_at > Time::ZERO {
            floors.retry_at = Time::ZERO;
            floors.tries += 1;
        }
        // Measurements of the flow fade with the same memory as a fast floor's.
        let flow = &mut self.floors.flow;
        if now.since(flow.since) > Span::from_millis(100) {
            self.begin_flow();
        }
    }

    fn begin_flow(&mut self) {
        let (now, max) = (self.now, self.floors.best_effort);
        self.floors.flow = Flow { touched: now, since: now, best_effort_max: max, ..Flow::default() };
    }
}

/// What a floor counts of a request that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub bytes: u64,
    /// Nanoseconds.
    pub service: u64,
}

impl Ended {
    pub fn of(job: &Job, end: Time) -> Ended {
        Ended { bytes: job.bytes, service: end.since(job.started).as_nanos() }
    }
}
