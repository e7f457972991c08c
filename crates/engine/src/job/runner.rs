//! One job on its worker: takes completions, makes what is due, and moves from stage to stage.
//!
//! ```text
//!   Waiting ─► Loading ─► Draining ─► (Settling ─►) Checking ─► Draining ─► (next pass: Loading) ─► Flushing ─► Ended
//! ```
//! A job without verification goes from pass to pass without stopping. Data in the page cache is
//! settled before it is checked: flushed and dropped, so that the check reads what the storage has.
//! Whatever ends a job early, requests in flight complete first.

mod checking;
mod failure;
mod finish;
mod requests;
mod stages;
#[cfg(test)]
mod tests;

use super::context::Context;
use super::fill::Filler;
use super::logs::{self, RequestLogs};
use super::search::Search;
use super::slots::Slots;
use super::steady::{Steadiness, Totals};
use super::written::Checker;
use crate::job::board::Board;
use crate::job::prepare::OpenError;
use block::{Actor, Completion, Target, Time, Wakeup};
use stats::Tape;
use stats::job::{AskedRow, DepthShares, Errors, JobError, JobOutcome, LatencyFinding, Reasons};
use std::path::PathBuf;
use std::sync::Arc;
use storage::LossCounts;
use workload::job::{Ends, EngineKind, JobDraft, JobPlace, JobSpec, JobStream, PerDirection, Region};

/// A job on its worker.
pub(crate) struct Runner {
    spec: JobSpec,
    /// Its index in the run.
    index: usize,
    board: Arc<Board>,
    target: Box<dyn Target>,
    context: Context,
    paths: Vec<PathBuf>,
    regions: Vec<Region>,
    stream: JobStream,
    stage: Stage,
    /// Whether the last pass moved on to another stage.
    is_new_stage: bool,
    /// What follows once nothing is in flight.
    after: After,
    slots: Slots,
    completions: Vec<Completion>,
    tape: Tape,
    /// Number of flushes with all metadata (`fsync`, not `fdatasync`).
    syncs_whole: u64,
    logs: Option<Box<RequestLogs>>,
    /// Bytes transferred before measuring began.
    ramp_bytes: PerDirection<u64>,
    filler: Filler,
    checker: Option<Checker>,
    search: Option<Search>,
    steadiness: Option<Steadiness>,
    /// A request that cannot be made yet: a write that overlaps one in flight, or one without a
    /// buffer.
    held: Option<JobDraft>,
    not_before: Option<Time>,
    depth: u32,
    /// Number of new requests that are submitted as a burst.
    burst: Option<usize>,
    /// The latest time that is known: the start of the pass, the end of a blocking request, or the
    /// last burst.
    latest: Time,
    /// Whether requests may be made until the depth is reached again; see `may_refill`.
    refilling: bool,
    ended_since_refill: u32,
    writes_since_sync: u32,
    /// A flush of this file that must come before the next request; `true` includes all metadata.
    flush_due: Option<(u32, bool)>,
    requests_since_think: u32,
    thinking_until: Option<Time>,
    held_back: HeldBack,
    working_since: Time,
    floors: Vec<FloorWatch>,
    times: Times,
    depths: DepthShares,
    submitted: DepthShares,
    completed: DepthShares,
    cap_met: bool,
    errors: Errors,
    /// Why requests failed, where that is known.
    reasons: Reasons,
    error: Option<JobError>,
    finding: Option<LatencyFinding>,
    interrupted: bool,
    notes: Vec<String>,
    backend: String,
    /// The log of requests as asked, if the job wants one.
    asked: Vec<AskedRow>,
    renew: Option<Renew>,
    forget: Option<Forget>,
    /// For how many rounds of the files their cache was dropped.
    rounds: u64,
    losses: LossCounts,
}

/// Creates a job's files again and opens them.
pub(crate) type Renew = Box<dyn FnMut() -> Result<Box<dyn Target>, OpenError>>;

/// Drops a job's files from the page cache.
pub(crate) type Forget = Box<dyn FnMut()>;

