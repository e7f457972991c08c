//! The limits of a fixed policy group: `10000IOPS`, `300MB/s`, both in either order, or one of the
//! words `INF`, `none` and `0`. Byte rates count in powers of ten (1 MB/s = 10^6 B/s), unlike
//! sizes.

use super::{BYTES_PER_SECOND_MAX, IOPS_MAX, ValueError, leading_number, plain_value};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The value of `-max-throughput`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throughput {
    /// `INF`: no limit, the default of a group.
    Infinite,
    /// `none`: removes a limit.
    None,
    /// `0`: no ceiling, or no floor.
    Zero,
    /// At least one number.
    Limits(ThroughputLimits),
}

/// Operations and bytes per second; the one that is reached first binds. At least one is present,
/// and none is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThroughputLimits {
    /// Operations per second.
    pub iops: Option<u64>,
    /// Bytes per second.
    pub bytes_per_second: Option<u64>,
}

/// The value of `-min-throughput`: as [`Throughput`], but never infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinThroughput(Throughput);

const SUFFIXES: [(&str, u64); 5] =
    [("TB/s", 1_000_000_000_000), ("GB/s", 1_000_000_000), ("MB/s", 1_000_000), ("KB/s", 1_000), ("B/s", 1)];

const RULE: &str = "is not a throughput: write whole numbers of IOPS, bytes per second or both, such as \
                    10000IOPS,300MB/s (units B/s, KB/s, MB/s, GB/s, TB/s in powers of ten), or INF, none or 0";

impl Throughput {
    /// The numbers, or `None` if nothing is limited.
    pub fn limits(self) -> Option<ThroughputLimits> {
        match self {
            Throughput::Limits(limits) => Some(limits),
            Throughput::Infinite | Throughput::None | Throughput::Zero => None,
        }
    }

    /// Compares two ceilings: no ceiling is above all others. `None` if they are not comparable,
    /// like IOPS and bytes per second.
    pub fn order(self, other: Throughput) -> Option<Ordering> {
        let rank = |of: Throughput| match of {
            Throughput::Zero => 0,
            Throughput::Limits(_) => 1,
            Throughput::Infinite | Throughput::None => 2,
        };
        match (self, other) {
            (Throughput::Limits(one), Throughput::Limits(other)) => one.order(other),
            (one, other) => Some(rank(one).cmp(&rank(other))),
        }
    }
}

impl ThroughputLimits {
    /// Compares in the units that the other has; two units must not contradict one another.
    fn order(self, other: ThroughputLimits) -> Option<Ordering> {
        let iops = other.iops.map(|other| self.iops.map(|iops| iops.cmp(&other)));
        let bytes = other.bytes_per_second.map(|other| self.bytes_per_second.map(|bytes| bytes.cmp(&other)));
        match (iops, bytes) {
            (Some(order), None) | (None, Some(order)) => order,
            (Some(Some(Ordering::Equal)), Some(order)) | (Some(order), Some(Some(Ordering::Equal))) => order,
            (Some(iops), Some(bytes)) => iops.filter(|_| iops == bytes),
            (None, None) => None,
        }
    }
}

impl MinThroughput {
    /// A floor with these numbers; zero if there are none.
    pub fn new(limits: ThroughputLimits) -> MinThroughput {
        MinThroughput(limits.into())
    }

    /// The numbers, or `None` if nothing is promised.
    pub fn limits(self) -> Option<ThroughputLimits> {
        self.0.limits()
    }

    /// Compares two floors, like [`Throughput::order`]: no floor is below all others.
    pub fn order(self, other: MinThroughput) -> Option<Ordering> {
        let or_zero = |of: MinThroughput| of.limits().map_or(Throughput::Zero, Throughput::Limits);
        or_zero(self).order(or_zero(other))
    }
}

impl From<ThroughputLimits> for Throughput {
    /// Zeros count as absent.
    fn from(limits: ThroughputLimits) -> Throughput {
        let limits = ThroughputLimits {
            iops: limits.iops.filter(|n| *n > 0),
            bytes_per_second: limits.bytes_per_second.filter(|n| *n > 0),
        };
        if limits == ThroughputLimits::default() { Throughput::Zero } else { Throughput::Limits(limits) }
    }
}

