//! One floor: when its next request is due, where it waits, and how it stands.
//!
//! A floor has a clock like a ceiling's. It runs 3 % fast and moves on only by requests that the
//! floor itself sent, so a client that gets more by its turns builds up no debt. While the clock is
//! not ahead of now, requests are due: they go before all turns and past the window. Ceilings win:
//! a due floor that finds one closed waits there.
//!
//! A floor by latency (`latency.rs`) is due whenever there is a request; the window decides how
//! much of the others' work is in the device beside it. One that cannot be held has no such right,
//! or an owner with many requests would take the device for itself.

use block::{Span, Time};

use super::constants::{mean, median, promise, size};
use super::corrections::{Correction, Corrections};
use super::end::Served;
use super::floor_tally::FloorTally;
use super::gauge::{Gauge, Sums};
use super::held::Held;
use super::latency::{Latency, MeanEnd};
use crate::clock::Clock;
use crate::edit;

/// Where a floor's entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Nowhere: nothing waits.
    #[default]
    Out,
    /// Among those that are or will be due.
    Listed,
    /// At a closed limit.
    Parked,
}

/// One object's floor.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct FloorControl {
    // What every request looks at comes first.
    pub node: u32,
    pub seq: u32,
    /// Requests accepted before this epoch are not counted here.
    pub since: u32,
    pub outstanding: u32,
    /// The last large change of the window before its measurements, by number.
    pub measured_after: u32,
    pub spot: Spot,
    /// In the list of floors to judge.
    pub active: bool,
    /// It found a ceiling closed lately, and when that was.
    pub capped: bool,
    ops: Clock,
    pub capped_at: Time,
    pub gauge: Gauge,
    pub account: FloorTally,
    bytes: Clock,
    pub latency: Option<Box<Latency>>,
    /// Set on the object itself, and its part of its group's.
    pub own: edit::Floor,
    pub shared: edit::Floor,
    /// The scale at which the clocks run, in millionths.
    ppm: u32,
    /// The last attempt that it took part in.
    pub attempt: u32,
    pub held: Held,
    /// Rounds in a row in which it was not short with the others held back.
    pub met: u32,
    pub corrections: Corrections,
    /// How far its owner is behind its due, in seconds of that.
    pub behind: f64,
    /// The least mean time of its requests in the device, in seconds, while best effort was held
    /// back.
    pub best_service: f64,
}

/// What can be said of a floor in a round.
pub(crate) enum Standing {
    /// It wants nothing, or a ceiling is in its way.
    Content,
    /// Too little has happened to tell.
    Pending,
    /// It got this part of its due.
    Got(f64),
}

impl FloorControl {
    /// No floor yet.
    pub fn new(now: Time, node: u32, since: u32, corrections: Corrections) -> FloorControl {
        FloorControl {
            node,
            corrections,
            own: edit::Floor::default(),
            shared: edit::Floor::default(),
            ops: Clock::default(),
            bytes: Clock::default(),
            latency: None,
            ppm: 0,
            spot: Spot::Out,
            seq: 0,
            since,
            outstanding: 0,
            active: false,
            capped: false,
            capped_at: Time::ZERO,
            measured_after: 0,
            gauge: Gauge::new(now),
            behind: 0.0,
            held: Held::Whole,
            met: u32::MAX,
            attempt: 0,
            best_service: f64::INFINITY,
            account: FloorTally { since: now, ..FloorTally::default() },
        }
    }

    /// All that it promises: for each kind the stricter of the two.
    pub fn wanted(&self) -> edit::Floor {
        edit::Floor {
            iops: self.own.iops.max(self.shared.iops),
            bytes: self.own.bytes.max(self.shared.bytes),
            latency: self.own.latency.into_iter().chain(self.shared.latency).min(),
        }
    }

    /// Whether it promises a rate: it may be a latency alone.
    pub fn has_rate(&self) -> bool {
        self.ops.is_on() || self.bytes.is_on()
    }

    /// When its next request is due. Of operations and bytes, the one reached first ends the
    /// promise; a latency is a promise beside them.
    pub fn due(&self) -> Time {
        let of = |clock: &Clock| if clock.is_on() { clock.opens() } else { Time::ZERO };
        let by_rate = of(&self.ops).max(of(&self.bytes));
        match &self.latency {
            None => by_rate,
            Some(latency) => {
                let by_latency = if self.part() < 1.0 { Time::MAX } else { latency.due() };
                if self.has_rate() { by_rate.min(by_latency) } else { by_latency }
            }
        }
    }

    /// Charges a request that it sent.
    pub fn charge(&mut self, now: Time, bytes: u64) {
        self.ops.charge(now, 1);
        self.bytes.charge(now, bytes.max(promise::EMPTY_BYTES));
        if let Some(latency) = &mut self.latency {
            latency.charge(now);
        }
    }

