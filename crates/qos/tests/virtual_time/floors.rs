//! Floors on a device whose capacity nobody measured.

use crate::bed::*;

/// 8 servers of 100 µs ± 20 %: 80 000/s.
fn device() -> Device {
    let mut device = Device::new(8, 100_000);
    device.jitter_percent = 20;
    device
}

fn show(name: &str, bed: &Bed) {
    eprintln!("{name}: {:?}", bed.gate.status());
    for (i, seconds) in bed.completed.iter().enumerate() {
        eprintln!("   client {i}: {seconds:?}");
    }
    let n = bed.completed[0].len();
    let sums: Vec<u64> = (0..n).map(|s| bed.completed.iter().map(|c| c.get(s).copied().unwrap_or(0)).sum()).collect();
    eprintln!("   sum: {sums:?}");
}

#[test]
fn case_a() {
    let mut bed = Bed::new(device(), vec![Client::new(1, 4), Client::new(2, 512)]);
    bed.flat(1..3).edit(limit(1, floor(20_000)));
    bed.run(10 * SECOND);
    show("A", &bed);
}

#[test]
fn case_b() {
    let mut bed = Bed::new(device(), vec![Client::new(1, 8), Client::new(2, 4), Client::new(3, 512)]);
    bed.flat(1..4).edit(limit(1, floor(20_000))).edit(limit(2, floor(10_000)));
    bed.service_changes.push_back((5 * SECOND, 200_000));
    bed.run(10 * SECOND);
    show("B", &bed);
}

#[test]
fn case_c() {
    let mut d = Device::new(8, 266_667);
    d.jitter_percent = 20;
    let mut bed = Bed::new(d, vec![Client::new(1, 16), Client::new(2, 8), Client::new(3, 512)]);
    bed.flat(1..4).edit(limit(1, floor(30_000))).edit(limit(2, floor(15_000)));
    bed.run(15 * SECOND);
    show("C", &bed);
}

#[test]
fn case_f() {
    let mut bed = Bed::new(device(), vec![Client::new(1, 1), Client::new(2, 512)]);
    bed.flat(1..3).edit(limit(1, floor(20_000)));
    bed.run(40 * SECOND);
    show("F", &bed);
}

#[test]
fn case_g() {
    let clients = (1..=20).map(|o| Client::new(o, 4)).chain((21..=24).map(|o| Client::new(o, 128))).collect();
    let mut bed = Bed::new(device(), clients);
    bed.flat(1..25);
    for object in 1..=20 {
        bed.edit(limit(object, floor(3_000)));
    }
    bed.run(10 * SECOND);
    show("G", &bed);
}
