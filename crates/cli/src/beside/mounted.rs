//! An NBD export mounted as a file system of this host: `nbdfuse` shows the export as a file, a
//! loop device with direct I/O uses that file, and ext4 is on the device. Everything is undone on
//! drop.
//!
//! ```text
//!   folder/point ── ext4 ── /dev/loopN (direct) ── folder/shown/nbd ── nbdfuse ── the export
//! ```

use super::tools::{command, pause, run};
use crate::terminal;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A mounted export.
pub struct Mounted {
    nbdfuse: Child,
    folder: PathBuf,
    device: Option<PathBuf>,
    is_mounted: bool,
}

/// Which file system to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// With the host's defaults.
    Usual,
    /// Without a journal; its contents are discarded after the run anyway.
    Bare,
}

/// How often to check whether a program has ended or is ready, 10 ms apart.
const LOOKS: u32 = 1000;

impl Mounted {
    /// Mounts the export at that URI below `folder`, after creating a file system on it if `make`
    /// says so.
    ///
    /// # Errors
    /// A step failed; the earlier steps are undone.
    pub fn new(uri: &str, folder: &Path, make: Option<Made>) -> Result<Mounted> {
        let shown = folder.join("shown");
        for path in [&shown, &folder.join("point")] {
            std::fs::create_dir_all(path).with_context(|| path.display().to_string())?;
        }
        let mut nbdfuse = command("nbdfuse");
        nbdfuse.arg(&shown).arg(uri).stdout(Stdio::null()).stderr(Stdio::null());
        let nbdfuse = nbdfuse.spawn().context("nbdfuse")?;
        let mut mounted = Mounted { nbdfuse, folder: folder.into(), device: None, is_mounted: false };
        mounted.attach(&shown.join("nbd"), make)?;
        Ok(mounted)
    }

    fn attach(&mut self, file: &Path, make: Option<Made>) -> Result<()> {
        let mut looks = 0;
        while !file.exists() {
            if let Some(status) = self.nbdfuse.try_wait()? {
                bail!("nbdfuse: ended with {status}");
            }
            looks += 1;
            if looks > LOOKS {
                bail!("nbdfuse: does not show the export");
            }
            pause();
        }
        let mut losetup = command("losetup");
        losetup.args(["--find", "--show", "--direct-io=on"]).arg(file);
        let device = PathBuf::from(run(&mut losetup)?);
        self.device = Some(device.clone());
        if let Some(made) = make {
            let mut mkfs = command("mkfs.ext4");
            mkfs.args(["-q", "-E", "lazy_itable_init=0,nodiscard"]);
            if made == Made::Bare {
                mkfs.args(["-O", "^has_journal"]);
            }
            run(mkfs.arg(&device))?;
        }
        run(command("mount").args(["-o", "noatime"]).arg(&device).arg(self.point()))?;
        self.is_mounted = true;
        Ok(())
    }

    /// The mount point.
    pub fn point(&self) -> PathBuf {
        self.folder.join("point")
    }

    fn take_down(&mut self) -> Result<()> {
        // A process with an open file there may be about to exit, such as a server that has just
        // reported its end.
        let mut last = Ok(String::new());
        for _ in 0..LOOKS {
            if !self.is_mounted {
                break;
            }
            last = run(command("umount").arg(self.point()));
            self.is_mounted = last.is_err();
            pause();
        }
        last?;
        if let Some(device) = self.device.take() {
            run(command("losetup").arg("--detach").arg(device))?;
        }
        // The device closes the file a little later, and nbdfuse exits after it is unmounted.
        let mut is_shown = true;
        for _ in 0..LOOKS {
            if self.nbdfuse.try_wait()?.is_some() {
                return Ok(());
            }
            is_shown = is_shown && run(command("umount").arg(self.folder.join("shown"))).is_err();
            pause();
        }
        self.nbdfuse.kill()?;
        self.nbdfuse.wait()?;
        bail!("nbdfuse did not end by itself")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = self.take_down() {
            terminal::complain(&format!("{}: could not be taken down: {error:#}", self.folder.display()));
        }
    }
}
