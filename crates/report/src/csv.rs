//! Per-second figures as CSV (RFC 4180, UTF-8, with a header line): a row for every second and
//! workload, ordered by time and then in the plan's order. [`COLUMNS`] describes the columns.

use crate::relation;
use ::csv::{Terminator, WriterBuilder};
use block::Span;
use stats::run::Times;
use stats::{Interval, Recording, Waits, WorkloadRecord};
use std::io::{self, Write};

/// A column: its name in the header line, and its description.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds, with its unit.
    pub about: &'static str,
    value: fn(&Line<'_>) -> String,
}

/// The data of a row.
struct Line<'r> {
    recording: &'r Recording,
    workload: &'r WorkloadRecord,
    interval: &'r Interval,
    /// Whether a QoS gate told what it did; without one its columns are empty.
    gated: bool,
}

const fn column(name: &'static str, about: &'static str, value: fn(&Line<'_>) -> String) -> Column {
    Column { name, about, value }
}

/// All columns, from left to right.
///
/// Response time counts from when a request was due, service time from when it was handed over,
/// both to its end. Waits are means over the requests of the second, from the server. Where several
/// workloads use a LUN, service times and waits of each are not known, and empty. Without a QoS
/// gate all that it would tell is empty.
pub const COLUMNS: [Column; 28] = [
    column("second", "start of the interval, in seconds from the start of the first phase", |line| {
        decimal(line.interval.start.as_secs_f64())
    }),
    column("phase", "name of the phase; empty between phases", |line| {
        let phases = &line.recording.phases;
        relation::phase_of(phases, line.interval).map_or(String::new(), |phase| phases[phase].name.clone())
    }),
    column("workload", "name of the workload in the plan", |line| line.workload.name.clone()),
    column("host", "host the workload stands for", |line| line.workload.host.clone()),
    column("object", "path of the storage object it uses", |line| line.workload.object.clone()),
    column("iops", "operations per second", |line| decimal(line.interval.iops())),
    column("mb_per_s", "throughput in 10^6 bytes per second", |line| decimal(line.interval.bytes_per_second() / 1e6)),
    column("reads", "reads that ended in the interval", |line| line.interval.counts.reads.to_string()),
    column("writes", "writes that ended in the interval", |line| line.interval.counts.writes.to_string()),
    column("other", "other operations that ended in the interval", |line| line.interval.counts.other.to_string()),
    column("faults", "operations that failed", |line| line.interval.counts.faults.to_string()),
    column("response_mean_ms", "mean response time in ms", |line| {
        known(line.interval.response, |times| Some(times.mean))
    }),
    column("response_p50_ms", "median response time in ms", |line| known(line.interval.response, Times::p50)),
    column("response_p99_ms", "99th percentile of the response time in ms", |line| {
        known(line.interval.response, Times::p99)
    }),
    column("response_p999_ms", "99.9th percentile of the response time in ms", |line| {
        known(line.interval.response, Times::p999)
    }),
    column("response_max_ms", "longest response time in ms", |line| known(line.interval.response, |times| times.max)),
    column("service_mean_ms", "mean service time in ms", |line| known(line.interval.service, |times| Some(times.mean))),
    column("service_p99_ms", "99th percentile of the service time in ms", |line| {
        known(line.interval.service, Times::p99)
    }),
    column("wait_ceiling_ms", "mean wait in ms, held by a ceiling", |line| waited(line, |waits| waits.ceiling)),
    column("wait_floors_ms", "mean wait in ms, for the floors of others", |line| waited(line, |waits| waits.floors)),
    column("wait_turn_ms", "mean wait in ms, for its turn or for the device to take more", |line| {
        waited(line, |waits| waits.turn)
    }),
    column("device_ms", "mean time in the device in ms", |line| waited(line, |waits| waits.device)),
    column("outstanding", "requests outstanding at the end of the interval", |line| {
        line.interval.outstanding.map_or(String::new(), |number| number.to_string())
    }),
    column("length_s", "length of the interval in seconds; the last one of a run may be shorter", |line| {
        decimal(line.interval.length.as_secs_f64())
    }),
    column(
        "held_by",
        "what held it back: nothing, ceiling_iops, ceiling_throughput, shared_iops, shared_throughput, floors, disk, \
         cpu, depth, pace, stalled, link, flow or burst",
        |line| told(line, |interval| interval.held_by.key().into()),
    ),
    column("held_at", "the object or shared policy group whose ceiling that was; empty where it was none", |line| {
        relation::held_at(line.recording, line.interval).unwrap_or_default().into()
    }),
    column(
        "floor",
        "how the floor fared that it is under: not_set, met, needs_outstanding, overcommitted, ceiling_above, \
         link_above, away_from_server, takes_at_best, not_helped or adjusting",
        |line| told(line, |interval| interval.floor.key().0.into()),
    ),
    column(
        "floor_number",
        "requests outstanding that the floor needs, thousandths of all floors that are held, or nanoseconds that its \
         requests take at best; empty otherwise",
        |line| line.interval.floor.key().1.map_or(String::new(), |number| number.to_string()),
    ),
];

/// Writes the header and all rows.
///
/// # Errors
/// Those of `out`.
pub fn write(recording: &Recording, out: impl Write) -> io::Result<()> {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    writer.write_record(COLUMNS.map(|column| column.name))?;
    let gated = !recording.objects.is_empty() || relation::has_gate(recording);
    let mut lines: Vec<Line<'_>> = Vec::new();
    for workload in &recording.workloads {
        lines.extend(workload.intervals.iter().map(|interval| Line { recording, workload, interval, gated }));
    }
    // A stable sort keeps workloads of the same second in the plan's order.
    lines.sort_by_key(|line| line.interval.start);
    for line in &lines {
        writer.write_record(COLUMNS.map(|column| (column.value)(line)))?;
    }
    writer.flush()
}

/// The columns of [`write_cycles`]; times are in seconds, from the phase's start, or lengths.
pub const CYCLE_COLUMNS: [&str; 11] =
    ["phase", "workload", "host", "cycle", "due_s", "start_s", "sleep_s", "wij_s", "write_s", "cycle_s", "blocks"];

/// Writes the write cycles of all workloads, a row each, workload by workload. `cycle` counts from
/// 1 in each phase.
///
/// # Errors
/// Those of `out`.
pub fn write_cycles(recording: &Recording, out: impl Write) -> io::Result<()> {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    writer.write_record(CYCLE_COLUMNS)?;
    for workload in &recording.workloads {
        let (mut phase, mut number) = (None, 0);
        for cycle in &workload.cycles {
            number = if phase == Some(cycle.phase) { number + 1 } else { 1 };
            phase = Some(cycle.phase);
            let name = recording.phases.get(cycle.phase as usize).map_or("", |phase| &phase.name);
            let spans = [cycle.due, cycle.start, cycle.sleep, cycle.wij, cycle.write, cycle.cycle];
            let mut row = vec![name.to_owned(), workload.name.clone(), workload.host.clone(), number.to_string()];
            row.extend(spans.map(|span| trimmed(&format!("{:.6}", span.as_secs_f64()))));
            row.push(cycle.blocks.to_string());
            writer.write_record(&row)?;
        }
    }
    writer.flush()
}

/// At most three decimals, without trailing zeros.
fn decimal(number: f64) -> String {
    trimmed(&format!("{number:.3}"))
}

/// A time of a second in milliseconds; empty if not known.
fn known(times: Option<Times>, of: fn(&Times) -> Option<Span>) -> String {
    times.and_then(|times| of(&times)).map_or(String::new(), millis)
}

/// A wait in milliseconds; empty if not known.
fn waited(line: &Line<'_>, of: fn(&Waits) -> Span) -> String {
    let waits = relation::waits(line.interval).filter(|_| line.gated);
    waits.map_or(String::new(), |waits| millis(of(waits)))
}

/// What a gate told; empty without one.
fn told(line: &Line<'_>, of: fn(&Interval) -> String) -> String {
    if line.gated { of(line.interval) } else { String::new() }
}

/// Milliseconds, exact to the nanosecond.
fn millis(span: Span) -> String {
    let ns = span.as_nanos();
    trimmed(&format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000))
}

