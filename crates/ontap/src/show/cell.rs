//! The value of one field of one row: how it prints, and how a query compares it.

use super::figure;
use super::workload::BurstInForce;
use crate::value::{AbsoluteMinimum, AdaptiveRate, BlockSize, ExpectedLatency, Limits, Query, Size, Units};
use block::date;

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
    /// A moment in UTC, in seconds since the beginning of 1970; prints as `Sun Nov 22 02:30:59 2026`.
    Moment(u64),
    /// A ceiling; prints as `INF` where there is none.
    Ceiling(Option<Limits>),
    /// A floor; prints as `0` where there is none.
    Floor(Option<Limits>),
    /// A floor and a ceiling, printed with a hyphen between.
    Throughput {
        /// As in [`Cell::Floor`].
        floor: Option<Limits>,
        /// As in [`Cell::Ceiling`].
        ceiling: Option<Limits>,
    },
    /// A latency that is expected; prints as `-` where none is.
    Latency(Option<ExpectedLatency>),
    /// The operation size of an adaptive policy.
    BlockSize(BlockSize),
    /// A burst.
    Burst(BurstInForce),
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
            Cell::Moment(seconds) => date(*seconds, "%a %b %d %H:%M:%S %Y"),
            Cell::Ceiling(limits) => limits.map_or("INF".to_owned(), |limits| limits.to_string()),
            Cell::Floor(limits) => limits.map_or("0".to_owned(), |limits| limits.to_string()),
            Cell::Throughput { floor, ceiling } => {
                format!("{}-{}", Cell::Floor(*floor).text(units), Cell::Ceiling(*ceiling).text(units))
            }
            Cell::Latency(latency) => latency.map_or("-".to_owned(), |latency| latency.to_string()),
            Cell::BlockSize(size) => size.to_string(),
            Cell::Burst(burst) => burst.to_string(),
        }
    }

    /// True if a query picks it. Numbers compare by size, everything else by its text.
    pub fn matches(&self, query: &Query, units: Units) -> bool {
        let text = self.text(units);
        match self {
            Cell::Absent | Cell::Text(_) | Cell::Flag(_) | Cell::Moment(_) => query.matches(&text),
            Cell::Ceiling(_) | Cell::Floor(_) | Cell::Throughput { .. } => query.matches(&text),
            Cell::BlockSize(_) | Cell::Burst(_) => query.matches(&text),
            Cell::Latency(None) => query.matches(&text),
            Cell::Latency(Some(latency)) => {
                let read = |operand: &str| operand.parse::<ExpectedLatency>().ok().map(|latency| latency.0);
                query.matches_number(latency.0, &text, read)
            }
            Cell::Count(n) => query.matches_number(*n, &text, |operand| operand.parse().ok()),
            Cell::Percent(n) => query.matches_number(*n, &text, |operand| operand.trim_end_matches('%').parse().ok()),
            Cell::Bytes(n) => query.matches_number(*n, &text, |operand| operand.parse::<Size>().ok()?.bytes(units)),
            Cell::Iops(n) => {
                query.matches_number(*n, &text, |operand| operand.parse::<AbsoluteMinimum>().ok().map(|m| m.0))
            }
            Cell::Rate(rate) => {
                let read = |operand: &str| operand.parse().ok().map(AdaptiveRate::per_terabyte);
                query.matches_number(rate.per_terabyte(), &text, read)
            }
        }
    }
}
