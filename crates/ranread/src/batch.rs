//! A batch: the rows of its processes, and the classic figures computed from them.

use crate::row::{ProcessRow, ProcessState};
use block::Span;
use stats::Histogram;

/// The rows of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Its processes, in their order; never empty.
    pub rows: Vec<ProcessRow>,
}

impl Batch {
    /// One of its rows, for the values that all rows share.
    pub fn any(&self) -> &ProcessRow {
        &self.rows[0]
    }

    /// Mean of its processes' response times in milliseconds; `None` if nothing was done.
    pub fn response_ms(&self) -> Option<f64> {
        mean(self.rows.iter().filter_map(ProcessRow::response_ms))
    }

    /// IOPS as the console calculates them: `processes × 1000 / response time`.
    pub fn console_iops(&self) -> f64 {
        self.response_ms().map_or(0.0, |ms| calculated_iops(self.active(), ms))
    }

    /// IOPS as the export has them: the mean over the processes of `processes × 1000 / own response
    /// time`; `None` if nothing was done.
    pub fn export_iops(&self) -> Option<f64> {
        mean(self.rows.iter().filter_map(ProcessRow::response_ms).map(|ms| calculated_iops(self.active(), ms)))
    }

    /// Measured IOPS: all requests divided by the time of the slowest process.
    pub fn measured_iops(&self) -> f64 {
        let seconds = self.elapsed().as_secs_f64();
        if seconds > 0.0 { self.done() as f64 / seconds } else { 0.0 }
    }

    /// The longest time of a process.
    pub fn elapsed(&self) -> Span {
        self.rows.iter().map(|row| row.elapsed).max().unwrap_or_default()
    }

    /// Requests that succeeded.
    pub fn done(&self) -> u64 {
        self.rows.iter().map(ProcessRow::done).sum()
    }

    /// Requests that failed.
    pub fn failed(&self) -> u64 {
        self.rows.iter().map(|row| row.failed).sum()
    }

    /// Bytes that were transferred.
    pub fn bytes(&self) -> u64 {
        self.rows.iter().map(|row| row.bytes).sum()
    }

    /// The mean number of requests of a process, rounded: the requested number unless a process was
    /// stopped.
    pub fn iterations(&self) -> u64 {
        (self.done() + self.active() / 2).checked_div(self.active()).unwrap_or(0)
    }

    /// Response times of all requests.
    pub fn lat(&self) -> Histogram {
        let mut all = Histogram::new();
        self.rows.iter().for_each(|row| all.merge(&row.lat));
        all
    }

    /// The worst state of its processes.
    pub fn state(&self) -> ProcessState {
        let has = |state| self.rows.iter().any(|row| row.state == state);
        match (has(ProcessState::Running), has(ProcessState::Stopped)) {
            (true, _) => ProcessState::Running,
            (_, true) => ProcessState::Stopped,
            _ => ProcessState::Whole,
        }
    }

    /// Processes that did something.
    fn active(&self) -> u64 {
        self.rows.iter().filter(|row| row.done() > 0).count() as u64
    }
}

fn calculated_iops(processes: u64, response_ms: f64) -> f64 {
    if response_ms > 0.0 { processes as f64 * 1000.0 / response_ms } else { 0.0 }
}

fn mean(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let figures: Vec<f64> = figures.collect();
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::grammar::Effort;

    /// A batch whose processes took these milliseconds for 1000 requests each.
    pub(crate) fn batch(totals_ms: &[u64]) -> Batch {
        let row = |(index, total): (usize, &u64)| {
            let mut lat = Histogram::new();
            lat.record_many(Span::from_micros(*total), 1000);
            ProcessRow {
                started_unix_s: 1_464_012_480,
                database: "/usr/iris/db/zranread/".into(),
                processes: totals_ms.len() as u32,
                job: index as u32 + 1,
                effort: Effort::Iterations(1000),
                block: 8192,
                read_percent: 100,
                reads: 1000,
                writes: 0,
                failed: 0,
                bytes: 8_192_000,
                elapsed: Span::from_millis(*total),
                state: ProcessState::Whole,
                lat,
            }
        };
        Batch { rows: totals_ms.iter().enumerate().map(row).collect() }
    }

    /// The published rows, printed with two decimals: each obeys `processes × 1000 / ms = IOPS` for
    /// a response time that rounds to the printed one.
    #[test]
    fn the_published_rows_obey_the_formula() {
        let rows = crate::point::tests::published();
        assert_eq!(rows.len(), 12);
        for (processes, ms, iops) in rows {
            // In tenths of a microsecond, so that the batch has exactly that response time.
            let fits = (0..=1000).any(|step| {
                let printed = ms - 0.005 + 0.000_01 * f64::from(step);
                let (calculated, shown) = (calculated_iops(u64::from(processes), printed), format!("{printed:.2}"));
                shown == format!("{ms:.2}") && calculated.round() == iops
            });
            assert!(fits, "{processes} {ms} {iops}");
            // The formula applied to the printed figure differs only by rounding: less than 0.1 %.
            let off = calculated_iops(u64::from(processes), ms) / iops - 1.0;
            assert!(off.abs() < 0.001, "{processes}: {off}");
        }
    }

    /// Two processes of 4 and 8 ms: mean 6 ms, so 2 × 1000 / 6 = 333 on the console; the export has
    /// the mean of 500 and 250, 375; 2000 requests in 8 s are 250.
    #[test]
    fn the_three_rates_differ_as_the_originals_do() {
        let batch = batch(&[4000, 8000]);
        assert_eq!(batch.response_ms(), Some(6.0));
        assert!((batch.console_iops() - 1000.0 / 3.0).abs() < 1e-9);
        assert_eq!((batch.export_iops(), batch.measured_iops(), batch.iterations()), (Some(375.0), 250.0, 1000));
    }

    /// One process was stopped after half of its requests in half of the time: its response time
    /// does not change.
    #[test]
    fn a_stopped_batch_divides_by_what_was_done() {
        let mut stopped = batch(&[4000, 4000]);
        stopped.rows[1] = ProcessRow {
            reads: 500,
            elapsed: Span::from_millis(2000),
            state: ProcessState::Stopped,
            ..stopped.rows[1].clone()
        };
        assert_eq!(
            (stopped.response_ms(), stopped.state(), stopped.iterations()),
            (Some(4.0), ProcessState::Stopped, 750)
        );
        stopped.rows[1].reads = 0;
        assert_eq!((stopped.response_ms(), stopped.console_iops()), (Some(4.0), 250.0), "one process did it all");
    }
}