fn trimmed(number: &str) -> String {
    number.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{CycleRecord, Phase};

    #[test]
    fn numbers_have_no_empty_decimals_and_lose_no_nanosecond() {
        assert_eq!([5000.0, 0.0, 0.5, 1e6].map(decimal), ["5000", "0", "0.5", "1000000"]);
        assert_eq!(
            [0, 1, 73_100_000, 5_000_000_000].map(|ns| millis(Span::from_nanos(ns))),
            ["0", "0.000001", "73.1", "5000"]
        );
    }

    /// Cycles are counted anew in each phase.
    #[test]
    fn cycles_are_rows_of_their_phase() {
        let cycle = |phase, due| CycleRecord { phase, due: Span::from_secs(due), blocks: 7, ..CycleRecord::default() };
        let cycles = vec![cycle(0, 80), cycle(0, 160), cycle(1, 80)];
        let workload = WorkloadRecord { name: "w".into(), host: "h".into(), cycles, ..WorkloadRecord::default() };
        let phase = |name: &str| Phase { name: name.into(), ..Phase::default() };
        let recording =
            Recording { phases: vec![phase("a"), phase("b")], workloads: vec![workload], ..Recording::default() };
        let mut out = Vec::new();
        write_cycles(&recording, &mut out).unwrap();
        let wanted = format!(
            "{}\r\na,w,h,1,80,0,0,0,0,0,7\r\na,w,h,2,160,0,0,0,0,0,7\r\nb,w,h,1,80,0,0,0,0,0,7\r\n",
            CYCLE_COLUMNS.join(",")
        );
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }

    /// Without a gate nothing is known of what it would tell; with one a second in which nothing
    /// waited has zeros.
    #[test]
    fn what_no_gate_told_is_empty() {
        let interval = Interval { length: Span::SECOND, ..Interval::default() };
        let workload = WorkloadRecord { intervals: vec![interval], ..WorkloadRecord::default() };
        let mut recording = Recording { workloads: vec![workload], ..Recording::default() };
        let cells = |recording: &Recording| {
            let mut out = Vec::new();
            write(recording, &mut out).unwrap();
            let row: Vec<String> =
                String::from_utf8(out).unwrap().lines().nth(1).unwrap().split(',').map(String::from).collect();
            let cell = |name| row[COLUMNS.iter().position(|column| column.name == name).unwrap()].clone();
            ["wait_ceiling_ms", "wait_floors_ms", "wait_turn_ms", "device_ms", "held_by", "floor"].map(cell)
        };
        assert_eq!(cells(&recording), [""; 6]);
        recording.objects.push(stats::ObjectRecord::default());
        assert_eq!(cells(&recording), ["0", "0", "0", "0", "nothing", "not_set"]);
    }

    #[test]
    fn rows_go_by_time_and_cells_are_quoted_where_they_must_be() {
        let at = |s| Interval { start: Span::from_secs(s), length: Span::SECOND, ..Interval::default() };
        let workload = |name: &str| WorkloadRecord {
            name: name.into(),
            intervals: vec![at(0), at(1)],
            ..WorkloadRecord::default()
        };
        let phase = Phase { name: "one, \"two\"".into(), end: Span::SECOND, ..Phase::default() };
        let recording =
            Recording { phases: vec![phase], workloads: vec![workload("b"), workload("a")], ..Recording::default() };
        let mut out = Vec::new();
        write(&recording, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let starts =
            ["second,phase,workload,", "0,\"one, \"\"two\"\"\",b,", "0,\"one, \"\"two\"\"\",a,", "1,,b,", "1,,a,", ""];
        assert_eq!(text.matches("\r\n").count(), 5);
        for (line, start) in text.split("\r\n").zip(starts) {
            assert!(line.starts_with(start), "{line} should start with {start}");
        }
    }
}
