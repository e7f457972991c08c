//! A ramp as the results database keeps runs: each of its runs is a phase.

use block::Span;
use ramp::{BLOCK, Cycle, RunOutcome};
use stats::{Counts, CycleRecord, Interval, Machine, Origin, Phase, Recording, Summary, Tally, WorkloadRecord};

/// A ramp's runs, in order, as one recording.
pub fn recording(origin: Origin, machine: Machine, system: &str, folders: &str, runs: &[RunOutcome]) -> Recording {
    let mut recording = Recording { origin, machine, ..Recording::default() };
    let mut workload = WorkloadRecord {
        name: "ramp".into(),
        host: system.into(),
        object: folders.into(),
        ..WorkloadRecord::default()
    };
    let mut start = Span::ZERO;
    for (number, run) in runs.iter().enumerate() {
        let end = start + run.elapsed;
        recording.phases.push(Phase {
            name: format!("{} IOPS", run.target),
            about: format!("reads and write cycles of {} IOPS in all", run.target),
            start,
            end,
            ..Phase::default()
        });
        workload.tallies.push(tally(run));
        workload.intervals.extend(intervals(run, start));
        workload.cycles.extend(run.cycles.iter().map(|cycle| kept(cycle, number)));
        start = end;
    }
    recording.workloads.push(workload);
    recording
}

fn kept(cycle: &Cycle, run: usize) -> CycleRecord {
    let Cycle { due, start, sleep, wij, write, cycle, blocks, .. } = *cycle;
    CycleRecord { phase: run as u32, due, start, sleep, wij, write, cycle, blocks }
}

fn counts(reads: u64, writes: u64) -> Counts {
    Counts { reads, writes, read_bytes: reads * BLOCK, write_bytes: writes * BLOCK, ..Counts::default() }
}

fn tally(run: &RunOutcome) -> Tally {
    Tally {
        length: run.elapsed,
        counts: counts(run.reads, run.blocks),
        response: run.response.clone(),
        service: run.service.clone(),
        late: run.reads_missed,
        late_max: run.lateness.max(),
        ..Tally::default()
    }
}

fn intervals(run: &RunOutcome, start: Span) -> Vec<Interval> {
    let seconds = run.seconds.iter().enumerate();
    seconds
        .map(|(number, second)| Interval {
            start: start + Span::SECOND * number as u64,
            length: Span::SECOND,
            counts: counts(second.reads, second.writes),
            response: Summary {
                count: second.reads,
                mean: second.response / second.reads.max(1),
                ..Summary::default()
            },
            ..Interval::default()
        })
        .collect()
}
