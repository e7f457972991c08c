//! Finding data: by its manifest, which tells how it was made.

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use ramp::{BLOCK, Dataset};
use std::path::{Path, PathBuf};

/// A directory that was filled.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where it is.
    pub folder: PathBuf,
    /// How it was made.
    pub dataset: Dataset,
    /// Its files: the job, the number of the file in it from 0, the path, whole blocks.
    pub files: Vec<(u32, u64, PathBuf, u64)>,
}

impl Found {
    /// All of its data.
    pub fn size(&self) -> Bytes {
        Bytes(self.files.iter().map(|(.., blocks)| blocks * BLOCK).sum())
    }
}

/// The data in `folder`; `None` when dgen has not been there.
pub fn find(folder: &Path) -> Result<Option<Found>> {
    let manifest = folder.join(Dataset::MANIFEST);
    let text = match std::fs::read_to_string(&manifest) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| manifest.display().to_string()),
    };
    let dataset = Dataset::read(&text).with_context(|| manifest.display().to_string())?;
    let mut files = Vec::new();
    for job in 1..=dataset.jobs {
        let home = folder.join(Dataset::folder(job));
        for index in 0.. {
            let path = home.join(Dataset::file(index));
            let Ok(about) = std::fs::metadata(&path) else { break };
            files.push((job, index, path, about.len() / BLOCK));
        }
    }
    Ok(Some(Found { folder: folder.into(), dataset, files }))
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
