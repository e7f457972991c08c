//! `seawall run`: any plan on real storage.

use crate::Answer;
use crate::dataset;
use crate::memory::Memory;
use crate::play::{self, Options, RealOptions};
use anyhow::Result;
use stage::Elsewhere;
use std::path::PathBuf;

/// Run a plan on real storage
///
/// Creates the plan's volumes in a folder of its own, serves them over NBD to the workloads, plays
/// the phases and judges the criteria; removes the volumes at the end. A volume with a place is an
/// existing file, device or export, and stays. Ctrl-C ends it early and keeps what was measured; a
/// second one stops at once. docs/plans.md has every key of a plan.
#[derive(clap::Args)]
pub struct Run {
    /// The plan file
    plan: PathBuf,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    real: RealOptions,
    /// Use this place for a volume, instead of the plan's: a file in a mounted folder, a device,
    /// nfs://HOST/EXPORT/FILE
    #[arg(long, value_name = "VOLUME=PLACE")]
    place: Vec<String>,
    /// A volume's place that may be overwritten although it holds something; a name, a pattern or a
    /// folder
    #[arg(long, value_name = "PLACE")]
    destroy_data: Vec<String>,
    /// A volume's place that may be written although it is in use
    #[arg(long, value_name = "PLACE")]
    even_in_use: Vec<String>,
}

impl Run {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let name = self.plan.display().to_string();
        let text = play::text_of(&self.plan)?;
        let consent = dataset::consent(&self.destroy_data, &self.even_in_use);
        let options = &self.options.kept_by("run", memory);
        play::on_real_storage(&text, &name, options, &self.real, &Elsewhere { places: &self.place, consent })
    }
}
