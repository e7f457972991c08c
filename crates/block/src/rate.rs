//! Sizes and rates. Rates are operations per second or bytes per second, never bits.

use std::fmt;
use std::str::FromStr;

/// A size or an offset in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Operations per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Iops(pub u64);

/// Bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BytesPerSecond(pub u64);

impl Bytes {
    /// `n` KiB.
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n << 10)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n << 20)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Bytes {
        Bytes(n << 30)
    }
}

impl fmt::Display for Bytes {
    /// In binary units, named as such: `512 B`, `4 KiB`, `1.50 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u32, &str); 5] = [(50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        for (shift, unit) in UNITS {
            if self.0 >> shift > 0 {
                let text = if self.0.trailing_zeros() >= shift {
                    format!("{} {unit}", self.0 >> shift)
                } else {
                    format!("{:.2} {unit}", self.0 as f64 / (1u64 << shift) as f64)
                };
                return f.pad(&text);
            }
        }
        f.pad(&format!("{} B", self.0))
    }
}

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseBytesError {
    /// The text does not start with a whole number.
    #[error("a size is a whole number with a unit, such as 4k, 512MiB or 1GB; got {0:?}")]
    Number(String),
    /// The unit is not known.
    #[error("unknown unit {unit:?} in {given:?}; sizes take B, k/KB/KiB, M/MB/MiB, G/GB/GiB, T/TB/TiB (all binary)")]
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

impl FromStr for Bytes {
    type Err = ParseBytesError;

    /// Parses `4096`, `4k`, `512MiB`, `1GB`. Every unit is binary, with or without the `i`, as in
    /// fio and among storage administrators. Fractions are refused: a person and fio read `1.5G`
    /// differently.
    fn from_str(given: &str) -> Result<Bytes, ParseBytesError> {
        let text = given.trim();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        if number.is_empty() || unit.starts_with(['.', ',']) {
            return Err(ParseBytesError::Number(given.into()));
        }
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            "p" | "pb" | "pib" => 50,
            _ => return Err(ParseBytesError::Unit { unit: unit.trim().into(), given: given.into() }),
        };
        let too_large = || ParseBytesError::TooLarge(given.into());
        let count: u64 = number.parse().map_err(|_| too_large())?;
        count.checked_mul(1 << shift).map(Bytes).ok_or_else(too_large)
    }
}

/// The text is not a rate in bytes per second.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?}: write 5Gb/s, 150MB/s or 1GiB/s")]
pub struct ParseRateError(String);

impl FromStr for BytesPerSecond {
    type Err = ParseRateError;

    /// Parses `150MB/s` and `1GiB/s`, and network rates such as `5Gb/s`: bits, decimal. The rate
    /// must be between 1 byte and 1 TB per second; the upper bound is beyond any link.
    fn from_str(given: &str) -> Result<BytesPerSecond, ParseRateError> {
        let unit = given.trim_start_matches(|c: char| c.is_ascii_digit());
        let number: Option<u128> = given[..given.len() - unit.len()].parse().ok();
        let (bytes, part) = match unit.trim() {
            "Mb/s" => (1_000_000, 8),
            "Gb/s" => (1_000_000_000, 8),
            "KB/s" => (1000, 1),
            "MB/s" => (1_000_000, 1),
            "GB/s" => (1_000_000_000, 1),
            "KiB/s" => (1 << 10, 1),
            "MiB/s" => (1 << 20, 1),
            "GiB/s" => (1 << 30, 1),
            _ => return Err(ParseRateError(given.into())),
        };
        let rate = number.and_then(|number| u64::try_from(number.checked_mul(bytes)? / part).ok());
        let rate = rate.filter(|rate| (1..=1_000_000_000_000).contains(rate));
        rate.map(BytesPerSecond).ok_or_else(|| ParseRateError(given.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_in_bits_and_bytes() {
        for (text, rate) in [
            ("5Gb/s", 625_000_000),
            ("100 Mb/s", 12_500_000),
            ("150MB/s", 150_000_000),
            ("1GiB/s", 1 << 30),
            ("1000GB/s", 1_000_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(BytesPerSecond(rate)), "{text}");
        }
        for text in
            ["", "5", "MB/s", "0MB/s", "5gb/s", "1001GB/s", "99999999999999999999999999999999999999GB/s", "-1MB/s"]
        {
            let error = text.parse::<BytesPerSecond>().unwrap_err().to_string();
            assert!(error.contains("write 5Gb/s"), "{text}: {error}");
        }
    }

    #[test]
    fn sizes_print_in_binary_units() {
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes::kib(4).to_string(), "4 KiB");
        assert_eq!(Bytes::mib(1536).to_string(), "1.50 GiB");
    }

    #[test]
    fn sizes_parse_with_and_without_the_i() {
        for (text, bytes) in
            [("4096", Bytes(4096)), ("4k", Bytes::kib(4)), ("512MiB", Bytes::mib(512)), ("1 GB", Bytes::gib(1))]
        {
            assert_eq!(text.parse(), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_says_why() {
        let error = |text: &str| text.parse::<Bytes>().unwrap_err();
        assert_eq!(error("1.5G"), ParseBytesError::Number("1.5G".into()));
        assert_eq!(error("-4k"), ParseBytesError::Number("-4k".into()));
        assert_eq!(error("4q"), ParseBytesError::Unit { unit: "q".into(), given: "4q".into() });
        assert_eq!(error("99999999999P"), ParseBytesError::TooLarge("99999999999P".into()));
    }
}
