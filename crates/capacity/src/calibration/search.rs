//! Searches for the numbers with which a model does what was recorded: integers by trying
//! neighbours, and the others by least squares for each choice of them.

use super::closed_loop::play;
use super::least_squares::least_squares;
use super::point::CalibrationPoint;
use super::shape::{CalibrationShape, Number, Unit};
use array::Model;

/// A fitted model.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub shape: CalibrationShape,
    pub numbers: Vec<Number>,
    pub values: Vec<f64>,
    pub model: Model,
}

/// Requests simulated for a point during the search, and at its end.
const LOOKING: u32 = 600;
const SETTLING: u32 = 4000;
/// Maximum number of choices of integers that are tried.
const CHOICES_MAX: usize = 60;

/// Minimises the sum of squares over these points.
///
/// # Errors
/// The points lack what the model needs, or there are not more points than numbers: one line.
pub(super) fn search(shape: CalibrationShape, points: &[CalibrationPoint]) -> Result<Found, String> {
    let numbers = shape.numbers(points)?;
    if points.len() <= numbers.len() {
        return Err(format!(
            "{} has {} numbers, which need more points than that to be fitted to, got {}; record more depths or \
             block sizes",
            shape.name(),
            numbers.len(),
            points.len()
        ));
    }
    let whole = numbers.iter().take_while(|number| matches!(number.unit, Unit::Count | Unit::Page)).count();
    let problem = Problem { shape, numbers: &numbers, points };
    let mut tried: Vec<Vec<u64>> = Vec::new();
    let mut best = problem.fitted(&shape.begin(&numbers, points), whole, LOOKING);
    loop {
        let mut better = None;
        for choice in neighbours(&numbers[..whole], &best.0) {
            let key: Vec<u64> = choice[..whole].iter().map(|value| *value as u64).collect();
            if tried.contains(&key) || tried.len() >= CHOICES_MAX {
                continue;
            }
            tried.push(key);
            let fitted = problem.fitted(&choice, whole, LOOKING);
            if fitted.1 < better.as_ref().map_or(best.1, |(_, sum)| *sum) {
                better = Some(fitted);
            }
        }
        match better {
            Some(better) => best = better,
            None => break,
        }
    }
    let (values, _) = problem.fitted(&best.0, whole, SETTLING);
    let model = shape.model(&numbers, &values, points);
    Ok(Found { shape, numbers, values, model })
}

/// The neighbouring choices of integers; the other numbers stay.
fn neighbours(whole: &[Number], at: &[f64]) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    for (place, number) in whole.iter().enumerate() {
        let is = at[place];
        let beside = match number.unit {
            Unit::Page => vec![is / 2.0, is * 2.0],
            _ => vec![is / 2.0, is * 2.0, is * 0.8, is * 1.25, is - 1.0, is + 1.0],
        };
        for value in beside.into_iter().map(f64::round).filter(|value| *value != is && (1.0..=65_536e3).contains(value))
        {
            let mut choice = at.to_vec();
            choice[place] = value;
            all.push(choice);
        }
    }
    all
}

struct Problem<'p> {
    shape: CalibrationShape,
    numbers: &'p [Number],
    points: &'p [CalibrationPoint],
}

impl Problem<'_> {
    /// The best values of all but the first `whole` numbers, from `start` on, and the sum of
    /// squares.
    fn fitted(&self, start: &[f64], whole: usize, ends: u32) -> (Vec<f64>, f64) {
        let (whole, rest) = start.split_at(whole);
        let all =
            |logs: &[f64]| -> Vec<f64> { whole.iter().copied().chain(logs.iter().map(|log| log.exp())).collect() };
        let logs: Vec<f64> = rest.iter().map(|value| value.ln()).collect();
        let (logs, sum) = least_squares(&logs, &mut |logs| self.residuals(&all(logs), ends));
        (all(&logs), sum)
    }

    /// Logarithms of simulated over recorded figures: a tenth too much weighs as much as a tenth
    /// too little, and a slow point as much as a fast one. In a mix, reads and writes have their
    /// own response times.
    fn residuals(&self, values: &[f64], ends: u32) -> Vec<f64> {
        let model = self.shape.model(self.numbers, values, self.points);
        let mut all = Vec::with_capacity(self.points.len());
        for point in self.points {
            let fared = play(&model, point, ends);
            all.push((fared.rate / point.rate).ln());
            for (simulated, recorded) in fared.responses.iter().zip(point.responses.iter().flatten()) {
                if *simulated > 0.0 && *recorded > 0.0 {
                    all.push((simulated / recorded).ln());
                }
            }
        }
        all
    }
}
