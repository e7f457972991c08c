//! An NBD export as a file system of this host: `nbdfuse` shows it as a file, a loop device past
//! the page cache is on that, ext4 on the device. All of it is taken down with this.
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

/// What file system is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// As the host makes it.
    Usual,
    /// Without a journal: what is on it is gone after the run in any case.
    Bare,
}

/// So often a program that is to end or to be ready is looked at, 10 ms apart.
const LOOKS: u32 = 1000;

impl Mounted {
    /// Mounts the export of that URI below `folder`; with a file system of its own first where it
    /// is to be made.
    ///
    /// # Errors
    /// Something of it cannot be had here. What was made until then is gone.
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

    /// Where it is mounted.
    pub fn point(&self) -> PathBuf {
        self.folder.join("point")
    }

    fn take_down(&mut self) -> Result<()> {
        // Who has a file there may be about to end, as a server is that just said it has.
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
        // The device lets go of the file a little later, and nbdfuse ends when nobody shows it.
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
