//! Durations as people write them: `8s`, `100us`, `2min`.

use block::Span;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// It does not start with a whole number.
    #[error("a duration is a whole number with a unit, such as 100us, 8s or 2min; got {0:?}")]
    Number(String),
    /// The unit is missing or unknown.
    #[error("a duration needs one of the units ns, us, ms, s, min, h; got {0:?}")]
    Unit(String),
    /// It does not fit into 64 bits of nanoseconds.
    #[error("{0:?} is more than 584 years")]
    TooLong(String),
}

/// Parses `500ns`, `100us` (or `µs`), `20ms`, `8s`, `2min`, `1h`. A unit is required, because a
/// bare number would be seconds to one reader and milliseconds to another. Fractions are refused; a
/// smaller unit says the same.
pub fn parse_duration(given: &str) -> Result<Span, ParseDurationError> {
    let text = given.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() || unit.starts_with(['.', ',']) {
        return Err(ParseDurationError::Number(given.into()));
    }
    let nanos: u64 = match unit.trim() {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(ParseDurationError::Unit(given.into())),
    };
    let too_long = || ParseDurationError::TooLong(given.into());
    let count: u64 = number.parse().map_err(|_| too_long())?;
    count.checked_mul(nanos).map(Span::from_nanos).ok_or_else(too_long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_parse_in_every_unit() {
        for (text, nanos) in [("500ns", 500), ("100us", 100_000), ("100 µs", 100_000), ("20ms", 20_000_000)] {
            assert_eq!(parse_duration(text), Ok(Span::from_nanos(nanos)), "{text}");
        }
        for (text, seconds) in [("8s", 8), ("2min", 120), ("1h", 3600)] {
            assert_eq!(parse_duration(text), Ok(Span::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_says_why() {
        let error = |text: &str| parse_duration(text).unwrap_err();
        assert_eq!(error("8"), ParseDurationError::Unit("8".into()));
        assert_eq!(error("8 parsecs"), ParseDurationError::Unit("8 parsecs".into()));
        assert_eq!(error("1.5s"), ParseDurationError::Number("1.5s".into()));
        assert_eq!(error("-1s"), ParseDurationError::Number("-1s".into()));
        assert_eq!(error("99999999999h"), ParseDurationError::TooLong("99999999999h".into()));
    }
}
