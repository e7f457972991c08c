//! Summarises the verdicts of a run as a sentence, with the same words wherever it is shown.

use stats::{Outcome, Verdict};

/// Number of criteria by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Passed.
    pub held: usize,
    /// Cannot say.
    pub open: usize,
    /// Failed.
    pub failed: usize,
}

impl Standing {
    /// Counts these verdicts.
    pub fn of(verdicts: &[Verdict]) -> Standing {
        let count = |outcome| verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
        Standing { held: count(Outcome::Pass), open: count(Outcome::CannotSay), failed: count(Outcome::Fail) }
    }

    /// The overall outcome: fail if any criterion fails, pass only if all pass. `None` without
    /// criteria.
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Standing { failed: 1.., .. } => Some(Outcome::Fail),
            Standing { open: 1.., .. } => Some(Outcome::CannotSay),
            Standing { held: 1.., .. } => Some(Outcome::Pass),
            _ => None,
        }
    }

    /// One sentence, worst outcome first: `1 of 4 did not hold, 1 cannot be said, 2 held`.
    pub fn sentence(self) -> String {
        let total = self.held + self.open + self.failed;
        if total == 0 {
            return "No criterion was judged in this run".into();
        }
        if self.held == total {
            return match total {
                1 => "The one criterion held".into(),
                2 => "Both criteria held".into(),
                _ => format!("All {total} criteria held"),
            };
        }
        let parts = [(self.failed, "did not hold"), (self.open, "cannot be said"), (self.held, "held")];
        let mut words = Vec::new();
        for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
            words.push(if words.is_empty() { format!("{count} of {total} {what}") } else { format!("{count} {what}") });
        }
        words.join(", ")
    }
}

/// The mark of an outcome.
pub(crate) fn mark(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "✓",
        Outcome::CannotSay => "?",
        Outcome::Fail => "✗",
    }
}

/// An outcome in words.
pub(crate) fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "held",
        Outcome::CannotSay => "cannot say",
        Outcome::Fail => "did not hold",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(held: usize, open: usize, failed: usize) -> (Option<Outcome>, String) {
        let standing = Standing { held, open, failed };
        (standing.outcome(), standing.sentence())
    }

    #[test]
    fn the_worst_outcome_is_the_runs_and_comes_first() {
        assert_eq!(standing(0, 0, 0), (None, "No criterion was judged in this run".into()));
        assert_eq!(standing(1, 0, 0), (Some(Outcome::Pass), "The one criterion held".into()));
        assert_eq!(standing(2, 0, 0), (Some(Outcome::Pass), "Both criteria held".into()));
        assert_eq!(standing(4, 0, 0), (Some(Outcome::Pass), "All 4 criteria held".into()));
        assert_eq!(standing(3, 1, 0), (Some(Outcome::CannotSay), "1 of 4 cannot be said, 3 held".into()));
        let worst = "1 of 4 did not hold, 1 cannot be said, 2 held";
        assert_eq!(standing(2, 1, 1), (Some(Outcome::Fail), worst.into()));
        assert_eq!(standing(0, 0, 2), (Some(Outcome::Fail), "2 of 2 did not hold".into()));
    }
}
