//! Whether the file systems have the space for what is going to be laid out, asked before anything
//! is.

use block::Bytes;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use storage::{Contents, LayoutPlan};

/// What is going to be laid out: for each file its file system (by number and a folder on it) and
/// the bytes it still needs.
#[derive(Debug, Default)]
pub(crate) struct Room(BTreeMap<PathBuf, (u64, PathBuf, u64)>);

impl Room {
    /// Counts a file. One that goes on until its file system is full needs nothing, nor does one
    /// with holes.
    pub(crate) fn add(&mut self, path: &Path, plan: LayoutPlan) {
        if plan.until_full || plan.contents == Contents::Holes {
            return;
        }
        // Space that it has already: a block counts 512 bytes, whatever the file system's are.
        let has = std::fs::metadata(path).map_or(0, |about| about.blocks() * 512);
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
        let folder = whole.ancestors().skip(1).find_map(|folder| Some((std::fs::metadata(folder).ok()?.dev(), folder)));
        let Some((device, folder)) = folder else { return };
        let folder = folder.to_owned();
        self.0.insert(path.into(), (device, folder, plan.len.saturating_sub(has)));
    }

    /// A line for each file system that has too little.
    pub(crate) fn lacks(&self) -> Vec<String> {
        let mut needs: BTreeMap<u64, (&Path, u64)> = BTreeMap::new();
        for (device, folder, bytes) in self.0.values() {
            let need = needs.entry(*device).or_insert((folder, 0));
            need.1 = need.1.saturating_add(*bytes);
        }
        let lack = |(folder, needed): (&Path, u64)| {
            // A file system without a size of its own has no end that could be told.
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
