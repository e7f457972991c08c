//! Sizes of space, in the units of the plan's server: `1GB` means the same here as in
//! administrators' commands. Block sizes are not space: `8k` is always 8192 bytes, as in load
//! generators.

use block::{Bytes, ParseBytesError};

/// The meaning of units without an `i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanUnits {
    /// `1GB` is 10^9 bytes, and a TB of a rate is 10^12.
    #[default]
    Decimal,
    /// `1GB` is 2^30 bytes, and a TB of a rate is 2^40.
    Binary,
}

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSpaceError {
    /// It does not start with a whole number, or it has a fraction.
    #[error("a size is a whole number with a unit, such as 512MiB or 1GB; got {0:?}")]
    Number(String),
    /// The unit is unknown.
    #[error("unknown unit {unit:?} in {given:?}; sizes take B, KB, MB, GB, TB, PB, and KiB … PiB for powers of 1024")]
    Unit {
        /// The unit as typed.
        unit: String,
        /// The whole text as typed.
        given: String,
    },
    /// The size does not fit into 64 bits.
    #[error("{0:?} is more than 16 EiB")]
    TooLarge(String),
}

/// Parses `1GB`, `512MiB`, `4096`; `units` says how units without an `i` count.
pub fn parse_space(given: &str, units: PlanUnits) -> Result<Bytes, ParseSpaceError> {
    const LETTERS: &str = "kmgtp";
    let text = given.trim().to_ascii_lowercase();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let letter = unit.trim().trim_end_matches('b');
    let power = LETTERS.find(letter).filter(|_| letter.len() == 1 && units == PlanUnits::Decimal);
    let Some(power) = power.filter(|_| !number.is_empty()) else {
        return given.parse().map_err(|error| match error {
            ParseBytesError::Number(given) => ParseSpaceError::Number(given),
            ParseBytesError::Unit { unit, given } => ParseSpaceError::Unit { unit, given },
            ParseBytesError::TooLarge(given) => ParseSpaceError::TooLarge(given),
        });
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1000u64.pow(power as u32 + 1)));
    bytes.map(Bytes).ok_or_else(|| ParseSpaceError::TooLarge(given.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_without_an_i_count_as_the_server_does() {
        let read = |text: &str, units| parse_space(text, units).map(|bytes| bytes.0);
        for (text, decimal, binary) in [
            ("1GB", 1_000_000_000, 1 << 30),
            ("100g", 100_000_000_000, 100 << 30),
            ("2TB", 2_000_000_000_000, 2 << 40),
            ("8 kb", 8000, 8192),
            ("512MiB", 512 << 20, 512 << 20),
            ("4096", 4096, 4096),
            ("4096B", 4096, 4096),
        ] {
            assert_eq!(
                (read(text, PlanUnits::Decimal), read(text, PlanUnits::Binary)),
                (Ok(decimal), Ok(binary)),
                "{text}"
            );
        }
        for units in [PlanUnits::Decimal, PlanUnits::Binary] {
            assert!(matches!(read("1.5GB", units), Err(ParseSpaceError::Number(_))));
            assert!(matches!(read("GB", units), Err(ParseSpaceError::Number(_))));
            assert!(matches!(read("1XB", units), Err(ParseSpaceError::Unit { .. })));
            assert!(matches!(read("99999999PB", units), Err(ParseSpaceError::TooLarge(_))));
        }
    }
}
