//! Other programs that a run of a database needs, and checks that they are installed.

use anyhow::{Context as _, Result, bail};
use database::{Private, StopSignal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use workload::plan::{Bottleneck, DatabasePlan};

/// Folders to search besides `PATH`: some programs are only in root's path.
const BESIDE: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Checks that all programs for a run are installed.
///
/// # Errors
/// A program is missing; one line with its name.
pub fn all_there(plan: &DatabasePlan) -> Result<()> {
    let skipped = "cannot say: the run was skipped";
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0);
    if !is_root {
        bail!("{skipped}: it mounts file systems, which takes root; seawall simulate needs neither");
    }
    let mut needed = vec!["nbdfuse", "losetup", "mkfs.ext4", "mount", "umount"];
    if plan.database.bottleneck == Bottleneck::Delay {
        needed.push("nbdkit");
    }
    let missing: Vec<&str> = needed.into_iter().filter(|program| found(program).is_none()).collect();
    if !missing.is_empty() {
        bail!("{skipped}: {} not installed; seawall simulate needs none", missing.join(", "));
    }
    if Private::programs().is_none() {
        bail!("{skipped}: PostgreSQL's server is not installed; seawall simulate needs none");
    }
    if let Err(error) = std::fs::File::options().read(true).write(true).open("/dev/fuse") {
        bail!("{skipped}: /dev/fuse cannot be opened ({error})");
    }
    Ok(())
}

/// The path of a program.
fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(BESIDE.map(PathBuf::from)).collect();
    folders.into_iter().map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// A program that does not receive the terminal's Ctrl-C; this process ends it.
pub fn command(program: &str) -> Command {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new(found(program).unwrap_or_else(|| program.into()));
    command.stdin(Stdio::null()).process_group(0);
    command
}

/// Runs a program to its end and returns what it printed.
///
/// # Errors
/// It failed; the error is the last line of its output.
pub fn run(command: &mut Command) -> Result<String> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ended = command.output().with_context(|| name.clone())?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    bail!("{name}: {}", said.lines().last().unwrap_or("failed"))
}

/// Waits briefly, for a program that does not signal when it is ready.
pub fn pause() {
    StopSignal::default().wait(block::Span::from_millis(10));
}
