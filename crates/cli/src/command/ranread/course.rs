//! Batches as a course: each is a point of one run, which is kept as it goes.

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

/// Which batches are played.
pub trait Loads {
    /// How many processes the next one has; `None` after the last.
    fn next(&mut self) -> Option<u32>;

    /// One is over.
    fn took(&mut self, batch: &Batch, measured: Measured);
}

/// Batches under way.
pub struct Batches<'b, 'f, L> {
    pub field: &'b mut Field<'f>,
    pub loads: L,
    pub stop: &'b Stop,
    /// Whether the output has an open line while a batch runs; its remarks wait for the end of it.
    pub line_is_open: bool,
    /// Whether each second has a dot.
    pub dots: bool,
    pub live: Live,
    pub kept: &'b mut Kept,
    pub clock: Clock,
    /// How many processes the batch has that is next or under way.
    pub processes: u32,
    /// How far the batches are in virtual time, in which each has a clock of its own.
    pub played: Span,
}

/// Plays the batches of `loads`; the run of them, and why it ended early where that was an error.
pub fn play<L: Loads>(
    field: &mut Field<'_>,
    loads: &mut L,
    (run, kept): (Run, &mut Kept),
    stop: &Stop,
    line_is_open: bool,
) -> (Run, Result<()>) {
    let clock = Clock::new();
    let live = Live::on(Stream::Err, field.is_simulated(), &run.identity.title);
    // Dots are for what is read later; at a terminal they would break the view.
    let dots = line_is_open && !(live.is_shown() && stdout().is_terminal());
    let mut batches =
        Batches { field, loads, stop, line_is_open, dots, live, kept, clock, processes: 0, played: Span::ZERO };
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
        let played = self.field.play(self.processes, begun, run, watched);
        if !self.line_is_open {
            self.field.print_remarks();
        }
        let (batch, measured) = played?;
        self.played = run.points.last().map_or(Span::ZERO, |point| point.end);
        let whole = !self.stop.is_asked() && batch.done() > 0 && batch.state() == ranread::ProcessState::Whole;
        self.loads.took(&batch, measured);
        if self.kept.is_due() {
            self.kept.so_far(run.clone());
        }
        Ok(whole)
    }
}

/// Keeps a run as it ended, with what was found, why nothing can be said of the storage, and what
/// the reader must know. Returns its file and number.
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
