//! The harness itself, on devices without a gate: if it measured wrongly, every verdict on the gate
//! would be wrong too.

use array::DeviceSpec;
use block::{ObjectId, Span, Time};
use simtest::{Client, Load, Mix, Scene, Shape};

fn second(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

fn scene(clients: Vec<Client>) -> Scene {
    let device = DeviceSpec::named("parallel-servers").unwrap();
    Scene { device, clients, edits: Vec::new(), until: second(3), seed: 1 }
}

#[test]
fn closed_loops_share_parallel_servers_by_their_depth() {
    // 80 000 a second, first come first served: 4 and 60 of 64 outstanding.
    let recording = scene(vec![Client::closed(ObjectId(0), 4), Client::closed(ObjectId(1), 60)]).run_bare();
    assert_eq!(recording.tracks[0].per_second(recording.until)[1], 5_000);
    assert_eq!(recording.tracks[1].per_second(recording.until)[1], 75_000);
    // 64 outstanding / 80 000 a second = 800 µs for each.
    assert_eq!(recording.tracks[0].percentile(50.0, second(1), second(2)), Span::from_micros(800));
    assert_eq!(recording.dispatches.len(), 64 + 3 * 80_000 - 8, "the last ends fall on the end of the run");
}

#[test]
fn an_open_loop_keeps_its_schedule_and_counts_from_when_it_was_due() {
    let mut client = Client::open(ObjectId(0), 0);
    client.load = Load::Open { steps: vec![(Time::ZERO, 3_000), (second(1), 0), (second(2), 100_000)] };
    let recording = scene(vec![client]).run_bare();
    let counts = recording.tracks[0].per_second(recording.until);
    // All of the first second's arrivals end in it (the last is due at 0.99967 s and takes 0.1 ms);
    // the third asks for more than the device can do and gets what it can, but for the first
    // 0.1 ms.
    assert_eq!(counts, [3_000, 0, 80_000 - 8]);
    // A second behind at 100 000 offered and 80 000 served: a fifth of a second late at the end.
    let last = recording.tracks[0].ends.last().unwrap();
    assert!(last.response > Span::from_millis(199) && last.response <= Span::from_millis(201), "{last:?}");
}

#[test]
fn threads_go_through_their_cycle_and_think_in_between() {
    let mix = Mix::Cycle(vec![Shape::Write(4096), Shape::Flush]);
    let mut client = Client::closed(ObjectId(0), 0).asking(mix).between(second(1), second(2));
    let thought = Span::from_micros(900);
    client.load = Load::Thinking { depth: 2, least: thought, most: thought };
    let recording = scene(vec![client]).run_bare();
    // 100 µs each and 900 µs of thought: two threads, 1000 a second each, half of them flushes, in
    // one second.
    assert_eq!(recording.tracks[0].per_second(recording.until), [0, 2_000, 0]);
    let flushes = recording.dispatches.iter().filter(|d| d.kind == block::OpKind::Flush).count();
    assert_eq!((recording.dispatches.len(), flushes), (2_000, 1_000));
}

#[test]
fn a_full_device_makes_clients_wait_their_turn_and_loses_nothing() {
    let mut full = scene(vec![Client::closed(ObjectId(0), 32), Client::closed(ObjectId(1), 32)]);
    full.device.queue_limit = Some(8);
    let recording = full.run_bare();
    let counts: Vec<u64> = recording.tracks.iter().map(|track| track.per_second(full.until)[1]).collect();
    assert_eq!(counts, [40_000, 40_000]);
}
