//! The kinds of fields, which determine what a query may compare them with. A query that no value
//! could ever match is refused, because an empty answer would be misleading.

use super::{
    AbsoluteMinimum, AdaptiveRate, AskedSize, ExpectedLatency, MinThroughput, OsType, Query, Severity, Throughput,
    Value, ValueError, choice::not_one_of,
};
use crate::word::Word;
use block::moment;

/// The kind of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Any text; `<` and the like compare alphabetically.
    Text,
    /// `true` or `false`.
    Truth,
    /// A whole number.
    Count,
    /// A share in percent.
    Percent,
    /// A size.
    Size,
    /// Operations per second.
    Iops,
    /// Operations per second and size.
    Rate,
    /// A date.
    Time,
    /// The severity of an event.
    Severity,
    /// An expected latency.
    Latency,
    /// A ceiling.
    Ceiling,
    /// A floor.
    Floor,
    /// A floor and a ceiling, with a hyphen between.
    Throughput,
    /// One of these words.
    Word(&'static [&'static str]),
}

const TIME_RULE: &str = "is not a time: write a date such as 11/22/2026 or 2026-11-22, or a moment such as \
                         2026-11-22T02:30:59";
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The words of fields that have few, ONTAP's among them: a script may ask for what is never here.
impl FieldKind {
    /// The state of a volume.
    pub const VOLUME_STATE: FieldKind =
        FieldKind::Word(&["online", "restricted", "offline", "force-online", "force-offline", "mixed"]);
    /// The type of a volume.
    pub const VOLUME_TYPE: FieldKind = FieldKind::Word(&["RW", "LS", "DP", "TMP", "DC"]);
    /// The state of a LUN.
    pub const LUN_STATE: FieldKind =
        FieldKind::Word(&["online", "offline", "nvfail", "space-error", "foreign-lun-error"]);
    /// Whether a LUN has clients.
    pub const MAPPED: FieldKind = FieldKind::Word(&["mapped", "unmapped"]);
    /// The operating system that uses a LUN.
    pub const OS_TYPE: FieldKind = FieldKind::Word(OsType::CHOICES);
    /// The class of a policy group or workload.
    pub const QOS_CLASS: FieldKind =
        FieldKind::Word(&["undefined", "preset", "user-defined", "system-defined", "autovolume", "load-control"]);
}

impl FieldKind {
    /// The query as it applies to such a field. Patterns apply to all kinds, and `-` stands for a
    /// missing value.
    ///
    /// # Errors
    /// It compares with something that is not a value of this kind.
    pub fn read(self, query: Query) -> Result<Query, ValueError> {
        // A date contains a blank and so is quoted; that does not make its comparison literal.
        let unquoted = query.literal().filter(|_| self == FieldKind::Time).and_then(|text| text.parse().ok());
        let query = unquoted.unwrap_or(query);
        for (operand, is_compared) in query.operands() {
            if is_compared || operand != "-" {
                self.check(operand, is_compared)?;
            }
        }
        Ok(query)
    }

    /// Whether the query selects the value that is printed as `text`. Figures and dates are
    /// compared by value, anything else as text.
    pub fn picks(self, query: &Query, text: &str) -> bool {
        let by_number = |read: fn(&str) -> Option<u64>| read(text).map(|n| query.matches_number(n, text, read));
        let picked = match self {
            // Sizes are printed rounded, and how depends on a setting.
            FieldKind::Text | FieldKind::Word(_) | FieldKind::Size | FieldKind::Throughput => None,
            FieldKind::Truth => by_number(|text| truth(text).ok().map(u64::from)),
            FieldKind::Count => by_number(|text| whole_number(text).ok()),
            FieldKind::Percent => by_number(|text| percent(text).ok()),
            FieldKind::Iops => by_number(|text| Some(text.parse::<AbsoluteMinimum>().ok()?.0)),
            FieldKind::Rate => by_number(|text| text.parse().ok().map(AdaptiveRate::per_terabyte)),
            FieldKind::Time => by_number(time),
            FieldKind::Severity => by_number(|text| text.parse().ok().map(Severity::rank)),
            FieldKind::Latency => by_number(|text| Some(text.parse::<ExpectedLatency>().ok()?.0)),
            FieldKind::Ceiling => {
                let ceiling = text.parse().ok();
                ceiling.map(|it| query.matches_value(it, text, |other| other.parse().ok(), Throughput::order))
            }
            FieldKind::Floor => {
                let floor = text.parse().ok();
                floor.map(|it| query.matches_value(it, text, |other| other.parse().ok(), MinThroughput::order))
            }
        };
        picked.unwrap_or_else(|| query.matches(text))
    }

