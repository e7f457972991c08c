//! `cargo xtask soak`: the fuzz targets driven for a while by a seeded generator, with the compiler that builds the rest.

use crate::root;
use anyhow::{Context as _, Result};
use clap::Subcommand;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What to soak.
#[derive(Subcommand)]
pub enum Soak {
    /// Histories of the scheduler and of the registry (`fuzz/qos`)
    Qos(Qos),
}

/// The options of `soak qos`.
#[derive(clap::Args)]
pub struct Qos {
    /// For how long
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    minutes: u64,
    /// What all inputs follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Soak {
    /// Runs it at the lowest priority. False if something was found: the line that repeats it was printed.
    ///
    /// # Errors
    /// It cannot be built or started.
    pub fn run(&self) -> Result<bool> {
        let Soak::Qos(qos) = self;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(cargo).args(["run", "--quiet", "--release", "--bin", "soak"]);
        command.arg("--manifest-path").arg(root().join("fuzz/qos/Cargo.toml")).arg("--target-dir");
        command.arg(target.join("fuzz")).arg("--").arg((qos.minutes * 60).to_string()).arg(qos.seed.to_string());
        let status = command.stdin(Stdio::null()).status().context("run the soak")?;
        Ok(status.success())
    }
}
