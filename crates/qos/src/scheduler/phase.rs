//! What the floors' controller is doing: one state, with what belongs to it alone.
//!
//! ```text
//!   Idle ◄─ no floor in use ─ Holding ◄───────── floors are met ──────────┐
//!                             │  ▲ ▲                                      │
//!                             │  │ └──── nobody gains: overcommitted ─────┤
//!      still short, nothing   ▼  │                                        │
//!      left to take           Bottom ── for long ──► Climbing ────────────┘
//!                                                       │ a knee was found: owners ask for too few
//!                                                       ▼
//!                                                    GivingUp ── floors held to what they get ──► Holding
//!
//!   any, where floors cost much in vain ──► Looking ── it costs nothing ──► Holding
//!                                              └─ it does ──► Open ── forgiven ──► Holding
//!
//!   Climbing, Looking: some are met, others not ──► LettingGo ── those are let go ──► Holding
//! ```
//!
//! Each change goes through [`super::window::Window`], at the place that is named after it.

use super::waste::Look;

/// What is being done about the floors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Phase {
    /// No floor is in use: nobody is held back.
    Idle,
    /// The window follows the floors, up to the knee.
    Holding,
    /// Floors are short and there is nothing left to take, for so many rounds.
    Bottom { rounds: u32 },
    /// The window climbs to find out why.
    Climbing {
        /// The throughput of the level below, and how many levels were climbed.
        below: f64,
        levels: u32,
        /// Other floors were met at the bottom.
        others: bool,
    },
    /// In the next round, floors that are short are held to what they get.
    GivingUp,
    /// In the next round, floors that are short beside others that are met are let go.
    LettingGo,
    /// Floors cost much in vain: the controller looks at what the device does with more in flight,
    /// or with nobody held back.
    Looking(Look),
    /// Holding the others back did not help, so they go as they come. The device is still observed.
    Open(Look),
}

/// A phase, and whether what is measured belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    /// The window changed so much that what was in flight before has to go first. Measurements
    /// begin with the next round.
    Settling(Phase),
    /// Measured round by round.
    Settled(Phase),
}

impl State {
    /// The phase.
    pub fn phase(self) -> Phase {
        match self {
            State::Settling(phase) | State::Settled(phase) => phase,
        }
    }
}
