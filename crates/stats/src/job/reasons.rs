//! Why something failed, and how often for each reason.

use block::count;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limit on the reasons that are counted. Reasons have numbers in them: a server that fails in ever
/// new ways gets no longer report.
const REASONS_MAX: usize = 16;

/// Counts by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons(BTreeMap<Arc<str>, u64>);

impl Reasons {
    /// Counts one more. A new reason is left out if there are 16 others.
    pub fn count(&mut self, why: &Arc<str>) {
        if self.0.len() < REASONS_MAX || self.0.contains_key(why) {
            *self.0.entry(Arc::clone(why)).or_default() += 1;
        }
    }

    /// Adds another job's counts, with all its reasons.
    pub fn absorb(&mut self, other: &Reasons) {
        for (why, count) in &other.0 {
            *self.0.entry(Arc::clone(why)).or_default() += count;
        }
    }

    /// A line on the requests that failed for each reason.
    pub fn failed_lines(&self) -> impl Iterator<Item = String> + '_ {
        self.iter().map(|(why, number)| format!("{} failed: {why}", count(number as usize, "request", "requests")))
    }

    /// The reasons in alphabetical order, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(why, count)| (&**why, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_reasons_go_on_where_new_ones_are_left_out() {
        let mut reasons = Reasons::default();
        for _ in 0..2 {
            (0..20).for_each(|number| reasons.count(&format!("reason {number:02}").into()));
        }
        assert_eq!(reasons.iter().count(), 16);
        assert!(reasons.iter().all(|(why, count)| why < "reason 16" && count == 2));
    }
}