    /// Counts a request of its owner's that was completed.
    pub fn count(&mut self, served: &Served) {
        self.gauge.count(served.bytes, served.service);
        self.account.served.add(served.bytes);
        if let Some(latency) = &mut self.latency {
            latency.count(served.response);
        }
    }

    /// Brings what is integrated over time up to now.
    pub fn touch(&mut self, now: Time) {
        let idle = self.gauge.touch(now, self.outstanding);
        // While it is judged, it is touched each tick; a longer time passed in its sleep.
        let sleeps = idle.as_secs_f64() >= promise::MEMORY;
        match sleeps {
            true => self.account.quiet += idle,
            false => self.account.pause(idle, self.outstanding),
        }
    }

    /// Sets the clocks' rates for a common scale, if they differ by more than a thousandth; true if
    /// so.
    pub fn retime(&mut self, now: Time, phi: f64, force: bool) -> bool {
        let ppm = (promise::FAST * self.scale(phi)).max(1.0) as u32;
        if !force && ppm.abs_diff(self.ppm) <= self.ppm / 1000 {
            return false;
        }
        if ppm < self.ppm {
            // It is not owed what it could not have: held to less, it must not first take that from
            // others.
            self.ops.set(now, None, promise::LAG);
            self.bytes.set(now, None, promise::LAG);
            self.behind = 0.0;
        }
        self.ppm = ppm;
        let wanted = self.wanted();
        let ops = wanted.iops.map(|r| r.0);
        // At least the time of two operations.
        let lag = ops.map_or(promise::LAG, |r| Span::from_nanos(2_000_000_000 / r.max(1)).max(promise::LAG));
        self.ops.set_scaled(now, ops, ppm, lag);
        self.bytes.set_scaled(now, wanted.bytes.map(|r| r.0), ppm, promise::LAG);
        if self.latency.as_ref().map(|latency| latency.most) != wanted.latency {
            self.latency = wanted.latency.map(|most| Box::new(Latency::new(most)));
        }
        true
    }

    /// What its clock and its judge hold it to, as a part of the floor: a little more than all of
    /// it, so that chance takes no single second below it. Chance is about the square root of the
    /// count.
    fn scale(&self, phi: f64) -> f64 {
        let margin = self.wanted().iops.map_or(0.0, |r| (1.0 / (r.0 as f64).sqrt()).min(promise::CHANCE_MOST));
        let margin = if self.corrections.has(Correction::Chance) { margin } else { 0.0 };
        phi * self.part() * (1.0 + margin)
    }

    /// How long its measurements look back, in seconds: 50 ms, and long enough for 32 operations;
    /// for a latency, those that there were.
    fn memory(&self, phi: f64) -> f64 {
        let rate = match (self.wanted().iops, &self.latency) {
            (Some(rate), _) => rate.0 as f64 * self.scale(phi),
            (None, Some(latency)) => latency.second_count(),
            (None, None) => return promise::MEMORY,
        };
        (promise::MEMORY_OPS / rate.max(1.0))
            .clamp(promise::MEMORY, if self.latency.is_some() { 1.0 } else { f64::INFINITY })
    }

    /// What a latency is held to, as a factor of the rate that its requests would have. Medians of
    /// single seconds spread more, the fewer requests they are of.
    fn latency_scale(&self, latency: &Latency, phi: f64) -> f64 {
        let chance = (1.0 / latency.second_count().max(1.0).sqrt()).min(promise::CHANCE_MOST);
        phi * self.part() * (median::MARGIN + chance)
    }

    /// These sums as a part of its floor, unscaled.
    pub fn part_of_floor(&self, sums: &Sums) -> f64 {
        let wanted = self.wanted();
        let part = |rate: Option<u64>, sum: f64| rate.map_or(0.0, |r| sum / (r as f64 * sums.time.max(1e-9)));
        part(wanted.iops.map(|r| r.0), sums.ops).max(part(wanted.bytes.map(|r| r.0), sums.bytes))
    }

    /// These sums as a part of what it is held to where floors run at `phi` of themselves, without
    /// the margins for chance.
    fn part_of_held(&self, sums: &Sums, phi: f64) -> f64 {
        self.part_of_floor(sums) / (phi * self.part())
    }

    /// How it stands where floors run at `phi` of themselves: of a rate and a latency, the worse.
    pub fn standing(&self, phi: f64) -> Standing {
        if self.capped {
            return Standing::Content;
        }
        match (self.standing_by_rate(phi), self.standing_by_latency(phi)) {
            (Standing::Got(a), Standing::Got(b)) => Standing::Got(a.min(b)),
            (Standing::Got(got), _) | (_, Standing::Got(got)) => Standing::Got(got),
            (Standing::Pending, _) | (_, Standing::Pending) => Standing::Pending,
            _ => Standing::Content,
        }
    }

