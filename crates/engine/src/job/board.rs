//! Shared state of the workers and the watching thread: progress, interim results on request, and
//! the signal to stop.

use super::flow::Flows;
use super::patience::GRACE;
use block::{Span, Time};
use stats::job::JobOutcome;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use uring::Waker;
use workload::job::{Direction, Ends, JobSpec, PerDirection, stages};

/// Shared by all workers and the watching thread.
pub(crate) struct Board {
    start: Time,
    jobs: Vec<Entry>,
    stop: AtomicBool,
    /// Jobs end without waiting for what is outstanding.
    given_up: AtomicBool,
    /// Incremented whenever workers have something to react to, so that they check a single number.
    signals: AtomicU32,
    /// Number of requests for interim results so far.
    asked: AtomicU32,
    wakers: Mutex<Vec<Waker>>,
    flows: Flows,
}

struct Entry {
    name: String,
    group: u32,
    stage: usize,
    stopped: AtomicBool,
    /// Its last interim result.
    shown: Mutex<Option<JobOutcome>>,
    /// Its start in nanoseconds after the start of the run, plus one; 0 while it waits.
    began: AtomicU64,
    ended: AtomicBool,
    /// When its runtime is over; `u64::MAX` without one.
    runtime_end: AtomicU64,
    /// When the oldest of the requests was made that keep it from ending; 0 if none does.
    oldest: AtomicU64,
    /// When it last published its progress.
    told: AtomicU64,
    counts: [[AtomicU64; 2]; 3],
    in_flight: AtomicU32,
}

/// Requests that keep jobs from ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outstanding {
    pub(crate) requests: u32,
    /// When the oldest of them was made.
    pub(crate) since: Time,
}

impl Entry {
    fn outstanding(&self, now: Time) -> Option<Outstanding> {
        if self.began.load(Relaxed) == 0 || self.ended.load(Relaxed) {
            return None;
        }
        let (oldest, told) = (self.oldest.load(Relaxed), Time::from_nanos(self.told.load(Relaxed)));
        if oldest > 0 {
            return Some(Outstanding { requests: self.in_flight.load(Relaxed), since: Time::from_nanos(oldest) });
        }
        // A worker that publishes nothing is in a system call, and that is its request.
        let is_over = self.stopped.load(Relaxed) || now.as_nanos() >= self.runtime_end.load(Relaxed);
        (is_over && now >= told + GRACE).then_some(Outstanding { requests: 1, since: told })
    }
}

/// Progress of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProgress {
    /// Its start, from the start of the run; `None` while it waits.
    pub began: Option<Span>,
    /// Whether it has ended.
    pub ended: bool,
    /// Requests and bytes since measuring began.
    pub counts: PerDirection<(u64, u64)>,
    /// Requests in flight when it last published its progress.
    pub in_flight: u32,
}

impl Board {
    /// Every worker wakes this often, to notice a stop and to end its intervals. Thus a worker
    /// needs no timer for anything later, which matters because arming a timer for each wait costs
    /// a good part of an I/O.
    pub(crate) const TICK: Span = Span::from_millis(100);

    /// A board for these jobs, in a run that begins at `start`.
    pub(crate) fn new(specs: &[JobSpec], start: Time) -> Board {
        let stages = stages(specs);
        let entry = |(index, spec): (usize, &JobSpec)| Entry {
            name: spec.name.clone(),
            group: spec.group,
            stage: stages.partition_point(|stage| stage.end <= index),
            stopped: AtomicBool::new(false),
            shown: Mutex::default(),
            began: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            runtime_end: AtomicU64::new(u64::MAX),
            oldest: AtomicU64::new(0),
            told: AtomicU64::new(0),
            counts: Default::default(),
            in_flight: AtomicU32::new(0),
        };
        Board {
            start,
            jobs: specs.iter().enumerate().map(entry).collect(),
            stop: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            signals: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            wakers: Mutex::default(),
            flows: Flows::new(specs),
        }
    }

    /// Registers a worker to be woken.
    pub(crate) fn join(&self, waker: Waker) {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Wakes all workers; those that have ended ignore it.
    pub(crate) fn wake_all(&self) {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake);
    }

    /// When the run began.
    pub(crate) fn start(&self) -> Time {
        self.start
    }

