//! Which frames of a range are free: a binary buddy allocator over frame numbers, without any
//! memory behind it.
//!
//! ```text
//!   order 2   [        0        ]        a block of order n starts at a multiple of 2^n frames;
//!   order 1   [   0   ][   2   ]         its buddy is its number with bit n flipped;
//!   order 0   [ 0][ 1][ 2][ 3 ]          two free buddies melt into one of the next order
//! ```
//! Taking and giving cost at most one step per order and allocate nothing. A worker that takes and
//! gives one size over and over would split and merge the same blocks each time. So the last few
//! blocks of each order that come back rest unmerged, and are reused first while their memory is
//! warm in the cache.

/// Orders 0–14: one frame of 4 KiB up to 64 MiB.
pub(crate) const ORDERS: usize = 15;

/// Limit on the resting blocks of one order.
const RESTING: usize = 64;

const NONE: u32 = u32::MAX;

/// Free blocks within `first..end`.
pub(crate) struct Buddy {
    first: u32,
    end: u32,
    /// First free block of each order.
    heads: [u32; ORDERS],
    /// Bit n: there is a free block of order n.
    nonempty: u32,
    /// Indexed by frame − `first`.
    links: Vec<Link>,
    /// Unmerged blocks of each order that were given back, the latest at the end.
    resting: [Vec<u32>; ORDERS],
}

/// A frame's links in the list of free blocks, if a free block starts there.
#[derive(Clone, Copy)]
struct Link {
    next: u32,
    before: u32,
    /// The order of the free block that starts here.
    free: Option<u8>,
}

impl Buddy {
    /// All of `first..end` free.
    pub(crate) fn new(first: u32, end: u32) -> Buddy {
        let link = Link { next: NONE, before: NONE, free: None };
        let mut buddy = Buddy {
            first,
            end,
            heads: [NONE; ORDERS],
            nonempty: 0,
            links: vec![link; (end - first) as usize],
            resting: std::array::from_fn(|_| Vec::with_capacity(RESTING)),
        };
        let mut at = first;
        while at < end {
            let aligned = at.trailing_zeros().min(ORDERS as u32 - 1);
            let fits = (end - at).ilog2();
            let order = aligned.min(fits);
            buddy.insert(at, order as u8);
            at += 1 << order;
        }
        buddy
    }

    /// Takes 2^`order` frames; `None` if no free block is large enough.
    pub(crate) fn take(&mut self, order: u8) -> Option<u32> {
        if let Some(at) = self.resting[usize::from(order)].pop() {
            return Some(at);
        }
        self.split(order).or_else(|| {
            self.melt_all();
            self.split(order)
        })
    }

    /// Gives back a block that `take` returned for this order.
    pub(crate) fn give(&mut self, at: u32, order: u8) {
        let resting = &mut self.resting[usize::from(order)];
        if resting.len() < RESTING {
            resting.push(at);
        } else {
            self.melt(at, order);
        }
    }

    /// Takes a free block, splitting a larger one if necessary.
    fn split(&mut self, order: u8) -> Option<u32> {
        let large_enough = self.nonempty >> order << order;
        if large_enough == 0 {
            return None;
        }
        let mut have = large_enough.trailing_zeros() as u8;
        let at = self.heads[usize::from(have)];
        self.remove(at, have);
        while have > order {
            have -= 1;
            self.insert(at + (1 << have), have);
        }
        Some(at)
    }

    fn melt_all(&mut self) {
        for order in 0..ORDERS as u8 {
            while let Some(at) = self.resting[usize::from(order)].pop() {
                self.melt(at, order);
            }
        }
    }

    /// Makes a block free, and merges it with its buddy as long as that is free too.
    fn melt(&mut self, mut at: u32, mut order: u8) {
        while usize::from(order) + 1 < ORDERS {
            let other = at ^ (1 << order);
            let inside = other >= self.first && other + (1 << order) <= self.end;
            if !inside || self.link(other).free != Some(order) {
                break;
            }
            self.remove(other, order);
            at &= !(1 << order);
            order += 1;
        }
        self.insert(at, order);
    }

    fn insert(&mut self, at: u32, order: u8) {
        let next = self.heads[usize::from(order)];
        *self.link(at) = Link { next, before: NONE, free: Some(order) };
        if next != NONE {
            self.link(next).before = at;
        }
        self.heads[usize::from(order)] = at;
        self.nonempty |= 1 << order;
    }

    fn remove(&mut self, at: u32, order: u8) {
        let Link { next, before, .. } = *self.link(at);
        self.link(at).free = None;
        if next != NONE {
            self.link(next).before = before;
        }
        if before != NONE {
            self.link(before).next = next;
        } else {
            self.heads[usize::from(order)] = next;
            if next == NONE {
                self.nonempty &= !(1 << order);
            }
        }
    }

    fn link(&mut self, at: u32) -> &mut Link {
        &mut self.links[(at - self.first) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How much a range can give in blocks of one order shows how well it has coalesced.
    fn capacity(buddy: &mut Buddy, order: u8) -> usize {
        let taken: Vec<u32> = std::iter::from_fn(|| buddy.take(order)).collect();
        taken.iter().for_each(|&at| buddy.give(at, order));
        taken.len()
    }

    #[test]
    fn an_uneven_range_gives_every_frame() {
        // 5..1805 holds 1800 frames; single frames waste none of them.
        let mut buddy = Buddy::new(5, 1805);
        assert_eq!(capacity(&mut buddy, 0), 1800);
        // Aligned blocks of 1024 frames: only 1024..2048 starts inside, and it ends outside.
        assert_eq!(capacity(&mut buddy, 10), 0);
        // Aligned blocks of 512 within 5..1805: 512, 1024; 1536..2048 ends outside.
        assert_eq!(capacity(&mut buddy, 9), 2);
    }

    proptest! {
        /// Whatever is taken and given, in any order: blocks lie inside the range, are aligned and
        /// never overlap, and when everything was given back, the range is as contiguous as at
        /// first.
        #[test]
        fn blocks_never_overlap_and_coalesce(
            first in 0u32..40,
            frames in 1u32..600,
            steps in proptest::collection::vec((any::<bool>(), 0u8..8, any::<prop::sample::Index>()), 1..300),
        ) {
            let mut buddy = Buddy::new(first, first + frames);
            let fresh: Vec<usize> = (0..8).map(|order| capacity(&mut buddy, order)).collect();
            let mut used = vec![false; (first + frames) as usize];
            let mut out: Vec<(u32, u8)> = Vec::new();
            for (take, order, which) in steps {
                if take || out.is_empty() {
                    if let Some(at) = buddy.take(order) {
                        prop_assert!(at >= first && at + (1 << order) <= first + frames);
                        prop_assert_eq!(at % (1 << order), 0);
                        for frame in at..at + (1 << order) {
                            prop_assert!(!std::mem::replace(&mut used[frame as usize], true), "frame {} twice", frame);
                        }
                        out.push((at, order));
                    }
                } else {
                    let (at, order) = out.swap_remove(which.index(out.len()));
                    (at..at + (1 << order)).for_each(|frame| used[frame as usize] = false);
                    buddy.give(at, order);
                }
            }
            out.drain(..).for_each(|(at, order)| buddy.give(at, order));
            let again: Vec<usize> = (0..8).map(|order| capacity(&mut buddy, order)).collect();
            prop_assert_eq!(fresh, again);
        }
    }
}
