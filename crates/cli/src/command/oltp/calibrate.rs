//! `seawall oltp calibrate`: order entry in virtual time, compared with runs of a real database.

use crate::command::{reproduce, results};
use crate::memory::Memory;
use crate::outputs::{check_new, check_out};
use crate::{Answer, terminal};
use ::results::Results as Database;
use anyhow::{Context as _, Result, anyhow, bail};
use capacity::{ShopRun, calibrate_shop};
use std::path::PathBuf;

/// Fit order entry in virtual time to a run of a real database, and check it on another one
///
/// Both are kept runs of `seawall oltp run`, with buffers of different sizes: four or five numbers
/// are fitted to the first, and the second shows how well they predict. Exit code 1: its
/// transactions per second differ by more than --within.
#[derive(clap::Args)]
pub struct Calibrate {
    /// The run that is fitted to, by number, `last`, `last~1` or uuid
    #[arg(long, value_name = "RUN")]
    run: String,
    /// The run that is held out: other buffers, or memory
    #[arg(long, value_name = "RUN")]
    held_out: String,
    /// Maximum error on the second run, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    within: u32,
    /// The file of the storage that the database saw, for --array
    #[arg(short, long, value_name = "FILE", default_value = "storage-seen.toml")]
    output: PathBuf,
    /// Where the page goes
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// The seed of virtual time
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl Calibrate {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        check_out(&self.out)?;
        check_new(&self.output)?;
        let database = results::open(memory)?;
        let [fitted, held_out] =
            [("--run", &self.run), ("--held-out", &self.held_out)].map(|(option, name)| point(option, name, &database));
        let (fitted, held_out) = (fitted?, held_out?);
        let within = f64::from(self.within) / 100.0;
        let (found, comparison) =
            calibrate_shop([&fitted, &held_out], within, self.seed).map_err(|rule| anyhow!(rule))?;
        assert!(comparison.is_honest(), "a column uses fitted numbers that are not named");
        terminal::print(&comparison.text());
        std::fs::write(&self.output, found.file(&held_out, &fitted.name))
            .with_context(|| format!("--output {}", self.output.display()))?;
        let page = reproduce::write(&self.out, &comparison)?;
        terminal::line(&format!("\npage      {}", page.display()));
        terminal::line(&format!(
            "again     seawall oltp run --array {} --like {} --users {} --buffers {} --host-time {:.0}us \
             --processors {} --cold {:.3}",
            self.output.display(),
            database.number_of(&self.held_out)?,
            held_out.users,
            held_out.buffers.0,
            1e6 * found.host,
            held_out.processors,
            found.over
        ));
        Ok(if comparison.holds() { Answer::Yes } else { Answer::No })
    }
}

/// The one point of a run.
pub(super) fn point(option: &str, name: &str, database: &Database) -> Result<ShopRun> {
    let number = database.number_of(name)?;
    let points = ShopRun::of(&database.load(number)?, &format!("run {number}"));
    let points = points.map_err(|rule| anyhow!("{option} {name}: run {number} {rule}"))?;
    match <[ShopRun; 1]>::try_from(points) {
        Ok([point]) => Ok(point),
        Err(points) => bail!("{option} {name}: has {} points; name a run of one number of users", points.len()),
    }
}
