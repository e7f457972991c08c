//! A job that is ready to run, and how its storage is opened on a worker.

use super::board::Board;
use super::context::Context;
use super::placement::Near;
use super::prepare::OpenError;
use super::runner::{Forget, Parts, Renew, Runner, opens_durable};
use super::site::{Site, writes};
use block::{Bytes, Span, Target, Time};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use storage::{Calls, Exclusion, How, NbdTarget, Opened, Permit, PlaceKind};
use uring::disk::{Caching, Create, Durable};
use uring::{Choice, Io, IoSettings, Polling};
use workload::job::{Direction, EngineKind, FileLock, Flushes, JobPlace, JobSpec, WriteSync};

/// A job that is ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) spec: JobSpec,
    pub(crate) index: usize,
    /// Where it is, and what part of it is used: one for each file, or a single one for an export
    /// or the null place.
    pub(crate) sites: Vec<Site>,
    pub(crate) notes: Vec<String>,
    /// Why it cannot run, if that was found late.
    pub(crate) trouble: Option<OpenError>,
}

impl Prepared {
    /// The paths of its files.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.sites.iter().filter_map(|site| site.permit.path().cloned()).collect()
    }

    /// Opens its storage on the worker that owns `io`.
    pub(crate) fn open(
        &self,
        io: &Io,
        near: Option<&Near>,
        board: &Arc<Board>,
        stage_start: Time,
    ) -> Result<Runner, OpenError> {
        if let Some(trouble) = &self.trouble {
            return Err(trouble.clone());
        }
        let spec = self.spec.clone();
        let Opened { target, sizes, losses, .. } = self.open_storage(io)?;
        let mut regions: Vec<_> = self.sites.iter().map(|site| site.region).collect();
        let backend = match (&spec.place, spec.engine, near) {
            (JobPlace::Null { .. }, ..) => "nothing".into(),
            (JobPlace::Named { .. }, ..) => {
                // The export may have grown since it was checked.
                let region = self.sites[0].region_in(&spec, sizes[0]);
                regions = vec![region.map_err(|line| OpenError(format!("{}: {line}", spec.name)))?];
                let word = match self.sites[0].permit.kind() {
                    _ if self.sites[0].permit.splits() => "places together",
                    PlaceKind::NfsFile => "NFS",
                    _ => "NBD",
                };
                format!("{word} over {}", io.backend())
            }
            (JobPlace::Files(_), EngineKind::Uring, Some(Near { processor, disk })) => {
                format!("{}, near processor {processor}, which takes the interrupts of {disk}", io.backend())
            }
            (JobPlace::Files(_), EngineKind::Uring, None) => io.backend().to_string(),
            (JobPlace::Files(_), EngineKind::Sync, _) => "system calls".into(),
        };
        let (paths, notes) = (self.paths(), self.notes.clone());
        let start = stage_start + delay(&self.spec);
        let (index, board) = (self.index, Arc::clone(board));
        let renew = spec.layout.renew.then(|| self.renewal(io, &board));
        let forget = self.forgetting();
        let parts = Parts { spec, index, board, target, paths, regions, notes, backend, losses, start, renew, forget };
        Ok(Runner::new(&Context::Wall(io.clone()), parts))
    }

    /// Removes the job's files, creates them again, and opens them.
    fn renewal(&self, io: &Io, board: &Arc<Board>) -> Renew {
        let (job, io, board) = (self.clone(), io.clone(), Arc::clone(board));
        Box::new(move || {
            let mut is_stopped = || board.is_stopped();
            job.sites.iter().try_for_each(|site| site.renew(&job.spec, &mut is_stopped)).map_err(OpenError)?;
            job.open_storage(&io).map(|opened| opened.target as Box<dyn Target>)
        })
    }

    fn open_storage(&self, io: &Io) -> Result<Opened, OpenError> {
        let spec = &self.spec;
        let failed = |error: storage::OpenError| OpenError(format!("{}: {error}", spec.name));
        let how = How {
            cache: if spec.direct { Caching::Direct } else { Caching::Page },
            fallback: None,
            create: Create::Never,
            calls: (spec.engine == EngineKind::Sync).then(|| calls(spec)),
            keep_data: spec.verify.is_some(),
        };
        let leave = |site: &Site| if writes(spec) { site.permit.clone() } else { site.permit.clone().reading() };
        let permits: Vec<Permit> = self.sites.iter().map(leave).collect();
        let opened = match (&spec.place, &permits[..]) {
            (JobPlace::Files(_), permits) => storage::open_files(io, permits, how),
            (_, [permit]) => permit.open(io, how),
            (..) => return Err(OpenError(format!("{}: has no storage", spec.name))),
        };
        let opened = opened.map_err(failed)?;
        self.check_durability(&opened)?;
        self.warm().map_err(OpenError)?;
        Ok(opened)
    }

    /// Refuses a job that wants writes to be durable on storage that cannot promise it.
    fn check_durability(&self, opened: &Opened) -> Result<(), OpenError> {
        let spec = &self.spec;
        let Some(site) = self.sites.first().filter(|_| writes(spec)) else { return Ok(()) };
        let (name, place) = (&spec.name, site.permit.place());
        if spec.flushes != Flushes::default() && !opened.flushes {
            return Err(OpenError(format!(
                "{name}: {place}: the server offers no flush, so it cannot be asked to make writes durable; leave out \
                 fsync, fdatasync, end_fsync and fsync_on_close"
            )));
        }
        if spec.write_sync != WriteSync::None && !opened.writes_durably {
            return Err(OpenError(format!(
                "{name}: {place}: the server offers neither FUA nor a flush, so it cannot be asked to make writes \
                 durable; leave sync out"
            )));
        }
        Ok(())
    }

    /// Loads the files into the page cache, or drops them from it, as asked.
    fn warm(&self) -> Result<(), String> {
        let layout = &self.spec.layout;
        if !layout.read_ahead && !layout.invalidate {
            return Ok(());
        }
        // What has no end cannot be read to it.
        for path in self.paths().into_iter().filter(|path| !uring::disk::is_endless(path)) {
            if layout.read_ahead {
                storage::read_ahead(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            } else {
                drop_cache(&path);
            }
        }
        Ok(())
    }

    /// How to drop its files from the page cache, if they use it.
    fn forgetting(&self) -> Option<Forget> {
        let paths = self.paths();
        let cached = !self.spec.direct && !paths.is_empty();
        cached.then(|| Box::new(move || paths.iter().for_each(|path| drop_cache(path))) as Forget)
    }
}

