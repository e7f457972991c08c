//! An experiment of hosts as one kept run: each run of a half is a point, each host an actor.

use super::load::{Scaling, fitted};
use super::{HALVES, Turn, turns};
use crate::memory;
use anyhow::Result;
use ramp::{Answered, Experiment, RampSettings, experiment_verdict};
use stats::run::{Identity, Point, Run, RunActor, RunPlace};
use stats::{Outcome, Scale, Verdict};
use workload::plan::{HostsPlan, PlannedHost};

/// The run before its first point: the hosts and their volumes.
pub(super) fn begun(plan: &HostsPlan, mut run: Run) -> Run {
    for host in &plan.hosts {
        let place = Some(run.place(RunPlace { kind: "volume".into(), name: luns(plan, host), size: None }));
        run.actors.push(RunActor { name: host.name.clone(), host: host.name.clone(), group: None, place });
    }
    run.set(None, "cycle_s", plan.cycle.as_secs_f64());
    run
}

/// A point for each run of each half in order of time, with its commands scaled to this machine.
pub(super) fn points(plan: &HostsPlan, ramps: &[RampSettings], scaling: Scaling) -> Result<Vec<Point>> {
    let targets: Vec<Vec<u64>> = ramps.iter().map(|ramp| ramp.ladder.targets()).collect();
    let point = |turn: Turn| {
        let published = [&plan.floors_on, &plan.floors_off][turn.half].clone();
        let asked = plan.hosts.iter().zip(&targets).map(|(host, of)| format!("{} {}", host.name, of[turn.run]));
        Ok(Point {
            name: format!("{}, run {}", HALVES[turn.half], turn.run),
            arm: HALVES[turn.half].into(),
            about: format!("asked: {} IOPS", asked.collect::<Vec<_>>().join(", ")),
            commands: published.iter().map(|line| fitted(line, scaling)).collect::<Result<_>>()?,
            commands_published: published,
            ..Point::default()
        })
    };
    let mut points = turns(plan).map(point).collect::<Result<Vec<Point>>>()?;
    if let Some(first) = points.first_mut() {
        let created = plan.floors_create.iter().map(|line| fitted(line, scaling)).collect::<Result<Vec<_>>>()?;
        first.commands.splice(..0, created);
        first.commands_published.splice(..0, plan.floors_create.iter().cloned());
    }
    Ok(points)
}

/// The verdicts of the whole experiment.
pub(super) fn verdicts(experiment: &Experiment) -> Vec<Verdict> {
    let (outcome, answers) = experiment_verdict(experiment);
    let verdict = |answer: Answered| Verdict {
        question: answer.question.into(),
        // If the whole experiment cannot say, a failed part of it is not a failure of the floors.
        outcome: match answer.outcome {
            Outcome::Fail if outcome == Outcome::CannotSay => Outcome::CannotSay,
            answered => answered,
        },
        because: answer.because,
        measured: None,
    };
    answers.into_iter().map(verdict).collect()
}

/// The identity of the run.
pub(super) fn identity(plan: &HostsPlan, tool: &str, started_unix_ms: u64, simulated: bool) -> Identity {
    Identity {
        text: plan.text.clone(),
        seed: plan.seed,
        simulated,
        ..memory::identity(tool, plan.title.clone(), started_unix_ms)
    }
}

/// How the loads were scaled to this machine. `measured` says whether the factor was measured.
pub(super) fn scale(plan: &HostsPlan, factor: f64, measured: bool) -> Scale {
    let published_iops = plan.hosts.iter().map(|host| host.to).sum::<u64>() as f64;
    Scale { factor, published_iops, measured_iops: measured.then_some(published_iops * factor) }
}

/// A host's LUNs as the server names them.
fn luns(plan: &HostsPlan, host: &PlannedHost) -> String {
    let named: Vec<String> = host.data_paths().iter().map(|path| format!("{}:{path}", plan.svm)).collect();
    named.join(", ")
}
