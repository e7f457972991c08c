//! The pool's folder: made, opened, locked, and the files in it.

use crate::catalogue::{Catalogue, CatalogueId};
use crate::doubt::{self, Doubt};
use crate::error::StoreError;
use crate::mapped::{MEMBERS_MAX, MapSettings, MappedPool, Marks, Named};
use crate::unfinished;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use uring::disk::{self, Opening};

pub(crate) const CATALOGUE: &str = "catalogue.db";
pub(crate) const SETTINGS: &str = "seawall.toml";
pub(crate) const LOCK: &str = "lock";
pub(crate) const DATA: &str = "data";
pub(crate) const MAPS: &str = "maps";
/// The control socket's name in the pool's folder.
pub const CONTROL_SOCKET: &str = "control.sock";

/// Whether data goes through the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Past it (`O_DIRECT`): what is measured is the disk.
    #[default]
    Direct,
    /// Through it.
    Page,
}

/// How a pool keeps the bytes of its LUNs. It stays so for the pool's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Blocks that LUNs share, and maps of them.
    #[default]
    Maps,
    /// A sparse file a LUN.
    Files,
}

/// What `seawall.toml` in the pool's folder may say.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    cache: Cache,
    /// For a pool that is made; one that is there has its layout.
    layout: Option<Layout>,
    pool: NamedSettings,
    /// For whoever keeps policies; the pool only hands it over.
    qos: toml::Table,
}

/// The table `[pool]`: where a pool with maps has what is not in its folder, and what becomes of free space.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct NamedSettings {
    /// A file or block device for the blocks, or several.
    data: Option<OneOrMore>,
    /// One for the log.
    log: Option<PathBuf>,
    /// Whether free blocks are given back to the file system or the device; they are by default.
    give_back: Option<bool>,
}

/// A path, or a list of them.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged, expecting = "a path, or a list of paths")]
enum OneOrMore {
    One(PathBuf),
    More(Vec<PathBuf>),
}

impl OneOrMore {
    fn paths(&self) -> &[PathBuf] {
        match self {
            OneOrMore::One(path) => std::slice::from_ref(path),
            OneOrMore::More(paths) => paths,
        }
    }
}

/// A LUN's open data file.
#[derive(Debug)]
pub struct DataFile {
    /// For its data.
    pub file: File,
    /// The same file, for asking which parts are allocated.
    pub probe: File,
    /// Offsets, lengths and memory of its I/O must be multiples of this many bytes; a power of two, 1 through the page
    /// cache.
    pub align: u32,
    /// Remembers a failed flush.
    pub doubt: Doubt,
}

