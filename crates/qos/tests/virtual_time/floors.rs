//! Floors on a device of unknown capacity: held when there is enough, in proportion when there is
//! not, and at little cost to others when their owner has too few requests outstanding.
//!
//! Clients are closed loops, so what is checked is what they got, in every second from the second
//! one on.

use block::LimitKind;
use qos::{FloorState, Limits, ObjectAccount, Shortage};

use crate::bed::*;

/// 8 servers of 100 µs ± 20 %: 80 000/s, however much is queued.
fn device() -> Device {
    let mut device = Device::new(8, 100_000);
    device.jitter_percent = 20;
    device
}

/// A quarter of that, where many seconds are needed.
fn slower_device() -> Device {
    let mut device = Device::new(8, 400_000);
    device.jitter_percent = 20;
    device
}

/// What a client got, second by second, without the first second, in which the window settles.
fn settled(bed: &Bed, client: usize) -> &[u64] {
    &bed.completed[client][1..]
}

/// At least 99 % in every second from the second one on.
fn held(bed: &Bed, client: usize, floor: u64) {
    let seconds = settled(bed, client);
    let least = *seconds.iter().min().unwrap();
    assert!(least as f64 >= floor as f64 * 0.99, "client {client}, floor {floor}: {seconds:?}");
}

/// All clients together, in every second from the second one on, within 2 % of what the device does
/// without a gate.
fn conserved(bed: &Bed, capacity: u64) {
    for second in 1..bed.completed[0].len() {
        let sum: u64 = bed.completed.iter().filter_map(|c| c.get(second)).sum();
        assert!(sum as f64 >= capacity as f64 * 0.98, "second {second}: {sum} of {capacity}");
    }
}

fn account(bed: &mut Bed, object: u32) -> ObjectAccount {
    let mut accounts = Vec::new();
    bed.gate.account(block::Time::from_nanos(bed.now), &mut accounts);
    accounts.into_iter().find(|a| a.object.0 == object).unwrap_or_default()
}

#[test]
fn case_a_a_shallow_client_holds_its_floor_beside_a_deep_one() {
    // Depth 4 against 512: by depth it would get 4/516 of 80 000, which is 620.
    let mut bed = Bed::new(device(), vec![Client::new(1, 4), Client::new(2, 512)]);
    bed.flat(1..3).edit(limit(1, floor(20_000)));
    bed.run(6 * SECOND);
    held(&bed, 0, 20_000);
    conserved(&bed, 80_000);
    // And not much more than its floor: the rest is the bully's.
    assert!(settled(&bed, 0).iter().all(|&s| s <= 21_500), "{:?}", settled(&bed, 0));
    assert_eq!(account(&mut bed, 1).floor, FloorState::Met);
    let status = bed.gate.status();
    assert_eq!((status.phi_per_mille, status.floors_iops, status.floors_near_best), (1000, 20_000, false));
    assert!((79_000..81_000).contains(&status.best_iops), "{status:?}");
}

/// A server whose device has a backlog lets its connections in by turns: 2 of them under a floor
/// beside 32, whose requests fill a window that the device rewards. The gate can only send first
/// what it has seen.
#[test]
fn what_a_floor_is_due_comes_in_before_the_turns_of_many_connections() {
    let run = |asks| {
        // 600 at a time, 6 ms each: 100 000/s, and fewer at a time are slower.
        let connections = (0..34).map(|n| Client::new(1 + u32::from(n >= 2), 1200)).collect();
        let mut bed = Bed::new(Device::new(600, 6 * MS), connections);
        bed.door = Some(Door::new(128, asks));
        bed.flat(1..3).edit(limit(1, floor(22_000)));
        bed.run(6 * SECOND);
        (1..6).map(|second| bed.completed[..2].iter().map(|seconds| seconds[second]).sum::<u64>()).min().unwrap()
    };
    let (by_turns, first) = (run(false), run(true));
    assert!(by_turns < 11_000, "turns alone give 2 connections of 34 little, which this is about: {by_turns}");
    assert!(first >= 21_780, "{first} in the worst second");
}

