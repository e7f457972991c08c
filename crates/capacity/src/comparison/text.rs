//! The comparison as text of 80 columns.

use super::{Column, Comparison, Given, Line, Row, signed};
use report::text::{fit, thousands, width, wrap};
use stats::Outcome;

const COLUMNS: usize = 80;
/// Maximum number of columns of figures side by side: 6 for a name, 3 × [`FIGURES`], and 2 for a
/// mark at rows that are left out.
const ABREAST: usize = 3;
/// Width of a column of figures: published, simulated and error.
const FIGURES: usize = 24;
/// Width of a mark behind a row.
const MARK: usize = 2;

impl Comparison {
    /// As text.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", self.title);
        wrap(&self.about, COLUMNS).iter().for_each(|line| out += &format!("{line}\n"));
        out += &format!("\n{}\n", report::text::count(self.fitted.len(), "fitted number", "fitted numbers"));
        for fitted in &self.fitted {
            for line in wrap(&format!("{}: {}, to {}", fitted.name, fitted.value, fitted.to), COLUMNS - 2) {
                out += &format!("  {line}\n");
            }
        }
        self.lines.iter().for_each(|line| out += &line.text(self.given));
        if !self.targets.is_empty() {
            out += "\ntargets\n";
        }
        for target in &self.targets {
            let mark = match target.outcome {
                Outcome::Pass => "reached",
                Outcome::Fail => "MISSED",
                Outcome::CannotSay => "cannot say",
            };
            let text = format!("{}: {}", target.asked, target.reached);
            for (index, line) in wrap(&text, COLUMNS - 12).iter().enumerate() {
                out += &format!("  {:<9} {line}\n", if index == 0 { mark } else { "" });
            }
        }
        if !self.notes.is_empty() {
            out += "\nnotes\n";
        }
        for note in &self.notes {
            for (index, line) in wrap(note, COLUMNS - 4).iter().enumerate() {
                out += &format!("  {} {line}\n", if index == 0 { "-" } else { " " });
            }
        }
        out
    }
}

impl Line {
    fn text(&self, given: Given) -> String {
        let mut out = String::new();
        let names = self.rows.iter().map(|row| width(&row.name)).max().unwrap_or(0);
        // Long row names leave room for one column of figures, short ones for three.
        let abreast = ((COLUMNS - names.min(32) - MARK) / FIGURES).clamp(1, ABREAST);
        let names = names.min(COLUMNS - FIGURES * abreast - MARK);
        let all: Vec<usize> = (0..self.columns.len()).collect();
        for part in all.chunks(abreast) {
            out += &format!("\n{}\n", self.name);
            for &column in part {
                let Column { name, basis, .. } = &self.columns[column];
                out += &format!("  {name}: {}\n", basis.words());
            }
            out += &format!("{:names$}", "");
            for &column in part {
                let short = self.columns[column].name.split(',').next().unwrap_or_default();
                out += &format!("  {:>22}", fit(short, 22));
            }
            out += &format!("\n{:names$}{}\n", "", format!(" {:>9} simul.  error", given.word()).repeat(part.len()));
            // Rows without any of these figures, and without a reason for that, say nothing.
            let has_any = |row: &&Row| {
                let has = |&column: &usize| !row.cells[column].0.is_empty() || row.cells[column].1.is_some();
                row.left_out.is_some() || part.iter().any(has)
            };
            for row in self.rows.iter().filter(has_any) {
                out += &format!("{:names$}", fit(&row.name, names));
                part.iter().for_each(|&column| out += &self.cell(row, column));
                out += &format!("{}\n", if row.left_out.is_some() { " *" } else { "" });
            }
            out += &self.summary(part, names);
        }
        for line in self.left_out() {
            wrap(&format!("* {line}"), COLUMNS - 2).iter().for_each(|line| out += &format!("  {line}\n"));
        }
        out
    }

    /// Why rows are left out: a sentence for each reason, with the names of its rows.
    pub(super) fn left_out(&self) -> impl Iterator<Item = String> {
        let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
        for row in &self.rows {
            let Some(why) = row.left_out.as_deref() else { continue };
            match found.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(&row.name),
                None => found.push((why, vec![&row.name])),
            }
        }
        found.into_iter().map(|(why, names)| {
            let is = if names.len() == 1 { "is" } else { "are" };
            format!("{} {is} in no sum of errors: {why}", names.join(", "))
        })
    }

    fn cell(&self, row: &Row, column: usize) -> String {
        let of = &self.columns[column];
        let (published, simulated) = &row.cells[column];
        let published = published.parse::<u64>().map_or_else(|_| published.clone(), thousands);
        let published = if published.is_empty() { "–".into() } else { published };
        let simulated = simulated.map_or("–".into(), |figure| of.shown(figure));
        // A figure that is wider than its column takes the blanks before the published one.
        let both = format!("{} {simulated:>6}", fit(&published, 9));
        format!("{both:>17} {:>6}", of.error(row.error(column, of.absolute)))
    }

    fn summary(&self, part: &[usize], names: usize) -> String {
        let mut out = String::new();
        for (what, pick) in [("mean", 0), ("worst", 1)] {
            out += &format!("{:names$}", fit(what, names));
            for &column in part {
                let figure = self.mean_and_worst(column).map(|both| if pick == 0 { both.0 } else { both.1 });
                let says = figure.map_or("–".into(), |figure| self.columns[column].size(figure));
                out += &format!("  {:>22}", format!("{what} {says}"));
            }
            out += "\n";
        }
        out
    }
}

impl Column {
    pub(super) fn shown(&self, figure: f64) -> String {
        match self.digits {
            0 => thousands(figure.max(0.0).trunc() as u64),
            digits => format!("{figure:.digits$}"),
        }
    }

    fn error(&self, error: Option<f64>) -> String {
        match error {
            None => String::new(),
            Some(error) if self.absolute => signed(error, 3),
            Some(error) if error.abs() >= 0.9995 => format!("{}%", signed(100.0 * error, 0)),
            Some(error) => format!("{}%", signed(100.0 * error, 1)),
        }
    }

    /// The absolute error as text.
    pub(super) fn size(&self, error: f64) -> String {
        if self.absolute { format!("{error:.3}") } else { format!("{:.2} %", 100.0 * error) }
    }
}
