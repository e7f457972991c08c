//! Hours as CSV for spreadsheets: the exported totals of a pool, or those of several pools
//! together.
//!
//! Columns are found by name, in any order, and others are ignored. The names are those of a
//! server's file of hourly totals: figures of what was done have their own name, promises have the
//! prefix `promised_`.

use crate::line::{Hour, Sums};
use history::Totals;
use std::collections::BTreeMap;
use std::io::{Read, Write};

/// What is wrong with a file of hours; one line.
#[derive(Debug, thiserror::Error)]
pub enum HoursError {
    /// A row has more or fewer fields than there are headings.
    #[error("line {line}: has {given} fields, and there are {headings} headings; give each its field")]
    Fields {
        /// The line of the file, from 1.
        line: u64,
        /// The fields that it has.
        given: u64,
        /// The fields that it should have.
        headings: u64,
    },
    /// It is not text.
    #[error("line {0}: is no text; write it as CSV in UTF-8")]
    Text(u64),
    /// It cannot be read or written.
    #[error(transparent)]
    Csv(csv::Error),
    /// A required column is missing.
    #[error("has no column {0}; a row needs {names}", names = NEEDED.join(", "))]
    Column(&'static str),
    /// A value is not a whole number.
    #[error("line {line}: {column}: must be a whole number from 0 on, got {given:?}")]
    Number {
        /// The line of the file, from 1.
        line: u64,
        /// The column.
        column: String,
        /// The value given.
        given: String,
    },
    /// A row covers more seconds than an hour has.
    #[error("line {line}: promised_seconds: must be at most {SECONDS_MAX}, as a row is of one hour, got {given}")]
    Seconds {
        /// The line of the file, from 1.
        line: u64,
        /// The value given.
        given: u64,
    },
}

impl From<csv::Error> for HoursError {
    fn from(error: csv::Error) -> HoursError {
        let at = |pos: &Option<csv::Position>| pos.as_ref().map_or(0, csv::Position::line);
        match error.kind() {
            csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
                HoursError::Fields { line: at(pos), given: *len, headings: *expected_len }
            }
            csv::ErrorKind::Utf8 { pos, .. } => HoursError::Text(at(pos)),
            _ => HoursError::Csv(error),
        }
    }
}

/// Most seconds of a row. A server counts a step of a minute for the hour in which it began, and a
/// late step is longer: ten minutes are allowed for that.
const SECONDS_MAX: u64 = 3600 + 600;

/// The required columns.
const NEEDED: [&str; 5] = ["hour", "svm", "volume", "path", "promised_seconds"];

/// Reads hours from CSV; other columns count as zero if they are missing.
///
/// # Errors
/// The first error.
pub fn hours(input: impl Read) -> Result<Vec<Hour>, HoursError> {
    let mut reader = csv::Reader::from_reader(input);
    let columns: BTreeMap<String, usize> =
        reader.headers()?.iter().enumerate().map(|(at, name)| (name.trim().to_owned(), at)).collect();
    if let Some(column) = NEEDED.into_iter().find(|column| !columns.contains_key(*column)) {
        return Err(HoursError::Column(column));
    }
    let (mut hours, sums) = (Vec::new(), Totals::names().collect::<Vec<_>>());
    for record in reader.records() {
        let record = record?;
        let line = record.position().map_or(0, csv::Position::line);
        hours.push(Row { record: &record, columns: &columns, line }.hour(&sums)?);
    }
    Ok(hours)
}

struct Row<'a> {
    record: &'a csv::StringRecord,
    columns: &'a BTreeMap<String, usize>,
    line: u64,
}

impl Row<'_> {
    fn text(&self, column: &str) -> &str {
        self.columns.get(column).and_then(|at| self.record.get(*at)).unwrap_or_default().trim()
    }

    fn number(&self, column: &str) -> Result<u64, HoursError> {
        let given = self.text(column);
        let missing = given.is_empty() && !NEEDED.contains(&column);
        match given.parse() {
            Ok(number) => Ok(number),
            Err(_) if missing => Ok(0),
            Err(_) => Err(HoursError::Number {
                line: self.line,
                column: column.to_owned(),
                given: given.chars().take(40).collect(),
            }),
        }
    }

    fn hour(&self, sums: &[String]) -> Result<Hour, HoursError> {
        let kept = Kept {
            hour: self.number("hour")?,
            object: self.number("object")?,
            svm: self.text("svm"),
            volume: self.text("volume"),
            path: self.text("path"),
            policy: self.text("policy"),
        };
        let hour = Hour::of(kept, &Totals::try_of(|at| self.number(&sums[at]))?);
        if hour.seconds > SECONDS_MAX {
            return Err(HoursError::Seconds { line: self.line, given: hour.seconds });
        }
        Ok(hour)
    }
}

