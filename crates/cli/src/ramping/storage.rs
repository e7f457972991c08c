//! What a ramp works on: files, devices and exports, opened anew for each run, as one target.

use super::buffers::SlabBuffers;
use super::routes::{Road, Routes};
use super::sites::Sites;
use crate::dataset::{self, Found, Place};
use anyhow::{Context as _, Result, bail};
use block::{Bytes, Driver as _, ObjectId, Span, Target as _};
use engine::NbdTarget;
use engine::local::{LocalFile, NullTarget, RingTarget};
use ramp::{BLOCK, Invocation, Layout, Load, Machine, Progress, RunOutcome, RunSetup, Settings, Spot};
use std::path::{Path, PathBuf};
use uring::disk::{Cache, Create, Opening};
use uring::{Io, IoSettings};

/// How often a run is looked at.
const LOOK: Span = Span::from_millis(200);
/// Reads that follow one another faster than this are waited for awake: the kernel takes about as long to wake a sleeper.
/// Not where other hosts share the machine: it would be their processor, and the storage's.
const ALERT: Span = Span::from_micros(50);

/// What a ramp works on.
pub struct Storage {
    sites: Sites,
    /// The first directory, for what the machine's storage is.
    folder: Option<PathBuf>,
    wij: Spot,
    stream: Option<Spot>,
    cache: Cache,
    alert: Span,
}

impl Storage {
    /// Finds the data and makes the journals.
    pub fn open(invocation: &Invocation, settings: &Settings) -> Result<Storage> {
        let (mut sites, destroy) = (Sites::default(), &invocation.destroy);
        let mut found: Vec<Found> =
            invocation.directories.iter().map(|folder| named_data(folder)).collect::<Result<_>>()?;
        if found.is_empty() && invocation.devices.is_empty() {
            match Place::parse("wijfile", &settings.wij_file)? {
                Place::Path(path) => found.push(dataset::find_above(&path)?),
                _ => bail!("--device: is needed where the journal is no file; name what seawall dgen filled"),
            }
        }
        found.iter().for_each(|found| sites.add_directory(found));
        for device in &invocation.devices {
            sites.add_device(device, destroy)?;
        }
        let burst = settings.loads().iter().map(|load| load.burst).max().unwrap_or(0);
        enough(&sites, burst)?;
        let wij = sites.room("wijfile", &settings.wij_file, Layout::wij_need(burst), destroy)?;
        let stream = match settings.constants.journal.0 {
            0 => None,
            _ => {
                let given = journal_file(invocation, settings)?;
                Some(sites.room("journal-file", &given, Layout::stream_need(), destroy)?)
            }
        };
        sites.prepare("wijfile", wij)?;
        if let Some(stream) = stream {
            sites.prepare("journal-file", stream)?;
        }
        let cache = if invocation.page_cache { Cache::Page } else { Cache::Direct };
        let folder = found.first().map(|found| found.folder.clone());
        let alert = if invocation.barrier { Span::ZERO } else { ALERT };
        Ok(Storage { sites, folder, wij, stream, cache, alert })
    }

    /// The directories and devices of its data.
    pub fn names(&self) -> String {
        self.sites.names()
    }

    /// The first directory; `None` when there are devices alone.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// All of its data.
    pub fn size(&self) -> Bytes {
        Bytes(self.sites.data().iter().map(|file| file.blocks * BLOCK).sum())
    }

    /// What a request's object stands for.
    pub fn name_of(&self, object: ObjectId) -> String {
        self.sites.name_of(object)
    }