/// The parts of a runner.
pub(crate) struct Parts {
    pub(crate) spec: JobSpec,
    pub(crate) index: usize,
    pub(crate) board: Arc<Board>,
    pub(crate) target: Box<dyn Target>,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) regions: Vec<Region>,
    pub(crate) notes: Vec<String>,
    pub(crate) backend: String,
    /// Connections and data lost, counted by the target.
    pub(crate) losses: LossCounts,
    /// Its earliest start; it also waits for the jobs it must follow.
    pub(crate) start: Time,
    /// Set for a job whose files are created again for each loop.
    pub(crate) renew: Option<Renew>,
    /// Set for a job whose files use the page cache.
    pub(crate) forget: Option<Forget>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Loading,
    Settling,
    Checking,
    Draining,
    Flushing,
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Check what was written, then the next pass.
    Pass,
    /// Check what was written, then go on with the same pass.
    Backlog,
    /// Check if the job is complete, flush, end.
    End,
    /// Flush and end.
    Failure,
}

/// Whether its flow holds it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeldBack {
    No,
    /// Waits until the others have caught up.
    Others,
    /// Looks again at this time.
    Until(Time),
}

/// Times of the job's stages.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    start: Time,
    measured_from: Time,
    ramp_end: Option<Time>,
    runtime_end: Option<Time>,
    /// The end of loading; also the end of measuring, unless data is checked.
    loaded: Option<Time>,
    /// Since when no more requests of the load are made, as the job is to end.
    ending_from: Option<Time>,
    end: Time,
}

/// Watches a rate that must be kept.
#[derive(Clone, Copy, Debug)]
struct FloorWatch {
    direction: workload::job::Direction,
    floor: workload::job::Floor,
    window_end: Time,
    /// Requests and bytes when the window began; `None` before the first.
    before: Option<(u64, u64)>,
}

impl Runner {
    /// A job that waits for its start.
    pub(crate) fn new(context: &Context, parts: Parts) -> Runner {
        let Parts { spec, index, board, target, paths, regions, notes, backend, losses, start, renew, forget } = parts;
        Runner {
            stream: JobStream::new(&spec, &regions, start),
            tape: Tape::new(start, logs::noted(&spec)),
            syncs_whole: 0,
            logs: None,
            filler: Filler::new(context, &spec.content, spec.reach.most_block(), spec.seed),
            search: spec.pacing.latency_search.map(|rule| Search::new(rule, spec.pacing.depth)),
            steadiness: None,
            depth: spec.pacing.depth.max(1),
            burst: burst_of(&spec),
            latest: start,
            context: context.clone(),
            stage: Stage::Waiting,
            is_new_stage: false,
            after: After::End,
            ramp_bytes: PerDirection::default(),
            slots: Slots::default(),
            completions: Vec::new(),
            checker: checker_of(&spec),
            held: None,
            not_before: None,
            refilling: true,
            ended_since_refill: 0,
            writes_since_sync: 0,
            flush_due: None,
            requests_since_think: 0,
            thinking_until: None,
            held_back: HeldBack::No,
            working_since: start,
            floors: Vec::new(),
            times: Times { start, ..Times::default() },
            depths: DepthShares::default(),
            submitted: DepthShares::default(),
            completed: DepthShares::default(),
            cap_met: false,
            errors: Errors::default(),
            reasons: Reasons::default(),
            error: None,
            finding: None,
            interrupted: false,
            spec,
            index,
            board,
            target,
            paths,
            regions,
            notes,
            backend,
            asked: Vec::new(),
            renew,
            forget,
            rounds: 0,
            losses,
        }
    }

    /// Its index in the run.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Ends the job early, as interrupted.
    pub(crate) fn stop(&mut self, now: Time) {
        if self.stage == Stage::Ended {
            return;
        }
        self.interrupted = true;
        self.times.ending_from.get_or_insert(now);
        match self.stage {
            Stage::Waiting => {
                self.times.measured_from = now;
                self.times.end = now;
                self.stage = Stage::Ended;
                self.board.end(self.index, Ends::None);
            }
            Stage::Loading | Stage::Checking => self.drain(After::Failure, now),
            Stage::Draining | Stage::Settling => self.after = After::Failure,
            Stage::Flushing | Stage::Ended => {}
        }
    }

    /// Requests that succeeded, for dividing a thread's processor time among jobs.
    pub(crate) fn ops(&self) -> u64 {
        Totals::of(&self.tape).ops
    }

    /// The job's outcome.
    pub(crate) fn finish(self) -> JobOutcome {
        finish::outcome(self)
    }

    /// The job's outcome so far.
    pub(crate) fn so_far(&self, now: Time) -> JobOutcome {
        finish::so_far(self, now)
    }

