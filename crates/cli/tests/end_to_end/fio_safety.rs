//! What a load tool must not destroy: devices that carry something, made by the tools that make
//! such things.

use crate::fio_command::ours;
use crate::requires::{client, requires, skip};
use crate::running::run;
use crate::scratch::Scratch;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A loop device over a sparse file; gone with the test.
struct Loop {
    device: String,
    image: PathBuf,
}

impl Loop {
    /// One of `mib` MiB and 1536 bytes, so that its end is no round number; `None`, with its
    /// reason, where that cannot be had.
    fn new(scratch: &Scratch, mib: u64) -> Option<Loop> {
        let image = scratch.join("image");
        std::fs::File::create(&image).and_then(|file| file.set_len((mib << 20) + 1536)).unwrap();
        let made = run(tool("losetup").args(["--find", "--show"]).arg(&image));
        if made.code != Some(0) {
            skip("a loop device cannot be made here");
            return None;
        }
        Some(Loop { device: made.out.trim().to_owned(), image })
    }

    /// The job that would write to it, and what became of that.
    fn write(&self, scratch: &Scratch, more: &[&str]) -> crate::running::Ended {
        let filename = format!("--filename={}", self.device);
        let job = ["--name=w", "--rw=write", "--bs=64k", "--size=1m", &filename];
        ours(scratch, &[&job[..], more].concat())
    }

    /// What the job would write over, and more.
    fn beginning(&self) -> Vec<u8> {
        let mut bytes = vec![0; 2 << 20];
        let file = std::fs::File::open(&self.image).unwrap();
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).unwrap();
        bytes
    }

    /// Makes it empty.
    fn clear(&self) {
        let len = std::fs::metadata(&self.image).unwrap().len();
        let file = std::fs::File::create(&self.image).unwrap();
        file.set_len(len).unwrap();
        // The device's own pages still hold what was there.
        run(tool("blockdev").args(["--flushbufs", &self.device]));
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run(tool("losetup").args(["--detach", &self.device]));
    }
}

/// A program that may stand where only an administrator looks.
pub fn tool(name: &str) -> Command {
    let found = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(name));
    Command::new(found.clone().find(|path| path.is_file()).unwrap_or_else(|| name.into()))
}

pub fn is_there(name: &str) -> bool {
    Path::new(tool(name).get_program()).is_file()
}

