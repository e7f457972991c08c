//! The best of all points: without limits as in the original, and within limits.

use crate::ladder::LoadPoint;
use crate::point::{MeasuredPoint, lat};
use block::Span;

/// Limits that 99 % of response times must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of small requests.
    pub small: Span,
    /// Of large requests.
    pub large: Span,
}

/// The best of some points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Best {
    /// The most MB per second of large requests.
    pub mbps: Option<(f64, LoadPoint)>,
    /// The most small requests per second.
    pub iops: Option<(f64, LoadPoint)>,
    /// The least mean response time of small requests.
    pub latency: Option<(Span, LoadPoint)>,
}

/// The limits apply to this fraction of the requests.
const PART: f64 = 0.99;

impl Best {
    /// The best of all whole points, at any response time.
    pub fn of(points: &[MeasuredPoint]) -> Best {
        let whole = || points.iter().filter(|point| point.is_whole());
        let most = |of: fn(&MeasuredPoint) -> Option<f64>| {
            let found = whole().filter_map(|point| Some((of(point)?, point.spot)));
            // Of equal points the first, which has the lower load.
            found.fold(None, |best: Option<(f64, LoadPoint)>, next| match best {
                Some(best) if best.0 >= next.0 => Some(best),
                _ => Some(next),
            })
        };
        let latency =
            |point: &MeasuredPoint| Some((point.small_lat().filter(|lat| lat.count() > 0)?.mean(), point.spot));
        Best {
            mbps: most(MeasuredPoint::mbps),
            iops: most(MeasuredPoint::iops),
            latency: whole().filter_map(latency).min_by_key(|(mean, _)| *mean),
        }
    }

    /// The best of the points of which 99 % of the small and of the large requests are within their
    /// limits.
    pub fn within(points: &[MeasuredPoint], limits: Limits) -> Best {
        let keeps = |point: &&MeasuredPoint| {
            point.works().all(|(name, work)| {
                let limit = if name == "small" { limits.small } else { limits.large };
                lat(work).quantile(PART) <= limit
            })
        };
        Best::of(&points.iter().filter(keeps).cloned().collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::tests::point;

    /// Throughput no longer grows from 4 on, but response times do: without a limit the first of
    /// equal points counts, below 150 µs the two before it. The smallest load has the least mean.
    #[test]
    fn the_best_is_told_without_a_limit_and_under_one() {
        let points =
            [point(1, 0, 100, 0), point(2, 0, 125, 0), point(4, 0, 200, 0), point(8, 0, 400, 0), point(0, 1, 0, 2000)];
        let spot = |small| LoadPoint { small, large: 0 };
        let best = Best::of(&points);
        assert_eq!((best.iops, best.latency), (Some((20_000.0, spot(4))), Some((Span::from_micros(100), spot(1)))));
        assert_eq!(best.mbps, Some((500.0, LoadPoint { small: 0, large: 1 })));
        let limits = Limits { small: Span::from_micros(150), large: Span::from_millis(1) };
        let within = Best::within(&points, limits);
        assert_eq!((within.iops, within.mbps), (Some((16_000.0, spot(2))), None));
    }
}
