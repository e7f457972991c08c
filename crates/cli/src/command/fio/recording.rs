//! Jobs that run a recording again: `read_iolog`.

use anyhow::{Context as _, Result, bail};
use block::{Bytes, Span, Time};
use fio::Job;
use fio::trace::{Action, Event, Trace};
use std::path::PathBuf;
use std::sync::Arc;
use workload::job::{
    Amount, BlockSizes, Direction, FileSpec, JobSpec, Mix, PerDirection, Place, Replay, ReplayAsk, ReplayRow,
};

/// Makes `spec` run the recording that its job names, if it names one.
///
/// # Errors
/// The recording cannot be read, or has no requests.
pub fn take_in(job: &Job, spec: JobSpec) -> Result<JobSpec> {
    let target = &job.options.target;
    let Some(path) = job.recording() else { return Ok(spec) };
    let about = || format!("{}: read_iolog={path}", job.name);
    let bytes = std::fs::read(&path).with_context(about)?;
    let trace = Trace::read(&bytes).with_context(about)?;
    let redirected = target.replay_redirect.is_some();
    let rows: Arc<[ReplayRow]> = trace.played(target.playing).map(|event| row(event, redirected)).collect();
    if rows.is_empty() {
        bail!("{}: it has no requests", about());
    }
    let replay = Replay { rows, at_once: target.playing.no_stall };
    let names = match &target.replay_redirect {
        Some(one) => vec![one.clone()],
        None => trace.files.iter().map(|name| device_named(name)).collect(),
    };
    let file = |(index, name): (usize, String)| {
        let extent = replay.extent(index as u32);
        FileSpec { path: PathBuf::from(name), size: Some(Amount::Bytes(Bytes(extent))), ..FileSpec::default() }
    };
    Ok(with_shape(JobSpec { place: Place::Files(names.into_iter().enumerate().map(file).collect()), ..spec }, replay))
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

/// Directions and lengths as the recording has them: what is checked and set aside beforehand goes by these.
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
