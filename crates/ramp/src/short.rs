//! Printed tables of ramp results: one row per run, with six figures or fewer, without lengths or
//! counts.
//!
//! ```text
//!   run,read_iops,write_iops,total_iops,longest_write_cycle_s,effective_write_latency_ms
//!   10,55655,18176,73832,32.66,0.12
//! ```
//! Columns may be in any order and have the names of `summary.csv` (`Longest Write Cycle (sec)`).
//! Missing figures are unknown.

use crate::BLOCK;
use crate::reading::{ReadingError, fields};
use block::Span;
use stats::run::{Cell, Class, Point, Run, Setting, State, Value};

/// The meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Run,
    Reads,
    Writes,
    Total,
    /// A figure that is kept under this name, with the factor to its unit.
    Figure(&'static str, f64),
}

/// The columns by their names in lower case, with `_` for all other characters.
const COLUMNS: [(&str, Column); 10] = [
    ("run", Column::Run),
    ("read_iops", Column::Reads),
    ("write_iops", Column::Writes),
    ("total_iops", Column::Total),
    ("longest_wij_time_s", Column::Figure("longest_wij_ms", 1e3)),
    ("longest_wij_time_sec", Column::Figure("longest_wij_ms", 1e3)),
    ("longest_write_cycle_s", Column::Figure("longest_cycle_ms", 1e3)),
    ("longest_write_cycle_sec", Column::Figure("longest_cycle_ms", 1e3)),
    ("effective_write_latency_ms", Column::Figure("effective_write_ms", 1.0)),
    ("randread_average_ms", Column::Figure("read_mean_ms", 1.0)),
];

/// The assumed length of a run for counts: a table has rates but no lengths.
const OVER: Span = Span::SECOND;

/// Whether a text begins like such a table: with known columns, `total_iops` among them.
pub fn is_short(text: &str) -> bool {
    columns(text).is_some_and(|columns| columns.contains(&Column::Total))
}

/// The run of such a table.
///
/// # Errors
/// A line has too few fields, or a value that is not a number.
pub fn read_short(text: &str) -> Result<Run, ReadingError> {
    let first = || text.lines().next().unwrap_or_default();
    let Some(columns) = columns(text).filter(|columns| columns.contains(&Column::Total)) else {
        return Err(ReadingError::Header(first().chars().take(60).collect()));
    };
    let names = fields(first());
    let mut run = Run::default();
    run.identity.tool = "ramp".into();
    run.identity.title = "a printed table".into();
    run.identity.state = State::Ended;
    run.add_actor("ramp", None);
    run.set(Some(0), "block_bytes", BLOCK as f64);
    run.notes.push(PRINTED.into());
    let rows = text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty());
    for (point, (index, line)) in (0u32..).zip(rows) {
        let given = fields(line);
        if given.len() != columns.len() {
            return Err(ReadingError::Short { line: index + 1, found: given.len(), wanted: columns.len() });
        }
        let start = Span::from_nanos(OVER.as_nanos() * u64::from(point));
        let mut name = format!("row {}", point + 1);
        let mut rates = [None; 3];
        for ((column, text), title) in columns.iter().zip(&given).zip(&names) {
            if text.trim().is_empty() {
                continue;
            }
            let wrong = || ReadingError::Field {
                line: index + 1,
                column: title.trim().to_owned(),
                given: text.chars().take(40).collect(),
            };
            let number = text.trim().parse().map_err(|_| wrong())?;
            if !(0.0..=RATE_MAX).contains(&number) {
                return Err(wrong());
            }
            let (class, rate) = match column {
                Column::Run => {
                    name = format!("run {}", text.trim());
                    continue;
                }
                Column::Figure(key, times) => {
                    let value = Value::Number(number * times);
                    run.settings.push(Setting { point: Some(point), actor: Some(0), key: (*key).into(), value });
                    continue;
                }
                Column::Reads => (Class::READ, 0),
                Column::Writes => (Class::WRITE, 1),
                Column::Total => (Class::ALL, 2),
            };
            rates[rate] = Some(number);
            let ops = number.round() as u64;
            let bytes = Some(ops.saturating_mul(BLOCK));
            run.cells.push(Cell { ops, bytes, ..Cell::new(point, 0, class, OVER) });
        }
        add_up(index + 1, rates)?;
        run.points.push(Point { name, start, end: start + OVER, ..Point::default() });
    }
    Ok(run)
}

