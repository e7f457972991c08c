//! Statistics of the host and of the devices under the storage, if known.

use super::Run;
use crate::chart::Stretch;
use crate::section::{Group, Host, HostFigures, Series, Table, TableCell, TableRow, Tables};
use crate::text;
use block::Span;
use stats::run::{CpuTimes, DeviceRow, HostRecord, HostRow, Moved, Stall};

/// The figures of a device.
const HEADINGS: [&str; 8] =
    ["busy", "queue", "read IOPS", "read MB/s", "read await", "write IOPS", "write MB/s", "write await"];

pub(super) fn host(runs: &[Run<'_>]) -> Host {
    Host {
        heading: "What the host did meanwhile".into(),
        lead: "In percent of the time: processors by kind of work, all of them together, what stands on what; devices with \
               requests in flight, of everybody; and for how much of the time some task waited for want of something."
            .into(),
        hosts: runs.iter().map(of_run).collect(),
    }
}

/// Activity of the devices in each phase, as means; `None` if not known.
pub(super) fn devices(runs: &[Run<'_>]) -> Option<Tables> {
    let table = |run: &Run<'_>| {
        let phases = run.recording.phases.iter().enumerate();
        let alone = run.recording.phases.len() == 1;
        let group = |(number, phase): (usize, &stats::Phase)| {
            // A single phase is the whole run, of which all is counted.
            let (from, to) = if alone { (Span::ZERO, Span::from_nanos(u64::MAX)) } else { (phase.start, phase.end) };
            let row = |device: &stats::run::DeviceSeries| {
                Some(TableRow {
                    name: device.name.clone(),
                    remarks: Vec::new(),
                    cells: cells(&device.between(from, to)?),
                })
            };
            Group {
                name: run.phase(number),
                remarks: Vec::new(),
                rows: run.recording.host.devices.iter().filter_map(row).collect(),
            }
        };
        let groups: Vec<Group> = phases.map(group).filter(|group| !group.rows.is_empty()).collect();
        let columns = ["Device"].into_iter().chain(HEADINGS).map(String::from).collect();
        Table { caption: run.name.clone(), columns, groups, words: false }
    };
    let tables: Vec<Table> = runs.iter().map(table).filter(|table| !table.groups.is_empty()).collect();
    (!tables.is_empty()).then(|| Tables {
        heading: "The devices".into(),
        lead: "What the kernel counted for the devices under the storage, of everybody who used them: how much of the time \
               they had requests in flight, how many on average, and how long one took on average, in ms."
            .into(),
        tables,
        note: String::new(),
    })
}

fn cells(row: &DeviceRow) -> Vec<TableCell> {
    let known = |figure: Option<String>| figure.unwrap_or_else(|| "–".into());
    let per_second = |count: u64| count as f64 / row.length.as_secs_f64().max(1e-9);
    let moved = |moved: &Moved| {
        [
            text::iops(per_second(moved.count)),
            text::megabytes(per_second(moved.bytes.0)),
            known(moved.mean().map(text::millis)),
        ]
    };
    let used = [
        known(row.busy_part().map(|part| format!("{:.0} %", 100.0 * part))),
        known(row.queue().map(|queue| format!("{queue:.1}"))),
    ];
    used.into_iter().chain(moved(&row.reads)).chain(moved(&row.writes)).map(TableCell::from).collect()
}

fn of_run(run: &Run<'_>) -> HostFigures {
    let machine = &run.recording.machine.host;
    let name = if machine.is_empty() { run.headed("The host") } else { run.headed(machine) };
    host_figures(&run.recording.host, name)
}

/// The figures of a host for a section.
pub fn host_figures(recorded: &HostRecord, name: String) -> HostFigures {
    let series = |name: &str, of: &dyn Fn(&HostRow) -> Option<f64>| {
        let stretches: Vec<Stretch> = recorded.rows.iter().map(|row| stretch(row.start, row.length, of(row))).collect();
        let known = stretches.iter().any(|stretch| stretch.figure.is_some());
        known.then(|| Series { name: name.into(), stretches })
    };
    let cpu = |name: &str, of: fn(&CpuTimes) -> Span| {
        series(name, &|row: &HostRow| {
            let cpu = row.cpu?;
            percent(of(&cpu), cpu.total())
        })
    };
    let waited = |name: &str, of: fn(&HostRow) -> Option<Stall>| {
        series(name, &|row: &HostRow| percent(of(row)?.some, row.length))
    };
    let device = |device: &stats::run::DeviceSeries| Series {
        name: device.name.clone(),
        stretches: device
            .rows
            .iter()
            .map(|row| stretch(row.start, row.length, percent(row.busy, row.length)))
            .collect(),
    };
    HostFigures {
        name,
        processor: [
            cpu("user", |cpu| cpu.user + cpu.nice),
            cpu("system", |cpu| cpu.system + cpu.irq + cpu.softirq),
            cpu("steal", |cpu| cpu.steal),
            cpu("iowait", |cpu| cpu.iowait),
        ]
        .into_iter()
        .flatten()
        .collect(),
        devices: recorded.devices.iter().map(device).collect(),
        pressure: [
            waited("processors", |row| row.pressure.cpu),
            waited("I/O", |row| row.pressure.io),
            waited("memory", |row| row.pressure.memory),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}

fn stretch(start: Span, length: Span, figure: Option<f64>) -> Stretch {
    Stretch { from: start.as_secs_f64(), to: (start + length).as_secs_f64(), figure }
}

/// At most 100, because counters and clock are read one after the other.
fn percent(time: Span, whole: Span) -> Option<f64> {
    (whole > Span::ZERO).then(|| (100.0 * time.as_secs_f64() / whole.as_secs_f64()).min(100.0))
}
