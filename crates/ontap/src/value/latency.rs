//! An expected latency: a number and a unit of time.

use super::{ValueError, plain_value};
use std::fmt;
use std::str::FromStr;

/// The value of `-expected-latency`, in nanoseconds; 0 if none is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpectedLatency(pub u64);

const RULE: &str = "is not a latency: write a number with us, ms or s behind it, such as 500us or 2ms, or none";
const UNITS: [(&str, u64); 3] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];

impl FromStr for ExpectedLatency {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<ExpectedLatency, ValueError> {
        let lower = text.to_ascii_lowercase();
        if lower == "none" || lower == "0" {
            return Ok(ExpectedLatency(0));
        }
        let digits = lower.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = UNITS.iter().find(|(unit, _)| *unit == &lower[digits.len()..]);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit()) && part.len() <= 9;
        match unit {
            Some((_, nanos)) if !whole.is_empty() && is_number(whole) && is_number(fraction) => {
                let scale = 10u64.pow(fraction.len() as u32);
                let of = |part: &str| part.parse::<u64>().unwrap_or(0);
                // Nine digits of seconds are less than 2^60 nanoseconds.
                Ok(ExpectedLatency(of(whole) * nanos + of(fraction) * nanos / scale))
            }
            _ => Err(ValueError::new(text, RULE)),
        }
    }
}

impl fmt::Display for ExpectedLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        match UNITS.iter().find(|(_, nanos)| ns > 0 && ns.is_multiple_of(*nanos)) {
            Some((unit, nanos)) => write!(f, "{}{unit}", ns / nanos),
            None if ns == 0 => f.write_str("none"),
            None => write!(f, "{}.{:03}us", ns / 1_000, ns % 1_000),
        }
    }
}

plain_value!(ExpectedLatency, "<latency>");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_reads_as_it_prints() {
        for (text, ns, printed) in [
            ("1ms", 1_000_000, "1ms"),
            ("17MS", 17_000_000, "17ms"),
            ("500us", 500_000, "500us"),
            ("1.5ms", 1_500_000, "1500us"),
            ("0.25s", 250_000_000, "250ms"),
            ("1000ms", 1_000_000_000, "1s"),
            ("0.0125ms", 12_500, "12.500us"),
            ("none", 0, "none"),
            ("0", 0, "none"),
        ] {
            let latency: ExpectedLatency = text.parse().unwrap();
            assert_eq!((latency.0, latency.to_string().as_str()), (ns, printed), "{text}");
            assert_eq!(latency.to_string().parse(), Ok(latency));
        }
    }

    #[test]
    fn what_is_no_latency_is_refused_with_the_rule() {
        for text in ["", "ms", "5", "-1ms", "1h", "1 ms", "1.2.3ms", ".5ms", "9999999999ms", "1e3us"] {
            let error = text.parse::<ExpectedLatency>().unwrap_err();
            assert!(error.to_string().contains("is not a latency"), "{text}: {error}");
        }
    }
}