/// Each tool makes what it makes on a device; writing to it is refused with what was found, the
/// bytes stay, reading is allowed, and by name it may be destroyed.
#[test]
fn what_a_device_carries_is_found() {
    requires!("losetup");
    let scratch = Scratch::new();
    // Large enough for XFS.
    let Some(device) = Loop::new(&scratch, 320) else { return };
    assert_eq!(device.write(&scratch, &[]).code, Some(0), "an empty device may be written");
    let name = device.device.as_str();
    let makers: [(&str, &[&str], &str); 8] = [
        ("mkfs.ext4", &["-q", name], "an ext2, ext3 or ext4 file system"),
        ("mkfs.xfs", &["-q", "-f", name], "an XFS file system"),
        ("mkfs.btrfs", &["-q", "-f", name], "a Btrfs file system"),
        ("mkswap", &[name], "swap space"),
        ("pvcreate", &["-ff", "-y", name], "an LVM physical volume"),
        ("sfdisk", &["-q", "--no-reread", "--label", "gpt", name], "a GPT partition table"),
        ("sfdisk", &["-q", "--no-reread", "--label", "dos", name], "an MBR partition table"),
        ("cryptsetup", &["luksFormat", "-q", "--pbkdf=pbkdf2", "--pbkdf-force-iterations=1000", name], "a LUKS"),
    ];
    let mut seen = 0;
    for (maker, arguments, what) in makers.into_iter().filter(|(maker, ..)| is_there(maker)) {
        device.clear();
        let mut command = Command::new("sh");
        // A partition for sfdisk, a pass phrase for cryptsetup; the others do not ask.
        let input = if maker == "sfdisk" { "size=1M\n" } else { "a pass phrase\n" };
        command.args(["-c", "printf \"$0\" | \"$@\"", input]).arg(tool(maker).get_program()).args(arguments);
        let made = run(&mut command);
        if made.code != Some(0) {
            eprintln!("{maker} did not do it here: {made:?}");
            continue;
        }
        seen += 1;
        let before = device.beginning();
        let ended = device.write(&scratch, &[]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{maker}: {ended:?}");
        let said = format!("{name}: will not be written: it carries {what}");
        assert!(ended.err.contains(&said), "{maker}: {}", ended.err);
        assert!(ended.err.contains(&format!("--destroy-data={name} overwrites it")), "{}", ended.err);
        let filename = format!("--filename={name}");
        let read = ours(&scratch, &["--name=r", "--rw=read", "--bs=64k", "--size=1m", &filename]);
        assert_eq!(read.code, Some(0), "{read:?}");
        assert!(device.beginning() == before, "{maker}: nothing was touched");
    }
    if seen == 0 {
        return skip("no tool that makes file systems is installed");
    }
    let destroy = format!("--destroy-data={name}");
    assert_eq!(device.write(&scratch, &[&destroy]).code, Some(0));
}

/// `--readonly` makes no file and lengthens none, by fio and by us; one that is long enough is
/// read.
#[test]
fn a_run_that_only_reads_leaves_files_as_they_are() {
    requires!("fio");
    let scratch = Scratch::new();
    let line = ["--readonly", "--name=r", "--filename=f", "--rw=read", "--size=1m"];
    let theirs = || run(client("fio").current_dir(scratch.path()).args(line)).code;
    for there in [None, Some(4096)] {
        if let Some(len) = there {
            std::fs::write(scratch.join("f"), vec![7; len]).unwrap();
        }
        assert_ne!(theirs(), Some(0));
        let own = ours(&scratch, &[&line[..], &["--destroy-data=f"]].concat());
        assert_eq!((own.code, own.out.as_str()), (Some(2), ""), "{own:?}");
        assert!(own.err.contains("--readonly forbids making it"), "{}", own.err);
        assert_eq!(std::fs::metadata(scratch.join("f")).ok().map(|about| about.len() as usize), there);
    }
    std::fs::write(scratch.join("f"), vec![7; 1 << 20]).unwrap();
    assert_eq!((theirs(), ours(&scratch, &line).code), (Some(0), Some(0)));
}

/// The superblocks of Linux RAID, by the layout of the kernel's `include/uapi/linux/raid/md_p.h`:
/// `wipefs` recognises what the test wrote, and so do we.
#[test]
fn members_of_a_raid_are_found() {
    requires!("losetup");
    if !is_there("wipefs") {
        return skip("wipefs is not installed");
    }
    let scratch = Scratch::new();
    let Some(device) = Loop::new(&scratch, 16) else { return };
    let size = std::fs::metadata(&device.image).unwrap().len();
    let newer = |at: u64| {
        // Magic, major version 1, and where it stands in sectors (`super_offset`, byte 144).
        let mut block = vec![0; 256];
        block[..4].copy_from_slice(&0xa92b_4efcu32.to_le_bytes());
        block[4..8].copy_from_slice(&1u32.to_le_bytes());
        block[144..152].copy_from_slice(&(at / 512).to_le_bytes());
        block
    };
    let older = || {
        // Magic, major version 0, minor version 90.
        let mut block = vec![0; 4096];
        block[..4].copy_from_slice(&0xa92b_4efcu32.to_le_bytes());
        block[8..12].copy_from_slice(&90u32.to_le_bytes());
        block
    };
    // The device has whole sectors of 512 bytes, of which all count: format 1.0 stands 16 sectors
    // before the end, rounded down to 8; format 0.90 at the last whole 64 KiB.
    let last = (size / 512 - 16) / 8 * 8 * 512;
    for (format, at, block) in [
        ("1.2", 4096, newer(4096)),
        ("1.1", 0, newer(0)),
        ("1.0", last, newer(last)),
        ("0.90", (size / 65536 - 1) * 65536, older()),
    ] {
        device.clear();
        let file = std::fs::OpenOptions::new().write(true).open(&device.device).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &block, at).unwrap();
        file.sync_all().unwrap();
        let wipefs = run(tool("wipefs").arg(&device.device));
        assert!(wipefs.out.contains("linux_raid_member"), "{format}: {wipefs:?}");
        let ended = device.write(&scratch, &[]);
        assert_eq!(ended.code, Some(2), "{format}: {ended:?}");
        assert!(ended.err.contains("it carries a member of a Linux RAID"), "{format}: {}", ended.err);
    }
}

/// A device that is mounted, and one that the system swaps to, are named as what they are; and so
/// is the file behind one.
#[test]
fn devices_in_use_are_found() {
    requires!("losetup", "mount");
    if !is_there("mkfs.ext4") || !is_there("mkswap") {
        return skip("mkfs.ext4 or mkswap is not installed");
    }
    let scratch = Scratch::new();
    let Some(device) = Loop::new(&scratch, 16) else { return };
    let name = device.device.as_str();
    run(tool("mkfs.ext4").args(["-q", name]));
    let point = scratch.join("mount");
    std::fs::create_dir(&point).unwrap();
    if run(tool("mount").arg(name).arg(&point)).code != Some(0) {
        return skip("not allowed to mount a file system");
    }
    let mounted = device.write(&scratch, &[]);
    run(tool("umount").arg(&point));
    assert_eq!(mounted.code, Some(2), "{mounted:?}");
    assert!(mounted.err.contains(&format!("it is mounted on {}", point.display())), "{}", mounted.err);

    // The file behind it: even one that seawall made.
    let filename = format!("--filename={}", device.image.display());
    let behind = ours(&scratch, &["--name=f", "--rw=write", "--size=1m", &filename]);
    assert_eq!(behind.code, Some(2), "{behind:?}");
    let short = name.trim_start_matches("/dev/");
    assert!(behind.err.contains(&format!("it is the backing file of {short}")), "{}", behind.err);

    device.clear();
    run(tool("mkswap").arg(name));
    if run(tool("swapon").arg(name)).code != Some(0) {
        return skip("not allowed to swap");
    }
    let swap = device.write(&scratch, &[]);
    run(tool("swapoff").arg(name));
    assert_eq!(swap.code, Some(2), "{swap:?}");
    assert!(swap.err.contains("it is in use as swap"), "{}", swap.err);
}
