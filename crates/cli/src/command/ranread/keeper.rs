//! Batches kept as they go: one run in the results database, of which each batch is a point.

use crate::memory::{self, Kept, Memory};
use anyhow::{Result, bail};
use block::{Span, Time};
use ranread::{Batch, Finding, State, Taken};
use results::{Filter, Results};
use stats::job::JobOutcome;
use stats::run::{self, Run};
use stats::{Machine, Outcome, Verdict};
use std::path::PathBuf;
use uring::Clock;

/// The name of the command in the database.
const TOOL: &str = "ranread";

/// A run under way. One that is dropped before its end was cut short, or never began.
pub struct Keeper {
    run: Run,
    kept: Option<Kept>,
    clock: Clock,
    began: Time,
}

impl Keeper {
    /// Begins a run of [`ranread::asked`].
    pub fn begin(memory: &Memory, title: String, asked: Run, seed: u64, machine: Machine, simulated: bool) -> Keeper {
        let clock = Clock::new();
        let identity = memory::identity(TOOL, title, crate::play::now_unix_ms());
        let identity = run::Identity { seed, simulated, ..identity };
        let run = Run { identity, machine, ..asked };
        let kept = Some(memory.begin(run.clone()));
        Keeper { run, kept, began: clock.now(), clock }
    }

    /// How long the run has gone on; in virtual time the batches alone.
    pub fn passed(&self) -> Span {
        match self.run.identity.simulated {
            true => self.run.points.last().map_or(Span::ZERO, |last| last.end),
            false => self.clock.now().since(self.began),
        }
    }

    /// Whether it is time to write what a batch did so far.
    pub fn is_due(&self) -> bool {
        self.kept.as_ref().is_some_and(Kept::is_due)
    }

    /// Writes what a batch did so far that began at `start`.
    pub fn so_far(&mut self, start: Span, outcomes: Vec<JobOutcome>) {
        let mut run = self.run.clone();
        ranread::taken(&mut run, Taken { start, state: State::Running, outcomes });
        self.write(run);
    }

    /// Takes in a batch that is over.
    pub fn add(&mut self, taken: Taken) {
        if let Some(first) = taken.outcomes.first().filter(|_| !self.run.identity.simulated) {
            self.run.machine.backend.clone_from(&first.backend);
        }
        ranread::taken(&mut self.run, taken);
        if self.is_due() {
            self.write(self.run.clone());
        }
    }

    /// Its batches so far.
    pub fn batches(&self) -> Vec<Batch> {
        ranread::batches(&self.run)
    }

    /// Keeps the run as it ended, with what was found, why nothing can be said of the storage, and what the reader must
    /// know. Returns its file and number.
    pub fn end(mut self, findings: &[Finding], unsure: Option<String>, note: Option<String>) -> Option<(PathBuf, i64)> {
        let verdict = |finding: &Finding| Verdict {
            question: finding.question.clone(),
            outcome: finding.outcome,
            because: finding.because.clone(),
            measured: None,
        };
        self.run.verdicts = findings.iter().map(verdict).collect();
        self.run.verdicts.extend(unsure.map(|because| Verdict {
            question: "the figures are of the storage and not of a cache".into(),
            outcome: Outcome::CannotSay,
            because,
            measured: None,
        }));
        self.run.notes.extend(note);
        self.kept.take().and_then(|kept| kept.end(self.run.clone()))
    }

    fn write(&mut self, run: Run) {
        if let Some(kept) = &mut self.kept {
            kept.so_far(run);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let Some(kept) = self.kept.take() else { return };
        if self.run.points.is_empty() {
            kept.forget();
        } else {
            self.run.identity.state = run::State::CutShort;
            kept.end(self.run.clone());
        }
    }
}

/// All runs of batches that read storage and not a simulated one, in their order.
///
/// # Errors
/// There is no results database, or it cannot be read.
pub fn runs(memory: &Memory) -> Result<Vec<Run>> {
    let Some(database) = database(memory)? else { return Ok(Vec::new()) };
    numbers(&database)?.into_iter().map(|number| Ok(database.load(number)?)).collect()
}

/// Deletes them.
///
/// # Errors
/// There is no results database, or it cannot be written.
pub fn delete_all(memory: &Memory) -> Result<()> {
    let Some(mut database) = database(memory)? else { return Ok(()) };
    numbers(&database)?.into_iter().try_for_each(|number| Ok(database.delete(number)?))
}

/// `None` where nothing was ever kept.
fn database(memory: &Memory) -> Result<Option<Results>> {
    let Some(file) = memory.file() else {
        bail!("--results: there is no results database, where the rows of all batches are; name one");
    };
    if file.exists() { Ok(Some(Results::open_existing(&file)?)) } else { Ok(None) }
}

fn numbers(database: &Results) -> Result<Vec<i64>> {
    let lines = database.list(&Filter { tool: Some(TOOL.into()), ..Filter::default() })?;
    Ok(lines.iter().filter(|line| !line.simulated).map(|line| line.id).collect())
}
