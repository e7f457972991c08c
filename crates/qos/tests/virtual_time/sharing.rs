//! Shared limits: the sum is exact, members are equal whatever their depth and place in the tree,
//! and what one leaves the others take.

use block::OpKind;

use crate::bed::*;

fn per_object(bed: &Bed, objects: std::ops::Range<u32>, bins: std::ops::Range<usize>) -> Vec<u64> {
    objects.map(|o| bed.bins(&[o])[bins.clone()].iter().map(|b| b.0).sum()).collect()
}

fn spread(counts: &[u64]) -> (u64, u64) {
    (*counts.iter().min().unwrap(), *counts.iter().max().unwrap())
}

/// The sum within 1 % in any second, and the members' counts within 2 % of each other's mean.
fn shared(members: u32, rate: u64, seconds: u64, depth: impl Fn(u32) -> usize) {
    let clients = (1..=members).map(|m| Client::new(m, depth(m))).collect();
    let mut bed = Bed::new(Device::new(64, 20_000), clients);
    bed.edit(group(1, iops(rate))).flat(1..members + 1);
    for member in 1..=members {
        bed.edit(join(member, 1));
    }
    bed.run(seconds * SECOND);
    let all: Vec<u32> = (1..=members).collect();
    let sums: Vec<u64> = bed.bins(&all).iter().map(|b| b.0).collect();
    let (most, mean) = windows(&sums);
    assert!(most as f64 <= rate as f64 * 1.01 + 1.0 && mean >= rate as f64 * 0.99, "{most} {mean}");
    let counts = per_object(&bed, 1..members + 1, 0..sums.len());
    let (least, most) = spread(&counts);
    let fair = sums.iter().sum::<u64>() as f64 / f64::from(members);
    assert!(least as f64 >= fair * 0.98 - 1.0 && most as f64 <= fair * 1.02 + 1.0, "{least} {most} of {fair}");
}

#[test]
fn two_members_are_equal_at_depth_2_and_256() {
    shared(2, 5_000, 3, |m| if m == 1 { 2 } else { 256 });
}

#[test]
fn thirty_members_are_equal_at_depths_from_1_to_30() {
    shared(30, 6_000, 4, |m| m as usize);
}

#[test]
fn ten_thousand_members_are_equal() {
    // 200 000/s over 10 000 members: 20 each a second; over 3 s, 60 ± 2 % ± 1.
    shared(10_000, 200_000, 3, |m| 1 + (m % 7) as usize);
}

#[test]
fn members_wherever_they_hang_share_one_budget_and_an_idle_one_leaves_it() {
    // Volumes 11 and 21 under SVMs 1 and 2, and the whole SVM 3 with LUN 31, are members. 21 pauses
    // in 2..4 s.
    let clients = vec![
        Client::new(11, 8),
        Client::new(21, 64).between(0, 2 * SECOND),
        Client::new(21, 64).between(4 * SECOND, u64::MAX),
        Client::new(31, 4),
    ];
    let mut bed = Bed::new(Device::new(64, 20_000), clients);
    bed.edit(group(9, iops(3_000)));
    for (object, parent) in [(1, None), (2, None), (3, None), (11, Some(1)), (21, Some(2)), (31, Some(3))] {
        bed.edit(add(object, parent));
    }
    for member in [11, 21, 3] {
        bed.edit(join(member, 9));
    }
    bed.run(6 * SECOND);
    let near = |counts: [u64; 3], expected: [u64; 3]| {
        for (count, expected) in counts.into_iter().zip(expected) {
            assert!(count.abs_diff(expected) <= expected / 50 + 5, "{counts:?}");
        }
    };
    let counts = |bins: std::ops::Range<usize>| [11, 21, 31].map(|o| per_object(&bed, o..o + 1, bins.clone())[0]);
    near(counts(0..200), [2_000, 2_000, 2_000]);
    // What 21 had queued takes up to 64 turns more; from 2.2 s on it is idle.
    near(counts(220..400), [2_700, 0, 2_700]);
    near(counts(400..600), [2_000, 2_000, 2_000]);
}

#[test]
fn children_of_a_limited_node_take_turns_whatever_their_depth() {
    // SVM 1 at 6 000/s: volume 11 with LUNs 111 and 112, volume 12 without, and requests to the SVM
    // itself: a third each, and the LUNs half of theirs.
    let clients = vec![Client::new(111, 1), Client::new(112, 100), Client::new(12, 300), Client::new(1, 5)];
    let mut bed = Bed::new(Device::new(64, 20_000), clients);
    for (object, parent) in [(1, None), (11, Some(1)), (12, Some(1)), (111, Some(11)), (112, Some(11))] {
        bed.edit(add(object, parent));
    }
    bed.edit(limit(1, iops(6_000)));
    bed.run(3 * SECOND);
    for (object, expected) in [(111, 3_000), (112, 3_000), (12, 6_000), (1, 6_000)] {
        let count = per_object(&bed, object..object + 1, 0..300)[0];
        assert!(count.abs_diff(expected) <= expected / 50, "{object}: {count} of {expected}");
    }
}

#[test]
fn a_shared_limit_in_bytes_is_shared_in_bytes() {
    // 100 MB/s between 4 KiB and 256 KiB requests: half each, in bytes, up to one large request a
    // turn.
    let clients = vec![
        Client::new(1, 64).kinds(&[OpKind::Write]),
        Client::new(2, 64).sizes(&[256 << 10]).kinds(&[OpKind::Write]),
    ];
    let mut bed = Bed::new(Device::new(64, 20_000), clients);
    bed.edit(group(1, bytes(100_000_000))).flat(1..3).edit(join(1, 1)).edit(join(2, 1));
    bed.run(5 * SECOND);
    for object in [1, 2] {
        let bytes: u64 = bed.bins(&[object]).iter().map(|b| b.1).sum();
        assert!(bytes.abs_diff(250_000_000) <= 5_000_000, "{object}: {bytes}");
    }
}

#[test]
fn a_group_inside_a_limited_node_lets_the_others_have_the_rest() {
    // SVM 1 at 5 000/s; volumes 11 and 12 share 1 000/s, volume 13 is free: 500, 500, 4 000.
    let clients = vec![Client::new(11, 32), Client::new(12, 32), Client::new(13, 32)];
    let mut bed = Bed::new(Device::new(64, 20_000), clients);
    bed.edit(add(1, None)).edit(limit(1, iops(5_000))).edit(group(1, iops(1_000)));
    for volume in 11..14 {
        bed.edit(add(volume, Some(1)));
    }
    bed.edit(join(11, 1)).edit(join(12, 1));
    bed.run(4 * SECOND);
    for (object, expected) in [(11, 2_000), (12, 2_000), (13, 16_000)] {
        let count = per_object(&bed, object..object + 1, 0..400)[0];
        assert!(count.abs_diff(expected) <= expected / 50, "{object}: {count} of {expected}");
    }
}
