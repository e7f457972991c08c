//! Conversion between seconds since 1970 and calendar dates.

use jiff::civil::DateTime;
use jiff::{Timestamp, tz::TimeZone};

/// Formats `seconds` since 1970 by a `strftime` pattern, such as `%Y-%m-%d %H:%M:%S`. The result is
/// in the time zone that the seconds count in: UTC, unless the caller added an offset. Anything
/// after the year 9999 is shown as its last moment.
pub fn date(seconds: u64, format: &str) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    moment.unwrap_or(Timestamp::MAX).to_zoned(TimeZone::UTC).strftime(format).to_string()
}

/// The reverse: seconds from 1970 to a date, `2026-11-01`, or to a time of it, `2026-11-01T06:00`,
/// in UTC. `None` if it cannot be parsed or lies before 1970.
pub fn moment(given: &str) -> Option<u64> {
    let moment = given.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?;
    u64::try_from(moment.timestamp().as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `date -u -d @SECONDS`.
    #[test]
    fn moments_are_those_of_date() {
        for (seconds, expected) in [
            (0, "Thu Jan  1 00:00:00 1970"),
            (951_782_399, "Mon Feb 28 23:59:59 2000"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (1_709_251_200, "Fri Mar  1 00:00:00 2024"),
            (4_107_542_400, "Mon Mar  1 00:00:00 2100"),
            (1_795_314_659, "Sun Nov 22 02:30:59 2026"),
        ] {
            assert_eq!(date(seconds, "%a %b %e %H:%M:%S %Y"), expected, "{seconds}");
        }
        assert_eq!(date(u64::MAX, "%Y"), "9999", "no date is so late");
    }

    #[test]
    fn dates_are_read() {
        for (given, seconds) in [
            ("1970-01-01", Some(0)),
            ("2024-03-01", Some(1_709_251_200)),
            ("2026-11-22T02:30:59", Some(1_795_314_659)),
            ("2026-11-22T02:30", Some(1_795_314_600)),
            ("1969-12-31", None),
            ("2026-02-29", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(moment(given), seconds, "{given}");
        }
    }
}
