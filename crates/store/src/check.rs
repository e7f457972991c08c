//! The check of a pool that nobody serves: its settings, its catalogue, its maps or data files, and whether they agree.
//! Everything that says where data is gets read; the data itself has no checksum and is not. Nothing is written.

use crate::catalogue::{Catalogue, Contents, Kind, ObjectRow};
use crate::doubt;
use crate::error::StoreError;
use crate::mapped::{Length, MapError, Named, check_maps, lengths};
use crate::pool::{CATALOGUE, DATA, MAPS, lock, must_be_a_pool, named};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Something that is wrong with a pool.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// What was not flushed before may be lost.
    #[error("a flush failed: writes since the last one that did not may be lost")]
    FlushFailed,
    /// SQLite found it.
    #[error("catalogue: {0}")]
    Catalogue(String),
    /// It breaks a rule.
    #[error("catalogue: {0}")]
    Rule(String),
    /// In the maps.
    #[error("maps: {damage}{}", behind(.of))]
    Maps {
        /// What.
        damage: map::Damage,
        /// Whose tree it is in, where that is known.
        of: Option<String>,
    },
    /// A file of the maps is not there.
    #[error("maps: {0}")]
    MapFile(MapError),
    /// The blocks' file ends too early.
    #[error("{}: has {found} bytes, and blocks up to byte {needed} are in use", .path.display())]
    Blocks {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// What it must have.
        needed: u64,
    },
    /// The catalogue has something that the maps do not know.
    #[error("{kind} {name} (number {tree}): the maps have nothing of it")]
    NoTree {
        /// `LUN`, `file`, `snapshot`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Its tree.
        tree: u32,
        /// Its size, by the catalogue.
        size: u64,
    },
    /// Maps and catalogue disagree on a size.
    #[error("{kind} {name} (number {tree}): has {found} bytes in the maps, and {size} in the catalogue")]
    Size {
        /// `LUN`, `file`, `snapshot`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Its tree.
        tree: u32,
        /// In the maps.
        found: u64,
        /// In the catalogue.
        size: u64,
    },
    /// A data file is not there.
    #[error("{kind} {name}: its file {} is not there", .path.display())]
    NoFile {
        /// `LUN`, `file`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Where its data should be.
        path: PathBuf,
        /// Its size, by the catalogue.
        size: u64,
    },
    /// A data file ends too early.
    #[error("{kind} {name}: its file {} has {found} bytes, and the catalogue says {size}", .path.display())]
    ShortFile {
        /// `LUN`, `file`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Its data.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// In the catalogue.
        size: u64,
    },
}

/// Whose tree something is in, in brackets behind it.
pub(crate) fn behind(of: &Option<String>) -> String {
    of.as_ref().map_or(String::new(), |of| format!(" ({of})"))
}

/// What a check found.
#[derive(Debug, Default)]
pub struct Checked {
    /// What is wrong; empty if nothing is.
    pub troubles: Vec<Trouble>,
    /// What is left over from a server that died, and goes by itself when the pool is served again.
    pub leftovers: Vec<String>,
    /// What the catalogue has.
    pub contents: Contents,
    /// Whether it has maps.
    pub has_maps: bool,
    /// Bytes of data that are taken.
    pub used: u64,
    /// Bytes of the maps' log; 0 if it is not known.
    pub(crate) log: u64,
}

/// Checks a pool that nobody serves.
///
/// # Errors
/// There is none, it is in use or of a later format, or its settings are wrong.
pub fn check(dir: &Path) -> Result<Checked, StoreError> {
    must_be_a_pool(dir)?;
    let named = named(dir)?;
    let _lock = lock(dir)?;
    inspect(dir, &named)
}

