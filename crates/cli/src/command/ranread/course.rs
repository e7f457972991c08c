//! Batches as a sequence: each is a point of one run, which is kept as it goes.

use super::batch::{Field, Watched};
use crate::interrupt::Stop;
use crate::live::{Live, Stream};
use crate::memory::Kept;
use anyhow::Result;
use block::{Span, Time};
use engine::Scene;
use ranread::{Batch, Finding, Measured};
use stats::run::{Point, Run, State};
use stats::{Outcome, Verdict};
use std::io::{IsTerminal as _, stdout};
use std::path::PathBuf;
use uring::Clock;

/// Chooses the batches.
pub trait Loads {
    /// Number of processes of the next one; `None` after the last.
    fn next(&mut self) -> Option<u32>;

    /// Called after each batch.
    fn took(&mut self, batch: &Batch, measured: Measured);
}

/// Batches in progress.
pub struct Batches<'b, 'f, L> {
    pub field: &'b mut Field<'f>,
    pub loads: L,
    pub stop: &'b Stop,
    /// Whether to print a dot each second.
    pub dots: bool,
    pub live: Live,
    pub kept: &'b mut Kept,
    pub clock: Clock,
    /// Number of processes of the next or current batch.
    pub processes: u32,
    /// The total length of the batches in virtual time, in which each has its own clock.
    pub played: Span,
}

/// Plays the batches of `loads`, with a line of output open meanwhile or not; returns the run, and
/// the error that ended it early, if any.
pub fn play<L: Loads>(
    field: &mut Field<'_>,
    loads: &mut L,
    (run, kept): (Run, &mut Kept),
    stop: &Stop,
    line_is_open: bool,
) -> (Run, Result<()>) {
    let clock = Clock::new();
    let live = Live::on(Stream::Err, field.is_simulated(), &run.identity.title);
    // Dots are for output that is read later; at a terminal they would disturb the live view.
    let dots = line_is_open && !(live.is_shown() && stdout().is_terminal());
    let mut batches = Batches { field, loads, stop, dots, live, kept, clock, processes: 0, played: Span::ZERO };
    engine::play(&mut batches, run)
}

impl<L: Loads> Scene for Batches<'_, '_, &mut L> {
    type Error = anyhow::Error;

    fn now(&self) -> Time {
        if self.field.is_simulated() { Time::ZERO + self.played } else { self.clock.now() }
    }

    fn next(&mut self, run: &Run) -> Option<Point> {
        self.processes = self.loads.next()?;
        Some(ranread::kept::point(run, self.processes))
    }

    fn play(&mut self, start: Time, run: &mut Run) -> Result<bool> {
        let begun = self.now().since(start);
        let watched = Watched { stop: self.stop, dots: self.dots, live: &mut self.live, kept: self.kept };
        let (batch, measured) = self.field.play(self.processes, begun, run, watched)?;
        self.played = run.points.last().map_or(Span::ZERO, |point| point.end);
        let whole = !self.stop.is_asked() && batch.done() > 0 && batch.state() == ranread::ProcessState::Whole;
        self.loads.took(&batch, measured);
        if self.kept.is_due() {
            self.kept.so_far(run.clone());
        }
        Ok(whole)
    }
}

/// Keeps a run as it ended, with the findings, the reason why nothing can be said about the
/// storage, and a note. Returns its file and number.
pub fn end(
    mut run: Run,
    kept: Kept,
    findings: &[Finding],
    unsure: Option<String>,
    note: Option<String>,
) -> Option<(PathBuf, i64)> {
    if run.points.is_empty() {
        kept.forget();
        return None;
    }
    if run.identity.state == State::Ended {
        let verdict = |finding: &Finding| Verdict {
            question: finding.question.clone(),
            outcome: finding.outcome,
            because: finding.because.clone(),
            measured: None,
        };
        run.verdicts = findings.iter().map(verdict).collect();
        run.verdicts.extend(unsure.map(|because| Verdict {
            question: "the figures are of the storage and not of a cache".into(),
            outcome: Outcome::CannotSay,
            because,
            measured: None,
        }));
        run.notes.extend(note);
    }
    kept.end(run)
}