/// Drops a file from the page cache. The call is only advice, and a file in memory exists nowhere
/// else.
fn drop_cache(path: &Path) {
    let _ = std::fs::File::open(path).and_then(|file| uring::space::drop_cache(&file));
}

/// How a job's plain system calls are made.
fn calls(spec: &JobSpec) -> Calls {
    let lock = match spec.calls.lock {
        FileLock::None => None,
        FileLock::Exclusive => Some(Exclusion::All),
        FileLock::SharedByReads => Some(Exclusion::Writers),
    };
    let durable = match spec.write_sync {
        WriteSync::Data if opens_durable(spec) => Durable::Data,
        WriteSync::All if opens_durable(spec) => Durable::All,
        _ => Durable::Nothing,
    };
    Calls { space: spec.calls.space, lock, durable }
}

/// When it starts within its stage, drawn from its seed.
pub(super) fn delay(spec: &JobSpec) -> Span {
    let start = &spec.start;
    let range = start.delay_most.saturating_sub(start.delay_least).as_nanos();
    let drawn = spec.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(spec.number).rotate_left(17);
    let part = (u128::from(drawn.wrapping_mul(0xd6e8_feb8_6659_fd93)) * u128::from(range)) >> 64;
    start.delay_least + Span::from_nanos(part as u64)
}

/// Settings of a worker's ring: room for everything that these jobs can have in flight, and no more
/// memory than that.
pub(crate) fn io_settings(jobs: &[Prepared]) -> IoSettings {
    let (mut slab, mut in_flight, mut files, mut ring) = (0u64, 0u64, 0u32, 0u64);
    for Prepared { spec, sites, .. } in jobs {
        let depth = u64::from(spec.pacing.depth.max(1));
        let own: u64 = sites.iter().map(|site| u64::from(site.permit.files())).sum();
        let connections: u64 = sites.iter().map(|site| u64::from(site.permit.connections())).sum();
        let connections = connections.max(1);
        let block = u64::from(spec.reach.most_block()).next_power_of_two().max(4096);
        // Each request in flight holds a slot. A job that reads and writes also keeps its write
        // buffers.
        let keeps = if spec.reach.mix.has(Direction::Read) || spec.verify.is_some() { 1 } else { 0 };
        let sides = keeps + u64::from(spec.reach.mix.has(Direction::Write));
        let (bytes, extra) = match spec.place {
            JobPlace::Null { .. } => (if spec.reach.mix.has(Direction::Write) { depth * block } else { 0 }, 0),
            // Slots for received data and for headers; parts of split requests have memory of their
            // own.
            JobPlace::Named { .. } => {
                let parts = if sites.iter().any(|site| site.permit.splits()) { depth * block * 2 } else { 0 };
                (depth * block * sides.max(1), connections * 2 * NbdTarget::MEMORY.0 + parts)
            }
            JobPlace::Files(_) => (depth * block * sides.max(1), 0),
        };
        slab += bytes + extra;
        in_flight += depth + 4 * connections + own;
        files += (own + connections) as u32;
        if spec.engine == EngineKind::Uring && matches!(spec.place, JobPlace::Files(_)) {
            ring += bytes;
        }
    }
    IoSettings {
        backend: Choice::Auto,
        entries: in_flight.next_power_of_two().clamp(8, 4096) as u32,
        in_flight: in_flight.clamp(1, 1 << 20) as u32,
        slab: Bytes(slab.max(4096)),
        // Registering takes half a millisecond a MiB at the start, and helps only small requests.
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

/// At most this much of a worker's buffers is registered with the kernel.
const REGISTERED_MOST: u64 = 16 << 20;
