//! Who uses a block device, as the kernel tells.

use crate::job::disks::split;
use std::path::{Path, PathBuf};

/// What uses the device with this number, or a part of it.
pub(super) fn uses(device: u64) -> Vec<String> {
    let (major, minor) = split(device);
    let folder = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
    let mut found = Vec::new();
    inspect(&folder, None, &mut found);
    for (name, part) in partitions(&folder) {
        found.push(format!("it has the partition {name}"));
        inspect(&part, Some(&name), &mut found);
    }
    found
}

/// Whether a file is in use as swap.
pub(super) fn is_swap(path: &Path) -> bool {
    let Ok(path) = std::fs::canonicalize(path) else { return false };
    swaps().iter().any(|swap| swap == &path)
}

/// The loop device that has this file behind it.
pub(super) fn loops_on(path: &Path) -> Option<String> {
    let path = std::fs::canonicalize(path).ok()?;
    let devices = std::fs::read_dir("/sys/block").ok()?;
    devices.flatten().find_map(|device| {
        let backing = std::fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
        (Path::new(backing.trim_end()) == path).then(|| device.file_name().to_string_lossy().into_owned())
    })
}

/// What uses one device, whose folder below `/sys` this is.
fn inspect(folder: &Path, part: Option<&str>, found: &mut Vec<String>) {
    let which = part.map_or_else(|| "it".to_owned(), |name| format!("its partition {name}"));
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let number = std::fs::read_to_string(folder.join("dev")).unwrap_or_default().trim().to_owned();
    found.extend(mounts(&number, &name).map(|place| format!("{which} is mounted on {place}")));
    if swaps().iter().any(|swap| swap.file_name().is_some_and(|swap| *swap.to_string_lossy() == *name)) {
        found.push(format!("{which} is in use as swap"));
    }
    for holder in entries(&folder.join("holders")) {
        let kind = holder_kind(&holder);
        found.push(format!("{which} is part of {kind} {holder}"));
    }
}

/// Partitions of a disk: their names and folders.
fn partitions(disk: &Path) -> Vec<(String, PathBuf)> {
    let parts = entries(disk).into_iter().filter(|name| disk.join(name).join("partition").exists());
    parts.map(|name| (name.clone(), disk.join(name))).collect()
}

fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Where a device is mounted: by its number, or by its name where a file system (btrfs) makes numbers of its own up.
fn mounts<'a>(number: &'a str, name: &'a str) -> impl Iterator<Item = String> + use<'a> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let of_line = |line: &str| -> Option<(String, String, String)> {
        let mut words = line.split(' ');
        let (number, place) = (words.nth(2)?.to_owned(), words.nth(1)?.to_owned());
        let source = line.split(" - ").nth(1)?.split(' ').nth(1)?.to_owned();
        Some((number, place, source))
    };
    let lines: Vec<_> = text.lines().filter_map(of_line).collect();
    lines
        .into_iter()
        .filter(move |(theirs, _, source)| theirs == number || *source == format!("/dev/{name}"))
        .map(|line| line.1)
}

fn swaps() -> Vec<PathBuf> {
    let text = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(PathBuf::from).collect()
}

fn holder_kind(name: &str) -> &'static str {
    if name.starts_with("md") {
        return "the RAID";
    }
    let uuid = std::fs::read_to_string(format!("/sys/block/{name}/dm/uuid")).unwrap_or_default();
    match uuid.split('-').next() {
        Some("LVM") => "the logical volume",
        Some("CRYPT") => "the encrypted volume",
        Some("mpath") => "the multipath device",
        _ => "the device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The device of the root file system, where it is one, is mounted; that must be found.
    #[test]
    fn the_disk_below_a_mount_is_found_in_use() {
        let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let on_device = text.lines().find_map(|line| {
            let source = line.split(" - ").nth(1)?.split(' ').nth(1)?;
            use std::os::unix::fs::{FileTypeExt, MetadataExt};
            let about = std::fs::metadata(source).ok()?;
            about.file_type().is_block_device().then(|| about.rdev())
        });
        let Some(device) = on_device else { return };
        assert!(uses(device).iter().any(|what| what.contains("is mounted on")), "{:?}", uses(device));
    }
}
