//! What a runner leaves.

use super::Runner;
use stats::job::JobOutcome;

/// A job's outcome. Processor time and devices are the worker's to add.
pub(super) fn outcome(runner: Runner) -> JobOutcome {
    let loaded = runner.times.loaded.unwrap_or(runner.times.end);
    let losses = runner.losses.as_ref().map(|losses| losses.borrow().clone()).unwrap_or_default();
    let mut notes = runner.notes.clone();
    notes.extend(losses.lines());
    let mut outcome = JobOutcome {
        name: runner.spec.name.clone(),
        number: runner.spec.number,
        group: runner.spec.group,
        start: runner.times.start.since(runner.board.start()),
        elapsed: runner.times.end.since(runner.times.start),
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
    runner.record.finish(loaded, runner.times.end, &mut outcome);
    outcome
}
