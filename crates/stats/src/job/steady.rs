//! Whether figures have become steady.
//!
//! The rule of the Storage Networking Industry Association (Performance Test Specification, "Steady
//! State"): over a window of rounds the largest and the smallest figure differ by at most 20 % of
//! the mean (excursion), and the regression line through them rises or falls by at most 10 % of the
//! mean from the first to the last round (slope).

use super::spread::Confidence;
use block::Span;

/// The report on steadiness at the end of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteadyReport {
    /// Whether the figures became steady.
    pub reached: bool,
    /// When, from the start of the job's measuring.
    pub at: Option<Span>,
    /// The rounds that were judged last, oldest first: operations or bytes a second, or
    /// nanoseconds.
    pub rounds: Vec<f64>,
    /// Their mean with its confidence; `None` for fewer than two rounds.
    pub mean: Option<Confidence>,
    /// Largest less smallest, in percent of the mean.
    pub excursion_percent: f64,
    /// Rise or fall of the regression line over the rounds, in percent of the mean.
    pub slope_percent: f64,
    /// The rule as text, such as `SNIA: excursion ≤ 20 %, slope ≤ 10 % over 5 rounds of 60 s`.
    pub rule: String,
}

/// Largest less smallest, in percent of the mean; zero if the mean is zero.
pub fn excursion(rounds: &[f64]) -> f64 {
    let mean = mean(rounds);
    let most = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
    if mean == 0.0 { 0.0 } else { (most - least) / mean * 100.0 }
}

/// The slope of the regression line for each round; negative if it falls.
pub fn line_rise(rounds: &[f64]) -> f64 {
    let middle = (rounds.len() as f64 - 1.0) / 2.0;
    let mean = mean(rounds);
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in rounds.iter().enumerate() {
        above += (x as f64 - middle) * (y - mean);
        below += (x as f64 - middle).powi(2);
    }
    if below == 0.0 { 0.0 } else { above / below }
}

fn mean(rounds: &[f64]) -> f64 {
    if rounds.is_empty() { 0.0 } else { rounds.iter().sum::<f64>() / rounds.len() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excursion_and_slope_of_known_rows() {
        assert_eq!(excursion(&[90.0, 100.0, 110.0]), 20.0);
        assert_eq!(line_rise(&[90.0, 100.0, 110.0]), 10.0);
        // A single spike in the middle does not tilt the line.
        assert_eq!(line_rise(&[100.0, 100.0, 200.0, 100.0, 100.0]), 0.0);
        assert_eq!((excursion(&[]), line_rise(&[7.0])), (0.0, 0.0));
    }
}
