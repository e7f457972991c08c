//! Everything about the jobs' files that is settled before the first request: sizes, safety, lay-out.

use super::board::Board;
use super::layout::{self, Plan};
use super::placement::Near;
use super::runner::{Parts, Renew, Runner};
use super::stage::{RunSettings, Watch};
use crate::local::{CallTarget, LocalFile, NullTarget, RingTarget};
use crate::nbd_target::{Export, NbdTarget};
use crate::safety;
use block::{Bytes, Span, Target, Time};
use stats::job::Losses;
use std::cell::RefCell;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use uring::disk::{self, Cache, Opening};
use uring::{Choice, Io, IoSettings, Polling};
use workload::job::{Amount, Direction, EngineKind, FileSpec, JobSpec, Place, Region, WriteSync};

/// Why nothing was run: a line for each thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct SetupError(pub Vec<String>);

/// Why a job's storage could not be opened; one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenError(pub(crate) String);

/// A job that is ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) spec: JobSpec,
    pub(crate) index: usize,
    /// Where each file of the job is and what of it is used; empty for NBD and for none.
    files: Vec<(PathBuf, Region)>,
    /// The export of a job over NBD.
    export: Option<Export>,
    notes: Vec<String>,
}

/// A job's storage.
struct Opened {
    target: Box<dyn Target>,
    /// What of each file is used.
    regions: Vec<Region>,
    /// What it runs on, in words.
    backend: String,
    /// What of its connections is lost.
    losses: Option<Rc<RefCell<Losses>>>,
}

/// No file grows larger than this: a job that writes until there is no space left has it for its end, 4 EiB.
const FULL_MOST: u64 = 1 << 62;

/// Longest request of a job: a slot of the workers' slabs.
const BLOCK_MOST: u32 = 64 << 20;

/// Checks all jobs, then lays out what is missing.
pub(super) fn prepare(
    specs: &[JobSpec],
    settings: &RunSettings,
    watch: &mut dyn Watch,
) -> Result<Vec<Prepared>, SetupError> {
    let wrong: Vec<String> = specs.iter().flat_map(|spec| objections(spec, settings)).collect();
    if !wrong.is_empty() {
        return Err(SetupError(wrong));
    }
    let mut jobs = Vec::with_capacity(specs.len());
    for (index, spec) in specs.iter().enumerate() {
        let job = prepare_one(index, spec, watch).map_err(|line| SetupError(vec![format!("{}: {line}", spec.name)]))?;
        jobs.push(job);
    }
    Ok(jobs)
}

/// What is wrong with a job, before anything was touched.
fn objections(spec: &JobSpec, settings: &RunSettings) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |what: String| found.push(format!("{}: {what}", spec.name));
    let reach = &spec.reach;
    if reach.least_block() == 0 || reach.most_block() > BLOCK_MOST {
        note(format!(
            "bs: must be from 1 to {BLOCK_MOST} bytes, got {} to {}",
            reach.least_block(),
            reach.most_block()
        ));
    }
    if spec.logs.interval == Span::ZERO {
        note("the interval of logs must be above zero".into());
    }
    let writes = reach.mix.changes_data() && spec.verify.as_ref().is_none_or(|verify| !verify.only);
    if writes && settings.read_only {
        note("it writes, and --readonly forbids that; leave it out or make the job a reading one".into());
    }
    if let Place::Nbd { uri, .. } = &spec.place
        && let Err(line) = Export::parse(uri)
    {
        note(line);
    }
    // Removing a file that is somebody's destroys it as writing does.
    let destroys = writes || spec.layout.unlink || spec.layout.renew;
    let Place::Files(files) = &spec.place else { return found };
    if files.is_empty() {
        note("it has no file; name one with filename= or directory=".into());
    }
    for file in files {
        if let Some(line) = objection_to_size(file, spec) {
            note(line);
        }
        if destroys && !may_destroy(&file.path, spec, settings) {
            let path = file.path.display();
            let (what, does) = if writes { ("written", "overwrites") } else { ("removed", "removes") };
            match safety::objections(&file.path) {
                Ok(objections) if objections.is_empty() => {}
                Ok(objections) => note(format!(
                    "{path}: will not be {what}: {}; --destroy-data={path} {does} it all the same",
                    objections.join("; ")
                )),
                Err(error) => note(format!("{path}: {error}")),
            }
        }
    }
    found
}

