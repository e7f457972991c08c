//! `cargo xtask bench results`: how large a results database gets, how long views of it and its
//! page take, and how much memory the plan behind it. Bounds are on the processor's time, which the
//! examples say beside that by the clock: a busy machine decides nothing.

use super::{Folder, load_average};
use crate::root;
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The options of `bench results`.
#[derive(clap::Args)]
pub struct Results {
    /// Where the database is made: a folder that does not exist
    #[arg(long, default_value = "target/bench-results")]
    folder: PathBuf,
}

impl Results {
    /// Measures and prints the figures.
    ///
    /// # Errors
    /// It cannot be built, or fails.
    pub fn run(&self) -> Result<()> {
        println!("load average at the start: {}", load_average()?);
        let folder = Folder::make(&self.folder)?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["run", "--quiet", "--release", "--package", "results", "--example", "growth", "--"]);
        let file = std::path::absolute(&folder.0)?.join("results.sqlite");
        let status = command.arg(&file).current_dir(root()).stdin(Stdio::null()).status();
        let status = status.context("run the example growth")?;
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
