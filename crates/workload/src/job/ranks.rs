//! Random numbers that are not uniform: Zipf, Pareto, normal.
//!
//! Their distributions equal those of fio's generators. Zipf is drawn by rejection inversion (W.
//! Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", 1996), in constant time and without a table for any number of ranks. Logarithms
//! may differ in their last bit between machines, so these sequences repeat only on the same
//! machine.

use crate::chance::Chance;

/// Zipf's law: rank `k` (from 1) has the weight `1 / k^theta`.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    n: u64,
    exponent: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl Zipf {
    /// A law of `n` ranks, at least one.
    pub fn new(n: u64, theta: f64) -> Zipf {
        let n = n.max(1);
        Zipf {
            n,
            exponent: theta,
            integral_first: integral(theta, 1.5) - 1.0,
            integral_last: integral(theta, n as f64 + 0.5),
            shortcut: 2.0 - integral_inverse(theta, integral(theta, 2.5) - height(theta, 2.0)),
        }
    }

    /// The next rank, from 0; `unit` draws a number from 0 to below 1.
    pub fn rank(&self, mut unit: impl FnMut() -> f64) -> u64 {
        loop {
            let u = self.integral_last + unit() * (self.integral_first - self.integral_last);
            let x = integral_inverse(self.exponent, u);
            let k = (x + 0.5).floor().clamp(1.0, self.n as f64);
            if k - x <= self.shortcut || u >= integral(self.exponent, k + 0.5) - height(self.exponent, k) {
                return k as u64 - 1;
            }
        }
    }
}

/// Draws ranks below `n`: smaller ones more often, or, for normal, those around the middle.
#[derive(Clone, Debug)]
pub(crate) enum Ranks {
    Zipf(Zipf),
    Pareto { n: u64, power: f64 },
    Normal { n: u64, width: u64 },
}

impl Ranks {
    /// Rank `k` (from 1) has the weight `1 / k^theta`.
    pub(crate) fn zipf(n: u64, theta: f64) -> Ranks {
        Ranks::Zipf(Zipf::new(n, theta))
    }

    /// A fraction `1 − h` of the draws go to the first fraction `h` of the ranks: a uniform draw
    /// raised to `log h / log (1 − h)`.
    pub(crate) fn pareto(n: u64, h: f64) -> Ranks {
        Ranks::Pareto { n: n.max(1), power: h.ln() / (1.0 - h).ln() }
    }

    /// fio's normal distribution: the mean of twelve uniform draws over all ranks, moved by a
    /// uniform draw of `width_percent` of `n` around the middle. Its deviation is `√(8.33² + (width
    /// / 3.46)²)` percent of `n`: a uniform draw deviates by `1 / √12` of its width, a mean of
    /// twelve by `1 / 12`.
    pub(crate) fn normal(n: u64, width_percent: f64) -> Ranks {
        let n = n.max(1);
        let width = (n as f64 * width_percent / 100.0).ceil() as u64;
        Ranks::Normal { n, width: width.min(n / 2) }
    }

    /// The next rank, from 0.
    pub(crate) fn draw(&self, chance: &mut Chance) -> u64 {
        match *self {
            Ranks::Zipf(zipf) => zipf.rank(|| chance.unit()),
            Ranks::Pareto { n, power } => ((chance.unit().powf(power) * n as f64) as u64).min(n - 1),
            Ranks::Normal { n, width } => {
                let sum: u64 = (0..EVEN_DRAWS).map(|_| chance.below(n + 1)).sum();
                let mean = sum.div_ceil(EVEN_DRAWS);
                // A move that would leave the range is shortened.
                let mut by = if width == 0 { 0 } else { chance.below(width) as i64 - (width / 2) as i64 };
                while by != 0 && mean.checked_add_signed(by).is_none_or(|place| place >= n) {
                    by /= 2;
                }
                mean.saturating_add_signed(by).min(n - 1)
            }
        }
    }
}

/// Number of uniform draws whose mean approximates a normal distribution.
const EVEN_DRAWS: u64 = 12;

/// `x^-theta`, the weight as a continuous function.
fn height(theta: f64, x: f64) -> f64 {
    (-theta * x.ln()).exp()
}

/// An antiderivative of [`height`].
fn integral(theta: f64, x: f64) -> f64 {
    let log = x.ln();
    exp_part((1.0 - theta) * log) * log
}

fn integral_inverse(theta: f64, y: f64) -> f64 {
    let t = (y * (1.0 - theta)).max(-1.0);
    (log_part(t) * y).exp()
}

/// `(e^x − 1) / x`, continued to 0.
fn exp_part(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// `ln(1 + x) / x`, continued to 0.
fn log_part(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of_first(ranks: &Ranks, first: u64) -> f64 {
        let (mut chance, draws) = (Chance::of_lane(9, 0), 200_000);
        (0..draws).filter(|_| ranks.draw(&mut chance) < first).count() as f64 / f64::from(draws)
    }

    #[test]
    fn zipf_has_the_shares_of_its_sums() {
        for theta in [0.5, 1.2, 2.0] {
            let sum = |n: u64| (1..=n).map(|k| (k as f64).powf(-theta)).sum::<f64>();
            for first in [1, 10, 100] {
                let expected = sum(first) / sum(1000);
                let found = share_of_first(&Ranks::zipf(1000, theta), first);
                // A share of 200 000 draws deviates by at most √(1/4 / 200 000) = 0.0011; five of
                // them.
                assert!((found - expected).abs() < 0.0056, "theta {theta}, first {first}: {found} for {expected}");
            }
        }
    }

    #[test]
    fn pareto_gives_most_draws_to_the_first_part() {
        // h = 0.1: nine of ten draws go to a tenth of the ranks.
        let found = share_of_first(&Ranks::pareto(100_000, 0.1), 10_000);
        assert!((found - 0.9).abs() < 0.005, "{found}");
        // h = 0.8: a fifth of the draws go to the first four fifths.
        let found = share_of_first(&Ranks::pareto(100_000, 0.8), 80_000);
        assert!((found - 0.2).abs() < 0.006, "{found}");
        // Rank 0 of 4096 has the draws below 1/4096 of the range: (1/4096)^(log 0.8 / log 0.2) =
        // 0.3156.
        let found = share_of_first(&Ranks::pareto(4096, 0.2), 1);
        assert!((found - 0.3156).abs() < 0.006, "{found}");
    }

    #[test]
    fn normal_lies_around_its_middle() {
        // A width of 20 % moves by u from 0 to 10 % either way. Then Φ((10 − u) / 8.33) − Φ((−10 −
        // u) / 8.33) of the draws are within 10 % of the middle: 0.770, 0.690, 0.492 for u = 0, 5,
        // 10, by Simpson's rule 0.670 of all; within 5 % likewise 0.372. fio 3.33 had 37.6 % of 204
        // 800 draws in its most frequent tenth.
        let ranks = Ranks::normal(10_000, 20.0);
        let within = |half: u64| share_of_first(&ranks, 5_000 + half) - share_of_first(&ranks, 5_000 - half);
        assert!((within(1_000) - 0.67).abs() < 0.006, "{}", within(1_000));
        assert!((within(500) - 0.372).abs() < 0.006, "{}", within(500));
        // Without a width only the twelve draws count: deviation 8.33 %.
        let alone = Ranks::normal(10_000, 0.0);
        let within = share_of_first(&alone, 5_833) - share_of_first(&alone, 4_167);
        assert!((within - 0.683).abs() < 0.01, "{within}");
    }
}
