//! Accounts and status.

use block::{Bytes, Cause, LimitKind, Span, Time};

use super::Scheduler;
use super::floor::FloorControl;
use super::node::Entity;
use crate::account::{FloorState, GateStatus, GroupAccount, ObjectAccount, Shortage};
use crate::slab::NONE;

/// The interval from one account to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interval {
    pub number: u32,
    pub since: Time,
}

/// An account under way: what it still has to report. It may take several turns, while requests
/// come and end; each object's account covers the time up to when it is reported.
#[derive(Debug)]
pub(crate) struct Round {
    began: Time,
    metered: Vec<u32>,
    passed: Vec<u32>,
    active: Vec<u32>,
}

impl Scheduler {
    /// Reports what each object did since its last account: objects with requests, and others
    /// beneath which something passed or is promised. Reports `most` of them; further calls report
    /// the rest. True when all were reported. The work is in proportion to those, not to all
    /// objects.
    pub fn account(&mut self, most: usize, out: &mut Vec<ObjectAccount>) -> bool {
        if self.round.is_none() {
            let (mut metered, mut passed) = (std::mem::take(&mut self.metered), std::mem::take(&mut self.passed));
            let mut active = self.floors.active.clone();
            for floor in std::mem::take(&mut self.floors.slept) {
                self.guarantees[floor].account.slept = false;
                active.push(floor);
            }
            // They are taken from the end.
            [&mut metered, &mut passed, &mut active].into_iter().for_each(|list| list.reverse());
            self.round = Some(Round { began: self.now, metered, passed, active });
        }
        let mut round = self.round.take().expect("one is under way");
        for _ in 0..most {
            if let Some(meter) = round.metered.pop() {
                if self.account_meter(meter, out) {
                    self.metered.push(meter);
                }
            } else if let Some(limit) = round.passed.pop() {
                if self.account_limit(limit, out) {
                    self.passed.push(limit);
                }
            } else if let Some(floor) = round.active.pop() {
                self.account_silent(floor, round.began, out);
            } else {
                self.interval = Interval { number: self.interval.number.wrapping_add(1), since: self.now };
                return true;
            }
        }
        self.round = Some(round);
        false
    }

    /// A floor of which this account has reported nothing yet.
    fn account_silent(&mut self, floor: u32, began: Time, out: &mut Vec<ObjectAccount>) {
        let Some(guarantee) = self.guarantees.get(floor) else { return };
        if guarantee.account.since < began && guarantee.node != NONE {
            let object = self.nodes[guarantee.node].id;
            let (floor, asked) = self.account_floor(floor);
            out.push(ObjectAccount { object, floor, asked, ..ObjectAccount::default() });
        }
    }

    /// Reports an object with requests. False if it had none for a whole interval: its meter is
    /// freed.
    fn account_meter(&mut self, meter: u32, out: &mut Vec<ObjectAccount>) -> bool {
        let record = &self.meters[meter];
        let node = record.node;
        if !record.in_use || record.is_idle() {
            if record.in_use {
                self.nodes[node].meter = NONE;
            }
            self.meters.free(meter);
            return false;
        }
        let held = if record.queued > 0 { self.what_holds(node) } else { Cause::Nothing };
        let length = self.now.since(self.meters[meter].since());
        let mut account = self.meters[meter].take(self.now, held);
        self.part_stalls(&mut account, length);
        account.object = self.nodes[node].id;
        (account.floor, account.asked) = self.account_floor(self.nodes[node].floor);
        let limit = self.nodes[node].limit;
        if limit != NONE && self.limits[limit].has_rate() {
            account.passed = Some(self.limits[limit].take_passed());
        }
        out.push(account);
        true
    }

