//! fio's logs over time: `<prefix>_bw.1.log` and similar ones, with one row per request or
//! interval.
//!
//! Columns: milliseconds, value, direction (0 read, 1 write, 2 trim), block size, then the offset
//! if requested, then priority. Bandwidth is in KiB/s over an interval and, as in fio, in thousands
//! of bytes per second for single requests. Latencies are in nanoseconds. An interval without
//! requests of a direction has no row. As in fio, an incomplete last interval has a row only in
//! latency logs, and `_slat` is empty if nothing is submitted separately.

use super::{Moment, Report, aggregate, histogram_log, iolog};
use crate::job::Job;
use crate::options::LogOptions;
use block::Span;
use stats::job::{JobOutcome, LogRow};
use stats::{Direction, TapeSlice, Track};
use std::fmt::Write as _;

/// A log file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Its path as fio names it.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl Report<'_> {
    /// The log files that the jobs request. `started` is when the run began, for `log_unix_epoch`.
    pub fn logs(&self, started: Moment) -> Vec<LogFile> {
        let mut files: Vec<LogFile> = Vec::new();
        for (index, (job, outcome)) in self.invocation.jobs.iter().zip(self.outcomes).enumerate() {
            for (path, text) in of_job(job, outcome, index + 1, started) {
                // Without per_job_logs, all jobs with the same prefix write to the same file.
                match files.iter_mut().find(|file| file.path == path) {
                    Some(file) => file.text.push_str(&text),
                    None => files.push(LogFile { path, text }),
                }
            }
            files.extend(iolog::recording(job, outcome));
            if let Some(verify) = outcome.verify.as_ref().filter(|_| job.options.data.state_save) {
                files.push(LogFile { path: job.state_path(&self.invocation.flags), text: job.state(verify) });
            }
        }
        if self.invocation.flags.bandwidth_log {
            files.extend(aggregate::files(self));
        }
        files
    }
}

/// The figure of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bw,
    Iops,
    Slat,
    Clat,
    Lat,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Bw => "bw",
            Kind::Iops => "iops",
            Kind::Slat => "slat",
            Kind::Clat => "clat",
            Kind::Lat => "lat",
        }
    }

    fn is_latency(self) -> bool {
        matches!(self, Kind::Slat | Kind::Clat | Kind::Lat)
    }

    /// Whether a direction has this figure.
    fn has_figure(self, figures: &Track) -> bool {
        self != Kind::Slat || figures.submission.count() > 0
    }

    fn of_request(self, row: &LogRow) -> u64 {
        match self {
            // Bytes per millisecond.
            Kind::Bw => (u128::from(row.len) * 1_000_000 / u128::from(row.clat.as_nanos().max(1))) as u64,
            Kind::Iops => 1,
            Kind::Slat => row.slat.as_nanos(),
            Kind::Clat => row.clat.as_nanos(),
            Kind::Lat => row.lat.as_nanos(),
        }
    }

    /// The longest latency of a slice; for other figures, the figure itself.
    fn longest_of(self, slice: &TapeSlice) -> u64 {
        match self {
            Kind::Slat => slice.longest.submission.as_nanos(),
            Kind::Clat => slice.longest.service.as_nanos(),
            Kind::Lat => slice.longest.response.as_nanos(),
            Kind::Bw | Kind::Iops => self.of_slice(slice),
        }
    }

    fn of_slice(self, slice: &TapeSlice) -> u64 {
        let seconds = slice.length.as_secs_f64();
        let mean = |sum: Span| sum.as_nanos() / slice.ops.max(1);
        match self {
            Kind::Bw => (slice.bytes as f64 / 1024.0 / seconds).round() as u64,
            Kind::Iops => (slice.ops as f64 / seconds).round() as u64,
            Kind::Slat => mean(slice.submission_sum),
            Kind::Clat => mean(slice.service_sum),
            Kind::Lat => mean(slice.response_sum),
        }
    }
}

