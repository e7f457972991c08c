//! `seawall results list`: a line for each run.

use super::{open, rounded};
use crate::Answer;
use crate::memory::{Memory, named_label, process};
use crate::terminal;
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use report::{Standing, text};
use results::{Filter, RunLine};
use stats::Outcome;

/// Default number of runs that are shown.
const USUAL: usize = 20;
/// The commands that keep runs.
const TOOLS: [&str; 8] = ["fio", "ramp", "ranread", "orion", "oltp", "run", "demo", "simulate"];

/// List runs, the newest last
///
/// The rate is operations a second of all actors over the time in which any was measured; for order
/// entry transactions, without what ran beside it, and for orion the most small requests of a
/// point. The verdict combines all
/// criteria. On a terminal lines are cut to its width; in a pipe or a file each run is one line of
/// any length, for grep. Programs read the same columns with results sql.
#[derive(clap::Args, Default)]
pub struct List {
    /// Only runs of this command; simulate finds all in virtual time
    #[arg(long, value_name = "COMMAND", value_parser = PossibleValuesParser::new(TOOLS))]
    tool: Option<String>,
    /// Only runs with this label; a key alone matches any word
    #[arg(long = "where", value_name = "KEY[=WORD]", value_parser = named_label)]
    labels: Vec<(String, Option<String>)>,
    /// Only runs from this day on (UTC), as in 2026-11-22
    #[arg(long, value_name = "DAY", value_parser = day)]
    since: Option<u64>,
    /// Number of runs to show, from the end [default: 20; 0 is all]
    #[arg(short = 'n', long, value_name = "NUMBER")]
    last: Option<usize>,
}

impl List {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let all = Filter { tool: self.tool, labels: self.labels, since_unix_ms: self.since, last: None };
        let runs = open(memory)?.list(&all)?;
        if runs.is_empty() {
            let why =
                if all == Filter::default() { "no run is kept yet" } else { "no run that is kept is one of those" };
            terminal::line(why);
            return Ok(Answer::Yes);
        }
        let most = match self.last.unwrap_or(USUAL) {
            0 => runs.len(),
            most => most,
        };
        terminal::print(&listed(&runs[runs.len().saturating_sub(most)..], terminal::width()));
        if runs.len() > most {
            terminal::line(&format!("{} earlier ones: --last 0 shows all", runs.len() - most));
        }
        Ok(Answer::Yes)
    }
}

/// Midnight of a day, in milliseconds since 1970.
fn day(given: &str) -> Result<u64, String> {
    let rule = || format!("must be a day as in 2026-11-22, got {given:?}");
    let parts: Vec<u64> = given.split('-').map(str::parse).collect::<Result<_, _>>().map_err(|_| rule())?;
    let [year, month, day] = parts[..] else { return Err(rule()) };
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = |year: u64, month: u64| match month {
        2 => 28 + u64::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=days(year, month)).contains(&day) {
        return Err(rule());
    }
    let before: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
    let months: u64 = (1..month).map(|month| days(year, month)).sum();
    Ok((before + months + day - 1) * 86_400_000)
}

/// Indentation of the second line of a run.
const ASIDE: usize = 6;

