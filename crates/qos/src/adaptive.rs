//! The arithmetic of adaptive policies: from a size in bytes and rates per TB or GB to operations
//! per second, in whole numbers throughout.
//!
//! ```text
//!   E = expected × size        floor   = max(E, minimum)
//!   P = peak × size            ceiling = max(P, E, minimum)
//! ```
//!
//! Products are taken in 128 bits and divided once, downwards: 1.28 IOPS is 1.

use block::{Bytes, Iops};

use crate::policy::IOPS_MAX;

/// Whether a TB is 10^12 or 2^40 bytes. Governs the TB and GB of a rate and of a size as typed; a
/// size that arrives in bytes is taken as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Units {
    /// Powers of 1000: 100GB at 1500 IOPS/TB is 150 IOPS, as published.
    #[default]
    Decimal,
    /// Powers of 1024: 100GB at 1500 IOPS/TB is 146 IOPS.
    Binary,
}

/// The unit of a size as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeUnit {
    /// Bytes.
    B,
    /// Kilobytes.
    Kb,
    /// Megabytes.
    Mb,
    /// Gigabytes.
    Gb,
    /// Terabytes.
    Tb,
    /// Petabytes.
    Pb,
}

impl Units {
    /// Bytes in one `unit`.
    pub const fn bytes(self, unit: SizeUnit) -> u64 {
        let power = unit as u32;
        match self {
            Units::Decimal => 1000u64.pow(power),
            Units::Binary => 1024u64.pow(power),
        }
    }
}

/// What a storage object occupies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Promised to its user.
    pub allocated: Bytes,
    /// Written by its user, before any saving.
    pub used: Bytes,
}

/// Which of the two a rate is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// [`Size::allocated`]
    Allocated,
    /// [`Size::used`]
    Used,
}

impl Allocation {
    pub(crate) const fn of(self, size: Size) -> Bytes {
        match self {
            Allocation::Allocated => size.allocated,
            Allocation::Used => size.used,
        }
    }
}

/// The size that a rate refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// IOPS per GB.
    Gb,
    /// IOPS per TB, the default of the command line.
    #[default]
    Tb,
}

/// Operations per second for every TB or GB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Density {
    /// How many.
    pub iops: Iops,
    /// For how much.
    pub per: Per,
}

impl Density {
    /// So many IOPS per TB.
    pub const fn per_tb(iops: u64) -> Density {
        Density { iops: Iops(iops), per: Per::Tb }
    }

    /// So many IOPS per GB.
    pub const fn per_gb(iops: u64) -> Density {
        Density { iops: Iops(iops), per: Per::Gb }
    }

    /// The same, per TB; for comparing. A GB is a thousandth of a TB, or a 1024th.
    pub fn iops_per_tb(self, units: Units) -> u128 {
        let gigabytes = match (self.per, units) {
            (Per::Tb, _) => 1,
            (Per::Gb, Units::Decimal) => 1000,
            (Per::Gb, Units::Binary) => 1024,
        };
        u128::from(self.iops.0) * gigabytes
    }

    /// What it comes to for `bytes`, rounded down, at most [`IOPS_MAX`].
    pub fn at(self, bytes: Bytes, units: Units) -> Iops {
        let unit = match self.per {
            Per::Gb => SizeUnit::Gb,
            Per::Tb => SizeUnit::Tb,
        };
        let exact = u128::from(self.iops.0) * u128::from(bytes.0) / u128::from(units.bytes(unit));
        Iops(u64::try_from(exact).unwrap_or(u64::MAX).min(IOPS_MAX))
    }
}

/// What an adaptive policy comes to for one object at its present size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evaluation {
    /// The least: max(E, minimum).
    pub floor: Iops,
    /// The most: max(P, E, minimum).
    pub ceiling: Iops,
}

impl Evaluation {
    /// A change of both numbers by less than this many IOPS is not worth an edit.
    pub const STEP: u64 = 10;

    /// Whether it differs from `other` by [`Evaluation::STEP`] or more in either number.
    pub const fn differs(self, other: Evaluation) -> bool {
        self.floor.0.abs_diff(other.floor.0) >= Evaluation::STEP
            || self.ceiling.0.abs_diff(other.ceiling.0) >= Evaluation::STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_in_bytes_is_taken_as_it_is() {
        // 107 374 182 400 × 1500 / 10^12 = 161.06, / 2^40 = 146.48
        let bytes = Bytes(107_374_182_400);
        assert_eq!(Density::per_tb(1500).at(bytes, Units::Decimal), Iops(161));
        assert_eq!(Density::per_tb(1500).at(bytes, Units::Binary), Iops(146));
    }

    #[test]
    fn absurd_sizes_saturate() {
        assert_eq!(Density::per_gb(u64::MAX).at(Bytes(u64::MAX), Units::Decimal), Iops(IOPS_MAX));
        assert_eq!(Density::per_tb(1500).at(Bytes(0), Units::Decimal), Iops(0));
    }

    #[test]
    fn per_gb_is_a_thousand_or_1024_times_per_tb() {
        assert_eq!(Density::per_gb(2).iops_per_tb(Units::Decimal), 2000);
        assert_eq!(Density::per_gb(2).iops_per_tb(Units::Binary), 2048);
        assert_eq!(Density::per_gb(2).at(Bytes(3_500_000_000), Units::Decimal), Iops(7));
    }

    #[test]
    fn ten_iops_make_a_difference_nine_do_not() {
        let at = |floor, ceiling| Evaluation { floor: Iops(floor), ceiling: Iops(ceiling) };
        assert!(!at(100, 200).differs(at(109, 191)));
        assert!(at(100, 200).differs(at(110, 200)));
        assert!(at(100, 200).differs(at(100, 190)));
    }
}
