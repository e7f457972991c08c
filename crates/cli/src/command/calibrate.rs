//! `seawall calibrate`: a model of your own storage, fitted to recordings of it.

mod ladder;
mod recordings;

use crate::command::reproduce;
use crate::memory::Memory;
use crate::outputs::{check_new, check_out};
use crate::play;
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, anyhow};
use block::Bytes;
use capacity::{Calibrated, CalibrationShape, calibrate};
use recordings::Recordings;
use std::path::PathBuf;

/// Fit a simulated device to recordings of real storage
///
/// From runs of the results database (fio, orion, ranread and plans, at several depths, block sizes
/// and mixes), or from a short ladder that is run on a file or device now. Every third point is
/// held out; the model that is fitted to the others is written as a file for simulate --array, with
/// the source of each figure. Exit code 1: the mean error of IOPS on the points held out is above
/// --within.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("from").args(["runs", "place"]).required(true)))]
pub struct Calibrate {
    /// Runs of the results database, by number, `last`, `last~1` or uuid
    #[arg(long = "run", value_name = "RUN[,RUN…]", value_delimiter = ',')]
    runs: Vec<String>,
    /// A file or device to run a ladder of random reads on: 4 KiB and 64 KiB, depths 1 to 32; a
    /// file that does not exist is created, and removed afterwards
    #[arg(long, value_name = "FILE")]
    place: Option<PathBuf>,
    /// With --place: size of a file that is created [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = play::size, conflicts_with = "runs")]
    size: Option<Bytes>,
    /// With --place: how often the ladder is run; the median of each point counts
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100), conflicts_with = "runs")]
    rounds: u32,
    /// With --place: length of each of its points in seconds
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=3600), conflicts_with = "runs")]
    seconds: u32,
    /// With --place: write too, if the file is created by this command
    #[arg(long, conflicts_with = "runs")]
    writes: bool,
    /// Fit only this kind of model: flash, parallel-servers or host; default: the one that fits
    /// best
    #[arg(long, value_name = "KIND", value_parser = shape)]
    model: Option<CalibrationShape>,
    /// Maximum mean error on the points held out, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    within: u32,
    /// The file of the array
    #[arg(short, long, value_name = "FILE", default_value = "calibrated.toml")]
    output: PathBuf,
    /// The folder for the page
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

fn shape(given: &str) -> Result<CalibrationShape, String> {
    let known = CalibrationShape::ALL;
    let found = known.into_iter().find(|shape| shape.name() == given);
    found.ok_or_else(|| format!("must be one of {}", known.map(CalibrationShape::name).join(", ")))
}

impl Calibrate {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        check_out(&self.out)?;
        check_new(&self.output)?;
        let recordings = match &self.place {
            Some(place) => {
                let times = ladder::Times { seconds: self.seconds, rounds: self.rounds };
                ladder::record(place, self.size, times, self.writes, memory)?
            }
            None => Recordings::of(&self.runs, memory)?,
        };
        let Recordings { points, from, about, notes } = recordings;
        let shapes = self.model.map_or(CalibrationShape::ALL.to_vec(), |shape| vec![shape]);
        let calibrated = calibrate(points, &shapes).map_err(|rule| match notes.first() {
            Some(note) => anyhow!("{from}: {rule} ({note})"),
            None => anyhow!("{from}: {rule}"),
        })?;
        self.tell(&calibrated, &from, &about, notes)
    }

    /// Writes the file and the page, and prints the comparison.
    fn tell(&self, calibrated: &Calibrated, from: &str, about: &str, notes: Vec<String>) -> Result<Answer> {
        let within = f64::from(self.within) / 100.0;
        let mut comparison = calibrated.comparison(from, within);
        assert!(comparison.is_honest(), "a column uses fitted numbers that are not named");
        comparison.notes.extend(notes);
        terminal::print(&comparison.text());
        let file = calibrated.file(&format!("{about}: calibrated from {from}"), from);
        std::fs::write(&self.output, file).with_context(|| format!("--output {}", self.output.display()))?;
        let page = reproduce::write(&self.out, &comparison)?;
        terminal::line(&format!("\narray     {}", self.output.display()));
        terminal::line(&format!("page      {}", page.display()));
        Ok(if comparison.holds() { Answer::Yes } else { Answer::No })
    }
}
