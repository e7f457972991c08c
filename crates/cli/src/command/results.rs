//! `seawall results`: shows, exports and changes the contents of the results database.

mod compare;
mod export;
mod import;
mod list;
#[cfg(feature = "parquet")]
mod parquet;
mod show;
mod sql;
mod workbook;

use crate::Answer;
use crate::memory::{self, Memory, process};
use crate::terminal;
use anyhow::{Result, bail};
use results::{Detail, Filter, Results as Database};
use stats::run::{Run, State};
use std::path::PathBuf;

/// List, show, compare, query and export the runs that were kept
///
/// Every run of fio, ramp, ranread, orion, oltp, run, demo and simulate is kept in one results
/// database. A RUN is named by its number in the list, by `last`, `last~1` (the one before it), or
/// by the first eight characters or more of its uuid. Without a command the last runs are listed.
/// --results names another database.
#[derive(clap::Args)]
pub struct Results {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    List(list::List),
    Show(show::Show),
    Compare(compare::Compare),
    Sql(sql::Sql),
    Export(export::Export),
    Import(import::Import),
    Delete(Delete),
    Label(Label),
}

/// Delete runs
///
/// They are removed at once, with all of their figures. Numbers are never reused. A run that goes
/// on is refused.
#[derive(clap::Args)]
struct Delete {
    /// The runs
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
}

/// Set or remove labels of a run
///
/// KEY=WORD sets a label and replaces an earlier one with that key; KEY alone removes it. Exit code
/// 1: there was none to remove.
#[derive(clap::Args)]
struct Label {
    /// The run
    #[arg(value_name = "RUN")]
    run: String,
    /// The labels
    #[arg(value_name = "KEY=WORD|KEY", required = true)]
    labels: Vec<String>,
}

impl Results {
    /// Whether the command imports runs, which can be labelled.
    pub fn imports_runs(&self) -> bool {
        matches!(self.what, Some(What::Import(_)))
    }

    pub fn run(self, memory: &Memory) -> Result<Answer> {
        match self.what {
            None => list::List::default().run(memory),
            Some(What::List(list)) => list.run(memory),
            Some(What::Show(show)) => show.run(memory),
            Some(What::Compare(compare)) => compare.run(memory),
            Some(What::Sql(sql)) => sql.run(memory),
            Some(What::Export(export)) => export.run(memory),
            Some(What::Import(import)) => import.run(memory),
            Some(What::Delete(delete)) => delete.run(memory),
            Some(What::Label(label)) => label.run(memory),
        }
    }
}

/// The file of results.
fn file(memory: &Memory) -> Result<PathBuf> {
    match memory.file() {
        Some(file) => Ok(file),
        None => bail!("--results: there is no results database; name one"),
    }
}

/// Opens the results database, which must exist.
pub fn open(memory: &Memory) -> Result<Database> {
    Ok(Database::open_existing(&file(memory)?)?)
}

/// A run to be shown.
pub fn looked_at(database: &Database, number: i64) -> Result<Run> {
    Ok(as_looked_at(database.load(number)?))
}

/// A run to be drawn; a long one by minutes, because a page has a few hundred points for each line.
pub fn drawn(database: &Database, number: i64) -> Result<Run> {
    Ok(as_looked_at(database.load_as(number, Detail::Drawn(SLICES_DRAWN))?))
}

/// A run to be compared; a long one by minutes.
pub fn compared(database: &Database, number: i64) -> Result<Run> {
    Ok(as_looked_at(database.load_as(number, Detail::Within(SLICES_DRAWN))?))
}

/// Maximum number of slices of a run that is drawn second by second, over all workloads and
/// classes: more take longer than a second to read.
const SLICES_DRAWN: u64 = 1_000_000;

/// A rate without decimals; below ten with three, so that work that was done is not a rate of 0.
fn rounded(rate: f64) -> String {
    match rate {
        0.0 => "0".into(),
        _ if rate < 0.0005 => "<0.001".into(),
        _ if rate < 9.9995 => format!("{rate:.3}"),
        _ => format!("{rate:.0}"),
    }
}

/// The processes of RanRead all do the same, so they are shown together. A run whose process is
/// gone was cut short.
fn as_looked_at(mut run: Run) -> Run {
    if run.identity.state == State::Running && !run.process().is_some_and(process::is_there) {
        run.identity.state = State::CutShort;
        run.notes.push(format!("it {}; this is what was written until then", process::GONE));
    }
    if run.identity.tool == "ranread" { run.together("processes") } else { run }
}

impl Delete {
    fn run(self, memory: &Memory) -> Result<Answer> {
        let mut database = open(memory)?;
        // All names are resolved before any run is deleted.
        let mut numbers = Vec::new();
        for run in &self.runs {
            let number = database.number_of(run)?;
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        let lines = database.list(&Filter::default())?;
        let goes_on = |number: &&i64| lines.iter().any(|line| line.id == **number && process::goes_on(line));
        if let Some(number) = numbers.iter().find(goes_on) {
            bail!("run {number} goes on; stop it first, or delete it when it has ended");
        }
        for number in numbers {
            let title = lines.iter().find(|line| line.id == number).map_or("", |line| &line.title);
            database.delete(number)?;
            terminal::line(&format!("run {number} deleted: {}", report::text::printable(title)));
        }
        Ok(Answer::Yes)
    }
}

impl Label {
    fn run(self, memory: &Memory) -> Result<Answer> {
        let mut database = open(memory)?;
        let number = database.number_of(&self.run)?;
        let mut answer = Answer::Yes;
        let mut changes = Vec::new();
        for given in &self.labels {
            changes.push(memory::named_label(given).map_err(|rule| anyhow::anyhow!("{given}: {rule}"))?);
        }
        for (key, word) in changes {
            let was = database.label(number, &key, word.as_deref())?;
            if word.is_none() && !was {
                answer = Answer::No;
            }
            let said = match (&word, was) {
                (Some(word), _) => format!("{key}={word}"),
                (None, true) => format!("{key} taken away"),
                (None, false) => format!("{key} was not there"),
            };
            terminal::line(&format!("run {number}: {}", report::text::printable(&said)));
        }
        Ok(answer)
    }
}
