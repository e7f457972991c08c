//! Checks before any lay-out that the file systems have enough free space.

use block::Bytes;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use storage::{Contents, LayoutPlan};

/// The planned lay-out: for each file its file system (a number and a folder on it) and the bytes
/// it still needs.
#[derive(Debug, Default)]
pub(crate) struct Room(BTreeMap<PathBuf, (u64, PathBuf, u64)>);

impl Room {
    /// Adds a file. A sparse file needs nothing, nor does one that grows until its file system is
    /// full.
    pub(crate) fn add(&mut self, path: &Path, plan: LayoutPlan) {
        if plan.until_full || plan.contents == Contents::Holes {
            return;
        }
        // Space that the file already has: `blocks` counts units of 512 bytes on every file system.
        let has = std::fs::metadata(path).map_or(0, |about| about.blocks() * 512);
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let folder = whole.ancestors().skip(1).find_map(|folder| Some((std::fs::metadata(folder).ok()?.dev(), folder)));
        let Some((device, folder)) = folder else { return };
        let folder = folder.to_owned();
        self.0.insert(path.into(), (device, folder, plan.len.saturating_sub(has)));
    }

    /// A line for each file system that has too little space.
    pub(crate) fn lacks(&self) -> Vec<String> {
        let mut needs: BTreeMap<u64, (&Path, u64)> = BTreeMap::new();
        for (device, folder, bytes) in self.0.values() {
            let need = needs.entry(*device).or_insert((folder, 0));
            need.1 = need.1.saturating_add(*bytes);
        }
        let lack = |(folder, needed): (&Path, u64)| {
            // A file system that reports no size has no limit that could be checked.
            let space = uring::space::space(folder).ok().filter(|space| space.total.0 > 0)?;
            (needed > space.available.0).then(|| {
                format!(
                    "{}: {} are needed for the jobs' files, {} are free; lower size=, or set fill_device=1 to go on until \
                     there is no space left",
                    folder.display(),
                    Bytes(needed),
                    space.available
                )
            })
        };
        needs.into_values().filter_map(lack).collect()
    }
}
