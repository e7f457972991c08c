//! The scheduler's constants, each with its unit and reason. The defaults are meant for every
//! backend; tests and simulations change them.

use block::Span;

use crate::scheduler::corrections::Corrections;

/// What the gate and its scheduler are tuned to. Every limit of theirs is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How far a ceiling's clock may run behind, so that late timers lose no rate: any window `D`
    /// admits at most `rate × (D + tolerance)` and one request more. 5 ms is 0.5 % of a one-second
    /// window; it must exceed the lateness of the caller's timers.
    pub tolerance: Span,
    /// Requests dispatched, parked or woken in one [`block::Target::poll`] at most. What is left
    /// makes the next wake-up [`block::Wakeup::Now`]. 64 of at most a microsecond each keep a poll
    /// under 100 µs; completions that the inner target reports come on top.
    pub steps_per_poll: u32,
    /// Requests waiting in the gate at most, over all objects. Beyond it the gate answers `Full`.
    pub queued_max: u32,
    /// Requests of one object waiting in the gate at most. Beyond it the gate answers `Full` for
    /// that object.
    pub queued_max_per_object: u32,
    /// How far behind the others, in operations, a member that paused may rejoin the turns. A
    /// shallow client gets back what it loses to the jitter of its own round trips; a longer pause
    /// saves nothing more.
    pub turn_slack: u32,
    /// Requests in flight under a node whose children take turns though no limit binds it (`fair`).
    /// Turns mean nothing while the device takes everything at once; 64 keeps a flash device busy
    /// and the wait for a turn short.
    pub fair_depth: u32,
    /// Ceilings and groups traced in 10 ms bins at most; further ones are limited all the same, but
    /// not traced. A trace takes at most 6 KiB, so the default bounds all of them to 24 MiB.
    pub traces_max: u32,
    /// Timers of limits go off at multiples of this, late by less than one of them, so that the
    /// timers of one grain cost one wake-up. It must stay well below `tolerance`, which makes up
    /// for it.
    pub timer_grain: Span,
    /// How often floors are judged and the window of best-effort work moves.
    pub tick: Span,
    /// What the floors' controller does beyond growing and cutting its window. For tests that show
    /// what each part of it is there for.
    #[doc(hidden)]
    pub corrections: Corrections,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            tolerance: Span::from_millis(5),
            steps_per_poll: 64,
            queued_max: 1 << 22,
            queued_max_per_object: 1 << 16,
            turn_slack: 4,
            fair_depth: 64,
            traces_max: 4096,
            timer_grain: Span::from_micros(100),
            tick: Span::from_millis(20),
            corrections: Corrections::ALL,
        }
    }
}
