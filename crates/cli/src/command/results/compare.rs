//! `seawall results compare`: the differences between runs, and whether they are more than noise.

use super::{compared, open};
use crate::Answer;
use crate::memory::Memory;
use crate::terminal;
use crate::watch::REPORT_COLUMNS;
use anyhow::{Result, bail};
use report::{DifferenceWords, place_of, text};
use stats::run::{Difference, alone, differences, obstacles};

/// Compare runs with the first of them
///
/// Each difference has its 95 % confidence interval, computed from how batches of seconds differ
/// from the whole run (sectioning, Welch). Exit code 1: a difference is more than noise. Runs that
/// are not comparable are refused.
#[derive(clap::Args)]
pub struct Compare {
    /// The runs, two or more
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    runs: Vec<String>,
    /// Compare runs although they are not comparable: another block size, another plan, short write
    /// cycles
    #[arg(long)]
    anyway: bool,
}

impl Compare {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let database = open(memory)?;
        let numbers = self.runs.iter().map(|run| database.number_of(run)).collect::<Result<Vec<_>, _>>()?;
        let runs = numbers.iter().map(|number| compared(&database, *number)).collect::<Result<Vec<_>>>()?;
        for (number, run) in numbers.iter().zip(&runs).skip(1) {
            let why = obstacles(&runs[0], run);
            if !why.is_empty() && !self.anyway {
                let why = text::printable(&why.join("; "));
                bail!("runs {} and {number} are not comparable: {why} (--anyway compares them)", numbers[0]);
            }
        }
        let mut answer = Answer::Yes;
        for (number, run) in numbers.iter().zip(&runs).skip(1) {
            let found = differences(&runs[0], run);
            if found.is_empty() {
                bail!("runs {} and {number} have no point, actor and class of the same names", numbers[0]);
            }
            terminal::print(&shown([numbers[0], *number], &found));
            for (number, one, other) in [(numbers[0], &runs[0], run), (*number, run, &runs[0])] {
                let alone = alone(one, other).into_iter().map(|(point, actor, class)| place_of(point, actor, class));
                alone.for_each(|named| terminal::line(&format!("only run {number} has {named}")));
            }
            if found.iter().any(|difference| difference.is_significant() == Some(true)) {
                answer = Answer::No;
            }
        }
        Ok(answer)
    }
}

/// A line for each figure, in 80 columns.
fn shown(numbers: [i64; 2], found: &[Difference]) -> String {
    let [a, b] = numbers.map(|number| format!("run {number}"));
    let mut lines = vec![format!("{:<26} {a:>10} {b:>10} {:>9} {:>9}", "", "change", "± (95 %)")];
    let mut head = String::new();
    for difference in found {
        let named = place_of(&difference.point, &difference.actor, &difference.class);
        if named != head {
            lines.push(text::fit(&named, REPORT_COLUMNS));
            head = named;
        }
        let DifferenceWords { before, after, change, half_width, verdict } = DifferenceWords::of(difference);
        let figure = difference.figure;
        lines.push(format!("  {figure:<24} {before:>10} {after:>10} {change:>9} {half_width:>9}  {verdict}"));
    }
    lines.join("\n") + "\n"
}
