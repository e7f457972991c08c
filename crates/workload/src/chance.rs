//! Random numbers in integer arithmetic: unbiased choices and exponential times, the same on every
//! machine.
//!
//! Logarithms differ in their last bit between mathematics libraries, so exponential times are
//! drawn without them.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A seeded random source.
#[derive(Clone, Debug)]
pub(crate) struct Chance(Xoshiro256PlusPlus);

/// Fraction bits of [`Chance::exponential`]: the largest value is below 2^6, so 6 + 58 bits fill a
/// `u64`.
pub(crate) const EXPONENTIAL_BITS: u32 = 58;

/// `Q[k-1] = Σ (ln 2)^i / i!` for i = 1..=k, times 2^64: the table of [`Chance::exponential`]. At k
/// = 15 the sum is so near to 1 (2^64) that a longer table would be used once in 10^16 draws.
const Q: [u64; 15] = [
    0xb172_17f7_d1cf_79ac,
    0xeef1_93f6_d75a_96fd,
    0xfd27_1862_59aa_f6c2,
    0xff9d_6dd0_50f4_c5a7,
    0xfff4_cfcf_ef1e_626c,
    0xfffe_e818_86e1_c62f,
    0xffff_e7fe_850e_0bb6,
    0xffff_fe2a_8731_b17e,
    0xffff_ffdf_ac6e_eadc,
    0xffff_fffd_f964_0068,
    0xffff_ffff_e22e_c79d,
    0xffff_ffff_fe6a_9dee,
    0xffff_ffff_ffeb_ff81,
    0xffff_ffff_ffff_1417,
    0xffff_ffff_ffff_f5cf,
];

impl Chance {
    /// The source of lane `lane`: jumps of 2^128 draws keep lanes apart.
    pub(crate) fn of_lane(seed: u64, lane: u32) -> Chance {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..lane {
            generator.jump();
        }
        Chance(generator)
    }

    /// A second source for the same lane, 2^192 draws away from the first.
    pub(crate) fn apart(&self) -> Chance {
        let mut generator = self.0.clone();
        generator.long_jump();
        Chance(generator)
    }

    /// A number below `n`, each as likely as any other. `n` must not be zero.
    ///
    /// Lemire, "Fast random integer generation in an interval" (2019): the high half of `draw × n`;
    /// the draws that would make some results more likely are drawn again. The division is reached
    /// with a chance of n / 2^64 only.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.0.next_u64()) * u128::from(n);
        if (product as u64) < n {
            let surplus = n.wrapping_neg() % n;
            while (product as u64) < surplus {
                product = u128::from(self.0.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// A number from 0 up to but not 1, in steps of 2^-53.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An exponential time of mean 1, times 2^[`EXPONENTIAL_BITS`].
    ///
    /// Algorithm S of Ahrens and Dieter (Knuth, The Art of Computer Programming, volume 2, 3.4.1):
    /// the leading ones of a draw count whole multiples of ln 2, the bits behind them usually are
    /// the rest, and a short table corrects it.
    #[inline]
    pub(crate) fn exponential(&mut self) -> u64 {
        let draw = self.0.next_u64();
        let whole = draw.leading_ones().min(62);
        let rest = draw << (whole + 1);
        let ln2 = u128::from(Q[0]);
        let multiples = u128::from(whole) * ln2;
        let value = if rest < Q[0] { multiples + u128::from(rest) } else { multiples + self.correction(rest) };
        (value >> (64 - EXPONENTIAL_BITS)) as u64
    }

    /// `ln 2` times the least of k draws, where k is the first with `rest < Q[k]`; times 2^64.
    fn correction(&mut self, rest: u64) -> u128 {
        let draws = 2 + Q[1..].iter().take_while(|&&q| rest >= q).count();
        let least = (0..draws).map(|_| self.0.next_u64()).min().unwrap_or(0);
        (u128::from(least) * u128::from(Q[0])) >> 64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of 64 equally likely outcomes over 640 000 draws: 63 degrees of freedom, mean 63,
    /// standard deviation √126 = 11.2. Five deviations are 119; below 63 − 5 × 11.2 = 7 it would be
    /// too even to be chance.
    fn assert_even(counts: &[u64; 64]) {
        let expected = counts.iter().sum::<u64>() as f64 / 64.0;
        let chi2: f64 = counts.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
        assert!((7.0..119.0).contains(&chi2), "chi-square {chi2}");
    }

    #[test]
    fn a_choice_is_even_even_where_it_does_not_divide_the_draws() {
        // 3 × 2^62 outcomes from 2^64 draws: without the redraw every third result comes twice as
        // often as the others, which the remainder by 3 shows.
        let (mut chance, mut counts) = (Chance::of_lane(1, 0), [0; 64]);
        let n = 3 << 62;
        for _ in 0..640_000 {
            counts[(chance.below(n) / (n / 64)) as usize] += 1;
        }
        assert_even(&counts);
        let (mut chance, mut modulo) = (Chance::of_lane(2, 0), [0u64; 3]);
        for _ in 0..300_000 {
            modulo[(chance.below(n) % 3) as usize] += 1;
        }
        // Each of three expects 100 000 with a deviation of √(300 000 × 1/3 × 2/3) = 258.
        assert!(modulo.iter().all(|n| n.abs_diff(100_000) < 5 * 258), "{modulo:?}");
    }

    #[test]
    fn exponential_times_fill_equally_likely_bins_evenly() {
        // The bins' edges are the quantiles −ln(1 − k/64).
        let (mut chance, mut counts) = (Chance::of_lane(3, 0), [0; 64]);
        for _ in 0..640_000 {
            let x = chance.exponential() as f64 / (1u64 << EXPONENTIAL_BITS) as f64;
            counts[((1.0 - (-x).exp()) * 64.0) as usize] += 1;
        }
        assert_even(&counts);
    }

    #[test]
    fn exponential_times_have_mean_one_and_variance_one() {
        // 4 million: the mean deviates by 1/√n = 0.0005, the variance by √(8/n) = 0.0014 (the
        // fourth central moment is 9).
        let mut chance = Chance::of_lane(4, 0);
        let (mut sum, mut squares, n) = (0.0, 0.0, 4_000_000);
        for _ in 0..n {
            let x = chance.exponential() as f64 / (1u64 << EXPONENTIAL_BITS) as f64;
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        let variance = squares / f64::from(n) - mean * mean;
        assert!((mean - 1.0).abs() < 0.0025, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.0075, "variance {variance}");
    }
}