    /// Fails before its start, because it cannot run.
    pub(crate) fn refuse(&mut self, text: &str, now: Time) {
        /// EINVAL: the storage was never asked.
        const REFUSED: i32 = 22;
        self.times.measured_from = now;
        let text = text.strip_prefix(&format!("{}: ", self.spec.name)).unwrap_or(text).to_owned();
        self.fail(REFUSED, text, now);
    }

    /// Keeps only the first failure.
    fn fail(&mut self, number: i32, text: String, now: Time) {
        self.error.get_or_insert(JobError { number, text });
        self.drain(After::Failure, now);
    }

    /// Stops making requests and waits for those in flight.
    fn drain(&mut self, after: After, now: Time) {
        if matches!(self.stage, Stage::Loading) && after != After::Backlog {
            self.times.loaded = Some(now);
            self.times.ending_from = Some(now).filter(|_| after != After::Pass);
        }
        self.stage = Stage::Draining;
        self.after = after;
        self.not_before = None;
        self.thinking_until = None;
        self.held_back = HeldBack::No;
    }
}

impl Actor for Runner {
    /// One pass: takes completions, closes intervals, makes what is due.
    fn pass(&mut self, now: Time) {
        if self.stage == Stage::Ended || (self.stage == Stage::Waiting && !self.may_start(now)) {
            return;
        }
        self.latest = now;
        self.take(now);
        // After a blocking call this is later than the start of the pass.
        let now = self.latest;
        self.look(now);
        self.issue(now);
        let stage = self.stage;
        self.advance_stage(now);
        self.is_new_stage = self.stage != stage;
    }

    fn next_wakeup(&self, now: Time) -> Wakeup {
        let mut next = match self.stage {
            Stage::Ended => return Wakeup::Idle,
            Stage::Waiting => return Wakeup::At(self.waits_until(now)),
            // A new stage makes its requests at once, since no completion would wake the worker for
            // it.
            _ if self.is_new_stage => return Wakeup::Now,
            _ => Time::MAX,
        };
        match self.held_back {
            HeldBack::No => {}
            HeldBack::Others if self.board.flows().may_go(self.index) => return Wakeup::Now,
            // The job that lets this one go wakes the worker.
            HeldBack::Others => {}
            HeldBack::Until(time) => next = next.min(time),
        }
        let ends = [self.times.ramp_end, self.times.runtime_end.filter(|_| self.stage == Stage::Loading)];
        for time in ends.into_iter().flatten().chain(self.not_before).chain(self.thinking_until) {
            next = next.min(time);
        }
        if let Some(steadiness) = &self.steadiness {
            next = next.min(steadiness.next_look());
        }
        let own = match next {
            Time::MAX => Wakeup::Idle,
            next if next <= self.latest => Wakeup::Now,
            next => Wakeup::At(next),
        };
        self.target.next_wakeup().sooner(own)
    }

    /// Whether requests were made that are not submitted yet.
    fn has_fresh(&self) -> bool {
        self.slots.fresh() > 0
    }

    /// Marks the requests made since the last call as submitted. A job with bursts submits them
    /// now, others in the worker's next turn.
    fn hand_over(&mut self, now: Time) {
        let count = self.slots.hand_over(now);
        if count == 0 {
            return;
        }
        self.submitted.count(count as u32, count as u64);
        if self.burst.is_some() {
            self.context.submit();
        }
    }

    fn is_over(&self, _now: Time) -> bool {
        self.stage == Stage::Ended
    }
}

/// Whether files are opened with `O_DSYNC` or `O_SYNC`, as fio opens them, so that a write is one
/// system call.
pub(crate) fn opens_durable(spec: &JobSpec) -> bool {
    spec.engine == EngineKind::Sync && matches!(spec.place, JobPlace::Files(_))
}

/// What checks the data of a job that verifies, if it does.
fn checker_of(spec: &JobSpec) -> Option<Checker> {
    spec.verify.as_ref().map(|verify| match spec.reach.mix.changes_data() {
        true => Checker::new(verify, spec.seed, &spec.reach),
        false => Checker::of_another(verify, &spec.reach),
    })
}

/// Burst size for direct I/O, which is submitted in small bursts, apart from the wait. Thus the
/// disk works on the first burst while the worker still takes completions and makes more requests.
/// A virtio disk reports its completions all at once when it has run dry, so it would be idle until
/// the first burst.
fn burst_of(spec: &JobSpec) -> Option<usize> {
    const DIRECT: usize = 8;
    let direct = spec.direct && spec.engine == EngineKind::Uring && matches!(spec.place, JobPlace::Files(_));
    direct.then_some(DIRECT)
}
