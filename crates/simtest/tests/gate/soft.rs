//! A host whose processor is the limit, as in small virtual machines: throughput flattens
//! gradually, every batch shares its cost, and others take the processor away now and then. What
//! floors cost there is bounded by what they must cost: a shallow owner's requests may take only so
//! long, which bounds how much may be in flight.

use array::{Absence, DeviceSpec, Host, Model};
use block::{ObjectId, Span};
use simtest::{Client, Recording, Scene, Tree};

use crate::devices::second;

const SECONDS: u64 = 10;

/// 85 000 requests a second at most, at N outstanding N / (100 µs + N × 11.765 µs); away 1 % of the
/// time.
fn host(absence: Option<Absence>, queue_limit: Option<u32>) -> DeviceSpec {
    let model = Host { absence, ..Host::default() };
    DeviceSpec { queue_limit, ..DeviceSpec::of(Model::Host(model)) }
}

fn scene(device: DeviceSpec, depths: &[u32], seed: u64) -> Scene {
    let clients = depths.iter().zip(0..).map(|(&depth, n)| Client::closed(ObjectId(n), depth)).collect();
    Scene { device, clients, edits: Vec::new(), until: second(SECONDS), seed }
}

fn total(recording: &Recording) -> f64 {
    recording.total_rate(second(1), second(SECONDS))
}

/// By client, what ended in each second from the second one on in which the device did at least
/// what the floors promise together.
fn counted(recording: &Recording, floors: &[u64]) -> Vec<Vec<u64>> {
    let sum: u64 = floors.iter().sum();
    let counts: Vec<Vec<u64>> = recording.tracks.iter().map(|track| track.per_second(second(SECONDS))).collect();
    let of = |s: usize| counts.iter().map(|counts| counts[s]).collect::<Vec<u64>>();
    (1..SECONDS as usize).map(of).filter(|done| done.iter().sum::<u64>() >= sum).collect()
}

/// Floors hold in every second that counts, and at least nine of ten count.
fn held(what: &str, recording: &Recording, floors: &[u64]) {
    let counted = counted(recording, floors);
    assert!(counted.len() * 10 >= (SECONDS as usize - 1) * 9, "{what}: {counted:?}");
    for (client, &floor) in floors.iter().enumerate() {
        assert!(counted.iter().all(|done| done[client] >= floor * 99 / 100), "{what}: floor {floor}: {counted:?}");
    }
}

/// The demonstration's floors: two victims with hundreds outstanding beside a bully with sixteen
/// times as many, a store that takes 512 at once. Nothing stands in the way of the whole device.
#[test]
fn deep_victims_beside_a_deeper_bully_cost_nothing() {
    // Away for 1 % to 7 % of the time.
    for (seed, ms) in [(1, 2), (2, 2), (3, 20), (4, 20)] {
        let (guarded, without) = deep(seed, ms);
        let with = total(&guarded);
        println!("deep, seed {seed}: {with:.0} of {without:.0}");
        held("deep", &guarded, &[DEEP_FLOOR; 2]);
        assert!(with >= 0.98 * without, "seed {seed}: {with:.0} in all with floors, {without:.0} without");
    }
}

const DEEP_FLOOR: u64 = 19_850;

/// A processor that is away for milliseconds; the recording, and what all do without floors.
fn deep(seed: u64, ms: u64) -> (Recording, f64) {
    let absence = Some(Absence { every: Span::from_millis(250), length: Span::from_millis(ms) });
    let mut scene = scene(host(absence, Some(512)), &[2_000, 2_000, 32_000], seed);
    let without = total(&scene.run_bare());
    scene.edits = Tree::flat(3).floor(0, DEEP_FLOOR).floor(1, DEEP_FLOOR).edits();
    (scene.run(), without)
}

/// Away for 60 ms a time, now and then for 300: an absence at the end of a second cannot be made up
/// within it. Of 107 seconds four are short, the worst has three quarters.
#[test]
fn a_long_absence_is_missed_in_few_seconds() {
    let (mut seconds, mut short) = (0, 0);
    for seed in 1..=12 {
        let (guarded, without) = deep(seed, 60);
        let with = total(&guarded);
        assert!(with >= 0.97 * without, "seed {seed}: {with:.0} in all with floors, {without:.0} without");
        for done in counted(&guarded, &[DEEP_FLOOR; 2]) {
            seconds += 1;
            let least = done[0].min(done[1]);
            short += u32::from(least < DEEP_FLOOR * 99 / 100);
            assert!(least >= DEEP_FLOOR * 3 / 4, "seed {seed}: {done:?}");
        }
    }
    println!("{short} of {seconds} are short");
    assert!(seconds >= 90 && short <= 4, "{short} of {seconds}");
}

/// A victim at depth 4 with a floor of 5000 beside depth 128. Its requests may take 800 µs less the
/// margin of 3 % and 1/sqrt(5000), 766 µs. Those that arrive during a turn wait for its end, half a
/// turn on average, so a turn may take 511 µs, which is a turn of 35: 68 500 a second of the 80 000
/// that 132 would do.
#[test]
fn a_shallow_victim_costs_what_it_must() {
    for seed in 1..=4 {
        let absence = Some(Absence { every: Span::from_millis(200), length: Span::from_millis(1) });
        let mut scene = scene(host(absence, None), &[4, 128], seed);
        let bare = scene.run_bare();
        assert!(bare.tracks[0].rate(second(1), second(SECONDS)) < 3_000.0, "it needs no floor");
        scene.edits = Tree::flat(2).floor(0, 5_000).edits();
        let guarded = scene.run();
        println!(
            "shallow, seed {seed}: {:.0} of {:.0}; {:?}",
            total(&guarded),
            total(&bare),
            guarded.tracks[0].per_second(second(SECONDS))
        );
        held("shallow", &guarded, &[5_000]);
        assert!(total(&guarded) >= 0.93 * 68_500.0, "seed {seed}: {:.0} in all", total(&guarded));
    }
}
