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
    /// The part of the floor that it is held to, because its owner asks for too few at a time to get more.
    part: f64,
    /// The window at which it was given up.
    knee: f64,
    /// When it is settled what it gets there; zero if it is.
    refine_at: Time,
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

/// What can be said of a floor in a round.
enum Standing {
    /// It wants nothing, or a ceiling is in its way.
    Content,
    /// Too little has happened to tell.
    Pending,
    /// It got this part of its due.
    Got(f64),
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
    /// The same with a memory of a second.
    slow_time: f64,
    slow_ops: f64,
    slow_bytes: f64,
}

/// How fast a floor's clock runs, in millionths.
const FAST: f64 = 1_030_000.0;
/// For how long it is measured what a floor that was given up gets.
const REFINE: Span = Span::from_millis(500);
/// An owner with nothing outstanding for this part of the time asks for nothing that a window could give it.
const IDLE: f64 = 0.98;
/// How far a floor's clock may lag behind: what a short gap of the owner's or a stall of the device lost is made up
/// within the same second.
const LAG: Span = Span::from_millis(100);
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
        let keep = (1.0 - time).max(0.0);
        self.slow_time = self.slow_time * keep + time;
        self.slow_ops = self.slow_ops * keep + self.ops as f64;
        self.slow_bytes = self.slow_bytes * keep + self.bytes as f64;
        self.begin(now);
    }

    fn begin(&mut self, now: Time) {
        (self.ops, self.bytes, self.service, self.outstanding_area, self.idle) = (0, 0, 0, 0, 0);
        self.judged = now;
    }

    fn forget_slow(&mut self) {
        (self.slow_time, self.slow_ops, self.slow_bytes) = (0.0, 0.0, 0.0);
    }

    fn forget(&mut self, now: Time) {
        let Gauge { touched, slow_time, slow_ops, slow_bytes, .. } = *self;
        *self = Gauge { touched, slow_time, slow_ops, slow_bytes, ..Gauge::default() };
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
        self.ppm = self.ppm_at(phi);
        let two = |rate: u64| Span::from_nanos(2_000_000_000 / rate.max(1)).max(LAG);
        let ops = wanted.iops.map(|r| r.0);
        self.ops.set_scaled(now, ops, self.ppm, ops.map_or(LAG, two));
        let bytes = wanted.bytes.map(|r| r.0);
        self.bytes.set_scaled(now, bytes, self.ppm, LAG);
    }

    fn ppm_at(&self, phi: f64) -> u32 {
        (FAST * self.scale(phi)).max(1.0) as u32
    }

    /// What its clock and its judge hold it to, as a part of the floor: a little more than all of it, so that chance
    /// does not take it below in a single second. Chance is about the root of the count.
    fn scale(&self, phi: f64) -> f64 {
        let margin = self.wanted().iops.map_or(0.0, |r| (1.0 / (r.0 as f64).sqrt()).min(0.2));
        phi * self.part * (1.0 + margin)
    }

    /// The part of its floor, unscaled, that so much in so many seconds is.
    fn part_of_floor(&self, time: f64, ops: f64, bytes: f64) -> f64 {
        let wanted = self.wanted();
        let part = |rate: Option<u64>, sum: f64| rate.map_or(f64::INFINITY, |r| sum / (r as f64 * time.max(1e-9)));
        part(wanted.iops.map(|r| r.0), ops).min(part(wanted.bytes.map(|r| r.0), bytes))
    }

    /// How it stands with a floor that runs at `phi` of itself.
    fn standing(&self, phi: f64) -> Standing {
        let gauge = &self.gauge;
        let scale = self.scale(phi);
        if self.capped || gauge.sum_idle >= IDLE * gauge.time {
            return Standing::Content;
        }
        let enough = self.wanted().iops.is_none_or(|r| r.0 as f64 * scale * gauge.time >= 8.0);
        if !enough || gauge.time < 0.015 {
            return Standing::Pending;
        }
        Standing::Got(self.part_of_floor(gauge.time, gauge.sum_ops, gauge.sum_bytes) / scale)
    }

    /// Whether an owner that was given up gets a third more now than then: it asks for more at a time.
    fn asks_for_more(&self) -> bool {
        let gauge = &self.gauge;
        self.part < 1.0
            && self.refine_at == Time::ZERO
            && gauge.slow_time > 0.5
            && self.part_of_floor(gauge.slow_time, gauge.slow_ops, gauge.slow_bytes) > 1.3 * self.part
    }

    /// How long its measurements remember, in seconds: 50 ms, and long enough for 32 operations.
    fn memory(&self, phi: f64) -> f64 {
        self.wanted().iops.map_or(0.05, |r| (32.0 / (r.0 as f64 * self.scale(phi))).max(0.05))
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
    /// The part of their due that the floors together got when best effort was held back most.
    share: f64,
    /// Until when `phi` stays, and for how long after the next miss.
    hold_until: Time,
    hold: Span,
    /// When floors that were given up are tried again, how long after that the next time, and since when this attempt.
    retry_at: Time,
    retry: Span,
    /// One whose owner asks for more may be tried again from then on.
    retry_early_at: Time,
    short_since: Option<Time>,
    verdict: Verdict,
    /// The window changed much: the next tick begins to measure.
    settling: bool,
    pulse: Pulse,
}

