//! A new size: absolute, or relative to the present one.

use super::{SizeUnits, UnitSize, ValueError, plain_value};
use std::fmt;
use std::str::FromStr;

/// `100GB`, `+500MB`, `-1GB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewSize {
    /// Exactly this size.
    Is(UnitSize),
    /// This much more than before.
    More(UnitSize),
    /// This much less than before.
    Less(UnitSize),
}

impl NewSize {
    /// The new size in bytes of something with `was` bytes; `None` if negative or above 64 bits.
    pub fn bytes(self, was: u64, units: SizeUnits) -> Option<u64> {
        match self {
            NewSize::Is(size) => size.bytes(units),
            NewSize::More(size) => was.checked_add(size.bytes(units)?),
            NewSize::Less(size) => was.checked_sub(size.bytes(units)?),
        }
    }
}

impl From<UnitSize> for NewSize {
    fn from(size: UnitSize) -> NewSize {
        NewSize::Is(size)
    }
}

impl FromStr for NewSize {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<NewSize, ValueError> {
        let (of, rest): (fn(UnitSize) -> NewSize, &str) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(rest), _) => (NewSize::More, rest),
            (_, Some(rest)) => (NewSize::Less, rest),
            _ => (NewSize::Is, text),
        };
        rest.parse().map(of).map_err(|error: ValueError| ValueError { given: text.to_owned(), ..error })
    }
}

impl fmt::Display for NewSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NewSize::Is(size) => size.fmt(f),
            NewSize::More(size) => write!(f, "+{size}"),
            NewSize::Less(size) => write!(f, "-{size}"),
        }
    }
}

plain_value!(NewSize, "[+|-]<integer>[KB|MB|GB|TB|PB]");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_size_grows_and_shrinks_by_what_is_signed() {
        let bytes = |text: &str, was| text.parse::<NewSize>().unwrap().bytes(was, SizeUnits::Decimal);
        assert_eq!(bytes("2GB", 5), Some(2_000_000_000));
        assert_eq!(bytes("+500MB", 1_000_000_000), Some(1_500_000_000));
        assert_eq!(bytes("-500MB", 1_000_000_000), Some(500_000_000));
        assert_eq!(bytes("-2GB", 1_000_000_000), None);
        assert_eq!(bytes("+1", u64::MAX), None);
        for wrong in ["+", "-", "++1", "+-1", "+ 1", "1+", "+x"] {
            assert_eq!(wrong.parse::<NewSize>().unwrap_err().given, wrong);
        }
    }

    proptest! {
        #[test]
        fn any_text_reads_or_is_refused_and_what_prints_reads_back(text in "[+-]?[0-9]{0,20}[KMGTPkib]{0,3}|\\PC{0,8}") {
            if let Ok(size) = text.parse::<NewSize>() {
                prop_assert_eq!(size.to_string().parse::<NewSize>(), Ok(size));
            }
        }
    }
}