/// What a record is about.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// The hour, counted from 1970.
    pub hour: u64,
    /// The object's number in its pool; 0 if unknown.
    pub object: u64,
    /// The SVM.
    pub svm: &'a str,
    /// The volume.
    pub volume: &'a str,
    /// The object's path, as administrators write it.
    pub path: &'a str,
    /// The policy group that it is in, itself or with what holds it in its volume; empty without.
    pub policy: &'a str,
}

impl Hour {
    /// Converts totals of a server.
    pub fn of(kept: Kept<'_>, totals: &Totals) -> Hour {
        let Totals { figures, promise } = totals;
        let Kept { hour, object, svm, volume, path, policy } = kept;
        Hour {
            hour,
            object,
            path: path.into(),
            is_volume: path == format!("{svm}:/vol/{volume}"),
            svm: svm.into(),
            volume: volume.into(),
            policy: policy.into(),
            seconds: promise.seconds,
            sums: Sums {
                floor_ops: promise.floor_ops,
                allocated_mib_s: promise.allocated_mib_s,
                used_mib_s: promise.used_mib_s,
                ops: figures.ops(),
                bytes: figures.bytes(),
                completed: figures.completed,
                latency_us: figures.latency_us(),
                held_us: figures.qos_max_us,
                missed_ops: figures.missed_ops,
                missed_ms: figures.missed_ms,
            },
        }
    }
}

/// Writes hours as CSV that [`hours`] reads.
pub struct HoursWriter<W: Write>(csv::Writer<W>);

impl<W: Write> HoursWriter<W> {
    /// Writes the headings.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn new(output: W) -> Result<HoursWriter<W>, csv::Error> {
        let mut writer = csv::Writer::from_writer(output);
        writer.write_record(WHOSE.into_iter().map(str::to_owned).chain(Totals::names()))?;
        Ok(HoursWriter(writer))
    }

    /// Writes one record.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn hour(&mut self, kept: Kept<'_>, totals: &Totals) -> Result<(), csv::Error> {
        let Kept { hour, object, svm, volume, path, policy } = kept;
        let whose = [hour.to_string(), object.to_string(), svm.into(), volume.into(), path.into(), policy.into()];
        self.0.write_record(whose.into_iter().chain(totals.values().map(|value| value.to_string())))
    }
}

/// The columns that identify a record.
const WHOSE: [&str; 6] = ["hour", "object", "svm", "volume", "path", "policy"];

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

    /// What is written can be read back.
    #[test]
    fn what_is_written_is_read() {
        let mut number = 0;
        let totals = Totals::try_of::<()>(|_| {
            number += 1;
            Ok(number)
        });
        let totals = totals.unwrap();
        let kept = Kept { hour: 9, object: 12, svm: "s", volume: "v", path: "s:/vol/v", policy: "gold, old" };
        let mut text = Vec::new();
        HoursWriter::new(&mut text).unwrap().hour(kept, &totals).unwrap();
        let found = hours(&text[..]).unwrap();
        assert_eq!(found, [Hour::of(kept, &totals)]);
        // Read, write and other operations; network to disk.
        let sums = found[0].sums;
        assert_eq!((sums.ops, sums.latency_us, sums.held_us), (1 + 2 + 3, 8 + 9 + 10 + 11 + 12, 9));
        assert_eq!((found[0].is_volume, found[0].seconds, sums.floor_ops), (true, 16, 17));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("hour,svm,volume,path\n", "has no column promised_seconds; a row needs hour, svm"),
            (
                "hour,svm,volume,path,promised_seconds\nx,s,v,p,1\n",
                "line 2: hour: must be a whole number from 0 on, got \"x\"",
            ),
            ("hour,svm,volume,path,promised_seconds\n1,s,v,p,\n", "line 2: promised_seconds: must be"),
            (
                "hour,svm,volume,path,promised_seconds\n1,s,v,p,4200\n2,s,v,p,4201\n",
                "line 3: promised_seconds: must be at most 4200, as a row is of one hour, got 4201",
            ),
            (
                "hour,svm,volume,path,promised_seconds\n1,s,v,p,1\n1,s\n",
                "line 3: has 2 fields, and there are 5 headings; give each its field",
            ),
        ] {
            let refused = hours(text.as_bytes()).unwrap_err().to_string();
            assert!(refused.contains(words), "{text}: {refused}");
        }
        let refused = hours(&b"hour,svm,volume,path,promised_seconds\n1,\xff,v,p,1\n"[..]).unwrap_err().to_string();
        assert_eq!(refused, "line 2: is no text; write it as CSV in UTF-8");
    }
}
