//! `seawall orion`: the calibration of storage as Orion does it.
//!
//! The standard output has what the original prints; notes, and what every point proved of itself, go to the standard error.

mod field;
mod outputs;

use crate::memory::{self, Memory};
use crate::play::now_unix_ms;
use crate::{Answer, date, interrupt, machine, terminal};
use anyhow::{Result, anyhow, bail};
use field::Field;
use orion::{Ask, Command, Measured, Test};
use outputs::Outputs;
use stats::run::{Run, State};
use stats::{Machine, Outcome};
use workload::plan::Device;

/// Calibrate storage for a database, as Orion does
///
/// Takes the original's options with one dash (-run simple -testname x, with the volumes in x.lun) and writes its files, with
/// percentiles, the best within a latency limit and a proof of every point beside them. `seawall orion -help` lists all
/// options; docs/orion.md says what is measured.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Orion {
    /// The options, as -help lists them
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// What the points load.
#[derive(Clone, Copy)]
enum Storage<'a> {
    /// The volumes that are listed.
    Real,
    /// One device, in virtual time.
    Simulated(&'a Device),
}

impl Orion {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        answered(&self.words, Storage::Real, memory)
    }
}

/// `seawall simulate orion`: the same points in virtual time.
///
/// # Errors
/// As for `seawall orion`; no list of volumes is needed.
pub fn simulate(words: &[String], device: &Device, memory: &Memory) -> Result<Answer> {
    answered(words, Storage::Simulated(device), memory)
}

fn answered(words: &[String], storage: Storage<'_>, memory: &Memory) -> Result<Answer> {
    match orion::parse(words)? {
        Command::Help => {
            terminal::print(&orion::help());
            Ok(Answer::Yes)
        }
        Command::Run(ask) => run(*ask, storage, memory),
    }
}

fn run(mut ask: Ask, storage: Storage<'_>, memory: &Memory) -> Result<Answer> {
    let stop = interrupt::watch()?;
    let field = Field::open(&ask, storage)?;
    let disks = ask.disks.unwrap_or(field.volumes.len() as u32);
    let grid = orion::grid(&mut ask, disks)?;
    orion::check(&ask.load, &field.volumes, &grid.spots)?;
    field.may_be_written(&ask)?;
    let simulated = matches!(storage, Storage::Simulated(_));
    let (started, version) = (date::since_1970().as_secs(), env!("CARGO_PKG_VERSION").to_owned());
    let test = Test { ask, volumes: field.volumes.clone(), grid, started_unix_s: started, version, simulated };
    if let Storage::Simulated(device) = storage {
        terminal::complain(&format!("in virtual time, on: {device}"));
    }
    test.ask.notes.iter().chain(&test.stamps()).for_each(|note| terminal::complain(&format!("note: {note}")));
    terminal::print(&orion::banner(&test));
    let mut outputs = Outputs::open(&test)?;
    let begun = begun(&test);
    let mut kept = memory.begin(begun.clone());
    let mut points: Vec<Measured> = Vec::new();
    let clock = uring::Clock::new();
    let (began, mut told) = (clock.now(), clock.now());
    for (number, spot) in (0..).zip(&test.grid.spots) {
        if stop.is_asked() {
            break;
        }
        let start = match simulated {
            true => points.last().map_or(block::Span::ZERO, |last| last.start + last.elapsed),
            false => clock.now().since(began),
        };
        let point = match field.play(&test.ask, *spot, number, start, &stop) {
            Ok(point) => point,
            // Nothing was done yet: it was refused.
            Err(error) if points.is_empty() => {
                kept.forget();
                return Err(error);
            }
            Err(error) => {
                outputs.write(&test, &points)?;
                kept.end(ended(&begun, &test, &points));
                return Err(error);
            }
        };
        if test.ask.verbose {
            terminal::line(&orion::point_line(points.len() + 1, test.grid.spots.len(), &point));
        }
        let failed = point.trouble().is_some();
        points.push(point);
        if !simulated && clock.now().since(told) >= TELL {
            told = clock.now();
            outputs.write(&test, &points)?;
            kept.so_far(ended(&begun, &test, &points));
        }
        if failed {
            break;
        }
    }
    outputs.write(&test, &points)?;
    let run = ended(&begun, &test, &points);
    let machine = run.machine.clone();
    kept.end(run);
    close(&test, &points, &machine, stop.is_asked())
}

/// Files and the kept run are written anew so often, so that one that is killed leaves what it measured.
const TELL: block::Span = block::Span::from_secs(5);

/// The result lines, the page, and the answer.
fn close(test: &Test, points: &[Measured], machine: &Machine, stopped: bool) -> Result<Answer> {
    terminal::print(&orion::results(points));
    if let Some(path) = &test.ask.page {
        outputs::page(path, test, points, machine)?;
    }
    let verdicts = orion::verdicts(&test.proofs(points));
    for verdict in &verdicts {
        terminal::complain(&format!("{}: {}: {}", verdict.outcome, verdict.question, verdict.because));
    }
    if stopped {
        bail!("stopped before the end; the files have the {} points that were measured", points.len());
    }
    if let Some(trouble) = points.iter().find_map(Measured::trouble) {
        bail!("{trouble}; the files have what was measured before");
    }
    let failed = verdicts.iter().any(|verdict| verdict.outcome == Outcome::Fail);
    Ok(if failed { Answer::No } else { Answer::Yes })
}

/// A test that begins now.
fn begun(test: &Test) -> Run {
    let title = format!("{} {}", test.ask.test_name, test.ask.run.word());
    let mut identity = memory::identity("orion", title, now_unix_ms());
    identity.simulated = test.simulated;
    identity.seed = test.ask.load.seed;
    let machine = match test.simulated {
        true => Machine { backend: "virtual time".into(), ..Machine::default() },
        false => machine::look(None, ""),
    };
    Run { identity, machine, ..Run::default() }
}

/// The same with these points.
fn ended(begun: &Run, test: &Test, points: &[Measured]) -> Run {
    let mut run = Run { identity: begun.identity.clone(), machine: begun.machine.clone(), ..orion::kept(test, points) };
    let whole = points.len() == test.grid.spots.len() && points.iter().all(|point| point.trouble().is_none());
    run.identity.state = if whole { State::Ended } else { State::CutShort };
    let work = points.iter().flat_map(Measured::works).next();
    if let Some((_, work)) = work.filter(|_| !test.simulated) {
        run.machine.backend.clone_from(&work.backend);
    }
    run
}

/// A message of `orion` or `storage` as an error.
fn said(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}
