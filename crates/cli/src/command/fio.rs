//! `seawall fio`: fio's command line and job files, run by our engine, answered in fio's outputs.
//!
//! What goes to the standard output (or `--output`) is the report alone, so that JSON is always
//! one valid document. The plan in words, notes and the status line go to the standard error, if
//! that is a terminal: scripts for fio take whatever stands there for a failure.

mod ask;
mod kept;
mod recording;
mod reports;
mod status;
mod world;

use crate::interrupt::Stop;
use crate::memory::{Kept, Memory};
use crate::outputs::{Kind, Output, is_one_file};
use crate::{Answer, interrupt, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use array::VirtualClock;
use engine::job::{RunSettings, Simulation};
use fio::{Action, Invocation};
use reports::Reports;
use stage::device::built;
use stats::job::JobOutcome;
use stats::run::Run;
use status::Status;
use std::path::Path;
use workload::job::JobSpec;
use workload::plan::Device;
use world::Machine;

/// Run fio command lines and job files
///
/// Takes what fio takes: options, --name=JOB, job files. Beyond fio: --destroy-data=NAME lets a job
/// overwrite what seawall did not lay out; --strict-fio copies fio where it surprises. --cmdhelp
/// lists all options.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Fio {
    /// fio's options and job files
    #[arg(value_name = "OPTION|JOBFILE", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Fio {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        answered(&self.arguments, &Storage::Real, memory)
    }
}

/// What the jobs load.
enum Storage<'a> {
    /// What they name.
    Real,
    /// One device, in virtual time.
    Simulated(&'a Device),
}

/// `seawall simulate fio`: the same jobs in virtual time.
///
/// # Errors
/// As for `seawall fio`.
pub fn simulate(arguments: &[String], device: &Device, memory: &Memory) -> Result<Answer> {
    answered(arguments, &Storage::Simulated(device), memory)
}

/// What jobs come to in virtual time, without a word.
///
/// # Errors
/// As for `seawall fio`.
pub fn outcomes(arguments: &[String], device: &Device) -> Result<Vec<JobOutcome>> {
    let invocation = Invocation::parse(arguments, &Machine).map_err(|error| anyhow!("{error}"))?;
    let stop = interrupt::watch()?;
    let specs = specs(&invocation)?;
    let simulation = Simulation::of(&specs).map_err(anyhow::Error::from)?;
    let target = built(device, simulation.size(), specs.first().map_or(1, |spec| spec.seed))?;
    let mut complete = |_: usize, _: &[JobOutcome]| Ok(None);
    let outcomes = simulation.run(target, &VirtualClock::new(), &mut || stop.is_asked(), &mut complete);
    if stop.is_asked() {
        bail!("stopped by hand");
    }
    Ok(outcomes)
}

fn answered(arguments: &[String], storage: &Storage<'_>, memory: &Memory) -> Result<Answer> {
    let invocation = Invocation::parse(arguments, &Machine).map_err(|error| anyhow!("{error}"))?;
    match &invocation.flags.action {
        Action::Version => terminal::line(fio::render::VERSION),
        Action::Help => terminal::print(&ask::summary()),
        Action::EngineHelp(engine) => terminal::print(&ask::engines(engine.as_deref())?),
        Action::CommandHelp(option) => terminal::print(&ask::options(option.as_deref())?),
        Action::ShowCommand => terminal::print(&invocation.command()),
        Action::ParseOnly => {
            // Whether its files are there, and what a recording holds, is not asked.
            invocation.jobs.iter().try_for_each(|job| job.spec().map(drop)).map_err(|error| anyhow!("{error}"))?;
            let wide = terminal::width().unwrap_or(usize::MAX);
            plan(&invocation).for_each(|line| terminal::line(&wrapped(&line, wide)));
        }
        Action::Run => return carry_out(&invocation, storage, memory),
    }
    Ok(Answer::Yes)
}

fn carry_out(invocation: &Invocation, storage: &Storage<'_>, memory: &Memory) -> Result<Answer> {
    if let Some(output) = &invocation.flags.output {
        let path = Path::new(output);
        if invocation.files.iter().any(|file| is_one_file(Path::new(file), path)) {
            bail!("--output {output}: is a job file of this run; name another file");
        }
        Output { option: "--output", path, kind: Kind::Any }.check()?;
    }
    let mut reports = Reports::new(invocation);
    reports.check_logs()?;
    say_plan(invocation);
    let Played { run, outcomes, kept, stop } = play(invocation, storage, memory, &mut reports)?;
    kept.end(kept::ended(run, &outcomes, stop.is_asked()));
    reports.at_the_end(&outcomes, stop.is_asked())?;
    if stop.is_asked() {
        bail!("stopped before the end; the report has what was done until then");
    }
    Ok(answer(invocation, &outcomes))
}

/// What real jobs come to as a run, without a report; and its number, where it is kept.
///
/// # Errors
/// As for `seawall fio`; also where a job failed.
pub fn recorded(arguments: &[String], memory: &Memory) -> Result<(Run, Option<i64>)> {
    let invocation = Invocation::parse(arguments, &Machine).map_err(|error| anyhow!("{error}"))?;
    let mut reports = Reports::new(&invocation);
    let Played { run, outcomes, kept, stop } = play(&invocation, &Storage::Real, memory, &mut reports)?;
    let run = kept::ended(run, &outcomes, stop.is_asked());
    let number = kept.end(run.clone()).map(|(_, number)| number);
    if stop.is_asked() {
        bail!("stopped before the end");
    }
    if let Some(failed) = outcomes.iter().find_map(|outcome| Some((&outcome.name, outcome.error.as_ref()?))) {
        bail!("{}: {}", failed.0, failed.1.text);
    }
    Ok((run, number))
}

