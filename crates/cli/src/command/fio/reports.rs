//! What a run has to say: reports while it goes on (`--status-interval`), and the one at its end.
//!
//! The normal and the terse output come again and again, one behind the other, as in fio. JSON is
//! one document: what came in between stands in it, and a file that it goes to is written anew each
//! time, so that at any moment it holds one whole document.

use crate::outputs::{Kind, Output};
use crate::play::now_unix_ms;
use crate::{machine, terminal};
use anyhow::{Context as _, Result};
use block::Span;
use fio::Invocation;
use fio::render::{Interim, Moment, Report};
use stats::job::JobOutcome;
use std::path::Path;

/// The most reports in between that a document holds. Beyond, every second one is left out: what
/// stays still covers the whole run.
const INTERIM_MAX: usize = 512;

/// The reports of one run.
pub struct Reports<'i> {
    invocation: &'i Invocation,
    host: String,
    notes: Vec<String>,
    started: Moment,
    interim: Vec<Interim>,
    /// Of the document in between every so many are kept.
    stride: usize,
    seen: usize,
    /// What a file holds of the outputs that come again and again.
    text: String,
    /// Something was printed.
    opened: bool,
    /// The run was stopped by hand.
    interrupted: bool,
}

impl<'i> Reports<'i> {
    /// Of a run that begins now.
    pub fn new(invocation: &'i Invocation) -> Reports<'i> {
        let (interim, text) = Default::default();
        Reports {
            invocation,
            host: machine::host_name(),
            started: moment(),
            notes: Vec::new(),
            interim,
            stride: 1,
            seen: 0,
            text,
            opened: false,
            interrupted: false,
        }
    }

    /// Adds what the user should know and what showed only now.
    pub fn note(&mut self, line: String) {
        self.notes.push(line);
    }

    /// What was to run.
    pub fn invocation(&self) -> &'i Invocation {
        self.invocation
    }

    /// What was done until now.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn in_between(&mut self, passed: Span, outcomes: &[JobOutcome]) -> Result<()> {
        let report = self.report(outcomes);
        let text = self.opening(&report) + &report.repeatable();
        let document = self.invocation.flags.formats.iter().any(|format| format.is_json());
        let interim = document.then(|| report.as_interim(passed));
        self.seen += 1;
        if let Some(interim) = interim.filter(|_| self.seen.is_multiple_of(self.stride)) {
            self.interim.push(interim);
            if self.interim.len() > INTERIM_MAX {
                let mut index = 0;
                self.interim.retain(|_| {
                    index += 1;
                    index % 2 == 0
                });
                self.stride *= 2;
            }
        }
        match self.path() {
            Some(path) => {
                self.text.push_str(&text);
                if document {
                    self.replace(&path, &self.whole(outcomes))
                } else {
                    std::fs::write(&path, &self.text).with_context(|| format!("--output: {path}"))
                }
            }
            None => {
                self.opened = true;
                terminal::print(&text);
                Ok(())
            }
        }
    }

    /// Whether the logs can be written at the end.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn check_logs(&self) -> Result<()> {
        let outcome = JobOutcome { verify: Some(Default::default()), ..JobOutcome::default() };
        let outcomes = vec![outcome; self.invocation.jobs.len()];
        let logs = self.report(&outcomes).logs(self.started);
        logs.iter()
            .try_for_each(|log| Output { option: "the log", path: Path::new(&log.path), kind: Kind::Any }.check())
    }

    /// What was done in all, and the logs; `interrupted` where the run was stopped by hand.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn at_the_end(&mut self, outcomes: &[JobOutcome], interrupted: bool) -> Result<()> {
        self.interrupted = interrupted;
        let report = self.report(outcomes);
        match self.path() {
            Some(path) => self.replace(&path, &self.whole(outcomes))?,
            None => terminal::print(&(self.opening(&report) + &report.outputs())),
        }
        for log in report.logs(self.started) {
            let path = &log.path;
            std::fs::write(path, &log.text).with_context(|| format!("the log {path}"))?;
        }
        Ok(())
    }

    /// A document that says why nothing was run, where a document is expected; an empty output
    /// would be none.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn refused(&mut self, why: &[String]) -> Result<()> {
        /// EINVAL: nothing was asked of the storage.
        const REFUSED: i32 = 22;
        if !self.invocation.flags.formats.iter().all(|format| format.is_json()) {
            return Ok(());
        }
        let outcome = |job: &fio::Job| {
            let own: Vec<&str> = why.iter().filter_map(|line| line.strip_prefix(&format!("{}: ", job.name))).collect();
            let text = if own.is_empty() { "not run, because of another job".into() } else { own.join("; ") };
            JobOutcome { error: Some(stats::job::JobError { number: REFUSED, text }), ..JobOutcome::default() }
        };
        let outcomes: Vec<JobOutcome> = self.invocation.jobs.iter().map(outcome).collect();
        let report = self.report(&outcomes);
        match self.path() {
            Some(path) => self.replace(&path, &report.outputs()),
            None => {
                terminal::print(&report.outputs());
                Ok(())
            }
        }
    }

    fn report<'r>(&'r self, outcomes: &'r [JobOutcome]) -> Report<'r> {
        let pid = std::process::id();
        Report {
            invocation: self.invocation,
            outcomes,
            moment: moment(),
            host: &self.host,
            pid,
            notes: &self.notes,
            interim: &self.interim,
            interrupted: self.interrupted,
        }
    }

    /// fio's lines in front of a report for people, once.
    fn opening(&self, report: &Report<'_>) -> String {
        match self.text.is_empty() && !self.opened && self.invocation.flags.formats == [fio::Format::Normal] {
            true => report.opening(),
            false => String::new(),
        }
    }

    /// All that a file holds at the moment.
    fn whole(&self, outcomes: &[JobOutcome]) -> String {
        let report = self.report(outcomes);
        self.text.clone() + &self.opening(&report) + &report.outputs()
    }

    /// Puts a file in the place of an earlier one in one step; what is no file (a terminal, a pipe)
    /// is written to.
    fn replace(&self, path: &str, text: &str) -> Result<()> {
        let about = || format!("--output: {path}");
        let special = std::fs::metadata(path).is_ok_and(|about| !about.is_file());
        if special || self.seen == 0 {
            return std::fs::write(path, text).with_context(about);
        }
        let beside = format!("{path}.new");
        std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path)).with_context(about)
    }

    fn path(&self) -> Option<String> {
        self.invocation.flags.output.clone()
    }
}

/// Now, in UTC.
fn moment() -> Moment {
    Moment { unix_ms: now_unix_ms(), ahead_s: 0 }
}
