//! Floors that are set while everything runs, as in the demonstration. The neighbour's ceiling
//! goes, its whole backlog enters the device at once, and the floors follow, command by command.
//! From the second second on they hold.

use array::{Absence, DeviceSpec, Host, Model};
use block::{ObjectId, Span, Time};
use qos::Edit;
use simtest::{Client, Load, Scene, Tree, ceiling, floor};

use crate::devices::second;

/// The plan's figures times four: a host of 85 000 a second for the published 21 000.
const FACTOR: u64 = 4;
const FLOOR: u64 = 5_000 * FACTOR;
/// The length of the last phase in seconds.
const SECONDS: u64 = 8;

/// The last phase but one, and the last from [`begin`] on. Clients take their time between an
/// answer and the next request: they share a processor with the server.
fn scene(gap: Span, seed: u64) -> Scene {
    let absence = Some(Absence { every: Span::from_millis(250), length: Span::from_millis(20) });
    let device =
        DeviceSpec { queue_limit: Some(512), ..DeviceSpec::of(Model::Host(Host { absence, ..Host::default() })) };
    let client = |number, connections| {
        let depth = 256 * FACTOR as u32 * connections;
        let load = Load::Thinking { depth, least: Span::from_millis(5), most: Span::from_millis(80) };
        Client { load, ..Client::closed(ObjectId(number), depth) }
    };
    let join = |number| Edit::Join { object: ObjectId(number), group: None };
    let protect = |number| Edit::SetLimits { object: ObjectId(number), limits: floor(FLOOR) };
    let edits = Tree::flat(3)
        .group(7, ceiling(3_000 * FACTOR), [0, 1])
        .at(second(2), join(0))
        .at(second(2) + gap * 2, join(1))
        .at(second(2) + gap * 2, protect(1))
        .at(begin(gap), protect(2))
        .edits();
    let clients = vec![client(0, 32), client(1, 2), client(2, 2)];
    Scene { device, clients, edits, until: begin(gap) + Span::from_secs(SECONDS), seed }
}

/// When the last floor is set.
fn begin(gap: Span) -> Time {
    second(2) + gap * 3
}

/// A processor that is away for 20 ms four times a second leaves both floors overdue again and
/// again. Where one of them had nothing to send then, the other was lost: it got 11 800 of 20 000.
#[test]
fn floors_set_beside_a_deep_backlog_hold_from_the_second_second_on() {
    for (gap, seeds) in [(0, [2, 5]), (5, [4, 5])] {
        let gap = Span::from_millis(gap);
        for seed in seeds {
            let recording = scene(gap, seed).run();
            let second = |k: u64| {
                let from = begin(gap) + Span::from_secs(k);
                recording.tracks.iter().map(|t| t.rate(from, from + Span::SECOND) as u64).collect::<Vec<_>>()
            };
            let seconds: Vec<Vec<u64>> = (1..SECONDS).map(second).collect();
            // What the device did not do is nobody's floor.
            let enough: Vec<_> = seconds.iter().filter(|rates| rates.iter().sum::<u64>() >= 2 * FLOOR).collect();
            assert!(enough.len() + 1 >= seconds.len(), "seed {seed}, {gap}: {seconds:?}");
            let held = enough.iter().all(|rates| rates[1..].iter().all(|&rate| rate >= FLOOR * 99 / 100));
            assert!(held, "seed {seed}, {gap}: {seconds:?}");
        }
    }
}
