//! The median of a few figures, with a confidence interval for the true median that assumes no
//! particular distribution.
//!
//! The true median is below the smallest of `n` figures with a probability of 1 in `2^n`. It is
//! between the `k`-th smallest and the `k`-th largest unless fewer than `k` of `n` coins fell on
//! one side. So for five figures it is between the smallest and the largest with 93.75 %.

/// A median and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    /// The middle figure, or the mean of the two in the middle.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Probability that such an interval contains the true median, from 0 to 1.
    pub confidence: f64,
}

impl Median {
    /// The least confidence of the interval, which is the narrowest that has it. If no interval has
    /// it, as with four figures or fewer, the interval spans all figures.
    pub const CONFIDENCE: f64 = 0.9;

    /// The median of these figures; `None` if there are none, or one is NaN.
    pub fn of(figures: &[f64]) -> Option<Median> {
        let mut sorted = figures.to_vec();
        if sorted.is_empty() || sorted.iter().any(|figure| figure.is_nan()) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let value = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
        // Probability that at most `left_out` of `count` coins fall on one side, for both sides.
        let (mut left_out, mut term, mut below) = (0, 0.5f64.powi(count as i32), 0.0);
        let mut confidence = 1.0 - 2.0 * term;
        loop {
            below += term;
            term *= (count - left_out) as f64 / (left_out + 1) as f64;
            let narrower = 1.0 - 2.0 * (below + term);
            if narrower < Median::CONFIDENCE {
                break;
            }
            (left_out, confidence) = (left_out + 1, narrower);
        }
        Some(Median { value, low: sorted[left_out], high: sorted[count - 1 - left_out], confidence })
    }

    /// Whether there were enough figures for the confidence asked for.
    pub fn is_known(&self) -> bool {
        self.confidence >= Median::CONFIDENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of five figures 1 - 2/32. Of eight the outermost are left out: 1 - 2 (1 + 8) / 256 = 0.9297,
    /// but 1 - 2 (1 + 8 + 28) / 256 = 0.71 with two left out on each side.
    #[test]
    fn the_interval_is_the_narrowest_that_is_believed() {
        let five = Median::of(&[3.0, 1.0, 2.0, 5.0, 4.0]).unwrap();
        assert_eq!((five.value, five.low, five.high, five.confidence), (3.0, 1.0, 5.0, 0.9375));
        let eight = Median::of(&[8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]).unwrap();
        assert_eq!((eight.value, eight.low, eight.high), (4.5, 2.0, 7.0));
        assert!((eight.confidence - 0.929_687_5).abs() < 1e-12 && eight.is_known());
    }

    #[test]
    fn few_figures_are_not_believed_and_none_is_nothing() {
        let two = Median::of(&[1.0, 2.0]).unwrap();
        assert_eq!((two.value, two.low, two.high, two.confidence), (1.5, 1.0, 2.0, 0.5));
        assert!(!two.is_known() && Median::of(&[1.0]).is_some_and(|one| one.confidence == 0.0));
        assert!(Median::of(&[]).is_none() && Median::of(&[1.0, f64::NAN]).is_none());
    }
}
