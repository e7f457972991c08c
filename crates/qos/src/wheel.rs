//! Timers: which numbers are due, and when, to a grain of time.
//!
//! ```text
//!   ring of 4096 grains from now on          a bit for each that is not empty
//!   ┌────┬────┬────┬────┬─ … ─┬────┐
//!   │ 7  │    │ 2 9│    │     │    │  ──►   due: what lies in grains that are over
//!   └────┴────┴────┴────┴─ … ─┴────┘
//!   a heap for what lies beyond
//! ```
//!
//! A timer goes off at the end of its grain: late by less than a grain, never early. Limits allow
//! for that with a tolerance. In return, the timers of one grain cost one wake-up, and adding or
//! taking one costs the same however many there are.

use block::{Span, Time};

use crate::heap::{Entry, Heap};

const SLOTS: u64 = 4096;
const WORDS: usize = (SLOTS / 64) as usize;

/// Timers by number. They cannot be cancelled: whoever set one knows whether it is still valid.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// Nanoseconds.
    grain: u64,
    /// The first grain that is not over yet; slots before it are empty.
    cursor: u64,
    slots: Vec<Vec<(u64, u32)>>,
    filled: [u64; WORDS],
    /// A bit for each word of `filled` that is not zero: most wheels are empty, and one look shows
    /// it.
    words: u64,
    beyond: Heap,
    /// Timers taken from their slot, and how many of them were given out.
    due: Vec<(u64, u32)>,
    given: usize,
}

impl Wheel {
    /// Without timers. A grain of zero counts as a nanosecond.
    pub fn new(grain: Span) -> Wheel {
        Wheel {
            grain: grain.as_nanos().max(1),
            cursor: 0,
            slots: (0..SLOTS).map(|_| Vec::new()).collect(),
            filled: [0; WORDS],
            words: 0,
            beyond: Heap::default(),
            due: Vec::new(),
            given: 0,
        }
    }

    /// Sets a timer: this number is due at the end of the grain of that time.
    pub fn set(&mut self, at: Time, number: u32) {
        let at = at.as_nanos();
        let grain = (at / self.grain).max(self.cursor);
        if grain - self.cursor >= SLOTS {
            return self.beyond.push(Entry { key: at, id: number, seq: 0 });
        }
        let slot = grain % SLOTS;
        self.slots[slot as usize].push((at, number));
        self.filled[(slot / 64) as usize] |= 1 << (slot % 64);
        self.words |= 1 << (slot / 64);
    }

    /// A timer that is due, with the time for which it was set.
    pub fn pop(&mut self, now: Time) -> Option<(Time, u32)> {
        loop {
            if let Some(&(at, number)) = self.due.get(self.given) {
                self.given += 1;
                return Some((Time::from_nanos(at), number));
            }
            self.due.clear();
            self.given = 0;
            // Only whole grains are over.
            let over = now.as_nanos() / self.grain;
            if let Some(entry) = self.beyond.peek().filter(|e| e.key / self.grain < over) {
                self.beyond.pop();
                return Some((Time::from_nanos(entry.key), entry.id));
            }
            let slot = self.next_filled().filter(|&grain| grain < over);
            let Some(grain) = slot else {
                self.cursor = self.cursor.max(over);
                return None;
            };
            self.cursor = grain;
            let slot = grain % SLOTS;
            std::mem::swap(&mut self.due, &mut self.slots[slot as usize]);
            let word = &mut self.filled[(slot / 64) as usize];
            *word &= !(1 << (slot % 64));
            if *word == 0 {
                self.words &= !(1 << (slot / 64));
            }
        }
    }

    /// When the next timer is due, if any is set.
    pub fn next(&self) -> Option<Time> {
        if self.given < self.due.len() {
            return Some(Time::ZERO);
        }
        let end = |grain: u64| Time::from_nanos((grain + 1).saturating_mul(self.grain));
        let near = self.next_filled().map(end);
        let far = self.beyond.peek().map(|e| end(e.key / self.grain));
        near.into_iter().chain(far).min()
    }

    /// The first grain from the cursor on that is not empty; looks at two words at most.
    fn next_filled(&self) -> Option<u64> {
        let start = self.cursor % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let here = self.filled[word as usize];
        let ahead = here & (u64::MAX << bit);
        let (at, bits) = if ahead != 0 {
            (word, ahead)
        } else {
            // The words behind this one, around the ring; last this one again, with what lies
            // before the cursor.
            let others = self.words.rotate_right(word as u32).rotate_right(1);
            let at = (word + 1 + u64::from(others.trailing_zeros())) % WORDS as u64;
            (at, if others == 0 { 0 } else { self.filled[at as usize] })
        };
        let slot = at * 64 + u64::from(bits.trailing_zeros());
        (bits != 0).then(|| self.cursor + (slot + SLOTS - start) % SLOTS)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn us(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    #[test]
    fn a_timer_goes_off_at_the_end_of_its_grain_and_once() {
        let mut wheel = Wheel::new(Span::from_micros(100));
        wheel.set(us(250), 7);
        assert_eq!(wheel.next(), Some(us(300)));
        assert_eq!(wheel.pop(us(299)), None);
        assert_eq!(wheel.pop(us(300)), Some((us(250), 7)));
        assert_eq!((wheel.pop(us(900)), wheel.next()), (None, None));
    }

    proptest! {
        /// Every timer, near or far, goes off when it is due and not before, over any jumps of the
        /// clock.
        #[test]
        fn all_go_off_when_due(
            timers in prop::collection::vec((0u64..3_000_000, 0u64..2_000_000), 1..100),
            jumps in prop::collection::vec(1u64..700_000, 1..40),
        ) {
            let mut wheel = Wheel::new(Span::from_micros(100));
            let (mut now, mut waiting, mut timers) = (0, Vec::new(), timers.into_iter());
            for jump in jumps {
                for (number, (after, _)) in timers.by_ref().take(5).enumerate() {
                    let number = number as u32;
                    wheel.set(us(now + after), number);
                    waiting.push((us(now + after), number));
                }
                now += jump;
                let mut out: Vec<_> = std::iter::from_fn(|| wheel.pop(us(now))).collect();
                let is_due = |at: Time| (at.as_nanos() / 100_000 + 1) * 100_000 <= now * 1000;
                let mut expected: Vec<_> = waiting.iter().copied().filter(|t| is_due(t.0)).collect();
                waiting.retain(|t| !is_due(t.0));
                out.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(out, expected);
                let next = waiting.iter().map(|t| (t.0.as_nanos() / 100_000 + 1) * 100_000).min();
                prop_assert_eq!(wheel.next().map(Time::as_nanos), next);
            }
        }
    }
}
