//! The trace: the figures of every point, second by second.

use crate::point::{MeasuredPoint, directions, micros};
use crate::test::Test;
use block::Span;
use report::text::{self, significant};
use stats::TapeSlice;
use std::fmt::Write as _;

/// All points in order.
pub fn text(test: &Test, points: &[MeasuredPoint]) -> String {
    let mut out = format!("Trace of {}: every point by seconds; MBPS of 2^20 bytes.\n", test.stem());
    for (number, point) in (1..).zip(points) {
        let (small, large) = (point.spot.small, point.spot.large);
        let _ = writeln!(out, "\nPoint {number}: Small={small} and Large={large}");
        let _ = writeln!(
            out,
            "  began {} s after the test, took {} s",
            text::seconds(point.start),
            text::seconds(point.elapsed)
        );
        if let Some((bytes, took)) = point.warmed {
            let _ = writeln!(out, "  cache warming: {} in {took}", block::Bytes(bytes));
        }
        for (name, work) in point.works() {
            for (direction, done) in directions(work) {
                let _ = writeln!(out, "  {name} {direction}: {} requests, {}", done.ops, block::Bytes(done.bytes));
                let _ = writeln!(out, "{:>12}{:>14}{:>14}{:>14}", "second", "IOPS", "MBPS", "mean us");
                seconds(done.full_slices()).iter().for_each(|second| out += &row(second));
            }
        }
        for disk in point.disks.iter().flatten() {
            let [read, written] = disk.sectors.map(|sectors| block::Bytes(sectors * 512));
            let busy = disk.busy.as_secs_f64() / disk.over.as_secs_f64().max(1e-9) * 100.0;
            let _ = writeln!(out, "  {}: {read} read, {written} written, busy {:.0} %", disk.name, busy.min(100.0));
        }
        for proof in test.proofs(std::slice::from_ref(point)) {
            text::wrap(&format!("{}: {}", proof.outcome, proof.because), 76).iter().for_each(|line| {
                let _ = writeln!(out, "  {line}");
            });
        }
        if let Some(trouble) = point.trouble() {
            let _ = writeln!(out, "  incomplete: {trouble}");
        }
    }
    out
}

fn row(second: &TapeSlice) -> String {
    let length = second.length.as_secs_f64().max(1e-9);
    let mean = second
        .response_sum
        .as_nanos()
        .checked_div(second.ops)
        .map_or("-".into(), |mean| significant(micros(Span::from_nanos(mean))));
    let (iops, mbps) = (second.ops as f64 / length, second.bytes as f64 / 1_048_576.0 / length);
    format!("{:>12.1}{:>14.0}{mbps:>14.2}{mean:>14}\n", second.end.as_secs_f64(), iops)
}

/// Combines slices into seconds.
fn seconds<'s>(slices: impl Iterator<Item = &'s TapeSlice>) -> Vec<TapeSlice> {
    let mut seconds: Vec<TapeSlice> = Vec::new();
    for slice in slices {
        match seconds.last_mut() {
            Some(last) if last.length + slice.length <= Span::SECOND => {
                last.end = slice.end;
                last.length += slice.length;
                last.ops += slice.ops;
                last.bytes += slice.bytes;
                last.response_sum += slice.response_sum;
            }
            _ => seconds.push(*slice),
        }
    }
    seconds
}
