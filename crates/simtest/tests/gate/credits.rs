//! The peak of an adaptive policy on credit: saved below the expected rate, spent above it, and
//! over when it is spent.

use block::{Bytes, Iops, ObjectId, Span, Time};
use qos::{
    AdaptivePolicy, Allocation, BlockSize, BurstKnobs, Density, Edit, NewGroup, PeakMode, Policy, Registry,
    RegistrySettings, Size,
};
use simtest::{Client, Scene, Windows};

use crate::criterion::{Limit, never_above, reached};
use crate::devices::{on_each, second};

/// A volume of 1 TB that may expect `base` and may peak at twice that, on a credit of 5 s at the
/// peak, which is 5 s of the base. The settings take the way of every policy: registry, edits,
/// gate.
fn volume(base: u64) -> (ObjectId, Vec<(Time, Edit)>) {
    let mut registry = Registry::new(RegistrySettings { peak: PeakMode::Credits, ..RegistrySettings::default() });
    let policy = AdaptivePolicy {
        peak_allocation: Allocation::Allocated,
        absolute_min: Some(Iops(1)),
        block_size: BlockSize::Any,
        burst: BurstKnobs { duration: Some(Span::from_secs(5)), ..BurstKnobs::default() },
        ..AdaptivePolicy::new(Density::per_tb(base), Density::per_tb(2 * base))
    };
    let (svm, made) = registry.add_svm("s").unwrap();
    let size = Size { allocated: Bytes(1_000_000_000_000), used: Bytes(0) };
    let (volume, added) = registry.add_volume(svm, "v", size).unwrap();
    let group = NewGroup { name: "a", svm, uuid: 1, policy: Policy::Adaptive(policy) };
    let created = registry.create_group(group).unwrap();
    let attached = registry.attach(volume, Some("a")).unwrap();
    let changes = [made, added, created, attached];
    (volume, changes.into_iter().flat_map(|change| change.edits).map(|edit| (Time::ZERO, edit)).collect())
}

#[test]
fn the_peak_is_reached_on_credit_alone() {
    on_each(|bench| {
        let base = bench.steady * 20 / 100;
        let (volume, edits) = volume(base);
        // 4 s at full speed; then silence, of which what is left in the queue takes 2.3 s at most
        // (64 requests at 28/s on the disk) and 5 s fill the credit; then 10 s at full speed.
        let clients = vec![
            Client::closed(volume, 64).between(Time::ZERO, second(4)),
            Client::closed(volume, 64).between(second(14), Time::MAX),
        ];
        let scene = Scene { device: bench.device.clone(), clients, edits, until: second(24), seed: 5 };
        let seen = scene.run().of(&[volume]);
        // Nothing was saved yet: the expected rate is the ceiling.
        never_above(bench.name, &seen, Limit::Iops(base), Time::ZERO..second(4));
        reached(bench.name, &seen, Limit::Iops(base), Time::ZERO..second(4));
        // Twice the base for 5 s, and the base from then on.
        never_above(bench.name, &seen, Limit::Iops(2 * base), second(14)..second(19));
        reached(bench.name, &seen, Limit::Iops(2 * base), second(14)..second(18));
        never_above(bench.name, &seen, Limit::Iops(base), Time::ZERO + Span::from_millis(19_100)..second(24));
        reached(bench.name, &seen, Limit::Iops(base), second(20)..second(24));
        let passed = Windows::whole(&seen, second(14), second(24)).operations;
        let length = (passed as f64 - (base * 10) as f64) / base as f64;
        let slack = 0.05 + 2.0 / base as f64;
        assert!((length - 5.0).abs() <= slack, "{}: {length:.3} s, {passed} passed", bench.name);
        println!("{}: expected {base}, peak {} for {length:.3} s", bench.name, 2 * base);
    });
}
