//! Neighbours that are worse than deep: one that flushes after every write, one that writes 1 MiB,
//! one that only trims. The victim's floor holds, and its 99th percentile is better than without.

use block::ObjectId;
use simtest::{Client, Mix, Scene, Shape, Tree};

use crate::criterion::floor_held;
use crate::devices::{Bench, on_each, second};

const SECONDS: u64 = 12;

/// The victim at depth 32 with a floor of so many percent of the device's steady rate, beside 128
/// threads of this mix.
fn beside(bench: &Bench, neighbour: &str, mix: Mix, percent: u64) {
    let victim = Client::closed(ObjectId(0), 32);
    let clients = vec![victim, Client::closed(ObjectId(1), 128).asking(mix)];
    let floor = bench.steady * percent / 100;
    let edits = Tree::flat(2).floor(0, floor).edits();
    let scene = Scene { device: bench.device.clone(), clients, edits, until: second(SECONDS), seed: 9 };
    let (bare, guarded) = (scene.run_bare(), scene.run());
    let what = format!("{} beside {neighbour}", bench.name);
    let p99 = |recording: &simtest::Recording| recording.tracks[0].percentile(99.0, second(1), second(SECONDS));
    let p50 = |recording: &simtest::Recording| recording.tracks[0].percentile(50.0, second(1), second(SECONDS));
    let rate = |recording: &simtest::Recording| recording.tracks[0].rate(second(1), second(SECONDS));
    println!(
        "{what}: floor {floor}, {:.0} (p50 {}, p99 {}); without {:.0} (p50 {}, p99 {})",
        rate(&guarded),
        p50(&guarded),
        p99(&guarded),
        rate(&bare),
        p50(&bare),
        p99(&bare),
    );
    let starved = bare.tracks[0].per_second(second(SECONDS))[1..].iter().any(|&count| count < floor);
    assert!(starved, "{what}: nobody is starved without a floor, so this shows nothing");
    floor_held(&what, &guarded.tracks[0], floor, 1..SECONDS);
    assert!(guarded.tracks[1].rate(second(1), second(SECONDS)) > 0.0, "{what}: the neighbour starves");
    let (with, without) = (p99(&guarded), p99(&bare));
    assert!(with < without, "{what}: p99 {with} with the floor, {without} without");
}

#[test]
fn one_that_flushes_after_every_write() {
    on_each(|bench| {
        beside(bench, "flushes", Mix::Cycle(vec![Shape::Write(4096), Shape::Flush]), 30);
    });
}

#[test]
fn one_that_writes_a_mebibyte_at_a_time() {
    on_each(|bench| {
        // A quarter: with one such write in the flash drive at a time, depth 32 gets 28 % of it.
        beside(bench, "1 MiB writes", Mix::Any(vec![Shape::Write(1 << 20)]), 25);
    });
}

#[test]
fn one_that_only_trims() {
    on_each(|bench| {
        beside(bench, "trims", Mix::Any(vec![Shape::Trim(1 << 20)]), 30);
    });
}
