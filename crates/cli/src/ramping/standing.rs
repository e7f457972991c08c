//! How a ramp stands, for whoever looks: a line on the terminal, and a file in the folder of outputs for `--status`. A
//! file beside it asks the ramp to end.

use crate::interrupt::Stop;
use anyhow::{Context as _, Result, bail};
use block::Span;
use ramp::{Constants, Load, Phase, Progress};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

const STATUS: &str = "ramp.status";
const STOP: &str = "ramp.stop";

/// How a ramp stands.
pub struct Standing {
    folder: PathBuf,
    stop: Stop,
    live: bool,
    looks: u64,
    runs: usize,
}

impl Standing {
    /// For a ramp of `runs` runs with its outputs in `folder`.
    ///
    /// # Errors
    /// Another ramp is writing there.
    pub fn begin(folder: &Path, stop: Stop, runs: usize, quiet: bool) -> Result<Standing> {
        must_be_free(folder)?;
        let _ = std::fs::remove_file(folder.join(STOP));
        let live = !quiet && std::io::stderr().is_terminal();
        let standing = Standing { folder: folder.into(), stop, live, looks: 0, runs };
        standing.keep("starting")?;
        Ok(standing)
    }

    /// Shows how a run stands; whether it is to go on. `run` counts from 1, 0 is the warm-up.
    pub fn show(&mut self, run: usize, load: &Load, length: Span, constants: &Constants, progress: &Progress) -> bool {
        let line = line(run, self.runs, load, length, constants, progress);
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
        }
        // A file each second, not each look.
        if self.looks.is_multiple_of(5) {
            let _ = self.keep(&line);
        }
        self.looks += 1;
        !self.is_stopped()
    }

    /// Whether an end was asked for.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_asked() || self.folder.join(STOP).exists()
    }

    /// Makes room on the terminal for a line.
    pub fn clear(&self) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    fn keep(&self, line: &str) -> Result<()> {
        let path = self.folder.join(STATUS);
        let text = format!("{} {line}\n", std::process::id());
        std::fs::write(&path, text).with_context(|| path.display().to_string())
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.clear();
        let _ = std::fs::remove_file(self.folder.join(STATUS));
        let _ = std::fs::remove_file(self.folder.join(STOP));
    }
}

/// An error when another ramp has its outputs in `folder`.
pub fn must_be_free(folder: &Path) -> Result<()> {
    match read(folder)?.filter(|(pid, _)| is_alive(*pid)) {
        Some((pid, _)) => {
            bail!("--output: the ramp of process {pid} is running in {}; name another folder", folder.display())
        }
        None => Ok(()),
    }
}

/// How the ramp in `folder` stands.
pub fn said(folder: &Path) -> Result<String> {
    match read(folder)? {
        Some((pid, line)) if is_alive(pid) => Ok(format!("process {pid}: {line}")),
        Some((pid, line)) => bail!("the ramp of process {pid} is gone without an end; it stood at: {line}"),
        None => bail!("--status: no ramp is running with its outputs in {}", folder.display()),
    }
}

/// Asks the ramp in `folder` to end.
pub fn ask_to_stop(folder: &Path) -> Result<()> {
    said(folder)?;
    let path = folder.join(STOP);
    std::fs::write(&path, "").with_context(|| path.display().to_string())
}

fn read(folder: &Path) -> Result<Option<(u32, String)>> {
    let path = folder.join(STATUS);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let (pid, line) = text.trim().split_once(' ').unwrap_or_default();
    Ok(pid.parse().ok().map(|pid| (pid, line.to_owned())))
}

fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

fn line(run: usize, runs: usize, load: &Load, length: Span, constants: &Constants, progress: &Progress) -> String {
    let seconds = |span: Span| span.as_secs_f64().round();
    let name = if run == 0 { "warm-up".to_owned() } else { format!("run {run} of {runs}") };
    let phase = match progress.phase {
        Phase::Sleep => "asleep",
        Phase::Journal => "journal",
        Phase::JournalSync => "journal sync",
        Phase::Data => "database",
        Phase::DataSync => "database sync",
        Phase::Clear => "journal clear",
    };
    let mut line = format!(
        "{name}, {} IOPS, {} of {} s, read {}, cycle {}: {phase}",
        load.target,
        seconds(progress.elapsed),
        seconds(length),
        progress.read_mean,
        progress.cycles + 1,
    );
    if progress.phase != Phase::Sleep {
        let limit = constants.cycle_limit();
        let left = limit.as_secs_f64() - progress.cycle.as_secs_f64();
        line += &format!(", {} blocks left, {left:.1} s to the line of {limit}", progress.blocks_left);
    }
    line
}
