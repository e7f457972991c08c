//! Where the workers publish how far they are and, on request, all that they did; and read that
//! they are to stop.

use super::flow::Flows;
use block::{Span, Time};
use stats::job::JobOutcome;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use uring::Waker;
use workload::job::{Direction, Ends, JobSpec, PerDirection, stages};

/// Seen by all workers and by the watching thread.
pub(crate) struct Board {
    start: Time,
    jobs: Vec<Entry>,
    stop: AtomicBool,
    /// Grows with all that workers must heed, so that they look at one number only.
    signals: AtomicU32,
    /// How often outcomes were asked for.
    asked: AtomicU32,
    wakers: Mutex<Vec<Waker>>,
    flows: Flows,
}

struct Entry {
    name: String,
    group: u32,
    stage: usize,
    stopped: AtomicBool,
    /// What it did when it was asked last.
    shown: Mutex<Option<JobOutcome>>,
    /// When it began, in nanoseconds after the start plus one; 0 while it waits.
    began: AtomicU64,
    ended: AtomicBool,
    /// When it told last.
    told: AtomicU64,
    counts: [[AtomicU64; 2]; 3],
    in_flight: AtomicU32,
}

/// How far one job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProgress {
    /// When it began, from the start of the run; `None` while it waits.
    pub began: Option<Span>,
    /// Whether it is over.
    pub ended: bool,
    /// Requests and bytes since measuring began.
    pub counts: PerDirection<(u64, u64)>,
    /// Requests in flight when it told last.
    pub in_flight: u32,
}

impl Board {
    /// Every worker is woken this often, so that it hears of a stop and ends its intervals. A
    /// worker needs no time-out of its own for what is further away: arming a timer for each wait
    /// would cost as much as a good part of an I/O.
    pub(crate) const TICK: Span = Span::from_millis(100);

    /// For these jobs, the run beginning at `start`.
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

    /// A worker that wants to be woken.
    pub(crate) fn join(&self, waker: Waker) {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Wakes all workers; one that is gone does not mind.
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

    /// All jobs are to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Relaxed);
        self.stop_those(|_| true);
    }

    /// Whether this job is to end.
    pub(crate) fn is_told_to_stop(&self, job: usize) -> bool {
        self.jobs[job].stopped.load(Relaxed)
    }

    /// A number that changes when there is something to heed.
    #[inline]
    pub(crate) fn signals(&self) -> u32 {
        self.signals.load(Relaxed)
    }

    /// Asks all workers to show what their jobs did so far.
    pub(crate) fn ask(&self) {
        self.asked.fetch_add(1, Relaxed);
        self.signals.fetch_add(1, Relaxed);
    }

    /// How often outcomes were asked for.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Relaxed)
    }

    /// A job shows what it did so far.
    pub(crate) fn show(&self, job: usize, outcome: JobOutcome) {
        *self.jobs[job].shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }

    /// What each job showed last; `None` of one that did not begin.
    pub(crate) fn shown(&self) -> Vec<Option<JobOutcome>> {
        let of = |entry: &Entry| entry.shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.jobs.iter().map(of).collect()
    }

    fn stop_those(&self, wanted: impl Fn(&Entry) -> bool) {
        self.jobs.iter().filter(|entry| wanted(entry)).for_each(|entry| entry.stopped.store(true, Relaxed));
        self.signals.fetch_add(1, Relaxed);
    }

    /// The shares of jobs that share.
    pub(crate) fn flows(&self) -> &Flows {
        &self.flows
    }

    /// A stage with these jobs begins. Those that wait for nobody count in their flows from here
    /// on, though they may start later: they surely will.
    pub(crate) fn begin_stage<'s>(&self, jobs: impl IntoIterator<Item = (usize, &'s JobSpec)>) {
        let unawaited = jobs.into_iter().filter(|(_, spec)| spec.start.after.is_none());
        unawaited.for_each(|(job, _)| self.flows.join(job));
    }

    /// A job begins.
    pub(crate) fn begin(&self, job: usize, now: Time) {
        self.flows.join(job);
        self.jobs[job].began.store(now.since(self.start).as_nanos() + 1, Relaxed);
    }

    /// A job is over, and with it those that `ends` says.
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

    /// Whether all jobs of that name are over.
    pub(crate) fn has_ended(&self, name: &str) -> bool {
        self.jobs.iter().filter(|job| job.name == name).all(|job| job.ended.load(Relaxed))
    }

    /// Whether a job has not told for some time.
    pub(crate) fn wants_news(&self, job: usize, now: Time) -> bool {
        now.as_nanos() >= self.jobs[job].told.load(Relaxed) + Board::TICK.as_nanos()
    }

    /// A job tells how far it is.
    pub(crate) fn tell(&self, job: usize, now: Time, counts: PerDirection<(u64, u64)>, in_flight: u32) {
        let entry = &self.jobs[job];
        for (index, direction) in Direction::ALL.into_iter().enumerate() {
            entry.counts[index][0].store(counts[direction].0, Relaxed);
            entry.counts[index][1].store(counts[direction].1, Relaxed);
        }
        entry.in_flight.store(in_flight, Relaxed);
        entry.told.store(now.as_nanos(), Relaxed);
    }

    /// How far all are.
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