fn objection_to_size(file: &FileSpec, spec: &JobSpec) -> Option<String> {
    let path = file.path.display();
    match std::fs::metadata(&file.path) {
        Ok(about) if about.is_dir() => Some(format!("{path}: is a folder; name a file in it")),
        Ok(_) => None,
        Err(_) if file.path.starts_with("/dev") && !file.path.starts_with("/dev/shm") => {
            Some(format!("{path}: is not there, and no files are made in /dev; check the device's name"))
        }
        Err(_) if file.size.is_some() || file.file_size.is_some() || spec.layout.until_full => None,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some(format!("{path}: is not there, and no size= says how large it should be; set size="))
        }
        Err(error) => Some(format!("{path}: {error}")),
    }
}

fn may_destroy(path: &Path, spec: &JobSpec, settings: &RunSettings) -> bool {
    settings.destroy.iter().any(|name| Path::new(name) == path || *name == spec.name)
}

fn prepare_one(index: usize, spec: &JobSpec, watch: &mut dyn Watch) -> Result<Prepared, String> {
    let mut spec = spec.clone();
    let mut notes = Vec::new();
    if spec.engine == EngineKind::Sync && spec.pacing.depth > 1 && matches!(spec.place, Place::Files(_)) {
        notes.push(format!("system calls are made one at a time, so the depth of {} is 1", spec.pacing.depth));
        spec.pacing.depth = 1;
    }
    if spec.write_sync == WriteSync::All {
        notes.push("O_SYNC is done as O_DSYNC: data and what is needed to find it are durable after each write".into());
    }
    let mut files = Vec::new();
    if let Place::Files(list) = &spec.place {
        for file in list {
            let file = &placed(file, &spec);
            lay_out(file, &spec, watch).map_err(|error| format!("{}: {error}", file.path.display()))?;
            let size = size_of(&file.path).map_err(|error| format!("{}: {error}", file.path.display()))?;
            let region = region(file, &spec, size).map_err(|line| format!("{}: {line}", file.path.display()))?;
            files.push((file.path.clone(), region));
        }
    }
    let export = match &spec.place {
        Place::Nbd { uri, .. } => Some(Export::parse(uri)?),
        _ => None,
    };
    Ok(Prepared { spec, index, files, export, notes })
}

/// Where the part that is used begins and ends, as far as a file decides it: behind its end, or nowhere.
fn placed(file: &FileSpec, spec: &JobSpec) -> FileSpec {
    let mut file = file.clone();
    let about = std::fs::metadata(&file.path).ok();
    if let Some(about) = about.filter(|about| spec.layout.append && about.is_file()) {
        (file.offset, file.offset_more) = (Amount::Bytes(Bytes(about.len())), Amount::default());
        // A size in percent would count what is there already.
        file.file_size = None;
    }
    if spec.layout.until_full {
        (file.size, file.file_size) = (None, None);
    }
    file
}

