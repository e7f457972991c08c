//! Seeded random numbers: the same seed and stream give the same draws on every machine.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// The stream with that number, of all streams of a seed.
    pub fn new(seed: u64, stream: u64) -> Chance {
        // The odd factor is 2^64 divided by the golden ratio: neighbours differ in about half of
        // their bits.
        Chance(Xoshiro256PlusPlus::seed_from_u64(seed ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17)))
    }

    /// A uniform whole number in this range, both ends included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        debug_assert!(low <= high, "{low} to {high}");
        let width = high.abs_diff(low) as u128 + 1;
        // The high half of the product: its bias is below width / 2^64.
        low + ((u128::from(self.0.next_u64()) * width) >> 64) as i64
    }

    /// A number from 0 to below 1.
    pub fn part(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, percent: i64) -> bool {
        self.between(1, 100) <= percent
    }

    /// A whole number in this range, most often near its middle: the mean of six draws, whose
    /// standard deviation is an eighth of the range.
    pub fn bell(&mut self, low: i64, high: i64) -> i64 {
        let sum: i64 = (0..6).map(|_| self.between(0, high - low)).sum();
        low + sum / 6
    }

    /// One of these, with equal probability.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.between(0, of.len() as i64 - 1) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_keep_to_their_range_and_to_their_seed() {
        let draws = |seed, stream| {
            let mut chance = Chance::new(seed, stream);
            (0..1000).map(|_| chance.between(3, 7)).collect::<Vec<_>>()
        };
        assert_eq!(draws(1, 2), draws(1, 2));
        assert_ne!(draws(1, 2), draws(1, 3));
        assert_ne!(draws(1, 2), draws(2, 2));
        // Each of five has 200 of 1000 on average, with a standard deviation of 12.6: a deviation
        // of six of them does not happen by chance.
        for number in 3..=7 {
            let count = draws(1, 2).iter().filter(|draw| **draw == number).count();
            assert!((125..=275).contains(&count), "{number}: {count}");
        }
        let mut chance = Chance::new(5, 0);
        let mean = (0..1000).map(|_| chance.bell(0, 1000)).sum::<i64>() / 1000;
        assert!((470..=530).contains(&mean), "{mean}");
    }
}
