//! A worker: one thread, one ring, the jobs that share it.
//!
//! A pass polls every job: it takes completions and makes what is due. Then one turn of the ring
//! submits everything and waits. The clock is read twice a pass: after the turn, which dates all
//! completions reaped in it, and before it, which dates all requests submitted in it. The error is
//! the time that a batch takes, below a microsecond at usual depths. Direct requests are also
//! submitted in bursts during the pass, each burst with its own reading.

use super::board::Board;
use super::placement::{self, Near};
use super::prepare::OpenError;
use super::prepared::Prepared;
use super::runner::Runner;
use block::{Driver as _, Span, Time, Wait, drive};
use stats::job::{JobOutcome, JobUsage};
use std::sync::Arc;
use uring::Io;
use uring::usage::{Usage, Who, usage};
use workload::job::{EngineKind, JobPlace, JobSpec};

/// How often a worker returns to the processor near its disk after the scheduler moved it away.
const VISIT: Span = Span::SECOND;

/// The best processor for a worker that has the machine to itself: near the disk, if all its jobs
/// use only that one.
pub(crate) fn nearest(jobs: &[Prepared]) -> Option<Near> {
    let direct = |spec: &JobSpec| {
        spec.direct
            && spec.engine == EngineKind::Uring
            && matches!(spec.place, JobPlace::Files(_))
            && spec.cpus.is_empty()
            && spec.numa.nodes.is_empty()
            && spec.kernel_polls.is_none()
    };
    if !jobs.iter().all(|job| direct(&job.spec)) {
        return None;
    }
    placement::near(&jobs.iter().flat_map(Prepared::paths).collect::<Vec<_>>())
}

/// Runs jobs on the calling thread; returns their outcomes in the order of `jobs`.
pub(crate) fn run(
    jobs: &[Prepared],
    near: Option<&Near>,
    board: &Arc<Board>,
    stage_start: Time,
) -> Result<Vec<JobOutcome>, OpenError> {
    // If it may not run there, it stays where the kernel put it.
    let near = near.filter(|near| uring::usage::visit(near.processor).is_ok());
    if let Some(numa) = jobs.iter().map(|job| &job.spec.numa).find(|numa| **numa != Default::default()) {
        placement::settle(numa).map_err(OpenError)?;
    }
    if let Some(cpus) = jobs.iter().map(|job| &job.spec.cpus).find(|cpus| !cpus.is_empty()) {
        uring::usage::pin(cpus).map_err(|error| OpenError(format!("cpus_allowed: {error}")))?;
    }
    if let Some(priority) = jobs.iter().map(|job| job.spec.priority).find(|own| *own != Default::default()) {
        uring::usage::prioritise(priority.nice, priority.io)
            .map_err(|error| OpenError(format!("nice, prio and prioclass: {error}")))?;
    }
    let io = Io::open(&super::prepared::io_settings(jobs)).map_err(|error| OpenError(error.to_string()))?;
    board.join(io.waker());
    let mut runners = Vec::with_capacity(jobs.len());
    for job in jobs {
        runners.push(job.open(&io, near, board, stage_start)?);
    }
    let before = usage(Who::Thread);
    run_all(&io, &mut runners, board, &before, near);
    let used = used_since(&before);
    let all: u64 = runners.iter().map(Runner::ops).sum();
    let share = |runner: Runner| JobOutcome { usage: share_of(&used, runner.ops(), all), ..runner.finish() };
    Ok(runners.into_iter().map(share).collect())
}

fn run_all(io: &Io, runners: &mut [Runner], board: &Board, before: &Usage, near: Option<&Near>) {
    let mut io = io.clone();
    let (mut heeded, mut shown) = (0, 0);
    let mut visit = io.now() + VISIT;
    drive(&mut io, runners, |now, runners: &mut [Runner]| {
        let has_news = heed(board, runners, now, &mut heeded);
        if has_news && board.is_given_up() {
            runners.iter_mut().for_each(|runner| runner.give_up(now));
            // What follows may hang in the kernel, too.
            show(runners, board, before, now);
        } else if has_news && board.asked() != shown {
            shown = board.asked();
            show(runners, board, before, now);
        }
        if let Some(near) = near.filter(|_| now >= visit) {
            visit = now + VISIT;
            // It was allowed before; if it no longer is, the worker stays where it is.
            let _ = uring::usage::visit(near.processor);
        }
        // The watching thread wakes every worker with each tick.
        Wait::Woken { tick: Board::TICK }
    });
}

/// Stops the jobs that are told to end, if there is a new signal; returns whether there was one.
#[inline]
pub(super) fn heed(board: &Board, runners: &mut [Runner], now: Time, heeded: &mut u32) -> bool {
    let signals = board.signals();
    let news = signals != *heeded;
    if news {
        *heeded = signals;
        runners.iter_mut().filter(|runner| board.is_told_to_stop(runner.index())).for_each(|one| one.stop(now));
    }
    news
}

fn used_since(before: &Usage) -> JobUsage {
    let after = usage(Who::Thread);
    JobUsage {
        user: after.user.saturating_sub(before.user),
        system: after.system.saturating_sub(before.system),
        switches: after.waits + after.preemptions - before.waits - before.preemptions,
        faults_major: after.faults_major - before.faults_major,
        faults_minor: after.faults_minor - before.faults_minor,
    }
}

/// Publishes the jobs' interim results.
#[cold]
fn show(runners: &[Runner], board: &Board, before: &Usage, now: Time) {
    let used = used_since(before);
    let all: u64 = runners.iter().map(Runner::ops).sum();
    for runner in runners {
        let usage = share_of(&used, runner.ops(), all);
        board.show(runner.index(), JobOutcome { usage, ..runner.so_far(now) });
    }
}

/// A job's share of the thread's resource usage, in proportion to its requests.
fn share_of(used: &JobUsage, ops: u64, all: u64) -> JobUsage {
    let part = |whole: u64| (u128::from(whole) * u128::from(ops) / u128::from(all.max(1))) as u64;
    let span = |whole: Span| Span::from_nanos(part(whole.as_nanos()));
    JobUsage {
        user: span(used.user),
        system: span(used.system),
        switches: part(used.switches),
        faults_major: part(used.faults_major),
        faults_minor: part(used.faults_minor),
    }
}
