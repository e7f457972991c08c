//! `seawall orion`: the calibration of storage as Orion does it.
//!
//! The standard output has the original's text, followed by ours; notes go to the standard error.

mod field;
mod matrix;
mod outputs;

use crate::memory::{self, Memory};
use crate::play::now_unix_ms;
use crate::{Answer, date, interrupt, machine, terminal};
use anyhow::{Result, anyhow, bail};
use field::Field;
use matrix::Matrix;
use orion::{MeasuredPoint, OrionCommand, Settings, Test, VolumeKind};
use outputs::Outputs;
use stats::run::Run;
use stats::{Machine, Outcome};
use workload::plan::Device;

/// Calibrate storage for a database, as Orion does
///
/// Takes the original's options with one dash (-run simple -testname x, with the volumes in x.lun)
/// and writes its files, with percentiles, the best within a latency limit and a proof of every
/// point beside them. `seawall orion -help` lists all options; docs/orion.md says what is measured.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Orion {
    /// The options, as -help lists them
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The storage of the points.
#[derive(Clone, Copy)]
enum Storage<'a> {
    /// The listed volumes.
    Real,
    /// One device, in virtual time.
    Simulated(&'a Device),
}

impl Orion {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        answered(&self.words, Storage::Real, memory)
    }
}

/// Runs a test on real storage with these options.
///
/// # Errors
/// Those of `seawall orion`.
pub fn load(words: &[String], memory: &Memory) -> Result<Answer> {
    answered(words, Storage::Real, memory)
}

/// `seawall simulate orion`: the same points in virtual time.
///
/// # Errors
/// Those of `seawall orion`; no list of volumes is needed.
pub fn simulate(words: &[String], device: &Device, memory: &Memory) -> Result<Answer> {
    answered(words, Storage::Simulated(device), memory)
}

/// Checks a test's options as far as that is possible before its volumes exist. `disks` is the
/// number of disks if `-num_disks` is not given.
///
/// # Errors
/// An option or the test as a whole is wrong, or it is only a question for help.
pub fn check(words: &[String], disks: u32) -> Result<()> {
    match orion::parse(words)? {
        OrionCommand::Help => bail!("-help: measures nothing; leave it out"),
        OrionCommand::Run(mut settings) => {
            let disks = settings.disks.unwrap_or(disks);
            orion::grid(&mut settings, disks)?;
            Ok(())
        }
    }
}

fn answered(words: &[String], storage: Storage<'_>, memory: &Memory) -> Result<Answer> {
    match orion::parse(words)? {
        OrionCommand::Help => {
            terminal::print(&orion::help());
            Ok(Answer::Yes)
        }
        OrionCommand::Run(settings) => run(*settings, storage, memory),
    }
}

fn run(mut settings: Settings, storage: Storage<'_>, memory: &Memory) -> Result<Answer> {
    let stop = interrupt::watch()?;
    let field = Field::open(&settings, storage)?;
    let disks = settings.disks.unwrap_or(field.volumes.len() as u32);
    let grid = orion::grid(&mut settings, disks)?;
    orion::check(&settings.load, &field.volumes, &grid.spots)?;
    field.may_be_written(&settings)?;
    let simulated = matches!(storage, Storage::Simulated(_));
    let (started, version) = (date::since_1970().as_secs(), env!("CARGO_PKG_VERSION").to_owned());
    let volumes = field.volumes.clone();
    let mut test = Test { settings, volumes, grid, started_unix_s: started, version, earlier: 0, simulated };
    let begun = begun(&test);
    let outputs = Outputs::open(&mut test, begun.machine.clone())?;
    let test = test;
    if let Storage::Simulated(device) = storage {
        terminal::complain(&format!("in virtual time, on: {device}"));
    }
    test.settings.notes.iter().chain(&test.stamps()).for_each(|note| terminal::complain(&format!("note: {note}")));
    terminal::print(&orion::banner(&test));
    let files = test.volumes.iter().filter(|volume| volume.at == VolumeKind::File).map(|volume| &volume.name);
    let kept = memory.loading(files).begin(begun.clone());
    let run = Run { identity: begun.identity, machine: begun.machine, ..orion::kept::begun(&test) };
    let mut matrix = Matrix::new(&field, &test, &outputs, &stop, kept);
    let (run, played) = engine::play(&mut matrix, run);
    let Matrix { points, kept, .. } = matrix;
    // If nothing was done there is nothing to report.
    if points.is_empty() && played.is_err() {
        kept.forget();
        outputs.remove(&test);
        return played.map(|()| Answer::Yes);
    }
    kept.end(run);
    outputs.write(&test, &points)?;
    played?;
    close(&test, &points, stop.is_asked())
}

/// Prints the result lines; returns the answer.
fn close(test: &Test, points: &[MeasuredPoint], stopped: bool) -> Result<Answer> {
    terminal::print(&(orion::results(points) + &orion::beyond(test, points)));
    let verdicts = test.verdicts(points);
    if stopped {
        let whole = points.iter().filter(|point| point.is_whole()).count();
        let whole = report::text::count(whole, "point that was measured", "points that were measured");
        bail!("stopped before the end; the files have the {whole}");
    }
    if let Some(trouble) = points.iter().find_map(MeasuredPoint::trouble) {
        bail!("{trouble}; the files have what was measured before");
    }
    match verdicts.iter().max_by_key(|verdict| verdict.outcome) {
        Some(verdict) if verdict.outcome == Outcome::CannotSay => {
            bail!("cannot say: {}: {}", verdict.question, verdict.because)
        }
        Some(verdict) if verdict.outcome == Outcome::Fail => Ok(Answer::No),
        _ => Ok(Answer::Yes),
    }
}

/// A test that begins now.
fn begun(test: &Test) -> Run {
    let title = format!("{} {}", test.settings.test_name, test.settings.run.word());
    let mut identity = memory::identity("orion", title, now_unix_ms());
    identity.simulated = test.simulated;
    identity.seed = test.settings.load.seed;
    let machine = match test.simulated {
        true => Machine { backend: "virtual time".into(), ..Machine::default() },
        false => machine::look(None, ""),
    };
    Run { identity, machine, ..Run::default() }
}

/// A message of `orion` or `storage` as an error.
fn said(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}
