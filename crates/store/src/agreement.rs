//! Checks that the catalogue and the maps, which hold the data, match. Both record the pool and the
//! edition of the catalogue (see [`map::Agreed`]), and each must have what the other names.

use crate::catalogue::{CatalogueId, Contents, Kind, ObjectRow, Reading};
use crate::check::Trouble;
use crate::error::StoreError;
use map::{Agreed, Core, Report, Standing};
use std::collections::BTreeMap;
use std::path::Path;
use tree::limits::TREE_BYTES;

/// What the catalogue must match in the maps.
pub(crate) struct Held {
    pool: u64,
    agreed: Agreed,
    /// Sizes of the trees in bytes.
    sizes: BTreeMap<CatalogueId, u64>,
}

impl Held {
    /// From open maps.
    pub(crate) fn by_maps(core: &Core) -> Held {
        let size = |(tree, _): (u32, bool)| Some((tree, core.tree(tree)?.0));
        let sizes = core.trees().into_iter().filter_map(size).collect();
        Held { pool: core.pool(), agreed: core.agreed().clone(), sizes }
    }

    /// From the report of a check.
    pub(crate) fn by_report(report: &Report) -> Held {
        let (agreed, sizes) = (report.agreed.clone(), report.sizes.iter().copied().collect());
        Held { pool: report.pool, agreed, sizes }
    }

    /// What the maps know of the catalogue.
    pub(crate) fn agreed(&self) -> &Agreed {
        &self.agreed
    }
}

/// The result of the comparison.
#[derive(Default)]
pub(crate) struct Compared {
    pub troubles: Vec<Trouble>,
    /// What a server left that died during a change.
    pub leftovers: Vec<String>,
}

/// Compares a catalogue with maps.
pub(crate) fn compare(reading: &Reading, held: &Held) -> Compared {
    let mut compared = Compared::default();
    if !reading.is_whole {
        compared.troubles.push(Trouble::Changed);
    }
    if reading.pool != held.pool {
        compared.troubles.push(Trouble::OtherPool { found: reading.pool, held: held.pool });
        return compared;
    }
    let standing = held.agreed.standing(reading.edition);
    if reading.is_whole && !matches!(standing, Standing::Confirmed | Standing::Announced) {
        let (found, confirmed) = (reading.edition.generation, held.agreed.confirmed.generation);
        compared.troubles.push(Trouble::Edition { standing, found, confirmed });
    }
    // What the last change touched is known to be left over from it only if the catalogue is that
    // of the change.
    let is_right = compared.troubles.is_empty();
    let touched = |number: CatalogueId| is_right && held.agreed.touches(number);
    compared.look_for_what_is_named(&reading.contents, held, &touched);
    compared.look_for_what_is_not(&reading.contents, held, &touched);
    compared
}

/// # Errors
/// They do not match.
pub(crate) fn must_agree(dir: &Path, reading: &Reading, held: &Held) -> Result<(), StoreError> {
    let mut troubles = compare(reading, held).troubles.into_iter();
    match troubles.next() {
        None => Ok(()),
        Some(first) => Err(StoreError::disagree(dir, first, troubles.count())),
    }
}

impl Compared {
    /// What the catalogue names must exist, and be at least as large.
    fn look_for_what_is_named(&mut self, contents: &Contents, held: &Held, touched: &dyn Fn(CatalogueId) -> bool) {
        for (number, item) in named(contents) {
            let (kind, size) = (item.kind(), item.size());
            let name = || item.name(contents);
            let trouble = match held.sizes.get(&number) {
                Some(found) if *found >= size => continue,
                Some(found) if touched(number) => {
                    let name = name();
                    self.leftovers.push(format!("{kind} {name}: a change that was cut off, to {found} bytes"));
                    continue;
                }
                None => Trouble::NoTree { kind, name: name(), tree: number, size },
                Some(&found) => Trouble::Size { kind, name: name(), tree: number, found, size },
            };
            self.troubles.push(trouble);
        }
    }

    /// What exists must be named, or be left over from an interrupted change.
    fn look_for_what_is_not(&mut self, contents: &Contents, held: &Held, touched: &dyn Fn(CatalogueId) -> bool) {
        let named = named(contents);
        for (&number, &size) in held.sizes.iter().filter(|(number, _)| !named.contains_key(number)) {
            match touched(number) {
                true => self.leftovers.push(format!("tree {number} of the maps: left by a change that was cut off")),
                false => self.troubles.push(Trouble::Unknown { tree: number, size }),
            }
        }
    }
}

/// Something whose tree the catalogue names.
enum Item<'c> {
    Object(&'c ObjectRow),
    InSnapshot { volume: CatalogueId, snapshot: &'c str, leaf: &'c str, size: u64 },
}

/// All of them by number.
fn named(contents: &Contents) -> BTreeMap<CatalogueId, Item<'_>> {
    let trees = contents.objects.values().filter(|row| !matches!(row.kind, Kind::Svm | Kind::Qtree | Kind::ClientFile));
    let objects = trees.map(|row| (row.id, Item::Object(row)));
    let in_snapshots = contents.snapshots.values().flat_map(|snapshot| {
        snapshot.leaves.iter().map(|leaf| {
            let (name, size) = (leaf.name.as_str(), leaf.size);
            (leaf.tree, Item::InSnapshot { volume: snapshot.volume, snapshot: &snapshot.name, leaf: name, size })
        })
    });
    objects.chain(in_snapshots).collect()
}

/// The owner of each tree: `LUN svm01:/vol/vol1/lun1`.
pub(crate) fn owners(contents: &Contents) -> BTreeMap<CatalogueId, String> {
    let owner = |(number, item): (CatalogueId, Item<'_>)| (number, format!("{} {}", item.kind(), item.name(contents)));
    named(contents).into_iter().map(owner).collect()
}

/// The LUNs and files.
pub(crate) fn leaves(contents: &Contents) -> impl Iterator<Item = (&ObjectRow, &'static str)> {
    contents.objects.values().filter_map(|row| match row.kind {
        Kind::Lun => Some((row, "LUN")),
        Kind::File => Some((row, "file")),
        Kind::Svm | Kind::Volume | Kind::Qtree | Kind::ClientFile => None,
    })
}

impl Item<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Item::Object(row) if row.kind == Kind::File => "file",
            Item::Object(row) if row.kind == Kind::Volume => "the files of",
            Item::Object(_) => "LUN",
            Item::InSnapshot { .. } => "snapshot",
        }
    }

    fn size(&self) -> u64 {
        match self {
            Item::Object(row) if row.kind == Kind::Volume => TREE_BYTES,
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
