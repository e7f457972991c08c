//! Durations in fio's notation: `60`, `10m`, `500ms`, `(2*30s)`. A bare number is in the unit of
//! its option.
//!
//! fio accepts the units us, ms, s, m, h, d (also usec and msec) in either case and ignores any
//! others: `5min` for a latency is 5 µs. Such units are refused here. fio also drops fractions;
//! here `0.2` seconds are 200 ms. `--strict-fio` behaves like fio.

use crate::dialect::Dialect;
use crate::{expression, number};
use block::Span;

/// The unit of a bare number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    /// Seconds: runtime, ramp_time, startdelay.
    Seconds,
    /// Milliseconds: log_avg_msec.
    Millis,
    /// Microseconds: thinktime, latency_target, max_latency.
    Micros,
}

impl Bare {
    /// The unit in nanoseconds.
    pub fn nanos(self) -> u64 {
        match self {
            Bare::Seconds => 1_000_000_000,
            Bare::Millis => 1_000_000,
            Bare::Micros => 1_000,
        }
    }
}

/// Parses a duration.
///
/// # Errors
/// The rule that the text breaks, with what to write instead.
pub fn span(text: &str, bare: Bare, dialect: Dialect) -> Result<Span, String> {
    let given = text.trim();
    if given.starts_with('(') {
        // In arithmetic, fio counts a bare number in microseconds, whatever the option's own unit.
        let nanos = expression::whole(given, |unit| factor(unit).map(|f| f as f64 / 1e3))?;
        return Ok(Span::from_micros(nanos));
    }
    let (digits, unit) = number::split(given);
    if digits.is_empty() {
        return Err("is not a duration; write a whole number with a unit, as in 60s, 500ms, 10m or 2h".into());
    }
    if unit.starts_with('.') && !dialect.strict_fio {
        return fraction(digits, &unit[1..], bare);
    }
    let number: u64 = digits.parse().map_err(|_| "is more than 2^64 - 1".to_owned())?;
    let factor = match (unit, factor(unit)) {
        ("", _) => bare.nanos(),
        (_, Some(factor)) => factor,
        (_, None) if dialect.strict_fio => bare.nanos(),
        _ => return Err(correction(number, unit, bare)),
    };
    number.checked_mul(factor).map(Span::from_nanos).ok_or_else(|| "is more than 584 years".to_owned())
}

/// The nanoseconds of a unit.
fn factor(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    })
}

fn correction(number: u64, unit: &str, bare: Bare) -> String {
    let read = Span::from_nanos(number.saturating_mul(bare.nanos())).spoken();
    let meant = |unit: &str| format!("fio reads this as {read}; write {number}{unit} (--strict-fio copies fio)");
    match unit.to_ascii_lowercase().as_str() {
        "sec" | "secs" | "second" | "seconds" => meant("s"),
        "min" | "mins" | "minute" | "minutes" => meant("m"),
        "hr" | "hrs" | "hour" | "hours" => meant("h"),
        "day" | "days" => meant("d"),
        _ => format!("unknown unit {unit:?}; durations take us, ms, s, m, h, d"),
    }
}

/// A decimal number: `whole`, then `rest` with the digits after the point and the unit.
fn fraction(whole: &str, rest: &str, bare: Bare) -> Result<Span, String> {
    let (digits, unit) = number::split(rest);
    let factor = if unit.is_empty() { Some(bare.nanos()) } else { factor(unit) };
    let factor = factor.ok_or_else(|| format!("unknown unit {unit:?}; durations take us, ms, s, m, h, d"))?;
    // 18 digits times the nanoseconds of a day fit into 128 bits.
    let places = digits.len() as u32;
    let number: u128 = match (1..=18).contains(&places) {
        true => format!("{whole}{digits}").parse().map_err(|_| "is more than 584 years".to_owned())?,
        false => return Err("takes 1 to 18 digits after the point".into()),
    };
    let nanos = number.checked_mul(u128::from(factor)).map(|nanos| nanos / 10u128.pow(places));
    let nanos = nanos.and_then(|nanos| u64::try_from(nanos).ok());
    nanos.map(Span::from_nanos).ok_or_else(|| "is more than 584 years".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_bare_numbers() {
        for (text, bare, nanos) in [
            ("60", Bare::Seconds, 60_000_000_000),
            ("60", Bare::Millis, 60_000_000),
            ("60", Bare::Micros, 60_000),
            ("10m", Bare::Micros, 600_000_000_000),
            ("5M", Bare::Micros, 300_000_000_000),
            ("500ms", Bare::Seconds, 500_000_000),
            ("7usec", Bare::Seconds, 7_000),
            ("2h", Bare::Seconds, 7_200_000_000_000),
            ("1d", Bare::Seconds, 86_400_000_000_000),
            ("(2*30s)", Bare::Seconds, 60_000_000_000),
            ("(500)", Bare::Seconds, 500_000),
            ("0.2", Bare::Seconds, 200_000_000),
            ("1.5s", Bare::Micros, 1_500_000_000),
            ("0.5", Bare::Millis, 500_000),
            ("1.25m", Bare::Seconds, 75_000_000_000),
            ("0.0000000001", Bare::Seconds, 0),
        ] {
            assert_eq!(span(text, bare, Dialect::default()), Ok(Span::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn surprises_are_refused_with_the_fix() {
        for (text, fix) in [
            ("1.5sec", "unknown unit"),
            ("1.", "digits after the point"),
            ("1.1234567890123456789", "digits after the point"),
            ("99999999999999999999.5d", "584 years"),
            ("5sec", "write 5s"),
            ("5min", "write 5m"),
            ("5x", "unknown unit"),
            ("", "not a duration"),
            ("-1", "not a duration"),
        ] {
            let message = span(text, Bare::Micros, Dialect::default()).unwrap_err();
            assert!(message.contains(fix), "{text}: {message}");
        }
    }

    /// `fio --latency_target=X` showed these as nanoseconds (3.33).
    #[test]
    fn strict_copies_fio() {
        let strict = Dialect { strict_fio: true, ..Dialect::default() };
        for (text, nanos) in [("5x", 5_000), ("1.5s", 1_000), ("5sec", 5_000), ("5 s", 5_000), ("5min", 5_000)] {
            assert_eq!(span(text, Bare::Micros, strict), Ok(Span::from_nanos(nanos)), "{text}");
        }
    }
}
