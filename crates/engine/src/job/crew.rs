//! A worker: one thread, one ring, the jobs that share it.
//!
//! One pass looks at every job: takes what has ended and makes what is due. Then one turn of the ring hands all of it
//! over and waits. The clock is read twice a pass: after the turn, as the time at which everything reaped in it ended,
//! and before it, as the time at which everything made was handed over. Within a batch the difference is what the batch
//! takes, below a microsecond at usual depths. Direct requests are handed over in bursts meanwhile, each with a reading
//! of its own.

use super::board::Board;
use super::prepare::{OpenError, Prepared};
use super::runner::Runner;
use block::{Driver, Span, Time, Wakeup};
use stats::job::{JobOutcome, JobUsage};
use std::sync::Arc;
use uring::Io;
use uring::usage::{Usage, Who, usage};

/// Runs jobs on the calling thread; their outcomes in the order of `jobs`.
pub(crate) fn run(jobs: &[Prepared], board: &Arc<Board>, stage_start: Time) -> Result<Vec<JobOutcome>, OpenError> {
    if let Some(cpus) = jobs.iter().map(|job| &job.spec.cpus).find(|cpus| !cpus.is_empty()) {
        uring::usage::pin(cpus).map_err(|error| OpenError(format!("cpus_allowed: {error}")))?;
    }
    let io = Io::open(&super::prepare::io_settings(jobs)).map_err(|error| OpenError(error.to_string()))?;
    board.join(io.waker());
    let mut runners = Vec::with_capacity(jobs.len());
    for job in jobs {
        runners.push(job.open(&io, board, stage_start)?);
    }
    let before = usage(Who::Thread);
    drive(&io, &mut runners, board);
    let used = used_since(&before);
    let all: u64 = runners.iter().map(Runner::ops).sum();
    Ok(runners.into_iter().map(|runner| share_usage(runner, &used, all)).collect())
}

fn drive(io: &Io, runners: &mut [Runner], board: &Board) {
    let mut io = io.clone();
    let clock = io.clock();
    let mut now = io.now();
    let mut stopped = false;
    loop {
        if !stopped && board.is_stopped() {
            stopped = true;
            runners.iter_mut().for_each(|runner| runner.stop(now));
        }
        let mut wakeup = Wakeup::Idle;
        let (mut fresh, mut over) = (false, true);
        for runner in runners.iter_mut() {
            wakeup = wakeup.sooner(runner.pass(now, clock));
            fresh |= runner.has_fresh();
            over &= runner.is_ended();
        }
        if over {
            return;
        }
        if fresh {
            let handed = io.now();
            runners.iter_mut().for_each(|runner| runner.hand_over(handed));
        }
        now = match wakeup {
            Wakeup::Now => io.turn(Some(now)),
            // What is further away than a tick is seen in time without a timer.
            Wakeup::At(at) if at < now + Board::TICK * 2 => io.turn(Some(at)),
            Wakeup::At(_) | Wakeup::External | Wakeup::Idle => io.turn(None),
        };
    }
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

/// Gives a job its part of what the thread used: by requests.
fn share_usage(runner: Runner, used: &JobUsage, all: u64) -> JobOutcome {
    let ops = runner.ops();
    let part = |whole: u64| (u128::from(whole) * u128::from(ops) / u128::from(all.max(1))) as u64;
    let span = |whole: Span| Span::from_nanos(part(whole.as_nanos()));
    let usage = JobUsage {
        user: span(used.user),
        system: span(used.system),
        switches: part(used.switches),
        faults_major: part(used.faults_major),
        faults_minor: part(used.faults_minor),
    };
    JobOutcome { usage, ..runner.finish() }
}