impl FromStr for Throughput {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Throughput, ValueError> {
        match text.to_ascii_lowercase().as_str() {
            "inf" => return Ok(Throughput::Infinite),
            "none" => return Ok(Throughput::None),
            "non" | "no" => return Err(ValueError::new(text, RULE).meaning("none")),
            _ => {}
        }
        let mut limits = ThroughputLimits::default();
        for part in text.split(',') {
            let slot = match Part::read(text, part)? {
                Part::Iops(n) => limits.iops.replace(n),
                Part::Bytes(n) => limits.bytes_per_second.replace(n),
            };
            if slot.is_some() {
                return Err(ValueError::new(text, "gives the same kind of limit twice: give IOPS and bytes once each"));
            }
        }
        Ok(limits.into())
    }
}

/// One part of a value, between commas.
enum Part {
    Iops(u64),
    Bytes(u64),
}

impl Part {
    fn read(whole: &str, part: &str) -> Result<Part, ValueError> {
        let Some((number, unit)) = leading_number(part) else { return Err(ValueError::new(whole, RULE)) };
        // A bare number is IOPS: the manual does not allow it, but shells in the field have
        // accepted it.
        if unit.is_empty() || unit.eq_ignore_ascii_case("iops") {
            return match number {
                Some(n) if n <= IOPS_MAX => Ok(Part::Iops(n)),
                _ => Err(ValueError::new(whole, format!("is more than {IOPS_MAX} IOPS, the largest limit"))),
            };
        }
        match SUFFIXES.iter().find(|(suffix, _)| unit.eq_ignore_ascii_case(suffix)) {
            Some((_, scale)) => match number.and_then(|n| n.checked_mul(*scale)) {
                Some(n) if n <= BYTES_PER_SECOND_MAX => Ok(Part::Bytes(n)),
                _ => Err(ValueError::new(whole, "is more than 4194303MB/s, the largest limit")),
            },
            None => Err(Part::unknown_unit(whole, part, unit)),
        }
    }

    /// Proposes the unit that resembles the typed one: `300MB/s` for `300MB` or `300M`, `300IOPS`
    /// for `300iop`.
    fn unknown_unit(whole: &str, part: &str, unit: &str) -> ValueError {
        let error = ValueError::new(whole, RULE);
        let typed = unit.to_ascii_lowercase();
        let likely = SUFFIXES.iter().map(|(suffix, _)| *suffix).chain(["IOPS"]).find(|suffix| {
            let full = suffix.to_ascii_lowercase();
            full.starts_with(&typed) || typed == full.replace("/s", "ps")
        });
        match (likely, part.strip_suffix(unit)) {
            (Some(suffix), Some(number)) => error.meaning(whole.replace(part, &format!("{number}{suffix}"))),
            _ => error,
        }
    }
}

impl fmt::Display for Throughput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Throughput::Infinite => f.write_str("INF"),
            Throughput::None => f.write_str("none"),
            Throughput::Zero => f.write_str("0"),
            Throughput::Limits(limits) => limits.fmt(f),
        }
    }
}

impl fmt::Display for ThroughputLimits {
    /// IOPS come first; bytes are in the largest unit that needs no fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(iops) = self.iops {
            write!(f, "{iops}IOPS")?;
        }
        if let (Some(_), Some(_)) = (self.iops, self.bytes_per_second) {
            f.write_str(",")?;
        }
        let Some(bytes) = self.bytes_per_second else { return Ok(()) };
        let whole = SUFFIXES.iter().find(|(_, scale)| bytes >= *scale && bytes % scale == 0);
        let (suffix, scale) = whole.copied().unwrap_or(("B/s", 1));
        write!(f, "{}{suffix}", bytes / scale)
    }
}

impl FromStr for MinThroughput {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<MinThroughput, ValueError> {
        match text.parse()? {
            Throughput::Infinite => {
                Err(ValueError::new(text, "is no floor: give IOPS, bytes per second, or 0 for none"))
            }
            other => Ok(MinThroughput(other)),
        }
    }
}

impl fmt::Display for MinThroughput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

plain_value!(Throughput, "<iops>IOPS[,<rate>MB/s]|INF|none|0");
plain_value!(MinThroughput, "<iops>IOPS[,<rate>MB/s]|none|0");
