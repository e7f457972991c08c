//! An experiment of hosts as one run: each run of a half is a point, each host an actor.

use super::load::ramps;
use super::{Half, Halves};
use crate::memory;
use block::{Bytes, Span};
use ramp::{Experiment, experiment_verdict};
use stats::run::{Actor, Identity, Place, Point, Run};
use stats::{LimitsInForce, Outcome, Scale, Verdict};
use workload::plan::{HostsPlan, PlannedHost};

/// The runs of both halves in the order of time.
pub(super) fn run(plan: &HostsPlan, experiment: &Experiment, played: &Halves) -> Run {
    let mut whole = Run::default();
    for host in &plan.hosts {
        let place = Place { kind: "volume".into(), name: luns(plan, host), size: None };
        let place = Some(whole.place(place));
        whole.actors.push(Actor { name: host.name.clone(), host: host.name.clone(), group: None, place });
    }
    let targets: Vec<Vec<u64>> = ramps(plan, experiment.factor).iter().map(|ramp| ramp.ladder.targets()).collect();
    for &(half, run) in &played.turns {
        let (half, run) = (&played.halves[half], run as usize);
        if half.left.iter().any(|left| run < left.run.points.len()) {
            let asked = plan.hosts.iter().zip(&targets).map(|(host, of)| format!("{} {}", host.name, of[run]));
            let about = format!("asked: {} IOPS", asked.collect::<Vec<_>>().join(", "));
            add(&mut whole, plan, half, run, about);
        }
    }
    if let Some(first) = whole.points.first_mut() {
        first.commands.splice(..0, played.created.clone());
        first.commands_published.splice(..0, plan.floors_create.clone());
    }
    let (outcome, answers) = experiment_verdict(experiment);
    whole.verdicts = answers
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
    whole.notes = experiment.notes.clone();
    whole.set(None, "cycle_s", plan.cycle.as_secs_f64());
    whole
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
pub(super) fn luns(plan: &HostsPlan, host: &PlannedHost) -> String {
    let named: Vec<String> = host.data_paths().iter().map(|path| format!("{}:{path}", plan.svm)).collect();
    named.join(", ")
}

/// Adds a run of all hosts as a point.
fn add(whole: &mut Run, plan: &HostsPlan, half: &Half, run: usize, about: String) {
    let start = whole.points.last().map_or(Span::ZERO, |point| point.end);
    let number = whole.points.len();
    whole.points.push(Point {
        name: format!("{}, run {run}", half.arm.name),
        about,
        commands: half.commands.clone(),
        commands_published: half.published.clone(),
        start,
        end: start,
        ..Point::default()
    });
    for (actor, left) in half.left.iter().enumerate() {
        whole.adopt(actor as u32, &left.run, run as u32);
    }
    for (path, limits) in &half.limits {
        let object = whole.object(path);
        // A shared group goes by its name alone, as the SVM does.
        object.is_group = !path.contains(':') && *path != plan.svm;
        object.limits.resize(number, LimitsInForce::default());
        object.limits.push(limits.clone());
    }
    whole.objects.iter_mut().for_each(|object| object.limits.resize(number + 1, LimitsInForce::default()));
}