/// The same for who has the lock.
pub(crate) fn inspect(dir: &Path, named: &Named) -> Result<Checked, StoreError> {
    let mut checked = Checked { has_maps: dir.join(MAPS).exists(), ..Checked::default() };
    if doubt::is_marked(dir) {
        // What the disk has is to be checked, and not what the system's memory has.
        doubt::settle(dir, named)?;
        checked.troubles.push(Trouble::FlushFailed);
    }
    match Catalogue::inspect(&dir.join(CATALOGUE)) {
        Ok((contents, wrong)) => {
            checked.contents = contents;
            checked.troubles.extend(wrong.into_iter().map(Trouble::Catalogue));
            checked.troubles.extend(broken_rules(&checked.contents).into_iter().map(Trouble::Rule));
        }
        Err(StoreError::Catalogue(error)) => checked.troubles.push(Trouble::Catalogue(error.to_string())),
        Err(other) => return Err(other),
    }
    // What a catalogue that cannot be read does not name is no leftover.
    let is_readable = checked.troubles.iter().all(|trouble| matches!(trouble, Trouble::FlushFailed));
    match checked.has_maps {
        true => checked.maps(dir, named, is_readable)?,
        false => checked.files(dir, is_readable)?,
    }
    Ok(checked)
}

/// The LUNs and files.
fn leaves(contents: &Contents) -> impl Iterator<Item = (&ObjectRow, &'static str)> {
    contents.objects.values().filter_map(|row| match row.kind {
        Kind::Lun => Some((row, "LUN")),
        Kind::File => Some((row, "file")),
        Kind::Svm | Kind::Volume | Kind::Qtree => None,
    })
}

impl Checked {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.troubles.is_empty()
    }

    /// LUNs and files.
    pub fn leaves(&self) -> usize {
        leaves(&self.contents).count()
    }

    fn maps(&mut self, dir: &Path, named: &Named, is_readable: bool) -> Result<(), StoreError> {
        let report = match check_maps(dir, named) {
            Ok(report) => report,
            Err(error @ MapError::Recover { cause: map::RecoverError::TooNew { .. }, .. }) => return Err(error.into()),
            Err(error) => {
                self.troubles.push(Trouble::MapFile(error));
                return Ok(());
            }
        };
        (self.used, self.log) = (report.used, report.log);
        for Length { path, found, needed } in lengths(dir, named, &report)? {
            if found < needed {
                self.troubles.push(Trouble::Blocks { path, found, needed });
            }
        }
        let is_whole = report.damages.is_empty();
        let names = self.names();
        let trouble = |damage: map::Damage| {
            let of = damage.tree().and_then(|tree| names.get(&tree).cloned());
            Trouble::Maps { damage, of }
        };
        // A checkpoint that was writing a table when its server died left it so, and the next one writes it anew. Without
        // the file none is begun.
        let is_there = |turn: u8| dir.join(MAPS).join(format!("table.{turn}")).exists();
        let (left, gone) = match report.spare {
            Some(damage @ map::Damage::Table { turn }) if is_there(turn) => (Some(damage), None),
            spare => (None, spare),
        };
        self.leftovers.extend(left.map(|damage| format!("maps: {damage}")));
        self.troubles.extend(report.damages.into_iter().chain(gone).map(trouble));
        if is_whole && is_readable {
            self.compare(&report.sizes.into_iter().collect());
        }
        Ok(())
    }

    /// Whose each tree is: `LUN svm01:/vol/vol1/lun1`.
    pub(crate) fn names(&self) -> BTreeMap<u32, String> {
        self.named().into_iter().map(|(kind, name, tree, _)| (tree, format!("{kind} {name}"))).collect()
    }

    /// What the catalogue has trees of: kind, name, tree and size.
    fn named(&self) -> Vec<(&'static str, String, u32, u64)> {
        let contents = &self.contents;
        let of_snapshots = contents.snapshots.values().flat_map(|snapshot| {
            let volume = contents.objects.get(&snapshot.volume).map_or(String::new(), |row| contents.path(row));
            let name = format!("{volume}/.snapshot/{}", snapshot.name);
            snapshot.leaves.iter().map(move |leaf| ("snapshot", format!("{name}/{}", leaf.name), leaf.tree, leaf.size))
        });
        leaves(contents).map(|(row, kind)| (kind, contents.path(row), row.id, row.size)).chain(of_snapshots).collect()
    }

    /// What the catalogue names must be in the maps, at least as large.
    fn compare(&mut self, trees: &BTreeMap<u32, u64>) {
        let named = self.named();
        let known: BTreeSet<u32> = named.iter().map(|(_, _, tree, _)| *tree).collect();
        for (kind, name, tree, size) in named {
            match trees.get(&tree) {
                None => self.troubles.push(Trouble::NoTree { kind, name, tree, size }),
                Some(&found) if found < size => {
                    self.troubles.push(Trouble::Size { kind, name, tree, found, size });
                }
                Some(_) => {}
            }
        }
        let unknown = trees.keys().filter(|tree| !known.contains(tree));
        self.leftovers.extend(unknown.map(|tree| format!("tree {tree} of the maps belongs to nothing")));
    }

    fn files(&mut self, dir: &Path, is_readable: bool) -> Result<(), StoreError> {
        use std::os::unix::fs::MetadataExt;
        let data = dir.join(DATA);
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&data).map_err(StoreError::file(&data, "read the folder"))? {
            let entry = entry.map_err(StoreError::file(&data, "read the folder"))?;
            let meta = entry.metadata().map_err(StoreError::file(entry.path(), "look at it"))?;
            found.insert(entry.path(), (meta.len(), meta.blocks() * 512));
        }
        self.used = found.values().map(|(_, used)| used).sum();
        for (row, kind) in leaves(&self.contents) {
            let (path, name, size) = (data.join(format!("{:08}", row.id)), self.contents.path(row), row.size);
            match found.remove(&path) {
                None => self.troubles.push(Trouble::NoFile { kind, name, path, size }),
                Some((found, _)) if found < size => {
                    self.troubles.push(Trouble::ShortFile { kind, name, path, found, size });
                }
                Some(_) => {}
            }
        }
        if is_readable {
            let unknown = found.into_keys();
            self.leftovers.extend(unknown.map(|path| format!("{}: belongs to nothing", path.display())));
        }
        Ok(())
    }
}

