//! What the owner of a registry decides once for all its policies.

use block::{Iops, Span};

use crate::adaptive::Units;
use crate::edit::Burst;

/// Which levels of the tree may carry a policy at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nesting {
    /// As ONTAP from 9.18.1: SVM, volume and qtree may each carry one; a LUN or file may only where
    /// nothing above it does.
    #[default]
    Ontap,
    /// Every level may carry one; the tightest limit binds.
    Free,
}

/// The burst of a policy that says nothing of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultBurst {
    /// None: a ceiling is a ceiling.
    #[default]
    None,
    /// ONTAP's: 50 % for 1 s.
    Ontap,
}

impl DefaultBurst {
    /// As a number, if there is one.
    pub const fn burst(self) -> Option<Burst> {
        match self {
            DefaultBurst::None => None,
            DefaultBurst::Ontap => Some(Burst::percent(50, Span::SECOND)),
        }
    }
}

/// What the peak of an adaptive policy is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeakMode {
    /// The ceiling, always available.
    #[default]
    Ceiling,
    /// Reached only on credit saved below the expected rate; without credit the expected rate is
    /// the ceiling.
    Credits,
}

/// Settings of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrySettings {
    /// Which levels may carry a policy at the same time.
    pub nesting: Nesting,
    /// What a TB is.
    pub units: Units,
    /// The burst where a policy says nothing.
    pub burst: DefaultBurst,
    /// The peak where an adaptive policy says nothing.
    pub peak: PeakMode,
    /// Whether SVMs take turns even where no limit binds; `None` keeps what was stored, at first
    /// false.
    pub fair: Option<bool>,
    /// Policy groups at most, built-in ones not counted. ONTAP's limit is the default.
    pub groups_max: usize,
    /// Objects in policy groups at most. ONTAP's limit is the default; a million is fine here.
    pub workloads_max: usize,
    /// An object under an adaptive policy that changed its size is evaluated anew after this long.
    /// The default leaves the caller a minute to come round within the 5 minutes promised.
    pub evaluation_interval: Span,
    /// How much of what the pool can do may be promised; `None` sets no goal.
    pub goal: Option<Goal>,
}

/// How much of what a pool can do its floors may promise together. An administrator says what it
/// can do: a measured figure would be wrong as soon as the load changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// What the pool can do.
    pub capacity: Iops,
    /// The part of it that may be promised, in percent.
    pub percent: u32,
    /// What becomes of a promise beyond it.
    pub beyond: Beyond,
}

/// What becomes of a promise beyond the goal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    /// It is made, with a note.
    #[default]
    Warn,
    /// It is refused.
    Refuse,
}

impl Goal {
    /// The most that may be promised.
    pub fn most(self) -> Iops {
        let most = u128::from(self.capacity.0) * u128::from(self.percent) / 100;
        Iops(u64::try_from(most).unwrap_or(u64::MAX))
    }
}

impl Default for RegistrySettings {
    fn default() -> RegistrySettings {
        RegistrySettings {
            nesting: Nesting::default(),
            units: Units::default(),
            burst: DefaultBurst::default(),
            peak: PeakMode::default(),
            fair: None,
            groups_max: 12_000,
            workloads_max: 40_000,
            evaluation_interval: Span::from_secs(240),
            goal: None,
        }
    }
}
