//! Whether the catalogue and what holds the data belong together: the maps, or the data files. Both name the pool and the
//! edition of the catalogue (see [`map::Agreed`]), and each must have what the other names.

use crate::catalogue::{CatalogueId, Contents, Kind, ObjectRow, Reading};
use crate::check::Trouble;
use crate::end_file::{END, EndFile};
use crate::error::StoreError;
use crate::pool::{DATA, MAPS};
use crate::settings::Layout;
use map::{Agreed, Core, Report, Standing};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What holds the data, as far as the catalogue has to agree with it.
pub(crate) struct Held {
    layout: Layout,
    pool: u64,
    agreed: Agreed,
    /// Trees, or data files, by number, and their sizes in bytes.
    sizes: BTreeMap<CatalogueId, u64>,
}

impl Held {
    /// By maps that are open.
    pub(crate) fn by_maps(core: &Core) -> Held {
        let size = |(tree, _): (u32, bool)| Some((tree, core.tree(tree)?.0));
        let sizes = core.trees().into_iter().filter_map(size).collect();
        Held { layout: Layout::Maps, pool: core.pool(), agreed: core.agreed().clone(), sizes }
    }

    /// By maps that were read.
    pub(crate) fn by_report(report: &Report) -> Held {
        let (agreed, sizes) = (report.agreed.clone(), report.sizes.iter().copied().collect());
        Held { layout: Layout::Maps, pool: report.pool, agreed, sizes }
    }

    /// By files; `None` if nothing says which catalogue they belong to.
    pub(crate) fn by_files(dir: &Path) -> Result<Option<Held>, StoreError> {
        let data = dir.join(DATA);
        let Some(end) = EndFile::read(&data)? else { return Ok(None) };
        let mut sizes = BTreeMap::new();
        for (path, size) in files(&data)? {
            sizes.extend(number(&path).map(|number| (number, size)));
        }
        Ok(Some(Held { layout: Layout::Files, pool: end.pool, agreed: end.agreed, sizes }))
    }

    /// What is known of the catalogue.
    pub(crate) fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Those that a change which was cut off has left, and the catalogue does not name.
    pub(crate) fn leftovers(&self, contents: &Contents) -> Vec<CatalogueId> {
        let named = named(contents);
        let is_left = |number: &CatalogueId| self.agreed.touches(*number) && !named.contains_key(number);
        self.sizes.keys().copied().filter(is_left).collect()
    }
}

/// The files of the data and their lengths in bytes, in order; without the end.
pub(crate) fn files(data: &Path) -> Result<BTreeMap<PathBuf, u64>, StoreError> {
    let failed = |error| StoreError::file(data, "read the folder")(error);
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(data).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let about = entry.metadata().map_err(failed)?;
        if about.is_file() && entry.file_name() != END {
            found.insert(entry.path(), about.len());
        }
    }
    Ok(found)
}

/// The number that a data file is named by; `None` if it is no data file of ours.
pub(crate) fn number(path: &Path) -> Option<CatalogueId> {
    let name = path.file_name()?.to_str().filter(|name| name.len() >= 8)?;
    name.parse().ok().filter(|number| format!("{number:08}") == name)
}

/// What comes of comparing the two.
#[derive(Default)]
pub(crate) struct Compared {
    pub troubles: Vec<Trouble>,
    /// What a server left that died in the middle of a change.
    pub leftovers: Vec<String>,
}

/// Compares a catalogue with what holds the data.
pub(crate) fn compare(dir: &Path, reading: &Reading, held: &Held) -> Compared {
    let mut compared = Compared::default();
    if !reading.is_whole {
        compared.troubles.push(Trouble::Changed);
    }
    if reading.pool != held.pool {
        compared.troubles.push(Trouble::OtherPool { of: held.layout.word(), found: reading.pool, held: held.pool });
        return compared;
    }
    let standing = held.agreed.standing(reading.edition);
    if reading.is_whole && !matches!(standing, Standing::Confirmed | Standing::Announced) {
        let (found, confirmed) = (reading.edition.generation, held.agreed.confirmed.generation);
        compared.troubles.push(Trouble::Edition { standing, found, confirmed });
    }
    // What the last change touched is known to be its leftover only beside the catalogue of that change.
    let is_right = compared.troubles.is_empty();
    let touched = |number: CatalogueId| is_right && held.agreed.touches(number);
    compared.look_for_what_is_named(dir, &reading.contents, held, &touched);
    compared.look_for_what_is_not(dir, &reading.contents, held, &touched);
    compared
}

/// # Errors
/// They do not belong together.
pub(crate) fn must_agree(dir: &Path, reading: &Reading, held: &Held) -> Result<(), StoreError> {
    let mut troubles = compare(dir, reading, held).troubles.into_iter();
    match troubles.next() {
        None => Ok(()),
        Some(first) => Err(StoreError::disagree(dir, first, troubles.count())),
    }
}

