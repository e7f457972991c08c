//! Tables of every phase and workload, and of the commands of a scaled run.

use super::{Run, figures};
use crate::relation::{self, Ceiling};
use crate::section::{Group, Table, TableCell, TableRow, Tables, Tone};
use crate::{text, words};
use block::Bytes;
use stats::run::PartitionRecord;
use stats::{Phase, Recording, Tally, WorkloadRecord};

/// Columns of a workload in a phase, after the rate of operations.
const HEADINGS: [&str; 8] =
    [words::MEGABYTES, words::MEAN, words::P50, words::P99, words::P999, words::LONGEST, words::IN_QOS, words::IN_DISK];

pub(super) fn figures(runs: &[Run<'_>]) -> Tables {
    let table = |run: &Run<'_>| {
        let ceilings = relation::ceilings(run.recording);
        let headings = [run.recording.origin.rate_unit()].into_iter().chain(HEADINGS);
        let columns = ["Workload"].into_iter().chain(headings).map(String::from).collect();
        let groups = (0..run.recording.phases.len()).map(|index| group(run, index, &ceilings)).collect();
        Table { caption: run.name.clone(), columns, groups, words: false }
    };
    Tables {
        heading: "The figures".into(),
        lead: "Every phase and workload. Response times in ms from due to end; the wait in QoS and the time in the disk are \
               means in ms."
            .into(),
        tables: runs.iter().map(table).collect(),
        note: String::new(),
    }
}

fn group(run: &Run<'_>, index: usize, ceilings: &[Ceiling<'_>]) -> Group {
    let recording = run.recording;
    let row = |workload: &WorkloadRecord| {
        let mut row = row(recording, workload, workload.tallies.get(index)?);
        row.remarks.extend(relation::floor_remark(recording, workload, index));
        Some(row)
    };
    let shared = ceilings.iter().filter(|ceiling| ceiling.phase == index && ceiling.shared);
    let together = shared.map(|ceiling| {
        // The sum of the workloads under a shared ceiling.
        let (iops, bytes) = ceiling.together(recording);
        let mut cells: Vec<TableCell> = vec![text::iops(iops).into(), text::megabytes(bytes).into()];
        cells.resize(1 + HEADINGS.len(), TableCell::default());
        TableRow {
            name: format!("{} together", relation::listed(&ceiling.volumes, " and ")),
            remarks: Vec::new(),
            cells,
        }
    });
    Group {
        name: run.phase(index),
        remarks: relation::limits_in_force(recording, ceilings, index),
        rows: recording.workloads.iter().filter_map(row).chain(together).collect(),
    }
}

fn row(recording: &Recording, workload: &WorkloadRecord, tally: &Tally) -> TableRow {
    let is_service = tally.response.count() == 0 && tally.service.count() > 0;
    let response = if is_service { &tally.service } else { &tally.response }.summary();
    let times = [response.mean, response.p50, response.p99, response.p999, response.max];
    let said = |span| if response.count == 0 { "–".into() } else { text::millis(span) };
    let mut cells: Vec<TableCell> = relation::rates(recording, workload, tally).map(TableCell::from).to_vec();
    cells.extend(times.map(said).map(TableCell::from));
    cells.extend([&tally.queued, &tally.device].map(|histogram| TableCell::from(text::mean_or_dash(histogram))));
    let service = is_service.then(|| "times from hand-over to end, as response times are not known".to_owned());
    let remarks = service.into_iter().chain(relation::remarks(tally)).collect();
    TableRow { name: figures::label(workload), remarks, cells }
}

/// Activity of the partitions of the server's cache; `None` if no run had one.
pub(super) fn partitions(runs: &[Run<'_>]) -> Option<Tables> {
    let row = |done: &PartitionRecord| {
        let share = done.asked.share().map_or("–".into(), text::percent);
        let counts = [done.asked.found, done.asked.missed, done.evicted].map(text::thousands);
        let sizes = [done.size, done.resident].map(|bytes| Bytes(bytes).to_string());
        let cells = sizes.into_iter().chain([share]).chain(counts).map(TableCell::from).collect();
        TableRow { name: done.name.clone(), remarks: Vec::new(), cells }
    };
    let group = |run: &Run<'_>, index: usize| Group {
        name: run.phase(index),
        remarks: Vec::new(),
        rows: run.recording.partitions.iter().filter(|done| done.point as usize == index).map(row).collect(),
    };
    let columns = ["Partition", "Size", "Held at its end", "Found, %", "Found", "Missed", "Evicted"];
    let table = |run: &Run<'_>| Table {
        caption: run.name.clone(),
        columns: columns.map(String::from).to_vec(),
        groups: (0..run.recording.phases.len()).map(|index| group(run, index)).collect(),
        words: false,
    };
    let tables: Vec<Table> = runs.iter().filter(|run| !run.recording.partitions.is_empty()).map(table).collect();
    (!tables.is_empty()).then(|| Tables {
        heading: "The cache by partition".into(),
        lead: "What each partition might hold and held at the end of a phase, and what its reads found there; counts are pages."
            .into(),
        tables,
        note: String::new(),
    })
}

/// The commands of each phase as published and as run; if one has more lines, the other is empty.
pub(super) fn commands(run: &Run<'_>) -> Tables {
    let line =
        |lines: &[String], at: usize| TableCell { says: lines.get(at).cloned().unwrap_or_default(), tone: Tone::Code };
    let rows = |(index, phase): (usize, &Phase)| {
        let count = phase.commands.len().max(phase.commands_published.len());
        let name = run.phase(index);
        let row = |at| {
            let cells = vec![line(&phase.commands, at), line(&phase.commands_published, at)];
            TableRow { name: name.clone(), remarks: Vec::new(), cells }
        };
        (0..count).map(row).collect::<Vec<_>>()
    };
    let rows = run.recording.phases.iter().enumerate().flat_map(rows).collect();
    let columns = ["Phase", "As run on this machine", "As published"].map(String::from).to_vec();
    let groups = vec![Group { rows, ..Group::default() }];
    let scale = text::scale(run.recording.scale).unwrap_or_default();
    Tables {
        heading: run.headed("The commands, as run and as published"),
        lead: format!("{scale}."),
        tables: vec![Table { columns, groups, words: true, ..Table::default() }],
        note: String::new(),
    }
}
