//! How fast the device usually is, so that a stall of all of it is told from a floor that is short.

use block::{Span, Time};

use super::constants::stall;

/// Completions tick by tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pulse {
    /// Completions since the last tick.
    done: u64,
    since: Time,
    /// Completions per second over the last second.
    usual: f64,
    /// For how long it has been much less.
    stalled: Span,
}

/// What a tick shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// The device does about what it usually does, or has become slower for good.
    Even,
    /// It does much less, for a short while: nobody's fault, and no reason to move the window.
    Stalled,
    /// A stall has just ended.
    Over,
}

impl Pulse {
    /// Nothing known before now.
    pub fn new(now: Time) -> Pulse {
        Pulse { since: now, ..Pulse::default() }
    }

    /// A request ended.
    #[inline]
    pub fn ended(&mut self) {
        self.done += 1;
    }

    /// A tick is over.
    pub fn beat(&mut self, now: Time) -> Beat {
        let time = now.since(self.since).as_secs_f64();
        let (expected, done) = (self.usual * time, self.done as f64);
        (self.done, self.since) = (0, now);
        let chance = (stall::SURE / expected.max(1.0).sqrt()).max(stall::LEAST);
        let little = done < expected * (1.0 - chance);
        if little && self.stalled < stall::LONGEST {
            self.stalled += Span::from_secs_f64(time);
            return Beat::Stalled;
        }
        let over = !little && self.stalled > Span::ZERO;
        if over {
            self.stalled = Span::ZERO;
        }
        let rate = done / time.max(1e-9);
        let weight = if self.usual == 0.0 { 1.0 } else { time.min(1.0) };
        self.usual += (rate - self.usual) * weight;
        if over { Beat::Over } else { Beat::Even }
    }
}