/// An open pool, locked against every other server.
#[derive(Debug)]
pub struct Pool {
    dir: PathBuf,
    settings: Settings,
    /// The maps, until the server takes them.
    maps: Option<MappedPool>,
    /// Names, sizes, policies.
    pub catalogue: Catalogue,
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
        let mut marks = None;
        if settings.layout.unwrap_or_default() == Layout::Maps {
            // Any number will do that another pool does not have.
            let number = RandomState::new().build_hasher().finish();
            marks = Some(MappedPool::create(dir, number, map_settings(dir, &settings)?)?.marks().clone());
        }
        Pool::open_locked(dir, settings, lock).inspect_err(|_| marks.iter().for_each(Marks::take_away))
    }

    /// Opens a pool.
    ///
    /// # Errors
    /// There is none, it is in use, it is of a later format, or its settings are wrong.
    pub fn open(dir: &Path) -> Result<Pool, StoreError> {
        must_be_a_pool(dir)?;
        let settings = read_settings(&dir.join(SETTINGS))?;
        Pool::open_locked(dir, settings, lock(dir)?)
    }

    fn open_locked(dir: &Path, settings: Settings, lock: File) -> Result<Pool, StoreError> {
        if doubt::is_marked(dir) {
            doubt::settle(dir, &named_by(dir, &settings)?)?;
        }
        let catalogue = Catalogue::open(&dir.join(CATALOGUE))?;
        let maps = match dir.join(MAPS).exists() {
            true => Some(MappedPool::open(dir, map_settings(dir, &settings)?)?),
            false => {
                let data = dir.join(DATA);
                fs::create_dir_all(&data).map_err(StoreError::file(&data, "make the folder"))?;
                None
            }
        };
        // With its catalogue it is whole.
        unfinished::finish(dir).map_err(StoreError::file(dir, "say that the pool is whole"))?;
        Ok(Pool { dir: dir.into(), settings, maps, catalogue, _lock: lock })
    }

    /// Takes the maps out, for the thread that serves them; `None` from a pool with a sparse file a LUN.
    pub fn take_maps(&mut self) -> Option<MappedPool> {
        self.maps.take()
    }

    /// Whether a flush had failed when it was served last, so that what was written since the one before may be lost. It is
    /// told once: the mark goes.
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

    /// The labels on what is not in its folder, until the server takes the maps; `None` from a pool without maps.
    pub fn marks(&self) -> Option<Marks> {
        self.maps.as_ref().map(|maps| maps.marks().clone())
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
        self.settings.qos.clone().try_into().map_err(|error: toml::de::Error| StoreError::Settings {
            path: self.dir.join(SETTINGS),
            reason: format!("[qos]: {}", error.message().trim().replace('\n', " ")),
        })
    }

    /// Where the control socket is.
    pub fn control_socket(&self) -> PathBuf {
        self.dir.join(CONTROL_SOCKET)
    }

    /// Where a LUN's bytes are.
    pub fn data_file(&self, lun: CatalogueId) -> PathBuf {
        self.dir.join(DATA).join(format!("{lun:08}"))
    }

    /// Makes a LUN's data file, sparse, of that size in bytes; durable when it returns. One of that number that the
    /// catalogue does not know was left by a server that died between the two, or of a LUN that was deleted: it goes.
    ///
    /// # Errors
    /// The LUN exists or the file system refuses.
    pub fn make_data_file(&self, lun: CatalogueId, size: u64) -> Result<(), StoreError> {
        let path = self.data_file(lun);
        if !self.catalogue.contents().objects.contains_key(&lun) && path.exists() {
            self.remove_data_file(lun)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let made = file.and_then(|file| file.set_len(size).and_then(|()| file.sync_all()));
        made.map_err(StoreError::file(&path, "make the LUN's file"))?;
        self.sync_data_folder()
    }

    /// Makes a LUN's data file longer; durable when it returns.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn grow_data_file(&self, lun: CatalogueId, size: u64) -> Result<(), StoreError> {
        let path = self.data_file(lun);
        let file = OpenOptions::new().write(true).open(&path);
        let grown = file.and_then(|file| file.set_len(size).and_then(|()| file.sync_all()));
        grown.map_err(StoreError::file(&path, "grow the LUN's file"))
    }

    /// Opens a LUN's data file the way that the pool's settings say.
    ///
    /// # Errors
    /// It is gone, its file system cannot go past the page cache, or no descriptor is left.
    pub fn open_data_file(&self, lun: CatalogueId) -> Result<DataFile, StoreError> {
        let cache = match self.settings.cache {
            Cache::Direct => disk::Cache::Direct,
            Cache::Page => disk::Cache::Page,
        };
        let path = self.data_file(lun);
        let disk = disk::open(&path, Opening { cache, write: true, ..Opening::default() })?;
        let probe = disk.file.try_clone().map_err(StoreError::file(&path, "open the LUN's file again"))?;
        Ok(DataFile { file: disk.file, probe, align: disk.align, doubt: Doubt::of(&self.dir) })
    }

    /// Removes a LUN's data file; it may be gone already.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn remove_data_file(&self, lun: CatalogueId) -> Result<(), StoreError> {
        let path = self.data_file(lun);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::file(&path, "remove the LUN's file")(error))
            }
            _ => self.sync_data_folder(),
        }
    }

    /// Bytes of the device that a LUN takes now.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn used(&self, lun: CatalogueId) -> Result<u64, StoreError> {
        use std::os::unix::fs::MetadataExt;
        let path = self.data_file(lun);
        let found = fs::metadata(&path).map_err(StoreError::file(&path, "look at the LUN's file"))?;
        Ok(found.blocks() * 512)
    }

    fn sync_data_folder(&self) -> Result<(), StoreError> {
        let data = self.dir.join(DATA);
        File::open(&data).and_then(|folder| folder.sync_all()).map_err(StoreError::file(&data, "sync the folder"))
    }
}

