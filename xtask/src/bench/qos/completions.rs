//! When each request of a fio run completed and how long it took, from fio's log of completion
//! latencies.

use super::super::fio::Load;
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running load, with a line in a log for every request.
pub struct Running {
    fio: Child,
    log: std::path::PathBuf,
}

/// The command of [`Running::start`].
pub fn command(load: &Load, uri: &str, seconds: u64, folder: &Path, name: &str, more: &[&str]) -> Command {
    let mut command = load.command(uri, seconds, folder);
    // Timestamps of the wall clock, so that two concurrent runs can be compared.
    command.arg(format!("--write_lat_log={name}")).arg("--log_unix_epoch=1").args(more);
    command
}

impl Running {
    /// Starts it; `name` distinguishes its log from others in the folder.
    ///
    /// # Errors
    /// fio cannot be started.
    pub fn start(load: &Load, uri: &str, seconds: u64, folder: &Path, name: &str, more: &[&str]) -> Result<Running> {
        let mut command = command(load, uri, seconds, folder, name, more);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(Running { fio: quiet.spawn().context("start fio")?, log: folder.join(format!("{name}_clat.1.log")) })
    }

    /// Waits for its end and parses its log.
    ///
    /// # Errors
    /// fio failed, or its log cannot be parsed.
    pub fn finish(self) -> Result<Completions> {
        let output = self.fio.wait_with_output()?;
        if !output.status.success() {
            bail!("fio: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let text = std::fs::read_to_string(&self.log).with_context(|| self.log.display().to_string())?;
        std::fs::remove_file(&self.log)?;
        Completions::parse(&text)
    }
}

/// Completed requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completions {
    /// The time of each in milliseconds of the wall clock, and its latency in nanoseconds; in the
    /// order of the log.
    all: Vec<(u64, u64)>,
}

impl Completions {
    /// Parses lines of `time in ms, latency in ns, direction, bytes, …`.
    fn parse(text: &str) -> Result<Completions> {
        let line = |line: &str| -> Option<(u64, u64)> {
            let mut fields = line.split(',').map(str::trim);
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        };
        let all = text.lines().map(|l| line(l).with_context(|| format!("fio's log: {l:?}")));
        Ok(Completions { all: all.collect::<Result<_>>()? })
    }

    /// The numbers of both in each second, from the first to the last second in which both have
    /// requests.
    pub fn by_second(&self, other: &Completions) -> Vec<(u64, u64)> {
        let span = |c: &Completions| Some((c.all.iter().map(|a| a.0).min()?, c.all.iter().map(|a| a.0).max()?));
        let (Some(one), Some(two)) = (span(self), span(other)) else { return Vec::new() };
        let (from, to) = (one.0.max(two.0), one.1.min(two.1));
        let count = |c: &Completions, at: u64| c.all.iter().filter(|a| (at..at + 1000).contains(&a.0)).count() as u64;
        let starts = (from..to.saturating_sub(999)).step_by(1000);
        starts.map(|at| (count(self, at), count(other, at))).collect()
    }

    /// Most completions in any second, in steps of 10 ms, including the first second.
    pub fn worst_window(&self) -> u64 {
        let first = self.all.iter().map(|a| a.0).min().unwrap_or(0);
        let mut bins = Vec::new();
        for (at, _) in &self.all {
            let bin = ((at - first) / 10) as usize;
            bins.resize(bins.len().max(bin + 1), 0u64);
            bins[bin] += 1;
        }
        bins.windows(100.min(bins.len().max(1))).map(|window| window.iter().sum()).max().unwrap_or(0)
    }

    /// Completions per second, over `seconds`.
    pub fn mean(&self, seconds: u64) -> f64 {
        self.all.len() as f64 / seconds as f64
    }

    /// The median latency in each second from the first request to the last of either, in
    /// microseconds; `None` for a second without requests.
    pub fn medians(&self, other: &Completions) -> Vec<Option<f64>> {
        let Some(from) = self.all.iter().map(|a| a.0).min() else { return Vec::new() };
        let to = self.all.iter().chain(&other.all).map(|a| a.0).max().unwrap_or(from);
        let starts = (from..to.saturating_sub(999)).step_by(1000);
        let of = |at: u64| Completions {
            all: self.all.iter().filter(|a| (at..at + 1000).contains(&a.0)).copied().collect(),
        };
        starts.map(of).map(|second| (!second.all.is_empty()).then(|| second.percentile(50.0))).collect()
    }

    /// The given percentile of latency, in microseconds.
    pub fn percentile(&self, percent: f64) -> f64 {
        let mut took: Vec<u64> = self.all.iter().map(|a| a.1).collect();
        took.sort_unstable();
        let at = (took.len() as f64 * percent / 100.0) as usize;
        took.get(at.min(took.len().saturating_sub(1))).map_or(0.0, |&ns| ns as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_seconds_are_counted_from_the_log() {
        // 100 requests at one moment, 900 over the following second, then one every 10 ms.
        let burst = (0..100).map(|_| 5_000);
        let rest = (0..900).map(|i| 5_001 + i);
        let slow = (0..200).map(|i| 6_000 + 10 * i);
        let text: String = burst.chain(rest).chain(slow).map(|at| format!("{at}, 50000, 0, 4096, 0, 0\n")).collect();
        let completions = Completions::parse(&text).unwrap();
        assert_eq!(completions.worst_window(), 1_000);
        assert_eq!(completions.mean(3), 400.0);
        assert_eq!(completions.percentile(99.0), 50.0);
        assert_eq!(completions.by_second(&completions), [(1_000, 1_000), (100, 100)]);
        assert_eq!(completions.medians(&completions), [Some(50.0); 2]);
        let later = Completions { all: vec![(9_500, 1)] };
        assert_eq!(completions.medians(&later), [Some(50.0), Some(50.0), Some(50.0), None]);
        assert!(Completions::parse("no log").is_err());
        assert_eq!(Completions::default().worst_window(), 0);
    }
}
