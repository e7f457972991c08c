//! The repair of a damaged pool. First it copies everything that it may overwrite; then it repairs
//! what it can. What is lost stays lost and is reported: a LUN whose data is gone reads as zeroes
//! there.
//!
//! A log on a file or device of its own is copied with its label to `maps/log` in the copy, so that
//! `dd` puts it back.

use crate::agreement;
use crate::catalogue::{Catalogue, Reading};
use crate::check::{Checked, Trouble, behind, inspect};
use crate::doubt;
use crate::error::StoreError;
use crate::mapped::{MapRepair, Named, salvage_maps};
use crate::pool::{CATALOGUE, MAPS, lock, must_be_a_pool};
use crate::settings::named;
use map::{Agreed, BLOCK, Damage, Edition};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The result of a repair.
#[derive(Debug)]
pub struct Repaired {
    /// What was repaired, and what was lost.
    pub done: Vec<String>,
    /// The check of the pool afterwards.
    pub after: Checked,
}

/// The options of a repair.
#[derive(Clone, Debug, Default)]
pub struct RepairSettings {
    /// The new folder for a copy of the pool's metadata as it was.
    pub copy: PathBuf,
    /// What may be lost, by the name that the check gives it. That is a LUN of which nothing is
    /// left: it is created again, all zeroes. Or it is the number of a tree that the catalogue does
    /// not name: it is deleted.
    pub give_up: Vec<String>,
    /// Whether to continue with the present catalogue, even if the data belongs to another.
    pub take_catalogue: bool,
}

/// What a repair may overwrite: everything but the data itself, which it only extends.
const COPIED: [&str; 10] = [
    "seawall.toml",
    CATALOGUE,
    "catalogue.db-wal",
    "catalogue.db-shm",
    "maps/log",
    "maps/nodes",
    "maps/table.0",
    "maps/table.1",
    "maps/end",
    "lock",
];

/// Repairs what a check finds wrong, as far as possible. A LUN of which nothing is left, and data
/// that the catalogue does not name, stay unless they are given up by name.
///
/// # Errors
/// The copy cannot be made, or the damage cannot be repaired. Then nothing was changed.
pub fn repair(dir: &Path, settings: &RepairSettings) -> Result<Repaired, StoreError> {
    must_be_a_pool(dir)?;
    let named = named(dir)?;
    let _lock = lock(dir)?;
    let before = inspect(dir, &named)?;
    must_be_possible(dir, &before, settings)?;
    keep_copy(dir, &settings.copy)?;
    if let Some(log) = &named.log {
        copy_named(log, BLOCK + before.log, &settings.copy.join(MAPS).join("log"))?;
    }
    let done = vec![format!("the metadata as it was is in {}", settings.copy.display())];
    let mut bench = Bench { dir, named: &named, settings, done };
    let damaged = before.troubles.iter().any(|trouble| matches!(trouble, Trouble::Maps { .. }));
    if damaged {
        bench.mend_damage(&before)?;
    }
    // Only with intact maps is it known what else is missing.
    let now = if damaged { inspect(dir, &named)? } else { before };
    if damaged && let Err(error) = must_be_possible(dir, &now, settings) {
        bench.done.push(format!("no more than that: {error}"));
        return Ok(Repaired { done: bench.done, after: now });
    }
    bench.mend(now)?;
    Ok(Repaired { done: bench.done, after: inspect(dir, &named)? })
}

fn must_be_possible(dir: &Path, found: &Checked, settings: &RepairSettings) -> Result<(), StoreError> {
    let beyond = |what| Err(StoreError::BeyondRepair { path: dir.into(), what });
    let has = |is: &dyn Fn(&Trouble) -> bool| found.troubles.iter().any(is);
    if has(&|trouble| matches!(trouble, Trouble::Catalogue(_) | Trouble::Rule(_))) {
        return beyond("the catalogue itself is damaged, and only a copy of it from before helps");
    }
    if has(&|trouble| matches!(trouble, Trouble::OtherPool { .. })) {
        return beyond("the catalogue is another pool's, and only its own one helps");
    }
    if has(&|trouble| matches!(trouble, Trouble::Gone(_))) {
        return beyond("the folder with the pool's data is not there, and only that helps");
    }
    if has(&|trouble| matches!(trouble, Trouble::Blocks { path, .. } if is_device(path))) {
        return beyond("a device of its data is smaller than it was, and cannot be made longer");
    }
    if !settings.take_catalogue && has(&is_of_another_edition) {
        return Err(StoreError::NotTaken(dir.into()));
    }
    // Damage may hide what is missing.
    if has(&|trouble| matches!(trouble, Trouble::Maps { .. })) {
        return Ok(());
    }
    let names: Vec<String> = found.troubles.iter().filter_map(name_of).collect();
    let unknown = settings.give_up.iter().find(|name| !names.contains(name));
    unknown.map_or(Ok(()), |name| Err(StoreError::NotMissing(name.clone())))
}

