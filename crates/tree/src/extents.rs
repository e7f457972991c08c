//! The location of a file's pages.

use crate::runs::Run;
use std::collections::BTreeMap;

/// Runs of a file's pages, and where each is in the data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extents {
    /// The run in the data, by the first page of the file.
    by_page: BTreeMap<u64, Run>,
    pages: u64,
}

impl Extents {
    /// Number of pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, Run)> + '_ {
        self.by_page.iter().map(|(page, run)| (*page, *run))
    }

    /// The runs from a page of the file on.
    pub fn from(&self, page: u64) -> impl Iterator<Item = (u64, Run)> + '_ {
        self.by_page.range(page..).map(|(page, run)| (*page, *run))
    }

    /// The location of a page and of the pages that follow it there.
    pub fn find(&self, page: u64) -> Option<Run> {
        let (first, run) = self.by_page.range(..=page).next_back()?;
        let into = page - first;
        (into < run.pages).then(|| Run { at: run.at + into, pages: run.pages - into })
    }

    /// The first allocated page after this one.
    pub fn next(&self, page: u64) -> Option<u64> {
        self.by_page.range(page + 1..).next().map(|(page, _)| *page)
    }

    /// How many of the pages up to `end` are allocated.
    pub fn overlap(&self, page: u64, end: u64) -> u64 {
        let first = self.find(page).map_or(0, |run| run.pages.min(end - page));
        let rest = self.by_page.range(page + 1..end.max(page + 1));
        first + rest.map(|(page, run)| run.pages.min(end - page)).sum::<u64>()
    }

    /// The last run before a page of the file.
    pub fn before(&self, page: u64) -> Option<(u64, Run)> {
        self.by_page.range(..page).next_back().map(|(page, run)| (*page, *run))
    }

    /// Sets the location of pages from `page` on; any previous location is forgotten.
    pub fn set(&mut self, page: u64, run: Run) {
        self.clear(page, page + run.pages);
        self.pages += run.pages;
        let (mut first, mut whole) = (page, run);
        if let Some((before, other)) = self.before(page)
            && before + other.pages == page
            && other.end() == run.at
        {
            self.by_page.remove(&before);
            (first, whole) = (before, Run { at: other.at, pages: other.pages + run.pages });
        }
        self.by_page.insert(first, whole);
    }

    /// Cuts the file off before a page; returns the runs that it had after that.
    pub fn cut(&mut self, page: u64) -> Vec<Run> {
        self.clear(page, u64::MAX)
    }

    fn clear(&mut self, from: u64, to: u64) -> Vec<Run> {
        let mut gone = Vec::new();
        if let Some((first, run)) = self.before(from).filter(|(first, run)| first + run.pages > from) {
            self.by_page.insert(first, Run { at: run.at, pages: from - first });
            self.by_page.insert(from, Run { at: run.at + (from - first), pages: first + run.pages - from });
        }
        loop {
            let next = self.from(from).next().filter(|(first, _)| *first < to);
            let Some((first, run)) = next else { break };
            self.by_page.remove(&first);
            let pages = run.pages.min(to - first);
            gone.push(Run { at: run.at, pages });
            if pages < run.pages {
                self.by_page.insert(to, Run { at: run.at + pages, pages: run.pages - pages });
            }
            self.pages -= pages;
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pages_are_where_they_were_put(steps in prop::collection::vec((0..4u8, 0..40u64, 0..500u64, 1..12u64), 0..50)) {
            let (mut extents, mut model) = (Extents::default(), BTreeMap::new());
            for (what, page, at, pages) in steps {
                if what == 0 {
                    let gone: u64 = extents.cut(page).iter().map(|run| run.pages).sum();
                    prop_assert_eq!(gone, model.split_off(&page).len() as u64);
                } else {
                    extents.set(page, Run { at, pages });
                    model.extend((0..pages).map(|each| (page + each, at + each)));
                }
                prop_assert_eq!(extents.pages(), model.len() as u64);
                for page in 0..60 {
                    prop_assert_eq!(extents.find(page).map(|run| run.at), model.get(&page).copied());
                }
            }
        }
    }
}
