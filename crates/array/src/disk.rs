//! One arm over one spinning platter.
//!
//! ```text
//!   time = seek(distance) + wait until the sector comes round + transfer        (write through: writes cost as reads)
//!
//!   seek(d) = 0 on the same track, else shortest + (longest - shortest) × (√x + x) / 2,   x = d / tracks
//! ```
//! Short seeks grow with the square root of the distance, because the arm accelerates all the way,
//! and long ones linearly (Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE
//! Computer 27(3), 1994). The platter never stops, so the rotational wait follows from the instant
//! at which the arm arrives. A request that begins where the last one ended costs its transfer
//! alone: the track buffer read ahead, or the write was joined to the last.
//!
//! Tracks further in are shorter and hold less, while the platter turns as fast. With `track_inner`
//! the platter has sixteen zones of equally many tracks. The tracks of a zone hold the same, from
//! `track` at the outside, where addresses begin, to `track_inner` (zoned recording, the same
//! paper).

use std::collections::VecDeque;

use block::{Bytes, OpKind, Span, Time};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::simulated::{Job, Medium, or_never, withdraw};

/// A spinning disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The time to the next track.
    pub seek_shortest: Span,
    /// The time across the whole platter.
    pub seek_longest: Span,
    /// One turn of the platter: 8 333 333 ns at 7200/min.
    pub rotation: Span,
    /// Bytes on a track; one turn transfers them.
    pub track: Bytes,
    /// Bytes on the innermost track, at most `track`, which is the outermost then; `None` for
    /// tracks that are all alike.
    pub track_inner: Option<Bytes>,
    /// How many waiting requests, oldest first, the disk chooses from: it takes the one it can
    /// begin to transfer soonest. 1 serves in the order of arrival.
    pub window: u32,
    /// How many times in a row the oldest waiting request is passed over at most, so that none
    /// starves.
    pub patience: u32,
    /// A flush's time; the arm stays where it is.
    pub flush: Span,
    /// A trim's or zeroing's time, whatever its length; a status request's too.
    pub trim: Span,
}

/// The disk at work.
#[derive(Debug)]
pub(crate) struct Arm {
    spec: Disk,
    tracks: u64,
    /// From the outside in; one where all tracks are alike.
    zones: Vec<Zone>,
    /// Where the platter stood at the epoch, as time within a turn.
    phase: Span,
    /// The byte after the last one transferred: where the arm is.
    head: u64,
    waiting: VecDeque<Job>,
    /// How often the oldest was passed over.
    passed_over: u32,
    serving: Option<(Time, u32)>,
    percent: u32,
}

/// Tracks that hold the same.
#[derive(Clone, Copy, Debug)]
struct Zone {
    /// Its first byte, and its first track.
    byte: u64,
    number: u64,
    /// Bytes on each of its tracks.
    track: u64,
}

/// Zones of a platter whose tracks are not all alike.
const ZONES: u64 = 16;

/// The zones of so many bytes, and their tracks together.
fn zones(spec: &Disk, size: u64) -> (Vec<Zone>, u64) {
    let outer = spec.track.0;
    let Some(Bytes(inner)) = spec.track_inner.filter(|inner| inner.0 < outer) else {
        return (vec![Zone { byte: 0, number: 0, track: outer }], size.div_ceil(outer).max(1));
    };
    let length = |zone: u64| outer - (outer - inner) * zone / (ZONES - 1);
    let all: u64 = (0..ZONES).map(length).sum();
    let each = size.div_ceil(all).max(1);
    let mut byte = 0;
    let zone = |number: u64| {
        let zone = Zone { byte, number: number * each, track: length(number) };
        byte += each * zone.track;
        zone
    };
    ((0..ZONES).map(zone).collect(), each * ZONES)
}

impl Arm {
    pub(crate) fn new(spec: Disk, size: Bytes, seed: u64) -> Arm {
        let turn = spec.rotation.as_nanos();
        let phase = Span::from_nanos(Xoshiro256PlusPlus::seed_from_u64(seed).next_u64() % turn);
        let (zones, tracks) = zones(&spec, size.0);
        Arm {
            spec,
            tracks,
            zones,
            phase,
            head: 0,
            waiting: VecDeque::new(),
            passed_over: 0,
            serving: None,
            percent: 100,
        }
    }

    /// Begins the next request if the arm is free.
    fn begin(&mut self, now: Time) {
        if self.serving.is_some() || self.percent == 0 {
            return;
        }
        let Some(place) = self.choose(now) else { return };
        self.passed_over = if place == 0 { 0 } else { self.passed_over + 1 };
        let Some(job) = self.waiting.remove(place) else { return };
        let takes = match job.kind {
            OpKind::Read | OpKind::Write | OpKind::Cache => {
                self.reach(now, &job) + self.transfer(job.len, self.zone(job.at))
            }
            OpKind::Flush => self.spec.flush,
            OpKind::Trim | OpKind::Zero | OpKind::Status => self.spec.trim,
        };
        if matches!(job.kind, OpKind::Read | OpKind::Write | OpKind::Cache) {
            self.head = job.at + job.len;
        }
        let slowed = takes.as_nanos().saturating_mul(100).div_ceil(u64::from(self.percent));
        self.serving = Some((now + Span::from_nanos(slowed), job.slot));
    }

