//! A load of a sweep, and the measurements of its batches.

use crate::batch::Batch;
use crate::evidence::BatchEvidence;
use stats::Histogram;
use stats::job::{Confidence, confidence};

/// What one batch measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Mean response time over the processes, in milliseconds.
    pub mean_ms: f64,
    /// Measured IOPS: if some processes end before others, the classic figure is too high.
    pub iops: f64,
    /// Number of requests.
    pub requests: u64,
    /// Their response times; `None` if only averages are known.
    pub lat: Option<Histogram>,
    /// What else was observed meanwhile.
    pub evidence: BatchEvidence,
}

impl Measured {
    /// The measurement of a batch.
    pub fn of(batch: &Batch, evidence: BatchEvidence) -> Measured {
        Measured {
            mean_ms: batch.response_ms().unwrap_or(0.0),
            iops: batch.measured_iops(),
            requests: batch.done(),
            lat: Some(batch.lat()),
            evidence,
        }
    }
}

/// A load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Number of processes.
    pub processes: u32,
    /// Its batches.
    pub samples: Vec<Measured>,
}

impl Point {
    /// The estimate of its mean response time in milliseconds; one batch gives no error.
    pub fn response_ms(&self) -> Confidence {
        known(self.samples.iter().map(|sample| sample.mean_ms))
    }

    /// The estimate of its IOPS.
    pub fn iops(&self) -> Confidence {
        known(self.samples.iter().map(|sample| sample.iops))
    }

    /// All of its response times; `None` if only averages are known.
    pub fn lat(&self) -> Option<Histogram> {
        let mut all = Histogram::new();
        for sample in &self.samples {
            all.merge(sample.lat.as_ref()?);
        }
        Some(all)
    }

    /// The longest response time in milliseconds, if known.
    pub fn most_ms(&self) -> Option<f64> {
        self.lat().map(|lat| lat.max().as_millis_f64())
    }

    /// Requests of all of its batches.
    pub fn requests(&self) -> u64 {
        self.samples.iter().map(|sample| sample.requests).sum()
    }

    /// The relative error of the mean response time; `None` for one batch.
    pub fn precision(&self) -> Option<f64> {
        let Confidence { mean, half_width } = self.response_ms();
        (self.samples.len() > 1).then(|| if mean > 0.0 { half_width / mean } else { 0.0 })
    }
}

fn known(figures: impl Iterator<Item = f64>) -> Confidence {
    let figures: Vec<f64> = figures.collect();
    let only = figures.first().copied().unwrap_or(0.0);
    confidence(&figures).unwrap_or(Confidence { mean: only, half_width: 0.0 })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The published rows: processes, milliseconds, IOPS.
    pub(crate) fn published() -> Vec<(u32, f64, f64)> {
        let row = |line: &str| {
            let mut fields = line.split(',');
            let mut next = || fields.next().unwrap();
            (next().parse().unwrap(), next().parse().unwrap(), next().parse().unwrap())
        };
        include_str!("../fixtures/ranread_template.csv").lines().skip(1).map(row).collect()
    }

    /// The same as points: averages of one batch each.
    pub(crate) fn published_points() -> Vec<Point> {
        let point = |(processes, mean_ms, iops)| {
            let requests = u64::from(processes) * 1000;
            Point { processes, samples: vec![Measured { mean_ms, iops, requests, ..Measured::default() }] }
        };
        published().into_iter().map(point).collect()
    }

    /// 4, 5 and 6 ms: mean 5, deviation 1, t of two degrees of freedom 4.303, so 5 ± 4.303 / √3 =
    /// 2.484.
    #[test]
    fn a_mean_is_known_as_far_as_its_batches_agree() {
        let sample = |mean_ms| Measured { mean_ms, ..Measured::default() };
        let point = Point { processes: 1, samples: [4.0, 5.0, 6.0].map(sample).to_vec() };
        assert!((point.response_ms().half_width - 2.484).abs() < 0.001);
        assert!((point.precision().unwrap() - 0.4969).abs() < 0.001);
        assert_eq!((point.most_ms(), Point { samples: vec![sample(4.0)], ..point }.precision()), (None, None));
    }
}
