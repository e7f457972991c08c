//! What a device seems to contain: magic numbers at known offsets.
//!
//! Offsets and numbers are from the formats' documents: the kernel's `magic.h` and
//! `Documentation/filesystems`, the UEFI specification (GPT), and the headers of LVM2, LUKS, MD and
//! ZFS.

use std::fs::File;
use std::io::{Result, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// Bytes of a device from `at` on.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// Offset of the first byte on the device.
    pub at: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// An offset from the start, or the distance from the end in bytes.
#[derive(Clone, Copy)]
enum Place {
    Start(u64),
    End(u64),
}
use Place::{End, Start};

/// The magic number of ext2 and its successors. It is short, so other fields of the superblock are
/// checked as well ([`is_ext`]).
const EXT: &[u8] = &[0x53, 0xef];

/// A magic number: its place, its bytes, and its meaning.
const MAGICS: [(Place, &[u8], &str); 31] = [
    (Start(0x438), EXT, "an ext2, ext3 or ext4 file system"),
    (Start(0), b"XFSB", "an XFS file system"),
    (Start(0x10040), b"_BHRfS_M", "a Btrfs file system"),
    (Start(1024), &[0x10, 0x20, 0xf5, 0xf2], "an F2FS file system"),
    (Start(3), b"NTFS    ", "an NTFS file system"),
    (Start(3), b"EXFAT   ", "an exFAT file system"),
    (Start(54), b"FAT1", "a FAT file system"),
    (Start(82), b"FAT32", "a FAT file system"),
    (Start(0x8001), b"CD001", "an ISO 9660 file system"),
    (Start(0), b"hsqs", "a SquashFS file system"),
    (Start(1024), &[0xe2, 0xe1, 0xf5, 0xe0], "an EROFS file system"),
    (Start(0x10034), b"ReIsEr", "a ReiserFS file system"),
    (Start(0x8000), b"JFS1", "a JFS file system"),
    (Start(4096), &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca], "a bcache or bcachefs device"),
    (Start(0x10000), &[0x01, 0x16, 0x19, 0x70], "a GFS2 file system"),
    (Start(0), b"LUKS\xba\xbe", "a LUKS encrypted volume"),
    (Start(0), b"LABELONE", "an LVM physical volume"),
    (Start(512), b"LABELONE", "an LVM physical volume"),
    (Start(1024), b"LABELONE", "an LVM physical volume"),
    (Start(1536), b"LABELONE", "an LVM physical volume"),
    (Start(4086), b"SWAPSPACE2", "swap space"),
    (Start(4086), b"SWAP-SPACE", "swap space"),
    (Start(512), b"EFI PART", "a GPT partition table"),
    (Start(4096), b"EFI PART", "a GPT partition table"),
    (End(512), b"EFI PART", "a backup of a GPT partition table"),
    (Start(0), &[0xfc, 0x4e, 0x2b, 0xa9], "a member of a Linux RAID"),
    (Start(4096), &[0xfc, 0x4e, 0x2b, 0xa9], "a member of a Linux RAID"),
    (Start(0x20000), &[0x0c, 0xb1, 0xba, 0x00, 0, 0, 0, 0], "a ZFS pool"),
    (Start(0x21000), &[0x0c, 0xb1, 0xba, 0x00, 0, 0, 0, 0], "a ZFS pool"),
    (Start(0), b"bluestore block device", "a Ceph store"),
    (Start(0), b"SWDV", "the data of a pool of Seawall"),
];

/// What a device contains, by its first and last `edge` bytes.
pub(super) fn of_device(device: &File, edge: u64) -> Result<Vec<&'static str>> {
    let size = (&mut &*device).seek(SeekFrom::End(0))?;
    let read = |at: u64, len: u64| {
        let mut bytes = vec![0; len as usize];
        device.read_exact_at(&mut bytes, at).map(|()| bytes)
    };
    let head = read(0, edge.min(size))?;
    let tail_at = size.saturating_sub(edge);
    let tail = read(tail_at, size - tail_at)?;
    Ok(signatures(Window { at: 0, bytes: &head }, Window { at: tail_at, bytes: &tail }, size))
}

