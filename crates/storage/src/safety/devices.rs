//! The uses of a block device, according to the kernel.

use crate::major_minor;
use std::path::{Path, PathBuf};

/// A use of something, and how to end it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) what: String,
    pub(super) advice: String,
}

impl Use {
    /// A file or device is used as swap.
    pub(super) fn swap(which: &str, name: &str) -> Use {
        Use { what: format!("{which} is in use as swap"), advice: format!("end that first (swapoff {name})") }
    }

    /// It is the backing file of a loop device.
    pub(super) fn behind(device: &str) -> Use {
        let advice = format!("detach that first (losetup --detach /dev/{device})");
        Use { what: format!("it is the backing file of {device}"), advice }
    }

    /// An unknown holder has it.
    pub(super) fn held() -> Use {
        let what = "it is held by something that cannot be seen from here (a mount of another namespace, a program that \
                    opened it for itself)";
        Use { what: what.into(), advice: "end that first".into() }
    }

    fn mounted(which: &str, place: &str) -> Use {
        Use { what: format!("{which} is mounted on {place}"), advice: format!("unmount it first (umount {place})") }
    }

    fn part_of(which: &str, kind: &str, holder: &str) -> Use {
        let advice = format!("take it out of {holder} first, or write to that");
        Use { what: format!("{which} is part of {kind} {holder}"), advice }
    }
}

/// The kernel's information on its devices, or that of a test.
pub(super) struct Kernel {
    /// `/sys`.
    sys: PathBuf,
    /// `/proc/self/mountinfo`.
    mounts: String,
    /// `/proc/swaps`.
    swaps: String,
}

impl Kernel {
    /// This machine's.
    pub(super) fn here() -> Kernel {
        let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Kernel { sys: "/sys".into(), mounts: text("/proc/self/mountinfo"), swaps: text("/proc/swaps") }
    }

    /// The uses of the device with this number, and of its partitions.
    pub(super) fn uses(&self, device: u64) -> Vec<Use> {
        let folder = self.folder(device);
        let mut found = Vec::new();
        self.inspect(&folder, None, &mut found);
        for (name, part) in partitions(&folder) {
            self.inspect(&part, Some(&name), &mut found);
        }
        found
    }

    /// The names of its partitions.
    pub(super) fn partitions(&self, device: u64) -> Vec<String> {
        partitions(&self.folder(device)).into_iter().map(|(name, _)| name).collect()
    }

    fn folder(&self, device: u64) -> PathBuf {
        let (major, minor) = major_minor(device);
        let folder = self.sys.join(format!("dev/block/{major}:{minor}"));
        std::fs::canonicalize(&folder).unwrap_or(folder)
    }

    /// Whether a file is in use as swap.
    pub(super) fn is_swap(&self, path: &Path) -> bool {
        let Ok(path) = std::fs::canonicalize(path) else { return false };
        self.swaps().any(|swap| swap == path)
    }

    /// The loop device whose backing file this is.
    pub(super) fn loops_on(&self, path: &Path) -> Option<String> {
        let path = std::fs::canonicalize(path).ok()?;
        let devices = std::fs::read_dir(self.sys.join("block")).ok()?;
        devices.flatten().find_map(|device| {
            let backing = std::fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
            (Path::new(backing.trim_end()) == path).then(|| device.file_name().to_string_lossy().into_owned())
        })
    }

    /// Finds the uses of one device, which has this folder in `/sys`.
    fn inspect(&self, folder: &Path, part: Option<&str>, found: &mut Vec<Use>) {
        let which = part.map_or_else(|| "it".to_owned(), |name| format!("its partition {name}"));
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let number = std::fs::read_to_string(folder.join("dev")).unwrap_or_default().trim().to_owned();
        found.extend(self.mounts(&number, &name).map(|place| Use::mounted(&which, place)));
        if self.swaps().any(|swap| swap.file_name().is_some_and(|swap| *swap.to_string_lossy() == *name)) {
            found.push(Use::swap(&which, &format!("/dev/{name}")));
        }
        for holder in entries(&folder.join("holders")) {
            let kind = self.holder_kind(&holder);
            found.push(Use::part_of(&which, kind, &holder));
        }
    }

