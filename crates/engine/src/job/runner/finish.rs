//! The outcome of a runner, at its end or so far.

use super::{Runner, Stage};
use crate::job::logs::RequestLogs;
use block::Time;
use stats::Tape;
use stats::job::JobOutcome;

/// A job's final outcome. The worker adds processor time and devices.
pub(super) fn outcome(mut runner: Runner) -> JobOutcome {
    let (tape, logs) = (std::mem::take(&mut runner.tape), runner.logs.take());
    let (asked, end) = (std::mem::take(&mut runner.asked), runner.times.end);
    let files = runner.paths.iter().map(|path| path.display().to_string()).collect();
    JobOutcome { asked, files, ..of(&runner, tape, logs, end) }
}

/// The outcome so far, without logs.
pub(super) fn so_far(runner: &Runner, now: Time) -> JobOutcome {
    match runner.stage {
        Stage::Waiting => JobOutcome {
            name: runner.spec.name.clone(),
            number: runner.spec.number,
            group: runner.spec.group,
            seed: runner.spec.seed,
            ..JobOutcome::default()
        },
        Stage::Ended => of(runner, runner.tape.clone(), None, runner.times.end),
        _ => of(runner, runner.tape.clone(), None, now),
    }
}

fn of(runner: &Runner, mut tape: Tape, logs: Option<Box<RequestLogs>>, end: Time) -> JobOutcome {
    let loaded = runner.times.loaded.unwrap_or(end);
    tape.finish(loaded, end);
    let losses = runner.losses.sum();
    let mut notes = runner.notes.clone();
    notes.extend(runner.reasons.failed_lines());
    notes.extend(losses.lines());
    notes.extend(runner.search.as_ref().and_then(super::Search::unmet));
    let mut outcome = JobOutcome {
        name: runner.spec.name.clone(),
        number: runner.spec.number,
        group: runner.spec.group,
        start: runner.times.start.since(runner.board.start()),
        elapsed: end.since(runner.times.start),
        measured: end.since(tape.start()),
        tape,
        syncs_whole: runner.syncs_whole,
        ramp_bytes: runner.ramp_bytes,
        depth: runner.depths,
        submitted: runner.submitted,
        completed: runner.completed,
        errors: runner.errors,
        losses,
        steady: runner.steadiness.as_ref().map(super::Steadiness::report),
        latency_search: runner.finding.or_else(|| runner.search.as_ref()?.so_far()),
        verify: runner.checker.as_ref().map(|checker| checker.outcome.clone()),
        error: runner.error.clone(),
        interrupted: runner.interrupted,
        backend: runner.backend.clone(),
        seed: runner.spec.seed,
        notes,
        ..JobOutcome::default()
    };
    if let Some(logs) = logs {
        logs.finish(end, &mut outcome);
    }
    outcome
}
