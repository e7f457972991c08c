//! What is settled about the jobs' storage before the first request: sizes, safety, space, lay-out.

use super::prepared::Prepared;
use super::runner::opens_durable;
use super::site::{Ahead, Site, survey, writes};
use super::site_error::{SiteError, lines};
use super::stage::{RunSettings, Watch};
use block::{Bytes, Span};
use storage::{Consent, Place};
use workload::job::{EngineKind, JobPlace, JobSpec, WriteSync};

/// Why nothing was run: one line for each problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct SetupError(pub Vec<String>);

/// Why a job's storage could not be opened; one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenError(pub(crate) String);

/// Largest request of a job: a slot of the workers' slabs.
const BLOCK_MOST: u32 = 64 << 20;

/// Checks all jobs, then lays out what is missing. Nothing is written before all checks have
/// passed. A stop leaves the remaining files as they are; the jobs do not run then.
pub(super) fn prepare(
    specs: &[JobSpec],
    settings: &RunSettings,
    watch: &mut dyn Watch,
) -> Result<Vec<Prepared>, SetupError> {
    let mut wrong: Vec<String> = specs.iter().flat_map(|spec| objections(spec, settings)).collect();
    let consent = Consent::new(&settings.destroy, &settings.even_in_use);
    let (mut ahead, mut jobs) = (Ahead::default(), Vec::with_capacity(specs.len()));
    for (index, spec) in specs.iter().enumerate() {
        match surveyed(spec, index, &consent, settings, &mut ahead) {
            Ok(job) => jobs.push(job),
            Err(lines) => wrong.extend(lines),
        }
    }
    wrong.extend(ahead.room.lacks());
    if !wrong.is_empty() {
        wrong.extend(idle(&consent, specs));
        return Err(SetupError(wrong));
    }
    idle(&consent, specs).iter().for_each(|line| watch.note(line));
    for job in &mut jobs {
        lay_out(job, watch).map_err(|line| SetupError(vec![line]))?;
    }
    Ok(jobs)
}

/// [`prepare`] for one job whose requests became known during the run. An error is one line.
pub(super) fn prepare_late(
    spec: &JobSpec,
    index: usize,
    settings: &RunSettings,
    watch: &mut dyn Watch,
) -> Result<Prepared, String> {
    let consent = Consent::new(&settings.destroy, &settings.even_in_use);
    let mut ahead = Ahead::default();
    let mut wrong = objections(spec, settings);
    let job = surveyed(spec, index, &consent, settings, &mut ahead);
    wrong.extend(ahead.room.lacks());
    match job {
        Ok(mut job) if wrong.is_empty() => lay_out(&mut job, watch).map(|()| job),
        Ok(_) => Err(wrong.join("; ")),
        Err(lines) => Err([wrong, lines].concat().join("; ")),
    }
}

/// Checks a job's places; an error has a line for each problem.
fn surveyed(
    spec: &JobSpec,
    index: usize,
    consent: &Consent,
    settings: &RunSettings,
    ahead: &mut Ahead,
) -> Result<Prepared, Vec<String>> {
    let (spec, mut notes) = adjusted(spec);
    // Consent may name the job instead of its files.
    let is_named = settings.destroy.contains(&spec.name);
    let consent = if is_named { consent.clone().to_all() } else { consent.clone() };
    let survey = survey(&spec, &consent, ahead).and_then(|sites| {
        let forbidden: Vec<SiteError> =
            sites.iter().filter(|_| settings.read_only).filter_map(Site::forbidden).collect();
        if forbidden.is_empty() { Ok(sites) } else { Err(forbidden) }
    });
    match survey {
        Ok(sites) => {
            notes.extend(sites.iter().filter_map(Site::shortage));
            Ok(Prepared { spec, index, sites, notes, trouble: None })
        }
        Err(errors) => Err(lines(&errors).into_iter().map(|line| format!("{}: {line}", spec.name)).collect()),
    }
}

fn lay_out(job: &mut Prepared, watch: &mut dyn Watch) -> Result<(), String> {
    let Prepared { spec, sites, .. } = job;
    sites.iter_mut().try_for_each(|site| site.lay_out(spec, watch).map_err(|line| format!("{}: {line}", spec.name)))
}

/// Entries of the consent that no job writes to.
fn idle(consent: &Consent, specs: &[JobSpec]) -> Vec<String> {
    let places = |spec: &JobSpec| -> Vec<Place> {
        match &spec.place {
            JobPlace::Files(files) => files.iter().map(|file| Place::Path(file.path.clone())).collect(),
            JobPlace::Named { name, .. } => Place::parse(name).into_iter().collect(),
            JobPlace::Null { .. } => Vec::new(),
        }
    };
    let written = specs.iter().filter(|spec| writes(spec) || spec.layout.unlink || spec.layout.renew);
    let places: Vec<Place> = written.flat_map(places).collect();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    consent.idle(&places, &names)
}

/// Problems of a job by itself.
fn objections(spec: &JobSpec, settings: &RunSettings) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |what: String| found.push(format!("{}: {what}", spec.name));
    let reach = &spec.reach;
    if reach.least_block() == 0 || reach.most_block() > BLOCK_MOST {
        let [most, least, largest] =
            [BLOCK_MOST, reach.least_block(), reach.most_block()].map(|bytes| Bytes(u64::from(bytes)));
        note(format!("bs: must be from 1 B to {most}, got {least} to {largest}"));
    }
    if spec.logs.interval == Span::ZERO {
        note("the interval of logs must be above zero".into());
    }
    if writes(spec) && settings.read_only {
        note("it writes, and --readonly forbids that; leave it out or make the job a reading one".into());
    } else if spec.layout.renew && settings.read_only {
        note("unlink_each_loop makes files anew, and --readonly forbids that; leave one of the two out".into());
    } else if spec.layout.unlink && settings.read_only {
        note("unlink removes the files, and --readonly forbids that; leave one of the two out".into());
    }
    if matches!(&spec.place, JobPlace::Files(files) if files.is_empty()) {
        note("it has no file; name one with filename= or directory=".into());
    }
    found
}

/// The job as it can be run, and notes on how that differs from what was asked.
pub(super) fn adjusted(spec: &JobSpec) -> (JobSpec, Vec<String>) {
    let mut spec = spec.clone();
    let mut notes = Vec::new();
    if spec.engine == EngineKind::Sync && spec.pacing.depth > 1 && matches!(spec.place, JobPlace::Files(_)) {
        notes.push(format!("system calls are made one at a time, so the depth of {} is 1", spec.pacing.depth));
        spec.pacing.depth = 1;
    }
    if spec.write_sync == WriteSync::All && !opens_durable(&spec) {
        notes.push("O_SYNC is done as O_DSYNC: data and what is needed to find it are durable after each write".into());
    }
    (spec, notes)
}
