//! `seawall ranread`: the random-read test of a database's storage, and its sweep to a knee.
//!
//! The standard output has the classic text byte for byte; what the original does not report goes
//! to the standard error.

mod batch;
mod course;
mod database;
mod keeper;
mod marks;
mod relation;
mod sweep;

use crate::memory::Memory;
use crate::outputs::{Kind, Output, check_all};
use crate::{Answer, date, interrupt, machine, terminal};
use anyhow::{Context as _, Result, bail};
use block::Bytes;
use course::Loads;
use ranread::{Batch, Command, ExportOptions, Finding, Measured, RunOptions};
use stats::{Machine, Outcome};
use std::path::Path;
use workload::plan::Device;

/// Read a database's storage at random, as RanRead does
///
/// Takes help, setup, run, stop, reset, export and purge with the original's values, or the
/// published call as one word, and sweep, which looks for the highest load inside the limits.
/// `seawall ranread help` lists all options; docs/ranread.md says what is measured.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Ranread {
    /// The command and its values, as help lists them
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The storage of the processes.
#[derive(Clone, Copy)]
enum Storage<'a> {
    /// The named targets.
    Real,
    /// One device, in virtual time.
    Simulated(&'a Device),
}

impl Ranread {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        load(&self.words, memory)
    }
}

/// Runs a command on real storage with these words.
///
/// # Errors
/// Those of `seawall ranread`.
pub fn load(words: &[String], memory: &Memory) -> Result<Answer> {
    let command = ranread::parse(&placed(words)?)?;
    if !matches!(command, Command::Run(_) | Command::Sweep(_)) {
        memory.keeps_no_run()?;
    }
    match command {
        Command::Help => {
            terminal::print(&(ranread::help() + ranread::usage()));
            Ok(Answer::Yes)
        }
        Command::Setup(setup) if relation::is_relation(&setup.directory) => relation::set_up(&setup),
        Command::Setup(setup) => database::set_up(&setup),
        Command::Purge(purge) if relation::is_relation(&purge.directory) => relation::purge(&purge),
        Command::Purge(purge) => database::purge(&purge),
        Command::Run(run) => run_once(run, Storage::Real, memory),
        Command::Sweep(sweep) => sweep::run(sweep, Storage::Real, memory),
        Command::Stop => marks::stop(),
        Command::Reset => reset(memory),
        Command::Export(ask) => export(&ask, memory),
    }
}

/// Checks the words of a run without touching its storage.
///
/// # Errors
/// A word is wrong.
pub fn check(words: &[String]) -> Result<()> {
    ranread::parse(&placed(words)?)?;
    Ok(())
}

/// The words with a server, `--database URL`, where a directory would stand: behind the command.
fn placed(words: &[String]) -> Result<Vec<String>> {
    let Some(at) = words.iter().position(|word| word == "--database" || word.starts_with("--database=")) else {
        return Ok(words.to_vec());
    };
    let mut rest = words.to_vec();
    let option = rest.remove(at);
    let url = match option.split_once('=') {
        Some((_, url)) => url.to_owned(),
        None if at < rest.len() => rest.remove(at),
        None => bail!("--database: needs a server, as in postgres://USER@HOST/DATABASE"),
    };
    if !relation::is_relation(&url) {
        // The value is not printed, because it may contain a password.
        bail!("--database: must be postgres://USER@HOST/DATABASE or private:FOLDER");
    }
    rest.insert(rest.len().min(1), url);
    Ok(rest)
}

/// `seawall simulate ranread`: the same loads in virtual time.
///
/// # Errors
/// Those of `seawall ranread`, and a command that loads nothing.
pub fn simulate(words: &[String], device: &Device, memory: &Memory) -> Result<Answer> {
    terminal::complain(&format!("in virtual time, on: {device}"));
    match ranread::parse(words)? {
        Command::Run(run) => run_once(run, Storage::Simulated(device), memory),
        Command::Sweep(sweep) => sweep::run(sweep, Storage::Simulated(device), memory),
        _ => bail!("simulate ranread: takes run and sweep; the others have nothing to simulate"),
    }
}

