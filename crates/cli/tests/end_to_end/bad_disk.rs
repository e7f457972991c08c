//! A block device that fails, stands still or counts when it is told to: memory served by nbdkit
//! with its filters, shown as a file by nbdfuse, and a loop device on that. Everything is taken
//! down with it. It needs root and FUSE.
//!
//! ```text
//!   seawall ── /dev/loopN ── nbdfuse ── nbdkit: log ─ error ─ memory
//! ```

use crate::requires::{find, skip};
use crate::running::{Running, run, until};
use crate::scratch::Scratch;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct BadDisk {
    nbdkit: Running,
    _nbdfuse: Running,
    folder: PathBuf,
    device: PathBuf,
}

impl BadDisk {
    /// A device of `mib` MiB of zeroes, with its files in a folder of that name. Writes that fail
    /// do so with `errno` (`EIO`, `ENOSPC`), reads with `EIO`. `None`, with its reason, where that
    /// cannot be had.
    pub fn new(scratch: &Scratch, name: &str, mib: u64, errno: &str) -> Option<BadDisk> {
        let folder = scratch.join(name);
        let file = |word: &str| format!("{}", folder.join(word).display());
        let shown = folder.join("shown");
        std::fs::create_dir_all(&shown).unwrap();
        let mut command = Command::new(find("nbdkit").unwrap_or_else(|| "nbdkit".into()));
        command.args(["--foreground", "--unix", &file("socket")]);
        command.args(["--filter=log", "--filter=error", "memory", &format!("{mib}M")]);
        command.arg(format!("logfile={}", file("log")));
        command.args([format!("error-pwrite={errno}"), "error-pwrite-rate=100%".into()]);
        command.args([format!("error-pwrite-file={}", file("no-writes")), "error-pread=EIO".into()]);
        command.args(["error-pread-rate=100%".into(), format!("error-pread-file={}", file("no-reads"))]);
        let mut nbdkit = Running::start(command);
        comes(&folder.join("socket"), &mut nbdkit, "nbdkit has no filters log and error here")?;
        let mut command = Command::new(find("nbdfuse").unwrap_or_else(|| "nbdfuse".into()));
        command.arg(&shown).args(["--unix", &file("socket")]);
        let mut nbdfuse = Running::start(command);
        comes(&shown.join("nbd"), &mut nbdfuse, "nbdfuse cannot mount here")?;
        // Direct, so that an error comes with the request that met it.
        let made = run(tool("losetup").args(["--find", "--show", "--direct-io=on"]).arg(shown.join("nbd")));
        let device = PathBuf::from(made.out.trim());
        if made.code != Some(0) {
            let _ = run(tool("umount").arg(&shown));
            skip(&format!("no loop device can be had here: {}", made.err.trim()));
            return None;
        }
        Some(BadDisk { nbdkit, _nbdfuse: nbdfuse, folder, device })
    }

    /// The device.
    pub fn path(&self) -> &Path {
        &self.device
    }

    /// Whether writes fail from now on.
    pub fn fail_writes(&self, fail: bool) {
        self.trigger("no-writes", fail);
    }

    /// Whether reads fail from now on.
    pub fn fail_reads(&self, fail: bool) {
        self.trigger("no-reads", fail);
    }

    /// Answers nothing from now on, until [`BadDisk::go_on`]. The whole of nbdkit is stopped, as
    /// its filter for that lets flushes pass. A signal is sent before it is obeyed: on a busy
    /// machine its threads go on for a while.
    pub fn stand_still(&self) {
        self.nbdkit.signal("STOP");
        until("nbdkit stops", || self.has_stopped());
    }

    /// Whether every thread of it is stopped: `T` after its name in brackets (`proc(5)`).
    fn has_stopped(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.nbdkit.id())).expect("it runs");
        threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("stat"))).all(|stat| {
            // A thread that has ended meanwhile answers nothing more.
            stat.map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
        })
    }

    /// Answers what waits, and what comes.
    pub fn go_on(&self) {
        self.nbdkit.signal("CONT");
    }

    /// Flushes that have reached it.
    pub fn flushes(&self) -> usize {
        let log = std::fs::read_to_string(self.folder.join("log")).expect("the log filter writes it");
        log.lines().filter(|line| line.contains(" Flush id=")).count()
    }

    fn trigger(&self, name: &str, on: bool) {
        let file = self.folder.join(name);
        match on {
            true => std::fs::write(file, "").unwrap(),
            false => std::fs::remove_file(file).unwrap(),
        }
    }
}

impl Drop for BadDisk {
    fn drop(&mut self) {
        self.go_on();
        let _ = run(tool("losetup").arg("--detach").arg(&self.device));
        // The device lets go of the file a little later; until then it is busy.
        let _ = run(tool("umount").arg("--lazy").arg(self.folder.join("shown")));
    }
}

/// A system tool; some lie where only root looks.
fn tool(program: &str) -> Command {
    let found = ["/usr/sbin", "/sbin"].iter().map(|folder| Path::new(folder).join(program)).find(|file| file.is_file());
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "120"]).arg(found.or_else(|| find(program)).unwrap_or_else(|| program.into()));
    command
}

/// Waits for a file that a program makes. `None`, with its reason, where the program ends without
/// it.
fn comes(file: &Path, program: &mut Running, reason: &str) -> Option<()> {
    while !file.exists() {
        if let Some(said) = program.ended() {
            skip(&format!("{reason}: {said}"));
            return None;
        }
        std::thread::yield_now();
    }
    Some(())
}
