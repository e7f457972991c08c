//! The block devices under files, and what the block layer counts of them.

use stats::job::DiskUse;
use stats::kernel;
use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use storage::major_minor;

/// The number of a device: major and minor.
pub(crate) type Number = (u64, u64);

/// The devices that paths are, or that their file systems are on, each once. A file system without
/// one (in memory, over a network) has none that is counted.
pub(crate) fn under(paths: &[PathBuf]) -> Vec<Number> {
    let mut numbers: Vec<Number> = paths.iter().filter_map(|path| device_of(path)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// What `/proc/diskstats` says of these devices.
pub(crate) fn counted(diskstats: &str, devices: &[Number]) -> BTreeMap<Number, DiskUse> {
    diskstats.lines().filter_map(kernel::disk).filter(|(number, _)| devices.contains(number)).collect()
}

/// The number of the device that a path is, or that its file system is on.
fn device_of(path: &Path) -> Option<Number> {
    let about = std::fs::metadata(path).ok().or_else(|| std::fs::metadata(path.parent()?).ok())?;
    let device = if about.file_type().is_block_device() { about.rdev() } else { about.dev() };
    Some(major_minor(device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_devices_under_the_paths_are_counted() {
        let text = " 254 0 vda 100 1 800 50 200 2 1600 70 0 90 120\n 254 16 vdb 1 0 8 1 0 0 0 0 0 1 1\n";
        let counted = counted(text, &[(254, 16), (8, 0)]);
        assert_eq!(counted.values().map(|disk| (disk.name.as_str(), disk.ios)).collect::<Vec<_>>(), [("vdb", [1, 0])]);
        // The same file system is one device, also of a file that is still to be made.
        let here = std::env::temp_dir();
        assert_eq!(under(&[here.clone(), here.join("not-there"), PathBuf::from("/no/such/folder/file")]).len(), 1);
    }
}
