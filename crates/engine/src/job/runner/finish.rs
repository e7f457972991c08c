//! What a runner leaves, and what it would leave if it ended now.

use super::{Runner, Stage};
use crate::job::record::Record;
use block::Time;
use stats::job::JobOutcome;

/// A job's outcome. Processor time and devices are the worker's to add.
pub(super) fn outcome(mut runner: Runner) -> JobOutcome {
    let record = std::mem::replace(&mut runner.record, Record::new(&runner.spec, &[], Time::ZERO));
    let (asked, end) = (std::mem::take(&mut runner.asked), runner.times.end);
    let files = runner.paths.iter().map(|path| path.display().to_string()).collect();
    JobOutcome { asked, files, ..of(&runner, record, end) }
}

/// What it did so far, without logs.
pub(super) fn so_far(runner: &Runner, now: Time) -> JobOutcome {
    match runner.stage {
        Stage::Waiting => JobOutcome {
            name: runner.spec.name.clone(),
            number: runner.spec.number,
            group: runner.spec.group,
            seed: runner.spec.seed,
            ..JobOutcome::default()
        },
        Stage::Ended => of(runner, runner.record.so_far(), runner.times.end),
        _ => of(runner, runner.record.so_far(), now),
    }
}

fn of(runner: &Runner, record: Record, end: Time) -> JobOutcome {
    let loaded = runner.times.loaded.unwrap_or(end);
    let losses = runner.losses.as_ref().map(|losses| losses.borrow().clone()).unwrap_or_default();
    let mut notes = runner.notes.clone();
    notes.extend(losses.lines());
    let mut outcome = JobOutcome {
        name: runner.spec.name.clone(),
        number: runner.spec.number,
        group: runner.spec.group,
        start: runner.times.start.since(runner.board.start()),
        elapsed: end.since(runner.times.start),
        ramp_bytes: runner.ramp_bytes,
        depth: runner.depths,
        submitted: runner.submitted,
        completed: runner.completed,
        punctuality: runner.punctuality,
        errors: runner.errors,
        losses,
        steady: runner.steadiness.as_ref().map(super::Steadiness::report),
        latency_search: runner.finding,
        verify: runner.checker.as_ref().map(|checker| checker.outcome.clone()),
        error: runner.error.clone(),
        interrupted: runner.interrupted,
        backend: runner.backend.clone(),
        seed: runner.spec.seed,
        notes,
        ..JobOutcome::default()
    };
    record.finish(loaded, end, &mut outcome);
    outcome
}
