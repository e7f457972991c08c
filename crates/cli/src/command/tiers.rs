//! `seawall tiers`: a comparison of storage tiers in the fourteen columns of a published one.

mod commands;
mod cpus;
mod load;
mod seen;

use crate::memory::Memory;
use crate::outputs::{Kind, Output, check_all};
use crate::play::now_unix_ms;
use crate::{Answer, catalogue, machine, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use results::Filter;
use std::path::{Path, PathBuf};
use tiers::{List, TierRun, TierTable};

/// Compare storage tiers by their own speed and by that of a database on them
///
/// A list of tiers (TOML) describes each tier, where it can be loaded, and what is known about it:
/// printed figures, files of Orion, RanRead, Swingbench and iostat, and the kept runs with the
/// labels tiers=TITLE and tier=NUMBER. Figures that were not measured are N/A. docs/tiers.md
/// describes the list and the columns.
#[derive(clap::Args)]
pub struct Tiers {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Run(Run),
    Show(Show),
    Columns(Columns),
}

/// Show the table, impossible figures in it, conclusions from the columns, and differences from a
/// baseline
#[derive(clap::Args)]
struct Show {
    /// The list [default: the published comparison]
    list: Option<PathBuf>,
    /// Print each row's difference from this test, with its confidence if both were measured twice
    #[arg(long, value_name = "TEST")]
    baseline: Option<u32>,
    /// Add the figures of a file of another tool to a test; repeatable
    #[arg(long = "import", value_name = "TEST=FILE", value_parser = import)]
    imports: Vec<(u32, PathBuf)>,
    /// Comma-separated values instead of text; with --baseline also changes in percent
    #[arg(long)]
    csv: bool,
    /// Also write a workbook with a chart
    #[arg(long, value_name = "FILE")]
    xlsx: Option<PathBuf>,
    /// Also write a page
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Put the same load on every tier of a list in turn: Orion, RanRead and order entry; then show the
/// table
///
/// If a folder has no database of RanRead, it is created first (load.size_gb); Orion reads it as
/// well. Nothing else is written to. The list has the load under [load].
#[derive(clap::Args)]
struct Run {
    /// The list
    list: PathBuf,
    /// The folder for Orion's files
    #[arg(long, value_name = "DIR", default_value = "tiers")]
    out: PathBuf,
    /// Number of processors for the load; overrides the list
    #[arg(long, value_name = "N", value_parser = processors)]
    cpus: Option<f64>,
    /// Number of repeats; overrides the list
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: Option<u32>,
}

/// Explain each column: its meaning, its limits and its source
#[derive(clap::Args)]
struct Columns {}

/// The published comparison.
const PUBLISHED: &str = include_str!("../../../../plans/tiers-published.toml");

/// The label of all runs of a list.
const LIST: &str = "tiers";

/// The labels that identify the runs of a tier.
fn labels(list: &List, number: u32) -> Vec<(String, String)> {
    [(LIST, list.title.clone()), ("tier", number.to_string())].map(|(key, word)| (key.to_owned(), word)).to_vec()
}

impl Tiers {
    /// Whether the command keeps runs, which can be labelled.
    pub fn keeps_runs(&self) -> bool {
        matches!(self.what, What::Run(_))
    }

    pub fn run(self, memory: &Memory) -> Result<Answer> {
        match self.what {
            What::Show(show) => show.run(memory),
            What::Run(run) => run.run(memory),
            What::Columns(Columns {}) => {
                for column in tiers::Column::all() {
                    terminal::line(&format!("{} ({})", column.name(), column.key()));
                    report::text::wrap(column.about(), 76)
                        .iter()
                        .for_each(|line| terminal::line(&format!("    {line}")));
                }
                Ok(Answer::Yes)
            }
        }
    }
}

impl Run {
    fn run(self, memory: &Memory) -> Result<Answer> {
        let (list, folder) = read(Some(&self.list))?;
        let checked = list.tiers.iter().try_for_each(|tier| commands::check(&list, tier, &self.out, memory));
        checked.with_context(|| self.list.display().to_string())?;
        let answer = load::run(&list, &self.out, self.cpus, self.repeats, memory)?;
        let table = filled(&list, &folder, &[], memory)?;
        terminal::line("");
        terminal::print(&tiers::text(&table, None));
        answer.ok_or_else(|| anyhow!("some of the runs could not be made, or cannot say of themselves: see above"))
    }
}

impl Show {
    fn run(self, memory: &Memory) -> Result<Answer> {
        let (list, folder) = read(self.list.as_deref())?;
        let page_file = Output::of("--output", self.output.as_ref(), Kind::Page);
        let book = Output::of("--xlsx", self.xlsx.as_ref(), Kind::Workbook);
        check_all(&[page_file, book])?;
        let table = filled(&list, &folder, &self.imports, memory)?;
        if let Some(number) = self.baseline.filter(|number| table.rows.iter().all(|row| row.number != *number)) {
            let known: Vec<String> = table.rows.iter().map(|row| row.number.to_string()).collect();
            bail!("--baseline {number}: no tier has this number; there are {}", known.join(", "));
        }
        if let Some(output) = page_file {
            let page = tiers::page(&table, self.baseline);
            let facts = report::text::facts(now_unix_ms(), &machine::look(None, ""));
            let page = report::Page { facts, version: env!("CARGO_PKG_VERSION").into(), ..page };
            output.write(page.render())?;
        }
        if let Some(output) = book {
            output.write(tiers::workbook(&table, self.baseline, now_unix_ms() / 1000).render()?)?;
        }
        terminal::print(&if self.csv { tiers::csv(&table, self.baseline) } else { tiers::text(&table, self.baseline) });
        if let Some(path) = self.output.filter(|_| !self.csv) {
            terminal::line("");
            terminal::line(&format!("page      {}", path.display()));
        }
        Ok(Answer::Yes)
    }
}

/// A list, and the folder that its paths are relative to.
fn read(path: Option<&Path>) -> Result<(List, PathBuf)> {
    let Some(path) = path else {
        return Ok((List::read(PUBLISHED).map_err(|error| anyhow!("{error}"))?, PathBuf::new()));
    };
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut list = List::read(&text).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    for (tier, array) in list.tiers.iter().filter_map(|tier| Some((tier, tier.array.as_ref()?))) {
        let within = || format!("{}: test {}", path.display(), tier.row.number);
        catalogue::device("array", array).with_context(within)?;
    }
    if list.title.is_empty() {
        list.title = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    Ok((list, path.parent().unwrap_or(Path::new("")).to_owned()))
}

/// The table, filled from the host, from files of other tools, and from kept runs.
fn filled(list: &List, folder: &Path, more: &[(u32, PathBuf)], memory: &Memory) -> Result<TierTable> {
    let mut table = list.table();
    for (row, tier) in table.rows.iter_mut().zip(&list.tiers) {
        match &tier.path {
            Some(path) if path.contains("://") || Path::new(path).exists() => seen::look(path, row),
            Some(path) => {
                let it = format!("path = {path:?} of test {}", row.number);
                table.left_out.push(format!("{it}: it does not exist, so nothing of it was seen"));
            }
            None => {}
        }
        if let Some(array) = &tier.array {
            seen::array(&catalogue::device("array", array)?, row);
        }
        let test = row.number;
        let own = tier.imports.iter().map(|file| folder.join(file));
        let added = more.iter().filter(|(number, _)| *number == test).map(|(_, file)| file.clone());
        for file in own.chain(added) {
            let name = file.display().to_string();
            let bytes = std::fs::read(&file).with_context(|| name.clone())?;
            let figures =
                tiers::import(&name, &String::from_utf8_lossy(&bytes)).map_err(|error| anyhow!("{name} {error}"))?;
            figures.into_iter().for_each(|(figure, value)| row.add(figure, value, &name));
        }
    }
    if let Some((number, file)) = more.iter().find(|(number, _)| table.rows.iter().all(|row| row.number != *number)) {
        bail!("--import {number}={}: no tier has this number", file.display());
    }
    let kept = memory.file().filter(|file| file.exists());
    let Some(database) = kept.map(|file| results::Results::open_existing(&file)).transpose()? else { return Ok(table) };
    let labels = vec![(LIST.to_owned(), Some(list.title.clone()))];
    let lines = database.list(&Filter { labels, ..Filter::default() })?;
    let ended = lines.iter().filter(|line| !line.running);
    let runs = ended.map(|line| Ok(TierRun::of(line.id, &database.load(line.id)?)));
    table.add_runs(&runs.collect::<Result<Vec<_>>>()?);
    Ok(table)
}

/// A number of processors, as typed.
fn processors(given: &str) -> Result<f64, String> {
    let number = given.parse().ok().filter(|cpus| (0.01..=4096.0).contains(cpus));
    number.ok_or_else(|| "must be a number of processors from 0.01 to 4096".into())
}

/// A test and a file for it, as typed.
fn import(given: &str) -> Result<(u32, PathBuf), String> {
    let parts = given.split_once('=').filter(|(_, file)| !file.is_empty());
    let number = parts.and_then(|(number, file)| Some((number.parse().ok()?, file.into())));
    number.ok_or_else(|| "must be TEST=FILE, as in 3=results.xml".into())
}
