//! `seawall report`: one page about kept runs.

use crate::memory::Memory;
use crate::outputs::{Kind, Output, check_all, named};
use crate::{Answer, command, terminal};
use anyhow::Result;
use report::section::Section;
use stats::run::Run;
use std::path::PathBuf;

/// Write a page about one run, or several side by side
///
/// The runs are named as for `seawall results`. The page needs no network and no script.
#[derive(clap::Args)]
pub struct Report {
    /// The runs
    #[arg(value_name = "RUN", default_value = "last")]
    runs: Vec<String>,
    /// The page; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "page.html")]
    output: PathBuf,
}

impl Report {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let output = Output::of("--output", named(&self.output), Kind::Page);
        check_all(&[output])?;
        let database = command::results::open(memory)?;
        let numbers = self.runs.iter().map(|run| database.number_of(run)).collect::<Result<Vec<_>, _>>()?;
        let runs =
            numbers.iter().map(|number| command::results::drawn(&database, *number)).collect::<Result<Vec<_>>>()?;
        let mut recordings: Vec<_> = runs.iter().map(Run::recording).collect();
        if let [first, others @ ..] = &numbers[..]
            && !others.is_empty()
        {
            for ((recording, number), run) in recordings.iter_mut().zip(&numbers).zip(&runs) {
                recording.origin.title = titled(*number, run, &runs);
            }
            let mut page = report::run_page(&recordings.iter().collect::<Vec<_>>());
            // After the figures.
            let at = page.sections.iter().position(|section| matches!(section, Section::Facts(_)));
            let at = at.unwrap_or(page.sections.len());
            for (number, run) in others.iter().zip(&runs[1..]).rev() {
                let names = [format!("run {first}"), format!("run {number}")];
                let tables = report::differences([&names[0], &names[1]], &stats::run::differences(&runs[0], run));
                tables.into_iter().for_each(|tables| page.sections.insert(at, tables.into()));
            }
            return written(output, &page);
        }
        written(output, &report::run_page(&recordings.iter().collect::<Vec<_>>()))
    }
}

/// A run among others: its number identifies it in the database, and labels that not all have tell
/// what it is.
fn titled(number: i64, run: &Run, runs: &[Run]) -> String {
    let own = run.labels.iter().filter(|label| runs.iter().any(|other| !other.labels.contains(label)));
    let own: String = own.map(|(key, word)| format!(", {key}={word}")).collect();
    format!("{} (run {number}{own})", run.identity.title).trim_start().to_owned()
}

fn written(output: Option<Output<'_>>, page: &report::Page) -> Result<Answer> {
    match output {
        Some(output) => {
            output.write(page.render())?;
            terminal::line(&format!("page      {}", output.path.display()));
        }
        None => terminal::print(&page.render()),
    }
    Ok(Answer::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_tell_runs_apart() {
        let run = |raid: &str| {
            let mut run = Run::default();
            run.identity.title = "job".into();
            run.labels = [("host", "a"), ("raid", raid)].map(|(key, word)| (key.into(), word.into())).to_vec();
            run
        };
        let runs = [run("5"), run("6")];
        let titles = [titled(3, &runs[0], &runs), titled(4, &runs[1], &runs)];
        assert_eq!(titles, ["job (run 3, raid=5)", "job (run 4, raid=6)"]);
    }
}
