//! A small file system of its own, on a file: needs root. Unmounted and removed with the test.

use crate::requires::{find, skip};
use crate::scratch::Scratch;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct LoopMount {
    scratch: Scratch,
    point: PathBuf,
}

impl LoopMount {
    /// An ext4 of `mib` MiB; `None`, with its reason, where that cannot be had.
    pub fn new(mib: u64) -> Option<LoopMount> {
        let scratch = Scratch::new();
        let (image, point) = (scratch.join("image"), scratch.join("mount"));
        std::fs::create_dir(&point).unwrap();
        std::fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
        let mkfs = ["/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"].iter().map(PathBuf::from).find(|path| path.is_file());
        let (Some(mkfs), Some(mount)) = (mkfs, find("mount")) else {
            skip("mkfs.ext4 or mount is not installed");
            return None;
        };
        let done = |command: &mut Command| command.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        let made = done(Command::new(mkfs).arg("-q").arg(&image));
        if !made || !done(Command::new(mount).args(["-o", "loop"]).arg(&image).arg(&point)) {
            skip("a file cannot be mounted here (that needs root and a loop device)");
            return None;
        }
        Some(LoopMount { scratch, point })
    }

    /// The mount point.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// The folder beside it.
    pub fn beside(&self) -> &Scratch {
        &self.scratch
    }
}

impl Drop for LoopMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.point).status();
    }
}