    /// Moves a part of each wait for a ceiling to the server's account: the part of the time in
    /// which the ceiling was open and nobody let its waiters go. Requests are taken to wait for a
    /// ceiling evenly: as many at the end as at the beginning.
    fn part_stalls(&self, account: &mut ObjectAccount, length: Span) {
        let mut stalled = Span::ZERO;
        for (cause, waited) in &mut account.waited {
            let limit = match *cause {
                Cause::Ceiling(object, _) => self.nodes.get(self.objects.get(object.0)).map_or(NONE, |node| node.limit),
                Cause::Shared(group, _) => {
                    self.groups.get(self.group_index.get(group)).map_or(NONE, |group| group.limit)
                }
                _ => NONE,
            };
            let Some(limit) = self.limits.get(limit) else { continue };
            let late = limit.late(&self.interval, self.now, self.settings.tolerance).min(length);
            let part =
                u128::from(waited.as_nanos()) * u128::from(late.as_nanos()) / u128::from(length.as_nanos().max(1));
            // `late` is at most `length`, so the part fits.
            let part = Span::from_nanos(part as u64);
            *waited = waited.saturating_sub(part);
            stalled += part;
        }
        if stalled > Span::ZERO {
            account.waited.push((Cause::Stalled, stalled));
            account.waited.sort_by_key(|(_, span)| std::cmp::Reverse(*span));
            account.held_by = account.waited[0].0;
        }
    }

    /// Reports a limit that something passed lately. False if nothing did for a whole interval.
    fn account_limit(&mut self, limit: u32, out: &mut Vec<ObjectAccount>) -> bool {
        let record = &mut self.limits[limit];
        // A limit whose object has requests of its own was reported with those; a group's is
        // reported with the groups.
        if let Some(Entity::Node(node)) = record.entity()
            && record.has_passed()
        {
            let (object, passed) = (self.nodes[node].id, Some(record.take_passed()));
            let (floor, asked) = self.account_floor(self.nodes[node].floor);
            out.push(ObjectAccount { object, passed, floor, asked, ..ObjectAccount::default() });
        }
        self.limits[limit].is_in_use(self.now)
    }

    /// The state of a floor since the last account, and the time in which its owner asked for
    /// something.
    fn account_floor(&mut self, floor: u32) -> (FloorState, Span) {
        if floor == NONE {
            return (FloorState::NotSet, Span::ZERO);
        }
        let (now, phi, open) = (self.now, self.floors.scale.part(), self.floors.window.is_open());
        let guarantee = &mut self.guarantees[floor];
        guarantee.touch(now);
        let asked = now.since(guarantee.account.since).saturating_sub(guarantee.account.quiet);
        let state = state_of(guarantee, asked.as_secs_f64(), phi, open);
        guarantee.account.restart(now);
        (state, asked)
    }

    /// Reports what each shared group passed since it was last reported: `most` of them, from slot
    /// `from` on. Returns the slot to go on from.
    pub fn account_groups(&mut self, from: u32, most: usize, out: &mut Vec<GroupAccount>) -> Option<u32> {
        let end = self.groups.numbers().end;
        let last = from.saturating_add(u32::try_from(most).unwrap_or(u32::MAX)).min(end);
        for slot in from..last {
            let group = &self.groups[slot];
            if !group.dead {
                let passed = self.limits[group.limit].take_passed();
                out.push(GroupAccount { group: group.id, members: group.members, passed });
            }
        }
        (last < end).then_some(last)
    }

    /// Whether anything has a floor.
    pub fn has_floors(&self) -> bool {
        self.floors.set > 0
    }

    /// The state of the whole.
    pub fn status(&self) -> GateStatus {
        let (iops, bytes) = (self.floors.iops, self.floors.bytes);
        let (best_iops, best_bytes) = (self.pace.best_ops(), self.pace.best_bytes());
        let is_near =
            |sum: u64, best: u64| best > 0 && self.pace.was_pressed() && u128::from(sum) * 10 > u128::from(best) * 8;
        GateStatus {
            queued: u64::from(self.queued),
            in_flight: u64::from(self.in_flight),
            objects: self.nodes.len() as u64 - 1,
            groups: self.groups.len() as u64,
            window_milli: self.has_floors().then(|| self.floors.window.milli()),
            phi_per_mille: per_mille(self.floors.scale.part()),
            best_iops,
            best_bytes: Bytes(best_bytes),
            floors_iops: iops,
            floors_bytes: Bytes(bytes),
            floors_near_best: is_near(iops, best_iops) || is_near(bytes, best_bytes),
        }
    }
}

/// Seconds in which an owner must have asked for its rate to be judged: less is chance.
const ASKED_LEAST: f64 = 0.02;

