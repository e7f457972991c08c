//! Ceilings on every device: no sliding second above 1.01 × the limit and one operation, and the
//! whole limit while there is a backlog, from the first second on.

use block::{ObjectId, Span, Time};
use simtest::{Client, Mix, Recording, Scene, Shape, Tree, ceiling, throughput};

use crate::criterion::{Limit, never_above, reached};
use crate::devices::{Bench, on_each, second};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn play(bench: &Bench, clients: Vec<Client>, tree: Tree, seconds: u64) -> Recording {
    Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(seconds), seed: 11 }.run()
}

#[test]
fn operations_per_second_on_every_device() {
    on_each(|bench| {
        // 0.4 × the capacity alone; 0.1 × beside a neighbour without limits, who would leave it a
        // fifth.
        for (part, neighbour) in [(40, 0), (10, 128)] {
            let limit = bench.steady * part / 100;
            let clients = vec![Client::closed(ObjectId(0), 32), Client::closed(ObjectId(1), neighbour)];
            let recording = play(bench, clients, Tree::flat(2).ceiling(0, limit), 10);
            let what = format!("{}, {part} % beside depth {neighbour}", bench.name);
            let seen = recording.of(&[ObjectId(0)]);
            never_above(&what, &seen, Limit::Iops(limit), Time::ZERO..second(10));
            reached(&what, &seen, Limit::Iops(limit), Time::ZERO..second(10));
        }
    });
}

#[test]
fn bytes_per_second_with_sizes_from_4_kib_to_1_mib() {
    let sizes = [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB];
    let shapes: Vec<Shape> =
        sizes.iter().flat_map(|&len| [Shape::Read(len as u32), Shape::Write(len as u32)]).collect();
    on_each(|bench| {
        // The mean size is 273 KiB. The disk moves about 20 MiB of it a second, the halved servers
        // 1 GiB.
        let rate = if bench.name == "disk" { 8 * MIB } else { 100 * MIB };
        let clients = vec![Client::closed(ObjectId(0), 64).asking(Mix::Any(shapes.clone()))];
        let recording = play(bench, clients, Tree::flat(1).limits(0, throughput(rate)), 10);
        let seen = recording.of(&[ObjectId(0)]);
        let limit = Limit::Bytes { rate, largest: MIB };
        never_above(bench.name, &seen, limit, Time::ZERO..second(10));
        reached(bench.name, &seen, limit, Time::ZERO..second(10));
    });
}

#[test]
fn of_operations_and_bytes_the_tighter_binds() {
    on_each(|bench| {
        let iops = bench.steady * 30 / 100;
        // Room for 16 KiB each: 4 KiB requests meet the limit in operations, 64 KiB ones that in
        // bytes.
        let rate = iops * 16 * KIB;
        let mut limits = ceiling(iops);
        limits.ceiling.bytes = throughput(rate).ceiling.bytes;
        for len in [4 * KIB, 64 * KIB] {
            let mix = Mix::Any(vec![Shape::Read(len as u32), Shape::Write(len as u32)]);
            let clients = vec![Client::closed(ObjectId(0), 32).asking(mix)];
            let seen = play(bench, clients, Tree::flat(1).limits(0, limits), 6).of(&[ObjectId(0)]);
            let what = format!("{} with {len} B", bench.name);
            let (operations, bytes) = (Limit::Iops(iops), Limit::Bytes { rate, largest: len });
            never_above(&what, &seen, operations, Time::ZERO..second(6));
            never_above(&what, &seen, bytes, Time::ZERO..second(6));
            reached(&what, &seen, if len == 4 * KIB { operations } else { bytes }, Time::ZERO..second(6));
        }
    });
}

/// An SVM (0) with two volumes (1, 2), a LUN in each (3, 4), a qtree (5) in volume 1 with a file
/// (6).
fn levels() -> Tree {
    let places = [(0, None), (1, Some(0)), (2, Some(0)), (3, Some(1)), (4, Some(2)), (5, Some(1)), (6, Some(5))];
    places.into_iter().fold(Tree::new(), |tree, (number, parent)| tree.object(number, parent))
}

