//! Shared state of the workers and the watching thread: progress, interim results on request, and
//! the signal to stop.

use super::flow::Flows;
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
    /// When it last published its progress.
    told: AtomicU64,
    counts: [[AtomicU64; 2]; 3],
    in_flight: AtomicU32,
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
            told: AtomicU64::new(0),
            counts: Default::default(),
            in_flight: AtomicU32::new(0),
        };
        Board {
            start,
            jobs: specs.iter().enumerate().map(entry).collect(),
            stop: AtomicBool::new(false),
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
    pub(crate) fn begin(&self, job: usize, now: Time) {
        self.flows.join(job);
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
