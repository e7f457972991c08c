//! `cargo xtask bench store`: the cost of maps compared with a sparse file, through clones and for
//! a first write, and the time to open a pool.

use super::Folder;
use crate::root;
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The options of `bench store`.
#[derive(clap::Args)]
pub struct Store {
    /// Where the pools are made: a folder that does not exist; on tmpfs the disk is not what is
    /// measured
    #[arg(long, default_value = "/dev/shm/seawall-bench-store")]
    folder: PathBuf,
    /// Past the page cache
    #[arg(long)]
    direct: bool,
    /// The size of the maps that are opened, in GiB
    #[arg(long, default_value_t = 1024)]
    gib: u64,
}

impl Store {
    /// Runs both and prints their tables.
    ///
    /// # Errors
    /// They cannot be built, or fail.
    pub fn run(&self) -> Result<()> {
        let folder = Folder::make(&self.folder)?;
        let gib = self.gib.to_string();
        let way: &[&str] = if self.direct { &["direct"] } else { &[] };
        for (name, words) in [("maps", way), ("opening", &[gib.as_str()])] {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut command = Command::new(cargo);
            command.args(["run", "--quiet", "--release", "--package", "store", "--example", name, "--"]);
            command.arg(&folder.0).args(words).current_dir(root()).stdin(Stdio::null());
            let status = command.status().with_context(|| format!("run the example {name}"))?;
            if !status.success() {
                bail!("the example {name}: {status}");
            }
        }
        Ok(())
    }
}
