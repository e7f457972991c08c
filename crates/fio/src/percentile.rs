//! The percentiles in a report: fio's `percentile_list`.

/// The same limit as in fio.
pub const PERCENTILES_MAX: usize = 20;

/// Percentiles in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct PercentileList(Vec<f64>);

impl PercentileList {
    /// A list of these percentiles, sorted.
    ///
    /// # Errors
    /// The rule that they break.
    pub fn new(mut percents: Vec<f64>) -> Result<PercentileList, String> {
        if percents.is_empty() || percents.len() > PERCENTILES_MAX {
            return Err(format!("takes 1 to {PERCENTILES_MAX} numbers, separated by colons"));
        }
        if !percents.iter().all(|percent| (0.0..=100.0).contains(percent)) {
            return Err("percentiles lie between 0 and 100".into());
        }
        percents.sort_by(f64::total_cmp);
        Ok(PercentileList(percents))
    }

    /// Each of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.0.iter().copied()
    }
}

impl Default for PercentileList {
    /// fio's seventeen.
    fn default() -> PercentileList {
        let percents =
            [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
        PercentileList(percents.to_vec())
    }
}
