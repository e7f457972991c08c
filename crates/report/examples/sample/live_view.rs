//! The live view at some time during a recording.

use block::Span;
use report::live::{LiveState, LiveWorkload};
use stats::{Recording, WorkloadRecord};

/// The live view of `recording` after its first `seconds`.
pub fn after(recording: &Recording, seconds: usize) -> LiveState {
    let elapsed = Span::from_secs(seconds as u64);
    let ended = recording.phases.iter().filter(|phase| phase.end <= elapsed).count();
    let current = ended.min(recording.phases.len() - 1);
    let limits = &recording.objects[0].limits[current];
    let workload = |workload: &WorkloadRecord| {
        let mut live = LiveWorkload::new(&workload.name, workload.name.replace("server", "vol"));
        workload.intervals.iter().take(seconds).for_each(|interval| live.push(*interval));
        let so_far = workload.intervals.iter().take(seconds).copied().collect();
        live.held = report::held_back(recording, &WorkloadRecord { intervals: so_far, ..workload.clone() });
        live
    };
    LiveState {
        title: recording.origin.title.clone(),
        phase: current + 1,
        phases: recording.phases.len(),
        name: recording.phases[current].name.clone(),
        about: recording.phases[current].about.clone(),
        in_force: limits.ceiling_iops.iter().map(|iops| format!("policy1: vol1 at most {iops} IOPS")).collect(),
        advice: Vec::new(),
        elapsed,
        total: recording.phases[recording.phases.len() - 1].end,
        done: None,
        rate: "",
        workloads: recording.workloads.iter().map(workload).collect(),
    }
}
