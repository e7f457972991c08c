//! The rows of all batches, kept in the user's state folder.
//!
//! ```text
//!   rows            all batches that are over, a line a process
//!   running-PID     the batch that process runs, written anew each second
//!   stop-PID        asks it to end
//! ```
//! A batch whose process is gone without an end left its rows in `running-PID`: whoever looks next takes them over.

use crate::{Answer, state, terminal};
use anyhow::{Context as _, Result, bail};
use ranread::Row;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The folder with them.
pub struct History(PathBuf);

/// A batch under way.
pub struct Running {
    folder: PathBuf,
    /// Its number.
    pub batch: u64,
}

const ROWS: &str = "rows";
const RUNNING: &str = "running-";
const STOP: &str = "stop-";

impl History {
    /// Opens it, and takes over what others left.
    ///
    /// # Errors
    /// There is no place for it, or it cannot be read.
    pub fn open() -> Result<History> {
        let Some(folder) = state::folder() else {
            bail!("ranread: rows are kept in XDG_STATE_HOME or HOME, and neither is set; set one");
        };
        let folder = folder.join("ranread");
        state::make(&folder).with_context(|| folder.display().to_string())?;
        let history = History(folder);
        history.adopt()?;
        Ok(history)
    }

    /// All rows of batches that are over. Lines that the end of a machine cut off are left out and told.
    pub fn rows(&self) -> Result<Vec<Row>> {
        rows_of(&self.0.join(ROWS))
    }

    /// Begins a batch; `blanks` are its rows before anything was done, made with its number.
    pub fn begin(&self) -> Result<Running> {
        let mut all = self.rows()?;
        for (_, path) in self.running()? {
            all.extend(rows_of(&path)?);
        }
        let batch = all.iter().map(|row| row.batch).max().unwrap_or(0) + 1;
        let running = Running { folder: self.0.clone(), batch };
        let _ = fs::remove_file(running.stop_file());
        Ok(running)
    }

    /// Asks all batches that run to end.
    pub fn stop(&self) -> Result<Answer> {
        let running = self.running()?;
        if running.is_empty() {
            bail!("stop: no batch is running; nothing was stopped");
        }
        for (process, _) in running {
            let path = self.0.join(format!("{STOP}{process}"));
            fs::write(&path, "").with_context(|| path.display().to_string())?;
            terminal::line(&format!("The batch of process {process} ends."));
        }
        Ok(Answer::Yes)
    }

    /// Forgets all rows.
    pub fn reset(&self) -> Result<Answer> {
        if let Some((process, _)) = self.running()?.first() {
            bail!("reset: process {process} runs a batch; stop it first");
        }
        let path = self.0.join(ROWS);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| path.display().to_string())
            }
            _ => Ok(Answer::Yes),
        }
    }

    /// Batches that run, by their processes.
    fn running(&self) -> Result<Vec<(u32, PathBuf)>> {
        let entries = fs::read_dir(&self.0).with_context(|| self.0.display().to_string())?;
        let running = |entry: fs::DirEntry| {
            let process = entry.file_name().to_str()?.strip_prefix(RUNNING)?.parse().ok()?;
            Some((process, entry.path()))
        };
        Ok(entries.flatten().filter_map(running).collect())
    }

    fn adopt(&self) -> Result<()> {
        for (process, path) in self.running()?.into_iter().filter(|(process, _)| !is_alive(*process)) {
            let rows = rows_of(&path)?;
            append(&self.0, &rows)?;
            fs::remove_file(&path).with_context(|| path.display().to_string())?;
            let _ = fs::remove_file(self.0.join(format!("{STOP}{process}")));
        }
        Ok(())
    }
}

impl Running {
    /// Keeps the rows so far in one step.
    pub fn so_far(&self, rows: &[Row]) -> Result<()> {
        let (path, beside) = (self.file(), self.folder.join(format!("new-{}", std::process::id())));
        let text: String = rows.iter().map(Row::line).collect();
        fs::write(&beside, text).and_then(|()| fs::rename(&beside, &path)).with_context(|| path.display().to_string())
    }

    /// Whether somebody asked it to end.
    pub fn is_stopped(&self) -> bool {
        self.stop_file().exists()
    }

    /// Keeps the rows for good.
    pub fn end(self, rows: &[Row]) -> Result<()> {
        append(&self.folder, rows)
    }

    fn file(&self) -> PathBuf {
        self.folder.join(format!("{RUNNING}{}", std::process::id()))
    }

    fn stop_file(&self) -> PathBuf {
        self.folder.join(format!("{STOP}{}", std::process::id()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.file());
        let _ = fs::remove_file(self.stop_file());
    }
}

fn append(folder: &Path, rows: &[Row]) -> Result<()> {
    let path = folder.join(ROWS);
    let text: String = rows.iter().map(Row::line).collect();
    let write = || {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&path)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()
    };
    write().with_context(|| path.display().to_string())
}

fn rows_of(path: &Path) -> Result<Vec<Row>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.with_context(|| path.display().to_string())?,
    };
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match Row::read(line) {
            Ok(row) => rows.push(row),
            Err(error) => {
                terminal::complain(&format!("{} line {}: {error}; it is left out", path.display(), index + 1));
            }
        }
    }
    Ok(rows)
}

fn is_alive(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}
