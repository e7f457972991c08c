//! `/api/cluster/jobs`: the answers to changes of volumes and other resources. A job has ended when
//! it is answered: changes are short work here, so a client that follows the link finds the end at
//! once. Jobs are kept in the pool's folder.

use super::{Resource, View};
use crate::journal::{JOBS_FILE, Journal};
use crate::problem::{Problem, code};
use crate::record::{Field, Kind, key, known};
use block::{ObjectId, date};
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

/// A change that was asked for, and its result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    pub uuid: u128,
    /// The request's method and path.
    pub description: String,
    /// When it was asked for, in seconds since 1970.
    pub time: u64,
    /// The SVMs that it concerns.
    pub svms: BTreeSet<ObjectId>,
    /// Why it failed, if it did.
    pub problem: Option<Problem>,
}

/// Jobs that are kept: clients ask for theirs soon.
const KEPT: usize = 1024;

/// The latest jobs, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    latest: VecDeque<Job>,
    /// Without a journal, jobs are lost when the process ends.
    journal: Option<Journal>,
}

impl Jobs {
    /// The jobs kept in a pool's folder. Those without an end are settled by the catalogue's
    /// generation.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn of_folder(folder: &Path, generation: u64) -> std::io::Result<Jobs> {
        let (journal, latest) = Journal::open(&folder.join(JOBS_FILE), generation, KEPT)?;
        Ok(Jobs { latest, journal: Some(journal) })
    }

    /// Begins a job, at a generation of the catalogue.
    pub fn begin(&mut self, job: &Job, generation: u64) -> Result<(), Problem> {
        let begun = self.journal.as_mut().map_or(Ok(()), |journal| journal.begin(job, generation));
        begun.map_err(|error| {
            tracing::error!(%error, "{JOBS_FILE}");
            Problem::new(500, code::INTERNAL, format!("{JOBS_FILE} in the pool's folder cannot be written: {error}"))
        })
    }

    /// Ends a job.
    pub fn end(&mut self, job: Job) {
        if self.latest.len() >= KEPT {
            self.latest.pop_front();
        }
        self.note(|journal| journal.end(&job, false));
        self.latest.push_back(job);
        let Jobs { latest, journal } = self;
        if let Some(Err(error)) = journal.as_mut().map(|journal| journal.trim(latest.iter())) {
            tracing::error!(%error, "{JOBS_FILE}");
        }
    }

    /// Withdraws a job: the client got another answer.
    pub fn withdraw(&mut self, job: &Job) {
        self.note(|journal| journal.end(job, true));
    }

    /// Writes to the journal. The change is in force, so a failure is only logged.
    fn note(&mut self, note: impl FnOnce(&mut Journal) -> std::io::Result<()>) {
        if let Some(Err(error)) = self.journal.as_mut().map(note) {
            tracing::error!(%error, "{JOBS_FILE}");
        }
    }

    fn get(&self, index: usize) -> Option<&Job> {
        self.latest.get(index)
    }
}

/// The collection of jobs.
pub(crate) struct JobsResource;

const FIELDS: &[Field<usize>] = &[
    key("uuid", |view, index| Some(admin::uuid_text(view.jobs.get(index)?.uuid).into())),
    known("description", |view, index| Some(view.jobs.get(index)?.description.as_str().into())),
    known("state", |view, index| {
        Some(if view.jobs.get(index)?.problem.is_none() { "success" } else { "failure" }.into())
    })
    .of(Kind::Word(&["queued", "running", "paused", "success", "failure"])),
    known("message", |view, index| {
        let problem = view.jobs.get(index)?.problem.as_ref();
        Some(problem.map_or("success", |problem| &problem.message).into())
    }),
    known("code", |view, index| Some(view.jobs.get(index)?.problem.as_ref().map_or(0, |problem| problem.code).into()))
        .of(Kind::Number),
    known("error", |view, index| Some(view.jobs.get(index)?.problem.as_ref()?.body()["error"].clone())).of(Kind::Error),
    known("start_time", |view, index| Some(moment(view.jobs.get(index)?.time))).of(Kind::Moment),
    known("end_time", |view, index| Some(moment(view.jobs.get(index)?.time))).of(Kind::Moment),
    known("svm.name", |view, index| Some(view.name_of(only(view, index)?).into())),
    known("svm.uuid", |view, index| Some(admin::uuid_of(only(view, index)?).into())),
];

impl Resource for JobsResource {
    type Item = usize;

    const NAME: &'static str = "job";
    const CHANGES: &'static [&'static str] = &[];

    fn path(&self) -> String {
        "/api/cluster/jobs".into()
    }

    fn fields(&self) -> &'static [Field<usize>] {
        FIELDS
    }

    fn items(&self, view: &View<'_>) -> Vec<usize> {
        (0..view.jobs.latest.len()).collect()
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<usize> {
        view.jobs.latest.iter().position(|job| admin::uuid_text(job.uuid) == key)
    }

    fn key(&self, view: &View<'_>, item: usize) -> String {
        view.jobs.get(item).map(|job| admin::uuid_text(job.uuid)).unwrap_or_default()
    }

    fn svm(&self, view: &View<'_>, item: usize) -> Option<ObjectId> {
        only(view, item)
    }

    /// A job that concerns several SVMs is shown to the administrators of each.
    fn is_seen(&self, view: &View<'_>, item: usize) -> bool {
        view.jobs.get(item).is_some_and(|job| job.svms.is_empty() || job.svms.iter().any(|svm| view.sees(Some(*svm))))
    }
}

/// The SVM of a job that concerns exactly one.
fn only(view: &View<'_>, index: usize) -> Option<ObjectId> {
    let svms = &view.jobs.get(index)?.svms;
    svms.first().copied().filter(|_| svms.len() == 1)
}

/// `2026-11-23T15:45:58Z`
pub(crate) fn moment(seconds: u64) -> Value {
    format!("{}Z", date(seconds, "%Y-%m-%dT%H:%M:%S")).into()
}