/// Jobs that were played, and where they are kept.
struct Played {
    run: Run,
    outcomes: Vec<JobOutcome>,
    kept: Kept,
    stop: Stop,
}

fn play(invocation: &Invocation, storage: &Storage<'_>, memory: &Memory, reports: &mut Reports<'_>) -> Result<Played> {
    let flags = &invocation.flags;
    let specs = specs(invocation)?;
    let stop = interrupt::watch()?;
    let begun = kept::begun(invocation, &specs, matches!(storage, Storage::Simulated(_)));
    let mut kept = memory.loading(kept::paths(&specs)).begin(begun.clone());
    let played = match storage {
        Storage::Real => {
            let settings = RunSettings {
                destroy: flags.destroy_data.clone(),
                even_in_use: flags.even_in_use.clone(),
                read_only: flags.readonly,
                progress_every: flags.eta_interval,
                threads_most: None,
            };
            let keeping = kept::Keeping { begun: &begun, specs: &specs, kept: &mut kept };
            let mut status = Status::new(stop.clone(), flags, reports, keeping);
            stop.let_insist();
            let played = engine::job::play(&specs, &settings, &mut status, begun.clone());
            status.finish()?;
            played
        }
        Storage::Simulated(device) => match Simulation::of(&specs) {
            Ok(simulation) => {
                let note = format!("in virtual time, on: {device}");
                remark(&note);
                reports.note(note);
                let seed = specs.first().map_or(1, |spec| spec.seed);
                let target = built(device, simulation.size(), seed)?;
                let mut complete = |job: usize, done: &[JobOutcome]| recording::complete(invocation, job, done);
                Ok(simulation.play(target, &VirtualClock::new(), &mut || stop.is_asked(), &mut complete, begun))
            }
            Err(error) => Err(error),
        },
    };
    match played {
        Ok((run, outcomes)) => Ok(Played { run, outcomes, kept, stop }),
        Err(error) => {
            kept.forget();
            reports.refused(&error.0)?;
            Err(error.into())
        }
    }
}

fn specs(invocation: &Invocation) -> Result<Vec<JobSpec>> {
    let mut specs = Vec::<JobSpec>::with_capacity(invocation.jobs.len());
    for (index, job) in invocation.jobs.iter().enumerate() {
        let spec = job.spec().map_err(|error| anyhow!("{error}"))?;
        let spec = state_of(job, spec, &invocation.flags)?;
        specs.push(match recording::maker_of(invocation, index) {
            Some(maker) => recording::awaiting(job, spec, &specs[maker]),
            None => recording::take_in(job, spec)?,
        });
    }
    Ok(specs)
}

/// Lets `spec` expect what its file says of the earlier run, where that is asked.
fn state_of(job: &fio::Job, mut spec: JobSpec, flags: &fio::Flags) -> Result<JobSpec> {
    let data = &job.options.data;
    if let Some(verify) = spec.verify.as_mut().filter(|_| data.state_load && data.verify_only) {
        let path = job.state_path(flags);
        let about = || format!("{}: verify_state_load: {path}", job.name);
        let text = std::fs::read_to_string(&path).with_context(about)?;
        verify.written = Some(job.writes_of_state(&text).map_err(|rule| anyhow!("{}: {rule}", about()))?);
    }
    Ok(spec)
}

/// The plan in plain language, and what the user should know of it.
fn plan(invocation: &Invocation) -> impl Iterator<Item = String> {
    invocation.describe().into_iter().chain(invocation.notes.iter().map(|note| format!("note: {note}")))
}

/// Says the plan; elsewhere than at a terminal only which jobs are not run.
fn say_plan(invocation: &Invocation) {
    plan(invocation).for_each(|line| remark(&line));
    if status::columns().is_none() {
        for left_out in &invocation.left_out {
            terminal::complain(&format!("note: {}", left_out.note()));
        }
    }
}

/// Says a line to whoever sits at a terminal.
fn remark(line: &str) {
    if let Some(columns) = status::columns() {
        terminal::aside(&(wrapped(&format!("seawall: {line}"), columns) + "\n"));
    }
}

/// A line that goes on below itself between words where a terminal is narrower.
fn wrapped(line: &str, columns: usize) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for word in line.split(' ') {
        let len = word.chars().count();
        if column > 0 && column + 1 + len > columns {
            text.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += len;
    }
    text
}

/// Whether all was done that was asked; what failed is said on the standard error too, where a
/// report in a file or in a machine's format would hide it.
fn answer(invocation: &Invocation, outcomes: &[JobOutcome]) -> Answer {
    let mut good = invocation.left_out.is_empty() || !invocation.flags.strict_fio;
    for outcome in outcomes {
        if let Some(error) = &outcome.error {
            terminal::complain(&format!("{}: {}", outcome.name, error.text));
        } else if outcome.errors.total() > 0 {
            let kinds: Vec<String> =
                outcome.errors.occurred().map(|(kind, count)| format!("{count} × {}", kind.name())).collect();
            terminal::complain(&format!("{}: went on after failures: {}", outcome.name, kinds.join(", ")));
        }
        good &= outcome.error.is_none();
    }
    if good { Answer::Yes } else { Answer::No }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_between_words() {
        assert_eq!(wrapped("seawall: a b c", 80), "seawall: a b c");
        assert_eq!(wrapped("seawall: a bc d", 12), "seawall: a\n  bc d");
        assert_eq!(wrapped("averylongword b", 4), "averylongword\n  b");
    }
}