    fn check(self, text: &str, is_compared: bool) -> Result<(), ValueError> {
        match self {
            FieldKind::Text => Ok(()),
            FieldKind::Word(words) if words.contains(&text) => Ok(()),
            FieldKind::Word(words) => Err(not_one_of(text, "a value of this field", words)),
            FieldKind::Truth => truth(text).map(drop),
            FieldKind::Count => whole_number(text).map(drop),
            FieldKind::Percent => percent(text).map(drop),
            FieldKind::Size => text.parse::<AskedSize>().map(drop),
            FieldKind::Iops => text.parse::<AbsoluteMinimum>().map(drop),
            FieldKind::Rate => text.parse::<AdaptiveRate>().map(drop),
            FieldKind::Time => time(text).map(drop).ok_or_else(|| ValueError::new(text, TIME_RULE)),
            FieldKind::Severity => text.parse::<Severity>().map(drop),
            FieldKind::Latency => text.parse::<ExpectedLatency>().map(drop),
            FieldKind::Ceiling => text.parse::<Throughput>().map(drop),
            FieldKind::Floor => text.parse::<MinThroughput>().map(drop),
            FieldKind::Throughput => floor_and_ceiling(text, is_compared),
        }
    }
}

/// `true` or `false`, in either case.
fn truth(text: &str) -> Result<bool, ValueError> {
    bool::from_word(&Word::plain(text))
}

/// Digits alone.
fn whole_number(text: &str) -> Result<u64, ValueError> {
    text.parse().map_err(|_| ValueError::new(text, format!("is not a whole number from 0 to {}", u64::MAX)))
}

/// `85%` or `85`.
fn percent(text: &str) -> Result<u64, ValueError> {
    let number = text.strip_suffix('%').unwrap_or(text).parse();
    number.map_err(|_| ValueError::new(text, "is not a percentage: write a whole number such as 85 or 85%"))
}

/// Parses a date such as `11/22/2026 02:30:59`, with or without the time, or `2026-11-22T02:30`, or
/// `Sun Nov 22 02:30:59 2026`, in UTC; returns seconds since 1970.
fn time(text: &str) -> Option<u64> {
    if let [_, month, day, time, year] = text.split_whitespace().collect::<Vec<_>>()[..] {
        let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? + 1;
        return moment(&format!("{year}-{month:0>2}-{day:0>2}T{time}"));
    }
    let (day, time) = text.split_once(' ').unwrap_or((text, "00:00"));
    let parts: Vec<&str> = day.split('/').collect();
    match parts[..] {
        [month, day, year] => {
            let gap = if time.find(':') == Some(1) { "0" } else { "" };
            moment(&format!("{year}-{month:0>2}-{day:0>2}T{gap}{time}"))
        }
        _ => moment(text.strip_suffix('Z').unwrap_or(text)),
    }
}

