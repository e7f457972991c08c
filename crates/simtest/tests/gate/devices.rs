//! The devices that every criterion is tried on, small enough for seconds of wall time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::trials;
use array::{Change, DeviceSpec, Model, ParallelServers};
use block::{Bytes, ObjectId, Span, Time};
use qos::CreditLimit;
use simtest::{Client, Scene};

/// A device and the least that it does in any second: half reads and half writes of 4 KiB, 32 or
/// more outstanding.
pub struct Bench {
    pub name: &'static str,
    pub device: DeviceSpec,
    pub steady: u64,
}

pub fn second(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

/// One of each model, and one whose capacity halves and returns.
pub fn all() -> Vec<Bench> {
    vec![parallel(), disk(), flash(), cloud(), halving()]
}

/// Tries a criterion on every device, each to its end, and fails with the names of those that break
/// it.
pub fn on_each(criterion: impl Fn(&Bench)) {
    let fails = |bench: &Bench| catch_unwind(AssertUnwindSafe(|| criterion(bench))).is_err();
    let failed: Vec<&str> = all().iter().filter(|bench| fails(bench)).map(|bench| bench.name).collect();
    assert!(failed.is_empty(), "does not hold on {}", failed.join(", "));
}

/// 8 servers of 400 µs × (1 + 4/128): 19 394 a second for 4 KiB, 2222 for 1 MiB.
fn parallel() -> Bench {
    let model = ParallelServers {
        servers: 8,
        service: Span::from_micros(400),
        size_unit: Some(Bytes::kib(128)),
        flush: Span::from_micros(400),
        trim: Span::from_micros(800),
    };
    Bench { name: "parallel servers", device: DeviceSpec::of(Model::ParallelServers(model)), steady: 19_000 }
}

fn disk() -> Bench {
    Bench { name: "disk", device: trials::disk(), steady: 140 }
}

fn flash() -> Bench {
    Bench { name: "flash", device: trials::flash(), steady: 51_000 }
}

/// 3000 a second for ever, 6000 for the first two.
fn cloud() -> Bench {
    let DeviceSpec { model: Model::CloudVolume(mut model), .. } = DeviceSpec::named("cloud-volume").unwrap() else {
        unreachable!()
    };
    model.operations = CreditLimit { base: 3_000, peak: 6_000, credit: 6_000 };
    Bench { name: "cloud volume", device: DeviceSpec::of(Model::CloudVolume(model)), steady: 2_990 }
}

/// The parallel servers, of which half are away from second 4 to second 8.
fn halving() -> Bench {
    let mut device = parallel().device;
    device.changes = vec![Change { at: second(4), percent: 50 }, Change { at: second(8), percent: 100 }];
    Bench { name: "halving servers", device, steady: 9_600 }
}

#[test]
fn every_device_does_at_least_what_the_criteria_count_on() {
    for Bench { name, device, steady } in all() {
        for depth in [32, 160] {
            let clients = vec![Client::closed(ObjectId(0), depth)];
            let scene = Scene { device: device.clone(), clients, edits: Vec::new(), until: second(12), seed: 7 };
            let least = scene.run_bare().tracks[0].per_second(second(12))[1..].iter().min().copied().unwrap();
            assert!(least >= steady, "{name} at depth {depth}: {least} in a second");
            assert!(least <= steady * 21 / 20, "{name} at depth {depth}: {least}, the criteria use far less of it");
        }
    }
}
