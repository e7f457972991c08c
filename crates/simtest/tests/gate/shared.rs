//! Shared groups: one budget, exact as a sum, equal among members whatever their depth, and never
//! idle while anyone asks.

use array::{DeviceSpec, Model, ParallelServers};
use block::{ObjectId, Span, Time};
use qos::Edit;
use simtest::{Client, Recording, Scene, Tree, ceiling};

use crate::criterion::{Limit, alike, never_above, reached};
use crate::devices::{on_each, second};

/// All equal to 2 % or one operation, over the whole run.
fn equal(what: &str, recording: &Recording) {
    let counts: Vec<u64> = recording.tracks.iter().map(|track| track.ends.len() as u64).collect();
    let (least, most) = (*counts.iter().min().unwrap(), *counts.iter().max().unwrap());
    let mean = counts.iter().sum::<u64>() / counts.len() as u64;
    assert!(most - least <= mean * 2 / 100 + 1, "{what}: {least} to {most}, {mean} on average");
}

#[test]
fn a_group_of_two_is_equal_at_depths_1_and_128() {
    on_each(|bench| {
        let limit = bench.steady / 10;
        // Two members in two volumes, so that only the group joins them.
        let tree = Tree::new().object(0, None).object(1, None).object(2, Some(0)).object(3, Some(1));
        let tree = tree.group(7, ceiling(limit), [2, 3]);
        let clients = vec![Client::closed(ObjectId(2), 1), Client::closed(ObjectId(3), 128)];
        // 400 operations at least: one is half a percent of each member's.
        let seconds = (400 / limit).max(6);
        let scene =
            Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(seconds), seed: 2 };
        let recording = scene.run();
        let seen = recording.of(&[ObjectId(2), ObjectId(3)]);
        never_above(bench.name, &seen, Limit::Iops(limit), Time::ZERO..scene.until);
        reached(bench.name, &seen, Limit::Iops(limit), Time::ZERO..scene.until);
        equal(bench.name, &recording);
    });
}

#[test]
fn a_group_of_thirty_is_equal_at_thirty_depths() {
    on_each(|bench| {
        let limit = bench.steady * 30 / 100;
        let tree = Tree::flat(30).group(0, ceiling(limit), 0..30);
        let clients = (0..30).map(|n| Client::closed(ObjectId(n), 1 + 4 * n)).collect();
        let seconds = (30 * 200 / limit).max(6);
        let scene =
            Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(seconds), seed: 2 };
        let recording = scene.run();
        never_above(bench.name, &recording.dispatches, Limit::Iops(limit), Time::ZERO..scene.until);
        reached(bench.name, &recording.dispatches, Limit::Iops(limit), Time::ZERO..scene.until);
        equal(bench.name, &recording);
    });
}

#[test]
fn a_group_of_ten_thousand_is_equal() {
    let model = ParallelServers { servers: 64, ..ParallelServers::default() };
    let device = DeviceSpec::of(Model::ParallelServers(model));
    // 100 volumes of 100 members. 100 000 a second in all, 10 each; 10 s, so that one operation is
    // 1 %.
    let volumes = (0..100).fold(Tree::new(), |tree, volume| tree.object(volume, None));
    let members = 100..10_100;
    let tree = members.clone().fold(volumes, |tree, member| tree.object(member, Some(member % 100)));
    let tree = tree.group(1, ceiling(100_000), members.clone());
    let clients = members.map(|member| Client::closed(ObjectId(member), 1 + member % 3)).collect();
    let scene = Scene { device, clients, edits: tree.edits(), until: second(10), seed: 2 };
    let recording = scene.run();
    never_above("10 000 members", &recording.dispatches, Limit::Iops(100_000), Time::ZERO..scene.until);
    reached("10 000 members", &recording.dispatches, Limit::Iops(100_000), Time::ZERO..scene.until);
    equal("10 000 members", &recording);
}

