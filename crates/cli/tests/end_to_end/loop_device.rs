//! A block device of its own, on a file: needs root. Detached and removed with the test.

use crate::requires::{find, skip};
use crate::scratch::Scratch;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct LoopDevice {
    scratch: Scratch,
    device: PathBuf,
}

impl LoopDevice {
    /// A device of `mib` MiB of nothing; `None`, with its reason, where that cannot be had.
    pub fn new(mib: u64) -> Option<LoopDevice> {
        let scratch = Scratch::new();
        let image = scratch.join("image");
        std::fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
        let losetup = ["/usr/sbin/losetup", "/sbin/losetup"].iter().map(PathBuf::from).find(|path| path.is_file());
        let Some(losetup) = losetup.or_else(|| find("losetup")) else {
            skip("losetup is not installed");
            return None;
        };
        let made = Command::new(losetup).args(["--find", "--show"]).arg(&image).output();
        let device = made.ok().filter(|made| made.status.success());
        let Some(device) = device.map(|made| PathBuf::from(String::from_utf8_lossy(&made.stdout).trim())) else {
            skip("there is no loop device to be had here (that needs root)");
            return None;
        };
        Some(LoopDevice { scratch, device })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.device
    }

    /// Its path as text.
    pub fn name(&self) -> String {
        self.device.display().to_string()
    }

    /// The folder of the image.
    pub fn beside(&self) -> &Scratch {
        &self.scratch
    }

    /// Sectors that the block layer has read from it and written to it.
    pub fn sectors(&self) -> (u64, u64) {
        let name = self.device.file_name().unwrap().to_string_lossy().into_owned();
        let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        let words: Vec<u64> = stat.split_whitespace().map(|word| word.parse().unwrap()).collect();
        (words[2], words[6])
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}