fn run_once(ask: RunOptions, storage: Storage<'_>, memory: &Memory) -> Result<Answer> {
    let stop = interrupt::watch()?;
    let mut field = batch::Field::open(ask.load, storage)?;
    field.must_suffice(ask.processes)?;
    field.notes().iter().for_each(|note| terminal::complain(&format!("note: {note}")));
    let loads = report::text::count(ask.processes as usize, "process", "processes");
    let (run, mut kept) = field.begin(memory, &loads, &sheet_of(&[], &field, &field.machine()));
    let line = terminal::OpenLine::begin();
    terminal::print(&ranread::run_begins(ask.processes));
    let mut once = Once { processes: Some(ask.processes), taken: None };
    let (run, played) = course::play(&mut field, &mut once, (run, &mut kept), &stop, true);
    let unsure = field.cannot_say();
    let judged = once
        .taken
        .as_ref()
        .and_then(|(_, measured)| ask.limits.map(|limits| ranread::judge_batch(measured, ask.processes, limits)));
    let judged = judged.map(|findings| ranread::as_far_as_sure(findings, unsure.is_none()));
    // A batch that another shell stopped, or that failed, is kept as cut short, without a verdict.
    course::end(run, kept, judged.as_deref().unwrap_or(&[]), unsure.clone(), None);
    match once.taken.as_ref().filter(|_| played.is_ok()) {
        Some((batch, _)) => terminal::print(&ranread::run_ends(batch)),
        None => terminal::print("\n"),
    }
    drop(line);
    played?;
    let Some((batch, measured)) = once.taken else { return Ok(Answer::Yes) };
    field.print_served();
    terminal::complain(&batch::said(&batch, &measured));
    // Another shell may have asked for it.
    if stop.is_asked() || batch.state() == ranread::ProcessState::Stopped && !field.failed() {
        bail!("stopped before the end; the rows of what was done are kept");
    }
    if let Some(why) = unsure {
        bail!("verdict: cannot say: {why}");
    }
    match judged {
        _ if field.failed() => Ok(Answer::No),
        Some(findings) => verdict(&findings),
        None => Ok(Answer::Yes),
    }
}

/// One batch.
struct Once {
    /// Number of its processes, until it is played.
    processes: Option<u32>,
    taken: Option<(Batch, Measured)>,
}

impl Loads for Once {
    fn next(&mut self) -> Option<u32> {
        self.processes.take()
    }

    fn took(&mut self, batch: &Batch, measured: Measured) {
        self.taken = Some((batch.clone(), measured));
    }
}

/// Prints the findings, one line each; returns the worst.
fn verdict(findings: &[Finding]) -> Result<Answer> {
    for Finding { question, outcome, because } in findings {
        terminal::line(&format!("{outcome}: {question}"));
        terminal::line(&format!("      {because}"));
    }
    match findings.iter().map(|finding| finding.outcome).max() {
        Some(Outcome::Fail) => Ok(Answer::No),
        Some(Outcome::CannotSay) => bail!("verdict: cannot say: of something that was asked nothing is known"),
        Some(Outcome::Pass) | None => Ok(Answer::Yes),
    }
}

/// Deletes all rows.
fn reset(memory: &Memory) -> Result<Answer> {
    if let Some(process) = marks::running().first() {
        bail!("reset: process {process} runs a batch; stop it first");
    }
    keeper::delete_all(memory).map(|()| Answer::Yes)
}

fn export(ask: &ExportOptions, memory: &Memory) -> Result<Answer> {
    let folder = Path::new(&ask.directory);
    if !folder.is_dir() {
        bail!("export: {} is no directory; name one that is there", folder.display());
    }
    let book = Output::of("--xlsx", ask.xlsx.as_ref(), Kind::Workbook);
    check_all(&[book])?;
    let runs = keeper::runs(memory)?;
    let batches: Vec<_> = runs.iter().flat_map(ranread::batches).collect();
    if batches.is_empty() {
        bail!("export: no rows are kept; run something first");
    }
    let name = ranread::export_name(date::since_1970().as_secs());
    let (name, text) = match ask.csv {
        true => (name.replace(".txt", ".csv"), ranread::csv(&batches)),
        false => (name, ranread::export(&batches)),
    };
    let path = folder.join(name);
    if let Some(note) = ranread::partial_batches(&batches) {
        terminal::complain(&format!("note: {note}"));
    }
    terminal::print(&ranread::exporting(&path.display().to_string()));
    std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    if let Some(output) = book {
        let mut sheet = ask.sheet.clone();
        for line in runs.iter().flat_map(ranread::sheet) {
            if !sheet.contains(&line) {
                sheet.push(line);
            }
        }
        output.write(ranread::workbook(&batches, &sheet).render()?)?;
    }
    terminal::print(ranread::EXPORT_DONE);
    Ok(Answer::Yes)
}

/// The given specification of the storage, with what the machine reports.
fn sheet_of(told: &[(String, String)], field: &batch::Field<'_>, machine: &Machine) -> Vec<(String, String)> {
    let mut sheet = told.to_vec();
    sheet.extend(field.sheet());
    if machine.cores > 0 {
        let server = format!("{}, {} × {}, {}", machine.host, machine.cores, machine.cpu, machine.kernel);
        sheet.extend([("Server".into(), server), ("Memory".into(), machine.memory.to_string())]);
    }
    sheet.retain(|(_, value)| !value.is_empty());
    sheet
}

/// Why storage of this size measures a cache on this machine; `None` if it does not.
fn smaller_than_memory(size: Bytes) -> Option<String> {
    let memory = machine::look(None, "").memory;
    (size < memory).then(|| {
        format!(
            "what was loaded has {size} and this machine {memory} of memory, so a cache on the way may hold it all; \
             the rule is twice the memory"
        )
    })
}

/// Size of a file of a simulated device.
const SIMULATED: Bytes = Bytes::gib(100);
