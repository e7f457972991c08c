//! A size as typed. Whether `1GB` is 10^9 or 2^30 bytes is a setting of the server, so the unit is
//! kept and the caller decides; `1GiB` is 2^30 either way.

use super::{ValueError, leading_number, plain_value};
use std::fmt;
use std::str::FromStr;

/// A whole number and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSize {
    /// The number of units.
    pub number: u64,
    /// The unit.
    pub unit: SizeUnit,
}

/// The unit of a typed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeUnit {
    /// Bytes: a number without a unit, or with `B`.
    Bytes,
    /// `K`, `KB`, `M`, `MB` … : a power (1 to 5) of 1000 or of 1024, depending on [`SizeUnits`].
    Scaled(u8),
    /// `KiB`, `MiB` … : a power (1 to 5) of 1024, regardless of [`SizeUnits`].
    Binary(u8),
}

/// How units without an `i` are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeUnits {
    /// 1 GB = 10^9 bytes.
    Decimal,
    /// 1 GB = 2^30 bytes, as in ONTAP.
    Binary,
}

/// A size in a question: as it is typed, or as sizes print, with a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AskedSize {
    whole: UnitSize,
    /// How many of what fraction of the unit: 5 of 10 in `1.5GB`.
    fraction: (u64, u64),
}

/// Sizes of volumes, LUNs and files are rounded up to whole blocks of this many bytes: what a
/// device never splits.
pub const SIZE_BLOCK: u64 = 4096;

/// Digits behind the point that a size in a question may have.
const FRACTION_DIGITS_MAX: usize = 9;

const LETTERS: [char; 5] = ['K', 'M', 'G', 'T', 'P'];

const RULE: &str = "is not a size: write a whole number and B, KB, MB, GB, TB or PB (KiB … PiB for powers of 1024), \
                    such as 100GB";

impl UnitSize {
    /// The size in bytes, or `None` if that exceeds 64 bits.
    pub fn bytes(self, units: SizeUnits) -> Option<u64> {
        let factor: u64 = match (self.unit, units) {
            (SizeUnit::Bytes, _) => 1,
            (SizeUnit::Scaled(power), SizeUnits::Decimal) => 1_000_u64.checked_pow(power.into())?,
            (SizeUnit::Scaled(power), SizeUnits::Binary) | (SizeUnit::Binary(power), _) => {
                1_024_u64.checked_pow(power.into())?
            }
        };
        self.number.checked_mul(factor)
    }
}

impl FromStr for UnitSize {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<UnitSize, ValueError> {
        let Some((number, unit)) = leading_number(text) else { return Err(ValueError::new(text, RULE)) };
        let unit = SizeUnit::read(unit).ok_or_else(|| ValueError::new(text, RULE))?;
        let size = number.map(|number| UnitSize { number, unit });
        // The larger interpretation must fit, so that an accepted size has a value with either
        // setting.
        size.filter(|s| s.bytes(SizeUnits::Binary).is_some())
            .ok_or_else(|| ValueError::new(text, "is more than 2^64 bytes, the largest size"))
    }
}

const ASKED_RULE: &str = "is not a size: write a number and B, KB, MB, GB, TB or PB (KiB … PiB for powers of 1024), such \
                          as 1.5GB";

impl AskedSize {
    /// The size in bytes, rounded up, or nothing if that exceeds 64 bits.
    pub(crate) fn bytes(self, units: SizeUnits) -> Option<u64> {
        let unit = UnitSize { number: 1, ..self.whole }.bytes(units)?;
        let (number, of) = self.fraction;
        let rest = (u128::from(unit) * u128::from(number)).div_ceil(u128::from(of));
        self.whole.bytes(units)?.checked_add(rest as u64)
    }
}

impl FromStr for AskedSize {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<AskedSize, ValueError> {
        let error = || ValueError::new(text, ASKED_RULE);
        let Some((whole, rest)) = text.split_once('.') else {
            return Ok(AskedSize { whole: text.parse()?, fraction: (0, 1) });
        };
        let (number, unit) = leading_number(rest).ok_or_else(error)?;
        let digits = rest.len() - unit.len();
        let number = number.filter(|_| digits <= FRACTION_DIGITS_MAX).ok_or_else(error)?;
        let whole: UnitSize = format!("{whole}{unit}").parse().map_err(|_| error())?;
        // There is no part of a byte.
        let is_split = whole.unit == SizeUnit::Bytes && number > 0;
        if is_split { Err(error()) } else { Ok(AskedSize { whole, fraction: (number, 10_u64.pow(digits as u32)) }) }
    }
}

impl SizeUnit {
    fn read(text: &str) -> Option<SizeUnit> {
        let upper = text.to_ascii_uppercase();
        if upper.is_empty() || upper == "B" {
            return Some(SizeUnit::Bytes);
        }
        let mut chars = upper.chars();
        let letter = chars.next()?;
        let power = LETTERS.iter().position(|l| *l == letter)? as u8 + 1;
        match chars.as_str() {
            "" | "B" => Some(SizeUnit::Scaled(power)),
            "I" | "IB" => Some(SizeUnit::Binary(power)),
            _ => None,
        }
    }
}

impl fmt::Display for UnitSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |power: u8| LETTERS.get(usize::from(power).wrapping_sub(1)).copied().unwrap_or('?');
        match self.unit {
            SizeUnit::Bytes => write!(f, "{}B", self.number),
            SizeUnit::Scaled(power) => write!(f, "{}{}B", self.number, letter(power)),
            SizeUnit::Binary(power) => write!(f, "{}{}iB", self.number, letter(power)),
        }
    }
}

plain_value!(UnitSize, "<integer>[KB|MB|GB|TB|PB]");
