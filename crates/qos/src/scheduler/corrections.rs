//! What the floors' controller does beyond growing and cutting its window, each part with a switch:
//! tests turn one off at a time to see what it is there for.

/// A part of the controller that a scene showed to be needed
/// (`crates/simtest/tests/gate/corrections.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Correction {
    /// Two levels are compared in pairs, not once.
    Pairs,
    /// A larger level whose gain cannot be shown is not kept.
    Shown,
    /// A level does more only if more requests complete.
    Requests,
    /// And only if their cost is more, too.
    Cost,
    /// The search goes down, too.
    Less,
    /// A larger level is measured even if it is not used up.
    Unused,
    /// More is tried than floors are known to have room for.
    Edge,
    /// Levels are judged by what the others do where owners have more than their floors.
    Others,
    /// A change of throughput by a tenth starts the search anew.
    Changed,
    /// Where floors have ample room nothing is searched.
    Ample,
    /// Measurements begin anew after a large change.
    Settle,
    /// Short stalls of the device move nothing.
    Stalls,
    /// A cut that a whole second calls for also lowers the cap.
    Lower,
    /// The cost of floors in vain is added up.
    Account,
    /// A first failure counts as what it was measured to cost.
    First,
    /// A look that wavers is trusted briefly.
    Even,
    /// Holding back that costs nothing is continued.
    Free,
    /// Floors that are out of reach are let go alone where others are met.
    LetGo,
    /// After each failure it takes longer until floors are tried again.
    Forgiven,
    /// The scale recovers at once where others take a part.
    Spare,
    /// After each miss the scale rests longer.
    Rest,
    /// What an owner gets at the knee is measured before it is held to that.
    Refine,
    /// Attempts become rarer with each failure, and the longer they take.
    Backoff,
    /// An owner that is behind is due more.
    Urgency,
    /// Low rates are held a little above their floor.
    Chance,
    /// An owner with most of its requests outstanding that gets its due asks at its own pace.
    Ease,
    /// The room of an owner that asks at its own pace is guessed.
    Guess,
    /// Where nothing better is known of that room, a little is always tried.
    Little,
    /// After a request larger than the window, others wait.
    Large,
    /// What is known about the device outlives the last floor.
    Known,
    /// A floor by latency also holds the mean.
    Mean,
}

impl Correction {
    /// All of them.
    pub const EACH: &[Correction] = &[
        Correction::Pairs,
        Correction::Shown,
        Correction::Requests,
        Correction::Cost,
        Correction::Less,
        Correction::Unused,
        Correction::Edge,
        Correction::Others,
        Correction::Changed,
        Correction::Ample,
        Correction::Settle,
        Correction::Stalls,
        Correction::Lower,
        Correction::Account,
        Correction::First,
        Correction::Even,
        Correction::Free,
        Correction::LetGo,
        Correction::Forgiven,
        Correction::Spare,
        Correction::Rest,
        Correction::Refine,
        Correction::Backoff,
        Correction::Urgency,
        Correction::Chance,
        Correction::Ease,
        Correction::Guess,
        Correction::Little,
        Correction::Large,
        Correction::Known,
        Correction::Mean,
    ];
}

/// The corrections that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrections(u32);

impl Corrections {
    /// All of them.
    pub const ALL: Corrections = Corrections(u32::MAX);

    /// All but one.
    pub fn without(self, correction: Correction) -> Corrections {
        Corrections(self.0 & !(1 << correction as u32))
    }

    /// Whether it is on.
    pub(crate) fn has(self, correction: Correction) -> bool {
        self.0 >> correction as u32 & 1 == 1
    }
}