/// What is not known of such a run.
const PRINTED: &str = "of a printed table: its rates are kept as the requests of one second; lengths, counts and \
    percentiles are not known";

/// Refuses a total that is not the sum of its parts; `rates` are those of reads, of writes and of
/// both in one line.
fn add_up(line: usize, rates: [Option<f64>; 3]) -> Result<(), ReadingError> {
    let [Some(reads), Some(writes), Some(total)] = rates else { return Ok(()) };
    if (reads + writes - total).abs() > ROUNDED {
        let [reads, writes, total] = [reads, writes, total].map(|number| number.to_string());
        return Err(ReadingError::Sum { line, reads, writes, total });
    }
    Ok(())
}

/// By how much the parts may differ from the total: each of the three was rounded to a whole
/// number.
const ROUNDED: f64 = 1.5;

/// The maximum of a figure, above what any storage does in a second.
const RATE_MAX: f64 = 1e12;

/// The meaning of each column, if all are known.
fn columns(text: &str) -> Option<Vec<Column>> {
    let known = |name: &String| {
        let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' };
        let words: String = name.chars().map(letter).collect();
        let name = words.split_whitespace().collect::<Vec<_>>().join("_");
        COLUMNS.iter().find(|(known, _)| *known == name).map(|(_, column)| *column)
    };
    fields(text.lines().next()?.trim_start_matches('\u{feff}')).iter().map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ops(run: &Run, point: u32, class: &Class) -> Option<u64> {
        run.cells.iter().find(|cell| cell.point == point && cell.class == *class).map(|cell| cell.ops)
    }

    fn figure(run: &Run, point: u32, key: &str) -> Option<f64> {
        let found = run.settings.iter().find(|setting| setting.point == Some(point) && setting.key == key)?;
        if let Value::Number(number) = found.value { Some(number) } else { None }
    }

    /// Two rows of a published table (TR-4794, server epic_rhel1), and one without reads, as the
    /// bully's is printed.
    #[test]
    fn figures_are_kept_as_they_were_printed() {
        let text = "run,read_iops,write_iops,total_iops,longest_write_cycle_s,effective_write_latency_ms\n\
                    10,55655,18176,73832,32.66,0.12\n11,55653,18114,73768,34.66,0.1\n";
        assert!(is_short(text));
        let run = read_short(text).unwrap();
        let names: Vec<&str> = run.points.iter().map(|point| point.name.as_str()).collect();
        assert_eq!(names, ["run 10", "run 11"]);
        let all = [Class::READ, Class::WRITE, Class::ALL].map(|class| ops(&run, 0, &class));
        assert_eq!(all, [Some(55_655), Some(18_176), Some(73_832)]);
        assert_eq!(figure(&run, 1, "effective_write_ms"), Some(0.1));
        assert!((figure(&run, 1, "longest_cycle_ms").unwrap() - 34_660.0).abs() < 1e-6);
        assert_eq!(figure(&run, 1, "read_mean_ms"), None);
        let bully = "Run,Write IOPS,Total IOPS,Longest WIJ Time (sec)\r\n10,19980,81207,21.48\r\n";
        let run = read_short(bully).unwrap();
        assert_eq!((ops(&run, 0, &Class::READ), ops(&run, 0, &Class::ALL)), (None, Some(81_207)));
    }

    #[test]
    fn what_is_no_such_table_says_why() {
        for other in ["", "run,read_iops\n", "total_iops,colour\n1,red\n", "{}"] {
            assert!(!is_short(other), "{other}");
        }
        let line = |text: &str| read_short(text).unwrap_err().to_string();
        assert!(line("total_iops,run\n1\n").starts_with("line 2: has 1 of 2 fields"));
        assert!(line("total_iops\nmany\n").starts_with("line 2: total_iops must be a number, got \"many\""));
        let sum = |total| format!("total_iops,read_iops,write_iops\n3,1,2\n{total},60000,20000\n");
        assert_eq!(
            line(&sum(90_000)),
            "line 3: read_iops 60000 and write_iops 20000 must make total_iops, got 90000; correct the line"
        );
        assert!(read_short(&sum(80_001)).is_ok() && read_short(&sum(80_002)).is_err(), "three rounded figures");
        assert!(line("total_iops\n-1\n").contains("got \"-1\"") && line("total_iops\ninf\n").contains("inf"));
    }
}
