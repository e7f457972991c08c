//! Finds data by its manifest, which records how it was made.

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use ramp::{BLOCK, Dataset};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A directory that was filled.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its folder.
    pub folder: PathBuf,
    /// How it was made.
    pub dataset: Dataset,
    /// Its files: the job, the file's number in it from 0, the path, and the number of complete
    /// blocks.
    pub files: Vec<(u32, u64, PathBuf, u64)>,
    /// Blocks of each job when the last fill ended; empty if none has.
    pub noted: Vec<u64>,
}

impl Found {
    /// All of its data.
    pub fn size(&self) -> Bytes {
        Bytes(self.files.iter().map(|(.., blocks)| blocks * BLOCK).sum())
    }

    /// How many blocks a job has, from 1.
    pub fn blocks_of(&self, job: u32) -> u64 {
        self.files.iter().filter(|(of, ..)| *of == job).map(|(.., blocks)| blocks).sum()
    }

    /// Jobs that have fewer blocks than when the last fill ended: the job, its blocks then, and its
    /// blocks now.
    pub fn short(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        let jobs = (1..).zip(&self.noted).map(|(job, noted)| (job, *noted, self.blocks_of(job)));
        jobs.filter(|(_, noted, there)| there < noted)
    }
}

/// Records how many blocks each job has now. The manifest is replaced atomically, because without
/// it the expected contents are unknown.
pub fn note(folder: &Path) -> Result<()> {
    let Some(found) = find(folder)? else { return Ok(()) };
    let blocks: Vec<u64> = (1..=found.dataset.jobs).map(|job| found.blocks_of(job)).collect();
    if blocks == found.noted {
        return Ok(());
    }
    let manifest = folder.join(Dataset::MANIFEST);
    let new = manifest.with_extension("new");
    let replaced = || {
        let mut file = File::create(&new)?;
        file.write_all(found.dataset.manifest(&blocks).as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, &manifest)?;
        uring::space::sync_folder(folder)
    };
    replaced().with_context(|| manifest.display().to_string())
}

/// The data in `folder`; `None` if dgen has not filled it.
pub fn find(folder: &Path) -> Result<Option<Found>> {
    let manifest = folder.join(Dataset::MANIFEST);
    let text = match std::fs::read_to_string(&manifest) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| manifest.display().to_string()),
    };
    let (dataset, noted) = Dataset::read(&text).with_context(|| manifest.display().to_string())?;
    let mut files = Vec::new();
    for job in 1..=dataset.jobs {
        let home = folder.join(Dataset::folder(job));
        for index in 0.. {
            let path = home.join(Dataset::file(index));
            let Ok(about) = std::fs::metadata(&path) else { break };
            files.push((job, index, path, about.len() / BLOCK));
        }
    }
    Ok(Some(Found { folder: folder.into(), dataset, files, noted }))
}

/// The data in the nearest folder at or above that of `file`.
pub fn find_above(file: &Path) -> Result<Found> {
    let full = std::path::absolute(file).with_context(|| file.display().to_string())?;
    for folder in full.ancestors().skip(1) {
        if let Some(found) = find(folder)? {
            return Ok(found);
        }
    }
    bail!(
        "--directory: no folder at or above {} was filled by seawall dgen; fill one, or name it with --directory",
        full.parent().unwrap_or(&full).display()
    )
}
