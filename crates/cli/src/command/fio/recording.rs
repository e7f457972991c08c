//! Jobs that run a recording again: `read_iolog`, of a file that is there or of what an earlier
//! stage of this run asks.
//!
//! Of the latter only the shape is known beforehand: the files are those of the job that makes the
//! recording, and it asks nothing that this job does not ask. So all is looked at, and laid out,
//! before anything runs; the requests come when its stage begins.

use anyhow::{Context as _, Result, bail};
use block::{Bytes, Span, Time};
use fio::trace::{Action, Event, Trace};
use fio::{Invocation, Job, STANDARD_INPUT};
use stats::job::JobOutcome;
use std::io::Read;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use workload::job::{
    Amount, BlockSizes, Direction, FileSpec, JobPlace, JobSpec, Mix, PerDirection, Replay, ReplayAsk, ReplayRow,
};

/// Makes `spec` run the recording that its job names, if it names one.
///
/// # Errors
/// The recording cannot be read, or has no requests.
pub fn take_in(job: &Job, spec: JobSpec) -> Result<JobSpec> {
    let Some(path) = job.recording() else { return Ok(spec) };
    let bytes = match path.as_str() {
        STANDARD_INPUT if job.number > 0 => bail!("{}: can be read once only; leave numjobs out", about(job)),
        STANDARD_INPUT => all_of(std::io::stdin().lock()),
        path if is_socket(path) => UnixStream::connect(path).and_then(all_of),
        path => std::fs::read(path),
    };
    played(job, spec, &bytes.with_context(|| about(job))?)
}

/// Whether this is a Unix socket, whose server sends the recording, as in fio.
fn is_socket(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.file_type().is_socket())
}

