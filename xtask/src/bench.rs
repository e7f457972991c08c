//! `cargo xtask bench`: what a release build costs beside the programs that people use today, on this machine, now.
//!
//! Nothing here is a test: figures depend on the machine and on what else it does. What counts are ratios of runs that
//! took turns, so that a busy minute hits both.

mod fio;
mod nbd;
mod served;

use anyhow::Result;
use clap::Subcommand;

/// What to compare.
#[derive(Subcommand)]
pub enum Bench {
    /// `seawall serve` with nbdkit's file plugin and qemu-nbd, all driven by fio's NBD engine
    Nbd(nbd::Nbd),
}

impl Bench {
    /// Runs it and prints its table.
    ///
    /// # Errors
    /// A program is missing or failed.
    pub fn run(&self) -> Result<()> {
        match self {
            Bench::Nbd(nbd) => nbd.run(),
        }
    }
}

/// The middle of the values, the mean of the middle two of an even number; 0 of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => (sorted[even / 2 - 1] + sorted[even / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([]), 0.0);
    }
}
