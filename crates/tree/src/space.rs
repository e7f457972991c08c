//! Which pages of the data are free, and which are allocated next.
//!
//! Pages are reserved, many at a time, before any of them is allocated. So after a power failure it
//! is known which pages may have contents although they belong to no file; they are cleared before
//! reuse.
//!
//! The data has far more addresses than a volume holds, so a gap is left after a growing file.
//! Later writes to the file continue there, and it consists of a few runs even if many files are
//! written at a time.

use crate::limits::DATA_PAGES;
use crate::runs::{Run, Runs};
use std::collections::VecDeque;

/// Limit on the gap after a growing file, in pages: 16 MiB.
const GAP_PAGES_MAX: u64 = 1 << 12;
/// Pages that are reserved at a time: 256 MiB, for a change of a few bytes.
const RESERVED: u64 = 1 << 16;

/// The free pages, which are clear and reserved.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    free: Runs,
    /// Where the search starts.
    next: u64,
    /// Reservations in progress: the record with which they are durable, and the pages.
    reserving: VecDeque<(u64, Run)>,
    /// The end of all reservations.
    end: u64,
}

impl Space {
    /// No free pages yet; pages before `end` are reserved.
    pub fn behind(end: u64) -> Space {
        Space { free: Runs::default(), next: end, reserving: VecDeque::new(), end }
    }

    /// The pages to reserve next, if there may soon be too few.
    pub fn lacks(&self) -> Option<Run> {
        let run = Run { at: self.end, pages: RESERVED.min(DATA_PAGES.1 - self.end) };
        (run.pages > 0 && self.next + RESERVED / 2 >= self.end).then_some(run)
    }

    /// The pages are reserved once that record is durable.
    pub fn reserve(&mut self, record: u64, run: Run) {
        self.end = run.end();
        self.reserving.push_back((record, run));
    }

    /// A record is durable.
    pub fn settle(&mut self, durable: u64) {
        while let Some((_, run)) = self.reserving.front().copied().filter(|(record, _)| *record <= durable) {
            self.reserving.pop_front();
            self.give(run);
        }
    }

    /// Allocates up to `want` contiguous pages for a file that has `pages`, from `near` on if that
    /// is free.
    pub fn take(&mut self, near: Option<u64>, want: u64, pages: u64) -> Option<Run> {
        if let Some(near) = near
            && let Some(found) = self.free.at_or_behind(near).filter(|found| found.at <= near)
        {
            return Some(self.take_run(Run { at: near, pages: want.min(found.end() - near) }));
        }
        let found = self.free.at_or_behind(self.next).or_else(|| self.free.at_or_behind(0))?;
        let at = if found.end() > self.next { found.at.max(self.next) } else { found.at };
        let run = Run { at, pages: want.min(found.end() - at) };
        let gap = if pages == 0 { 0 } else { (2 * pages).min(GAP_PAGES_MAX) };
        self.next = run.end() + gap;
        Some(self.take_run(run))
    }

    fn take_run(&mut self, run: Run) -> Run {
        self.free.remove(run);
        run
    }

    pub fn give(&mut self, run: Run) {
        self.free.add(run);
    }

    #[cfg(test)]
    pub fn free(&self) -> &Runs {
        &self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        let mut space = Space::behind(DATA_PAGES.0);
        let run = space.lacks().unwrap();
        space.reserve(1, run);
        assert_eq!((space.lacks(), space.take(None, 1, 0)), (None, None), "not before that is durable");
        space.settle(1);
        space
    }

    /// Two files that grow in turn, a page at a time, have as many runs as their sizes doubled, not
    /// as many as there were writes.
    #[test]
    fn files_that_grow_side_by_side_are_a_few_runs() {
        let mut space = space();
        let mut files = [Vec::<Run>::new(), Vec::new()];
        for turn in 0..2000 {
            let file = &mut files[turn % 2];
            let pages = file.iter().map(|run| run.pages).sum();
            let run = space.take(file.last().map(Run::end), 1, pages).unwrap();
            match file.last_mut().filter(|last| last.end() == run.at) {
                Some(last) => last.pages += 1,
                None => file.push(run),
            }
        }
        // 1000 pages each: 1, then the gaps of 2, 6, 18, 54 and so on.
        assert!(files.iter().all(|file| file.len() <= 8), "{files:?}");
    }

    #[test]
    fn all_of_it_is_given_out_once_and_can_be_given_back() {
        let mut space = space();
        let most = space.take(None, RESERVED - 10, 0).unwrap();
        assert_eq!(space.lacks().map(|run| run.at), Some(most.end() + 10));
        let one = space.take(None, 4, 0).unwrap();
        let two = space.take(Some(one.end()), 100, 0).unwrap();
        assert_eq!((one.pages, two.pages, one.end()), (4, 6, two.at));
        assert_eq!(space.take(None, 1, 0), None);
        space.give(one);
        assert_eq!(space.take(None, 9, 0), Some(one));
        assert_eq!(space.free().pages(), 0);
    }
}