    /// Whether all jobs are to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Tells all jobs to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Relaxed);
        self.stop_those(|_| true);
    }

    /// Tells all jobs to end without waiting for what is outstanding.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Relaxed);
        self.stop();
        self.wake_all();
    }

    /// Whether jobs are to end without waiting for what is outstanding.
    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Relaxed)
    }

    /// A job's load has completed. The flush that may follow can be long, and is not waited for as
    /// an answer that is late.
    pub(crate) fn loaded(&self, job: usize) {
        self.jobs[job].runtime_end.store(u64::MAX, Relaxed);
    }

    /// Publishes when the oldest of the requests was made that keep a job from ending.
    pub(crate) fn await_since(&self, job: usize, oldest: Option<Time>) {
        self.jobs[job].oldest.store(oldest.map_or(0, Time::as_nanos), Relaxed);
    }

    /// The requests that keep jobs from ending; `None` if there are none.
    pub(crate) fn outstanding(&self, now: Time) -> Option<Outstanding> {
        let found = self.jobs.iter().filter_map(|entry| entry.outstanding(now));
        found.reduce(|all, one| Outstanding { requests: all.requests + one.requests, since: all.since.min(one.since) })
    }

    /// Whether this job is to end.
    pub(crate) fn is_told_to_stop(&self, job: usize) -> bool {
        self.jobs[job].stopped.load(Relaxed)
    }

    /// A number that changes when workers have something to react to.
    #[inline]
    pub(crate) fn signals(&self) -> u32 {
        self.signals.load(Relaxed)
    }

    /// Asks all workers to publish interim results.
    pub(crate) fn ask(&self) {
        self.asked.fetch_add(1, Relaxed);
        self.signals.fetch_add(1, Relaxed);
    }

    /// Number of requests for interim results so far.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Relaxed)
    }

    /// Publishes a job's interim result.
    pub(crate) fn show(&self, job: usize, outcome: JobOutcome) {
        *self.jobs[job].shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }

    /// The last interim result of each job; `None` if it has not begun.
    pub(crate) fn shown(&self) -> Vec<Option<JobOutcome>> {
        let of = |entry: &Entry| entry.shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.jobs.iter().map(of).collect()
    }

    fn stop_those(&self, wanted: impl Fn(&Entry) -> bool) {
        self.jobs.iter().filter(|entry| wanted(entry)).for_each(|entry| entry.stopped.store(true, Relaxed));
        self.signals.fetch_add(1, Relaxed);
    }

    /// The flows: shares between jobs.
    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    /// Begins a stage with these jobs. Jobs that wait for no other count in their flows from now
    /// on, even if they start a little later.
    pub(crate) fn begin_stage<'s>(&self, jobs: impl IntoIterator<Item = (usize, &'s JobSpec)>) {
        let unawaited = jobs.into_iter().filter(|(_, spec)| spec.start.after.is_none());
        unawaited.for_each(|(job, _)| self.flows.join(job));
    }

    /// Marks a job as begun.
    pub(crate) fn begin(&self, job: usize, now: Time, runtime_end: Option<Time>) {
        self.flows.join(job);
        self.jobs[job].runtime_end.store(runtime_end.map_or(u64::MAX, Time::as_nanos), Relaxed);
        self.jobs[job].began.store(now.since(self.start).as_nanos() + 1, Relaxed);
    }

    /// Marks a job as ended, and tells those to stop that `ends` names.
    pub(crate) fn end(&self, job: usize, ends: Ends) {
        let Entry { group, stage, ended, .. } = &self.jobs[job];
        ended.store(true, Relaxed);
        if self.flows.leave(job) {
            self.wake_all();
        }
        match ends {
            Ends::None => {}
            Ends::Group => self.stop_those(|entry| entry.group == *group),
            Ends::Stage => self.stop_those(|entry| entry.stage == *stage),
            Ends::All => self.stop(),
        }
    }

    /// Whether all jobs with this name have ended.
    pub(crate) fn has_ended(&self, name: &str) -> bool {
        self.jobs.iter().filter(|job| job.name == name).all(|job| job.ended.load(Relaxed))
    }

    /// Whether a job's progress is due to be published again.
    pub(crate) fn is_progress_due(&self, job: usize, now: Time) -> bool {
        now.as_nanos() >= self.jobs[job].told.load(Relaxed) + Board::TICK.as_nanos()
    }

    /// Publishes a job's progress.
    pub(crate) fn tell(&self, job: usize, now: Time, counts: PerDirection<(u64, u64)>, in_flight: u32) {
        let entry = &self.jobs[job];
        for (index, direction) in Direction::ALL.into_iter().enumerate() {
            entry.counts[index][0].store(counts[direction].0, Relaxed);
            entry.counts[index][1].store(counts[direction].1, Relaxed);
        }
        entry.in_flight.store(in_flight, Relaxed);
        entry.told.store(now.as_nanos(), Relaxed);
    }

    /// Progress of all jobs.
    pub(crate) fn progress(&self) -> Vec<JobProgress> {
        let of = |entry: &Entry| {
            let pair = |index: usize| (entry.counts[index][0].load(Relaxed), entry.counts[index][1].load(Relaxed));
            JobProgress {
                began: entry.began.load(Relaxed).checked_sub(1).map(Span::from_nanos),
                ended: entry.ended.load(Relaxed),
                counts: PerDirection { read: pair(0), write: pair(1), trim: pair(2) },
                in_flight: entry.in_flight.load(Relaxed),
            }
        };
        self.jobs.iter().map(of).collect()
    }
}