#[test]
fn case_b_floors_hold_while_the_capacity_halves() {
    let mut bed = Bed::new(device(), vec![Client::new(1, 8), Client::new(2, 4), Client::new(3, 512)]);
    bed.flat(1..4).edit(limit(1, floor(20_000))).edit(limit(2, floor(10_000)));
    bed.service_changes.push_back((3 * SECOND, 200_000));
    bed.run(6 * SECOND);
    held(&bed, 0, 20_000);
    held(&bed, 1, 10_000);
    conserved(&bed, 39_900);
    // 30 000 of at best 40 000: less than 80 % of what was seen, 80 000.
    assert!(!bed.gate.status().floors_near_best);
}

#[test]
fn case_c_overcommitted_floors_sink_in_proportion() {
    // 45 000 promised on 30 000: two thirds each, whatever their depth, and nearly nothing for the
    // bully.
    let mut device = Device::new(8, 266_667);
    device.jitter_percent = 20;
    let mut bed = Bed::new(device, vec![Client::new(1, 16), Client::new(2, 8), Client::new(3, 512)]);
    bed.flat(1..4).edit(limit(1, floor(30_000))).edit(limit(2, floor(15_000)));
    bed.run(8 * SECOND);
    for (client, floor) in [(0, 30_000), (1, 15_000)] {
        let part = settled(&bed, client).iter().sum::<u64>() as f64 / settled(&bed, client).len() as f64 / floor as f64;
        assert!((0.60..=0.667).contains(&part), "{part} of {floor}: {:?}", settled(&bed, client));
    }
    conserved(&bed, 29_900);
    let status = bed.gate.status();
    assert!((590..=667).contains(&status.phi_per_mille) && status.floors_near_best, "{status:?}");
    match account(&mut bed, 1).floor {
        FloorState::Short { kind: LimitKind::Iops, why: Shortage::Overcommitted { phi_per_mille }, .. } => {
            assert_eq!(phi_per_mille, status.phi_per_mille);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn overcommitted_floors_recover_when_the_capacity_returns() {
    let mut bed = Bed::new(device(), vec![Client::new(1, 16), Client::new(2, 8), Client::new(3, 512)]);
    bed.flat(1..4).edit(limit(1, floor(30_000))).edit(limit(2, floor(15_000)));
    bed.service_changes.push_back((2 * SECOND, 300_000));
    bed.service_changes.push_back((5 * SECOND, 100_000));
    bed.run(9 * SECOND);
    for (client, floor) in [(0, 30_000), (1, 15_000)] {
        // Within two seconds of the return they are whole again.
        assert!(bed.completed[client][7..].iter().all(|&s| s >= floor), "{:?}", bed.completed[client]);
    }
    assert_eq!(bed.gate.status().phi_per_mille, 1000);
}

#[test]
fn case_f_a_floor_out_of_reach_costs_others_little_and_says_why() {
    // Depth 1 at 400 µs can do 2 500/s at the very best. Two or three outstanding would do.
    let mut bed = Bed::new(slower_device(), vec![Client::new(1, 1), Client::new(2, 512)]);
    bed.flat(1..3).edit(limit(1, floor(5_000)));
    bed.run(20 * SECOND);
    let sum: u64 = bed.completed.iter().flatten().sum();
    assert!(sum as f64 >= 0.96 * 20.0 * 20_000.0, "{sum} of 400 000 with all attempts included");
    // Outside attempts nothing is lost, and it gets far more than its part by depth, 39.
    assert!(settled(&bed, 0).iter().all(|&s| s > 1_200), "{:?}", bed.completed[0]);
    match account(&mut bed, 1).floor {
        FloorState::Short { wanted: 5_000, why: Shortage::NeedsOutstanding(2..=4), .. } => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_owner_that_asks_for_little_is_no_reason_to_hold_others_back() {
    // 40 users with 32 ms between requests ask for 1 250/s of a floor of 5 000.
    let mut bed = Bed::new(slower_device(), vec![Client::new(1, 40).think(32 * MS), Client::new(2, 512)]);
    bed.flat(1..3).edit(limit(1, floor(5_000)));
    bed.run(16 * SECOND);
    let sum: u64 = bed.completed.iter().flatten().sum();
    assert!(sum as f64 >= 0.96 * 16.0 * 20_000.0, "{sum} of 320 000");
    // 40 / (32 ms + latency): 1 230 at best.
    assert!(settled(&bed, 0).iter().all(|&s| s > 1_100), "{:?}", settled(&bed, 0));
}

#[test]
fn an_owner_that_starts_to_ask_gets_its_floor_within_seconds() {
    // Given up at depth 1, then 15 more from 4 s on.
    let clients = vec![Client::new(1, 1), Client::new(1, 15).between(4 * SECOND, u64::MAX), Client::new(2, 512)];
    let mut bed = Bed::new(slower_device(), clients);
    bed.flat(1..3).edit(limit(1, floor(5_000)));
    bed.run(14 * SECOND);
    let both: Vec<u64> = (10..14).map(|s| bed.completed[0][s] + bed.completed[1][s]).collect();
    assert!(both.iter().all(|&s| s >= 4_950), "{both:?}");
}

#[test]
fn case_g_twenty_small_floors_hold_beside_four_deep_clients() {
    let clients = (1..=20).map(|o| Client::new(o, 4)).chain((21..=24).map(|o| Client::new(o, 128))).collect();
    let mut bed = Bed::new(device(), clients);
    bed.flat(1..25);
    for object in 1..=20 {
        bed.edit(limit(object, floor(3_000)));
    }
    bed.run(4 * SECOND);
    for client in 0..20 {
        held(&bed, client, 3_000);
    }
    conserved(&bed, 80_000);
}

#[test]
fn the_published_bully_leaves_two_protected_hosts_alone() {
    // 250 000/s; two hosts with floors of 75 000, a third that grows from a third of the whole to
    // far more.
    let mut device = Device::new(25, 100_000);
    device.jitter_percent = 20;
    let clients = vec![
        Client::new(1, 16),
        Client::new(2, 16),
        Client::new(3, 16),
        Client::new(3, 16).between(SECOND, u64::MAX),
        Client::new(3, 64).between(2 * SECOND, u64::MAX),
    ];
    let mut bed = Bed::new(device, clients);
    bed.flat(1..4).edit(limit(1, floor(75_000))).edit(limit(2, floor(75_000)));
    bed.run(4 * SECOND);
    held(&bed, 0, 75_000);
    held(&bed, 1, 75_000);
    conserved(&bed, 250_000);
}

#[test]
fn a_slow_disk_keeps_a_small_floor() {
    // One server of 4 to 12 ms: 125/s. Chance is large at 50 a second, so the floor keeps a margin.
    let mut device = Device::new(1, 8_000_000);
    device.jitter_percent = 50;
    let mut bed = Bed::new(device, vec![Client::new(1, 2), Client::new(2, 64)]);
    bed.flat(1..3).edit(limit(1, floor(50)));
    bed.run(30 * SECOND);
    assert!(bed.completed[0][2..].iter().all(|&s| s >= 50), "{:?}", bed.completed[0]);
    let sum: u64 = bed.completed.iter().flatten().sum();
    assert!((3_600..3_900).contains(&sum), "{sum} of 3 750");
}

#[test]
fn a_device_that_stalls_makes_up_for_it_within_the_second() {
    // 40 ms of pause every 700 ms take 6 % of everything; the window does not chase them.
    let mut device = device();
    device.stall = Some((700 * MS, 40 * MS));
    let mut bed = Bed::new(device, vec![Client::new(1, 4), Client::new(2, 512)]);
    bed.flat(1..3).edit(limit(1, floor(15_000)));
    bed.run(8 * SECOND);
    held(&bed, 0, 15_000);
    let sum: u64 = bed.completed.iter().flatten().sum();
    assert!(sum as f64 >= 0.98 * 8.0 * 80_000.0 * 660.0 / 700.0, "{sum}");
}

#[test]
fn a_bully_of_large_requests_is_held_by_their_cost() {
    // 1 MiB takes 0.5 ms, 4 KiB 0.1 ms.
    let mut device = device();
    device.per_kib_ns = 400;
    let mut bed = Bed::new(device, vec![Client::new(1, 4), Client::new(2, 128).sizes(&[1 << 20])]);
    bed.flat(1..3).edit(limit(1, floor(15_000)));
    bed.run(4 * SECOND);
    held(&bed, 0, 15_000);
}

#[test]
fn a_floor_in_bytes_holds() {
    // 100 MB/s in 16 KiB requests: 6 104/s.
    let mut bed = Bed::new(device(), vec![Client::new(1, 4).sizes(&[16384]), Client::new(2, 512)]);
    let mut limits = Limits::default();
    limits.floor.bytes = Some(block::BytesPerSecond(100_000_000));
    bed.flat(1..3).edit(limit(1, limits));
    bed.run(4 * SECOND);
    held(&bed, 0, 6_104);
    conserved(&bed, 80_000);
}

#[test]
fn ceilings_win_over_floors_and_divide_by_them() {
    // SVM 1 at 10 000/s. Its volume 11 has a floor of 7 000, volumes 12 and 13 have none: 7 000 at
    // least, and the rest for the others. Volume 11's own LUN 111 has the requests.
    let clients = vec![Client::new(111, 8), Client::new(12, 64), Client::new(13, 64), Client::new(2, 64)];
    let mut bed = Bed::new(device(), clients);
    for (object, parent) in [(1, None), (2, None), (11, Some(1)), (12, Some(1)), (13, Some(1)), (111, Some(11))] {
        bed.edit(add(object, parent));
    }
    bed.edit(limit(1, iops(10_000))).edit(limit(11, floor(7_000)));
    bed.run(4 * SECOND);
    held(&bed, 0, 7_000);
    let svm: Vec<u64> = bed.bins(&[111, 12, 13]).iter().map(|b| b.0).collect();
    let (most, mean) = windows(&svm);
    assert!(most <= 10_101 && mean >= 9_900.0, "{most} {mean}");
    let others = [1, 2].map(|c| settled(&bed, c).iter().sum::<u64>());
    assert!(others[0].abs_diff(others[1]) <= others[0] / 50, "{others:?}");
    // Nobody outside loses by it: the device is kept busy.
    conserved(&bed, 80_000);
    // A ceiling below the floor: 5 000 of 7 000, and the account says why.
    bed.edit(limit(1, iops(5_000)));
    account(&mut bed, 11);
    bed.run(6 * SECOND);
    let FloorState::Short { served, why: Shortage::CeilingAbove, .. } = account(&mut bed, 11).floor else {
        panic!("a ceiling in the way is named");
    };
    assert!((4_900..=5_050).contains(&served), "{served}");
    conserved(&bed, 80_000);
}

#[test]
fn a_group_with_a_floor_and_one_member_holds_it() {
    let mut bed = Bed::new(device(), vec![Client::new(1, 4), Client::new(2, 512)]);
    bed.flat(1..3).edit(group(5, floor(20_000))).edit(join(1, 5));
    bed.run(3 * SECOND);
    held(&bed, 0, 20_000);
    // Leaving the group ends it.
    bed.edit(qos::Edit::Join { object: block::ObjectId(1), group: None });
    bed.run(5 * SECOND);
    assert!(bed.completed[0][4] < 2_000, "{:?}", bed.completed[0]);
    assert_eq!(bed.gate.status().window_milli, None);
}

/// Two floors are overdue when the device comes back after 400 ms. The first sends its one request
/// and has nothing more, so its clock is no longer behind the other's. When it leaves the list it
/// must not take the other with it: that one would have only its turns from then on. One of ten
/// that take turns gets 10 000 of 100 000.
#[test]
fn a_floor_with_nothing_more_to_send_leaves_the_other_listed() {
    let mut device = Device::new(1, 400 * MS);
    device.room = 1;
    let bullies = (3..12).map(|object| Client::new(object, 64));
    let few = [Client::new(3, 1), Client::new(1, 1).think(60 * SECOND), Client::new(2, 8)];
    let mut bed = Bed::new(device, few.into_iter().chain(bullies).collect());
    bed.flat(1..12).edit(limit(1, floor(20_000))).edit(limit(2, floor(20_000)));
    bed.service_changes.push_back((1, 10_000));
    bed.run(3 * SECOND);
    held(&bed, 2, 20_000);
}
