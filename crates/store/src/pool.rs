//! The pool's folder: made, opened, locked, and the files in it.

use crate::agreement::{self, Held};
use crate::catalogue::{Catalogue, CatalogueId, Changes, Contents, Kind};
use crate::check::Trouble;
use crate::doubt;
use crate::error::StoreError;
use crate::mapped::{MappedPool, Marks};
use crate::settings::{Cache, SETTINGS, Settings, bounded_maps, map_settings, named_by, read_settings, settings_path};
use crate::unfinished;
use crate::volume_files::{self, VolumeFiles};
use block::Bytes;
use map::{Agreed, Edition};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub(crate) const CATALOGUE: &str = "catalogue.db";
pub(crate) const LOCK: &str = "lock";
pub(crate) const MAPS: &str = "maps";
/// The control socket's name in the pool's folder.
pub const CONTROL_SOCKET: &str = "control.sock";

/// Has the maps keep what is known of the catalogue, durably.
pub type Keeper<'k> = &'k mut dyn FnMut(Agreed) -> Result<(), StoreError>;

/// An open pool, locked against every other server.
#[derive(Debug)]
pub struct Pool {
    dir: PathBuf,
    settings: Settings,
    /// The maps, until the server takes them.
    maps: Option<MappedPool>,
    /// Names, sizes, policies.
    catalogue: Catalogue,
    _lock: File,
}

impl Pool {
    /// Makes an empty pool in a folder that does not exist yet or is empty, and opens it.
    ///
    /// # Errors
    /// The folder holds something, or cannot be made.
    pub fn create(dir: &Path) -> Result<Pool, StoreError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(StoreError::file(dir, "make the folder"))?;
        if holds_other_things(dir).map_err(StoreError::file(dir, "read the folder"))? {
            return Err(StoreError::NotAPool(dir.into()));
        }
        let settings = read_settings(&dir.join(SETTINGS))?;
        let lock = lock(dir)?;
        // Any number will do that another pool does not have.
        let number = RandomState::new().build_hasher().finish();
        let marks = MappedPool::create(dir, number, map_settings(dir, &settings)?)?.marks().clone();
        let made = Catalogue::create(&dir.join(CATALOGUE), number);
        made.and_then(|()| Pool::open_locked(dir, settings, lock)).inspect_err(|_| marks.take_away())
    }

    /// Opens a pool.
    ///
    /// # Errors
    /// There is none, it is in use, it is of another format, its settings are wrong, or its
    /// catalogue and its data do not belong together. Nothing is written then.
    pub fn open(dir: &Path) -> Result<Pool, StoreError> {
        must_be_a_pool(dir)?;
        let settings = read_settings(&dir.join(SETTINGS))?;
        Pool::open_locked(dir, settings, lock(dir)?)
    }

    fn open_locked(dir: &Path, settings: Settings, lock: File) -> Result<Pool, StoreError> {
        if doubt::is_marked(dir) {
            doubt::settle(dir, &named_by(dir, &settings)?)?;
        }
        let reading = Catalogue::read(&dir.join(CATALOGUE))?;
        let folder = dir.join(MAPS);
        if !folder.is_dir() {
            return Err(StoreError::disagree(dir, Trouble::Gone(folder), 0));
        }
        let maps = MappedPool::open(dir, map_settings(dir, &settings)?)?;
        agreement::must_agree(dir, &reading, &Held::by_maps(maps.core()))?;
        let catalogue = Catalogue::open(&dir.join(CATALOGUE), reading)?;
        // With its catalogue it is whole.
        unfinished::finish(dir).map_err(StoreError::file(dir, "say that the pool is whole"))?;
        Ok(Pool { dir: dir.into(), settings, maps: Some(maps), catalogue, _lock: lock })
    }

    /// What is in it.
    pub fn contents(&self) -> &Contents {
        self.catalogue.contents()
    }

    /// Which state of the catalogue this is.
    pub fn edition(&self) -> Edition {
        self.catalogue.edition()
    }

    /// Says, durably, that the catalogue is going to change, before anything is made that only the
    /// next one names. `touched`: the trees that the change makes, removes or changes.
    ///
    /// # Errors
    /// It cannot be kept; nothing was changed.
    pub fn announce(&mut self, touched: &BTreeSet<CatalogueId>, maps: Keeper<'_>) -> Result<(), StoreError> {
        let edition = self.catalogue.edition();
        let touched = touched.iter().copied().collect();
        maps(Agreed { announced: edition.generation + 1, touched, ..Agreed::on(edition) })
    }

    /// Makes the catalogue hold exactly `wanted`, after that was announced: see
    /// [`Catalogue::keep`].
    ///
    /// # Errors
    /// The catalogue cannot be written; it is as it was.
    pub fn keep(&mut self, wanted: Contents) -> Result<(), StoreError> {
        self.catalogue.keep(wanted)
    }

    /// Makes changes to the catalogue, after they were announced, and returns what was: see
    /// [`Catalogue::change`].
    ///
    /// # Errors
    /// The catalogue cannot be written; it is as it was.
    pub fn change(&mut self, changes: Changes) -> Result<Changes, StoreError> {
        self.catalogue.change(changes)
    }

    /// Says, durably, that the catalogue as it is now is the one: an older one is not taken any
    /// more. `touched`: what may still be there though the catalogue does not name it.
    ///
    /// # Errors
    /// It cannot be kept; the catalogue has changed.
    pub fn confirm(&mut self, touched: &BTreeSet<CatalogueId>, maps: Keeper<'_>) -> Result<(), StoreError> {
        let touched = touched.iter().copied().collect();
        maps(Agreed { touched, ..Agreed::on(self.catalogue.edition()) })
    }

    /// Reads what clients made on each volume, before the maps are taken; `None` afterwards.
    ///
    /// # Errors
    /// The data cannot be opened.
    pub fn load_files(&mut self) -> Result<Option<VolumeFiles>, StoreError> {
        let named = named_by(&self.dir, &self.settings)?;
        let Some(maps) = &mut self.maps else { return Ok(None) };
        Ok(Some(volume_files::load(&self.dir, &named, self.catalogue.contents(), maps)?))
    }

    /// Has the maps take at most what the other parts of the server's memory leave, `most`, or what
    /// the settings say.
    ///
    /// # Errors
    /// The settings give them more.
    pub fn bound_maps(&mut self, most: Bytes) -> Result<(), StoreError> {
        let most = bounded_maps(&self.dir, &self.settings, most)?;
        self.maps.iter_mut().for_each(|maps| maps.bound(most));
        Ok(())
    }

    /// Takes the maps out, for the thread that serves them; `None` the second time.
    pub fn take_maps(&mut self) -> Option<MappedPool> {
        self.maps.take()
    }

    /// Whether a flush had failed when it was served last, so that what was written since the one
    /// before may be lost. It is told once: the mark goes.
    ///
    /// # Errors
    /// The mark cannot be taken away.
    pub fn take_doubt(&mut self) -> Result<bool, StoreError> {
        let is_marked = doubt::is_marked(&self.dir);
        if is_marked {
            doubt::forget(&self.dir)?;
        }
        Ok(is_marked)
    }

    /// Whether a flush has failed since it was opened.
    pub fn has_doubt(&self) -> bool {
        doubt::is_marked(&self.dir)
    }

    /// The labels on what is not in its folder, until the server takes the maps.
    pub fn marks(&self) -> Option<Marks> {
        self.maps.as_ref().map(|maps| maps.marks().clone())
    }

    /// Its number, which no other pool has.
    pub fn number(&self) -> u64 {
        self.catalogue.pool()
    }

    /// The pool's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether data goes through the page cache.
    pub fn cache(&self) -> Cache {
        self.settings.cache
    }

    /// The table `[qos]` of the pool's settings, read as a `T`.
    ///
    /// # Errors
    /// It is no `T`.
    pub fn qos_settings<T: serde::de::DeserializeOwned>(&self) -> Result<T, StoreError> {
        self.settings.qos(&self.dir)
    }

    /// Where its settings are.
    pub fn settings_path(&self) -> PathBuf {
        settings_path(&self.dir)
    }

    /// Where the control socket is.
    pub fn control_socket(&self) -> PathBuf {
        self.dir.join(CONTROL_SOCKET)
    }
}