fn per_mille(part: f64) -> u32 {
    (part * 1000.0).round() as u32
}

/// The state of a floor. Of operations and bytes the one reached first ends the promise, so the
/// kind that is nearer decides. 1 % below is met. A rate that is short goes before a latency that
/// is. `seconds` are those in which the owner asked: a run that begins or ends within the interval
/// is judged by its own time.
fn state_of(guarantee: &mut FloorControl, seconds: f64, phi: f64, open: bool) -> FloorState {
    let median = guarantee.latency.as_mut().and_then(|latency| Some((latency.take_median()?, latency.most)));

    let (wanted, tally) = (guarantee.wanted(), &guarantee.account);
    let kinds = [
        (LimitKind::Iops, wanted.iops.map(|r| r.0), tally.served.ops),
        (LimitKind::Throughput, wanted.bytes.map(|r| r.0), tally.served.bytes),
    ];
    let part = |&(_, wanted, served): &(LimitKind, u64, f64)| served / wanted as f64;
    let nearest = kinds
        .into_iter()
        .filter_map(|(kind, wanted, served)| Some((kind, wanted?, served as f64 / seconds.max(1e-9))))
        .max_by(|a, b| part(a).total_cmp(&part(b)));
    let short = nearest.filter(|nearest| part(nearest) < 0.99);
    let asks = tally.idle.as_secs_f64() < 0.5 * seconds && seconds >= ASKED_LEAST;
    match short {
        Some((kind, wanted, served)) if asks => {
            let why = shortage(guarantee, (kind, wanted), phi, open);
            FloorState::Short { served: served as u64, wanted, kind, why }
        }
        _ => match median {
            Some((median, wanted)) if median > wanted => {
                FloorState::Slow { median, wanted, why: slowness(guarantee, wanted, phi, open) }
            }
            _ => FloorState::Met,
        },
    }
}

/// Why a latency is too long.
fn slowness(guarantee: &FloorControl, wanted: Span, phi: f64, open: bool) -> Shortage {
    let best = guarantee.latency.as_ref().and_then(|latency| latency.best());
    match best {
        _ if guarantee.account.capped => Shortage::CeilingAbove,
        _ if open => Shortage::NotHelped,
        _ if phi < 0.995 => Shortage::Overcommitted { phi_per_mille: per_mille(phi) },
        Some(best) if guarantee.part() < 1.0 => Shortage::TakesAtBest(best.max(wanted)),
        _ => Shortage::Adjusting,
    }
}

fn shortage(guarantee: &FloorControl, wanted: (LimitKind, u64), phi: f64, open: bool) -> Shortage {
    let second = guarantee.gauge.second;
    let depth = second.outstanding / second.time.max(1e-9);
    // In operations, of the size that it asks for.
    let operations = match wanted {
        (LimitKind::Iops, wanted) => wanted as f64,
        (LimitKind::Throughput, wanted) => wanted as f64 * second.ops / second.bytes.max(1e-9),
    };
    // Little's law: rate × time each = requests outstanding, with the best time that was seen, or
    // else the present one.
    let present = second.outstanding / second.ops.max(1e-9);
    let each = if guarantee.best_service.is_finite() { guarantee.best_service } else { present };
    let least = (operations * each).ceil();
    // What its owner already has at most is not enough, as it does not get its floor with that: its
    // requests also take time on their way, which is not seen here.
    let has = guarantee.gauge.peak.round();
    let needs = Shortage::NeedsOutstanding(least.max(has + 1.0) as u64);
    match () {
        () if guarantee.account.capped => Shortage::CeilingAbove,
        () if open => Shortage::NotHelped,
        // Its owner has enough outstanding, and it was let go all the same.
        () if guarantee.is_let_go() && depth >= 0.95 * least => Shortage::NotHelped,
        () if guarantee.part() < 1.0 => needs,
        // While the floors fill the backend by themselves, the time that a request takes is their
        // doing, not the device's.
        () if phi < 0.995 => Shortage::Overcommitted { phi_per_mille: per_mille(phi) },
        () if depth < 0.95 * least => needs,
        () => Shortage::Adjusting,
    }
}
