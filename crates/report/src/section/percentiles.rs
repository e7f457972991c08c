//! Response times by percentile, on an axis where each further nine is equally wide.

use super::{Charts, Figure};
use crate::chart::{Axis, Chart, Look, Mark};
use block::Span;
use stats::Histogram;

/// A section of percentile charts, all with the same axes.
#[derive(Clone, Debug, Default)]
pub struct Percentiles {
    /// The heading.
    pub heading: String,
    /// Introduction.
    pub lead: String,
    /// The charts.
    pub charts: Vec<PercentileChart>,
}

/// A chart of curves: of workloads, of phases, of runs.
#[derive(Clone, Debug, Default)]
pub struct PercentileChart {
    /// Its subject.
    pub name: String,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Its colour.
    pub look: Look,
    /// Pairs of percentile and response time in milliseconds; see [`curve`].
    pub points: Vec<(f64, f64)>,
}

/// Number of points between two nines.
const POINTS_A_NINE: f64 = 12.0;

/// The curve of a histogram in percent and milliseconds, as far as its count allows.
pub fn curve(histogram: &Histogram) -> Vec<(f64, f64)> {
    let count = histogram.count();
    let mut points: Vec<(f64, f64)> = Vec::new();
    let (mut seen, mut wanted) = (0, 0.0);
    for (middle, number) in histogram.bins() {
        // The last value alone is not a percentile, since it stands for all values not seen.
        let before = seen as f64 / count as f64;
        seen += number;
        let nines = |part: f64| -(1.0 - part).max(0.5 / count as f64).log10();
        let here = nines(seen as f64 / count as f64);
        if points.is_empty() {
            points.push((0.0, middle.as_millis_f64()));
        }
        if here >= wanted {
            let part = if seen == count { before.max(1.0 - 1.0 / count as f64) } else { seen as f64 / count as f64 };
            if points.last().is_none_or(|last| last.0 < part * 100.0) {
                points.push((part * 100.0, middle.as_millis_f64()));
            }
            wanted = here + 1.0 / POINTS_A_NINE;
        }
    }
    points.retain(|(percent, ms)| *percent <= 99.9999 && *ms > 0.0);
    points
}

impl Percentiles {
    pub(super) fn charts(&self) -> Charts {
        let points = || self.charts.iter().flat_map(|chart| &chart.curves).flat_map(|curve| &curve.points);
        let times = || points().map(|point| point.1);
        let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
        let across = points().map(|point| point.0).fold(0.0, f64::max);
        let figure = |chart: &PercentileChart| {
            let axes = (Axis::percentiles(across), Axis::milliseconds(least, most));
            let mut drawn = Chart::new(format!("Response time by percentile: {}", chart.name), axes.0, axes.1);
            drawn.description = describe(chart);
            let mark = |curve: &Curve| Mark::Line {
                name: curve.name.clone(),
                points: curve.points.clone(),
                look: curve.look,
                dots: false,
                on_right: false,
            };
            drawn.marks = chart.curves.iter().map(mark).collect();
            Figure::of(drawn).headed(&chart.name)
        };
        let drawn = self.charts.iter().filter(|chart| chart.curves.iter().any(|curve| !curve.points.is_empty()));
        Charts {
            heading: self.heading.clone(),
            lead: self.lead.clone(),
            figures: drawn.map(figure).collect(),
            small: self.charts.len() > 1,
        }
    }
}

/// Median and tail of each curve as text.
fn describe(chart: &PercentileChart) -> String {
    let at = |curve: &Curve, percent: f64| {
        let found = curve.points.iter().find(|point| point.0 >= percent).or(curve.points.last())?;
        Some(crate::text::millis(Span::from_secs_f64(found.1 / 1e3)))
    };
    let of = |curve: &Curve| {
        Some(format!("{}: median {} ms, 99 % within {} ms.", curve.name, at(curve, 50.0)?, at(curve, 99.0)?))
    };
    chart.curves.iter().filter_map(of).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 990 values of 1 ms and 10 of 100 ms: 99 % are at 1 ms, and the curve ends at 99.9 %, the
    /// last percentile with a value above it.
    #[test]
    fn a_curve_says_what_its_count_allows() {
        let mut histogram = Histogram::new();
        histogram.record_many(Span::from_millis(1), 990);
        histogram.record_many(Span::from_millis(100), 10);
        let points = curve(&histogram);
        let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 0.01;
        assert!(points.len() == 3 && points[0].0 == 0.0 && near(points[0].1, 1.0), "{points:?}");
        assert!(near(points[1].0, 99.0) && near(points[1].1, 1.0), "{points:?}");
        assert!((points[2].0 - 99.9).abs() < 1e-9 && near(points[2].1, 100.0), "{points:?}");
        assert_eq!(curve(&Histogram::new()), []);
    }

    #[test]
    fn a_curve_of_many_values_has_few_points_and_rises() {
        let mut histogram = Histogram::new();
        (1..=100_000).for_each(|n| histogram.record(Span::from_micros(n)));
        let points = curve(&histogram);
        assert!((20..100).contains(&points.len()), "{}", points.len());
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1), "{points:?}");
        let median = points.iter().find(|point| point.0 >= 50.0).unwrap();
        assert!((median.1 / 50.0 - 1.0).abs() < 0.2, "{median:?}");
    }
}
