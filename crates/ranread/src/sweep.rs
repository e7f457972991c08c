//! Which load is next: up the series until the storage has enough, then between two loads to the
//! process at which the limits break.
//!
//! ```text
//!   climb   1 ─ 10 ─ 20 ─ 40 ─ 80 ✗      a point is repeated until its mean is known well enough
//!   halve                 40 ─ 60 ─ 50 …  between the last load inside the limits and the first outside
//! ```
//! The climb ends where the mean response time is beyond the stop limit with 95 % confidence, or
//! where IOPS no longer grow: where, with 95 % confidence, a hundredth more processes brought less
//! than a thousandth more IOPS. One noisy point does neither.

use crate::point::{Measured, Point};
use std::collections::BTreeMap;

/// What a load must keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Mean response time at most, in milliseconds.
    pub average_ms: f64,
    /// No response time above this, in milliseconds; `None` asks nothing of single ones.
    pub most_ms: Option<f64>,
}

impl Default for Limits {
    /// As published for 8 KiB and 64 KiB reads of all-flash arrays.
    fn default() -> Limits {
        Limits { average_ms: 2.0, most_ms: Some(5.0) }
    }
}

/// What is asked of the storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// So many IOPS at least.
    pub iops: f64,
    /// At a mean response time of at most so many milliseconds.
    pub ms: f64,
}

/// Which loads are climbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// 10, then 10, 20, 40 and so on more.
    Published,
    /// So many more each time.
    Every(u32),
}

/// How a sweep goes.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPlan {
    /// The loads of the climb, rising.
    pub loads: Vec<u32>,
    /// Response time in milliseconds beyond which it stops.
    pub stop_ms: f64,
    /// What the knee must keep.
    pub limits: Limits,
    /// What is asked of the storage.
    pub target: Option<Target>,
    /// A load is repeated until its mean is known to this part of itself,
    pub precision: f64,
    /// but no more often than this.
    pub repeats: u32,
}

/// Batches of a load at least: of fewer than three hardly anything is known about their mean.
const REPEATS_LEAST: u32 = 3;
/// Growth of IOPS against growth of processes below which IOPS no longer grow.
const GROWTH_LEAST: f64 = 0.1;

impl SweepPlan {
    /// From what was typed.
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
    /// The mean response time was beyond the stop limit at this load.
    TooSlow(u32),
    /// IOPS no longer grew to this load.
    NoGrowth(u32),
    /// The series was at its end.
    Series,
}

/// A sweep under way.
#[derive(Clone, Debug)]
pub struct Sweep {
    plan: SweepPlan,
    points: BTreeMap<u32, Point>,
    /// Place of the climb in the plan's loads.
    at: usize,
    ended: Option<Ended>,
}

impl Sweep {
    /// Before the first point.
    pub fn new(plan: SweepPlan) -> Sweep {
        Sweep { plan, points: BTreeMap::new(), at: 0, ended: None }
    }

    /// How many processes the next batch has; `None` when all is known.
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

    /// Takes in what a batch of so many processes measured.
    pub fn record(&mut self, processes: u32, measured: Measured) {
        self.points.entry(processes).or_insert_with(|| Point { processes, samples: Vec::new() }).samples.push(measured);
    }

    /// How many batches of so many processes there were.
    pub fn repeats_of(&self, processes: u32) -> u32 {
        self.points.get(&processes).map_or(0, |point| point.samples.len() as u32)
    }

    /// The points so far, by load.
    pub fn points(&self) -> Vec<Point> {
        self.points.values().cloned().collect()
    }

    /// Why the climb ended; `None` while it goes on.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Whether a load's mean is known as well as was asked, or was tried as often.
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

    /// The next load between the highest that keeps something and the lowest above it that does
    /// not.
    fn between(&self, keeps: impl Fn(&Point) -> bool) -> Option<u32> {
        let broken = self.points.values().find(|point| !keeps(point))?;
        // Below the lowest load of all there may still be one that keeps it.
        let kept = self.points.range(..broken.processes).next_back().map_or(0, |(load, _)| *load);
        // A load that was begun is finished first.
        let begun = [kept, broken.processes].into_iter().find(|load| *load > 0 && !self.is_known(*load));
        begun.or_else(|| (broken.processes - kept > 1).then(|| kept + (broken.processes - kept) / 2))
    }
}

/// Whether a figure is within its limit; an unknown one breaks none here and is named where it is
/// judged.
fn within(figure: Option<f64>, limit: Option<f64>) -> bool {
    figure.zip(limit).is_none_or(|(figure, limit)| figure <= limit)
}

/// Whether more processes brought more IOPS, unless it is sure that they hardly did.
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

    /// Runs a sweep against a storage; the points that it tried, in their order.
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

    /// A hundred servers of 1 ms: from 100 processes on IOPS stand still at 100 000 and response
    /// time grows. At 160 it is 1.6 ms, so only the growth ends it: 80 → 160 brings 100/80.
    #[test]
    fn it_ends_where_iops_no_longer_grow() {
        let mut sweep = Sweep::new(plan(vec![1, 10, 20, 40, 80, 160, 200]));
        let tried = played(&mut sweep, |load, _| f64::from(load.max(100)) / 100.0);
        assert_eq!((sweep.ended(), tried.last()), (Some(Ended::NoGrowth(200)), Some(&200)));
    }

    /// 5 ms at 10 processes and one batch of 15 ms among them: it is repeated until the mean is
    /// known or eight were run, and the sweep goes on.
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

    /// The mean is within its limit up to 40 processes, but one request above 5 ms comes at 13 and
    /// more.
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

    /// Already the lowest load is outside: below it one is sought, and there is none below 4.
    #[test]
    fn a_knee_below_the_first_load_is_found() {
        let mut sweep = Sweep::new(plan(vec![10, 20]));
        let tried = played(&mut sweep, |load, _| f64::from(load) * 2.4);
        assert_eq!(tried, [10, 5, 2, 3, 4]);
        assert_eq!(crate::knee(&sweep.points(), plan(vec![]).limits).unwrap().processes, 4);
    }
}
