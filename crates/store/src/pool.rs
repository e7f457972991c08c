//! The pool's folder: creating, opening and locking it, and the files in it.

use crate::agreement::{self, Held};
use crate::catalogue::{Catalogue, CatalogueId, Changes, Contents, Kind};
use crate::check::Trouble;
use crate::doubt::{self, HasFailed};
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

/// Makes the maps record, durably, what is known of the catalogue.
pub type Keeper<'k> = &'k mut dyn FnMut(Agreed) -> Result<(), StoreError>;

/// An open pool, locked against every other server.
#[derive(Debug)]
pub struct Pool {
    dir: PathBuf,
    settings: Settings,
    /// The maps, until the server takes them.
    maps: Option<MappedPool>,
    failed: HasFailed,
    /// Names, sizes, policies.
    catalogue: Catalogue,
    _lock: File,
}

impl Pool {
    /// Creates an empty pool in a folder that does not exist yet or is empty, and opens it.
    ///
    /// # Errors
    /// The folder is not empty, or cannot be created.
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
        // Any number will do that no other pool has.
        let number = RandomState::new().build_hasher().finish();
        let marks = MappedPool::create(dir, number, map_settings(dir, &settings)?)?.marks().clone();
        let made = Catalogue::create(&dir.join(CATALOGUE), number);
        made.and_then(|()| Pool::open_locked(dir, settings, lock)).inspect_err(|_| marks.take_away())
    }

    /// Opens a pool.
    ///
    /// # Errors
    /// There is no pool, it is in use, it has another format, its settings are wrong, or its
    /// catalogue and its data do not match. Then nothing is written.
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
        // Once it has a catalogue, it is complete.
        unfinished::finish(dir).map_err(StoreError::file(dir, "say that the pool is whole"))?;
        let failed = maps.has_failed();
        Ok(Pool { dir: dir.into(), settings, maps: Some(maps), failed, catalogue, _lock: lock })
    }

    /// The contents of its catalogue.
    pub fn contents(&self) -> &Contents {
        self.catalogue.contents()
    }

    /// The present edition of the catalogue.
    pub fn edition(&self) -> Edition {
        self.catalogue.edition()
    }

    /// Records, durably, that the catalogue is about to change. This comes before anything is
    /// created that only the next edition names. `touched`: the trees that the change creates,
    /// removes or changes.
    ///
    /// # Errors
    /// It cannot be recorded; nothing was changed.
    pub fn announce(&mut self, touched: &BTreeSet<CatalogueId>, maps: Keeper<'_>) -> Result<(), StoreError> {
        let edition = self.catalogue.edition();
        let touched = touched.iter().copied().collect();
        maps(Agreed { announced: edition.generation + 1, touched, ..Agreed::on(edition) })
    }

    /// Makes the catalogue contain exactly `wanted`, after the change was announced: see
    /// [`Catalogue::keep`].
    ///
    /// # Errors
    /// The catalogue cannot be written; it is unchanged.
    pub fn keep(&mut self, wanted: Contents) -> Result<(), StoreError> {
        self.catalogue.keep(wanted)
    }

    /// Makes changes to the catalogue, after they were announced, and returns the previous rows:
    /// see [`Catalogue::change`].
    ///
    /// # Errors
    /// The catalogue cannot be written; it is unchanged.
    pub fn change(&mut self, changes: Changes) -> Result<Changes, StoreError> {
        self.catalogue.change(changes)
    }

    /// Reserves the space that a deletion needs on a full file system, if it is not reserved and
    /// there is enough; to be called regularly.
    pub fn keep_room(&self) {
        self.catalogue.keep_room();
    }

    /// Records, durably, that the present edition of the catalogue is the valid one; older editions
    /// are refused from now on. `touched`: trees that may still exist although the catalogue does
    /// not name them.
    ///
    /// # Errors
    /// It cannot be recorded; the catalogue has changed.
    pub fn confirm(&mut self, touched: &BTreeSet<CatalogueId>, maps: Keeper<'_>) -> Result<(), StoreError> {
        let touched = touched.iter().copied().collect();
        maps(Agreed { touched, ..Agreed::on(self.catalogue.edition()) })
    }

    /// Reads the clients' files of each volume, while the pool still has its maps; `None`
    /// afterwards.
    ///
    /// # Errors
    /// The data cannot be opened.
    pub fn load_files(&mut self) -> Result<Option<VolumeFiles>, StoreError> {
        let named = named_by(&self.dir, &self.settings)?;
        let Some(maps) = &mut self.maps else { return Ok(None) };
        Ok(Some(volume_files::load(&self.dir, &named, self.catalogue.contents(), maps)?))
    }

    /// Limits the memory of the maps to what the settings say, or else to `most`, which is what the
    /// other parts of the server leave.
    ///
    /// # Errors
    /// The settings give them more than `most`.
    pub fn bound_maps(&mut self, most: Bytes) -> Result<(), StoreError> {
        let most = bounded_maps(&self.dir, &self.settings, most)?;
        self.maps.iter_mut().for_each(|maps| maps.bound(most));
        Ok(())
    }

    /// Takes out the maps, for the thread that serves them; `None` the second time.
    pub fn take_maps(&mut self) -> Option<MappedPool> {
        self.maps.take()
    }

    /// Whether a flush failed when the pool was last served, so that what was written since the
    /// flush before may be lost. It is reported once: the mark is removed.
    ///
    /// # Errors
    /// The mark cannot be removed.
    pub fn take_doubt(&mut self) -> Result<bool, StoreError> {
        let is_marked = doubt::is_marked(&self.dir);
        if is_marked {
            doubt::forget(&self.dir)?;
        }
        Ok(is_marked)
    }

    /// Whether a flush has failed since the pool was opened.
    pub fn has_doubt(&self) -> bool {
        self.failed.get()
    }

    /// The labels on files and devices outside of its folder, until the server takes the maps.
    pub fn marks(&self) -> Option<Marks> {
        self.maps.as_ref().map(|maps| maps.marks().clone())
    }

    /// Its number, which is unique among pools.
    pub fn number(&self) -> u64 {
        self.catalogue.pool()
    }

    /// Its name: that of its folder, where that has one.
    pub fn name(&self) -> String {
        self.dir.file_name().map_or("seawall".into(), |name| name.to_string_lossy().into_owned())
    }

    /// The pool's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether data goes through the page cache.
    pub fn cache(&self) -> Cache {
        self.settings.cache
    }

    /// The table `[qos]` of the pool's settings, parsed as a `T`.
    ///
    /// # Errors
    /// It is not a valid `T`.
    pub fn qos_settings<T: serde::de::DeserializeOwned + Default>(&self) -> Result<T, StoreError> {
        self.settings.qos(&self.dir)
    }

    /// The path of its settings.
    pub fn settings_path(&self) -> PathBuf {
        settings_path(&self.dir)
    }

    /// The path of its control socket.
    pub fn control_socket(&self) -> PathBuf {
        self.dir.join(CONTROL_SOCKET)
    }
}

/// Refuses a folder without a catalogue, whatever else is in it.
///
/// # Errors
/// There is no catalogue; the error says why.
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

/// Whether a folder contains anything but settings. A settings file may be put there first: it is
/// the way to choose the cache for a new pool.
fn holds_other_things(dir: &Path) -> std::io::Result<bool> {
    Ok(fs::read_dir(dir)?.any(|entry| entry.is_ok_and(|entry| entry.file_name() != SETTINGS)))
}

/// The names of a pool's SVMs, whether the pool is served or not. Nothing is written.
///
/// # Errors
/// There is no pool, or its catalogue cannot be read.
pub fn svms(dir: &Path) -> Result<Vec<String>, StoreError> {
    must_be_a_pool(dir)?;
    // The lock keeps a server from starting now; a running server keeps the files needed here.
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
