//! `seawall run`: any plan, on real storage.

use crate::Answer;
use crate::play::{self, Options, RealOptions};
use anyhow::{Context as _, Result};
use std::path::PathBuf;

/// Runs a plan on real storage: makes its volumes in a folder of its own and serves them over NBD to its workloads.
#[derive(clap::Args)]
pub struct Run {
    /// The plan file
    plan: PathBuf,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    real: RealOptions,
}

impl Run {
    pub fn run(self) -> Result<Answer> {
        let name = self.plan.display().to_string();
        let text = std::fs::read_to_string(&self.plan).with_context(|| format!("PLAN {name}: cannot be read"))?;
        play::on_real_storage(&text, &name, &self.options, &self.real)
    }
}
