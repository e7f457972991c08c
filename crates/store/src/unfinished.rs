//! A pool whose creation was interrupted. It is told apart from a complete pool, and removed so
//! that the pool can be created again.
//!
//! ```text
//!   maps/making, durable ──► labels ──► log, tables ──► catalogue ──► maps/making goes
//! ```
//! So a pool with a catalogue is complete. Without one, nothing was ever stored in it, and the
//! labels that `maps/making` names mean nothing.

use crate::error::StoreError;
use crate::mapped::{Marks, Named};
use crate::pool::{CATALOGUE, LOCK, MAPS, lock};
use crate::settings::SETTINGS;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file in the folder of the maps while the pool is being created. It has the pool's number, then
/// the paths of what gets a label, each after a zero byte.
const MAKING: &str = "making";
/// The catalogue of a pool that is being created.
const MAKING_CATALOGUE: &str = "catalogue.new";

/// Records in `maps`, durably, that a pool is being created.
pub(crate) fn begin(maps: &Path, pool: u64, named: &Named) -> io::Result<()> {
    let mut text = pool.to_string().into_bytes();
    for path in named.paths() {
        text.push(0);
        text.extend(path.as_os_str().as_bytes());
    }
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(maps.join(MAKING))?;
    file.write_all(&text).and_then(|()| file.sync_all())?;
    let folders = [Some(maps), maps.parent()];
    folders.into_iter().flatten().try_for_each(|folder| File::open(folder)?.sync_all())
}

/// The pool in `dir` is complete.
pub(crate) fn finish(dir: &Path) -> io::Result<()> {
    let maps = dir.join(MAPS);
    match fs::remove_file(maps.join(MAKING)) {
        Ok(()) => File::open(maps)?.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether `dir` contains an incomplete pool and nothing else.
pub(crate) fn is_unfinished(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir(dir).and_then(Iterator::collect::<Result<Vec<_>, _>>) else { return false };
    let is_empty = |path: PathBuf| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    let mut begun = false;
    for entry in entries {
        let (name, path) = (entry.file_name(), entry.path());
        let is_ours = match name.to_str() {
            Some(SETTINGS) => continue,
            Some(LOCK) => entry.metadata().is_ok_and(|about| about.is_file() && about.len() == 0),
            Some(MAPS) => path.join(MAKING).is_file() || is_empty(path),
            Some(name) if name.starts_with(MAKING_CATALOGUE) => continue,
            _ => false,
        };
        if !is_ours {
            return false;
        }
        begun = true;
    }
    begun && !dir.join(CATALOGUE).exists()
}

/// Removes an incomplete pool, including its labels on files and devices; returns whether there was
/// one. Nothing else is touched.
///
/// # Errors
/// Someone is creating it right now, or the file system refuses.
pub fn clear_unfinished(dir: &Path) -> Result<bool, StoreError> {
    if !is_unfinished(dir) {
        return Ok(false);
    }
    let _lock = lock(dir)?;
    // The previous holder of the lock may have completed it.
    if !is_unfinished(dir) {
        return Ok(false);
    }
    // An incomplete file was not durable yet, and then no label was written.
    if let Some(marks) = fs::read(dir.join(MAPS).join(MAKING)).ok().and_then(|text| marks(&text)) {
        marks.take_away();
    }
    // The file that names the labels is removed after them, and the lock last.
    let maps = dir.join(MAPS);
    if maps.exists() {
        fs::remove_dir_all(&maps).map_err(StoreError::file(&maps, "remove what was begun"))?;
    }
    for name in
        ["", "-journal"].map(|end| dir.join(format!("{MAKING_CATALOGUE}{end}"))).iter().filter(|file| file.exists())
    {
        fs::remove_file(name).map_err(StoreError::file(name, "remove what was begun"))?;
    }
    let path = dir.join(LOCK);
    fs::remove_file(&path).map_err(StoreError::file(&path, "remove what was begun"))?;
    Ok(true)
}

fn marks(text: &[u8]) -> Option<Marks> {
    let mut parts = text.split(|byte| *byte == 0);
    let pool = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    Some(Marks::of(pool, parts.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapped::{MapSettings, MappedPool};
    use crate::pool::Pool;

    /// A folder for a pool with data and log in files beside it, and those files.
    fn place() -> (tempfile::TempDir, PathBuf, Named) {
        let top = tempfile::tempdir().unwrap();
        let (dir, data, log) = (top.path().join("pool"), top.path().join("data.img"), top.path().join("log.img"));
        fs::create_dir(&dir).unwrap();
        let text = format!("cache = \"page\"\n[pool]\ndata = {data:?}\nlog = {log:?}\n");
        fs::write(dir.join(SETTINGS), text).unwrap();
        (top, dir, Named { data: vec![data], log: Some(log) })
    }

    /// Everything exists except the catalogue, as after a power failure at the last moment. The
    /// labels belong to no pool, and one can be created there. Once it is complete nothing is
    /// removed, even if the file that says otherwise reappears.
    #[test]
    fn what_was_begun_can_be_begun_again() {
        let (_top, dir, named) = place();
        drop(lock(&dir).unwrap());
        let settings = MapSettings { named: named.clone(), cache: crate::Cache::Page, ..MapSettings::default() };
        drop(MappedPool::create(&dir, 7, settings).unwrap());
        assert!(matches!(Pool::open(&dir), Err(StoreError::Unfinished(_))));
        assert!(named.paths().all(|path| path.exists()));
        assert!(clear_unfinished(&dir).unwrap());
        assert!(named.paths().all(|path| !path.exists()));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "the settings");
        drop(Pool::create(&dir).unwrap());
        assert!(!dir.join(MAPS).join(MAKING).exists());
        begin(&dir.join(MAPS), 7, &named).unwrap();
        assert!(!clear_unfinished(&dir).unwrap());
        drop(Pool::open(&dir).unwrap());
        assert!(!dir.join(MAPS).join(MAKING).exists() && named.paths().all(|path| path.exists()));
    }

    /// Another pool's label, and a folder with something else, are left alone.
    #[test]
    fn nothing_of_others_is_cleared() {
        let (top, dir, named) = place();
        drop(Pool::create(&dir).unwrap());
        let other = top.path().join("other");
        fs::create_dir_all(other.join(MAPS)).unwrap();
        begin(&other.join(MAPS), 7, &named).unwrap();
        assert!(clear_unfinished(&other).unwrap());
        drop(Pool::open(&dir).unwrap());
        // A pool that lost its catalogue still has its data.
        fs::remove_file(dir.join(CATALOGUE)).unwrap();
        assert!(!clear_unfinished(&dir).unwrap());
        assert!(matches!(Pool::open(&dir), Err(StoreError::NoCatalogue { .. })));
        let thesis = top.path().join("thesis");
        fs::create_dir_all(thesis.join(MAPS)).unwrap();
        fs::write(thesis.join("chapter"), "years of work").unwrap();
        assert!(!clear_unfinished(&thesis).unwrap());
        assert_eq!(fs::read_dir(&thesis).unwrap().count(), 2);
    }
}
