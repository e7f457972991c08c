//! A point as jobs: one that keeps its small requests in flight, one for the large ones or one for
//! each stream, and before streams one that transfers data to flush caches.
//!
//! ```text
//!   concat    │ volume 1 ││ volume 2        ││ v. 3 │     random: a volume is as likely as it is large
//!   streams   ├──── stream 1 ────┤├──── stream 2 ────┤     each in its own part, volume after volume
//!
//!   raid0     volume 1  0 2 4 …     all volumes are as long as the shortest; random: each as likely;
//!             volume 2  1 3 5 …     a stream takes a stripe of each in turn
//! ```

use crate::grammar::{Array, Error, Load, Pattern};
use crate::ladder::LoadPoint;
use block::{Bytes, Span};
use std::path::PathBuf;
use workload::job::{
    Amount, BlockCoverage, BlockSizes, Direction, Ending, EngineKind, FileOrder, FileSpec, JobPlace, JobSpec, Layout,
    Logs, Mix, Order, Pacing, PerDirection, Reach, Turns,
};

/// A volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrionVolume {
    /// Its name as listed.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// What it is.
    pub at: VolumeKind,
}

/// A kind of volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeKind {
    /// A file or device of this machine.
    File,
    /// An NBD export.
    Export,
    /// Several places concatenated.
    Concatenated,
    /// Several places in stripes.
    Striped,
    /// No storage.
    Nothing,
    /// A range of a simulated device.
    Simulated,
}

/// The role of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobRole {
    /// Transfers data to flush caches; not measured.
    Warm,
    /// Small requests.
    Small,
    /// Large requests, or one stream of them.
    Large,
}

/// Number of slices in which offsets are counted.
const SLICES: u32 = 1000;
/// Requests in flight while a cache is flushed, and its duration if no amount is given.
const WARM_DEPTH: u32 = 8;
const WARM: Span = Span::from_secs(120);
/// Gives neighbouring points different requests for one seed: 2^64 divided by the golden ratio.
const APART: u64 = 0x9E37_79B9_7F4A_7C15;
/// Maximum bytes in flight, which are in memory.
const OUTSTANDING_MOST: u64 = 4 << 30;

/// Checks whether these volumes can take the load of all of these points.
///
/// # Errors
/// The first reason why not, in one line.
pub fn check(load: &Load, volumes: &[OrionVolume], spots: &[LoadPoint]) -> Result<(), Error> {
    let plain = |volume: &OrionVolume| matches!(volume.at, VolumeKind::File | VolumeKind::Simulated);
    if let Some(other) = volumes.iter().find(|volume| volumes.len() > 1 && !plain(volume)) {
        let rule = "must be the only volume: files and devices alone can be put together";
        return Err(Error(format!("{}: {rule}, got {} volumes; list it by itself", other.name, volumes.len())));
    }
    let longest = load.small.max(load.large);
    if let Some(short) = volumes.iter().find(|volume| volume.size < u64::from(longest)) {
        let (size, longest) = (Bytes(short.size), Bytes(longest.into()));
        return Err(Error(format!("{}: has {size}, and a request needs {longest}; name a larger one", short.name)));
    }
    let most = spots.iter().map(|spot| spot.large).max().unwrap_or(0);
    let room = Virtual::of(load, volumes).units;
    if let (Array::Raid0 { stripe }, 0) = (load.array, room) {
        return Err(Error(format!("-stripe: must fit into every volume, got {}; lower it", Bytes(stripe))));
    }
    if let Pattern::Streams { .. } = load.pattern
        && room < u64::from(most)
    {
        return Err(Error(format!(
            "-type seq: {most} streams need a part each, and the volumes have {room}; use larger ones"
        )));
    }
    let outstanding = |spot: &LoadPoint| {
        u64::from(spot.small) * u64::from(load.small)
            + u64::from(spot.large) * u64::from(depth_of(load.pattern)) * u64::from(load.large)
    };
    match spots.iter().find(|spot| outstanding(spot) > OUTSTANDING_MOST) {
        None => Ok(()),
        Some(spot) => {
            let (most, got) = (Bytes(OUTSTANDING_MOST), Bytes(outstanding(spot)));
            Err(Error(format!(
                "at most {most} are outstanding, and the point Small={} and Large={} has {got}; lower it",
                spot.small, spot.large
            )))
        }
    }
}

