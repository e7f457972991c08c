//! Every number below `n` once, in random order, without storing which have come already.
//!
//! A map of visited blocks would cost memory and a cache miss for each request. Instead the
//! position in the order is scrambled: small sets by a shuffled table, large ones by a Feistel
//! network over the next power of two, repeated until the result is below `n` (less than twice on
//! average).
//! ```text
//!   position 0, 1, 2, … ──► left │ right ──► 4 rounds: left ^= f(right), swap ──► < n ? use it : scramble it again
//! ```
//! A network of rounds is a bijection whatever `f` is, so every number comes exactly once.

use crate::chance::Chance;

/// Up to this many numbers are shuffled in a table, because networks of few bits are too regular.
/// 16 KiB.
const TABLE_MAX: u64 = 4096;
const ROUNDS: usize = 4;

/// One random order of the numbers below `n`.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    n: u64,
    position: u64,
    table: Vec<u32>,
    /// Bits of the right half; the left has as many or one more.
    right_bits: u32,
    left_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// An order of the numbers below `n`; `n` may be 0.
    pub(crate) fn new(n: u64, chance: &mut Chance) -> Permutation {
        let bits = (64 - n.saturating_sub(1).leading_zeros()).max(2);
        let mut order = Permutation {
            n,
            position: 0,
            table: if n <= TABLE_MAX { (0..n as u32).collect() } else { Vec::new() },
            right_bits: bits / 2,
            left_bits: bits - bits / 2,
            keys: [0; ROUNDS],
        };
        order.restart(chance);
        order
    }

    /// A new order of the same numbers.
    pub(crate) fn restart(&mut self, chance: &mut Chance) {
        self.position = 0;
        self.keys = std::array::from_fn(|_| chance.below(u64::MAX));
        // Fisher–Yates.
        for i in (1..self.table.len()).rev() {
            self.table.swap(i, chance.below(i as u64 + 1) as usize);
        }
    }

    /// Whether all numbers have come.
    pub(crate) fn is_over(&self) -> bool {
        self.position >= self.n
    }

    /// The next number; `None` when all have come.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u64> {
        if self.is_over() {
            return None;
        }
        let position = self.position;
        self.position += 1;
        if let Some(&number) = self.table.get(position as usize) {
            return Some(u64::from(number));
        }
        let mut number = self.scramble(position);
        while number >= self.n {
            number = self.scramble(number);
        }
        Some(number)
    }

    #[inline]
    fn scramble(&self, number: u64) -> u64 {
        let (mut a_bits, mut b_bits) = (self.left_bits, self.right_bits);
        let (mut a, mut b) = (number >> b_bits, number & ((1 << b_bits) - 1));
        for key in self.keys {
            // A multiplicative hash of one half; its high bits are the best mixed.
            let hash = ((b ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (key >> 7)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            a ^= hash >> (64 - a_bits);
            (a, b) = (b, a);
            (a_bits, b_bits) = (b_bits, a_bits);
        }
        // After an even number of rounds the halves are back in their places.
        a << b_bits | b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every number comes exactly once and then none; so it is in a second order.
        #[test]
        fn every_number_comes_once(n in 0u64..20_000, seed: u64) {
            let mut chance = Chance::of_lane(seed, 0);
            let mut order = Permutation::new(n, &mut chance);
            for _ in 0..2 {
                let mut seen = vec![false; n as usize];
                while let Some(number) = order.next() {
                    prop_assert!(!std::mem::replace(&mut seen[number as usize], true), "{} twice", number);
                }
                prop_assert!(seen.iter().all(|&seen| seen));
                order.restart(&mut chance);
            }
        }
    }

    #[test]
    fn large_orders_jump_about_and_stay_below() {
        let n = (1 << 40) + 12_345;
        let mut order = Permutation::new(n, &mut Chance::of_lane(3, 0));
        let numbers: Vec<u64> = (0..10_000).map(|_| order.next().unwrap()).collect();
        assert!(numbers.iter().all(|&number| number < n));
        // Random numbers rise half of the time: 5000 of 9999 with a deviation of √(n/12) = 29.
        let rises = numbers.windows(2).filter(|pair| pair[1] > pair[0]).count();
        assert!(rises.abs_diff(5000) < 150, "{rises}");
        // In 64 equal parts: chi-square of 63 degrees, mean 63, deviation 11.2; five of them either
        // way.
        let mut parts = [0u64; 64];
        numbers.iter().for_each(|&number| parts[(u128::from(number) * 64 / u128::from(n)) as usize] += 1);
        let chi2: f64 = parts.iter().map(|&count| (count as f64 - 156.25).powi(2) / 156.25).sum();
        assert!((7.0..119.0).contains(&chi2), "chi-square {chi2}");
    }
}
