//! `seawall run`: any plan, on real storage.

use crate::Answer;
use crate::memory::Memory;
use crate::play::{self, Options, RealOptions};
use anyhow::{Context as _, Result};
use std::path::PathBuf;

/// Run a plan on real storage
///
/// Makes its volumes in a folder of its own, serves them over NBD to its workloads, plays its phases and judges its
/// criteria; removes the volumes at the end. Ctrl-C ends it early and keeps what was measured; a second one stops at
/// once. docs/plans.md has every key of a plan.
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
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let name = self.plan.display().to_string();
        let text = std::fs::read_to_string(&self.plan).with_context(|| format!("PLAN {name}: cannot be read"))?;
        play::on_real_storage(&text, &name, &self.options.kept_by("run", memory), &self.real)
    }
}
