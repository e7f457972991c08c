//! Attempts to hold floors whose owners have too few requests outstanding: how long one took, and
//! when the next may follow.

use block::{Span, Time};

use super::constants::attempt;
use super::corrections::{Correction, Corrections};

/// The attempts of all floors: they are tried together.
#[derive(Debug)]
pub(crate) struct Attempts {
    /// Counts the attempts.
    pub number: u32,
    state: Attempt,
    /// How long to wait after the next failure.
    wait: Span,
}

/// The latest attempt.
#[derive(Clone, Copy, Debug)]
enum Attempt {
    /// No floor is short.
    Idle,
    /// A floor has been short since then.
    Short { since: Time },
    /// Floors were given up.
    Failed {
        /// When they are tried again.
        again_at: Time,
        /// Since when a floor has been short again, one that is held to less or another.
        short_since: Option<Time>,
    },
}

impl Attempts {
    /// No attempt yet.
    pub fn new() -> Attempts {
        Attempts { number: 0, state: Attempt::Idle, wait: attempt::RETRY }
    }

    /// A floor is short.
    pub fn note_short(&mut self, now: Time) {
        match &mut self.state {
            Attempt::Idle => self.state = Attempt::Short { since: now },
            Attempt::Short { .. } => {}
            Attempt::Failed { short_since, .. } => {
                short_since.get_or_insert(now);
            }
        }
    }

    /// No floor is short.
    pub fn note_met(&mut self) {
        match &mut self.state {
            Attempt::Idle => {}
            Attempt::Short { .. } => self.state = Attempt::Idle,
            Attempt::Failed { short_since, .. } => *short_since = None,
        }
    }

    /// The floors that are short are given up.
    pub fn fail(&mut self, now: Time, corrections: Corrections) {
        let since = match self.state {
            Attempt::Idle => now,
            Attempt::Short { since } => since,
            Attempt::Failed { short_since, .. } => short_since.unwrap_or(now),
        };
        let rarer = corrections.has(Correction::Backoff);
        let least = if rarer { now.since(since) * attempt::FACTOR } else { Span::ZERO };
        let wait = self.wait.max(least);
        if rarer {
            self.wait = (wait * 2).min(attempt::RETRY_MAX.max(least));
        }
        self.state = Attempt::Failed { again_at: now + wait, short_since: None };
    }

    /// Some floors are held to less, and after `time` to all of it again.
    pub fn rest(&mut self, now: Time, time: Span) {
        self.state = Attempt::Failed { again_at: now + time, short_since: None };
    }

    /// All floors are tried again, after a time in which nobody was held back. That they were short
    /// in it cost the others nothing, so it is no part of the attempt.
    pub fn begin_after_rest(&mut self, now: Time) {
        self.number += 1;
        match &mut self.state {
            Attempt::Short { since } | Attempt::Failed { short_since: Some(since), .. } => *since = now,
            Attempt::Idle | Attempt::Failed { short_since: None, .. } => {}
        }
    }

    /// Begins an attempt if it is time to try again those that were given up; true if so.
    pub fn begin_if_due(&mut self, now: Time) -> bool {
        let Attempt::Failed { again_at, short_since } = self.state else { return false };
        if now < again_at {
            return false;
        }
        self.state = short_since.map_or(Attempt::Idle, |since| Attempt::Short { since });
        self.number += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    /// Short since second 1, with nobody held back up to second 20, and given up a second later:
    /// the next attempt is 25 times that second away, not 25 times 20.
    #[test]
    fn a_rest_is_no_part_of_what_an_attempt_took() {
        let mut attempts = Attempts::new();
        attempts.note_short(second(1));
        attempts.begin_after_rest(second(20));
        attempts.fail(second(21), Corrections::ALL);
        attempts.begin_if_due(second(45));
        assert_eq!(attempts.number, 1);
        attempts.begin_if_due(second(46));
        assert_eq!(attempts.number, 2);
    }
}
