//! The variation of figures, and the confidence in their mean.

/// Minimum, maximum, mean and standard deviation of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The smallest figure; zero if there are none.
    pub least: f64,
    /// The largest figure; zero if there are none.
    pub most: f64,
    /// The mean; zero if there are no figures.
    pub mean: f64,
    /// Standard deviation of the sample (with divisor n − 1); zero for fewer than two figures.
    pub deviation: f64,
    /// Number of figures.
    pub samples: u64,
}

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Confidence {
    /// The mean of the sample.
    pub mean: f64,
    /// Half the width of the interval that contains the true mean with 95 % confidence.
    pub half_width: f64,
}

impl Spread {
    /// The spread of these figures.
    pub fn of(figures: impl Iterator<Item = f64>) -> Spread {
        let figures: Vec<f64> = figures.collect();
        let n = figures.len() as f64;
        if figures.is_empty() {
            return Spread::default();
        }
        let mean = figures.iter().sum::<f64>() / n;
        let squares = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>();
        Spread {
            least: figures.iter().copied().fold(f64::INFINITY, f64::min),
            most: figures.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean,
            deviation: if figures.len() < 2 { 0.0 } else { (squares / (n - 1.0)).sqrt() },
            samples: figures.len() as u64,
        }
    }
}

/// Student's t for 95 % (two-sided), by degrees of freedom from 1; beyond the table it is 1.96 to
/// within 2 %.
const STUDENT_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Student's t for 95 % (two-sided) for at least one degree of freedom; fractions are rounded down.
pub fn student_95(freedom: f64) -> f64 {
    STUDENT_95.get((freedom.max(1.0) as usize) - 1).copied().unwrap_or(1.96)
}

/// The difference of the means of `b` and `a` by Welch's test (variances need not be equal); `None`
/// if either has fewer than two figures.
pub fn welch(a: &Spread, b: &Spread) -> Option<Confidence> {
    if a.samples < 2 || b.samples < 2 {
        return None;
    }
    // The variance of each mean, and the degrees of freedom by Satterthwaite.
    let variance = |spread: &Spread| spread.deviation.powi(2) / spread.samples as f64;
    let (va, vb) = (variance(a), variance(b));
    let freedom = match va + vb {
        0.0 => f64::INFINITY,
        sum => sum.powi(2) / (va.powi(2) / (a.samples - 1) as f64 + vb.powi(2) / (b.samples - 1) as f64),
    };
    Some(Confidence { mean: b.mean - a.mean, half_width: student_95(freedom) * (va + vb).sqrt() })
}

/// The confidence interval of the mean of a sample; `None` for fewer than two figures. If
/// neighbouring figures depend on each other, the interval is too narrow.
pub fn confidence(figures: &[f64]) -> Option<Confidence> {
    if figures.len() < 2 {
        return None;
    }
    let spread = Spread::of(figures.iter().copied());
    let t = student_95((figures.len() - 1) as f64);
    Some(Confidence { mean: spread.mean, half_width: t * spread.deviation / (figures.len() as f64).sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_known_figures() {
        // 8, 9, 10, 11, 12: mean 10, squares 4+1+0+1+4 = 10, deviation √(10/4) = 1.581.
        let figures = [8.0, 9.0, 10.0, 11.0, 12.0];
        let spread = Spread::of(figures.into_iter());
        assert_eq!((spread.least, spread.most, spread.mean, spread.samples), (8.0, 12.0, 10.0, 5));
        assert!((spread.deviation - 1.581).abs() < 0.001);
        // t of 4 degrees of freedom is 2.776: 2.776 × 1.581 / √5 = 1.963.
        let confidence = confidence(&figures).unwrap();
        assert!((confidence.half_width - 1.963).abs() < 0.001, "{confidence:?}");
    }

    #[test]
    fn too_few_figures_say_little() {
        assert_eq!(Spread::of(std::iter::empty()), Spread::default());
        assert_eq!(Spread::of([3.0].into_iter()).deviation, 0.0);
        assert_eq!(confidence(&[1.0]), None);
    }
}
