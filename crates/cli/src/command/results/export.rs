//! `seawall results export`: runs as tables for other programs.

use super::{looked_at, open, workbook};
use crate::Answer;
use crate::memory::Memory;
use crate::outputs::{Kind, Output, check_all, named};
use crate::terminal;
use anyhow::{Result, bail};
use block::Span;
use report::text::count;
use results::SqlValue;
use std::path::PathBuf;

/// Export runs as CSV, TSV, JSON, Parquet or a workbook
///
/// A row for each class of each actor in each point, as in the view `results`, or with --seconds
/// one for each second, as in the view `seconds`. A workbook has both, and charts of IOPS and
/// response time by second.
#[derive(clap::Args)]
pub struct Export {
    /// The runs
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    /// Export seconds instead of totals
    #[arg(long)]
    seconds: bool,
    /// The format: csv, tsv, json, xlsx, or parquet if this build has it
    #[arg(long, value_name = "FORM", default_value = "csv", value_parser = ["csv", "tsv", "json", "xlsx", "parquet"])]
    format: String,
    /// The file to write; `-` is standard output [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Maximum time for reading the rows: a run of days has many seconds.
const LONGEST: Span = Span::from_secs(3600);

impl Export {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let output = self.output()?;
        check_all(&[output])?;
        let database = open(memory)?;
        let numbers = self.runs.iter().map(|run| database.number_of(run)).collect::<Result<Vec<_>, _>>()?;
        if self.format == "xlsx" {
            return written(output, self.workbook(&database, &numbers)?, &count(numbers.len(), "run", "runs"));
        }
        let found = self.rows(&database, &numbers)?;
        let content = match self.format.as_str() {
            "json" => json(&found).into_bytes(),
            "tsv" => separated(&found, '\t').into_bytes(),
            #[cfg(feature = "parquet")]
            "parquet" => super::parquet::of(&found)?,
            _ => separated(&found, ',').into_bytes(),
        };
        written(output, content, &count(found.rows.len(), "row", "rows"))
    }

    /// The output file; `None` for standard output, which takes text only.
    fn output(&self) -> Result<Option<Output<'_>>> {
        let kind = match self.format.as_str() {
            "csv" => Kind::Text("run,"),
            "tsv" => Kind::Text("run\t"),
            "json" => Kind::Text("[{\"run\":"),
            "xlsx" => Kind::Workbook,
            _ if cfg!(feature = "parquet") => Kind::Parquet,
            _ => bail!(
                "--format parquet: is not in this build; build seawall with --features parquet, or take csv or json"
            ),
        };
        let output = Output::of("--output", self.output.as_deref().and_then(named), kind);
        if matches!(kind, Kind::Workbook | Kind::Parquet) && output.is_none() {
            bail!("--format {}: is no text; name its file with --output FILE", self.format);
        }
        Ok(output)
    }

    /// The rows to export.
    fn rows(&self, database: &results::Results, numbers: &[i64]) -> Result<results::Answer> {
        let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let view = if self.seconds { "seconds" } else { "results" };
        rows(database, &format!("SELECT * FROM {view} WHERE run IN ({})", numbers.join(", ")))
    }

    fn workbook(&self, database: &results::Results, numbers: &[i64]) -> Result<Vec<u8>> {
        if self.seconds {
            bail!("--seconds: a workbook has the seconds anyway; leave it out");
        }
        let runs = numbers.iter().map(|number| Ok((*number, looked_at(database, *number)?)));
        let runs = runs.collect::<Result<Vec<_>>>()?;
        let list = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let figures = rows(database, &format!("SELECT * FROM results WHERE run IN ({list})"))?;
        let about = rows(database, &format!("SELECT * FROM runs WHERE run IN ({list})"))?;
        Ok(workbook::of(&runs, &about, &figures).render()?)
    }
}

/// Writes the content and says how much it is.
fn written(output: Option<Output<'_>>, content: Vec<u8>, how_much: &str) -> Result<Answer> {
    match output {
        Some(output) => {
            output.write(content)?;
            terminal::line(&format!("{how_much} written to {}", output.path.display()));
        }
        None => terminal::print(&String::from_utf8_lossy(&content)),
    }
    Ok(Answer::Yes)
}

