//! `--bandwidth-log`: the bandwidth of all jobs together over the time of the run, a file for each
//! direction.
//!
//! Rows are those of a bandwidth log: milliseconds, KiB a second, direction, 0, 0. A job's slices
//! begin when it began to be measured; the bytes of one that lies across two rows are divided
//! between them by time.

use super::Report;
use super::log::{LogFile, direction_number};
use block::Span;
use stats::Direction;
use std::fmt::Write as _;

/// Length of the time of a row: fio's, half a second.
const ROW: Span = Span::from_millis(500);

/// The most rows of a file: half a day and more, beyond which nothing is added.
const ROWS_MAX: usize = 100_000;

/// The three files.
pub(super) fn files(report: &Report<'_>) -> Vec<LogFile> {
    Direction::ALL.map(|direction| file(report, direction)).into()
}

fn file(report: &Report<'_>, direction: Direction) -> LogFile {
    let mut rows: Vec<f64> = Vec::new();
    for (job, outcome) in report.invocation.jobs.iter().zip(report.outcomes) {
        let began = outcome.start + job.options.course.ending.ramp;
        for slice in &outcome.tape[direction].slices {
            let end = began + slice.end;
            add(&mut rows, end.saturating_sub(slice.length), end, slice.bytes);
        }
    }
    let mut text = String::new();
    let number = direction_number(direction);
    for (index, bytes) in rows.iter().enumerate() {
        let end = (ROW * (index as u64 + 1)).as_nanos() / 1_000_000;
        let kib = (bytes / 1024.0 / ROW.as_secs_f64()).round();
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{end}, {kib}, {number}, 0, 0");
    }
    LogFile { path: format!("agg-{}_bw.log", direction.name()), text }
}

/// Adds bytes that were moved from `start` to `end`.
fn add(rows: &mut Vec<f64>, start: Span, end: Span, bytes: u64) {
    let (start, end, row) = (start.as_nanos(), end.as_nanos(), ROW.as_nanos());
    let whole = (end - start).max(1) as f64;
    let (first, last) = (start / row, end.saturating_sub(1).max(start) / row);
    for index in first..=last {
        let within = end.min((index + 1) * row).saturating_sub(start.max(index * row));
        let index = index as usize;
        if index >= ROWS_MAX {
            return;
        }
        if rows.len() <= index {
            rows.resize(index + 1, 0.0);
        }
        rows[index] += bytes as f64 * within as f64 / whole;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lie_in_the_rows_of_their_time() {
        let mut rows = Vec::new();
        let ms = Span::from_millis;
        add(&mut rows, ms(0), ms(500), 100);
        // 100 ms of it lie in the first row, 400 in the second.
        add(&mut rows, ms(400), ms(900), 1000);
        assert_eq!(rows, [300.0, 800.0]);
    }
}
