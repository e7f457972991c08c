//! Instants and durations as whole nanoseconds.
//!
//! A `u64` of nanoseconds lasts 584 years, so no sum of times that occurs can overflow. The
//! operators saturate all the same: a clock that jumps must not crash the program.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant: nanoseconds since an epoch that the driver chose (process start on the wall clock,
/// zero on the virtual one).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A duration in nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The driver's epoch.
    pub const ZERO: Time = Time(0);
    /// Later than any instant that occurs.
    pub const MAX: Time = Time(u64::MAX);

    /// The instant `ns` nanoseconds after the epoch.
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than any duration that occurs.
    pub const MAX: Span = Span(u64::MAX);
    /// One second.
    pub const SECOND: Span = Span(1_000_000_000);

    /// A duration of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Span {
        Span(ns)
    }

    /// A duration of `us` microseconds.
    pub const fn from_micros(us: u64) -> Span {
        Span(us.saturating_mul(1_000))
    }

    /// A duration of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms.saturating_mul(1_000_000))
    }

    /// A duration of `s` seconds.
    pub const fn from_secs(s: u64) -> Span {
        Span(s.saturating_mul(1_000_000_000))
    }

    /// A duration of `s` seconds, rounded to the nanosecond. For settings and reports, not for the
    /// path of a request. Negative values and NaN count as zero.
    pub fn from_secs_f64(s: f64) -> Span {
        Span((s * 1e9).round() as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds, for reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Milliseconds, for reports.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Microseconds, for reports.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The difference; zero if `other` is longer.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// The duration in words, in hours at most: `33 h 20 min`, `1 min 5 s`, `250 ms`.
    pub fn spoken(self) -> String {
        const UNITS: [(u64, &str); 6] = [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "min"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "µs"),
            (1, "ns"),
        ];
        let mut rest = self.0;
        let mut said = Vec::new();
        for (unit, name) in UNITS {
            if rest >= unit {
                said.push(format!("{} {name}", rest / unit));
                rest %= unit;
            }
        }
        if said.is_empty() { "0 s".into() } else { said.join(" ") }
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    /// # Panics
    /// When `divisor` is zero.
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, Add::add)
    }
}

impl fmt::Display for Span {
    /// Three significant digits in a suitable unit: `870 ns`, `12.4 µs`, `3.02 ms`, `1.50 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0..1_000 => return f.pad(&format!("{} ns", self.0)),
            1_000..1_000_000 => (self.as_micros_f64(), "µs"),
            1_000_000..1_000_000_000 => (self.as_millis_f64(), "ms"),
            _ => (self.as_secs_f64(), "s"),
        };
        let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        f.pad(&format!("{value:.decimals$} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_in_words() {
        // 120 000 s = 33 · 3600 + 20 · 60, the runtime of a published command line.
        assert_eq!(Span::from_secs(120_000).spoken(), "33 h 20 min");
        assert_eq!(Span::from_millis(65_250).spoken(), "1 min 5 s 250 ms");
        assert_eq!(Span::ZERO.spoken(), "0 s");
    }

    #[test]
    fn a_span_prints_three_digits_in_the_unit_that_suits() {
        let text = |ns| Span::from_nanos(ns).to_string();
        assert_eq!(text(870), "870 ns");
        assert_eq!(text(12_400), "12.4 µs");
        assert_eq!(text(3_020_000), "3.02 ms");
        assert_eq!(text(150_000_000), "150 ms");
        assert_eq!(text(1_500_000_000), "1.50 s");
    }

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Time::ZERO - Span::SECOND, Time::ZERO);
        assert_eq!(Time::MAX + Span::SECOND, Time::MAX);
        assert_eq!(Time::ZERO.since(Time::MAX), Span::ZERO);
        assert_eq!(Span::MAX * 2, Span::MAX);
    }
}
