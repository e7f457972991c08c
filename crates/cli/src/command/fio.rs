//! `seawall fio`: fio's command line and job files, run by our engine, answered in fio's outputs.
//!
//! What goes to the standard output (or `--output`) is the report alone, so that JSON is always one valid document; the
//! plan in words, notes and the status line go to the standard error.

mod ask;
mod recording;
mod status;
mod world;

use crate::{Answer, interrupt, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use engine::job::RunSettings;
use fio::render::{Moment, Report};
use fio::{Action, Invocation};
use stats::job::JobOutcome;
use status::Status;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use workload::job::JobSpec;
use world::Machine;

/// Run fio command lines and job files
///
/// Takes what fio takes: options, --name=JOB, job files. Beyond fio: --destroy-data=NAME lets a job overwrite what seawall
/// did not lay out; --strict-fio copies fio where it surprises. --cmdhelp lists all options.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Fio {
    /// fio's options and job files
    #[arg(value_name = "OPTION|JOBFILE", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Fio {
    pub fn run(self) -> Result<Answer> {
        let invocation = Invocation::parse(&self.arguments, &Machine).map_err(|error| anyhow!("{error}"))?;
        match &invocation.flags.action {
            Action::Version => terminal::line(fio::render::VERSION),
            Action::Help => terminal::print(&ask::summary()),
            Action::EngineHelp => terminal::print(&ask::engines()),
            Action::CommandHelp(option) => terminal::print(&ask::options(option.as_deref())?),
            Action::ShowCommand => terminal::print(&invocation.command()),
            Action::ParseOnly => {
                specs(&invocation)?;
                say_plan(&invocation);
            }
            Action::Run => return carry_out(&invocation),
        }
        Ok(Answer::Yes)
    }
}

fn carry_out(invocation: &Invocation) -> Result<Answer> {
    let flags = &invocation.flags;
    if flags.status_interval.is_some() {
        bail!("--status-interval: is not there: a report is written once, at the end; the nearest is --eta-newline");
    }
    let specs = specs(invocation)?;
    say_plan(invocation);
    let stop = interrupt::watch()?;
    let started = moment();
    let settings = RunSettings {
        destroy: flags.destroy_data.clone(),
        read_only: flags.readonly,
        progress_every: flags.eta_interval,
        threads_most: None,
    };
    let mut status = Status::new(stop.clone(), flags, &specs);
    let outcomes = engine::job::run(&specs, &settings, &mut status);
    status.finish();
    let outcomes = outcomes?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let report =
        Report { invocation, outcomes: &outcomes, moment: moment(), host: host.trim(), pid: std::process::id() };
    write_all(&report, started)?;
    if stop.is_asked() {
        bail!("stopped before the end; the report has what was done until then");
    }
    Ok(answer(invocation, &outcomes))
}

fn specs(invocation: &Invocation) -> Result<Vec<JobSpec>> {
    let spec = |job: &fio::Job| {
        let spec = job.spec().map_err(|error| anyhow!("{error}"))?;
        recording::take_in(job, spec)
    };
    invocation.jobs.iter().map(spec).collect()
}

/// The plan in plain language, and what the user should know of it.
fn say_plan(invocation: &Invocation) {
    invocation.describe().iter().for_each(|line| eprintln!("seawall: {line}"));
    invocation.notes.iter().for_each(|note| eprintln!("seawall: note: {note}"));
}

fn write_all(report: &Report<'_>, started: Moment) -> Result<()> {
    let flags = &report.invocation.flags;
    let mut text = String::new();
    if flags.formats == [fio::Format::Normal] {
        text.push_str(&report.opening());
    }
    text.push_str(&report.outputs());
    match &flags.output {
        Some(path) => {
            let path = within(flags.aux_path.as_deref(), path);
            std::fs::write(&path, text).with_context(|| format!("--output: {path}"))?;
        }
        None => terminal::print(&text),
    }
    for log in report.logs(started) {
        let path = within(flags.aux_path.as_deref(), &log.path);
        std::fs::write(&path, &log.text).with_context(|| format!("the log {path}"))?;
    }
    Ok(())
}

/// A path in the folder of files that are not the jobs' own, unless it names its folder itself.
fn within(folder: Option<&str>, path: &str) -> String {
    match folder {
        Some(folder) if !path.starts_with('/') => Path::new(folder).join(path).display().to_string(),
        _ => path.to_owned(),
    }
}

/// Whether all was done that was asked; what failed is said on the standard error too, where a report in a file or in a
/// machine's format would hide it.
fn answer(invocation: &Invocation, outcomes: &[JobOutcome]) -> Answer {
    let mut good = invocation.left_out.is_empty() || !invocation.flags.strict_fio;
    for outcome in outcomes {
        if let Some(error) = &outcome.error {
            eprintln!("seawall: {}: {}", outcome.name, error.text);
        } else if outcome.errors.total() > 0 {
            let kinds: Vec<String> =
                outcome.errors.occurred().map(|(kind, count)| format!("{count} × {}", kind.name())).collect();
            eprintln!("seawall: {}: went on after failures: {}", outcome.name, kinds.join(", "));
        }
        good &= outcome.error.is_none();
    }
    if good { Answer::Yes } else { Answer::No }
}

/// Now, in UTC.
#[allow(clippy::disallowed_methods, reason = "a report carries the date, read twice a run")]
fn moment() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment { unix_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX), ahead_s: 0 }
}
