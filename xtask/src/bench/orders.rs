//! `cargo xtask bench orders`: how long an administrators' order occupies the data thread, with
//! many LUNs and a large one.

use super::{Folder, load_average};
use crate::root;
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The options of `bench orders`.
#[derive(clap::Args)]
pub struct Orders {
    /// Where the pool is made: a folder that does not exist; on tmpfs the disk is not what is
    /// measured
    #[arg(long, default_value = "/dev/shm/seawall-bench-orders")]
    folder: PathBuf,
    /// LUNs of one volume, all in one policy group
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    luns: u32,
    /// The size of a LUN whose blocks are all allocated, in GiB
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=4096))]
    gib: u64,
}

impl Orders {
    /// Measures and prints the table.
    ///
    /// # Errors
    /// It cannot be built, or fails.
    pub fn run(&self) -> Result<()> {
        println!("load average at the start: {}", load_average()?);
        let folder = Folder::make(&self.folder)?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["run", "--quiet", "--release", "--package", "server", "--example", "orders", "--"]);
        command.arg(&folder.0).args([self.luns.to_string(), self.gib.to_string()]);
        let status = command.current_dir(root()).stdin(Stdio::null()).status().context("run the example orders")?;
        if !status.success() {
            bail!("the example orders: {status}");
        }
        println!("load average at the end: {}", load_average()?);
        Ok(())
    }
}
