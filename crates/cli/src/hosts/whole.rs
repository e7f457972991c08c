//! An experiment of hosts as one run: each run of a half is a point, each host an actor.

use super::{Beginning, Half, Played};
use crate::memory;
use block::Bytes;
use ramp::{Answered, Experiment, experiment_verdict};
use stats::run::{Actor, Identity, Place, Point, Run};
use stats::{LimitsInForce, Outcome, Scale, Verdict};
use workload::plan::{HostsPlan, PlannedHost};

/// What was played until now, the runs of both halves in the order of time. `of` is where it comes from.
pub(super) fn run(of: &Beginning<'_>, played: &Played) -> Run {
    let plan = of.plan;
    let mut whole = of.run.clone();
    for host in &plan.hosts {
        let place = Place { kind: "volume".into(), name: luns(plan, host), size: None };
        let place = Some(whole.place(place));
        whole.actors.push(Actor { name: host.name.clone(), host: host.name.clone(), group: None, place });
    }
    let left = played.halves.each_ref().map(|half| left(plan, half));
    let targets: Vec<Vec<u64>> = of.ramps.iter().map(|ramp| ramp.ladder.targets()).collect();
    for turn in &played.turns {
        let asked = plan.hosts.iter().zip(&targets).map(|(host, of)| format!("{} {}", host.name, of[turn.run]));
        let half = &played.halves[turn.half];
        whole.points.push(Point {
            name: format!("{}, run {}", half.name, turn.run),
            about: format!("asked: {} IOPS", asked.collect::<Vec<_>>().join(", ")),
            commands: half.commands.clone(),
            commands_published: half.published.clone(),
            start: turn.begun,
            end: turn.begun,
            ..Point::default()
        });
        for (actor, left) in (0..).zip(&left[turn.half]) {
            whole.adopt(actor, left, turn.run as u32);
        }
        limits(&mut whole, plan, &turn.limits);
    }
    if let Some(first) = whole.points.first_mut() {
        first.commands.splice(..0, played.created.clone());
        first.commands_published.splice(..0, plan.floors_create.clone());
    }
    whole.set(None, "cycle_s", plan.cycle.as_secs_f64());
    whole
}

/// What each host of a half left.
fn left(plan: &HostsPlan, half: &Half) -> Vec<Run> {
    plan.hosts.iter().zip(&half.runs).map(|(host, runs)| ramp::kept(&host.name, &luns(plan, host), runs)).collect()
}

/// The numbers in force in the last point.
fn limits(whole: &mut Run, plan: &HostsPlan, limits: &[(String, LimitsInForce)]) {
    let points = whole.points.len();
    for (path, limits) in limits {
        let object = whole.object(path);
        // A shared group goes by its name alone, as the SVM does.
        object.is_group = !path.contains(':') && *path != plan.svm;
        object.limits.resize(points - 1, LimitsInForce::default());
        object.limits.push(limits.clone());
    }
    whole.objects.iter_mut().for_each(|object| object.limits.resize(points, LimitsInForce::default()));
}

/// The answers of the whole experiment.
pub(super) fn verdicts(experiment: &Experiment) -> Vec<Verdict> {
    let (outcome, answers) = experiment_verdict(experiment);
    let verdict = |answer: Answered| Verdict {
        question: answer.question.into(),
        // Where the whole cannot say, a part of it that did not come true is no failure of the floors.
        outcome: match answer.outcome {
            Outcome::Fail if outcome == Outcome::CannotSay => Outcome::CannotSay,
            answered => answered,
        },
        because: answer.because,
        measured: None,
    };
    answers.into_iter().map(verdict).collect()
}

/// Where it comes from.
pub(super) fn identity(plan: &HostsPlan, tool: &str, started_unix_ms: u64, simulated: bool) -> Identity {
    Identity {
        text: plan.text.clone(),
        seed: plan.seed,
        simulated,
        ..memory::identity(tool, plan.title.clone(), started_unix_ms)
    }
}

/// How the loads became this machine's; `measured` is whether the factor was.
pub(super) fn scale(plan: &HostsPlan, factor: f64, measured: bool) -> Scale {
    let published_iops = plan.hosts.iter().map(|host| host.to).sum::<u64>() as f64;
    Scale { factor, published_iops, measured_iops: measured.then_some(published_iops * factor) }
}

/// The space that volumes used, at the beginning and at the end.
pub(super) fn add_used(run: &mut Run, start: &[(String, Bytes)], end: &[(String, Bytes)]) {
    for (path, used) in start {
        run.object(path).used_start = Some(*used);
    }
    for (path, used) in end {
        run.object(path).used_end = Some(*used);
    }
}

/// A host's LUNs as the server names them.
fn luns(plan: &HostsPlan, host: &PlannedHost) -> String {
    let named: Vec<String> = host.data_paths().iter().map(|path| format!("{}:{path}", plan.svm)).collect();
    named.join(", ")
}