/// A line for each run, and a second one if its title, labels and remarks do not fit into
/// `columns`. Without `columns` nothing is cut, so that a line found by a search is the whole run.
fn listed(runs: &[RunLine], columns: Option<usize>) -> String {
    let mut lines = vec![format!(
        "{:>4}  {:<16}  {:<8}  {:>7}  {:<10}  title",
        "run", "started (UTC)", "command", "rate/s", "verdict"
    )];
    for run in runs {
        let goes_on = process::goes_on(run);
        let remarks = [
            (run.simulated, "simulated"),
            (run.cut_short, "cut short"),
            (goes_on, "goes on"),
            (run.running && !goes_on, process::GONE),
        ];
        let remarks: Vec<&str> = remarks.into_iter().filter(|(is, _)| *is).map(|(_, remark)| remark).collect();
        let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) };
        let started: String = text::date(run.started_unix_ms).chars().take(16).collect();
        let (tool, verdict) = (text::printable(&run.tool), verdict(run));
        let before = format!("{:>4}  {started:<16}  {tool:<8}  {:>7}  {verdict:<10}  ", run.id, rate(run.iops));
        let labels = if run.labels.is_empty() { String::new() } else { format!(" [{}]", text::printable(&run.labels)) };
        let (title, aside) = (text::printable(&run.title), labels + &remarks);
        let whole = format!("{before}{title}{aside}");
        match columns.filter(|columns| text::width(&whole) > *columns) {
            None => lines.push(whole.trim_end().to_owned()),
            Some(columns) => {
                lines.push(before.clone() + &text::fit(&title, columns.saturating_sub(text::width(&before))));
                let aside = text::fit(aside.trim_start(), columns.saturating_sub(ASIDE));
                lines.extend((!aside.is_empty()).then(|| format!("{:ASIDE$}{aside}", "")));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// Operations a second in at most seven characters.
fn rate(iops: Option<f64>) -> String {
    match iops {
        None => "-".into(),
        Some(iops) if iops < 1e6 => rounded(iops),
        Some(iops) => format!("{:.2}M", iops / 1e6),
    }
}

fn verdict(run: &RunLine) -> &'static str {
    match (Standing { held: run.passed, open: run.cannot_say, failed: run.failed }).outcome() {
        Some(Outcome::Pass) => "pass",
        Some(Outcome::Fail) => "fail",
        Some(Outcome::CannotSay) => "cannot say",
        None => "-",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work that was done is not a rate of 0.
    #[test]
    fn low_rates_have_decimals() {
        let rates = [0.0, 0.0004, 0.45, 9.87654, 12.6, 1234.5, 2.5e6];
        let told = rates.map(|iops| rate(Some(iops)));
        assert_eq!(told, ["0", "<0.001", "0.450", "9.877", "13", "1234", "2.50M"]);
        assert_eq!(rate(None), "-");
    }

    fn line(id: i64, title: &str, counts: [usize; 3]) -> RunLine {
        RunLine {
            id,
            tool: "run".into(),
            title: title.into(),
            started_unix_ms: 1_795_293_900_000,
            simulated: id == 1,
            cut_short: id == 1,
            iops: (id != 23).then_some(104_321.4 * id as f64),
            passed: counts[0],
            cannot_say: counts[1],
            failed: counts[2],
            labels: if id == 22 { "raid=5".into() } else { String::new() },
            ..RunLine::default()
        }
    }

    /// Lines fit the terminal whatever the title, and are complete elsewhere; control characters in
    /// a title are removed.
    #[test]
    fn lines_fit_the_terminal() {
        let long = "a title that goes on and on \u{1b}[2J".repeat(2);
        let runs = [line(1, &long, [2, 0, 1]), line(22, "short", [3, 0, 0]), line(23, "", [0, 1, 0])];
        let wanted = concat!(
            " run  started (UTC)     command    rate/s  verdict     title\n",
            "   1  2026-11-21 20:45  run        104321  fail        a title that goes on an…\n",
            "      (simulated, cut short)\n",
            "  22  2026-11-21 20:45  run         2.30M  pass        short [raid=5]\n",
            "  23  2026-11-21 20:45  run             -  cannot say\n",
        );
        assert_eq!(listed(&runs, Some(79)), wanted);
        let whole = listed(&runs, None);
        assert!(
            whole.contains("fail        a title that goes on and on") && whole.contains("(simulated, cut short)\n")
        );
        assert_eq!(whole.lines().count(), 4);
    }

    /// Values that no run can have are refused; the table in the documentation has all tools.
    #[test]
    fn impossible_filters_are_refused() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            list: List,
        }
        let line = |words: &[&str]| <Line as clap::Parser>::try_parse_from([&["list"], words].concat());
        let both = line(&["--tool", "oltp", "--where", "raid=5", "--where", "note"]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(both.list.labels, [("raid".into(), Some("5".into())), ("note".into(), None)]);
        for (words, told) in [
            (["--tool", "nope"], "possible values: fio, ramp, ranread, orion, oltp, run, demo, simulate"),
            (["--where", "=5"], "must be KEY=WORD"),
            (["--where", "a b"], ", or a key"),
        ] {
            let error = line(&words).err().unwrap_or_else(|| panic!("{words:?}")).to_string();
            assert!(error.contains(told), "{error}");
        }
        let tools = TOOLS.map(|tool| format!("`{tool}`")).join(", ");
        assert!(include_str!("../../../../../docs/results.md").contains(&format!("| `tool` | {tools} |")));
    }

    #[test]
    fn a_day_is_its_midnight() {
        // 20 454 days from 1970 to the first day of 2026: 56 years with 14 leap days.
        assert_eq!(day("2026-01-01"), Ok((56 * 365 + 14) * 86_400_000));
        assert_eq!(day("2024-03-01").unwrap() - day("2024-02-28").unwrap(), 2 * 86_400_000);
        for wrong in ["2026-13-01", "2026-02-29", "2026-1", "yesterday", "1969-12-31", "2026-01-00"] {
            assert!(day(wrong).is_err(), "{wrong}");
        }
    }
}
