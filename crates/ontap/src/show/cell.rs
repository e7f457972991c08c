//! The value of a field in a row: how it is printed, and how a query compares it.

use super::figure;
use super::workload::BurstInForce;
use crate::value::{
    AbsoluteMinimum, AdaptiveRate, AskedSize, BlockSize, ExpectedLatency, FieldKind, Query, SIZE_BLOCK, Severity,
    SizeUnits, ThroughputLimits,
};
use block::date;

/// A field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// No value; prints as `-`.
    Absent,
    /// Any text.
    Text(String),
    /// Names, separated by commas.
    List(Vec<String>),
    /// `true` or `false`.
    Flag(bool),
    /// A plain number.
    Count(u64),
    /// A share in percent.
    Percent(u64),
    /// A size in bytes.
    Bytes(u64),
    /// A size in bytes that was typed once and rounded up to whole blocks; a client's file has any.
    Space(u64),
    /// A size in bytes that was typed once and rounded up to whole pages of so many bytes.
    Paged(u64, u64),
    /// Operations per second.
    Iops(u64),
    /// Operations per second and size.
    Rate(AdaptiveRate),
    /// A date in UTC, in seconds since 1970; prints as `Sun Nov 22 02:30:59 2026`.
    Moment(u64),
    /// The same in the format of events; prints as `11/22/2026 02:30:59`.
    Stamp(u64),
    /// The severity of an event.
    Severity(Severity),
    /// A ceiling; prints as `INF` if there is none.
    Ceiling(Option<ThroughputLimits>),
    /// A floor; prints as `0` if there is none.
    Floor(Option<ThroughputLimits>),
    /// A floor and a ceiling, printed with a hyphen between.
    Throughput {
        /// As in [`Cell::Floor`].
        floor: Option<ThroughputLimits>,
        /// As in [`Cell::Ceiling`].
        ceiling: Option<ThroughputLimits>,
    },
    /// An expected latency; prints as `-` if there is none.
    Latency(Option<ExpectedLatency>),
    /// The operation size of an adaptive policy.
    BlockSize(BlockSize),
    /// A burst.
    Burst(BurstInForce),
}

impl Cell {
    /// Text, or no value.
    pub fn maybe(text: Option<impl ToString>) -> Cell {
        text.map_or(Cell::Absent, |t| Cell::Text(t.to_string()))
    }

