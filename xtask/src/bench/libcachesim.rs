//! PyPI's libcachesim compared with our caches, on the same trace.

use crate::root;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The results of a policy.
#[derive(Debug)]
pub struct Row {
    /// Our name of the policy.
    pub policy: String,
    /// Size of the cache in pages.
    pub size: u64,
    /// The part of the requests that missed.
    pub misses: f64,
    /// Requests per second.
    pub speed: f64,
}

/// The Python interpreter that has it, if any.
pub fn python() -> Option<PathBuf> {
    let folder = root().join("target/python");
    // The file lists the packages that were installed.
    let has = std::fs::read_to_string(folder.join("installed")).is_ok_and(|all| all.contains("libcachesim"));
    has.then(|| folder.join("bin/python"))
}

/// Plays a file of page numbers, one per line, through each policy at each size, for a number of
/// rounds.
///
/// # Errors
/// It is not installed, or fails.
pub fn play(trace: &Path, rounds: u32, sizes: &[u64]) -> Result<Vec<Row>> {
    let python = python().context("libcachesim is not in target/python; `cargo xtask test` puts it there")?;
    let mut command = Command::new(python);
    command.arg("-c").arg(include_str!("libcachesim.py")).arg(trace).arg(rounds.to_string());
    let output = command.args(sizes.iter().map(u64::to_string)).output().context("run libcachesim")?;
    if !output.status.success() {
        bail!("libcachesim: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| row(line).with_context(|| format!("libcachesim: no row: {line}"))).collect()
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.split(' ');
    let policy = words.next()?.to_owned();
    let size = words.next()?.parse().ok()?;
    Some(Row { policy, size, misses: words.next()?.parse().ok()?, speed: words.next()?.parse().ok()? })
}