    fn standing_by_rate(&self, phi: f64) -> Standing {
        let recent = &self.gauge.recent;
        let scale = self.scale(phi);
        if !self.has_rate() || self.asks_at_leisure(phi) {
            return Standing::Content;
        }
        let enough = self.wanted().iops.is_none_or(|r| r.0 as f64 * scale * recent.time >= promise::JUDGED_OPS);
        if !enough || recent.time < promise::JUDGED_TIME {
            return Standing::Pending;
        }
        // A floor that is behind is due more until it has caught up: what a stall took is made up
        // within half a second.
        Standing::Got(self.part_of_floor(recent) / scale / self.urgency())
    }

    fn standing_by_latency(&self, phi: f64) -> Standing {
        let Some(latency) = &self.latency else { return Standing::Content };
        match (self.standing_by_median(latency, phi), latency.mean_part()) {
            (Standing::Got(median), Some(None)) if median >= size::SHORT => Standing::Pending,
            (Standing::Got(median), Some(Some(part))) => {
                Standing::Got(median.min(part / (phi * self.part() * mean::MARGIN)))
            }
            (median, _) => median,
        }
    }

    fn standing_by_median(&self, latency: &Latency, phi: f64) -> Standing {
        if latency.recent_count() >= median::SAMPLES {
            return Standing::Got(latency.recent_part() / self.latency_scale(latency, phi));
        }
        // Few requests in a second are too few to tell, and no reason to move anything.
        if self.gauge.recent.time < median::WAIT { Standing::Pending } else { Standing::Content }
    }

    /// Whether its median is within its latency, and only the mean is waited for.
    pub fn has_its_median(&self, phi: f64) -> bool {
        self.latency.as_ref().is_some_and(
            |latency| matches!(self.standing_by_median(latency, phi), Standing::Got(median) if median >= size::SHORT),
        )
    }

    /// What it got within the last second, as a part of its floor, unscaled.
    pub fn second_part(&self) -> f64 {
        let by_rate = if self.has_rate() { self.part_of_floor(&self.gauge.second) } else { f64::INFINITY };
        by_rate.min(self.latency.as_ref().map_or(f64::INFINITY, |latency| latency.second_part()))
    }

    /// What it got in the last second, as a part of what it is held to, where it wanted that;
    /// infinite if it wanted it for too short a time to tell.
    pub fn got_in_a_second(&self, phi: f64) -> f64 {
        let wanted = &self.gauge.wanted;
        let by_rate = if wanted.time < promise::WANTED || !self.has_rate() {
            f64::INFINITY
        } else {
            self.part_of_held(wanted, phi)
        };
        let by_latency = self.latency.as_ref().map_or(f64::INFINITY, |latency| {
            let mean = latency.mean_part().flatten().unwrap_or(f64::INFINITY);
            latency.second_part().min(mean) / (phi * self.part())
        });
        by_rate.min(by_latency)
    }

    /// The part of itself that it lacked in the last second, if no ceiling was in its way; 0 if it
    /// is not missed. A rate is not missed if its owner asks for less; a latency still may be.
    pub fn missed(&self, phi: f64) -> f64 {
        let gauge = &self.gauge;
        if gauge.second.time <= promise::MISSED_TIME {
            return 0.0;
        }
        let missed = |second: f64, recent: f64| {
            let is_missed = second < promise::MISSED || second < promise::MISSED_NOW && recent < promise::MISSED_NOW;
            if is_missed { 1.0 - second } else { 0.0 }
        };
        let by_latency = self.latency.as_deref().map_or(0.0, |latency| {
            let (second, recent) = (latency.second_part(), latency.recent_part());
            missed(if gauge.second.time < promise::PRESENT { recent } else { second }, recent)
        });
        match self.has_rate() && !self.asks_at_leisure(phi) {
            true => missed(self.part_of_floor(&gauge.second), self.part_of_floor(&gauge.recent)).max(by_latency),
            false => by_latency,
        }
    }

    /// The factor by which the requests of an owner who asks for less than it could might slow
    /// down. The owner is taken to think between an answer and its next request. With d outstanding
    /// at most and r requests a second of time T each, it thinks for d / r - T, and gets its floor
    /// F as long as T stays below d / F - (d / r - T). An owner seldom seen with all its requests
    /// may not think but have nothing to ask, so a little is always tried. The result is the lesser
    /// of what the last moments and the last second say: a larger window shows in the moments
    /// first, and a moment's luck does not show in the second.
    pub fn guess(&self, phi: f64) -> f64 {
        if !self.corrections.has(Correction::Guess) {
            return f64::INFINITY;
        }
        self.guess_from(&self.gauge.recent, phi).min(self.guess_from(&self.gauge.second, phi))
    }

