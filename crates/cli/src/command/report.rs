//! `seawall report`: one page about kept runs.

use crate::memory::Memory;
use crate::{Answer, command, terminal};
use anyhow::{Context as _, Result};
use std::path::PathBuf;

/// Write a page about one run, or several side by side
///
/// The runs are named as for `seawall results`. The page needs no network and no script.
#[derive(clap::Args)]
pub struct Report {
    /// The runs
    #[arg(value_name = "RUN", default_value = "last")]
    runs: Vec<String>,
    /// The page
    #[arg(short, long, value_name = "FILE", default_value = "page.html")]
    output: PathBuf,
}

impl Report {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let database = command::results::open(memory)?;
        let numbers = self.runs.iter().map(|run| database.number_of(run)).collect::<Result<Vec<_>, _>>()?;
        let runs =
            numbers.iter().map(|number| command::results::drawn(&database, *number)).collect::<Result<Vec<_>>>()?;
        let mut recordings: Vec<_> = runs.iter().map(stats::run::Run::recording).collect();
        if let [_, _, ..] = &recordings[..] {
            // With several runs, the number identifies each in the database.
            for (recording, number) in recordings.iter_mut().zip(&numbers) {
                let title = &mut recording.origin.title;
                *title = format!("{title} (run {number})").trim_start().to_owned();
            }
        }
        let page = report::run_page(&recordings.iter().collect::<Vec<_>>());
        std::fs::write(&self.output, page.render()).with_context(|| format!("--output {}", self.output.display()))?;
        terminal::line(&format!("page      {}", self.output.display()));
        Ok(Answer::Yes)
    }
}
