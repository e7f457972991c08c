//! A set of pages, as runs.

use std::collections::BTreeMap;

/// Contiguous pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    pub at: u64,
    pub pages: u64,
}

impl Run {
    pub const fn end(&self) -> u64 {
        self.at + self.pages
    }
}

/// The runs by their first pages; no two of them are adjacent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    by_start: BTreeMap<u64, u64>,
}

impl Runs {
    pub fn iter(&self) -> impl Iterator<Item = Run> + '_ {
        self.by_start.iter().map(|(at, pages)| Run { at: *at, pages: *pages })
    }

    #[cfg(test)]
    pub fn pages(&self) -> u64 {
        self.by_start.values().sum()
    }

    /// The run that includes a page, or the first one after it.
    pub fn at_or_behind(&self, page: u64) -> Option<Run> {
        let before = self.by_start.range(..=page).next_back().filter(|(at, pages)| **at + **pages > page);
        let found = before.or_else(|| self.by_start.range(page..).next());
        found.map(|(at, pages)| Run { at: *at, pages: *pages })
    }

    /// Whether it includes any page of a run.
    pub fn meets(&self, run: Run) -> bool {
        self.at_or_behind(run.at).is_some_and(|found| found.at < run.end())
    }

    pub fn add(&mut self, run: Run) {
        if run.pages == 0 {
            return;
        }
        self.remove(run);
        let (mut at, mut end) = (run.at, run.end());
        if let Some((&before, &pages)) = self.by_start.range(..at).next_back()
            && before + pages == at
        {
            self.by_start.remove(&before);
            at = before;
        }
        if let Some(pages) = self.by_start.remove(&end) {
            end += pages;
        }
        self.by_start.insert(at, end - at);
    }

    pub fn remove(&mut self, run: Run) {
        while let Some(found) = self.at_or_behind(run.at).filter(|found| found.at < run.end()) {
            self.by_start.remove(&found.at);
            if found.at < run.at {
                self.by_start.insert(found.at, run.at - found.at);
            }
            if found.end() > run.end() {
                self.by_start.insert(run.end(), found.end() - run.end());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn runs_hold_what_a_set_of_pages_holds(steps in prop::collection::vec((any::<bool>(), 0..64u64, 1..9u64), 0..60)) {
            let (mut runs, mut model) = (Runs::default(), BTreeSet::new());
            for (add, at, pages) in steps {
                let run = Run { at, pages };
                prop_assert_eq!(runs.meets(run), (at..at + pages).any(|page| model.contains(&page)));
                if add { runs.add(run) } else { runs.remove(run) }
                for page in at..at + pages {
                    if add { model.insert(page) } else { model.remove(&page) };
                }
                let held: Vec<u64> = runs.iter().flat_map(|run| run.at..run.end()).collect();
                prop_assert_eq!(&held, &model.iter().copied().collect::<Vec<_>>());
                let all: Vec<Run> = runs.iter().collect();
                prop_assert!(all.windows(2).all(|pair| pair[0].end() < pair[1].at), "{:?}", all);
            }
        }
    }
}
