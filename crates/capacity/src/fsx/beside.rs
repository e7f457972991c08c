//! Compares a recorded run with the limits of a file system: how near it came to which limit of
//! which resource.

use super::Resource;
use stats::run::Run;
use stats::{HeldBy, Interval, Phase};
use std::collections::BTreeMap;

/// How much of a resource a recorded run used: the mean over its seconds, and the maximum.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    /// The resource.
    pub name: &'static str,
    /// The mean, in the resource's unit.
    pub mean: f64,
    /// The highest second.
    pub most: f64,
    /// The mean divided by the baseline.
    pub of_base: f64,
}

/// Compares a recorded run with the limits: its usage by second, as network throughput and as
/// operations, and the resource whose baseline or burst rate it came nearest to. A recording does
/// not say whether caches answered, so disks are named only if the run exceeded them.
pub fn compare(resources: &[Resource], seconds: &[(f64, f64)]) -> (Vec<Used>, String) {
    let count = seconds.len().max(1) as f64;
    let of = |name: &'static str, pick: fn(&(f64, f64)) -> f64| {
        let base =
            resources.iter().find(|resource| resource.name == name).map_or(f64::INFINITY, |resource| resource.base);
        let mean = seconds.iter().map(pick).sum::<f64>() / count;
        let most = seconds.iter().map(pick).fold(0.0, f64::max);
        Used { name, mean, most, of_base: mean / base }
    };
    let bytes = |second: &(f64, f64)| second.1 / 1e6;
    let used = vec![of(NETWORK, bytes), of("disk throughput", bytes), of("disk IOPS", |second| second.0)];
    (used.clone(), verdict(resources, &used))
}

/// Within this fraction of a limit, a run counts as limited by it.
const HELD: f64 = 0.05;
/// The resource that a cache does not spare.
const NETWORK: &str = "network";

fn verdict(resources: &[Resource], used: &[Used]) -> String {
    let of = |one: &Used| resources.iter().find(|resource| resource.name == one.name);
    // What did more than disks can was not served by them: only the network may have held it.
    let is_past = |one: &Used| of(one).is_some_and(|of| one.mean > (1.0 + HELD) * of.burst.unwrap_or(of.base));
    let is_cached = used.iter().any(|one| one.name != NETWORK && is_past(one));
    let held = used.iter().filter(|one| one.name == NETWORK || !is_cached).find_map(|one| {
        let resource = of(one)?;
        let levels = [("baseline", Some(resource.base)), ("burst", resource.burst)];
        let near =
            levels.into_iter().find(|(_, level)| level.is_some_and(|level| (one.mean / level - 1.0).abs() <= HELD))?;
        Some(format!("limited by the {} of {}: {:.0} of {:.0} {}", near.0, one.name, one.mean, near.1?, resource.unit))
    });
    let flow = used.iter().find(|one| one.name == NETWORK && (590.0..=630.0).contains(&one.mean));
    let beyond = used.iter().filter(|one| one.of_base > 1.0 + HELD).map(|one| one.name).collect::<Vec<_>>();
    match (flow, held) {
        (Some(one), _) => format!(
            "limited by one flow of 5 Gb/s: {:.0} of 625 MB/s; more connections (nconnect) carry more",
            one.mean
        ),
        (None, Some(held)) => held,
        (None, None) if !beyond.is_empty() => format!(
            "beyond the baseline of {} and at no level of its own: on credit, from a cache, or bound by the client",
            beyond.join(", ")
        ),
        (None, None) => "below every baseline: bound by the client or by latency".into(),
    }
}

/// A phase of a recorded run.
pub struct PhaseDone {
    /// Its name.
    pub name: String,
    /// Operations and bytes of all workloads, by second.
    pub seconds: Vec<(f64, f64)>,
    /// What held workloads back in most seconds, according to the run.
    pub held_by: HeldBy,
}

/// The phases of a recorded run, each without its first second, in which the queues of the phase
/// before drain. Rates are divided by the factor that the run was scaled by.
pub fn phases(run: &Run) -> Vec<PhaseDone> {
    let recording = run.recording();
    let factor = recording.scale.map_or(1.0, |scale| scale.factor);
    let phase = |phase: &Phase| {
        let inside = |interval: &&Interval| interval.start > phase.start && interval.start < phase.end;
        let within = || recording.workloads.iter().flat_map(|workload| workload.intervals.iter().filter(inside));
        let mut held: BTreeMap<HeldBy, usize> = BTreeMap::new();
        within().for_each(|interval| *held.entry(interval.held_by).or_default() += 1);
        let held_by = held.into_iter().max_by_key(|(_, count)| *count).map_or(HeldBy::Nothing, |(held_by, _)| held_by);
        let seconds = rates(within).into_iter().map(|(ops, bytes)| (ops / factor, bytes / factor));
        PhaseDone { name: phase.name.clone(), seconds: seconds.collect(), held_by }
    };
    recording.phases.iter().map(phase).collect()
}

/// Operations and bytes of all workloads of a recorded run, by second.
pub fn seconds(run: &Run) -> Vec<(f64, f64)> {
    let recording = run.recording();
    rates(|| recording.workloads.iter().flat_map(|workload| &workload.intervals))
}

/// Operations and bytes of all intervals, by second. Intervals shorter than half of the longest are
/// left out, because a few milliseconds after the last whole second are no rate.
fn rates<'r, I: Iterator<Item = &'r Interval>>(intervals: impl Fn() -> I) -> Vec<(f64, f64)> {
    let longest = intervals().map(|interval| interval.length).max().unwrap_or_default();
    let mut seconds: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for interval in intervals().filter(|interval| interval.length * 2 >= longest) {
        let second = seconds.entry(interval.start.as_nanos()).or_default();
        *second = (second.0 + interval.iops(), second.1 + interval.bytes_per_second());
    }
    seconds.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx::tests::workshop;
    use block::Span;

    #[test]
    fn a_run_is_held_by_the_level_it_stands_at() {
        let resources = workshop().resources().expect("there is such a one");
        let says = |iops, mb: f64| compare(&resources, &[(iops, mb * 1e6); 10]).1;
        assert!(says(600.0, 612.0).contains("one flow"), "{}", says(600.0, 612.0));
        assert!(says(1190.0, 1245.0).contains("burst of network"));
        assert!(says(150.0, 149.0).contains("baseline of network"));
        assert!(says(59_000.0, 242.0).contains("beyond the baseline of network, disk throughput, disk IOPS"));
        // 122 of 128 MB/s, but with 4.8 times the IOPS of these disks, which have no burst.
        assert!(says(14_870.0, 122.0).starts_with("beyond the baseline of disk IOPS and at no level of its own"));
        assert!(says(2_000.0, 122.0).starts_with("limited by the baseline of disk throughput: 122 of 128 MB/s"));
        assert!(says(100.0, 1.0).contains("below every baseline"));
    }

    /// A second of 1000 operations, and one operation in the 2 ms after it.
    #[test]
    fn a_few_milliseconds_are_no_rate() {
        let interval = |at_ms, length_ms, ops| {
            let mut interval = Interval {
                start: Span::from_millis(at_ms),
                length: Span::from_millis(length_ms),
                ..Interval::default()
            };
            interval.counts.reads = ops;
            interval
        };
        let intervals = [interval(0, 1000, 1000), interval(1000, 2, 1)];
        assert_eq!(rates(|| intervals.iter()), [(1000.0, 0.0)]);
    }
}
