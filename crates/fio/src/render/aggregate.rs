//! `--bandwidth-log`: the total bandwidth of all jobs over the time of the run, one file for each
//! direction.
//!
//! Rows are those of a bandwidth log: milliseconds, KiB/s, direction, 0, 0. A job's slices begin
//! when its measuring began. The bytes of a slice that spans two rows are divided between them by
//! time. As in fio, an interval that the end of the run cuts short has no row.

use super::Report;
use super::log::{LogFile, direction_number};
use block::Span;
use stats::Direction;
use std::fmt::Write as _;

/// The time that one row covers, as in fio.
const ROW: Span = Span::from_millis(500);

/// Maximum number of rows in a file: nearly 14 hours. Later bytes are left out.
const ROWS_MAX: usize = 100_000;

/// The three files.
pub(super) fn files(report: &Report<'_>) -> Vec<LogFile> {
    Direction::ALL.map(|direction| file(report, direction)).into()
}

fn file(report: &Report<'_>, direction: Direction) -> LogFile {
    let mut rows: Vec<f64> = Vec::new();
    let mut end_of_run = Span::ZERO;
    for (job, outcome) in report.invocation.jobs.iter().zip(report.outcomes) {
        let began = outcome.start + job.options.course.ending.ramp;
        for slice in &outcome.tape[direction].slices {
            let end = began + slice.end;
            add(&mut rows, end.saturating_sub(slice.length), end, slice.bytes);
        }
        end_of_run = end_of_run.max(outcome.start + outcome.elapsed);
    }
    rows.truncate(whole_rows(end_of_run));
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

/// The number of rows that end within a run of this length.
fn whole_rows(run: Span) -> usize {
    (run.as_nanos() / ROW.as_nanos()) as usize
}

/// Adds bytes that were transferred from `start` to `end`.
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
    fn a_row_that_is_cut_short_is_left_out() {
        let ms = Span::from_millis;
        assert_eq!([ms(499), ms(500), ms(1720), ms(2000)].map(whole_rows), [0, 1, 3, 4]);
    }

    #[test]
    fn bytes_are_in_the_rows_of_their_time() {
        let mut rows = Vec::new();
        let ms = Span::from_millis;
        add(&mut rows, ms(0), ms(500), 100);
        // 100 ms of these are in the first row, 400 ms in the second.
        add(&mut rows, ms(400), ms(900), 1000);
        assert_eq!(rows, [300.0, 800.0]);
    }
}
