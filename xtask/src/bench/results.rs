//! `cargo xtask bench results`: how large a results database gets, how long views of it and its page take, and how much
//! memory the plan behind it.

use super::{Folder, load_average, release_build};
use crate::root;
use crate::step::Watch;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

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
        if !status.success() {
            bail!("the example growth: {status}");
        }
        self.page(&file)?;
        memory()?;
        println!("load average at the end: {}", load_average()?);
        Ok(())
    }

    /// The page of the day as a whole: read, drawn and written by the program itself.
    fn page(&self, file: &Path) -> Result<()> {
        let program = release_build()?;
        let page = file.with_file_name("page.html");
        let watch = Watch::start();
        let mut command = Command::new(program);
        command.arg("--results").arg(file).args(["report", "1", "--output"]).arg(&page);
        let output = command.output().context("run seawall report")?;
        if !output.status.success() {
            bail!("seawall report: {}", String::from_utf8_lossy(&output.stderr));
        }
        let (took, bytes) = (watch.elapsed(), std::fs::metadata(&page)?.len());
        println!("{:>7.1} s   for its page of {:.1} MB", took.as_secs_f64(), bytes as f64 / 1e6);
        if took > PAGE_TIME_MOST || bytes > PAGE_BYTES_MOST {
            bail!("a page may take {} s and {} MB", PAGE_TIME_MOST.as_secs(), PAGE_BYTES_MOST / 1_000_000);
        }
        Ok(())
    }
}

/// What the page of a day with a hundred workloads may take.
const PAGE_TIME_MOST: Duration = Duration::from_secs(5);
const PAGE_BYTES_MOST: u64 = 6_000_000;

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
