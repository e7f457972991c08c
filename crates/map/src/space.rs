//! The blocks of the data: how many leaves refer to each, and which is allocated next.
//!
//! A block's count decreases only when the record that removed a reference is durable (see
//! [`crate::commit`]) and all reads that started before have ended (see [`crate::limbo`]). So
//! neither a crash nor a slow read ever sees another tree's bytes.
//!
//! ```text
//!   free ──► taken ──► free and stale: the disk still keeps its bytes ──► lent to a discard ──► free
//!               ▲           └ taken again before that ─┐
//!               └──────────────────────────────────────┘
//! ```

use std::ops::Range;

/// Reference counts and free blocks.
pub struct Space {
    /// How many leaves refer to each block, up to the highest ever allocated.
    refs: Vec<u32>,
    /// One bit per block: referred to.
    taken: Vec<u64>,
    capacity: u64,
    used: u64,
    /// Where the search for free blocks continues.
    cursor: u64,
    /// One bit per block: free, but the disk still keeps its bytes.
    stale: Vec<u64>,
    stale_count: u64,
    /// Free blocks that are being discarded; they must not be allocated meanwhile.
    lent: Range<u64>,
}

impl Space {
    /// A space of `capacity` free blocks.
    pub fn new(capacity: u64) -> Space {
        let (refs, taken, stale) = (Vec::new(), Vec::new(), Vec::new());
        Space { refs, taken, capacity, used: 0, cursor: 0, stale, stale_count: 0, lent: 0..0 }
    }

    /// Its capacity in blocks.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Changes the capacity. Blocks beyond it that are in use remain so until they are released.
    pub fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    /// Blocks that are referred to.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// How many leaves refer to a block.
    pub fn refs(&self, place: u64) -> u32 {
        self.refs.get(place as usize).copied().unwrap_or(0)
    }

    /// The end of the blocks that were ever allocated.
    pub fn high(&self) -> u64 {
        self.refs.len() as u64
    }

    /// Allocates a block, `goal` if that is free. `None` if all are in use.
    pub fn take(&mut self, goal: Option<u64>) -> Option<u64> {
        if self.used >= self.capacity {
            return None;
        }
        let place = match goal {
            Some(goal) if goal < self.capacity && !self.is_taken(goal) && !self.lent.contains(&goal) => goal,
            _ => self.next_free()?,
        };
        self.mark(place);
        self.refs[place as usize] = 1;
        self.cursor = place + 1;
        Some(place)
    }

    /// Adds a reference to a block.
    pub fn retain(&mut self, place: u64) {
        self.mark(place);
        self.refs[place as usize] += 1;
    }

    /// Removes a reference to a block. The removal must be durable, and all reads by it must have
    /// ended.
    pub fn release(&mut self, place: u64) {
        let refs = &mut self.refs[place as usize];
        *refs = refs.checked_sub(1).expect("a block is dropped as often as it was pointed at");
        if *refs == 0 {
            self.unmark(place);
            self.set_stale(place, true);
        }
    }

    /// Frees a block that no leaf has referred to yet.
    pub fn give_back(&mut self, place: u64) {
        debug_assert_eq!(self.refs[place as usize], 1);
        self.release(place);
    }

    /// Free blocks for which the disk still keeps bytes.
    pub fn stale(&self) -> u64 {
        self.stale_count
    }

    /// Marks all free blocks before `end` as stale, since their former contents are unknown.
    pub fn suspect(&mut self, end: u64) {
        let end = end.min(self.capacity);
        self.stale.resize(self.stale.len().max(end.div_ceil(64) as usize), 0);
        for (at, word) in self.stale.iter_mut().enumerate().take(end.div_ceil(64) as usize) {
            let within = u64::MAX >> (64 - (end - at as u64 * 64).min(64));
            *word |= !self.taken.get(at).copied().unwrap_or(0) & within;
        }
        self.stale_count = self.stale.iter().map(|word| u64::from(word.count_ones())).sum();
    }

    /// Lends the next run of stale blocks from `from` on: at most `most`, none beyond the next
    /// multiple of `segment`, and never more than half of the free blocks, so that others remain.
    pub fn lend(&mut self, from: u64, most: u64, segment: u64) -> Option<Range<u64>> {
        debug_assert!(self.lent.is_empty(), "one at a time");
        let most = most.min(self.capacity.saturating_sub(self.used) / 2);
        let first = self.next_stale(from).filter(|_| most > 0)?;
        let end = (first + most).min((first / segment + 1).saturating_mul(segment));
        let last = (first..end).find(|place| !self.is_stale(*place)).unwrap_or(end);
        (first..last).for_each(|place| self.set_stale(place, false));
        self.lent = first..last;
        Some(first..last)
    }

    /// A discard has ended: the lent blocks may be allocated again.
    pub fn return_lent(&mut self) {
        self.lent = 0..0;
    }

    /// Whether blocks are being discarded.
    pub fn has_lent(&self) -> bool {
        !self.lent.is_empty()
    }

