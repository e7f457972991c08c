//! Which reading of numbers is in force: ours, which refuses what fio reads in a surprising way, or
//! fio's own.

/// How values are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Copy fio where it surprises (`1.5M` is 1 byte, `4KiB` is 4000 bytes) in place of refusing
    /// it.
    pub strict_fio: bool,
    /// What `k` stands for.
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
    /// 1024, the default: `k` is 1024 and, for the sake of old scripts, `KiB` is 1000.
    #[default]
    Binary,
    /// 1000: `k` is 1000 and `KiB` is 1024, as the standards have it.
    Decimal,
}

impl KbBase {
    /// The factor of `k`, `kb`.
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
