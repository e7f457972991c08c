//! What the disk did not do, for the log: clients are told of it as the protocol has it, and
//! whoever runs the server would learn of a dying disk from them.

use super::MappedVolumes;
use super::flight::Flight;
use block::{Span, Time};
use std::path::PathBuf;
use uring::Failure;

/// Failures are told at most so often, with their number.
const TELL_TIME: Span = Span::from_secs(60);

/// A read, write or flush of the pool that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFailure {
    /// The file or device.
    pub path: PathBuf,
    /// What failed there.
    pub work: &'static str,
    /// Why.
    pub failure: Failure,
}

/// What failed since it was told last.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// In the order of the files.
    paths: Vec<PathBuf>,
    /// Where each flight went, of those.
    places: Vec<usize>,
    latest: Option<DiskFailure>,
    count: u64,
    told: Option<Time>,
    /// What the pool takes no change any more for, until it is told.
    stopped: Option<DiskFailure>,
    has_stopped: bool,
}

impl Failures {
    pub fn of(paths: Vec<PathBuf>) -> Failures {
        Failures { paths, ..Failures::default() }
    }

    /// A flight goes to a file.
    pub fn goes_to(&mut self, flight: u32, place: usize) {
        let flight = flight as usize;
        if self.places.len() <= flight {
            self.places.resize(flight + 1, 0);
        }
        self.places[flight] = place;
    }

    /// The pool takes no change any more, because of what failed last.
    pub fn stop(&mut self) {
        if !std::mem::replace(&mut self.has_stopped, true) {
            self.stopped = self.latest.clone();
        }
    }
}

impl MappedVolumes {
    /// Takes in how the kernel's work has failed.
    pub(super) fn note_failure(&mut self, flight: u32, failure: Failure) {
        let work = match self.flights.get_mut(flight) {
            Flight::Read(_) | Flight::PatchRead { .. } => "a read",
            Flight::Write { .. } | Flight::PatchWrite { .. } | Flight::Store(_) => "a write",
            Flight::Flush { .. } | Flight::Sync(_) => "a flush",
            // They are told otherwise, or cost nobody anything.
            Flight::SecondRead(_) | Flight::SecondWrite { .. } | Flight::Discard { .. } => return,
        };
        // What was cancelled was not the disk's fault.
        if matches!(failure, Failure::Canceled | Failure::Closed) {
            return;
        }
        let failures = &mut self.failures;
        let path = failures.paths[failures.places[flight as usize]].clone();
        failures.latest = Some(DiskFailure { path, work, failure });
        failures.count += 1;
    }

    /// What the pool takes no change any more for; it is told once.
    pub fn take_stopped(&mut self) -> Option<DiskFailure> {
        self.failures.stopped.take()
    }

    /// The latest of what failed, and how much did since this was told last; at most once a minute.
    pub fn take_failures(&mut self, now: Time) -> Option<(DiskFailure, u64)> {
        let failures = &mut self.failures;
        let is_due = failures.told.is_none_or(|told| now.since(told) >= TELL_TIME);
        if failures.count == 0 || !is_due {
            return None;
        }
        failures.told = Some(now);
        Some((failures.latest.clone()?, std::mem::take(&mut failures.count)))
    }
}
