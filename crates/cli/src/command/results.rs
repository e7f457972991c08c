//! `seawall results`: the runs that a results database holds.

use crate::Answer;
use crate::play::DATABASE;
use crate::terminal;
use crate::watch::{REPORT_COLUMNS, paint};
use anyhow::{Result, bail};
use report::{Standing, text};
use results::{Results as Database, RunLine};
use stats::Outcome;
use std::path::PathBuf;

/// List the runs of a results database, or show one
///
/// Every `seawall run`, `simulate` and `demo` adds itself to a file of results, a plan of hosts and `seawall ramp
/// --results` too. Without a number all runs are listed, oldest first; with one its table, verdicts and notes are shown as
/// they were at its end. --csv writes a run's figures to standard output.
#[derive(clap::Args)]
pub struct Results {
    /// The run to show, by its number in the list
    #[arg(value_name = "RUN")]
    run: Option<i64>,
    /// The file of results
    #[arg(long, value_name = "FILE", default_value = DATABASE)]
    file: PathBuf,
    /// Instead of its table the run's figures as CSV: by second, or of its write cycles
    #[arg(long, value_name = "WHAT", requires = "run", value_parser = ["seconds", "cycles"])]
    csv: Option<String>,
    /// Instead of its table the plan that was run
    #[arg(long, requires = "run", conflicts_with = "csv")]
    plan: bool,
}

impl Results {
    pub fn run(self) -> Result<Answer> {
        let database = Database::open_existing(&self.file)?;
        let Some(run) = self.run else {
            terminal::print(&listed(&database.list()?));
            return Ok(Answer::Yes);
        };
        let recording = database.load(run)?;
        match self.csv.as_deref() {
            _ if self.plan && recording.origin.plan.is_empty() => {
                bail!("--plan: run {run} had none; its command was: {}", recording.origin.command);
            }
            _ if self.plan => terminal::print(&recording.origin.plan),
            Some("cycles") => written(|out| report::csv::write_cycles(&recording, out))?,
            Some(_) => written(|out| report::csv::write(&recording, out))?,
            None => terminal::print(&report::table::render(&recording, paint())),
        }
        Ok(Answer::Yes)
    }
}

/// A line for each run, in 80 columns.
fn listed(runs: &[RunLine]) -> String {
    let mut lines = vec![format!("{:>4}  {:<23}  {:<10}  title", "run", "started", "verdict")];
    for run in runs {
        let remarks = [(run.simulated, "simulated"), (run.cut_short, "cut short")];
        let remarks: Vec<&str> = remarks.into_iter().filter(|(is, _)| *is).map(|(_, remark)| remark).collect();
        let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) };
        let started = text::date(run.started_unix_ms);
        let before = format!("{:>4}  {started:<23}  {:<10}  ", run.id, verdict(run));
        // What was said of the run is never cut off, its title may be.
        let room = REPORT_COLUMNS.saturating_sub(text::width(&before) + text::width(&remarks));
        lines.push(format!("{before}{}{remarks}", text::fit(&text::printable(&run.title), room)));
    }
    if runs.is_empty() {
        lines = vec!["no run yet".into()];
    }
    lines.join("\n") + "\n"
}

fn verdict(run: &RunLine) -> &'static str {
    match (Standing { held: run.passed, open: run.cannot_say, failed: run.failed }).outcome() {
        Some(Outcome::Pass) => "pass",
        Some(Outcome::Fail) => "fail",
        Some(Outcome::CannotSay) => "cannot say",
        None => "-",
    }
}

/// Prints what is written, and nothing of it where that fails.
fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<()> {
    let mut out = Vec::new();
    write(&mut out)?;
    terminal::print(&String::from_utf8(out)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: i64, title: &str, counts: [usize; 3]) -> RunLine {
        RunLine {
            id,
            title: title.into(),
            started_unix_ms: 1_795_293_900_000,
            version: String::new(),
            host: String::new(),
            simulated: id == 1,
            cut_short: id == 1,
            passed: counts[0],
            cannot_say: counts[1],
            failed: counts[2],
        }
    }

    /// 80 columns whatever the title; one that would steer the terminal is shown without that.
    #[test]
    fn runs_are_lines_of_80_columns() {
        let long = "a title that goes on and on \u{1b}[2J".repeat(4);
        let text = listed(&[line(1, &long, [2, 0, 1]), line(22, "short", [3, 0, 0]), line(23, "", [0, 1, 0])]);
        let wanted = concat!(
            " run  started                  verdict     title\n",
            "   1  2026-11-21 20:45:00 UTC  fail        a title that… (simulated, cut short)\n",
            "  22  2026-11-21 20:45:00 UTC  pass        short\n",
            "  23  2026-11-21 20:45:00 UTC  cannot say  \n",
        );
        assert_eq!(text, wanted);
        assert_eq!(listed(&[]), "no run yet\n");
    }
}