/// Whether there is a catalogue, whatever is in it.
pub(crate) fn must_be_a_pool(dir: &Path) -> Result<(), StoreError> {
    if dir.join(CATALOGUE).is_file() {
        return Ok(());
    }
    if unfinished::is_unfinished(dir) {
        return Err(StoreError::Unfinished(dir.into()));
    }
    let other = holds_other_things(dir).unwrap_or(false);
    Err(if other { StoreError::NotAPool(dir.into()) } else { StoreError::Missing(dir.into()) })
}

/// Whether a folder is more than an empty place for a pool. A settings file may be laid there first: it is the way to
/// choose the cache for a new pool.
fn holds_other_things(dir: &Path) -> std::io::Result<bool> {
    Ok(fs::read_dir(dir)?.any(|entry| entry.is_ok_and(|entry| entry.file_name() != SETTINGS)))
}

/// The log takes at most a 64th of a small file system.
fn map_settings(dir: &Path, settings: &Settings) -> Result<MapSettings, StoreError> {
    let space = uring::space::space(dir).map_err(StoreError::file(dir, "ask for its space"))?;
    let most = MapSettings::default();
    let log = (space.available.0 / 64).clamp(256 << 10, most.log) / 4096 * 4096;
    let give_back = settings.pool.give_back.unwrap_or(most.give_back);
    Ok(MapSettings { named: named_by(dir, settings)?, cache: settings.cache, log, give_back, ..most })
}

/// The files and devices that the settings of a pool's folder name.
///
/// # Errors
/// The settings are wrong.
pub fn named(dir: &Path) -> Result<Named, StoreError> {
    named_by(dir, &read_settings(&dir.join(SETTINGS))?)
}

fn named_by(dir: &Path, settings: &Settings) -> Result<Named, StoreError> {
    let wrong = |reason: String| StoreError::Settings { path: dir.join(SETTINGS), reason };
    let absolute = |key: &str, path: &PathBuf| match path.is_absolute() {
        true => Ok(path.clone()),
        false => Err(wrong(format!(
            "[pool] {key} = {path:?}: must be an absolute path; what is in the pool's folder needs no name"
        ))),
    };
    let data = settings.pool.data.as_ref().map_or(&[][..], OneOrMore::paths);
    if settings.pool.data.is_some() && !(1..=MEMBERS_MAX).contains(&data.len()) {
        let count = data.len();
        return Err(wrong(format!("[pool] data: must name 1 to {MEMBERS_MAX} files or devices, got {count}")));
    }
    let data = data.iter().map(|path| absolute("data", path)).collect::<Result<Vec<_>, _>>()?;
    let log = settings.pool.log.as_ref().map(|path| absolute("log", path)).transpose()?;
    let named = Named { data, log };
    if named != Named::default() && settings.layout == Some(Layout::Files) {
        return Err(wrong("[pool]: files and devices of their own need layout = \"maps\"".into()));
    }
    if named.data.iter().any(|path| named.log.as_ref() == Some(path)) {
        return Err(wrong("[pool]: data and log must not be the same file or device".into()));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = named.data.iter().find(|path| !seen.insert(*path)) {
        return Err(wrong(format!("[pool] data: {} is named twice", twice.display())));
    }
    Ok(named)
}

pub(crate) fn read_settings(path: &Path) -> Result<Settings, StoreError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Settings::default()),
        Err(error) => return Err(StoreError::file(path, "read the settings")(error)),
    };
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        StoreError::Settings { path: path.into(), reason: format!("line {line}: {}", error.message()) }
    })
}

