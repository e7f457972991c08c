//! One job on its worker: takes ends, makes what is due, and knows what comes next.
//!
//! ```text
//!   Waiting ─► Loading ─► Draining ─► (Settling ─►) Checking ─► Draining ─► (next pass: Loading) ─► Flushing ─► Ended
//! ```
//! A job without verification goes from pass to pass without stopping. What went through the page
//! cache is settled before it is checked: flushed and dropped from there, so that what is read is
//! what the storage has. Whatever ends a job early lets what is in flight come home first.

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
use stats::job::{AskedRow, DepthShares, Errors, JobError, JobOutcome, LatencyFinding};
use std::path::PathBuf;
use std::sync::Arc;
use storage::LossCounts;
use workload::job::{Ends, EngineKind, JobDraft, JobPlace, JobSpec, JobStream, PerDirection, Region};

/// A job on its worker.
pub(crate) struct Runner {
    spec: JobSpec,
    /// Its number in the run.
    index: usize,
    board: Arc<Board>,
    target: Box<dyn Target>,
    context: Context,
    paths: Vec<PathBuf>,
    regions: Vec<Region>,
    stream: JobStream,
    stage: Stage,
    /// The last pass began another stage.
    is_new_stage: bool,
    /// What comes when nothing is in flight any more.
    after: After,
    slots: Slots,
    completions: Vec<Completion>,
    tape: Tape,
    /// Flushes with all that describes the file.
    syncs_whole: u64,
    logs: Option<Box<RequestLogs>>,
    /// What was moved before measuring began.
    ramp_bytes: PerDirection<u64>,
    filler: Filler,
    checker: Option<Checker>,
    search: Option<Search>,
    steadiness: Option<Steadiness>,
    /// A request that could not go yet: a write over one in flight, or no memory for it.
    held: Option<JobDraft>,
    not_before: Option<Time>,
    depth: u32,
    /// Requests that are handed over as soon as so many are made.
    burst: Option<usize>,
    /// The latest time that is known: the start of a pass, the end of a request that a target
    /// waited for, and each burst.
    latest: Time,
    /// Places that must be free, and ends that must have come, before new requests are made.
    refilling: bool,
    ended_since_refill: u32,
    writes_since_sync: u32,
    /// A flush of this file is to come before the next request; `true` with all that describes the
    /// file.
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
    error: Option<JobError>,
    finding: Option<LatencyFinding>,
    interrupted: bool,
    notes: Vec<String>,
    backend: String,
    /// What was asked, where that is to be told.
    asked: Vec<AskedRow>,
    renew: Option<Renew>,
    forget: Option<Forget>,
    /// How often the files' cache was dropped for a way that began anew.
    rounds: u64,
    losses: LossCounts,
}

/// Makes a job's files anew and opens them.
pub(crate) type Renew = Box<dyn FnMut() -> Result<Box<dyn Target>, OpenError>>;

/// Drops what the system holds of a job's files in its page cache.
pub(crate) type Forget = Box<dyn FnMut()>;

/// What a runner is made of.
pub(crate) struct Parts {
    pub(crate) spec: JobSpec,
    pub(crate) index: usize,
    pub(crate) board: Arc<Board>,
    pub(crate) target: Box<dyn Target>,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) regions: Vec<Region>,
    pub(crate) notes: Vec<String>,
    pub(crate) backend: String,
    /// What of its connections is lost, where it has some; counted by the target.
    pub(crate) losses: LossCounts,
    /// It starts then, if the jobs that it waits for have ended.
    pub(crate) start: Time,
    /// For a job whose files are made anew for each loop.
    pub(crate) renew: Option<Renew>,
    /// For a job whose files go through the page cache.
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
    /// Check if the job is whole, flush, end.
    End,
    /// Flush and end.
    Failure,
}

/// Whether its flow holds it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeldBack {
    No,
    /// Until the others have caught up.
    Others,
    /// It looks again then.
    Until(Time),
}

/// When things happen, or happened.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    start: Time,
    measured_from: Time,
    ramp_end: Option<Time>,
    runtime_end: Option<Time>,
    /// When loading was over; the end of measuring without a check.
    loaded: Option<Time>,
    end: Time,
}

/// A rate that must be kept.
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
        let checker = spec.verify.as_ref().map(|verify| match spec.reach.mix.changes_data() {
            true => Checker::new(verify, spec.seed),
            false => Checker::of_another(verify),
        });
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
            checker,
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

    /// Its number in the run.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Ends early, as a job that was interrupted.
    pub(crate) fn stop(&mut self, now: Time) {
        if self.stage == Stage::Ended {
            return;
        }
        self.interrupted = true;
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

    /// Requests that ended well, for sharing a thread's processor time.
    pub(crate) fn ops(&self) -> u64 {
        Totals::of(&self.tape).ops
    }

    /// What it did.
    pub(crate) fn finish(self) -> JobOutcome {
        finish::outcome(self)
    }

    /// What it did so far.
    pub(crate) fn so_far(&self, now: Time) -> JobOutcome {
        finish::so_far(self, now)
    }

    /// Fails before its start: it cannot run after all.
    pub(crate) fn refuse(&mut self, text: &str, now: Time) {
        /// EINVAL: nothing was asked of the storage.
        const REFUSED: i32 = 22;
        self.times.measured_from = now;
        let text = text.strip_prefix(&format!("{}: ", self.spec.name)).unwrap_or(text).to_owned();
        self.fail(REFUSED, text, now);
    }

    /// The first failure stays.
    fn fail(&mut self, number: i32, text: String, now: Time) {
        self.error.get_or_insert(JobError { number, text });
        self.drain(After::Failure, now);
    }

    /// Makes nothing new; what is in flight comes home first.
    fn drain(&mut self, after: After, now: Time) {
        if matches!(self.stage, Stage::Loading) && after != After::Backlog {
            self.times.loaded = Some(now);
        }
        self.stage = Stage::Draining;
        self.after = after;
        self.not_before = None;
        self.thinking_until = None;
        self.held_back = HeldBack::No;
    }
}

impl Actor for Runner {
    /// One look: takes ends, ends intervals, makes what is due.
    fn pass(&mut self, now: Time) {
        if self.stage == Stage::Ended || (self.stage == Stage::Waiting && !self.may_start(now)) {
            return;
        }
        self.latest = now;
        self.take(now);
        // Behind a call that blocked it is later than when the worker looked.
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
            // What the next stage has to make is made at once: no end would wake the worker for it.
            _ if self.is_new_stage => return Wakeup::Now,
            _ => Time::MAX,
        };
        match self.held_back {
            HeldBack::No => {}
            HeldBack::Others if self.board.flows().may_go(self.index) => return Wakeup::Now,
            // The job that lets it go wakes it.
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

    /// Whether some were made since the last hand-over.
    fn has_fresh(&self) -> bool {
        self.slots.fresh() > 0
    }

    /// The requests that were made since the last call go to the kernel now: at once where the job
    /// hands over in bursts, in the worker's next turn otherwise.
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

/// Direct requests go to the disk in small bursts, and waiting is a call of its own: the disk works
/// on the first while the worker still counts ends and makes the others. A virtio disk tells ends
/// all together when it has nothing left to do, so what passes until the first burst is time that
/// it stands still.
fn burst_of(spec: &JobSpec) -> Option<usize> {
    const DIRECT: usize = 8;
    let direct = spec.direct && spec.engine == EngineKind::Uring && matches!(spec.place, JobPlace::Files(_));
    direct.then_some(DIRECT)
}
