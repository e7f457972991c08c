//! Mark files of running batches, in the user's state folder, so that another shell can stop them.
//!
//! ```text
//!   running-PID     that process runs batches
//!   stop-PID        asks it to end
//! ```
//! A killed process leaves its mark files; the next check removes them.

use crate::{Answer, state, terminal};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// The mark file of this process, removed when this is dropped.
pub struct Running(PathBuf);

const RUNNING: &str = "running-";
const STOP: &str = "stop-";

impl Running {
    /// Marks this process as running batches; `None` for a user without a home folder, whose
    /// batches can only be stopped by Ctrl-C.
    ///
    /// # Errors
    /// The mark file cannot be created.
    pub fn begin() -> Result<Option<Running>> {
        let Some(folder) = folder() else { return Ok(None) };
        state::make(&folder).with_context(|| folder.display().to_string())?;
        let running = Running(folder);
        let _ = fs::remove_file(running.stop_file());
        fs::write(running.file(), "").with_context(|| running.file().display().to_string())?;
        Ok(Some(running))
    }

    /// Whether a stop was requested.
    pub fn is_stopped(&self) -> bool {
        self.stop_file().exists()
    }

    fn file(&self) -> PathBuf {
        self.0.join(format!("{RUNNING}{}", std::process::id()))
    }

    fn stop_file(&self) -> PathBuf {
        self.0.join(format!("{STOP}{}", std::process::id()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.file());
        let _ = fs::remove_file(self.stop_file());
    }
}

/// Requests all running batches to stop.
pub fn stop() -> Result<Answer> {
    let running = running();
    let (Some(folder), false) = (folder(), running.is_empty()) else {
        bail!("stop: no batch is running; nothing was stopped");
    };
    for process in running {
        let path = folder.join(format!("{STOP}{process}"));
        fs::write(&path, "").with_context(|| path.display().to_string())?;
        terminal::line(&format!("The batch of process {process} ends."));
    }
    Ok(Answer::Yes)
}

/// The processes that run batches.
pub fn running() -> Vec<u32> {
    let Some(folder) = folder() else { return Vec::new() };
    // Without the folder no batch has ever run.
    let Ok(entries) = fs::read_dir(&folder) else { return Vec::new() };
    let process = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix(RUNNING)?.parse::<u32>().ok();
    let (alive, gone): (Vec<u32>, Vec<u32>) = entries.flatten().filter_map(process).partition(is_alive);
    for process in gone {
        let _ = fs::remove_file(folder.join(format!("{RUNNING}{process}")));
        let _ = fs::remove_file(folder.join(format!("{STOP}{process}")));
    }
    alive
}

fn folder() -> Option<PathBuf> {
    state::folder().map(|folder| folder.join("ranread"))
}

fn is_alive(process: &u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}
