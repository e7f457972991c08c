//! The check of a pool that is not being served: its settings, its catalogue, its maps, and whether
//! they match. All metadata is read. The data is not, since it has no checksums. Nothing is
//! written.

use crate::agreement::{self, Compared, Held, leaves};
use crate::catalogue::{BUILT_IN_POLICIES, Catalogue, CatalogueId, Contents, Kind, Reading};
use crate::doubt;
use crate::error::StoreError;
use crate::mapped::{Length, MapError, Named, check_maps, lengths};
use crate::pool::{CATALOGUE, MAPS, lock, must_be_a_pool};
use crate::settings::named;
use crate::volume_files;
use map::RecoverError::{TooNew, TooOld};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A fault of a pool.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// What was written since the last flush may be lost.
    #[error("a flush failed: writes since the last one that did not may be lost")]
    FlushFailed,
    /// SQLite reported it.
    #[error("catalogue: {0}")]
    Catalogue(String),
    /// The catalogue breaks a rule.
    #[error("catalogue: {0}")]
    Rule(String),
    /// The maps are damaged.
    #[error("maps: {damage}{}", behind(.of))]
    Maps {
        /// The damage.
        damage: map::Damage,
        /// The owner of the damaged tree, if known.
        of: Option<String>,
    },
    /// The clients' files of a volume are damaged.
    #[error("{name}: {fault}")]
    Files {
        /// `the files of svm01:/vol/vol1`, or a snapshot.
        name: String,
        /// The fault.
        fault: String,
    },
    /// A file of the maps is missing.
    #[error("maps: {0}")]
    MapFile(MapError),
    /// The file of the blocks is too short.
    #[error("{}: has {found} bytes, and blocks up to byte {needed} are in use", .path.display())]
    Blocks {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// The length that it needs.
        needed: u64,
    },
    /// The folder with the data is missing.
    #[error("{}: is not there, and the catalogue says that the pool's data is in it", .0.display())]
    Gone(PathBuf),
    /// The contents of the catalogue do not match their checksum.
    #[error("catalogue: what is in it is not what was written: its checksum is wrong")]
    Changed,
    /// The catalogue belongs to another pool.
    #[error("catalogue: is of pool {found:016x}, and the maps are of pool {held:016x}")]
    OtherPool {
        /// The catalogue's pool.
        found: u64,
        /// The data's pool.
        held: u64,
    },
    /// The catalogue is not the edition that belongs to the data.
    #[error("catalogue: is edition {found}, and the data belongs to edition {confirmed}: {}", why(*standing))]
    Edition {
        /// How it relates to the confirmed edition.
        standing: map::Standing,
        /// Its generation.
        found: u64,
        /// The confirmed generation.
        confirmed: u64,
    },
    /// There is data that the catalogue does not name.
    #[error(
        "tree {tree} of the maps ({size} bytes): the catalogue does not name it; it is kept until it is given up: \
         --give-up {tree}"
    )]
    Unknown {
        /// Its tree.
        tree: u32,
        /// Its size in bytes.
        size: u64,
    },
    /// The catalogue names something that the maps do not have.
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
    /// The maps and the catalogue differ in a size.
    #[error("{kind} {name} (number {tree}): has {found} bytes in the maps, and {size} in the catalogue")]
    Size {
        /// `LUN`, `file`, `snapshot`.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Its tree.
        tree: u32,
        /// Size in the maps.
        found: u64,
        /// Size in the catalogue.
        size: u64,
    },
}

fn why(standing: map::Standing) -> &'static str {
    match standing {
        map::Standing::Older => "it is older, or has lost its last changes",
        map::Standing::Newer => "the data is older",
        _ => "it was changed, or is from a copy of the pool",
    }
}

/// The owner of a tree, in brackets, for the end of a message.
pub(crate) fn behind(of: &Option<String>) -> String {
    of.as_ref().map_or(String::new(), |of| format!(" ({of})"))
}

/// The result of a check.
#[derive(Debug, Default)]
pub struct Checked {
    /// The faults; empty if there are none.
    pub troubles: Vec<Trouble>,
    /// Leftovers of a server that died. They are removed when the pool is served again.
    pub leftovers: Vec<String>,
    /// What cannot be determined, although nothing is wrong.
    pub limits: Vec<String>,
    /// The contents of the catalogue.
    pub contents: Contents,
    /// The catalogue, if it can be read.
    pub(crate) reading: Option<Reading>,
    /// Bytes of data in use.
    pub used: u64,
    /// What the data records about the catalogue.
    pub(crate) agreed: map::Agreed,
    /// Bytes of the maps' log; 0 if unknown.
    pub(crate) log: u64,
}

/// Checks a pool that is not being served.
///
/// # Errors
/// There is no pool, it is in use or has a later format, or its settings are wrong.
pub fn check(dir: &Path) -> Result<Checked, StoreError> {
    must_be_a_pool(dir)?;
    let named = named(dir)?;
    let _lock = lock(dir)?;
    inspect(dir, &named)
}

