//! The folder that a run creates for its pool.

use crate::terminal;
use anyhow::{Context as _, Result, bail};
use block::Bytes;
use std::path::{Path, PathBuf};

/// A folder that this run created. Unless it is kept, it is removed with its contents on drop.
#[derive(Debug)]
pub struct Workspace {
    path: PathBuf,
    keep: bool,
}

/// Space to leave free on the file system in addition to the run's data: catalogue, journal,
/// results.
const SLACK: Bytes = Bytes::mib(64);

impl Workspace {
    /// Creates the folder; `needed` bytes must be free on its file system.
    ///
    /// # Errors
    /// It exists already, cannot be created, or there is not enough space.
    pub fn make(path: PathBuf, needed: Bytes, keep: bool) -> Result<Workspace> {
        if path.exists() {
            bail!(
                "--dir {}: exists already; a run makes its own folder, so name one that does not exist",
                path.display()
            );
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !parent.is_dir() {
            bail!("--dir {}: {} is no folder; make it first, or name another place", path.display(), parent.display());
        }
        let space = uring::space::space(parent).with_context(|| format!("--dir {}", path.display()))?;
        let (needed, free) = (Bytes(needed.0.saturating_add(SLACK.0)), space.available);
        if free < needed {
            bail!(
                "--dir {}: {needed} are needed, {free} are free; make the volumes smaller (`size` in the plan, or --size) or \
                 choose another place",
                path.display()
            );
        }
        if let Err(error) = std::fs::create_dir(&path) {
            bail!("--dir {}: cannot be made ({error}); name another place", path.display());
        }
        Ok(Workspace { path, keep })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            terminal::complain(&format!("{}: could not be removed: {error}", self.path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_run_unless_it_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w");
        let made = Workspace::make(path.clone(), Bytes(0), false).unwrap();
        assert!(Workspace::make(path.clone(), Bytes(0), false).is_err(), "it was not made by this one");
        drop(made);
        assert!(!path.exists());
        drop(Workspace::make(path.clone(), Bytes(0), true).unwrap());
        assert!(path.exists());
    }

    #[test]
    fn nothing_is_made_where_there_is_no_room() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w");
        let error = Workspace::make(path.clone(), Bytes(1 << 60), false).unwrap_err().to_string();
        // Their sizes may be in the plan or in an option.
        assert!(error.contains("are needed") && error.contains("make the volumes smaller"), "{error}");
        assert!(!path.exists());
    }
}
