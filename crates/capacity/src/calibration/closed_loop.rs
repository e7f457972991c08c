//! Plays the load of a recorded point on a model, as a closed loop in virtual time.

use super::point::CalibrationPoint;
use array::{DeviceSpec, Model};
use block::{Buf, ObjectId, Op, OpKind, Request, Submitted, Target, Time, Wakeup};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The result of a point's load on a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Played {
    /// Requests a second.
    pub rate: f64,
    /// Mean response times of reads and of writes in seconds; 0 without requests.
    pub responses: [f64; 2],
}

/// The same seed for every model, so that only the models differ.
const SEED: u64 = 1;
/// Range of random offsets in bytes.
const SPREAD: u64 = 1 << 37;

/// The loop in progress.
struct Loop<'p> {
    point: &'p CalibrationPoint,
    device: Box<dyn Target>,
    chance: Xoshiro256PlusPlus,
    /// The next sequential offset of each lane.
    next: Vec<u64>,
}

impl Loop<'_> {
    fn ask(&mut self, now: Time, lane: usize) {
        let of = self.point.lanes[lane];
        let reads = of.write_len == 0 || of.read_len > 0 && self.chance.next_u64() % 100 < of.read_percent.into();
        let len = if reads { of.read_len } else { of.write_len };
        let at = match of.sequential {
            true => {
                let at = self.next[lane];
                self.next[lane] = (at + len) % SPREAD;
                at
            }
            false => self.chance.next_u64() % (SPREAD / len) * len,
        };
        let op = if reads { Op::Read } else { Op::Write(Buf::nothing(len as u32)) };
        let request = Request { tag: lane as u64, object: ObjectId(0), at, len, op, fua: false, due: now };
        let Submitted::Taken(_) = self.device.submit(now, request) else { panic!("the device has no queue limit") };
    }
}

/// Plays a point's load on a model: first `ends` requests to fill it, then as many that are
/// measured. The measurement begins and ends at instants of completions, so that a model that
/// completes requests in batches is not cut within one.
///
/// # Panics
/// If the model fails its own check.
pub(super) fn play(model: &Model, point: &CalibrationPoint, ends: u32) -> Played {
    let device = DeviceSpec::of(model.clone()).build(SEED).expect("a model within its bounds");
    let next = (0..point.lanes.len() as u64).map(|lane| lane * (SPREAD / 8)).collect();
    let chance = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut all = Loop { point, device, chance, next };
    for lane in 0..point.lanes.len() {
        (0..point.lanes[lane].depth).for_each(|_| all.ask(Time::ZERO, lane));
    }
    let (warm, mut ended) = (ends / 4 + 2 * point.depth(), Vec::new());
    let (mut now, mut seen, mut from) = (Time::ZERO, 0, None);
    let (mut counted, mut times) = (0, [(0.0, 0u32); 2]);
    while counted < ends {
        now = match all.device.next_wakeup() {
            Wakeup::At(at) => at,
            _ => now,
        };
        all.device.poll(now, &mut ended);
        for completion in ended.drain(..) {
            seen += 1;
            if from.is_some() {
                counted += 1;
                let side = &mut times[usize::from(completion.kind != OpKind::Read)];
                *side = (side.0 + completion.service.as_secs_f64(), side.1 + 1);
            }
            all.ask(now, completion.tag as usize);
        }
        if from.is_none() && seen >= warm {
            from = Some(now);
        }
    }
    let passed = now.since(from.unwrap_or_default()).as_secs_f64().max(1e-9);
    let responses = times.map(|(sum, count)| if count == 0 { 0.0 } else { sum / f64::from(count) });
    Played { rate: f64::from(counted) / passed, responses }
}

#[cfg(test)]
mod tests {
    use super::super::point::CalibrationLane;
    use super::*;
    use array::{Host, ParallelServers};
    use block::Span;

    fn reads(depth: u32) -> CalibrationPoint {
        let lane = CalibrationLane { read_percent: 100, sequential: false, read_len: 4096, write_len: 0, depth };
        CalibrationPoint { lanes: vec![lane], rate: 0.0, rates: [0.0; 2], responses: None, recordings: 1 }
    }

    /// 8 servers of 100 µs: depth 3 does 30 000 a second, depth 16 does 80 000.
    #[test]
    fn parallel_servers_do_what_they_do_by_hand() {
        let model = Model::ParallelServers(ParallelServers::default());
        for (depth, rate) in [(3, 30_000.0), (16, 80_000.0)] {
            let fared = play(&model, &reads(depth), 1000);
            assert!((fared.rate / rate - 1.0).abs() < 1e-6, "{depth}: {fared:?}");
        }
    }

    /// A batch of 100 µs and 10 µs for each request: depth 40 is 40 requests in 500 µs plus the
    /// nanosecond to wake up, however few completions are measured.
    #[test]
    fn a_host_is_not_cut_within_a_turn() {
        let host =
            Host { turn: Span::from_micros(100), request: Span::from_micros(10), absence: None, ..Host::default() };
        let fared = play(&Model::Host(host), &reads(40), 70);
        assert!((fared.rate / 80_000.0 - 1.0).abs() < 1e-4, "{fared:?}");
    }
}