/// The clients' objects under an object: clients are on the LUNs and the file.
fn under(number: u32) -> Vec<ObjectId> {
    let leaves: &[u32] = match number {
        0 => &[3, 4, 6],
        1 => &[3, 6],
        2 | 4 => &[4],
        3 => &[3],
        _ => &[6],
    };
    leaves.iter().map(|&leaf| ObjectId(leaf)).collect()
}

fn on_the_leaves() -> Vec<Client> {
    vec![Client::closed(ObjectId(3), 32), Client::closed(ObjectId(4), 8), Client::closed(ObjectId(6), 16)]
}

#[test]
fn a_limit_at_each_level_alone() {
    on_each(|bench| {
        for number in [0, 1, 3, 5, 6] {
            // Small enough that what lies under it gets less than the device would give it by
            // depth.
            let limit = bench.steady * 12 / 100;
            let recording = play(bench, on_the_leaves(), levels().ceiling(number, limit), 6);
            let what = format!("{}, a limit on object {number}", bench.name);
            let seen = recording.of(&under(number));
            never_above(&what, &seen, Limit::Iops(limit), Time::ZERO..second(6));
            reached(&what, &seen, Limit::Iops(limit), Time::ZERO..second(6));
        }
    });
}

#[test]
fn limits_at_all_levels_together() {
    on_each(|bench| {
        // In percent of the capacity. The file may do 6, the LUN in volume 1 as much as the
        // volume's 20 leave, 14; the other volume's LUN 15 where the volume allows 25. Together 35,
        // and the SVM allows 30: it binds.
        let limits = [(0, 30), (1, 20), (2, 25), (3, 18), (4, 15), (5, 8), (6, 6)];
        let limits = limits.map(|(number, percent)| (number, bench.steady * percent / 100));
        let tree = limits.iter().fold(levels(), |tree, &(number, limit)| tree.ceiling(number, limit));
        let recording = play(bench, on_the_leaves(), tree, 10);
        for (number, limit) in limits {
            let what = format!("{}, object {number} of all", bench.name);
            never_above(&what, &recording.of(&under(number)), Limit::Iops(limit), Time::ZERO..second(10));
        }
        let what = format!("{}, the SVM's whole limit", bench.name);
        reached(&what, &recording.of(&under(0)), Limit::Iops(limits[0].1), Time::ZERO..second(10));
    });
}

#[test]
fn without_a_limit_the_gate_adds_no_queueing() {
    on_each(|bench| {
        let clients = vec![Client::closed(ObjectId(3), 128), Client::closed(ObjectId(4), 4)];
        let device = bench.device.clone();
        let scene = Scene { device, clients, edits: levels().edits(), until: second(3), seed: 5 };
        let (gate, bare) = (scene.run(), scene.run_bare());
        assert_eq!(gate.dispatches, bare.dispatches, "{}", bench.name);
        let queued = gate.tracks.iter().flat_map(|track| &track.ends).filter(|e| e.response != e.service).count();
        assert_eq!(queued, 0, "{}", bench.name);
    });
}

/// A limit that never binds costs its owner nothing.
#[test]
fn a_limit_above_the_demand_is_not_felt() {
    on_each(|bench| {
        let rate = bench.steady / 4;
        let scene = Scene {
            device: bench.device.clone(),
            clients: vec![Client::open(ObjectId(0), rate)],
            edits: Tree::flat(1).ceiling(0, rate * 2).edits(),
            until: second(4),
            seed: 5,
        };
        assert_eq!(scene.run().dispatches, scene.run_bare().dispatches, "{}", bench.name);
        assert!(scene.run().tracks[0].rate(second(1), second(4)) * Span::from_secs(3).as_secs_f64() > 0.0);
    });
}
