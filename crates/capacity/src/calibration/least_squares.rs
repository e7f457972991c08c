//! Damped least squares: finds the numbers with the least sum of squared residuals.
//!
//! Levenberg 1944, Marquardt 1963: `(JᵀJ + λ·diag JᵀJ) δ = -Jᵀr`, with λ increased after a step
//! that was worse and decreased after one that was better. Slopes are finite differences over a
//! step that is large compared with the noise of a simulation of some thousand requests. The
//! numbers are logarithms, so that steps are relative and no number becomes negative.

/// The step for slopes: four percent of a number.
const STEP: f64 = 0.04;
/// The longest step: a factor of e.
const LONGEST: f64 = 1.0;
/// Maximum number of rounds.
const ROUNDS: usize = 12;
/// The search ends when a round improves the sum by less than this fraction.
const ENOUGH: f64 = 1e-4;

/// Minimises the sum of squares from `start` on; returns the numbers and the sum.
pub(super) fn least_squares(start: &[f64], residuals: &mut dyn FnMut(&[f64]) -> Vec<f64>) -> (Vec<f64>, f64) {
    let squares = |of: &[f64]| of.iter().map(|r| r * r).sum::<f64>();
    let mut at = start.to_vec();
    let mut here = residuals(&at);
    let mut sum = squares(&here);
    let mut damping = 1e-2;
    for _ in 0..ROUNDS {
        let slopes: Vec<Vec<f64>> = (0..at.len()).map(|number| slope(&at, number, &here, residuals)).collect();
        let mut better = None;
        // Three dampings, each a hundred times the last; beyond that the slopes are not usable.
        for _ in 0..3 {
            let Some(step) = step(&slopes, &here, damping) else { break };
            let next: Vec<f64> = at.iter().zip(&step).map(|(at, step)| at + step.clamp(-LONGEST, LONGEST)).collect();
            let there = residuals(&next);
            if squares(&there) < sum {
                better = Some((next, there));
                damping /= 10.0;
                break;
            }
            damping *= 100.0;
        }
        let Some((next, there)) = better else { break };
        let now = squares(&there);
        let enough = now > sum * (1.0 - ENOUGH) || now < 1e-12;
        (at, here, sum) = (next, there, now);
        if enough {
            break;
        }
    }
    (at, sum)
}

fn slope(at: &[f64], number: usize, here: &[f64], residuals: &mut dyn FnMut(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut beside = at.to_vec();
    beside[number] += STEP;
    residuals(&beside).iter().zip(here).map(|(there, here)| (there - here) / STEP).collect()
}

/// The step for these slopes; `None` if they do not determine a number.
fn step(slopes: &[Vec<f64>], here: &[f64], damping: f64) -> Option<Vec<f64>> {
    let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let row = |(number, slope): (usize, &Vec<f64>)| {
        let mut row: Vec<f64> = slopes.iter().map(|other| dot(slope, other)).collect();
        // A number without influence stays where it is.
        row[number] = (row[number] * (1.0 + damping)).max(1e-12);
        row.push(-dot(slope, here));
        row
    };
    solve(slopes.iter().enumerate().map(row).collect())
}

/// Solves linear equations by elimination with pivoting; each row ends with its right side.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let count = rows.len();
    for column in 0..count {
        let pivot = (column..count).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        let head = rows[column].clone();
        if head[column].abs() < 1e-300 {
            return None;
        }
        for row in rows.iter_mut().skip(column + 1) {
            let factor = row[column] / head[column];
            row.iter_mut().zip(&head).for_each(|(cell, head)| *cell -= factor * head);
        }
    }
    let mut found = vec![0.0; count];
    for row in (0..count).rev() {
        let known: f64 = (row + 1..count).map(|column| rows[row][column] * found[column]).sum();
        found[row] = (rows[row][count] - known) / rows[row][row];
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y = a / (b + x) at five places, from a start that is wrong by a factor of ten: the curve of
    /// a closed loop.
    #[test]
    fn the_numbers_of_a_curve_are_found_again() {
        let (a, b) = (50.0f64, 7.0f64);
        let places = [1.0, 2.0, 4.0, 8.0, 30.0];
        let curve = |a: f64, b: f64, x: f64| (a / (b + x)).ln();
        let mut residuals =
            |at: &[f64]| places.iter().map(|&x| curve(at[0].exp(), at[1].exp(), x) - curve(a, b, x)).collect();
        let (found, sum) = least_squares(&[5.0f64.ln(), 70.0f64.ln()], &mut residuals);
        assert!((found[0].exp() / a - 1.0).abs() < 1e-3 && (found[1].exp() / b - 1.0).abs() < 1e-3, "{found:?}");
        assert!(sum < 1e-8, "{sum}");
    }

    #[test]
    fn a_number_that_nothing_depends_on_stays() {
        let (found, _) = least_squares(&[0.5, 0.0], &mut |at| vec![at[1] - 1.0, at[1] - 1.0]);
        assert!((found[0] - 0.5).abs() < 1e-9 && (found[1] - 1.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn equations_are_solved_by_hand() {
        // 2x + y = 5, x - y = 1.
        assert_eq!(solve(vec![vec![2.0, 1.0, 5.0], vec![1.0, -1.0, 1.0]]), Some(vec![2.0, 1.0]));
        assert_eq!(solve(vec![vec![0.0, 1.0]]), None);
    }
}