fn is_of_another_edition(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Edition { .. } | Trouble::Changed)
}

/// The name by which something that would be lost can be given up.
fn name_of(trouble: &Trouble) -> Option<String> {
    match trouble {
        Trouble::NoTree { name, .. } => Some(name.clone()),
        Trouble::Unknown { tree, .. } => Some(tree.to_string()),
        _ => None,
    }
}

/// What a repair does to the maps and the catalogue in one step.
#[derive(Default)]
struct Plan {
    /// Trees to create, with their sizes in bytes.
    make: Vec<(u32, u64)>,
    /// Trees to extend.
    grow: Vec<(u32, u64)>,
    /// Lost trees that snapshots name.
    lost: Vec<u32>,
    /// Trees to delete.
    give_up: Vec<u32>,
}

/// A repair in progress.
struct Bench<'r> {
    dir: &'r Path,
    named: &'r Named,
    settings: &'r RepairSettings,
    done: Vec<String>,
}

impl Bench<'_> {
    /// Makes the maps fit to be opened.
    fn mend_damage(&mut self, before: &Checked) -> Result<(), StoreError> {
        let no_end =
            |trouble: &Trouble| matches!(trouble, Trouble::Maps { damage: Damage::NoEnd | Damage::OthersEnd, .. });
        let lost = before.troubles.iter().any(no_end);
        let reading = before.reading.as_ref().filter(|_| lost);
        let agreed = reading.map(|reading| Agreed::on(reading.edition));
        self.mend_maps(&MapRepair { agreed, ..MapRepair::default() }, &agreement::owners(&before.contents))?;
        self.done.push("maps: both tables are written anew".into());
        if reading.is_some() {
            self.done.push("maps: the end is written anew; the catalogue that is there is taken for theirs".into());
        }
        Ok(())
    }

    fn mend(&mut self, checked: Checked) -> Result<(), StoreError> {
        let Some(reading) = checked.reading else { return Ok(()) };
        let is_other = checked.troubles.iter().any(is_of_another_edition);
        let mut plan = Plan::default();
        for trouble in checked.troubles {
            match name_of(&trouble).filter(|name| !self.settings.give_up.contains(name)) {
                Some(name) => self.done.push(format!("{name}: is left as it is; --give-up {name} gives it up")),
                None => self.mend_one(trouble, &mut plan)?,
            }
        }
        let Plan { make, grow, lost, give_up } = plan;
        let owners = agreement::owners(&reading.contents);
        if !(make.is_empty() && grow.is_empty() && give_up.is_empty()) {
            let repair = MapRepair { make: &make, grow: &grow, give_up: &give_up, agreed: None };
            self.mend_maps(&repair, &owners)?;
        }
        let mut before = checked.agreed;
        if is_other {
            let edition = reading.edition.generation;
            self.done.push(format!("catalogue: edition {edition} is taken; what was changed after it is lost"));
            before.touched.clear();
        }
        if is_other || !lost.is_empty() { self.renew(reading, before, &lost) } else { Ok(()) }
    }

    /// Repairs what can be repaired on its own, and adds the rest to the plan.
    fn mend_one(&mut self, trouble: Trouble, plan: &mut Plan) -> Result<(), StoreError> {
        let told = match trouble {
            Trouble::NoTree { kind: "snapshot", name, tree, .. } => {
                plan.lost.push(tree);
                format!("snapshot {name}: taken out of the catalogue, as nothing of it is left")
            }
            Trouble::NoTree { kind, name, tree, size } => {
                plan.make.push((tree, size));
                format!("{kind} {name}: its data is lost; all {size} bytes read as zeroes")
            }
            Trouble::Unknown { tree, .. } => {
                plan.give_up.push(tree);
                format!("tree {tree} of the maps: given up")
            }
            Trouble::Size { kind, name, tree, found, size } => {
                plan.grow.push((tree, size));
                format!("{kind} {name}: reads as zeroes from byte {found} to byte {size}")
            }
            Trouble::Blocks { path, found, needed } => {
                lengthen(&path, needed)?;
                format!("{}: made longer; what lay beyond byte {found} is lost", path.display())
            }
            Trouble::FlushFailed => {
                doubt::forget(self.dir)?;
                "the mark of the failed flush is taken away; the pool is what the disk has".into()
            }
            Trouble::MapFile(error) => return Err(error.into()),
            Trouble::Files { .. }
            | Trouble::Maps { .. }
            | Trouble::Catalogue(_)
            | Trouble::Rule(_)
            | Trouble::Gone(_) => return Ok(()),
            Trouble::Changed | Trouble::Edition { .. } | Trouble::OtherPool { .. } => return Ok(()),
        };
        self.done.push(told);
        Ok(())
    }

    fn mend_maps(&mut self, repair: &MapRepair<'_>, owners: &BTreeMap<u32, String>) -> Result<(), StoreError> {
        let Some(lost) = salvage_maps(self.dir, self.named, repair)? else {
            let what = "neither of the two tables of the maps is whole, so nothing says which block is whose";
            return Err(StoreError::BeyondRepair { path: self.dir.into(), what });
        };
        let of = |lost: &map::Lost| lost.tree().and_then(|tree| owners.get(&tree).cloned());
        self.done.extend(lost.into_iter().map(|lost| format!("maps: {lost}{}", behind(&of(&lost)))));
        Ok(())
    }

    /// Makes a new edition of a catalogue the one that the data belongs to. It leaves out what is
    /// `lost`: trees of snapshots, and snapshots of which nothing is left.
    fn renew(&mut self, reading: Reading, before: Agreed, lost: &[u32]) -> Result<(), StoreError> {
        // Above all previous generations, so that it cannot be mistaken for one of them.
        let generations = [before.announced, before.confirmed.generation, reading.edition.generation];
        let last = generations.into_iter().max().unwrap_or_default();
        let touched = before.touched;
        self.know(Agreed { announced: last + 1, touched: touched.clone(), ..Agreed::on(reading.edition) })?;
        let mut contents = reading.contents.clone();
        contents.snapshots.retain(|_, snapshot| {
            let count = snapshot.leaves.len();
            snapshot.leaves.retain(|leaf| !lost.contains(&leaf.tree));
            count == snapshot.leaves.len() || !snapshot.leaves.is_empty()
        });
        let edition = Edition { generation: last, ..reading.edition };
        let mut catalogue = Catalogue::open(&self.dir.join(CATALOGUE), Reading { edition, ..reading })?;
        catalogue.keep(contents)?;
        self.know(Agreed { touched, ..Agreed::on(catalogue.edition()) })
    }

    fn know(&mut self, agreed: Agreed) -> Result<(), StoreError> {
        self.mend_maps(&MapRepair { agreed: Some(agreed), ..MapRepair::default() }, &BTreeMap::new())
    }
}

/// Extends a file to at least `len` bytes, with zeroes that take no space.
fn lengthen(path: &Path, len: u64) -> Result<(), StoreError> {
    let file = OpenOptions::new().write(true).open(path);
    let done = file.and_then(|file| file.set_len(len).and_then(|()| file.sync_all()));
    done.map_err(StoreError::file(path, "make it longer"))
}

fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device())
}

/// Copies the first `len` bytes of a file or device, or all if it has fewer.
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
    folder(copy.join(MAPS))?;
    for name in COPIED.iter().filter(|name| dir.join(name).exists()) {
        let (from, to) = (dir.join(name), copy.join(name));
        let copied = fs::copy(from, &to).and_then(|_| File::open(&to)?.sync_all());
        copied.map_err(StoreError::file(&to, "copy to it"))?;
    }
    File::open(copy).and_then(|folder| folder.sync_all()).map_err(StoreError::file(copy, "sync the folder"))
}
