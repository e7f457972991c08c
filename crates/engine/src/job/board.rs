//! Where the workers tell how far they are, and hear that they are to stop.

use block::{Span, Time};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use uring::Waker;
use workload::job::{Direction, PerDirection};

/// Seen by all workers and by whoever watches.
pub(crate) struct Board {
    start: Time,
    jobs: Vec<Entry>,
    stop: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

struct Entry {
    name: String,
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
    /// Every worker is woken this often, so that it hears of a stop and ends its intervals. A worker needs no time-out of
    /// its own for what is further away: arming a timer for each wait would cost as much as a good part of an I/O.
    pub(crate) const TICK: Span = Span::from_millis(100);

    /// For jobs of these names, the run beginning at `start`.
    pub(crate) fn new(names: impl Iterator<Item = String>, start: Time) -> Board {
        let entry = |name| Entry {
            name,
            began: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            told: AtomicU64::new(0),
            counts: Default::default(),
            in_flight: AtomicU32::new(0),
        };
        Board { start, jobs: names.map(entry).collect(), stop: AtomicBool::new(false), wakers: Mutex::default() }
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
    }

    /// A job begins.
    pub(crate) fn begin(&self, job: usize, now: Time) {
        self.jobs[job].began.store(now.since(self.start).as_nanos() + 1, Relaxed);
    }

    /// A job is over, and with it all others if `ends_all`.
    pub(crate) fn end(&self, job: usize, ends_all: bool) {
        self.jobs[job].ended.store(true, Relaxed);
        if ends_all {
            self.stop();
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
