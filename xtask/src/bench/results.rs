//! `cargo xtask bench results`: how large a results database gets, how long views of it and its
//! page take, how much memory the plan behind it, and what recording costs the load engine. Bounds
//! are on the processor's time, which the examples say beside that by the clock, and on
//! instructions: a busy machine decides nothing.

use super::{Folder, load_average, need};
use crate::root;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The options of `bench results`.
#[derive(clap::Args)]
pub struct Results {
    /// Where the database is made: a folder that does not exist
    #[arg(long, default_value = "target/bench-results")]
    folder: PathBuf,
    /// Only what recording costs the load engine
    #[arg(long)]
    recording: bool,
}

impl Results {
    /// Measures and prints the figures.
    ///
    /// # Errors
    /// It cannot be built, or fails.
    pub fn run(&self) -> Result<()> {
        need(&["valgrind", "callgrind_annotate"])?;
        println!("load average at the start: {}", load_average()?);
        let folder = Folder::make(&self.folder)?;
        if self.recording {
            return recording(&folder.0);
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["run", "--quiet", "--release", "--package", "results", "--example", "growth", "--"]);
        let file = std::path::absolute(&folder.0)?.join("results.sqlite");
        let status = command.arg(&file).current_dir(root()).stdin(Stdio::null()).status();
        let status = status.context("run the example growth")?;
        recording(&folder.0)?;
        memory()?;
        println!("load average at the end: {}", load_average()?);
        if !status.success() {
            bail!("the example growth: {status}");
        }
        Ok(())
    }
}

/// How much memory a plan takes that runs so long.
fn memory() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--release", "--package", "engine", "--example", "day", "--", "24", "100"]);
    let status = command.current_dir(root()).stdin(Stdio::null()).status().context("run the example day")?;
    if !status.success() {
        bail!("the example day: {status}");
    }
    Ok(())
}

/// Of the seconds that the engine's example plays on nothing.
const SECONDS: u64 = 5;
/// Of the hour that the example growth writes.
const HOUR: u64 = 3600;
/// What recording may cost the engine, as a part of its instructions.
const RECORDING_MOST: f64 = 0.005;

/// What the engine's recorder does at the end of each second; what ends its slices besides is a
/// twentieth of that.
const ENDS: &str = "stats::tape::Tape::end_second";

/// What recording costs the load engine, in instructions as callgrind counts them: what ends a
/// second, and what writes it, of all that the engine does on nothing in that second. Under
/// callgrind the engine has a twentieth of its requests a second, so that by itself the part is
/// smaller yet.
fn recording(folder: &Path) -> Result<()> {
    let seconds = SECONDS.to_string();
    let (engine, ends) = counted(folder, "engine", "job", &["null", "--seconds", &seconds], ENDS)?;
    let file = folder.join("hour.sqlite");
    let file = file.to_str().context("a folder whose name is no text")?;
    let (_, writes) = counted(folder, "results", "growth", &[file, "--hour"], "results::Results::replace")?;
    let (engine, ends, writes) = (engine / SECONDS, ends / SECONDS, writes / HOUR);
    let part = (ends + writes) as f64 / engine as f64;
    println!(
        "{:>7.2} %   of the engine's instructions for recording: in a second {ends} to end it and {writes} to write it, \
         of {engine}",
        part * 100.0
    );
    if part > RECORDING_MOST {
        bail!("recording may cost {} % of the engine's instructions", RECORDING_MOST * 100.0);
    }
    Ok(())
}

/// The instructions of an example, and of a function of it with all that it calls.
fn counted(folder: &Path, package: &str, example: &str, arguments: &[&str], function: &str) -> Result<(u64, u64)> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--quiet", "--release", "--package", package, "--example", example];
    super::succeed(Command::new(cargo).args(build).current_dir(root()))?;
    let out = std::path::absolute(folder.join(format!("callgrind.{example}")))?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind"]).arg(format!("--callgrind-out-file={}", out.display()));
    valgrind.arg(root().join("target/release/examples").join(example)).args(arguments);
    super::succeed(valgrind.stdout(Stdio::null()).stderr(Stdio::null()))?;
    let mut annotate = Command::new("callgrind_annotate");
    let text =
        annotate.args(["--inclusive=yes", "--threshold=100"]).arg(&out).output().context("callgrind_annotate")?;
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let of = |name: &str| -> Result<u64> {
        let line = text.lines().find(|line| line.contains(name) && line.contains('('));
        let line = line.with_context(|| format!("callgrind did not see {name}"))?;
        let number = line.split_whitespace().next().unwrap_or_default().replace(',', "");
        number.parse().with_context(|| format!("not a number of instructions: {line}"))
    };
    Ok((of("PROGRAM TOTALS")?, of(function)?))
}