/// Path and text of each log of a job; `number` counts jobs from 1.
fn of_job(job: &Job, outcome: &JobOutcome, number: usize, started: Moment) -> Vec<(String, String)> {
    let logs = &job.options.report.logs;
    let beginning = |given: &Option<String>| {
        given.as_ref().map(|given| if given.is_empty() { job.name.clone() } else { given.clone() })
    };
    let path = |beginning: &str, kind: &str| match logs.per_job {
        true => format!("{beginning}_{kind}.{number}.log"),
        false => format!("{beginning}_{kind}.log"),
    };
    // Times count from the start of the job's measuring, or from 1970.
    let ahead_ms = if logs.unix_epoch { started.unix_ms + outcome.start.as_nanos() / 1_000_000 } else { 0 };
    let prio = job.io_priority().unwrap_or(0);
    let mut found = Vec::new();
    let wanted =
        [(&logs.bw, &[Kind::Bw][..]), (&logs.iops, &[Kind::Iops]), (&logs.lat, &[Kind::Slat, Kind::Clat, Kind::Lat])];
    let report = &job.options.report;
    // As in fio, a figure that is left out of the report has no log.
    let is_left_out = |kind: &Kind| match kind {
        Kind::Slat => report.no_slat,
        Kind::Clat => report.no_clat,
        Kind::Lat => report.no_lat,
        Kind::Bw | Kind::Iops => false,
    };
    for (given, kinds) in wanted {
        let Some(beginning) = beginning(given) else { continue };
        let text = |kind| {
            if logs.average > Span::ZERO {
                averages(outcome, kind, logs, ahead_ms, prio)
            } else {
                requests(outcome, kind, logs, ahead_ms, prio)
            }
        };
        found.extend(
            kinds.iter().filter(|kind| !is_left_out(kind)).map(|kind| (path(&beginning, kind.name()), text(*kind))),
        );
    }
    if let Some(beginning) = beginning(&logs.hist) {
        let text = histogram_log::text(&outcome.histogram_log, logs.coarseness, ahead_ms);
        found.push((path(&beginning, "clat_hist"), text));
    }
    found
}

fn requests(outcome: &JobOutcome, kind: Kind, logs: &LogOptions, ahead_ms: u64, prio: u16) -> String {
    let mut text = String::new();
    for row in outcome.log.iter().filter(|row| kind.has_figure(&outcome.tape[row.direction])) {
        let end = ahead_ms + row.end.as_nanos() / 1_000_000;
        let columns = Row { end, value: kind.of_request(row), direction: row.direction, block: row.len, at: row.at };
        columns.append(&mut text, logs, prio);
    }
    text
}

fn averages(outcome: &JobOutcome, kind: Kind, logs: &LogOptions, ahead_ms: u64, prio: u16) -> String {
    let mut rows: Vec<(Span, Direction, &TapeSlice)> = Vec::new();
    for (direction, figures) in outcome.tape.directions() {
        let with_requests = figures.slices.iter().filter(|slice| slice.ops > 0 && kind.has_figure(figures));
        let whole = with_requests.filter(|slice| kind.is_latency() || slice.length >= logs.average);
        rows.extend(whole.map(|slice| (slice.end, direction, slice)));
    }
    rows.sort_by_key(|(end, direction, _)| (*end, *direction));
    let mut text = String::new();
    for (end, direction, slice) in rows {
        let end = ahead_ms + end.as_nanos() / 1_000_000;
        Row {
            end,
            value: if logs.max_value { kind.longest_of(slice) } else { kind.of_slice(slice) },
            direction,
            block: 0,
            at: 0,
        }
        .append(&mut text, logs, prio);
    }
    text
}

struct Row {
    end: u64,
    value: u64,
    direction: Direction,
    block: u32,
    at: u64,
}

impl Row {
    /// Writing into a string cannot fail.
    fn append(&self, text: &mut String, logs: &LogOptions, prio: u16) {
        let Row { end, value, block, at, .. } = self;
        let direction = direction_number(self.direction);
        let _ = write!(text, "{end}, {value}, {direction}, {block}");
        if logs.offset {
            let _ = write!(text, ", {at}");
        }
        let _ = match logs.prio {
            true => writeln!(text, ", {prio:#06x}"),
            // fio then writes only whether the class is real time.
            false => writeln!(text, ", {}", u8::from(prio >> 13 == 1)),
        };
    }
}

/// fio's number for a direction.
pub(super) fn direction_number(direction: Direction) -> u8 {
    match direction {
        Direction::Read => 0,
        Direction::Write => 1,
        Direction::Trim => 2,
    }
}
