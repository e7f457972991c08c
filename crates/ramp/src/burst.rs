//! A burst: blocks in random order, each at most once, without storing which ones have been
//! written.
//!
//! A database writes a dirty buffer once per cycle, however often it was changed. So a burst is
//! drawn without replacement: it is the beginning of a keyed permutation of all blocks. The
//! permutation is a Feistel network over the next power of four, applied repeatedly until the
//! result is below the number of blocks (on average at most four times). The same burst can be
//! iterated twice, first for the journal and then for the database.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const ROUNDS: usize = 6;

/// One burst.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    blocks: u64,
    len: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Burst {
    /// `len` of `blocks` blocks, for a seed.
    ///
    /// # Panics
    /// There are fewer blocks than the burst needs.
    pub fn new(blocks: u64, len: u64, seed: u64) -> Burst {
        assert!(len <= blocks, "a burst of {len} blocks does not fit into {blocks}");
        let bits = 64 - blocks.saturating_sub(1).leading_zeros();
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        Burst { blocks, len, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| chance.next_u64()) }
    }

    /// Number of blocks.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its block number `index`.
    ///
    /// # Panics
    /// There is no such block.
    #[inline]
    pub fn block(&self, index: u64) -> u64 {
        assert!(index < self.len, "block {index} of a burst of {}", self.len);
        let mut number = self.scramble(index);
        while number >= self.blocks {
            number = self.scramble(number);
        }
        number
    }

    /// A bijection of the numbers of `2 · half_bits` bits, for any hash, because each round can be
    /// reversed.
    #[inline]
    fn scramble(&self, number: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            let hash = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let hash = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (left, right) = (right, left ^ (hash >> (64 - self.half_bits)));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Bursts have no repeats and stay within the data.
        #[test]
        fn no_block_comes_twice(blocks in 1u64..50_000, part in 0u64..=100, seed: u64) {
            let burst = Burst::new(blocks, blocks * part / 100, seed);
            let mut seen = vec![false; blocks as usize];
            for index in 0..burst.len() {
                let block = burst.block(index);
                prop_assert!(block < blocks);
                prop_assert!(!std::mem::replace(&mut seen[block as usize], true), "{} twice", block);
            }
        }
    }

    #[test]
    fn blocks_lie_evenly_and_differ_by_seed() {
        // 64 equal parts of 10 000 draws: chi-square of 63 degrees, mean 63, deviation 11.2; five
        // of them either way.
        let blocks = (1 << 40) + 12_345;
        let (one, two) = (Burst::new(blocks, 10_000, 1), Burst::new(blocks, 10_000, 2));
        let mut parts = [0u64; 64];
        (0..10_000).for_each(|i| parts[(u128::from(one.block(i)) * 64 / u128::from(blocks)) as usize] += 1);
        let chi2: f64 = parts.iter().map(|&count| (count as f64 - 156.25).powi(2) / 156.25).sum();
        assert!((7.0..119.0).contains(&chi2), "chi-square {chi2}");
        assert!((0..10_000).filter(|&i| one.block(i) == two.block(i)).count() < 3);
        // Consecutive blocks are not neighbours on the disk: half of the steps rise, ±5 standard
        // deviations of √(n/12) = 29.
        let rises = (1..10_000).filter(|&i| one.block(i) > one.block(i - 1)).count();
        assert!(rises.abs_diff(5000) < 150, "{rises}");
    }
}
