//! Chooses the next load: up the series until the storage is saturated, then by bisection to the
//! number of processes at which the limits break.
//!
//! ```text
//!   climb   1 ─ 10 ─ 20 ─ 40 ─ 80 ✗      a point is repeated until its mean is known well enough
//!   halve                 40 ─ 60 ─ 50 …  between the last load inside the limits and the first outside
//! ```
//! The climb ends when the mean response time is above the stop limit with 95 % confidence, or when
//! IOPS no longer grow: when, with 95 % confidence, 1 % more processes brought less than 0.1 % more
//! IOPS. A single noisy point does neither.

use crate::point::{Measured, Point};
use std::collections::BTreeMap;

/// The limits of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Maximum mean response time, in milliseconds.
    pub average_ms: f64,
    /// Maximum response time of any request, in milliseconds; `None` sets no limit.
    pub most_ms: Option<f64>,
}

impl Default for Limits {
    /// As published for 8 KiB and 64 KiB reads of all-flash arrays.
    fn default() -> Limits {
        Limits { average_ms: 2.0, most_ms: Some(5.0) }
    }
}

/// The target for the storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Minimum IOPS.
    pub iops: f64,
    /// Maximum mean response time at that rate, in milliseconds.
    pub ms: f64,
}

/// The steps of the climb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// 10, then 10, 20, 40 and so on more.
    Published,
    /// This many more each time.
    Every(u32),
}

/// The plan of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPlan {
    /// The loads of the climb, rising.
    pub loads: Vec<u32>,
    /// Mean response time in milliseconds above which it stops.
    pub stop_ms: f64,
    /// The limits of the knee.
    pub limits: Limits,
    /// The target for the storage.
    pub target: Option<Target>,
    /// A load is repeated until its mean is known to this fraction,
    pub precision: f64,
    /// but no more often than this.
    pub repeats: u32,
}

/// Minimum number of batches of a load: fewer than three say hardly anything about the mean.
const REPEATS_LEAST: u32 = 3;
/// Ratio of the growth of IOPS to the growth of processes below which IOPS no longer grow.
const GROWTH_LEAST: f64 = 0.1;

impl SweepPlan {
    /// The plan for these settings.
    pub fn of(settings: &crate::Settings) -> SweepPlan {
        SweepPlan {
            loads: settings.series.loads(settings.from, settings.to),
            stop_ms: settings.stop_ms,
            limits: settings.limits,
            target: settings.target,
            precision: settings.precision,
            repeats: settings.repeats,
        }
    }
}

impl Series {
    /// The loads from the lowest to the highest.
    pub fn loads(self, from: u32, to: u32) -> Vec<u32> {
        let (mut loads, mut next, mut more) = (vec![from], from, 10);
        if let Series::Published = self {
            next = 0;
        }
        while next < to {
            next += match self {
                Series::Every(step) => step,
                Series::Published if next == 0 => 10,
                Series::Published => {
                    more *= 2;
                    more / 2
                }
            };
            loads.push(next.min(to));
        }
        loads.retain(|load| *load >= from);
        loads.dedup();
        loads
    }
}

/// Why the climb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The mean response time was above the stop limit at this load.
    TooSlow(u32),
    /// IOPS no longer grew to this load.
    NoGrowth(u32),
    /// The series ended.
    Series,
}

/// A sweep in progress.
#[derive(Clone, Debug)]
pub struct Sweep {
    plan: SweepPlan,
    points: BTreeMap<u32, Point>,
    /// Position of the climb in the plan's loads.
    at: usize,
    ended: Option<Ended>,
}

impl Sweep {
    /// Before the first point.
    pub fn new(plan: SweepPlan) -> Sweep {
        Sweep { plan, points: BTreeMap::new(), at: 0, ended: None }
    }

    /// Number of processes of the next batch; `None` when the sweep is finished.
    pub fn next_load(&mut self) -> Option<u32> {
        while self.ended.is_none() {
            let load = self.plan.loads[self.at];
            if !self.is_known(load) {
                return Some(load);
            }
            self.ended = self.end_at(load);
            self.at += 1;
        }
        let limits = self.plan.limits;
        let keeps =
            |point: &Point| point.response_ms().mean <= limits.average_ms && within(point.most_ms(), limits.most_ms);
        self.between(keeps).or_else(|| {
            let target = self.plan.target?;
            self.between(move |point| point.response_ms().mean <= target.ms)
        })
    }

