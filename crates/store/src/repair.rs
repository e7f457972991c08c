//! The repair of a damaged pool: first a copy of everything that it may write over, then what can be done. What is lost
//! stays lost, and is said: a LUN whose data is gone reads as zeroes where it was.
//!
//! A log on a file or device of its own is copied with its label to `maps/log` in the copy, so that `dd` puts it back.

use crate::catalogue::{Catalogue, Contents};
use crate::check::{Checked, Trouble, behind, inspect};
use crate::doubt;
use crate::error::StoreError;
use crate::mapped::{MapRepair, Named, salvage_maps};
use crate::pool::{CATALOGUE, DATA, MAPS, lock, must_be_a_pool, named};
use map::BLOCK;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What a repair did.
#[derive(Debug)]
pub struct Repaired {
    /// What was mended, and what was lost by it.
    pub done: Vec<String>,
    /// The pool as it is now.
    pub after: Checked,
}

/// What a repair may write over: all but the data itself, which it only makes longer.
const COPIED: [&str; 9] = [
    "seawall.toml",
    CATALOGUE,
    "catalogue.db-wal",
    "catalogue.db-shm",
    "maps/log",
    "maps/nodes",
    "maps/table.0",
    "maps/table.1",
    "lock",
];

/// Mends what a check finds wrong, as far as that is possible. `copy` becomes a folder with the pool's metadata as it was.
///
/// # Errors
/// The copy cannot be made, or what is wrong cannot be mended: then nothing was changed.
pub fn repair(dir: &Path, copy: &Path) -> Result<Repaired, StoreError> {
    must_be_a_pool(dir)?;
    let named = named(dir)?;
    let _lock = lock(dir)?;
    let before = inspect(dir, &named)?;
    if before.troubles.iter().any(|trouble| matches!(trouble, Trouble::Catalogue(_) | Trouble::Rule(_))) {
        let what = "the catalogue itself is damaged, and only a copy of it from before helps";
        return Err(StoreError::BeyondRepair { path: dir.into(), what });
    }
    let short = |trouble: &Trouble| matches!(trouble, Trouble::Blocks { path, .. } if is_device(path));
    if before.troubles.iter().any(short) {
        let what = "a device of its data is smaller than it was, and cannot be made longer";
        return Err(StoreError::BeyondRepair { path: dir.into(), what });
    }
    keep_copy(dir, copy)?;
    if let Some(log) = &named.log {
        copy_named(log, BLOCK + before.log, &copy.join(MAPS).join("log"))?;
    }
    let mut done = vec![format!("the metadata as it was is in {}", copy.display())];
    let damaged = before.troubles.iter().any(|trouble| matches!(trouble, Trouble::Maps { .. }));
    if damaged {
        mend_maps(dir, &named, &MapRepair { make: &[], grow: &[] }, &before.names(), &mut done)?;
        done.push("maps: both tables are written anew".into());
    }
    // With whole maps it is known what else is missing.
    let now = if damaged { inspect(dir, &named)? } else { before };
    mend(dir, &named, now, &mut done)?;
    Ok(Repaired { done, after: inspect(dir, &named)? })
}