/// Does the same for a caller that holds the lock.
pub(crate) fn inspect(dir: &Path, named: &Named) -> Result<Checked, StoreError> {
    let mut checked = Checked::default();
    if doubt::is_marked(dir) {
        // Check what is on the disk, not what is in the page cache.
        doubt::settle(dir, named)?;
        checked.troubles.push(Trouble::FlushFailed);
    }
    match Catalogue::inspect(&dir.join(CATALOGUE)) {
        Ok((reading, wrong)) => {
            checked.troubles.extend(wrong.into_iter().map(Trouble::Catalogue));
            checked.troubles.extend(broken_rules(&reading.contents).into_iter().map(Trouble::Rule));
            checked.contents = reading.contents.clone();
            checked.reading = Some(reading);
        }
        Err(StoreError::Damaged { cause, .. }) => checked.troubles.push(Trouble::Catalogue(cause.to_string())),
        Err(lost @ StoreError::NoCatalogue { .. }) => checked.troubles.push(Trouble::Catalogue(lost.to_string())),
        Err(other) => return Err(other),
    }
    let folder = dir.join(MAPS);
    match folder.is_dir() {
        true => {
            checked.maps(dir, named)?;
            // Only if maps and catalogue are correct.
            if checked.is_clean() {
                checked.troubles = volume_files::check(dir, named, &checked.contents)?;
            }
        }
        false => checked.troubles.push(Trouble::Gone(folder)),
    }
    Ok(checked)
}

impl Checked {
    /// Whether there are no faults.
    pub fn is_clean(&self) -> bool {
        self.troubles.is_empty()
    }

    /// The number of LUNs and files.
    pub fn leaves(&self) -> usize {
        leaves(&self.contents).count()
    }

    fn maps(&mut self, dir: &Path, named: &Named) -> Result<(), StoreError> {
        let report = match check_maps(dir, named) {
            Ok(report) => report,
            Err(MapError::Recover { cause: cause @ (TooNew { .. } | TooOld { .. }), path }) => {
                return Err(MapError::Recover { path, cause }.into());
            }
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
        if report.damages.is_empty() {
            let held = Held::by_report(&report);
            self.compare(&held);
            self.limits.extend(report.is_open.then(|| limit_of(&report)));
        }
        let owners = agreement::owners(&self.contents);
        let trouble = |damage: map::Damage| {
            let of = damage.tree().and_then(|tree| owners.get(&tree).cloned());
            Trouble::Maps { damage, of }
        };
        // A server that died during a checkpoint left its table like this, and the next checkpoint
        // rewrites it. If the file is missing, no checkpoint can start.
        let is_there = |turn: u8| dir.join(MAPS).join(format!("table.{turn}")).exists();
        let (left, gone) = match report.spare {
            Some(damage @ map::Damage::Table { turn }) if is_there(turn) => (Some(damage), None),
            spare => (None, spare),
        };
        self.leftovers.extend(left.map(|damage| format!("maps: {damage}")));
        self.troubles.extend(report.damages.into_iter().chain(gone).map(trouble));
        Ok(())
    }

    fn compare(&mut self, held: &Held) {
        self.agreed = held.agreed().clone();
        if let Some(reading) = &self.reading {
            let Compared { mut troubles, leftovers } = agreement::compare(reading, held);
            self.troubles.append(&mut troubles);
            self.leftovers.extend(leftovers);
        }
    }
}

/// What cannot be known about the end of the log.
fn limit_of(report: &map::Report) -> String {
    format!(
        "the log goes to record {}, and is known to go to {} at least; whether a server that died had made later ones, in its \
         last tenth of a second, is unknown",
        report.sequence, report.anchored
    )
}

/// Objects with an invalid parent, and duplicate names.
fn broken_rules(contents: &Contents) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    for row in contents.objects.values() {
        let above = row.parent.and_then(|parent| contents.objects.get(&parent)).map(|above| above.kind);
        let fits = match (row.kind, above) {
            (Kind::Svm, None) => row.parent.is_none(),
            (Kind::Volume, Some(Kind::Svm)) | (Kind::Qtree, Some(Kind::Volume)) => true,
            (Kind::Lun | Kind::File | Kind::ClientFile, Some(Kind::Volume | Kind::Qtree)) => true,
            _ => false,
        };
        if !fits {
            wrong.push(format!("object {} ({}) does not hang where it could", row.id, row.name));
        }
        if !names.insert((row.parent, row.name.as_str())) {
            wrong.push(format!("object {}: its name {} occurs twice in the same place", row.id, row.name));
        }
        let is_there = |policy: CatalogueId| policy <= BUILT_IN_POLICIES || contents.policies.contains_key(&policy);
        if !row.policy.is_none_or(is_there) {
            wrong.push(format!("object {} ({}) is in a policy group that is not there", row.id, row.name));
        }
        if !row.template.is_none_or(is_there) {
            wrong.push(format!("object {} ({}) gives new volumes a policy group that is not there", row.id, row.name));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::ObjectRow;

    /// The built-in groups have no rows.
    #[test]
    fn whatever_is_in_a_policy_group_is_in_one_that_is_there() {
        let broken = |policy, template| {
            let svm = ObjectRow { policy, template, ..ObjectRow::new(1, Kind::Svm, None, "svm01") };
            broken_rules(&Contents { objects: [(1, svm)].into(), ..Contents::default() })
        };
        for group in 1..=BUILT_IN_POLICIES {
            assert_eq!(broken(Some(group), Some(group)), Vec::<String>::new());
        }
        let gone = BUILT_IN_POLICIES + 1;
        assert_eq!(broken(Some(gone), None), ["object 1 (svm01) is in a policy group that is not there"]);
        assert_eq!(broken(None, Some(gone)), ["object 1 (svm01) gives new volumes a policy group that is not there"]);
    }
}