    /// The place in the queue of the request to serve next.
    fn choose(&self, now: Time) -> Option<usize> {
        let window = if self.passed_over < self.spec.patience { self.spec.window as usize } else { 1 };
        let reachable = self.waiting.iter().take(window).enumerate();
        reachable.min_by_key(|(place, job)| (self.reach(now, job), *place)).map(|(place, _)| place)
    }

    /// The time until the first byte of a read or write is under the head; none for what moves no
    /// data.
    fn reach(&self, now: Time, job: &Job) -> Span {
        if !matches!(job.kind, OpKind::Read | OpKind::Write | OpKind::Cache) || job.at == self.head {
            return Span::ZERO;
        }
        let distance = self.track(job.at).abs_diff(self.track(self.head));
        let seek = self.seek(distance);
        seek + self.rotational_wait(now + seek, job.at)
    }

    /// The time of the arm over `distance` tracks.
    fn seek(&self, distance: u64) -> Span {
        if distance == 0 {
            return Span::ZERO;
        }
        // x = distance / tracks in units of 2^-32, and its root likewise: √(x × 2^64) = √x × 2^32.
        let x = (u128::from(distance) << 32) / u128::from(self.tracks);
        let root = (x << 32).isqrt();
        let reach = u128::from(self.spec.seek_longest.saturating_sub(self.spec.seek_shortest).as_nanos());
        self.spec.seek_shortest + Span::from_nanos(((reach * (root + x)) >> 33) as u64)
    }

    /// The time from `now` until byte `at` comes under the head.
    fn rotational_wait(&self, now: Time, at: u64) -> Span {
        let turn = self.spec.rotation.as_nanos();
        let stands = (now.as_nanos() + self.phase.as_nanos()) % turn;
        let zone = self.zone(at);
        let wanted = self.transfer((at - zone.byte) % zone.track, zone).as_nanos() % turn;
        Span::from_nanos((wanted + turn - stands) % turn)
    }

    /// The zone that a byte lies in.
    fn zone(&self, at: u64) -> &Zone {
        self.zones.iter().rfind(|zone| zone.byte <= at).unwrap_or(&self.zones[0])
    }

    /// The number of the track that a byte lies on, from the outside.
    fn track(&self, at: u64) -> u64 {
        let zone = self.zone(at);
        zone.number + (at - zone.byte) / zone.track
    }

    /// The time to transfer so many bytes that begin in a zone.
    fn transfer(&self, len: u64, zone: &Zone) -> Span {
        let ns = u128::from(len) * u128::from(self.spec.rotation.as_nanos()) / u128::from(zone.track);
        Span::from_nanos(ns as u64)
    }
}

impl Medium for Arm {
    fn arrive(&mut self, now: Time, job: Job) {
        self.waiting.push_back(job);
        self.begin(now);
    }

    fn next_event(&self) -> Time {
        or_never(self.serving.map(|(end, _)| end))
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        if let Some((_, slot)) = self.serving.take_if(|(end, _)| *end <= now) {
            ended.push(slot);
            self.begin(now);
        }
    }

    fn withdraw(&mut self, _now: Time, slot: u32) -> bool {
        if self.waiting.front().is_some_and(|job| job.slot == slot) {
            self.passed_over = 0;
        }
        withdraw(&mut self.waiting, slot)
    }

    /// Everything takes 100/percent times as long from the next request on.
    fn scale(&mut self, now: Time, percent: u32) {
        self.percent = percent;
        self.begin(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DeviceSpec, Model};

    fn arm() -> Arm {
        let DeviceSpec { model: Model::Disk(spec), size, .. } = DeviceSpec::named("disk").expect("known") else {
            panic!("the name says disk")
        };
        Arm::new(spec, size, 1)
    }

    #[test]
    fn seeks_grow_with_distance_from_the_shortest_to_the_longest() {
        let arm = arm();
        let seeks: Vec<Span> = (0..=1000).map(|k| arm.seek(k * arm.tracks / 1000)).collect();
        assert_eq!(seeks[0], Span::ZERO);
        assert!(seeks.windows(2).all(|pair| pair[0] <= pair[1]), "not monotone");
        assert!(arm.seek(1) >= arm.spec.seek_shortest);
        assert_eq!(arm.seek(arm.tracks), arm.spec.seek_longest);
        // A quarter of the way: (√0.25 + 0.25) / 2 = 0.375 of the range, within the rounding of
        // 2^-32 and of tracks / 4.
        let range = arm.spec.seek_longest.saturating_sub(arm.spec.seek_shortest).as_nanos();
        let quarter = arm.seek(arm.tracks / 4).saturating_sub(arm.spec.seek_shortest).as_nanos();
        assert!(quarter.abs_diff(range * 375 / 1000) <= range / 10_000, "{quarter} of {range}");
    }

    #[test]
    fn the_platter_turns_while_the_arm_moves() {
        let arm = arm();
        let turn = arm.spec.rotation;
        for ns in [0, 1, 999_999, 123_456_789_012] {
            let now = Time::from_nanos(ns);
            let wait = arm.rotational_wait(now, 12_345 * 512);
            assert!(wait < turn);
            assert_eq!(arm.rotational_wait(now + wait, 12_345 * 512), Span::ZERO, "at {ns}");
            assert_eq!(arm.rotational_wait(now + turn, 12_345 * 512), wait, "a turn after {ns}");
        }
    }
}