    /// Adds the measurement of a batch with this many processes.
    pub fn record(&mut self, processes: u32, measured: Measured) {
        self.points.entry(processes).or_insert_with(|| Point { processes, samples: Vec::new() }).samples.push(measured);
    }

    /// Number of batches with this many processes.
    pub fn repeats_of(&self, processes: u32) -> u32 {
        self.points.get(&processes).map_or(0, |point| point.samples.len() as u32)
    }

    /// The points so far, by load.
    pub fn points(&self) -> Vec<Point> {
        self.points.values().cloned().collect()
    }

    /// Why the climb ended; `None` while it continues.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Whether a load's mean is known as precisely as requested, or the load was repeated as often
    /// as allowed.
    fn is_known(&self, load: u32) -> bool {
        let Some(point) = self.points.get(&load) else { return false };
        let samples = point.samples.len() as u32;
        if samples >= self.plan.repeats {
            return true;
        }
        samples >= REPEATS_LEAST && point.precision().is_some_and(|part| part <= self.plan.precision)
    }

    fn end_at(&self, load: u32) -> Option<Ended> {
        let point = &self.points[&load];
        let response = point.response_ms();
        if response.mean - response.half_width > self.plan.stop_ms {
            return Some(Ended::TooSlow(load));
        }
        if let Some((_, before)) = self.points.range(..load).next_back()
            && !grew(before, point)
        {
            return Some(Ended::NoGrowth(load));
        }
        (self.at + 1 == self.plan.loads.len()).then_some(Ended::Series)
    }

    /// The next load between the highest that is within a limit and the lowest above it that is
    /// not.
    fn between(&self, keeps: impl Fn(&Point) -> bool) -> Option<u32> {
        let broken = self.points.values().find(|point| !keeps(point))?;
        // A load below the lowest may still be within the limit.
        let kept = self.points.range(..broken.processes).next_back().map_or(0, |(load, _)| *load);
        // A load that was begun is finished first.
        let begun = [kept, broken.processes].into_iter().find(|load| *load > 0 && !self.is_known(*load));
        begun.or_else(|| (broken.processes - kept > 1).then(|| kept + (broken.processes - kept) / 2))
    }
}

/// Whether a figure is within its limit. An unknown figure counts as within, and is reported when
/// it is judged.
fn within(figure: Option<f64>, limit: Option<f64>) -> bool {
    figure.zip(limit).is_none_or(|(figure, limit)| figure <= limit)
}

