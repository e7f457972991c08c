//! The walk-through of QoS: a plan of its steps on its simulated file system.

use super::Setting;
use crate::play;
use anyhow::{Context as _, Result};
use capacity::{Comparison, WalkStep, WalkSteps};
use stats::Recording;

/// The steps, with the published commands.
const PLAN: &str = include_str!("../../../../../plans/fsx-qos.toml");

pub fn walk(setting: &Setting) -> Result<Comparison> {
    let recording = play::quietly(PLAN, "fsx-qos.toml", setting.array.as_ref().map(|(_, device)| device), 1.0)?;
    let step = |phase: usize| -> Option<WalkStep> {
        let name = recording.phases[phase].name.split(' ').nth(1)?.to_string();
        let mut figures: Vec<(f64, f64)> = (0..3).map(|volume| figure(&recording, phase, &[volume])).collect();
        figures.push(figure(&recording, phase, &[0, 1]));
        Some(WalkStep { name, figures })
    };
    let steps = (0..recording.phases.len()).map(|phase| step(phase).context("a phase is called: step N"));
    Ok(capacity::walk_through(&WalkSteps(steps.collect::<Result<_>>()?), &setting.others)?)
}

/// Total IOPS of these workloads in a phase without its first second, and the maximum in any
/// second.
fn figure(recording: &Recording, phase: usize, workloads: &[usize]) -> (f64, f64) {
    let phase_of = &recording.phases[phase];
    let records = || workloads.iter().map(|workload| &recording.workloads[*workload]);
    let mean = records().filter_map(|record| record.tallies.get(phase)).map(stats::Tally::iops).sum();
    let from = phase_of.start + stats::SETTLE;
    let mut most: f64 = 0.0;
    let seconds = records().next().into_iter().flat_map(|record| &record.intervals);
    for start in seconds.map(|interval| interval.start).filter(|start| *start >= from && *start < phase_of.end) {
        let at = records().filter_map(|record| record.intervals.iter().find(|interval| interval.start == start));
        most = most.max(at.map(stats::Interval::iops).sum());
    }
    (mean, most)
}
