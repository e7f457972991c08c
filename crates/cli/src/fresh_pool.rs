//! A pool that a command creates as a step towards something else, and removes again if that fails.

use crate::terminal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};
use store::{Marks, Pool};

/// Remembers the state of a place before a pool was created there, and restores it when dropped
/// without [`keep`].
///
/// [`keep`]: FreshPool::keep
#[derive(Debug)]
pub struct FreshPool {
    dir: PathBuf,
    /// The topmost folder that does not exist yet; `None` if the pool's folder exists.
    missing: Option<PathBuf>,
    /// The files in the folder: none, or the pool's settings.
    names: Vec<OsString>,
    /// What the pool has written outside of its folder.
    marks: Option<Marks>,
    kept: bool,
}

impl FreshPool {
    /// Called before the pool is created in `dir`, which is missing or empty except for the
    /// settings.
    pub fn before(dir: &Path) -> FreshPool {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let missing = dir.ancestors().take_while(is_missing).last().map(Path::to_owned);
        FreshPool { dir: dir.into(), missing, names: names(dir).unwrap_or_default(), marks: None, kept: false }
    }

    /// Called when the pool has been created.
    pub fn made(&mut self, pool: &Pool) {
        self.marks = pool.marks();
    }

    /// Keeps the pool.
    pub fn keep(&mut self) {
        self.kept = true;
    }

    fn put_back(&self) -> io::Result<()> {
        self.marks.iter().for_each(Marks::take_away);
        if let Some(missing) = &self.missing {
            return if missing.exists() { fs::remove_dir_all(missing) } else { Ok(()) };
        }
        for name in names(&self.dir)?.iter().filter(|name| !self.names.contains(name)) {
            let path = self.dir.join(name);
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
        Ok(())
    }
}

impl Drop for FreshPool {
    fn drop(&mut self) {
        if let Err(error) = if self.kept { Ok(()) } else { self.put_back() } {
            terminal::complain(&format!("{}: could not be removed: {error}", self.dir.display()));
        }
    }
}

fn names(dir: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_put_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let pool = dir.path().join("new/pool");
        let fresh = FreshPool::before(&pool);
        fs::create_dir_all(pool.join("data")).unwrap();
        drop(fresh);
        assert!(!dir.path().join("new").exists());

        fs::create_dir_all(&pool).unwrap();
        fs::write(pool.join("seawall.toml"), "").unwrap();
        let fresh = FreshPool::before(&pool);
        fs::create_dir_all(pool.join("data")).unwrap();
        fs::write(pool.join("lock"), "").unwrap();
        drop(fresh);
        assert_eq!(names(&pool).unwrap(), ["seawall.toml"]);
    }

    #[test]
    fn a_pool_that_is_kept_stays() {
        let dir = tempfile::tempdir().unwrap();
        let mut fresh = FreshPool::before(dir.path());
        fs::write(dir.path().join("lock"), "").unwrap();
        fresh.keep();
        drop(fresh);
        assert!(dir.path().join("lock").exists());
    }
}