fn floor_and_ceiling(text: &str, is_compared: bool) -> Result<(), ValueError> {
    if is_compared {
        let rule = "is compared with a floor and a ceiling at once: ask for -min-throughput or -max-throughput";
        return Err(ValueError::new(text, rule));
    }
    let is_both = text.split_once('-').is_some_and(|(floor, ceiling)| {
        floor.parse::<MinThroughput>().is_ok() && ceiling.parse::<Throughput>().is_ok()
    });
    let rule = "is not a floor and a ceiling: write both with a hyphen between, such as 0-1000IOPS";
    if is_both { Ok(()) } else { Err(ValueError::new(text, rule)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_value_can_be_is_refused_and_all_else_is_taken() {
        let read = |kind: FieldKind, text: &str| kind.read(text.parse().unwrap()).map_err(|error| error.to_string());
        for (kind, taken, refused, rule) in [
            (FieldKind::Truth, &["true", "FALSE", "tr*", "!true", "true|false", "<true"][..], "maybe", "choose from"),
            (FieldKind::Count, &["7", ">7", "1..9", "!7", "7*"], ">x", "is not a whole number"),
            (FieldKind::Percent, &["85", ">=85%", "8*"], "85%%", "is not a percentage"),
            (FieldKind::Size, &["1GB", "51.74MB", ">1.4GB", "*MB", "1..2"], "1GB..x", "is not a size"),
            (FieldKind::Size, &["972.5MB", "1.5GB..2.5GiB"], ">1.5B", "is not a size"),
            (FieldKind::Iops, &["500", "500IOPS", "<500IOPS"], "500MB/s", "is not a number of IOPS"),
            (FieldKind::Rate, &["500IOPS/GB", ">500"], "500/h", "is not a rate"),
            (FieldKind::Time, &[">11/22/2026", "2026-11-22", "11/22*", "!11/22/2026"], ">yesterday", "is not a time"),
            (FieldKind::Severity, &["<=error", "notice|debug"], "<loud", "is not a severity"),
            (FieldKind::Latency, &["none", ">2ms", "100us..1ms"], "2", "is not a latency"),
            (FieldKind::Ceiling, &["INF", ">1000IOPS", "0..500IOPS", "300MB/s|INF", "none"], "fast", "throughput"),
            (FieldKind::Floor, &["0", ">1000IOPS", "100IOPS,1MB/s"], "<INF", "is no floor"),
            (FieldKind::Throughput, &["0-INF", "*-INF", "100IOPS-300MB/s|0-INF"], ">1000IOPS", "-max-throughput"),
            (FieldKind::MAPPED, &["mapped", "un*", "mapped|unmapped"], "foo", "choose from mapped, unmapped"),
            (FieldKind::VOLUME_TYPE, &["RW", "!DP"], "rw", "did you mean \"RW\""),
            (FieldKind::Throughput, &["0*"], "1000IOPS", "with a hyphen between"),
        ] {
            for text in taken.iter().chain(&["-", "!-", "*"]) {
                assert_eq!(read(kind, text), Ok(text.parse().unwrap()), "{kind:?}");
            }
            let error = read(kind, refused).unwrap_err();
            assert!(error.contains(rule), "{kind:?} {refused}: {error}");
        }
        for text in [">x", "a..b", "maybe", "5"] {
            assert!(read(FieldKind::Text, text).is_ok(), "{text}");
        }
    }

    /// Quotes turn any other query into text.
    #[test]
    fn a_quoted_time_is_compared_and_a_quoted_size_is_not() {
        let quoted = Query::exact(">11/22/2026 02:30");
        assert_eq!(FieldKind::Time.read(quoted), Ok(">11/22/2026 02:30".parse().unwrap()));
        assert!(FieldKind::Size.read(Query::exact(">1GB")).is_err());
    }

    /// 2026-11-22T02:30:59 is 1 795 314 659, according to `date -u -d`.
    #[test]
    fn times_are_read_as_they_print() {
        for text in ["11/22/2026 02:30:59", "11/22/2026 2:30:59", "2026-11-22T02:30:59Z", "Sun Nov 22 02:30:59 2026"] {
            assert_eq!(time(text), Some(1_795_314_659), "{text}");
        }
        for text in ["Sun Foo 22 02:30:59 2026", "13/1/2026", "x", ""] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