#[test]
fn what_an_idle_member_leaves_goes_to_the_others() {
    on_each(|bench| {
        let limit = bench.steady * 30 / 100;
        let tree = Tree::flat(3).group(0, ceiling(limit), 0..3);
        let mut clients: Vec<Client> = (0..3).map(|n| Client::closed(ObjectId(n), 16)).collect();
        // The third is away from the third second to the sixth, and gets no more than its share
        // when it is back.
        clients[2] = clients[2].clone().between(Time::ZERO, second(3));
        clients.push(Client::closed(ObjectId(2), 16).between(second(6), Time::MAX));
        let scene = Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(10), seed: 2 };
        let recording = scene.run();
        never_above(bench.name, &recording.dispatches, Limit::Iops(limit), Time::ZERO..second(10));
        reached(bench.name, &recording.dispatches, Limit::Iops(limit), Time::ZERO..second(10));
        // One operation of the disk's nine a second and member is more than 2 %: over these spans
        // it is 3.
        let percent = 2.0 + 100.0 * 3.0 / limit as f64;
        let rates = |from, until| recording.tracks.iter().map(move |track| track.rate(second(from), second(until)));
        let away: Vec<f64> = rates(4, 6).collect();
        alike(bench.name, (away[0], away[1]), percent);
        let back: Vec<f64> = rates(7, 10).collect();
        alike(bench.name, (back[0], back[3]), percent);
        alike(bench.name, (back[1], back[3]), percent);
    });
}

#[test]
fn a_shared_and_an_own_limit_both_hold() {
    on_each(|bench| {
        let (shared, own) = (bench.steady * 30 / 100, bench.steady * 6 / 100);
        let tree = Tree::flat(3).group(0, ceiling(shared), 0..3).ceiling(1, own);
        let clients = (0..3).map(|n| Client::closed(ObjectId(n), 32)).collect();
        let scene = Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(8), seed: 2 };
        let recording = scene.run();
        let until = Time::ZERO + Span::from_secs(8);
        never_above(bench.name, &recording.dispatches, Limit::Iops(shared), Time::ZERO..until);
        reached(bench.name, &recording.dispatches, Limit::Iops(shared), Time::ZERO..until);
        let seen = recording.of(&[ObjectId(1)]);
        never_above(bench.name, &seen, Limit::Iops(own), Time::ZERO..until);
        reached(bench.name, &seen, Limit::Iops(own), Time::ZERO..until);
    });
}

#[test]
fn a_member_under_a_limit_of_its_own_volume_gets_its_share_of_both() {
    on_each(|bench| {
        // A group of two: one free, one in a volume with a limit of half as much again, beside a
        // stranger. Half of the group's budget is less than half of the volume's and a half: so the
        // members share the group's equally, and the stranger has what they leave of the volume's.
        // Both limits are used up all the time, and the member in the volume needs both open at
        // once.
        let group = bench.steady * 20 / 100;
        let volume = group * 3 / 2;
        let tree = Tree::new().object(0, None).object(1, None).object(2, Some(0)).object(3, Some(0));
        let tree = tree.ceiling(0, volume).group(0, ceiling(group), [1, 2]);
        let clients = (1..4).map(|n| Client::closed(ObjectId(n), 32)).collect();
        let seconds = (400 / group).max(6);
        let scene =
            Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(seconds), seed: 2 };
        let recording = scene.run();
        let members = recording.of(&[ObjectId(1), ObjectId(2)]);
        never_above(bench.name, &members, Limit::Iops(group), Time::ZERO..scene.until);
        reached(bench.name, &members, Limit::Iops(group), Time::ZERO..scene.until);
        let inside = recording.of(&[ObjectId(2), ObjectId(3)]);
        never_above(bench.name, &inside, Limit::Iops(volume), Time::ZERO..scene.until);
        reached(bench.name, &inside, Limit::Iops(volume), Time::ZERO..scene.until);
        let rates: Vec<f64> = recording.tracks.iter().map(|track| track.rate(Time::ZERO, scene.until)).collect();
        alike(bench.name, (rates[0], rates[1]), 2.0 + 100.0 / group as f64);
    });
}

#[test]
fn a_fair_node_gives_its_children_equal_turns_and_loses_nothing() {
    on_each(|bench| {
        let fair = Edit::SetFair { object: Some(ObjectId(0)), fair: true };
        let tree = Tree::new().object(0, None).object(1, Some(0)).object(2, Some(0)).at(Time::ZERO, fair);
        let clients = vec![Client::closed(ObjectId(1), 64), Client::closed(ObjectId(2), 256)];
        let scene = Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(12), seed: 2 };
        let (recording, bare) = (scene.run(), scene.run_bare());
        let rates: Vec<f64> = recording.tracks.iter().map(|track| track.rate(second(1), scene.until)).collect();
        // On the disk a second's start and end cut off a few of 70.
        alike(bench.name, (rates[0], rates[1]), 2.0 + 100.0 * 8.0 / (bench.steady * 11 / 2) as f64);
        let (fair, free) = (rates[0] + rates[1], bare.total_rate(second(1), scene.until));
        assert!(fair >= free * 0.98, "{}: {fair:.0} with turns, {free:.0} without", bench.name);
    });
}