    /// Where a device is mounted: by its number, or by its name for a file system (btrfs) that has
    /// its own numbers.
    fn mounts<'k>(&'k self, number: &'k str, name: &'k str) -> impl Iterator<Item = &'k str> {
        let of_line = |line: &'k str| -> Option<(&'k str, &'k str, &'k str)> {
            let mut words = line.split(' ');
            let (number, place) = (words.nth(2)?, words.nth(1)?);
            let source = line.split(" - ").nth(1)?.split(' ').nth(1)?;
            Some((number, place, source))
        };
        let of_device = move |(theirs, _, source): &(&str, &str, &str)| {
            *theirs == number || source.strip_prefix("/dev/").is_some_and(|source| source == name)
        };
        self.mounts.lines().filter_map(of_line).filter(of_device).map(|line| line.1)
    }

    fn swaps(&self) -> impl Iterator<Item = &Path> {
        self.swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(Path::new)
    }

    /// The kind of a holder. For the device mapper, it is the first word of the UUID.
    fn holder_kind(&self, name: &str) -> &'static str {
        if name.starts_with("md") {
            return "the RAID";
        }
        let uuid = std::fs::read_to_string(self.sys.join(format!("block/{name}/dm/uuid"))).unwrap_or_default();
        match uuid.split('-').next() {
            Some("LVM") => "the logical volume",
            Some("CRYPT") => "the encrypted volume",
            Some("mpath") => "the multipath device",
            _ => "the device",
        }
    }
}

/// The names and folders of a disk's partitions.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// If the root file system is on a device, that is mounted, which must be found.
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
        let uses = Kernel::here().uses(device);
        assert!(uses.iter().any(|one| one.what.contains("is mounted on")), "{uses:?}");
    }

    /// A disk as shown in `/sys` (its layout: the kernel's
    /// `Documentation/ABI/testing/sysfs-block`): `sda1` mounted, `sda2` swap, `sda3` in a RAID,
    /// `sda4` in a volume group and in an encrypted volume.
    #[test]
    fn all_that_uses_a_disk_and_its_partitions_is_named() {
        let sys = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = sys.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("devices/sda/dev", "8:0\n");
        for part in 1..=4 {
            put(&format!("devices/sda/sda{part}/partition"), "1\n");
            put(&format!("devices/sda/sda{part}/dev"), &format!("8:{part}\n"));
        }
        put("devices/sda/sda3/holders/md0", "");
        put("devices/sda/sda4/holders/dm-0", "");
        put("devices/sda/sda4/holders/dm-1", "");
        put("block/dm-0/dm/uuid", "LVM-abc\n");
        put("block/dm-1/dm/uuid", "CRYPT-LUKS2-abc\n");
        std::fs::create_dir_all(sys.path().join("dev/block")).unwrap();
        std::os::unix::fs::symlink("../../devices/sda", sys.path().join("dev/block/8:0")).unwrap();
        std::os::unix::fs::symlink("../../devices/sda/sda3", sys.path().join("dev/block/8:3")).unwrap();
        let kernel = Kernel {
            sys: sys.path().into(),
            mounts: "25 1 8:1 / /data rw - ext4 /dev/sda1 rw\n26 1 0:5 / /proc rw - proc proc rw\n".into(),
            swaps: "Filename Type Size Used Priority\n/dev/sda2 partition 100 0 -2\n".into(),
        };
        // The numbers of 8:0 and 8:3 as the system packs them: the minor number's low byte, the
        // major number from bit 8 on.
        let uses = |device| kernel.uses(device).into_iter().map(|one| one.what).collect::<Vec<_>>();
        assert_eq!(kernel.partitions(8 << 8), ["sda1", "sda2", "sda3", "sda4"]);
        assert_eq!(
            uses(8 << 8),
            [
                "its partition sda1 is mounted on /data",
                "its partition sda2 is in use as swap",
                "its partition sda3 is part of the RAID md0",
                "its partition sda4 is part of the logical volume dm-0",
                "its partition sda4 is part of the encrypted volume dm-1",
            ]
        );
        assert_eq!(uses(8 << 8 | 3), ["it is part of the RAID md0"]);
        assert_eq!(kernel.uses(8 << 8)[0].advice, "unmount it first (umount /data)");
    }
}
