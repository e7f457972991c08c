//! Host statistics of a run in a few lines, as means over the run.

use crate::text;
use stats::run::{DeviceRow, HostRecord, HostRow, MemoryUse, Moved, Stall};

/// A line each for processors, pressure, memory, and every device, as far as they are known.
pub fn host_lines(host: &HostRecord) -> Vec<String> {
    let mut lines: Vec<String> = HostRow::sum(&host.rows).iter().flat_map(host_figures).collect();
    for device in &host.devices {
        lines.extend(
            DeviceRow::sum(&device.rows).map(|row| format!("device {}: {}", device.name, device_figures(&row))),
        );
    }
    lines
}

fn host_figures(row: &HostRow) -> Vec<String> {
    let processors = row.cpu.filter(|cpu| cpu.total().as_nanos() > 0).map(|cpu| {
        let part = |(kind, time): (&str, block::Span)| {
            let part = 100.0 * time.as_secs_f64() / cpu.total().as_secs_f64();
            (part >= 0.5 || kind == "idle").then(|| format!("{kind} {part:.0} %"))
        };
        format!("processors: {}", cpu.kinds().into_iter().filter_map(part).collect::<Vec<_>>().join(", "))
    });
    let waited = |(what, stall): (&str, Option<Stall>)| {
        let part = 100.0 * stall?.some.as_secs_f64() / row.length.as_secs_f64().max(1e-9);
        Some(format!("{what} {:.0} %", part.min(100.0)))
    };
    let pressure = [("processors", row.pressure.cpu), ("I/O", row.pressure.io), ("memory", row.pressure.memory)];
    let pressure: Vec<String> = pressure.into_iter().filter_map(waited).collect();
    let pressure = (!pressure.is_empty()).then(|| format!("some task waited for: {}", pressure.join(", ")));
    let memory = row.memory.map(|MemoryUse { available, dirty, .. }| {
        format!("memory: {available} available at least, {dirty} dirty at most")
    });
    [processors, pressure, memory].into_iter().flatten().collect()
}

fn device_figures(row: &DeviceRow) -> String {
    let per_second = |count: u64| count as f64 / row.length.as_secs_f64().max(1e-9);
    let moved = |(what, moved): (&str, &Moved)| {
        let mean = moved.mean()?;
        let (iops, bytes) = (text::iops(per_second(moved.count)), text::megabytes(per_second(moved.bytes.0)));
        Some(format!("{what} {iops} IOPS, {bytes} MB/s, {} ms", text::millis(mean)))
    };
    let busy = row.busy_part().map(|part| format!("busy {:.0} %", 100.0 * part));
    let queue = row.queue().map(|queue| format!("queue {queue:.1}"));
    let used = [busy, queue].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let moved = [("reads", &row.reads), ("writes", &row.writes)].into_iter().filter_map(moved);
    std::iter::once(used).chain(moved).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Bytes, Span};
    use stats::run::{CpuTimes, DeviceSeries, Pressure};

    /// 16 ms of 8 reads over a second are a mean queue of 0.016 and 2 ms each; memory is not known.
    #[test]
    fn the_means_of_a_run_are_said_in_lines() {
        let ms = Span::from_millis;
        let row = HostRow {
            length: Span::SECOND,
            cpu: Some(CpuTimes { user: ms(500), iowait: ms(500), idle: ms(1000), ..CpuTimes::default() }),
            pressure: Pressure { io: Some(Stall { some: ms(250), full: ms(0) }), ..Pressure::default() },
            ..HostRow::default()
        };
        let device = DeviceRow {
            length: Span::SECOND,
            busy: ms(160),
            in_queue: ms(16),
            reads: Moved { count: 8, bytes: Bytes::kib(32), took: ms(16) },
            ..DeviceRow::default()
        };
        let devices = vec![DeviceSeries { name: "vda".into(), rows: vec![device; 2] }];
        let lines = host_lines(&HostRecord { rows: vec![row; 2], devices });
        let expected = [
            "processors: user 25 %, iowait 25 %, idle 50 %",
            "some task waited for: I/O 25 %",
            "device vda: busy 16 %, queue 0.0; reads 8.0 IOPS, 0.033 MB/s, 2.00 ms",
        ];
        assert_eq!(lines, expected);
        assert_eq!(host_lines(&HostRecord::default()), [""; 0]);
    }
}
