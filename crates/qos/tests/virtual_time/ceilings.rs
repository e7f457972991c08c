//! Ceilings: never more than 1 % and one operation above in any second, the first included, and on
//! average all of it.

use block::{BytesPerSecond, Iops, Span};
use qos::{Burst, Ceiling, Limits};

use crate::bed::*;

fn ops_of(bed: &Bed, objects: &[u32]) -> Vec<u64> {
    bed.bins(objects).iter().map(|b| b.0).collect()
}

/// At most 1.01 × limit + 1 in any second, at least 0.99 × on average.
fn holds(bins: &[u64], limit: u64) {
    let (most, mean) = windows(bins);
    assert!(most as f64 <= limit as f64 * 1.01 + 1.0, "a second with {most} of {limit}");
    assert!(mean >= limit as f64 * 0.99, "{mean} of {limit} on average");
}

#[test]
fn a_limit_in_operations_holds_from_the_first_second_on() {
    for (rate, seconds) in [(100, 20), (1_000, 5), (10_000, 3), (1_000_000, 1)] {
        // 64 servers of 20 µs do 3.2 M/s.
        let mut bed = Bed::new(Device::new(64, 20_000), vec![Client::new(1, 128)]);
        bed.flat(1..2).edit(limit(1, iops(rate)));
        bed.run(seconds * SECOND);
        holds(&ops_of(&bed, &[1]), rate);
    }
}

#[test]
fn a_limit_in_bytes_holds_with_mixed_sizes() {
    // 200 MB/s of 4 KiB to 1 MiB: one request more is at most 1 MiB.
    let sizes: Vec<u64> = (12..=20).map(|b| 1 << b).collect();
    let mut bed = Bed::new(Device::new(64, 20_000), vec![Client::new(1, 32).sizes(&sizes)]);
    bed.flat(1..2).edit(limit(1, bytes(200_000_000)));
    bed.run(5 * SECOND);
    let bins: Vec<u64> = bed.bins(&[1]).iter().map(|b| b.1).collect();
    let (most, mean) = windows(&bins);
    assert!(most <= 202_000_000 + (1 << 20), "{most}");
    assert!(mean >= 198_000_000.0, "{mean}");
}

#[test]
fn the_tightest_limit_on_the_path_binds_at_any_level() {
    // SVM 1 > volume 2 > qtree 3 > LUN 4; one level is tight, the others are not.
    for tight in 1..=4 {
        let mut bed = Bed::new(Device::new(64, 20_000), vec![Client::new(4, 32)]);
        for object in 1..=4u32 {
            bed.edit(add(object, (object > 1).then(|| object - 1)));
            bed.edit(limit(object, iops(if object == tight { 2_000 } else { 9_000 })));
        }
        bed.run(3 * SECOND);
        holds(&ops_of(&bed, &[4]), 2_000);
    }
}

#[test]
fn operations_and_bytes_together_bind_whichever_is_tighter() {
    let both = |iops, bytes| Limits {
        ceiling: Ceiling { iops: Some(Iops(iops)), bytes: Some(BytesPerSecond(bytes)), burst: None },
        ..Limits::default()
    };
    // 64 KiB requests: 1 000/s would be 65.5 MB/s, so 32.768 MB/s means 500/s.
    for (limits, expected) in [(both(1_000, 32_768_000), 500), (both(300, 32_768_000), 300)] {
        let mut bed = Bed::new(Device::new(64, 20_000), vec![Client::new(1, 32).sizes(&[65536])]);
        bed.flat(1..2).edit(limit(1, limits));
        bed.run(5 * SECOND);
        holds(&ops_of(&bed, &[1]), expected);
    }
}

#[test]
fn a_full_credit_lasts_exactly_as_long_as_promised() {
    // 1 000/s with 50 % more for 2 s: capacity 1 000 operations, saved in 1 s of idleness... at
    // 1 000/s. Idle from 0 to 3 s, the credit is full; then 1 500/s for 2 s, then 1 000/s.
    let limits = Limits {
        ceiling: Ceiling { iops: Some(Iops(1_000)), bytes: None, burst: Some(Burst::percent(50, Span::from_secs(2))) },
        ..Limits::default()
    };
    let mut bed = Bed::new(Device::new(64, 20_000), vec![Client::new(1, 64).between(3 * SECOND, u64::MAX)]);
    bed.flat(1..2).edit(limit(1, limits));
    bed.run(9 * SECOND);
    let bins = ops_of(&bed, &[1]);
    let fast: u64 = bins[300..500].iter().sum();
    assert!((2_970..=3_030).contains(&fast), "{fast} in the 2 s of burst, 3 000 expected");
    let (most, mean) = windows(&bins[510..]);
    assert!(most <= 1_011 && mean >= 990.0, "{most}, {mean} afterwards");
    // Setting it gave no credit: busy from the start, it has nothing to spend.
    let mut bed = Bed::new(Device::new(64, 20_000), vec![Client::new(1, 64)]);
    bed.flat(1..2).edit(limit(1, limits));
    bed.run(3 * SECOND);
    holds(&ops_of(&bed, &[1]), 1_000);
}

#[test]
fn no_policy_adds_no_queueing() {
    let mut bed = Bed::new(Device::new(8, 100_000), vec![Client::new(1, 4), Client::new(2, 256)]);
    bed.flat(1..3);
    bed.run(SECOND);
    assert_eq!(bed.queued_ns, [0, 0]);
    // 8 servers of 100 µs do 80 000/s; the two share it by their depths, as without a gate.
    assert!(bed.completed[1][0] > 60 * bed.completed[0][0], "{:?}", bed.completed);
}