/// What hangs where it cannot hang, and names that occur twice.
fn broken_rules(contents: &Contents) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    for row in contents.objects.values() {
        let above = row.parent.and_then(|parent| contents.objects.get(&parent)).map(|above| above.kind);
        let fits = match (row.kind, above) {
            (Kind::Svm, None) => row.parent.is_none(),
            (Kind::Volume, Some(Kind::Svm)) | (Kind::Qtree, Some(Kind::Volume)) => true,
            (Kind::Lun | Kind::File, Some(Kind::Volume | Kind::Qtree)) => true,
            _ => false,
        };
        if !fits {
            wrong.push(format!("object {} ({}) does not hang where it could", row.id, row.name));
        }
        if !names.insert((row.parent, row.name.as_str())) {
            wrong.push(format!("object {}: its name {} occurs twice in the same place", row.id, row.name));
        }
        if row.policy.is_some_and(|policy| !contents.policies.contains_key(&policy)) {
            wrong.push(format!("object {} ({}) is in a policy group that is not there", row.id, row.name));
        }
    }
    let mut trees = BTreeSet::new();
    for snapshot in contents.snapshots.values() {
        let volume = contents.objects.get(&snapshot.volume).map(|row| row.kind);
        if volume != Some(Kind::Volume) {
            wrong.push(format!("snapshot {} is of no volume", snapshot.name));
        }
        for leaf in &snapshot.leaves {
            if !trees.insert(leaf.tree) || contents.objects.contains_key(&leaf.tree) {
                wrong.push(format!("snapshot {}: tree {} is another's too", snapshot.name, leaf.tree));
            }
        }
    }
    wrong
}