    /// Plays one run; `watch` is shown how it stands and ends it by returning false. What it left, and what I/O ran on.
    pub fn play(
        &self,
        settings: &Settings,
        load: &Load,
        setup: &RunSetup,
        run: u64,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(RunOutcome, String)> {
        let io = self.worker(settings)?;
        let mut layout = Layout::new(self.sites.data().to_vec(), self.wij);
        if let Some(stream) = self.stream {
            layout = layout.with_stream(stream);
        }
        let target = Box::new(self.routes(&io)?);
        if u64::from(target.traits().longest) < settings.constants.wij_write.0 {
            bail!(
                "--wij-write: must be at most {} here, got {}",
                target.traits().longest,
                settings.constants.wij_write.0
            );
        }
        let buffers = Box::new(SlabBuffers::new(&io, self.sites.owners().to_vec(), self.wij.bytes, run));
        let machine = Machine::new(target, buffers, layout, load, setup, io.now())?.alert(self.alert);
        let mut driver = io.clone();
        let outcome = machine.run(&mut driver, LOOK, watch);
        let backend = io.backend().to_string();
        Ok((outcome, backend))
    }

    /// A ring with memory for all that can be in flight.
    fn worker(&self, settings: &Settings) -> Result<Io> {
        let constants = &settings.constants;
        // What each connection receives into, and as much again, as memory comes in powers of two.
        let connections = |place: &Place| match place {
            Place::Nbd { export, .. } => u64::from(export.connections),
            _ => 0,
        };
        let connections: u64 = self.sites.places().map(connections).sum();
        let blocks = u64::from(constants.readers + constants.writers + 32);
        let buffers = blocks * BLOCK * 2 + constants.wij_write.0 * 6 + connections * NbdTarget::MEMORY.0 * 2;
        let in_flight =
            constants.readers + constants.writers + 32 + 4 * (self.sites.places().count() as u32 + connections as u32);
        Ok(Io::open(&IoSettings { slab: Bytes(buffers.max(4 << 20)), in_flight, ..IoSettings::default() })?)
    }

    /// Opens everything: files and devices as one, every export by itself.
    fn routes(&self, io: &Io) -> Result<Routes> {
        let (mut roads, mut files, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for (number, place) in self.sites.places().enumerate() {
            let object = ObjectId(number as u32);
            match place {
                Place::Path(path) => {
                    files.push(self.open_file(path)?);
                    numbers.push(object);
                }
                Place::Nbd { .. } => roads.push(export(io, place, object)?),
                Place::Nothing(size) => {
                    let target = Box::new(NullTarget::new(*size));
                    roads.push(Road { target, objects: vec![object], flushes: true });
                }
            }
        }
        if !files.is_empty() {
            let target = Box::new(RingTarget::new(io, files));
            roads.push(Road { target, objects: numbers, flushes: true });
        }
        Ok(Routes::new(roads))
    }

    fn open_file(&self, path: &Path) -> Result<LocalFile> {
        let opening = Opening { cache: self.cache, write: true, create: Create::Never, mode: 0o600 };
        let disk = uring::disk::open(path, opening).with_context(|| match self.cache {
            Cache::Direct => "where there is no direct I/O, --page-cache measures memory".to_owned(),
            Cache::Page => path.display().to_string(),
        })?;
        if u64::from(disk.align) > BLOCK {
            bail!("{}: its device needs pieces of {} bytes, the database writes 8 KiB", path.display(), disk.align);
        }
        Ok(LocalFile { file: disk.file, size: disk.size, align: disk.align })
    }
}

fn export(io: &Io, place: &Place, object: ObjectId) -> Result<Road> {
    let Place::Nbd { export, .. } = place else { bail!("{place}: is no NBD export") };
    let target = NbdTarget::open(io, export, false)?;
    let (flushes, traits) = (target.flushes(), target.traits());
    if traits.read_only {
        bail!("{place}: is exported read-only; make it writable at its server");
    }
    if u64::from(traits.align) > BLOCK {
        bail!("{place}: it takes pieces of {} bytes, the database writes 8 KiB", traits.align);
    }
    Ok(Road { target: Box::new(target), objects: vec![object], flushes })
}

/// A burst writes each block once, so there must be as many.
fn enough(sites: &Sites, burst: u64) -> Result<()> {
    let blocks: u64 = sites.data().iter().map(|file| file.blocks).sum();
    if sites.is_empty() || blocks < burst.max(1) {
        bail!(
            "the data holds {blocks} blocks of 8 KiB, fewer than the {burst} of the largest burst; fill more with seawall \
             dgen, or lower --maxiops"
        );
    }
    Ok(())
}

/// Where the transaction journal goes.
fn journal_file(invocation: &Invocation, settings: &Settings) -> Result<String> {
    if let Some(given) = &invocation.journal_file {
        return Ok(given.clone());
    }
    let wij = Place::parse("wijfile", &settings.wij_file)?;
    Ok(match &wij {
        Place::Path(path) if !wij.is_block_device() => format!("{}.journal", path.display()),
        _ => settings.wij_file.clone(),
    })
}

fn named_data(folder: &str) -> Result<Found> {
    match dataset::find(Path::new(folder))? {
        Some(found) => Ok(found),
        None => bail!("--directory: {folder} was not filled by seawall dgen; fill it first, or name another"),
    }
}
