//! The value of one field of one row: how it prints, and how a query compares it.

use super::figure;
use crate::value::{AbsoluteMinimum, AdaptiveRate, PerSize, Query, Size, Units};

/// A field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing there; prints as `-`.
    Absent,
    /// Any text.
    Text(String),
    /// `true` or `false`.
    Flag(bool),
    /// A plain number.
    Count(u64),
    /// A share in percent.
    Percent(u64),
    /// A size in bytes.
    Bytes(u64),
    /// Operations per second.
    Iops(u64),
    /// Operations per second and size.
    Rate(AdaptiveRate),
}

impl Cell {
    /// Text, or nothing.
    pub fn maybe(text: Option<impl ToString>) -> Cell {
        text.map_or(Cell::Absent, |t| Cell::Text(t.to_string()))
    }

    /// As it prints.
    pub fn text(&self, units: Units) -> String {
        match self {
            Cell::Absent => "-".to_owned(),
            Cell::Text(text) => text.clone(),
            Cell::Flag(flag) => flag.to_string(),
            Cell::Count(number) => number.to_string(),
            Cell::Percent(number) => format!("{number}%"),
            Cell::Bytes(bytes) => figure::size(*bytes, units),
            Cell::Iops(iops) => AbsoluteMinimum(*iops).to_string(),
            Cell::Rate(rate) => rate.to_string(),
        }
    }

    /// True if a query picks it. Numbers compare by size, everything else by its text.
    pub fn matches(&self, query: &Query, units: Units) -> bool {
        let text = self.text(units);
        match self {
            Cell::Absent | Cell::Text(_) | Cell::Flag(_) => query.matches(&text),
            Cell::Count(n) => query.matches_number(*n, &text, |operand| operand.parse().ok()),
            Cell::Percent(n) => query.matches_number(*n, &text, |operand| operand.trim_end_matches('%').parse().ok()),
            Cell::Bytes(n) => query.matches_number(*n, &text, |operand| operand.parse::<Size>().ok()?.bytes(units)),
            Cell::Iops(n) => {
                query.matches_number(*n, &text, |operand| operand.parse::<AbsoluteMinimum>().ok().map(|m| m.0))
            }
            Cell::Rate(rate) => {
                let read = |operand: &str| operand.parse().ok().map(per_terabyte);
                query.matches_number(per_terabyte(*rate), &text, read)
            }
        }
    }
}

/// Rates of both kinds on one scale. A rate is 2^31 at most, so this cannot overflow.
fn per_terabyte(rate: AdaptiveRate) -> u64 {
    match rate.per {
        PerSize::Terabyte => rate.iops,
        PerSize::Gigabyte => rate.iops.saturating_mul(1_000),
    }
}