/// Whether more processes brought more IOPS; false only if it is certain that they hardly did.
pub(crate) fn grew(before: &Point, after: &Point) -> bool {
    let (low, high) = (before.iops(), after.iops());
    let best = (high.mean + high.half_width) / (low.mean - low.half_width).max(f64::MIN_POSITIVE) - 1.0;
    let more = f64::from(after.processes) / f64::from(before.processes) - 1.0;
    best >= GROWTH_LEAST * more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::tests::published;
    use block::Span;
    use stats::Histogram;

    fn plan(loads: Vec<u32>) -> SweepPlan {
        SweepPlan {
            loads,
            stop_ms: 10.0,
            limits: Limits { average_ms: 10.0, most_ms: None },
            target: None,
            precision: 0.02,
            repeats: 8,
        }
    }

    fn measured(mean_ms: f64, processes: u32) -> Measured {
        Measured { mean_ms, iops: f64::from(processes) * 1000.0 / mean_ms, requests: 1000, ..Measured::default() }
    }

    /// Runs a sweep against a simulated storage; returns the points that it tried, in order.
    fn played(sweep: &mut Sweep, mean_ms: impl Fn(u32, u32) -> f64) -> Vec<u32> {
        let mut tried = Vec::new();
        while let Some(load) = sweep.next_load() {
            let repeat = sweep.repeats_of(load);
            if repeat == 0 {
                tried.push(load);
            }
            sweep.record(load, measured(mean_ms(load, repeat), load));
            assert!(tried.len() < 200, "a sweep ends");
        }
        tried
    }

    #[test]
    fn the_series_are_as_published() {
        assert_eq!(Series::Published.loads(1, 200), [1, 10, 20, 40, 80, 160, 200]);
        assert_eq!(Series::Published.loads(15, 40), [15, 20, 40]);
        assert_eq!(Series::Published.loads(1, 1), [1]);
        assert_eq!(Series::Every(3).loads(2, 9), [2, 5, 8, 9]);
    }

    /// On the published array the response time of 36 processes is 9.90 ms and that of 40 is 10.46:
    /// the loads between them, on the line that joins both, are below 10 ms up to 36 (37 is at
    /// 10.04).
    #[test]
    fn the_published_points_have_their_knee_at_36() {
        let rows = published();
        let line = |load: u32| {
            let at = rows.iter().position(|row| row.0 >= load).unwrap();
            let ((p1, ms1, _), (p0, ms0, _)) = (rows[at], rows[at.saturating_sub(1)]);
            if p1 == p0 { ms1 } else { ms0 + (ms1 - ms0) * f64::from(load - p0) / f64::from(p1 - p0) }
        };
        let mut sweep = Sweep::new(plan(rows.iter().map(|row| row.0).collect()));
        let tried = played(&mut sweep, |load, _| line(load));
        assert_eq!(sweep.ended(), Some(Ended::TooSlow(40)));
        assert_eq!(tried[12..], [38, 37]);
        let points = sweep.points();
        let knee = crate::knee(&points, plan(vec![]).limits).unwrap();
        assert_eq!((knee.processes, sweep.repeats_of(36)), (36, 3));
    }

    /// A hundred servers of 1 ms: from 100 processes on IOPS stay at 100 000 and response time
    /// grows. At 160 it is 1.6 ms, so only the lack of growth ends the climb: 80 → 160 brings
    /// 100/80.
    #[test]
    fn it_ends_where_iops_no_longer_grow() {
        let mut sweep = Sweep::new(plan(vec![1, 10, 20, 40, 80, 160, 200]));
        let tried = played(&mut sweep, |load, _| f64::from(load.max(100)) / 100.0);
        assert_eq!((sweep.ended(), tried.last()), (Some(Ended::NoGrowth(200)), Some(&200)));
    }

    /// 5 ms at 10 processes, with one batch of 15 ms: it is repeated until the mean is known or
    /// eight batches have run, and the sweep continues.
    #[test]
    fn one_noisy_batch_ends_nothing() {
        let mut sweep = Sweep::new(plan(vec![10, 20]));
        let noisy = |load: u32, repeat: u32| match (load, repeat) {
            (10, 1) => 15.0,
            (10, _) => 5.0,
            _ => 8.0,
        };
        assert_eq!(played(&mut sweep, noisy), [10, 20]);
        assert_eq!((sweep.repeats_of(10), sweep.repeats_of(20), sweep.ended()), (8, 3, Some(Ended::Series)));
    }

    /// The mean is within its limit up to 40 processes, but from 13 on one request takes more than
    /// 5 ms.
    #[test]
    fn a_single_slow_request_breaks_a_limit_of_all() {
        let limits = Limits { average_ms: 10.0, most_ms: Some(5.0) };
        let mut sweep = Sweep::new(SweepPlan { limits, ..plan(vec![1, 10, 20, 40]) });
        while let Some(load) = sweep.next_load() {
            let mut lat = Histogram::new();
            lat.record_many(Span::from_millis(1), 999);
            lat.record(Span::from_millis(if load >= 13 { 6 } else { 4 }));
            sweep.record(load, Measured { lat: Some(lat), ..measured(1.0, load) });
        }
        let points = sweep.points();
        let knee = crate::knee(&points, limits).unwrap();
        assert_eq!((knee.processes, knee.most_ms()), (12, Some(4.0)));
    }

    /// The lowest load is already outside the limits: lower ones are tried, and there is none below
    /// 4.
    #[test]
    fn a_knee_below_the_first_load_is_found() {
        let mut sweep = Sweep::new(plan(vec![10, 20]));
        let tried = played(&mut sweep, |load, _| f64::from(load) * 2.4);
        assert_eq!(tried, [10, 5, 2, 3, 4]);
        assert_eq!(crate::knee(&sweep.points(), plan(vec![]).limits).unwrap().processes, 4);
    }
}
