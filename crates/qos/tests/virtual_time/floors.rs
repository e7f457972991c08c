//! Floors on a device whose capacity nobody measured.

use crate::bed::*;

/// 8 servers of 100 µs ± 20 %: 80 000/s.
fn device() -> Device {
    let mut device = Device::new(8, 100_000);
    device.jitter_percent = 20;
    device
}

fn show(name: &str, bed: &Bed) {
    let status = bed.gate.status();
    eprintln!("{name}: window {:?} phi {}", status.window_milli, status.phi_per_mille);
    let n = bed.completed[0].len();
    let line = |what: String, seconds: &[u64]| {
        let rest = &seconds[1.min(seconds.len())..];
        let mean = rest.iter().sum::<u64>() / rest.len().max(1) as u64;
        eprintln!(
            "   {what}: first {} min {} mean {mean}   {:?}",
            seconds[0],
            rest.iter().min().unwrap(),
            &rest[..rest.len().min(24)]
        );
    };
    for (i, seconds) in bed.completed.iter().enumerate().filter(|(i, _)| *i < 3 || *i > 20) {
        line(format!("client {i}"), seconds);
    }
    let sums: Vec<u64> = (0..n).map(|s| bed.completed.iter().map(|c| c.get(s).copied().unwrap_or(0)).sum()).collect();
    line("sum".into(), &sums);
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

/// An HDD-like device: one server, 4 to 12 ms.
#[test]
fn slow() {
    let mut d = Device::new(1, 8_000_000);
    d.jitter_percent = 50;
    let mut bed = Bed::new(d, vec![Client::new(1, 2), Client::new(2, 64)]);
    bed.flat(1..3).edit(limit(1, floor(50)));
    bed.run(20 * SECOND);
    show("slow", &bed);
}

#[test]
fn bytes_bully() {
    let mut d = device();
    d.per_kib_ns = 400;
    for len in [4096u64, 65536, 1 << 20] {
        let mut bed = Bed::new(d_clone(&d), vec![Client::new(1, 4), Client::new(2, 128).sizes(&[len])]);
        bed.flat(1..3).edit(limit(1, floor(15_000)));
        bed.run(6 * SECOND);
        show(&format!("bully of {len}"), &bed);
    }
}

fn d_clone(d: &Device) -> Device {
    let mut n = device();
    n.per_kib_ns = d.per_kib_ns;
    n
}

/// A victim that asks for 5 000/s of its floor of 20 000: 40 slow users.
#[test]
fn demand() {
    let mut bed = Bed::new(device(), vec![Client::new(1, 40).think(8 * MS), Client::new(2, 512)]);
    bed.flat(1..3).edit(limit(1, floor(20_000)));
    bed.run(40 * SECOND);
    show("demand", &bed);
}

#[test]
fn back() {
    let mut bed = Bed::new(device(), vec![Client::new(1, 16), Client::new(2, 8), Client::new(3, 512)]);
    bed.flat(1..4).edit(limit(1, floor(30_000))).edit(limit(2, floor(15_000)));
    bed.service_changes.push_back((5 * SECOND, 300_000));
    bed.service_changes.push_back((12 * SECOND, 100_000));
    bed.run(20 * SECOND);
    show("back", &bed);
}

/// Two protected at 75 000, bully from 75 000 to 150 000 on 225 000 - 300 000.
#[test]
fn ramp() {
    let mut d = Device::new(25, 100_000);
    d.jitter_percent = 20;
    let clients = vec![
        Client::new(1, 16),
        Client::new(2, 16),
        Client::new(3, 16),
        Client::new(3, 16).between(4 * SECOND, u64::MAX),
        Client::new(3, 64).between(8 * SECOND, u64::MAX),
    ];
    let mut bed = Bed::new(d, clients);
    bed.flat(1..4).edit(limit(1, floor(75_000))).edit(limit(2, floor(75_000)));
    bed.run(12 * SECOND);
    show("ramp", &bed);
}

#[test]
fn stalls() {
    let mut d = device();
    d.stall = Some((700 * MS, 40 * MS));
    let mut bed = Bed::new(d, vec![Client::new(1, 4), Client::new(2, 512)]);
    bed.flat(1..3).edit(limit(1, floor(15_000)));
    bed.run(10 * SECOND);
    show("stalls", &bed);
}

#[test]
fn tail() {
    let mut d = device();
    d.tail = 30;
    let mut bed = Bed::new(d, vec![Client::new(1, 8), Client::new(2, 512)]);
    bed.flat(1..3).edit(limit(1, floor(15_000)));
    bed.run(10 * SECOND);
    show("tail", &bed);
}
