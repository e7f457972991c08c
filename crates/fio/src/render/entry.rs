//! One entry of a report: a job, or the jobs of a group with `group_reporting`.

use crate::job::Job;
use crate::options::Unified;
use crate::render::Report;
use block::Span;
use stats::job::{DiskUse, JobOutcome};
use stats::{Direction, Histogram, Track};

/// One entry of a report.
#[derive(Debug)]
pub struct Entry<'r> {
    /// The first of its jobs, which gives the name and options.
    pub job: &'r Job,
    /// The settings of the section of its last job, which fio shows for a group.
    pub given: &'r [(String, String)],
    /// The number of its jobs.
    pub jobs: usize,
    /// Their combined figures.
    pub outcome: JobOutcome,
    /// The sum of the times for which they were measured.
    pub run_time: Span,
    /// All directions combined, if requested.
    pub mixed: Option<Track>,
}

impl<'r> Entry<'r> {
    /// All entries of a report, in order. A job without an outcome yet has zeroes.
    pub fn all(report: &Report<'r>) -> Vec<Entry<'r>> {
        let entries = report.invocation.entries().into_iter();
        entries.filter_map(|indices| Entry::of(report, &indices)).collect()
    }

    fn of(report: &Report<'r>, indices: &[usize]) -> Option<Entry<'r>> {
        let (first, others) = indices.split_first()?;
        let job = report.invocation.jobs.get(*first)?;
        let mut outcome = report.outcomes.get(*first).cloned().unwrap_or_default();
        let mut run_time = outcome.measured;
        for other in others.iter().filter_map(|index| report.outcomes.get(*index)) {
            outcome.absorb(other);
            run_time += other.measured;
        }
        let given =
            indices.last().and_then(|last| report.invocation.jobs.get(*last)).map_or(&job.given, |last| &last.given);
        let mixed = (job.options.report.unified != Unified::None).then(|| mixed(&outcome));
        Some(Entry { job, given, jobs: indices.len(), outcome, run_time, mixed })
    }

    /// The directions to show, with fio's names.
    pub fn directions(&self) -> Vec<(&'static str, &Track)> {
        let each = Direction::ALL.into_iter().map(|direction| (direction.name(), &self.outcome.tape[direction]));
        let mixed = self.mixed.iter().map(|mixed| ("mixed", mixed));
        match self.job.options.report.unified {
            Unified::Mixed => mixed.collect(),
            Unified::None | Unified::Both => each.chain(mixed).collect(),
        }
    }

    /// Service times of all directions.
    pub fn service(&self) -> Histogram {
        let mut all = Histogram::new();
        self.outcome.tape.directions().for_each(|(_, direction)| all.merge(&direction.service));
        all
    }

    /// The error number of its failure, or else of the first failure that it continued after; 0 if
    /// there was none.
    pub fn error(&self) -> i32 {
        let failed = self.outcome.error.as_ref().map(|error| error.number);
        failed.or(self.outcome.errors.first).unwrap_or(0)
    }

    /// The number of failed requests and the error number of the first, if the job was to continue
    /// after failures.
    pub fn failures(&self) -> Option<(u64, i32)> {
        let errors = &self.outcome.errors;
        let goes_on = self.job.options.data.forgive.goes_on();
        goes_on.then(|| (errors.total(), errors.first.unwrap_or(0)))
    }
}

/// All directions combined.
fn mixed(outcome: &JobOutcome) -> Track {
    let mut all = Track::default();
    outcome.tape.directions().for_each(|(_, direction)| all.absorb(direction));
    all
}

/// Total bytes per second of a group's entries in one direction, given by fio's name.
pub fn group_bw(entries: &[Entry<'_>], group: u32, name: &str) -> f64 {
    let same = entries.iter().filter(|entry| entry.job.group == group).flat_map(Entry::directions);
    same.filter(|(other, _)| *other == name).map(|(_, figures)| figures.bytes_per_second()).sum()
}

/// The devices of all jobs, each over the longest time for which a job saw it.
pub fn disks(report: &Report<'_>) -> Vec<DiskUse> {
    let mut found: Vec<DiskUse> = Vec::new();
    let jobs = report.invocation.jobs.iter().zip(report.outcomes);
    for disk in jobs.filter(|(job, _)| job.options.report.disk_util).flat_map(|(_, outcome)| &outcome.disks) {
        match found.iter_mut().find(|known| known.name == disk.name) {
            Some(known) if known.over < disk.over => *known = disk.clone(),
            Some(_) => {}
            None => found.push(disk.clone()),
        }
    }
    found
}

/// Milliseconds of measuring. As in fio they are rounded up, so that any transfer took at least 1
/// ms and rates can be divided by it.
pub fn run_millis(span: Span) -> u64 {
    span.as_nanos().div_ceil(1_000_000)
}

/// How long a device was busy, as a percentage of its time.
pub fn busy_percent(disk: &DiskUse) -> f64 {
    match disk.over {
        Span::ZERO => 0.0,
        over => (disk.busy.as_secs_f64() / over.as_secs_f64() * 100.0).min(100.0),
    }
}