/// All rows of a query. More than an answer can hold are refused, so that no file is truncated
/// silently.
fn rows(database: &results::Results, query: &str) -> Result<results::Answer> {
    let clock = uring::Clock::new();
    let end = clock.now() + LONGEST;
    let found = database.query(query, move || clock.now() > end)?;
    if found.cut {
        let most = report::text::thousands(results::ROWS_MAX as u64);
        bail!("export: there are more than {most} rows; name fewer runs, or ask for some with seawall results sql");
    }
    Ok(found)
}

/// Values separated by `separator`; NULL is empty. Text that a spreadsheet would take for a formula
/// gets a leading quote, so that a label or name from elsewhere runs nothing.
pub fn separated(answer: &results::Answer, separator: char) -> String {
    let quoted = |words: &str| {
        let formula = words.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let words = if formula { format!("'{words}") } else { words.to_owned() };
        match words.contains([separator, '"', '\n', '\r']) {
            true => format!("\"{}\"", words.replace('"', "\"\"")),
            false => words,
        }
    };
    let shown = |cell: &SqlValue| match cell {
        SqlValue::Null => String::new(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => number.to_string(),
        SqlValue::Text(words) => quoted(words),
        SqlValue::Bytes(bytes) => format!("{bytes} bytes"),
    };
    let line = |cells: Vec<String>| cells.join(&separator.to_string()) + "\n";
    let head = line(answer.columns.iter().map(|column| quoted(column)).collect());
    answer.rows.iter().fold(head, |text, row| text + &line(row.iter().map(shown).collect()))
}

/// An array of objects, one on each line.
pub fn json(answer: &results::Answer) -> String {
    let value = |cell: &SqlValue| match cell {
        SqlValue::Null => "null".to_owned(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) if number.is_finite() => number.to_string(),
        SqlValue::Real(_) => "null".to_owned(),
        SqlValue::Text(words) => string(words),
        SqlValue::Bytes(bytes) => bytes.to_string(),
    };
    let object = |row: &Vec<SqlValue>| {
        let pairs = answer.columns.iter().zip(row).map(|(column, cell)| format!("{}:{}", string(column), value(cell)));
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
    };
    let rows: Vec<String> = answer.rows.iter().map(object).collect();
    format!("[{}]\n", rows.join(",\n"))
}

/// A JSON string; characters that could end a script in a page are escaped too.
fn string(words: &str) -> String {
    let mut out = String::from("\"");
    for c in words.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' || c == '<' || c == '\u{7f}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(words: &str) -> results::Answer {
        let row = vec![SqlValue::Text(words.into()), SqlValue::Real(-1.5), SqlValue::Null];
        results::Answer { columns: vec!["name".into(), "x".into(), "y".into()], rows: vec![row], cut: false }
    }

    #[test]
    fn a_formula_is_words() {
        for formula in ["=cmd|'/c calc'!A1", "+1", "-1", "@sum(a1)"] {
            let text = separated(&answer(formula), ',');
            assert!(text.ends_with(&format!("\n'{formula},-1.5,\n")), "{text}");
        }
        assert!(separated(&answer("a,\"b\"\nc"), ',').ends_with("\n\"a,\"\"b\"\"\nc\",-1.5,\n"));
        assert!(separated(&answer("a,b"), '\t').ends_with("\na,b\t-1.5\t\n"));
    }

    #[test]
    fn json_is_read_back_as_it_was() {
        let words = "a \"b\" \\ \n </script> \u{1}\u{7f} ä";
        let read: serde_json::Value = serde_json::from_str(&json(&answer(words))).unwrap();
        assert_eq!(read[0]["name"], words);
        assert_eq!((&read[0]["x"], &read[0]["y"]), (&serde_json::json!(-1.5), &serde_json::Value::Null));
        assert!(!json(&answer(words)).contains('<'));
    }
}
