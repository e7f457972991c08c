//! A server under test: starting it, waiting for it, reading its processor time, ending it.

use super::line_of;
use crate::step::Watch;
use anyhow::{Context as _, Result, bail};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a server may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server, which is killed when this is dropped.
#[derive(Debug)]
pub struct Served(Child);

impl Served {
    /// Starts it and waits until it accepts connections at `socket`.
    ///
    /// # Errors
    /// It cannot be started, or ends before it accepts.
    pub fn start(command: Command, socket: &Path) -> Result<Served> {
        Served::start_until(command, |_| UnixStream::connect(socket).is_ok())
    }

    /// Starts it and waits until it is ready.
    ///
    /// # Errors
    /// It cannot be started, or ends before it is ready.
    pub fn start_until(mut command: Command, mut is_ready: impl FnMut(&Served) -> bool) -> Result<Served> {
        let line = line_of(&command);
        // Probing whether it listens makes some servers complain about a client that sends nothing.
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut served = Served(quiet.spawn().with_context(|| format!("start {line}"))?);
        let watch = Watch::start();
        while !is_ready(&served) {
            if let Some(status) = served.0.try_wait()? {
                bail!("{line}: it ended before it listened: {status}");
            }
            if watch.elapsed() > PATIENCE {
                bail!("{line}: it does not listen");
            }
            std::thread::yield_now();
        }
        Ok(served)
    }

    /// Processor time that all of its threads have used, in seconds.
    ///
    /// # Errors
    /// The process is gone.
    pub fn cpu_seconds(&self) -> Result<f64> {
        cpu_seconds_of(self.0.id())
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn ended(mut self) -> Result<()> {
        self.0.wait().context("wait for its end")?;
        Ok(())
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

/// Processor time that all threads of a process have used, in seconds.
///
/// # Errors
/// There is no such process.
pub fn cpu_seconds_of(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let stat = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    let ticks = ticks_of(&stat).with_context(|| format!("{path}: {stat}"))?;
    Ok(ticks as f64 / TICKS_PER_SECOND)
}

/// Processor time of processes that have ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuSeconds {
    /// In user mode.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

/// Processor time of all child processes that have ended: fields 16 and 17 of this process's `stat`
/// (proc(5)).
///
/// # Errors
/// The system does not report it.
pub fn children_seconds() -> Result<CpuSeconds> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("/proc/self/stat")?;
    children_of(&stat).with_context(|| format!("/proc/self/stat: {stat}"))
}

fn children_of(stat: &str) -> Option<CpuSeconds> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(16 - 3);
    let mut next = || Some(fields.next()?.parse::<u64>().ok()? as f64 / TICKS_PER_SECOND);
    Some(CpuSeconds { user: next()?, system: next()? })
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ticks per second in which Linux reports processor time, on every architecture that we run on
/// (`getconf CLK_TCK`).
const TICKS_PER_SECOND: f64 = 100.0;

/// User plus system time in a process's `stat`: fields 14 and 15 (proc(5)). The second field is the
/// program's name in brackets and may contain anything, so counting starts after the last bracket,
/// where field 3 follows.
fn ticks_of(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(14 - 3);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_behind_any_name() {
        let stat = "7 (a) name (x) S 1 7 7 0 -1 4194560 10 0 0 0 123 45 0 0 20 0 1 0 99 1000 1";
        assert_eq!(ticks_of(stat), Some(168));
        assert_eq!(ticks_of("7 (a) S 1"), None);
        let stat = "7 (a) S 1 7 7 0 -1 4194560 10 0 0 0 123 45 200 50 20 0 1 0 99 1000 1";
        assert_eq!(children_of(stat), Some(CpuSeconds { user: 2.0, system: 0.5 }));
    }
}
