//! Plain counts.

use super::{ValueError, plain_value};
use std::fmt;
use std::str::FromStr;

/// A whole number from 0 to 4 294 967 295.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u32);

/// How many rows a statistics table shows: 1 to 20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCount(u8);

impl RowCount {
    /// The number of rows.
    pub fn get(self) -> usize {
        self.0.into()
    }
}

/// For how many years something is calculated: 1 to 30.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Years(u8);

impl Years {
    /// The number of years.
    pub fn get(self) -> u32 {
        self.0.into()
    }
}

impl FromStr for Years {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Years, ValueError> {
        let years = text.parse::<Count>().ok().and_then(|c| u8::try_from(c.0).ok());
        years
            .filter(|n| (1..=30).contains(n))
            .map(Years)
            .ok_or_else(|| ValueError::new(text, "is not a number of years: write 1 to 30"))
    }
}

impl fmt::Display for Years {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Count {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Count, ValueError> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        text.parse()
            .ok()
            .filter(|_| digits)
            .map(Count)
            .ok_or_else(|| ValueError::new(text, "is not a whole number from 0 to 4294967295"))
    }
}

impl FromStr for RowCount {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<RowCount, ValueError> {
        let rows = text.parse::<Count>().ok().and_then(|c| u8::try_from(c.0).ok());
        rows.filter(|n| (1..=20).contains(n))
            .map(RowCount)
            .ok_or_else(|| ValueError::new(text, "is not a number of rows: write 1 to 20"))
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for RowCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

plain_value!(Count, "<integer>");
plain_value!(RowCount, "<1-20>");
plain_value!(Years, "<1-30>");
