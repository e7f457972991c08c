//! How numbers are read: strictly, refusing what fio reads in a surprising way, or exactly as fio
//! reads them.

/// How values are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Whether surprising values are read as fio reads them (`1.5M` is 1 byte, `4KiB` is 4000
    /// bytes) instead of being refused.
    pub strict_fio: bool,
    /// The meaning of `k`.
    pub kb_base: KbBase,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect { strict_fio: false, kb_base: KbBase::Binary }
    }
}

/// fio's option `kb_base`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KbBase {
    /// 1024, the default: `k` is 1024 and, for compatibility with old scripts, `KiB` is 1000.
    #[default]
    Binary,
    /// 1000: `k` is 1000 and `KiB` is 1024, as in the standards.
    Decimal,
}

impl KbBase {
    /// The factor of `k` and `kb`.
    pub fn plain(self) -> u64 {
        match self {
            KbBase::Binary => 1024,
            KbBase::Decimal => 1000,
        }
    }

    /// The factor of `KiB`: the other one.
    pub fn iec(self) -> u64 {
        2024 - self.plain()
    }
}