/// The jobs of point `number` of a run. Those after a [`JobRole::Warm`] begin when it has ended.
pub fn jobs(load: &Load, volumes: &[OrionVolume], spot: LoadPoint, number: u64) -> Vec<(JobRole, JobSpec)> {
    let volume = Virtual::of(load, volumes);
    let mut jobs = Vec::new();
    if matches!(load.pattern, Pattern::Streams { .. }) && spot.large > 0 && load.warm != Some(0) {
        jobs.push((JobRole::Warm, warm(load, &volume)));
    }
    let measured = jobs.len();
    if spot.small > 0 {
        let random = random(load, &volume, load.small);
        jobs.push((JobRole::Small, JobSpec { name: "small".into(), ..with_depth(random, spot.small) }));
    }
    match load.pattern {
        Pattern::Random if spot.large > 0 => {
            let random = random(load, &volume, load.large);
            jobs.push((JobRole::Large, JobSpec { name: "large".into(), ..with_depth(random, spot.large) }));
        }
        Pattern::Random => {}
        Pattern::Streams { depth } => {
            jobs.extend((0..spot.large).map(|n| (JobRole::Large, stream(load, &volume, depth, n, spot.large))));
        }
    }
    for (place, (_, job)) in (0..).zip(&mut jobs) {
        job.seed = load.seed ^ ((number << 32) | (place + 1)).wrapping_mul(APART);
        job.start.after_earlier = measured > 0 && place == measured as u64;
    }
    jobs
}

/// Requests of each large load: one, or the depth of a stream.
pub(crate) fn depth_of(pattern: Pattern) -> u32 {
    match pattern {
        Pattern::Random => 1,
        Pattern::Streams { depth } => depth,
    }
}

/// Number of writers among the first `streams` streams: their share, rounded down.
pub(crate) fn writers(load: &Load, streams: u32) -> u32 {
    (u64::from(streams) * u64::from(load.write_percent) / 100) as u32
}

fn with_depth(job: JobSpec, depth: u32) -> JobSpec {
    JobSpec { pacing: Pacing { depth, ..Pacing::default() }, ..job }
}

fn random(load: &Load, volume: &Virtual<'_>, block: u32) -> JobSpec {
    let mix = match load.write_percent {
        0 => Mix::Only(Direction::Read),
        100 => Mix::Only(Direction::Write),
        percent => Mix::ReadWrite { read_percent: 100 - percent },
    };
    let turns = if let Array::Concat = load.array { Turns::BySize } else { Turns::Random };
    JobSpec {
        place: volume.whole(),
        file_order: FileOrder { turns, requests_each: 1 },
        // Draws are independent, as in the original.
        reach: Reach { mix, order: Order::RANDOM, coverage: BlockCoverage::Free, ..blocks_of(block) },
        logs: Logs { coverage: Some(SLICES), ..Logs::default() },
        ..measured(load, volume)
    }
}

fn stream(load: &Load, volume: &Virtual<'_>, depth: u32, number: u32, streams: u32) -> JobSpec {
    let writes = writers(load, number + 1) > writers(load, number);
    let turns = match load.array {
        Array::Concat => FileOrder { turns: Turns::Sequential, requests_each: 1 },
        Array::Raid0 { stripe } => {
            FileOrder { turns: Turns::RoundRobin, requests_each: (stripe / u64::from(load.large)) as u32 }
        }
    };
    let direction = if writes { Direction::Write } else { Direction::Read };
    let job = JobSpec {
        name: format!("stream {}", number + 1),
        number,
        place: volume.part(number, streams),
        file_order: turns,
        reach: Reach { mix: Mix::Only(direction), ..blocks_of(load.large) },
        ..measured(load, volume)
    };
    with_depth(job, depth)
}

fn warm(load: &Load, volume: &Virtual<'_>) -> JobSpec {
    let ending = match load.warm {
        Some(bytes) => Ending { amount: Some(Amount::Bytes(Bytes(bytes))), ..Ending::default() },
        None => Ending { runtime: Some(WARM), time_based: true, ..Ending::default() },
    };
    let job = random(load, volume, load.large);
    let job = JobSpec { name: "warming".into(), ending, logs: Logs::default(), ..job };
    with_depth(job, WARM_DEPTH)
}

