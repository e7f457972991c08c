//! Reads a ramp's tables back, for a page, an advice or a comparison of hosts.

use crate::summary::{HEADER, RampRow};
use crate::timeline::{SECONDS_HEADER, TimelineSecond};
use block::Span;

/// Why a text is not a table of a ramp.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// It begins with something else.
    #[error("is no table of seawall ramp: it begins with {0:?}")]
    Header(String),
    /// A line is broken.
    #[error("line {line}: {column} must be a number, got {given:?}; the file was changed by hand or cut short")]
    Field {
        /// The line, from 1.
        line: usize,
        /// The column's name.
        column: String,
        /// What is there.
        given: String,
    },
    /// The total of a line is not the sum of its parts.
    #[error(
        "line {line}: read_iops {reads} and write_iops {writes} must make total_iops, got {total}; correct the line"
    )]
    Sum {
        /// The line, from 1.
        line: usize,
        /// The reads in it, as given.
        reads: String,
        /// The writes in it, as given.
        writes: String,
        /// The total in it, as given.
        total: String,
    },
    /// A line has too few fields.
    #[error("line {line}: has {found} of {wanted} fields; the file was changed by hand or cut short")]
    Short {
        /// The line, from 1.
        line: usize,
        /// Fields there are.
        found: usize,
        /// Fields there should be.
        wanted: usize,
    },
}

/// The rows of a `summary.csv`, with the precision that the file has.
///
/// # Errors
/// What is wrong with it.
pub fn read_summary(text: &str) -> Result<Vec<RampRow>, ReadingError> {
    lines(text, HEADER)?.map(|line| row(&line?)).collect()
}

/// The lines of a `seconds.csv`.
///
/// # Errors
/// What is wrong with it.
pub fn read_seconds(text: &str) -> Result<Vec<TimelineSecond>, ReadingError> {
    let second = |line: Line<'_>| {
        Ok(TimelineSecond {
            run: line.whole(0)?,
            second: line.whole(1)?,
            reads: line.whole(2)?,
            writes: line.whole(3)?,
            journal: line.whole(4)?,
            cycle: line.number(5)?,
        })
    };
    lines(text, SECONDS_HEADER)?.map(|line| second(line?)).collect()
}

fn row(line: &Line<'_>) -> Result<RampRow, ReadingError> {
    let seconds = |column| line.number(column).map(Span::from_secs_f64);
    let ms = |column| line.number(column).map(|ms| Span::from_secs_f64(ms / 1e3));
    Ok(RampRow {
        run: line.whole(0)?,
        read_iops: line.number(1)?,
        write_iops: line.number(2)?,
        longest_wij: seconds(4)?,
        longest_cycle: seconds(5)?,
        effective_write_ms: if line.fields[6].is_empty() { None } else { Some(line.number(6)?) },
        read_mean: ms(7)?,
        target: line.whole(8)?,
        cycle_p90: seconds(9)?,
        read_p99: ms(10)?,
        read_p999: ms(11)?,
        read_p9999: ms(12)?,
        read_service: ms(13)?,
        write_mean: ms(14)?,
        reads: line.whole(15)?,
        cycles: line.whole(16)?,
        cycles_missed: line.whole(17)?,
        overruns: line.whole(18)?,
        reads_missed: line.whole(19)?,
        // Only the verdict is in the file.
        storage_held: false,
        lateness_p99: Span::from_secs_f64(line.number(20)? / 1e6),
        elapsed: seconds(21)?,
        system: line.fields[22].clone(),
        comment: line.fields[23].clone(),
        verdict: line.fields[24].clone(),
        comparable: line.fields[25] == "yes",
        journal_mb_s: if line.fields[26].is_empty() { None } else { Some(line.number(26)?) },
        journal_sync_p99: if line.fields[27].is_empty() { None } else { Some(ms(27)?) },
    })
}

/// A line's fields, and their names.
struct Line<'a> {
    number: usize,
    names: Vec<&'a str>,
    fields: Vec<String>,
}

impl Line<'_> {
    fn whole(&self, column: usize) -> Result<u64, ReadingError> {
        self.fields[column].parse().map_err(|_| self.wrong(column))
    }

    /// A non-negative number.
    fn number(&self, column: usize) -> Result<f64, ReadingError> {
        let number = self.fields[column].parse().ok();
        number.filter(|number: &f64| number.is_finite() && *number >= 0.0).ok_or_else(|| self.wrong(column))
    }

    fn wrong(&self, column: usize) -> ReadingError {
        let (column, given) = (self.names[column].to_owned(), self.fields[column].chars().take(40).collect());
        ReadingError::Field { line: self.number, column, given }
    }
}

/// The lines after `header`.
fn lines<'a>(
    text: &'a str,
    header: &'a str,
) -> Result<impl Iterator<Item = Result<Line<'a>, ReadingError>>, ReadingError> {
    let Some(body) = text.strip_prefix(header) else {
        return Err(ReadingError::Header(text.lines().next().unwrap_or_default().chars().take(60).collect()));
    };
    let names: Vec<&str> = header.trim_end().split(',').collect();
    let read = move |(index, text): (usize, &str)| {
        let (number, fields) = (index + 2, fields(text));
        match fields.len() == names.len() {
            true => Ok(Line { number, names: names.clone(), fields }),
            false => Err(ReadingError::Short { line: number, found: fields.len(), wanted: names.len() }),
        }
    };
    Ok(body.lines().enumerate().map(read))
}

/// The fields of a line by RFC 4180: in quotes if they contain a comma, with quotes doubled. Our
/// files have no line breaks in fields.
pub(crate) fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            letter => field.push(letter),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::summary_csv;

    #[test]
    fn what_was_written_is_read() {
        // Figures that the file's decimals represent exactly.
        let row = RampRow {
            run: 10,
            read_iops: 55_655.0,
            write_iops: 18_176.0,
            longest_wij: Span::from_millis(15_250),
            longest_cycle: Span::from_millis(32_660),
            effective_write_ms: Some(0.12),
            read_mean: Span::from_micros(660),
            target: 75_000,
            cycle_p90: Span::from_millis(31_000),
            reads: 101_293_738,
            cycles: 22,
            elapsed: Span::from_secs(1820),
            system: "epic \"one\", rhel1".into(),
            comment: "constant, 75k".into(),
            verdict: "pass".into(),
            comparable: true,
            ..RampRow::default()
        };
        let second = RampRow { effective_write_ms: None, comparable: false, run: 11, ..row.clone() };
        let rows = [row, second];
        assert_eq!(read_summary(&summary_csv(&rows)), Ok(rows.to_vec()));
        assert_eq!(read_summary(HEADER), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_table_says_why() {
        assert_eq!(
            read_summary("a,b\n").unwrap_err().to_string(),
            "is no table of seawall ramp: it begins with \"a,b\""
        );
        let cut = format!("{HEADER}1,2,3\n");
        assert!(read_summary(&cut).unwrap_err().to_string().starts_with("line 2: has 3 of 28 fields"));
        let wrong = format!("{SECONDS_HEADER}0,0,1,1,1,0.5,yes\n0,1,-1,1,1,0,yes\n");
        assert_eq!(
            read_seconds(&wrong).unwrap_err().to_string(),
            "line 3: Reads must be a number, got \"-1\"; the file was changed by hand or cut short"
        );
    }
}
