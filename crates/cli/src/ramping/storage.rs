//! What a ramp works on: files, devices and exports, opened anew for each run, as one target.

use super::Storage;
use super::buffers::SlabBuffers;
use super::routes::{Road, Routes};
use super::sites::Sites;
use crate::dataset::{self, Consent, Found, Place};
use crate::interrupt::Stop;
use crate::{machine, terminal};
use anyhow::{Result, anyhow, bail};
use block::{Bytes, Driver as _, ObjectId, Span, Target as _};
use ramp::{
    BLOCK, CycleMachine, Dataset, Layout, Progress, RampInvocation, RampLoad, RampSettings, RunOutcome, RunSetup, Spot,
};
use stats::job::Losses;
use std::fs::File;
use std::path::{Path, PathBuf};
use storage::{How, LossCounts, NbdTarget, OpenError, Opened, Permit};
use uring::disk::{self, Caching};
use uring::{Io, IoSettings};

/// How often a run is looked at.
const LOOK: Span = Span::from_millis(200);
/// Reads that follow one another faster than this are waited for awake: the kernel takes about as
/// long to wake a sleeper. Not where other hosts share the machine: it would be their processor,
/// and the storage's.
const ALERT: Span = Span::from_micros(50);

/// What a ramp is to work on.
pub struct Wanted<'a> {
    directories: &'a [String],
    devices: &'a [String],
    journal_file: Option<&'a str>,
    consent: Consent,
    cache: Caching,
    alert: Span,
}

