//! `seawall simulate`: a plan in virtual time.

use crate::Answer;
use crate::play::{self, Options};
use anyhow::{Context as _, Result};
use std::path::PathBuf;

/// Run a plan in virtual time over the simulated device that it names
///
/// The same workloads, commands and QoS gate as in `seawall run`, over the device that the plan's table `device`
/// describes. The same plan gives the same result, to the last digit, in seconds.
#[derive(clap::Args)]
pub struct Simulate {
    /// The plan file
    plan: PathBuf,
    #[command(flatten)]
    options: Options,
}

impl Simulate {
    pub fn run(self) -> Result<Answer> {
        let name = self.plan.display().to_string();
        let text = std::fs::read_to_string(&self.plan).with_context(|| format!("PLAN {name}: cannot be read"))?;
        play::simulated(&text, &name, &self.options)
    }
}