pub(crate) fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = file.map_err(StoreError::file(&path, "open the lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(StoreError::InUse(dir.into())),
        Err(fs::TryLockError::Error(error)) => Err(StoreError::file(&path, "lock")(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool with a sparse file a LUN.
    fn of_files(dir: &Path) -> Pool {
        fs::write(dir.join(SETTINGS), "cache = \"page\"\nlayout = \"files\"\n").unwrap();
        Pool::create(dir).unwrap()
    }

    #[test]
    fn a_pool_keeps_the_layout_that_it_was_made_with() {
        let dir = tempfile::tempdir().unwrap();
        let settings = |text: &str| fs::write(dir.path().join(SETTINGS), text).unwrap();
        settings("cache = \"page\"\nlayout = \"maps\"\n");
        assert!(Pool::create(dir.path()).unwrap().take_maps().is_some());
        settings("cache = \"page\"\nlayout = \"files\"\n");
        assert!(Pool::open(dir.path()).unwrap().take_maps().is_some());
        let other = tempfile::tempdir().unwrap();
        assert!(of_files(other.path()).take_maps().is_none());
        fs::remove_file(other.path().join(SETTINGS)).unwrap();
        assert!(Pool::open(other.path()).unwrap().take_maps().is_none());
    }

    #[test]
    fn a_folder_with_other_things_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.txt"), "years of work").unwrap();
        assert!(matches!(Pool::create(dir.path()), Err(StoreError::NotAPool(_))));
        assert!(matches!(Pool::open(dir.path()), Err(StoreError::NotAPool(_))));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pool_is_opened_by_one_server_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pool");
        assert!(matches!(Pool::open(&path), Err(StoreError::Missing(_))));
        fs::create_dir(&path).unwrap();
        fs::write(path.join(SETTINGS), "cache = \"page\"\n").unwrap();
        let pool = Pool::create(&path).unwrap();
        assert!(matches!(Pool::open(&path), Err(StoreError::InUse(_))));
        drop(pool);
        Pool::open(&path).unwrap();
    }

    #[test]
    fn a_lun_is_thin_and_its_file_goes_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let pool = of_files(dir.path());
        pool.make_data_file(7, 1 << 30).unwrap();
        assert_eq!(fs::metadata(pool.data_file(7)).unwrap().len(), 1 << 30);
        assert_eq!(pool.used(7).unwrap(), 0);
        pool.remove_data_file(7).unwrap();
        pool.remove_data_file(7).unwrap();
        assert!(pool.used(7).is_err());
    }

    #[test]
    fn what_an_interrupted_change_left_is_no_obstacle_and_a_lun_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let mut pool = of_files(dir.path());
        fs::write(pool.data_file(7), "of a LUN that the catalogue does not know").unwrap();
        pool.make_data_file(7, 4096).unwrap();
        assert_eq!(fs::read(pool.data_file(7)).unwrap(), [0; 4096]);
        let lun = crate::ObjectRow {
            id: 7,
            kind: crate::Kind::Lun,
            parent: None,
            name: "lun".into(),
            size: 4096,
            policy: None,
            template: None,
            fair: false,
        };
        pool.catalogue.keep(crate::Contents { objects: [(7, lun)].into(), ..Default::default() }).unwrap();
        assert!(pool.make_data_file(7, 4096).is_err(), "its number is taken");
    }

    #[test]
    fn the_cache_is_chosen_in_the_pools_settings() {
        let dir = tempfile::tempdir().unwrap();
        let settings = dir.path().join(SETTINGS);
        fs::write(&settings, "cache = \"page\"\n").unwrap();
        assert!(matches!(Pool::open(dir.path()), Err(StoreError::Missing(_))), "settings alone are no pool");
        assert_eq!(Pool::create(dir.path()).unwrap().cache(), Cache::Page);
        fs::write(&settings, "\ncash = \"page\"\n").unwrap();
        let error = Pool::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("cash"), "{error}");
    }
}
