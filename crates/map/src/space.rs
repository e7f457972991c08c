//! The blocks of the data: who is taken, by how many leaves, and which is next.
//!
//! A block's count falls only when the record that took a pointer away is durable (see [`crate::commit`]) and all reads
//! that began before have ended (see [`crate::limbo`]). So neither a crash nor a slow read finds another tree's bytes.

/// Counts and free blocks.
pub struct Space {
    /// Leaves that point at each block, up to the highest ever taken.
    refs: Vec<u32>,
    /// A bit a block: pointed at.
    taken: Vec<u64>,
    capacity: u64,
    used: u64,
    /// Where to look for the next run of free blocks.
    cursor: u64,
}

impl Space {
    /// All of `capacity` blocks free.
    pub fn new(capacity: u64) -> Space {
        Space { refs: Vec::new(), taken: Vec::new(), capacity, used: 0, cursor: 0 }
    }

    /// Blocks that may be taken in all.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// More blocks, or fewer: those beyond that are taken stay so until they are dropped.
    pub fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    /// Blocks that something points at.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Leaves that point at a block.
    pub fn refs(&self, place: u64) -> u32 {
        self.refs.get(place as usize).copied().unwrap_or(0)
    }

    /// One more than the highest block that ever was taken.
    pub fn high(&self) -> u64 {
        self.refs.len() as u64
    }

    /// Takes a free block, `goal` if it is free. `None` when all are taken.
    pub fn take(&mut self, goal: Option<u64>) -> Option<u64> {
        if self.used >= self.capacity {
            return None;
        }
        let place = match goal {
            Some(goal) if goal < self.capacity && !self.is_taken(goal) => goal,
            _ => self.next_free()?,
        };
        self.mark(place);
        self.refs[place as usize] = 1;
        self.cursor = place + 1;
        Some(place)
    }

    /// One more leaf points at a block.
    pub fn retain(&mut self, place: u64) {
        self.mark(place);
        self.refs[place as usize] += 1;
    }

    /// One leaf less points at a block: durably so, and nobody reads it by that leaf.
    pub fn release(&mut self, place: u64) {
        let refs = &mut self.refs[place as usize];
        *refs = refs.checked_sub(1).expect("a block is dropped as often as it was pointed at");
        if *refs == 0 {
            self.unmark(place);
        }
    }

    /// Gives a block back that no leaf ever pointed at.
    pub fn give_back(&mut self, place: u64) {
        debug_assert_eq!(self.refs[place as usize], 1);
        self.release(place);
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
    }

    fn unmark(&mut self, place: u64) {
        self.taken[(place / 64) as usize] &= !(1 << (place % 64));
        self.used -= 1;
    }

    /// The next free block from the cursor on, round to it again.
    fn next_free(&self) -> Option<u64> {
        self.free_within(self.cursor, self.capacity).or_else(|| self.free_within(0, self.cursor.min(self.capacity)))
    }

    fn free_within(&self, from: u64, to: u64) -> Option<u64> {
        let mut place = from;
        while place < to {
            let word = self.taken.get((place / 64) as usize).copied().unwrap_or(0);
            let free = !word >> (place % 64);
            if free != 0 {
                let found = place + u64::from(free.trailing_zeros());
                return (found < to).then_some(found);
            }
            place = (place / 64 + 1) * 64;
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
}
