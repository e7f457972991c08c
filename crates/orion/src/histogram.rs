//! Histograms of response times as the original prints them: ranges that double from 32 µs on, the
//! empty ranges before the first and after the last filled one combined into one row each, and
//! cumulative percentages.

use crate::point::{MeasuredPoint, micros};
use stats::job::JobOutcome;
use stats::{Direction, Histogram};

/// The end of the first range, in microseconds, and of the last: 2^5 and 2^28.
const FIRST: u64 = 32;
const LAST: u64 = 1 << 28;

/// All histograms: small and large requests of each point.
pub fn text(points: &[MeasuredPoint]) -> String {
    let mut text = String::from("Response times of every point, in microseconds; percents are cumulative.\n");
    for point in points {
        for (name, work) in [("Small", &point.small), ("Large", &point.large)] {
            if let Some(work) = work {
                text.push('\n');
                text += &table(name, point, work);
            }
        }
    }
    text
}

/// One of them, with its title.
pub fn table(name: &str, point: &MeasuredPoint, work: &JobOutcome) -> String {
    let (small, large) = (point.spot.small, point.spot.large);
    let mut text = format!("{name} Read / Write Latency Histogram @ Small={small} and Large={large}\n");
    text += &format!("{:<27}{:>24}{:>24}\n", "      Latency:", "# of IOs (read)", "# of IOs (write)");
    let counts = counts(&work.tape[Direction::Read].response, &work.tape[Direction::Write].response);
    let all = counts.iter().fold([0, 0], |sum, counted| [sum[0] + counted[0], sum[1] + counted[1]]);
    let is_filled = |counted: &[u64; 2]| *counted != [0; 2];
    let first = counts.iter().position(is_filled).unwrap_or(0);
    let last = counts.iter().rposition(is_filled).unwrap_or(0);
    let mut so_far = [0; 2];
    let mut row = |from: u64, to: u64, counted: &[u64; 2]| {
        so_far = [so_far[0] + counted[0], so_far[1] + counted[1]];
        let cell = |side: usize| {
            let part = if all[side] > 0 { so_far[side] as f64 / all[side] as f64 * 100.0 } else { 0.0 };
            format!("{:>12} ({part:>6.2}%)", counted[side])
        };
        text += &format!("{from:>9} - {to:<9} us:  {}   {}\n", cell(0), cell(1));
    };
    if first > 0 {
        row(0, bounds(first).0, &[0; 2]);
    }
    for (range, counted) in counts.iter().enumerate().take(last + 1).skip(first) {
        let (from, to) = bounds(range);
        row(from, to, counted);
    }
    if bounds(last).1 < LAST {
        row(bounds(last).1, LAST, &[0; 2]);
    }
    text
}

/// The bounds of a range.
fn bounds(range: usize) -> (u64, u64) {
    (if range == 0 { 0 } else { FIRST << (range - 1) }, FIRST << range)
}

/// The number of reads and writes in each range; the last one includes everything above it.
fn counts(reads: &Histogram, writes: &Histogram) -> Vec<[u64; 2]> {
    let ranges = (LAST / FIRST).ilog2() as usize + 1;
    let mut counts = vec![[0; 2]; ranges];
    for (side, lat) in [reads, writes].into_iter().enumerate() {
        for (middle, count) in lat.bins() {
            let range = (0..ranges).find(|range| micros(middle) < bounds(*range).1 as f64).unwrap_or(ranges - 1);
            counts[range][side] += count;
        }
    }
    counts
}
