//! `seawall results sql`: a query over all kept runs.

use super::open;
use crate::memory::Memory;
use crate::{Answer, interrupt, terminal};
use anyhow::{Result, bail};
use block::Span;
use report::text;
use results::SqlValue;

/// Maximum width of a value in a table; longer values are truncated.
const WIDTH_MAX: usize = 60;

/// Query the results database in SQL
///
/// Nothing can be changed. Without a query the views and their columns are listed, which are meant
/// for users; docs/results.md describes them and the tables below them. As in: seawall results sql
/// "select run, title, iops, p99_us from results"
#[derive(clap::Args)]
pub struct Sql {
    /// The query
    query: Option<String>,
    /// Comma-separated values instead of a table
    #[arg(long)]
    csv: bool,
    /// A JSON array of objects instead of a table
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Maximum time of the query, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    time: u64,
}

impl Sql {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let database = open(memory)?;
        let Some(query) = &self.query else {
            let views = database.views()?;
            for (view, columns) in views {
                terminal::line(&view);
                text::wrap(&columns, 76).iter().for_each(|line| terminal::line(&format!("    {line}")));
            }
            return Ok(Answer::Yes);
        };
        let clock = uring::Clock::new();
        let end = clock.now() + Span::from_secs(self.time);
        let stop = interrupt::watch()?;
        let asked = stop.clone();
        let found = database.query(query, move || asked.is_asked() || clock.now() > end);
        if stop.is_asked() {
            bail!("stopped by hand");
        }
        let found = found?;
        let text = match (self.csv, self.json) {
            (true, _) => super::export::separated(&found, ','),
            (_, true) => super::export::json(&found),
            _ => table(&found),
        };
        terminal::print(&text);
        if found.cut {
            bail!("the answer has more than {} rows; the others were left out", results::ROWS_MAX);
        }
        Ok(Answer::Yes)
    }
}

/// A table with columns as wide as their values, and numbers right-aligned.
fn table(answer: &results::Answer) -> String {
    let shown = |cell: &SqlValue| match cell {
        SqlValue::Null => "-".to_owned(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => figure(*number),
        SqlValue::Text(words) => text::fit(&text::printable(&words.replace(['\n', '\t'], " ")), WIDTH_MAX),
        SqlValue::Bytes(bytes) => format!("{bytes} bytes"),
    };
    let rows: Vec<Vec<String>> = answer.rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let heads: Vec<String> = answer.columns.iter().map(|head| text::fit(&text::printable(head), WIDTH_MAX)).collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| text::width(&row[column]));
        widths.chain([text::width(&heads[column])]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let right = |column: usize| answer.rows.iter().all(|row| !matches!(row[column], SqlValue::Text(_)));
    let line = |cells: &[String]| {
        let padded = cells.iter().enumerate().map(|(column, cell)| {
            let room = " ".repeat(widths[column].saturating_sub(text::width(cell)));
            if right(column) { room + cell } else { cell.clone() + &room }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().fold(line(&heads), |text, row| text + &line(row))
}

/// A number with about six digits.
fn figure(number: f64) -> String {
    match number.abs() {
        0.0 => "0".into(),
        size if !(1e-3..1e15).contains(&size) => format!("{number:e}"),
        size if size >= 1e5 => format!("{number:.0}"),
        size if size >= 100.0 => format!("{number:.1}"),
        _ => format!("{number:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_without_control_characters() {
        let row = |name: &str, iops| vec![SqlValue::Text(name.into()), SqlValue::Real(iops), SqlValue::Null];
        let answer = results::Answer {
            columns: vec!["name".into(), "iops".into(), "p99_us".into()],
            rows: vec![row("a", 1_234_567.8), row("b\u{1b}[2J\nc", 12.0)],
            cut: false,
        };
        let text = table(&answer);
        assert!(!text.contains('\u{1b}'), "{text:?}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[1].ends_with("1234568       -")), (3, true), "{text}");
        assert!(lines[2].ends_with(" 12.000       -"), "{text}");
    }
}