fn blocks_of(block: u32) -> Reach {
    Reach { blocks: PerDirection::all(BlockSizes::Fixed(block)), ..Reach::default() }
}

/// The settings that all jobs of a point share.
fn measured(load: &Load, volume: &Virtual<'_>) -> JobSpec {
    let is_file = volume
        .volumes
        .iter()
        .any(|volume| matches!(volume.at, VolumeKind::File | VolumeKind::Concatenated | VolumeKind::Striped));
    JobSpec {
        engine: EngineKind::Uring,
        direct: is_file && !load.page_cache,
        // Direct I/O leaves nothing in the page cache to drop.
        layout: Layout { create: false, invalidate: load.page_cache, ..Layout::default() },
        ending: Ending {
            runtime: Some(load.duration),
            time_based: true,
            ramp: load.settle,
            ends_all_on_error: true,
            ..Ending::default()
        },
        ..JobSpec::default()
    }
}

/// The volumes combined.
struct Virtual<'v> {
    volumes: &'v [OrionVolume],
    array: Array,
    /// The unit of its parts: large requests, or a stripe of each volume.
    unit: u64,
    /// How many of them there are.
    units: u64,
}

impl<'v> Virtual<'v> {
    fn of(load: &Load, volumes: &'v [OrionVolume]) -> Virtual<'v> {
        let (unit, units) = match load.array {
            Array::Concat => {
                let unit = u64::from(load.large);
                (unit, volumes.iter().map(|volume| volume.size / unit).sum())
            }
            Array::Raid0 { stripe } => (stripe, volumes.iter().map(|volume| volume.size / stripe).min().unwrap_or(0)),
        };
        Virtual { volumes, array: load.array, unit, units }
    }

    /// All of it.
    fn whole(&self) -> JobPlace {
        match self.array {
            Array::Concat => self.place(self.volumes.iter().map(|volume| Part { volume, at: 0, len: None })),
            Array::Raid0 { .. } => self.part(0, 1),
        }
    }

    /// The part of one of several streams.
    fn part(&self, number: u32, streams: u32) -> JobPlace {
        let cut = |n: u32| (u128::from(self.units) * u128::from(n) / u128::from(streams)) as u64;
        let (from, to) = (cut(number), cut(number + 1));
        let (mut first, array, unit) = (0, self.array, self.unit);
        let part = |volume: &'v OrionVolume| {
            let (begin, end) = match array {
                Array::Raid0 { .. } => (from, to),
                Array::Concat => {
                    let next = first + volume.size / unit;
                    let cut = (from.clamp(first, next) - first, to.clamp(first, next) - first);
                    first = next;
                    cut
                }
            };
            Part { volume, at: begin * unit, len: Some((end - begin) * unit) }
        };
        self.place(self.volumes.iter().map(part).filter(|part| part.len != Some(0)))
    }

    fn place(&self, parts: impl Iterator<Item = Part<'v>>) -> JobPlace {
        let mut files = parts.map(Part::file);
        match self.volumes {
            [volume] if matches!(volume.at, VolumeKind::Export | VolumeKind::Concatenated | VolumeKind::Striped) => {
                let region = files.next().unwrap_or_default();
                JobPlace::Named { name: volume.name.clone(), region: FileSpec { path: PathBuf::new(), ..region } }
            }
            [volume] if volume.at == VolumeKind::Nothing => JobPlace::Null { size: Bytes(volume.size) },
            _ => JobPlace::Files(files.collect()),
        }
    }
}

/// A part of a volume; without a length, all of it.
struct Part<'v> {
    volume: &'v OrionVolume,
    at: u64,
    len: Option<u64>,
}

impl Part<'_> {
    fn file(self) -> FileSpec {
        let Part { volume, at, len } = self;
        FileSpec {
            path: volume.name.clone().into(),
            offset: Amount::Bytes(Bytes(at)),
            size: len.map(|len| Amount::Bytes(Bytes(len))),
            file_size: (volume.at == VolumeKind::Simulated).then_some(Bytes(volume.size)),
            ..FileSpec::default()
        }
    }
}

#[cfg(test)]
mod tests;