    fn guess_from(&self, sums: &Sums, phi: f64) -> f64 {
        let (got, service) = (self.part_of_held(sums, phi), sums.service);
        if service <= 0.0 || got <= 0.0 {
            return f64::INFINITY;
        }
        // d / T (1 / F - 1 / r), with r = ops / time, T = service / ops and F = r / got.
        let busy = self.gauge.peak * sums.time / service;
        let guess = 1.0 + busy * (got - 1.0);
        let little = self.busy_part() < promise::LEISURE && self.corrections.has(Correction::Little);
        if little { guess.max(promise::GUESS) } else { guess }
    }

    /// The factor by which it is due more until it has caught up.
    pub fn urgency(&self) -> f64 {
        if self.corrections.has(Correction::Urgency) { 1.0 + promise::URGENCY * self.behind } else { 1.0 }
    }

    /// Ends a tick with a window of this size: adds up what was measured. Returns how many seconds
    /// the measurements look back.
    pub fn fold(&mut self, now: Time, phi: f64, window: f64) -> f64 {
        self.touch(now);
        let memory = self.memory(phi);
        let tick = self.gauge.fold(now, memory);
        if let Some(latency) = &mut self.latency {
            latency.fold(tick.time, memory, window);
        }
        let got = self.part_of_held(&tick, phi);
        let wants = self.has_rate() && !self.capped && !self.asks_at_leisure(phi);
        self.gauge.note_wanting(&tick, wants);
        let more = if wants { tick.time * (1.0 - got) } else { -tick.time };
        self.behind = (self.behind + more).clamp(0.0, promise::BEHIND);
        memory
    }

    /// Notes the least time of its requests and the best median, with the others held back.
    pub fn note_best(&mut self) {
        let service = self.gauge.recent.mean_service().unwrap_or(f64::INFINITY);
        self.best_service = self.best_service.min(service);
        if let Some(latency) = &mut self.latency {
            latency.note_best();
        }
    }

    /// Forgets what it had in the last second.
    pub fn forget_second(&mut self) {
        self.gauge.forget_second();
        if let Some(latency) = &mut self.latency {
            latency.forget_mean();
        }
    }

    /// It has what it is held to: from now on its mean decides, if that is too long.
    pub fn look_at_mean(&mut self) {
        if let Some(latency) = self.latency.as_mut().filter(|_| self.corrections.has(Correction::Mean)) {
            latency.look_at_mean();
        }
    }

    /// Holds its mean to less, or gives it up, if the mean is what is short.
    pub fn give_up_mean(&mut self, attempt: u32) -> Option<MeanEnd> {
        if !self.is_short_by_mean() {
            return None;
        }
        let end = self.latency.as_mut()?.give_up_mean()?;
        self.attempt = attempt;
        Some(end)
    }

    /// Whether its mean decides, so that others may be held to less than one request at a time.
    pub fn is_by_mean(&self) -> bool {
        self.mean_part().is_some()
    }

    /// Whether its mean is what is short.
    pub fn is_short_by_mean(&self) -> bool {
        self.mean_part().flatten().is_some_and(|part| part < mean::MARGIN * size::SHORT)
    }

    fn mean_part(&self) -> Option<Option<f64>> {
        self.latency.as_ref()?.mean_part()
    }

    /// The requests it has outstanding on average, as a part of the most.
    pub fn busy_part(&self) -> f64 {
        let recent = &self.gauge.recent;
        recent.outstanding / (recent.time * self.gauge.peak).max(1e-9)
    }

    /// Whether its owner asks at its own pace: it has far fewer requests outstanding than at most,
    /// or asked for nothing of late.
    fn asks_at_leisure(&self, phi: f64) -> bool {
        let part = self.busy_part();
        part < promise::LEISURE
            || self.corrections.has(Correction::Ease)
                && (self.gauge.quiet > 0.0 || part < promise::EASE && self.has_its_due(phi))
    }

    /// Whether it gets what it is held to in a second, and of late as much but for chance: an
    /// excess from before takes a second to fade.
    pub fn has_its_due(&self, phi: f64) -> bool {
        let recent = &self.gauge.recent;
        let least = promise::CONTENT - promise::UNLUCKY * recent.chance();
        self.part_of_held(&self.gauge.second, phi) >= promise::CONTENT && self.part_of_held(recent, phi) >= least
    }

    /// Forgets a ceiling that it found closed longer ago than its measurements look back.
    pub fn forget_ceiling(&mut self, now: Time, memory: f64) {
        self.capped = self.spot == Spot::Parked || self.capped && now.since(self.capped_at).as_secs_f64() < memory;
    }

    /// Whether nothing was outstanding for longer than its measurements look back.
    pub fn is_asleep(&self, memory: f64) -> bool {
        self.outstanding == 0 && self.gauge.quiet > memory
    }
}