impl<'a> Wanted<'a> {
    /// What a command line names.
    pub fn of(invocation: &'a RampInvocation) -> Wanted<'a> {
        Wanted {
            directories: &invocation.directories,
            devices: &invocation.devices,
            journal_file: invocation.journal_file.as_deref(),
            consent: dataset::consent(&invocation.destroy, &invocation.even_in_use),
            cache: if invocation.page_cache { Caching::Page } else { Caching::Direct },
            alert: ALERT,
        }
    }

    /// Devices alone, by a host that has others beside it on this machine.
    pub fn beside_others(devices: &'a [String]) -> Wanted<'a> {
        let consent = dataset::consent(&[], &[]);
        Wanted { directories: &[], devices, journal_file: None, consent, cache: Caching::Direct, alert: Span::ZERO }
    }
}

/// What a ramp works on, once it was found.
pub struct OpenedStorage {
    sites: Sites,
    /// The first directory, for what the machine's storage is.
    folder: Option<PathBuf>,
    wij: Spot,
    stream: Option<Spot>,
    cache: Caching,
    alert: Span,
    /// The lock of the journal's file, where it is one here.
    _alone: Option<File>,
}

impl OpenedStorage {
    /// Finds the data and makes the journals.
    ///
    /// # Errors
    /// It is not there, not filled, too small for the largest burst, or may not be written; or a
    /// stop was asked for meanwhile.
    pub fn open(wanted: &Wanted<'_>, settings: &RampSettings, stop: &Stop) -> Result<OpenedStorage> {
        let mut sites = Sites::default();
        let Wanted { directories, devices, consent, cache, alert, .. } = wanted;
        let mut found: Vec<Found> = directories.iter().map(|folder| named_data(folder)).collect::<Result<_>>()?;
        if found.is_empty() && devices.is_empty() {
            match dataset::place("wijfile", &settings.wij_file)? {
                Place::Path(path) => found.push(dataset::find_above(&path)?),
                _ => bail!("--device: is needed where the journal is no file; name what seawall dgen filled"),
            }
        }
        found.iter().try_for_each(whole)?;
        found.iter().try_for_each(|found| sites.add_directory(found, consent))?;
        for device in *devices {
            sites.add_device(device, consent)?;
        }
        let burst = settings.loads().iter().map(|load| load.burst).max().unwrap_or(0);
        enough(&sites, burst)?;
        let wij = sites.room("wijfile", &settings.wij_file, Layout::wij_need(burst), consent)?;
        let stream = match settings.constants.journal.0 {
            0 => None,
            _ => {
                let given = journal_file(wanted, settings)?;
                Some(sites.room("journal-file", &given, Layout::stream_need(), consent)?)
            }
        };
        let places: Vec<Place> = sites.permits().map(|permit| permit.place().clone()).collect();
        consent.idle(&places, &[]).iter().for_each(|line| terminal::complain(&format!("note: {line}")));
        sites.prepare("wijfile", wij, consent, stop)?;
        let alone = match dataset::place("wijfile", &settings.wij_file)? {
            Place::Path(path) => Some(dataset::only_writer(&path, "write its journal there")?),
            _ => None,
        };
        if let Some(stream) = stream {
            sites.prepare("journal-file", stream, consent, stop)?;
        }
        let folder = found.first().map(|found| found.folder.clone());
        Ok(OpenedStorage { sites, folder, wij, stream, cache: *cache, alert: *alert, _alone: alone })
    }

    /// Opens everything for run `number`.
    ///
    /// # Errors
    /// It cannot be opened any more, or takes no writes as long as the journal's.
    pub fn ready(&mut self, settings: &RampSettings, number: u64) -> Result<Ready> {
        let io = self.worker(settings)?;
        let (target, losses) = self.routes(&io)?;
        let (longest, wij_write) = (target.traits().longest, settings.constants.wij_write.0);
        if u64::from(longest) < wij_write {
            bail!("--wij-write: must be at most {longest} here, got {wij_write}");
        }
        let layout = Layout::new(self.sites.data().to_vec(), self.wij);
        let layout = self.stream.map_or(layout.clone(), |stream| layout.with_stream(stream));
        let buffers = SlabBuffers::new(&io, self.sites.owners().to_vec(), self.wij.bytes, number);
        Ok(Ready { io, target, losses, buffers, layout, alert: self.alert })
    }

    /// A ring with memory for all that can be in flight.
    fn worker(&self, settings: &RampSettings) -> Result<Io> {
        let constants = &settings.constants;
        // What each connection receives into, and as much again, as memory comes in powers of two.
        let connections: u64 = self.sites.permits().map(|permit| u64::from(permit.connections())).sum();
        let files: u32 = self.sites.permits().map(Permit::files).sum();
        let blocks = u64::from(constants.readers + constants.writers + 32);
        // The parts of requests that are split have memory of their own.
        let copies = if self.sites.permits().any(Permit::splits) { 2 } else { 1 };
        let own = blocks * BLOCK * 2 + constants.wij_write.0 * 6;
        let buffers = own * copies + connections * NbdTarget::MEMORY.0 * 2;
        let in_flight = constants.readers
            + constants.writers
            + 32
            + 4 * (files.max(self.sites.permits().count() as u32) + connections as u32);
        Ok(Io::open(&IoSettings { slab: Bytes(buffers.max(4 << 20)), in_flight, ..IoSettings::default() })?)
    }

    /// Opens everything: files and devices as one, every export by itself. With what each loses of
    /// its connections.
    fn routes(&self, io: &Io) -> Result<(Routes, Vec<LossCounts>)> {
        let (mut roads, mut files, mut numbers, mut losses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let how = How { cache: self.cache, keep_data: false, ..How::default() };
        for (number, permit) in self.sites.permits().enumerate() {
            let object = ObjectId(number as u32);
            if permit.path().is_some() {
                files.push(permit.clone());
                numbers.push(object);
            } else {
                let opened = permit.open(io, how)?;
                losses.push(opened.losses.clone());
                roads.push(road(opened, &permit.place().to_string(), vec![object])?);
            }
        }
        if !files.is_empty() {
            let opened = storage::open_files(io, &files, how);
            let opened = opened.map_err(|error| match error {
                OpenError::Disk(disk::OpenError::NoDirect(_)) => {
                    anyhow!(error).context("where there is no direct I/O, --page-cache measures memory")
                }
                other => other.into(),
            })?;
            roads.push(road(opened, "a file or device", numbers)?);
        }
        Ok((Routes::new(roads), losses))
    }
}

impl Storage for OpenedStorage {
    fn names(&self) -> String {
        self.sites.names()
    }

    fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn size(&self) -> Bytes {
        Bytes(self.sites.data().iter().map(|file| file.blocks * BLOCK).sum())
    }

    fn name_of(&self, object: ObjectId) -> String {
        self.sites.name_of(object)
    }

    fn is_simulated(&self) -> bool {
        false
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let memory = machine::look(None, "").memory;
        if self.size() < memory {
            notes.push(format!(
                "{} of data are less than this machine's memory ({memory}); caches of storage like them",
                self.size()
            ));
        }
        if self.cache == Caching::Page {
            notes.push("through the page cache: the figures are this machine's memory's, not the storage's".into());
        }
        notes
    }

    fn play(
        &mut self,
        settings: &RampSettings,
        load: &RampLoad,
        setup: &RunSetup,
        run: u64,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(RunOutcome, String)> {
        self.ready(settings, run)?.run(load, setup, watch)
    }
}

/// Everything that a run needs, open: it begins at once when it is asked to.
pub struct Ready {
    io: Io,
    target: Routes,
    losses: Vec<LossCounts>,
    buffers: SlabBuffers,
    layout: Layout,
    alert: Span,
}

impl Ready {
    /// Plays the run on this thread, from now on; see [`Storage::play`].
    ///
    /// # Errors
    /// The data or the journal is too small for the load.
    pub fn run(
        self,
        load: &RampLoad,
        setup: &RunSetup,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(RunOutcome, String)> {
        let Ready { io, target, losses, buffers, layout, alert } = self;
        let machine =
            CycleMachine::new(Box::new(target), Box::new(buffers), layout, load, setup, io.now())?.alert(alert);
        let mut driver = io.clone();
        let before = uring::usage::thread_busy();
        let outcome = machine.run(&mut driver, LOOK, watch);
        let busy = uring::usage::thread_busy().saturating_sub(before);
        let backend = io.backend().to_string();
        let mut lost = Losses::default();
        losses.iter().for_each(|of| lost.absorb(&of.sum()));
        Ok((RunOutcome { busy, losses: lost, ..outcome }, backend))
    }
}

fn road(opened: Opened, name: &str, objects: Vec<ObjectId>) -> Result<Road> {
    if u64::from(opened.align) > BLOCK {
        bail!("{name}: it takes pieces of {} bytes, the database writes 8 KiB", opened.align);
    }
    Ok(Road { target: opened.target, objects, flushes: opened.flushes })
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
fn journal_file(wanted: &Wanted<'_>, settings: &RampSettings) -> Result<String> {
    if let Some(given) = wanted.journal_file {
        return Ok(given.into());
    }
    let wij = dataset::place("wijfile", &settings.wij_file)?;
    Ok(match &wij {
        Place::Path(path) if !wij.is_block_device() => format!("{}.journal", path.display()),
        _ => settings.wij_file.clone(),
    })
}

/// Refuses data of which a part is gone: the load would meet fewer blocks than were filled.
fn whole(found: &Found) -> Result<()> {
    let Some((job, noted, there)) = found.short().next() else { return Ok(()) };
    let home = found.folder.join(Dataset::folder(job));
    bail!("{}: {noted} blocks were written, {there} are there; fill it again with seawall dgen", home.display());
}

fn named_data(folder: &str) -> Result<Found> {
    match dataset::find(Path::new(folder))? {
        Some(found) => Ok(found),
        None => bail!("--directory: {folder} was not filled by seawall dgen; fill it first, or name another"),
    }
}
