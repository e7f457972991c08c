//! Models a user's own storage: fits the figures of a simulated device to recordings of the real
//! one, and measures the error where nothing was fitted.
//!
//! ```text
//!   runs ──► points ─┬─ two of three ──► search ──► model ──► a file that simulations take
//!                    └─ every third, held out ──────► error, with the count of fitted numbers beside it
//! ```
//! The points held out are chosen by their order, before anything is fitted. Of several kinds of
//! models the one with the best fit to the other points is taken; the points held out do not
//! influence that choice either.

mod as_comparison;
mod closed_loop;
mod file;
mod least_squares;
mod point;
mod search;
mod shape;

pub(crate) use point::setting;
pub use point::{CalibrationLane, CalibrationPoint, LeftOut, calibration_apart, calibration_points};
pub use shape::CalibrationShape;

use array::Model;
use closed_loop::{Played, play};
use search::{Found, search};

/// A point, and what the model does with its load.
#[derive(Clone, Debug)]
struct Compared {
    point: CalibrationPoint,
    simulated: Played,
    held_out: bool,
}

/// A model that was fitted to recordings.
#[derive(Clone, Debug)]
pub struct Calibrated {
    found: Found,
    points: Vec<Compared>,
    /// The kinds of models that were tried.
    tried: Vec<Tried>,
}

/// A kind of model that was tried: its name, the number of fitted numbers, and the mean error over
/// the points that it was fitted to; or why it was not fitted.
type Tried = (&'static str, Result<(usize, f64), String>);

/// Minimum number of points: four for two numbers and a curve, two held out.
pub const CALIBRATION_POINTS_MIN: usize = 6;
/// Of three points in a row the middle one is held out.
const THIRD: usize = 3;
/// Requests simulated for a point when its error is computed.
const STATED: u32 = 20_000;

/// Fits the given kinds of models to recorded points, and takes the one that fits best.
///
/// # Errors
/// There are too few points, or none of the kinds can be fitted to them: one line.
pub fn calibrate(points: Vec<CalibrationPoint>, shapes: &[CalibrationShape]) -> Result<Calibrated, String> {
    let points = point::together(points);
    if points.len() < CALIBRATION_POINTS_MIN {
        return Err(format!(
            "needs at least {CALIBRATION_POINTS_MIN} points that differ in depth, block size or mix, got {}; record \
             more of them",
            points.len()
        ));
    }
    let is_held_out = |index: usize| index % THIRD == 1;
    let pick = |held: bool| points.iter().enumerate().filter(move |(at, _)| is_held_out(*at) == held).map(|(_, p)| p);
    let fitted_to: Vec<CalibrationPoint> = pick(false).cloned().collect();
    let mut best: Option<(f64, Found)> = None;
    let mut tried: Vec<Tried> = Vec::new();
    for shape in shapes {
        let found = match search(*shape, &fitted_to) {
            Ok(found) => found,
            Err(why) => {
                tried.push((shape.name(), Err(why)));
                continue;
            }
        };
        let error = mean_error(&found.model, &fitted_to);
        tried.push((shape.name(), Ok((found.numbers.len(), error))));
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, found));
        }
    }
    let Some((_, found)) = best else {
        let why = tried.into_iter().find_map(|(_, tried)| tried.err());
        return Err(why.unwrap_or_else(|| "no kind of model was asked for".into()));
    };
    let compared = |(index, point): (usize, &CalibrationPoint)| Compared {
        simulated: play(&found.model, point, STATED),
        point: point.clone(),
        held_out: is_held_out(index),
    };
    let points = points.iter().enumerate().map(compared).collect();
    Ok(Calibrated { found, points, tried })
}

fn mean_error(model: &Model, points: &[CalibrationPoint]) -> f64 {
    let error = |point: &CalibrationPoint| (play(model, point, STATED).rate / point.rate - 1.0).abs();
    points.iter().map(error).sum::<f64>() / points.len().max(1) as f64
}

impl Calibrated {
    /// The model.
    pub fn model(&self) -> &Model {
        &self.found.model
    }

    /// The number of fitted numbers.
    pub fn parameters(&self) -> usize {
        self.found.numbers.len()
    }

    /// The mean absolute error of the rate over the points that were held out.
    pub fn held_out_error(&self) -> f64 {
        let errors: Vec<f64> = self.points.iter().filter(|one| one.held_out).map(Compared::error).collect();
        errors.iter().sum::<f64>() / errors.len().max(1) as f64
    }

    /// The number of points that were held out.
    pub fn held_out(&self) -> usize {
        self.points.iter().filter(|one| one.held_out).count()
    }
}

impl Compared {
    fn error(&self) -> f64 {
        (self.simulated.rate / self.point.rate - 1.0).abs()
    }
}
