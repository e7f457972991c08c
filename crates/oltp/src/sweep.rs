//! A sweep over numbers of users, until more users bring no more transactions.

use crate::figures::Figures;

/// A load of a sweep and its figures.
#[derive(Clone, Debug)]
pub struct Step {
    /// Number of users.
    pub users: u32,
    /// Its figures.
    pub figures: Figures,
}

/// If twice the users bring less than this factor more, the step is beyond the knee.
const GROWTH: f64 = 1.1;

/// Whether to try more users: false once two consecutive steps brought too little.
pub fn goes_on(steps: &[Step]) -> bool {
    let flat = steps.windows(2).rev().take(2).filter(|pair| !grows(&pair[0], &pair[1])).count();
    flat < 2
}

/// The index of the step from which more users bring little; `None` without steps.
pub fn knee(steps: &[Step]) -> Option<usize> {
    let best = steps.iter().map(|step| step.figures.avg_tps).reduce(f64::max)?;
    steps.iter().position(|step| step.figures.avg_tps * GROWTH >= best)
}

fn grows(before: &Step, after: &Step) -> bool {
    after.figures.avg_tps > before.figures.avg_tps * GROWTH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::played;

    #[test]
    fn a_sweep_ends_behind_the_knee() {
        let steps: Vec<Step> = [(1, 10.0), (2, 19.0), (4, 30.0), (8, 31.0), (16, 30.0)]
            .into_iter()
            .map(|(users, avg_tps)| Step {
                users,
                figures: Figures { avg_tps, ..Figures::of(&played(|_| 8, 5), users) },
            })
            .collect();
        assert!((1..=4).all(|so_far| goes_on(&steps[..so_far])));
        assert!(!goes_on(&steps));
        assert_eq!(knee(&steps), Some(2));
        assert_eq!(knee(&[]), None);
    }
}
