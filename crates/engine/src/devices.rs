//! The block devices that hold files, and their statistics from the block layer.

use stats::job::DiskUse;
use stats::kernel;
use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use storage::major_minor;

/// A device number: major and minor.
pub(crate) type Number = (u64, u64);

/// The block devices at `paths`, or under their file systems, each once. File systems without a
/// block device (in memory, over a network) are left out.
pub(crate) fn under(paths: &[PathBuf]) -> Vec<Number> {
    let mut numbers: Vec<Number> = paths.iter().filter_map(|path| device_of(path)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The counters of these devices in the text of `/proc/diskstats`.
pub(crate) fn counted(diskstats: &str, devices: &[Number]) -> BTreeMap<Number, DiskUse> {
    diskstats.lines().filter_map(kernel::disk).filter(|(number, _)| devices.contains(number)).collect()
}

/// The number of the block device at a path, or under its file system.
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
        // The temporary folder and a missing file in it are on the same device.
        let here = std::env::temp_dir();
        assert_eq!(under(&[here.clone(), here.join("not-there"), PathBuf::from("/no/such/folder/file")]).len(), 1);
    }
}
