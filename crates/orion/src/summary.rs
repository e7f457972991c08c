//! The summary: the command line and its meaning, the volumes, the best of all points, and
//! additions of ours.

use crate::best::Best;
use crate::grammar::{Array, Pattern};
use crate::histogram;
use crate::ladder::LoadPoint;
use crate::matrix::at;
use crate::point::{MeasuredPoint, micros};
use crate::test::Test;
use block::Span;
use report::text;
use stats::{Direction, Histogram};
use std::fmt::Write as _;

/// All of it.
pub fn text(test: &Test, points: &[MeasuredPoint]) -> String {
    let mut out = inputs(test);
    out += &volumes(test);
    out += &results(points);
    if let Some((_, spot)) = Best::of(points).latency
        && let Some((point, work)) = at(points, spot).and_then(|point| Some((point, point.small.as_ref()?)))
    {
        out += &histogram::table("Small", point, work);
    }
    out += &beyond(test, points);
    out
}

/// The command line, and the test that it means.
fn inputs(test: &Test) -> String {
    let (settings, load) = (&test.settings, &test.settings.load);
    let large = match load.pattern {
        Pattern::Random => "Large Random IOs".to_owned(),
        Pattern::Streams { depth } => format!("Large Sequential Streams of {depth} IOs"),
    };
    let array = match load.array {
        Array::Concat => "CONCAT".to_owned(),
        Array::Raid0 { stripe } => format!("RAID 0, Stripe Depth: {} KB", stripe >> 10),
    };
    let cache = load.warm.map_or("Not Entered".into(), |bytes| format!("{} MB", bytes >> 20));
    let list = |levels: &[u32]| levels.iter().map(|level| format!(",{level:>7}")).collect::<String>();
    // A run of single loads lists only the small ones of its second part, as the original does.
    let small = if test.grid.is_cross { list(&[0]) } else { list(&test.grid.small) };
    let mut out =
        format!("ORION VERSION 11.2 (Seawall {})\n\nCommandline:\n{}\n\n", test.version, settings.words.join(" "));
    let lines = [
        "This maps to this test:".to_owned(),
        format!("Test: {}", settings.test_name),
        format!("Small IO size: {} KB", load.small >> 10),
        format!("Large IO size: {} KB", load.large >> 10),
        format!("IO Types: Small Random IOs, {large}"),
        format!("Simulated Array Type: {array}"),
        format!("Write: {}%", load.write_percent),
        format!("Cache Size: {cache}"),
        format!("Duration for each Data Point: {} seconds", text::seconds(load.duration)),
        format!("Small Columns:{small}"),
        format!("Large Columns:{}", list(&test.grid.large)),
        format!("Total Data Points: {}", test.grid.total()),
    ];
    lines.iter().for_each(|line| out += &format!("{line}\n"));
    out
}

fn volumes(test: &Test) -> String {
    let line =
        |volume: &crate::OrionVolume| format!("Name: {}  Size: {}\n", text::printable(&volume.name), volume.size);
    let names: String = test.volumes.iter().map(line).collect();
    format!("\n{names}{} FILEs found.\n", test.volumes.len())
}

/// The best of all points, as in summary and console.
pub fn results(points: &[MeasuredPoint]) -> String {
    let best = Best::of(points);
    let mut out = String::new();
    if let Some((mbps, spot)) = best.mbps {
        let _ = writeln!(out, "\nMaximum Large MBPS={mbps:.2} @ {}", place(spot));
    }
    if let Some((iops, spot)) = best.iops {
        let _ = writeln!(out, "\nMaximum Small IOPS={iops:.0} @ {}", place(spot));
        out += &latencies(points, spot);
    }
    if let Some((latency, spot)) = best.latency {
        let _ = writeln!(out, "\nMinimum Small Latency={:.2} usecs @ {}", micros(latency), place(spot));
        out += &latencies(points, spot);
    }
    out
}

/// The response times of a point's small requests, for reads and writes.
fn latencies(points: &[MeasuredPoint], spot: LoadPoint) -> String {
    let Some(work) = at(points, spot).and_then(|point| point.small.as_ref()) else { return String::new() };
    let line = |(name, lat): (&str, &Histogram)| {
        let [avg, min, max] = [lat.mean(), lat.min(), lat.max()].map(micros);
        let deviation = lat.deviation() / 1e3;
        format!(
            "Small {name} Latency: avg={avg:.3} us, min={min:.3} us, max={max:.3} us, std dev={deviation:.3} us @ {}\n",
            place(spot)
        )
    };
    let both = [("Read", &work.tape[Direction::Read].response), ("Write", &work.tape[Direction::Write].response)];
    both.into_iter().filter(|(_, lat)| lat.count() > 0).map(line).collect()
}

fn place(spot: LoadPoint) -> String {
    format!("Small={} and Large={}", spot.small, spot.large)
}

/// Additions to the original's results: stamps, the best within limits, percentiles at the best,
/// and the proofs of the points.
pub fn beyond(test: &Test, points: &[MeasuredPoint]) -> String {
    let mut out = String::from("\nBeyond the original (MBPS are of 2^20 bytes a second):\n");
    let mut add = |line: &str| text::wrap(line, 78).iter().for_each(|line| out += &format!("{line}\n"));
    test.stamps().iter().for_each(|stamp| add(stamp));
    let limits = test.limits();
    let within = Best::within(points, limits);
    let all = Best::of(points);
    if all.iops.is_some() {
        let found = within.iops.map_or("none".into(), |(iops, spot)| format!("{iops:.0} @ {}", place(spot)));
        add(&format!("Maximum Small IOPS with 99 % within {} ms={found}", text::short(limits.small.as_millis_f64())));
    }
    if all.mbps.is_some() {
        let found = within.mbps.map_or("none".into(), |(mbps, spot)| format!("{mbps:.2} @ {}", place(spot)));
        add(&format!("Maximum Large MBPS with 99 % within {} ms={found}", text::short(limits.large.as_millis_f64())));
    }
    if let Some((_, spot)) = all.iops
        && let Some(lat) = at(points, spot).and_then(MeasuredPoint::small_lat)
    {
        let us = |part| format!("{:.1}", micros(lat.quantile(part)));
        let (p50, p95, p99, p999) = (us(0.5), us(0.95), us(0.99), us(0.999));
        add(&format!("At the maximum of IOPS: p50 {p50} us, p95 {p95}, p99 {p99}, p99.9 {p999}"));
    }
    let warmed = points.iter().filter_map(|point| point.warmed);
    let (bytes, took) = warmed.fold((0, Span::ZERO), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    if bytes > 0 {
        add(&format!("Cache warming moved {} in {}, not measured", block::Bytes(bytes), took));
    }
    for verdict in test.verdicts(points) {
        add(&format!("{}: {}: {}", verdict.outcome, verdict.question, verdict.because));
    }
    for point in points {
        if let Some(trouble) = point.trouble() {
            add(&format!("incomplete @ {}: {trouble}", place(point.spot)));
        }
    }
    if let Some(measured) = test.missing(points) {
        add(&measured);
    }
    out
}
