//! An experiment of hosts as the results database keeps runs: each run of a half is a phase, each host a workload.

use super::load::ramps;
use super::{Half, Halves};
use crate::demand;
use block::{Bytes, Span};
use ramp::{Experiment, experiment_verdict};
use stats::{Interval, LimitsInForce, Origin, Outcome, Phase, Recording, Scale, Tally, Verdict, WorkloadRecord};
use workload::plan::{HostsPlan, PlannedHost};

/// The runs of both halves in the order of time.
pub(super) fn recording(plan: &HostsPlan, experiment: &Experiment, played: &Halves) -> Recording {
    let mut recording =
        Recording { workloads: plan.hosts.iter().map(|host| workload(plan, host)).collect(), ..Recording::default() };
    let targets: Vec<Vec<u64>> = ramps(plan, experiment.factor).iter().map(|ramp| ramp.ladder.targets()).collect();
    for &(half, run) in &played.turns {
        let (half, run) = (&played.halves[half], run as usize);
        if half.left.iter().any(|left| run < left.recording.phases.len()) {
            let asked = plan.hosts.iter().zip(&targets).map(|(host, of)| format!("{} {}", host.name, of[run]));
            let about = format!("asked: {} IOPS", asked.collect::<Vec<_>>().join(", "));
            add(&mut recording, plan, half, run, about);
        }
    }
    if let Some(first) = recording.phases.first_mut() {
        first.commands.splice(..0, played.created.clone());
        first.commands_published.splice(..0, plan.floors_create.clone());
    }
    let (outcome, answers) = experiment_verdict(experiment);
    recording.verdicts = answers
        .into_iter()
        .map(|answer| Verdict {
            question: answer.question.into(),
            // Where the whole cannot say, a part of it that did not come true is no failure of the floors.
            outcome: match answer.outcome {
                Outcome::Fail if outcome == Outcome::CannotSay => Outcome::CannotSay,
                answered => answered,
            },
            because: answer.because,
            measured: None,
        })
        .collect();
    recording.notes = experiment.notes.clone();
    recording.notes.push(format!("{}{}", demand::CYCLE, plan.cycle.as_nanos() / 1_000_000));
    recording
}

/// Where it came from.
pub(super) fn origin(plan: &HostsPlan, started_unix_ms: u64, simulated: bool, cut_short: bool) -> Origin {
    Origin {
        title: plan.title.clone(),
        plan: plan.text.clone(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: plan.seed,
        started_unix_ms,
        simulated,
        cut_short,
    }
}

/// How the loads became this machine's; `measured` is whether the factor was.
pub(super) fn scale(plan: &HostsPlan, factor: f64, measured: bool) -> Scale {
    let published_iops = plan.hosts.iter().map(|host| host.to).sum::<u64>() as f64;
    Scale { factor, published_iops, measured_iops: measured.then_some(published_iops * factor) }
}

/// The space that volumes used, at the beginning and at the end.
pub(super) fn add_used(recording: &mut Recording, start: &[(String, Bytes)], end: &[(String, Bytes)]) {
    for (path, used) in start {
        recording.object(path).used_start = Some(*used);
    }
    for (path, used) in end {
        recording.object(path).used_end = Some(*used);
    }
}

/// A host's LUNs as the server names them.
pub(super) fn luns(plan: &HostsPlan, host: &PlannedHost) -> String {
    let named: Vec<String> = host.data_paths().iter().map(|path| format!("{}:{path}", plan.svm)).collect();
    named.join(", ")
}

fn workload(plan: &HostsPlan, host: &PlannedHost) -> WorkloadRecord {
    WorkloadRecord {
        name: host.name.clone(),
        host: host.name.clone(),
        object: luns(plan, host),
        ..WorkloadRecord::default()
    }
}

/// Adds a run of all hosts as a phase.
fn add(recording: &mut Recording, plan: &HostsPlan, half: &Half, run: usize, about: String) {
    let number = recording.phases.len();
    let start = recording.phases.last().map_or(Span::ZERO, |phase| phase.end);
    let mut end = start;
    for (left, workload) in half.left.iter().zip(&mut recording.workloads) {
        workload.tallies.resize(number + 1, Tally::default());
        let Some((phase, of_host)) = left.recording.phases.get(run).zip(left.recording.workloads.first()) else {
            continue;
        };
        end = end.max(start + phase.length());
        workload.tallies[number] = of_host.tallies.get(run).cloned().unwrap_or_default();
        let within = |interval: &&Interval| (phase.start..phase.end).contains(&interval.start);
        let moved =
            |interval: &Interval| Interval { start: start + interval.start.saturating_sub(phase.start), ..*interval };
        workload.intervals.extend(of_host.intervals.iter().filter(within).map(moved));
        let cycles = of_host.cycles.iter().filter(|cycle| cycle.phase as usize == run);
        workload.cycles.extend(cycles.map(|cycle| stats::CycleRecord { phase: number as u32, ..*cycle }));
    }
    recording.phases.push(Phase {
        name: format!("{}, run {run}", half.arm.name),
        about,
        commands: half.commands.clone(),
        commands_published: half.published.clone(),
        start,
        end,
        ..Phase::default()
    });
    for (path, limits) in &half.limits {
        let object = recording.object(path);
        // A shared group goes by its name alone, as the SVM does.
        object.is_group = !path.contains(':') && *path != plan.svm;
        object.limits.resize(number, LimitsInForce::default());
        object.limits.push(limits.clone());
    }
    recording.objects.iter_mut().for_each(|object| object.limits.resize(number + 1, LimitsInForce::default()));
}