fn mend(dir: &Path, named: &Named, checked: Checked, done: &mut Vec<String>) -> Result<(), StoreError> {
    let (mut make, mut grow, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    let names = checked.names();
    for trouble in checked.troubles {
        match trouble {
            Trouble::NoTree { kind: "snapshot", name, tree, .. } => {
                done.push(format!("snapshot {name}: taken out of the catalogue, as nothing of it is left"));
                gone.push(tree);
            }
            Trouble::NoTree { kind, name, tree, size } => {
                done.push(format!("{kind} {name}: its data is lost; all {size} bytes read as zeroes"));
                make.push((tree, size));
            }
            Trouble::Size { kind, name, tree, found, size } => {
                done.push(format!("{kind} {name}: reads as zeroes from byte {found} to byte {size}"));
                grow.push((tree, size));
            }
            Trouble::Blocks { path, found, needed } => {
                done.push(format!("{}: made longer; what lay beyond byte {found} is lost", path.display()));
                lengthen(&path, needed, false)?;
            }
            Trouble::NoFile { kind, name, path, size } => {
                done.push(format!("{kind} {name}: its data is lost; all {size} bytes read as zeroes"));
                lengthen(&path, size, true)?;
            }
            Trouble::ShortFile { kind, name, path, found, size } => {
                done.push(format!("{kind} {name}: reads as zeroes from byte {found} to byte {size}"));
                lengthen(&path, size, false)?;
            }
            Trouble::FlushFailed => {
                done.push("the mark of the failed flush is taken away; the pool is what the disk has".into());
                doubt::forget(dir)?;
            }
            Trouble::MapFile(error) => return Err(error.into()),
            Trouble::Maps { .. } | Trouble::Catalogue(_) | Trouble::Rule(_) => {}
        }
    }
    if !(make.is_empty() && grow.is_empty()) {
        mend_maps(dir, named, &MapRepair { make: &make, grow: &grow }, &names, done)?;
    }
    if gone.is_empty() { Ok(()) } else { forget(dir, checked.contents, &gone) }
}

fn mend_maps(
    dir: &Path,
    named: &Named,
    repair: &MapRepair<'_>,
    names: &BTreeMap<u32, String>,
    done: &mut Vec<String>,
) -> Result<(), StoreError> {
    let Some(lost) = salvage_maps(dir, named, repair)? else {
        let what = "neither of the two tables of the maps is whole, so nothing says which block is whose";
        return Err(StoreError::BeyondRepair { path: dir.into(), what });
    };
    let of = |lost: &map::Lost| lost.tree().and_then(|tree| names.get(&tree).cloned());
    done.extend(lost.into_iter().map(|lost| format!("maps: {lost}{}", behind(&of(&lost)))));
    Ok(())
}

/// Takes trees out of the snapshots that name them, and snapshots of which nothing is left.
fn forget(dir: &Path, mut contents: Contents, gone: &[u32]) -> Result<(), StoreError> {
    for snapshot in contents.snapshots.values_mut() {
        snapshot.leaves.retain(|leaf| !gone.contains(&leaf.tree));
    }
    contents.snapshots.retain(|_, snapshot| !snapshot.leaves.is_empty());
    Catalogue::open(&dir.join(CATALOGUE))?.keep(contents)
}

/// Makes a file at least so long, with zeroes that take no space.
fn lengthen(path: &Path, len: u64, create: bool) -> Result<(), StoreError> {
    let file = OpenOptions::new().write(true).create_new(create).mode(0o600).open(path);
    let done = file.and_then(|file| file.set_len(len).and_then(|()| file.sync_all()));
    done.map_err(StoreError::file(path, "make it longer"))
}

fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device())
}

/// Copies the first bytes of a file or device, as many as there are.
fn copy_named(from: &Path, len: u64, to: &Path) -> Result<(), StoreError> {
    let read = File::open(from).map_err(StoreError::file(from, "read it for the copy"))?;
    let copied = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).and_then(|mut file| {
        std::io::copy(&mut read.take(len), &mut file)?;
        file.sync_all()
    });
    copied.map_err(StoreError::file(to, "copy to it"))
}

fn keep_copy(dir: &Path, copy: &Path) -> Result<(), StoreError> {
    if copy.exists() {
        return Err(StoreError::CopyThere(copy.into()));
    }
    let folder = |path: PathBuf| {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(StoreError::file(path, "make the folder for the copy"))
    };
    folder(copy.into())?;
    folder(copy.join(if dir.join(MAPS).exists() { MAPS } else { DATA }))?;
    for name in COPIED.iter().filter(|name| dir.join(name).exists()) {
        let (from, to) = (dir.join(name), copy.join(name));
        let copied = fs::copy(from, &to).and_then(|_| File::open(&to)?.sync_all());
        copied.map_err(StoreError::file(&to, "copy to it"))?;
    }
    File::open(copy).and_then(|folder| folder.sync_all()).map_err(StoreError::file(copy, "sync the folder"))
}