/// Refuses a folder in which there is no catalogue, whatever would be in it.
///
/// # Errors
/// There is none; which way is said.
pub fn must_be_a_pool(dir: &Path) -> Result<(), StoreError> {
    if dir.join(CATALOGUE).is_file() {
        return Ok(());
    }
    if unfinished::is_unfinished(dir) {
        return Err(StoreError::Unfinished(dir.into()));
    }
    if dir.join(MAPS).join("log").exists() || dir.join(MAPS).join("end").exists() {
        return Err(StoreError::NoCatalogue { path: dir.join(CATALOGUE), what: "is not there" });
    }
    let other = holds_other_things(dir).unwrap_or(false);
    Err(if other { StoreError::NotAPool(dir.into()) } else { StoreError::Missing(dir.into()) })
}

/// Whether a folder is more than an empty place for a pool. A settings file may be laid there
/// first: it is the way to choose the cache for a new pool.
fn holds_other_things(dir: &Path) -> std::io::Result<bool> {
    Ok(fs::read_dir(dir)?.any(|entry| entry.is_ok_and(|entry| entry.file_name() != SETTINGS)))
}

/// The names of a pool's SVMs, whether it is served or not. Nothing is written.
///
/// # Errors
/// There is no pool, or its catalogue cannot be read.
pub fn svms(dir: &Path) -> Result<Vec<String>, StoreError> {
    must_be_a_pool(dir)?;
    // No server begins meanwhile; one that runs keeps the files that reading needs.
    let _lock = match lock(dir) {
        Err(StoreError::InUse(_)) => None,
        locked => Some(locked?),
    };
    let contents = Catalogue::read(&dir.join(CATALOGUE))?.contents;
    Ok(contents.objects.into_values().filter(|row| row.kind == Kind::Svm).map(|row| row.name).collect())
}

pub(crate) fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    // A file system that is mounted read only, or a user who may only read: a check needs no more.
    let file = file.or_else(|error| match error.kind() {
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => File::open(&path).map_err(|_| error),
        _ => Err(error),
    });
    let file = file.map_err(StoreError::file(&path, "open the lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(StoreError::InUse(dir.into())),
        Err(fs::TryLockError::Error(error)) => Err(StoreError::file(&path, "lock")(error)),
    }
}

#[cfg(test)]
mod tests;
