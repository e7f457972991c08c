//! Burst credit: saved below a ceiling, spent above it, to the operation.

use block::{ObjectId, Span, Time};
use qos::{Burst, Limits};
use simtest::{Client, Mix, Scene, Shape, Tree, Windows, ceiling, throughput};

use crate::criterion::{Limit, never_above, reached};
use crate::devices::{Bench, on_each, second};

/// Half above the ceiling for five seconds: a credit of 2.5 s of the ceiling.
fn half_for_five(mut limits: Limits) -> Limits {
    limits.ceiling.burst = Some(Burst::percent(50, Span::from_secs(5)));
    limits
}

fn scene(bench: &Bench, client: Client, limits: Limits, seconds: u64) -> Scene {
    let edits = Tree::flat(1).limits(0, limits).edits();
    Scene { device: bench.device.clone(), clients: vec![client], edits, until: second(seconds), seed: 3 }
}

/// How long the burst lasted, in seconds: what passed in `seconds` beyond the base, at half the
/// base per second.
fn burst_length(passed: u64, base: u64, seconds: u64) -> f64 {
    (passed as f64 - (base * seconds) as f64) / (base as f64 / 2.0)
}

#[test]
fn a_new_ceiling_has_no_credit_to_begin_with() {
    // Else setting it again and again would be a burst for ever.
    on_each(|bench| {
        let base = bench.steady * 30 / 100;
        let seen = scene(bench, Client::closed(ObjectId(0), 64), half_for_five(ceiling(base)), 4).run();
        let seen = seen.of(&[ObjectId(0)]);
        never_above(bench.name, &seen, Limit::Iops(base), Time::ZERO..second(4));
        reached(bench.name, &seen, Limit::Iops(base), Time::ZERO..second(4));
    });
}

#[test]
fn a_full_credit_lasts_exactly_as_long_as_it_says() {
    on_each(|bench| {
        let base = bench.steady * 30 / 100;
        // 2.5 s of silence would fill it; 4 s are no more than full.
        let client = Client::closed(ObjectId(0), 64).between(second(4), Time::MAX);
        let seen = scene(bench, client, half_for_five(ceiling(base)), 14).run();
        let seen = seen.of(&[ObjectId(0)]);
        let passed = Windows::whole(&seen, second(4), second(14)).operations;
        let length = burst_length(passed, base, 10);
        // One operation of so few is more than 1 % on the disk: 42 a second, 105 of credit.
        let slack = 0.05 + 2.0 / (base as f64 / 2.0);
        assert!((length - 5.0).abs() <= slack, "{}: {length:.3} s, {passed} passed", bench.name);
        never_above(bench.name, &seen, Limit::Iops(base * 3 / 2), second(4)..second(9));
        reached(bench.name, &seen, Limit::Iops(base * 3 / 2), second(4)..second(8));
        never_above(bench.name, &seen, Limit::Iops(base), Time::ZERO + Span::from_millis(9_100)..second(14));
        reached(bench.name, &seen, Limit::Iops(base), second(10)..second(14));
    });
}

#[test]
fn credit_is_saved_below_the_ceiling_and_spent_once() {
    on_each(|bench| {
        let base = bench.steady * 20 / 100;
        // Full speed for 8 s empties the credit; 2 s of silence save 2 s of the base, which last
        // 4 s at half above it.
        let mut client = Client::closed(ObjectId(0), 64).between(Time::ZERO, second(8));
        let again = Client::closed(ObjectId(0), 64).between(second(10), second(18));
        client.mix = Mix::Any(vec![Shape::Read(4096)]);
        let mut scene = scene(bench, client, half_for_five(ceiling(base)), 18);
        scene.clients.push(again);
        let seen = scene.run().of(&[ObjectId(0)]);
        let passed = Windows::whole(&seen, second(10), second(18)).operations;
        let length = burst_length(passed, base, 8);
        // What was queued when the first client stopped still drained after it: 64 operations of
        // the saved credit.
        let drained = 64.0 / (base as f64 / 2.0);
        let slack = 0.04 + 2.0 / (base as f64 / 2.0);
        let within = (4.0 - drained - slack..=4.0 + slack).contains(&length);
        assert!(within, "{}: {length:.3} s, {passed} passed", bench.name);
    });
}

#[test]
fn bytes_burst_like_operations() {
    on_each(|bench| {
        let base = bench.steady * 20 / 100 * 4096;
        let client = Client::closed(ObjectId(0), 64).between(second(4), Time::MAX);
        let seen = scene(bench, client, half_for_five(throughput(base)), 14).run();
        let passed = Windows::whole(&seen.of(&[ObjectId(0)]), second(4), second(14)).bytes;
        let length = burst_length(passed, base, 10);
        let slack = 0.05 + 2.0 * 4096.0 / (base as f64 / 2.0);
        assert!((length - 5.0).abs() <= slack, "{}: {length:.3} s", bench.name);
    });
}