/// How fast the device usually is.
#[derive(Clone, Copy, Debug, Default)]
struct Pulse {
    /// Completions since the last tick.
    done: u64,
    since: Time,
    /// Completions per second over the last second.
    usual: f64,
    /// For how long it has been much less.
    stalled: Span,
}

/// What a round adds up.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    worst: f64,
    judged: u32,
    pending: u32,
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
    best_effort_completions: u64,
}

impl Floors {
    const HOLD: Span = Span::from_secs(2);
    const HOLD_MAX: Span = Span::from_secs(32);
    const RETRY: Span = Span::from_secs(8);
    const RETRY_MAX: Span = Span::from_secs(300);
    /// A device that does little for longer than this has become slower.
    const STALL: Span = Span::from_millis(60);
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
            share: 1.0,
            hold_until: Time::ZERO,
            hold: Floors::HOLD,
            retry_at: Time::ZERO,
            retry: Floors::RETRY,
            retry_early_at: Time::ZERO,
            short_since: None,
            verdict: Verdict::Nothing,
            settling: false,
            pulse: Pulse::default(),
        }
    }

    /// Whether the device as a whole does much less than it usually does, for a short while: nobody's fault, and no
    /// reason to move the window. What was measured meanwhile is forgotten.
    fn is_stalled(&mut self, now: Time) -> bool {
        let pulse = &mut self.pulse;
        let time = now.since(pulse.since).as_secs_f64();
        let (expected, done) = (pulse.usual * time, pulse.done as f64);
        (pulse.done, pulse.since) = (0, now);
        let stalled = expected >= 16.0 && done < 0.7 * expected && pulse.stalled < Floors::STALL;
        if stalled {
            pulse.stalled += Span::from_secs_f64(time);
            return true;
        }
        if pulse.stalled > Span::ZERO && done >= 0.7 * expected {
            pulse.stalled = Span::ZERO;
            self.changes += 1;
        }
        let pulse = &mut self.pulse;
        pulse.usual += (done / time.max(1e-9) - pulse.usual) * time.min(1.0);
        false
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
        self.pulse.done += 1;
        if best_effort {
            self.best_effort -= cost;
            self.flow.best_effort_done += cost;
            self.flow.best_effort_completions += 1;
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
        let memory = guarantee.memory(phi);
        guarantee.gauge.fold(now, memory);
        if guarantee.gauge.sum_outstanding == 0.0 && guarantee.gauge.time > 0.5 * memory {
            guarantee.active = false;
            return false;
        }
        let fresh = guarantee.measured_after == self.floors.changes;
        let standing = if fresh { guarantee.standing(phi) } else { Standing::Pending };
        guarantee.capped = false;
        let changed = match standing {
            Standing::Got(got) => self.add_to_round(floor, got),
            Standing::Pending => {
                self.floors.round.pending += 1;
                false
            }
            Standing::Content => false,
        };
        let guarantee = &mut self.guarantees[floor];
        if changed || guarantee.ppm.abs_diff(guarantee.ppm_at(phi)) > 1000 {
            guarantee.retime(now, phi);
            if guarantee.spot == Spot::Listed {
                self.relist_floor(floor);
            }
        }
        true
    }

    fn add_to_round(&mut self, floor: u32, got: f64) -> bool {
        let guarantee = &mut self.guarantees[floor];
        let gauge = &guarantee.gauge;
        if gauge.sum_ops > 0.0 {
            let service = gauge.sum_service / gauge.sum_ops;
            guarantee.best_service = guarantee.best_service.min(service);
        }
        let cost = gauge.sum_ops / gauge.time;
        let old = guarantee.part;
        let size = self.floors.window.size();
        let give_up = self.floors.verdict == Verdict::TooShallow && got < 1.0;
        if give_up || old < 1.0 && got < Window::SHORT && size <= 1.05 * guarantee.knee {
            // It is held to what it gets where others lose nothing by it, less what may be chance.
            let chance = 1.5 / gauge.sum_ops.max(1.0).sqrt();
            guarantee.part = (old * got * (0.97 - chance).max(0.5)).clamp(0.001, 1.0);
            guarantee.part_try = self.floors.tries;
            if give_up {
                guarantee.knee = size;
                guarantee.refine_at = self.now + REFINE;
                guarantee.gauge.forget_slow();
            }
            return true;
        }
        let round = &mut self.floors.round;
        round.worst = round.worst.min(got);
        round.judged += 1;
        round.served += cost;
        round.needed += if got > 0.0 { cost / got } else { 0.0 };
        round.service += gauge.sum_service;
        round.completions += gauge.sum_ops;
        if guarantee.refine_at > Time::ZERO {
            // The window stays where it is until it is known what there is to get.
            round.pending += 1;
            if self.now >= guarantee.refine_at && gauge.slow_time > 0.9 * REFINE.as_secs_f64() {
                guarantee.refine_at = Time::ZERO;
                let chance = 1.0 / gauge.slow_ops.max(1.0).sqrt();
                let got = guarantee.part_of_floor(gauge.slow_time, gauge.slow_ops, gauge.slow_bytes);
                guarantee.part = (got * (0.985 - chance).max(0.5)).clamp(old, 1.0);
            }
        } else if guarantee.part_try != self.floors.tries
            || guarantee.asks_for_more() && self.now >= self.floors.retry_early_at
        {
            guarantee.part_try = self.floors.tries;
            guarantee.part = 1.0;
        }
        guarantee.part != old
    }

    fn end_round(&mut self) {
        let now = self.now;
        if self.floors.settling {
            // What was in flight before the change has gone: from here on it can be measured.
            self.floors.settling = false;
            self.floors.changes += 1;
            // It does less because it is asked for less.
            self.floors.pulse = Pulse { since: now, ..Pulse::default() };
            (self.floors.cursor, self.floors.round) = (0, Sums::default());
            self.floors.round.worst = f64::INFINITY;
            self.floors.next_tick = now + self.settings.tick;
            return self.begin_flow();
        }
        if self.floors.is_stalled(now) {
            (self.floors.cursor, self.floors.round) = (0, Sums { worst: f64::INFINITY, ..Sums::default() });
            self.floors.next_tick = now + self.settings.tick;
            return;
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
            request: flow.best_effort_done as f64 / 256.0 / flow.best_effort_completions.max(1) as f64,
            judged: sums.judged,
            pending: sums.pending,
            scaled: floors.phi < 1.0,
        };
        if floors.window.is_at_bottom() && sums.judged > 0 {
            floors.share = sums.served / sums.needed.max(1e-9);
        }
        let was = floors.window.limit;
        let verdict = floors.window.judge(&round);
        floors.window_full &= floors.window.limit <= was;
        if std::env::var("TRACE").is_ok() {
            eprintln!(
                "{:.3} {verdict:?} w {:.1} phi {:.3} {round:?} {:?}",
                now.as_nanos() as f64 / 1e9,
                self.floors.window.milli() as f64 / 1e3,
                self.floors.phi,
                self.floors.window
            );
        }
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
                floors.phi = (floors.phi * 0.98 * floors.share).clamp(0.001, 1.0);
                (floors.hold_until, floors.hold) = (now + floors.hold, (floors.hold * 2).min(Floors::HOLD_MAX));
                floors.settling = true;
            }
            Verdict::TooShallow => {
                floors.verdict = Verdict::TooShallow;
                let wait = floors.retry.max(attempt * Floors::RETRY_FACTOR);
                (floors.retry_at, floors.retry) = (now + wait, (wait * 2).min(Floors::RETRY_MAX));
                floors.retry_early_at = now + attempt * Floors::RETRY_FACTOR;
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
