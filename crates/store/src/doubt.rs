//! What a failed flush leaves behind: a flag, for whoever serves the pool, and a mark in its
//! folder, for the next start and for the check.
//!
//! After a failed sync the system treats its pages as clean. They stay in the page cache, so
//! readers see data that the disk does not have and that the next power failure loses. A start that
//! finds the mark therefore makes durable what can still be written, and then drops the page cache:
//! from then on, reads show what is on the disk.

use crate::error::StoreError;
use crate::mapped::Named;
use crate::pool::MAPS;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use uring::space;

/// The mark's name.
const MARK: &str = "flush-failed";

/// Remembers once, durably, that a flush of the pool has failed. The default remembers it without a
/// mark.
#[derive(Debug, Default)]
pub struct Doubt {
    /// The pool's folder.
    dir: Option<PathBuf>,
    failed: HasFailed,
    marking: Option<JoinHandle<()>>,
}

/// Whether a flush has failed since the pool was opened. The mark does not tell: it is on the disk
/// that has just failed, more often than not.
#[derive(Clone, Debug, Default)]
pub(crate) struct HasFailed(Arc<AtomicBool>);

impl HasFailed {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Doubt {
    /// For the pool in `dir`.
    pub(crate) fn of(dir: &Path) -> Doubt {
        Doubt { dir: Some(dir.into()), failed: HasFailed::default(), marking: None }
    }

    pub(crate) fn has_failed(&self) -> HasFailed {
        self.failed.clone()
    }

    /// A flush has failed. A separate thread writes the mark, since such a disk may be slow.
    pub(crate) fn remember(&mut self) {
        self.failed.0.store(true, Ordering::Relaxed);
        if let Some(dir) = self.dir.take() {
            // The failed flush is answered with its error in any case; without the mark, nothing
            // better can be done.
            let mark = move || drop(mark(&dir));
            self.marking = std::thread::Builder::new().name("flush-failed".into()).spawn(mark).ok();
        }
    }
}

impl Drop for Doubt {
    fn drop(&mut self) {
        self.marking.take().map(JoinHandle::join);
    }
}

fn mark(dir: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).open(dir.join(MARK))?.sync_all()?;
    File::open(dir)?.sync_all()
}

/// Whether a flush failed when the pool was last served.
pub(crate) fn is_marked(dir: &Path) -> bool {
    dir.join(MARK).exists()
}

/// Removes the mark, after everyone concerned was told.
pub(crate) fn forget(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(MARK);
    let gone = fs::remove_file(&path).and_then(|()| File::open(dir)?.sync_all());
    gone.map_err(StoreError::file(path, "take the mark of a failed flush away"))
}

/// Makes what the system can still write of a pool's files and devices durable, then drops them
/// from the page cache. `named`: those that the settings name.
pub(crate) fn settle(dir: &Path, named: &Named) -> Result<(), StoreError> {
    let mut paths: Vec<PathBuf> = named.paths().cloned().collect();
    let maps = dir.join(MAPS);
    if maps.exists() {
        for entry in fs::read_dir(&maps).map_err(StoreError::file(&maps, "read the folder"))? {
            paths.push(entry.map_err(StoreError::file(&maps, "read the folder"))?.path());
        }
    }
    for path in paths {
        let settled = File::open(&path).and_then(|file| file.sync_all().and_then(|()| space::drop_cache(&file)));
        settled.map_err(StoreError::file(&path, "write what a failed flush left unwritten"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;
    use std::os::unix::fs::FileExt;

    /// The mark outlives the server, is reported by the check, settled at the next start and
    /// reported once there.
    #[test]
    fn a_failed_flush_is_remembered_until_it_was_told() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("seawall.toml"), "cache = \"page\"\n").unwrap();
        drop(Pool::create(dir.path()).unwrap());
        assert!(crate::check(dir.path()).unwrap().is_clean());
        let mut doubt = Doubt::of(dir.path());
        doubt.remember();
        doubt.remember();
        drop(doubt);
        let troubles = crate::check(dir.path()).unwrap().troubles;
        assert!(matches!(troubles[..], [crate::Trouble::FlushFailed]), "{troubles:?}");
        let mut pool = Pool::open(dir.path()).unwrap();
        assert!(pool.take_doubt().unwrap() && !pool.take_doubt().unwrap());
        drop(pool);
        assert!(crate::check(dir.path()).unwrap().is_clean() && !Pool::open(dir.path()).unwrap().take_doubt().unwrap());
    }

    /// The disk takes no mark, as its folder is gone: whoever serves the pool knows all the same.
    #[test]
    fn a_failed_flush_is_known_without_its_mark() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pool");
        let mut pool = Pool::create(&path).unwrap();
        let maps = pool.take_maps().unwrap();
        assert!(!pool.has_doubt());
        fs::rename(&path, dir.path().join("elsewhere")).unwrap();
        let mut doubt = maps.into_doubt();
        doubt.remember();
        drop(doubt);
        assert!(pool.has_doubt() && !is_marked(&path));
    }

    /// Settling keeps what the system has cached and can still write.
    #[test]
    fn what_is_not_written_yet_is_written() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(MAPS)).unwrap();
        let path = dir.path().join(MAPS).join("blocks");
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        file.write_all_at(&[0x5a; 8192], 0).unwrap();
        settle(dir.path(), &Named::default()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), [0x5a; 8192]);
    }
}
