//! The clients' files on volumes, read from a pool that is not being served: for a start and for
//! the check.

use crate::agreement;
use crate::catalogue::{CatalogueId, Contents, Kind};
use crate::check::Trouble;
use crate::mapped::{DataFiles, MapError, MappedPool, Named, open_trees};
use std::collections::BTreeMap;
use std::path::Path;
use tree::{FileTree, TreeError};

/// The files of each volume, or why they cannot be read.
pub type VolumeFiles = BTreeMap<CatalogueId, Result<FileTree, TreeError>>;

fn volumes(contents: &Contents) -> impl Iterator<Item = CatalogueId> {
    contents.objects.values().filter(|row| row.kind == Kind::Volume).map(|row| row.id)
}

/// Reads the files of all volumes. A volume whose files are inconsistent is not served; its error
/// is returned. What a dead server left in the system's memory becomes durable, if it left
/// any records: the next record must not be durable before those in front of it.
pub(crate) fn load(
    dir: &Path,
    named: &Named,
    contents: &Contents,
    maps: &mut MappedPool,
) -> Result<VolumeFiles, MapError> {
    let data = DataFiles::open(dir, named)?;
    let read = |volume| (volume, FileTree::recover(&mut maps.reader(&data, volume)));
    let found: VolumeFiles = volumes(contents).map(read).collect();
    if found.values().flatten().any(|files| files.durable() > 0) {
        data.sync()?;
    }
    Ok(found)
}

/// Checks the files of each volume and of each of its snapshots; returns the faults.
pub(crate) fn check(dir: &Path, named: &Named, contents: &Contents) -> Result<Vec<Trouble>, MapError> {
    let (mut core, data) = open_trees(dir, named)?;
    let owners = agreement::owners(contents);
    let leaves = contents.snapshots.values().flat_map(|snapshot| &snapshot.leaves);
    let in_snapshots = leaves.filter(|leaf| leaf.kind == Kind::Volume).map(|leaf| leaf.tree);
    let mut troubles = Vec::new();
    for tree in volumes(contents).chain(in_snapshots) {
        // A missing tree is reported by the comparison with the catalogue.
        if core.tree(tree).is_none() {
            continue;
        }
        let name = owners.get(&tree).cloned().unwrap_or_default();
        let faults = match FileTree::recover(&mut data.of(&mut core, tree)) {
            Ok(files) => files.check().iter().map(ToString::to_string).collect(),
            Err(error) => vec![error.to_string()],
        };
        troubles.extend(faults.into_iter().map(|fault| Trouble::Files { name: name.clone(), fault }));
    }
    Ok(troubles)
}