    /// The printed form.
    pub fn text(&self, units: SizeUnits) -> String {
        match self {
            Cell::Absent => "-".to_owned(),
            Cell::Text(text) => text.clone(),
            Cell::List(names) => names.join(","),
            Cell::Flag(flag) => flag.to_string(),
            Cell::Count(number) => number.to_string(),
            Cell::Percent(number) => format!("{number}%"),
            Cell::Bytes(bytes) | Cell::Space(bytes) | Cell::Paged(bytes, _) => figure::size(*bytes, units),
            Cell::Iops(iops) => AbsoluteMinimum(*iops).to_string(),
            Cell::Rate(rate) => rate.to_string(),
            Cell::Moment(seconds) => date(*seconds, "%a %b %d %H:%M:%S %Y"),
            Cell::Stamp(seconds) => date(*seconds, "%-m/%-d/%Y %H:%M:%S"),
            Cell::Severity(severity) => severity.to_string(),
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

    /// Its kind for queries; `None` without a value.
    pub fn kind(&self) -> Option<FieldKind> {
        Some(match self {
            Cell::Absent => return None,
            Cell::Text(_) | Cell::List(_) | Cell::BlockSize(_) | Cell::Burst(_) => FieldKind::Text,
            Cell::Flag(_) => FieldKind::Truth,
            Cell::Count(_) => FieldKind::Count,
            Cell::Percent(_) => FieldKind::Percent,
            Cell::Bytes(_) | Cell::Space(_) | Cell::Paged(..) => FieldKind::Size,
            Cell::Iops(_) => FieldKind::Iops,
            Cell::Rate(_) => FieldKind::Rate,
            Cell::Moment(_) | Cell::Stamp(_) => FieldKind::Time,
            Cell::Severity(_) => FieldKind::Severity,
            Cell::Latency(_) => FieldKind::Latency,
            Cell::Ceiling(_) => FieldKind::Ceiling,
            Cell::Floor(_) => FieldKind::Floor,
            Cell::Throughput { .. } => FieldKind::Throughput,
        })
    }

    /// Whether a query selects it, by the rules of [`FieldKind::read`].
    pub fn matches(&self, query: &Query, units: SizeUnits) -> bool {
        let text = self.text(units);
        let asked = |operand: &str| operand.parse::<AskedSize>().ok()?.bytes(units);
        match self {
            // It is printed rounded, so the exact number is compared.
            Cell::Bytes(n) => query.matches_number(*n, &text, asked),
            // A typed size means what `create` would make of it, rounded up to blocks. A size
            // that is no whole number of blocks was not made so: a client's file has it.
            Cell::Space(n) => {
                let block = if n.is_multiple_of(SIZE_BLOCK) { SIZE_BLOCK } else { 1 };
                query.matches_number(*n, &text, |operand| asked(operand)?.checked_next_multiple_of(block))
            }
            Cell::Paged(n, page) => {
                query.matches_number(*n, &text, |operand| asked(operand)?.checked_next_multiple_of(*page))
            }
            // One of the names, and with `!` none of them.
            Cell::List(names) => query.matches_any(names),
            _ => self.kind().unwrap_or(FieldKind::Text).picks(query, &text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Throughput;

    /// 2026-11-22T02:30:59 is second 1 795 314 659, as `date -u -d` has it.
    #[test]
    fn stamps_are_picked_by_dates_and_times_quoted_or_not() {
        let cell = Cell::Stamp(1_795_314_659);
        assert_eq!(cell.text(SizeUnits::Binary), "11/22/2026 02:30:59");
        let picks = |query| cell.matches(&FieldKind::Time.read(query).unwrap(), SizeUnits::Binary);
        for text in [">11/22/2026", ">=2026-11-22T02:30:59", "11/1/2026..12/1/2026", "11/22/2026*", "!11/23/2026"] {
            assert!(picks(text.parse().unwrap()), "{text}");
        }
        for quoted in ["11/22/2026 02:30:59", ">11/22/2026 02:30", "11/22/2026 2:30:00..11/22/2026 03:00:00"] {
            assert!(picks(Query::exact(quoted)), "{quoted}");
        }
        for text in ["<11/22/2026", "11/22/2026"] {
            assert!(!picks(text.parse().unwrap()), "{text}");
        }
    }

    /// 5 GB are 1 220 703.125 blocks: what is made with that size has 5 000 003 584 bytes.
    #[test]
    fn a_size_that_was_rounded_up_is_the_one_that_was_typed() {
        let cell = Cell::Space(5_000_003_584);
        assert_eq!(cell.text(SizeUnits::Decimal), "5.00GB");
        let picks = |cell: &Cell, query: &str| {
            cell.matches(&FieldKind::Size.read(query.parse().unwrap()).unwrap(), SizeUnits::Decimal)
        };
        for query in ["5GB", "5.00GB", "5.0GB", "5000MB", "<=5GB", ">=5GB", "4GB..5GB", "!6GB", "5000003584"] {
            assert!(picks(&cell, query), "{query}");
        }
        for query in ["!5GB", ">5GB", "<5GB", "5GiB", ">5.1GB", "5.00MB"] {
            assert!(!picks(&cell, query), "{query}");
        }
        // 1.5 GB are 366 210.9375 blocks.
        let cell = Cell::Space(1_500_000_256);
        assert!(picks(&cell, "1.5GB") && picks(&cell, ">1.4GB") && picks(&cell, "<=1.5GB") && !picks(&cell, ">1.5GB"));
        let of_client = Cell::Space(1500);
        assert!(picks(&of_client, "1500") && picks(&of_client, ">1KB") && !picks(&of_client, ">1.5KB"));
        // What is measured is as it is.
        assert!(picks(&Cell::Bytes(4096), ">1KB") && !picks(&Cell::Bytes(4096), "1KB"));
        assert!(picks(&Cell::Bytes(1_500_000_000), "1.5GB"));
    }

    /// 4 MB are 61.04 pages of 64 KiB.
    #[test]
    fn a_size_in_pages_is_the_one_that_was_typed() {
        let cell = Cell::Paged(62 << 16, 64 << 10);
        let picks = |query: &str| cell.matches(&query.parse().unwrap(), SizeUnits::Decimal);
        assert!(picks("4MB") && picks("<=4MB") && picks("4063232") && !picks("!4MB") && !picks(">4MB"));
    }

    #[test]
    fn a_list_is_picked_by_any_of_its_names_and_left_by_each() {
        let cell = Cell::List(["svm01:fa", "svm01:fb"].map(String::from).into());
        let picks = |query: &str| cell.matches(&query.parse().unwrap(), SizeUnits::Binary);
        for query in ["svm01:fa", "svm01:fb", "*:fb", "x|svm01:fa", "!svm01:fc", "*"] {
            assert!(picks(query), "{query}");
        }
        for query in ["svm01:fc", "!svm01:fb", "!*:fa", "svm01:fa,svm01:fb"] {
            assert!(!picks(query), "{query}");
        }
    }

    #[test]
    fn ceilings_and_floors_are_picked_by_their_rate() {
        let limits = |text: &str| text.parse::<Throughput>().unwrap().limits();
        let ceilings = ["50IOPS", "100IOPS", "2000IOPS", "3000IOPS,300MB/s", "300MB/s", "INF"];
        let picked = |query: &str| {
            let picks = |text: &&str| Cell::Ceiling(limits(text)).matches(&query.parse().unwrap(), SizeUnits::Binary);
            ceilings.into_iter().filter(picks).collect::<Vec<_>>().join(" ")
        };
        for (query, expected) in [
            (">1000IOPS", "2000IOPS 3000IOPS,300MB/s INF"),
            ("0..500IOPS", "50IOPS 100IOPS"),
            ("<500", "50IOPS 100IOPS"),
            // One that has no other unit than the ceiling does not compare with it, and picks it
            // not.
            ("<=0.3GB/s", ""),
            ("<=1GB/s", "3000IOPS,300MB/s 300MB/s"),
            (">=300MB/s", "3000IOPS,300MB/s 300MB/s INF"),
            // The second has as many MB/s and fewer IOPS, the third more of one and less of the
            // other.
            (">2000IOPS,300MB/s", "3000IOPS,300MB/s INF"),
            (">2000IOPS,400MB/s", "INF"),
            // A ceiling of both is not one of the two.
            ("3000IOPS", ""),
            ("300MB/s,3000iops", "3000IOPS,300MB/s"),
            ("none|50", "50IOPS INF"),
            ("<INF", "50IOPS 100IOPS 2000IOPS 3000IOPS,300MB/s 300MB/s"),
            ("!>1000IOPS", "50IOPS 100IOPS 300MB/s"),
            ("*00IOPS", "100IOPS 2000IOPS"),
        ] {
            assert_eq!(picked(query), expected, "{query}");
        }
        let floor = |text, query: &str| Cell::Floor(limits(text)).matches(&query.parse().unwrap(), SizeUnits::Binary);
        assert!(floor("0", "<50IOPS") && floor("0", "none") && floor("0", "0..10MB/s") && floor("900", "<1000"));
        assert!(!floor("0", ">0") && !floor("1MB/s", ">50IOPS") && !floor("2000IOPS", "<900IOPS"));
    }

    #[test]
    fn severities_are_picked_by_how_grave_they_are() {
        let picks =
            |severity, query: &str| Cell::Severity(severity).matches(&query.parse().unwrap(), SizeUnits::Binary);
        assert!(picks(Severity::Alert, "<=ERROR") && picks(Severity::Error, "<=error") && picks(Severity::Debug, "*"));
        assert!(!picks(Severity::Notice, "<=ERROR") && picks(Severity::Notice, "notice|debug"));
    }
}