    fn is_stale(&self, place: u64) -> bool {
        self.stale.get((place / 64) as usize).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn set_stale(&mut self, place: u64, stale: bool) {
        if self.is_stale(place) == stale {
            return;
        }
        let at = (place / 64) as usize;
        if self.stale.len() <= at {
            self.stale.resize(at + 1, 0);
        }
        self.stale[at] ^= 1 << (place % 64);
        self.stale_count = if stale { self.stale_count + 1 } else { self.stale_count - 1 };
    }

    fn next_stale(&self, from: u64) -> Option<u64> {
        let first = (from / 64) as usize;
        let words = self.stale.iter().enumerate().skip(first);
        let seen =
            words.map(|(at, word)| (at as u64, if at == first { word >> (from % 64) << (from % 64) } else { *word }));
        let (at, word) = seen.into_iter().find(|(_, word)| *word != 0)?;
        Some(at * 64 + u64::from(word.trailing_zeros()))
    }

    fn is_taken(&self, place: u64) -> bool {
        self.taken.get((place / 64) as usize).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn mark(&mut self, place: u64) {
        if self.refs.len() as u64 <= place {
            self.refs.resize(place as usize + 1, 0);
            self.taken.resize(place as usize / 64 + 1, 0);
        }
        let word = &mut self.taken[(place / 64) as usize];
        let bit = 1 << (place % 64);
        self.used += u64::from(*word & bit == 0);
        *word |= bit;
        self.set_stale(place, false);
    }

    fn unmark(&mut self, place: u64) {
        self.taken[(place / 64) as usize] &= !(1 << (place % 64));
        self.used -= 1;
    }

    /// The next free block from the cursor on, wrapping around.
    fn next_free(&self) -> Option<u64> {
        self.free_within(self.cursor, self.capacity).or_else(|| self.free_within(0, self.cursor.min(self.capacity)))
    }

    fn free_within(&self, from: u64, to: u64) -> Option<u64> {
        let mut place = from;
        while place < to {
            let word = self.taken.get((place / 64) as usize).copied().unwrap_or(0);
            let free = !word >> (place % 64);
            let found = place + u64::from(free.trailing_zeros());
            place = match free {
                0 => (place / 64 + 1) * 64,
                _ if self.lent.contains(&found) => self.lent.end,
                _ => return (found < to).then_some(found),
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_given_out_once_in_order_and_to_the_last() {
        let mut space = Space::new(130);
        assert_eq!(space.take(Some(64)), Some(64));
        let taken: Vec<u64> = std::iter::from_fn(|| space.take(None)).collect();
        assert_eq!(taken, (65..130).chain(0..64).collect::<Vec<_>>());
        assert_eq!((space.used(), space.take(Some(3))), (130, None));
    }

    #[test]
    fn a_block_comes_back_when_nobody_points_at_it() {
        let mut space = Space::new(1);
        let place = space.take(None).unwrap();
        space.retain(place);
        space.release(place);
        assert_eq!((space.used(), space.refs(place), space.take(None)), (1, 1, None));
        space.release(place);
        assert_eq!((space.used(), space.take(None)), (0, Some(place)));
    }
    #[test]
    fn free_blocks_are_lent_once_in_runs_and_nobody_takes_them_meanwhile() {
        let mut space = Space::new(200);
        (0..100).for_each(|place| assert_eq!(space.take(Some(place)), Some(place)));
        (60..80).chain([90]).for_each(|place| space.release(place));
        assert_eq!(space.take(Some(65)), Some(65), "free is free, whatever the disk keeps");
        assert_eq!(space.stale(), 20);
        // A run ends at an allocated block, at a multiple of 64 here, and at the maximum.
        assert_eq!(space.lend(0, 100, 64), Some(60..64));
        assert!(space.has_lent() && space.take(Some(62)) == Some(66), "not one that is lent");
        space.return_lent();
        assert_eq!((space.lend(64, 100, 64), space.stale()), (Some(64..65), 14));
        space.return_lent();
        assert_eq!(space.lend(65, 4, 64), Some(67..71));
        space.return_lent();
        assert_eq!(space.lend(80, 100, 64), Some(90..91));
        space.return_lent();
        assert_eq!((space.lend(91, 100, 64), space.stale()), (None, 9), "71 to 79 are left");
        // Of a pool that is almost full, at most half of the rest.
        let free: Vec<u64> =
            std::iter::from_fn(|| (space.used() < 194).then(|| space.take(Some(100)).unwrap())).collect();
        assert_eq!((free.len(), space.used()), (194 - 81, 194));
    }

    #[test]
    fn what_is_free_when_a_pool_is_opened_may_have_bytes() {
        let mut space = Space::new(100);
        [3, 64].into_iter().for_each(|place| space.retain(place));
        space.suspect(66);
        assert_eq!((space.stale(), space.lend(0, 50, u64::MAX)), (64, Some(0..3)));
    }
}
