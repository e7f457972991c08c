//! The rates of an adaptive policy group: operations per second for every terabyte or gigabyte, and
//! a minimum.

use super::{IOPS_MAX, ValueError, leading_number, plain_value};
use std::fmt;
use std::str::FromStr;

/// The value of `-expected-iops` and `-peak-iops`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveRate {
    /// Operations per second …
    pub iops: u64,
    /// … for this much space.
    pub per: PerSize,
}

/// The space that a rate refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerSize {
    /// `IOPS/TB`, which is also the default.
    Terabyte,
    /// `IOPS/GB`.
    Gigabyte,
}

/// The value of `-absolute-min-iops`: operations per second, regardless of the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbsoluteMinimum(pub u64);

const RATE_RULE: &str =
    "is not a rate: write a whole number, with IOPS, IOPS/TB or IOPS/GB behind it, such as 5000IOPS/TB";
const MINIMUM_RULE: &str = "is not a number of IOPS: write a whole number such as 500 or 500IOPS";

/// Parses the number, and returns the rest in lower case.
fn number(text: &str, rule: &str) -> Result<(u64, String), ValueError> {
    let Some((number, unit)) = leading_number(text) else { return Err(ValueError::new(text, rule)) };
    match number {
        Some(n) if n <= IOPS_MAX => Ok((n, unit.to_ascii_lowercase())),
        _ => Err(ValueError::new(text, format!("is more than {IOPS_MAX} IOPS, the largest rate"))),
    }
}

impl AdaptiveRate {
    /// The rate in IOPS per TB, for comparing both kinds. A rate is at most 2^31, so this cannot
    /// overflow.
    pub fn per_terabyte(self) -> u64 {
        match self.per {
            PerSize::Terabyte => self.iops,
            PerSize::Gigabyte => self.iops.saturating_mul(1_000),
        }
    }
}

impl FromStr for AdaptiveRate {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<AdaptiveRate, ValueError> {
        let (iops, unit) = number(text, RATE_RULE)?;
        match unit.as_str() {
            "" | "iops" | "iops/tb" => Ok(AdaptiveRate { iops, per: PerSize::Terabyte }),
            "iops/gb" => Ok(AdaptiveRate { iops, per: PerSize::Gigabyte }),
            "/tb" | "tb" | "iops/t" | "iopstb" => {
                Err(ValueError::new(text, RATE_RULE).meaning(format!("{iops}IOPS/TB")))
            }
            "/gb" | "gb" | "iops/g" | "iopsgb" => {
                Err(ValueError::new(text, RATE_RULE).meaning(format!("{iops}IOPS/GB")))
            }
            _ => Err(ValueError::new(text, RATE_RULE)),
        }
    }
}

impl fmt::Display for AdaptiveRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = match self.per {
            PerSize::Terabyte => "TB",
            PerSize::Gigabyte => "GB",
        };
        write!(f, "{}IOPS/{per}", self.iops)
    }
}

impl FromStr for AbsoluteMinimum {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<AbsoluteMinimum, ValueError> {
        let (iops, unit) = number(text, MINIMUM_RULE)?;
        match unit.as_str() {
            "" | "iops" => Ok(AbsoluteMinimum(iops)),
            unit if unit.starts_with("iops/") => {
                Err(ValueError::new(text, "is a rate: the minimum does not depend on size")
                    .meaning(format!("{iops}IOPS")))
            }
            _ => Err(ValueError::new(text, MINIMUM_RULE)),
        }
    }
}

impl fmt::Display for AbsoluteMinimum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}IOPS", self.0)
    }
}

plain_value!(AdaptiveRate, "<iops>[IOPS[/{GB|TB}]]");
plain_value!(AbsoluteMinimum, "<iops>[IOPS]");