/// What a device of `size` bytes with this beginning and end contains; each kind once.
pub fn signatures(head: Window<'_>, tail: Window<'_>, size: u64) -> Vec<&'static str> {
    let holds = |at: u64, magic: &[u8]| {
        [head, tail].iter().any(|window| {
            let start = at.checked_sub(window.at).and_then(|start| usize::try_from(start).ok());
            start.and_then(|start| window.bytes.get(start..)).is_some_and(|bytes| bytes.starts_with(magic))
        })
    };
    let mut found = Vec::new();
    for (from, magic, what) in MAGICS {
        let at = match from {
            Start(at) => Some(at),
            End(before) => size.checked_sub(before),
        };
        let is_it = at.is_some_and(|at| holds(at, magic)) && (magic != EXT || is_ext(head.bytes));
        if is_it && !found.contains(&what) {
            found.push(what);
        }
    }
    if raid_places(size).into_iter().flatten().any(|at| holds(at, &[0xfc, 0x4e, 0x2b, 0xa9]))
        && !found.contains(&"a member of a Linux RAID")
    {
        found.push("a member of a Linux RAID");
    }
    if found.is_empty() && is_partitioned(head.bytes) {
        found.push("an MBR partition table");
    }
    found
}

/// Where a RAID's superblock is near the end, by the kernel's `include/uapi/linux/raid/md_p.h` and
/// `drivers/md/md.c`: format 0.90 at the start of the last whole 64 KiB, format 1.0 at least 8 KiB
/// before the end at a multiple of 4 KiB.
fn raid_places(size: u64) -> [Option<u64>; 2] {
    let old = (size / 65536).checked_sub(1).map(|block| block * 65536);
    let new = size.checked_sub(8192).map(|at| at / 4096 * 4096);
    [old, new]
}

/// Whether it is a boot record with its mark and at least one partition, which has a kind that is
/// not zero, and a length. One of 65536 blocks of random data has the two bytes of the mark, so all
/// entries must have a valid flag: bootable or not.
fn is_partitioned(head: &[u8]) -> bool {
    let entries = || head.get(446..510).unwrap_or_default().chunks_exact(16);
    head.get(510..512) == Some(&[0x55, 0xaa])
        && entries().all(|entry| [0, 0x80].contains(&entry[0]))
        && entries().any(|entry| entry[4] != 0 && entry[12..] != [0; 4])
}

/// Whether the superblock of ext2 matches its magic number: blocks of at most 64 KiB, revision 0 or
/// 1 (the kernel's `Documentation/filesystems/ext4/super.rst`).
fn is_ext(head: &[u8]) -> bool {
    let word = |at: usize| head.get(at..at + 4).map_or(u32::MAX, |bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
    word(0x418) <= 6 && word(0x44c) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 1 << 20;
    const HEAD: u64 = crate::safety::EDGE;
    const TAIL: u64 = crate::safety::EDGE;

    fn found(writes: &[(u64, &[u8])]) -> Vec<&'static str> {
        let mut device = vec![0u8; SIZE as usize];
        for (at, bytes) in writes {
            device[*at as usize..*at as usize + bytes.len()].copy_from_slice(bytes);
        }
        let tail_at = SIZE - TAIL;
        let head = Window { at: 0, bytes: &device[..HEAD as usize] };
        signatures(head, Window { at: tail_at, bytes: &device[tail_at as usize..] }, SIZE)
    }

    #[test]
    fn every_magic_is_found_where_it_belongs_and_only_there() {
        assert_eq!(found(&[]), Vec::<&str>::new());
        for (from, magic, what) in MAGICS {
            let at = match from {
                Start(at) => at,
                End(before) => SIZE - before,
            };
            assert!(found(&[(at, magic)]).contains(&what), "{what}");
        }
        // An offset that belongs to no format.
        assert_eq!(found(&[(0x7777, b"XFSB")]), Vec::<&str>::new());
    }

    #[test]
    fn a_boot_record_needs_a_partition() {
        let mark: (u64, &[u8]) = (510, &[0x55, 0xaa]);
        assert_eq!(found(&[mark]), Vec::<&str>::new());
        assert_eq!(found(&[mark, (450, &[0x83]), (458, &[0, 8, 0, 0])]), ["an MBR partition table"]);
        // RAID of format 0.90: 64 KiB aligned, at least 64 KiB before the end.
        assert_eq!(found(&[(SIZE - 65536, &[0xfc, 0x4e, 0x2b, 0xa9])]), ["a member of a Linux RAID"]);
        assert_eq!(found(&[(SIZE - 8192, &[0xfc, 0x4e, 0x2b, 0xa9])]), ["a member of a Linux RAID"]);
        // 1 MiB and 3 sectors: 8192 before the end are rounded down to a multiple of 4096.
        assert_eq!(raid_places(SIZE + 1536), [Some(SIZE - 65536), Some(SIZE - 8192)]);
        assert_eq!(raid_places(4096), [None, None]);
    }
}