/// Makes a file that is missing or too short.
fn lay_out(file: &FileSpec, spec: &JobSpec, watch: &mut dyn Watch) -> std::io::Result<()> {
    let about = std::fs::metadata(&file.path).ok();
    if about.as_ref().is_some_and(|about| about.file_type().is_block_device()) {
        return Ok(());
    }
    let there = about.as_ref().map_or(0, std::fs::Metadata::len);
    let whole = file.file_size.unwrap_or(Bytes(there));
    let offset = file.offset.of(whole).0 + file.offset_more.of(whole).0;
    let used = file.size.map_or(0, |size| offset + size.of(whole).0);
    let len = used.max(file.file_size.unwrap_or_default().0);
    let only_writes = !spec.reach.mix.has(Direction::Read) && !spec.reach.mix.has(Direction::Trim);
    let filled = !only_writes || spec.layout.overwrite;
    let marked = about.is_some() && uring::mark::is_set(&std::fs::File::open(&file.path)?)?;
    if there >= len && about.is_some() {
        return Ok(());
    }
    if !spec.layout.create && about.is_none() {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    if !(there == 0 || marked || spec.reach.mix.changes_data()) {
        return Err(std::io::Error::other(format!(
            "has {}, the job reads {}, and seawall did not lay it out, so it is not extended; lower size=",
            Bytes(there),
            Bytes(len)
        )));
    }
    watch.laying_out(&file.path, len);
    let seed = spec.seed ^ u64::from(spec.number).rotate_left(32);
    let plan = Plan { len, filled, allocated: spec.layout.allocate, seed };
    layout::lay_out(&file.path, plan, there == 0)
}

fn size_of(path: &Path) -> Result<Bytes, disk::OpenError> {
    disk::open(path, Opening { cache: Cache::Page, ..Opening::default() }).map(|disk| disk.size)
}

/// The part of something of `whole` bytes that a job uses.
fn region(file: &FileSpec, spec: &JobSpec, whole: Bytes) -> Result<Region, String> {
    let align = if file.offset_align > 0 { file.offset_align } else { u64::from(spec.reach.least_block()).max(1) };
    let aligned = |amount: Amount| match amount {
        Amount::Bytes(bytes) => bytes.0,
        percent => percent.of(whole).0 / align * align,
    };
    let start = aligned(file.offset) + aligned(file.offset_more);
    let endless = spec.layout.until_full && file.path.is_file();
    let whole = if endless { Bytes(start.saturating_add(FULL_MOST)) } else { whole };
    let rest = whole
        .0
        .checked_sub(start)
        .ok_or_else(|| format!("offset: must lie before the end at {whole}, got {}; lower it", Bytes(start)))?;
    let len = file.size.map_or(rest, |size| size.of(whole).0);
    if len > rest {
        return Err(format!("size: must end before the end at {whole}, got {} from {} on", Bytes(len), Bytes(start)));
    }
    let most = u64::from(spec.reach.most_block());
    if len < most {
        return Err(format!("bs: must fit into the {} that are used, got {}; lower it", Bytes(len), Bytes(most)));
    }
    Ok(Region { start, len })
}

/// Tells nobody.
struct Quiet;

impl Watch for Quiet {
    fn laying_out(&mut self, _path: &Path, _bytes: u64) {}
    fn progress(&mut self, _passed: Span, _jobs: &[super::JobProgress]) {}
    fn wants_stop(&mut self) -> bool {
        false
    }
}

impl Opened {
    fn new(target: Box<dyn Target>, regions: Vec<Region>, backend: String) -> Opened {
        Opened { target, regions, backend, losses: None }
    }
}

impl Prepared {
    /// The files.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|(path, _)| path.clone()).collect()
    }

    /// Opens its storage on the worker that `io` is of.
    pub(crate) fn open(
        &self,
        io: &Io,
        near: Option<&Near>,
        board: &Arc<Board>,
        stage_start: Time,
    ) -> Result<Runner, OpenError> {
        let spec = self.spec.clone();
        let opened = match &spec.place {
            Place::Null { size } => {
                let regions = vec![Region { start: 0, len: size.0 }];
                Opened::new(Box::new(NullTarget::new(*size)), regions, "nothing".into())
            }
            Place::Nbd { region, .. } => self.open_nbd(io, region)?,
            Place::Files(_) => {
                let regions = self.files.iter().map(|(_, region)| *region).collect();
                let backend = match (spec.engine, near) {
                    (EngineKind::Uring, Some(Near { processor, disk })) => {
                        format!("{}, near processor {processor}, which takes the interrupts of {disk}", io.backend())
                    }
                    (EngineKind::Uring, None) => io.backend().to_string(),
                    (EngineKind::Sync, _) => "system calls".into(),
                };
                Opened::new(self.open_target(io)?, regions, backend)
            }
        };
        let (paths, notes) = (self.paths(), self.notes.clone());
        let start = stage_start + self.delay();
        let (index, board) = (self.index, Arc::clone(board));
        let renew = spec.layout.renew.then(|| self.renewal(io));
        let Opened { target, regions, backend, losses } = opened;
        let parts = Parts { spec, index, board, target, paths, regions, notes, backend, losses, start, renew };
        Ok(Runner::new(io, parts))
    }

    /// Removes the job's files, makes them anew, and opens them.
    fn renewal(&self, io: &Io) -> Renew {
        let (job, io) = (self.clone(), io.clone());
        Box::new(move || {
            let Place::Files(list) = &job.spec.place else { return job.open_target(&io) };
            for file in list.iter().filter(|file| file.path.is_file()) {
                let failed = |error: std::io::Error| OpenError(format!("{}: {error}", file.path.display()));
                std::fs::remove_file(&file.path).map_err(failed)?;
                lay_out(file, &job.spec, &mut Quiet).map_err(failed)?;
            }
            job.open_target(&io)
        })
    }

    fn open_target(&self, io: &Io) -> Result<Box<dyn Target>, OpenError> {
        let files = self.open_files()?;
        Ok(match self.spec.engine {
            EngineKind::Uring => Box::new(RingTarget::new(io, files)),
            EngineKind::Sync => Box::new(CallTarget::new(io, files)),
        })
    }

    fn open_nbd(&self, io: &Io, region_of: &FileSpec) -> Result<Opened, OpenError> {
        let failed = |error: String| OpenError(format!("{}: {error}", self.spec.name));
        let export = self.export.as_ref().ok_or_else(|| failed("no export is named; set uri=".into()))?;
        let target =
            NbdTarget::open(io, export, self.spec.verify.is_some()).map_err(|error| failed(error.to_string()))?;
        let region = region(region_of, &self.spec, target.traits().size).map_err(failed)?;
        let losses = target.losses();
        let backend = format!("NBD over {}", io.backend());
        Ok(Opened { losses: Some(losses), ..Opened::new(Box::new(target), vec![region], backend) })
    }

    fn open_files(&self) -> Result<Vec<LocalFile>, OpenError> {
        let spec = &self.spec;
        let writes = spec.reach.mix.changes_data() && spec.verify.as_ref().is_none_or(|verify| !verify.only);
        let cache = if spec.direct { Cache::Direct } else { Cache::Page };
        let mut files = Vec::with_capacity(self.files.len());
        for (path, region) in &self.files {
            let opening = Opening { cache, write: writes, ..Opening::default() };
            let disk = disk::open(path, opening).map_err(|error| OpenError(format!("{}: {error}", spec.name)))?;
            let align = u64::from(disk.align);
            let blocks = spec.reach.least_block();
            if u64::from(blocks) % align != 0 || region.start % align != 0 {
                return Err(OpenError(format!(
                    "{}: bs and offset: must be multiples of {align} for direct I/O on {}, got {blocks} from {} on",
                    spec.name,
                    path.display(),
                    region.start
                )));
            }
            if spec.layout.read_ahead {
                layout::read_ahead(path).map_err(|error| OpenError(format!("{}: {error}", path.display())))?;
            } else if spec.layout.invalidate {
                // Only an advice: a file in memory alone has no other place.
                let _ = uring::space::drop_cache(&disk.file);
            }
            files.push(LocalFile { file: disk.file, size: disk.size, align: disk.align });
        }
        Ok(files)
    }

    /// When it starts within its stage: drawn from its seed.
    fn delay(&self) -> Span {
        let start = &self.spec.start;
        let range = start.delay_most.saturating_sub(start.delay_least).as_nanos();
        let drawn = self.spec.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(self.spec.number).rotate_left(17);
        let part = (u128::from(drawn.wrapping_mul(0xd6e8_feb8_6659_fd93)) * u128::from(range)) >> 64;
        start.delay_least + Span::from_nanos(part as u64)
    }
}

