//! Finds parts of the slab's memory that are no longer used, so that they can go back to the
//! system: a burst of large requests must not keep its memory forever.
//!
//! The slab is watched in parts of one huge page. A part is *used* while a slot in it is out,
//! *warm* for some looks after the last slot came back, and *cold* when its memory was returned or
//! never taken. What a worker takes again and again stays warm.

use crate::region::ALIGN;
use std::ops::Range;

/// The parts of a range of the slab.
pub(crate) struct Idle {
    /// Byte at which the first whole part begins.
    from: usize,
    parts: Vec<Part>,
    /// Number of warm parts.
    warm: usize,
    /// The next part to consider for returning.
    at: usize,
}

#[derive(Clone, Copy, Default)]
struct Part {
    /// Slots of it that are out.
    out: u16,
    /// Looks since the last slot came back.
    looks: u8,
    touched: bool,
}

impl Idle {
    /// All parts cold.
    pub(crate) fn new(bytes: Range<usize>) -> Idle {
        let from = bytes.start.next_multiple_of(ALIGN);
        let count = bytes.end.saturating_sub(from) / ALIGN;
        Idle { from, parts: vec![Part::default(); count], warm: 0, at: 0 }
    }

    /// A slot was taken.
    pub(crate) fn take(&mut self, at: usize, len: usize) {
        let parts = self.of(at, len);
        for part in &mut self.parts[parts] {
            self.warm -= usize::from(part.touched && part.out == 0);
            part.touched = true;
            part.out += 1;
        }
    }

    /// A slot was given back.
    pub(crate) fn give(&mut self, at: usize, len: usize) {
        let parts = self.of(at, len);
        for part in &mut self.parts[parts] {
            part.out -= 1;
            part.looks = 0;
            self.warm += usize::from(part.out == 0);
        }
    }

    /// Counts a look, and starts again at the first part.
    pub(crate) fn look(&mut self) {
        self.at = 0;
        self.parts.iter_mut().for_each(|part| part.looks = part.looks.saturating_add(1));
    }

    /// The bytes of the next part that was unused for more than `unused` looks. It is cold from now
    /// on.
    pub(crate) fn next(&mut self, unused: u8) -> Option<Range<usize>> {
        let is_idle = |part: &Part| part.touched && part.out == 0 && part.looks > unused;
        let Some(place) = self.parts[self.at..].iter().position(is_idle) else {
            self.at = self.parts.len();
            return None;
        };
        let place = self.at + place;
        self.at = place + 1;
        self.parts[place].touched = false;
        self.warm -= 1;
        let start = self.from + place * ALIGN;
        Some(start..start + ALIGN)
    }

    /// Whether a part is warm.
    pub(crate) fn holds_some(&self) -> bool {
        self.warm > 0
    }

    /// The parts that a slot lies in.
    fn of(&self, at: usize, len: usize) -> Range<usize> {
        let end = (at + len).saturating_sub(self.from).div_ceil(ALIGN).min(self.parts.len());
        let start = at.saturating_sub(self.from) / ALIGN;
        start.min(end)..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: u8 = 10;

    fn given(idle: &mut Idle) -> Vec<usize> {
        std::iter::from_fn(|| idle.next(LOOKS)).map(|part| part.start / ALIGN).collect()
    }

    #[test]
    fn what_nobody_used_for_ten_looks_is_given_back_once() {
        // Part 0 is registered up to its middle, and the last part is incomplete: 1, 2 and 3 are
        // left.
        let mut idle = Idle::new(ALIGN / 2..4 * ALIGN + 4096);
        idle.take(ALIGN, 2 * ALIGN);
        idle.take(2 * ALIGN, 4096);
        idle.take(0, 4096);
        idle.take(4 * ALIGN, 4096);
        idle.give(ALIGN, 2 * ALIGN);
        for _ in 0..LOOKS {
            idle.look();
            assert_eq!(given(&mut idle), []);
        }
        idle.look();
        assert_eq!(given(&mut idle), [1], "a slot of part 2 is out, and part 3 was never taken");
        assert!(!idle.holds_some(), "what is out is not idle");
        idle.give(2 * ALIGN, 4096);
        assert!(idle.holds_some());
        (0..LOOKS).for_each(|_| idle.look());
        assert_eq!(given(&mut idle), [], "the looks count from the last that came back");
        idle.look();
        assert_eq!(given(&mut idle), [2]);
        assert!(!idle.holds_some());
        (0..2 * LOOKS).for_each(|_| idle.look());
        assert_eq!(given(&mut idle), []);
    }

    #[test]
    fn what_is_taken_again_and_again_stays() {
        let mut idle = Idle::new(0..2 * ALIGN);
        for _ in 0..5 * LOOKS {
            idle.take(4096, 4096);
            idle.give(4096, 4096);
            idle.look();
            assert_eq!(given(&mut idle), []);
        }
    }
}
