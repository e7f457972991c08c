//! `/api/cluster/jobs`: what changes of volumes and the like answer with. Each has ended when it is answered: a change is
//! short work here, and who follows the link finds the end at once.

use super::{Resource, View};
use crate::problem::Problem;
use crate::record::{Field, Kind, key, known};
use block::{ObjectId, date};
use serde_json::Value;
use std::collections::VecDeque;

/// A change that was asked for, and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub uuid: u128,
    /// What was asked for: method and path.
    pub description: String,
    /// When, in seconds since the beginning of 1970.
    pub time: u64,
    /// The SVM that it is about.
    pub svm: Option<ObjectId>,
    /// Why not.
    pub problem: Option<Problem>,
}

/// Jobs that are kept: clients ask for theirs at once.
const KEPT: usize = 1024;

/// The latest jobs, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Jobs(VecDeque<Job>);

impl Jobs {
    /// Adds one.
    pub fn add(&mut self, job: Job) {
        if self.0.len() >= KEPT {
            self.0.pop_front();
        }
        self.0.push_back(job);
    }

    fn get(&self, index: usize) -> Option<&Job> {
        self.0.get(index)
    }
}

/// The collection.
pub(crate) struct JobsResource;

const FIELDS: &[Field<usize>] = &[
    key("uuid", |view, index| Some(admin::uuid_text(view.jobs.get(index)?.uuid).into())),
    known("description", |view, index| Some(view.jobs.get(index)?.description.as_str().into())),
    known("state", |view, index| {
        Some(if view.jobs.get(index)?.problem.is_none() { "success" } else { "failure" }.into())
    }),
    known("message", |view, index| {
        let problem = view.jobs.get(index)?.problem.as_ref();
        Some(problem.map_or("success", |problem| &problem.message).into())
    }),
    known("code", |view, index| Some(view.jobs.get(index)?.problem.as_ref().map_or(0, |problem| problem.code).into()))
        .of(Kind::Number),
    known("error", |view, index| Some(view.jobs.get(index)?.problem.as_ref()?.body()["error"].clone())).of(Kind::Error),
    known("start_time", |view, index| Some(moment(view.jobs.get(index)?.time))).of(Kind::Moment),
    known("end_time", |view, index| Some(moment(view.jobs.get(index)?.time))).of(Kind::Moment),
    known("svm.name", |view, index| Some(view.name_of(view.jobs.get(index)?.svm?).into())),
    known("svm.uuid", |view, index| Some(admin::uuid_of(view.jobs.get(index)?.svm?).into())),
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
        (0..view.jobs.0.len()).collect()
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<usize> {
        view.jobs.0.iter().position(|job| admin::uuid_text(job.uuid) == key)
    }

    fn key(&self, view: &View<'_>, item: usize) -> String {
        view.jobs.get(item).map(|job| admin::uuid_text(job.uuid)).unwrap_or_default()
    }

    fn svm(&self, view: &View<'_>, item: usize) -> Option<ObjectId> {
        view.jobs.get(item)?.svm
    }
}

/// `2026-11-23T15:45:58Z`
pub(crate) fn moment(seconds: u64) -> Value {
    format!("{}Z", date(seconds, "%Y-%m-%dT%H:%M:%S")).into()
}