impl Compared {
    /// What the catalogue names must be there, at least as large.
    fn look_for_what_is_named(
        &mut self,
        dir: &Path,
        contents: &Contents,
        held: &Held,
        touched: &dyn Fn(CatalogueId) -> bool,
    ) {
        for (number, item) in named(contents) {
            let (kind, size) = (item.kind(), item.size());
            let name = || item.name(contents);
            let path = || data_file(dir, number);
            let trouble = match (held.sizes.get(&number), held.layout) {
                (Some(found), _) if *found >= size => continue,
                (Some(found), _) if touched(number) => {
                    let name = name();
                    self.leftovers.push(format!("{kind} {name}: a change that was cut off, to {found} bytes"));
                    continue;
                }
                (None, Layout::Maps) => Trouble::NoTree { kind, name: name(), tree: number, size },
                (None, Layout::Files) => Trouble::NoFile { kind, name: name(), path: path(), size },
                (Some(&found), Layout::Maps) => Trouble::Size { kind, name: name(), tree: number, found, size },
                (Some(&found), Layout::Files) => Trouble::ShortFile { kind, name: name(), path: path(), found, size },
            };
            self.troubles.push(trouble);
        }
    }

    /// What is there must be named, or be what a change left that was cut off.
    fn look_for_what_is_not(
        &mut self,
        dir: &Path,
        contents: &Contents,
        held: &Held,
        touched: &dyn Fn(CatalogueId) -> bool,
    ) {
        let named = named(contents);
        for (&number, &size) in held.sizes.iter().filter(|(number, _)| !named.contains_key(number)) {
            let what = match held.layout {
                Layout::Maps => format!("tree {number} of the maps"),
                Layout::Files => data_file(dir, number).display().to_string(),
            };
            match touched(number) {
                true => self.leftovers.push(format!("{what}: left by a change that was cut off")),
                false => self.troubles.push(Trouble::Unknown { what, number, size }),
            }
        }
    }
}

/// Where a LUN's bytes are in a pool of files.
pub(crate) fn data_file(dir: &Path, number: CatalogueId) -> PathBuf {
    dir.join(DATA).join(format!("{number:08}"))
}

/// The folder of the data; the catalogue says which it is.
pub(crate) fn folder(dir: &Path, layout: Layout) -> PathBuf {
    dir.join(if layout == Layout::Maps { MAPS } else { DATA })
}

/// Something that the catalogue names a tree or a data file of.
enum Item<'c> {
    Object(&'c ObjectRow),
    InSnapshot { volume: CatalogueId, snapshot: &'c str, leaf: &'c str, size: u64 },
}

/// All of them by number.
fn named(contents: &Contents) -> BTreeMap<CatalogueId, Item<'_>> {
    let objects = leaves(contents).map(|(row, _)| (row.id, Item::Object(row)));
    let in_snapshots = contents.snapshots.values().flat_map(|snapshot| {
        snapshot.leaves.iter().map(|leaf| {
            let (name, size) = (leaf.name.as_str(), leaf.size);
            (leaf.tree, Item::InSnapshot { volume: snapshot.volume, snapshot: &snapshot.name, leaf: name, size })
        })
    });
    objects.chain(in_snapshots).collect()
}

/// Whose each of them is: `LUN svm01:/vol/vol1/lun1`.
pub(crate) fn owners(contents: &Contents) -> BTreeMap<CatalogueId, String> {
    let owner = |(number, item): (CatalogueId, Item<'_>)| (number, format!("{} {}", item.kind(), item.name(contents)));
    named(contents).into_iter().map(owner).collect()
}

/// The LUNs and files.
pub(crate) fn leaves(contents: &Contents) -> impl Iterator<Item = (&ObjectRow, &'static str)> {
    contents.objects.values().filter_map(|row| match row.kind {
        Kind::Lun => Some((row, "LUN")),
        Kind::File => Some((row, "file")),
        Kind::Svm | Kind::Volume | Kind::Qtree => None,
    })
}

impl Item<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Item::Object(row) if row.kind == Kind::File => "file",
            Item::Object(_) => "LUN",
            Item::InSnapshot { .. } => "snapshot",
        }
    }

    fn size(&self) -> u64 {
        match self {
            Item::Object(row) => row.size,
            Item::InSnapshot { size, .. } => *size,
        }
    }

    fn name(&self, contents: &Contents) -> String {
        match self {
            Item::Object(row) => contents.path(row),
            Item::InSnapshot { volume, snapshot, leaf, .. } => {
                let volume = contents.objects.get(volume).map_or(String::new(), |row| contents.path(row));
                format!("{volume}/.snapshot/{snapshot}/{leaf}")
            }
        }
    }
}
