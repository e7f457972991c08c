//! The window second by second, with users, host and database side by side, as CSV.

use crate::evidence::{ConnectionState, ServerCounts};
use crate::ledger::Ledger;
use block::Span;
use stats::run::{DeviceRow, HostRecord};
use std::fmt::Write as _;

/// Columns of users and of the host.
const HEAD: &str = "second,done,failed,tpm,mean_ms,cpu_pct,iowait_pct,cpu_pressure_pct,io_pressure_pct,device,device_busy_pct,\
                    device_queue,device_await_ms,device_reads,device_writes,device_read_bytes,device_write_bytes";
/// Columns of a server; the last ones are how often connections were found in each state.
const SERVER: &str = "db_cpu_ms,db_read_bytes,db_hit_bytes,db_commits,db_rollbacks,db_wal_bytes,db_wal_syncs,\
                      db_checkpoints,db_written_bytes";

/// A line for each second of the window; unknown values are empty. The host's record covers the
/// window, which starts at `start` in it; the device is the busiest of the second.
pub fn seconds_csv(ledger: &Ledger, start: Span, host: &HostRecord, server: &[ServerCounts]) -> String {
    let found: Vec<String> = ConnectionState::ALL.iter().map(|at| format!("db_at_{}", at.name())).collect();
    let mut out = format!("{HEAD},{SERVER},{}\n", found.join(","));
    for (at, place) in ledger.measured_seconds().enumerate() {
        let second = &ledger.seconds()[place];
        let took: f64 = second.took.iter().map(|span| span.as_millis_f64()).sum();
        let mean = if second.done > 0 { format!("{:.3}", took / second.done as f64) } else { String::new() };
        let _ = write!(out, "{},{},{},{},{mean}", at + 1, second.done, second.failed, ledger.tpm(place));
        let from = start + Span::SECOND * at as u64;
        let cells = of_host(host, from).into_iter().chain(of_server(server.get(at)));
        cells.for_each(|cell| _ = write!(out, ",{cell}"));
        out.push('\n');
    }
    out
}

fn of_host(host: &HostRecord, from: Span) -> [String; 12] {
    let within = |at: Span| at >= from && at < from + Span::SECOND;
    let row = host.rows.iter().find(|row| within(row.start));
    let part = |part: Span, whole: Span| match whole > Span::ZERO {
        true => format!("{:.1}", 100.0 * part.as_secs_f64() / whole.as_secs_f64()),
        false => String::new(),
    };
    let cpu = row.and_then(|row| row.cpu);
    let used = cpu.map_or(String::new(), |cpu| part(cpu.total().saturating_sub(cpu.idle + cpu.iowait), cpu.total()));
    let waited = cpu.map_or(String::new(), |cpu| part(cpu.iowait, cpu.total()));
    let stall = |stall: Option<stats::run::Stall>| {
        row.zip(stall).map_or(String::new(), |(row, stall)| part(stall.some, row.length))
    };
    let pressure = row.map(|row| row.pressure).unwrap_or_default();
    let devices = host.devices.iter().filter_map(|device| {
        let row = device.rows.iter().find(|row| within(row.start))?;
        Some((device.name.as_str(), row))
    });
    let busiest = devices.max_by_key(|(_, row)| row.busy);
    let of = |cell: fn(&DeviceRow) -> String| busiest.map_or(String::new(), |(_, row)| cell(row));
    let number = |figure: Option<f64>| figure.map_or(String::new(), |figure| format!("{figure:.2}"));
    [
        used,
        waited,
        stall(pressure.cpu),
        stall(pressure.io),
        busiest.map_or(String::new(), |(name, _)| name.to_owned()),
        busiest.map_or(String::new(), |(_, row)| part(row.busy.min(row.length), row.length)),
        busiest.map_or(String::new(), |(_, row)| number(mean(row.in_queue, row.length))),
        busiest.map_or(String::new(), |(_, row)| number(awaited_ms(row))),
        of(|row| row.reads.count.to_string()),
        of(|row| row.writes.count.to_string()),
        of(|row| row.reads.bytes.0.to_string()),
        of(|row| row.writes.bytes.0.to_string()),
    ]
}

fn mean(sum: Span, over: Span) -> Option<f64> {
    (over > Span::ZERO).then(|| sum.as_secs_f64() / over.as_secs_f64())
}

/// The mean time of a request in milliseconds.
fn awaited_ms(row: &DeviceRow) -> Option<f64> {
    let requests = row.reads.count + row.writes.count;
    (requests > 0).then(|| (row.reads.took + row.writes.took).as_millis_f64() / requests as f64)
}

fn of_server(counts: Option<&ServerCounts>) -> [String; 15] {
    let Some(counts) = counts else { return Default::default() };
    let cpu = counts.cpu.map_or(String::new(), |cpu| format!("{:.0}", cpu.as_millis_f64()));
    let numbers = [
        Some(counts.read),
        Some(counts.hit),
        Some(counts.commits),
        Some(counts.rollbacks),
        Some(counts.wal),
        counts.wal_syncs,
        counts.checkpoints,
        Some(counts.written),
    ];
    let all = numbers.into_iter().chain(counts.found.map(Some));
    let text = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let mut cells = std::iter::once(cpu).chain(all.map(text));
    std::array::from_fn(|_| cells.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::played;
    use stats::run::{CpuTimes, DeviceSeries, HostRow, Moved};

    /// A host with half of its processors used and a device that was busy for 400 ms, in the first
    /// second only.
    #[test]
    fn a_second_is_a_line_and_what_is_unknown_is_empty() {
        let cpu = CpuTimes { user: Span::SECOND, idle: Span::SECOND, ..CpuTimes::default() };
        let start = Span::from_secs(7);
        let row = HostRow { start, length: Span::SECOND, cpu: Some(cpu), ..HostRow::default() };
        let reads = Moved { count: 4, bytes: block::Bytes(4096), took: Span::from_millis(8) };
        let busy = Span::from_millis(400);
        let device = DeviceRow { start, length: Span::SECOND, busy, in_queue: busy * 2, reads, ..DeviceRow::default() };
        let devices = vec![DeviceSeries { name: "sda".into(), rows: vec![device] }];
        let found = [1, 2, 3, 4, 5, 6];
        let server = ServerCounts { read: 5, wal_syncs: Some(9), found, ..ServerCounts::default() };
        let csv = seconds_csv(&played(|_| 8, 5), start, &HostRecord { rows: vec![row], devices }, &[server]);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 31);
        assert_eq!(lines[1], "1,8,0,480,5.000,50.0,0.0,,,sda,40.0,0.80,2.00,4,0,4096,0,,5,0,0,0,0,9,,0,1,2,3,4,5,6");
        assert!(lines[2].starts_with("2,8,0,480,5.000,,,") && lines[2].ends_with(",,,"), "{}", lines[2]);
        let columns = |line: &str| line.matches(',').count();
        assert!(lines.iter().all(|line| columns(line) == columns(lines[0])), "{csv}");
    }
}