fn all_of(mut from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The job of an earlier stage that makes the recording which job `index` runs again; the last, if
/// several do.
pub fn maker_of(invocation: &Invocation, index: usize) -> Option<usize> {
    let job = &invocation.jobs[index];
    let wanted = std::path::absolute(job.recording()?).ok()?;
    let makes = |earlier: &Job| {
        let path = earlier.recorded_to().and_then(|path| std::path::absolute(path).ok());
        earlier.stage < job.stage && path.as_ref() == Some(&wanted)
    };
    invocation.jobs[..index].iter().rposition(makes)
}

/// A job as far as it is known before `maker`, which makes its recording, has run.
pub fn awaiting(job: &Job, spec: JobSpec, maker: &JobSpec) -> JobSpec {
    let target = &job.options.target;
    let files = match &maker.place {
        JobPlace::Files(files) => files.clone(),
        JobPlace::Named { region, .. } => vec![FileSpec { path: unnamed(maker), ..region.clone() }],
        JobPlace::Null { size } => {
            vec![FileSpec { path: unnamed(maker), size: Some(Amount::Bytes(*size)), ..FileSpec::default() }]
        }
    };
    let longest = files.iter().filter_map(end_of).max();
    let place = match (&spec.place, &target.replay_redirect) {
        (JobPlace::Null { .. }, _) => JobPlace::Null { size: longest.unwrap_or(NULL_BYTES) },
        (JobPlace::Named { .. }, _) => spec.place.clone(),
        (JobPlace::Files(_), None) => JobPlace::Files(files),
        (JobPlace::Files(_), Some(one)) => {
            let size = longest.map(Amount::Bytes);
            JobPlace::Files(vec![FileSpec { path: one.into(), size, ..FileSpec::default() }])
        }
    };
    let mut awaiting = JobSpec { place, ..spec };
    let skips = target.replay.skip;
    awaiting.reach.mix = match maker.reach.mix {
        mix if mix.has(Direction::Read) && skips.has(Action::Write) => Mix::Only(Direction::Read),
        mix if mix.has(Direction::Write) && skips.has(Action::Read) => Mix::Only(Direction::Write),
        mix => mix,
    };
    awaiting.reach.blocks = maker.reach.blocks.clone();
    (awaiting.ending.amount, awaiting.ending.requests) = (None, None);
    awaiting
}

/// How large nothing is where that is not known.
const NULL_BYTES: Bytes = Bytes(1 << 50);

/// Where the part of a file that is used ends, if that is known without the file.
fn end_of(file: &FileSpec) -> Option<Bytes> {
    match (file.offset, file.offset_more, file.size.or(file.file_size.map(Amount::Bytes))) {
        (Amount::Bytes(from), Amount::Bytes(more), Some(Amount::Bytes(len))) => Some(Bytes(from.0 + more.0 + len.0)),
        _ => None,
    }
}

/// What a recording calls a place that is no file.
fn unnamed(spec: &JobSpec) -> PathBuf {
    format!("{}.{}.0", spec.name, spec.number).into()
}

/// What is known of a job now that `done` is what all before its stage did: its requests, if
/// another job recorded them.
///
/// # Errors
/// Nothing was recorded; a line says so.
pub fn complete(invocation: &Invocation, index: usize, done: &[JobOutcome]) -> Result<Option<JobSpec>, String> {
    let Some(maker) = maker_of(invocation, index) else { return Ok(None) };
    let job = &invocation.jobs[index];
    let recorded = done.get(maker).and_then(|outcome| fio::render::recording(&invocation.jobs[maker], outcome));
    let text = recorded.map(|recorded| recorded.text).unwrap_or_default();
    let spec = job.spec().map_err(|error| error.to_string())?;
    let known = played(job, spec, text.as_bytes()).map(Some);
    // The job is named where it is printed.
    known.map_err(|error| format!("{error:#}").trim_start_matches(&format!("{}: ", job.name)).to_owned())
}

fn about(job: &Job) -> String {
    format!("{}: read_iolog={}", job.name, job.recording().unwrap_or_default())
}

/// Makes `spec` run this recording.
fn played(job: &Job, spec: JobSpec, bytes: &[u8]) -> Result<JobSpec> {
    let target = &job.options.target;
    let trace = Trace::read(bytes).with_context(|| about(job))?;
    // An export or nothing is one place, whatever the recording's files are called.
    let redirected = target.replay_redirect.is_some() || !matches!(spec.place, JobPlace::Files(_));
    let rows: Arc<[ReplayRow]> = trace.replayed(target.replay).map(|event| row(event, redirected)).collect();
    if rows.is_empty() {
        bail!("{}: it has no requests", about(job));
    }
    let replay = Replay { rows, at_once: target.replay.no_stall };
    let names = match &target.replay_redirect {
        Some(one) => vec![one.clone()],
        None => trace.files.iter().map(|name| device_named(name)).collect(),
    };
    let file = |(index, name): (usize, String)| {
        let extent = replay.extent(index as u32);
        FileSpec { path: PathBuf::from(name), size: Some(Amount::Bytes(Bytes(extent))), ..FileSpec::default() }
    };
    let place = match spec.place {
        JobPlace::Files(_) => JobPlace::Files(names.into_iter().enumerate().map(file).collect()),
        JobPlace::Null { .. } => JobPlace::Null { size: Bytes(replay.extent(0)) },
        export => export,
    };
    Ok(with_shape(JobSpec { place, ..spec }, replay))
}

fn row(event: Event, redirected: bool) -> ReplayRow {
    let ask = match event.action {
        Action::Read => ReplayAsk::Move(Direction::Read),
        Action::Write => ReplayAsk::Move(Direction::Write),
        Action::Trim => ReplayAsk::Move(Direction::Trim),
        Action::Flush { data_only } => ReplayAsk::Flush { whole: !data_only },
    };
    let at: Span = event.due.since(Time::ZERO);
    ReplayRow { at, ask, file: if redirected { 0 } else { event.file }, offset: event.at, len: event.len }
}

/// Directions and lengths as the recording has them: what is checked and set aside beforehand goes
/// by these.
fn with_shape(mut spec: JobSpec, replay: Replay) -> JobSpec {
    let lengths = PerDirection::from_fn(|direction| replay.lengths(direction));
    spec.reach.mix = match (lengths.read, lengths.write, lengths.trim) {
        (_, None, None) => Mix::Only(Direction::Read),
        (None, Some(_), None) => Mix::Only(Direction::Write),
        (None, None, Some(_)) => Mix::Only(Direction::Trim),
        _ => Mix::ReadWrite { read_percent: 50 },
    };
    let all = Direction::ALL.into_iter().filter_map(|direction| lengths[direction]);
    let (most, least) = all.fold((0, u32::MAX), |all, one| (all.0.max(one.0), all.1.min(one.1)));
    spec.reach.blocks = PerDirection::all(match least {
        // Flushes alone.
        u32::MAX => BlockSizes::Fixed(512),
        _ => BlockSizes::Range { least, most, step: 1 },
    });
    (spec.ending.amount, spec.ending.requests) = (None, None);
    spec.replay = Some(replay);
    spec
}

/// The device of a name `major:minor`, as blktrace's dumps have it; any other name as it is.
fn device_named(name: &str) -> String {
    let number =
        name.split_once(':').filter(|(major, minor)| major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok());
    let folder = number.and_then(|_| std::fs::canonicalize(format!("/sys/dev/block/{name}")).ok());
    let device =
        folder.as_ref().and_then(|folder| folder.file_name()).map(|device| device.to_string_lossy().into_owned());
    device.map_or_else(|| name.to_owned(), |device| format!("/dev/{device}"))
}
