//! The median of a few figures, and the interval that holds the median of all that could have been
//! measured, whatever they are distributed like.
//!
//! With `n` figures in order the median lies below the smallest with a chance of one in `2^n`, and
//! between the `k`-th from below and the `k`-th from above unless fewer than `k` of `n` coins fell
//! on either side: for five figures it is between the smallest and the largest in 93.75 of 100
//! cases.

/// A median and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    /// The middle figure, or the mean of the two in the middle.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How often such an interval has the median in it, from 0 to 1.
    pub confidence: f64,
}

impl Median {
    /// The interval is the narrowest that has the median so often at least; where no interval does,
    /// as with four figures or fewer, it is all of them.
    pub const CONFIDENCE: f64 = 0.9;

    /// Of these figures; `None` where there is none, or one is no number.
    pub fn of(figures: &[f64]) -> Option<Median> {
        let mut sorted = figures.to_vec();
        if sorted.is_empty() || sorted.iter().any(|figure| figure.is_nan()) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let value = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
        // The chance that at most `left_out` of `count` coins fall on one side, for both sides.
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

    /// Whether there were figures enough for the interval to be believed.
    pub fn is_known(&self) -> bool {
        self.confidence >= Median::CONFIDENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 - 2/32 of five; of eight the outermost are left out: 1 - 2 (1 + 8) / 256 = 0.9297, and
    /// with two left out it would be 1 - 2 (1 + 8 + 28) / 256 = 0.71.
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
