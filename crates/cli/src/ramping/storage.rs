//! The files of a ramp: opened anew for each run, as one target.

use super::buffers::{Owner, SlabBuffers};
use super::journal;
use crate::dataset::{self, Found};
use anyhow::{Context as _, Result, bail};
use block::{Bytes, Driver as _, ObjectId};
use engine::local::{LocalFile, RingTarget};
use ramp::{BLOCK, DataFile, Dataset, Invocation, Layout, Load, Machine, Progress, RunOutcome, RunSetup, Settings};
use std::path::{Path, PathBuf};
use uring::disk::{Cache, Create, Opening};
use uring::{Io, IoSettings};

/// How often a run is looked at.
const LOOK: block::Span = block::Span::from_millis(200);

/// What a ramp works on.
pub struct Storage {
    found: Vec<Found>,
    wij: PathBuf,
    wij_bytes: u64,
    cache: Cache,
}

impl Storage {
    /// Finds the data and makes the journal.
    pub fn open(invocation: &Invocation, settings: &Settings) -> Result<Storage> {
        let wij = PathBuf::from(&settings.wij_file);
        let found = match invocation.directories.as_slice() {
            [] => vec![dataset::find_above(&wij)?],
            named => named.iter().map(|folder| named_data(folder)).collect::<Result<_>>()?,
        };
        let burst = settings.loads().iter().map(|load| load.burst).max().unwrap_or(0);
        let blocks: u64 = found.iter().flat_map(|found| &found.files).map(|(.., blocks)| blocks).sum();
        if blocks < burst.max(1) {
            bail!(
                "the data holds {blocks} blocks of 8 KiB, fewer than the {burst} of the largest burst; fill more with \
                 seawall dgen, or lower --maxiops"
            );
        }
        let wij_bytes = Layout::wij_need(burst);
        journal::prepare(&wij, wij_bytes)?;
        let cache = if invocation.page_cache { Cache::Page } else { Cache::Direct };
        let storage = Storage { found, wij, wij_bytes, cache };
        storage.open_file(&storage.wij)?;
        Ok(storage)
    }

    /// The folders of its data.
    pub fn folders(&self) -> String {
        self.found.iter().map(|found| found.folder.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// The first of them.
    pub fn folder(&self) -> &Path {
        &self.found[0].folder
    }

    /// All of its data.
    pub fn size(&self) -> Bytes {
        Bytes(self.found.iter().map(|found| found.size().0).sum())
    }

    /// The file that a request's object stands for.
    pub fn name_of(&self, object: ObjectId) -> String {
        let mut files = self.found.iter().flat_map(|found| &found.files).filter(|(.., blocks)| *blocks > 0);
        files.nth(object.0 as usize).map_or(&self.wij, |(_, _, path, _)| path).display().to_string()
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
        let constants = &settings.constants;
        let buffers = u64::from(constants.readers + constants.writers + 8) * BLOCK * 2 + constants.wij_write.0 * 4;
        let in_flight = constants.readers + constants.writers + 8;
        let io = Io::open(&IoSettings { slab: Bytes(buffers.max(4 << 20)), in_flight, ..IoSettings::default() })?;
        let (files, data, owners) = self.files()?;
        let layout = Layout::new(data, ObjectId(files.len() as u32 - 1), 0, self.wij_bytes);
        let target = Box::new(RingTarget::new(&io, files));
        let buffers = Box::new(SlabBuffers::new(&io, owners, run));
        let machine = Machine::new(target, buffers, layout, load, setup, io.now())?;
        let mut driver = io.clone();
        let outcome = machine.run(&mut driver, LOOK, watch);
        let backend = io.backend().to_string();
        Ok((outcome, backend))
    }

    /// The files of data, and behind them the journal.
    fn files(&self) -> Result<(Vec<LocalFile>, Vec<DataFile>, Vec<Owner>)> {
        let (mut files, mut data, mut owners) = (Vec::new(), Vec::new(), Vec::new());
        for found in &self.found {
            for (job, index, path, blocks) in found.files.iter().filter(|(.., blocks)| *blocks > 0) {
                data.push(DataFile { object: ObjectId(files.len() as u32), at: 0, blocks: *blocks });
                let first = index * Dataset::FILE_BLOCKS;
                owners.push(Owner { recipe: found.dataset.recipe, job: u64::from(*job), first });
                files.push(self.open_file(path)?);
            }
        }
        files.push(self.open_file(&self.wij)?);
        Ok((files, data, owners))
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

fn named_data(folder: &str) -> Result<Found> {
    match dataset::find(Path::new(folder))? {
        Some(found) => Ok(found),
        None => bail!("--directory: {folder} was not filled by seawall dgen; fill it first, or name another"),
    }
}
