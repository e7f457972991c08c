//! nfs-ganesha in a network namespace of its own, and a loop over libnfs.

use super::super::fio::Done;
use super::super::served::{Served, cpu_seconds_of};
use super::super::{succeed, text_of};
use super::Shape;
use super::place::Place;
use crate::root;
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// nfs-ganesha with a copy of the data.
pub(super) struct Ganesha {
    _served: Served,
    process: u32,
    pub(super) place: Place,
}

impl Ganesha {
    /// Starts it as the tests do, in a folder of its own.
    pub(super) fn start(folder: &Path, data: &Path) -> Result<Ganesha> {
        let folder = folder.join("ganesha");
        let export = folder.join("export");
        std::fs::create_dir_all(&export)?;
        std::fs::copy(data, export.join("data")).with_context(|| export.display().to_string())?;
        let mut command = Command::new("sh");
        command.arg(root().join("crates/server/tests/support/ganesha.sh")).arg(&folder);
        let (what, file, folder) = ("a file of nfs-ganesha", "data", export.display().to_string());
        let mut place = Place { what, port: None, folder, file, inside: None };
        let served = Served::start_until(command, |served| {
            place.inside = Some(served.id());
            let mut look = place.command(Path::new("nfs-ls"));
            look.arg(format!("nfs://127.0.0.1{}?version=3", place.folder));
            look.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            look.status().is_ok_and(|status| status.success())
        })?;
        // The process that was started only waits for its only child, the server.
        let path = format!("/proc/{0}/task/{0}/children", served.id());
        let children = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        let process = children.trim().parse().with_context(|| format!("{path}: {children}"))?;
        Ok(Ganesha { _served: served, process, place })
    }

    /// Processor time that it has used, in seconds.
    pub(super) fn cpu_seconds(&self) -> Result<f64> {
        cpu_seconds_of(self.process)
    }

    /// Bytes on its loopback device so far, in both directions.
    pub(super) fn wire_bytes(&self) -> Result<u64> {
        let path = format!("/proc/{}/net/dev", self.process);
        let devices = std::fs::read_to_string(&path).with_context(|| path.clone())?;
        let found = devices.lines().find_map(|line| line.trim().strip_prefix("lo:")?.split_whitespace().next());
        found.and_then(|bytes| bytes.parse().ok()).with_context(|| format!("{path}: no bytes of lo"))
    }
}

/// A loop over libnfs.
pub(super) struct Loop(PathBuf);

impl Loop {
    /// Builds it.
    pub(super) fn build(folder: &Path) -> Result<Loop> {
        let program = folder.join("loop");
        let source = root().join("xtask/src/bench/nfs/loop.c");
        let mut command = Command::new("cc");
        command.args(["-O2", "-o"]).arg(&program).arg(source).arg("-lnfs");
        succeed(&mut command).context("it needs a C compiler and the package libnfs-dev")?;
        Ok(Loop(program))
    }

    /// Its command.
    pub(super) fn command(&self, place: &Place, version: u32, shape: Shape, seconds: u64, bytes: u64) -> Command {
        let mut command = place.command(&self.0);
        let kind = if shape.load.pattern.ends_with("write") { "write" } else { "read" };
        let numbers = [seconds, shape.load.depth.into(), shape.block().into(), bytes, shape.commit_every.into()];
        command.arg(place.libnfs(version)).arg(kind).args(numbers.map(|number| number.to_string()));
        command
    }

    /// Runs it; returns its results and its processor time in seconds. It reports no median.
    pub(super) fn run(
        &self,
        place: &Place,
        version: u32,
        shape: Shape,
        seconds: u64,
        bytes: u64,
    ) -> Result<(Done, f64)> {
        let text = text_of(&mut self.command(place, version, shape, seconds, bytes))?;
        let mut words = text.split_whitespace();
        let mut next = || words.next().and_then(|word| word.parse::<f64>().ok());
        let (Some(operations), Some(seconds), Some(used)) = (next(), next(), next()) else {
            anyhow::bail!("the loop over libnfs says: {text}");
        };
        Ok((Done { operations: operations as u64, seconds, p50_us: f64::NAN }, used))
    }
}