/// A worker's ring for these jobs: room for all that can be in flight, and no more memory than that.
pub(crate) fn io_settings(jobs: &[Prepared]) -> IoSettings {
    let (mut slab, mut in_flight, mut files, mut ring) = (0u64, 0u64, 0u32, 0u64);
    for Prepared { spec, files: own, export, .. } in jobs {
        let depth = u64::from(spec.pacing.depth.max(1));
        let connections = export.as_ref().map_or(1, |export| u64::from(export.connections));
        let block = u64::from(spec.reach.most_block()).next_power_of_two().max(4096);
        // A slot is out for each request in flight; a job that reads and writes keeps its buffers for writes meanwhile.
        let keeps = if spec.reach.mix.has(Direction::Read) || spec.verify.is_some() { 1 } else { 0 };
        let sides = keeps + u64::from(spec.reach.mix.has(Direction::Write));
        let (bytes, extra) = match spec.place {
            Place::Null { .. } => (if spec.reach.mix.has(Direction::Write) { depth * block } else { 0 }, 0),
            // What is received, and headers.
            Place::Nbd { .. } => (depth * block * sides.max(1), connections * 2 * NbdTarget::MEMORY.0),
            Place::Files(_) => (depth * block * sides.max(1), 0),
        };
        slab += bytes + extra;
        in_flight += depth + 4 * connections + own.len() as u64;
        files += (own.len() as u64 + connections) as u32;
        if spec.engine == EngineKind::Uring && matches!(spec.place, Place::Files(_)) {
            ring += bytes;
        }
    }
    IoSettings {
        backend: Choice::Auto,
        entries: in_flight.next_power_of_two().clamp(8, 4096) as u32,
        in_flight: in_flight.clamp(1, 1 << 20) as u32,
        slab: Bytes(slab.max(4096)),
        // Pinning costs half a millisecond a MiB at the start, and helps small requests only.
        registered: Bytes(ring.min(REGISTERED_MOST)),
        files: files.min(32768),
        kernel_polls: jobs
            .iter()
            .find_map(|job| job.spec.kernel_polls)
            .map(|polls| Polling { processor: polls.processor }),
        threads: 16,
        ..IoSettings::default()
    }
}

/// At most so much of a worker's buffers is registered.
const REGISTERED_MOST: u64 = 16 << 20;
