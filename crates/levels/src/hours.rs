//! Hours as a spreadsheet has them: what a pool kept of its objects, exported, or that of several pools together.
//!
//! Columns are found by name and may stand in any order, and others may stand between them. Names are those of the file that a
//! server keeps by the hour: what was done as it is, what was promised behind `promised_`.

use crate::line::{Hour, Sums};
use std::collections::BTreeMap;
use std::io::Read;

/// What is wrong with a file of hours; one line.
#[derive(Debug, thiserror::Error)]
pub enum HoursError {
    /// It is no CSV.
    #[error("{0}")]
    Csv(#[from] csv::Error),
    /// A column that there must be.
    #[error("has no column {0}; a row needs {names}", names = NEEDED.join(", "))]
    Column(&'static str),
    /// A value that is no whole number.
    #[error("row {row}: {column}: must be a whole number from 0 on, got {given:?}")]
    Number {
        /// The row, the headings not counted.
        row: usize,
        /// The column.
        column: &'static str,
        /// What was given.
        given: String,
    },
}

/// Columns without which nothing can be said.
const NEEDED: [&str; 5] = ["hour", "svm", "volume", "path", "promised_seconds"];

/// What a request's time consists of.
const LATENCY: [&str; 5] = ["network_us", "qos_max_us", "qos_min_us", "store_us", "disk_us"];

/// Reads hours from CSV; a column that is not needed and not there counts nothing.
///
/// # Errors
/// What is wrong with it.
pub fn hours(input: impl Read) -> Result<Vec<Hour>, HoursError> {
    let mut reader = csv::Reader::from_reader(input);
    let columns: BTreeMap<String, usize> =
        reader.headers()?.iter().enumerate().map(|(at, name)| (name.trim().to_owned(), at)).collect();
    if let Some(column) = NEEDED.into_iter().find(|column| !columns.contains_key(*column)) {
        return Err(HoursError::Column(column));
    }
    let mut hours = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let record = record?;
        hours.push(Row { record: &record, columns: &columns, row: index + 1 }.hour()?);
    }
    Ok(hours)
}

struct Row<'a> {
    record: &'a csv::StringRecord,
    columns: &'a BTreeMap<String, usize>,
    row: usize,
}

impl Row<'_> {
    fn text(&self, column: &str) -> &str {
        self.columns.get(column).and_then(|at| self.record.get(*at)).unwrap_or_default().trim()
    }

    fn number(&self, column: &'static str) -> Result<u64, HoursError> {
        let given = self.text(column);
        let missing = given.is_empty() && !NEEDED.contains(&column);
        match given.parse() {
            Ok(number) => Ok(number),
            Err(_) if missing => Ok(0),
            Err(_) => Err(HoursError::Number { row: self.row, column, given: given.chars().take(40).collect() }),
        }
    }

    fn sum(&self, columns: &[&'static str]) -> Result<u64, HoursError> {
        columns.iter().try_fold(0u64, |sum, column| Ok(sum.saturating_add(self.number(column)?)))
    }

    fn hour(&self) -> Result<Hour, HoursError> {
        let (svm, volume) = (self.text("svm").to_owned(), self.text("volume").to_owned());
        let is_volume = self.text("path") == format!("{svm}:/vol/{volume}");
        Ok(Hour {
            hour: self.number("hour")?,
            is_volume,
            policy: self.text("policy").to_owned(),
            seconds: self.number("promised_seconds")?,
            sums: Sums {
                floor_ops: self.number("promised_floor_ops")?,
                allocated_mib_s: self.number("promised_allocated_mib_s")?,
                used_mib_s: self.number("promised_used_mib_s")?,
                ops: self.sum(&["read_ops", "write_ops", "other_ops"])?,
                bytes: self.sum(&["read_bytes", "write_bytes"])?,
                completed: self.number("completed")?,
                latency_us: self.sum(&LATENCY)?,
                held_us: self.number("qos_max_us")?,
                missed_ops: self.number("missed_ops")?,
                missed_ms: self.number("missed_ms")?,
            },
            svm,
            volume,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let text = "promised_seconds,path,volume,svm,hour,colour,write_ops,read_ops,qos_max_us,disk_us,policy\n\
                    3600,s:/vol/v,v,s,7,red,,,,,gold-s\n3600,s:/vol/v/l,v,s,7,blue,5,4,10,20,\n";
        let found = hours(text.as_bytes()).unwrap();
        assert_eq!((found[0].is_volume, found[0].policy.as_str(), found[0].sums.ops), (true, "gold-s", 0));
        let lun = &found[1];
        assert_eq!(
            (lun.is_volume, lun.hour, lun.sums.ops, lun.sums.latency_us, lun.sums.held_us),
            (false, 7, 9, 30, 10)
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("hour,svm,volume,path\n", "has no column promised_seconds; a row needs hour, svm"),
            (
                "hour,svm,volume,path,promised_seconds\nx,s,v,p,1\n",
                "row 1: hour: must be a whole number from 0 on, got \"x\"",
            ),
            ("hour,svm,volume,path,promised_seconds\n1,s,v,p,\n", "row 1: promised_seconds: must be"),
            ("hour,svm,volume,path,promised_seconds\n1,s\n", "found record with 2 fields"),
        ] {
            let refused = hours(text.as_bytes()).unwrap_err().to_string();
            assert!(refused.contains(words), "{text}: {refused}");
        }
    }
}
